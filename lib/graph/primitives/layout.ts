/** Primitives that move numbers without changing them: linear, each the transpose of another. */
import {
  broadcastTo,
  concat,
  operandTable,
  place,
  rebuild,
  reshape,
  slice,
  sliceTable,
  sum,
  transpose,
  zeros,
} from '../build.js';
import type {Node, Op} from '../node.js';
import {stridesOf} from '../node.js';
import type {Kernel, Primitive} from './primitive.js';
import {rowsFromTable, rowsIntoTable} from './primitive.js';

/** The tangent of a linear map of one operand is the map of the tangent. */
const ofTangent = <O extends Op>(node: Node<O>, [dx]: readonly (Node | undefined)[]): Node | undefined =>
  dx === undefined ? undefined : rebuild(node, [dx]);

function copyThrough(table: Int32Array): Kernel {
  return ([x], out) => {
    for (let i = 0; i < out.length; i++) out[i] = x[table[i]];
  };
}

export const reshapePrimitive: Primitive<'reshape'> = {
  evaluate:
    () =>
    ([x], out) =>
      out.set(x),
  tangent: ofTangent,
  transpose: (node, cotangent) => [reshape(cotangent, node.operands[0].shape)],
  dependence: () => 'same',
  batch: (node, [x], _, size) => reshape(x, [size, ...node.shape]),
};

export const transposePrimitive: Primitive<'transpose'> = {
  evaluate: node => copyThrough(operandTable(node)),
  tangent: ofTangent,
  transpose(node, cotangent) {
    const inverse = new Array<number>(node.shape.length);
    node.attributes.permutation.forEach((axis, i) => (inverse[axis] = i));
    return [transpose(cotangent, inverse)];
  },
  dependence: node => rowsFromTable(operandTable(node)),
  batch: (node, [x]) => transpose(x, [0, ...node.attributes.permutation.map(axis => axis + 1)]),
};

export const broadcastPrimitive: Primitive<'broadcast'> = {
  evaluate(node) {
    if (node.operands[0].size === 1) {
      return ([x], out) => {
        for (let i = 0; i < out.length; i++) out[i] = x[0];
      };
    }
    return copyThrough(operandTable(node));
  },
  tangent: ofTangent,
  transpose(node, cotangent) {
    const {shape} = node.operands[0];
    const axes = node.shape.map((_, axis) => axis).filter(axis => shape[axis] !== node.shape[axis]);
    return [reshape(sum(cotangent, axes), shape)];
  },
  dependence: node => rowsFromTable(operandTable(node)),
  batch: (node, [x], _, size) => broadcastTo(x, [size, ...node.shape]),
};

export const slicePrimitive: Primitive<'slice'> = {
  evaluate: node => copyThrough(operandTable(node)),
  tangent: ofTangent,
  transpose: (node, cotangent) => [
    place(cotangent, node.attributes.begin, node.operands[0].shape, node.attributes.strides),
  ],
  dependence: node => rowsFromTable(operandTable(node)),
  batch: (node, [x], _, size) =>
    slice(x, [0, ...node.attributes.begin], [size, ...node.shape], [1, ...node.attributes.strides]),
};

const placeTable = (node: Node<'place'>): Int32Array =>
  sliceTable(node.operands[0].shape, node.attributes, stridesOf(node.shape));

export const placePrimitive: Primitive<'place'> = {
  evaluate(node) {
    const table = placeTable(node);
    return ([x], out) => {
      out.fill(0);
      for (let i = 0; i < table.length; i++) out[table[i]] = x[i];
    };
  },
  tangent: ofTangent,
  transpose: (node, cotangent) => [
    slice(cotangent, node.attributes.begin, node.operands[0].shape, node.attributes.strides),
  ],
  dependence: node => rowsIntoTable(placeTable(node), node.size),
  batch: (node, [x], _, size) =>
    place(x, [0, ...node.attributes.begin], [size, ...node.shape], [1, ...node.attributes.strides]),
};

/** Where each part of a concatenation begins along its axis. */
function partBegins(node: Node<'concat'>): number[] {
  const begins: number[] = [];
  let at = 0;
  for (const part of node.operands) {
    begins.push(at);
    at += part.shape[node.attributes.axis];
  }
  return begins;
}

function partTable(node: Node<'concat'>, operand: number): Int32Array {
  const {axis} = node.attributes;
  const begin = node.shape.map((_, i) => (i === axis ? partBegins(node)[operand] : 0));
  return sliceTable(node.operands[operand].shape, {begin, strides: begin.map(() => 1)}, stridesOf(node.shape));
}

export const concatPrimitive: Primitive<'concat'> = {
  evaluate(node) {
    const {axis} = node.attributes;
    const inner = stridesOf(node.shape)[axis];
    const widths = node.operands.map(part => part.shape[axis] * inner);
    const width = node.shape[axis] * inner;
    const blocks = node.size / width;
    return (parts, out) => {
      let offset = 0;
      for (let k = 0; k < parts.length; k++) {
        const part = parts[k];
        const w = widths[k];
        for (let block = 0; block < blocks; block++) {
          const to = block * width + offset;
          for (let i = 0; i < w; i++) out[to + i] = part[block * w + i];
        }
        offset += w;
      }
    };
  },
  tangent(node, tangents) {
    if (tangents.every(tangent => tangent === undefined)) return undefined;
    return concat(
      tangents.map((tangent, k) => tangent ?? zeros(node.operands[k].shape)),
      node.attributes.axis,
    );
  },
  transpose(node, cotangent, linear) {
    const begins = partBegins(node);
    return node.operands.map((part, k) =>
      linear[k]
        ? slice(
            cotangent,
            part.shape.map((_, axis) => (axis === node.attributes.axis ? begins[k] : 0)),
            part.shape,
          )
        : undefined,
    );
  },
  dependence: (node, operand) => rowsIntoTable(partTable(node, operand), node.size),
  batch: (node, operands, batched, size) =>
    concat(
      operands.map((part, k) => (batched[k] ? part : broadcastTo(part, [size, ...part.shape]))),
      node.attributes.axis + 1,
    ),
};
