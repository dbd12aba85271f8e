/**
 * A loop nest: axes with sizes, and what is done at its points. It begins with as few axes as its
 * results need and is divided only where a value inside has to be told row from column, so chains of
 * elementwise functions of any rank are one long loop. Where a value is put together from parts
 * (concat, place), an axis is cut there, and each piece has an expression of its own.
 */
import {full} from '../../graph/build.js';
import type {Node} from '../../graph/node.js';
import {isOp, stridesOf} from '../../graph/node.js';
import {rowLength, shortestRow} from '../../graph/primitives/summation.js';
import type {TableView} from './view.js';
import {bare, concatRows, mergeAxes, placeStrides, tableView} from './view.js';

/** How a point's value enters the result. */
export type Combine = 'store' | 'sum' | 'max' | 'min' | 'scatter' | 'scatterAt';

export interface Root {
  /** The value whose storage is written. */
  readonly node: Node;
  /** The value evaluated at the points: the node itself, or the operand of a reduction or scattering. */
  readonly source: Node;
  readonly combine: Combine;
  /** The result is zeroed first: its nest does not reach every element. */
  readonly clear: boolean;
  /** Flat position of the point in the source, by axis of the nest. */
  readonly sourceSteps: readonly number[];
  /** Flat position in the result; 0 along the axes that are reduced. */
  readonly resultSteps: readonly number[];
  readonly resultOffset: number;
  /** For a scatter: entry of the table by axis. */
  readonly tableSteps: readonly number[];
  readonly table: Int32Array | undefined;
}

export interface LoopAxis {
  readonly size: number;
  /** Ascending positions where a new piece begins, without 0 and size. */
  readonly cuts: readonly number[];
}

export interface Nest {
  axes: LoopAxis[];
  roots: readonly Root[];
  /** The axes follow the results' and sources' memory in order; such nests may be joined. */
  readonly flat: boolean;
}

/** For a sum: how many of the numbers that are added lie together. */
export function rowOf({node}: Root): number {
  return isOp(node, 'sum') ? rowLength(node.operands[0].shape, node.attributes.axes) : 0;
}

/**
 * Whether the nest has a sum's rows whole along its last axis, as the order of long sums asks; short ones may be
 * divided.
 */
export function keepsRow({axes}: {readonly axes: readonly LoopAxis[]}, root: Root): boolean {
  const row = root.combine === 'sum' ? rowOf(root) : 0;
  if (row < shortestRow) return true;
  const last = axes[axes.length - 1];
  return last.size === row && last.cuts.length === 0;
}

/** Divides an axis in two, outer × inner; its cuts are forgotten and will be asked for again. */
export function divide(nest: Nest, axis: number, inner: number): void {
  const {size} = nest.axes[axis];
  nest.axes.splice(axis, 1, {size: size / inner, cuts: []}, {size: inner, cuts: []});
  const divided = (steps: readonly number[]): number[] => [
    ...steps.slice(0, axis),
    steps[axis] * inner,
    ...steps.slice(axis),
  ];
  nest.roots = nest.roots.map(root => ({
    ...root,
    sourceSteps: divided(root.sourceSteps),
    resultSteps: divided(root.resultSteps),
    tableSteps: divided(root.tableSteps),
  }));
}

export function cut(nest: Nest, axis: number, at: number): void {
  const {size, cuts} = nest.axes[axis];
  if (cuts.includes(at)) return;
  nest.axes[axis] = {size, cuts: [...cuts, at].sort((a, b) => a - b)};
}

/** The nests that compute one stored value. */
export function nestsOf(node: Node): Nest[] {
  if (isOp(node, 'sum') || isOp(node, 'max') || isOp(node, 'min'))
    return [reductionNest(node, node.op, node.attributes.axes)];
  if (isOp(node, 'scatter')) return scatterNests(node);
  if (node.op === 'scatterAt') return [flatNest(node, node.operands[0], 'scatterAt')];
  if (isOp(node, 'place') && isSpread(node)) return [spreadNest(node)];
  // Parts are written one by one, each by a nest as simple as the part is.
  if (isOp(node, 'concat')) return node.operands.map((_, k) => partNest(node, k));
  return [flatNest(node, node, 'store')];
}

/** A place whose elements stand apart is written by its operand's elements, over zeros. */
export function isSpread(node: Node<'place'>): boolean {
  return node.attributes.strides.some((stride, axis) => stride !== 1 && node.operands[0].shape[axis] > 1);
}

/** A nest of one result, over axes of these sizes; what is not given of it is nothing. */
function nestOver(
  shape: readonly number[],
  given: Pick<Root, 'node' | 'source' | 'combine' | 'sourceSteps' | 'resultSteps'> & Partial<Root>,
  flat: boolean,
): Nest {
  const none = {clear: false, resultOffset: 0, tableSteps: shape.map(() => 0), table: undefined};
  return {axes: shape.map(size => ({size, cuts: []})), roots: [{...none, ...given}], flat};
}

function flatNest(node: Node, source: Node, combine: Combine): Nest {
  const [shape, steps] = source.size === 1 ? [[], []] : [[source.size], [1]];
  const clear = combine === 'scatterAt';
  return nestOver(shape, {node, source, combine, clear, sourceSteps: steps, resultSteps: steps}, combine === 'store');
}

function partNest(node: Node<'concat'>, k: number): Nest {
  const {outer, width, begins, widths} = concatRows(node);
  const merged = mergeAxes([outer, widths[k]], [widths[k], 1], [width, 1]);
  const [sourceSteps, resultSteps] = merged.strides;
  const steps = {sourceSteps, resultSteps, resultOffset: begins[k]};
  return nestOver(merged.shape, {node, source: node.operands[k], combine: 'store', ...steps}, true);
}

/** A reduction of nothing is its first value everywhere. */
function nothingReduced(node: Node, combine: Combine): Nest {
  const value = full(combine === 'sum' ? 0 : combine === 'max' ? -Infinity : Infinity, node.shape);
  return flatNest(node, value, 'store');
}

function reductionNest(node: Node, combine: Combine, reduced: readonly number[]): Nest {
  const source = node.operands[0];
  if (source.size === 0) return nothingReduced(node, combine);
  const strides = stridesOf(source.shape);
  const kept = source.shape.map((_, axis) => axis).filter(axis => !reduced.includes(axis));
  const keptAxes = mergeAxes(
    kept.map(axis => source.shape[axis]),
    kept.map(axis => strides[axis]),
    stridesOf(node.shape),
  );
  const reducedAxes = mergeAxes(
    reduced.map(axis => source.shape[axis]),
    reduced.map(axis => strides[axis]),
  );
  const shape = [...keptAxes.shape, ...reducedAxes.shape];
  const sourceSteps = [...keptAxes.strides[0], ...reducedAxes.strides[0]];
  const resultSteps = [...keptAxes.strides[1], ...reducedAxes.shape.map(() => 0)];
  const inOrder = stridesOf(shape).every((step, axis) => sourceSteps[axis] === step);
  return nestOver(shape, {node, source, combine, sourceSteps, resultSteps}, inOrder);
}

/** One nest, or one for each part of what is put together to be scattered: the parts are added in their order. */
function scatterNests(node: Node<'scatter'>): Nest[] {
  const [source] = node.operands;
  const whole = bare(source);
  if (!isOp(whole, 'concat') || concatRows(whole).outer > 1) return [scatterNest(node, source, 0, true)];
  const {begins} = concatRows(whole);
  return whole.operands.map((operand, k) => scatterNest(node, bare(operand), begins[k], k === 0));
}

/** The most axes that the numbers of a value, in their order, are known by: what is made flat may have had more. */
function axesOf(value: Node): readonly number[] {
  const {op, operands} = value;
  const below = op === 'binary' ? operands.find(operand => operand.op !== 'broadcast') : operands[0];
  const inner = below !== undefined && ['reshape', 'unary', 'binary'].includes(op) ? axesOf(below) : [];
  return inner.length > value.shape.length ? inner : value.shape;
}

/** Views of the parts of a table, by where each begins and its axes: several programs read the same long tables. */
const tableViews = new WeakMap<Int32Array, Map<string, TableView>>();

function viewOf(table: Int32Array, begin: number, source: Node): TableView {
  const axes = axesOf(source);
  let known = tableViews.get(table);
  if (known === undefined) tableViews.set(table, (known = new Map<string, TableView>()));
  const key = [begin, ...axes].join();
  let view = known.get(key);
  if (view === undefined) known.set(key, (view = tableView(table.subarray(begin, begin + source.size), axes)));
  return view;
}

/** @param begin of the entries of this source in the table */
function scatterNest(node: Node<'scatter'>, source: Node, begin: number, clear: boolean): Nest {
  const view = viewOf(node.attributes.table, begin, source);
  const steps = {sourceSteps: stridesOf(view.shape), resultSteps: view.strides, resultOffset: view.offset};
  const looked = {tableSteps: view.tableStrides, table: view.table};
  return nestOver(view.shape, {node, source, combine: 'scatter', clear, ...steps, ...looked}, false);
}

function spreadNest(node: Node<'place'>): Nest {
  const view = placeStrides(node);
  const steps = {sourceSteps: stridesOf(view.shape), resultSteps: view.strides, resultOffset: view.offset};
  return nestOver(view.shape, {node, source: node.operands[0], combine: 'store', clear: true, ...steps}, false);
}
