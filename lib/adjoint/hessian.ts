/**
 * Forward over reverse: the backward sweep and its tangent, for the gradient of a loss and the product of its
 * Hessian with several directions. One Jacobian and one factor per step serve the solve of the tangent and
 * both transposed ones; the discrete scheme is differentiated, not the exact solution.
 */
import type {SecondOrderCotangent} from './directions.js';
import type {BufferName} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters, startContext} from '../step/context.js';
import type {HessianProgram} from '../step/hessian-programs.js';
import {toUserTime} from '../step/time-direction.js';
import {hessianPrograms} from '../step/hessian-programs.js';
import {cotangentName, secondOrderName} from '../step/parameter-names.js';
import {addTo} from './add-to.js';
import type {Gradient} from './gradient.js';
import type {SavedStates} from './step-history.js';
import {SavedCursor} from './step-history.js';
import {
  parameterNames,
  setDirections,
  throughDerived,
  secondOrderThroughDerived,
  zeroCotangents,
} from './derived-cotangents.js';
import {jacobianFactor} from './jacobian-factor.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';
import type {Directions} from './directions.js';
import {initialTangents} from './tangent.js';
import {noPathDerivative, readsPath} from './timed-pull.js';
import {TangentResidual} from './tangent-residual.js';

/**
 * Transition n as it was taken: rows from..to−1 of a record, and the tangents [count, state] of the state before each.
 */
export interface SecondOrderStep {
  readonly n: number;
  readonly record: StepRecord;
  readonly from: number;
  readonly to: number;
  tangent(row: number): Float64Array;
  /** The state after it, and its tangents. */
  readonly next: Float64Array;
  readonly dNext: Float64Array;
}

/** Shows all of them from last to first; returns how many had to be taken again. */
export type SecondOrderBackwards = (visit: (step: SecondOrderStep) => void) => number;

export interface SecondOrder {
  readonly gradient: Gradient;
  /** One for each direction. */
  readonly products: readonly Gradient[];
}

/** How the arguments of a step move: its beginning [count, state], and its time and length [count] where they vary. */
export interface StepMoves {
  readonly dx: Float64Array;
  readonly dt?: Float64Array;
  readonly dh?: Float64Array;
}

/** Cotangents of a step's beginning, and of its time and length where they vary: the executable's own buffers. */
export interface StepCotangents {
  readonly x: SecondOrderCotangent;
  readonly t?: SecondOrderCotangent;
  readonly h?: SecondOrderCotangent;
}

/**
 * Completes the change of a cotangent of the step's end, in place.
 * @param dH how the cotangent of the length changes, that of the unknown's equation being held
 * @param dZ how the cotangent of the unknown changes
 */
export type CompleteChange = (dH: Float64Array, dZ: Float64Array | undefined) => void;

/** The step's adjoint with its tangent, loaded for a run. */
export class SecondOrderPull {
  /** Cotangents of parameters, and of values derived from them. */
  readonly cotangents: readonly Float64Array[];
  /** Changes of these cotangents along directions, [count, size]. */
  readonly changes: readonly Float64Array[];
  /**
   * The cotangent of the beginning of a recorded step, and its change, from those of its end.
   * @param z further cotangents of its unknown
   */
  readonly pull: (
    record: StepRecord,
    k: number,
    moves: StepMoves,
    x: SecondOrderCotangent,
    z?: SecondOrderCotangent,
    complete?: CompleteChange,
  ) => StepCotangents;

  /** @param timed times vary */
  constructor(
    private readonly context: StepContext,
    private readonly directions: Directions,
    timed = false,
  ) {
    const {compiled} = context;
    const {count} = directions;
    const executable = compiled.group(
      `hessian.${count}${timed ? '.timed' : ''}`,
      () => hessianPrograms(compiled.derived.step, compiled.matrices.jacobian, count, timed),
      {analysis: compiled.matrices.analysisOf(compiled.matrices.sweepSolver(context.linear), 'jacobian')},
    );
    loadParameters(executable, context);
    setDirections(context, executable, directions);
    this.cotangents = zeroCotangents(context);
    this.changes = zeroCotangents(context, count);
    const jacobian = jacobianFactor(context, executable);
    const buffers = stepBuffers(executable);
    const find = (name: BufferName): Float64Array | undefined => executable.optionalBuffer(name);
    const [nextCotangent, dNextCotangent, dxIn, dtIn, dhIn, dz, zCotangent, w, dw] = (
      ['nextCotangent', 'dNextCotangent', 'dx', 'dt', 'dh', 'dz', 'zCotangent', 'w', 'dw'] as const
    ).map(find);
    const pair = (cotangent: BufferName, change: BufferName): SecondOrderCotangent => ({
      cotangent: executable.buffer(cotangent),
      change: executable.buffer(change),
    });
    const begin: StepCotangents = {
      x: pair('xCotangent', 'dXCotangent'),
      ...(timed ? {t: pair('tCotangent', 'dTCotangent'), h: pair('hCotangent', 'dHCotangent')} : {}),
    };
    const [rhs, dZCotangent] = (['rhs', 'dZCotangent'] as const).map(find);
    const sources = parameterNames(context).map(name => ({
      cotangent: find(cotangentName(name)),
      change: find(secondOrderName(name)),
    }));
    const bound = (name: HessianProgram): (() => void) =>
      executable.has(name) ? executable.program(name) : () => undefined;
    const [pushResidual, pullUnknown, sequentialUnknown] = (
      ['pushResidual', 'pullUnknown', 'sequentialUnknown'] as const
    ).map(bound);
    const [pullStep, sequentialStep] = (['pullStep', 'sequentialStep'] as const).map(name => executable.program(name));
    const moving = timed ? {dt: dtIn, dh: dhIn} : {};
    const remainder = new TangentResidual(context, count, {dx: dxIn, ...moving, dz}, directions);
    this.pull = (record, k, {dx, dt, dh}, {cotangent, change}, z, complete) => {
      record.load(k, buffers);
      dxIn?.set(dx);
      if (dt !== undefined) dtIn?.set(dt);
      if (dh !== undefined) dhIn?.set(dh);
      nextCotangent?.set(cotangent);
      dNextCotangent?.set(change);
      if (jacobian !== undefined) {
        jacobian.refresh();
        pushResidual();
        remainder.setStep(record, k);
        if (dz !== undefined && rhs !== undefined) jacobian.solve(rhs, dz, count, remainder.residual);
        pullUnknown();
        addTo(zCotangent, z?.cotangent);
        if (w !== undefined && zCotangent !== undefined) jacobian.solveManyTransposed(zCotangent, w, 1, record, k);
      }
      if (complete !== undefined && begin.h !== undefined) {
        sequentialUnknown();
        addTo(dZCotangent, z?.change);
        complete(begin.h.change, dZCotangent);
        dNextCotangent?.set(change);
      }
      if (jacobian !== undefined) {
        sequentialUnknown();
        addTo(dZCotangent, z?.change);
        if (dw !== undefined && dZCotangent !== undefined)
          jacobian.solveManyTransposed(dZCotangent, dw, count, record, k);
      }
      pullStep();
      sequentialStep();
      sources.forEach((source, i) => {
        addTo(this.cotangents[i], source.cotangent);
        addTo(this.changes[i], source.change);
      });
      return begin;
    };
  }

  /** The cotangents of the parameters and their changes, after the last step. */
  finish(): ParameterPair {
    const {context, directions, cotangents, changes} = this;
    return {
      changes: secondOrderThroughDerived(context, directions, cotangents, changes),
      cotangents: throughDerived(context, cotangents),
    };
  }
}

/** The loss's own cotangent of a saved state, and its change. */
export type SavedCotangent = (index: number) => SecondOrderCotangent;

/** A saved state within a step, with its cotangent. */
export interface InteriorPair extends SecondOrderCotangent {
  readonly theta: number;
}

/** Goes back over one transition after another. */
export interface SecondOrderTransitions {
  /**
   * The cotangent of the end of a transition becomes that of its beginning.
   * @param within states saved inside it
   */
  pull(step: SecondOrderStep, x: SecondOrderCotangent, within: readonly InteriorPair[]): void;
  /** What parameters have of transitions that are not steps like the others. */
  finish?(): ParameterPair | undefined;
}

/** Cotangents of parameters and their changes. */
export interface ParameterPair {
  readonly cotangents: readonly Float64Array[];
  readonly changes: readonly Float64Array[];
}

const nothing: readonly InteriorPair[] = [];

/** The time of the start, which moves: its directions by the clock of the loops, and its cotangent with the change. */
export interface MovingStart {
  readonly dt: Float64Array;
  readonly cotangent: SecondOrderCotangent;
}

/** Steps of a grid. */
function pullRows(
  steps: SecondOrderPull,
  context: StepContext,
  directions: Directions,
  moving: MovingStart | undefined,
): SecondOrderTransitions {
  const first = moving === undefined ? undefined : new SecondOrderPull(context, directions, true);
  return {
    pull({n, record, from, to, tangent}, x) {
      for (let row = to - 1; row >= from; row--)
        if (n === 0 && row === from && first !== undefined)
          setPair(x, pullFirst(first, record, row, tangent(row), x, moving));
        else setPair(x, steps.pull(record, row, {dx: tangent(row)}, x).x);
    },
    finish: () => first?.finish(),
  };
}

/** A step whose beginning moves, and whose end is held: the length gives what the start's time takes. */
function pullFirst(
  steps: SecondOrderPull,
  record: StepRecord,
  row: number,
  dx: Float64Array,
  x: SecondOrderCotangent,
  moving: MovingStart | undefined,
): SecondOrderCotangent {
  const moves = moving === undefined ? {dx} : {dx, dt: moving.dt, dh: moving.dt.map(value => -value)};
  const begin = steps.pull(record, row, moves, x);
  if (moving !== undefined) addBeginning(moving.cotangent, begin);
  return begin.x;
}

/** Adds the cotangent of the time at which a step begins, its end being held. */
export function addBeginning(to: SecondOrderCotangent, {t, h}: Pick<StepCotangents, 't' | 'h'>): void {
  if (t !== undefined) addPair(to, t);
  if (h !== undefined) addPair(to, h, -1);
}

export function setPair(to: SecondOrderCotangent, from: SecondOrderCotangent): void {
  to.cotangent.set(from.cotangent);
  to.change.set(from.change);
}

export function addPair(to: SecondOrderCotangent, from: SecondOrderCotangent, factor = 1): void {
  addTo(to.cotangent, from.cotangent, factor);
  addTo(to.change, from.change, factor);
}

export const zeroPair = (size: number, count: number): SecondOrderCotangent => ({
  cotangent: new Float64Array(size),
  change: new Float64Array(count * size),
});

/** @throws GradientError 'no-time-derivative' of an sde */
function movingStart(context: StepContext, {count, t0}: Directions): MovingStart | undefined {
  if (t0 === undefined) return undefined;
  if (readsPath(context.traced)) throw noPathDerivative('by t0');
  return {dt: t0, cotangent: zeroPair(1, count)};
}

/**
 * @param start the step that began the run
 * @param cotangent the loss's own, by saved state
 * @param startTimes cotangents of the times of saved states that are the start
 * @param transitionsOf how transitions of a step history go back, whose times may move
 */
export function sweepBackSecondOrder(
  context: StepContext,
  start: StepRecord,
  directions: Directions,
  backwards: SecondOrderBackwards,
  saved: SavedStates,
  cotangent: SavedCotangent,
  startTimes: readonly SecondOrderCotangent[],
  transitionsOf?: (steps: SecondOrderPull, moving: MovingStart | undefined) => SecondOrderTransitions,
): SecondOrder {
  const {count} = directions;
  const steps = new SecondOrderPull(context, directions, transitionsOf !== undefined);
  const moving = movingStart(context, directions);
  const transitions = transitionsOf?.(steps, moving) ?? pullRows(steps, context, directions, moving);
  const x = zeroPair(context.traced.state.size, count);
  const cursor = new SavedCursor(saved, true);
  /** Adds what is saved at the end of transition n, and returns what is saved inside it. */
  const savedIn = (n: number): readonly InteriorPair[] => {
    if (!cursor.back(n)) return nothing;
    const within: InteriorPair[] = [];
    for (let i = cursor.from; i < cursor.to; i++) {
      const theta = cursor.theta(i);
      if (theta === 1) addPair(x, cotangent(i));
      else within.push({theta, ...cotangent(i)});
    }
    return within;
  };
  const recomputedSteps = backwards(step => transitions.pull(step, x, savedIn(step.n)));
  savedIn(-1);
  const {cotangents: totals, changes} = steps.finish();
  const add = (own: ParameterPair): void => {
    own.cotangents.forEach((one, i) => addTo(totals[i], one));
    own.changes.forEach((one, i) => addTo(changes[i], one));
  };
  const more = transitions.finish?.();
  if (more !== undefined) add(more);
  let began = x;
  if (context.resumed !== true) {
    const first = new SecondOrderPull(startContext(context), directions, moving !== undefined);
    began = pullFirst(first, start, 0, initialTangents(context, directions), x, moving);
    add(first.finish());
  }
  if (moving !== undefined) for (const pair of startTimes) addPair(moving.cotangent, pair);
  const t0 = (values: Float64Array | undefined, d: number): {readonly t0?: number} =>
    values === undefined ? {} : {t0: toUserTime(context.traced, values[d])};
  const given = context.initialValues.length;
  return {
    gradient: {
      ...{initial: began.cotangent.slice(0, given), parameters: totals, recomputedSteps},
      ...t0(moving?.cotangent.cotangent, 0),
    },
    products: Array.from({length: count}, (_, d) => {
      const size = began.change.length / count;
      return {
        initial: began.change.slice(d * size, d * size + given),
        parameters: changes.map(change => change.slice((d * change.length) / count, ((d + 1) * change.length) / count)),
        recomputedSteps,
        ...t0(moving?.cotangent.change, d),
      };
    }),
  };
}
