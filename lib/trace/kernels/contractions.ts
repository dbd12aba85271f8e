/** Products of matrices, with a batch or fused into a layer, and sums of products in index notation. */
import type * as tf from '@tensorflow/tfjs';
import {ShapeError} from '../../errors.js';
import {add, broadcastShapes, broadcastTo, cast, matMul, mul, reshape, sum, transpose} from '../../graph/build.js';
import {viewGather} from '../positions.js';
import type {Node} from '../../graph/node.js';
import {sizeOf, stridesOf} from '../../graph/node.js';
import type {Binary, Lowerings} from '../lowering.js';
import {lower, lowerList} from '../lowering.js';
import {activate} from './activations.js';

/** The last two axes are matrices, the others a batch, which broadcasts. */
function product(a: Node, b: Node, transposeA: boolean, transposeB: boolean): Node {
  const [batchA, batchB] = [a.shape.slice(0, -2), b.shape.slice(0, -2)];
  const [rowsA, columnsA] = a.shape.slice(-2);
  const [rowsB, columnsB] = b.shape.slice(-2);
  const m = transposeA ? columnsA : rowsA;
  const n = transposeB ? rowsB : columnsB;
  if ((transposeA ? rowsA : columnsA) !== (transposeB ? columnsB : rowsB)) {
    throw new ShapeError(
      'shape-mismatch',
      `matMul: shapes [${a.shape.join(', ')}] and [${b.shape.join(', ')}] do not fit.`,
      {shapes: [[...a.shape], [...b.shape]]},
    );
  }
  const batch = broadcastShapes(batchA, batchB);
  const size = sizeOf(batch);
  // A whole batch times one matrix is one tall product.
  if (!transposeA && sizeOf(batchB) === 1 && size > 1) {
    return reshape(matMul(reshape(a, [1, size * m, columnsA]), reshape(b, [1, rowsB, columnsB]), false, transposeB), [
      ...batch,
      m,
      n,
    ]);
  }
  const left = reshape(broadcastTo(a, [...batch, rowsA, columnsA]), [size, rowsA, columnsA]);
  const right = reshape(broadcastTo(b, [...batch, rowsB, columnsB]), [size, rowsB, columnsB]);
  return reshape(matMul(left, right, transposeA, transposeB), [...batch, m, n]);
}

/** A value whose axes have names. */
interface Labelled {
  readonly node: Node;
  readonly labels: readonly string[];
}

interface Equation {
  readonly inputs: readonly (readonly string[])[];
  readonly output: readonly string[];
}

const ellipsis = '...';

/** `ij,jk->ik`; axes under an ellipsis get labels of their own, counted from the right. */
function parse(equation: string, ranks: readonly number[]): Equation {
  const [left, right] = equation.replace(/\s/g, '').split('->');
  const terms = left.split(',');
  if (terms.length !== ranks.length)
    throw new ShapeError('einsum', `einsum '${equation}' has ${terms.length} terms for ${ranks.length} tensors.`);
  const hidden = terms.map((term, i) => (term.includes(ellipsis) ? ranks[i] - (term.length - ellipsis.length) : 0));
  const expand = (term: string, count: number): string[] => {
    const [before, after] = term.split(ellipsis);
    if (after === undefined) return [...before];
    return [...before, ...Array.from({length: count}, (_, i) => `.${count - i}`), ...after];
  };
  const inputs = terms.map((term, i) => expand(term, hidden[i]));
  inputs.forEach((labels, i) => {
    if (labels.length !== ranks[i])
      throw new ShapeError(
        'einsum',
        `einsum '${equation}': term '${terms[i]}' names ${labels.length} axes of a tensor with ${ranks[i]}.`,
      );
  });
  const output = right === undefined ? implicitOutput(inputs) : expand(right, Math.max(...hidden));
  const unknown = output.find(label => !inputs.some(labels => labels.includes(label)));
  if (unknown !== undefined)
    throw new ShapeError('einsum', `einsum '${equation}': the result's label '${unknown}' is in no term.`);
  return {inputs, output};
}

/** Without an arrow: the axes under the ellipsis, then the labels that appear once, in alphabetical order. */
function implicitOutput(inputs: readonly (readonly string[])[]): string[] {
  const all = inputs.flat();
  const hidden = [...new Set(all.filter(label => label.startsWith('.')))].sort().reverse();
  const once = all.filter(label => !label.startsWith('.') && all.indexOf(label) === all.lastIndexOf(label)).sort();
  return [...hidden, ...once];
}

/** Takes the diagonal of axes that share a label, and drops axes of size 1 that another term stretches. */
function prepare(node: Node, labels: readonly string[], sizes: ReadonlyMap<string, number>): Labelled {
  const kept = labels.filter(
    (label, i) => labels.indexOf(label) === i && (node.shape[i] !== 1 || sizes.get(label) === 1),
  );
  const shape = kept.map(label => sizes.get(label) ?? 1);
  if (new Set(labels).size === labels.length) return {node: reshape(node, shape), labels: kept};
  const strides = stridesOf(node.shape);
  const steps = kept.map(label =>
    labels.reduce((step, other, axis) => (other === label ? step + strides[axis] : step), 0),
  );
  return {node: viewGather(node, shape, steps), labels: kept};
}

function sizesOf(parts: readonly Node[], {inputs}: Equation, equation: string): Map<string, number> {
  const sizes = new Map<string, number>();
  inputs.forEach((labels, i) =>
    labels.forEach((label, axis) => {
      const size = parts[i].shape[axis];
      const known = sizes.get(label);
      const stretches = label.startsWith('.') && (size === 1 || known === 1);
      if (known !== undefined && known !== size && !stretches)
        throw new ShapeError('einsum', `einsum '${equation}': '${label}' is ${known} and ${size}.`);
      sizes.set(label, Math.max(known ?? 1, size));
      if (size === 0) sizes.set(label, 0);
    }),
  );
  return sizes;
}

/** Sums over the axes whose labels nobody needs. */
function reduceTo({node, labels}: Labelled, needed: ReadonlySet<string>): Labelled {
  const axes = labels.map((_, axis) => axis).filter(axis => !needed.has(labels[axis]));
  return {node: sum(node, axes), labels: labels.filter(label => needed.has(label))};
}

function arrange({node, labels}: Labelled, order: readonly string[]): Node {
  return transpose(
    node,
    order.map(label => labels.indexOf(label)),
  );
}

/** Two terms into one: a product over shared axes, a sum over those nobody needs after it. */
function contract(a: Labelled, b: Labelled, needed: ReadonlySet<string>): Labelled {
  const shared = a.labels.filter(label => b.labels.includes(label));
  const batch = shared.filter(label => needed.has(label));
  const contracted = shared.filter(label => !needed.has(label));
  const freeA = a.labels.filter(label => !shared.includes(label));
  const freeB = b.labels.filter(label => !shared.includes(label));
  if (contracted.length === 0 || (freeA.length === 0 && freeB.length === 0)) {
    const labels = [...batch, ...freeA, ...freeB, ...contracted];
    return reduceTo({node: mul(spread(a, labels), spread(b, labels)), labels}, needed);
  }
  const size = (labels: readonly string[], {node, labels: all}: Labelled): number =>
    labels.reduce((total, label) => total * node.shape[all.indexOf(label)], 1);
  const [count, m, n, k] = [size(batch, a), size(freeA, a), size(freeB, b), size(contracted, a)];
  const stored = [...batch, ...freeB, ...contracted];
  const transposed = stored.every((label, axis) => b.labels[axis] === label);
  const left = reshape(arrange(a, [...batch, ...freeA, ...contracted]), [count, m, k]);
  const right = transposed
    ? reshape(b.node, [count, n, k])
    : reshape(arrange(b, [...batch, ...contracted, ...freeB]), [count, k, n]);
  const shape = [
    ...batch.map(label => a.node.shape[a.labels.indexOf(label)]),
    ...freeA.map(label => a.node.shape[a.labels.indexOf(label)]),
    ...freeB.map(label => b.node.shape[b.labels.indexOf(label)]),
  ];
  return {node: reshape(matMul(left, right, false, transposed), shape), labels: [...batch, ...freeA, ...freeB]};
}

/** With an axis of size 1 for every label the value does not have. */
function spread(value: Labelled, labels: readonly string[]): Node {
  const own = labels.filter(label => value.labels.includes(label));
  const arranged = arrange(value, own);
  return reshape(
    arranged,
    labels.map(label => (own.includes(label) ? arranged.shape[own.indexOf(label)] : 1)),
  );
}

/** Terms are contracted from left to right. */
export function einsum(parts: readonly Node[], text: string): Node {
  const equation = parse(
    text,
    parts.map(part => part.shape.length),
  );
  const sizes = sizesOf(parts, equation, text);
  const terms = parts.map((part, i) => prepare(cast(part, 'float'), equation.inputs[i], sizes));
  const neededAfter = (i: number): Set<string> =>
    new Set([...equation.output, ...terms.slice(i + 1).flatMap(term => term.labels)]);
  const others = (i: number): Set<string> =>
    new Set([...equation.output, ...terms.flatMap((term, j) => (j === i ? [] : term.labels))]);
  const reduced = terms.map((term, i) => reduceTo(term, others(i)));
  let result = reduced[0];
  for (let i = 1; i < reduced.length; i++) result = contract(result, reduced[i], neededAfter(i));
  const final = reduceTo(result, new Set(equation.output));
  const present = equation.output.filter(label => final.labels.includes(label));
  const shape = equation.output.map(label => sizes.get(label) ?? 1);
  const aligned = reshape(
    arrange(final, present),
    equation.output.map((label, axis) => (present.includes(label) ? shape[axis] : 1)),
  );
  return broadcastTo(aligned, shape);
}

interface FusedInputs extends Binary {
  readonly bias?: Node;
  readonly preluActivationWeights?: Node;
}

export const contractions: Lowerings = {
  BatchMatMul: lower<Binary, tf.BatchMatMulAttrs>(({a, b}, {transposeA, transposeB}) =>
    product(a, b, transposeA, transposeB),
  ),
  _FusedMatMul: lower<FusedInputs, tf._FusedMatMulAttrs>(
    ({a, b, bias, preluActivationWeights}, {transposeA, transposeB, activation, leakyreluAlpha}) => {
      const linear = product(a, b, transposeA, transposeB);
      return activate(
        bias === undefined ? linear : add(linear, bias),
        activation,
        preluActivationWeights,
        leakyreluAlpha,
      );
    },
  ),
  Einsum: lowerList<tf.EinsumAttrs>((parts, {equation}) => einsum(parts, equation)),
};
