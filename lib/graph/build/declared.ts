/** A value whose derivative is declared, not derived: what tf.customGrad says. */
import type {Node} from '../node.js';
import {sameShape} from '../node.js';
import {input, make, mismatch} from './make.js';

/**
 * @param gradients of the arguments for a cotangent of the value, one each; what they are made of is differentiated in
 * turn
 * @throws {ShapeError} where a gradient has not the shape of its argument
 */
export function declared(
  value: Node,
  args: readonly Node[],
  gradients: (cotangent: Node<'input'>) => readonly Node[],
): Node<'declared'> {
  // Told apart from others by identity, as all inputs are.
  const cotangent = input('cotangent', value.shape);
  const found = gradients(cotangent);
  found.forEach((gradient, i) => {
    if (!sameShape(gradient.shape, args[i].shape))
      throw mismatch(`The gradient declared for argument ${i} and the argument`, gradient, args[i]);
  });
  return make('declared', [value, ...args, cotangent, ...found], {as: 'value'}, value.shape, value.dtype);
}
