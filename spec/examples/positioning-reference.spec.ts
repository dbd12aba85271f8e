/** The synthetic record's ingredients: kinematics of the reference, moments of the noise, repeatability. */
import {expect} from 'chai';
import fc from 'fast-check';
import {gaussian} from '../../training/data/noise.js';
import {noisy, positioningReference} from '../../examples/positioning-reference.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

describe('synthetic record', () => {
  slow('the reference keeps to its travel, its acceleration and its speeds, from rest', () => {
    fc.assert(
      fc.property(fc.integer(), seed => {
        const dt = 1e-3;
        const {t, position, velocity} = positioningReference({seed});
        expect(t.length).to.equal(10001);
        expect([position[0], velocity[0]]).to.deep.equal([0, 0]);
        expect(Math.min(...position)).to.be.at.least(0);
        expect(Math.max(...position)).to.be.at.most(0.25);
        const speeds = new Set<string>();
        for (let k = 1; k < t.length; k++) {
          expect(Math.abs(velocity[k] - velocity[k - 1])).to.be.at.most((5 / 6) * dt * (1 + 1e-9));
          // The trapezoidal rule is exact but where the acceleration jumps: there it is off by a·dt²/8 at most.
          expect(Math.abs(position[k] - position[k - 1] - (dt / 2) * (velocity[k] + velocity[k - 1]))).to.be.below(
            ((5 / 6) * dt ** 2) / 2,
          );
          if (velocity[k] === velocity[k - 1]) speeds.add(Math.abs(velocity[k]).toFixed(6));
        }
        expect(speeds.size).to.be.at.most(3);
      }),
      runs(5),
    );
  });

  it('the default record uses all three speeds, both directions and most of the travel', () => {
    const {position, velocity} = positioningReference();
    for (const speed of [1 / 24, 1 / 12, 1 / 8]) {
      for (const sign of [1, -1]) {
        const cruising = velocity.filter(v => Math.abs(v - sign * speed) < 1e-12).length;
        expect(cruising, `samples at ${sign * speed} m/s`).to.be.above(50);
      }
    }
    expect(Math.max(...position)).to.be.above(0.2);
  });

  it('a seed repeats it, another one does not', () => {
    const one = positioningReference({seed: 7});
    expect(positioningReference({seed: 7}).position).to.deep.equal(one.position);
    expect(positioningReference({seed: 8}).position).to.not.deep.equal(one.position);
    const zeros = new Float64Array(100);
    expect(noisy(zeros, 1, 3)).to.deep.equal(noisy(zeros, 1, 3));
    expect(noisy(zeros, 1, 3)).to.not.deep.equal(noisy(zeros, 1, 4));
  });

  it('noise has the moments of a normal distribution and no memory', () => {
    const n = 200_000;
    const noise = noisy(new Float64Array(n).fill(5), 2, 1).map(value => (value - 5) / 2);
    const mean = (f: (z: number, k: number) => number): number => noise.reduce((sum, z, k) => sum + f(z, k), 0) / n;
    // Five standard errors each: √(1/n), √(2/n), √(15/n), √(96/n), √(1/n).
    const se = 1 / Math.sqrt(n);
    expect(mean(z => z)).to.be.closeTo(0, 5 * se);
    expect(mean(z => z ** 2)).to.be.closeTo(1, 5 * Math.SQRT2 * se);
    expect(mean(z => z ** 3)).to.be.closeTo(0, 5 * Math.sqrt(15) * se);
    expect(mean(z => z ** 4)).to.be.closeTo(3, 5 * Math.sqrt(96) * se);
    expect(mean((z, k) => z * noise[(k + 1) % n])).to.be.closeTo(0, 5 * se);
    expect(noise.filter(z => Math.abs(z) < 1.959964).length / n).to.be.closeTo(0.95, 5 * Math.sqrt(0.95 * 0.05) * se);
  });

  it('noise of different seeds is independent', () => {
    const [a, b] = [gaussian(1), gaussian(2)];
    const n = 50_000;
    let product = 0;
    for (let k = 0; k < n; k++) product += a() * b();
    expect(product / n).to.be.closeTo(0, 5 / Math.sqrt(n));
  });
});
