/**
 * Products of matrices. A block of the result is kept in registers while the inner index runs:
 * pairs of columns where the right operand's rows are contiguous (each element is then summed in the
 * plain order), pairs along the inner index where both operands are contiguous there (even and odd
 * terms summed apart), single numbers otherwise. Operands are read where they lie, by strides, so
 * transposes and blocks of a longer vector are not copied.
 */
import type {Body, Local} from '../../wasm/assembler.js';
import {repeat, withLocal} from './counting.js';

/** A matrix in memory: address of its first element and strides in elements. */
export interface MatrixPlace {
  readonly address: number;
  readonly batch: number;
  readonly row: number;
  readonly column: number;
}

export interface Product {
  readonly batch: number;
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly a: MatrixPlace;
  readonly b: MatrixPlace;
  readonly c: MatrixPlace;
}

type Scheme = 'columns' | 'dots' | 'numbers';

/** Rows of the result in registers: with two pairs of columns that is eight sums, two pairs of B and one
 * of A, within the sixteen vector registers of x64. */
const rowsAtOnce = 4;
/** Columns at once: two pairs, or for single numbers and dots two columns. */
const columnsAtOnce: {readonly [S in Scheme]: number} = {columns: 4, dots: 2, numbers: 2};

export function emitProduct(body: Body, given: Product): void {
  const product = oriented(given);
  const {batch, m, n, k, a, b, c} = product;
  if (m * n * batch === 0) return;
  const scheme = schemeOf(product);
  const [pa, pb, pc] = [body.local('i32'), body.local('i32'), body.local('i32')];
  body.i32(a.address).set(pa).i32(b.address).set(pb).i32(c.address).set(pc);
  repeat(body, batch, [{local: pa, bytes: 8 * a.batch}, {local: pb, bytes: 8 * b.batch}, {local: pc, bytes: 8 * c.batch}], () => {
    blocks(body, m, rowsAtOnce, [{local: pa, stride: a.row}, {local: pc, stride: c.row}], rows => {
      columnBlocks(body, n, scheme, [{local: pb, stride: b.column}, {local: pc, stride: c.column}], columns => {
        new Block(body, product, k, scheme, rows, columns, pa, pb, pc).emit();
      });
    });
  });
  for (const local of [pa, pb, pc]) body.release(local);
}

/** Where only the transposed product has contiguous rows (a single column of the result), that is computed. */
function oriented(product: Product): Product {
  const {batch, m, k, n, a, b, c} = product;
  if (n === 1 && m > 1 && a.row === 1 && a.column !== 1) {
    const flip = (matrix: MatrixPlace): MatrixPlace => ({...matrix, row: matrix.column, column: matrix.row});
    // A single column is contiguous whatever its stride along the row says.
    return {batch, m: n, k, n: m, a: flip(b), b: flip(a), c: flip({...c, row: 1})};
  }
  return product;
}

function schemeOf({n, k, a, b, c}: Product): Scheme {
  if (n > 1 && b.column === 1 && c.column === 1) return 'columns';
  if (k > 1 && a.column === 1 && b.row === 1) return 'dots';
  return 'numbers';
}

interface Walk {
  readonly local: Local;
  readonly stride: number;
}

/** Runs over 0 … count in blocks of `atOnce`, then over what is left, with copies of the pointers moved on. */
function blocks(body: Body, count: number, atOnce: number, walks: readonly Walk[], code: (size: number) => void): void {
  const starts = walks.map(({local}) => {
    const kept = body.local('i32');
    body.get(local).set(kept);
    return kept;
  });
  const whole = Math.floor(count / atOnce);
  repeat(body, whole, walks.map(({local, stride}) => ({local, bytes: 8 * stride * atOnce})), () => code(atOnce));
  const rest = count - whole * atOnce;
  if (rest > 0) code(rest);
  walks.forEach(({local}, i) => {
    body.get(starts[i]).set(local);
    body.release(starts[i]);
  });
}

/** As blocks; for pairs of columns the rest of three is a pair and a single one. */
function columnBlocks(body: Body, n: number, scheme: Scheme, walks: readonly Walk[], code: (columns: number) => void): void {
  if (scheme !== 'columns') {
    blocks(body, n, columnsAtOnce[scheme], walks, code);
    return;
  }
  const even = n - (n % 2);
  const kept = walks.map(({local}) => {
    const copy = body.local('i32');
    body.get(local).set(copy);
    return copy;
  });
  if (even > 0) blocks(body, even, columnsAtOnce.columns, walks, code);
  if (n > even) {
    for (const {local, stride} of walks) body.get(local).i32(8 * stride * even).op('i32.add').set(local);
    code(1);
  }
  walks.forEach(({local}, i) => {
    body.get(kept[i]).set(local);
    body.release(kept[i]);
  });
}

/** One block of the result, summed over the whole inner index. */
class Block {
  private readonly sums: Local[][] = [];
  /** Columns are taken in pairs. */
  private readonly paired: boolean;

  constructor(
    private readonly body: Body, private readonly product: Product, private readonly k: number, private readonly scheme: Scheme,
    private readonly rows: number, private readonly columns: number,
    private readonly pa: Local, private readonly pb: Local, private readonly pc: Local,
  ) {
    this.paired = scheme === 'columns' && columns > 1;
  }

  emit(): void {
    const {body, product: {a, b}} = this;
    const vector = this.paired || this.scheme === 'dots';
    const width = this.paired ? this.columns / 2 : this.columns;
    for (let r = 0; r < this.rows; r++) {
      this.sums.push([]);
      for (let s = 0; s < width; s++) {
        const sum = body.local(vector ? 'v128' : 'f64');
        if (vector) body.f64x2(0, 0);
        else body.f64(0);
        body.set(sum);
        this.sums[r].push(sum);
      }
    }
    const [qa, qb] = [body.local('i32'), body.local('i32')];
    body.get(this.pa).set(qa).get(this.pb).set(qb);
    const step = this.scheme === 'dots' ? 2 : 1;
    const trips = Math.floor(this.k / step);
    repeat(body, trips, [{local: qa, bytes: 8 * step * a.column}, {local: qb, bytes: 8 * step * b.row}], () => this.terms(qa, qb));
    if (this.scheme === 'dots') this.joinDots(qa, qb);
    else this.storeSums();
    for (const sum of this.sums.flat()) body.release(sum);
    body.release(qa);
    body.release(qb);
  }

  /** Adds the terms of one inner index (or of two, for dots) to all sums. */
  private terms(qa: Local, qb: Local): void {
    const {body, product: {a, b}} = this;
    const type = this.paired || this.scheme === 'dots' ? 'v128' : 'f64';
    const loadB = type === 'f64' ? 'f64.load' : 'v128.load';
    const loadA = type === 'f64' ? 'f64.load' : this.scheme === 'dots' ? 'v128.load' : 'v128.load64_splat';
    const right = this.sums[0].map((_, s) => {
      const local = body.local(type);
      body.get(qb).memory(loadB, 8 * s * (this.paired ? 2 : b.column)).set(local);
      return local;
    });
    withLocal(body, type, left => {
      this.sums.forEach((row, r) => {
        body.get(qa).memory(loadA, 8 * r * a.row).set(left);
        row.forEach((sum, s) => {
          body.get(sum).get(left).get(right[s]);
          if (type === 'f64') body.op('f64.mul', 'f64.add');
          else body.op('f64x2.mul', 'f64x2.add');
          body.set(sum);
        });
      });
    });
    right.forEach(local => body.release(local));
  }

  private storeSums(): void {
    const {body, product: {c}} = this;
    this.sums.forEach((row, r) => row.forEach((sum, s) => {
      body.get(this.pc).get(sum).memory(this.paired ? 'v128.store' : 'f64.store', 8 * (r * c.row + s * (this.paired ? 2 : c.column)));
    }));
  }

  private joinDots(qa: Local, qb: Local): void {
    const {body, product: {a, b, c}} = this;
    this.sums.forEach((row, r) => row.forEach((sum, s) => {
      body.get(this.pc).get(sum).extractLane(0).get(sum).extractLane(1).op('f64.add');
      if (this.k % 2 === 1) body.get(qa).memory('f64.load', 8 * r * a.row).get(qb).memory('f64.load', 8 * s * b.column).op('f64.mul', 'f64.add');
      body.memory('f64.store', 8 * (r * c.row + s * c.column));
    }));
  }
}
