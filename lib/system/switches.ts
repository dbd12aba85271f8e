/**
 * Switches of a system's functions (graph/switches.ts): while a step is traced, comparisons of a user's function that
 * make it jump are replaced by modes, which are a part of the state. A first trace finds them; what has none is not
 * traced again.
 */
import * as tf from '@tensorflow/tfjs';
import {concat, input, lastNode, slice} from '../graph/build.js';
import {topological, type Node} from '../graph/node.js';
import {
  coursesOf,
  holdSwitches,
  jumpingCandidates,
  jumpsWithoutBorder,
  slidingMode,
  switchCandidates,
} from '../graph/switches.js';
import type {Course, HeldProgram} from '../graph/switches.js';
import {replaceNodes} from '../graph/replace-nodes.js';
import {requireSession, type Session} from '../trace/session.js';
import {constantTensor, nodeOf, tensorOf, tracedLifts} from '../trace/trace.js';
import {atStage, isKnownTime, withoutBreaks} from './breaks.js';
import type {Blocks} from './equations.js';

/** A border function: event i of a run's switches is entry i of all borders. */
export interface SwitchEvent {
  /** The mode that it changes. */
  readonly mode: number;
  /**
   * A comparison's mode is 1 above and 0 below; a whole number falls by one below its lower border, or rises. A motion
   * along a border leaves it below or above.
   */
  readonly change: 'side' | 'falls' | 'rises' | 'leaves below' | 'leaves above';
  /** What it is and where, for messages: 'less in derivative'. */
  readonly name: string;
  readonly course: Course;
}

/** The switches of one function, as a trace found them. */
interface FunctionSwitches {
  /** Which of its candidates jump, in their order. */
  readonly jumps: readonly boolean[];
  /** Its modes among all. */
  readonly offset: number;
  readonly size: number;
}

/** The switches of a system. */
export class SystemSwitches {
  readonly functions = new Map<string, FunctionSwitches>();
  /** Functions that were looked at. */
  readonly looked = new Set<string>();
  readonly events: SwitchEvent[] = [];
  /** Jumps that are not located, as 'argMax in derivative'. */
  readonly unlocated: string[] = [];
  /** Modes in all. */
  size = 0;
  /** Motion along borders that it is pushed to from both sides is a part of the equations. */
  slides = false;

  /** Modes of comparisons that read the state, in their order. */
  get comparisons(): number[] {
    return this.sides.map(({mode}) => mode);
  }

  private get sides(): SwitchEvent[] {
    return this.events.filter(({change, course}) => change === 'side' && course.state);
  }

  /** Adds motion along the borders of comparisons. */
  slide(): void {
    this.slides = true;
    const {sides} = this;
    for (const change of ['leaves below', 'leaves above'] as const)
      for (const {mode, name, course} of sides) this.events.push({mode, change, name, course});
  }

  add(term: string, found: readonly boolean[], {switches, size}: HeldProgram, courses: readonly Course[]): void {
    const offset = this.size;
    this.functions.set(term, {jumps: found, offset, size});
    this.size += size;
    switches.forEach(({kind, name, offset: from, size: count, borders}, number) =>
      borders.forEach((_, border) => {
        for (let i = 0; i < count; i++)
          this.events.push({
            mode: offset + from + i,
            change: kind === 'comparison' ? 'side' : border === 0 ? 'falls' : 'rises',
            name: `${name} in ${term}`,
            course: courses[number],
          });
      }),
    );
  }
}

/** A function in one trace: its program over stand-ins for what it is called with. */
interface TracedFunction {
  readonly stands: ReadonlyMap<string, Node<'input'>>;
  readonly modes: Node<'input'>;
  readonly program: HeldProgram;
}

/** The modes that functions are evaluated with. */
interface Modes {
  readonly modes: tf.Tensor;
  readonly shares: tf.Tensor | undefined;
}

/** What calls of users' functions do in a trace: look for switches, or hold them. */
export class SwitchScope {
  /** Functions by the trace that they are called in: traces nest, and each has nodes of its own. */
  private readonly traced = new WeakMap<Session, Map<string, TracedFunction>>();
  private readonly callers = new Map<string, {readonly at: object; readonly f: (at: never) => unknown}>();
  /** The shares of outcomes above borders at a place, as its equations have them; see sliding.ts. */
  sharesAt: ((x: Blocks, t: tf.Tensor) => tf.Tensor) | undefined;
  /** In place of the modes. */
  private other: Modes | undefined;
  private readonly exemptNodes: [after: number, last: number][] = [];

  /**
   * @param known values that inputs of the trace have
   * @param modes [size] where switches are held; undefined where they are looked for
   */
  constructor(
    readonly switches: SystemSwitches,
    private readonly known: (node: Node<'input'>) => Float64Array | undefined,
    private readonly modes?: tf.Tensor,
  ) {}

  /** Nodes that are made after one of these numbers, up to another, are no switches. */
  exempt(after: number, last: number): void {
    if (last > after) this.exemptNodes.push([after, last]);
  }

  private candidates(value: Node, inputs: Iterable<Node>): Node[] {
    return switchCandidates([value], new Set(inputs), this.isExempt);
  }

  private readonly isExempt = ({notes: {id}}: Node): boolean =>
    this.exemptNodes.some(([after, last]) => id > after && id <= last);

  /** Calls a user's function at a place. */
  call<A extends object>(term: string, at: A, f: (at: A) => unknown): unknown {
    if (this.modes === undefined) {
      const value = f(at);
      if (!this.switches.looked.has(term) && value instanceof tf.Tensor)
        this.look(term, at, f, nodeOf(value as tf.Tensor));
      return value;
    }
    const held = this.held(term, at, f);
    return held === undefined ? f(at) : tensorOf(this.value(term, held, at));
  }

  /** Whether there are switches that a motion may slide along. */
  get slides(): boolean {
    return this.modes !== undefined && this.switches.slides;
  }

  /**
   * Calls f with other modes.
   * @param shares [comparisons] of the outcome above each border that a motion slides along, zero elsewhere
   */
  withModes<T>(modes: tf.Tensor, shares: tf.Tensor | undefined, f: () => T): T {
    const before = this.other;
    this.other = {modes, shares};
    try {
      return f();
    } finally {
      this.other = before;
    }
  }

  /** Which comparisons a motion slides along, [comparisons] of 0 and 1; and the modes with their outcomes below. */
  get sliding(): {readonly marks: tf.Tensor; readonly below: tf.Tensor} {
    const modes = this.modes as tf.Tensor;
    const is = tf.cast(tf.equal(modes, constantTensor(slidingMode, [])), 'float32');
    return {marks: tf.gather(is, this.switches.comparisons), below: tf.mul(modes, tf.sub(1, is))};
  }

  /** Modes with one of the comparisons set. */
  set(modes: tf.Tensor, comparison: number, value: number): tf.Tensor {
    const {size, comparisons} = this.switches;
    const one = constantTensor(
      Float64Array.from({length: size}, (_, i) => (i === comparisons[comparison] ? 1 : 0)),
      [size],
    );
    return tf.add(tf.mul(modes, tf.sub(1, one)), tf.mul(one, value));
  }

  /**
   * The borders of all switches, in the order of their events, and their outcomes by modes, at a state.
   * @param at the user's blocks and the time
   */
  borders(at: Blocks): {readonly borders: tf.Tensor; readonly outcomes: tf.Tensor} {
    const terms = [...this.switches.functions.keys()].map(term => {
      const caller = this.callers.get(term);
      const held = caller === undefined ? undefined : this.held(term, caller.at, caller.f as (at: object) => unknown);
      if (held === undefined) throw new Error(`${term} has switches, and this trace has not called it`);
      const {switches} = held.program;
      const nodes = switches.flatMap(({borders, outcome}) => [...borders, outcome]);
      const values = this.instance(term, held, at, nodes, this.present.modes);
      let next = 0;
      return switches.map(({borders}) => ({borders: borders.map(() => values[next++]), outcome: values[next++]}));
    });
    const all = terms.flat();
    const join = (nodes: readonly Node[]): tf.Tensor => tensorOf(concat(nodes, 0));
    return {borders: join(all.flatMap(({borders}) => borders)), outcomes: join(all.map(({outcome}) => outcome))};
  }

  private get present(): Modes {
    if (this.other !== undefined) return this.other;
    return {modes: this.slides ? this.sliding.below : (this.modes as tf.Tensor), shares: undefined};
  }

  /** A function's value: where a motion slides along a border, of the shares of its outcomes (Filippov 1988, §4). */
  private value(term: string, held: TracedFunction, at: object): Node {
    const {modes, shares} = this.present;
    const of = (own: tf.Tensor): tf.Tensor => tensorOf(this.instance(term, held, at, held.program.outputs, own)[0]);
    let value = of(modes);
    if (shares === undefined) return nodeOf(value);
    const {offset, size} = this.switches.functions.get(term) as FunctionSwitches;
    this.switches.comparisons.forEach((mode, k) => {
      if (mode < offset || mode >= offset + size) return;
      const change = tf.sub(of(this.set(modes, k, 1)), of(this.set(modes, k, 0)));
      value = tf.add(value, tf.mul(tf.reshape(tf.slice(shares, [k], [1]), []), change));
    });
    return nodeOf(value);
  }

  private held<A extends object>(term: string, at: A, f: (at: A) => unknown): TracedFunction | undefined {
    const own = this.switches.functions.get(term);
    if (own === undefined) return undefined;
    const session = requireSession();
    let traced = this.traced.get(session);
    if (traced === undefined) this.traced.set(session, (traced = new Map<string, TracedFunction>()));
    const known = traced.get(term);
    if (known !== undefined) return known;
    this.callers.set(term, {at, f});
    const stood = standIn(term, at, f);
    if (stood === undefined) return undefined;
    const candidates = this.candidates(stood.value, stood.stands.values());
    const modes = input('modes of a function', [own.size]);
    const program = holdSwitches(
      [stood.value],
      candidates.filter((_, i) => own.jumps[i]),
      () => modes,
    );
    const held = {stands: stood.stands, modes, program};
    traced.set(term, held);
    return held;
  }

  /** Nodes of a function's program at a place. */
  private instance(
    term: string,
    {stands, modes}: TracedFunction,
    at: object,
    nodes: readonly Node[],
    own: tf.Tensor,
  ): Node[] {
    const {offset, size} = this.switches.functions.get(term) as FunctionSwitches;
    const places = new Map<Node, Node>([[modes, slice(nodeOf(own), [offset], [size])]]);
    const given = new Map(tensorsOf(at));
    for (const [name, stand] of stands) places.set(stand, nodeOf(given.get(name) as tf.Tensor));
    return replaceNodes(nodes, places);
  }

  /** Looks for switches in a function, once. */
  private look<A extends object>(term: string, at: A, f: (at: A) => unknown, value: Node): void {
    if (tensorsOf(at).length === 0) return;
    this.switches.looked.add(term);
    // Nodes are simplified as they are made: a reshaped state is one of what the state was reshaped from.
    const given = topological(tensorsOf(at).map(([, tensor]) => nodeOf(tensor)));
    const unlocated = jumpsWithoutBorder([value], given, this.known, this.isExempt);
    this.switches.unlocated.push(...unlocated.map(name => `${name} in ${term}`));
    if (this.candidates(value, given).length === 0) return;
    const stood = standIn(term, at, f);
    if (stood === undefined) return;
    const candidates = this.candidates(stood.value, stood.stands.values());
    const found = jumpingCandidates([stood.value], candidates, this.known);
    if (!found.includes(true)) return;
    const held = holdSwitches(
      [stood.value],
      candidates.filter((_, i) => found[i]),
      size => input('modes of a function', [size]),
    );
    const {stands} = stood;
    const time = stands.get('t');
    this.switches.add(term, found, held, coursesOf(held, time, new Set([...stands.values()].filter(n => n !== time))));
  }
}

/**
 * The tensors that a function is called with, those of lists one by one, without its parameters and what is made when
 * it is read.
 */
const tensorsOf = (at: object): [name: string, tensor: tf.Tensor][] =>
  Object.entries(at)
    .flatMap(([name, value]: [string, unknown]) =>
      Array.isArray(value) ? value.map((one: unknown, i): [string, unknown] => [`${name}.${i}`, one]) : [[name, value]],
    )
    .filter((entry): entry is [string, tf.Tensor] => entry[1] instanceof tf.Tensor);

/** A function's value with inputs in the place of what it is called with; undefined where it cannot be taken so. */
function standIn<A extends object>(
  term: string,
  at: A,
  f: (at: A) => unknown,
): {readonly stands: ReadonlyMap<string, Node<'input'>>; readonly value: Node} | undefined {
  const before = tracedLifts();
  const stands = new Map(tensorsOf(at).map(([name, {shape}]) => [name, input(`${name} of ${term}`, shape)] as const));
  const place = Object.defineProperties({}, Object.getOwnPropertyDescriptors(at)) as A;
  const stood = (name: string, value: unknown): unknown => {
    const stand = stands.get(name);
    if (stand !== undefined) return tensorOf(stand);
    return Array.isArray(value) ? value.map((one: unknown, i) => stood(`${name}.${i}`, one)) : value;
  };
  for (const [name, {value}] of Object.entries(Object.getOwnPropertyDescriptors(at)))
    if (value !== undefined) Object.defineProperty(place, name, {value: stood(name, value), enumerable: true});
  const call = (): unknown => f(place);
  const {t} = place as {readonly t?: tf.Tensor};
  const value = t === undefined ? call() : atStage(t, call);
  // Values that are declared to solve equations are the trace's own, and no stand-in may be among them.
  if (!(value instanceof tf.Tensor) || tracedLifts() !== before) return undefined;
  return {stands, value: nodeOf(value as tf.Tensor)};
}

let scope: SwitchScope | undefined;

/** Calls f, in which calls of users' functions are those of a scope. */
export function underSwitches<T>(own: SwitchScope | undefined, f: () => T): T {
  const before = scope;
  scope = own;
  try {
    return f();
  } finally {
    scope = before;
  }
}

/** Calls a user's function at a place: its switches are looked for, held, or left alone, as the trace asks. */
export const withSwitches = <A extends object>(term: string, at: A, f: (at: A) => unknown): unknown =>
  scope === undefined ? f(at) : scope.call(term, at, f);

/**
 * Calls f, whose comparisons and whole-number parts are no switches: its value is continuous by construction, or a jump
 * of it is to be taken as the steps meet it (`noEvent` of Modelica).
 * @param f called at once
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {ode, rk4, simulate, traced} from 'stiffgrad';
 *
 * const relay = ode(({y}) => traced.noEvent(() => tf.where(tf.less(y, 1), 2, 0.5)));
 * console.log(simulate(relay, {y: 0}, {scheme: rk4(), dt: 0.01, t1: 2}).values('y')[200]); // → 1.75
 * ```
 */
export function noEvent<T>(f: () => T): T {
  const after = lastNode();
  const value = f();
  scope?.exempt(after, lastNode());
  return value;
}

/**
 * Reads a function of time that is made of pieces. Where it meets them is known beforehand, or, where it jumps from
 * one to the next, is that of a switch.
 */
export function readPieces(f: (time: tf.Tensor) => tf.Tensor, jumps: boolean, time: tf.Tensor): tf.Tensor {
  if (scope === undefined) return f(time);
  if (isKnownTime(time)) return noEvent(() => f(time));
  const read = (): tf.Tensor => withoutBreaks(() => f(time));
  return jumps ? read() : noEvent(read);
}
