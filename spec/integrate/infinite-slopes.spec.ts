/**
 * Slopes that are infinite where a run begins, as that of √y at 0: derivatives by parameters are finite all the same,
 * and those by the start are refused only where they are asked for.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {adaptive, batch, kvaerno5, ode, rk4, simulate, tsit5} from '../../lib/index.js';
import {slope} from '../simulate/numbers.js';

/** A tank that fills from empty: y' = u − c √y. */
const tank = ode<{u: tf.Tensor; c: tf.Tensor}>(({y, params: {u, c}}) => tf.sub(u, tf.mul(c, tf.sqrt(y))));
const params = {u: 0.7, c: 1.3};
const control = adaptive({rtol: 1e-8, atol: 1e-10});

describe('infinite slopes at the start', function () {
  this.timeout(60000);
  const cases = [
    {scheme: tsit5(), dt: 0.01, t1: 0.8, control},
    {scheme: kvaerno5(), dt: 0.01, t1: 0.8, control},
    {scheme: rk4(), dt: 0.02, t1: 0.8},
    {scheme: tsit5(), dt: 0.02, t1: 0.8},
  ] as const;
  for (const one of cases) {
    const options = {...one, saveAt: 'end', params} as const;
    const by = (name: 'u' | 'c'): number => {
      const end = (s: number): number =>
        simulate(tank, {y: 0}, {...options, params: {...params, [name]: params[name] + s}}).values('y')[1];
      return slope(end, 1e-3);
    };

    // Steps that adapt differ between the runs of a difference.
    const within = 'control' in one ? 1e-4 : 1e-6;

    it(`${one.scheme.name}${'control' in one ? ', adaptive' : ''}: tangents by parameters`, () => {
      for (const name of ['u', 'c'] as const) {
        const {tangent} = simulate.jvp(tank, {y: 0}, options, {params: {u: 0, c: 0, [name]: 1}});
        expect(tangent.y[1]).to.be.closeTo(by(name), within);
        expect(tangent.y[0]).to.equal(0);
      }
    });

    it(`${one.scheme.name}${'control' in one ? ', adaptive' : ''}: gradients on the tape`, () => {
      const loss = (u: tf.Tensor): tf.Scalar =>
        tf.sum(simulate(tank, {y: 0}, {...options, params: {u, c: params.c}}).y);
      expect(tf.tidy(() => tf.grad(loss)(tf.scalar(params.u)).dataSync()[0])).to.be.closeTo(by('u'), 10 * within);
    });
  }

  it('are refused where the start is asked for', () => {
    const options = {...cases[0], saveAt: 'end', params} as const;
    expect(() => simulate.vjp(tank, {y: 0}, options).pullback({y: [0, 1]})).to.throw(/not finite/);
    expect(() => simulate.jvp(tank, {y: 0}, options, {initial: {y: 1}})).to.throw(/not finite/);
    const loss = (y: tf.Tensor): tf.Scalar => tf.sum(simulate(tank, {y}, options).y);
    expect(() => tf.tidy(() => tf.grad(loss)(tf.scalar(0)).dataSync())).to.throw(/not finite/);
  });

  it('on the tape of a batch', () => {
    const options = {...cases[2], saveAt: 'end', params} as const;
    const loss = (u: tf.Tensor): tf.Scalar =>
      tf.addN(
        batch(tank, [{initial: {y: 0}}, {initial: {y: 0.5}}], {...options, params: {u, c: params.c}}).map(run =>
          tf.sum(run.y),
        ),
      ) as tf.Scalar;
    const end = (s: number): number =>
      [0, 0.5].reduce(
        (sum, y) => sum + simulate(tank, {y}, {...options, params: {...params, u: params.u + s}}).values('y')[1],
        0,
      );
    expect(tf.tidy(() => tf.grad(loss)(tf.scalar(params.u)).dataSync()[0])).to.be.closeTo(slope(end, 1e-3), 1e-5);
  });
});
