/** Intermediate values with equations: the same motion and the same derivatives from a sparse matrix. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  adaptive,
  generalizedAlpha,
  implicitMidpoint,
  kvaerno5,
  mechanics,
  newmark,
  radauIIA5,
  simulate,
} from '../../lib/index.js';
import {lifted} from '../../lib/trace/lifted.js';
import {largest} from '../simulate/numbers.js';
import {slow} from '../tiers.js';

/** Masses that are pushed by the sum of sines of all before them. */
const summed = (lifts: boolean) =>
  mechanics({
    mass: 1,
    forces: ({q, params}) => {
      const sines = tf.sin(q);
      const value = tf.cumsum(sines);
      const before = (u: tf.Tensor): tf.Tensor => tf.concat([tf.zeros([1]), tf.slice(u, [0], [u.size - 1])]);
      const [sums] = lifts
        ? lifted('sums', [value], ([unknown]) => [tf.sub(unknown, tf.add(before(unknown), sines))])
        : [value];
      return tf.sub(tf.mul(params.k as tf.Tensor, tf.tanh(sums)), tf.mul(4, q));
    },
  });
const start = (n: number) => ({
  q: Array.from({length: n}, (_, i) => Math.cos(i)),
  v: Array.from({length: n}, (_, i) => Math.sin(2 * i)),
});

describe('lifted values', () => {
  for (const scheme of [implicitMidpoint(), generalizedAlpha(), newmark(), radauIIA5(), kvaerno5()])
    slow(`${scheme.name}: motion and gradient are those without, to 1e-11`, () => {
      const [plain, own] = [false, true].map(lifts => {
        const {trajectory, pullback} = simulate.vjp(summed(lifts), start(12), {
          scheme,
          dt: 0.05,
          steps: 6,
          params: {k: tf.scalar(2)},
          saveAt: 'end',
        });
        const {initial, params} = pullback({q: Float64Array.from({length: 24}, (_, i) => 1 + i)});
        trajectory.dispose();
        return [trajectory.values('q'), trajectory.values('v'), initial.q, initial.v, params.k] as Float64Array[];
      });
      plain.forEach((values, block) =>
        expect(largest(values.map((x, i) => x - own[block][i]))).to.be.below(1e-11 * largest(values)),
      );
    });

  it('tangents and products with the Hessian are those without, to 1e-11', () => {
    const direction = {initial: {q: start(8).v, v: start(8).q}, params: {k: 0.3}};
    const [plain, own] = [false, true].map(lifts => {
      const options = {
        scheme: implicitMidpoint(),
        dt: 0.05,
        steps: 4,
        params: {k: tf.scalar(2)},
        saveAt: 'end',
      } as const;
      const {trajectory, tangent} = simulate.jvp(summed(lifts), start(8), options, direction);
      trajectory.dispose();
      const {product, ...rest} = simulate.hvp(
        summed(lifts),
        start(8),
        options,
        ({q}) => tf.sum(tf.square(q)),
        direction,
      );
      rest.trajectory.dispose();
      return [tangent.q, tangent.v, product.initial.q, product.params.k] as Float64Array[];
    });
    plain.forEach((values, block) =>
      expect(largest(values.map((x, i) => x - own[block][i]))).to.be.below(1e-11 * largest(values)),
    );
  });

  it('what reads them through gathers still has the sparse matrix', () => {
    // Gathers are joined where one takes from another: the values have to be told from what they are gathered from.
    const order = Array.from({length: 60}, (_, i) => (7 * i) % 60);
    const gathered = mechanics({
      mass: 1,
      forces: ({q}) => {
        const backwards = tf.tensor1d([...order.keys()].reverse(), 'int32');
        const value = tf.gather(tf.cumsum(q), backwards);
        const [sums] = lifted('sums', [value], ([u]) => [
          tf.sub(u, tf.add(tf.concat([tf.slice(u, [1], [59]), tf.zeros([1])]), tf.gather(q, backwards))),
        ]);
        return tf.neg(tf.tanh(tf.gather(sums, tf.tensor1d(order, 'int32'))));
      },
    });
    const path = simulate(gathered, start(60), {dt: 0.05, steps: 3});
    path.dispose();
    // A full one has 3600.
    expect(path.stats.nonzeros).to.be.below(1800);
  });

  it('the matrix grows with the masses, where without it grows with their square', () => {
    const nonzeros = (lifts: boolean, n: number): number => {
      const path = simulate(summed(lifts), start(n), {dt: 0.05, steps: 1, params: {k: tf.scalar(2)}});
      path.dispose();
      return path.stats.nonzeros;
    };
    expect(nonzeros(false, 80)).to.be.above(3 * nonzeros(false, 40));
    expect(nonzeros(true, 80)).to.be.below(2.2 * nonzeros(true, 40));
  });

  it('adaptive steps take them too, and a tensor outside a trace is what it was', () => {
    const [plain, own] = [false, true].map(lifts => {
      const path = simulate(summed(lifts), start(5), {
        scheme: radauIIA5(),
        control: adaptive({rtol: 1e-8}),
        dt: 0.1,
        t1: 1,
        saveAt: 'end',
        params: {k: tf.scalar(2)},
      });
      path.dispose();
      return path.values('q').slice(-5);
    });
    expect(largest(plain.map((x, i) => x - own[i]))).to.be.below(1e-7);
    const one = tf.scalar(3);
    expect(lifted('values', [one], ([x]) => [x])[0]).to.equal(one);
    one.dispose();
  });

  it('an equation of another shape is refused, and says which', () => {
    const wrong = mechanics({
      mass: 1,
      forces: ({q}) => lifted('sums', [tf.cumsum(q)], ([sums]) => [tf.sum(sums)])[0],
    });
    expect(() => simulate(wrong, start(3), {dt: 0.1, steps: 1})).to.throw(
      /sums has values of shapes \[3\], but equations of shapes \[\]/,
    );
  });
});
