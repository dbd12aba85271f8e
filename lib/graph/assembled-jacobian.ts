/**
 * The Jacobian of a residual that is assembled from elements: J = A + Σ L S X. The scatter S sums the contributions of
 * the elements, X contains the blocks of all elements (computed in one loop over the elements per column of a block),
 * and L is a diagonal matrix that scales the rows of the sum. Each entry of a block is computed once, scaled, and added
 * to its entry of the matrix, as in the assembly of finite elements (Hughes, The Finite Element Method, §2.12).
 * Computed entry by entry through the scatter (sparse-jacobian.ts), each row would have as many terms as the node with
 * the most elements.
 */
import {concat, gather, mul, reshape, scatter, uniformValue} from './build.js';
import {dependents} from './differentiate.js';
import type {Node} from './node.js';
import {isOp, topological} from './node.js';
import type {Limits, SparseJacobian, Term} from './sparse-jacobian.js';
import {sparseJacobian, sparseTerms} from './sparse-jacobian.js';

/**
 * Entries to add to a matrix: value i · width + k goes to row rows[i] and column columns[k][i], for k below the width;
 * those with a negative row or column are skipped.
 */
interface Block {
  readonly rows: Int32Array;
  readonly columns: readonly Int32Array[];
  readonly values: Node;
}

/**
 * @returns undefined without a scatter, if a scatter is followed by more than a scaling of rows, or as `sparseJacobian`
 */
export function assembledJacobian(tangent: Node, direction: Node, limits: Limits): SparseJacobian | undefined {
  const scatters = lastScatters(tangent, direction);
  if (scatters.length === 0) return undefined;
  const sums: {readonly node: Node<'scatter'>; readonly rows: Rows}[] = [];
  for (const node of scatters) {
    const rows = rowsOf(node, tangent);
    if (rows === undefined) return undefined;
    sums.push({node, rows});
  }
  const rest = sparseJacobian(tangent, direction, limits, new Set<Node>(scatters));
  if (rest === undefined) return undefined;
  const blocks: Block[] = [blockOf(rest)];
  let {terms} = rest;
  for (const {node, rows} of sums) {
    const elements = sparseTerms(node.operands[0], direction, limits);
    if (elements === undefined) return undefined;
    if (elements.length > 0) blocks.push(contributions(node, rows, elements));
    terms = Math.max(terms, elements.length);
  }
  return {...gatherUp(blocks, tangent.size, direction.size), terms};
}

/** Scatters of values that depend on the direction, without another scatter between them and the outputs. */
function lastScatters(tangent: Node, direction: Node): Node<'scatter'>[] {
  const linear = dependents([tangent], [direction]);
  const found: Node<'scatter'>[] = [];
  const reached = new Set<Node>([tangent]);
  for (const node of topological([tangent]).reverse()) {
    if (!reached.has(node) || !linear.has(node)) continue;
    if (isOp(node, 'scatter')) found.push(node);
    else node.operands.forEach(operand => reached.add(operand));
  }
  return found;
}

function blockOf({pattern: {rows: count, pointers, indices}, values}: SparseJacobian): Block {
  const rows = new Int32Array(indices.length);
  for (let row = 0; row < count; row++) rows.fill(row, pointers[row], pointers[row + 1]);
  return {rows, columns: [indices], values};
}

/** The row of the tangent that each sum goes to, or −1, and what it is multiplied by there, if by anything. */
interface Rows {
  readonly ofSum: Int32Array;
  readonly scale: Node | undefined;
}

/** Undefined where more happens to a sum than that it is scaled, or if it is used in several rows. */
function rowsOf(node: Node<'scatter'>, tangent: Node): Rows | undefined {
  const after = sparseTerms(tangent, node, {terms: 1, cost: Infinity});
  if (after === undefined) return undefined;
  const ofSum = new Int32Array(node.size).fill(-1);
  if (after.length === 0) return {ofSum, scale: undefined};
  const [{table, coefficient}] = after;
  for (let row = 0; row < table.length; row++) {
    const sum = table[row];
    if (sum < 0) continue;
    if (ofSum[sum] >= 0) return undefined;
    ofSum[sum] = row;
  }
  return {ofSum, scale: coefficient};
}

/** The blocks of all elements, one after another, so that sums do not depend on how many are computed at once. */
function contributions(node: Node<'scatter'>, {ofSum, scale}: Rows, elements: readonly Term[]): Block {
  const sums = node.attributes.table.map(to => (to < 0 ? -1 : ofSum[to]));
  const size = sums.length;
  const factor = scale === undefined || uniformValue(scale) === 1 ? undefined : gather(scale, sums, [size]);
  const values = elements.map(({coefficient}) => {
    const flat = reshape(coefficient, [size]);
    return reshape(factor === undefined ? flat : mul(factor, flat), [size, 1, 1]);
  });
  const columns = elements.map(({table}) => table);
  const run = runOf(columns);
  const runs = Array.from({length: values.length / run}, (_, j) => concat(values.slice(j * run, (j + 1) * run), 2));
  return {rows: sums, columns, values: concat(runs, 1)};
}

/**
 * The largest number of tables that go on by one position from each to the next, all along, as the axes of a node do:
 * of such a run the places in the matrix follow from the first.
 */
function runOf(tables: readonly Int32Array[]): number {
  const follows = (k: number): boolean => {
    const [before, table] = [tables[k - 1], tables[k]];
    return table.every((at, i) => (at < 0 ? before[i] < 0 : before[i] >= 0 && at === before[i] + 1));
  };
  const breaks = tables.flatMap((_, k) => (k > 0 && !follows(k) ? [k] : []));
  return breaks.reduce((run, at) => greatestCommonDivisor(run, at), tables.length);
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/** The pattern of the sum of all blocks, and its values. */
function gatherUp(blocks: readonly Block[], rows: number, columns: number): Omit<SparseJacobian, 'terms'> {
  const {starts, order} = byRow(blocks, rows);
  const pointers = new Int32Array(rows + 1);
  let indices = new Int32Array(starts[rows]);
  let filled = 0;
  const begins = [0];
  for (const {values} of blocks) begins.push(begins[begins.length - 1] + values.size);
  const place = new Int32Array(begins[blocks.length]).fill(-1);
  const where = new Int32Array(columns);
  for (let row = 0; row < rows; row++) {
    const begin = filled;
    for (let n = starts[row]; n < starts[row + 1]; n++) {
      const {columns: tables} = blocks[order.block[n]];
      if (filled + tables.length > indices.length) indices = grown(indices, tables.length);
      for (const table of tables) {
        const column = table[order.place[n]];
        if (column < 0 || where[column] === row + 1) continue;
        where[column] = row + 1;
        indices[filled++] = column;
      }
    }
    indices.subarray(begin, filled).sort();
    // From here on `where` tells the place, below zero so that it is no row's mark.
    for (let i = begin; i < filled; i++) where[indices[i]] = -i - 1;
    for (let n = starts[row]; n < starts[row + 1]; n++) {
      const {columns: tables} = blocks[order.block[n]];
      const i = order.place[n];
      const at = begins[order.block[n]] + i * tables.length;
      for (let k = 0; k < tables.length; k++) if (tables[k][i] >= 0) place[at + k] = -where[tables[k][i]] - 1;
    }
    pointers[row + 1] = filled;
  }
  const values = scatter(
    concat(
      blocks.map(({values}) => reshape(values, [values.size])),
      0,
    ),
    place,
    [filled],
  );
  return {pattern: {rows, columns, pointers, indices: indices.slice(0, filled)}, values};
}

/** A longer copy, with room for so many more. */
function grown(numbers: Int32Array, more: number): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(2 * numbers.length + more);
  longer.set(numbers);
  return longer;
}

/** What blocks have of each row: that of row r is starts[r] … starts[r + 1] − 1 of the order. */
function byRow(
  blocks: readonly Block[],
  rows: number,
): {starts: Int32Array; order: {block: Int32Array; place: Int32Array}} {
  const starts = new Int32Array(rows + 1);
  for (const {rows: of} of blocks) for (let i = 0; i < of.length; i++) if (of[i] >= 0) starts[of[i] + 1]++;
  for (let row = 0; row < rows; row++) starts[row + 1] += starts[row];
  const next = starts.slice();
  const order = {block: new Int32Array(starts[rows]), place: new Int32Array(starts[rows])};
  blocks.forEach((block, b) => {
    for (let i = 0; i < block.rows.length; i++) {
      const row = block.rows[i];
      if (row < 0) continue;
      order.block[next[row]] = b;
      order.place[next[row]++] = i;
    }
  });
  return {starts, order};
}
