/**
 * What must hold of every random system: its states obey the scheme's equation as the evaluator writes it; the
 * engines agree; the reverse gradient, the tangent and differences of the run are one number; no derivative is NaN
 * where another way finds it; and what fails, fails with an error of the library's own.
 */
import {simulate, StiffgradError} from '../../../lib/index.js';
import type {SimulateOptions, Trajectory, System} from '../../../lib/index.js';
import type {RunSettings} from '../../../lib/simulate/options.js';
import {dot, largest, stream} from '../../simulate/numbers.js';
import type {State, Vector} from './evaluator.js';
import {bdf2Residual, distance, newmarkResidual, reference, rungeKutta, scalesOf, thetaResidual} from './evaluator.js';
import type {Point, Sample} from './system.js';
import {given, sampleOf} from './system.js';

/** Told apart: right in all that could be judged; refused with the library's own error; not to be judged by differences; wrong. */
export interface Verdict {
  readonly outcome: 'right' | 'refused';
  readonly wrong: readonly string[];
  /** The code of the refusal. */
  readonly code?: string;
  /** What could not be judged, and why. */
  readonly unjudged: readonly string[];
}

/** Newton's tolerance leaves roots this far from exact ones, relative to the unknowns. */
const stateTolerance = 2e-8;
/** Engines differ by rounding, which a stiff step passes on. */
const engineTolerance = 1e-9;
/** vjp and jvp solve the same linear equations, transposed. */
const transposeTolerance = 1e-8;
/** Differences of the run, where two lengths of them agree as well. */
const differenceTolerance = 1e-6;

/** Adaptive runs of more steps are judged by their engines alone: the evaluator would take minutes. */
const mostSteps = 2000;

interface Run {
  readonly t: Float64Array;
  readonly blocks: {readonly [name: string]: Float64Array};
  readonly a?: Float64Array;
  readonly events: number;
  readonly status: Trajectory['status'];
}

function run(sample: Sample, point: Point, more: Partial<RunSettings> & {steps?: number; t1?: number} = {}): Run {
  const {initial, params} = given(sample, point);
  const trajectory = simulate(sample.system, initial, {...sample.options, params, ...more} as SimulateOptions);
  const blocks = Object.fromEntries(Object.keys(point.initial).map(name => [name, trajectory.values(name as 'q')]));
  const a = sample.rule.kind === 'newmark' ? trajectory.values('a') : undefined;
  trajectory.dispose();
  return {t: trajectory.values('t'), blocks, a, events: trajectory.events.length, status: trajectory.status};
}

const scaleOf = (sample: Sample, block: string): number => (block === 'v' ? sample.units.v : sample.units.q);
const unitless = (sample: Sample, blocks: {readonly [name: string]: ArrayLike<number>}): Float64Array =>
  Float64Array.from(
    Object.entries(blocks).flatMap(([name, values]) => Array.from(values, value => value / scaleOf(sample, name))),
  );

/** Judges the system of a seed. */
export function check(seed: number, make: (seed: number) => Sample = sampleOf): Verdict {
  const sample = make(seed);
  const wrong: string[] = [];
  const unjudged: string[] = [];
  const tell = (text: string): void => void wrong.push(`seed ${seed}: ${text} (${sample.description})`);
  let first: Run;
  try {
    first = run(sample, sample.start);
    if (first.status !== 'completed') tell(`returned with status ${first.status}`);
  } catch (error) {
    if (error instanceof StiffgradError) return {outcome: 'refused', code: error.code, wrong, unjudged};
    tell(`raw error: ${String(error)}`);
    return {outcome: 'refused', code: 'raw', wrong, unjudged};
  }
  const states = unitless(sample, first.blocks);
  if (!states.every(Number.isFinite)) tell('a saved state is not finite');
  try {
    checkEngines(sample, first, tell);
    if (first.t.length > mostSteps) return {outcome: 'right', wrong, unjudged: [`more than ${mostSteps} steps`]};
    checkStates(sample, first, tell, unjudged);
    checkDerivatives(sample, seed, first, tell, unjudged);
  } catch (error) {
    if (error instanceof StiffgradError) tell(`the run succeeds, but: ${error.code}: ${error.message.slice(0, 200)}`);
    else tell(`raw error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }
  return {outcome: 'right', wrong, unjudged};
}

function checkEngines(sample: Sample, first: Run, tell: (text: string) => void): void {
  const other = run(sample, sample.start, {engine: 'interpreter'});
  const [a, b] = [unitless(sample, first.blocks), unitless(sample, other.blocks)];
  const scale = Math.max(1, largest(a));
  const worst = a.length === b.length ? largest(a.map((value, i) => (value - b[i]) / scale)) : Infinity;
  if (!(worst <= engineTolerance)) tell(`wasm and interpreter differ by ${worst.toExponential(2)}`);
}

/** The saved states, one step after another, against the equation of the scheme, or against a fine reference. */
function checkStates(sample: Sample, found: Run, tell: (text: string) => void, unjudged: string[]): void {
  const {rule, n, constraint, event} = sample;
  if (constraint === 'bilateral') {
    const {q} = found.blocks;
    for (let k = 0; k < found.t.length; k++) {
      const [x, y] = [q[k * n] / sample.units.q, q[k * n + 1] / sample.units.q];
      const phi = Math.abs(x * x + y * y - 1) / 2;
      if (!(phi <= 1e-9)) return tell(`the constraint is violated by ${phi.toExponential(2)} at step ${k}`);
    }
  }
  if (constraint !== 'none') return;
  const system = sample.plain(sample.start.params);
  const mechanical = system.mass !== undefined;
  const at = (k: number): State => {
    const part = (values: Float64Array | undefined): Vector =>
      values === undefined ? [] : [...values.subarray(k * n, (k + 1) * n)];
    return mechanical
      ? {q: part(found.blocks.q), v: part(found.blocks.v), a: part(found.a)}
      : {q: part(found.blocks.y), v: part(found.blocks.y)};
  };
  const whole = ({q, v}: State): number[] => (mechanical ? [...q, ...v] : [...q]);
  const unitsOf = whole({q: new Array<number>(n).fill(sample.units.q), v: new Array<number>(n).fill(sample.units.v)});
  /** Of what swings, whose velocity is judged with its position: its size is that of the swing, which may begin at rest. */
  const sizeOfMotion = (k: number): number => {
    if (!sample.isAdaptive) return 0;
    for (; yet.steps <= (mechanical ? found.t.length - 1 : k); yet.steps++)
      yet.size = Math.max(yet.size, ...whole(at(yet.steps)).map((value, i) => Math.abs(value) / unitsOf[i]));
    return yet.size;
  };
  const yet = {steps: 0, size: 0};
  const offFrom = (k: number, expected: Vector): number => {
    const here = whole(at(k + 1));
    const size = Math.max(1, ...expected.map((value, i) => Math.abs(value) / unitsOf[i]), sizeOfMotion(k));
    return Math.max(...expected.map((value, i) => Math.abs(value - here[i]) / unitsOf[i])) / size;
  };
  /** @param candidates the states that a right step may end in: one of them does */
  const compare = (
    k: number,
    candidates: readonly (Vector | undefined)[],
    tolerance: number,
    what: string,
  ): boolean => {
    const found = candidates.filter(state => state !== undefined);
    if (found.length === 0) {
      unjudged.push(`${what}: the evaluator's step does not settle`);
      return true;
    }
    const worst = Math.min(...found.map(state => offFrom(k, state)));
    if (!(worst <= tolerance)) tell(`step ${k + 1} is off by ${worst.toExponential(2)} by ${what}`);
    return worst <= tolerance;
  };
  if (sample.isAdaptive || rule.kind === 'order' || event !== 'none') {
    if (event === 'bounce') return; // the derivatives' check sees its times
    // A step's own error: at most a hundred tolerances where lengths are chosen; else small where steps are.
    for (let k = 0; k + 1 < found.t.length; k++) {
      const h = found.t[k + 1] - found.t[k];
      const expected = reference(system, whole(at(k)), found.t[k], h, 8);
      const coarse = reference(system, whole(at(k)), found.t[k], h, 4);
      if (expected === undefined || coarse === undefined) {
        unjudged.push('reference: does not settle');
        return;
      }
      const own = Math.max(...expected.map((value, i) => Math.abs(value - coarse[i]) / unitsOf[i]));
      if (!(own <= 1e-8)) {
        unjudged.push('reference: not smooth or too stiff for its steps');
        return;
      }
      if (sample.isAdaptive && !compare(k, [expected], 1e-4, 'the error of an adaptive step')) return;
    }
    if (!sample.isAdaptive && rule.kind === 'order') checkOrder(sample, found, rule.order, tell, unjudged);
    return;
  }
  for (let k = 0; k + 1 < found.t.length; k++) {
    const [t, h] = [found.t[k], found.t[k + 1] - found.t[k]];
    const [x, end] = [at(k), at(k + 1)];
    const scales = scalesOf(
      mechanical ? end.v : end.q,
      mechanical ? x.v : x.q,
      x.q.map(value => value / (mechanical ? h : 1)),
    );
    const judge = (residual: (z: Vector) => number[], z: Vector, by: Vector): boolean => {
      const off = distance(residual, z, by);
      if (off === undefined) unjudged.push('residual: singular');
      else if (!(off <= stateTolerance)) tell(`step ${k + 1} is ${off.toExponential(2)} from the root of its equation`);
      return off === undefined || off <= stateTolerance;
    };
    let right = true;
    if (rule.kind === 'theta')
      right = judge(thetaResidual(system, rule.rule, x, t, h), mechanical ? end.v : end.q, scales);
    // Damping Newmark rules begin with an acceleration of their own (docs/schemes.md), which is not the saved one.
    else if (rule.kind === 'newmark')
      right =
        (k === 0 && rule.gamma > 0.5)
        || judge(
          newmarkResidual(system, rule.beta, rule.gamma, x as Required<State>, t, h),
          end.a as Vector,
          scalesOf(
            end.a as Vector,
            x.a as Vector,
            x.v.map(value => value / h),
          ),
        );
    else if (rule.kind === 'bdf2')
      right = k === 0 || judge(bdf2Residual(system, at(k - 1), x, t, h), mechanical ? end.v : end.q, scales);
    else {
      const from = whole(x);
      const step = (path?: (share: number) => Vector | undefined): number[] | undefined =>
        rungeKutta(system, rule.tableau, from, t, h, path);
      const own = step();
      const isOurs = own !== undefined && offFrom(k, own) <= 10 * stateTolerance;
      // A long step beside a kink may have several roots: others are looked for from points about the line to what was found.
      const next = stream(k);
      const beside = (share: number): number[] =>
        from.map((value, i) => value + (share + 0.3 * next()) * (whole(end)[i] - value));
      right = compare(
        k,
        isOurs ? [own] : [own, ...Array.from({length: 30}, () => step(beside))],
        10 * stateTolerance,
        'its tableau',
      );
    }
    if (!right) return;
  }
}

/** Halved steps have a smaller error against the reference, by the order at least in part, or both are at its floor. */
function checkOrder(sample: Sample, found: Run, order: number, tell: (text: string) => void, unjudged: string[]): void {
  const system = sample.plain(sample.start.params);
  const n = sample.n;
  const ends = (series: Run): Float64Array =>
    unitless(
      sample,
      Object.fromEntries(
        Object.entries(series.blocks).map(([name, values]) => [name, values.subarray(values.length - n)]),
      ),
    );
  const steps = sample.options.steps as number;
  const starts = Object.values(sample.start.initial).flatMap(values => [...values]);
  const span = found.t[found.t.length - 1] - found.t[0];
  const truth = reference(system, starts, found.t[0], span, 16 * steps);
  const check = reference(system, starts, found.t[0], span, 8 * steps);
  if (truth === undefined || check === undefined) {
    unjudged.push('order: the reference does not settle');
    return;
  }
  const split = (y: Vector): Float64Array =>
    unitless(
      sample,
      Object.fromEntries(Object.keys(found.blocks).map((name, i) => [name, y.slice(i * n, (i + 1) * n)])),
    );
  const exact = split(truth);
  const floor = 1e-9 + 10 * largest(split(check).map((value, i) => value - exact[i]));
  const errorAt = (factor: number): number => {
    const series =
      factor === 1 ? found : run(sample, sample.start, {dt: sample.options.dt / factor, steps: steps * factor});
    return largest(ends(series).map((value, i) => value - exact[i]));
  };
  // Of order p the ratio is 4^p; kinks and large steps leave less, but never an error that stays. A coarse one may be small by chance: then finer ones tell.
  const falls = (coarse: number, fine: number): boolean => fine <= Math.max(floor, coarse * 4 ** -Math.min(1.2, order));
  const errors = [4, 16].map(errorAt);
  if (falls(errors[0], errors[1])) return;
  errors.push(errorAt(64));
  if (!falls(errors[1], errors[2]))
    tell(
      `the error falls as ${errors.map(error => error.toExponential(2)).join(', ')} only when steps are a quarter as long`,
    );
}

/** The derivative of a random functional of all saved states along a random direction of all that the run depends on, in three ways. */
function checkDerivatives(
  sample: Sample,
  seed: number,
  first: Run,
  tell: (text: string) => void,
  unjudged: string[],
): void {
  const next = stream(seed + 5);
  const names = Object.keys(sample.start.initial);
  const direction: Point = {
    initial: Object.fromEntries(
      Object.entries(sample.start.initial).map(([name, values]) => [
        name,
        values.map(() => next() * scaleOf(sample, name)),
      ]),
    ),
    params: Object.fromEntries(
      Object.entries(sample.start.params).map(([name, values]) => [name, values.map(() => 0.3 * next())]),
    ),
  };
  if (sample.constraint === 'bilateral') {
    // A start that stays on the circle to first order would be moved by differences: the initial state is left as it is.
    for (const name of names) direction.initial[name].fill(0);
  }
  const {initial, params} = given(sample, sample.start);
  const options = {...sample.options, params} as SimulateOptions;
  const {trajectory, pullback} = simulate.vjp(sample.system, initial, options);
  trajectory.dispose();
  // Adaptive runs that are recorded iterate to exact roots: their steps may differ from a plain run's, by the tolerance.
  const weights = Object.fromEntries(
    names.map(name => [name, trajectory.values(name as 'q').map(() => next() / scaleOf(sample, name))]),
  );
  const back = pullback(weights);
  const gradients = {...back.initial, ...back.params} as {[name: string]: Float64Array};
  const tangents = {...direction.initial, ...direction.params};
  const terms = Object.entries(tangents).map(([name, values]) => dot(gradients[name] ?? values.map(() => 0), values));
  const reverse = terms.reduce((total, value) => total + value, 0);
  const along = given(sample, direction);
  const forward = simulate.jvp(sample.system, initial, options, {initial: along.initial, params: along.params});
  forward.trajectory.dispose();
  const tangent = names.reduce((total, name) => total + dot(weights[name], forward.tangent[name as 'q']), 0);
  const size = Object.entries(tangents).reduce(
    (total, [name, values]) =>
      total + values.reduce((part, value, i) => part + Math.abs(value * (gradients[name]?.[i] ?? 0)), 0),
    0,
  );
  const scale = Math.max(size, Math.abs(tangent), 1e-6);
  if (!Number.isFinite(reverse) && Number.isFinite(tangent))
    return tell(`the reverse gradient is ${reverse}, the tangent ${tangent}`);
  if (!Number.isFinite(tangent)) return tell(`the tangent is ${tangent}, the reverse gradient ${reverse}`);
  if (!(Math.abs(reverse - tangent) <= transposeTolerance * scale)) tell(`vjp ${reverse} and jvp ${tangent} differ`);
  // The steps of an adaptive run move with its state, which gradients leave out.
  if (sample.isAdaptive) return;
  const prepared = simulate.prepare(sample.system, initial, options);
  const value = (s: number): number | undefined => {
    const moved = (
      from: {readonly [name: string]: Float64Array},
      by: {readonly [name: string]: Float64Array},
    ): {[name: string]: Float64Array} =>
      Object.fromEntries(
        Object.entries(from).map(([name, values]) => [name, values.map((x, i) => x + s * by[name][i])]),
      );
    let series: Trajectory<System>;
    try {
      series = prepared.run(
        given(sample, {
          initial: moved(sample.start.initial, direction.initial),
          params: moved(sample.start.params, direction.params),
        }),
      );
    } catch (error) {
      // A neighbour may have no root: then there is nothing to compare.
      if (error instanceof StiffgradError) return undefined;
      throw error;
    }
    series.dispose();
    if (series.events.length !== first.events || series.values('t').length !== first.t.length) return undefined;
    return names.reduce((total, name) => total + dot(weights[name], series.values(name as 'q')), 0);
  };
  const slope = (h: number): number => {
    const [a, b, c, d] = [value(h), value(-h), value(2 * h), value(-2 * h)];
    return a === undefined || b === undefined || c === undefined || d === undefined
      ? NaN
      : (8 * (a - b) - (c - d)) / (12 * h);
  };
  const [long, short] = [slope(2e-3), slope(5e-4)];
  const agree = Math.abs(long - short) <= 0.3 * differenceTolerance * scale;
  if (!agree) unjudged.push('differences: two lengths of them disagree');
  else if (!(Math.abs(tangent - short) <= differenceTolerance * scale)) tell(`jvp ${tangent}, differences ${short}`);
}
