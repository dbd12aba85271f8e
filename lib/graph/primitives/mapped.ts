/**
 * Functions of numbers that users define (trace/define-primitive.ts), element by element. A node has the function's
 * number in a list, not the function: so programs compare, and the key of one is text. Another thread has another list.
 */
import {addAll, mapped, mul} from '../build.js';
import type {Node} from '../node.js';
import {aligned} from './elementwise.js';
import type {Primitive} from './primitive.js';

export interface MappedFunction {
  readonly name: string;
  /** In double precision. */
  readonly value: (...x: number[]) => number;
  /** ∂y/∂xᵢ as a value of the graph, of the shape of y or a scalar; absent where it is zero. */
  readonly derivatives: readonly (((x: readonly Node[], y: Node) => Node) | undefined)[];
}

const functions: MappedFunction[] = [];

/** The number that nodes know the function by. */
export function addMapped(fn: MappedFunction): number {
  return functions.push(fn) - 1;
}

const functionOf = ({attributes: {fn}}: Node<'mapped'>): MappedFunction => functions[fn];

export const mappedPrimitive: Primitive<'mapped'> = {
  evaluate(node) {
    const {value} = functionOf(node);
    if (node.operands.length === 1) {
      return ([x], out) => {
        for (let i = 0; i < out.length; i++) out[i] = value(x[i]);
      };
    }
    if (node.operands.length === 2) {
      return ([x, y], out) => {
        for (let i = 0; i < out.length; i++) out[i] = value(x[i], y[i]);
      };
    }
    const arguments_ = node.operands.map(() => 0);
    return (operands, out) => {
      for (let i = 0; i < out.length; i++) {
        for (let k = 0; k < arguments_.length; k++) arguments_[k] = operands[k][i];
        out[i] = value(...arguments_);
      }
    };
  },
  tangent(node, tangents) {
    const {derivatives} = functionOf(node);
    return addAll(
      tangents.map((dx, k) => {
        const derivative = dx === undefined ? undefined : derivatives[k]?.(node.operands, node);
        if (dx === undefined || derivative === undefined) return undefined;
        return mul(derivative, dx);
      }),
    );
  },
  dependence: (node, operand) => (functionOf(node).derivatives[operand] === undefined ? 'none' : 'same'),
  batch: (node, operands, batched, size) => mapped(node.attributes.fn, aligned(operands, batched, size)),
};
