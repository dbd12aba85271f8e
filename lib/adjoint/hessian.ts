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
import {hessianPrograms} from '../step/hessian-programs.js';
import {cotangentName, secondOrderName} from '../step/parameter-names.js';
import {addTo} from './add-to.js';
import type {Gradient} from './gradient.js';
import type {SavedStates} from './step-history.js';
import {savesWithinSteps, SavedCursor} from './step-history.js';
import {SecondOrderDense} from './dense-hessian.js';
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

/** The step's adjoint with its tangent, loaded for a run. */
export class SecondOrderPull {
  /** Cotangents of parameters, and of values derived from them. */
  readonly cotangents: readonly Float64Array[];
  /** Changes of these cotangents along directions, [count, size]. */
  readonly changes: readonly Float64Array[];
  private readonly pullRow: (
    record: StepRecord,
    k: number,
    dx: Float64Array,
    x: SecondOrderCotangent,
    z: SecondOrderCotangent | undefined,
  ) => SecondOrderCotangent;

  constructor(
    private readonly context: StepContext,
    private readonly directions: Directions,
  ) {
    const {compiled} = context;
    const {count} = directions;
    const executable = compiled.group(
      `hessian.${count}`,
      () => hessianPrograms(compiled.derived.step, compiled.matrices.jacobian, count),
      {analysis: compiled.matrices.analysisOf(compiled.matrices.sweepSolver(context.linear), 'jacobian')},
    );
    loadParameters(executable, context);
    setDirections(context, executable, directions);
    this.cotangents = zeroCotangents(context);
    this.changes = zeroCotangents(context, count);
    const jacobian = jacobianFactor(context, executable);
    const buffers = stepBuffers(executable);
    const find = (name: BufferName): Float64Array | undefined => executable.optionalBuffer(name);
    const [nextCotangent, dNextCotangent, dxIn, dz, zCotangent, w, dw] = (
      ['nextCotangent', 'dNextCotangent', 'dx', 'dz', 'zCotangent', 'w', 'dw'] as const
    ).map(find);
    const [xCotangent, dXCotangent] = (['xCotangent', 'dXCotangent'] as const).map(name => executable.buffer(name));
    const [rhs, dZCotangent] = (['rhs', 'dZCotangent'] as const).map(find);
    const sources = parameterNames(context).map(name => ({
      cotangent: find(cotangentName(name)),
      change: find(secondOrderName(name)),
    }));
    const bound = (name: HessianProgram): (() => void) =>
      jacobian === undefined ? () => undefined : executable.program(name);
    const [pushResidual, pullUnknown, sequentialUnknown] = (
      ['pushResidual', 'pullUnknown', 'sequentialUnknown'] as const
    ).map(bound);
    const [pullStep, sequentialStep] = (['pullStep', 'sequentialStep'] as const).map(name => executable.program(name));
    const remainder = new TangentResidual(context, count, {dx: dxIn, dz}, directions);
    this.pullRow = (record, k, dx, {cotangent, change}, z) => {
      record.load(k, buffers);
      dxIn?.set(dx);
      nextCotangent?.set(cotangent);
      dNextCotangent?.set(change);
      if (jacobian !== undefined) {
        jacobian.refresh();
        pushResidual();
        remainder.setStep(record, k);
        if (dz !== undefined && rhs !== undefined) jacobian.solve(rhs, dz, count, remainder.residual);
        pullUnknown();
        if (zCotangent !== undefined) addTo(zCotangent, z?.cotangent);
        if (w !== undefined && zCotangent !== undefined) jacobian.solveManyTransposed(zCotangent, w, 1, record, k);
        sequentialUnknown();
        if (dZCotangent !== undefined) addTo(dZCotangent, z?.change);
        if (dw !== undefined && dZCotangent !== undefined)
          jacobian.solveManyTransposed(dZCotangent, dw, count, record, k);
      }
      pullStep();
      sequentialStep();
      sources.forEach((source, i) => {
        addTo(this.cotangents[i], source.cotangent);
        addTo(this.changes[i], source.change);
      });
      return {cotangent: xCotangent, change: dXCotangent};
    };
  }

  /**
   * The cotangent of the beginning of a recorded step, and its change, from those of its end; the executable's own
   * buffers.
   * @param z further cotangents of its unknown
   */
  pull(
    record: StepRecord,
    k: number,
    dx: Float64Array,
    x: SecondOrderCotangent,
    z?: SecondOrderCotangent,
  ): SecondOrderCotangent {
    return this.pullRow(record, k, dx, x, z);
  }

  /** The cotangents of the parameters and their changes, after the last step. */
  finish(): {readonly cotangents: readonly Float64Array[]; readonly changes: readonly Float64Array[]} {
    const {context, directions, cotangents, changes} = this;
    return {
      changes: secondOrderThroughDerived(context, directions, cotangents, changes),
      cotangents: throughDerived(context, cotangents),
    };
  }
}

/** The loss's own cotangent of a saved state, and its change. */
export type SavedCotangent = (index: number) => SecondOrderCotangent;

class SecondOrderSweep {
  readonly pull: SecondOrderPull;
  readonly x: SecondOrderCotangent;
  private readonly dense?: SecondOrderDense;
  private readonly cursor: SavedCursor;

  constructor(
    context: StepContext,
    directions: Directions,
    saved: SavedStates,
    private readonly cotangent: SavedCotangent,
  ) {
    const {size} = context.traced.state;
    this.pull = new SecondOrderPull(context, directions);
    if (savesWithinSteps(saved)) this.dense = new SecondOrderDense(context, directions);
    this.cursor = new SavedCursor(saved, true);
    this.x = {cotangent: new Float64Array(size), change: new Float64Array(directions.count * size)};
  }

  /** Adds what was saved at the end of transition n. */
  addEnd(n: number): void {
    const {cursor} = this;
    cursor.back(n);
    for (let i = cursor.from; i < cursor.to; i++) if (cursor.theta(i) === 1) this.give(this.cotangent(i));
  }

  back(step: SecondOrderStep): void {
    const {pull, x} = this;
    const {n, record, from, to, tangent} = step;
    this.addEnd(n);
    const inside = this.inside(step);
    for (let row = to - 1; row >= from; row--) {
      const {cotangent, change} = pull.pull(record, row, tangent(row), x, inside?.z);
      x.cotangent.set(cotangent);
      x.change.set(change);
    }
    if (inside !== undefined) this.give(inside.x);
  }

  private give({cotangent, change}: SecondOrderCotangent): void {
    addTo(this.x.cotangent, cotangent);
    addTo(this.x.change, change);
  }

  /** States within a step, whose end gets its part; the others are returned. Such a step is one row. */
  private inside({
    record,
    from,
    tangent,
    next,
    dNext,
  }: SecondOrderStep): {readonly z: SecondOrderCotangent; readonly x: SecondOrderCotangent} | undefined {
    const {dense, cursor, pull} = this;
    const within: number[] = [];
    for (let i = cursor.from; i < cursor.to; i++) if (cursor.theta(i) !== 1) within.push(i);
    if (dense === undefined || within.length === 0) return undefined;
    dense.load({record, row: from, dx: tangent(from), next, dNext});
    const zero = ({cotangent, change}: SecondOrderCotangent): SecondOrderCotangent => ({
      cotangent: new Float64Array(cotangent.length),
      change: new Float64Array(change.length),
    });
    let sum: {readonly z: SecondOrderCotangent; readonly x: SecondOrderCotangent} | undefined;
    for (const index of within) {
      const {next: end, z, x} = dense.pull(cursor.theta(index), this.cotangent(index), pull.cotangents, pull.changes);
      this.give(end);
      sum ??= {z: zero(z), x: zero(x)};
      for (const name of ['z', 'x'] as const) {
        addTo(sum[name].cotangent, name === 'z' ? z.cotangent : x.cotangent);
        addTo(sum[name].change, name === 'z' ? z.change : x.change);
      }
    }
    return sum;
  }
}

/**
 * @param start the step that began the run
 * @param cotangent the loss's own, by saved state
 */
export function sweepBackSecondOrder(
  context: StepContext,
  start: StepRecord,
  directions: Directions,
  backwards: SecondOrderBackwards,
  saved: SavedStates,
  cotangent: SavedCotangent,
): SecondOrder {
  const {count, initial} = directions;
  const sweep = new SecondOrderSweep(context, directions, saved, cotangent);
  const recomputedSteps = backwards(step => sweep.back(step));
  sweep.addEnd(-1);
  const {cotangents: totals, changes} = sweep.pull.finish();
  let began: SecondOrderCotangent = sweep.x;
  if (context.resumed !== true) {
    const first = new SecondOrderPull(startContext(context), directions);
    began = first.pull(start, 0, initial, sweep.x);
    const own = first.finish();
    own.cotangents.forEach((cotangent, i) => addTo(totals[i], cotangent));
    own.changes.forEach((change, i) => addTo(changes[i], change));
  }
  const given = context.initialValues.length;
  return {
    gradient: {initial: began.cotangent.slice(), parameters: totals, recomputedSteps},
    products: Array.from({length: count}, (_, d) => ({
      initial: began.change.slice(d * given, (d + 1) * given),
      parameters: changes.map(change => change.slice((d * change.length) / count, ((d + 1) * change.length) / count)),
      recomputedSteps,
    })),
  };
}
