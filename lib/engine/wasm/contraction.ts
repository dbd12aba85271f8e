/**
 * Products of matrices that are not worth packing. A block of the result is kept in registers while the inner index
 * runs: vectors of columns, or vectors along the inner index where both operands are contiguous there. Operands are
 * read where they lie, by strides, so transposes and blocks of a longer vector are not copied. In double precision the
 * graph says in which order an element's terms are summed, wherever the operands lie.
 */
import type {FunctionBody, Local} from '../../wasm/assembler.js';
import {emitBlock, type MatrixPlace, type ContractionPointers, type Product} from './contraction-block.js';
import {inBlocks, repeat} from './counting.js';
import {double, type Format} from './format.js';

/**
 * Sums of a block, vectors or numbers: with two vectors of B and one of A eleven registers, within the sixteen of x64.
 */
const sumsAtOnce = 8;
/** Rows of a block, and vectors of columns; fewer rows leave room for more columns. */
const rowsAtOnce = 4;
const vectorsAtOnce = 2;
/** From this inner length on, joining the four parts of single precision's dots is paid for. */
const shortestSingleDots = 8;

export function emitProduct(body: FunctionBody, given: Product, format: Format): void {
  const {m, n, batch, a: left} = given;
  if (m * n * batch === 0) return;
  // A matrix that lies by columns, times a vector.
  const product = n === 1 && m > 1 && left.row === 1 && left.column !== 1 ? transposed(given) : given;
  const {bytes} = format;
  const {a, b, c} = product;
  const at: ContractionPointers = {a: pointerTo(body, a), b: pointerTo(body, b), c: pointerTo(body, c)};
  const walks = [
    {local: at.a, bytes: bytes * a.batch},
    {local: at.b, bytes: bytes * b.batch},
    {local: at.c, bytes: bytes * c.batch},
  ];
  repeat(body, batch, walks, () => emitOne(body, product, format, at));
  for (const local of [at.a, at.b, at.c]) body.release(local);
}

function pointerTo(body: FunctionBody, {address}: MatrixPlace): Local {
  const local = body.local('i32');
  if (typeof address === 'number') body.i32(address);
  else body.get(address);
  body.set(local);
  return local;
}

/** A text equal for products that one function computes: they differ only in addresses. */
export function productKey({apart, batch, m, k, n, a, b, c}: Product, {name}: Format): string {
  const strides = [a, b, c].flatMap(matrix => [matrix.batch, matrix.row, matrix.column]);
  return [name, apart, batch, m, k, n, ...strides].join();
}

function emitOne(body: FunctionBody, product: Product, format: Format, at: ContractionPointers): void {
  const {m, n, k, apart, a, b, c} = product;
  const {bytes, lanes} = format;
  const dots = hasDots(product, format);
  const parts = format === double && apart && k > 1 && !dots ? 2 : 1;
  const most = dots && n >= lanes ? sumsAtOnce / lanes : rowsAtOnce / parts;
  const columnsAtOnce = lanes * (dots ? 1 : vectorsAtOnce) * (m < most ? Math.floor(most / m) : 1);
  const rowWalks = [
    {local: at.a, bytes: bytes * a.row},
    {local: at.c, bytes: bytes * c.row},
  ];
  const columnWalks = [
    {local: at.b, bytes: bytes * b.column},
    {local: at.c, bytes},
  ];
  inBlocks(body, m, [most, 1], rowWalks, rows =>
    inBlocks(body, n, [columnsAtOnce, lanes, 1], columnWalks, columns =>
      emitBlock(body, {product, format, dots, rows, columns, parts}, at),
    ),
  );
}

/** The product transposed, whose result is a row. */
function transposed({m, n, a, b, c, ...rest}: Product): Product {
  const flip = (matrix: MatrixPlace): MatrixPlace => ({...matrix, row: matrix.column, column: matrix.row});
  return {...rest, m: n, n: m, a: flip(b), b: flip(a), c: {...c, row: m, column: 1}};
}

/** Whether vectors are taken along the inner index. */
function hasDots({apart, n, k, a, b}: Product, format: Format): boolean {
  if (a.column !== 1) return false;
  if (format === double) return apart && k > 1 && b.row === 1;
  return k >= shortestSingleDots && (b.row === 1 || n < format.lanes);
}
