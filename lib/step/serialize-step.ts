/** A traced step as plain values for messages to another thread: its functions, and their properties. */
import type {Node} from '../graph/node.js';
import {topological} from '../graph/node.js';
import type {SerializedNodes} from '../graph/serialize-graph.js';
import {deserializeNodes, serializeNodes} from '../graph/serialize-graph.js';
import type {BlockPart} from './layout.js';
import {Layout} from './layout.js';
import {functionsFrom, namedFunctions} from './step-functions.js';
import type {StepInputs, TracedStep} from './traced-step.js';
import {inputsOf} from './traced-step.js';

/** The functions of a step: equal for all steps of one structure, however their blocks are named and shaped. */
export interface SerializedStep {
  /** The graph; its roots are the inputs, the parameters and the functions. */
  readonly graph: SerializedNodes;
  readonly inputs: number;
  readonly parameters: number;
  readonly functions: readonly string[];
  /** Jacobians that need no check where this goes. */
  readonly checked?: readonly ('jacobian' | 'matrix' | 'filter' | 'block')[];
}

/** The functions, for layouts of any names. */
export type StepGraph = Pick<TracedStep, 'inputs' | 'parameters' | 'functions'>;

/** What is known of them. */
export type StepProperties = Omit<TracedStep, keyof StepGraph | 'state' | 'unknown'> & {
  readonly state: readonly BlockPart[];
  readonly unknown: readonly BlockPart[];
};

export function serializeStep({inputs, parameters, functions}: StepGraph): SerializedStep {
  const read = [...inputsOf(inputs), ...parameters.map(({node}) => node)];
  const named = namedFunctions(functions);
  return {
    graph: serializeNodes([...read, ...named.map(({node}) => node)]),
    inputs: read.length - parameters.length,
    parameters: parameters.length,
    functions: named.map(({name}) => name),
  };
}

export function deserializeStep({graph, inputs, parameters, functions}: SerializedStep): StepGraph {
  const roots = deserializeNodes(graph);
  const read = roots.slice(0, inputs + parameters) as Node<'input'>[];
  return {
    inputs: Object.fromEntries(
      read.slice(0, inputs).map(node => [node.attributes.name, node]),
    ) as unknown as StepInputs,
    parameters: read.slice(inputs).map(node => ({node})),
    functions: functionsFrom(functions.map((name, i) => [name, roots[read.length + i]])),
  };
}

/** Functions of users' own, which another thread has not, are no part of it. */
export function isSerializable({functions}: StepGraph): boolean {
  return !topological(namedFunctions(functions).map(({node}) => node)).some(({op}) => op === 'mapped');
}

export function propertiesOf(step: TracedStep): StepProperties {
  const {inputs: _inputs, parameters: _parameters, functions: _functions, state, unknown, ...facts} = step;
  return {...facts, state: state.blocks, unknown: unknown.blocks};
}

export function assembleStep(graph: StepGraph, {state, unknown, ...facts}: StepProperties): TracedStep {
  return {...facts, ...graph, state: new Layout(state), unknown: new Layout(unknown)};
}
