/** From what the user wrote to what runs: state read and checked, system traced, step compiled. */
import * as tf from '@tensorflow/tfjs';
import {chooseEngine} from '../engine/index.js';
import {OptionError, ShapeError} from '../errors.js';
import {finite, input as isInput, object, requireOwnPlaces, requireValue} from '../checks.js';
import {sameShape} from '../graph/node.js';
import {toUserTime} from '../step/time-direction.js';
import {compileStep} from '../step/compiled.js';
import type {OutputRequest} from '../step/requested-outputs.js';
import {noRedundancy} from '../step/context.js';
import type {System} from '../step/formulation.js';
import type {TracedRun, TracedStep} from '../step/traced-step.js';
import {stateBlocks} from '../step/formulation.js';
import {traceRun} from '../step/trace-step.js';
import {isContact} from '../system/constraint-kinds.js';
import type {UserBlock} from '../system/equations.js';
import {radauIIA5} from '../scheme/index.js';
import type {Inputs} from '../system/inputs.js';
import {InputReads} from '../system/inputs.js';
import type {NumericValue} from '../system/numeric.js';
import {requireFinite} from '../system/numeric.js';
import type {Leaf, NumericParams} from '../system/params.js';
import {isOfType, readParams} from '../system/params.js';
import {firstNotFinite} from '../system/places.js';
import type {PreparedAdjoint} from '../integrate/adjoints/index.js';
import {withSensitivities} from './derivatives.js';
import {absoluteTolerances} from '../integrate/control.js';
import {breakingRun, restarts} from '../integrate/history/breaks.js';
import type {Plan} from '../integrate/history/plan.js';
import {readEvents, savedCount} from '../integrate/history/plan.js';
import {isTracing} from '../trace/trace.js';
import {requireSavedMemory} from '../integrate/memory.js';
import {flatten, readInitial, stateText} from './initial.js';
import type {Initial} from './kinds.js';
import type {RunOptions, SimulateOptions, Stretch} from './options.js';
import {readOptions} from './options.js';
import {checkRunState, isRunState, readRunState} from '../integrate/run-state.js';
import type {RunContext} from '../integrate/run-context.js';
import {numbersOf} from '../read.js';

/** A run with all that its results are shown by. */
export interface PreparedRun extends RunContext {
  readonly system: System;
  readonly options: RunOptions;
  readonly adjoint: PreparedAdjoint;
  /** The user's blocks, in order: q, v and hidden states, or y. */
  readonly own: readonly UserBlock[];
  /** Their values at the start. */
  readonly initial: readonly NumericValue[];
  readonly leaves: readonly Leaf[];
  readonly milliseconds: {trace: number; compile: number};
  /** Where a parameter was given that no function read; a loss may yet read it (`hvp`). */
  readonly unread?: OptionError;
  /** This simulation over another time span; traces and compiled programs are shared. */
  readonly over: (stretch: Stretch) => PreparedRun;
  /** What drives it, by the names in `params`. */
  readonly inputs?: Inputs;
  /** What plans for other times are made of, where it was prepared for any (timed.ts). */
  readonly timed?: Pick<TracedRun, 'breaks' | 'carries' | 'switches' | 'locatesJumps'>;
}

/** A run as its options say; with a plan, though it be a plain grid; or one whose times may be others in every run. */
export type PreparedFor = 'itself' | 'a plan' | 'any times';

/** @throws ShapeError, InconsistentStateError, OptionError, TraceError */
export function prepare(
  given: System,
  initial: Initial,
  options: SimulateOptions,
  planned: PreparedFor = 'itself',
): PreparedRun {
  if (isTracing())
    throw new OptionError(
      'nested',
      'simulate cannot run inside a traced function (a force, a mass, an event): run it outside and pass its result.',
    );
  requireSystem(given);
  const {inputs, ...others} = (options as SimulateOptions | null | undefined) ?? {};
  return inputs === undefined
    ? prepareDriven(given, initial, options, planned)
    : prepareWithInputs(given, initial, inputs, others as SimulateOptions, planned);
}

/** Adds the inputs' values to the parameters of every function that has a time. */
function prepareWithInputs(
  given: System,
  initial: Initial,
  inputs: Inputs,
  options: SimulateOptions,
  planned: PreparedFor,
): PreparedRun {
  requireValue(inputs, object, 'simulate: inputs');
  for (const [name, input] of Object.entries(inputs))
    requireValue(input, isInput, `inputs.${name}`, 'not-a-signal', name);
  requireOwnPlaces([...readParams(options.params).map(({name}) => name), ...Object.keys(inputs)], 'simulate');
  const reads = new InputReads(inputs);
  const {observe, events} = options;
  const prepared = prepareDriven(
    reads.system(given),
    initial,
    {
      ...options,
      ...(observe === undefined ? {} : {observe: reads.of(observe)}),
      ...(events === undefined ? {} : {events: readEvents(events).map(event => reads.event(event))}),
    },
    planned,
  );
  const driven = (one: PreparedRun): PreparedRun => ({...one, inputs, over: stretch => driven(one.over(stretch))});
  return {...driven(prepared), unread: prepared.unread ?? reads.unread()};
}

/** Names of the switches that a run locates, such as 'sign in forces[1]'. */
export const locatedSwitches = (system: System, initial: Initial, options: SimulateOptions): readonly string[] =>
  (prepare(system, initial, options).traced.switches ?? []).map(({name}) => name);

function prepareDriven(system: System, initial: Initial, asGiven: SimulateOptions, planned: PreparedFor): PreparedRun {
  const options = withScheme(system, asGiven);
  if (typeof initial !== 'object' || initial === null)
    throw new OptionError('bad-initial', `The initial state must be ${stateText(system)}.`);
  const from = isRunState(initial) ? initial : undefined;
  if (from !== undefined) checkRunState(from);
  if (from === undefined && initial.t !== undefined && typeof initial.t !== 'number')
    requireValue(initial.t, finite, 'initial.t', 'bad-time');
  const anyTimes = planned === 'any times';
  const first = readOptions(options, initial.t ?? 0, from, planned !== 'itself');
  requirePathwise(system, first);
  requireKnownPast(system, first);
  requireReversible(system, first);
  const values = readInitial(system, initial);
  const own = stateBlocks(system).map((name, i) => ({name, shape: values[i].shape}));
  const leaves = readLeaves(first);
  first.adjoint.check?.({system, options: first});
  const engine = chooseEngine(first.engine, first.precision);
  const tracedAs = onceEach(
    (run: RunOptions): TracedRun =>
      traceRun(
        system,
        run.scheme,
        own,
        leaves,
        {
          ...run,
          dt: run.plan?.control.kind === 'adaptive' ? undefined : run.grid.dt,
          adaptiveSteps: run.plan?.control.kind === 'adaptive',
          restartsAtJumps: run.plan !== undefined && restarts(run.plan),
          backwards: run.grid.backwards,
        },
        options.observe,
        alongOf(run, anyTimes),
      ),
    run => asksOf(run, anyTimes),
  );
  const compiledOf = onceEach(
    ({start, step}: TracedRun) => ({
      compiled: compileStep(step, engine),
      first: {traced: start, compiled: compileStep(start, engine)},
    }),
    run => run,
  );
  const along = (asked: RunOptions, readAs: (isPlanned: boolean) => RunOptions): PreparedRun => {
    const begin = performance.now();
    const withBreaks = breakingRun(asked, readAs, tracedAs, from !== undefined, anyTimes);
    const {run} = withBreaks;
    const traced = run.step;
    const read = {...withBreaks.read, plan: withTolerances(withBreaks.read.plan, own, system)};
    read.adjoint.check?.({system, options: read});
    const traceTime = performance.now() - begin;
    if (planned === 'itself')
      requireSavedMemory(savedCount(read), traced.state.size + (traced.functions.observed?.size ?? 0));
    const given = from === undefined ? flatten(values) : readRunState(from, traced);
    const adjoint = withToleranceForTangents(
      read.adjoint.prepare({
        system,
        options: read,
        userBlocks: own,
        leaves,
        traced,
        engine,
        initialValues: given,
      }),
      read,
    );
    const compileBegin = performance.now();
    const {compiled, first: start} = compiledOf(run);
    const compileTime = performance.now() - compileBegin;
    compiled.compileTime = 0;
    start.compiled.compileTime = 0;
    return {
      system,
      options: {...read, freshJacobians: adjoint.freshJacobians},
      adjoint,
      engine,
      traced,
      compiled,
      start,
      redundancy: noRedundancy,
      own,
      initial: values,
      leaves,
      parameterValues: readParameters(traced, leaves),
      initialValues: given,
      resumed: from !== undefined,
      // Named here: a spread that adds a property to so many takes V8 5 µs, one that changes some 0.3.
      storage: undefined,
      coordinates: values[0].values.length,
      t0: read.grid.t0,
      h0: read.grid.length(0),
      linear: read.newton.linear,
      milliseconds: {trace: traceTime, compile: compileTime},
      unread: run.unread,
      timed: anyTimes ? run : undefined,
      over({t0, ...span}) {
        if (from !== undefined)
          throw new OptionError(
            'bad-initial',
            'A simulation prepared from a saved state continues from the time of that state and cannot run '
              + 'over another interval: prepare another one.',
          );
        const again = (isPlanned: boolean): RunOptions => ({
          ...readOptions(
            {...options, steps: undefined, t1: undefined, ...span} as SimulateOptions,
            t0,
            undefined,
            isPlanned,
          ),
          newton: first.newton,
        });
        return along(again(planned !== 'itself'), again);
      },
    };
  };
  return along(first, isPlanned => readOptions(options, initial.t ?? 0, from, isPlanned));
}

/** M y' = f is none for the default of the others. */
const withScheme = (system: System, options: SimulateOptions): SimulateOptions =>
  system.kind === 'ode' && system.mass !== undefined && options?.scheme === undefined
    ? {...options, scheme: radauIIA5()}
    : options;

/** A function of few different keys, each evaluated once. */
function onceEach<T, R>(f: (x: T) => R, keyOf: (x: T) => unknown): (x: T) => R {
  const made = new Map<unknown, R>();
  return x => {
    const key = keyOf(x);
    if (!made.has(key)) made.set(key, f(x));
    return made.get(key) as R;
  };
}

/** @throws OptionError 'bad-control', 'bad-newton', 'not-reversible' or 'bad-event' where a dde is not integrated so */
function requireKnownPast(system: System, {plan, grid, events, newton}: RunOptions): void {
  if (system.kind !== 'ode' || system.delays === undefined) return;
  if (plan?.control.kind === 'adaptive')
    throw new OptionError(
      'bad-control',
      'A dde takes steps of constant length, divided at its breaking points: omit control, and compare runs '
        + 'with several dt.',
    );
  if (newton.onFailure === 'halve')
    throw new OptionError(
      'bad-newton',
      'newton: a dde takes steps of constant length, and halved ones would shorten the past that it keeps: '
        + "omit onFailure: 'halve', and use a smaller dt.",
      {option: 'onFailure'},
    );
  if (grid.backwards === true)
    throw new OptionError(
      'not-reversible',
      'dt is negative, but a dde cannot be integrated backwards in time: its state does not determine its '
        + 'past. Give a positive dt.',
    );
  const index = events.findIndex(({then}) => typeof then === 'function');
  if (index >= 0)
    throw new OptionError(
      'bad-event',
      `events[${index}] changes the state, which a dde does not support, because each delay would repeat the `
        + `jump as a breaking point: use then: 'record' or 'stop'.`,
      {index},
    );
}

/**
 * Steps chosen by what the path does ahead converge with schemes of strong order 1 at least (Gaines & Lyons, Variable
 * step size control in the numerical solution of stochastic differential equations, 1997).
 * @throws OptionError 'bad-control' where the steps of an sde are adaptive and the scheme is of less
 */
function requirePathwise(system: System, {plan, scheme}: RunOptions): void {
  if (system.kind !== 'ode' || system.noise === undefined || plan?.control.kind !== 'adaptive') return;
  if (scheme.order < 1 && system.noise.kind !== 'additive')
    throw new OptionError(
      'bad-control',
      `Adaptive steps of ${scheme.name} need not converge if the noise depends on y: use a scheme of strong `
        + 'order 1 or more, such as stochastic.milstein() or stochastic.sri1(), or steps of constant length.',
      {scheme: scheme.name},
    );
}

/** @throws OptionError 'not-reversible' where time cannot run backwards */
function requireReversible(system: System, {grid}: RunOptions): void {
  if (grid.backwards !== true) return;
  if (system.kind === 'ode' && system.noise !== undefined)
    throw new OptionError(
      'not-reversible',
      'dt is negative, but an sde cannot be integrated backwards in time: its noise is independent only of the '
        + 'past. Give a positive dt.',
    );
  const index = system.kind === 'mechanics' ? system.constraints.findIndex(isContact) : -1;
  if (index >= 0)
    throw new OptionError(
      'not-reversible',
      `dt is negative, but constraints[${index}] cannot be integrated backwards in time: a body that has `
        + 'landed or stuck does not determine where it came from. Give the constraint a compliance, or use a '
        + 'positive dt.',
      {constraint: index},
    );
}

/** @throws OptionError 'unknown-parameter' */
export function requireRead<P extends PreparedRun>(prepared: P): P {
  if (prepared.unread !== undefined) throw prepared.unread;
  return prepared;
}

/** A plan of adaptive steps with its tolerances in the shape of the state. */
function withTolerances(plan: Plan | undefined, own: readonly UserBlock[], system: System): Plan | undefined {
  if (plan?.control.kind !== 'adaptive') return plan;
  const noisy = system.kind === 'ode' && system.noise !== undefined;
  return {...plan, absolute: absoluteTolerances(plan.control, own), ...(noisy ? {revisits: true} : {})};
}

/**
 * In which of its ways a step is traced: stretches of time differ by whether they save between steps and meet jumps.
 */
function asksOf(run: RunOptions, anyTimes: boolean): string {
  const along = alongOf(run, anyTimes);
  return along === undefined ? '' : `${along.dense}, ${along.restarts}`;
}

/** What the run asks of its steps beside their updates. */
function alongOf({plan, events}: RunOptions, anyTimes: boolean): OutputRequest | undefined {
  if (plan === undefined) return undefined;
  return {
    error: plan.control.kind === 'adaptive',
    dense: anyTimes || plan.saving.kind === 'times' || events.length > 0,
    events,
    restarts: restarts(plan),
    slope: plan.control.first === 'auto',
  };
}

/**
 * Replaces the numbers of a simulation: a new initial state, new params, captured variables read anew or as given.
 * Nothing is traced again.
 * @throws ShapeError where a shape or the tree of params is not what was traced
 */
export function refill(
  prepared: PreparedRun,
  initial: Initial | undefined,
  params: NumericParams | undefined,
  signal?: AbortSignal,
  variables?: ReadonlyMap<tf.Variable, Float64Array>,
): PreparedRun {
  const {traced} = prepared;
  prepared.compiled.compileTime = 0;
  prepared.start.compiled.compileTime = 0;
  const read = readNumbers(prepared, initial, params);
  const {leaves} = read;
  // By name: to spread a second object, or one without a part of it, takes V8 microseconds, and what follows is slower
  // too.
  return {
    ...prepared,
    initial: read.initial,
    initialValues: read.initialValues,
    options: signal === undefined ? prepared.options : {...prepared.options, signal},
    leaves,
    parameterValues: readParameters(traced, leaves, variables),
    milliseconds: {trace: 0, compile: 0},
  };
}

/** Adaptive runs have tolerances for their tangents where that is asked for; those for tangents by default. */
function withToleranceForTangents(adjoint: PreparedAdjoint, {plan}: RunOptions): PreparedAdjoint {
  if (plan?.control.kind !== 'adaptive') return adjoint;
  return (plan.control.sensitivities ?? adjoint.takesTangents === true) ? withSensitivities(adjoint) : adjoint;
}

/** Replaces start and params; captured variables keep their values. */
export function refillMember(
  prepared: PreparedRun,
  initial: Initial | undefined,
  params: NumericParams | undefined,
): PreparedRun {
  const read = readNumbers(prepared, initial, params);
  const {leaves} = read;
  const {parameterValues} = prepared;
  return {
    ...prepared,
    initial: read.initial,
    initialValues: read.initialValues,
    leaves,
    parameterValues:
      params === undefined
        ? parameterValues
        : [...leaves.map(({values}) => values), ...parameterValues.slice(leaves.length)],
  };
}

/** The numbers of a start and of params, in the shapes that were traced. */
export function readNumbers(
  prepared: PreparedRun,
  initial: Initial | undefined,
  params: NumericParams | undefined,
): Pick<PreparedRun, 'initial' | 'leaves' | 'initialValues'> {
  const {system, own, traced} = prepared;
  if (initial !== undefined && isRunState(initial) !== (prepared.resumed === true)) {
    throw new OptionError(
      'bad-initial',
      'A simulation prepared from a saved state starts only from saved states, and one prepared from an '
        + 'ordinary state only from those: prepare another one.',
    );
  }
  if (initial !== undefined && isRunState(initial)) checkRunState(initial);
  const values = initial === undefined ? prepared.initial : readInitial(system, initial);
  const other = own.findIndex(({shape}, i) => !sameShape(values[i].shape, shape));
  if (other >= 0) {
    const {name, shape} = own[other];
    throw new ShapeError(
      'initial-shape',
      `This simulation was prepared for ${other === 0 ? '' : `${name} of `}shape [${shape.join(', ')}], not `
        + `[${values[other].shape.join(', ')}]: prepare another one.`,
    );
  }
  const leaves = params === undefined ? prepared.leaves : readLeaves({params});
  const same =
    leaves.length === prepared.leaves.length
    && leaves.every(
      (leaf, i) =>
        leaf.name === prepared.leaves[i].name
        && sameShape(leaf.shape, prepared.leaves[i].shape)
        && isOfType(leaf, prepared.leaves[i].dtype),
    );
  if (!same) {
    throw new ShapeError(
      'params-shape',
      `This simulation was prepared for params ${prepared.leaves.map(describeLeaf).join(', ')}, not `
        + `${leaves.map(describeLeaf).join(', ')}: prepare another one.`,
    );
  }
  const t0 = toUserTime(traced, prepared.t0);
  if (initial?.t !== undefined && initial.t !== t0 && prepared.timed === undefined) {
    throw new OptionError(
      'bad-time',
      `This simulation was prepared to start at t = ${t0}, not ${initial.t}: take over({t0: ${initial.t}, …}), `
        + 'or prepare another one.',
      {t: initial.t},
    );
  }
  return {
    initial: values,
    leaves,
    initialValues:
      initial === undefined
        ? prepared.initialValues
        : isRunState(initial)
          ? readRunState(initial, traced)
          : flatten(values),
  };
}

const describeLeaf = ({name, shape, dtype}: Leaf): string =>
  `${name} [${shape.join(', ')}]${dtype === undefined ? '' : ` of ${dtype}`}`;

function readLeaves({params}: {readonly params: NumericParams}): Leaf[] {
  const leaves = readParams(params);
  for (const leaf of leaves) requireFinite(`params.${leaf.name}`, leaf);
  return leaves;
}

/** Leaves come first among a step's parameters, in their order; captured tensors follow. */
export function readParameters(
  traced: TracedStep,
  leaves: readonly Leaf[],
  variables?: ReadonlyMap<tf.Variable, Float64Array>,
): Float64Array[] {
  return traced.parameters.map(({tensor}, i) =>
    tensor === undefined ? leaves[i].values : readCaptured(tensor, variables),
  );
}

/**
 * The numbers of what a function captures: those given for a variable, else those that tfjs holds.
 * @throws OptionError 'disposed-tensor'; ShapeError; InconsistentStateError 'not-finite'
 */
export function readCaptured(tensor: tf.Tensor, variables?: ReadonlyMap<tf.Variable, Float64Array>): Float64Array {
  const given = variables?.get(tensor as tf.Variable);
  if (given !== undefined && given.length !== tensor.size)
    throw new ShapeError(
      'variable-shape',
      `${nameOfCaptured(tensor)} of shape [${tensor.shape.join(', ')}] is given ${given.length} numbers.`,
    );
  if (given === undefined && tensor.isDisposed)
    throw new OptionError(
      'disposed-tensor',
      `${nameOfCaptured(tensor)} (shape [${tensor.shape.join(', ')}]) of a traced function was disposed after `
        + 'tracing, but every run reads it. Keep it (tf.keep) as long as the system is used, or create the system '
        + 'again. If it is the state of a recurrent layer with stateful: true, a run cannot carry that: build the '
        + 'layer with stateful: false, and make its memory a state of the system (ode({derivative, …}) or a hidden '
        + 'state).',
    );
  const values = given ?? numbersOf(tensor);
  if (firstNotFinite(values) >= 0) requireFinite(nameOfCaptured(tensor), {values, shape: tensor.shape});
  return values;
}

function nameOfCaptured(tensor: tf.Tensor): string {
  return tensor instanceof tf.Variable ? `The captured variable ${tensor.name}` : 'A captured tensor';
}

function requireSystem(system: System): void {
  const kind: unknown = (system as System | null | undefined)?.kind;
  if (kind !== 'mechanics' && kind !== 'ode')
    throw new OptionError(
      'bad-system',
      'The system must come from mechanics({mass, forces}), ode(derivative), sde({drift, diffusion}) or '
        + 'dde({derivative, delays}).',
    );
}
