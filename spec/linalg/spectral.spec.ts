/** eigh, svd and lstsq: closed forms, what defines them, derivatives against differences, inside simulations, errors. */
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-cpu';
import {expect} from 'chai';
import fc from 'fast-check';
import {OptionError, ShapeError, SingularMatrixError, StiffgradError} from '../../lib/errors.js';
import {linalg, ode, rk4, simulate} from '../../lib/index.js';
import '../../lib/engine/tensor/gradients.js';
import {checkDerivatives, inDouble, point, stream} from '../tfjs/finite-differences.js';
import type {Point} from '../tfjs/finite-differences.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

const seeds = fc.integer({min: 1, max: 1e6});
const orders = fc.integer({min: 1, max: 7});
const batches = fc.array(fc.integer({min: 1, max: 3}), {maxLength: 2});

const entries = (shape: number[], seed: number): Point => {
  const next = stream(seed);
  return point(shape, () => 2 * next() - 1);
};
const tensor = ({values, shape}: Point): tf.Tensor => tf.tensor(Array.from(values), shape, 'float32');
const turned = (a: tf.Tensor): tf.Tensor =>
  tf.transpose(a, [...a.shape.map((_, i) => i).slice(0, -2), a.rank - 1, a.rank - 2]);
const times = (a: tf.Tensor, b: tf.Tensor): tf.Tensor => tf.matMul(a, b);

/** Largest difference of two tensors, in units of the second one's largest number, or of 1. */
function difference(a: tf.Tensor, b: tf.Tensor): number {
  expect(a.shape).to.deep.equal(b.shape);
  const size = Math.max(1, ...b.dataSync());
  return Math.max(0, ...Array.from(tf.sub(a, b).dataSync(), Math.abs)) / size;
}

const orthonormal = (a: tf.Tensor): number => {
  const n = a.shape[a.rank - 1];
  return difference(times(turned(a), a), tf.broadcastTo(tf.eye(n), [...a.shape.slice(0, -2), n, n]));
};

/** Rotations of some ten sweeps each commit a few ε: with room. */
const EXACT = 1e-13;

describe('linalg: eigenvalues, singular values, least squares', () => {
  before(() => tf.setBackend('cpu'));

  describe('values', () => {
    it('eigh: the second difference of order n has the values 2 − 2 cos(πk/(n + 1)) and sine vectors', () =>
      inDouble(() => {
        for (const n of [1, 2, 5, 16]) {
          const a = tf.tensor2d(
            Array.from({length: n}, (_, i) =>
              Array.from({length: n}, (__, j) => (i === j ? 2 : Math.abs(i - j) === 1 ? -1 : 0)),
            ),
          );
          const {values, vectors} = linalg.eigh(a);
          const expected = Array.from({length: n}, (_, k) => 2 - 2 * Math.cos((Math.PI * (k + 1)) / (n + 1)));
          values.dataSync().forEach((value, k) => expect(value).to.be.closeTo(expected[k], EXACT));
          const found = vectors.arraySync() as number[][];
          for (let k = 0; k < n; k++) {
            const sine = Array.from(
              {length: n},
              (_, i) => Math.sqrt(2 / (n + 1)) * Math.sin((Math.PI * (i + 1) * (k + 1)) / (n + 1)),
            );
            const sign = Math.sign(found[0][k] * sine[0]);
            sine.forEach((value, i) => expect(sign * found[i][k]).to.be.closeTo(value, EXACT));
          }
        }
      }));

    it('eigh: VΛVᵀ is the symmetric part, V orthonormal, values ascending; batches, equal values, zeros', () => {
      fc.assert(
        fc.property(batches, orders, fc.constantFrom('any', 'low rank', 'equal'), seeds, (batch, n, kind, seed) =>
          inDouble(() => {
            const any = tensor(entries([...batch, n, n], seed));
            const narrow = tensor(entries([...batch, n, 1], seed));
            const a =
              kind === 'any'
                ? any
                : kind === 'low rank'
                  ? times(narrow, turned(narrow))
                  : tf.broadcastTo(tf.mul(tf.eye(n), 3), [...batch, n, n]);
            const {values, vectors} = linalg.eigh(a);
            expect(values.shape).to.deep.equal([...batch, n]);
            const back = times(tf.mul(vectors, tf.expandDims(values, -2)), turned(vectors));
            expect(difference(back, tf.mul(tf.add(a, turned(a)), 0.5))).to.be.below(EXACT);
            expect(orthonormal(vectors)).to.be.below(EXACT);
            const list = Array.from(values.dataSync());
            list.forEach((value, i) => (i % n === 0 ? undefined : expect(value).to.be.at.least(list[i - 1])));
          }),
        ),
        runs(60),
      );
    });

    it('svd: the golden ratio of [[1, 1], [0, 1]], and roots of x² − 285 x + 324 of 1 … 9', () =>
      inDouble(() => {
        const golden = (1 + Math.sqrt(5)) / 2;
        const s = linalg
          .svd([
            [1, 1],
            [0, 1],
          ])
          .s.dataSync();
        expect(s[0]).to.be.closeTo(golden, EXACT);
        expect(s[1]).to.be.closeTo(1 / golden, EXACT);
        // trace(AᵀA) = 285 and the sum of the squares of all 2 × 2 minors is 324; the determinant is 0.
        const root = Math.sqrt(285 ** 2 - 4 * 324);
        const [first, second, third] = linalg
          .svd(
            [
              [1, 2, 3],
              [4, 5, 6],
              [7, 8, 9],
            ],
            {computeUv: false},
          )
          .s.dataSync();
        expect(first).to.be.closeTo(Math.sqrt((285 + root) / 2), 10 * EXACT);
        expect(second).to.be.closeTo(Math.sqrt((285 - root) / 2), 10 * EXACT);
        expect(third).to.be.closeTo(0, 10 * EXACT);
      }));

    it('svd: U diag(s) Vᵀ = A with orthonormal columns, thin and full, of any rank and shape', () => {
      fc.assert(
        fc.property(
          batches,
          orders,
          orders,
          fc.integer({min: 0, max: 7}),
          fc.boolean(),
          fc.integer({min: -150, max: 150}),
          seeds,
          (batch, m, n, rank, fullMatrices, power, seed) =>
            inDouble(() => {
              const r = Math.min(rank, m, n);
              const scale = 10 ** power;
              const a =
                r === 0
                  ? tf.zeros([...batch, m, n])
                  : tf.mul(
                      times(tensor(entries([...batch, m, r], seed)), tensor(entries([...batch, r, n], seed + 7))),
                      scale,
                    );
              const {s, u, v} = linalg.svd(a, {fullMatrices});
              const k = Math.min(m, n);
              expect([s.shape, u.shape, v.shape]).to.deep.equal([
                [...batch, k],
                [...batch, m, fullMatrices ? m : k],
                [...batch, n, fullMatrices ? n : k],
              ]);
              expect(orthonormal(u)).to.be.below(EXACT);
              expect(orthonormal(v)).to.be.below(EXACT);
              const narrow = (x: tf.Tensor): tf.Tensor =>
                tf.slice(
                  x,
                  x.shape.map(() => 0),
                  [...x.shape.slice(0, -1), k],
                );
              const back = times(tf.mul(narrow(u), tf.expandDims(tf.div(s, scale), -2)), turned(narrow(v)));
              expect(difference(back, tf.div(a, scale))).to.be.below(EXACT);
              const list = Array.from(s.dataSync());
              list.forEach((value, i) => expect(value).to.be.within(0, i % k === 0 ? Infinity : list[i - 1]));
            }),
        ),
        runs(80),
      );
    });

    it("lstsq: NumPy's example of a line, the shortest of many solutions, the mean of contradictions", () =>
      inDouble(() => {
        // numpy.linalg.lstsq's documentation: slope 1, intercept −0.95.
        for (const fast of [true, false]) {
          const line = linalg
            .lstsq(
              [
                [0, 1],
                [1, 1],
                [2, 1],
                [3, 1],
              ],
              [-1, 0.2, 0.9, 2.1],
              {fast},
            )
            .dataSync();
          expect(line[0]).to.be.closeTo(1, EXACT);
          expect(line[1]).to.be.closeTo(-0.95, EXACT);
          linalg
            .lstsq([[1, 1]], [2], {fast})
            .dataSync()
            .forEach(value => expect(value).to.be.closeTo(1, EXACT));
        }
        linalg
          .lstsq(
            [
              [1, 1],
              [1, 1],
            ],
            [1, 3],
            {fast: false},
          )
          .dataSync()
          .forEach(value => expect(value).to.be.closeTo(1, EXACT));
      }));

    it('lstsq: A⁺ satisfies the four equations of Penrose, of any rank', () => {
      fc.assert(
        fc.property(batches, orders, orders, fc.integer({min: 1, max: 7}), seeds, (batch, m, n, rank, seed) =>
          inDouble(() => {
            const r = Math.min(rank, m, n);
            // Conditions of random factors reach some hundreds.
            const factor = (rows: number, columns: number, s: number): tf.Tensor =>
              tf.add(tensor(entries([...batch, rows, columns], s)), tf.mul(tf.eye(rows, columns), 3));
            const a = times(factor(m, r, seed), factor(r, n, seed + 3));
            const p = linalg.lstsq(a, tf.broadcastTo(tf.eye(m), [...batch, m, m]), {fast: false});
            const [ap, pa] = [times(a, p), times(p, a)];
            expect(difference(times(ap, a), a)).to.be.below(1e-11);
            expect(difference(times(pa, p), p)).to.be.below(1e-11);
            expect(difference(turned(ap), ap)).to.be.below(1e-11);
            expect(difference(turned(pa), pa)).to.be.below(1e-11);
            if (r === Math.min(m, n))
              expect(difference(linalg.lstsq(a, tf.broadcastTo(tf.eye(m), [...batch, m, m])), p)).to.be.below(1e-9);
          }),
        ),
        runs(60),
      );
    });

    it('lstsq: with a regularizer it solves (AᵀA + λI) x = Aᵀb, tall, wide and without rank', () =>
      inDouble(() => {
        for (const [m, n] of [
          [5, 3],
          [2, 4],
        ]) {
          for (const fast of [true, false]) {
            const a = times(tensor(entries([2, m, 1], 4)), tensor(entries([2, 1, n], 5)));
            const b = tensor(entries([m, 2], 6));
            const x = linalg.lstsq(a, b, {l2Regularizer: 0.3, fast});
            const left = tf.add(times(turned(a), a), tf.mul(tf.eye(n), 0.3));
            expect(difference(times(left, x), times(turned(a), tf.broadcastTo(b, [2, m, 2])))).to.be.below(EXACT);
          }
        }
      }));

    it('in single precision each is the exact one rounded once; rank lost to rounding is lost', () => {
      const before = tf.memory().numTensors;
      tf.tidy(() => {
        expect(
          linalg
            .eigh([
              [2, 1],
              [1, 2],
            ])
            .values.arraySync(),
        ).to.deep.equal([1, 3]);
        const third = [
          [1 / 3, 2 / 3],
          [0.1, 0.2],
        ];
        // Rows in proportion but for float32: the second singular value is some 1e-9, and counts as zero.
        const x = linalg.lstsq(third, [1, 0.3], {fast: false}).arraySync() as number[];
        expect(x[1] / x[0]).to.be.closeTo(2, 1e-6);
        expect(x[0]).to.be.closeTo(0.6, 1e-6);
        expect(() =>
          linalg.lstsq(
            [
              [1, 2],
              [2, 4],
            ],
            [1, 1],
          ),
        ).to.throw(SingularMatrixError, /lacks full rank.*fast: false/);
        expect(
          (
            linalg
              .svd([
                [NaN, 1],
                [0, 1],
              ])
              .s.arraySync() as number[]
          ).every(Number.isNaN),
        ).to.equal(true);
        expect(
          (
            linalg
              .eigh([
                [1, Infinity],
                [0, 1],
              ])
              .values.arraySync() as number[]
          ).every(Number.isNaN),
        ).to.equal(true);
        expect(
          (
            linalg
              .lstsq(
                [
                  [NaN, 1],
                  [0, 1],
                ],
                [1, 1],
              )
              .arraySync() as number[]
          ).every(Number.isNaN),
        ).to.equal(true);
      });
      expect(tf.memory().numTensors).to.equal(before);
    });
  });

  describe('derivatives, first and second, against central differences', () => {
    const spaced = (shape: number[], seed: number): Point => {
      const [m, n] = shape.slice(-2);
      const {values} = entries(shape, seed);
      return point(shape, at => values[at] + (Math.floor(at / n) % m === at % n ? 3 * (1 + (at % n)) : 0));
    };
    const cases: Record<string, {f: (...xs: tf.Tensor[]) => tf.Tensor | tf.Tensor[]; xs: Point[]}> = {
      'eigh, values': {f: a => linalg.eigh(a).values, xs: [spaced([2, 3, 3], 1)]},
      'eigh, vectors': {f: a => linalg.eigh(a).vectors, xs: [spaced([2, 3, 3], 2)]},
      'eigh of order 1': {f: a => linalg.eigh(a).values, xs: [spaced([1, 1], 3)]},
      'a function of a matrix': {
        f: a => {
          const {values, vectors} = linalg.eigh(a);
          return times(tf.mul(vectors, tf.expandDims(tf.tanh(values), -2)), turned(vectors));
        },
        xs: [spaced([3, 3], 4)],
      },
      'svd, values': {f: a => linalg.svd(a).s, xs: [spaced([2, 4, 3], 5)]},
      'svd, u': {f: a => linalg.svd(a).u, xs: [spaced([4, 3], 6)]},
      'svd, v of a wide one': {f: a => linalg.svd(a).v, xs: [spaced([2, 4], 7)]},
      'svd, full': {f: a => linalg.svd(a, {fullMatrices: true}).u, xs: [spaced([3, 2], 8)]},
      'svd, the space that completes u': {
        f: a => {
          const rest = tf.slice(linalg.svd(a, {fullMatrices: true}).u, [0, 1], [3, 2]);
          return times(rest, turned(rest));
        },
        xs: [spaced([3, 1], 9)],
      },
      'svd, nuclear norm': {f: a => tf.sum(linalg.svd(a, {computeUv: false}).s), xs: [spaced([3, 2], 10)]},
      'lstsq, tall': {f: (a, b) => linalg.lstsq(a, b), xs: [spaced([2, 4, 2], 11), entries([2, 4, 1], 12)]},
      'lstsq, wide': {f: (a, b) => linalg.lstsq(a, b), xs: [spaced([2, 4], 13), entries([2], 14)]},
      'lstsq, by singular values': {
        f: (a, b) => linalg.lstsq(a, b, {fast: false}),
        xs: [spaced([4, 2], 15), entries([2, 4, 2], 16)],
      },
      'lstsq, regularized': {
        f: (a, b) => linalg.lstsq(a, b, {l2Regularizer: 0.5}),
        xs: [spaced([3, 2], 17), entries([3], 18)],
      },
      'lstsq, of rank 2 in 4 × 3': {
        f: (b, c, y) => linalg.lstsq(times(b, c), y, {fast: false}),
        xs: [spaced([4, 2], 19), spaced([2, 3], 20), entries([4], 21)],
      },
    };
    for (const [name, {f, xs}] of Object.entries(cases)) {
      slow(name, () => checkDerivatives(name, f as (...xs: tf.Tensor[]) => tf.Tensor, xs));
    }

    it('of equal values: finite, and right where it does not matter which vectors were taken', () =>
      inDouble(() => {
        const total = tf.grad((a: tf.Tensor) => tf.sum(linalg.eigh(a).values))(tf.mul(tf.eye(3), 2));
        expect(difference(total, tf.eye(3))).to.be.below(EXACT);
        for (const a of [tf.eye(3), tf.zeros([3, 3]), tf.diag(tf.tensor1d([1, 1, 2]))]) {
          for (const f of [
            (x: tf.Tensor) => tf.sum(tf.square(tf.add(linalg.eigh(x).vectors, 1))),
            (x: tf.Tensor) => tf.sum(tf.square(tf.add(linalg.svd(x).u, 1))),
            (x: tf.Tensor) => tf.sum(tf.square(linalg.svd(x).s)),
          ]) {
            expect(tf.grad(f)(a).dataSync().every(Number.isFinite)).to.equal(true);
            expect(
              tf
                .grad(x => tf.sum(tf.square(tf.grad(f)(x))))(a)
                .dataSync()
                .every(Number.isFinite),
            ).to.equal(true);
          }
        }
      }));
  });

  describe('inside a simulation', () => {
    /** y' = −(what is made of a matrix of the parameters) y: one of each operation, in double precision. */
    const matrixOf = (p: tf.Tensor): tf.Tensor =>
      tf.add(
        tf.reshape(p, [3, 2]),
        tf.tensor2d([
          [2, 0],
          [0, 4],
          [0, 0],
        ]),
      );
    const system = ode(({y, params}) => {
      const a = matrixOf(params.p as tf.Tensor);
      const {s, u} = linalg.svd(a, {fullMatrices: true});
      const {values, vectors} = linalg.eigh(times(turned(a), a));
      const plane = tf.slice(u, [0, 0], [2, 2]);
      const fit = tf.add(
        linalg.lstsq(a, tf.concat([y, tf.sum(y, 0, true)])),
        linalg.lstsq(a, tf.concat([tf.sin(y), tf.mean(y, 0, true)]), {fast: false}),
      );
      return tf.neg(
        tf.addN([
          tf.mul(s, y),
          tf.reshape(times(plane, tf.reshape(y, [2, 1])), [2]),
          tf.reshape(times(vectors, tf.reshape(tf.mul(tf.sqrt(values), y), [2, 1])), [2]),
          fit,
        ]),
      );
    });
    const p = [0.3, -0.2, 0.1, 0.5, -0.4, 0.2];
    const options = {scheme: rk4(), dt: 0.02, steps: 5, saveAt: 'end'} as const;

    for (const engine of ['wasm', 'interpreter'] as const) {
      slow(`gradients as differences give them: ${engine}`, () => {
        const end = (values: number[]): number => {
          const path = simulate(system, {y: [1, -0.5]}, {...options, engine, params: {p: values}});
          const [a, b] = path.values('y').slice(-2);
          path.dispose();
          return a + 2 * b;
        };
        const {trajectory, pullback} = simulate.vjp(system, {y: [1, -0.5]}, {...options, engine, params: {p}});
        trajectory.dispose();
        const gradient = pullback({y: [0, 0, 1, 2]}).params.p as Float64Array;
        gradient.forEach((found, i) => {
          const moved = (h: number): number => end(p.map((value, k) => (k === i ? value + h : value)));
          // Fourth-order differences at h = 1e-3: errors of h⁴ and ε/h.
          const slope = (8 * (moved(1e-3) - moved(-1e-3)) - (moved(2e-3) - moved(-2e-3))) / 12e-3;
          expect(found).to.be.closeTo(slope, 1e-10);
        });
        const tangent = simulate.jvp(
          system,
          {y: [1, -0.5]},
          {...options, engine, params: {p}},
          {params: {p: [1, 0, 0, -1, 0, 2]}},
        );
        const [a, b] = (tangent.tangent as unknown as {y: Float64Array}).y.slice(-2);
        tangent.trajectory.dispose();
        expect(a + 2 * b).to.be.closeTo(gradient[0] - gradient[3] + 2 * gradient[5], 1e-12);
      });
    }
  });

  it('errors name the operation and the shape', () => {
    const refusal = (act: () => unknown): StiffgradError => {
      try {
        act();
      } catch (error) {
        if (error instanceof StiffgradError) return error;
        throw error;
      }
      throw new Error('nothing was thrown');
    };
    expect(
      refusal(() =>
        linalg.eigh([
          [1, 2, 3],
          [4, 5, 6],
        ]),
      ).code,
    ).to.equal('linalg-not-square');
    expect(refusal(() => linalg.svd([1, 2])))
      .to.be.instanceOf(ShapeError)
      .with.property('message')
      .that.matches(/linalg\.svd: a must be a matrix.*shape \[2\]/);
    expect(
      refusal(() =>
        linalg.lstsq(
          [
            [1, 2],
            [3, 4],
            [5, 6],
          ],
          [1, 2],
        ),
      ).message,
    ).to.match(/linalg\.lstsq: with 3 × 2 matrices.*\[\.\.\., 3, k\]/);
    expect(refusal(() => linalg.lstsq([[1]], [1], {l2Regularizer: -1}))).to.be.instanceOf(OptionError);
    expect(refusal(() => linalg.lstsq([[1]], [1], {l2Regularizer: NaN}))).to.be.instanceOf(OptionError);
  });
});
