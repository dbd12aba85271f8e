/**
 * One-step schemes for delay equations, by the method of steps with continuous extensions (Bellen & Zennaro, Numerical Methods for Delay
 * Differential Equations, 2003). The state carries the pieces of the last steps (system/past.ts), among which delayed states are
 * found. From the start t₀ on, derivatives of y jump at the breaking points t₀ + Σ kᵢτᵢ, one derivative later each time; a scheme of
 * order p keeps its order where none of the first p + 1 lies within a step (p, where y is continuous at the start). So each step is
 * several ones in turn, from one breaking point to the next, most of them of no length. Their lengths are functions of the delays, and
 * the derivative of a run by a delay is that of what was computed.
 */
import * as tf from '@tensorflow/tfjs';
import {constantTensor} from '../trace/trace.js';
import type {Shape} from '../graph/node.js';
import type {Blocks, DelayEquations} from '../system/equations.js';
import type {Piece} from '../system/past.js';
import {pastAt, pieceRow, pieceWidth} from '../system/past.js';
import {hermite} from './hermite.js';
import type {Formulation, StepPoint} from './scheme.js';

/** What the past is kept of. */
export interface Delaying extends Pick<DelayEquations, 'count' | 'longest' | 'ownHistory'> {
  /** Of the steps of the run. */
  readonly dt: number;
}

/** All k of `count` numbers whose sum is from 1 to `most`. */
function multiples(count: number, most: number): number[][] {
  if (count === 0) return [[]];
  return multiples(count - 1, most).flatMap(rest => {
    const used = rest.reduce((sum, k) => sum + k, 0);
    return Array.from({length: most - used + 1}, (_, k) => [...rest, k]);
  });
}

/**
 * The times that divide a step, ascending, one for each delay: the first breaking point with no later delay in it that lies within the
 * step, or the step's end. Of one delay there is one at most, as steps are no longer than delays.
 */
function cutsOf({t, h, x: {began}}: StepPoint, delays: readonly tf.Tensor[], order: number): tf.Tensor[] {
  const end = tf.add(t, h);
  const points = multiples(delays.length, order + 1).filter(k => k.some(n => n > 0));
  const first = delays.map((_, i) =>
    points
      .filter(k => k[i] > 0 && k.slice(i + 1).every(n => n === 0))
      // The delay itself as it is asked for by the equations, whose side of the start it decides.
      .map(k =>
        k.every((n, j) => n === (j === i ? 1 : 0))
          ? tf.add(began, delays[i])
          : tf.add(began, tf.addN(k.flatMap((n, j) => (n === 0 ? [] : [tf.mul(delays[j], n)])))),
      )
      .reduce((cut, point) => tf.where(tf.logicalAnd(tf.greater(point, t), tf.lessEqual(point, cut)), point, cut), end),
  );
  return sorted(first);
}

/** By exchanges of neighbours. */
function sorted(times: readonly tf.Tensor[]): tf.Tensor[] {
  const all = [...times];
  for (let last = all.length - 1; last > 0; last--)
    for (let i = 0; i < last; i++) {
      const inOrder = tf.lessEqual(all[i], all[i + 1]);
      [all[i], all[i + 1]] = [tf.where(inOrder, all[i], all[i + 1]), tf.where(inOrder, all[i + 1], all[i])];
    }
  return all;
}

/** A block of the unknown in part k of a step. A number at its end is no part of the name that says what it is a derivative of. */
const nameIn = (part: number, block: string): string => `${block}${part}`;

const partsOf = (z: Blocks, unknown: readonly string[], part: number): Blocks =>
  Object.fromEntries(unknown.map(name => [name, z[nameIn(part, name)]]));

/** Part of a step as the scheme sees it. */
interface Part {
  readonly at: StepPoint;
  readonly z: Blocks;
  readonly next: Blocks;
}

/**
 * A formulation for an ode as one for a delay equation.
 * @param base of one step: what it carries is a function of the state
 * @param order of the scheme
 */
export function withPast(base: Formulation, order: number, {count, longest, ownHistory, dt}: Delaying): Formulation {
  const parts = count + 1;
  // One more than is needed of equal steps: a run that goes on from another one begins after a shorter one.
  const kept = (Math.ceil((longest / dt) * (1 - 1e-12)) + 1) * parts;
  const indices = Array.from({length: parts}, (_, k) => k);

  /** The parts of a step, each from the end of the one before. */
  function partsIn(z: Blocks, at: StepPoint): Part[] {
    const {x, t, h, delay} = at;
    if (delay === undefined) throw new Error('a past without delays');
    const bounds = [t, ...cutsOf(at, delay.values(), order), tf.add(t, h)];
    const made: Part[] = [];
    let {y} = x;
    for (const k of indices) {
      const own = partOf(at, bounds[k], bounds[k + 1], y);
      const zOwn = partsOf(z, base.unknown, k);
      const next = base.update(zOwn, own);
      made.push({at: own, z: zOwn, next});
      y = next.y;
    }
    return made;
  }

  function partOf(at: StepPoint, from: tf.Tensor, to: tf.Tensor, y: tf.Tensor): StepPoint {
    const rate: StepPoint['rate'] = (place, t) => at.rate({...at.x, ...place, from, to}, t);
    const own: StepPoint = {...at, x: {y}, t: from, h: tf.sub(to, from), rate, rightHandSide: rate};
    return {...own, x: {y, ...base.carry?.(own, {first: {}, jerk: y, normalJerk: () => y})}};
  }

  function pieceOf({at, z, next}: Part, whole: tf.Tensor): Piece {
    const {x, t, h, rate} = at;
    const to = tf.add(t, h);
    // Nobody reads the middle of a part without length, and some dense outputs divide by it.
    const between = {...at, h: tf.where(tf.equal(h, 0), whole, h)};
    const half = constantTensor([0.5], []);
    return {
      from: t,
      to,
      y: x.y,
      next: next.y,
      middle: (base.dense?.(half, z, between, next) ?? hermite(half, order, between, next)).y,
      slope: x.slope ?? rate({y: x.y}, t).y,
      endSlope: next.slope ?? rate({y: next.y}, to).y,
    };
  }

  const update: Formulation['update'] = (z, at) => {
    const {x} = at;
    const made = partsIn(z, at);
    const newest = made.map(part => pieceOf(part, at.h)).reverse();
    return {
      ...x,
      y: made[made.length - 1].next.y,
      pieces: tf.concat([tf.stack(newest.map(({from}) => from)), tf.slice(x.pieces, [0], [kept - parts])]),
      past: tf.concat([...newest.map(pieceRow), tf.slice(x.past, [0, 0], [kept - parts, -1])], 0),
    };
  };

  return {
    unknown: indices.flatMap(k => base.unknown.map(name => nameIn(k, name))),
    carry: ({x: {y}, t, h}) => ({
      began: t,
      ...(ownHistory ? {} : {start: y}),
      ...emptyPast(kept, parts, y.shape, t, h),
    }),
    ...(base.residual === undefined
      ? {}
      : {
          residual: (z: Blocks, at: StepPoint) =>
            Object.fromEntries(
              partsIn(z, at).flatMap(({at: own, z: zOwn}, k) =>
                Object.entries(base.residual?.(zOwn, own) ?? {}).map(([name, rows]) => [nameIn(k, name), rows]),
              ),
            ),
          guess: (at: StepPoint) => {
            const own = partOf(at, at.t, tf.add(at.t, at.h), at.x.y);
            const z = base.guess?.(own).z ?? {};
            const known = (name: string): tf.Tensor => z[name] ?? own.x[name] ?? tf.zerosLike(at.x.y);
            return {
              z: Object.fromEntries(indices.flatMap(k => base.unknown.map(name => [nameIn(k, name), known(name)]))),
            };
          },
        }),
    update,
    dense: (theta, _, {x: {y}, t, h}, next) => ({
      y: pastAt(
        tf.slice(next.pieces, [0], [parts]),
        tf.slice(next.past, [0, 0], [parts, -1]),
        tf.add(t, tf.mul(theta, h)),
        0,
        y.shape,
      ),
    }),
  };
}

/** Pieces that nobody reads, as what lies before the start is the history's. They have times, in the order of others. */
function emptyPast(kept: number, parts: number, shape: Shape, t: tf.Tensor, h: tf.Tensor): Blocks {
  const before = constantTensor(
    Array.from({length: kept}, (_, i) => (i + 1) / parts),
    [kept],
  );
  return {pieces: tf.sub(t, tf.mul(h, before)), past: tf.zeros([kept, pieceWidth(shape)])};
}
