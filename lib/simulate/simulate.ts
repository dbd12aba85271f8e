/** The face of this room: a run as a tfjs operation, and its derivatives in double precision. */
import * as tf from '@tensorflow/tfjs';
import type {Gradient} from '../adjoint/backward.js';
import type {Directions} from '../adjoint/tangent.js';
import {OptionError, ShapeError} from '../errors.js';
import type {System} from '../step/trace-step.js';
import type {Numeric} from '../system/numeric.js';
import {readNumeric} from '../system/numeric.js';
import type {NumericParams, Tree} from '../system/params.js';
import {readParams, toTree} from '../system/params.js';
import {asTensors, taping} from './operation.js';
import type {SimulateOptions} from './options.js';
import type {Initial, Prepared} from './prepare.js';
import {prepare, refill} from './prepare.js';
import type {Run} from './run.js';
import {run} from './run.js';
import {steps} from './steps.js';
import type {Trajectory} from './trajectory.js';
import {column, pullOf, pushSeries, seriesOf, seriesValues, setColumn} from './series.js';
import {trajectoryOf} from './trajectory.js';

/** Cotangents of saved values: of the same shape as the saved values, [saved, ...shape]. */
export interface Cotangent {
  readonly q?: Numeric;
  readonly v?: Numeric;
  readonly y?: Numeric;
  readonly a?: Numeric;
  readonly lambda?: Numeric;
  readonly observed?: Numeric;
  /** Of the times of the trajectory's events, one for each. */
  readonly events?: Numeric;
}

export interface Pullback {
  readonly initial: {readonly q?: Float64Array; readonly v?: Float64Array; readonly y?: Float64Array};
  /** A tree like `options.params`. */
  readonly params: Tree<Float64Array>;
  readonly variables: Map<tf.Variable, Float64Array>;
  /** Captured tensors that are not variables. */
  readonly tensors: Map<tf.Tensor, Float64Array>;
  /** Steps taken again because implicitAdjoint({memory}) did not hold them; those that backsolveAdjoint took backwards. */
  readonly recomputedSteps: number;
}

export interface Tangent {
  readonly initial?: {readonly q?: Numeric; readonly v?: Numeric; readonly y?: Numeric};
  readonly params?: NumericParams;
  /** Directions of captured variables. */
  readonly variables?: ReadonlyMap<tf.Tensor, Numeric>;
}

function raise({options}: Prepared, {error}: Run): void {
  if (error !== undefined && options.throw) throw error;
}

/** The trajectory of a run, or its error. */
function finish(prepared: Prepared, result: Run, onTape: boolean): Trajectory {
  raise(prepared, result);
  const matrix = seriesValues(prepared, result);
  return trajectoryOf(prepared, result, matrix, asTensors(prepared, onTape ? result : {...result, kept: undefined}, matrix));
}

/**
 * Runs a system from its initial state. States q and v (or y) have any one shape; `dt` and times are
 * in the system's unit of time. Inside tf.grad, tf.variableGrads or optimizer.minimize the result
 * carries gradients to `initial`, `params` and every captured variable, through every implicit step.
 *
 * @throws ShapeError, TraceError, OptionError, InconsistentStateError, SingularMatrixError for a model
 *   or options that cannot be run; NewtonError where a step fails (unless `throw: false`)
 */
export function simulate(system: System, initial: Initial, options: SimulateOptions): Trajectory {
  return runOn(prepare(system, initial, options));
}

/** The run, and the map from cotangents of its saved values to those of everything it depends on, in double precision. */
simulate.vjp = (system: System, initial: Initial, options: SimulateOptions): Vjp => vjpOn(prepare(system, initial, options));

/** The run, and the tangents of its saved values along one direction, in double precision. */
simulate.jvp = (system: System, initial: Initial, options: SimulateOptions, tangent: Tangent): {trajectory: Trajectory; tangent: NamedValues} => {
  const {trajectory, tangents} = jvpsOn(prepare(system, initial, options), [tangent]);
  return {trajectory, tangent: tangents[0]};
};

/** As `jvp`, along several directions in one sweep. */
simulate.jvps = (system: System, initial: Initial, options: SimulateOptions, directions: readonly Tangent[]): Jvps => jvpsOn(prepare(system, initial, options), directions);

/**
 * The same simulation for many initial states and parameters, traced once: what a loop over data wants.
 * Captured variables are read anew at every call. Numbers that the system's functions take from their
 * surroundings are those of the moment of preparation; after changing one, prepare again.
 */
simulate.prepare = (system: System, initial: Initial, options: SimulateOptions): Simulation => {
  const prepared = prepare(system, initial, options);
  return {
    run: ({initial: start, params} = {}) => runOn(refill(prepared, start, params)),
    vjp: ({initial: start, params} = {}) => vjpOn(refill(prepared, start, params)),
    jvps: (directions, {initial: start, params} = {}) => jvpsOn(refill(prepared, start, params), directions),
  };
};

/** The saved states of a run one after another, as they are reached: see steps.ts. */
simulate.steps = steps;

export interface Vjp {
  readonly trajectory: Trajectory;
  pullback(cotangent: Cotangent): Pullback;
}

export type NamedValues = {[name: string]: Float64Array};

export interface Jvps {
  readonly trajectory: Trajectory;
  readonly tangents: NamedValues[];
}

/** What may differ from one run of a prepared simulation to the next; absent, the values it was prepared with. */
export interface Values {
  readonly initial?: Initial;
  readonly params?: NumericParams;
}

export interface Simulation {
  run(values?: Values): Trajectory;
  vjp(values?: Values): Vjp;
  jvps(directions: readonly Tangent[], values?: Values): Jvps;
}

function runOn(prepared: Prepared): Trajectory {
  return finish(prepared, run(prepared, taping(prepared) ? 'budget' : undefined), true);
}

function vjpOn(prepared: Prepared): Vjp {
  const result = run(prepared, 'budget');
  const pull = pullOf(prepared, result);
  return {
    trajectory: finish(prepared, result, false),
    pullback: ({events, ...cotangent}) => namedGradient(prepared, pull(
      packCotangent(prepared, cotangent, result.times.length), events === undefined ? undefined : eventCotangent(result, events),
    )),
  };
}

function jvpsOn(prepared: Prepared, directions: readonly Tangent[]): Jvps {
  const packed = packDirections(prepared, directions);
  const result = run(prepared, 'steps');
  raise(prepared, result);
  const {blocks, width} = seriesOf(prepared);
  const {matrices, happened} = pushSeries(prepared, result, packed);
  // The tensors come last: nothing that could fail is left to lose them.
  const trajectory = finish(prepared, result, false);
  const times = (k: number): NamedValues => (result.events === undefined ? {} : {events: happened[k].slice()});
  return {trajectory, tangents: matrices.map((matrix, k) => ({...Object.fromEntries(blocks.map(block => [block.name, column(matrix, width, block)])), ...times(k)}))};
}

function eventCotangent({events = []}: Run, given: Numeric): Float64Array {
  const {values} = readNumeric(given, 'cotangent.events');
  if (values.length !== events.length) throw new ShapeError('cotangent-shape', `cotangent.events has ${values.length} numbers; ${events.length} events happened.`);
  return values;
}

/** A cotangent of saved values as a matrix (series.ts). */
export function packCotangent(prepared: Prepared, cotangent: Cotangent, saved: number): Float64Array {
  const {blocks, width} = seriesOf(prepared);
  const packed = new Float64Array(saved * width);
  for (const [name, value] of Object.entries(cotangent)) {
    if (value === undefined) continue;
    const block = blocks.find(candidate => candidate.name === name);
    if (block === undefined) throw new OptionError('no-series', `pullback: this run has no ${name}; it has ${blocks.map(b => b.name).join(', ')}.`, {name});
    const {values} = readNumeric(value as Numeric, `cotangent.${name}`);
    if (values.length !== saved * block.size) {
      throw new ShapeError('cotangent-shape', `cotangent.${name} has ${values.length} numbers; the saved ${name} has shape [${[saved, ...block.shape].join(', ')}], ${saved * block.size} numbers.`, {name});
    }
    setColumn(packed, width, block, values);
  }
  return packed;
}

/** A gradient under the names its parts have for the user. */
export function namedGradient({traced, leaves, given}: Prepared, {initial: flat, parameters, recomputedSteps}: Gradient): Pullback {
  const started = traced.state.blocks.filter(({offset}) => offset < given.length);
  const variables = new Map<tf.Variable, Float64Array>();
  const tensors = new Map<tf.Tensor, Float64Array>();
  traced.parameters.forEach(({tensor}, i) => {
    if (tensor instanceof tf.Variable) variables.set(tensor as tf.Variable, parameters[i]);
    else if (tensor !== undefined) tensors.set(tensor, parameters[i]);
  });
  return {
    initial: Object.fromEntries(started.map(({name, offset, size}) => [name, flat.slice(offset, offset + size)])),
    params: toTree(leaves, leaves.map((_, i) => parameters[i])),
    variables,
    tensors,
    recomputedSteps,
  };
}

function packDirections(prepared: Prepared, directions: readonly Tangent[]): Directions {
  const {given, traced, parameterValues} = prepared;
  const started = traced.state.blocks.filter(({offset}) => offset < given.length);
  const count = directions.length;
  const packedInitial = new Float64Array(count * given.length);
  const parameters = parameterValues.map(values => new Float64Array(count * values.length));
  const put = (target: Float64Array, at: number, value: Numeric, expected: number, name: string): void => {
    const {values} = readNumeric(value, `tangent.${name}`);
    if (values.length !== expected) throw new ShapeError('tangent-shape', `tangent.${name} has ${values.length} numbers where ${expected} belong.`, {name});
    target.set(values, at);
  };
  directions.forEach((direction, k) => {
    for (const [name, value] of Object.entries(direction.initial ?? {})) {
      const block = started.find(candidate => candidate.name === name);
      if (block === undefined) throw new OptionError('bad-tangent', `tangent.initial has ${name}; the initial state has ${started.map(b => b.name).join(', ')}.`, {name});
      if (value !== undefined) put(packedInitial, k * given.length + block.offset, value, block.size, `initial.${name}`);
    }
    for (const leaf of readParams(direction.params)) {
      const at = traced.parameters.findIndex(parameter => parameter.leaf?.name === leaf.name);
      if (at < 0) throw new OptionError('bad-tangent', `tangent.params.${leaf.name}: the run has no such parameter.`, {name: leaf.name});
      put(parameters[at], k * parameterValues[at].length, leaf.values, parameterValues[at].length, `params.${leaf.name}`);
    }
    for (const [tensor, value] of direction.variables ?? []) {
      const at = traced.parameters.findIndex(parameter => parameter.tensor === tensor);
      if (at < 0) throw new OptionError('bad-tangent', 'tangent.variables names a variable that the system does not use.');
      put(parameters[at], k * parameterValues[at].length, value, parameterValues[at].length, 'variables');
    }
  });
  return {count, initial: packedInitial, parameters};
}
