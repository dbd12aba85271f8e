/** A block of a product's result: the sums are kept in registers while the inner index runs. */
import type {FunctionBody, Local} from '../../wasm/assembler.js';
import {repeat, withLocal} from './counting.js';
import {joinVectors, multiplyAdd, sumOfLanes, type Format} from './format.js';

/** A matrix in memory: address of its first element, known or in a local, and strides in elements. */
export interface MatrixPlace<Address = number | Local> {
  readonly address: Address;
  readonly batch: number;
  readonly row: number;
  readonly column: number;
}

export interface Product<Address = number | Local> {
  /** In double precision: even and odd terms are summed apart. */
  readonly apart: boolean;
  readonly batch: number;
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly a: MatrixPlace<Address>;
  readonly b: MatrixPlace<Address>;
  /** The elements of a row are contiguous. */
  readonly c: MatrixPlace<Address>;
}

/** Where the operands' first elements are. */
export interface ContractionPointers {
  readonly a: Local;
  readonly b: Local;
  readonly c: Local;
}

export interface BlockShape {
  readonly product: Product;
  readonly format: Format;
  /** Sums are vectors along the inner index; else vectors of columns, or numbers where there are fewer columns. */
  readonly dots: boolean;
  readonly rows: number;
  /** Fewer than a vector has numbers, or a multiple of these. */
  readonly columns: number;
  /** 2: even and odd terms are summed apart. */
  readonly parts: 1 | 2;
}

export function emitBlock(body: FunctionBody, shape: BlockShape, at: ContractionPointers): void {
  new Block(body, shape, at).emit();
}

class Block {
  /** By part, row and column (or vector of columns). */
  private readonly sums: readonly (readonly (readonly Local[])[])[];
  private readonly qa: Local;
  private readonly qb: Local;
  /** Columns of a sum. */
  private readonly width: number;
  private readonly type: 'v128' | Format['number'];

  constructor(
    private readonly body: FunctionBody,
    private readonly shape: BlockShape,
    private readonly at: ContractionPointers,
  ) {
    const {format, dots, rows, columns, parts} = shape;
    this.width = !dots && columns >= format.lanes ? format.lanes : 1;
    this.type = dots || this.width > 1 ? 'v128' : format.number;
    const each = <T>(count: number, make: () => T): T[] => Array.from({length: count}, make);
    this.sums = each(parts, () => each(rows, () => each(columns / this.width, () => this.zero())));
    this.qa = body.local('i32');
    this.qb = body.local('i32');
  }

  private zero(): Local {
    const {body, type} = this;
    const sum = body.local(type);
    if (type === 'v128') body.f64x2(0, 0);
    else body[type](0);
    body.set(sum);
    return sum;
  }

  emit(): void {
    const {body, shape, at, qa, qb, sums} = this;
    const {product, format, dots, parts} = shape;
    const {a, b, k} = product;
    body.get(at.a).set(qa).get(at.b).set(qb);
    const step = dots ? format.lanes : parts;
    const walks = [
      {local: qa, bytes: format.bytes * step * a.column},
      {local: qb, bytes: format.bytes * step * b.row},
    ];
    repeat(body, Math.floor(k / step), walks, () => sums.forEach((part, ahead) => this.terms(part, ahead)));
    if (dots) this.joinDots(k % step);
    else this.storeSums();
    for (const local of [qa, qb, ...sums.flat(2)]) body.release(local);
  }

  /** Adds to all sums the terms of an inner index so many further on (of a vector of these, for dots). */
  private terms(sums: readonly (readonly Local[])[], ahead: number): void {
    const {body, type, width, shape} = this;
    const {dots, format, product} = shape;
    const {a, b} = product;
    const {bytes} = format;
    const load = (s: number): Local => {
      const local = body.local(type);
      const offset = bytes * (ahead * b.row + s * width * b.column);
      if (type === 'v128') this.pushVector(this.qb, offset, dots ? b.row : b.column);
      else body.get(this.qb).memory(format.load, offset);
      body.set(local);
      return local;
    };
    // A single row uses each number of B once.
    const right = sums.length === 1 ? [] : sums[0].map((_, s) => load(s));
    const loadLeft = dots ? 'v128.load' : type === 'v128' ? format.loadSplat : format.load;
    withLocal(body, type, left =>
      sums.forEach((row, r) => {
        body
          .get(this.qa)
          .memory(loadLeft, bytes * (ahead * a.column + r * a.row))
          .set(left);
        row.forEach((sum, s) => {
          const factor = right.at(s) ?? load(s);
          if (type === 'v128') multiplyAdd(body, format, sum, left, factor);
          else body.get(sum).get(left).get(factor).op(`${type}.mul`, `${type}.add`).set(sum);
          if (right.length === 0) body.release(factor);
        });
      }),
    );
    right.forEach(local => body.release(local));
  }

  /** Pushes a vector of numbers that are `stride` numbers apart, the first so many bytes from a pointer. */
  private pushVector(pointer: Local, offset: number, stride: number): void {
    const {body} = this;
    const {bytes, lanes, loadZero, loadLane} = this.shape.format;
    if (stride === 1) {
      body.get(pointer).memory('v128.load', offset);
      return;
    }
    for (let lane = 1; lane < lanes; lane++) body.get(pointer);
    body.get(pointer).memory(loadZero, offset);
    for (let lane = 1; lane < lanes; lane++) body.laneMemory(loadLane, offset + bytes * lane * stride, lane);
  }

  private store(row: number, column: number, sum: Local): void {
    const {product, format} = this.shape;
    this.body
      .get(this.at.c)
      .get(sum)
      .memory(sum.type === 'v128' ? 'v128.store' : format.store, format.bytes * (row * product.c.row + column));
  }

  private storeSums(): void {
    const {body, type, width, shape} = this;
    const [first, second] = this.sums;
    if (second !== undefined) {
      const add = type === 'v128' ? (`${shape.format.vector}.add` as const) : (`${type}.add` as const);
      first.forEach((row, r) => row.forEach((sum, s) => body.get(sum).get(second[r][s]).op(add).set(sum)));
      if (shape.product.k % 2 === 1) this.terms(first, 0);
    }
    first.forEach((row, r) => row.forEach((sum, s) => this.store(r, s * width, sum)));
  }

  /** @param tail inner indices that did not fill a vector */
  private joinDots(tail: number): void {
    const {lanes} = this.shape.format;
    this.sums[0].forEach((row, r) => {
      const whole = row.length - (row.length % lanes);
      for (let s = 0; s < whole; s += lanes) this.joinColumns(r, s, row.slice(s, s + lanes), tail);
      for (let s = whole; s < row.length; s++) this.joinColumn(r, s, row[s], tail);
    });
  }

  private joinColumns(r: number, s: number, sums: readonly Local[], tail: number): void {
    const {body, qa, qb, shape} = this;
    const {product, format} = shape;
    const {bytes} = format;
    const {a, b} = product;
    joinVectors(body, format, sums);
    withLocal(body, 'v128', left =>
      withLocal(body, 'v128', right => {
        for (let inner = 0; inner < tail; inner++) {
          this.pushVector(qb, bytes * (inner * b.row + s * b.column), b.column);
          body
            .set(right)
            .get(qa)
            .memory(format.loadSplat, bytes * (inner + r * a.row))
            .set(left);
          multiplyAdd(body, format, sums[0], left, right);
        }
      }),
    );
    this.store(r, s, sums[0]);
  }

  private joinColumn(r: number, s: number, sum: Local, tail: number): void {
    const {body, qa, qb, shape} = this;
    const {product, format} = shape;
    const {bytes, load, number} = format;
    const {a, b} = product;
    sumOfLanes(body, format, sum);
    for (let inner = 0; inner < tail; inner++) {
      body.get(qa).memory(load, bytes * (inner + r * a.row));
      body.get(qb).memory(load, bytes * (inner * b.row + s * b.column));
      body.op(`${number}.mul`, `${number}.add`);
    }
    withLocal(body, number, total => {
      body.set(total);
      this.store(r, s, total);
    });
  }
}
