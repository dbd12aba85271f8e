/**
 * Products of tensors. tfjs's matMul does not sum its gradient over batch dimensions that were
 * broadcast; einsum has none.
 */
import * as tf from '@tensorflow/tfjs';
import {single, size, sumTo} from './broadcast.js';

/**
 * C = op(A) op(B): Ā is C̄ op(B)ᵀ or, where A is transposed, op(B) C̄ᵀ; likewise B̄ is op(A)ᵀC̄ or C̄ᵀop(A). A second
 * transpose of B or A folds into the flags of matMul.
 */
const matMul: tf.GradConfig = {
  kernelName: tf.BatchMatMul,
  inputsToSave: ['a', 'b'],
  gradFunc: (dy, [a, b], {transposeA, transposeB}) => {
    const [c, ta, tb] = [single(dy), transposeA === true, transposeB === true];
    return {
      a: () => sumTo(ta ? tf.matMul(b, c, tb, true) : tf.matMul(c, b, false, !tb), a.shape),
      b: () => sumTo(tb ? tf.matMul(c, a, true, ta) : tf.matMul(a, c, !ta, false), b.shape),
    };
  },
};

interface Operand {
  labels: string;
  value: tf.Tensor;
}

/**
 * The cotangent of one operand contracts the output's cotangent with the other operands, down to this operand's labels.
 * A label that only this operand has was summed away: the cotangent is the same along it. One that only one of
 * the others has is summed first: tfjs's einsum is wrong where a sum runs over labels that are not shared.
 * (tfjs itself takes two operands at most; in a trace there may be more.)
 */
function einsumGradient(output: Operand, x: Operand, others: Operand[]): tf.Tensor {
  const contracted = [output, ...others.map((other, i) => summed(other, [output, x, ...without(others, i)]))];
  const known = [...x.labels].filter(label => contracted.some(({labels}) => labels.includes(label))).join('');
  const value = others.length === 0 ? reordered(output, known) : contraction(contracted, known);
  const shape = x.value.shape.map((n, axis) => (known.includes(x.labels[axis]) ? n : 1));
  const expanded = tf.reshape(value, shape);
  return size(shape) === x.value.size ? expanded : tf.mul(expanded, tf.ones(x.value.shape));
}

const without = (operands: Operand[], i: number): Operand[] => operands.filter((_, other) => other !== i);

const reordered = ({labels, value}: Operand, order: string): tf.Tensor =>
  tf.transpose(
    value,
    [...order].map(label => labels.indexOf(label)),
  );

const contraction = (operands: Operand[], result: string): tf.Tensor =>
  tf.einsum(`${operands.map(({labels}) => labels).join(',')}->${result}`, ...operands.map(({value}) => value));

/** Sums an operand over the labels that none of the `rest` has. */
function summed({labels, value}: Operand, rest: Operand[]): Operand {
  const keep = rest.map(other => other.labels).join('');
  const away = [...labels].flatMap((label, axis) => (keep.includes(label) ? [] : [axis]));
  return away.length === 0
    ? {labels, value}
    : {labels: [...labels].filter(label => keep.includes(label)).join(''), value: tf.sum(value, away)};
}

const einsum: tf.GradConfig = {
  kernelName: tf.Einsum,
  saveAllInputs: true,
  gradFunc: (dy, saved, attrs) => {
    const [inputs, labels] = (attrs.equation as string).replace(/\s/g, '').split('->');
    const output = {labels, value: single(dy)};
    const operands = inputs.split(',').map((term, i): Operand => ({labels: term, value: saved[i]}));
    return Object.fromEntries(
      operands.map((operand, i) => [i, () => einsumGradient(output, operand, without(operands, i))]),
    );
  },
};

export const product: readonly tf.GradConfig[] = [matMul, einsum];
