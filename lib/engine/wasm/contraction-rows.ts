/**
 * Products summed one term after another whose left operand has contiguous rows. Pairs of rows are
 * computed together: two numbers of one row and two of the next are loaded and exchanged.
 */
import type {Body, Local} from '../../wasm/assembler.js';
import type {Pointers, Strides} from './contraction-block.js';
import {repeat, withLocal} from './counting.js';

/** Writes the block of an even number of rows and some columns of the result, summed over the whole inner index. */
export function emitRowPairs(
  body: Body,
  strides: Strides,
  k: number,
  rows: number,
  columns: number,
  at: Pointers,
): void {
  new RowPairs(body, strides, rows / 2, columns).emit(k, at);
}

class RowPairs {
  private readonly sums: Local[][];

  constructor(
    private readonly body: Body,
    private readonly strides: Strides,
    private readonly pairs: number,
    private readonly columns: number,
  ) {
    this.sums = Array.from({length: pairs}, () =>
      Array.from({length: columns}, () => {
        const sum = body.local('v128');
        body.f64x2(0, 0).set(sum);
        return sum;
      }),
    );
  }

  emit(k: number, at: Pointers): void {
    const {
      body,
      strides: {a, b},
    } = this;
    const [qa, qb] = [body.local('i32'), body.local('i32')];
    body.get(at.a).set(qa).get(at.b).set(qb);
    repeat(
      body,
      Math.floor(k / 2),
      [
        {local: qa, bytes: 16 * a.column},
        {local: qb, bytes: 16 * b.row},
      ],
      () => this.terms(qa, qb, 2),
    );
    if (k % 2 === 1) this.terms(qa, qb, 1);
    this.store(at.c);
    for (const local of [qa, qb, ...this.sums.flat()]) body.release(local);
  }

  /** Adds the terms of one or two inner indices; the fewer of both operands' numbers are kept in registers. */
  private terms(qa: Local, qb: Local, count: 1 | 2): void {
    const {body, pairs, columns} = this;
    if (columns <= pairs) {
      const right = Array.from({length: columns}, (_, s) =>
        Array.from({length: count}, (__, t) => this.repeated(qb, s, t)),
      );
      for (let p = 0; p < pairs; p++) {
        const left = this.exchanged(qa, p, count);
        for (let s = 0; s < columns; s++) left.forEach((factor, t) => this.add(p, s, factor, right[s][t]));
        left.forEach(local => body.release(local));
      }
      right.flat().forEach(local => body.release(local));
      return;
    }
    const left = Array.from({length: pairs}, (_, p) => this.exchanged(qa, p, count));
    for (let s = 0; s < columns; s++) {
      for (let t = 0; t < count; t++) {
        const right = this.repeated(qb, s, t);
        for (let p = 0; p < pairs; p++) this.add(p, s, left[p][t], right);
        body.release(right);
      }
    }
    left.flat().forEach(local => body.release(local));
  }

  private add(p: number, s: number, left: Local, right: Local): void {
    const sum = this.sums[p][s];
    this.body.get(sum).get(left).get(right).op('f64x2.mul', 'f64x2.add').set(sum);
  }

  /** For each inner index, the two rows' numbers side by side. */
  private exchanged(qa: Local, p: number, count: 1 | 2): Local[] {
    const {
      body,
      strides: {a},
    } = this;
    const [first, second] = [16 * p * a.row, 8 * (2 * p + 1) * a.row];
    const low = body.local('v128');
    if (count === 1) {
      body.get(qa).get(qa).memory('v128.load64_zero', first).laneMemory('v128.load64_lane', second, 1).set(low);
      return [low];
    }
    const high = body.local('v128');
    withLocal(body, 'v128', above =>
      withLocal(body, 'v128', below => {
        body.get(qa).memory('v128.load', first).set(above).get(qa).memory('v128.load', second).set(below);
        body.get(above).get(below).shuffle(0, 2).set(low);
        body.get(above).get(below).shuffle(1, 3).set(high);
      }),
    );
    return [low, high];
  }

  /** A number of the right operand twice, from column s and inner index t. */
  private repeated(qb: Local, s: number, t: number): Local {
    const {
      body,
      strides: {b},
    } = this;
    const local = body.local('v128');
    body
      .get(qb)
      .memory('v128.load64_splat', 8 * (s * b.column + t * b.row))
      .set(local);
    return local;
  }

  private store(pc: Local): void {
    const {
      body,
      strides: {c},
    } = this;
    this.sums.forEach((row, p) =>
      row.forEach((sum, s) => {
        const offset = 8 * (2 * p * c.row + s * c.column);
        if (c.row === 1) body.get(pc).get(sum).memory('v128.store', offset);
        else
          for (const lane of [0, 1] as const)
            body
              .get(pc)
              .get(sum)
              .laneMemory('v128.store64_lane', offset + 8 * lane * c.row, lane);
      }),
    );
  }
}
