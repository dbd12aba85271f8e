/**
 * What stays the same through some runs of a step's programs is computed once, before them. What Newton's iteration
 * computes from the step's beginning alone (the force there under the trapezoidal rule, a drive at times that are
 * known, the mass matrix where the step begins) is made by the programs that guess: every step begins with one of
 * them, so it costs no call. What all products with one Jacobian have in common is made by a program of its own.
 */
import type {Programs} from '../engine/engine.js';
import {readingAhead, unified, withOutputs, worthAhead} from '../graph/ahead.js';
import {input} from '../graph/build.js';
import type {Graph, Node} from '../graph/node.js';
import {countWork} from '../graph/work.js';
import {isGiven} from './parameter-program.js';

/**
 * A step evaluates the residual at its guess and after the first correction, which mostly is the last; a Krylov
 * solve of two products is a short one. So a value made ahead is computed once instead of twice, and for that each
 * of its numbers is written once and read twice: it has to be worth three operations.
 */
const runs = 2;

/** A gain of less than this share of a program is within what counting operations can tell. */
const leastShare = 1 / 16;

/** Programs that begin a step: one of them runs before any of the others. */
const beginnings = ['guess', 'extrapolate'] as const;

/** Programs that run after them while the step's beginning lies where it is. */
const followers = ['residual', 'startResidual', 'jacobian', 'startJacobian', 'exactJacobian', 'update', 'keep'] as const;

const changingOf = ({inputs}: Graph, isSteady: (name: string) => boolean): ReadonlySet<string> =>
  new Set(inputs.map(node => node.attributes.name).filter(name => !isSteady(name)));

/** Buffers for what of a program is worth computing ahead: by value, the input that stands for it. */
function buffersFor(graph: Graph, changing: ReadonlySet<string>, prefix: string): ReadonlyMap<Node, Node<'input'>> {
  const outputs = graph.outputs.map(({node}) => node);
  const {values, saved} = worthAhead(outputs, changing, {runs: runs - 1, store: ({size}) => (1 + runs) * size});
  const pays = saved >= leastShare * (runs - 1) * countWork(outputs);
  return new Map((pays ? values : []).map((node, i) => [node, input(`${prefix}${i}`, node.shape, node.dtype)]));
}

/** A program in two: what of it is worth computing ahead, and the rest, as it is where nothing is. */
export function aheadOf(graph: Graph, changing: ReadonlySet<string>, prefix: string): {readonly before: Graph; readonly each: Graph} {
  const buffers = buffersFor(graph, changing, prefix);
  return {before: withOutputs({inputs: [], outputs: []}, buffers), each: buffers.size === 0 ? graph : readingAhead(graph, buffers)};
}

function pick(programs: Programs, names: readonly string[]): Programs {
  return Object.fromEntries(names.flatMap(name => (name in programs ? [[name, programs[name]]] : [])));
}

const startsWith = (name: string): boolean => name === 'x' || name === 't' || name === 'h' || isGiven(name);

/** The programs of Newton's iteration, those that begin a step with more outputs where that pays by counted work. */
export function withStepStart(programs: Programs): Programs {
  if (!('guess' in programs) || !('residual' in programs)) return programs;
  const make = (residual: Graph): ReadonlyMap<Node, Node<'input'>> => buffersFor(residual, changingOf(residual, startsWith), 'stepStart.');
  // Most programs have none, and need not be made one graph to know.
  if (make(programs.residual).size === 0) return programs;
  const whole = unified(pick(programs, [...beginnings, ...followers]));
  const buffers = make(whole.residual);
  const result: Record<string, Graph> = {...programs};
  for (const [name, graph] of Object.entries(pick(whole, beginnings))) result[name] = withOutputs(graph, buffers);
  for (const [name, graph] of Object.entries(pick(whole, followers))) result[name] = readingAhead(graph, buffers);
  return result;
}

/** Run whenever the place of matrix-free products has changed, where there is one. */
export const linearization = 'linearize';

const directions: ReadonlySet<string> = new Set(['direction']);

/** Matrix-free products, what they share computed by `linearize` where that pays by counted work. */
export function withLinearization(programs: Programs): Programs {
  if (!('apply' in programs)) return programs;
  const whole = unified(programs);
  const buffers = buffersFor(whole.apply, directions, `${linearization}.`);
  if (buffers.size === 0) return programs;
  const reading = Object.fromEntries(Object.entries(whole).map(([name, graph]) => [name, readingAhead(graph, buffers)]));
  return {...reading, [linearization]: withOutputs({inputs: [], outputs: []}, buffers)};
}
