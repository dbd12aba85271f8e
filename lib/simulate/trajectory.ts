/** What a run gives: saved states as tensors (float32) and as numbers (double), status and statistics. */
import * as tf from '@tensorflow/tfjs';
import type {StiffgradError} from '../errors.js';
import {OptionError} from '../errors.js';
import {beyondInputs} from '../system/inputs.js';
import type {EventRecord} from '../integrate/history/records.js';
import type {MechanicalSystem} from '../system/mechanics.js';
import type {AnySystem, ByKind, StatesOf} from './kinds.js';
import type {PreparedRun} from './prepare.js';
import type {RunState} from '../integrate/run-state.js';
import {runState} from '../integrate/run-state.js';
import type {Run} from '../integrate/path.js';
import type {System} from '../step/formulation.js';
import {displayed, type DisplayedTexts} from './display.js';
import type {Status} from '../integrate/counters.js';
import {solverOf} from '../integrate/run-context.js';
import {column, seriesOf} from './series.js';

/** Saved series: times, positions, velocities, accelerations, multipliers, an ode's state, values of `observe`. */
export type SeriesName = 't' | 'q' | 'v' | 'a' | 'lambda' | 'y' | 'observed';

/** What a run cost, counted. */
export interface Stats {
  readonly steps: number;
  readonly rejectedSteps: number;
  /**
   * Evaluations of the right-hand side, forces or derivative: at the start and in steps, including rejected ones; in
   * implicit steps by every residual. Jacobians, and evaluations for dense output and events between steps, are not
   * counted.
   */
  readonly evaluations: number;
  readonly newtonIterations: number;
  readonly residualEvaluations: number;
  readonly jacobianEvaluations: number;
  readonly factorizations: number;
  readonly linearIterations: number;
  /** Stored numbers of the linear solver's factor. */
  readonly nonzeros: number;
  /** Failed attempts at a step, by cause. */
  readonly failures: {readonly [cause: string]: number};
  readonly milliseconds: {readonly trace: number; readonly compile: number; readonly run: number};
  /** 'wasm', 'interpreter', 'tensor', or the name of a custom engine. */
  readonly engine: string;
  /**
   * How the linear systems were solved: 'dense', 'band', 'sparse', 'supernodal-lu' (a mesh without symmetry), …; 'none'
   * for an explicit scheme.
   */
  readonly linear: string;
  /** 'worker' if a worker thread of `batch` ran it; the numbers are the same. */
  readonly thread: 'own' | 'worker';
}

/** The result of a run of any system; see `Trajectory`. */
export interface AnyTrajectory {
  /** [saved] */
  readonly t: tf.Tensor;
  /** [saved, ...shape], starting with the initial state; only of a mechanical system. */
  readonly q?: tf.Tensor;
  readonly v?: tf.Tensor;
  /** [saved, ...shape], starting with the initial state; only of an ode. */
  readonly y?: tf.Tensor;
  /** Accelerations, if the scheme carries them. */
  readonly a?: tf.Tensor;
  /** Multipliers of the constraints [saved, rows], if the system has constraints. */
  readonly lambda?: tf.Tensor;
  /** [saved, ...shape of `observe`], if it was given. */
  readonly observed?: tf.Tensor;
  /** Hidden states by name, [saved, ...shape] each, if the system has any. */
  readonly states?: {readonly [name: string]: tf.Tensor};
  /**
   * A saved series in double precision, row-major: one of `SeriesName`, or a hidden state.
   * @throws OptionError 'no-series' if this run has no series of this name
   */
  values(name: string): Float64Array;
  readonly status: Status;
  /** Why a run that failed did so, with `throw: false`. */
  readonly error?: StiffgradError;
  readonly stats: Stats;
  /** The events that happened, in the order of their times. */
  readonly events: readonly EventRecord[];
  /** Warnings, one sentence each, for example of redundant constraints or degenerate contacts. */
  readonly warnings: readonly string[];
  /** The simulated system: plots and animations use its figure and its energy. */
  readonly system: System;
  /** The final state of the run, as plain values: `initial` of a run that continues from there. */
  state(): RunState;
  /** Frees the tensors; `values` stay. */
  dispose(): void;
  /** A summary without the numbers, which `values` returns. */
  toJSON(): TrajectorySummary;
  /** A summary in one line. */
  toString(): string;
}

/** The result of a run of a mechanical system with hidden states Z. */
export interface MechanicalTrajectory<Z extends string = never> extends Omit<AnyTrajectory, 'y' | 'values' | 'states'> {
  /** [saved, ...shape], starting with the initial state. */
  readonly q: tf.Tensor;
  readonly v: tf.Tensor;
  /**
   * A saved series in double precision, row-major.
   * @throws OptionError 'no-series' if this run has no series of this name
   */
  values(name: Exclude<SeriesName, 'y'> | Z): Float64Array;
  /** Hidden states by name, [saved, ...shape] each. */
  readonly states: {readonly [K in Z]: tf.Tensor};
}

/** The result of a run of an ode. */
export interface OdeTrajectory extends Omit<AnyTrajectory, 'q' | 'v' | 'a' | 'lambda' | 'values' | 'states'> {
  /** [saved, ...shape], starting with the initial state. */
  readonly y: tf.Tensor;
  /**
   * A saved series in double precision, row-major.
   * @throws OptionError 'no-series' if this run has no series of this name
   */
  values(name: 't' | 'y' | 'observed'): Float64Array;
}

/**
 * The result of a run: saved states as tensors (float32) and as numbers (double), status and statistics. q and v of a
 * mechanical system, y of an ode.
 */
export type Trajectory<S extends AnySystem = MechanicalSystem> = ByKind<
  S,
  MechanicalTrajectory<StatesOf<S>>,
  OdeTrajectory,
  AnyTrajectory
>;

export function statsOf(prepared: PreparedRun, {counters, milliseconds, workerFacts}: Run): Stats {
  const {compiled} = prepared;
  const {compileTime, nonzeros, linear} = workerFacts ?? {compileTime: compiled.compileTime, ...solverOf(prepared)};
  const {
    steps,
    rejectedSteps,
    evaluations,
    newtonIterations,
    residualEvaluations,
    jacobianEvaluations,
    factorizations,
    linearIterations,
  } = counters;
  // By name: V8 takes microseconds to spread an object whose map has changed.
  return {
    steps,
    rejectedSteps,
    evaluations,
    newtonIterations,
    residualEvaluations,
    jacobianEvaluations,
    factorizations,
    linearIterations,
    failures: {...counters.failures},
    nonzeros,
    linear,
    milliseconds: {
      trace: prepared.milliseconds.trace,
      compile: prepared.milliseconds.compile + compileTime,
      run: milliseconds,
    },
    engine: workerFacts?.engine ?? compiled.engine.name,
    thread: workerFacts === undefined ? 'own' : 'worker',
  };
}

const hiddenNames = (system: System): string[] => (system.kind === 'mechanics' ? Object.keys(system.states ?? {}) : []);

/**
 * A trajectory. Its functions are its prototype's, so that it can be copied (structuredClone) and printed; they come
 * bound, so that they can be taken from it.
 */
class SavedRun implements AnyTrajectory {
  readonly t: tf.Tensor;
  readonly states?: {readonly [name: string]: tf.Tensor};
  readonly status: Status;
  readonly error?: StiffgradError;
  readonly stats: Stats;
  readonly warnings: readonly string[];
  readonly events: readonly EventRecord[];
  readonly #prepared: PreparedRun;
  readonly #run: Run;
  readonly #matrix: Float64Array;
  readonly #tensors: {readonly [name: string]: tf.Tensor};

  constructor(prepared: PreparedRun, run: Run, matrix: Float64Array, tensors: {readonly [name: string]: tf.Tensor}) {
    this.t = tf.tensor1d(new Float32Array(run.times));
    const hidden = hiddenNames(prepared.system);
    if (hidden.length > 0) this.states = Object.fromEntries(hidden.map(name => [name, tensors[name]]));
    Object.assign(
      this,
      hidden.length === 0
        ? tensors
        : Object.fromEntries(Object.entries(tensors).filter(([name]) => !hidden.includes(name))),
    );
    this.status = run.status;
    if (run.error !== undefined) this.error = run.error;
    this.stats = statsOf(prepared, run);
    const {inputs} = prepared;
    const {warnings} = run;
    if (inputs !== undefined)
      warnings.push(...beyondInputs(inputs, run.times).filter(warning => !warnings.includes(warning)));
    this.warnings = warnings;
    this.events = run.events ?? [];
    this.#prepared = prepared;
    this.#run = run;
    this.#matrix = matrix;
    this.#tensors = tensors;
  }

  get values(): (name: string) => Float64Array {
    return name => {
      if (name === 't') return this.#run.times.slice();
      const {blocks, width} = seriesOf(this.#prepared);
      const block = blocks.find(candidate => candidate.name === name);
      if (block === undefined)
        throw new OptionError(
          'no-series',
          `This run has no ${name}; it has ${['t', ...blocks.map(b => b.name)].join(', ')}.`,
          {name},
        );
      return column(this.#matrix, width, block);
    };
  }

  get system(): System {
    return this.#prepared.system;
  }

  get state(): () => RunState {
    return () => {
      if (this.#run.resumeState === undefined)
        throw new OptionError(
          'no-state',
          this.#run.workerFacts === undefined
            ? 'A run that could not begin has no state: its error says why.'
            : 'A run on a worker thread does not return its last state: use simulate.',
        );
      return runState(this.#prepared.traced, this.#run.resumeState);
    };
  }

  get dispose(): () => void {
    return () => {
      this.t.dispose();
      for (const tensor of Object.values(this.#tensors)) tensor.dispose();
    };
  }

  /** What it is, without its numbers: for JSON. */
  toJSON(): TrajectorySummary {
    const {times} = this.#run;
    return {
      status: this.status,
      ...(this.error === undefined ? {} : {error: this.error.message}),
      saved: times.length,
      from: times[0],
      to: times[times.length - 1],
      shapes: Object.fromEntries(Object.entries(this.#tensors).map(([name, {shape}]) => [name, [...shape]])),
      events: this.events.length,
      warnings: this.warnings,
      stats: this.stats,
    };
  }

  /** A summary in one line. */
  toString(): string {
    const {
      status,
      saved,
      from,
      to,
      shapes,
      events,
      warnings,
      stats: {steps},
    } = this.toJSON();
    const some = (count: number, what: string): string =>
      count === 0 ? '' : `, ${count} ${what}${count === 1 ? '' : 's'}`;
    const series = Object.entries(shapes)
      .map(([name, shape]) => `, ${name} [${shape.join(', ')}]`)
      .join('');
    const times = saved === 0 ? '' : ` from t = ${from} to ${to}`;
    const more = `${some(events, 'event')}${some(warnings.length, 'warning')}`;
    return `Trajectory: ${status} after ${steps} steps, ${saved} saved${times}${series}${more}`;
  }

  /** What console.log shows on Node, Deno and Bun. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return String(this);
  }

  /** What a notebook shows: a picture and the line. */
  [Symbol.for('Jupyter.display')](): DisplayedTexts {
    return displayed(this);
  }
}

/** A trajectory without its numbers, for JSON. */
export interface TrajectorySummary {
  readonly status: Status;
  /** Why it failed. */
  readonly error?: string;
  /** How many states were saved, and the first and the last of their times. */
  readonly saved: number;
  readonly from: number;
  readonly to: number;
  /** [saved, ...shape] of each series. */
  readonly shapes: {readonly [name: string]: readonly number[]};
  /** How many events happened. */
  readonly events: number;
  readonly warnings: readonly string[];
  readonly stats: Stats;
}

/** Makes reading q of an ode's trajectory an error, as `undefined` would surface much later. */
class SavedOdeRun extends SavedRun {
  get q(): never {
    return absent('q');
  }

  get v(): never {
    return absent('v');
  }
}

function absent(name: string): never {
  throw new OptionError('no-series', `A run of an ode has no ${name}; it has y.`);
}

/**
 * @param matrix the saved series, see series.ts
 * @param tensors the same as tensors [saved, ...shape], by name
 */
export function trajectoryOf(
  prepared: PreparedRun,
  run: Run,
  matrix: Float64Array,
  tensors: {readonly [name: string]: tf.Tensor},
): AnyTrajectory {
  return prepared.system.kind === 'ode'
    ? new SavedOdeRun(prepared, run, matrix, tensors)
    : new SavedRun(prepared, run, matrix, tensors);
}
