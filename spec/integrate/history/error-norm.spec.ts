/** A norm of one's own for the error of adaptive steps. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {adaptive, batch, dopri5, kvaerno5, ode, OptionError, simulate, tsit5, type Scheme} from '../../../lib/index.js';
import {AdaptiveBlocks} from '../../../lib/integrate/history/adaptive-blocks.js';

/** A fast rotation beside slow decays, whose share of the error is small. */
const system = ode(({y}) => {
  const [a, b, rest] = [tf.slice(y, [0], [1]), tf.slice(y, [1], [1]), tf.slice(y, [2], [6])];
  return tf.concat([tf.mul(b, 9), tf.mul(a, -9), tf.mul(rest, -0.1)]);
});
const initial = {y: [1, 0, 1, 1, 1, 1, 1, 1]};

type Norm = (shares: Float64Array) => number;
const rms: Norm = shares => Math.sqrt(shares.reduce((sum, share) => sum + share * share, 0) / shares.length);
const largest: Norm = shares => shares.reduce((most, share) => Math.max(most, Math.abs(share)), 0);

function run(scheme: Scheme, norm: Norm | undefined): {steps: number; y: number[]} {
  const control = adaptive({rtol: 1e-6, atol: 1e-9, norm});
  const path = simulate(system, initial, {scheme, control, dt: 1e-2, t1: 3});
  const result = {steps: path.stats.steps, y: [...path.values('y').slice(-8)]};
  path.dispose();
  return result;
}

describe("adaptive: a norm of one's own", () => {
  for (const [name, scheme] of Object.entries({dopri5: dopri5(), kvaerno5: kvaerno5()}))
    it(`${name}: the usual one, given, makes the same steps, the largest share shorter ones`, () => {
      const usual = run(scheme, undefined);
      expect(run(scheme, rms)).to.deep.equal(usual);
      const {steps, y} = run(scheme, largest);
      // Two of eight components have the error, so that the largest share is twice the root mean square.
      const order = 5;
      expect(steps / usual.steps).to.be.within(2 ** (1 / (order + 1)) - 0.07, 2 ** (1 / order) + 0.07);
      expect(y[0]).to.be.closeTo(Math.cos(27), 1e-4);
    });

  it('in blocks of steps and in batches as step by step', () => {
    const single = run(tsit5(), largest);
    const {after} = AdaptiveBlocks;
    try {
      AdaptiveBlocks.after = 0;
      expect(run(tsit5(), largest)).to.deep.equal(single);
      expect(run(tsit5(), undefined).steps).to.be.below(single.steps);
    } finally {
      AdaptiveBlocks.after = after;
    }
    const control = adaptive({rtol: 1e-6, atol: 1e-9, norm: largest});
    const paths = batch(system, [initial, initial], {scheme: tsit5(), control, dt: 1e-2, t1: 3});
    for (const path of paths) {
      expect(path.stats.steps).to.equal(single.steps);
      expect(path.values('y').at(-8)).to.be.closeTo(single.y[0], 1e-12);
      path.dispose();
    }
  });

  it('must return a size', () => {
    for (const norm of [() => NaN, () => -1, () => undefined as unknown as number])
      expect(() => run(dopri5(), norm)).to.throw(OptionError, 'norm must return a number of at least 0');
    expect(() => adaptive({norm: 'max' as unknown as Norm})).to.throw(OptionError, 'norm');
  });
});
