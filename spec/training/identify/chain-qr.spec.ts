/** The factorization of multiple shooting against the dense one of the same matrix, and a long record by it. */
import {expect} from 'chai';
import * as tf from '@tensorflow/tfjs';
import {mechanics, rk4, signal, simulate} from '../../../lib/index.js';
import {gaussian} from '../../../training/data/noise.js';
import {ChainQr} from '../../../training/identify/chain-qr.js';
import {identify} from '../../../training/identify/identify.js';
import {free, positive} from '../../../training/identify/parameters.js';
import {RowQr} from '../../../training/identify/row-qr.js';
import {multiple} from '../../../training/identify/shooting.js';
import {slow} from '../../tiers.js';

describe('the factorization of multiple shooting', () => {
  const [shared, n, segments, rows] = [3, 2, 4, 7];
  const random = gaussian(1);
  const p = shared + n * (2 * segments - 2);
  /** Two records of four segments; the first segment of each starts at shared parameters. */
  function chains(): {chain: ChainQr; dense: RowQr} {
    const chain = new ChainQr(p, shared);
    const dense = new RowQr(p);
    let own = 0;
    let free = shared;
    for (let k = 0; k < 2 * segments; k++) {
      const [starts, ends] = [k % segments === 0, k % segments === segments - 1];
      const next = ends ? 0 : free;
      if (!ends) free += n;
      const place = {own: starts ? 0 : own, size: starts ? 0 : n, next, nextSize: ends ? 0 : n};
      const width = place.size + place.nextSize + shared;
      const local = Float64Array.from({length: rows * width}, random);
      const right = Float64Array.from({length: rows}, random);
      const wide = new Float64Array(rows * p);
      for (let i = 0; i < rows; i++)
        for (let j = 0; j < width; j++) {
          const {size, nextSize} = place;
          const column = j < size ? place.own + j : j < size + nextSize ? next + j - size : j - size - nextSize;
          wide[i * p + column] = local[i * width + j];
        }
      chain.append(place, local, right);
      dense.append(wide, right);
      own = next;
    }
    return {chain, dense};
  }
  const close = (a: Float64Array, b: Float64Array): void =>
    a.forEach((value, i) => expect(value, `entry ${i}`).to.be.closeTo(b[i], 1e-10 * (1 + Math.abs(b[i]))));

  it('has the gradient, the norms, the damped steps and the projection of the dense one', () => {
    const {chain, dense} = chains();
    close(chain.gradient(), dense.gradient());
    close(chain.columnNorms(), dense.columnNorms());
    const scale = dense.columnNorms();
    for (const mu of [1e-8, 1e-3, 1, 100]) close(chain.damped(scale, mu), dense.damped(scale, mu));
    const [mine, other] = [chain.projected(scale), dense.projected(scale)];
    close(mine.delta, other.delta);
    expect(mine.inside).to.be.closeTo(other.inside, 1e-10 * other.inside);
    expect(mine.rank).to.equal(other.rank);
  });

  slow('finds what single shooting finds, over twenty segments, with a spline among the inputs', async function () {
    this.timeout(60_000);
    const system = mechanics({
      mass: 1,
      forces: ({q, v, params}: {q: tf.Tensor; v: tf.Tensor; params: {readonly [name: string]: tf.Tensor}}) =>
        tf.sub(
          tf.add(params.u, params.w),
          tf.addN([tf.mul(params.c, v), tf.mul(params.k, q), tf.mul(params.k3, tf.pow(q, 3))]),
        ),
    });
    const [samples, dt] = [1200, 0.05];
    const noise = gaussian(2);
    const t = Float64Array.from({length: samples}, (_, i) => i * dt);
    let level = 0;
    const pushed = t.map(() => (level = 0.95 * level + noise()));
    const inputs = {u: signal(t, pushed, 'linear'), w: signal(t, t.map(Math.sin), 'cubic')};
    const motion = simulate(
      system,
      {q: 0.5, v: 0},
      {scheme: rk4(), dt, steps: samples - 1, params: {c: 0.2, k: 1, k3: 0.5}, inputs},
    );
    const q = motion.values('q').map(value => value + 0.02 * noise());
    motion.dispose();
    const problem = {
      system,
      scheme: rk4(),
      dt,
      data: {t, q, inputs},
      parameters: {
        c: positive(0.25),
        k: positive(1.05),
        k3: positive(0.45),
        'initial.q': free(0.45),
        'initial.v': free(0),
      },
    };
    const plain = await identify(problem);
    const far = {...problem.parameters, c: positive(0.5), k: positive(2.5), k3: positive(0.1)};
    let steps = 0;
    const fit = await identify({
      ...problem,
      parameters: far,
      shooting: multiple({segments: 20}),
      onProgress: () => steps++,
    });
    expect(steps).to.be.within(5, 100);
    for (const name of ['c', 'k', 'k3'] as const) {
      expect(fit.estimate[name]).to.be.closeTo(plain.estimate[name], 1e-5);
      expect(fit.standardError[name]).to.be.closeTo(plain.standardError[name], 1e-3 * plain.standardError[name]);
    }
    expect(fit.estimate.k).to.be.closeTo(1, 0.03);
  });

  slow('traces a record once, however many its segments', async () => {
    let traced = 0;
    const system = mechanics({
      mass: 1,
      forces({q, params}: {q: tf.Tensor; params: {readonly k: tf.Tensor; readonly u: tf.Tensor}}) {
        traced++;
        return tf.sub(params.u, tf.mul(params.k, q));
      },
    });
    const t = Float64Array.from({length: 241}, (_, i) => i * 0.1);
    const tracedWith = async (segments: number): Promise<number> => {
      traced = 0;
      // u = 1: q = (1 − cos 2t)/4
      const {estimate, trajectory} = await identify({
        system,
        scheme: rk4(),
        dt: 0.1,
        initial: {q: 0, v: 0},
        data: {t, q: t.map(time => (1 - Math.cos(2 * time)) / 4), inputs: {u: signal([0, 24], [1, 1])}},
        parameters: {k: positive(3)},
        shooting: multiple({segments}),
      });
      trajectory.dispose();
      expect(estimate.k).to.be.closeTo(4, 1e-3); // RK4 at ωh = 0.2: (ωh)⁴/120 of the frequency
      return traced;
    };
    expect(await tracedWith(48)).to.equal(await tracedWith(2));
  });
});
