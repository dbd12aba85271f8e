/**
 * Newton's matrix of a residual with declared intermediate values w(z) (trace/lifted.ts). R(z) is G(z, w) with E(z, w) = 0:
 * by z alone ∂R/∂z = G_z − G_w E_w⁻¹ E_z may be full where all four blocks of [G_z G_w; E_z E_w] are sparse. Eliminating w from
 * that extended matrix gives the same corrections (Coleman & Verma, Structure and efficient Jacobian calculation, 1996).
 * The values are computed from z, so that E = 0 at every iterate: Newton's iteration and its tolerances see z alone.
 */
import {concat, input, reshape, slice} from '../graph/build.js';
import {dependents} from '../graph/differentiate.js';
import type {Node, Output} from '../graph/node.js';
import {substitute} from '../graph/substitute.js';
import type {Trace} from '../trace/trace.js';
import type {JacobianProgram} from './jacobian-program.js';
import {jacobianProgram} from './jacobian-program.js';
import type {TracedStep} from './traced-step.js';

/** A value, what stands for it in equations, and its own equation. */
interface Lift {
  readonly value: Node;
  readonly unknown: Node;
  readonly equation: Node;
}

/** Functions of a step, and the input that `extended` is a function of in place of z. */
export interface Extended {
  readonly outputs: readonly Output[];
  readonly unknowns: Node<'input'>;
}

/**
 * `intermediate`, w(z), and `extended`, G and E as functions of the input `unknowns`, z and w one after the other.
 * @param trace with outputs `residual` and perhaps `frozen`, of an input `z`
 * @returns undefined where the residual reads no such values, or begins with another residual
 */
export function extendedOutputs({graph, lifted = []}: Trace): Extended | undefined {
  const outputOf = (name: string): Node | undefined => graph.outputs.find(output => output.name === name)?.node;
  const residual = outputOf('residual');
  const z = graph.inputs.find(node => node.attributes.name === 'z');
  if (lifted.length === 0 || residual === undefined || z === undefined || outputOf('frozen') !== undefined)
    return undefined;
  const lifts = liftsOf(lifted, residual, z);
  if (lifts.length === 0) return undefined;
  const unknowns = input('unknowns', [lifts.reduce((sum, {value}) => sum + value.size, z.size)]);
  const replaced = new Map<Node, Node>([[z, slice(unknowns, [0], [z.size])]]);
  let offset = z.size;
  for (const {value, unknown} of lifts) {
    const node = reshape(slice(unknowns, [offset], [value.size]), value.shape);
    replaced.set(value, node).set(unknown, node);
    offset += value.size;
  }
  const equations = substitute([residual, ...lifts.map(({equation}) => equation)], replaced);
  return {
    unknowns,
    outputs: [
      {name: 'intermediate', node: concat(lifts.map(({value}) => flat(value)), 0)}, // prettier-ignore
      {name: 'extended', node: concat(equations.map(flat), 0)},
    ],
  };
}

const flat = (node: Node): Node => reshape(node, [node.size]);

/** The values that the residual reads, and those that their equations read, where they depend on z. */
function liftsOf(lifted: NonNullable<Trace['lifted']>, residual: Node, z: Node): Lift[] {
  const all = lifted.flatMap(({values, unknowns, equations}) =>
    values.map((value, i): Lift => ({value, unknown: unknowns[i], equation: equations[i]})),
  );
  const moving = dependents(
    all.map(({value}) => value),
    [z],
  );
  const known = new Map<Node, Lift>();
  for (const lift of all)
    if (moving.has(lift.value) && lift.value !== z) known.set(lift.value, lift).set(lift.unknown, lift);
  const found = new Set<Lift>();
  const seen = new Set<Node>();
  const stack = [residual];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    const lift = known.get(node);
    if (lift === undefined) stack.push(...node.operands);
    else if (!found.has(lift)) {
      found.add(lift);
      stack.push(lift.equation);
    }
  }
  return all.filter(lift => found.has(lift));
}

/** The extended matrix as a function of z; undefined without intermediate values. */
export function extendedJacobian({
  functions: {extended, intermediate},
  inputs: {z, unknowns},
}: TracedStep): JacobianProgram | undefined {
  if (extended === undefined || intermediate === undefined || unknowns === undefined) return undefined;
  const {values, tangent, pattern, ...program} = jacobianProgram(extended, unknowns);
  const nodes = substitute(
    tangent === undefined ? [values] : [values, tangent],
    new Map([[unknowns, concat([z, intermediate], 0)]]),
  );
  return {...program, values: nodes[0], tangent: nodes[1], pattern: {...pattern, own: z.size}};
}
