/**
 * What a step leaves for its gradient. The programs of the way back read the state x and the unknown z, but
 * mostly through fewer numbers: those of a chain under the midpoint rule through the positions at the
 * midpoint, n numbers where x and z are 3n. So these are kept, which is less to write, to hold and to read,
 * and need not be computed again.
 */
import type {Programs} from '../engine/engine.js';
import {concat, reshape, slice} from '../graph/build.js';
import {narrowestCut} from '../graph/narrowest-cut.js';
import type {Graph, Node} from '../graph/node.js';
import {isOp, topological} from '../graph/node.js';
import {simplifyNodes, substitute} from '../graph/simplify.js';
import type {ProgramsOf} from './buffers.js';
import {bufferInput, graphOf} from './buffers.js';
import type {AdjointProgram} from './programs.js';
import type {TracedStep} from './traced-step.js';

export interface Kept {
  /** The numbers kept of a step, flat, as a function of its x, z, t, h and the parameters; undefined where the way back needs none. */
  readonly node: Node | undefined;
  readonly size: number;
  /** The programs of the way back, which read the input `kept` in place of x and z. */
  readonly programs: ProgramsOf<AdjointProgram>;
  /** Further programs of theirs, made to read `kept` too; undefined where they need more of x and z. */
  reading<Name extends string>(more: ProgramsOf<Name>): ProgramsOf<Name> | undefined;
}

/** What costs no more where it is read than to be written and read again. */
const cheap = new Set<string>(['add', 'sub', 'mul', 'neg']);
const views = new Set<string>(['reshape', 'broadcast', 'slice', 'transpose', 'place', 'concat']);

/** The values that a node is made of, behind views. */
const madeOf = (node: Node): Node[] =>
  node.operands.flatMap(operand => (views.has(operand.op) ? madeOf(operand) : [operand]));

/**
 * The cut moved towards x and z past what is cheap, as long as it does not grow: there the update computes it in
 * its own loops (n = 1024: positions at the midpoint take 0.1 µs more than the update alone, lengths 0.9).
 */
function beforeCheap(cut: readonly Node[], sources: readonly Node[]): Node[] {
  const width = (nodes: ReadonlySet<Node>): number => [...nodes].reduce((sum, node) => sum + node.size, 0);
  const depends = new Set<Node>();
  for (const node of topological(cut))
    if (sources.includes(node) || node.operands.some(operand => depends.has(operand))) depends.add(node);
  let best = new Set(cut);
  for (const node of [...topological(cut)].reverse()) {
    const isCheap =
      views.has(node.op) || ((isOp(node, 'binary') || isOp(node, 'unary')) && cheap.has(node.attributes.fn));
    if (!best.has(node) || !isCheap) continue;
    const earlier = new Set(
      [...best].filter(other => other !== node).concat(madeOf(node).filter(operand => depends.has(operand))),
    );
    if ([...earlier].every(({dtype}) => dtype === 'float') && width(earlier) <= width(best)) best = earlier;
  }
  return topological([...best]).filter(node => best.has(node));
}

/** @param adjoint the programs of the way back */
export function narrowed(adjoint: ProgramsOf<AdjointProgram>, step: TracedStep): Kept {
  const programs = adjoint as Programs;
  const {node, size, programs: own} = cutThrough(programs, {}, step);
  return {
    node,
    size,
    programs: own,
    reading<Name extends string>(more: ProgramsOf<Name>) {
      const {more: reading} = cutThrough(programs, more as Programs, step);
      const whole = Object.values(reading).some(
        ({inputs}) => inputs.includes(step.inputs.x) || inputs.includes(step.inputs.z),
      );
      return whole ? undefined : (reading as ProgramsOf<Name>);
    },
  };
}

interface Cut {
  readonly node: Node | undefined;
  readonly size: number;
  readonly programs: Programs;
  readonly more: Programs;
}

/** @param more programs that have no say in what is kept */
function cutThrough(
  programs: Programs,
  more: Programs,
  {functions: {residual, residualBlocks = residual, update}, inputs: {x, z}}: TracedStep,
): Cut {
  const own = Object.entries(programs);
  const graphs = [...own, ...Object.entries(more)];
  const outputs = graphs.flatMap(([, graph]) => graph.outputs.map(({node}) => node));
  const asking = own.reduce((count, [, graph]) => count + graph.outputs.length, 0);
  const isInput = (node: Node): node is Node<'input'> => isOp(node, 'input');
  const known = new Set(
    topological(residualBlocks === undefined ? [update] : [residualBlocks, update]).filter(isInput),
  );
  // What several programs compute is one node.
  const nodes = simplifyNodes(outputs, topological(outputs).filter(isInput));
  const wanted = nodes.slice(0, asking);
  const later = new Set(topological(wanted).filter(node => isInput(node) && !known.has(node)));
  const cut = beforeCheap(narrowestCut(wanted, [x, z], later), [x, z]);
  const size = cut.reduce((sum, node) => sum + node.size, 0);
  const kept = bufferInput('kept', [size]);
  const replacements = new Map<Node, Node>();
  let offset = 0;
  for (const node of cut) {
    replacements.set(node, reshape(slice(kept, [offset], [node.size]), node.shape));
    offset += node.size;
  }
  const replaced = substitute(nodes, replacements);
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
    programs: read(own),
    more: read(Object.entries(more)),
  };
}
