/**
 * Many adaptive steps in one call (emit-adaptive.ts). A block ends before anything that it does not handle: a state
 * that is not finite, a step too short or in which an event may happen, the end of the run. The time loop
 * (history-loop.ts) continues from there with single steps.
 */
import {routinesOf} from '../../engine/routines.js';
import {programCallee, hostFunction, VectorCallees} from '../../routine/callees.js';
import type {Callee, Routine} from '../../routine/routine.js';
import type {Host, SharedRoutine} from '../../routine/shared.js';
import {RoutineCache} from '../../routine/shared.js';
import type {BlockNumber} from '../../step/adaptive-block-layout.js';
import {adaptiveBlockSteps, controlIndex} from '../../step/adaptive-block-layout.js';
import type {StepExecutable} from '../../step/buffers.js';
import {loadParameters} from '../../step/context.js';
import {rowHeaderSize} from '../../step/block-layout.js';
import {unjudged} from '../algebraic.js';
import {CallBatcher} from '../call-batcher.js';
import type {RunContext} from '../run-context.js';
import type {AdaptiveParts, AdaptiveRoom} from './emit-adaptive.js';
import {attemptsRoutine} from './emit-adaptive.js';
import type {ErrorArrays} from './error-estimate.js';
import {errorCallee, setTolerances} from './error-estimate.js';
import type {AttemptLoop} from './attempt-loop.js';
import type {Plan} from './plan.js';
import type {DenseOutput, SavedStep} from './saver.js';
import type {StepSequence} from './step-sequence.js';

/** Nothing happens along these steps but attempts, which are all alike, saved states and events. */
export function isPlain(prepared: RunContext, plan: Plan): boolean {
  const {redundancy, start, traced} = prepared;
  return (
    plan.absolute !== undefined
    && plan.breaks === undefined
    && plan.revisits !== true
    && redundancy.regularization === 0
    && start.traced.usesTrialStep !== true
    && (plan.saving.kind !== 'times' || traced.functions.dense !== undefined)
    && unjudged(prepared).length === 0
  );
}

export type AttemptsExecutable = StepExecutable<'update' | 'between' | 'dense'>;

/** What attempts consist of. @param judge see `AdaptiveParts` */
export const partsOfAttempts = (executable: AttemptsExecutable, error: Callee, judge: Callee): AdaptiveParts => ({
  step: {
    t: executable.optionalBuffer('t'),
    h: executable.optionalBuffer('h'),
    update: programCallee(executable, 'update'),
    largestNext: new VectorCallees(executable.vectors, () => routinesOf(executable)?.vectors).largest(
      executable.buffer('next'),
    ),
    possibleEvents: executable.optionalBuffer('possibleEvents'),
  },
  error,
  judge,
});

/** Dense output of the step that an attempt has left in its programs' buffers. */
function interpolationOf(executable: AttemptsExecutable): DenseOutput<SavedStep> {
  const [between, dense] = (['between', 'dense'] as const).map(name =>
    executable.has(name) ? executable.program(name) : undefined,
  );
  const theta = executable.optionalBuffer('theta');
  const state = executable.optionalBuffer('D');
  return {
    load: () => between?.(),
    stateAt(value) {
      if (theta !== undefined) theta[0] = value;
      dense?.();
      return state;
    },
  };
}

/** A run whose steps are judged. */
interface Judged {
  readonly attempts: AttemptLoop;
  readonly sequence: StepSequence;
  /** Transitions begun. */
  count: number;
}

/** Proposes, judges and saves the steps of a block. */
export class Judge {
  private judged: Judged | undefined;
  private readonly interpolation: DenseOutput<SavedStep>;
  private readonly step: {t: number; h: number; end: number; readonly x: Float64Array; readonly next: Float64Array};

  /**
   * @param control the numbers of the block
   * @param executable that of the attempts
   */
  constructor(
    private readonly control: Float64Array,
    executable: AttemptsExecutable,
  ) {
    this.interpolation = interpolationOf(executable);
    this.step = {t: 0, h: 0, end: 0, x: executable.buffer('x'), next: executable.buffer('next')};
  }

  /**
   * The first step of a block; false where there is none.
   * @param count transitions begun before
   */
  begin(attempts: AttemptLoop, sequence: StepSequence, count: number): boolean {
    this.judged = {attempts, sequence, count};
    this.control[controlIndex.t] = sequence.t;
    return this.propose(this.judged);
  }

  /** The next step of a run; false where there is none. */
  private propose({attempts, sequence}: Judged): boolean {
    const {control} = this;
    const proposal = attempts.propose(sequence.t);
    if (typeof proposal === 'string' || attempts.endsAtStop(proposal)) return false;
    control[controlIndex.h] = proposal.h;
    control[controlIndex.stop] = proposal.end;
    return true;
  }

  /** Accepts or refuses the attempt at hand by its error. @returns 1 if another one follows */
  judge(error: number): number {
    const {judged, control, step, interpolation} = this;
    if (judged === undefined) return 0;
    const {attempts, sequence} = judged;
    const {t} = sequence;
    const h = control[controlIndex.h];
    if (error <= 1) {
      const end = control[controlIndex.stop];
      step.t = t;
      step.h = h;
      step.end = end;
      sequence.append(step, interpolation, ++judged.count);
      sequence.accept(h, error, step.next, judged.count);
      control[controlIndex.t] = end;
    } else {
      attempts.reject(t, h, error, 'error');
    }
    return this.propose(judged) ? 1 : 0;
  }
}

const blockRoutines = new RoutineCache<AdaptiveBlocks>({
  emit: (blocks, host) => blocks.emit(host),
  interpretedCalls: 0,
});

export class AdaptiveBlocks {
  /**
   * Attempts of all runs before there are blocks: their programs take some 50 ms to compile, which is gained back in
   * about so many (0.7 µs each, its way back included, of Lotka–Volterra with a network), so a first call does not pay
   * for them.
   */
  static after = 2 ** 16;

  private readonly control: Float64Array;
  /** Accepted steps as rows of a record, and what the scheme tells of each. */
  readonly rows: Float64Array;
  readonly width: number;
  readonly stiffness: Float64Array;
  /** The state at the end. */
  readonly x: Float64Array;
  private readonly room: number;
  private readonly judge: Judge;
  private readonly routine: SharedRoutine<AdaptiveBlocks>;
  private readonly executable: AttemptsExecutable;
  private readonly errorArrays: ErrorArrays;
  /** Attempts in a block: between blocks a run is aborted and tells its progress. */
  private readonly limit: CallBatcher;

  /** undefined where steps are taken one by one. */
  static of(prepared: RunContext, plan: Plan): AdaptiveBlocks | undefined {
    const {compiled} = prepared;
    if (!isPlain(prepared, plan) || !compiled.runsInBlocks || prepared.storage !== undefined) return undefined;
    return routinesOf(compiled.adaptiveSteps) === undefined ? undefined : new AdaptiveBlocks(prepared, plan);
  }

  private constructor(prepared: RunContext, plan: Plan) {
    const {compiled, traced} = prepared;
    const executable = compiled.adaptiveSteps;
    this.executable = executable;
    const {size} = traced.state;
    [this.room, this.width] = [adaptiveBlockSteps(size), rowHeaderSize + size];
    [this.rows, this.control, this.stiffness, this.x] = (['block', 'blockControl', 'blockStiffness', 'x'] as const).map(
      name => executable.buffer(name),
    );
    loadParameters(executable, prepared);
    const {onProgress, poll} = prepared.options;
    this.limit = new CallBatcher(onProgress !== undefined || poll !== undefined);
    this.errorArrays = {absolute: executable.buffer('blockAbsolute'), errorMask: executable.buffer('blockJudged')};
    setTolerances(this.errorArrays, plan, traced, this.control);
    this.judge = new Judge(this.control, executable);
    this.routine = blockRoutines.of(executable, []);
  }

  emit(host: Host<AdaptiveBlocks>): Routine {
    const {executable, errorArrays} = this;
    const judge = hostFunction(error => host.owner.judge.judge(error));
    return attemptsRoutine(partsOfAttempts(executable, errorCallee(executable, errorArrays), judge), this.places());
  }

  private places(): AdaptiveRoom {
    const {executable, control, rows, room, x} = this;
    const stiffness = executable.optionalBuffer('stiffness');
    return {
      control,
      rows,
      capacity: room,
      stiffness: stiffness && {to: this.stiffness, from: stiffness},
      x,
      next: executable.buffer('next'),
      kernels: routinesOf(executable)?.vectors,
    };
  }

  get(name: BlockNumber): number {
    return this.control[controlIndex[name]];
  }

  private set(name: BlockNumber, value: number): void {
    this.control[controlIndex[name]] = value;
  }

  /**
   * Attempts from the present state on. What they came to lies here afterwards.
   * @param sides of zero that events' functions begin on
   * @param count transitions begun before
   * @returns how many there were; 0 where the next one is to be taken by itself
   */
  take(
    state: Float64Array,
    sides: Float64Array | undefined,
    attempts: AttemptLoop,
    sequence: StepSequence,
    count: number,
  ): number {
    const {x, room, limit, judge} = this;
    if (!judge.begin(attempts, sequence, count)) return 0;
    x.set(state);
    if (sides !== undefined) this.executable.optionalBuffer('sides')?.set(sides);
    this.set('mostAttempts', Math.min(limit.maxSteps, room));
    return limit.time(() => {
      this.routine.bind(this)();
      return this.get('attempts');
    });
  }
}
