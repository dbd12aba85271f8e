/**
 * What a step's programs compute from the parameters alone (a mass matrix and its inverse, a stiffness assembled from
 * moduli, positive parameters as softplus of free ones) is computed once a run, when the parameters are loaded: by one
 * more program, whose outputs the others read.
 */
import type {Programs} from '../engine/engine.js';
import {hoist} from '../graph/hoist.js';
import type {Graph, Node, Output} from '../graph/node.js';
import {isOp, topological} from '../graph/node.js';
import {simplify} from '../graph/simplify.js';
import {countWork, workOf} from '../graph/work.js';

/** Run by `loadParameters` where it is there. */
export const parameterProgram = 'parameters';

/**
 * A number that is handed over is written and read once each, and breaks a loop in two: what is computed anew
 * for less than this many operations a number stays where it is. And what is less than this share of its program
 * is not worth a second one.
 */
const leastOperations = 2;
const leastShare = 1 / 16;

/** What a run sets once: parameters, captured variables, the relief of redundant constraints, and what is computed from these. */
export const isGiven = (name: string): boolean => /^p\.\d+$/.test(name) || name === 'relief' || /\/given\.\d+$/.test(name);

/** The programs, with `parameters` among them where that pays by counted work. */
export function withParameterProgram(programs: Programs): Programs {
  const rest: Record<string, Graph> = {};
  const outputs: Output[] = [];
  for (const [name, graph] of Object.entries(programs)) {
    const changing = new Set(graph.inputs.map(node => node.attributes.name).filter(input => !isGiven(input)));
    const {before, each} = hoist(graph, changing, `${name}/given.`);
    const values = before.outputs.map(({node}) => node);
    const pays = values.some(dependsOnGiven) && worthIt(graph, values);
    rest[name] = pays ? each : graph;
    if (pays) outputs.push(...before.outputs);
  }
  if (outputs.length === 0) return programs;
  const inputs = topological(outputs.map(({node}) => node)).filter((node): node is Node<'input'> => isOp(node, 'input'));
  return {...rest, [parameterProgram]: simplify({inputs, outputs})};
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
