import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-cpu';
import {expect} from 'chai';
import fc from 'fast-check';
import {ShapeError, SingularMatrixError} from '../../lib/errors.js';
import {linalg} from '../../lib/linalg/index.js';
import '../../lib/engine/tensor/gradients.js';
import {checkDerivatives, inDouble, point, stream} from '../tfjs/finite-differences.js';
import type {Point} from '../tfjs/finite-differences.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

/** Half a unit in the last place of float32, relative: the error of rounding an exact result once. */
const ROUNDING = 2 ** -24;

const seeds = fc.integer({min: 1, max: 1e6});
const orders = fc.integer({min: 1, max: 7});
const batches = fc.array(fc.integer({min: 1, max: 3}), {maxLength: 2});

/** A regular matrix, not symmetric, whose rows and columns do not all have one scale. */
function regular(batch: number[], n: number, seed: number): Point {
  const next = stream(seed);
  return point(
    [...batch, n, n],
    at => (next() - 0.5) * 2 ** Math.floor(3 * next()) + ((at % (n * n)) % (n + 1) === 0 ? 4 : 0),
  );
}

/** BBᵀ + I, symmetric positive definite. */
function definite(batch: number[], n: number, seed: number): Point {
  const b = regular(batch, n, seed).values.map(value => value / 4);
  return point([...batch, n, n], at => {
    const [matrix, row, column] = [Math.floor(at / (n * n)) * n * n, Math.floor(at / n) % n, at % n];
    let sum = row === column ? 1 : 0;
    for (let k = 0; k < n; k++) {
      sum += b[matrix + row * n + k] * b[matrix + column * n + k];
    }
    return sum;
  });
}

const entries = (shape: number[], seed: number): Point => {
  const next = stream(seed);
  return point(shape, () => 2 * next() - 1);
};

const tensor = ({values, shape}: Point): tf.Tensor => tf.tensor(Float32Array.from(values), shape);
const doubles = (t: tf.Tensor): Float64Array => Float64Array.from(t.dataSync());

/** Σₖ a[i, k]·b[k, j] and Σₖ |a||b| in double precision, of one matrix of each. */
function product(
  a: Float64Array,
  b: Float64Array,
  rows: number,
  inner: number,
  columns: number,
): {value: Float64Array; magnitude: Float64Array} {
  const value = new Float64Array(rows * columns);
  const magnitude = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      for (let k = 0; k < inner; k++) {
        const term = a[i * inner + k] * b[k * columns + j];
        value[i * columns + j] += term;
        magnitude[i * columns + j] += Math.abs(term);
      }
    }
  }
  return {value, magnitude};
}

const transpose = (a: Float64Array, n: number): Float64Array => a.map((_, at) => a[(at % n) * n + Math.floor(at / n)]);

/**
 * A x = b entry by entry: rounding x once moves entry i of A x by at most 2⁻²⁴·(|A||x|)ᵢ. The factor 1.01 covers
 * the error of the double-precision factorization, some 2⁻⁵² times the condition number, at most 1e4 here.
 */
function expectSolves(a: Float64Array, x: Float64Array, b: Float64Array, n: number, k: number): void {
  const {value, magnitude} = product(a, x, n, n, k);
  value.forEach((sum, i) =>
    expect(Math.abs(sum - b[i])).to.be.at.most(1.01 * ROUNDING * magnitude[i] + Number.MIN_VALUE),
  );
}

const run = (check: () => void): void => {
  const before = tf.memory().numTensors;
  tf.tidy(check);
  expect(tf.memory().numTensors, 'tensors left behind').to.equal(before);
};

describe('linalg', () => {
  before(() => tf.setBackend('cpu'));

  describe('values', () => {
    it('solve: the exact solution, rounded once', () => {
      fc.assert(
        fc.property(batches, orders, fc.integer({min: 1, max: 3}), fc.boolean(), seeds, (batch, n, k, adjoint, seed) =>
          run(() => {
            const a = tensor(regular(batch, n, seed));
            const b = tensor(entries([...batch, n, k], seed));
            const x = linalg.solve(a, b, {adjoint});
            expect(x.shape).to.deep.equal(b.shape);
            expect(x.dtype).to.equal('float32');
            const [matrices, right, solutions] = [doubles(a), doubles(b), doubles(x)];
            for (let i = 0; i * n * n < a.size; i++) {
              const matrix = matrices.subarray(i * n * n, (i + 1) * n * n);
              const part = (values: Float64Array): Float64Array => values.subarray(i * n * k, (i + 1) * n * k);
              expectSolves(adjoint ? transpose(matrix, n) : matrix, part(solutions), part(right), n, k);
            }
          }),
        ),
        runs(60),
      );
    });

    it('solve: all digits where a float32 factorization has none left', () => {
      run(() => {
        // the inverse of the Hilbert matrix of order 6: integers below 2²⁴, condition number 1.5e7
        const inverse = [
          [36, -630, 3360, -7560, 7560, -2772],
          [-630, 14700, -88200, 211680, -220500, 83160],
          [3360, -88200, 564480, -1411200, 1512000, -582120],
          [-7560, 211680, -1411200, 3628800, -3969000, 1552320],
          [7560, -220500, 1512000, -3969000, 4410000, -1746360],
          [-2772, 83160, -582120, 1552320, -1746360, 698544],
        ];
        const rightSide = inverse.map(row => row.reduce((sum, entry) => sum + entry));
        expect(linalg.solve(inverse, rightSide).arraySync()).to.deep.equal([1, 1, 1, 1, 1, 1]);
      });
    });

    it('solve: rows and columns of very different scale are no reason to refuse', () => {
      run(() => {
        const x = linalg.solve(
          [
            [1e-20, 1],
            [1e-20, 2],
          ],
          [[1], [3]],
        );
        expect(doubles(x)[1]).to.equal(2);
        expect(doubles(x)[0]).to.be.closeTo(-1e20, 2e20 * ROUNDING * 2);
      });
    });

    it('a right side of rank 1 is one column', () => {
      run(() => {
        expect(
          linalg
            .solve(
              [
                [2, 0],
                [0, 4],
              ],
              [2, 4],
            )
            .arraySync(),
        ).to.deep.equal([1, 1]);
        expect(
          linalg
            .solve(
              [
                [
                  [2, 0],
                  [0, 4],
                ],
                [
                  [1, 0],
                  [0, 1],
                ],
              ],
              [2, 4],
            )
            .arraySync(),
        ).to.deep.equal([
          [1, 1],
          [2, 4],
        ]);
      });
    });

    it('batch dimensions broadcast against each other', () => {
      run(() => {
        const a = tensor(regular([2, 1], 3, 5));
        const b = tensor(entries([4, 3, 2], 6));
        const x = linalg.solve(a, b);
        expect(x.shape).to.deep.equal([2, 4, 3, 2]);
        for (const [i, j] of [
          [0, 0],
          [1, 0],
          [0, 3],
          [1, 2],
        ]) {
          const one = linalg.solve(
            tf.slice(a, [i, 0, 0, 0], [1, 1, 3, 3]).reshape([3, 3]),
            tf.slice(b, [j, 0, 0], [1, 3, 2]).reshape([3, 2]),
          );
          expect(doubles(tf.slice(x, [i, j, 0, 0], [1, 1, 3, 2]))).to.deep.equal(doubles(one));
        }
      });
    });

    it('cholesky: LLᵀ = A, zeros above, also from batches', () => {
      fc.assert(
        fc.property(batches, orders, seeds, (batch, n, seed) =>
          run(() => {
            const a = tensor(definite(batch, n, seed));
            const l = linalg.cholesky(a);
            expect(l.shape).to.deep.equal(a.shape);
            const [matrices, factors] = [doubles(a), doubles(l)];
            for (let i = 0; i * n * n < a.size; i++) {
              const factor = factors.subarray(i * n * n, (i + 1) * n * n);
              const {value, magnitude} = product(factor, transpose(factor, n), n, n, n);
              // each of the two factors was rounded once; A itself is symmetric only to its own rounding
              value.forEach((sum, at) =>
                expect(Math.abs(sum - matrices[i * n * n + at])).to.be.at.most(3 * ROUNDING * magnitude[at]),
              );
              factor.forEach((entry, at) => (at % n > Math.floor(at / n) ? expect(entry).to.equal(0) : undefined));
            }
          }),
        ),
        runs(40),
      );
    });

    it('choleskySolve solves with LLᵀ', () => {
      run(() => {
        const a = tensor(definite([3], 5, 2));
        const b = tensor(entries([5, 2], 3));
        const [x, direct] = [doubles(linalg.choleskySolve(linalg.cholesky(a), b)), doubles(linalg.solve(a, b))];
        // L is rounded to float32 first: relative 2⁻²⁴ of the condition number, below 100 for these
        x.forEach((value, i) => expect(value).to.be.closeTo(direct[i], 100 * ROUNDING));
      });
    });

    it('triangularSolve reads its triangle only', () => {
      fc.assert(
        fc.property(orders, fc.boolean(), fc.boolean(), seeds, (n, lower, adjoint, seed) =>
          run(() => {
            const {values, shape} = regular([], n, seed);
            const kept = Float32Array.from(
              values.map((value, at) =>
                (lower ? at % n <= Math.floor(at / n) : at % n >= Math.floor(at / n)) ? value : 0,
              ),
            );
            const b = tensor(entries([n, 2], seed));
            const x = linalg.triangularSolve(tf.tensor(Float32Array.from(values), shape), b, {lower, adjoint});
            const triangle = Float64Array.from(kept);
            expectSolves(adjoint ? transpose(triangle, n) : triangle, doubles(x), doubles(b), n, 2);
          }),
        ),
        runs(40),
      );
    });

    it('lu: rows of A in the order p are LU, with pivots as LAPACK takes them', () => {
      fc.assert(
        fc.property(batches, orders, seeds, (batch, n, seed) =>
          run(() => {
            const a = tensor(entries([...batch, n, n], seed));
            const {lu, p} = linalg.lu(a);
            expect(p.shape).to.deep.equal([...batch, n]);
            expect(p.dtype).to.equal('int32');
            const [matrices, factors, rows] = [doubles(a), doubles(lu), Array.from(p.dataSync())];
            for (let i = 0; i * n * n < a.size; i++) {
              const at = i * n * n;
              const l = point([n, n], e =>
                Math.floor(e / n) > e % n ? factors[at + e] : Math.floor(e / n) === e % n ? 1 : 0,
              ).values;
              const u = point([n, n], e => (Math.floor(e / n) <= e % n ? factors[at + e] : 0)).values;
              l.forEach(entry => expect(Math.abs(entry)).to.be.at.most(1)); // partial pivoting
              const {value, magnitude} = product(l, u, n, n, n);
              value.forEach((sum, e) => {
                const source = matrices[at + rows[i * n + Math.floor(e / n)] * n + (e % n)];
                expect(Math.abs(sum - source)).to.be.at.most(3 * ROUNDING * magnitude[e]);
              });
            }
          }),
        ),
        runs(40),
      );
    });

    it('lu: a published example (Golub & Van Loan, section 3.4.1)', () => {
      run(() => {
        const {lu, p} = linalg.lu([
          [3, 17, 10],
          [2, 4, -2],
          [6, 18, -12],
        ]);
        expect(p.arraySync()).to.deep.equal([2, 0, 1]);
        const third = Math.fround(1 / 3);
        expect(lu.arraySync()).to.deep.equal([
          [6, 18, -12],
          [0.5, 8, 16],
          [third, -0.25, 6],
        ]);
      });
    });

    it('inv: A A⁻¹ = I, with and without the transpose', () => {
      run(() => {
        const a = regular([], 5, 4);
        const identity = point([5, 5], at => (at % 6 === 0 ? 1 : 0)).values;
        const single = Float64Array.from(Float32Array.from(a.values));
        expectSolves(single, doubles(linalg.inv(tensor(a))), identity, 5, 5);
        expectSolves(transpose(single, 5), doubles(linalg.inv(tensor(a), {adjoint: true})), identity, 5, 5);
      });
    });

    it('det: integer matrices, triangular ones, permutations of either sign, singular ones', () => {
      run(() => {
        expect(linalg.det([[7]]).arraySync()).to.equal(7);
        expect(
          linalg
            .det([
              [1, 2],
              [3, 4],
            ])
            .arraySync(),
        ).to.equal(-2);
        expect(
          linalg
            .det([
              [2, -1, 0],
              [-1, 2, -1],
              [0, -1, 2],
            ])
            .arraySync(),
        ).to.equal(4);
        // det of the second difference matrix of order n is n + 1
        const second = (n: number): number[][] =>
          Array.from({length: n}, (_, i) =>
            Array.from({length: n}, (__, j) => (i === j ? 2 : Math.abs(i - j) === 1 ? -1 : 0)),
          );
        for (const n of [4, 5, 9]) {
          expect(linalg.det(second(n)).arraySync() as number).to.be.closeTo(n + 1, n * n * ROUNDING * (n + 1));
        }
        const swap = [
          [0, 1, 0, 0],
          [1, 0, 0, 0],
          [0, 0, 1, 0],
          [0, 0, 0, 1],
        ];
        const cycle = [
          [0, 1, 0, 0],
          [0, 0, 1, 0],
          [0, 0, 0, 1],
          [1, 0, 0, 0],
        ];
        const double = [
          [0, 1, 0, 0],
          [1, 0, 0, 0],
          [0, 0, 0, 1],
          [0, 0, 1, 0],
        ];
        expect(linalg.det([swap, cycle, double]).arraySync()).to.deep.equal([-1, -1, 1]);
        expect(Math.abs(linalg.det(tf.ones([4, 4])).arraySync() as number)).to.equal(0);
      });
    });

    it('logdet: the logarithm of det', () => {
      run(() => {
        const a = tensor(definite([2, 2], 4, 9));
        const [logs, determinants] = [doubles(linalg.logdet(a)), doubles(linalg.det(a))];
        logs.forEach((value, i) =>
          expect(value).to.be.closeTo(Math.log(determinants[i]), 20 * ROUNDING * (1 + Math.abs(value))),
        );
      });
    });

    it('matrices of order zero', () => {
      run(() => {
        expect(linalg.solve(tf.zeros([0, 0]), tf.zeros([0, 2])).shape).to.deep.equal([0, 2]);
        expect(linalg.det(tf.zeros([2, 0, 0])).arraySync()).to.deep.equal([1, 1]);
      });
    });

    it('what is not finite stays so, in its own matrix of the batch', () => {
      run(() => {
        const x = linalg
          .solve(
            [
              [
                [1, NaN],
                [0, 1],
              ],
              [
                [1, 0],
                [0, 1],
              ],
            ],
            [1, 1],
          )
          .arraySync() as number[][];
        expect(x[0].every(Number.isNaN)).to.equal(true);
        expect(x[1]).to.deep.equal([1, 1]);
      });
    });
  });

  describe('derivatives, first and second, against central differences', () => {
    const cases: Record<string, {f: (...xs: tf.Tensor[]) => tf.Tensor; xs: Point[]}> = {
      solve: {f: (a, b) => linalg.solve(a, b), xs: [regular([2], 3, 1), entries([2, 3, 2], 2)]},
      'solve, transposed': {
        f: (a, b) => linalg.solve(a, b, {adjoint: true}),
        xs: [regular([], 4, 3), entries([4, 1], 4)],
      },
      'solve, broadcast': {f: (a, b) => linalg.solve(a, b), xs: [regular([2, 1], 2, 5), entries([3, 2, 1], 6)]},
      'solve, vector': {f: (a, b) => linalg.solve(a, b), xs: [regular([2], 3, 7), entries([3], 8)]},
      'solve of order 1': {f: (a, b) => linalg.solve(a, b), xs: [regular([], 1, 9), entries([1, 2], 10)]},
      cholesky: {f: a => linalg.cholesky(a), xs: [definite([2], 3, 11)]},
      choleskySolve: {f: (l, b) => linalg.choleskySolve(l, b), xs: [regular([], 3, 12), entries([2, 3, 2], 13)]},
      'choleskySolve of cholesky': {
        f: (a, b) => linalg.choleskySolve(linalg.cholesky(a), b),
        xs: [definite([], 3, 14), entries([3], 15)],
      },
      'triangularSolve, lower': {
        f: (a, b) => linalg.triangularSolve(a, b),
        xs: [regular([2], 3, 16), entries([3, 2], 17)],
      },
      'triangularSolve, lower transposed': {
        f: (a, b) => linalg.triangularSolve(a, b, {adjoint: true}),
        xs: [regular([], 3, 18), entries([3, 2], 19)],
      },
      'triangularSolve, upper': {
        f: (a, b) => linalg.triangularSolve(a, b, {lower: false}),
        xs: [regular([], 3, 20), entries([2, 3, 1], 21)],
      },
      'triangularSolve, upper transposed': {
        f: (a, b) => linalg.triangularSolve(a, b, {lower: false, adjoint: true}),
        xs: [regular([], 3, 22), entries([3], 23)],
      },
      lu: {f: a => linalg.lu(a).lu, xs: [entries([2, 3, 3], 24)]},
      'lu of order 5': {f: a => linalg.lu(a).lu, xs: [entries([5, 5], 25)]},
      'lu of order 1': {f: a => linalg.lu(a).lu, xs: [entries([2, 1, 1], 26)]},
      inv: {f: a => linalg.inv(a), xs: [regular([2], 3, 27)]},
      'inv, transposed': {f: a => linalg.inv(a, {adjoint: true}), xs: [regular([], 3, 28)]},
      'det of order 1': {f: a => linalg.det(a), xs: [entries([2, 1, 1], 29)]},
      'det of order 2': {f: a => linalg.det(a), xs: [entries([2, 2, 2], 30)]},
      'det of order 3': {f: a => linalg.det(a), xs: [entries([2, 3, 3], 31)]},
      'det of order 4': {f: a => linalg.det(a), xs: [entries([2, 4, 4], 32)]},
      'det of order 5': {f: a => linalg.det(a), xs: [entries([5, 5], 33)]},
      logdet: {f: a => linalg.logdet(a), xs: [definite([2], 3, 34)]},
      'two solves in a row': {
        f: (a, b) => linalg.solve(a, linalg.solve(a, b, {adjoint: true})),
        xs: [regular([], 3, 35), entries([3, 1], 36)],
      },
    };
    for (const [name, {f, xs}] of Object.entries(cases)) {
      slow(name, () => checkDerivatives(name, f, xs));
    }

    it("det: the gradient is det(A)·A⁻ᵀ (Jacobi's formula), and the cofactors where A is singular", () => {
      inDouble(() => {
        const a = tf.tensor2d(Array.from(regular([], 4, 40).values), [4, 4]);
        const gradient = tf.grad(x => linalg.det(x))(a);
        const jacobi = tf.mul(linalg.det(a), linalg.inv(a, {adjoint: true}));
        gradient
          .dataSync()
          .forEach((g, i) => expect(g).to.be.closeTo(jacobi.dataSync()[i], 1e-10 * Math.abs(g) + 1e-10));
        const rankTwo = tf.tensor2d([
          [1, 2, 3],
          [4, 5, 6],
          [7, 8, 9],
        ]);
        expect(
          tf
            .grad(x => linalg.det(x))(rankTwo)
            .arraySync(),
        ).to.deep.equal([
          [-3, 6, -3],
          [6, -12, 6],
          [-3, 6, -3],
        ]);
      });
    });

    it('logdet: the gradient is A⁻¹', () => {
      inDouble(() => {
        const a = tf.tensor2d(Array.from(definite([], 4, 41).values), [4, 4]);
        const gradient = tf
          .grad(x => linalg.logdet(x))(a)
          .dataSync();
        linalg
          .inv(a)
          .dataSync()
          .forEach((entry, i) => expect(gradient[i]).to.be.closeTo(entry, 1e-12));
      });
    });

    it('a Gaussian process likelihood x ↦ log det K(x) + bᵀK(x)⁻¹b, by either way of solving', () => {
      const places = [0, 0.4, 1.1, 1.7];
      const kernel = (logs: tf.Tensor): tf.Tensor => {
        const [length, noise] = tf.unstack(tf.exp(logs));
        const d = tf.sub(tf.tensor2d(places, [4, 1]), tf.tensor2d(places, [1, 4]));
        return tf.add(tf.exp(tf.neg(tf.div(tf.square(d), tf.mul(tf.square(length), 2)))), tf.mul(tf.eye(4), noise));
      };
      const bs = entries([4, 1], 42);
      const likelihood =
        (solve: (k: tf.Tensor, b: tf.Tensor) => tf.Tensor) =>
        (x: tf.Tensor, b: tf.Tensor): tf.Tensor => {
          const k = kernel(x);
          return tf.add(linalg.logdet(k), tf.sum(tf.mul(b, solve(k, b))));
        };
      const x = point([2], at => [-0.2, -1.5][at]);
      checkDerivatives(
        'likelihood by LU',
        likelihood((k, b) => linalg.solve(k, b)),
        [x, bs],
      );
      checkDerivatives(
        'likelihood by Cholesky',
        likelihood((k, b) => linalg.choleskySolve(linalg.cholesky(k), b)),
        [x, bs],
      );
    });

    it('a third derivative comes out as well: of 1/a it is −6/a⁴', () => {
      inDouble(() => {
        const f = (a: tf.Tensor): tf.Tensor => linalg.inv(tf.reshape(a, [1, 1]));
        const third = tf
          .grad(a => tf.grad(b => tf.grad(f)(b))(a))(tf.scalar(2))
          .dataSync()[0];
        expect(third).to.be.closeTo(-6 / 16, 1e-13);
      });
    });

    it('leave no tensors behind', () => {
      run(() => {
        const a = tensor(definite([2], 3, 43));
        const before = tf.memory().numTensors;
        for (const f of [
          linalg.cholesky,
          linalg.det,
          linalg.logdet,
          linalg.inv,
          (x: tf.Tensor) => linalg.solve(x, [1, 2, 3]),
        ]) {
          tf.dispose(tf.grad(x => tf.grad(y => tf.sum(tf.square(f(y))))(x))(a));
        }
        expect(tf.memory().numTensors).to.equal(before);
      });
    });
  });

  describe('errors', () => {
    const caught = <E extends Error>(type: new (...args: never[]) => E, act: () => unknown): E => {
      try {
        act();
      } catch (error) {
        expect(error).to.be.instanceOf(type);
        return error as E;
      }
      return expect.fail('nothing was thrown');
    };

    it('a singular matrix names its dependent rows and its place in the batch', () => {
      run(() => {
        const error = caught(SingularMatrixError, () =>
          linalg.solve(
            [
              [
                [1, 0, 0],
                [0, 1, 0],
                [0, 0, 1],
              ],
              [
                [1, 2, 3],
                [4, 5, 6],
                [7, 8, 9],
              ],
            ],
            [1, 2, 3],
          ),
        );
        expect(error.code).to.equal('singular-matrix');
        expect(error.data).to.deep.equal({batch: 1, row: 2, rows: [2], order: 3});
        expect(error.message).to.contain('row 2 depends on the rows above it');
      });
    });

    it('a copy of a row and a row of zeros are found by their own index', () => {
      run(() => {
        const error = caught(SingularMatrixError, () =>
          linalg.inv([
            [1, 2, 3, 4],
            [2, 4, 6, 8],
            [0, 0, 0, 0],
            [0, 1, 0, 1],
          ]),
        );
        expect(error.data.rows).to.deep.equal([1, 2]);
      });
    });

    it('dependent rows in float32 numbers that are not integers are still dependent', () => {
      fc.assert(
        fc.property(fc.integer({min: 2, max: 6}), seeds, (n, seed) =>
          run(() => {
            const values = Float32Array.from(entries([n, n], seed).values);
            // the last row is twice the first: exact in binary
            values.forEach((_, j) => (j < n ? (values[(n - 1) * n + j] = 2 * values[j]) : undefined));
            const error = caught(SingularMatrixError, () => linalg.solve(tf.tensor2d(values, [n, n]), tf.ones([n, 1])));
            expect(error.data.rows).to.deep.equal([n - 1]);
          }),
        ),
        runs(40),
      );
    });

    it('a matrix that is not positive definite names the row at which it stops', () => {
      run(() => {
        const error = caught(SingularMatrixError, () =>
          linalg.cholesky([
            [4, 2, 0],
            [2, 1, 0],
            [0, 0, 1],
          ]),
        );
        expect(error.code).to.equal('not-positive-definite');
        expect(error.data).to.deep.equal({batch: 0, row: 1, rows: [1], order: 3});
        expect(() =>
          linalg.logdet([
            [1, 0],
            [0, -1],
          ]),
        ).to.throw(SingularMatrixError);
      });
    });

    it('a zero on the diagonal of a triangle', () => {
      run(() => {
        const error = caught(SingularMatrixError, () =>
          linalg.triangularSolve(
            [
              [1, 0],
              [5, 0],
            ],
            [1, 1],
          ),
        );
        expect(error.data).to.deep.equal({batch: 0, row: 1, rows: [1], order: 2});
      });
    });

    it('shapes that do not fit', () => {
      run(() => {
        expect(
          caught(ShapeError, () =>
            linalg.inv([
              [1, 2, 3],
              [4, 5, 6],
            ]),
          ).code,
        ).to.equal('linalg-not-square');
        expect(caught(ShapeError, () => linalg.cholesky([1, 2])).code).to.equal('linalg-not-square');
        expect(
          caught(ShapeError, () =>
            linalg.solve(
              [
                [1, 0],
                [0, 1],
              ],
              [1, 2, 3],
            ),
          ).code,
        ).to.equal('linalg-right-side');
        expect(caught(ShapeError, () => linalg.solve(tf.ones([2, 2, 2]), tf.ones([3, 2, 1]))).code).to.equal(
          'linalg-batch',
        );
      });
    });
  });
});
