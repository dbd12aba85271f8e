/** The face of this room: a run as a tfjs operation, and its derivatives in double precision. */
import {abortSignal, object, refuseUnknownOptions, requireValue, throwIfAborted} from '../given.js';
import type {System} from '../step/formulation.js';
import type {NumericParams} from '../system/params.js';
import {finish, raise} from './finish.js';
import type {CotangentLoss, Hvp, Hvps} from './hessian.js';
import {hvpsOn} from './hessian.js';
import type {SeriesLoss} from './loss.js';
import type {Cotangent, NamedValues, Pullback, Tangent} from './named.js';
import {eventCotangent, namedGradient, packCotangent, packDirections} from './named.js';
import {taping} from './operation.js';
import type {SimulateOptions} from './options.js';
import type {Initial, Prepared} from './prepare.js';
import {prepare, refill, requireRead} from './prepare.js';
import {run} from './run.js';
import {column, pullOf, pushSeries, seriesOf} from './series.js';
import {steps} from './steps.js';
import type {Trajectory} from './trajectory.js';

export type {Cotangent, NamedValues, Pullback, Tangent} from './named.js';

/**
 * Runs a system from its initial state. States q and v (or y) have any one shape; `dt` and times are
 * in the system's unit of time. Inside tf.grad, tf.variableGrads or optimizer.minimize the result
 * carries gradients to `initial`, `params` and every captured variable, through every implicit step.
 *
 * @throws ShapeError, TraceError, OptionError, InconsistentStateError, SingularMatrixError for a model
 *   or options that cannot be run; NewtonError where a step fails (unless `throw: false`); AbortError
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
 * A loss of the saved values, its gradient, and the product of its Hessian with one direction, all in double
 * precision: forward over reverse, exact for the discrete scheme. The loss is a tensor function of the saved
 * series that gives a scalar; it is traced, and may use params and captured variables. Or it is functions
 * that give cotangents and how they change. Gradient and product are as a pullback's, with respect to the
 * initial state, params and variables. Costs about three gradients, and keeps within
 * implicitAdjoint({memory}) by taking steps again; the numbers do not depend on it.
 * @throws as `simulate`, of a failed run also where `throw` is false; OptionError 'bad-adjoint', 'bad-hvp', 'bad-loss', 'bad-tangent'
 */
simulate.hvp = (system: System, initial: Initial, options: SimulateOptions, loss: SeriesLoss | CotangentLoss, direction: Tangent): Hvp => {
  const {products, ...rest} = hvpsOn(prepare(system, initial, options), loss, [direction]);
  return {...rest, product: products[0]};
};

/** As `hvp`, along several directions in one sweep: unit directions give the Hessian's columns. */
simulate.hvps = (system: System, initial: Initial, options: SimulateOptions, loss: SeriesLoss | CotangentLoss, directions: readonly Tangent[]): Hvps =>
  hvpsOn(prepare(system, initial, options), loss, directions);

/**
 * The same simulation for many initial states and parameters, traced once: what a loop over data wants.
 * Captured variables are read anew at every call. Numbers that the system's functions take from their
 * surroundings are those of the moment of preparation; after changing one, prepare again.
 */
simulate.prepare = (system: System, initial: Initial, options: SimulateOptions): Simulation => {
  // Made once for what a loop brings, it may have parameters that this system leaves alone.
  const prepared: Prepared = {...prepare(system, initial, options), unread: undefined};
  const filled = (values: RunValues = {}): Prepared => {
    refuseUnknownOptions(values, {initial: object, params: object, signal: abortSignal}, 'a run of a prepared simulation');
    return refill(prepared, values.initial, values.params, values.signal);
  };
  return {
    run: values => runOn(filled(values)),
    vjp: values => vjpOn(filled(values)),
    jvps: (directions, values) => jvpsOn(filled(values), directions),
    hvps: (loss, directions, values) => hvpsOn(filled(values), loss, directions),
  };
};

/** The saved states of a run one after another, as they are reached: see steps.ts. */
simulate.steps = steps;

export interface Vjp {
  readonly trajectory: Trajectory;
  pullback(cotangent: Cotangent): Pullback;
}

export interface Jvps {
  readonly trajectory: Trajectory;
  readonly tangents: NamedValues[];
}

/** What may differ from one run of a prepared simulation to the next; absent, the values it was prepared with. */
export interface Values {
  readonly initial?: Initial;
  readonly params?: NumericParams;
}

/** The same of one run, with its own way to end it; absent, the signal it was prepared with. */
export interface RunValues extends Values {
  readonly signal?: AbortSignal;
}

export interface Simulation {
  run(values?: RunValues): Trajectory;
  vjp(values?: RunValues): Vjp;
  jvps(directions: readonly Tangent[], values?: RunValues): Jvps;
  hvps(loss: SeriesLoss | CotangentLoss, directions: readonly Tangent[], values?: RunValues): Hvps;
}

function runOn(prepared: Prepared): Trajectory {
  requireRead(prepared);
  return finish(prepared, run(prepared, taping(prepared) ? 'budget' : undefined), true);
}

function vjpOn(prepared: Prepared): Vjp {
  requireRead(prepared);
  const result = run(prepared, 'budget');
  const pull = pullOf(prepared, result);
  return {
    trajectory: finish(prepared, result, false),
    pullback(cotangent) {
      requireValue(cotangent, object, 'a cotangent', 'bad-cotangent');
      throwIfAborted(prepared.options.signal);
      const {events, ...saved} = cotangent;
      return namedGradient(prepared, pull(packCotangent(prepared, saved, result.times.length), events === undefined ? undefined : eventCotangent(result, events)));
    },
  };
}

function jvpsOn(prepared: Prepared, directions: readonly Tangent[]): Jvps {
  requireRead(prepared);
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
