/**
 * One member of a batch in lanes: its own time, its own steps, what it saves, and how it ends. The arithmetic is
 * run-lanes.ts.
 */
import {StepRecord} from '../../adjoint/record.js';
import type {StiffgradError} from '../../errors.js';
import type {Counters, Failure, Status} from '../counters.js';
import {noCounts} from '../counters.js';
import {stepError} from '../../step/failed-step.js';
import {RunFailure, stepSizeError} from '../run-failure.js';
import {errorRatio} from '../history/error-estimate.js';
import {evaluationsOfFirst} from '../history/first-step.js';
import {AttemptLoop} from '../history/attempt-loop.js';
import {StepSequence} from '../history/step-sequence.js';
import type {RunController, Proposal} from '../history/step-size-controller.js';
import {AdaptiveController, GridController} from '../history/step-size-controller.js';
import type {Plan} from '../history/plan.js';
import {StiffnessWatch} from '../history/stiffness.js';
import type {Run} from '../path.js';
import {inUserTime} from '../path.js';
import type {RunContext} from '../run-context.js';
import {delayWarnings} from '../warnings.js';
import type {DenseOutput, SavedStep} from '../history/saver.js';
import {Saver} from '../history/saver.js';

/** What lies in a member's lane after a step: views of the programs' memory. */
export interface LaneRows {
  /** The state the step began with, and that at its end. */
  readonly x: Float64Array;
  readonly next: Float64Array;
  readonly error?: Float64Array;
  readonly stiffness?: Float64Array;
}

const none = new Float64Array(0);

export class LaneMember {
  readonly counters: Counters = noCounts();
  /** Where its saved states lie (adjoint/step-history.ts). */
  readonly saved = {after: [] as number[], theta: [] as number[]};
  readonly saver: Saver;
  /** Rows of the saver within the last step, which dense output is to fill. */
  readonly wanted: number[] = [];
  private readonly interpolation: DenseOutput<SavedStep> = {
    load: () => undefined,
    stateAt: (_theta, row) => {
      this.wanted.push(row);
      return undefined;
    },
  };

  taken = 0;
  status: Status = 'completed';
  error: StiffgradError | undefined;
  /** The present step. */
  private proposal: Proposal = {h: 0, end: 0};
  private readonly controller: RunController;
  private readonly attempts: AttemptLoop;
  private readonly sequence: StepSequence;
  private readonly stiff: StiffnessWatch;
  private readonly plan: Plan;
  private over = false;
  private readonly begins: boolean;

  /**
   * @param start the whole state that the run begins with, if it can
   * @param first length of the first of adaptive steps
   */
  constructor(
    readonly prepared: RunContext,
    start: Float64Array | RunFailure,
    first: number,
  ) {
    const {
      options: {grid, plan},
      traced,
    } = prepared;
    if (plan === undefined) throw new Error('a member in lanes has a plan');
    this.plan = plan;
    this.stiff = new StiffnessWatch(traced);
    this.controller =
      plan.absolute === undefined
        ? GridController.of(prepared)
        : new AdaptiveController(
            plan.control,
            traced.errorInfo?.errorOrder ?? traced.order + 1,
            false,
            first,
            plan.end,
            plan.most,
            plan.breaks?.stops ?? none,
          );
    const {saved} = this;
    this.saver = new Saver(plan.saving, traced.state.size, {
      save(theta, _moment, after) {
        saved.theta.push(theta);
        saved.after.push(after);
      },
    });
    this.attempts = new AttemptLoop(this.controller, this.counters);
    this.sequence = new StepSequence(this.controller, this.saver, grid.t0);
    this.begins = !(start instanceof RunFailure);
    if (start instanceof RunFailure) {
      ({status: this.status, error: this.error} = start);
      this.over = true;
      return;
    }
    this.saver.start(this.t, start);
    const {start: atStart, update} = prepared.start.traced.evaluations;
    const isSought = plan.control.kind === 'adaptive' && plan.control.first === 'auto';
    this.counters.evaluations += atStart + update + (isSought ? evaluationsOfFirst : 0);
  }

  /** The present time, by the clock. */
  get t(): number {
    return this.sequence.t;
  }

  /** The next step; undefined where the run is over. */
  propose(state: Float64Array): Proposal | undefined {
    if (this.over) return undefined;
    const {attempts, t} = this;
    const proposal = attempts.propose(t);
    if (typeof proposal !== 'string') return (this.proposal = proposal);
    this.over = true;
    if (proposal === 'completed') this.saver.finish(t, state, this.taken);
    else this.fail(proposal);
    return undefined;
  }

  /** After the step in the member's lane: whether it was good. It is then part of the run, and the state is its end. */
  judge(rows: LaneRows): boolean {
    const {plan, attempts, sequence, counters, prepared, proposal, t} = this;
    const {x, next} = rows;
    const {start, update} = prepared.traced.evaluations;
    counters.evaluations += start + update;
    const finite = next.every(Number.isFinite);
    let error = finite ? 0 : Infinity;
    if (finite && plan.absolute !== undefined && rows.error !== undefined)
      error = errorRatio(rows.error, 1, x, next, plan.absolute, plan.control, prepared.traced.errorInfo?.errorMask);
    const {h, end} = proposal;
    if (!(error <= 1)) {
      const failed = attempts.reject(t, h, error, finite ? 'error' : 'not-finite');
      if (failed !== undefined) this.failAt(failed, next);
      return false;
    }
    if (rows.stiffness !== undefined) this.stiff.note(rows.stiffness[0], t);
    this.taken++;
    sequence.append({t, h, end, x, next}, this.interpolation, this.taken);
    sequence.accept(h, error, next, this.taken);
    return true;
  }

  /** @param state where it ended */
  result(state: Float64Array, milliseconds: number): Run {
    const {saver, counters, controller, stiff, prepared, t} = this;
    counters.steps = this.taken;
    const begun = new StepRecord(prepared.initialValues.length, 0, 1);
    begun.append(prepared.t0, prepared.h0, prepared.initialValues, undefined);
    return {
      states: saver.states,
      ...inUserTime(prepared.traced, {times: saver.times, events: []}),
      status: this.status,
      error: this.error,
      warnings: [...delayWarnings(prepared), ...(stiff.sentence === undefined ? [] : [stiff.sentence])],
      counters,
      milliseconds,
      completed: this.sequence.acceptedSteps,
      start: begun,
      redundancy: prepared.redundancy,
      resumeState: this.begins ? {t, x: state, settled: [], jumped: [], ...controller.snapshot(t)} : undefined,
    };
  }

  private fail(status: 'too-many-steps' | 'step-too-small'): void {
    const {prepared, t, controller, counters, stiff} = this;
    this.status = status;
    this.error = stepSizeError(prepared, status, t, controller.length, counters, stiff.sentence);
  }

  /** A step of the grid whose end is not finite. */
  private failAt(status: Failure, next: Float64Array): void {
    const {
      prepared: {traced, options},
      t,
      taken,
      proposal: {h},
    } = this;
    this.over = true;
    this.status = status;
    this.error = stepError({
      status,
      step: taken,
      t,
      h,
      scheme: traced,
      newton: options.newton,
      history: [],
      worst: [...next.keys()]
        .filter(row => !Number.isFinite(next[row]))
        .slice(0, 5)
        .map(row => ({name: traced.state.rowName(row), residual: next[row]})),
      layout: traced.state,
    });
  }
}
