/** A stiff problem given to an explicit pair: the run says so, and others say nothing. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {adaptive, dopri5, mechanics, NewtonError, ode, simulate, tsit5} from '../../../lib/index.js';
import {dormandPrince, stabilityBorder, tsitouras} from '../../../lib/scheme/explicit-pairs.js';
import {doubleEngines} from '../../simulate/engines.js';

const stiff = ode(({y, t}) => tf.mul(tf.sub(y, tf.cos(t)), -1000));
const damped = mechanics({mass: 1, forces: ({q, v}) => tf.sub(tf.mul(q, -1000), tf.mul(v, 1000))});
const prey = ode(({y}) => tf.mul(y, tf.mul(tf.sub(1, tf.reverse(y)), [1, -1])));
const options = {dt: 1e-3, saveAt: 'end', control: adaptive({rtol: 1e-5, atol: 1e-5})} as const;

describe('stiffness of adaptive explicit steps', () => {
  it('the borders of stability', () => {
    // Hairer & Wanner, Solving ODEs II, §IV.2: 3.3066 for DOPRI5.
    expect(stabilityBorder(dormandPrince)).to.be.closeTo(3.3066, 5e-5);
    // Steps of y' = −y at the border neither grow nor shrink.
    for (const [scheme, pair] of [
      [dopri5(), dormandPrince],
      [tsit5(), tsitouras],
    ] as const) {
      const path = simulate(
        ode(({y}) => tf.neg(y)),
        {y: 1},
        {scheme, dt: stabilityBorder(pair), steps: 50},
      );
      path.dispose();
      expect(Math.abs(path.values('y')[50])).to.be.closeTo(1, 1e-9);
    }
  });

  for (const scheme of [dopri5(), tsit5()]) {
    for (const {name: engine} of doubleEngines) {
      it(`${scheme.name}, ${engine}: a warning where stability limits the steps`, () => {
        const runs = [
          simulate(stiff, {y: 0}, {...options, scheme, engine, t1: 1}),
          simulate(damped, {q: 1, v: 0}, {...options, scheme, engine, t1: 1}),
        ];
        for (const {warnings} of runs) {
          expect(warnings).to.have.length(1);
          expect(warnings[0]).to.match(/^From t = 0\.0\d+ on the steps of .* as short as its stability asks/);
        }
      });
    }

    it(`${scheme.name}: none where the error limits them, loose or tight`, () => {
      for (const rtol of [1e-2, 1e-4, 1e-8]) {
        const {warnings} = simulate(
          prey,
          {y: [4, 0.1]},
          {...options, scheme, t1: 60, control: adaptive({rtol, atol: rtol})},
        );
        expect(warnings).to.deep.equal([]);
      }
    });

    it(`${scheme.name}: a run that ends for want of steps tells why`, () => {
      const run = (): unknown => simulate(stiff, {y: 0}, {...options, scheme, t1: 10, steps: 300});
      expect(run).to.throw(NewtonError, /used up at t = .* the problem is stiff there\. Take an implicit scheme/);
      expect(() => simulate(prey, {y: [4, 0.1]}, {...options, scheme, t1: 10, steps: 5})).to.throw(
        NewtonError,
        /allow more, or a larger tolerance\.$/,
      );
    });
  }
});
