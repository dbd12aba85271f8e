/**
 * Substitution in a tridiagonal system, x_i = v_i − f_i x_{i−1} from row to row (lib/linear/tridiagonal.ts): a chain
 * from each end to the middle and back, the two of them in one vector.
 */
import type {Local} from '../../../wasm/assembler.js';
import type {Operand, Push, Writer} from '../../../wasm/writer.js';
import type {Arrays, TridiagonalRows} from './tridiagonal-rows.js';

/** Values v or f of rows. */
export interface RowValues {
  /** The value of the present rows. */
  one(): Push;
  /** The value of the top row alone. */
  top(): Push;
  /** The values of the present and the next rows. */
  two(): readonly [Local, Local];
}

/** Elements of arrays. */
export function elements(rows: TridiagonalRows, arrays: Arrays): RowValues {
  return {one: () => rows.read(arrays), top: () => rows.readTop(arrays), two: () => rows.readTwo(arrays)};
}

/** Products of elements. */
export function products(w: Writer, a: RowValues, b: RowValues): RowValues {
  const product = (x: Operand, y: Operand): Push => w.op('f64x2.mul', x, y);
  return {
    one: () => product(a.one(), b.one()),
    top: () => product(a.top(), b.top()),
    two: () => {
      const [[a1, a2], [b1, b2]] = [a.two(), b.two()];
      return [w.keep('v128', product(a1, b1)), w.keep('v128', product(a2, b2))];
    },
  };
}

export interface TridiagonalChains {
  readonly rows: TridiagonalRows;
  /** The x of the rows before. */
  readonly carried: Local;
  readonly x: Arrays;
  readonly value: RowValues;
  readonly factor: RowValues;
}

function carry(w: Writer, carried: Local, value: Push, factor: Push): void {
  w.set(carried, w.op('f64x2.sub', value, w.op('f64x2.mul', factor, carried)));
}

export function oneRow(w: Writer, {rows, carried, x, value, factor}: TridiagonalChains): void {
  carry(w, carried, value.one(), factor.one());
  rows.write(x, carried);
  rows.move(1);
}

/** A last row that only the top has; what the bottom carried is lost. */
export function topRow(w: Writer, {rows, carried, x, value, factor}: TridiagonalChains): void {
  carry(w, carried, value.top(), factor.top());
  rows.writeTop(x, carried);
}

/** Two rows for one product and one sum on the chain. */
export function twoRows(w: Writer, {rows, carried, x, value, factor}: TridiagonalChains): void {
  const [b, b2] = value.two();
  const [f, f2] = factor.two();
  const between = w.keep('v128', w.op('f64x2.sub', b, w.product('f64x2', f, carried)));
  w.set(
    carried,
    w.op('f64x2.add', w.op('f64x2.sub', b2, w.product('f64x2', f2, b)), w.product('f64x2', f2, f, carried)),
  );
  rows.writeTwo(x, [between, carried]);
  rows.move(2);
}

/** From the middle, whose x is in `carried`, to both ends; the rows above may be one more than those below. */
export function outwards(w: Writer, n: Local, middle: Local, chains: TridiagonalChains): void {
  const {top, bottom} = chains.rows;
  const last = w.keep('i32', w.op('i32.shl', w.op('i32.sub', n, 1), 3));
  w.set(bottom, w.op('i32.shl', w.plus(middle, 1), 3));
  // Two rows begin with the second at the top.
  w.set(top, w.op('i32.shl', w.op('i32.sub', middle, 2), 3));
  w.while(w.op('i32.lt_s', bottom, last), () => twoRows(w, chains));
  w.if(w.op('i32.eq', bottom, last), () => oneRow(w, chains));
  w.if(w.op('i32.ge_s', top, -8), () => topRow(w, chains));
}
