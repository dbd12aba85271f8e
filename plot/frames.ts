/**
 * A run's saved states as the frames of an animation: what a figure says of each, before it is laid on the picture's
 * grid.
 */
import * as tf from '@tensorflow/tfjs';
import type {Numeric, Trajectory, System} from '../lib/index.js';
import {OptionError, ShapeError} from '../lib/index.js';
import {readNumeric} from '../lib/internal.js';
import type {Figure, NearRun} from '../models/index.js';

/** Points, and forces where the figure has them, of every frame. */
export interface Places {
  readonly dim: 2 | 3;
  readonly points: number;
  /** [frames][points · dim] */
  readonly places: readonly Float32Array[];
  /** [frames][forces · dim]: where they act, and themselves. */
  readonly forces: readonly {readonly at: Float32Array; readonly force: Float32Array}[];
  /** [frames][points or faces]: the figure's field. */
  readonly values: readonly Float32Array[];
}

/** The saved states at nearly equal times: an adaptive run saves more where much happens. */
export function chosen(t: Float64Array, most: number): number[] {
  const last = t.length - 1;
  if (last < 1)
    throw new OptionError(
      'bad-option',
      'animate: this run saved only one state, so there is no motion to show. Omit saveAt.',
    );
  const frames = Math.min(most - 1, last);
  const found = new Set<number>([0]);
  for (let k = 1, i = 0; k <= frames; k++) {
    const time = t[0] + ((t[last] - t[0]) * k) / frames;
    while (i < last && t[i] < time) i++;
    found.add(i > 0 && time - t[i - 1] < t[i] - time ? i - 1 : i);
  }
  return [...found.add(last)];
}

/** @param kept the saved states that become frames */
export function placesAt(
  run: Trajectory<System> | NearRun,
  figure: Figure,
  kept: readonly number[],
  given: {readonly [name: string]: Numeric},
): Places {
  const mechanical = run.system.kind !== 'ode';
  const t = run.values('t');
  const row = (name: 'q' | 'v' | 'y'): ((i: number) => tf.Tensor) => {
    const values = (run as Trajectory<System>).values(name);
    const width = values.length / t.length;
    const saved = (run as Trajectory<System>)[name];
    // A run of simulateNear has arrays, and a figure that takes flat rows.
    const shape = saved instanceof tf.Tensor ? saved.shape.slice(1) : [width];
    return i => tf.tensor(Float32Array.from(values.subarray(i * width, (i + 1) * width)), shape);
  };
  const q = row(mechanical ? 'q' : 'y');
  const v = mechanical ? row('v') : () => tf.tensor1d([]);
  const lambda = multipliersOf(run, t);
  let found: {points: number; dim: 2 | 3} | undefined;
  const forces: {at: Float32Array; force: Float32Array}[] = [];
  const values: Float32Array[] = [];
  const places = kept.map((i, k) =>
    tf.tidy(() => {
      const params: {[name: string]: tf.Tensor} = {};
      for (const [name, value] of Object.entries(given)) {
        const number = readNumeric(value, `animate: params.${name}`);
        params[name] = tf.tensor(Float32Array.from(number.values), [...number.shape]);
      }
      const state = {q: q(i), t: tf.scalar(t[i]), params};
      const at = figure.points(state);
      const [count = 0, dim = 0] = at.shape;
      if (at.shape.length !== 2 || (dim !== 2 && dim !== 3))
        throw new ShapeError(
          'figure-shape',
          `animate: the figure's points have shape [${at.shape.join(', ')}]; give [points, 2] in the plane or `
            + '[points, 3] in space.',
          {points: at.shape},
        );
      found = {points: count, dim};
      if (figure.field !== undefined) {
        const field = figure.field.values(state);
        if (field.size !== count && field.size !== figure.faces?.length)
          throw new ShapeError(
            'figure-shape',
            `animate: the figure's field has ${field.size} numbers; give one for each of ${count} points or `
              + `${figure.faces?.length ?? 0} faces.`,
            {field: field.shape},
          );
        values.push(field.dataSync() as Float32Array);
      }
      if (figure.forces !== undefined) {
        const drawn = figure.forces({...state, v: v(i), lambda: tf.tensor1d(lambda(k === 0 ? i : kept[k - 1], i))});
        forces.push(forcesOf(drawn, dim, t[i]));
      }
      return at.dataSync() as Float32Array;
    }),
  );
  return {...(found as unknown as {points: number; dim: 2 | 3}), places, forces, values};
}

/** Multipliers at saved state `to`, as their mean over time since state `from`. */
function multipliersOf(run: Trajectory<System> | NearRun, t: Float64Array): (from: number, to: number) => Float32Array {
  if (!('lambda' in run) || run.lambda === undefined) return () => new Float32Array(0);
  const values = run.values('lambda');
  const rows = values.length / t.length;
  return (from, to) =>
    Float32Array.from({length: rows}, (_, row) => {
      const span = t[to] - t[from];
      if (!(span > 0)) return values[to * rows + row];
      let sum = 0;
      for (let i = from + 1; i <= to; i++) sum += values[i * rows + row] * (t[i] - t[i - 1]);
      return sum / span;
    });
}

function forcesOf(drawn: {at: tf.Tensor; force: tf.Tensor}, dim: number, t: number): Places['forces'][number] {
  const [at, force] = [drawn?.at, drawn?.force];
  const shapes = [at, force].map(one => (one instanceof tf.Tensor ? `[${one.shape.join(', ')}]` : typeof one));
  if (shapes[0] !== shapes[1] || at?.shape?.length !== 2 || at.shape[1] !== dim)
    throw new ShapeError(
      'figure-shape',
      `animate: the figure's forces have at of shape ${shapes[0]} and force of shape ${shapes[1]}; give both [forces, `
        + `${dim}], as the points have ${dim} coordinates.`,
      {at: at?.shape, force: force?.shape},
    );
  const values = {at: at.dataSync() as Float32Array, force: force.dataSync() as Float32Array};
  if (!values.at.every(Number.isFinite) || !values.force.every(Number.isFinite))
    throw new OptionError(
      'bad-figure',
      `animate: figure.forces is not finite at t = ${t}; return zero for a force that does not act.`,
    );
  return values;
}
