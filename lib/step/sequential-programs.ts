/**
 * Programs of a step whose unknown is found block by block (`stages.predict` of `Formulation`): each block's residual
 * as a function of only that block. Values from the step's start are computed once per step, values from earlier
 * blocks once per block, if that pays (precomputation.ts).
 */
import {reshape, slice} from '../graph/build.js';
import {namedGraph} from '../graph/named-graph.js';
import type {Graph, Node} from '../graph/node.js';
import {isOp, topological} from '../graph/node.js';
import {simplifyNodes, replaceNodes} from '../graph/simplify.js';
import type {ProgramsOf} from './buffers.js';
import {bufferInput, graphOf} from './buffers.js';
import type {JacobianProgram} from './jacobian-program.js';
import {jacobianProgram} from './jacobian-program.js';
import {partition} from './precomputation.js';
import type {TracedStep} from './traced-step.js';

export type SequentialProgram =
  | 'sequentialStep'
  | `sequentialBegin.${number}`
  | `sequentialResidual.${number}`
  | `sequentialPredict.${number}`
  | 'sequentialJacobian'
  | 'sequentialExtrapolate';

/**
 * The blocks' equations; those of block k ask for the whole unknown z, with blocks before it found, and for itself,
 * zs.
 */
export interface SequentialBlocks {
  /** Number of blocks, which all have one size. */
  readonly blocks: number;
  readonly size: number;
  /** The first block's residual, and its derivative by it: Newton's matrix of all. */
  readonly first: Node;
  readonly jacobian: JacobianProgram;
  /**
   * sequentialStep: once a step; sequentialBegin.k: once a block; sequentialResidual.k: zs → Rs; sequentialPredict.k:
   * → zs; sequentialJacobian: zs → Js; sequentialExtrapolate: lastUnknown, lastTheta, lengthRatio → zs of the first
   * block. Those with nothing to do are left out.
   */
  readonly programs: ProgramsOf<SequentialProgram>;
}

/** undefined where the unknown is not found in turn. */
export function sequentialBlocks({
  functions: {residual, predicted = [], extrapolated: all},
  inputs: {z},
  unknown,
}: TracedStep): SequentialBlocks | undefined {
  const blocks = unknown.blocks.length;
  const guesses = predicted.filter(node => node !== undefined);
  if (residual === undefined || blocks < 2 || guesses.length !== blocks) return undefined;
  const parts = partsOf(residual, blocks);
  const {size} = unknown.blocks[0];
  const zs = bufferInput('zs', [size]);
  const own = parts?.map((part, k) => withBlockInput(part, z, zs, k * size, size));
  if (own === undefined || own.some(node => node === undefined)) return undefined;
  const residuals = own as Node[];
  const jacobian = jacobianProgram(residuals[0], zs);
  const extrapolated = all === undefined ? undefined : slice(all, [0], [size]);
  return {
    blocks,
    size,
    first: residuals[0],
    jacobian,
    programs: programsOf(residuals, guesses, jacobian, extrapolated),
  };
}

/** The residual's blocks, which were put together one after another. */
function partsOf(residual: Node, blocks: number): Node[] | undefined {
  const flat = residual.op === 'reshape' ? residual.operands[0] : residual;
  if (
    !isOp(flat, 'concat')
    || flat.operands.length !== blocks
    || flat.operands.some(({size}) => size * blocks !== residual.size)
  )
    return undefined;
  return flat.operands.map(part => reshape(part, [part.size]));
}

/**
 * A block's residual with the block as an input of its own; undefined where z is read otherwise than by parts of
 * blocks before it.
 */
function withBlockInput(part: Node, z: Node, zs: Node, offset: number, size: number): Node | undefined {
  const replacements = new Map<Node, Node>();
  for (const node of topological([part])) {
    if (!node.operands.includes(z)) continue;
    if (!isOp(node, 'slice')) return undefined;
    const [begin] = node.attributes.begin;
    const [stride] = node.attributes.strides;
    const last = begin + stride * (node.size - 1);
    if (Math.max(begin, last) < offset) continue;
    if (Math.min(begin, last) < offset || Math.max(begin, last) >= offset + size) return undefined;
    replacements.set(node, slice(zs, [begin - offset], node.shape, [stride]));
  }
  return simplifyNodes(replaceNodes([part], replacements))[0];
}

function programsOf(
  residuals: readonly Node[],
  predicted: readonly Node[],
  jacobian: JacobianProgram,
  extrapolated: Node | undefined,
): ProgramsOf<SequentialProgram> {
  const programs: {[Name in SequentialProgram]?: Graph} = {sequentialJacobian: graphOf({Js: jacobian.values})};
  const add = (name: SequentialProgram, graph: Graph): void => {
    if (graph.outputs.length > 0) programs[name] = graph;
  };
  const named = Object.fromEntries([
    ...residuals.map((node, k) => [`R.${k}`, node]),
    ...predicted.map((node, k) => [`P.${k}`, node]),
  ]) as Record<string, Node>;
  const once = partition(namedGraph(named), 'step', 'sequentialStep');
  add('sequentialStep', once.before);
  const rest = new Map(once.each.outputs.map(({name, node}) => [name, node]));
  residuals.forEach((_, k) => {
    const own = partition(graphOf({Rs: rest.get(`R.${k}`)}), 'iterate', `sequentialBegin.${k}`);
    add(`sequentialBegin.${k}`, own.before);
    add(`sequentialResidual.${k}`, own.each);
    add(`sequentialPredict.${k}`, graphOf({zs: rest.get(`P.${k}`)}));
  });
  if (extrapolated !== undefined) add('sequentialExtrapolate', graphOf({zs: extrapolated}));
  return programs;
}
