/** Random numbers from seeds: the published SplitMix64 fills the state, so that first numbers of many seeds are uniform. */
import {expect} from 'chai';
import {uniformFloat64} from 'pure-rand/distribution/uniformFloat64';
import {OptionError} from '../lib/errors.js';
import {seeded} from '../lib/random.js';
import {latinHypercube, uniform} from '../sweep/cases.js';
import {gaussian} from '../training/data/noise.js';
import {Random} from '../training/train/random.js';

/** Of the state: s0 and s1, each by its two words. */
const words = (seed: number): string[] => {
  const state = seeded(seed).getState();
  return [0, 2].map(at => state.slice(at, at + 2).map(word => (word >>> 0).toString(16).padStart(8, '0')).join('')); // prettier-ignore
};

const moments = (values: readonly number[]): [mean: number, deviation: number] => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return [mean, Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length)];
};

describe('seeds', () => {
  it('fill the state with the first two numbers of SplitMix64, as published', () => {
    // Seed 0: test vectors of the reference implementation (prng.di.unimi.it); 1234567: rosettacode.org.
    expect(words(0)).to.deep.equal(['e220a8397b1dcdaf', '6e789e6aa1b965f4']);
    expect(words(1234567)).to.deep.equal([6457827717110365317n, 3203168211198807973n].map(word => word.toString(16).padStart(16, '0'))); // prettier-ignore
    // 2⁶⁴ − 1 is −1, and seeds that differ by 2³² are two.
    expect(words(-1)).to.not.deep.equal(words(0));
    expect(words(2 ** 32)).to.not.deep.equal(words(0));
    expect(() => seeded(NaN)).to.throw(OptionError, /seed must be a finite number, not NaN/);
  });

  it('give first, second and third numbers that are uniform over the seeds', () => {
    const count = 4000;
    const draws = Array.from({length: count}, (_, seed) => {
      const random = seeded(seed);
      return [0, 1, 2].map(() => uniformFloat64(random));
    });
    for (const k of [0, 1, 2]) {
      const [mean, deviation] = moments(draws.map(draw => draw[k]));
      // Five standard errors: 1/√12 /√n of the mean, √(1/80 − 1/144)·√3 /√n of the deviation.
      expect(mean, `mean of draw ${k}`).to.be.closeTo(0.5, (5 * 0.2887) / Math.sqrt(count));
      expect(deviation, `deviation of draw ${k}`).to.be.closeTo(Math.sqrt(1 / 12), (5 * 0.1291) / Math.sqrt(count));
      // 16 bins: chi squared of 15 degrees of freedom is below 44.3 but once in 10⁴.
      const bins = new Array<number>(16).fill(0);
      for (const draw of draws) bins[Math.floor(16 * draw[k])]++;
      const expected = count / 16;
      expect(bins.reduce((sum, bin) => sum + (bin - expected) ** 2 / expected, 0), `bins of draw ${k}`).to.be.below(44.3); // prettier-ignore
    }
    // Draws of a seed, and first draws of neighbouring seeds, are not correlated: 5/√n.
    const product = (of: (seed: number) => number): number =>
      Array.from({length: count - 1}, (_, seed) => 12 * of(seed)).reduce((sum, value) => sum + value, 0) / count;
    const bound = 5 / Math.sqrt(count);
    expect(product(s => (draws[s][0] - 0.5) * (draws[s][1] - 0.5))).to.be.closeTo(0, bound);
    expect(product(s => (draws[s][0] - 0.5) * (draws[s + 1][0] - 0.5))).to.be.closeTo(0, bound);
  });

  it('spread the first case of uniform, and of latinHypercube, over the range', () => {
    const first = (of: (seed: number) => Iterable<{readonly k: number}>): number[] =>
      Array.from({length: 500}, (_, seed) => [...of(seed)][0].k);
    for (const [name, values] of [
      ['uniform', first(seed => uniform(1, {k: [10, 40]}, seed))],
      ['latinHypercube', first(seed => latinHypercube(4, {k: [10, 40]}, seed))],
    ] as const) {
      const [mean, deviation] = moments(values);
      // Five standard errors of 500 cases, uniform on [10, 40].
      expect(mean, name).to.be.closeTo(25, (5 * 8.66) / Math.sqrt(500));
      expect(deviation, name).to.be.closeTo(8.66, (5 * 3.87) / Math.sqrt(500));
    }
  });

  it('spread first draws of normal numbers and of a training run', () => {
    const [mean, deviation] = moments(Array.from({length: 2000}, (_, seed) => gaussian(seed)()));
    expect(mean).to.be.closeTo(0, 5 / Math.sqrt(2000));
    expect(deviation).to.be.closeTo(1, 5 / Math.sqrt(4000));
    // Shuffles of three: each of six orders 1000 times of 6000, standard deviation √(6000·⅙·⅚) = 29.
    const orders = new Map<string, number>();
    for (let seed = 0; seed < 6000; seed++) {
      const order = Uint32Array.of(0, 1, 2);
      new Random(seed).shuffle(order);
      orders.set(order.join(), (orders.get(order.join()) ?? 0) + 1);
    }
    expect(orders.size).to.equal(6);
    for (const [order, count] of orders) expect(count, order).to.be.closeTo(1000, 145);
  });
});
