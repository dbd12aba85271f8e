/**
 * Many adaptive steps in one call (emit-adaptive.ts). A block ends before anything that it does not handle: a state
 * that is not finite, a step too short, the end of the run. The time loop (history-loop.ts) continues from there with
 * single steps.
 */
import {routinesOf} from '../../engine/routines.js';
import {compile} from '../../routine/compile.js';
import {programPart, valuePart, VectorParts} from '../../routine/parts.js';
import type {Part} from '../../routine/routine.js';
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
import {errorCallee, setTolerances} from './error-estimate.js';
import type {AdaptiveController} from './step-size-controller.js';
import type {Plan} from './plan.js';

/** Nothing happens along these steps but attempts, which are all alike, and saved states. */
export function isPlain(prepared: RunContext, plan: Plan): boolean {
  const {redundancy, start, traced} = prepared;
  return (
    plan.absolute !== undefined
    && plan.events.length === 0
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
export function partsOfAttempts(executable: AttemptsExecutable, error: Part, judge: Part): AdaptiveParts {
  const theta = executable.find('theta');
  return {
    step: {
      t: executable.find('t'),
      h: executable.find('h'),
      update: programPart(executable, 'update'),
      largestNext: new VectorParts(executable.vectors, () => routinesOf(executable)?.vectors).largest(
        executable.buffer('next'),
      ),
    },
    error,
    judge,
    between: executable.has('between') ? programPart(executable, 'between') : undefined,
    dense:
      executable.has('dense') && theta !== undefined
        ? {run: programPart(executable, 'dense'), theta, D: executable.buffer('D')}
        : undefined,
  };
}

/** Proposes and judges the steps of a block. */
export class Judge {
  pace: AdaptiveController | undefined;
  rejections = 0;

  /** @param control the numbers of the block */
  constructor(private readonly control: Float64Array) {}

  /** The next step of a run; false where there is none. */
  propose(): boolean {
    const {pace, control} = this;
    const t = control[controlIndex.t];
    if (pace === undefined || pace.done(t) || pace.usedUpSteps) return false;
    const proposal = pace.propose(t);
    if (proposal === undefined) return false;
    control[controlIndex.h] = proposal.h;
    control[controlIndex.stop] = proposal.end;
    return true;
  }

  readonly part: Part = valuePart(error => {
    const {pace, control} = this;
    const h = control[controlIndex.h];
    if (error <= 1) {
      pace?.accept(h, error);
      control[controlIndex.t] = control[controlIndex.stop];
    } else {
      pace?.reject(control[controlIndex.t], h, error);
      this.rejections++;
    }
    return this.propose() ? 1 : 0;
  });
}

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
  /** Saved states, where each lies in its step, and how many of the block's steps were begun before it. */
  readonly states: Float64Array;
  readonly theta: Float64Array;
  readonly after: Float64Array;
  /** The state at the end. */
  readonly x: Float64Array;
  private readonly times: Float64Array;
  private readonly room: number;
  private readonly judge: Judge;
  private readonly run: () => void;
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
    const routines = routinesOf(executable);
    if (routines === undefined) throw new Error('programs in blocks are compiled');
    const {size} = traced.state;
    [this.room, this.width] = [adaptiveBlockSteps(size), rowHeaderSize + size];
    const block = executable.buffer('block');
    this.rows = block.subarray(0, this.room * this.width);
    this.states = block.subarray(this.room * this.width);
    [this.control, this.stiffness, this.theta, this.after, this.times, this.x] = (
      ['blockControl', 'blockStiffness', 'blockTheta', 'blockAfter', 'blockTimes', 'x'] as const
    ).map(name => executable.buffer(name));
    loadParameters(executable, prepared);
    const {onProgress, poll} = prepared.options;
    this.limit = new CallBatcher(onProgress !== undefined || poll !== undefined);
    this.control[controlIndex.every] = plan.saving.kind === 'steps' ? plan.saving.every : 0;
    const arrays = {absolute: executable.buffer('blockAbsolute'), errorMask: executable.buffer('blockJudged')};
    setTolerances(arrays, plan, traced, this.control);
    this.judge = routines.once('judge', () => new Judge(this.control));
    this.run = routines.once('adaptive', () => {
      const parts = partsOfAttempts(executable, errorCallee(executable, arrays), this.judge.part);
      return compile(attemptsRoutine(parts, this.places(executable)), routines.memory);
    });
  }

  private places(executable: AttemptsExecutable): AdaptiveRoom {
    const {control, rows, room, states, theta, after, times, x} = this;
    const stiffness = executable.find('stiffness');
    return {
      control,
      rows,
      capacity: room,
      states,
      theta,
      after,
      times,
      stiffness: stiffness && {to: this.stiffness, from: stiffness},
      x,
      next: executable.buffer('next'),
      kernels: routinesOf(executable)?.vectors,
    };
  }

  get(name: BlockNumber): number {
    return this.control[controlIndex[name]];
  }

  /** Refused attempts of the last block. */
  get rejections(): number {
    return this.judge.rejections;
  }

  private set(name: BlockNumber, value: number): void {
    this.control[controlIndex[name]] = value;
  }

  /**
   * Attempts from a state at time t on. What they came to lies here afterwards.
   * @param timesAhead those that are saved next
   * @returns how many there were; 0 where the next one is to be taken by itself
   */
  take(
    t: number,
    state: Float64Array,
    boundaries: number,
    pace: AdaptiveController,
    timesAhead: Float64Array | undefined,
  ): number {
    const {x, room, times, limit, judge} = this;
    this.set('t', t);
    judge.pace = pace;
    judge.rejections = 0;
    if (!judge.propose()) return 0;
    x.set(state);
    this.set('boundaries', boundaries);
    this.set('mostAttempts', Math.min(limit.maxSteps, room));
    const ahead = timesAhead?.length ?? 0;
    const given = Math.min(ahead, room);
    if (timesAhead !== undefined) times.set(given === ahead ? timesAhead : timesAhead.subarray(0, given));
    this.set('times', given);
    this.set('moreTimes', ahead > given ? 1 : 0);
    return limit.time(() => {
      this.run();
      return this.get('attempts');
    });
  }
}
