/**
 * The No-U-Turn sampler (Hoffman & Gelman, JMLR 15, 2014) in its multinomial form with the generalized criterion for a
 * turn, checked across subtrees too (Betancourt, A Conceptual Introduction to Hamiltonian Monte Carlo, 2017, app. A;
 * Stan's base_nuts): draws of any density whose logarithm has a gradient. The step length is led by dual averaging; the
 * metric is found in windows of the warm-up (nuts-adaptation.ts).
 */
import type {Random} from '../train/random.js';
import type {Metric} from './nuts-metric.js';

/** ln of a density, up to a constant, with its gradient; undefined if it is 0 or cannot be evaluated. */
export type LogDensity = (x: Float64Array) => {readonly value: number; readonly gradient: Float64Array} | undefined;

/** A place with what is known of it. */
export interface DensityPoint {
  readonly x: Float64Array;
  readonly value: number;
  readonly gradient: Float64Array;
}

/** A place in phase space. */
interface State extends DensityPoint {
  readonly p: Float64Array;
}

/** An end of a trajectory: its momentum, and the velocity M⁻¹p. */
interface End {
  readonly p: Float64Array;
  readonly velocity: Float64Array;
}

/** A part of a trajectory, its ends in the order of time. */
interface Tree {
  readonly first: End;
  readonly last: End;
  /** Sum of the momenta. */
  readonly rho: Float64Array;
  readonly proposal: DensityPoint;
  /** ln Σ exp(−H). */
  readonly logWeight: number;
}

/** The result of one transition. */
export interface Transition {
  readonly place: DensityPoint;
  /** Mean probability of acceptance along the trajectory: what dual averaging leads to its target. */
  readonly acceptance: number;
  readonly divergent: boolean;
  readonly depth: number;
  readonly evaluations: number;
}

/** An energy error beyond it is no error of a step but a trajectory that left (Stan's). */
const DIVERGENT = 1000;

interface Walk {
  readonly density: LogDensity;
  readonly metric: Metric;
  readonly step: number;
  readonly random: Random;
  readonly energy: number;
  acceptance: number;
  leaps: number;
  divergent: boolean;
}

/** One draw from the last. @param maxDepth doublings of the trajectory at most */
export function transition(
  density: LogDensity,
  from: DensityPoint,
  {
    metric,
    step,
    random,
    maxDepth,
  }: {readonly metric: Metric; readonly step: number; readonly random: Random; readonly maxDepth: number},
): Transition {
  const p = metric.momentum(random);
  const start: State = {...from, p};
  const walk: Walk = {
    density,
    metric,
    step,
    random,
    energy: energyOf(start, metric),
    acceptance: 0,
    leaps: 0,
    divergent: false,
  };
  const end = {p, velocity: metric.velocity(p)};
  let tree: Tree = {first: end, last: end, rho: p, proposal: from, logWeight: 0};
  const ends: [State, State] = [start, start];
  let depth = 0;
  while (depth < maxDepth) {
    const forward = random.uniform() < 0.5;
    const grown = grow(walk, ends[forward ? 1 : 0], depth, forward ? 1 : -1);
    if (grown === undefined) break;
    ends[forward ? 1 : 0] = grown.state;
    depth++;
    // Biased towards the new half: farther moves (Betancourt, A.3.2).
    const accepted = Math.log(random.uniform()) < grown.tree.logWeight - tree.logWeight;
    const [left, right] = forward ? [tree, grown.tree] : [grown.tree, tree];
    const proposal = accepted ? grown.tree.proposal : tree.proposal;
    const turned = isTurned(left, right);
    tree = joined(left, right, proposal);
    if (turned) break;
  }
  return {
    place: tree.proposal,
    acceptance: walk.leaps === 0 ? 0 : walk.acceptance / walk.leaps,
    divergent: walk.divergent,
    depth,
    evaluations: walk.leaps,
  };
}

/** 2^depth steps on from a state; undefined where a part of them turned or diverged. */
function grow(walk: Walk, from: State, depth: number, direction: 1 | -1): {tree: Tree; state: State} | undefined {
  if (depth === 0) return leap(walk, from, direction);
  const near = grow(walk, from, depth - 1, direction);
  if (near === undefined) return undefined;
  const far = grow(walk, near.state, depth - 1, direction);
  if (far === undefined) return undefined;
  const [left, right] = direction === 1 ? [near.tree, far.tree] : [far.tree, near.tree];
  const total = logSum(near.tree.logWeight, far.tree.logWeight);
  const accepted = Math.log(walk.random.uniform()) < far.tree.logWeight - total;
  if (isTurned(left, right)) return undefined;
  return {tree: joined(left, right, accepted ? far.tree.proposal : near.tree.proposal), state: far.state};
}

function leap(walk: Walk, from: State, direction: 1 | -1): {tree: Tree; state: State} | undefined {
  walk.leaps++;
  const state = leapfrog(walk.density, walk.metric, from, direction * walk.step);
  const error = state === undefined ? Infinity : energyOf(state, walk.metric) - walk.energy;
  if (state === undefined || !(error <= DIVERGENT)) {
    walk.divergent = true;
    return undefined;
  }
  walk.acceptance += Math.min(1, Math.exp(-error));
  const end = {p: state.p, velocity: walk.metric.velocity(state.p)};
  return {tree: {first: end, last: end, rho: state.p, proposal: state, logWeight: -error}, state};
}

/** Half a kick, a drift, half a kick (Störmer, Verlet). */
function leapfrog(density: LogDensity, metric: Metric, {x, p, gradient}: State, step: number): State | undefined {
  const half = p.map((value, i) => value + (step / 2) * gradient[i]);
  const velocity = metric.velocity(half);
  const moved = x.map((value, i) => value + step * velocity[i]);
  const at = density(moved);
  if (at === undefined || !Number.isFinite(at.value)) return undefined;
  return {
    x: moved,
    value: at.value,
    gradient: at.gradient,
    p: half.map((value, i) => value + (step / 2) * at.gradient[i]),
  };
}

const energyOf = ({p, value}: State, metric: Metric): number => dot(p, metric.velocity(p)) / 2 - value;

/** Whether the ends come towards each other: of the whole, and of each half with the other's nearest point. */
function isTurned(left: Tree, right: Tree): boolean {
  const goes = (first: End, last: End, rho: Float64Array): boolean =>
    dot(first.velocity, rho) > 0 && dot(last.velocity, rho) > 0;
  return !(
    goes(left.first, right.last, plus(left.rho, right.rho))
    && goes(left.first, right.first, plus(left.rho, right.first.p))
    && goes(left.last, right.last, plus(left.last.p, right.rho))
  );
}

const joined = (left: Tree, right: Tree, proposal: DensityPoint): Tree => ({
  first: left.first,
  last: right.last,
  rho: plus(left.rho, right.rho),
  proposal,
  logWeight: logSum(left.logWeight, right.logWeight),
});

/** A step whose single leap is accepted with probability ½ about, to start from (Hoffman & Gelman, algorithm 4). */
export function firstStep(density: LogDensity, from: DensityPoint, metric: Metric, random: Random): number {
  const start: State = {...from, p: metric.momentum(random)};
  const energy = energyOf(start, metric);
  const gain = (step: number): number => {
    const state = leapfrog(density, metric, start, step);
    return state === undefined ? -Infinity : energy - energyOf(state, metric);
  };
  let step = 1;
  const grows = gain(step) > Math.log(0.5);
  // Doublings within the doubles' range; a step as small or as large as that is for dual averaging to mend.
  for (let i = 0; i < 50 && gain(step) > Math.log(0.5) === grows; i++) step *= grows ? 2 : 0.5;
  return step;
}

const dot = (a: Float64Array, b: Float64Array): number => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};
const plus = (a: Float64Array, b: Float64Array): Float64Array => a.map((value, i) => value + b[i]);
const logSum = (a: number, b: number): number => Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)));
