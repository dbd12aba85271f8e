/**
 * States of rest along a load, by continuation in arc length: a predictor along the tangent, and Newton's method in the
 * plane across it (Riks, Int. J. Solids Struct. 15, 1979; Crisfield, Comput. Struct. 13, 1981). The path goes on where
 * the load has a limit and falls. Lengths are in units of the first step: what it moves, and its load.
 */
import {
  abortSignal,
  callable,
  finite,
  numeric,
  object,
  optional,
  positiveInteger,
  readOptions,
  text,
  throwIfAborted,
  typed,
} from '../checks.js';
import type {Check, Options} from '../checks.js';
import type {Newton} from '../newton/index.js';
import {readNumeric, type Numeric} from '../system/numeric.js';
import type {NumericParams, NumericParamsOf, Params} from '../system/params.js';
import {differs, PathStates, type PathPoint, type PathState} from './path-states.js';
import type {PreparedRun} from './prepare.js';

const nonzero: Check<number> = {what: 'a number that is not 0', test: value => finite.test(value) && value !== 0};

const pathOptions = {
  params: optional(typed<NumericParams>(object)),
  /** The name of a number in params that is the load; default t, of which loads and supports are functions. */
  parameter: optional(text),
  /** The load of the first step, in either direction. Later steps are as long as converges, up to four times this. */
  step: nonzero,
  /** The load at which the path ends, when it comes there. */
  to: optional(finite),
  /** The most points after the first. Default 100. */
  points: optional(positiveInteger, 100),
  /** The path ends at the first point where this is true. */
  until: optional(typed<(point: PathPoint) => boolean>(callable)),
  /**
   * The first displacement, in the shape of q or the velocity: from a bifurcation along its mode, times a small
   * length. Then the start is taken as it is, and must be at rest.
   */
  direction: optional(typed<Numeric>(numeric)),
  /** Default: whole steps, of which up to 12 are taken. */
  newton: optional(typed<Newton>()),
  /** Looked at before every point. */
  signal: optional(abortSignal),
};

/** Options of `equilibrium.path`. @interface */
export type PathOptions<P = Params> = Omit<Options<typeof pathOptions>, 'params'> & {
  /** Values of the system's `params`, by name. */
  readonly params?: NumericParamsOf<P>;
};

/** A state on a path in which the stiffness is singular. */
export interface CriticalPoint extends PathPoint {
  /** At a limit point the load turns around; at a bifurcation another path crosses this one. */
  readonly kind: 'limit' | 'bifurcation';
  /** The displacement that no force resists, in the shape of the velocity, its largest number 1 or −1. */
  readonly mode: Float64Array;
  /** It lies before this one of `points`. */
  readonly before: number;
}

/** Made by `equilibrium.path`. */
export interface EquilibriumPath {
  /** The start and what follows it. */
  readonly points: readonly PathPoint[];
  /** In turn. Two of one step whose changes of `unstable` cancel remain unseen: take shorter steps. */
  readonly critical: readonly CriticalPoint[];
  /** 'ended' at `to`, by `until` or after all points; 'stuck' where not even the shortest step converges. */
  readonly status: 'ended' | 'stuck';
  readonly warnings: readonly string[];
  readonly newtonIterations: number;
  readonly factorizations: number;
}

/** Ramm's (1981) choice of the next length: by the root of so many iterations over those of the last step. */
const desiredIterations = 4;
/** The longest step by the first one: a path has points enough to be drawn where its first step is one part of it. */
const longest = 4;
/** A step that fails at this share of the first one fails for another reason than its length. */
const shortest = 2 ** -10;
/** Tangents at both ends of a step differ by 45° at most, or the step is halved: it may have left its path. */
const leastCosine = Math.SQRT1_2;

/** Options as they are read. */
export type ReadPathOptions = ReturnType<typeof readPathOptions>;

export const readPathOptions = (options: PathOptions) => readOptions(options, pathOptions, 'equilibrium.path');

const unitMode = (vector: Float64Array): Float64Array => {
  const most = vector.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
  return vector.map(x => x / most);
};

/**
 * The path from a state of rest.
 * @param prepared the equations of rest, with t as the load
 */
export function followPath(prepared: PreparedRun, options: ReadPathOptions): EquilibriumPath {
  const {compiled} = prepared;
  compiled.inUse = true;
  try {
    return follow(new PathStates(prepared, options.step), options);
  } finally {
    compiled.inUse = false;
  }
}

function follow(states: PathStates, {points: most, to, until, direction, signal}: ReadPathOptions): EquilibriumPath {
  const along = direction === undefined ? undefined : readNumeric(direction, 'direction').values;
  let state = states.first(along);
  const points = [state.point];
  const critical: CriticalPoint[] = [];
  const warnings: string[] = [];
  const ended = (status: EquilibriumPath['status']): EquilibriumPath => {
    const {newtonIterations, factorizations} = states.counters;
    if (points.some(({unstable}, i) => unstable === undefined && (i > 0 || along === undefined)))
      warnings.push(
        'The stiffness is not symmetric, or singular, at some points: bifurcations there are not found, and `unstable` '
          + 'is undefined.',
      );
    return {points, critical, status, warnings, newtonIterations, factorizations};
  };
  // The first step is as long as its load and what that moves, or as the direction alone.
  const first = along === undefined ? Math.SQRT2 : 1;
  let length = first;
  while (points.length <= most) {
    throwIfAborted(signal);
    const found = states.advance(state, length);
    const turn = found === undefined ? 0 : states.product(found.state.tangent, state.tangent);
    if (found === undefined || turn < leastCosine) {
      length /= 2;
      if (length >= shortest * first) continue;
      if (found === undefined) {
        warnings.push(
          `No state of rest was found beyond the load ${state.point.load}, however short the step. Does the path end `
            + 'there, or does a force jump?',
        );
        return ended('stuck');
      }
    }
    const {iterations} = found;
    let next = found.state;
    const passes = to !== undefined && (to - state.point.load) * (to - next.point.load) <= 0;
    if (passes) next = states.at(to, state, next);
    // A direction leads out of a critical point.
    if (points.length > 1 || along === undefined)
      locate(states, state, {s: length, state: next}, points.length, critical, warnings);
    points.push(next.point);
    state = next;
    if (passes || until?.(next.point) === true) break;
    const ratio = Math.sqrt(desiredIterations / Math.max(1, iterations));
    length = Math.min(length * Math.min(2, Math.max(0.5, ratio)), longest * first);
  }
  return ended('ended');
}

/** Adds the critical points of a step. */
function locate(
  states: PathStates,
  from: PathState,
  end: {readonly s: number; readonly state: PathState},
  before: number,
  critical: CriticalPoint[],
  warnings: string[],
): void {
  for (let place = {s: 0, state: from}; differs(place.state, end.state);) {
    const found = states.critical(from, place, end);
    if (found === undefined) {
      warnings.push(
        `A critical point between the loads ${from.point.load} and ${end.state.point.load} was not located: take a `
          + 'shorter step.',
      );
      return;
    }
    const {state, turns, behind} = found;
    const mode = unitMode(states.ofCoordinates(state.softest.vector));
    critical.push({...state.point, kind: turns ? 'limit' : 'bifurcation', mode, before});
    place = behind;
  }
}
