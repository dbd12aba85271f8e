/**
 * One member of a batch in lanes: its own time, its own steps, what it saves, and how it ends. The arithmetic is
 * run-lanes.ts.
 */
import {StepRecord} from '../../adjoint/record.js';
import type {StiffgradError} from '../../errors.js';
import type {Counters, Status} from '../counters.js';
import {noCounts} from '../counters.js';
import {stepError} from '../../step/failed-step.js';
import {RunFailure, stepSizeError} from '../run-failure.js';
import {errorRatio} from '../history/error-estimate.js';
import {evaluationsOfFirst} from '../history/first-step.js';
import type {StepSizeController, Proposal} from '../history/step-size-controller.js';
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

  t: number;
  taken = 0;
  status: Status = 'completed';
  error: StiffgradError | undefined;
  /** The present step. */
  private proposal: Proposal = {h: 0, end: 0};
  private readonly pace: StepSizeController;
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
    this.t = grid.t0;
    this.stiff = new StiffnessWatch(traced);
    this.pace =
      plan.absolute === undefined
        ? new GridController(grid, false)
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

  /** The next step; undefined where the run is over. */
  propose(state: Float64Array): Proposal | undefined {
    if (this.over) return undefined;
    const {pace, t} = this;
    if (pace.done(t)) {
      this.saver.finish(t, state, this.taken);
      return this.end();
    }
    if (pace instanceof AdaptiveController && pace.usedUpSteps) return this.fail('too-many-steps', pace.length);
    const next = pace.propose(t);
    if (next === undefined) return this.fail('step-too-small', pace.length);
    return (this.proposal = next);
  }

  /** After the step in the member's lane: whether it was good. It is then part of the run, and the state is its end. */
  judge(rows: LaneRows): boolean {
    const {plan, pace, counters, prepared, proposal} = this;
    const {x, next} = rows;
    const {start, update} = prepared.traced.evaluations;
    counters.evaluations += start + update;
    const finite = next.every(Number.isFinite);
    let error = 0;
    if (finite && plan.absolute !== undefined && rows.error !== undefined)
      error = errorRatio(rows.error, 1, x, next, plan.absolute, plan.control, prepared.traced.errorInfo?.errorMask);
    if (!finite || !(error <= 1)) {
      const cause = finite ? 'error' : 'not-finite';
      counters.failures[cause] = (counters.failures[cause] ?? 0) + 1;
      if (pace.reject(this.t, proposal.h, finite ? error : Infinity, cause) === undefined) counters.rejectedSteps++;
      else this.failAt(next);
      return false;
    }
    const {h, end} = proposal;
    if (rows.stiffness !== undefined) this.stiff.note(rows.stiffness[0], this.t);
    this.taken++;
    this.saver.within({t: this.t, h, end, x, next}, this.interpolation, this.taken);
    this.t = end;
    if (pace.accept(h, error)) this.saver.boundary(this.taken, end, next, this.taken);
    return true;
  }

  /** @param state where it ended */
  result(state: Float64Array, milliseconds: number): Run {
    const {saver, counters, pace, stiff, prepared, t} = this;
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
      completed: this.taken,
      start: begun,
      redundancy: prepared.redundancy,
      resumeState: this.begins
        ? {
            t,
            x: state,
            settled: [],
            jumped: [],
            pace: pace instanceof AdaptiveController ? pace.memory : undefined,
            grid: pace instanceof GridController ? pace.gridPlaceAt(t) : undefined,
          }
        : undefined,
    };
  }

  private end(): undefined {
    this.over = true;
    return undefined;
  }

  private fail(status: 'too-many-steps' | 'step-too-small', h: number): undefined {
    this.status = status;
    this.error = stepSizeError(this.prepared, status, this.t, h, this.counters, this.stiff.sentence);
    return this.end();
  }

  /** A step of the grid whose end is not finite. */
  private failAt(next: Float64Array): void {
    const {
      prepared: {traced, options},
      t,
      taken,
      proposal: {h},
    } = this;
    this.status = 'not-finite';
    this.error = stepError({
      status: 'not-finite',
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
    this.end();
  }
}
