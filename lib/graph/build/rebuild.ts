/** The generic constructor. */
import type {Node} from '../node.js';
import {isOp} from '../node.js';
import {matMul} from './algebra.js';
import {binary, select, unary} from './elementwise.js';
import {gather, scatter} from './indexing.js';
import {make} from './make.js';
import {sum} from './reductions.js';
import {broadcastTo, concat, place, relabel, reshape, slice, transpose} from './shapes.js';

/** A primitive on other operands of equal shapes, through the constructors. */
export function rebuild(node: Node, operands: readonly Node[]): Node {
  const [a, b, c] = operands;
  const built = ((): Node => {
    if (isOp(node, 'unary')) return unary(node.attributes.fn, a);
    if (isOp(node, 'binary')) return binary(node.attributes.fn, a, b);
    if (isOp(node, 'slice')) return slice(a, node.attributes.begin, node.shape, node.attributes.strides);
    if (isOp(node, 'place')) return place(a, node.attributes.begin, node.shape, node.attributes.strides);
    if (isOp(node, 'transpose')) return transpose(a, node.attributes.permutation);
    if (isOp(node, 'concat')) return concat(operands, node.attributes.axis);
    if (isOp(node, 'gather')) return gather(a, node.attributes.table, node.shape);
    if (isOp(node, 'scatter')) return scatter(a, node.attributes.table, node.shape);
    if (isOp(node, 'sum')) return sum(a, node.attributes.axes);
    if (isOp(node, 'matMul')) return matMul(a, b, node.attributes.transposeA, node.attributes.transposeB);
    switch (node.op) {
      case 'select':
        return select(a, b, c);
      case 'reshape':
        return reshape(a, node.shape);
      case 'broadcast':
        return broadcastTo(a, node.shape);
      default:
        return make(node.op, operands, node.attributes, node.shape, node.dtype);
    }
  })();
  return relabel(built, node.dtype);
}

/** A node's operands by a function; undefined where all stay, and no other node is needed. */
export function otherOperands({operands}: Node, of: (operand: Node) => Node): Node[] | undefined {
  let others: Node[] | undefined;
  for (let i = 0; i < operands.length; i++) {
    const operand = of(operands[i]);
    if (operand !== operands[i]) (others ??= operands.slice())[i] = operand;
  }
  return others;
}
