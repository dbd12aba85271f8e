/** Functions that are affine in one tensor, by the entries of their Jacobian. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import {interpreter} from '../../lib/engine/interpreter.js';
import {affineIn, type Tensors} from '../../lib/trace/differentials.js';
import {constantTensor, trace} from '../../lib/trace/trace.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

interface Products {
  readonly value: Float64Array;
  readonly transposed: Float64Array;
}

/** f(x) and Jᵀw at q by the entries; undefined where f is not affine in x. */
function products(
  f: (at: Tensors) => tf.Tensor,
  q: readonly number[],
  x: readonly number[],
  w: readonly number[],
): Products | undefined {
  let refused = false;
  const {graph} = trace(
    at => {
      const map = affineIn(f, {q: at.q, x: at.x}, 'x');
      refused = map === undefined;
      return {value: map?.at(at.x) ?? at.x, transposed: map?.transposed(at.w) ?? at.x};
    },
    Object.entries({q, x, w}).map(([name, {length}]) => ({name, shape: [length]})),
  );
  if (refused) return undefined;
  const executable = interpreter.compile({f: graph});
  executable.optionalBuffer('q')?.set(q);
  executable.optionalBuffer('x')?.set(x);
  executable.optionalBuffer('w')?.set(w);
  executable.run('f');
  return {value: executable.buffer('value'), transposed: executable.buffer('transposed')};
}

const numbers = (length: number): fc.Arbitrary<number[]> =>
  fc.array(fc.double({min: -2, max: 2, noNaN: true}), {minLength: length, maxLength: length});

/** A(q) x + b(q) in plain numbers. */
type Matrix = (q: readonly number[]) => {readonly a: readonly (readonly number[])[]; readonly b: readonly number[]};

describe('functions that are affine in a tensor', () => {
  const compare = (f: (at: Tensors) => tf.Tensor, matrix: Matrix, rows: number, columns: number): void =>
    fc.assert(
      fc.property(numbers(columns), numbers(columns), numbers(rows), (q, x, w) => {
        const {a, b} = matrix(q);
        const found = products(f, q, x, w) as Products;
        for (let i = 0; i < rows; i++)
          expect(found.value[i]).to.be.closeTo(a[i].reduce((sum, entry, j) => sum + entry * x[j], b[i]), 1e-12); // prettier-ignore
        for (let j = 0; j < columns; j++)
          expect(found.transposed[j]).to.be.closeTo(a.reduce((sum, row, i) => sum + row[j] * w[i], 0), 1e-12); // prettier-ignore
      }),
      runs(20),
    );

  it('have the products of their entries: two numbers a row, and an offset', () => {
    const next = (i: number): number => (i + 1) % 4;
    compare(
      ({q, x}) => tf.add(tf.mul(tf.sin(q), x), tf.add(tf.mul(q, tf.gather(x, [1, 2, 3, 0])), tf.square(q))),
      q => ({
        a: q.map((angle, i) => q.map((_, j) => (i === j ? Math.sin(angle) : j === next(i) ? q[i] : 0))),
        b: q.map(number => number ** 2),
      }),
      4,
      4,
    );
  });

  slow('have more rows than numbers, or fewer, also where a product is too wide for entries one by one', () => {
    const weight = (i: number, j: number): number => Math.cos(i + 2 * j);
    for (const [rows, columns] of [
      [23, 14],
      [5, 14],
      [20, 3],
    ]) {
      const weights = Float64Array.from({length: rows * columns}, (_, k) => weight(Math.floor(k / columns), k % columns)); // prettier-ignore
      compare(
        ({q, x}) =>
          tf.reshape(
            tf.matMul(constantTensor(weights, [rows, columns]), tf.reshape(tf.mul(tf.cos(q), x), [columns, 1])),
            [rows],
          ),
        q => ({
          a: Array.from({length: rows}, (_, i) => q.map((angle, j) => weight(i, j) * Math.cos(angle))),
          b: new Array<number>(rows).fill(0),
        }),
        rows,
        columns,
      );
    }
  });

  it('are not those whose derivative reads the tensor', () => {
    expect(products(({q, x}) => tf.mul(q, tf.square(x)), [1, 2], [3, 4], [5, 6])).to.equal(undefined);
    expect(products(({q}) => tf.square(q), [1, 2], [3, 4], [5, 6])).to.equal(undefined);
  });
});
