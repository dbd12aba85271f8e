/**
 * Inputs of a run: quantities known over time that a system's functions read among their parameters, as their values
 * at the time at which the function is asked. Masses of mechanics and compliances have no time, and so no inputs.
 */
import type * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {coversTimes, nearestName} from '../checks.js';
import {constantTensor} from '../trace/trace.js';
import type {Compliance, Constraint} from './constraint-kinds.js';
import type {Event} from './events.js';
import type {StateSpecs} from './hidden-states.js';
import type {Kinematics} from './kinematics.js';
import type {MechanicalSystem} from './mechanics.js';
import type {OdeSystem} from './ode.js';
import type {Params} from './params.js';
import type {Input} from './signal.js';

/** Inputs by the name they have in `params`; 'wind.speed' is params.wind.speed. */
export type Inputs = {readonly [name: string]: Input};

type State = {readonly t: tf.Tensor; readonly params: Params};

/** Properties that are made when they are read. */
export const ownGetters = (at: object): PropertyDescriptorMap =>
  Object.fromEntries(Object.entries(Object.getOwnPropertyDescriptors(at)).filter(([, {get}]) => get !== undefined));

/** The functions of a run with its inputs, and which of these they read. */
export class InputReads {
  private readonly read = new Set<string>();
  private readonly tree: Branch;

  /** @param time what functions find as t, where that is not the time of the run */
  constructor(
    private readonly inputs: Inputs,
    private readonly time?: number,
  ) {
    this.tree = branchesOf(inputs);
  }

  /** A system's functions, of which those that have a time get the inputs. */
  system<S extends MechanicalSystem | OdeSystem>(system: S): S;
  system(system: MechanicalSystem | OdeSystem): MechanicalSystem | OdeSystem {
    if (system.kind === 'ode') {
      const {mass, noise, delays} = system;
      return {
        ...system,
        derivative: this.of(system.derivative),
        ...(typeof mass === 'function' ? {mass: this.of(mass)} : {}),
        ...(noise === undefined ? {} : {noise: {...noise, diffusion: this.of(noise.diffusion)}}),
        ...(delays?.history === undefined ? {} : {delays: {...delays, history: this.of(delays.history)}}),
      };
    }
    const {mass, forces, constraints, states, kinematics} = system;
    return {
      ...system,
      ...(states === undefined ? {} : {states: this.states(states)}),
      ...(kinematics === undefined ? {} : {kinematics: this.kinematics(kinematics)}),
      mass:
        typeof mass === 'function'
          ? (at: {q: tf.Tensor; params: Params}) => mass({...at, params: this.refused(at.params, 'mass')})
          : mass,
      forces: forces.map(force => this.of(force)),
      constraints: constraints.map(constraint => this.constraint(constraint)),
    };
  }

  event(event: Event): Event {
    const {when, then} = event;
    return {...event, when: this.of(when), then: typeof then === 'function' ? this.of(then) : then};
  }

  /** A function of a state and its time. */
  of<At extends State, R>(f: (at: At) => R): (at: At) => R {
    return at => {
      const params = overlaid(at.params, this.tree, (name, input) => {
        this.read.add(name);
        return input.at(at.t);
      });
      // A force's lambda is made when it is read, and not copied by a spread.
      const t = this.time === undefined ? at.t : constantTensor(this.time, []);
      return f(Object.defineProperties<At>({...at, t, params}, ownGetters(at)));
    };
  }

  /** The first input that nothing read; undefined where all were. */
  unread(): OptionError | undefined {
    const name = Object.keys(this.inputs).find(one => !this.read.has(one));
    if (name === undefined) return undefined;
    const meant = nearestName(name, [...this.read]);
    return new OptionError(
      'unknown-input',
      `inputs.${name} is read by none of the system's functions, nor by observe or events`
        + `${meant === undefined ? '' : `, which read '${meant}'`}. Remove it, or read params.${name}.`,
      {name},
    );
  }

  private constraint(constraint: Constraint): Constraint {
    const {gap, compliance, contact} = constraint;
    const timeless = (coefficient: Compliance, what: string): Compliance =>
      typeof coefficient === 'function' ? params => coefficient(this.refused(params, what)) : coefficient;
    return {
      ...constraint,
      gap: this.of(gap),
      compliance: compliance === undefined ? undefined : timeless(compliance, 'compliance'),
      ...(contact === undefined
        ? {}
        : {
            contact: {
              ...contact,
              restitution: timeless(contact.restitution, 'restitution'),
              slips: contact.slips.map(({slip, friction}) => ({
                slip: this.of(slip),
                friction: timeless(friction, 'friction'),
              })),
            },
          }),
    };
  }

  private states(states: StateSpecs<Params, string>): StateSpecs<Params, string> {
    return Object.fromEntries(
      Object.entries(states).map(([name, {initial, rate}]) => [name, {initial, rate: this.of(rate)}]),
    );
  }

  private kinematics({rate, retract, project}: Kinematics): Kinematics {
    return {
      rate: this.of(rate),
      ...(retract === undefined ? {} : {retract: this.of(retract)}),
      ...(project === undefined
        ? {}
        : {project: ({q, params}) => project({q, params: this.refused(params, 'projection')})}),
    };
  }

  private refused(params: Params, what: string): Params {
    return overlaid(params, this.tree, name => {
      throw new OptionError(
        'input-in-mass',
        `The ${what} reads the input '${name}', but has no time and therefore no inputs. Only forces, kinematics, `
          + 'rates of hidden states, gaps, slips, events and observe have. Make it a parameter, or write its change as '
          + 'a force.',
        {name},
      );
    });
  }
}

interface Leaf {
  readonly name: string;
  readonly input: Input;
}

/** The inputs as a tree, by the parts of their names. */
type Branch = Map<string, Branch | Leaf>;

function branchesOf(inputs: Inputs): Branch {
  const root: Branch = new Map();
  for (const [name, input] of Object.entries(inputs)) {
    const path = name.split('.');
    let branch = root;
    for (const key of path.slice(0, -1)) {
      if (!branch.has(key)) branch.set(key, new Map());
      branch = branch.get(key) as Branch;
    }
    branch.set(path[path.length - 1], {name, input});
  }
  return root;
}

/** Parameters with inputs among them, each made where it is read. */
function overlaid(params: Params, branch: Branch, value: (name: string, input: Input) => tf.Tensor): Params {
  const of = (key: string, below: Branch | Leaf): tf.Tensor | Params =>
    below instanceof Map
      ? overlaid(key in params ? (params[key] as Params) : {}, below, value)
      : value(below.name, below.input);
  const find = (key: string | symbol): Branch | Leaf | undefined =>
    typeof key === 'string' ? branch.get(key) : undefined;
  return new Proxy(params, {
    get(target, key): unknown {
      const below = find(key);
      return below === undefined ? Reflect.get(target, key) : of(key as string, below);
    },
    has: (target, key) => find(key) !== undefined || Reflect.has(target, key),
    // Listing or spreading the parameters includes the inputs.
    ownKeys: target => [...new Set([...Reflect.ownKeys(target), ...branch.keys()])],
    getOwnPropertyDescriptor(target, key) {
      const below = find(key);
      return below === undefined
        ? Reflect.getOwnPropertyDescriptor(target, key)
        : {value: of(key as string, below), enumerable: true, configurable: true, writable: true};
    },
  });
}

/** A sentence for each input of which a run that was saved at these times asked more than is known. */
export function beyondInputs(inputs: Inputs, times: ArrayLike<number>): string[] {
  const ends = [times[0], times[times.length - 1]];
  const [from, to] = [Math.min(...ends), Math.max(...ends)];
  return Object.entries(inputs).flatMap(([name, input]) => {
    const {t} = input;
    const [first, last] = [t[0], t[t.length - 1]];
    // The last time of a grid is its sum of steps, rounded.
    const rounding = 1e-9 * (last - first);
    if (coversTimes(input, from + rounding, to - rounding)) return [];
    return [
      `inputs.${name} is known from ${first} to ${last}, but the run goes from ${from} to ${to}: `
        + 'beyond its samples the nearest one was taken.',
    ];
  });
}
