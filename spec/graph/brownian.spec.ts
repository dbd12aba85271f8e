/** Brownian paths: the generator by its authors' numbers, their law, and that they are one path however they are asked for. */
import {expect} from 'chai';
import {brownianPath, treeTime} from '../../lib/graph/primitives/brownian-path.js';
import {normalQuantile, threefry} from '../../lib/graph/primitives/threefry.js';
import {slow} from '../tiers.js';

const wordsOf = (...[key0, key1, counter0, counter1]: number[]): string => {
  const out = new Int32Array(2);
  threefry(key0 | 0, key1 | 0, counter0 | 0, counter1 | 0, out);
  return Array.from(out, word => (word >>> 0).toString(16).padStart(8, '0')).join(' ');
};

/** W and A of `count` components at a time. */
function pathAt(seed: number, t: number, count = 1): {w: Float64Array; area: Float64Array} {
  const out = new Float64Array(2 * count);
  brownianPath(seed, treeTime(t), count, out, 0);
  return {w: out.slice(0, count), area: out.slice(count)};
}

const count = 40_000;
/** Five standard errors of a mean product of normal numbers: fourth moments are three times squares at most. */
const within = 5 * Math.sqrt(3 / count);

function meanProduct(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum / a.length;
}

describe('graph: Brownian paths', () => {
  it('are made of Threefry-2x32-20, whose known answers Random123 publishes', () => {
    expect(wordsOf(0, 0, 0, 0)).to.equal('6b200159 99ba4efe');
    expect(wordsOf(-1, -1, -1, -1)).to.equal('1cb996fc bb002be7');
    expect(wordsOf(0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3)).to.equal('c4923a9c 483df7a0');
  });

  it('and of normal quantiles, checked by the values of AS 241', () => {
    expect(normalQuantile(0.25)).to.be.closeTo(-0.6744897501960817, 1e-15);
    expect(normalQuantile(0.001)).to.be.closeTo(-3.090232306167814, 4e-15);
    expect(normalQuantile(1e-20)).to.be.closeTo(-9.262340089798408, 2e-14);
    expect(normalQuantile(0.999)).to.be.closeTo(3.090232306167814, 1e-13);
  });

  it('have the same bits everywhere', () => {
    // Written down when they were made: no machine may give others.
    expect([0.1, 0.625, 7.3, 1000, -2.5].map(t => pathAt(2026, t).w[0])).to.deep.equal([
      0.1053276146048736, 0.13765595482265003, -1.4536719411471068, 35.72084790696884, 1.2485195491533674,
    ]);
    expect(pathAt(2 ** 40 + 1, 0.3, 3).area).to.deep.equal(
      Float64Array.of(-0.12384312497327862, -0.044733563610463066, -0.0769251610265334),
    );
  });

  for (const [s, t] of [
    [0.3, 0.7],
    [0.9, 1.6],
    [3.1, 17.7],
    [1e-5, 1.3e-5],
  ]) {
    slow(`have the covariances min(s, t), s²(3t − s)/6 of W and its integral at ${s} and ${t}`, () => {
      const [at, later] = [pathAt(5, s, count), pathAt(5, t, count)];
      expect(meanProduct(at.w, at.w) / s).to.be.closeTo(1, within);
      expect(meanProduct(at.w, later.w) / s).to.be.closeTo(1, within * Math.sqrt(t / s));
      expect(meanProduct(at.area, at.area) / (s ** 3 / 3)).to.be.closeTo(1, within);
      expect(meanProduct(at.area, at.w) / (s ** 2 / 2)).to.be.closeTo(1, within);
      expect(meanProduct(at.area, later.area) / ((s * s * (3 * t - s)) / 6)).to.be.closeTo(
        1,
        within * Math.sqrt((t / s) ** 3),
      );
      // Increments and their areas are independent of what was.
      const w = later.w.map((value, i) => (value - at.w[i]) / Math.sqrt(t - s));
      const area = later.area.map((value, i) => (value - at.area[i] - (t - s) * at.w[i]) / Math.sqrt((t - s) ** 3 / 3));
      expect(meanProduct(w, w)).to.be.closeTo(1, within);
      expect(meanProduct(area, area)).to.be.closeTo(1, within);
      expect(meanProduct(w, area)).to.be.closeTo(Math.sqrt(3) / 2, within);
      expect(meanProduct(w, at.w) / Math.sqrt(s)).to.be.closeTo(0, within);
    });
  }

  slow('are normal: Kolmogorov and Smirnov', () => {
    const {w} = pathAt(3, 0.4, count);
    const sorted = w.map(value => value / Math.sqrt(0.4)).sort();
    let largest = 0;
    // Φ at its own quantiles: as many of the samples below as belong there.
    for (let k = 1; k < 100; k++) {
      const below = sorted.findIndex(value => value > normalQuantile(k / 100));
      largest = Math.max(largest, Math.abs(below / count - k / 100));
    }
    // 1.95/√n is passed once in a thousand samples.
    expect(largest).to.be.below(1.95 / Math.sqrt(count));
  });

  it('have an integral that sums of the path itself come to', () => {
    // A sum of n values of W misses ∫₀¹ by √(1/(12 n²)) · a few: the areas of single intervals are independent.
    const n = 4096;
    let sum = 0;
    for (let i = 0; i < n; i++) sum += (pathAt(9, i / n).w[0] + pathAt(9, (i + 1) / n).w[0]) / 2 / n;
    expect(pathAt(9, 1).area[0]).to.be.closeTo(sum, (5 * Math.sqrt(1 / 12)) / n);
  });

  it('are the same at times that rounding makes of one, and continuous', () => {
    const t = 0.1 + 0.2;
    expect(pathAt(1, t).w).to.deep.equal(pathAt(1, 0.3).w);
    const jump = Math.abs(pathAt(1, 0.3).w[0] - pathAt(1, 0.3 + 1e-8).w[0]);
    expect(jump)
      .to.be.below(6 * Math.sqrt(1e-8))
      .and.above(0);
  });

  it('are others for other seeds, components and signs of time', () => {
    const values = [
      pathAt(1, 0.5).w[0],
      pathAt(2, 0.5).w[0],
      pathAt(2 ** 32 + 1, 0.5).w[0],
      pathAt(1, 0.5, 2).w[1],
      pathAt(1, -0.5).w[0],
    ];
    expect(new Set(values.map(Math.abs)).size).to.equal(values.length);
    expect(pathAt(1, 0.5, 2).w[0]).to.equal(values[0]);
  });

  it('are not there for seeds that are none', () => {
    for (const seed of [-1, 0.5, NaN]) expect(pathAt(seed, 1).w[0]).to.be.NaN;
    expect(pathAt(1, Infinity).w[0]).to.be.NaN;
    expect(pathAt(1, 0).w[0]).to.equal(0);
  });
});
