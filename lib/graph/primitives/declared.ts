/**
 * A value with a declared derivative (tf.customGrad). The declaration is a program, cotangent → gradients
 * of the arguments, whose other operands are values of the graph around it: so it is differentiated,
 * batched and simplified like all else, and derivatives of any order follow. What is declared is the
 * transposed derivative; the derivative along a direction is its transpose in turn. Where the gradients are
 * not linear in the cotangent (a clipped gradient) there is none: the tangent is then a node that can be
 * transposed, which gives the declaration back, and nothing else. Engines see the value alone.
 */
import {make} from '../build/make.js';
import {uniformValue, zeros} from '../build.js';
import {declarationOf, notLinear} from '../declarations.js';
import {dependents, transposeLinear} from '../differentiate.js';
import {aligned} from './elementwise.js';
import type {Node} from '../node.js';
import {isOp, topological} from '../node.js';
import {substitute} from '../simplify.js';
import type {Primitive} from './primitive.js';
import {rows} from './primitive.js';

/** Whether outputs are linear in one node, sums with what does not depend on it excluded; by rule, without values. */
function isLinearIn(outputs: readonly Node[], of: Node): boolean {
  const depends = dependents(outputs, [of]);
  const without = (node: Node): boolean => depends.has(node) || uniformValue(node) === 0;
  return outputs.every(without) && topological(outputs).every(node => {
    if (node === of || !depends.has(node)) return true;
    const [a, b] = node.operands;
    switch (node.op) {
      case 'unary': return isOp(node, 'unary') && node.attributes.fn === 'neg';
      case 'binary': {
        const fn = isOp(node, 'binary') ? node.attributes.fn : undefined;
        if (fn === 'add' || fn === 'sub') return node.operands.every(without);
        return fn === 'mul' ? !(depends.has(a) && depends.has(b)) : fn === 'div' && !depends.has(b);
      }
      case 'select': return !depends.has(a) && node.operands.slice(1).every(without);
      case 'concat': return node.operands.every(without);
      case 'matMul': return !(depends.has(a) && depends.has(b));
      case 'solve': case 'triangularSolve': return !depends.has(a);
      case 'gatherAt': case 'scatterAt': return !depends.has(b);
      case 'reshape': case 'transpose': case 'broadcast': case 'slice': case 'place': case 'gather': case 'scatter': case 'sum': case 'cumsum':
        return node.dtype === 'float';
      default: return false;
    }
  });
}

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
    if (isLinearIn(gradients, cotangent)) return transposeLinear(gradients, [cotangent], moving)[0];
    return make('declared', [value, ...args.map((arg, i) => moving[i] ?? zeros(arg.shape)), cotangent, ...gradients], {as: 'tangent'}, node.shape, 'float');
  },
  transpose(node, given, linear) {
    const {args, cotangent, gradients} = declarationOf(node);
    const found = substitute(gradients, new Map([[cotangent, given]]));
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
