/**
 * A sparse Jacobian entry by entry. The tangent of each value is kept as a few terms, coefficient[i]
 * times the unknown at table[i]: elementwise functions scale the coefficients, views and gathers move
 * coefficients and tables alike, sums and scatters line terms up. In the end the coefficients are the
 * entries, each computed once, where a coloured tangent computes rows × colours and picks from them.
 * (The local partials of a computational graph, accumulated forwards: Griewank & Walther, Evaluating
 * Derivatives, §7.3, "sparse vector mode".) It pays while terms are few; a product with a large dense
 * matrix is left to the tangents.
 */
import {
  add,
  broadcastTo,
  concat,
  div,
  full,
  gather,
  mul,
  neg,
  operandTable,
  place,
  rebuild,
  reshape,
  select,
  slice,
  sliceTable,
  sub,
  sum,
  viewTable,
  zeros,
} from './build.js';
import type {Node, Shape} from './node.js';
import {isOp, sizeOf, stridesOf, topological} from './node.js';
import type {SparsityPattern} from './sparsity.js';
import {costOf} from './work.js';

/** One term of a tangent: where the table is negative there is nothing, and the coefficient is 0. */
export interface Term {
  readonly coefficient: Node;
  /** Position in the unknown for each element of the value. */
  readonly table: Int32Array;
}

export interface SparseJacobian {
  readonly pattern: SparsityPattern;
  /** The entries in the pattern's order. */
  readonly values: Node;
  /** The most entries that were kept of a row before equal ones were added. */
  readonly terms: number;
}

/** Most terms of a value, and the highest cost of coefficients; beyond, entries are given up. */
export interface Limits {
  readonly terms: number;
  readonly cost: number;
}

/**
 * ∂/∂direction of a tangent that is linear in it.
 * @returns undefined beyond the limits, or for primitives whose every result depends on all of an operand
 * @param without nodes that are taken for independent of the direction
 */
export function sparseJacobian(
  tangent: Node,
  direction: Node,
  limits: Limits,
  without?: ReadonlySet<Node>,
): SparseJacobian | undefined {
  const terms = sparseTerms(tangent, direction, limits, without);
  return terms === undefined ? undefined : assemble(terms, tangent.size, direction.size);
}

/** Terms of the tangent, element by element; parameters as in `sparseJacobian`. */
export function sparseTerms(
  tangent: Node,
  direction: Node,
  limits: Limits,
  without?: ReadonlySet<Node>,
): readonly Term[] | undefined {
  const unit: Term = {
    coefficient: full(1, direction.shape),
    table: Int32Array.from({length: direction.size}, (_, i) => i),
  };
  const known = new Map<Node, Tangent>([[direction, new Tangent([unit])]]);
  let cost = 0;
  const of = (operand: Node): readonly Term[] | undefined => known.get(operand)?.expanded();
  for (const node of topological([tangent])) {
    if (known.has(node) || without?.has(node) === true || !node.operands.some(operand => known.has(operand))) continue;
    let found = pointwise(node, operand => known.get(operand));
    if (found === undefined) {
      const terms = termsOf(node, of);
      if (terms === undefined) return undefined;
      found = new Tangent(merge(terms));
      cost += costOf(terms.map(({coefficient}) => coefficient));
    }
    if (found.terms.length > limits.terms || cost > limits.cost) return undefined;
    known.set(node, found);
  }
  return of(tangent) ?? [];
}

/**
 * Terms with a common factor, which is multiplied out as late as may be: a long elementwise function of
 * a value with many terms is differentiated once, not once for each of them.
 */
class Tangent {
  private product: readonly Term[] | undefined;

  constructor(
    readonly terms: readonly Term[],
    readonly factor?: Node,
  ) {}

  expanded(): readonly Term[] {
    const {factor} = this;
    if (factor === undefined) return this.terms;
    this.product ??= this.terms.map(({coefficient, table}) => ({coefficient: mul(factor, coefficient), table}));
    return this.product;
  }

  times(change: (factor: Node) => Node): Tangent {
    return new Tangent(this.terms, change(this.factor ?? full(1, this.terms[0]?.coefficient.shape ?? [])));
  }
}

/** Elementwise linear functions of one value's terms change their common factor alone; else undefined. */
function pointwise(node: Node, of: (operand: Node) => Tangent | undefined): Tangent | undefined {
  const [x, y] = node.operands;
  const [a, b] = [of(x), y === undefined ? undefined : of(y)];
  if (isOp(node, 'unary')) return node.attributes.fn === 'neg' ? a?.times(neg) : undefined;
  if (!isOp(node, 'binary')) return undefined;
  switch (node.attributes.fn) {
    case 'add':
    case 'sub': {
      const {fn} = node.attributes;
      if (b === undefined) return a;
      if (a === undefined) return fn === 'add' ? b : b.times(neg);
      if (a.terms !== b.terms) return undefined;
      const one = full(1, node.shape);
      return a.times(factor => (fn === 'add' ? add : sub)(factor, b.factor ?? one));
    }
    case 'mul':
      return a !== undefined ? a.times(factor => mul(factor, y)) : b?.times(factor => mul(x, factor));
    case 'div':
      return b === undefined ? a?.times(factor => div(factor, y)) : undefined;
    default:
      return undefined;
  }
}

// ---------------------------------------------------------------- rules

type Lookup = (operand: Node) => readonly Term[] | undefined;

/** The terms of a linear node from those of its operands; undefined where there is no rule. */
function termsOf(node: Node, of: Lookup): readonly Term[] | undefined {
  const [x, y, z] = node.operands;
  if (isOp(node, 'binary')) {
    const [a, b] = [of(x), of(y)];
    if (node.attributes.fn === 'add') return [...(a ?? []), ...(b ?? [])];
    return node.attributes.fn === 'sub' ? [...(a ?? []), ...(scaled(b, neg) ?? [])] : undefined;
  }
  if (isOp(node, 'concat')) return concatenated(node, of);
  if (isOp(node, 'gather')) {
    const {table} = node.attributes;
    return moved(of(x), table, c => gather(c, table, node.shape));
  }
  if (isOp(node, 'scatter')) return scattered(of(x), node.attributes.table, node.shape);
  if (isOp(node, 'sum')) return summed(of(x), x.shape, node.attributes.axes, node.shape);
  if (isOp(node, 'matMul')) return multiplied(node, of);
  if (isOp(node, 'place')) {
    const table = new Int32Array(node.size).fill(-1);
    sliceTable(x.shape, node.attributes, stridesOf(node.shape)).forEach((at, i) => (table[at] = i));
    return moved(of(x), table, c => place(c, node.attributes.begin, node.shape, node.attributes.strides));
  }
  switch (node.op) {
    case 'reshape':
      return scaled(of(x), c => reshape(c, node.shape));
    case 'transpose':
    case 'broadcast':
    case 'slice':
      return moved(of(x), operandTable(node), c => rebuild(node, [c]));
    case 'select': {
      if (of(x) !== undefined) return undefined;
      const nothing = zeros(node.shape);
      return [
        ...(scaled(of(y), c => select(x, c, nothing)) ?? []),
        ...(scaled(of(z), c => select(x, nothing, c)) ?? []),
      ];
    }
    default:
      return undefined;
  }
}

function scaled(terms: readonly Term[] | undefined, change: (coefficient: Node) => Node): readonly Term[] | undefined {
  return terms?.map(({coefficient, table}) => ({coefficient: change(coefficient), table}));
}

/** Element i of the result is element `from[i]` of the operand; none where that is negative. */
function moved(
  terms: readonly Term[] | undefined,
  from: Int32Array,
  change: (coefficient: Node) => Node,
): readonly Term[] | undefined {
  return terms?.map(({coefficient, table}) => ({coefficient: change(coefficient), table: composed(from, table)}));
}

function composed(from: Int32Array, table: Int32Array): Int32Array {
  const through = new Int32Array(from.length);
  for (let i = 0; i < from.length; i++) through[i] = from[i] < 0 ? -1 : table[from[i]];
  return through;
}

/** Term k of the whole is made of term k of each part. */
function concatenated(node: Node<'concat'>, of: Lookup): readonly Term[] {
  const parts = node.operands.map(part => of(part) ?? []);
  const count = Math.max(...parts.map(terms => terms.length));
  const {axis} = node.attributes;
  const inner = sizeOf(node.shape.slice(axis + 1));
  const row = node.shape[axis] * inner;
  return Array.from({length: count}, (_, k) => {
    const table = new Int32Array(node.size).fill(-1);
    let begin = 0;
    parts.forEach((terms, p) => {
      const width = node.operands[p].shape[axis] * inner;
      const source = terms[k]?.table;
      if (source !== undefined)
        for (let i = 0; i < source.length; i++) table[Math.floor(i / width) * row + begin + (i % width)] = source[i];
      begin += width;
    });
    return {
      coefficient: concat(
        parts.map((terms, p) => terms[k]?.coefficient ?? zeros(node.operands[p].shape)),
        axis,
      ),
      table,
    };
  });
}

/** Several elements that are added to one result become as many terms. */
function scattered(terms: readonly Term[] | undefined, table: Int32Array, shape: Shape): readonly Term[] | undefined {
  const sources: Int32Array[] = [];
  const filled = new Int32Array(sizeOf(shape));
  table.forEach((to, i) => {
    if (to < 0) return;
    const rank = filled[to]++;
    if (rank === sources.length) sources.push(new Int32Array(filled.length).fill(-1));
    sources[rank][to] = i;
  });
  return terms === undefined
    ? undefined
    : sources.flatMap(from => moved(terms, from, c => gather(c, from, shape)) ?? []);
}

/** Every element of a group is a term of the group's sum. */
function summed(
  terms: readonly Term[] | undefined,
  shape: Shape,
  axes: readonly number[],
  result: Shape,
): readonly Term[] | undefined {
  if (terms === undefined) return undefined;
  const strides = stridesOf(shape);
  const kept = shape.map((_, axis) => axis).filter(axis => !axes.includes(axis));
  const starts = viewTable(
    kept.map(axis => shape[axis]),
    0,
    kept.map(axis => strides[axis]),
  );
  const members = viewTable(
    axes.map(axis => shape[axis]),
    0,
    axes.map(axis => strides[axis]),
  );
  const tables = terms.map(({table}) => [...members].map(member => starts.map(at => table[at + member])));
  const repeats = (k: number): boolean =>
    members.length > 0 && tables[k].every(table => table.every((at, i) => at === tables[k][0][i]));
  return terms.flatMap(({coefficient}, k): readonly Term[] => {
    // Members that read one element each are one term: an axis along which the operand was repeated.
    if (repeats(k)) return [{coefficient: sum(coefficient, axes), table: tables[k][0]}];
    return [...members].map((member, m) => {
      const begin = shape.map((n, axis) => (axes.includes(axis) ? Math.floor(member / strides[axis]) % n : 0));
      const size = shape.map((n, axis) => (axes.includes(axis) ? 1 : n));
      return {coefficient: reshape(slice(coefficient, begin, size), result), table: tables[k][m]};
    });
  });
}

/** Row times column: a term for each inner index. */
function multiplied(node: Node<'matMul'>, of: Lookup): readonly Term[] | undefined {
  const [a, b] = node.operands;
  const {transposeA, transposeB} = node.attributes;
  const left = of(a);
  const right = of(b);
  if (left !== undefined && right !== undefined) return undefined;
  const inner = a.shape[transposeA ? 1 : 2];
  const strip = (x: Node, axis: number, l: number): Node =>
    slice(
      x,
      x.shape.map((_, d) => (d === axis ? l : 0)),
      x.shape.map((n, d) => (d === axis ? 1 : n)),
    );
  const turned = (x: Node, transposed: boolean, column: boolean): Node => {
    const [batch, m, n] = x.shape;
    const long = Math.max(m, n);
    // A strip is a column or a row whichever way it is stored.
    return transposed ? reshape(x, column ? [batch, long, 1] : [batch, 1, long]) : x;
  };
  const spread = (x: Node): Node => broadcastTo(x, node.shape);
  const fromLeft = (c: Node, l: number): Node => spread(turned(strip(c, transposeA ? 1 : 2, l), transposeA, true));
  const fromRight = (c: Node, l: number): Node => spread(turned(strip(c, transposeB ? 2 : 1, l), transposeB, false));
  const [batch, m, n] = node.shape;
  const [sizeOfOperand, row, column, step] =
    left !== undefined
      ? [m * inner, transposeA ? 1 : inner, 0, transposeA ? m : 1]
      : [inner * n, 0, transposeB ? inner : 1, transposeB ? 1 : n];
  const position = (l: number): Int32Array => viewTable(node.shape, l * step, [sizeOfOperand, row, column]);
  if (batch === 0) return [];
  return Array.from({length: inner}, (_, l) => l).flatMap(
    l =>
      (left !== undefined
        ? moved(left, position(l), c => mul(fromLeft(c, l), fromRight(b, l)))
        : moved(right, position(l), c => mul(fromLeft(a, l), fromRight(c, l)))) ?? [],
  );
}

// ---------------------------------------------------------------- putting together

/** Terms that nowhere ask for different elements are one. */
function merge(terms: readonly Term[]): Term[] {
  const merged: Term[] = [];
  for (const term of terms) {
    if (!term.table.some(at => at >= 0)) continue;
    const k = merged.findIndex(({table}) => compatible(table, term.table));
    if (k < 0) merged.push(term);
    else
      merged[k] = {
        coefficient: added(merged[k].coefficient, term.coefficient),
        table: united(merged[k].table, term.table),
      };
  }
  return merged;
}

function compatible(a: Int32Array, b: Int32Array): boolean {
  if (a !== b) for (let i = 0; i < a.length; i++) if (a[i] !== b[i] && a[i] >= 0 && b[i] >= 0) return false;
  return true;
}

function united(a: Int32Array, b: Int32Array): Int32Array {
  return a === b ? a : a.map((at, i) => Math.max(at, b[i]));
}

function added(a: Node, b: Node): Node {
  return isOp(b, 'unary') && b.attributes.fn === 'neg' ? sub(a, b.operands[0]) : add(a, b);
}

/** Terms by rows, in the order of the columns; equal columns of one row are to be added. */
interface Contributions {
  /** Row i holds pointers[i] … pointers[i + 1] − 1. */
  readonly pointers: Int32Array;
  readonly columns: Int32Array;
  readonly terms: Int32Array;
}

function contributions(terms: readonly Term[], rows: number): Contributions {
  const count = terms.reduce((sum, {table}) => table.reduce((n, at) => (at < 0 ? n : n + 1), sum), 0);
  const pointers = new Int32Array(rows + 1);
  const [columns, indices] = [new Int32Array(count), new Int32Array(count)];
  let end = 0;
  for (let row = 0; row < rows; row++) {
    const begin = end;
    for (let t = 0; t < terms.length; t++) {
      const column = terms[t].table[row];
      if (column < 0) continue;
      // By insertion: rows are short.
      let at = end++;
      for (; at > begin && columns[at - 1] > column; at--) {
        columns[at] = columns[at - 1];
        indices[at] = indices[at - 1];
      }
      columns[at] = column;
      indices[at] = t;
    }
    pointers[row + 1] = end;
  }
  return {pointers, columns, terms: indices};
}

function assemble(terms: readonly Term[], rows: number, columns: number): SparseJacobian {
  const found = contributions(terms, rows);
  const pointers = new Int32Array(rows + 1);
  const indices = new Int32Array(found.columns.length);
  let count = 0;
  for (let row = 0; row < rows; row++) {
    for (let k = found.pointers[row]; k < found.pointers[row + 1]; k++) {
      if (isFirst(found, row, k)) indices[count++] = found.columns[k];
    }
    pointers[row + 1] = count;
  }
  const pattern: SparsityPattern = {rows, columns, pointers, indices: indices.slice(0, count)};
  const flat = terms.map(({coefficient}) => reshape(coefficient, [rows]));
  return {
    pattern,
    values: count === 0 ? zeros([0]) : (regularValues(flat, found) ?? gatheredValues(flat, found, count)),
    terms: terms.length,
  };
}

/** Contribution k of a row is the first in its column. */
function isFirst({pointers, columns}: Contributions, row: number, k: number): boolean {
  return k === pointers[row] || columns[k] !== columns[k - 1];
}

/** At most so many entries before and behind the regular rows are picked one by one. */
const irregularEntries = 24;

/**
 * Where all rows but a few at the ends have the same terms in the same order, as in a chain, their
 * entries are the coefficients side by side.
 */
function regularValues(coefficients: readonly Node[], found: Contributions): Node | undefined {
  const {pointers, terms} = found;
  const rows = pointers.length - 1;
  const middle = pointers[rows >> 1];
  const width = pointers[(rows >> 1) + 1] - middle;
  const regular = (row: number): boolean => {
    if (pointers[row + 1] - pointers[row] !== width) return false;
    for (let k = 0; k < width; k++) {
      if (terms[pointers[row] + k] !== terms[middle + k] || !isFirst(found, row, pointers[row] + k)) return false;
    }
    return true;
  };
  if (width === 0) return undefined;
  let [first, last] = [0, rows];
  while (first < rows && !regular(first)) first++;
  while (last > first && !regular(last - 1)) last--;
  if (pointers[first] + pointers[rows] - pointers[last] > irregularEntries) return undefined;
  for (let row = first; row < last; row++) if (!regular(row)) return undefined;
  const single = (row: number): Node[] => {
    const nodes: Node[] = [];
    for (let k = pointers[row]; k < pointers[row + 1]; k++) {
      const value = slice(coefficients[terms[k]], [row], [1]);
      nodes.push(isFirst(found, row, k) ? value : add(nodes.pop() ?? value, value));
    }
    return nodes;
  };
  const range = (from: number, to: number): number[] => Array.from({length: to - from}, (_, i) => from + i);
  const sides = range(middle, middle + width).map(k =>
    reshape(slice(coefficients[terms[k]], [first], [last - first]), [last - first, 1]),
  );
  return concat(
    [
      ...range(0, first).flatMap(single),
      reshape(concat(sides, 1), [(last - first) * width]),
      ...range(last, rows).flatMap(single),
    ],
    0,
  );
}

/** The entries looked up among all coefficients; what is added to an entry is looked up apart. */
function gatheredValues(coefficients: readonly Node[], found: Contributions, count: number): Node {
  const {pointers, terms} = found;
  const rows = pointers.length - 1;
  const tables: Int32Array[] = [];
  let at = -1;
  for (let row = 0; row < rows; row++) {
    let depth = 0;
    for (let k = pointers[row]; k < pointers[row + 1]; k++) {
      depth = isFirst(found, row, k) ? 0 : depth + 1;
      if (depth === 0) at++;
      if (depth === tables.length) tables.push(new Int32Array(count).fill(-1));
      tables[depth][at] = terms[k] * rows + row;
    }
  }
  const all = concat(coefficients, 0);
  return tables.map(table => gather(all, table, [count])).reduce((sum, more) => add(sum, more));
}
