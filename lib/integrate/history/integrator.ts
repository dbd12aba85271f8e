/**
 * Advances the state of a run that is not a grid of steps: steps, jumps, and the values between steps.
 * The time loop uses it, and a gradient with checkpoints recomputes transitions with it.
 */
import type {StepHistory} from '../../adjoint/step-history.js';
import {historyForward} from '../../adjoint/timed-pull.js';
import type {StepRecord} from '../../adjoint/record.js';
import {isOp, type Node} from '../../graph/node.js';
import type {StepExecutable} from '../../step/buffers.js';
import {loadParameters} from '../../step/context.js';
import type {HistoryProgram} from '../../step/history-programs.js';
import type {RunContext} from '../run-context.js';
import {startRun} from '../start.js';
import type {Counters, Status} from '../counters.js';
import {Stepper} from '../stepper.js';
import {Modes, type BordersAtStart, type ModeReader} from './modes.js';
import {SwitchTimes} from './switch-times.js';
import {jumpOf, type TracedStep} from '../../step/traced-step.js';
import type {DenseOutput, SavedStep} from './saver.js';

/** A step that was taken: its ends, and the unknown that made it. */
export interface CompletedStep extends SavedStep {
  readonly z?: Float64Array;
  /** What it left for its dense output. */
  readonly inside?: Float64Array;
  /** No event can happen in it, by the sides of zero that their functions began it on. */
  readonly isIdle: boolean;
}

/** Functions of events at a state, and their rates along the motion. */
interface EventValues {
  readonly e: Float64Array;
  readonly rates: Float64Array;
}

/** What dense output and events read, and the programs that do. */
const bufferNames = ['x', 'z', 'next', 't', 'h', 'theta', 'inside'] as const;
const programNames = ['between', 'dense', 'watch', 'events', 'outcomes'] as const;

interface Interpolation {
  readonly executable: StepExecutable<HistoryProgram>;
  readonly buffers: {readonly [name in (typeof bufferNames)[number]]?: Float64Array};
  readonly programs: {readonly [name in (typeof programNames)[number]]?: () => void};
}

/** Interpolation of each executable, made once. */
const interpolations = new WeakMap<StepExecutable<HistoryProgram>, Interpolation>();

function interpolationOf(executable: StepExecutable<HistoryProgram>): Interpolation {
  let along = interpolations.get(executable);
  if (along === undefined) {
    along = {
      executable,
      buffers: Object.fromEntries(bufferNames.map(name => [name, executable.optionalBuffer(name)])),
      programs: Object.fromEntries(
        programNames.map(name => [name, executable.has(name) ? executable.program(name) : undefined]),
      ),
    };
    interpolations.set(executable, along);
  }
  return along;
}

/** Functions of events at a place of a step's dense output, and their derivatives by θ. */
interface DenseEvents {
  theta: number;
  readonly g: Float64Array;
  readonly dg: Float64Array;
}

/** Whether a start has no equations, and puts the pieces of what is given together as they were. */
function isAsGiven({functions: {residual, update}, inputs: {x}}: TracedStep): boolean {
  const piecesOf = (node: Node): Node[] =>
    isOp(node, 'concat') || isOp(node, 'reshape') ? node.operands.flatMap(piecesOf) : [node];
  if (residual !== undefined || update.size !== x.size) return false;
  let offset = 0;
  return piecesOf(update).every(piece => {
    if (piece === x) return true;
    if (!isOp(piece, 'slice') || piece.operands[0] !== x || piece.attributes.strides[0] !== 1) return false;
    const isNext = piece.attributes.begin[0] === offset;
    offset += piece.size;
    return isNext;
  });
}

/** Parameters are varied by this share to see what they change. */
const variation = 1e-5;

/** The ends, the middle, and a place between. */
const lookedPlaces = 4;

export class Integrator implements DenseOutput<CompletedStep> {
  readonly state: Float64Array;
  /** The step that began the run. */
  start: StepRecord;
  /**
   * What the present start was made of, until the run goes on from it: the user's blocks, and whether a jump made them.
   */
  private begun: {readonly given: Float64Array; readonly jumped: boolean} | undefined;
  readonly stepper: Stepper;
  private cachedInterpolation: Interpolation | undefined;
  private readonly passing: boolean;
  private readonly ownSize: number;
  /** Places of the step that is loaded at which its events were looked at. */
  private readonly looked: DenseEvents[] = [];
  /** The modes of switches, where the run has any. */
  readonly modes: Modes | undefined;
  /** When they change whatever the state is. */
  readonly switchTimes: SwitchTimes | undefined;
  /** A start is the user's blocks as they are given: a step from them needs nothing else. */
  readonly startsAsGiven: boolean;
  /** Borders of switches that the run starts on. */
  bordersAtStart: BordersAtStart = {sliding: [], released: [], left: [], eitherWay: []};
  /** The run goes on from a saved state whose modes are not those of the sides that it is on. */
  readonly startsInOtherModes: boolean = false;

  /** @param repeatable no step depends on those before it but through the state */
  constructor(
    private readonly prepared: RunContext,
    readonly counters: Counters,
    repeatable: boolean,
  ) {
    this.ownSize = prepared.start.traced.inputs.x.size;
    this.startsAsGiven = isAsGiven(prepared.start.traced);
    const given = prepared.resumed === true ? prepared.initialValues : this.givenStart();
    const {x, record} = startRun(
      given === prepared.initialValues ? prepared : {...prepared, initialValues: given},
      counters,
    );
    this.start = record;
    this.begun = prepared.resumed === true ? undefined : {given, jumped: false};
    this.stepper = new Stepper(prepared, x, false, repeatable, counters);
    this.stepper.differentiated = repeatable;
    this.state = this.stepper.state;
    this.passing = prepared.storage === 'layers' && prepared.options.plan?.events.length === 0;
    const held = this.modesOf(this.state);
    this.modes = held?.modes;
    this.switchTimes = held?.times;
    if (prepared.resumed === true && this.modes !== undefined) {
      this.bordersAtStart = this.modes.start(prepared.t0, true);
      this.startsInOtherModes = this.state.some((value, i) => value !== given[i]);
    }
  }

  /** The user's blocks at the start, and the modes of switches that belong to them. */
  private givenStart(): Float64Array {
    const {traced, initialValues, t0} = this.prepared;
    const whole = new Float64Array(traced.state.size);
    const modes = this.modesOf(whole)?.modes;
    if (modes === undefined) return initialValues;
    whole.set(initialValues);
    this.bordersAtStart = modes.start(t0);
    return this.own(whole);
  }

  private modesOf(state: Float64Array): {readonly modes: Modes; readonly times: SwitchTimes} | undefined {
    const {
      traced,
      traced: {switches},
      options: {plan},
      t0,
    } = this.prepared;
    if (switches === undefined || plan === undefined) return undefined;
    const reader: ModeReader = {
      state,
      events: (x, t) => this.events(x, t),
      outcomes: (x, t) => this.outcomes(x, t),
    };
    const first = plan.events.length;
    const modes = new Modes(traced, reader, switches, first);
    return {modes, times: new SwitchTimes(modes, reader, switches, first, t0, plan.end)};
  }

  /**
   * Compiled and loaded for the first state that is looked at between or beside steps: blocks of steps have programs of
   * their own.
   */
  private get along(): Interpolation {
    if (this.cachedInterpolation === undefined) {
      const executable = historyForward(this.prepared);
      loadParameters(executable, this.prepared);
      this.cachedInterpolation = interpolationOf(executable);
    }
    return this.cachedInterpolation;
  }

  /** The user's blocks of a state. */
  own(x: Float64Array): Float64Array {
    return x.slice(0, this.ownSize);
  }

  /** A step from x; the state is its end where it succeeds. */
  take(x: Float64Array, t: number, h: number): Status {
    this.state.set(x);
    return this.stepper.attempt(t, h);
  }

  /**
   * The step last taken, from x. What an explicit one keeps beside its state is much, and stands in `z` only until the
   * next one is taken, where there are no events.
   */
  completedStep(x: Float64Array, t: number, h: number, end: number): CompletedStep {
    const {stepper, passing, state} = this;
    const z = passing ? stepper.z : stepper.z?.slice();
    return {t, h, end, x, z, inside: stepper.interpolant?.slice(), isIdle: stepper.isIdle, next: state.slice()};
  }

  /** Loads a step for dense output. */
  load({t, h, x, z, inside, next}: CompletedStep): void {
    const {buffers, programs} = this.along;
    for (const one of this.looked) one.theta = NaN;
    buffers.x?.set(x);
    if (z !== undefined) buffers.z?.set(z);
    buffers.next?.set(next);
    buffers.t?.fill(t);
    buffers.h?.fill(h);
    if (inside !== undefined) buffers.inside?.set(inside);
    programs.between?.();
  }

  /** The state at θ of the step that is loaded; the executable's own buffer. */
  stateAt(theta: number): Float64Array {
    const {executable, buffers, programs} = this.along;
    buffers.theta?.fill(theta);
    programs.dense?.();
    return executable.buffer('D');
  }

  /**
   * The events' functions at θ of the step that is loaded, and their derivatives by θ, which stay until it has been
   * asked for other places: each event asks for the same ends and middle.
   */
  eventsOnDense(theta: number): DenseEvents {
    const {executable, buffers, programs} = this.along;
    const known = this.looked.find(one => one.theta === theta);
    if (known !== undefined) return known;
    buffers.theta?.fill(theta);
    programs.watch?.();
    const [g, dg] = [executable.buffer('g'), executable.buffer('dg')];
    const place = this.looked.length < lookedPlaces ? undefined : this.looked.shift();
    const here = place ?? {theta, g: new Float64Array(g.length), dg: new Float64Array(g.length)};
    here.theta = theta;
    here.g.set(g);
    here.dg.set(dg);
    this.looked.push(here);
    return here;
  }

  /** The events' functions of a state, and how they change along the motion from there. */
  events(x: Float64Array, t: number): EventValues {
    const {executable, buffers, programs} = this.along;
    buffers.x?.set(x);
    buffers.t?.fill(t);
    programs.events?.();
    return {e: executable.buffer('e').slice(), rates: executable.buffer('rates').slice()};
  }

  /** Whether an event's function changes here if the parameters do. */
  changesWithParameters(event: number, x: Float64Array, t: number): boolean {
    const {prepared, along} = this;
    const {e, rates} = this.events(x, t);
    const parameterValues = prepared.parameterValues.map((values, k) =>
      values.map((p, i) => p + variation * (1 + Math.abs(p)) * (1 + ((k + i) % 7) / 7)),
    );
    loadParameters(along.executable, {...prepared, parameterValues});
    const varied = this.events(x, t).e[event];
    loadParameters(along.executable, prepared);
    // A time that moves by rounding alone stays.
    return Math.abs(varied - e[event]) > variation ** 2 * Math.abs(rates[event]);
  }

  /** The modes that the borders of switches have at a state; the executable's own buffer. */
  private outcomes(x: Float64Array, t: number): Float64Array {
    const {executable, buffers, programs} = this.along;
    buffers.x?.set(x);
    buffers.t?.fill(t);
    programs.outcomes?.();
    return executable.buffer('outcomes');
  }

  /** The derivative of a state, where it is traced; the executable's own buffer. */
  slope(x: Float64Array, t: number): Float64Array {
    const {executable, buffers} = this.along;
    buffers.x?.set(x);
    buffers.t?.fill(t);
    executable.run('slope');
    return executable.buffer('slope');
  }

  /**
   * The state after an event's jump: the user's blocks, and what the scheme carries made from them anew.
   * @param modes of switches after it; default: those that fit the state
   */
  jump(event: number, t: number, h: number, checked = true, modes?: Float64Array): void {
    const {prepared, state} = this;
    const {executable, buffers} = this.along;
    buffers.x?.set(state);
    buffers.t?.fill(t);
    executable.run(`jump.${jumpOf(prepared.traced, event)}`);
    const before = this.own(state);
    const given = executable.buffer('given').slice();
    if (modes === undefined && this.modes !== undefined) {
      state.set(given);
      this.modes.settle(t, new Set());
      given.set(this.own(state));
    } else if (modes !== undefined) given.set(modes, given.length - modes.length);
    state.set(startRun({...prepared, initialValues: given, t0: t, h0: h}, this.counters, checked ? before : 'taken').x);
    this.begun = {given, jumped: true};
  }

  /** A step has been taken from the start. */
  left(): void {
    this.begun = undefined;
  }

  /**
   * The start made anew for a first step of length h, where it is the present state and depends on that: as a new
   * array, and whether a jump made it.
   */
  startAgain(t: number, h: number): {readonly x: Float64Array; readonly jumped: boolean} | undefined {
    const {begun, prepared} = this;
    if (begun === undefined || prepared.start.traced.usesTrialStep !== true) return undefined;
    const {x, record} = startRun(
      {...prepared, initialValues: begun.given, t0: t, h0: h},
      this.counters,
      begun.jumped ? 'taken' : undefined,
    );
    if (!begun.jumped) this.start = record;
    return {x, jumped: begun.jumped};
  }

  /** Goes to the state that transition n of a step history begins with, from the end of the one before. */
  beginAgain(history: StepHistory, n: number): void {
    const modes = history.jumps.has(n) ? undefined : history.modes.get(n);
    if (modes !== undefined) this.modes?.values.set(modes);
  }

  /** Takes transition n of a step history again. */
  recompute(history: StepHistory, n: number): Status {
    const [t, h] = [history.t[n], history.h[n]];
    const moment = history.jumps.get(n);
    if (moment === undefined) return this.stepper.attempt(t, h);
    this.jump(history.eventTimes[moment], t, h, false, history.modes.get(n));
    return 'completed';
  }
}

/** The start of a run from another state: what follows a jump that was made before. */
export function restart(
  prepared: RunContext,
  counters: Counters,
): (given: Float64Array, t: number, h: number) => {x: Float64Array; record: StepRecord} {
  return (given, t, h) => startRun({...prepared, initialValues: given, t0: t, h0: h}, counters, 'taken');
}
