/**
 * The interface of a primitive: its value in double precision, its tangent, its transpose
 * if it is linear, its dependence, and how it is applied with an extra leading axis. A derivative of any
 * order is built from these rules alone (the scheme of JAX's "linearize, then transpose").
 */
import type {Node, Op} from '../node.js';

/** Computes a node's values from its operands'; allocates nothing. */
export type Kernel = (operands: readonly Float64Array[], out: Float64Array) => void;

/**
 * Which elements of one operand each element of the result depends on: none, the same one, or a
 * compressed list of rows (row i of the list belongs to result element i).
 */
export type Relation = 'none' | 'same' | CompressedRows;

/** Entries of a relation by rows, as compressed lists. */
export interface CompressedRows {
  readonly pointers: Int32Array;
  readonly indices: Int32Array;
}

/** All that the graph, its derivatives and the engines ask of a primitive. */
export interface Primitive<O extends Op> {
  /** The kernel for this node; what it needs beside operands and result it keeps from here. */
  evaluate(node: Node<O>): Kernel;
  /** The directional derivative, linear in the operands' tangents; undefined stands for zero. */
  tangent(node: Node<O>, tangents: readonly (Node | undefined)[]): Node | undefined;
  /** The transposed map, applied to a cotangent, of a node that is linear in the marked operands. */
  transpose?(node: Node<O>, cotangent: Node, linear: readonly boolean[]): readonly (Node | undefined)[];
  /** How the result's derivative depends on one operand. A rule may say more than is true, never less. */
  dependence(node: Node<O>, operand: number): Relation;
  /** The node applied to operands of which those marked carry a leading axis of the given size; so does the result. */
  batch?(node: Node<O>, operands: readonly Node[], batched: readonly boolean[], size: number): Node;
}

/** A relation from a function that lists, for each result element, the operand elements. */
export function rows(count: number, list: (element: number, push: (index: number) => void) => void): CompressedRows {
  const pointers = new Int32Array(count + 1);
  const indices: number[] = [];
  for (let i = 0; i < count; i++) {
    list(i, index => indices.push(index));
    pointers[i + 1] = indices.length;
  }
  return {pointers, indices: Int32Array.from(indices)};
}

/** A relation in which every result element depends on equally many operand elements. */
export function evenRows(count: number, each: number, index: (element: number, k: number) => number): CompressedRows {
  const pointers = new Int32Array(count + 1);
  const indices = new Int32Array(count * each);
  for (let i = 0; i < count; i++) {
    for (let k = 0; k < each; k++) indices[i * each + k] = index(i, k);
    pointers[i + 1] = (i + 1) * each;
  }
  return {pointers, indices};
}

/** One operand element for each result element; −1 for none. */
export function rowsFromTable(table: Int32Array): CompressedRows {
  const pointers = new Int32Array(table.length + 1);
  for (let i = 0; i < table.length; i++) pointers[i + 1] = pointers[i] + (table[i] < 0 ? 0 : 1);
  return {pointers, indices: table.filter(at => at >= 0)};
}

/** The relation of the reverse map: result element table[i] depends on operand element i. */
export function rowsIntoTable(table: Int32Array, count: number): CompressedRows {
  const pointers = new Int32Array(count + 1);
  for (const at of table) if (at >= 0) pointers[at + 1]++;
  for (let i = 0; i < count; i++) pointers[i + 1] += pointers[i];
  const indices = new Int32Array(pointers[count]);
  const next = pointers.slice();
  table.forEach((at, i) => {
    if (at >= 0) indices[next[at]++] = i;
  });
  return {pointers, indices};
}
