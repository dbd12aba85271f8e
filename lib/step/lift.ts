/**
 * Newton's matrix of a residual with declared intermediate values w(z) (trace/lifted.ts). R(z) is G(z, w) with E(z, w)
 * = 0: by z alone ∂R/∂z = G_z − G_w E_w⁻¹ E_z may be full where all four blocks of [G_z G_w; E_z E_w] are sparse.
 * Eliminating w from that extended matrix gives the same corrections (Coleman & Verma, Structure and efficient Jacobian
 * calculation, 1996). The values are computed from z, so that E = 0 at every iterate: Newton's iteration and its
 * tolerances see z alone.
 */
import {concat, input, reshape, slice} from '../graph/build.js';
import {dependents} from '../graph/differentiate.js';
import type {Node, Output} from '../graph/node.js';
import {replaceNodes} from '../graph/replace-nodes.js';
import type {Lift} from '../trace/lifts.js';
import type {Trace} from '../trace/trace.js';
import type {JacobianProgram} from './jacobian-program.js';
import {jacobianProgram} from './jacobian-program.js';
import type {TracedStep} from './traced-step.js';

/** Functions of a step, and the input that `extended` is a function of in place of z. */
export interface ExtendedSystem {
  readonly outputs: readonly Output[];
  readonly unknowns: Node<'input'>;
}

/**
 * `intermediate`, w(z), and `extended`, G and E as functions of the input `unknowns`, z and w one after the other.
 * @param trace with outputs `residual` and perhaps `frozen`, of an input `z`
 * @returns undefined where the residual reads no such values, or begins with another residual
 */
export function extendedOutputs({graph, lifted}: Trace): ExtendedSystem | undefined {
  const residual = lifted?.outputs.find(({name}) => name === 'residual')?.node;
  const z = graph.inputs.find(node => node.attributes.name === 'z');
  if (lifted === undefined || residual === undefined || z === undefined) return undefined;
  if (graph.outputs.some(({name}) => name === 'frozen')) return undefined;
  const moving = dependents(
    lifted.lifts.map(({value}) => value),
    [z],
  );
  const read = readBy(residual, lifted.lifts);
  const lifts = read.filter(({value}) => moving.has(value));
  if (lifts.length === 0) return undefined;
  const unknowns = input('unknowns', [lifts.reduce((sum, {value}) => sum + value.size, z.size)]);
  const replaced = new Map<Node, Node>([[z, slice(unknowns, [0], [z.size])]]);
  for (const {value, unknown} of read) if (!moving.has(value)) replaced.set(unknown, value);
  let offset = z.size;
  for (const {value, unknown} of lifts) {
    replaced.set(unknown, reshape(slice(unknowns, [offset], [value.size]), value.shape));
    offset += value.size;
  }
  const equations = replaceNodes([residual, ...lifts.map(({equation}) => equation)], replaced);
  return {
    unknowns,
    outputs: [
      {name: 'intermediate', node: joined(lifts.map(({value}) => value))},
      {name: 'extended', node: joined(equations)},
    ],
  };
}

const joined = (nodes: readonly Node[]): Node =>
  concat(
    nodes.map(node => reshape(node, [node.size])),
    0,
  );

/** The values that the residual reads, and those that their equations read. */
function readBy(residual: Node, lifts: readonly Lift[]): Lift[] {
  const ofUnknown = new Map<Node, Lift>(lifts.map(lift => [lift.unknown, lift]));
  const found = new Set<Lift>();
  const seen = new Set<Node>();
  const stack = [residual];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    stack.push(...node.operands);
    const lift = ofUnknown.get(node);
    if (lift === undefined) continue;
    found.add(lift);
    stack.push(lift.equation);
  }
  return lifts.filter(lift => found.has(lift));
}

/** The extended matrix as a function of z; undefined without intermediate values. */
export function extendedJacobian({
  functions: {extended, intermediate},
  inputs: {z, unknowns},
  isInitialStep,
}: TracedStep): JacobianProgram | undefined {
  if (extended === undefined || intermediate === undefined || unknowns === undefined) return undefined;
  const {values, tangent, pattern, ...program} = jacobianProgram(extended, unknowns, {once: isInitialStep});
  const nodes = replaceNodes(
    tangent === undefined ? [values] : [values, tangent],
    new Map([[unknowns, concat([z, intermediate], 0)]]),
  );
  return {...program, values: nodes[0], tangent: nodes[1], pattern: {...pattern, schurSize: z.size}};
}
