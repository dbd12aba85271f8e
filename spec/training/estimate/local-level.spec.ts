/** The likelihood of innovations in closed form: a level that does not move, measured with noise of unknown size. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode} from '../../../lib/index.js';
import {positive} from '../../../training/index.js';
import {identifyByInnovations} from '../../../training/estimate/innovations.js';

describe('identifyByInnovations, of a known level', () => {
  it('estimates the variance of the noise by the mean square', async () => {
    const y = [0.5, -1, 1.5, 0, -0.5, 1];
    const {estimate, converged} = await identifyByInnovations({
      system: ode(({y}) => tf.zerosLike(y)),
      data: {t: y.map((_, i) => i + 1), y},
      initial: {y: 0},
      initialCovariance: {y: 0},
      parameters: {noise: positive(1)},
      processNoise: () => ({density: {y: 0}}),
      measurementNoise: ({noise}) => noise,
      dt: 1,
    });
    expect(converged).to.equal(true);
    expect(estimate.noise).to.be.closeTo(y.reduce((sum, x) => sum + x * x, 0) / y.length, 1e-5);
  });
});
