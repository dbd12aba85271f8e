/** The part of a problem that all its records share: the system, its parameters, and how it is simulated. */
import type {OptionSchema} from '../../lib/checks.js';
import {any, callable, integrationChecks, list, object, oneOf, positive} from '../../lib/checks.js';
import type {Event, Inputs, Observe, System} from '../../lib/index.js';
import type {IntegrationOptions} from '../../lib/internal.js';
import type {NoiseModel} from './density.js';
import type {Parameters} from './parameters.js';
import type {Start, StartWithStates} from './records.js';
import type {OffGrid} from './sampling.js';

/** The options of `identify` that say what is simulated, among those of `simulate`. */
export interface Model extends IntegrationOptions {
  readonly system: System;
  /**
   * The initial state of records without their own; parts that parameters named initial.q, initial.v or
   * initial.y define may be omitted.
   */
  readonly initial?: Start | StartWithStates;
  /** Defines a record's y, if that is not the state of an ode: a function of the state, traced like a force. */
  readonly observe?: Observe;
  /**
   * Measured inputs: each is in the `params` of forces and of `observe` under its name, as its value at the current
   * time. A mass has no inputs.
   */
  readonly inputs?: Inputs;
  /**
   * The parameters, by their name in `params`: 'spring.stiffness' is params.spring.stiffness. 'initial.q' and similar
   * are the initial state.
   */
  readonly parameters: Parameters;
  /**
   * Step of the simulation, in the records' unit of time; measured times must be on its grid, see `offGrid`. With
   * `control: adaptive({...})` the first step, and there is no grid.
   */
  readonly dt: number;
  /**
   * Measured times between the steps, for uneven times: 'refuse' (default; not of adaptive steps) throws an error that
   * names a suitable dt; 'interpolate' compares with the simulation's dense output there, which has the scheme's order.
   */
  readonly offGrid?: OffGrid;
  /**
   * Zero crossings at which the state jumps, or that are recorded, as in `simulate`; derivatives include the times of
   * the jumps. A trial in which an event stops the run before the record ends is rejected.
   */
  readonly events?: readonly Event[];
  /**
   * The model of the measurement noise; default `noise.white()`. Others are in the group `noise`; or
   * a density of your own, {logDensity: (residual, params, rows) => tensor}, which gives maximum likelihood by lbfgs()
   * or adam().
   */
  readonly noise?: NoiseModel;
}

/** The options of a model, for functions that add their own. */
export const modelChecks = {
  system: any,
  initial: object,
  observe: callable,
  inputs: object,
  parameters: object,
  dt: positive,
  offGrid: oneOf('refuse', 'interpolate'),
  events: list,
  ...integrationChecks,
} satisfies OptionSchema;
