/**
 * The backward pass of the continuous adjoint: from each saved state to the previous one, the ode of state and
 * adjoint (adjoint/backsolve-equations.ts) is integrated backwards in time with the run's own scheme and step lengths.
 */
import type {Gradient} from '../../adjoint/gradient.js';
import type {AdjointSystem} from '../../adjoint/backsolve-equations.js';
import {adjointSystem, checkBacksolve} from '../../adjoint/backsolve-equations.js';
import {OptionError} from '../../errors.js';
import {positiveOrInfinite, refuseUnknownOptions} from '../../checks.js';
import {sizeOf} from '../../graph/node.js';
import {auto} from '../../linear/index.js';
import {compileStep} from '../../step/compiled.js';
import {toUserTime, toUserTimes} from '../../step/time-direction.js';
import {noRedundancy} from '../../step/context.js';
import {blocksOfShape} from '../../step/formulation.js';
import {traceRun} from '../../step/trace-step.js';
import type {Plan} from '../history/plan.js';
import {readSpan} from '../history/plan.js';
import type {Grid} from '../grid.js';
import {readGrid} from '../grid.js';
import type {ResumeState} from '../run-state.js';
import type {BackwardTape, Path, Run} from '../path.js';
import {run} from '../run.js';
import type {RunContext} from '../run-context.js';
import {requireInverse} from '../algebraic.js';
import {backsolveWarning} from '../warnings.js';
import {noStartTime} from './adjoint.js';
import type {Adjoint, AdjointFactory, TracedRequest, PreparedAdjoint} from './adjoint.js';

/** A state that comes back a tenth of its size away has one digit left, and the gradient made with it no more. */
const defaultDrift = 0.1;

/**
 * The continuous adjoint (Chen, Rubanova, Bettencourt & Duvenaud 2018; Kidger 2021, §5.1.2): state and
 * adjoint as one ode, integrated backwards from each saved state to the previous one, by the run's scheme and
 * step lengths. No steps are stored. Approximate: the gradient has an error of the scheme's order in dt
 * (or proportional to the tolerance of adaptive steps), in addition to that of the run. It fails if the system
 * cannot be integrated backwards: errors of a component damped at rate r grow by exp(r T).
 * `trajectory.warnings` says so, and after a pullback reports how far the states drifted from the saved ones.
 * For `ode` and for mechanics without constraints, with schemes that integrate an ode; without events.
 * @param options.drift the tolerated drift of the state, as a fraction of the largest coordinate
 *   (default 0.1); beyond it the pullback throws an OptionError 'backsolve-drift'. Infinity allows any drift.
 * @throws OptionError 'bad-adjoint'
 */
export function backsolveAdjoint(options: {readonly drift?: number} = {}): Adjoint {
  refuseUnknownOptions(options, {drift: positiveOrInfinite}, 'backsolveAdjoint', 'bad-adjoint');
  const {drift = defaultDrift} = options;
  const method: AdjointFactory = {
    name: 'backsolveAdjoint',
    check: ({system, options: {scheme, events}}) => checkBacksolve(system, scheme, events.length),
    prepare(asked) {
      checkResumed(asked);
      refuseSwitches(asked);
      return backsolve(asked, drift);
    },
  };
  return method;
}

/** Borders are crossed backwards elsewhere than forwards, and what happens there is not a part of y' = f. */
function refuseSwitches({traced: {switches}}: TracedRequest): void {
  if (switches !== undefined)
    throw new OptionError(
      'bad-adjoint',
      `backsolveAdjoint does not support switches, such as '${switches[0].name}': use implicitAdjoint(), or `
        + "switches: 'ignore'.",
    );
}

/** The ode of state and adjoint is traced when a gradient is first asked for. */
function backsolve(asked: TracedRequest, drift: number): PreparedAdjoint {
  let augmented: Augmented | undefined;
  const wayBack = (prepared: RunContext, path: Path, warnings: string[]): WayBack =>
    new WayBack((augmented ??= augment(asked)), prepared, path, warnings, drift);
  return {
    run(prepared) {
      requireInverse(prepared);
      const done = run(prepared);
      const warnings = [...done.warnings, backsolveWarning(prepared.traced)];
      const kept: BackwardTape = {
        isApproximate: true,
        pull(runnable, path, {states, t0}) {
          if (t0 === true) throw noStartTime('backsolveAdjoint');
          return wayBack(runnable, path, warnings).gradient(states);
        },
      };
      return {...done, warnings, tape: kept};
    },
  };
}

/** State and adjoint, ready to run but for their values and times. */
interface Augmented extends AdjointSystem {
  readonly runnable: Omit<RunContext, 'initialValues' | 'parameterValues' | 't0' | 'h0'>;
  /** By parameter of its step, that of the run. */
  readonly source: readonly number[];
}

function augment({system, options, userBlocks, leaves, traced, engine}: TracedRequest): Augmented {
  const adjoint = adjointSystem(system, userBlocks, leaves, traced.parameters, traced);
  const adaptive = options.plan?.control.kind === 'adaptive';
  const {start, step} = traceRun(
    adjoint.system,
    options.scheme,
    blocksOfShape(adjoint.system, [adjoint.size]),
    leaves,
    undefined,
    undefined,
    adaptive ? {error: true, dense: false, events: []} : undefined,
  );
  return {
    ...adjoint,
    runnable: {
      engine,
      traced: step,
      compiled: compileStep(step, engine),
      start: {traced: start, compiled: compileStep(start, engine)},
      redundancy: noRedundancy,
      coordinates: adjoint.size,
      linear: auto(),
      // A solver of the user's may want a symmetric matrix, which this one is not.
      options: {
        ...options,
        plan: undefined,
        newton: {...options.newton, linear: auto()},
        consistent: 'check',
        onProgress: undefined,
        saved: new Float64Array(0),
      },
    },
    source: step.parameters.map(({tensor}, i) =>
      tensor === undefined ? i : traced.parameters.findIndex(parameter => parameter.tensor === tensor),
    ),
  };
}

const none = new Float64Array(0);

class WayBack {
  /** (y, ȳ, p̄), with cotangents in units of the largest. */
  private readonly now: Float64Array;
  /** Internal times of the saved states. */
  private readonly times: Float64Array;
  private taken = 0;
  private farthest = {share: 0, t: NaN};
  private pace: ResumeState['pace'];
  private readonly sizes: readonly {readonly offset: number; readonly size: number; readonly scale: number}[];

  constructor(
    private readonly augmented: Augmented,
    private readonly runnable: RunContext,
    private readonly path: Pick<Path, 'states' | 'times'>,
    private readonly warnings: string[],
    private readonly drift: number,
  ) {
    this.now = new Float64Array(augmented.size);
    this.times = toUserTimes(runnable.traced, path.times);
    const {size} = runnable.traced.state;
    this.sizes = runnable.traced.state.blocks
      .filter(({offset}) => offset < augmented.states)
      .map(({offset, size: width}) => {
        let scale = Number.MIN_VALUE;
        for (let at = offset; at < path.states.length; at += size)
          for (let i = 0; i < width; i++) scale = Math.max(scale, Math.abs(path.states[at + i]));
        for (let i = 0; i < width; i++) scale = Math.max(scale, Math.abs(runnable.initialValues[offset + i]));
        return {offset, size: width, scale};
      });
  }

  gradient(cotangents: Float64Array): Gradient {
    const {
      augmented: {states, parameters},
      runnable,
      times,
      now,
    } = this;
    const scale = cotangents.reduce((most, cotangent) => Math.max(most, Math.abs(cotangent)), 0);
    this.refuseCarried(cotangents);
    if (scale > 0) {
      for (let k = times.length - 1; k >= 0; k--) {
        now.set(this.saved(k));
        this.add(cotangents, k, scale);
        if (k > 0) this.back(k, k - 1, this.saved(k - 1));
      }
      if (times.length > 0 && times[0] > runnable.t0) this.back(0, -1, runnable.initialValues);
      this.tell();
    }
    const result = runnable.parameterValues.map(({length}) => new Float64Array(length));
    for (const {index, offset, size} of parameters)
      for (let i = 0; i < size; i++) result[index][i] = scale * now[2 * states + offset + i];
    return {
      initial: now.slice(states, 2 * states).map(cotangent => scale * cotangent),
      parameters: result,
      recomputedSteps: this.taken,
    };
  }

  private saved(k: number): Float64Array {
    const at = k * this.runnable.traced.state.size;
    return this.path.states.subarray(at, at + this.augmented.states);
  }

  private add(cotangents: Float64Array, k: number, scale: number): void {
    const {
      augmented: {states},
      now,
      runnable,
    } = this;
    for (let i = 0; i < states; i++) now[states + i] += cotangents[k * runnable.traced.state.size + i] / scale;
  }

  /** What a scheme carries is no part of the motion. */
  private refuseCarried(cotangents: Float64Array): void {
    const {
      augmented: {states},
      runnable: {
        traced: {state},
      },
    } = this;
    const at = cotangents.findIndex((cotangent, i) => cotangent !== 0 && i % state.size >= states);
    if (at >= 0)
      throw new OptionError(
        'bad-adjoint',
        `backsolveAdjoint: ${state.rowName(at % state.size)} is not part of the integrated state, so its `
          + 'cotangent cannot be propagated: use implicitAdjoint().',
      );
  }

  /** From saved state `from` to the one before, which is known: how far it is missed is noted. */
  private back(from: number, to: number, known: Float64Array): void {
    const {
      times,
      runnable: {options, t0},
    } = this;
    const end = to < 0 ? t0 : times[to];
    const begin = times[from];
    const {control, breaks} = options.plan ?? {};
    // Over a jump of an input nothing is carried: another start. Steps of a grid end there, too.
    const ends = (control?.kind === 'constant' ? breaks?.jumps : breaks?.restarts) ?? none;
    const between = ends.filter(t => t > end && t < begin).reverse();
    let at = begin;
    for (const next of [...between, end]) {
      this.piece(this.span(from, to, at, next), at, next);
      at = next;
    }
    this.note(known, end);
  }

  private piece({grid, plan}: {readonly grid: Grid; readonly plan?: Plan}, begin: number, end: number): void {
    const {
      augmented: {runnable, source},
      now,
      runnable: {parameterValues},
    } = this;
    const done = run({
      ...runnable,
      initialValues: now,
      t0: grid.t0,
      h0: grid.length(0),
      parameterValues: source.map(i => parameterValues[i]),
      options: {...runnable.options, grid, plan, saved: Float64Array.of(grid.steps)},
    });
    this.require(done, begin, end);
    this.taken += done.counters.steps;
    this.pace = done.resumeState?.pace;
    now.set((done.resumeState as ResumeState).x.subarray(0, now.length));
  }

  private require({status, error}: Run, begin: number, end: number): void {
    if (status === 'completed') return;
    throw new OptionError(
      'backsolve-failed',
      `backsolveAdjoint: from t = ${this.text(begin)} back to ${this.text(end)} state and adjoint could not be `
        + `integrated (${status}). This system cannot be integrated backwards with these steps: use `
        + `implicitAdjoint(). ${error?.message ?? ''}`,
      {status, t: toUserTime(this.runnable.traced, begin)},
    );
  }

  /** The times of the way back, the run's clock turned. */
  private span(from: number, to: number, begin: number, end: number): {grid: Grid; plan?: Plan} {
    const {
      runnable: {
        options: {grid, plan, saved},
      },
      augmented: {size},
    } = this;
    if (plan === undefined) return {grid: reversed(grid, to < 0 ? 0 : saved[to], saved[from])};
    const {control} = plan;
    if (control.kind === 'constant') return {grid: readGrid({dt: grid.dt, t1: -end}, -begin)};
    const asked = readSpan({dt: grid.dt, t1: -end}, control, -begin);
    const resume = this.pace === undefined ? undefined : {pace: this.pace, settled: [], jumped: []};
    return {
      grid: asked,
      plan: {
        control,
        absolute: this.tolerances(plan, size),
        events: [],
        saving: {kind: 'end'},
        end: -end,
        most: Infinity,
        resume,
        breaks: plan.breaks && {
          ...{stops: plan.breaks.stops.map(t => -t).reverse(), restarts: none, jump: 0},
          jumps: plan.breaks.jumps.map(t => -t).reverse(),
        },
      },
    };
  }

  /** The state's own; of the adjoint, whose largest entry begins as 1, the relative one. */
  private tolerances({absolute = new Float64Array(0), control: {rtol}}: Plan, size: number): Float64Array {
    const least = absolute.reduce((min, value) => Math.min(min, value), Infinity);
    const result = new Float64Array(size).fill(rtol > 0 ? rtol : least);
    result.set(absolute);
    return result;
  }

  private note(known: Float64Array, t: number): void {
    const {now, sizes} = this;
    for (const {offset, size, scale} of sizes) {
      for (let i = offset; i < offset + size; i++) {
        const share = Math.abs(now[i] - known[i]) / scale;
        if (share > this.farthest.share) this.farthest = {share, t};
      }
    }
    const {share} = this.farthest;
    if (share > this.drift) {
      throw new OptionError(
        'backsolve-drift',
        `backsolveAdjoint: integrated backwards, the state at t = ${this.text(t)} differs from the saved one `
          + `by ${text(share)} of its size, more than the allowed ${this.drift}. A gradient along this path is `
          + 'useless. Use implicitAdjoint(), save more states, or set backsolveAdjoint({drift: Infinity}) to see '
          + 'the gradient anyway.',
        {drift: share, t: toUserTime(this.runnable.traced, t)},
      );
    }
  }

  /** A time by the run's clock. */
  private text(t: number): string {
    return text(toUserTime(this.runnable.traced, t));
  }

  /** In place of what an earlier pullback told. */
  private tell(): void {
    const {
      warnings,
      farthest: {share, t},
    } = this;
    const before = warnings.findIndex(warning => warning.startsWith(told));
    const place =
      share === 0
        ? 'exactly where they had been'
        : `${share.toExponential(1)} of their size away from where they had been, at t = ${this.text(t)}`;
    const sentence = `${told} ${place}.`;
    warnings.splice(before < 0 ? warnings.length : before, before < 0 ? 0 : 1, sentence);
  }
}

const told = 'backsolveAdjoint: on their way back the states came';
const text = (x: number): string => String(Number(x.toPrecision(6)));

/** The steps from..to−1 of a grid from last to first. */
function reversed(grid: Grid, from: number, to: number): Grid {
  return {
    asked: grid.asked,
    t0: -grid.time(to),
    dt: grid.dt,
    steps: to - from,
    time: n => -grid.time(to - n),
    length: n => grid.length(to - n - 1),
  };
}

/**
 * A run that goes on from a saved state has a gradient for all of it, and the continuous adjoint knows the motion's
 * part alone.
 */
function checkResumed({userBlocks, initialValues}: TracedRequest): void {
  if (initialValues.length > userBlocks.reduce((size, {shape}) => size + sizeOf(shape), 0))
    throw new OptionError(
      'bad-adjoint',
      'backsolveAdjoint: the saved state has blocks that cannot be integrated backwards. Start from its q and '
        + 'v, or y, only; or use implicitAdjoint().',
    );
}
