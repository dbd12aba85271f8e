/**
 * Values that depend only on inputs that rarely change (`Lifetime` in buffers.ts) are computed only when they change,
 * if that saves counted work. A minimum cut selects these values (graph/minimum-cut-precomputation.ts); they are stored
 * in buffers.
 *
 * Once per run: by `parameters`, when the parameters are loaded. A mass matrix and its inverse, a stiffness assembled
 * from moduli, positive parameters as softplus of free ones are values of the step before it is differentiated
 * (derived.ts), so that their derivatives too are computed once per run; added here are values of the parameters that
 * only derivatives need.
 *
 * Once per step: by the programs that guess. Every step begins with one of them, so it costs no call. The values at the
 * step's start that Newton's iteration needs are the force there under the trapezoidal rule, a drive at known times,
 * the mass matrix at the start.
 *
 * Once per iterate: by a separate program, `linearize` for all matrix-free products with one Jacobian, `between` for
 * all places within one step, `sequentialBegin` for one block of an unknown that is found block by block.
 *
 * Values that depend on no input are computed once by the engine (graph/hoist.ts): it has no lifetimes, and what is
 * never computed again has no cost. What the update computes for dense output (interpolant.ts) is chosen by what the
 * update computes anyway, which no lifetime tells.
 */
import type {Programs} from '../engine/engine.js';
import {
  readPrecomputed,
  commonSubexpressions,
  addOutputs,
  minimumCutPrecomputation,
} from '../graph/minimum-cut-precomputation.js';
import {input} from '../graph/build.js';
import type {Graph, Node, Output} from '../graph/node.js';
import {isOp, topological} from '../graph/node.js';
import {simplify, replaceNodes} from '../graph/simplify.js';
import {countWork} from '../graph/work.js';
import type {Lifetime} from './buffers.js';
import {hasLifetime} from './buffers.js';
import type {ForwardProgram} from './programs.js';

/** A value of the parameters alone, and the input that stands for it. */
export interface DerivedValue {
  readonly node: Node<'input'>;
  readonly value: Node;
}

/**
 * What a number that is made ahead costs, in operations of one run of its program. A run's is written once for all
 * steps, and read twice: it breaks a loop in two. A step evaluates the residual at its guess and after the first
 * correction, which mostly is the last, and a Krylov solve of two products is a short one: there a value is computed
 * once instead of twice, and for that each of its numbers is written once and read twice.
 */
const storageCost: {readonly [L in Exclude<Lifetime, 'call'>]: number} = {run: 2, step: 3, iterate: 3};

/** A gain of less than this share of a program is within what counting operations can tell. */
const minShare = 1 / 16;

type LongLifetime = keyof typeof storageCost;

/** What of some outputs is worth computing as seldom as its inputs change that last so long. */
export function selectPrecomputed(outputs: readonly Node[], lifetime: LongLifetime): readonly Node[] {
  const names = topological(outputs).flatMap(node => (isOp(node, 'input') ? [node.attributes.name] : []));
  const changing = new Set(names.filter(name => !hasLifetime(name, lifetime)));
  const {values, saved} = minimumCutPrecomputation(outputs, changing, {
    runs: 1,
    store: ({size}) => storageCost[lifetime] * size,
  });
  return values.length > 0 && saved >= minShare * countWork(outputs) ? values : [];
}

type PrecomputedBuffers = ReadonlyMap<Node, Node<'input'>>;

/** Values that are worth precomputing, each with the input that stands for it. */
function precomputedBuffers({inputs, outputs}: Graph, lifetime: LongLifetime, prefix: string): PrecomputedBuffers {
  // Most programs read nothing that lasts.
  const values = inputs.some(({attributes: {name}}) => hasLifetime(name, lifetime))
    ? selectPrecomputed(
        outputs.map(({node}) => node),
        lifetime,
      )
    : [];
  return new Map(values.map((node, i) => [node, input(`${prefix}.${i}`, node.shape, node.dtype)]));
}

const emptyGraph: Graph = {inputs: [], outputs: []};

/** A program in two: what of it is worth computing ahead, and the rest, as it is where nothing is. */
export function partition(
  graph: Graph,
  lifetime: LongLifetime,
  prefix: string,
): {readonly before: Graph; readonly each: Graph} {
  const buffers = precomputedBuffers(graph, lifetime, prefix);
  return {before: addOutputs(emptyGraph, buffers), each: buffers.size === 0 ? graph : readPrecomputed(graph, buffers)};
}

/** Run by `loadParameters` where it is there. */
export const parameterProgram = 'parameters';

/**
 * Once a run: the programs, with `parameters` among them where they read derived values, or more of them is worth it.
 */
export function withParameterProgram(programs: Programs, derived: readonly DerivedValue[] = []): Programs {
  const rest: Record<string, Graph> = {};
  const made: Output[] = [];
  for (const [name, graph] of Object.entries(programs)) {
    const {before, each} = partition(graph, 'run', `${parameterProgram}.${name}`);
    rest[name] = each;
    made.push(...before.outputs);
  }
  const read = new Set(Object.values(rest).flatMap(({inputs}) => inputs));
  const values = derived
    .filter(({node}) => read.has(node))
    .map(({node, value}) => ({name: node.attributes.name, node: value}));
  const outputs = [...values, ...inTermsOfParameters(made, derived)];
  if (outputs.length === 0) return programs;
  const inputs = topological(outputs.map(({node}) => node)).filter((node): node is Node<'input'> =>
    isOp(node, 'input'),
  );
  return {...rest, [parameterProgram]: simplify({inputs, outputs})};
}

/** Rewrites outputs as functions of the parameters themselves, so that one program computes all. */
function inTermsOfParameters(outputs: readonly Output[], derived: readonly DerivedValue[]): Output[] {
  const nodes = replaceNodes(
    outputs.map(({node}) => node),
    new Map<Node, Node>(derived.map(({node, value}) => [node, value])),
  );
  return outputs.map(({name}, i) => ({name, node: nodes[i]}));
}

/** Programs that begin a step: one of them runs before any of the others. */
const guessPrograms: readonly ForwardProgram[] = ['guess', 'extrapolate'];

/** Programs that run after them while the step's beginning lies where it is. */
const iterationPrograms: readonly (ForwardProgram | 'keep')[] = [
  'residual',
  'startResidual',
  'jacobian',
  'startJacobian',
  'exactJacobian',
  'update',
  'keep',
];

const selectPrograms = (programs: Programs, names: readonly string[]): Programs =>
  Object.fromEntries(names.flatMap(name => (name in programs ? [[name, programs[name]]] : [])));

const mapGraphs = (programs: Programs, change: (graph: Graph) => Graph): Programs =>
  Object.fromEntries(Object.entries(programs).map(([name, graph]) => [name, change(graph)]));

/** Once a step: the programs of Newton's iteration, those that begin a step with more outputs. */
export function withStepStart(programs: Programs): Programs {
  if (!('guess' in programs) || !('residual' in programs)) return programs;
  // Most programs have none, and need not be made one graph to know.
  if (precomputedBuffers(programs.residual, 'step', 'stepStart').size === 0) return programs;
  const whole = commonSubexpressions(selectPrograms(programs, [...guessPrograms, ...iterationPrograms]));
  const buffers = precomputedBuffers(whole.residual, 'step', 'stepStart');
  return {
    ...programs,
    ...mapGraphs(selectPrograms(whole, guessPrograms), graph => addOutputs(graph, buffers)),
    ...mapGraphs(selectPrograms(whole, iterationPrograms), graph => readPrecomputed(graph, buffers)),
  };
}

/** Run whenever the place of matrix-free products has changed, where there is one. */
export const linearization = 'linearize';

/** Once an iterate: matrix-free products, what they share computed by `linearize`. */
export function withLinearization(programs: Programs): Programs {
  if (!('apply' in programs)) return programs;
  const whole = commonSubexpressions(programs);
  const buffers = precomputedBuffers(whole.apply, 'iterate', linearization);
  if (buffers.size === 0) return programs;
  return {
    ...mapGraphs(whole, graph => readPrecomputed(graph, buffers)),
    [linearization]: addOutputs(emptyGraph, buffers),
  };
}

/** All of them, for programs that are compiled together. */
export const withPrecomputation = (programs: Programs, derived: readonly DerivedValue[]): Programs =>
  withLinearization(withStepStart(withParameterProgram(programs, derived)));
