/** Multipliers of index-3 systems along a whole run: of second order from the first step on, and Newmark's weak instability. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {readFileSync} from 'node:fs';
import {figure, figurePath, ways} from '../../bench/weak-instability.js';
import type {Scheme} from '../../lib/index.js';
import {bdf2, bilateral, generalizedAlpha, hht, mechanics, simulate} from '../../lib/index.js';
import {largest, order} from '../simulate/numbers.js';

const g = 9.81;
const pendulum = mechanics({
  mass: [1, 1],
  forces: ({q}) => tf.add(tf.zerosLike(q), tf.tensor1d([0, -g])),
  constraints: [bilateral(({q}) => tf.div(tf.sub(tf.sum(tf.square(q)), 1), 2))],
});

/** The largest error of λ over a second, against −(v² + g cos θ) with the speed that energy gives at the position reached. */
function worst(scheme: Scheme, n: number): number {
  const path = simulate(
    pendulum,
    {q: [Math.sin(1), -Math.cos(1)], v: [Math.cos(1), Math.sin(1)]},
    {scheme, dt: 1 / n, steps: n},
  );
  path.dispose();
  const q = path.values('q');
  return largest(
    path.values('lambda').map((lambda, i) => lambda + 1 + 2 * g * (-Math.cos(1) - q[2 * i + 1]) - g * q[2 * i + 1]),
  );
}

describe('multipliers of index-3 systems', () => {
  for (const scheme of [...[0, 0.5, 0.8, 1].map(rhoInf => generalizedAlpha({rhoInf})), hht(), bdf2()]) {
    it(`${scheme.name}: of second order at every step, the first included`, () => {
      const [coarse, fine] = [200, 400].map(n => worst(scheme, n));
      expect(order(coarse, fine)).to.be.closeTo(2, 0.05);
      expect(fine).to.be.below(2e-3);
    });
  }

  it("Newmark's error of λ does not fall with the step; those of ggl and ρ∞ = 0.8 fall with its square", () => {
    const [coarse, fine] = [0.02, 0.01].map(ways);
    const errors = [coarse, fine].map(all => all.map(({error}) => largest(error)));
    expect(errors[1][0] / errors[0][0]).to.be.closeTo(1, 0.1);
    expect(errors[1][0]).to.be.above(20);
    const {error} = fine[0];
    expect(largest(error.slice(100)) / largest(error.slice(0, 50))).to.be.above(2);
    for (const way of [1, 2]) expect(order(errors[0][way], errors[1][way])).to.be.closeTo(2, 0.2);
  });

  it('the figure is up to date: npx tsx bench/weak-instability.ts writes it', () => {
    expect(readFileSync(figurePath, 'utf8')).to.equal(figure());
  });
});
