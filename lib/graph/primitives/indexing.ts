/** Access by position: through tables known beforehand, and through positions the program computes. */
import {
  add,
  binary,
  broadcastTo,
  constant,
  gather,
  gatherAt,
  rebuild,
  scalar,
  scatter,
  scatterAt,
  select,
} from '../build.js';
import type {Node, Op} from '../node.js';
import type {Primitive, CompressedRows} from './primitive.js';
import {evenRows, rowsFromTable, rowsIntoTable} from './primitive.js';

const ofTangent = <O extends Op>(node: Node<O>, [dx]: readonly (Node | undefined)[]): Node | undefined =>
  dx === undefined ? undefined : rebuild(node, [dx, ...node.operands.slice(1)]);

/** The table for `size` copies of a map, one after another. */
function repeatedTable(table: Int32Array, size: number, stride: number): Int32Array {
  const repeated = new Int32Array(table.length * size);
  for (let s = 0; s < size; s++) {
    for (let i = 0; i < table.length; i++) repeated[s * table.length + i] = table[i] < 0 ? -1 : table[i] + s * stride;
  }
  return repeated;
}

export const gatherPrimitive: Primitive<'gather'> = {
  evaluate(node) {
    const {table} = node.attributes;
    return ([x], out) => {
      for (let i = 0; i < out.length; i++) {
        const at = table[i];
        out[i] = at < 0 ? 0 : x[at];
      }
    };
  },
  tangent: ofTangent,
  transpose: (node, cotangent) => [scatter(cotangent, node.attributes.table, node.operands[0].shape)],
  dependence: node => rowsFromTable(node.attributes.table),
  batch: (node, [x], _, size) =>
    gather(x, repeatedTable(node.attributes.table, size, node.operands[0].size), [size, ...node.shape]),
};

export const scatterPrimitive: Primitive<'scatter'> = {
  evaluate(node) {
    const {table} = node.attributes;
    return ([x], out) => {
      out.fill(0);
      for (let i = 0; i < table.length; i++) {
        const at = table[i];
        if (at >= 0) out[at] += x[i];
      }
    };
  },
  tangent: ofTangent,
  transpose: (node, cotangent) => [gather(cotangent, node.attributes.table, node.operands[0].shape)],
  dependence: node => rowsIntoTable(node.attributes.table, node.size),
  batch: (node, [x], _, size) =>
    scatter(x, repeatedTable(node.attributes.table, size, node.size), [size, ...node.shape]),
};

/** Every result element may depend on every operand element: positions are not known beforehand. */
function everything(count: number, operandSize: number): CompressedRows {
  return evenRows(count, operandSize, (_, i) => i);
}

/** Positions, shared or one set for each copy, in a leading axis of copies; those outside the range stay outside. */
function batchedPositions(positions: Node, isBatched: boolean, range: number, size: number): Node {
  const shape = isBatched ? positions.shape : [size, ...positions.shape];
  const offsets = constant(
    Float64Array.from({length: size}, (_, s) => s * range),
    [size, ...shape.slice(1).map(() => 1)],
    'int',
  );
  const inside = binary('and', binary('greaterEqual', positions, scalar(0)), binary('less', positions, scalar(range)));
  return select(broadcastTo(inside, shape), add(positions, offsets), broadcastTo(scalar(-1, 'int'), shape));
}

export const gatherAtPrimitive: Primitive<'gatherAt'> = {
  evaluate:
    () =>
    ([x, positions], out) => {
      for (let i = 0; i < out.length; i++) {
        const at = positions[i];
        out[i] = at >= 0 && at < x.length ? x[at] : 0;
      }
    },
  tangent: ofTangent,
  transpose: (node, cotangent) => [scatterAt(cotangent, node.operands[1], node.operands[0].shape), undefined],
  dependence: (node, operand) => (operand === 1 ? 'none' : everything(node.size, node.operands[0].size)),
  batch(node, [x, positions], batched, size) {
    const range = node.operands[0].size;
    if (!batched[0]) return gatherAt(x, positions);
    return gatherAt(x, batchedPositions(positions, batched[1], range, size));
  },
};

export const scatterAtPrimitive: Primitive<'scatterAt'> = {
  evaluate:
    () =>
    ([x, positions], out) => {
      out.fill(0);
      for (let i = 0; i < x.length; i++) {
        const at = positions[i];
        if (at >= 0 && at < out.length) out[at] += x[i];
      }
    },
  tangent: ofTangent,
  transpose: (node, cotangent) => [gatherAt(cotangent, node.operands[1]), undefined],
  dependence: (node, operand) => (operand === 1 ? 'none' : everything(node.size, node.operands[0].size)),
  batch(node, [x, positions], batched, size) {
    const copies = batched[0] ? x : broadcastTo(x, [size, ...x.shape]);
    return scatterAt(copies, batchedPositions(positions, batched[1], node.size, size), [size, ...node.shape]);
  },
};
