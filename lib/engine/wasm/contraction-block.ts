/** A block of a product's result: the sums are kept in registers while the inner index runs. */
import type {Body, Local} from '../../wasm/assembler.js';
import {repeat, withLocal} from './counting.js';

/** Strides of the product's operands, in elements. */
export interface Strides {
  readonly a: {readonly row: number; readonly column: number};
  readonly b: {readonly row: number; readonly column: number};
  readonly c: {readonly row: number; readonly column: number};
}

/** Where the operands' first elements are. */
export interface Pointers {
  readonly a: Local;
  readonly b: Local;
  readonly c: Local;
}

/** Pairs of columns; pairs along the inner index; single numbers. */
export type Scheme = 'columns' | 'dots' | 'numbers';

export interface BlockShape {
  readonly strides: Strides;
  readonly k: number;
  readonly scheme: Scheme;
  readonly rows: number;
  readonly columns: number;
  /** 2: even and odd terms are summed apart; in dots they are anyway. */
  readonly parts: 1 | 2;
}

export function emitBlock(body: Body, shape: BlockShape, at: Pointers): void {
  new Block(body, shape, at).emit();
}

class Block {
  /** By part, row and column (or pair of columns). */
  private readonly sums: readonly (readonly (readonly Local[])[])[];
  private readonly qa: Local;
  private readonly qb: Local;
  /** Columns are taken in pairs. */
  private readonly paired: boolean;
  private readonly type: 'v128' | 'f64';

  constructor(
    private readonly body: Body,
    private readonly shape: BlockShape,
    private readonly at: Pointers,
  ) {
    const {scheme, rows, columns, parts} = shape;
    this.paired = scheme === 'columns' && columns > 1;
    this.type = this.paired || scheme === 'dots' ? 'v128' : 'f64';
    const width = this.paired ? columns / 2 : columns;
    const each = <T>(count: number, make: () => T): T[] => Array.from({length: count}, make);
    this.sums = each(parts, () => each(rows, () => each(width, () => this.zero())));
    this.qa = body.local('i32');
    this.qb = body.local('i32');
  }

  emit(): void {
    const {
      body,
      shape: {
        k,
        strides: {a, b},
        scheme,
        parts,
      },
      at,
      qa,
      qb,
    } = this;
    body.get(at.a).set(qa).get(at.b).set(qb);
    const step = scheme === 'dots' ? 2 : parts;
    repeat(
      body,
      Math.floor(k / step),
      [
        {local: qa, bytes: 8 * step * a.column},
        {local: qb, bytes: 8 * step * b.row},
      ],
      () => {
        for (let part = 0; part < parts; part++) this.terms(part, this.sums[part]);
      },
    );
    if (scheme === 'dots') this.joinDots();
    else this.storeSums();
    for (const local of [qa, qb, ...this.sums.flat(2)]) body.release(local);
  }

  private zero(): Local {
    const {body, type} = this;
    const sum = body.local(type);
    if (type === 'v128') body.f64x2(0, 0);
    else body.f64(0);
    body.set(sum);
    return sum;
  }

  /** Adds the terms of one inner index (of two, for dots) so many further on to all sums. */
  private terms(ahead: number, sums: readonly (readonly Local[])[]): void {
    const {
      body,
      type,
      paired,
      qa,
      qb,
      shape: {
        strides: {a, b},
        scheme,
      },
    } = this;
    const loadB = type === 'f64' ? 'f64.load' : 'v128.load';
    const loadA = type === 'f64' ? 'f64.load' : scheme === 'dots' ? 'v128.load' : 'v128.load64_splat';
    const pushRight = (s: number): Body =>
      body.get(qb).memory(loadB, 8 * (ahead * b.row + s * (paired ? 2 : b.column)));
    // A single row uses each number of B once.
    const right =
      sums.length === 1
        ? []
        : sums[0].map((_, s) => {
            const local = body.local(type);
            pushRight(s).set(local);
            return local;
          });
    withLocal(body, type, left => {
      sums.forEach((row, r) => {
        body
          .get(qa)
          .memory(loadA, 8 * (ahead * a.column + r * a.row))
          .set(left);
        row.forEach((sum, s) => {
          body.get(sum).get(left);
          if (right.length === 0) pushRight(s);
          else body.get(right[s]);
          if (type === 'f64') body.op('f64.mul', 'f64.add');
          else body.op('f64x2.mul', 'f64x2.add');
          body.set(sum);
        });
      });
    });
    right.forEach(local => body.release(local));
  }

  private storeSums(): void {
    const {
      body,
      type,
      paired,
      at,
      shape: {
        k,
        strides: {c},
        parts,
      },
      sums: [first, second],
    } = this;
    if (parts === 2) {
      first.forEach((row, r) =>
        row.forEach((sum, s) =>
          body
            .get(sum)
            .get(second[r][s])
            .op(type === 'f64' ? 'f64.add' : 'f64x2.add')
            .set(sum),
        ),
      );
      if (k % 2 === 1) this.terms(0, first);
    }
    first.forEach((row, r) =>
      row.forEach((sum, s) => {
        body
          .get(at.c)
          .get(sum)
          .memory(paired ? 'v128.store' : 'f64.store', 8 * (r * c.row + s * (paired ? 2 : c.column)));
      }),
    );
  }

  private joinDots(): void {
    const {
      body,
      at,
      qa,
      qb,
      shape: {
        k,
        strides: {a, b, c},
      },
    } = this;
    this.sums[0].forEach((row, r) =>
      row.forEach((sum, s) => {
        body.get(at.c).get(sum).extractLane(0).get(sum).extractLane(1).op('f64.add');
        if (k % 2 === 1)
          body
            .get(qa)
            .memory('f64.load', 8 * r * a.row)
            .get(qb)
            .memory('f64.load', 8 * s * b.column)
            .op('f64.mul', 'f64.add');
        body.memory('f64.store', 8 * (r * c.row + s * c.column));
      }),
    );
  }
}
