/**
 * Nodes that only move numbers, as index maps: where element i of the result lies in the operand.
 * Positions are flat (row-major), so a reshape is no map at all; axes that behave as one are merged,
 * which is what lets loops over them be long.
 */
import {viewTable} from '../../graph/build.js';
import type {Node, Shape} from '../../graph/node.js';
import {isOp, sizeOf, stridesOf} from '../../graph/node.js';

/** The value whose storage a node shares: reshapes move nothing. */
export function bare(node: Node): Node {
  let found = node;
  while (found.op === 'reshape') found = found.operands[0];
  return found;
}

/** Result axis a of the given size steps through the operand by strides[a], starting from offset. */
export interface StridedView {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/** Merges neighbouring axes that one stride describes, and drops axes of size 1. */
export function mergeAxes(
  shape: Shape,
  ...strideLists: readonly (readonly number[])[]
): {shape: number[]; strides: number[][]} {
  const merged: number[] = [];
  const strides: number[][] = strideLists.map(() => []);
  for (let axis = 0; axis < shape.length; axis++) {
    const size = shape[axis];
    if (size === 1) continue;
    const last = merged.length - 1;
    if (last >= 0 && strideLists.every((list, k) => strides[k][last] === list[axis] * size)) {
      merged[last] *= size;
      strideLists.forEach((list, k) => (strides[k][last] = list[axis]));
    } else {
      merged.push(size);
      strideLists.forEach((list, k) => strides[k].push(list[axis]));
    }
  }
  return {shape: merged, strides};
}

/** The map of a transpose, broadcast or slice. */
export function stridedView(node: Node): StridedView {
  const operand = node.operands[0];
  const steps = stridesOf(operand.shape);
  let offset = 0;
  let strides: number[];
  if (isOp(node, 'transpose')) {
    strides = node.attributes.permutation.map(axis => steps[axis]);
  } else if (isOp(node, 'slice')) {
    strides = node.attributes.strides.map((stride, axis) => stride * steps[axis]);
    node.attributes.begin.forEach((begin, axis) => (offset += begin * steps[axis]));
  } else if (node.op === 'broadcast') {
    strides = steps.map((step, axis) => (operand.shape[axis] === node.shape[axis] ? step : 0));
  } else {
    throw new Error(`${node.op} is not a strided view`);
  }
  const merged = mergeAxes(node.shape, strides);
  return {shape: merged.shape, strides: merged.strides[0], offset};
}

/** One axis of a `place`: the operand's elements 0 … small − 1 stand at begin + i of large. */
export interface PlacedAxis {
  readonly begin: number;
  readonly small: number;
  readonly large: number;
  /** Row-major stride of the axis in the operand. */
  readonly stride: number;
}

/** Axes of a place whose elements stand next to each other; undefined where some stand apart (strides other than 1). */
export function placedAxes(node: Node<'place'>): PlacedAxis[] | undefined {
  const {begin, strides} = node.attributes;
  const {shape} = node.operands[0];
  const operandStrides = stridesOf(shape);
  const axes: PlacedAxis[] = [];
  for (let axis = 0; axis < shape.length; axis++) {
    if (strides[axis] !== 1 && shape[axis] > 1) return undefined;
    const large = node.shape[axis];
    if (large === 1) continue;
    const last = axes[axes.length - 1];
    if (last !== undefined && begin[axis] === 0 && shape[axis] === large) {
      // The whole of this axis goes along with the one before.
      axes[axes.length - 1] = {
        begin: last.begin * large,
        small: last.small * large,
        large: last.large * large,
        stride: operandStrides[axis],
      };
    } else {
      axes.push({begin: begin[axis], small: shape[axis], large, stride: operandStrides[axis]});
    }
  }
  return axes;
}

/** Where the elements of a place's operand go, whatever the strides. */
export function placeStrides(node: Node<'place'>): StridedView {
  const steps = stridesOf(node.shape);
  let offset = 0;
  node.attributes.begin.forEach((begin, axis) => (offset += begin * steps[axis]));
  const merged = mergeAxes(
    node.operands[0].shape,
    node.attributes.strides.map((stride, axis) => stride * steps[axis]),
  );
  return {shape: merged.shape, strides: merged.strides[0], offset};
}

/** A concatenation as [outer, width]: in every row, part k stands at begins[k] with widths[k] numbers. */
export interface ConcatRows {
  readonly outer: number;
  readonly width: number;
  readonly begins: readonly number[];
  readonly widths: readonly number[];
}

export function concatRows(node: Node<'concat'>): ConcatRows {
  const {axis} = node.attributes;
  const inner = sizeOf(node.shape.slice(axis + 1));
  const widths = node.operands.map(part => part.shape[axis] * inner);
  const begins: number[] = [];
  let width = 0;
  for (const w of widths) {
    begins.push(width);
    width += w;
  }
  return {outer: width === 0 ? 0 : node.size / width, width, begins, widths};
}

/**
 * A table of positions as a sum of strides and a smaller table: along some axes positions advance
 * evenly (a batch of copies, whole rows), along the others they are looked up. Positions are
 * offset + Σ strides·i + table[Σ tableStrides·i]; a negative entry of the table means no position.
 */
export interface TableView {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly tableStrides: readonly number[];
  /** Undefined where the whole map is strided. */
  readonly table: Int32Array | undefined;
  readonly offset: number;
}

export function tableView(table: Int32Array, shape: Shape): TableView {
  if (table.length === 0) return {shape: [0], strides: [1], tableStrides: [0], table: undefined, offset: 0};
  const all = stridesOf(shape);
  const strides = shape.map((size, axis) => (size > 1 ? evenStep(table, size, all[axis]) : 0));
  const looked = shape.map((_, axis) => axis).filter(axis => strides[axis] === undefined);
  const lookedShape = looked.map(axis => shape[axis]);
  const lookedStrides = stridesOf(lookedShape);
  const tableStrides = shape.map((_, axis) => (strides[axis] === undefined ? lookedStrides[looked.indexOf(axis)] : 0));
  const merged = mergeAxes(
    shape,
    strides.map(step => step ?? 0),
    tableStrides,
  );
  const [first, second] = merged.strides;
  if (looked.length === 0 && table[0] >= 0) {
    return {shape: merged.shape, strides: first, tableStrides: second, table: undefined, offset: table[0]};
  }
  const small =
    looked.length === shape.length
      ? table
      : viewTable(
          lookedShape,
          0,
          looked.map(axis => all[axis]),
        ).map(at => table[at]);
  return {shape: merged.shape, strides: first, tableStrides: second, table: small, offset: 0};
}

/** The constant difference of the table along an axis of that size and stride, if there is one. */
function evenStep(table: Int32Array, size: number, stride: number): number | undefined {
  const block = size * stride;
  let step: number | undefined;
  for (let base = 0; base < table.length; base += block) {
    for (let inner = base; inner < base + stride; inner++) {
      const first = table[inner];
      for (let k = 1; k < size; k++) {
        const at = table[inner + k * stride];
        const before = table[inner + (k - 1) * stride];
        if (first < 0) {
          // No position along the whole axis agrees with any step.
          if (at >= 0) return undefined;
        } else if (at < 0) {
          return undefined;
        } else if (step === undefined) {
          step = at - before;
        } else if (at - before !== step) {
          return undefined;
        }
      }
    }
  }
  return step ?? 0;
}
