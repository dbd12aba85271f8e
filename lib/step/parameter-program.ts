/**
 * What a step's programs compute from the parameters alone (a mass matrix and its inverse, a stiffness assembled from
 * moduli, positive parameters as softplus of free ones) is computed once a run, when the parameters are loaded: by one
 * more program, whose outputs the others read.
 */
import type {Programs} from '../engine/engine.js';
import {hoist} from '../graph/hoist.js';
import type {Graph, Node, Output} from '../graph/node.js';
import {isOp, topological} from '../graph/node.js';
import {simplify, substitute} from '../graph/simplify.js';
import {countWork, workOf} from '../graph/work.js';

/** A value of the parameters alone, and the input that stands for it. */
export interface DerivedValue {
  readonly node: Node<'input'>;
  readonly value: Node;
}

/** Run by `loadParameters` where it is there. */
export const parameterProgram = 'parameters';

/**
 * A number that is handed over is written and read once each, and breaks a loop in two: what is computed anew
 * for less than this many operations a number stays where it is. And what is less than this share of its program
 * is not worth a second one.
 */
export const leastOperations = 2;
export const leastShare = 1 / 16;

/** What a run sets once: parameters, captured variables, the regularization of redundant constraints, and what is computed from these. */
export const isGiven = (name: string): boolean => name === 'regularization' || /^(p|derived|.*\/given)\.\d+$/.test(name);

/**
 * The programs, with `parameters` among them where they read values derived from the parameters, or where computing
 * more of them apart pays by counted work.
 */
export function withParameterProgram(programs: Programs, derived: readonly DerivedValue[] = []): Programs {
  const rest: Record<string, Graph> = {};
  const apart: Output[] = [];
  for (const [name, graph] of Object.entries(programs)) {
    const changing = new Set(graph.inputs.map(node => node.attributes.name).filter(input => !isGiven(input)));
    const {before, each} = hoist(graph, changing, `${name}/given.`);
    const values = before.outputs.map(({node}) => node);
    const pays = values.some(dependsOnGiven) && worthIt(graph, values);
    rest[name] = pays ? each : graph;
    if (pays) apart.push(...before.outputs);
  }
  const read = new Set(Object.values(rest).flatMap(({inputs}) => inputs));
  const outputs = [...derived.filter(({node}) => read.has(node)).map(({node, value}) => ({name: node.attributes.name, node: value})), ...throughDerived(apart, derived)];
  if (outputs.length === 0) return programs;
  const inputs = topological(outputs.map(({node}) => node)).filter((node): node is Node<'input'> => isOp(node, 'input'));
  return {...rest, [parameterProgram]: simplify({inputs, outputs})};
}

/** As functions of the parameters themselves: one program makes all. */
function throughDerived(outputs: readonly Output[], derived: readonly DerivedValue[]): Output[] {
  const nodes = substitute(outputs.map(({node}) => node), new Map<Node, Node>(derived.map(({node, value}) => [node, value])));
  return outputs.map(({name}, i) => ({name, node: nodes[i]}));
}

/** What depends on no input at all is the engine's to compute once. */
function dependsOnGiven(node: Node): boolean {
  return topological([node]).some(below => isOp(below, 'input'));
}

function worthIt({outputs}: Graph, values: readonly Node[]): boolean {
  const once = new Set(topological(values));
  const work = [...once].reduce((sum, node) => sum + workOf(node), 0);
  const passed = values.reduce((sum, node) => sum + node.size, 0);
  return work >= leastOperations * passed && work >= leastShare * countWork(outputs.map(({node}) => node));
}
