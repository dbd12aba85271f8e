/**
 * One-step schemes for delay equations, by the method of steps with continuous extensions (Bellen & Zennaro,
 * Numerical Methods for Delay Differential Equations, 2003). The state carries the pieces of the last steps
 * (system/past.ts), among which delayed states are found. From the start t₀ on, derivatives of y jump at the breaking
 * points t₀ + Σ kᵢτᵢ, one derivative later each time; a scheme of order p keeps its order where none of the first p +
 * 1 lies within a step (p, where y is continuous at the start). So each step is several ones in turn, from one
 * breaking point to the next, most of them of no length. Their lengths are functions of the delays, and the
 * derivative of a run by a delay is that of what was computed.
 */
import * as tf from '@tensorflow/tfjs';
import {constantTensor} from '../trace/trace.js';
import type {Blocks, DelayEquations} from '../system/equations.js';
import type {Piece} from '../system/past.js';
import {pastAt, pieceRow} from '../system/past.js';
import {afterJump, multiples, timeRounding} from '../system/breaking-points.js';
import {hermite} from './hermite.js';
import type {Formulation, StepPoint} from './scheme.js';
import type {Division} from '../system/breaking-points.js';

/** A run whose past is kept. */
export interface Delaying extends Pick<DelayEquations, 'count' | 'longest' | 'ownHistory'> {
  /** The length of the run's steps. */
  readonly dt: number;
  /** Times at which what the derivative reads jumps, ascending: breaking points begin there, too. */
  readonly jumps: Float64Array;
  /** By delay: it is a function of parameters. */
  readonly moving: readonly boolean[];
}

/** The most jumps within any step that begins at none. */
function mostWithin(jumps: Float64Array, dt: number): number {
  let most = 0;
  for (let first = 0, last = 0; last < jumps.length; last++) {
    while (jumps[last] - jumps[first] >= dt * (1 - 1e-9)) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

/**
 * Into how many parts a step may have to be divided: by one breaking point of the start for each delay, and by those
 * of jumps.
 */
function partsOfStep({count, jumps, dt}: Delaying, order: number): number {
  const ofJumps = Math.min(count * jumps.length, afterJump(count, order).length * mostWithin(jumps, dt));
  return 1 + count + ofJumps;
}

/** Where one part of a step ends and the next one begins. */
interface Cut {
  readonly at: tf.Tensor;
  /**
   * By delay: its own breaking point lies here, too, but is another cut, still to come. Undefined where there are
   * none of these.
   */
  readonly waiting?: tf.Tensor;
}

/**
 * The times that divide a step, ascending: the first breaking points in it, its end among them, and its end again
 * where there are no more. Points that lie on one another are one cut, but not those at which the derivative itself
 * may jump, t₀ + τᵢ where y jumps at the start: the derivative of the run by τᵢ has that jump times the motion of
 * just this point, which it gets from parts of no length to both sides.
 */
function cutsOf(
  {t, h, x: {began}}: StepPoint,
  delays: readonly tf.Tensor[],
  order: number,
  {jumps, ownHistory, moving}: Delaying,
  cuts: number,
): Cut[] {
  const end = tf.add(t, h);
  const lengths = tf.stack([...delays]);
  // The delay itself comes as it is asked for by the equations, whose side of the start it decides: zeros change
  // nothing.
  const sums = (rows: number[][]): tf.Tensor =>
    tf.sum(tf.mul(constantTensor(rows.flat(), [rows.length, delays.length]), lengths), 1);
  const later = afterJump(delays.length, order);
  const ofJumps =
    jumps.length === 0 || later.length === 0
      ? []
      : [tf.reshape(tf.add(constantTensor(jumps, [jumps.length, 1]), sums(later)), [-1])];
  const ofStart = multiples(delays.length, order + 1);
  const points = tf.concat([tf.add(began, sums(ofStart)), ...ofJumps]);
  const least = tf.sub(points, tf.mul(tf.abs(points), timeRounding));
  const far = tf.add(tf.add(end, tf.abs(end)), 1);
  const isOwn = (row: readonly number[], i: number): boolean => row.every((k, j) => k === (i === j ? 1 : 0));
  const own = ownHistory && moving.includes(true) ? delays.map((_, i) => ofStart.findIndex(row => isOwn(row, i))) : [];
  const others = own.length;
  // The point with the least rank is taken first where several lie on one another.
  const ranks = constantTensor(
    Array.from({length: points.size}, (_, point) => (own.includes(point) ? own.indexOf(point) : others)),
    [points.size],
  );
  let left = (): tf.Tensor => tf.logicalAnd(tf.greater(least, t), tf.lessEqual(least, end));
  const found: Cut[] = [];
  for (let k = 0; k < cuts; k++) {
    const ahead = left();
    const next = tf.min(tf.where(ahead, points, far));
    const here = tf.logicalAnd(ahead, tf.lessEqual(least, next));
    const rank = tf.min(tf.where(here, ranks, others));
    const taken = tf.logicalAnd(here, tf.equal(ranks, rank));
    const at = tf.where(tf.less(next, far), tf.min(tf.where(taken, points, far)), end);
    const waiting = (): tf.Tensor =>
      tf.logicalAnd(here, tf.logicalAnd(tf.greater(ranks, rank), tf.less(ranks, others)));
    found.push({at, ...(others > 1 ? {waiting: tf.gather(waiting(), tf.tensor1d(own, 'int32'))} : {})});
    left = () => tf.logicalOr(waiting(), tf.logicalAnd(ahead, tf.logicalNot(here)));
  }
  return found;
}

/**
 * A block of the unknown in part k of a step. A number at its end is no part of the name that says what it is a
 * derivative of.
 */
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
 * @param base a one-step scheme's: what it carries is a function of the state
 * @param order of the scheme
 */
export function withPast(base: Formulation, order: number, delaying: Delaying): Formulation & {stepDivision: Division} {
  const {longest, ownHistory, dt} = delaying;
  const parts = partsOfStep(delaying, order);
  // One more than is needed of equal steps: a run that goes on from another one begins after a shorter one.
  const kept = (Math.ceil((longest / dt) * (1 - 1e-12)) + 1) * parts;
  const indices = Array.from({length: parts}, (_, k) => k);

  /** The parts of a step, each from the end of the one before. */
  function partsIn(z: Blocks, at: StepPoint): Part[] {
    const {x, t, h, delay} = at;
    if (delay === undefined) throw new Error('a past without delays');
    const bounds: Cut[] = [{at: t}, ...cutsOf(at, delay.values(), order, delaying, parts - 1), {at: tf.add(t, h)}];
    const made: Part[] = [];
    let {y} = x;
    for (const k of indices) {
      const own = partOf(at, bounds[k], bounds[k + 1].at, y);
      const zOwn = partsOf(z, base.unknown, k);
      const next = base.update(zOwn, own);
      made.push({at: own, z: zOwn, next});
      y = next.y;
    }
    return made;
  }

  function partOf(at: StepPoint, {at: from, ...waits}: Cut, to: tf.Tensor, y: tf.Tensor): StepPoint {
    const rate: StepPoint['rate'] = (place, t) => at.rate({...at.x, ...place, from, to, ...waits}, t);
    const own: StepPoint = {...at, x: {y}, t: from, h: tf.sub(to, from), rate, rightHandSide: rate};
    return {...own, x: {y, ...(typeof base.carry === 'function' ? base.carry(own) : {})}};
  }

  function pieceOf({at, z, next}: Part, whole: tf.Tensor): Piece {
    const {x, t, h, rate} = at;
    const to = tf.add(t, h);
    // Nobody reads the middle of a part without length but for rounding, and some dense outputs divide by it.
    const between = {...at, h: tf.where(tf.lessEqual(tf.abs(h), tf.mul(tf.abs(to), timeRounding)), whole, h)};
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
      ...emptyPast(kept, parts, y, t, h),
    }),
    stepDivision: {cuts: parts - 1, order, jumpsAtStart: ownHistory, jumps: delaying.jumps, moving: delaying.moving},
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
            const own = partOf(at, {at: at.t}, tf.add(at.t, at.h), at.x.y);
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

/**
 * Pieces with times in the order of others. What lies before the start is the history's; of these, only a first step
 * as long as a delay reads the start itself, at its end.
 */
function emptyPast(kept: number, parts: number, y: tf.Tensor, t: tf.Tensor, h: tf.Tensor): Blocks {
  const before = constantTensor(
    Array.from({length: kept}, (_, i) => (i + 1) / parts),
    [kept],
  );
  const slope = tf.zerosLike(y);
  const row = pieceRow({from: t, to: t, y, next: y, middle: y, slope, endSlope: slope});
  return {pieces: tf.sub(t, tf.mul(h, before)), past: tf.tile(row, [kept, 1])};
}
