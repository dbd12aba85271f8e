/** Adaptive steps that are solved stage after stage, as far as their tolerance asks (sequential-stages.ts). */
import type {NewtonStatus} from '../newton/index.js';
import {newtonStatuses, simplifiedMaxIterations, SimplifiedNewton} from '../newton/index.js';
import {hostFunction} from '../routine/callees.js';
import type {RoutineBuilder, Value} from '../routine/routine.js';
import type {Host, RoutineCall} from '../routine/shared.js';
import type {ForwardExecutable, SequentialExecutable} from '../step/compiled.js';
import {toUserTime} from '../step/time-direction.js';
import type {Counters} from './counters.js';
import type {NewtonWarmStart} from './run-state.js';
import type {RunContext} from './run-context.js';
import type {LastStep} from './sequential-stages.js';
import {SequentialStages} from './sequential-stages.js';
import type {SolverFailure, StageSolver} from './stage-solver.js';

/** RADAU5's: Newton's iteration never leaves a greater share of the tolerance. */
const maxNewtonShare = 0.03;

/**
 * Rounding holds corrections up at so much of the state (RADAU5): as a share of the tolerance; of an absolute one it is
 * not known.
 */
const roundoffShare = (rtol: number): number => (rtol > 0 ? Math.min(1, (10 * Number.EPSILON) / rtol) : 0);

/**
 * The share of the tolerance that Newton's iteration may leave: RADAU5's min(0.03, √rtol), so that the error of
 * many steps is that of the scheme, but no less than rounding. Without a relative tolerance, what that is for one of
 * 1e-6.
 */
const toleranceShare = (rtol: number): number =>
  rtol > 0 ? Math.max(Math.min(maxNewtonShare, Math.sqrt(rtol)), roundoffShare(rtol)) : 1e-3;

export class SequentialSolver implements StageSolver {
  readonly blocks: number;
  readonly isBatchable = false;
  readonly settings = {solver: 'sequential'};
  private readonly stages: SequentialStages;
  private readonly simplified: SimplifiedNewton;
  private lastStep = NaN;
  private hasNoted = false;

  /** @param independentSteps no step takes over the guess or the matrix of another one */
  constructor(
    private readonly prepared: RunContext,
    private readonly independentSteps: boolean,
    private readonly counters: Counters,
  ) {
    const {engine, options, traced} = prepared;
    const rtol = options.plan?.control.rtol ?? 0;
    const kappa = toleranceShare(rtol);
    const tight = independentSteps ? (4 * engine.epsilon) / Math.max(rtol, 4 * engine.epsilon) : kappa;
    this.stages = new SequentialStages(prepared, kappa);
    this.simplified = new SimplifiedNewton(
      this.stages,
      {
        kappa: Math.min(tight, kappa),
        acceptOnStall: kappa,
        acceptOnStallFresh: Math.max(kappa, independentSteps ? 0 : maxNewtonShare),
        repeatable: independentSteps,
        maxIterations: independentSteps ? options.newton.maxIterations : simplifiedMaxIterations,
      },
      counters,
    );
    this.blocks = this.stages.blocks > 1 ? traced.unknown.blocks.length : 1;
  }

  get executable(): ForwardExecutable | SequentialExecutable {
    return this.stages.executable;
  }

  get z(): Float64Array {
    return this.stages.whole;
  }

  emit(b: RoutineBuilder, host: Host<StageSolver>): Value {
    return b.result(hostFunction(() => newtonStatuses.indexOf((host.owner as SequentialSolver).solveStages())));
  }

  private solveStages(): NewtonStatus {
    const status = this.simplified.solve();
    if (!this.hasNoted && this.simplified.roundoff > 1) this.note();
    return status;
  }

  /** Says that the tolerance is out of reach. */
  private note(): void {
    const {
      prepared: {traced, options},
      counters,
      simplified: {roundoff},
      stages: {t},
    } = this;
    this.hasNoted = true;
    (counters.notes ??= new Set()).add(
      `Rounding leaves more in the equations of steps than the tolerance of ${options.plan?.control.rtol ?? 0} allows, `
        + `${Number(roundoff.toPrecision(2))} times as much at t = ${Number(toUserTime(traced, t).toPrecision(6))} and `
        + 'perhaps elsewhere: the run is not as exact as it was asked to be. Take a larger rtol or atol.',
    );
  }

  solve(attempt: RoutineCall, t: number, h: number): number {
    const {stages, simplified} = this;
    if (h !== this.lastStep) simplified.discardFactor();
    stages.t = t;
    stages.h = h;
    this.lastStep = h;
    return attempt(t, h);
  }

  solveSeveral(steps: RoutineCall, count: number, keepEnds: number): number {
    return steps(count, keepEnds);
  }

  /** Sets the step that the next guess is extrapolated from; undefined after a jump. */
  setLastStep(step: LastStep | undefined): void {
    if (!this.independentSteps) this.stages.last = step;
  }

  takeSnapshot(): NewtonWarmStart | undefined {
    const {stages, simplified, lastStep} = this;
    if (this.independentSteps) return undefined;
    const {last, matrixValues} = stages;
    return {
      last: last?.z === undefined ? undefined : {t: last.t, h: last.h, z: last.z.slice()},
      rate: simplified.rate,
      h: lastStep,
      matrix: simplified.hasFactor ? matrixValues.slice() : undefined,
    };
  }

  /** Takes over the warm start of another run of this scheme and system; values of another size are ignored. */
  restore(snapshot: NewtonWarmStart | undefined): void {
    const {stages, simplified} = this;
    if (snapshot === undefined || this.independentSteps) return;
    const {last, rate, h, matrix} = snapshot;
    if (last?.z.length === stages.whole.length) stages.last = last;
    this.lastStep = h ?? NaN;
    simplified.resume(rate, matrix?.length === stages.matrixValues.length ? stages.factorOf(matrix) : undefined);
  }

  failure(): SolverFailure {
    return {cause: this.simplified.cause, history: []};
  }
}
