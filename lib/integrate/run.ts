/**
 * The time loop: from the start to the end, one implicit (or explicit) step after another, in double
 * precision throughout. What a gradient will need is kept on the way: every step while the budget of
 * the adjoint lasts, else the states from which the steps can be taken again.
 */
import type {Adjoint} from '../adjoint/index.js';
import {keepsNarrow} from '../adjoint/backward.js';
import {StepRecord} from '../adjoint/record.js';
import type {Beside} from '../adjoint/forward.js';
import {TangentsBeside, unitDirections} from '../adjoint/forward.js';
import {firstPass} from '../adjoint/schedule.js';
import type {StiffgradError} from '../errors.js';
import {throwIfAborted} from '../given.js';
import {SingularMatrixError} from '../errors.js';
import {newNumbers} from '../memory.js';
import {runHistory} from './history/run.js';
import {placeOf} from './grid.js';
import {bytesPerNumber, fewerSaved, mostStates, requireMemory} from './memory.js';
import type {Keep, Keeping, Run} from './path.js';
import type {Runnable} from './runnable.js';
import {ContactWatch, backsolveWarning} from './warnings.js';
import {contradiction, requireScaledRows, startRun} from './start.js';
import type {Status} from './counters.js';
import {Stepper} from './stepper.js';
import {noCounts} from './counters.js';

/** Made when a run begins, with the step that begins it; made again where the run is. */
export type Companion = (prepared: Runnable, start: StepRecord) => Beside;

/** Progress is told at most this often, in milliseconds: faster is not seen, and costs. */
const progressInterval = 100;

/**
 * @param forGradient 'steps': keep every step whatever it takes; 'budget': as the adjoint wants it
 * @param companion goes along, where steps lie on the grid
 * @throws AbortError
 */
export function run(prepared: Runnable, forGradient?: 'steps' | 'budget', companion?: Companion): Run {
  const {compiled, options: {plan, adjoint, signal}} = prepared;
  throwIfAborted(signal);
  const keeping = forGradient === 'budget' ? keepingFor(adjoint) : forGradient === 'steps' ? {memory: Infinity} : undefined;
  const attempt = plan === undefined
    ? (context: Runnable) => loop({...context, narrow: forGradient === 'budget' && keepsNarrow(context, adjoint)}, keeping, companion)
    : (context: Runnable) => runHistory(context, plan, keeping);
  compiled.busy = true;
  try {
    const done = relieved(prepared, attempt);
    return forGradient === 'budget' && adjoint.kind === 'backsolve' ? forBacksolve(done, prepared) : done;
  } finally {
    compiled.busy = false;
  }
}

function keepingFor({kind, memory = Infinity}: Adjoint): Keeping {
  return kind === 'backsolve' ? undefined : kind === 'forward' ? 'tangents' : {memory};
}

function forBacksolve(done: Run, {traced}: Runnable): Run {
  const warnings = [...done.warnings, backsolveWarning(traced)];
  return {...done, warnings, kept: {warnings}};
}

/**
 * Compliance given to every rigid row once some are found redundant, as a share of h²/m: it moves
 * positions by this share of what the multipliers do in a step, far below the error of any scheme. Where
 * a mechanism passes a singular position rows are soft as long as the square of their least singular
 * value is below this: within 1e-4 rad, which steps of a milliradian leap over (with 1e-6 the 2-four-bar
 * mechanism loses second order at h = 0.0025, measured). And it leaves four digits to multipliers that
 * only rounding tells apart where h²/m is 1e-4.
 */
const regularization = 3e-8;

/**
 * Redundant constraints make the Newton matrix singular in rows of λ. Where that is found the run is
 * taken again, with multipliers of least norm from its start on, so that all of it is one function of
 * its parameters.
 */
function relieved(prepared: Runnable, attempt: (prepared: Runnable) => Run): Run {
  const redundant = (error: unknown): Runnable | undefined => {
    const singular = error instanceof SingularMatrixError && error.code === 'singular-step' ? error.data.rows as readonly string[] : [];
    const rows = singular.filter(row => /^(lambda|mu|eta|to)/.test(row));
    if (rows.length === 0) return undefined;
    requireScaledRows(prepared);
    return {...prepared, redundancy: {regularization, rows}};
  };
  let again: Runnable | undefined;
  try {
    const run = attempt(prepared);
    again = redundant(run.error);
    if (again === undefined) return run;
  } catch (error) {
    again = redundant(error);
    if (again === undefined) throw error;
  }
  return attempt(again);
}

export function newRecord({traced, compiled, narrow}: Runnable, expected: number): StepRecord {
  if (narrow === true) return new StepRecord(compiled.kept.size, 0, expected);
  return new StepRecord(traced.state.size, !compiled.implicit ? 0 : traced.unknown.size, expected);
}

/** Everything where it fits; else as many states as do, two at least. */
function keepWithin(prepared: Runnable, memory: number): Keep {
  const {options, traced, compiled, narrow} = prepared;
  const {steps} = options.grid;
  const everyStep = steps * (2 + (narrow === true ? compiled.kept.size : traced.state.size + traced.unknown.size)) * bytesPerNumber;
  if (everyStep <= memory || steps <= 2) {
    requireMemory(everyStep, `the record of ${steps} steps, which a derivative keeps`, 'Take the gradient with implicitAdjoint({memory}), which takes steps again beyond its budget in bytes, or fewer steps.');
    return {record: newRecord(prepared, steps)};
  }
  const room = Math.min(steps, mostStates, Math.max(2, Math.floor(memory / (traced.state.size * bytesPerNumber))));
  return {states: new Map(), room};
}

function loop(prepared: Runnable, keeping: Keeping, companion?: Companion): Run {
  const begin = performance.now();
  const kept = typeof keeping === 'object' ? keepWithin(prepared, keeping.memory) : undefined;
  const {options, traced, compiled} = prepared;
  const {grid, saved, newton, adjoint, onProgress, signal, poll} = options;
  compiled.recall(undefined);
  const size = traced.state.size;
  const states = newNumbers(saved.length * size, 'the saved states', fewerSaved);
  const counters = noCounts();
  const start = startRun(prepared, counters);
  const tangents = keeping === 'tangents' ? new TangentsBeside(prepared, start.record, unitDirections(prepared)) : undefined;
  const beside = companion?.(prepared, start.record) ?? tangents;
  // The tangents of a step take the place of its factor.
  const repeatable = beside !== undefined || (kept !== undefined && ('states' in kept || newton.jacobian === 'by-cost'));
  const stepper = new Stepper(prepared, start.x, adjoint.kind === 'unrolled', repeatable, counters);
  if (beside !== undefined) stepper.record = beside.record;
  if (kept !== undefined && 'record' in kept) stepper.record = kept.record;
  const checkpoints = kept !== undefined && 'states' in kept ? {at: new Set(firstPass(grid.steps, kept.room)), states: kept.states} : undefined;
  const contacts = new ContactWatch(prepared);
  let count = 0;
  let told = begin;
  let status: Status = 'completed';
  let n = 0;
  let torn: StiffgradError | undefined;
  const keep = (): void => {
    if (checkpoints?.at.has(n) === true) checkpoints.states.set(n, stepper.state.slice());
    beside?.reach(n, stepper.state);
    if (saved[count] !== n) return;
    states.set(stepper.state, count * size);
    beside?.save();
    stepper.record?.savedAfter.set(stepper.record.count, count);
    count++;
  };
  keep();
  while (n < grid.steps) {
    poll?.();
    status = stepper.step(n);
    if (status !== 'completed') break;
    torn = prepared.redundancy.regularization > 0 ? contradiction(prepared, stepper.state, prepared.start.traced.still === true ? grid.t0 : grid.time(n + 1)) : undefined;
    if (torn !== undefined) {
      status = 'singular';
      break;
    }
    n++;
    contacts.at(grid.time(n));
    keep();
    const now = onProgress === undefined ? 0 : performance.now();
    if (onProgress !== undefined && (now - told > progressInterval || n === grid.steps)) {
      told = now;
      onProgress({t: grid.time(n), step: n, steps: grid.steps});
      throwIfAborted(signal);
    }
  }
  return {
    states: count === saved.length ? states : states.slice(0, count * size),
    times: Float64Array.from(saved.subarray(0, count), step => grid.time(step)),
    status, error: torn ?? stepper.error, warnings: contacts.warnings, counters, milliseconds: performance.now() - begin, completed: n, start: start.record, redundancy: prepared.redundancy,
    kept: tangents === undefined ? kept : {sensitivities: {count: tangents.count, states: tangents.states}},
    standing: {t: grid.time(n), x: stepper.state.slice(), grid: placeOf(grid, n)}, history: compiled.learned,
  };
}
