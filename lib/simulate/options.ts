/** What a run is asked to do: checked and completed before anything is computed. */
import type {Adjoint} from '../adjoint/index.js';
import {implicitAdjoint} from '../adjoint/index.js';
import {OptionError} from '../errors.js';
import {refuseUnknownOptions, shown} from '../given.js';
import type {Newton} from '../newton/index.js';
import {newton} from '../newton/index.js';
import type {Scheme} from '../scheme/index.js';
import {implicitMidpoint} from '../scheme/index.js';
import type {Observe} from '../step/trace-step.js';
import type {NumericParams} from '../system/params.js';

export type SaveAt = 'all' | 'end' | {readonly every: number} | readonly number[];

export interface Progress {
  readonly t: number;
  readonly step: number;
  readonly steps: number;
}

export interface SimulateOptions {
  /** Default implicitMidpoint(): second order, symplectic, no damping, any stiffness. */
  readonly scheme?: Scheme;
  readonly params?: NumericParams;
  /** Step length, in the system's unit of time. */
  readonly dt: number;
  /** Number of steps; or give t1. */
  readonly steps?: number;
  /** End of the run; the last step is shortened to meet it. */
  readonly t1?: number;
  /** 'all' (default): the start and every step; 'end': the start and the last; every n-th step; or times of the grid. */
  readonly saveAt?: SaveAt;
  readonly newton?: Newton;
  readonly adjoint?: Adjoint;
  /** A function of the state, traced like a force; its values are saved beside the state as `observed`. */
  readonly observe?: Observe;
  /** 'auto' (default) takes the fastest that runs here; the results are the same. */
  readonly engine?: 'auto' | 'wasm' | 'interpreter' | 'tensor';
  readonly onProgress?: (progress: Progress) => void;
  /** Default true. false: a failed run comes back with its status and what was reached. */
  readonly throw?: boolean;
}

/** The times of a run: t0 + n·dt, the last one exactly t1 where that was given. */
export interface Grid {
  readonly t0: number;
  readonly dt: number;
  readonly steps: number;
  /** time(0) … time(steps) */
  time(n: number): number;
  /** Of the step from time(n): dt itself, not a difference of times, which rounds it where t ≫ dt. */
  length(n: number): number;
}

export interface RunOptions {
  readonly scheme: Scheme;
  readonly params: NumericParams;
  readonly grid: Grid;
  /** Step numbers that are saved, ascending; 0 is the start. */
  readonly saved: Int32Array;
  readonly newton: Newton;
  readonly adjoint: Adjoint;
  readonly engine: 'auto' | 'wasm' | 'interpreter' | 'tensor';
  readonly onProgress?: (progress: Progress) => void;
  readonly throw: boolean;
}

/** A grid time is met within this share of a step: rounding of t0 + n·dt over 10⁶ steps stays below it. */
const gridSlack = 1e-6;

/** The rounding of a difference of two times, as a share of the larger: a half for each time, product and sum. */
const timeRounding = 4 * Number.EPSILON;

/** @throws OptionError 'bad-time', 'bad-save' or 'unknown-option' */
export function readOptions(options: SimulateOptions, t0: number): RunOptions {
  if (typeof options !== 'object' || options === null) throw new OptionError('bad-time', 'simulate takes options: {dt, steps} at least.');
  refuseUnknownOptions(options, ['scheme', 'params', 'dt', 'steps', 't1', 'saveAt', 'newton', 'adjoint', 'observe', 'engine', 'onProgress', 'throw'], 'simulate', 'unknown-option');
  const grid = readGrid(options, t0);
  return {
    scheme: readScheme(options.scheme ?? implicitMidpoint()),
    params: options.params ?? {},
    grid,
    saved: savedSteps(options.saveAt ?? 'all', grid),
    newton: readNewton(options.newton ?? newton()),
    adjoint: readAdjoint(options.adjoint ?? implicitAdjoint()),
    engine: options.engine ?? 'auto',
    onProgress: options.onProgress,
    throw: options.throw ?? true,
  };
}

/** What is given without its brackets, or by name, is a common slip: trapezoid for trapezoid(). */
function readScheme(scheme: Scheme): Scheme {
  const given: unknown = scheme;
  if (typeof given === 'function') throw new OptionError('bad-scheme', `scheme is the function ${given.name}: call it, scheme: ${given.name}().`);
  if (typeof given !== 'object' || given === null || (scheme.mechanics ?? scheme.ode) === undefined) {
    throw new OptionError('bad-scheme', `scheme must be one of the schemes, as scheme: trapezoid(), not ${shown(given)}.`);
  }
  return scheme;
}

function readNewton(given: Newton): Newton {
  if (typeof given !== 'object' || typeof given.step?.choose !== 'function') throw new OptionError('bad-newton', 'newton must be made by newton({...}): newton: newton({maxIterations: 20}).');
  return given;
}

function readAdjoint(adjoint: Adjoint): Adjoint {
  if (typeof (adjoint as {kind?: unknown}).kind !== 'string') throw new OptionError('bad-adjoint', `adjoint must be implicitAdjoint() or unrolledAdjoint(), not ${shown(adjoint)}.`);
  return adjoint;
}

function readGrid({dt, steps, t1}: SimulateOptions, t0: number): Grid {
  if (!(dt > 0) || !Number.isFinite(dt)) throw new OptionError('bad-time', `dt must be a positive number, not ${shown(dt)}.`, {dt});
  if (!Number.isFinite(t0)) throw new OptionError('bad-time', `The initial time must be finite, not ${t0}.`, {t: t0});
  if ((steps === undefined) === (t1 === undefined)) throw new OptionError('bad-time', 'Give either steps or t1.', {steps, t1});
  if (steps !== undefined) {
    if (!Number.isInteger(steps) || steps < 0) throw new OptionError('bad-time', `steps must be a whole number of at least 0, not ${shown(steps)}.`, {steps});
    return {t0, dt, steps, time: n => t0 + n * dt, length: () => dt};
  }
  const end = t1 as number;
  if (!(end >= t0) || !Number.isFinite(end)) throw new OptionError('bad-time', `t1 = ${shown(end)} lies before the start t = ${t0}, or is not finite.`, {t1: end, t: t0});
  const count = Math.max(Math.ceil((end - t0) / dt - gridSlack), 0);
  const left = end - (t0 + (count - 1) * dt);
  const whole = Math.abs(left - dt) <= timeRounding * Math.max(Math.abs(t0), Math.abs(end));
  return {t0, dt, steps: count, time: n => (n === count ? end : t0 + n * dt), length: n => (n === count - 1 && !whole ? left : dt)};
}

function savedSteps(saveAt: SaveAt, grid: Grid): Int32Array {
  const {steps} = grid;
  if (saveAt === 'all') return Int32Array.from({length: steps + 1}, (_, n) => n);
  if (saveAt === 'end') return steps === 0 ? Int32Array.of(0) : Int32Array.of(0, steps);
  if (Array.isArray(saveAt)) return savedTimes(saveAt, grid);
  if (typeof saveAt !== 'object' || !('every' in saveAt)) throw new OptionError('bad-save', `saveAt must be 'all', 'end', {every: n} or a list of times, not ${shown(saveAt)}.`);
  const {every} = saveAt as {readonly every: number};
  if (!Number.isInteger(every) || every < 1) throw new OptionError('bad-save', `saveAt: {every} must be a whole number of at least 1, not ${shown(every)}.`, {every});
  return Int32Array.from({length: Math.floor(steps / every) + 1}, (_, k) => k * every);
}

function savedTimes(times: readonly number[], grid: Grid): Int32Array {
  const saved = new Int32Array(times.length);
  times.forEach((time, i) => {
    const n = Math.min(Math.round((time - grid.t0) / grid.dt), grid.steps);
    const nearest = [n, grid.steps].find(candidate => candidate >= 0 && Math.abs(grid.time(candidate) - time) <= gridSlack * grid.dt);
    if (nearest === undefined) {
      throw new OptionError('bad-save', `saveAt: ${time} is not a time of the grid ${grid.t0} + n·${grid.dt} up to ${Number(grid.time(grid.steps).toPrecision(12))}. Choose dt so that it is.`, {index: i, time});
    }
    if (i > 0 && !(nearest > saved[i - 1])) throw new OptionError('bad-save', `saveAt must ascend: entry ${i} is ${time} after ${times[i - 1]}.`, {index: i});
    saved[i] = nearest;
  });
  return saved;
}
