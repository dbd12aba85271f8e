/**
 * The functions of a step, one line of a table each. Operations on all of them (replacement of nodes, the key
 * of the compiled step, messages to other threads, what every step computes) follows from the table: a new function is
 * a line here, the place that makes it, and the place that uses it.
 */
import type * as tf from '@tensorflow/tfjs';
import type {Node, Output} from '../graph/node.js';
import {replaceNodes} from '../graph/replace-nodes.js';

interface Kind {
  /** Computed in every step. */
  readonly everyStep?: true;
  /** One for each block of the unknown, or for each event. */
  readonly indexed?: true;
}

/** Arrays are flat but for those of the mass; 'own' are the user's blocks of the state, q and v, or y. */
export const stepFunctions = {
  /** R(z), [unknown]: zero where z solves the step. */
  residual: {everyStep: true},
  /**
   * The residual with its derivative by blocks, and its model, where Newton's matrix is made from that
   * (graph/newton-matrix.ts).
   */
  residualBlocks: {everyStep: true},
  residualModel: {everyStep: true},
  /**
   * Intermediate values of the residual, and it with their equations as a function of the input `unknowns` (lift.ts).
   */
  intermediate: {everyStep: true},
  extended: {everyStep: true},
  /** The state at the step's end, [state]. */
  update: {everyStep: true},
  /** The initial guess of Newton's iteration, [unknown]. */
  guess: {},
  /**
   * How far the guess breaks the kinematics, as a function of x, and the residual that takes it as the input `defect`.
   */
  defect: {},
  defectResidual: {},
  defectBlocks: {},
  defectModel: {},
  /** The first residual, its forces those of the step's start. */
  frozen: {},
  /** What the user observes of a state, flat, as a function of x, t and the parameters. */
  observed: {},
  /** How far each exact contact is from being neither open nor closed, as a length. */
  touching: {},
  /** M(q) of a start, in the shape the user gave it. */
  mass: {},
  /** f of M y' = f at a start, J times the input `shift`, and ∂f/∂t. */
  rightHandSide: {},
  rightHandSideAlong: {},
  rightHandSideRate: {},
  /** φ of the state that a start was given, where there are constraints. */
  positions: {},
  /** φ' and ψ of it. */
  velocities: {},
  /** How far contacts with friction lie below their surfaces there. */
  depths: {},
  /** Coefficients of constraints that no constructor has looked at. */
  coefficients: {},
  /** The longest time that a dde's history covers, and the delays' lengths. */
  delays: {},
  /** The seed of an sde, if that is a function of params. */
  seed: {},
  /** The laws of contacts with friction as numbers, see `contactLaws` in system/contact-laws.ts. */
  contactLaws: {},
  /** What is wrong with the kinematics at a start, see `KinematicsCheck`. */
  kinematics: {},
  /** The estimate of the step's error, [own], zero where nothing is judged; with a filter, its right-hand side. */
  error: {everyStep: true},
  /** The function of `shift` whose derivative is the estimate's matrix, [own]. */
  filter: {everyStep: true},
  /** h|λ| over what is stable, a scalar. */
  stiffness: {},
  /** A guess of the unknown from that of the last step, [unknown]. */
  extrapolated: {},
  /** A guess of each block from those before it, if blocks are solved one by one. */
  predicted: {indexed: true},
  /** What the update makes for dense output, see interpolant.ts. */
  inside: {everyStep: true},
  /** The state at t + θh, [state]; a function of the input `inside` too, where there is that. */
  dense: {everyStep: true},
  /** How many events may happen within the step, see idle.ts. */
  possibleEvents: {everyStep: true},
  /** The derivative of the state by the clock's time as a function of x and t, [state]. */
  slope: {},
  /** The events' functions of x and t, [events]; the borders of switches follow those of the user's events. */
  events: {},
  /** The modes that the borders of switches have at x and t, by the modes in x, [modes]. */
  outcomes: {},
  /** Their rates of change along the motion, [events]. */
  rates: {},
  /** The user's blocks after the jump of each event, [own]. */
  jump: {indexed: true},
} as const satisfies {readonly [name: string]: Kind};

type Table = typeof stepFunctions;
type Name = keyof Table;
type Indexed = {[N in Name]: Table[N] extends {readonly indexed: true} ? N : never}[Name];

/** The functions of one step as nodes over shared inputs; every step has an update. */
export type StepFunctions = {
  readonly [N in Name]?: N extends Indexed ? readonly (Node | undefined)[] : Node;
} & {readonly update: Node};

/** What a single one is called: 'residual', 'jump.0'. */
export type StepFunctionName = Exclude<Name, Indexed> | `${Indexed}.${number}`;

/**
 * What the trace of a step gives: these, and the events one by one and the slope, of which requested-outputs.ts makes
 * `events` and `rates`.
 */
export type TracedTensors = {
  readonly [N in StepFunctionName | `event.${number}` | 'rate' | 'borders']?: tf.Tensor | undefined;
};

const names = Object.keys(stepFunctions) as Name[];

const nodesOf = (functions: StepFunctions, name: Name): Output[] => {
  const own = functions[name];
  if (own === undefined) return [];
  return 'op' in own
    ? [{name, node: own}]
    : own.flatMap((node, i) => (node === undefined ? [] : [{name: `${name}.${i}`, node}]));
};

/** Every function that is there, each by a name of its own. */
export const namedFunctions = (functions: StepFunctions): Output[] => names.flatMap(name => nodesOf(functions, name));

/** The functions that every step computes. */
export const everyStep = (functions: StepFunctions): Node[] =>
  names
    .filter(name => 'everyStep' in stepFunctions[name])
    .flatMap(name => nodesOf(functions, name).map(({node}) => node));

const isFunction = (name: string): name is Name => Object.hasOwn(stepFunctions, name);

/** The functions among named nodes: what `namedFunctions` took apart, and what a trace gave of them. */
export function functionsFrom(nodes: Iterable<readonly [name: string, node: Node]>): StepFunctions {
  const functions: {[N in Name]?: Node | (Node | undefined)[]} = {};
  for (const [name, node] of nodes) {
    const [family, index] = name.split('.');
    if (!isFunction(family)) continue;
    if (index === undefined) functions[family] = node;
    else ((functions[family] ??= []) as (Node | undefined)[])[Number(index)] = node;
  }
  if (functions.update === undefined) throw new Error('a step without an update');
  return functions as StepFunctions;
}

/** The functions with nodes replaced throughout. */
export function withReplaced(functions: StepFunctions, replacements: ReadonlyMap<Node, Node>): StepFunctions {
  const all = namedFunctions(functions);
  const replaced = replaceNodes(
    all.map(({node}) => node),
    replacements,
  );
  return functionsFrom(all.map(({name}, i) => [name, replaced[i]]));
}
