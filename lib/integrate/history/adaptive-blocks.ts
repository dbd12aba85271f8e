/**
 * Adaptive steps taken many at once, in one call (adaptive-routine.ts), to the same bits as one by one.
 * A block ends before anything that is not in it: a state that is not finite, a step too short, the end of the run. The time loop
 * (loop.ts) goes on from there by single steps.
 */
import type {BlockNumber} from '../../step/adaptive-block.js';
import {adaptiveRoom, blockPlace} from '../../step/adaptive-block.js';
import {loadParameters} from '../../step/context.js';
import {rowStart} from '../../step/rows.js';
import {unjudged} from '../algebraic.js';
import type {Runnable} from '../runnable.js';
import {adaptiveRoutine} from './adaptive-routine.js';
import {Pace} from '../pace.js';
import type {AdaptivePace} from './pace.js';
import type {Plan} from './plan.js';

export class AdaptiveBlocks {
  /**
   * Attempts of all runs before there are blocks: their programs take some 50 ms to compile, which is gained back in about so many
   * (0.7 µs each, its way back included, of Lotka–Volterra with a network), so a first call does not pay for them.
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
  /** Attempts in a block: between blocks a run is aborted and tells its progress. */
  private readonly limit: Pace;

  /** undefined where steps are taken one by one. */
  static of(prepared: Runnable, plan: Plan): AdaptiveBlocks | undefined {
    const {compiled, redundancy, start, traced} = prepared;
    const plain =
      plan.absolute !== undefined
      && plan.events.length === 0
      && plan.breaks === undefined
      && plan.revisits !== true
      && redundancy.regularization === 0
      && start.traced.ahead !== true
      && compiled.inBlocks
      && prepared.keeps === undefined
      && (plan.saving.kind !== 'times' || traced.functions.dense !== undefined);
    if (!plain || unjudged(prepared).length > 0) return undefined;
    const run = adaptiveRoutine(compiled.adaptiveSteps);
    return run === undefined ? undefined : new AdaptiveBlocks(prepared, plan, run);
  }

  private constructor(
    prepared: Runnable,
    plan: Plan,
    private readonly run: () => void,
  ) {
    const {compiled, traced} = prepared;
    const executable = compiled.adaptiveSteps;
    loadParameters(executable, prepared);
    const {size} = traced.state;
    [this.room, this.width] = [adaptiveRoom(size), rowStart + size];
    const block = executable.buffer('block');
    this.rows = block.subarray(0, this.room * this.width);
    this.states = block.subarray(this.room * this.width);
    [this.control, this.stiffness, this.theta, this.after, this.times, this.x] = (
      ['blockControl', 'blockStiffness', 'blockTheta', 'blockAfter', 'blockTimes', 'x'] as const
    ).map(name => executable.buffer(name));
    const {onProgress, poll} = prepared.options;
    this.limit = new Pace(onProgress !== undefined || poll !== undefined);
    executable.buffer('blockAbsolute').set(plan.absolute ?? []);
    const judged = executable.buffer('blockJudged');
    judged.set(traced.along?.judged ?? judged.fill(1));
    this.set(
      'judged',
      Math.max(
        judged.reduce((sum, one) => sum + one, 0),
        1,
      ),
    );
    this.set('rtol', plan.control.rtol);
    this.set('end', plan.end ?? Infinity);
    this.set('every', plan.saving.kind === 'steps' ? plan.saving.every : 0);
  }

  get(name: BlockNumber): number {
    return this.control[blockPlace[name]];
  }

  private set(name: BlockNumber, value: number): void {
    this.control[blockPlace[name]] = value;
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
    pace: AdaptivePace,
    timesAhead: Float64Array | undefined,
  ): number {
    const {control, x, room, times, limit} = this;
    x.set(state);
    this.set('t', t);
    this.set('boundaries', boundaries);
    this.set('mostAttempts', Math.min(limit.most, room));
    pace.give(control);
    const ahead = timesAhead?.length ?? 0;
    const given = Math.min(ahead, room);
    if (timesAhead !== undefined) times.set(given === ahead ? timesAhead : timesAhead.subarray(0, given));
    this.set('times', given);
    this.set('moreTimes', ahead > given ? 1 : 0);
    const attempts = limit.time(() => {
      this.run();
      return this.get('attempts');
    });
    if (attempts > 0) pace.take(control);
    return attempts;
  }
}
