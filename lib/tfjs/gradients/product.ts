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
 * The cotangent of one operand contracts the output's cotangent with the other operand, down to this operand's labels.
 * A label that only this operand has was summed away: the cotangent is the same along it. One that only the other
 * has is summed first: tfjs's einsum is wrong where it has to sum several labels that are not shared.
 */
function einsumGradient(output: Operand, x: Operand, other: Operand | undefined): tf.Tensor {
  const known = [...x.labels].filter((label) => output.labels.includes(label) || other?.labels.includes(label)).join('');
  const contracted = other === undefined ? reordered(output, known) : contraction(output, summed(other, output.labels + x.labels), known);
  const shape = x.value.shape.map((n, axis) => (known.includes(x.labels[axis]) ? n : 1));
  const expanded = tf.reshape(contracted, shape);
  return size(shape) === x.value.size ? expanded : tf.mul(expanded, tf.ones(x.value.shape));
}

const reordered = ({labels, value}: Operand, order: string): tf.Tensor =>
  tf.transpose(value, [...order].map((label) => labels.indexOf(label)));

const contraction = (a: Operand, b: Operand, result: string): tf.Tensor =>
  tf.einsum(`${a.labels},${b.labels}->${result}`, a.value, b.value);

function summed({labels, value}: Operand, keep: string): Operand {
  const away = [...labels].flatMap((label, axis) => (keep.includes(label) ? [] : [axis]));
  return away.length === 0
    ? {labels, value}
    : {labels: [...labels].filter((label) => keep.includes(label)).join(''), value: tf.sum(value, away)};
}

const einsum: tf.GradConfig = {
  kernelName: tf.Einsum,
  saveAllInputs: true,
  gradFunc: (dy, saved, attrs) => {
    const [inputs, labels] = (attrs.equation as string).replace(/\s/g, '').split('->');
    const output = {labels, value: single(dy)};
    const operands = inputs.split(',').map((term, i): Operand => ({labels: term, value: saved[i]}));
    return Object.fromEntries(
      operands.map((operand, i) => [i, () => einsumGradient(output, operand, operands.find((_, other) => other !== i))]),
    );
  },
};

export const product: readonly tf.GradConfig[] = [matMul, einsum];
