/** A step's programs share what they round: at rest, a stiff step leaves the state where it is. */
import type * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {kvaerno3, kvaerno5, simulate} from '../../lib/index.js';
import {chain} from '../../models/index.js';

describe('step: late factors', () => {
  for (const scheme of [kvaerno3(), kvaerno5()]) {
    // The slope at the start of the step is multiplied by h²k/m = 12000 in the update, whose unknown makes up for what that makes of its rounding.
    it(`${scheme.name}: a hanging chain comes to rest where the springs carry it, to a few ulps`, () => {
      const [n, k, m, g] = [6, 6e7, 0.5, 9.81];
      const scalar = (name: string) => (params: {readonly [name: string]: unknown}) => params[name] as tf.Tensor;
      const system = chain({count: n, stiffness: scalar('k'), damping: scalar('c'), mass: scalar('m'), g: scalar('g')});
      const path = simulate(
        system,
        {q: new Array<number>(n).fill(0), v: new Array<number>(n).fill(0.1)},
        {scheme, dt: 0.01, steps: 60, saveAt: 'end', params: {k, c: 10, m, g}},
      );
      // Spring i carries n − i masses.
      let exact = 0;
      path
        .values('q')
        .subarray(n)
        .forEach((x, i) => {
          exact += ((n - i) * m * g) / k;
          expect(x / exact).to.be.closeTo(1, 4e-15);
        });
      path.dispose();
    });
  }
});
