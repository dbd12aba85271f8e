/**
 * A value with a declared derivative (tf.customGrad). The declaration is a program, cotangent → gradients
 * of the arguments, whose other operands are values of the graph around it: so it is differentiated,
 * batched and simplified like all else, and derivatives of any order follow. What is declared is the
 * transposed derivative; the derivative along a direction is its transpose in turn. Where the gradients are
 * not linear in the cotangent (a clipped gradient) there is none. The tangent is a node that can be transposed,
 * which gives the declaration back, and nothing else; where the declaration is linear, differentiate.ts puts its
 * transpose in that node's place. Engines see the value alone.
 */
import {make} from '../build/make.js';
import {zeros} from '../build.js';
import {declarationOf, notLinear} from '../declarations.js';
import {aligned} from './elementwise.js';
import {replaceNodes} from '../replace-nodes.js';
import type {Primitive} from './primitive.js';
import {rows} from './primitive.js';

export const declaredPrimitive: Primitive<'declared'> = {
  evaluate(node) {
    if (node.attributes.as === 'tangent') throw notLinear();
    return ([value], out) => out.set(value);
  },
  tangent(node, tangents) {
    if (node.attributes.as === 'tangent') throw notLinear();
    const {value, args, cotangent, gradients} = declarationOf(node);
    const moving = tangents.slice(1, args.length + 1);
    if (moving.every(tangent => tangent === undefined)) return undefined;
    return make(
      'declared',
      [value, ...args.map((arg, i) => moving[i] ?? zeros(arg.shape)), cotangent, ...gradients],
      {as: 'tangent'},
      node.shape,
      'float',
    );
  },
  transpose(node, given, linear) {
    const {args, cotangent, gradients} = declarationOf(node);
    const found = replaceNodes(gradients, new Map([[cotangent, given]]));
    return node.operands.map((_, i) => (i > 0 && i <= args.length && linear[i] ? found[i - 1] : undefined));
  },
  /** Every element may depend on every element of an argument; the value's own dependence is no derivative. */
  dependence(node, operand) {
    if (node.attributes.as === 'tangent') throw notLinear();
    const {args} = declarationOf(node);
    if (operand === 0) return 'same';
    if (operand > args.length) return 'none';
    return rows(node.size, (_, push) => {
      for (let k = 0; k < node.operands[operand].size; k++) push(k);
    });
  },
  batch(node, operands, batched, size) {
    if (node.attributes.as === 'tangent') throw notLinear();
    return make('declared', aligned(operands, batched, size), node.attributes, [size, ...node.shape], node.dtype);
  },
};
