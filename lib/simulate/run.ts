/**
 * The time loop: from the start to the end, one implicit (or explicit) step after another, in double
 * precision throughout. What a gradient will need is recorded on the way.
 */
import type {Executable} from '../engine/engine.js';
import {NewtonError, SingularMatrixError, StiffgradError} from '../errors.js';
import type {IterationRecord} from '../adjoint/record.js';
import {StepRecord} from '../adjoint/record.js';
import {loadParameters} from '../step/context.js';
import type {NewtonCounters, NewtonStatus} from '../newton/index.js';
import {NewtonIteration} from '../newton/index.js';
import type {Prepared} from './prepare.js';
import {startState} from './prepare.js';
import {StepSystem} from './step-system.js';

export type Status = 'completed' | 'event' | 'newton-diverged' | 'step-too-small' | 'singular' | 'not-finite';

export interface Counters extends NewtonCounters {
  steps: number;
  rejectedSteps: number;
  failures: Record<string, number>;
}

export interface Run {
  /** Saved states, one after another. */
  readonly states: Float64Array;
  /** Times of the saved states. */
  readonly times: Float64Array;
  readonly status: Status;
  readonly error?: StiffgradError;
  readonly counters: Counters;
  readonly milliseconds: number;
  /** Every step taken, where a gradient was asked for. */
  readonly record?: StepRecord;
}

/** 'halve' gives up below dt/2^10: a step that fails there fails for another reason than its length. */
const deepestHalving = 10;

/** Progress is told at most this often, in milliseconds: faster is not seen, and costs. */
const progressInterval = 100;

export interface RecordRequest {
  /** Keep the iterations too, for the unrolled adjoint. */
  readonly iterations: boolean;
}

export function run(prepared: Prepared, recording?: RecordRequest): Run {
  return new TimeLoop(prepared, recording).run();
}

class TimeLoop {
  private readonly forward: Executable;
  private readonly system?: StepSystem;
  private readonly iteration?: NewtonIteration;
  private readonly x?: Float64Array;
  private readonly next: Float64Array;
  private readonly t?: Float64Array;
  private readonly h?: Float64Array;
  private readonly state: Float64Array;
  private readonly record?: StepRecord;
  private iterations: IterationRecord[] = [];
  private error?: StiffgradError;
  private lastStep = NaN;
  private readonly counters: Counters = {
    steps: 0, rejectedSteps: 0, newtonIterations: 0, residualEvaluations: 0, jacobianEvaluations: 0, factorizations: 0, linearIterations: 0, failures: {},
  };

  constructor(private readonly prepared: Prepared, private readonly recording?: RecordRequest) {
    this.state = startState(prepared);
    const {compiled, options, traced} = prepared;
    this.forward = compiled.forward;
    loadParameters(this.forward, prepared);
    this.x = this.forward.find('x');
    this.next = this.forward.buffer('next');
    this.t = this.forward.find('t');
    this.h = this.forward.find('h');
    if (compiled.jacobian !== undefined) {
      this.system = new StepSystem(prepared);
      this.iteration = new NewtonIteration(options.newton, this.system, this.counters);
    }
    if (recording !== undefined) {
      this.record = new StepRecord(traced.state.size, compiled.jacobian === undefined ? 0 : traced.unknown.size, options.grid.steps);
    }
  }

  run(): Run {
    const {compiled} = this.prepared;
    compiled.busy = true;
    try {
      return this.loop();
    } finally {
      compiled.busy = false;
    }
  }

  private loop(): Run {
    const begin = performance.now();
    const {options, traced} = this.prepared;
    const {grid, saved} = options;
    const size = traced.state.size;
    const states = new Float64Array(saved.length * size);
    let kept = 0;
    let told = begin;
    let status: Status = 'completed';
    const save = (): void => {
      states.set(this.state, kept * size);
      this.record?.savedAfter.set(this.record.count, kept);
      kept++;
    };
    if (saved[0] === 0) save();
    for (let n = 0; n < grid.steps; n++) {
      const t = grid.time(n);
      status = this.step(t, grid.length(n), 0);
      if (status !== 'completed') {
        this.locate(status, n, t);
        break;
      }
      if (saved[kept] === n + 1) save();
      const now = options.onProgress === undefined ? 0 : performance.now();
      if (options.onProgress !== undefined && (now - told > progressInterval || n + 1 === grid.steps)) {
        told = now;
        options.onProgress({t: grid.time(n + 1), step: n + 1, steps: grid.steps});
      }
    }
    return {
      states: kept === saved.length ? states : states.slice(0, kept * size),
      times: Float64Array.from(saved.subarray(0, kept), n => grid.time(n)),
      status, error: this.error, counters: this.counters, milliseconds: performance.now() - begin, record: this.record,
    };
  }

  /** One step; with onFailure 'halve', two of half the length where it fails. */
  private step(t: number, h: number, depth: number): Status {
    const status = this.attempt(t, h);
    if (status === 'completed') return status;
    const {counters, prepared} = this;
    counters.failures[status] = (counters.failures[status] ?? 0) + 1;
    if (prepared.options.newton.onFailure !== 'halve' || this.iteration === undefined) return status;
    if (depth === deepestHalving) return 'step-too-small';
    counters.rejectedSteps++;
    const first = this.step(t, h / 2, depth + 1);
    return first === 'completed' ? this.step(t + h / 2, h / 2, depth + 1) : first;
  }

  private attempt(t: number, h: number): Status {
    const {forward, state, iteration, next} = this;
    this.x?.set(state);
    this.t?.fill(t);
    this.h?.fill(h);
    if (iteration !== undefined) {
      const status = this.solve(iteration, h);
      if (status !== 'converged') return status;
    }
    forward.run('update');
    for (let i = 0; i < next.length; i++) if (!Number.isFinite(next[i])) return 'not-finite';
    if (this.record !== undefined) {
      this.record.append(t, h, state, this.system?.z);
      if (this.recording?.iterations === true) this.record.iterations.push(this.iterations);
    }
    state.set(next);
    this.counters.steps++;
    return 'completed';
  }

  private solve(iteration: NewtonIteration, h: number): NewtonStatus {
    const {forward, prepared, recording} = this;
    // A kept factor belongs to a step length.
    if (h !== this.lastStep) iteration.forget();
    this.lastStep = h;
    forward.run('guess');
    if (recording?.iterations === true) this.iterations = [];
    const observe = recording?.iterations === true
      ? (z: Float64Array, delta: Float64Array, length: number, first: boolean): void => {
          this.iterations.push({z: z.slice(), delta: delta.slice(), length, first});
        }
      : undefined;
    return iteration.find(prepared.traced.guess?.linearized === true, observe);
  }

  /** The sentence of a failure: where, why, how it went, and the worst rows by name. */
  private locate(status: Status, step: number, t: number): void {
    const {traced, options} = this.prepared;
    const rows = this.worstRows();
    const history = [...(this.iteration?.history ?? [])];
    const where = `Step ${step} of ${traced.name}, from t = ${t} with h = ${options.grid.dt}`;
    const data = {status, step, t, h: options.grid.dt, history, rows};
    const cause = this.iteration?.cause;
    if (status === 'singular') {
      const names = ((cause?.data.rows as number[] | undefined) ?? []).map(row => traced.unknown.rowName(row));
      this.error = new SingularMatrixError('singular-step', `${where}: the Newton matrix is singular; its rows ${names.join(', ') || '(unknown)'} depend on one another. Check masses, units and redundant terms.`, {...data, rows: names});
    } else {
      const worst = rows.map(({name, residual}) => `${name} (${residual.toExponential(2)})`).join(', ');
      const reason = status === 'not-finite' ? 'a number became infinite or NaN'
        : status === 'step-too-small' ? `the step failed down to h/${2 ** deepestHalving}`
        : cause !== undefined ? `the linear solver failed: ${cause.message}`
        : `Newton did not converge in ${history.length} iterations (residual ${history.map(r => r.toExponential(1)).join(' → ')})`;
      const advice = status === 'not-finite' ? 'Check the model near this state, or take a smaller dt.' : 'Take a smaller dt, newton({step: backtracking()}), or newton({onFailure: \'halve\'}).';
      this.error = new NewtonError(status, `${where}: ${reason}.${worst === '' ? '' : ` Worst rows: ${worst}.`} ${advice}`, data);
    }
  }

  private worstRows(): {name: string; residual: number}[] {
    const {traced} = this.prepared;
    if (this.iteration === undefined) {
      return [...this.next.keys()].filter(row => !Number.isFinite(this.next[row])).slice(0, 5).map(row => ({name: traced.state.rowName(row), residual: this.next[row]}));
    }
    return this.iteration.worstRows(5).map(({row, residual}) => ({name: traced.unknown.rowName(row), residual}));
  }
}
