/**
 * Many adaptive steps in one call (adaptive-routine.ts), to the same bits as one by one.
 * A block ends before anything that it does not handle: a state that is not finite, a step too short, the end of the
 * run. The time loop (loop.ts) continues from there with single steps.
 */
import type {BlockNumber} from '../../step/adaptive-block.js';
import {adaptiveRoom, blockPlace} from '../../step/adaptive-block.js';
import type {CompiledStep} from '../../step/compiled.js';
import {loadParameters} from '../../step/context.js';
import {rowStart} from '../../step/rows.js';
import {unjudged} from '../algebraic.js';
import type {Runnable} from '../runnable.js';
import {adaptiveRoutine} from './adaptive-routine.js';
import {Pace} from '../pace.js';
import type {AdaptivePace} from './pace.js';
import type {Plan} from './plan.js';

/** By plan, which all runs of a prepared simulation share. */
const known = new WeakMap<Plan, AdaptiveBlocks>();

/** Nothing happens along these steps but attempts, which are all alike, and saved states. */
export function isPlain(prepared: Runnable, plan: Plan): boolean {
  const {redundancy, start, traced} = prepared;
  return (
    plan.absolute !== undefined
    && plan.events.length === 0
    && plan.breaks === undefined
    && plan.revisits !== true
    && redundancy.regularization === 0
    && start.traced.ahead !== true
    && (plan.saving.kind !== 'times' || traced.functions.dense !== undefined)
    && unjudged(prepared).length === 0
  );
}

/** Sets what is the same for all runs along a plan. */
export function setPlan(
  {traced}: Runnable,
  plan: Plan,
  control: Float64Array,
  absolute: Float64Array,
  judged: Float64Array,
): void {
  absolute.set(plan.absolute ?? []);
  judged.set(traced.along?.judged ?? judged.fill(1));
  let count = 0;
  for (let i = 0; i < judged.length; i++) count += judged[i];
  control[blockPlace.judged] = Math.max(count, 1);
  control[blockPlace.rtol] = plan.control.rtol;
  control[blockPlace.end] = plan.end ?? Infinity;
  control[blockPlace.every] = plan.saving.kind === 'steps' ? plan.saving.every : 0;
}

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
  private readonly absolute: Float64Array;
  private readonly judged: Float64Array;
  private readonly room: number;
  private readonly compiled: CompiledStep;
  private readonly executable: CompiledStep['adaptiveSteps'];
  /** Attempts in a block: between blocks a run is aborted and tells its progress. */
  private limit = new Pace(false);

  /** undefined where steps are taken one by one. */
  static of(prepared: Runnable, plan: Plan): AdaptiveBlocks | undefined {
    const {compiled} = prepared;
    if (!isPlain(prepared, plan) || !compiled.inBlocks || prepared.keeps !== undefined) return undefined;
    let blocks = known.get(plan);
    if (blocks?.compiled !== compiled) {
      const run = adaptiveRoutine(compiled.adaptiveSteps);
      if (run === undefined) return undefined;
      known.set(plan, (blocks = new AdaptiveBlocks(prepared, plan, run)));
    }
    blocks.begin(prepared);
    return blocks;
  }

  private constructor(
    prepared: Runnable,
    private readonly plan: Plan,
    private readonly run: () => void,
  ) {
    const {compiled, traced} = prepared;
    const executable = compiled.adaptiveSteps;
    [this.compiled, this.executable] = [compiled, executable];
    const {size} = traced.state;
    [this.room, this.width] = [adaptiveRoom(size), rowStart + size];
    const block = executable.buffer('block');
    this.rows = block.subarray(0, this.room * this.width);
    this.states = block.subarray(this.room * this.width);
    [this.control, this.stiffness, this.theta, this.after, this.times, this.x, this.absolute, this.judged] = (
      [
        'blockControl',
        'blockStiffness',
        'blockTheta',
        'blockAfter',
        'blockTimes',
        'x',
        'blockAbsolute',
        'blockJudged',
      ] as const
    ).map(name => executable.buffer(name));
  }

  /** For another run: what its numbers are, and what runs along other plans may have changed. */
  private begin(prepared: Runnable): void {
    const {plan, judged, absolute, executable} = this;
    loadParameters(executable, prepared);
    const {onProgress, poll} = prepared.options;
    this.limit = new Pace(onProgress !== undefined || poll !== undefined);
    setPlan(prepared, plan, this.control, absolute, judged);
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
