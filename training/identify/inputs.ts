/** Measured inputs of a system: among the parameters of its forces and of what is observed, as values at the present time. */
import type * as tf from '@tensorflow/tfjs';
import type {Mass, Observe, Params, System} from '../../lib/index.js';
import {OptionError} from '../../lib/index.js';
import type {Signal} from '../data/signal.js';

/** Measured inputs by name. */
export type Inputs = {readonly [name: string]: Signal};

/** A tree with one more leaf; `path` is written with dots: 'wind.speed'. */
export function withLeaf<T extends object, Leaf>(tree: T, path: string, leaf: Leaf): T {
  const [key, ...rest] = path.split('.');
  const branch = (tree as {readonly [name: string]: object | undefined})[key];
  return {...tree, [key]: rest.length === 0 ? leaf : withLeaf(branch ?? {}, rest.join('.'), leaf)};
}

function paramsAt(params: Params, inputs: Inputs, t: tf.Tensor): Params {
  return Object.entries(inputs).reduce((all, [name, input]) => withLeaf(all, name, input.at(t)), params);
}

/** The system driven by its inputs. A mass does not depend on time: reading an input there is an error that says so. */
export function driven(system: System, inputs: Inputs): System {
  if (Object.keys(inputs).length === 0) return system;
  if (system.kind === 'ode') {
    return {...system, derivative: at => system.derivative({...at, params: paramsAt(at.params, inputs, at.t)})};
  }
  return {
    ...system,
    mass: withoutInputs(system.mass, inputs),
    forces: system.forces.map(force => at => force({...at, params: paramsAt(at.params, inputs, at.t)})),
  };
}

export function observedWith(observe: Observe | undefined, inputs: Inputs): Observe | undefined {
  return observe === undefined ? undefined : at => observe({...at, params: paramsAt(at.params, inputs, at.t)});
}

function withoutInputs(mass: Mass, inputs: Inputs): Mass {
  if (typeof mass !== 'function') return mass;
  const names = new Set(Object.keys(inputs).map(path => path.split('.')[0]));
  return at => {
    const params = {...at.params};
    for (const name of names) if (!(name in params)) Object.defineProperty(params, name, {get: () => refuse(name)});
    return mass({...at, params});
  };
}

function refuse(name: string): never {
  throw new OptionError('input-in-mass', `The mass reads the input '${name}', but only forces and observe have inputs: a mass has no time. Make it a parameter, or write its change as a force.`, {name});
}
