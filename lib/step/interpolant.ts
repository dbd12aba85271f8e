/**
 * Values from a step's computation that its dense output needs, mainly the derivatives of its stages,
 * are computed by the update, as one vector in addition to the next state. Dense output is then a
 * function of that vector, and its cotangent is pulled back through the step with that of the next state, once
 * for all the states within the step.
 */
import {concat, reshape, slice} from '../graph/build.js';
import {hoist} from '../graph/hoist.js';
import type {Node} from '../graph/node.js';
import {isOp, topological} from '../graph/node.js';
import {simplifyNodes, replaceNodes} from '../graph/simplify.js';
import {countWork} from '../graph/work.js';
import {bufferInput} from './buffers.js';
import type {TracedStep} from './traced-step.js';

export interface Interpolant {
  /** [m], of the step's x, z, t, h and parameters. */
  readonly node: Node;
  /** The input by which dense output reads it. */
  readonly input: Node<'input'>;
}

/**
 * The update makes it in every step, and not every step is looked into: it may cost at most this share of
 * what dense output then need not compute again.
 */
const maxExtraWork = 0.5;

/** Dense output as a function of the step's own inputs alone. */
export const denseWithoutInterpolant = ({functions: {dense, inside}, inputs}: TracedStep): Node | undefined =>
  dense === undefined || inside === undefined || inputs.inside === undefined
    ? dense
    : replaceNodes([dense], new Map<Node, Node>([[inputs.inside, inside]]))[0];

const flat = (node: Node): Node => reshape(node, [node.size]);

/**
 * @param step the outputs of the update's program
 * @param changing the inputs of dense output that the update does not know: θ and the next state
 * @returns dense output as a function of `inside` too; as it is where that does not pay
 */
export function shareWithUpdate(
  dense: Node,
  step: readonly Node[],
  changing: readonly Node<'input'>[],
): {readonly dense: Node; readonly inside?: Interpolant} {
  const all = simplifyNodes([...step, dense]);
  const [updateOutputs, whole] = [all.slice(0, step.length), all[step.length]];
  const inputs = topological([whole]).filter(node => isOp(node, 'input'));
  const {before, each} = hoist(
    {inputs, outputs: [{name: 'D', node: whole}]},
    new Set(changing.map(node => node.attributes.name)),
    'inside.',
  );
  const parts = before.outputs.map(({node}) => node);
  const work = countWork(updateOutputs);
  const added = countWork([...updateOutputs, ...parts]) - work;
  const saved = countWork(parts) - added;
  if (parts.length === 0 || parts.some(({dtype}) => dtype !== 'float') || added > maxExtraWork * saved) return {dense};
  const total = parts.reduce((sum, {size}) => sum + size, 0);
  const vector = bufferInput('inside', [total]);
  let offset = 0;
  const places = new Map(
    parts.map(({shape, size}, i) => {
      offset += size;
      return [before.outputs[i].name, reshape(slice(vector, [offset - size], [size]), shape)] as const;
    }),
  );
  const replaced = new Map<Node, Node>(
    each.inputs.flatMap(node => {
      const place = places.get(node.attributes.name);
      return place === undefined ? [] : [[node, place] as const];
    }),
  );
  return {
    dense: replaceNodes([each.outputs[0].node], replaced)[0],
    inside: {node: concat(parts.map(flat), 0), input: vector},
  };
}
