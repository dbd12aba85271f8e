/** Eigenvalues do not depend on the units of the states. */
import {expect} from 'chai';
import fc from 'fast-check';
import {eigenvaluesOf} from '../../lib/simulate/eigenvalues.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

const M = [
  [-1, 3, 0.5, -2],
  [0.3, -0.7, 2, 1],
  [-2, 1, -0.4, 0.6],
  [1, -0.5, 0.8, -2],
];
/** Of M by LAPACK (numpy.linalg.eigvals). */
const ofM = [[0.47569221, 1.4801279], [0.47569221, -1.4801279], [-2.52569221, 1.30752654], [-2.52569221, -1.30752654]]; // prettier-ignore

const size = fc.integer({min: 2, max: 7});
const square = (n: number, entry: fc.Arbitrary<number>): fc.Arbitrary<number[][]> =>
  fc.array(fc.array(entry, {minLength: n, maxLength: n}), {minLength: n, maxLength: n});
const symmetric = (a: readonly (readonly number[])[]): number[][] =>
  a.map((row, i) => row.map((x, j) => (x + a[j][i]) / 2));

describe('eigenvalues', () => {
  it('are those of LAPACK', () => {
    eigenvaluesOf(M).forEach(({real, imaginary}, i) => {
      expect(real).to.be.closeTo(ofM[i][0], 1e-7);
      expect(imaginary).to.be.closeTo(ofM[i][1], 1e-7);
    });
  });

  slow('of symmetric matrices are real, and their sums those of the entries, down to the smallest of numbers', () => {
    fc.assert(
      fc.property(
        size.chain(n => square(n, fc.double({min: -2, max: 2, noNaN: true}))),
        fc.constantFrom(1, 1e-200, 1e200),
        (a, unit) => {
          const even = symmetric(a);
          const found = eigenvaluesOf(even.map(row => row.map(x => x * unit))).map(({real, imaginary}) => ({
            real: real / unit,
            imaginary: imaginary / unit,
          }));
          const sum = (xs: readonly number[]): number => xs.reduce((s, x) => s + x, 0);
          found.forEach(({imaginary}) => expect(imaginary).to.be.closeTo(0, 1e-13));
          expect(sum(found.map(({real}) => real))).to.be.closeTo(sum(even.map((row, i) => row[i])), 1e-13);
          expect(sum(found.map(({real}) => real ** 2))).to.be.closeTo(sum(even.flat().map(x => x * x)), 1e-12);
        },
      ),
      runs(2000),
    );
  });

  slow('are the same in other units', () => {
    // Units of powers of two round nothing: the matrices are exactly similar. No entry is small beside the others: what couples two
    // close eigenvalues weakly does not show in the sums that balancing goes by.
    const matrix = size.chain(n =>
      fc.record({
        a: square(
          n,
          fc.integer({min: -16, max: 16}).map(k => k / 8),
        ),
        powers: fc.array(fc.integer({min: -40, max: 40}), {minLength: n, maxLength: n}),
      }),
    );
    fc.assert(
      fc.property(matrix, ({a, powers}) => {
        // Symmetric, so that eigenvalues are as well conditioned as they can be.
        const even = symmetric(a);
        const scaled = even.map((row, i) => row.map((x, j) => x * 2 ** (powers[i] - powers[j])));
        const [here, there] = [even, scaled].map(eigenvaluesOf);
        here.forEach(({real}, i) => expect(there[i].real).to.be.closeTo(real, 1e-9));
      }),
      runs(2000),
    );
    const scaled = (d: readonly number[]): number[][] => M.map((row, i) => row.map((x, j) => (x * d[i]) / d[j]));
    for (const d of [
      [1e5, 1e-6, 1, 1e-3],
      [1e-6, 1e7, 1, 1e3],
      [1e-3, 1e7, 1, 1e-6],
    ])
      // prettier-ignore
      eigenvaluesOf(scaled(d)).forEach(({real, imaginary}, i) => {
        expect(real).to.be.closeTo(ofM[i][0], 1e-7);
        expect(imaginary).to.be.closeTo(ofM[i][1], 1e-7);
      });
  });

  it('on the diagonal of what falls apart are exact, whatever stands beside them', () => {
    const found = eigenvaluesOf([
      [-3, 1e12, -1e9, 1e15],
      [0, 2, 1e-8, 1e11],
      [0, 0, -0.25, 7e10],
      [0, 0, 0, 5],
    ]);
    expect(found.map(({real}) => real)).to.deep.equal([5, 2, -0.25, -3]);
  });
});
