/**
 * The numbers stored of a step for its gradient. The programs of the way back read the state x and the unknown z, but
 * mostly through fewer numbers: those of a chain under the midpoint rule through the positions at the
 * midpoint, n numbers where x and z are 3n. So these are kept, which is less to write, to hold and to read,
 * and need not be computed again. What the step has computed with much work, as the layers of a network, is kept
 * too where that costs less than to compute it again: a minimum cut (graph/minimum-cut-precomputation.ts) decides. On a
 * device nothing is: what is kept goes from it and back, and work costs little there.
 */
import type {Programs} from '../engine/engine.js';
import {concat, reshape, slice} from '../graph/build.js';
import {minimumCutPrecomputation} from '../graph/minimum-cut-precomputation.js';
import type {Graph, Node} from '../graph/node.js';
import {isOp, topological} from '../graph/node.js';
import {simplifyNodes, replaceNodes} from '../graph/simplify.js';
import {workOf} from '../graph/work.js';
import type {ProgramsOf} from './buffers.js';
import {bufferInput, graphOf} from './buffers.js';
import type {HistoryAdjointProgram} from './history-programs.js';
import type {AdjointProgram} from './programs.js';
import type {TracedStep} from './traced-step.js';

export interface StoredForBackward {
  /**
   * The numbers kept of a step, flat, as a function of its x, z, t, h and the parameters; undefined where the way back
   * needs none.
   */
  readonly node: Node | undefined;
  readonly size: number;
  /** The programs of the way back, which read the input `kept` in place of x and z. */
  readonly programs: ProgramsOf<AdjointProgram>;
  /** Further programs of theirs, made to read `kept` too; undefined where they need more of x and z. */
  rewrite<Name extends string>(more: ProgramsOf<Name>): ProgramsOf<Name> | undefined;
}

/** Operations that are cheaper to recompute than to store. */
const cheapOperations = new Set<string>(['add', 'sub', 'mul', 'neg']);
const views = new Set<string>(['reshape', 'broadcast', 'slice', 'transpose', 'place', 'concat']);

/**
 * What it costs to write a number, to copy it to the record of the steps and back, and to read it, in additions.
 * Measured: a neural ODE's step and gradient (2–64–64–2, batch 32, tsit5) take 0.72 of the time with 8, which keeps
 * every layer, and 0.83 with 30, which keeps the products alone; in single precision 0.68 and 0.71.
 */
const storageCost = 8;

/** The operands of a node, looking through views. */
const operandsBehindViews = (node: Node): Node[] =>
  node.operands.flatMap(operand => (views.has(operand.op) ? operandsBehindViews(operand) : [operand]));

/**
 * The cut moved towards x and z past what is cheap, as long as it does not grow: there the update computes it in
 * its own loops (n = 1024: positions at the midpoint take 0.1 µs more than the update alone, lengths 0.9).
 */
function moveBeforeCheap(cut: readonly Node[], sources: readonly Node[]): Node[] {
  const width = (nodes: ReadonlySet<Node>): number => [...nodes].reduce((sum, node) => sum + node.size, 0);
  const depends = new Set<Node>();
  for (const node of topological(cut))
    if (sources.includes(node) || node.operands.some(operand => depends.has(operand))) depends.add(node);
  let best = new Set(cut);
  for (const node of [...topological(cut)].reverse()) {
    const isCheap =
      views.has(node.op) || ((isOp(node, 'binary') || isOp(node, 'unary')) && cheapOperations.has(node.attributes.fn));
    if (!best.has(node) || !isCheap) continue;
    const earlier = new Set(
      [...best]
        .filter(other => other !== node)
        .concat(operandsBehindViews(node).filter(operand => depends.has(operand))),
    );
    if ([...earlier].every(({dtype}) => dtype === 'float') && width(earlier) <= width(best)) best = earlier;
  }
  return topological([...best]).filter(node => best.has(node));
}

/**
 * The work that is spared where a node's value is kept: of what the step computes itself, and costs more than to keep
 * it. The sigmoid of what softplus is taken of is computed with it (engine/wasm/storage.ts).
 */
function recomputationWork(update: Node, sources: readonly Node[]): (node: Node) => number {
  const depends = new Set<Node>();
  const logarithms = new Set<Node>();
  for (const node of topological([update])) {
    if (!sources.includes(node) && !node.operands.some(operand => depends.has(operand))) continue;
    depends.add(node);
    if (isOp(node, 'unary') && node.attributes.fn === 'softplus') logarithms.add(node.operands[0]);
  }
  return node => {
    const isMade =
      depends.has(node)
      || (isOp(node, 'unary') && node.attributes.fn === 'sigmoid' && logarithms.has(node.operands[0]));
    const work = isMade ? workOf(node) : 0;
    return work >= storageCost * node.size ? work : 0;
  };
}

/**
 * What is stored of a step for its gradient. 'narrow': only the numbers that the adjoint reads; 'layers': its state,
 * and values that were expensive to compute.
 */
export type StoragePolicy = 'narrow' | 'layers';

/**
 * @param adjoint the programs of the way back
 * @param isDistant whether numbers of the engine that runs them travel to a device (engine.ts)
 */
export function reducedStorage(
  adjoint: ProgramsOf<AdjointProgram>,
  step: TracedStep,
  isDistant: boolean,
): StoredForBackward {
  const programs = adjoint as Programs;
  const past = [step.inputs.x, step.inputs.z];
  const {node, size, programs: own} = cutPrograms(programs, {}, step, {past, isDistant});
  return {
    node,
    size,
    programs: own,
    rewrite<Name extends string>(more: ProgramsOf<Name>) {
      const {more: reading} = cutPrograms(programs, more as Programs, step, {past, isDistant});
      const whole = Object.values(reading).some(
        ({inputs}) => inputs.includes(step.inputs.x) || inputs.includes(step.inputs.z),
      );
      return whole ? undefined : (reading as ProgramsOf<Name>);
    },
  };
}

/**
 * What an explicit step keeps beside its state, where the way back is not that of a grid's steps; undefined where that
 * is little.
 * @param adjoint its programs: those of one run (history-programs.ts) or of lanes (lane-programs.ts)
 * @param minSize numbers that are worth it
 */
export function storedActivations<Name extends string>(
  adjoint: ProgramsOf<Name>,
  step: TracedStep,
  minSize: number,
): StoredActivations<Name> | undefined {
  const {pullStep, inside, ...others} = adjoint as {readonly [name: string]: Graph | undefined};
  if (pullStep === undefined) return undefined;
  const {node, size, programs} = cutPrograms({pullStep, ...(inside === undefined ? {} : {inside})}, {}, step, {
    past: [],
    name: 'layers',
  });
  return node === undefined || size < minSize
    ? undefined
    : {node, size, programs: {...others, ...programs} as ProgramsOf<Name>};
}

export interface StoredActivations<Name extends string = HistoryAdjointProgram> {
  /** The numbers kept, flat, as a function of the state, the time, the length and the parameters. */
  readonly node: Node;
  readonly size: number;
  /** The programs of the way back, which read the input `layers` too. */
  readonly programs: ProgramsOf<Name>;
}

interface Cut {
  readonly node: Node | undefined;
  readonly size: number;
  readonly programs: Programs;
  readonly more: Programs;
}

/**
 * @param more programs that have no say in what is kept
 * @param options past: what of the state and the unknown is not there on the way back unless it is kept
 */
function cutPrograms(
  programs: Programs,
  more: Programs,
  {functions: {residual, residualBlocks = residual, update}, inputs: {x, z}}: TracedStep,
  {
    past,
    isDistant = false,
    name = 'kept',
  }: {readonly past: readonly Node[]; readonly isDistant?: boolean; readonly name?: 'kept' | 'layers'},
): Cut {
  const ownPrograms = Object.entries(programs);
  const graphs = [...ownPrograms, ...Object.entries(more)];
  const outputs = graphs.flatMap(([, graph]) => graph.outputs.map(({node}) => node));
  const outputCount = ownPrograms.reduce((count, [, graph]) => count + graph.outputs.length, 0);
  const isInput = (node: Node): node is Node<'input'> => isOp(node, 'input');
  const known = new Set(
    topological(residualBlocks === undefined ? [update] : [residualBlocks, update]).filter(isInput),
  );
  // What several programs compute is one node.
  const all = [...outputs, update];
  const nodes = simplifyNodes(all, topological(all).filter(isInput));
  const backwardOutputs = nodes.slice(0, outputCount);
  const updateNode = nodes.pop() as Node;
  const recomputation = isDistant ? () => 0 : recomputationWork(updateNode, [x, z]);
  const laterInputs = topological(backwardOutputs).filter(
    (node): node is Node<'input'> => isInput(node) && !known.has(node),
  );
  const {values} = minimumCutPrecomputation(backwardOutputs, new Set(laterInputs.map(({attributes: {name}}) => name)), {
    runs: 1,
    store: ({dtype, size}) => (dtype === 'float' ? storageCost * size : Infinity),
    work: recomputation,
    past,
  });
  const cut = past.length === 0 ? values : moveBeforeCheap(values, past);
  const size = cut.reduce((sum, node) => sum + node.size, 0);
  const stored = bufferInput(name, [size]);
  const replacements = new Map<Node, Node>();
  let offset = 0;
  for (const node of cut) {
    replacements.set(node, reshape(slice(stored, [offset], [node.size]), node.shape));
    offset += node.size;
  }
  const replaced = replaceNodes(nodes, replacements);
  let at = 0;
  const read = (list: readonly (readonly [string, Graph])[]): Programs =>
    Object.fromEntries(
      list.map(([name, graph]) => [
        name,
        graphOf(Object.fromEntries(graph.outputs.map(output => [output.name, replaced[at++]]))),
      ]),
    );
  return {
    node:
      cut.length === 0
        ? undefined
        : concat(
            cut.map(node => reshape(node, [node.size])),
            0,
          ),
    size,
    programs: read(ownPrograms),
    more: read(Object.entries(more)),
  };
}
