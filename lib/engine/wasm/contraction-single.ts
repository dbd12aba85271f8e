/**
 * Products of matrices in single precision that are not worth packing. A tile of the result is kept in registers
 * while the inner index runs: four columns to a vector; or, where the left operand is contiguous along the inner
 * index and the right one too, or has no four columns, four of that, whose parts are joined at the end. What is left
 * over is computed one number at a time.
 */
import type {Body, Local} from '../../wasm/assembler.js';
import type {Pointers} from './contraction-block.js';
import type {Product} from './contraction.js';
import {pointersTo, transposed} from './contraction.js';
import {inBlocks, repeat} from './counting.js';
import type {Format} from './format.js';
import {multiplyAdd} from './format.js';

/** Rows and vectors of a tile: eight sums, as in double precision. Fewer rows leave room for more vectors. */
const rowsAtOnce = 4;
const vectorsAtOnce = 2;
/** From this inner length on, joining the parts of dots is paid for. */
const shortestDots = 8;

export function emitSingleProduct(body: Body, given: Product, format: Format): void {
  const {m, n, batch, a: left} = given;
  if (m * n * batch === 0) return;
  // A matrix that lies by columns, times a vector.
  const product = n === 1 && m > 1 && left.row === 1 && left.column !== 1 ? transposed(given) : given;
  const {a, b, c} = product;
  const at = pointersTo(body, product);
  const {bytes} = format;
  const walks = [
    {local: at.a, bytes: bytes * a.batch},
    {local: at.b, bytes: bytes * b.batch},
    {local: at.c, bytes: bytes * c.batch},
  ];
  repeat(body, batch, walks, () => new SingleProduct(body, product, format, at).emit());
  for (const local of [at.a, at.b, at.c]) body.release(local);
}

class SingleProduct {
  constructor(
    private readonly body: Body,
    private readonly product: Product,
    private readonly format: Format,
    private readonly at: Pointers,
  ) {}

  emit(): void {
    const {
      body,
      at,
      format: {bytes, lanes},
      product: {m, n, k, a, b, c},
    } = this;
    const dots = k >= shortestDots && a.column === 1 && (b.row === 1 || n < lanes);
    const rowWalks = [
      {local: at.a, bytes: bytes * a.row},
      {local: at.c, bytes: bytes * c.row},
    ];
    const columnWalks = [
      {local: at.b, bytes: bytes * b.column},
      {local: at.c, bytes: bytes * c.column},
    ];
    const most = dots && n >= lanes ? rowsAtOnce / 2 : rowsAtOnce;
    const vectors = dots ? 1 : vectorsAtOnce * (m < most ? Math.floor(most / m) : 1);
    inBlocks(body, m, [most, 1], rowWalks, rows =>
      inBlocks(body, n, [lanes * vectors, lanes, 1], columnWalks, columns => {
        if (dots) this.dots(rows, columns);
        else if (columns >= lanes) this.columns(rows, columns / lanes);
        else this.numbers(rows, columns);
      }),
    );
  }

  /** Runs code for each inner index (or so many at once), with pointers to the operands there. */
  private along(trips: number, step: number, code: (qa: Local, qb: Local) => void): void {
    const {
      body,
      at,
      format: {bytes},
      product: {a, b},
    } = this;
    const [qa, qb] = [body.local('i32'), body.local('i32')];
    body.get(at.a).set(qa).get(at.b).set(qb);
    const walks = [
      {local: qa, bytes: bytes * step * a.column},
      {local: qb, bytes: bytes * step * b.row},
    ];
    repeat(body, trips, walks, () => code(qa, qb));
    body.release(qa);
    body.release(qb);
  }

  private sums(rows: number, columns: number, type: 'v128' | 'f32'): Local[][] {
    return Array.from({length: rows}, () =>
      Array.from({length: columns}, () => {
        const sum = this.body.local(type);
        if (type === 'v128') this.body.f32x4(0);
        else this.body.f32(0);
        this.body.set(sum);
        return sum;
      }),
    );
  }

  private release(sums: readonly (readonly Local[])[]): void {
    for (const sum of sums.flat()) this.body.release(sum);
  }

  /** Pushes a vector of numbers that are `stride` numbers apart, the first so many bytes from a pointer. */
  private pushVector(pointer: Local, offset: number, stride: number): void {
    const {
      body,
      format: {bytes, lanes, loadZero, loadLane},
    } = this;
    if (stride === 1) {
      body.get(pointer).memory('v128.load', offset);
      return;
    }
    for (let lane = 1; lane < lanes; lane++) body.get(pointer);
    body.get(pointer).memory(loadZero, offset);
    for (let lane = 1; lane < lanes; lane++) body.laneMemory(loadLane, offset + bytes * lane * stride, lane);
  }

  private pushSplat(qa: Local, row: number, inner: number): void {
    const {
      body,
      format: {bytes, loadSplat},
      product: {a},
    } = this;
    body.get(qa).memory(loadSplat, bytes * (row * a.row + inner * a.column));
  }

  private columns(rows: number, vectors: number): void {
    const {body, format, product, at} = this;
    const sums = this.sums(rows, vectors, 'v128');
    const right = Array.from({length: vectors}, () => body.local('v128'));
    const left = body.local('v128');
    this.along(product.k, 1, (qa, qb) => {
      right.forEach((local, s) => {
        this.pushVector(qb, format.bytes * s * format.lanes * product.b.column, product.b.column);
        body.set(local);
      });
      sums.forEach((row, r) => {
        this.pushSplat(qa, r, 0);
        body.set(left);
        row.forEach((sum, s) => multiplyAdd(body, format, sum, left, right[s]));
      });
    });
    sums.forEach((row, r) =>
      row.forEach((sum, s) =>
        body
          .get(at.c)
          .get(sum)
          .memory('v128.store', format.bytes * (r * product.c.row + s * format.lanes)),
      ),
    );
    this.release([...sums, right, [left]]);
  }

  /** Pushes a number of the left and of the right operand, multiplied. */
  private pushTerm(qa: Local, qb: Local, row: number, column: number, inner: number): void {
    const {
      body,
      format: {bytes, load},
      product: {a, b},
    } = this;
    body.get(qa).memory(load, bytes * (row * a.row + inner * a.column));
    body.get(qb).memory(load, bytes * (column * b.column + inner * b.row));
    body.op('f32.mul');
  }

  private storeNumber(row: number, column: number, sum: Local): void {
    const {
      body,
      at,
      format: {bytes, store},
      product: {c},
    } = this;
    body
      .get(at.c)
      .get(sum)
      .memory(store, bytes * (row * c.row + column * c.column));
  }

  private numbers(rows: number, columns: number): void {
    const {body, product} = this;
    const sums = this.sums(rows, columns, 'f32');
    this.along(product.k, 1, (qa, qb) =>
      sums.forEach((row, r) =>
        row.forEach((sum, s) => {
          body.get(sum);
          this.pushTerm(qa, qb, r, s, 0);
          body.op('f32.add').set(sum);
        }),
      ),
    );
    sums.forEach((row, r) => row.forEach((sum, s) => this.storeNumber(r, s, sum)));
    this.release(sums);
  }

  private dots(rows: number, columns: number): void {
    const {
      body,
      format,
      at,
      product: {k, a, b, c},
    } = this;
    const {bytes, lanes} = format;
    const sums = this.sums(rows, columns, 'v128');
    const right = Array.from({length: columns}, () => body.local('v128'));
    const left = body.local('v128');
    const whole = Math.floor(k / lanes);
    this.along(whole, lanes, (qa, qb) => {
      right.forEach((local, s) => {
        this.pushVector(qb, bytes * s * b.column, b.row);
        body.set(local);
      });
      sums.forEach((row, r) => {
        body
          .get(qa)
          .memory('v128.load', bytes * r * a.row)
          .set(left);
        row.forEach((sum, s) => multiplyAdd(body, format, sum, left, right[s]));
      });
    });
    const tail = Array.from({length: k - whole * lanes}, (_, i) => whole * lanes + i);
    sums.forEach((row, r) => {
      if (columns !== lanes) {
        row.forEach((sum, s) => this.joinOne(r, s, sum, tail));
        return;
      }
      this.joinFour(row);
      for (const inner of tail) {
        this.pushVector(at.b, bytes * inner * b.row, b.column);
        body.set(right[0]);
        this.pushSplat(at.a, r, inner);
        body.set(left);
        multiplyAdd(body, format, row[0], left, right[0]);
      }
      body
        .get(at.c)
        .get(row[0])
        .memory('v128.store', bytes * r * c.row);
    });
    this.release([...sums, right, [left]]);
  }

  /** Leaves the sum of each vector's parts in a lane of the first. */
  private joinFour([first, second, third, fourth]: readonly Local[]): void {
    const {body} = this;
    const join = (x: Local, y: Local): void => {
      body.get(x).get(y).shuffle32(0, 4, 1, 5).get(x).get(y).shuffle32(2, 6, 3, 7).op('f32x4.add').set(x);
    };
    join(first, second);
    join(third, fourth);
    body.get(first).get(third).shuffle32(0, 1, 4, 5).get(first).get(third).shuffle32(2, 3, 6, 7);
    body.op('f32x4.add').set(first);
  }

  private joinOne(row: number, column: number, sum: Local, tail: readonly number[]): void {
    const {body, at} = this;
    const total = body.local('f32');
    body.get(sum).extractLane32(0);
    for (let lane = 1; lane < this.format.lanes; lane++) body.get(sum).extractLane32(lane).op('f32.add');
    for (const inner of tail) {
      this.pushTerm(at.a, at.b, row, column, inner);
      body.op('f32.add');
    }
    body.set(total);
    this.storeNumber(row, column, total);
    body.release(total);
  }
}
