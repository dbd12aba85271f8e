/** How notebooks display runs is set from outside. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, rk4, simulate} from '../../lib/index.js';
import {displayRunsWith} from '../../lib/simulate/display.js';
import {display} from '../../plot/display.js';

describe('displayRunsWith', () => {
  it('sets what a run shows of itself', () => {
    const path = simulate(ode(({y}) => tf.zerosLike(y)), {y: 1}, {scheme: rk4(), dt: 1, steps: 0}); // prettier-ignore
    try {
      displayRunsWith<{stats: {steps: number}}>(({stats}) => ({'text/plain': `${stats.steps} steps`}));
      const show = path as unknown as {[key: symbol]: () => unknown};
      expect(show[Symbol.for('Jupyter.display')]()).to.deep.equal({'text/plain': '0 steps'});
    } finally {
      displayRunsWith(display);
      path.dispose();
    }
  });
});
