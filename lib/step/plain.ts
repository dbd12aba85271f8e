/** A traced step as plain values that a message carries to another thread: its graph, and what its rows are called. */
import type {Node, Shape} from '../graph/node.js';
import {topological} from '../graph/node.js';
import type {PlainNodes} from '../graph/plain.js';
import {nodesFromPlain, plainNodes} from '../graph/plain.js';
import type {Part} from './layout.js';
import {Layout} from './layout.js';
import type {TracedStep} from './traced-step.js';
import {stepOutputs} from './traced-step.js';

/** The functions of a step: equal for all steps of one structure, however their blocks are named and shaped. */
export interface PlainStep {
  readonly graph: PlainNodes;
  /** What each root of the graph is. */
  readonly names: readonly string[];
  readonly linearized?: boolean;
  /** Jacobians that need no check where this goes. */
  readonly checked?: readonly ('jacobian' | 'matrix' | 'filter' | 'turn')[];
}

export interface StepNames {
  readonly name: string;
  readonly order: number;
  readonly state: readonly Part[];
  readonly unknown: readonly Part[];
  readonly observed?: Shape;
}

export function plainStep(step: TracedStep): PlainStep {
  const {x, z, t, h, parameters, guess} = step;
  const all: Record<string, Node | undefined> = {x, z, t, h, defect: guess?.defect?.input, ...stepOutputs(step)};
  parameters.forEach(({node}, i) => (all[`p.${i}`] = node));
  const present = Object.entries(all).filter((entry): entry is [string, Node] => entry[1] !== undefined);
  return {graph: plainNodes(present.map(([, node]) => node)), names: present.map(([name]) => name), linearized: guess?.linearized};
}

/** Functions of users' own, which another thread has not, are no part of it. */
export function isPlain(step: TracedStep): boolean {
  return !topological(Object.values(stepOutputs(step)).filter(node => node !== undefined)).some(({op}) => op === 'mapped');
}

export function stepNames({name, order, state, unknown, observed}: TracedStep): StepNames {
  const parts = ({blocks}: Layout): StepNames['state'] => blocks.map(({name: own, shape, labels}) => ({name: own, shape, labels}));
  return {name, order, state: parts(state), unknown: parts(unknown), observed: observed?.shape};
}

/** The functions, for layouts of any names. */
export type StepGraph = Omit<TracedStep, 'name' | 'order' | 'state' | 'unknown' | 'observed'> & {readonly observed?: Node};

export function stepFromPlain({graph, names, linearized = false}: PlainStep): StepGraph {
  const roots = nodesFromPlain(graph);
  const nodes = new Map(names.map((name, i) => [name, roots[i]]));
  const need = (name: string): Node => {
    const node = nodes.get(name);
    if (node === undefined) throw new Error(`a step without ${name}`);
    return node;
  };
  const input = (name: string): Node<'input'> => need(name) as Node<'input'>;
  const parameters: {node: Node<'input'>}[] = [];
  while (nodes.has(`p.${parameters.length}`)) parameters.push({node: input(`p.${parameters.length}`)});
  return {
    x: input('x'), z: input('z'), t: input('t'), h: input('h'), parameters, update: need('update'),
    residual: nodes.get('residual'), residualBlocks: nodes.get('residualBlocks'), residualModel: nodes.get('residualModel'),
    observed: nodes.get('observed'), mass: nodes.get('mass'), touching: nodes.get('touching'),
    gaps: nodes.has('positions') ? {positions: need('positions'), velocities: need('velocities')} : undefined,
    guess: !nodes.has('guess') ? undefined : {
      z: need('guess'), linearized, frozen: nodes.get('frozen'),
      defect: nodes.has('defect') ? {value: need('defectValue'), input: input('defect'), residual: need('defectResidual'), residualBlocks: nodes.get('defectBlocks'), residualModel: nodes.get('defectModel')} : undefined,
    },
  };
}

export function nameStep(graph: StepGraph, {name, order, state, unknown, observed}: StepNames): TracedStep {
  return {
    ...graph, name, order, state: new Layout(state), unknown: new Layout(unknown),
    observed: graph.observed === undefined || observed === undefined ? undefined : {node: graph.observed, shape: observed},
  };
}
