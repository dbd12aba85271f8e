/** A mass that is none is refused, with its entry or row. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Mass} from '../../lib/index.js';
import {mechanics, simulate} from '../../lib/index.js';

const run = (mass: Mass): unknown =>
  simulate(mechanics({mass, forces: []}), {q: [0, 0], v: [1, 1]}, {dt: 0.1, steps: 1});

describe('a mass', () => {
  it('must be symmetric', () => {
    expect(() =>
      run([
        [1, 2],
        [0, 1],
      ]),
    ).to.throw(/not symmetric: mass\[1, 0\] is 0 and mass\[0, 1\] is 2/);
    expect(() =>
      run(({q}) =>
        tf.add(
          tf.tensor2d([
            [2, 1],
            [0, 2],
          ]),
          tf.mul(0, tf.sum(q)),
        ),
      ),
    ).to.throw(/not symmetric/);
  });

  it('must be positive, in every direction', () => {
    expect(() =>
      run([
        [1, 0],
        [0, -1],
      ]),
    ).to.throw(/not positive: .*mass\[1, 1\] is -1/);
    // Eigenvalues 3 and −1.
    expect(() =>
      run([
        [1, 2],
        [2, 1],
      ]),
    ).to.throw(/not positive/);
    expect(() => run([1, -1])).to.throw(/mass\[1\] is -1/);
  });

  it('may be all but singular, and rounded to float32', () => {
    run([
      [1, 1 - 1e-9],
      [1 - 1e-9, 1],
    ]);
    run(
      tf.tensor2d([
        [0.1, 0.3 * 0.1],
        [0.03, 0.1],
      ]),
    );
  });
});
