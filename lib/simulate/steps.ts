/** A run as an iterator: each saved state when it is there, and nothing kept behind it. */
import {toUserTime} from '../step/time-direction.js';
import {CompiledStep} from '../step/compiled.js';
import type {System} from '../step/formulation.js';
import {RunFailure, captureFailure} from '../integrate/run-failure.js';
import {HistoryLoop} from '../integrate/history/history-loop.js';
import {observedValues} from './observed.js';
import type {SimulateOptions} from './options.js';
import type {Initial} from './kinds.js';
import type {PreparedRun} from './prepare.js';
import {prepare, requireRead} from './prepare.js';
import type {RunState, ResumeState} from '../integrate/run-state.js';
import {runState} from '../integrate/run-state.js';
import {column, seriesOf} from './series.js';
import type {Status} from '../integrate/counters.js';
import {OptionError} from '../errors.js';
import {throwIfAborted} from '../checks.js';

/** A saved state. */
export interface SavedState {
  readonly t: number;
  /** A block of the state, or the value of `observe`, flat. */
  values(name: 'q' | 'v' | 'y' | 'a' | 'lambda' | 'observed'): Float64Array;
  /**
   * The state of the run when this state was yielded, whenever this is called: the same state, unless `saveAt` selected
   * a time within a step.
   */
  state(): RunState;
}

/**
 * The states that `saveAt` asks for, one after another, of a run that goes on as they are asked for. The
 * value at the end is the run's status.
 * @throws as `simulate`, when the run comes to what it cannot go on from, or is to go on after its signal was aborted
 */
export function* steps(
  system: System,
  initial: Initial,
  options: SimulateOptions,
): Generator<SavedState, Status, undefined> {
  const shared = requireRead(prepare(system, initial, options, 'a plan'));
  const {plan, signal} = shared.options;
  throwIfAborted(signal);
  if (plan === undefined) throw new Error('a run of steps has a plan');
  // Buffers of its own: between two states the same system may be run elsewhere.
  const alone = ({traced}: Pick<PreparedRun, 'traced'>): CompiledStep => new CompiledStep(traced, shared.engine);
  const prepared: PreparedRun = {
    ...shared,
    compiled: alone(shared),
    start: {...shared.start, compiled: alone(shared.start)},
  };
  const loop = captureFailure(() => new HistoryLoop(prepared, plan, undefined));
  if (loop instanceof RunFailure) return ended(loop, options);
  for (let more = true; more;) {
    yield* taken(prepared, loop);
    throwIfAborted(signal);
    more = loop.advance();
  }
  yield* taken(prepared, loop);
  return ended(loop, options);
}

function ended({status, error}: Pick<HistoryLoop, 'status' | 'error'>, options: SimulateOptions): Status {
  if (error !== undefined && options.throw !== false) throw error;
  return status;
}

function* taken(prepared: PreparedRun, loop: HistoryLoop): Generator<SavedState, void, undefined> {
  const {states, times} = loop.saver.take();
  if (times.length === 0) return;
  const {size} = prepared.traced.state;
  // Of now: the run goes on, and what was handed out does not.
  const {resumeState} = loop;
  for (let i = 0; i < times.length; i++)
    yield savedState(
      prepared,
      resumeState,
      states.slice(i * size, (i + 1) * size),
      toUserTime(prepared.traced, times[i]),
    );
}

function savedState(prepared: PreparedRun, standing: ResumeState, x: Float64Array, t: number): SavedState {
  return {
    t,
    values(name) {
      const {blocks} = seriesOf(prepared);
      const block = blocks.find(candidate => candidate.name === name);
      if (block === undefined)
        throw new OptionError('no-series', `This run has no ${name}; it has ${blocks.map(b => b.name).join(', ')}.`, {
          name,
        });
      if (name === 'observed') return observedValues(prepared, {states: x, times: Float64Array.of(t)});
      return column(x, x.length, block);
    },
    state: () => runState(prepared.traced, standing),
  };
}
