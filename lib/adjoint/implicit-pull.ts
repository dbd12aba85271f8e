/**
 * The adjoint of the implicit function: Jᵀw = U_zᵀx̄⁺, x̄ = U_xᵀx̄⁺ − R_xᵀw, p̄ likewise, with J at the
 * converged z. One transposed solve and one vector–Jacobian product per step.
 */
import {programCallee} from '../routine/callees.js';
import type {Host, SharedRoutine} from '../routine/shared.js';
import {RoutineCache} from '../routine/shared.js';
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters} from '../step/context.js';
import type {AdjointProgram} from '../step/programs.js';
import {addTo} from './add-to.js';
import {ParameterCotangents} from './parameter-cotangents.js';
import type {BatchedPull, StepPull, TransitionPull} from './gradient.js';
import {pullRows} from './gradient.js';
import type {JacobianFactor} from './jacobian-factor.js';
import {jacobianFactor} from './jacobian-factor.js';
import {PullBlocks} from './pull-blocks.js';
import type {PullOperations, Puller} from './emit-pull.js';
import {pullRoutine} from './emit-pull.js';
import type {StepBuffers, StepRecord} from './record.js';
import {stepBuffers} from './record.js';

export function implicitPull(
  context: StepContext,
  executable: StepExecutable<AdjointProgram>,
  cotangents: ParameterCotangents,
): StepPull {
  return new GridPull(context, executable, cotangents, jacobianFactor(context, executable, true)).pull;
}

/** Pulls of one step: (row, whether the cotangent is new, carried). */
const pullRoutines = new RoutineCache<GridPull>({
  emit: (steps, host) => pullRoutine(steps.operations(host)),
  interpretedCalls: Infinity,
});

/** What dense output asks of the unknown, by executable: its routines name the array. */
const denseCotangents = new WeakMap<StepExecutable<AdjointProgram>, Float64Array>();

/** Pulls steps of a grid back, one by one or several at once. */
export class GridPull implements Puller {
  private readonly buffers: StepBuffers;
  private readonly result: Float64Array;
  private readonly pullStep: 'pullStep' | 'pullStepAndUnknown';
  private readonly nextCotangent: Float64Array | undefined;
  private readonly zCotangent: Float64Array | undefined;
  /** What dense output asks of the unknown, in addition to the step's end; zeros where it asks nothing. */
  readonly fromDense: Float64Array | undefined;
  private readonly routine: SharedRoutine<GridPull>;
  /** The rows that are pulled back, while they are: row 0 of a routine is this one of the record. */
  private record: StepRecord | undefined;
  private from = 0;
  /** Length of the steps whose zCotangent lies there already. */
  private preparedLength = NaN;

  constructor(
    private readonly context: StepContext,
    private readonly executable: StepExecutable<AdjointProgram>,
    private readonly cotangents: ParameterCotangents,
    private readonly jacobian: JacobianFactor | undefined,
  ) {
    this.buffers = stepBuffers(executable);
    this.pullStep = executable.has('pullStepAndUnknown') ? 'pullStepAndUnknown' : 'pullStep';
    this.nextCotangent = executable.optionalBuffer('nextCotangent');
    this.zCotangent = executable.optionalBuffer('zCotangent');
    this.result = executable.buffer('xCotangent');
    this.fromDense = denseCotangents.get(executable) ?? executable.optionalBuffer('denseZCotangent')?.slice();
    if (this.fromDense !== undefined) denseCotangents.set(executable, this.fromDense);
    this.routine = pullRoutines.of(executable, [{untouched: cotangents.untouched}]);
  }

  /** Row 0 of the next routine. */
  at(record: StepRecord, from: number): void {
    [this.record, this.from] = [record, from];
  }

  readonly pull: StepPull = (record, k, xCotangent, isNew) => {
    const {buffers, nextCotangent, result} = this;
    record.load(k, buffers);
    if (xCotangent !== nextCotangent) nextCotangent?.set(xCotangent);
    this.at(record, k);
    this.routine.bind(this)(0, isNew ? 1 : 0, this.preparedLength);
    this.preparedLength = buffers.h === undefined ? 0 : buffers.h[0];
    this.record = undefined;
    if (xCotangent !== result) xCotangent.set(result);
  };

  /** Several at once, in compiled programs whose cotangents need no care after each step. */
  get batched(): BatchedPull | undefined {
    const {context, executable, cotangents} = this;
    const blocks = cotangents.untouched ? PullBlocks.of(context, executable, this) : undefined;
    return (
      blocks && {
        maxCount: blocks.capacity,
        maxSaved: blocks.capacity,
        savedAt: 'ends',
        pull: segment => {
          blocks.pull(segment, this.preparedLength);
          this.preparedLength = segment.record.length(segment.from);
          this.record = undefined;
        },
      }
    );
  }

  /** What the pull of a step consists of. */
  operations(host: Host<Puller>): PullOperations {
    const {executable, jacobian, buffers, cotangents, pullStep, zCotangent: b, fromDense: more} = this;
    const x = executable.optionalBuffer('w');
    return {
      h: buffers.h,
      unknown: jacobian && {
        pullUnknown: programCallee(executable, 'pullUnknown'),
        pullsUnknownBefore: pullStep === 'pullStepAndUnknown',
        fromDense: b && more && {zCotangent: b, more},
        solve:
          b === undefined || x === undefined
            ? {run: () => undefined}
            : jacobian.transposedCallee(b, x, row => host.owner.solve(b, x, row)),
        hasLowPart: jacobian.hasLowPart,
        pullLowPart: {run: () => host.owner.pullLowPart()},
      },
      pullStep: programCallee(executable, pullStep),
      sum: cotangents.untouched ? undefined : {run: () => host.owner.sum()},
    };
  }

  solve(b: Float64Array, x: Float64Array, row: number): void {
    const {jacobian, record, from} = this;
    if (record !== undefined) jacobian?.solveTransposed(b, x, record, from + row);
  }

  sum(): void {
    this.cotangents.add();
  }

  /** The step is linear in its cotangents: those of the rest of w are added. */
  pullLowPart(): void {
    const {executable, jacobian, cotangents, pullStep, result, nextCotangent, zCotangent} = this;
    const times = (['tCotangent', 'hCotangent'] as const).map(name => executable.optionalBuffer(name));
    const sums = [result, zCotangent, ...times];
    const own = sums.map(sum => sum?.slice());
    nextCotangent?.fill(0);
    executable.optionalBuffer('insideCotangent')?.fill(0);
    if (jacobian?.lowPart !== undefined) executable.optionalBuffer('w')?.set(jacobian.lowPart);
    executable.run(pullStep);
    cotangents.add();
    sums.forEach((sum, i) => addTo(sum, own[i]));
  }
}

/** Back over a grid, by what is kept of its steps (step/stored-for-backward.ts), or by whole ones. */
export function implicitGridPull(context: StepContext): TransitionPull {
  const {compiled, storage, linear} = context;
  const solver = compiled.matrices.sweepSolver(linear);
  const executable = storage === 'narrow' ? compiled.adjoint(solver) : compiled.fullAdjoint(solver);
  loadParameters(executable, context);
  const cotangents = new ParameterCotangents(context, executable, compiled.canAccumulate);
  const steps = new GridPull(context, executable, cotangents, jacobianFactor(context, executable, true));
  return pullRows(context, executable, cotangents, steps.pull, steps.batched);
}
