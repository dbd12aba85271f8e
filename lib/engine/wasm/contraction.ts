/**
 * Products of matrices. A block of the result is kept in registers while the inner index runs: pairs
 * along the inner index where both operands are contiguous there, pairs of columns where the right
 * operand's rows are, pairs of rows where the left operand's are, single numbers otherwise. Operands are
 * read where they lie, by strides, so transposes and blocks of a longer vector are not copied. In which
 * order an element's terms are summed the graph says, wherever the operands lie.
 */
import type {Body, Local} from '../../wasm/assembler.js';
import type {Pointers, Scheme} from './contraction-block.js';
import {emitBlock} from './contraction-block.js';
import {emitRowPairs} from './contraction-rows.js';
import type {Advance} from './counting.js';
import {inBlocks, moved, repeat} from './counting.js';
import type {Format} from './format.js';

/** A matrix in memory: address of its first element, known or in a local, and strides in elements. */
export interface MatrixPlace<Address = number | Local> {
  readonly address: Address;
  readonly batch: number;
  readonly row: number;
  readonly column: number;
}

export interface Product<Address = number | Local> {
  /** Even and odd terms are summed apart. */
  readonly apart: boolean;
  readonly batch: number;
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly a: MatrixPlace<Address>;
  readonly b: MatrixPlace<Address>;
  readonly c: MatrixPlace<Address>;
}

/** Rows of the result in registers: with two pairs of columns that is eight sums, two pairs of B and one
 * of A, within the sixteen vector registers of x64. Where each sum has two parts, half as many. */
const rowsAtOnce = 4;
/** Columns at once: two pairs, or for single numbers and dots two columns. */
const columnsAtOnce: {readonly [S in Scheme]: number} = {columns: 4, dots: 2, numbers: 2};

export function emitProduct(body: Body, given: Product): void {
  const product = oriented(given);
  const {batch, m, n, a, b, c} = product;
  if (m * n * batch === 0) return;
  const at = pointersTo(body, product);
  repeat(
    body,
    batch,
    [
      {local: at.a, bytes: 8 * a.batch},
      {local: at.b, bytes: 8 * b.batch},
      {local: at.c, bytes: 8 * c.batch},
    ],
    () => emitOne(body, product, at),
  );
  for (const local of [at.a, at.b, at.c]) body.release(local);
}

/** Locals that point to the operands. */
export function pointersTo(body: Body, {a, b, c}: Pick<Product, 'a' | 'b' | 'c'>): Pointers {
  const pointer = ({address}: MatrixPlace): Local => {
    const local = body.local('i32');
    if (typeof address === 'number') body.i32(address);
    else body.get(address);
    body.set(local);
    return local;
  };
  return {a: pointer(a), b: pointer(b), c: pointer(c)};
}

/** What products of one function have in common: all but where their operands are. */
export function productKey({apart, batch, m, k, n, a, b, c}: Product, {name}: Format): string {
  const strides = [a, b, c].flatMap(matrix => [matrix.batch, matrix.row, matrix.column]);
  return [name, apart, batch, m, k, n, ...strides].join();
}

function emitOne(body: Body, product: Product, at: Pointers): void {
  const {m, n, k, apart, a, b, c} = product;
  const scheme = schemeOf(product);
  if (scheme === 'rows') {
    emitRows(body, product, at);
    return;
  }
  const inParts = apart && k > 1 && scheme !== 'dots';
  const most = inParts ? rowsAtOnce / 2 : rowsAtOnce;
  // Few rows leave room for more columns: as many sums.
  const atOnce = columnsAtOnce[scheme] * (m < most ? Math.floor(most / m) : 1);
  inBlocks(
    body,
    m,
    [most, 1],
    [
      {local: at.a, bytes: 8 * a.row},
      {local: at.c, bytes: 8 * c.row},
    ],
    rows => {
      columnBlocks(
        body,
        n,
        atOnce,
        scheme,
        [
          {local: at.b, bytes: 8 * b.column},
          {local: at.c, bytes: 8 * c.column},
        ],
        columns => {
          emitBlock(body, {strides: product, k, scheme, rows, columns, parts: inParts ? 2 : 1}, at);
        },
      );
    },
  );
}

/** Eight sums again: two pairs of rows with four columns, or four pairs with one or two. */
function emitRows(body: Body, product: Product, at: Pointers): void {
  const {m, n, k, a, b, c} = product;
  const narrow = n <= 2;
  const block = (rows: number): void => {
    inBlocks(
      body,
      n,
      [narrow ? n : 4, 1],
      [
        {local: at.b, bytes: 8 * b.column},
        {local: at.c, bytes: 8 * c.column},
      ],
      columns => emitRowPairs(body, product, k, rows, columns, at),
    );
  };
  const walks = [
    {local: at.a, bytes: 8 * a.row},
    {local: at.c, bytes: 8 * c.row},
  ];
  inBlocks(body, m - (m % 2), [narrow ? 8 : 4, 1], walks, block);
  // The last of an odd number of rows goes with the one before once more.
  if (m % 2 === 1) moved(body, walks, m - 2, () => block(2));
}

/** Where only the transposed product has contiguous rows, or more pairs of them, that is computed. */
function oriented(product: Product): Product {
  const {m, k, n, a, b} = product;
  const scheme = schemeOf(product);
  if (scheme === 'columns' || scheme === 'dots') return product;
  if (n === 1 && m > 1 && a.row === 1 && a.column !== 1) return transposed(product);
  const byColumns = !product.apart && n > 1 && k > 1 && b.row === 1;
  return byColumns && (scheme !== 'rows' || n > m) ? transposed(product) : product;
}

export function transposed({m, n, a, b, c, ...rest}: Product): Product {
  const flip = (matrix: MatrixPlace): MatrixPlace => ({...matrix, row: matrix.column, column: matrix.row});
  // A single column is contiguous whatever its stride along the row says.
  return {...rest, m: n, n: m, a: flip(b), b: flip(a), c: flip(n === 1 ? {...c, row: 1} : c)};
}

function schemeOf({apart, m, n, k, a, b, c}: Product): Scheme | 'rows' {
  if (apart && k > 1 && a.column === 1 && b.row === 1) return 'dots';
  if (n > 1 && b.column === 1 && c.column === 1) return 'columns';
  if (!apart && m > 1 && k > 1 && a.column === 1) return 'rows';
  return 'numbers';
}

/** As blocks; for pairs of columns the rest of three is a pair and a single one. */
function columnBlocks(
  body: Body,
  n: number,
  atOnce: number,
  scheme: Scheme,
  walks: readonly Advance[],
  code: (columns: number) => void,
): void {
  if (scheme !== 'columns') {
    inBlocks(body, n, [atOnce, 1], walks, code);
    return;
  }
  const even = n - (n % 2);
  if (even > 0) inBlocks(body, even, [atOnce, 1], walks, code);
  if (n > even) moved(body, walks, even, () => code(1));
}
