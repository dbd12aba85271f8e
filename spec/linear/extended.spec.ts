/** Matrices with intermediate unknowns: solves are those of the Schur complement, which is full. */
import {expect} from 'chai';
import {analyze, auto, lu, sparseLu, wholeOf} from '../../lib/linear/index.js';
import {SingularMatrixError} from '../../lib/errors.js';
import {fromRows, random, randomMatrix, vector} from './matrices.js';

const own = 7;
const whole = 30;

function dense(seed: number): number[][] {
  const {pattern, values} = randomMatrix(whole, 0.2, random(seed), 3);
  const rows = Array.from({length: whole}, () => new Array<number>(whole).fill(0));
  for (let i = 0; i < whole; i++)
    for (let p = pattern.rowPointers[i]; p < pattern.rowPointers[i + 1]; p++) rows[i][pattern.columns[p]] = values[p];
  return rows;
}

/** Gaussian elimination of the last unknowns, one by one. */
function complement(given: readonly (readonly number[])[]): number[][] {
  const rows = given.map(row => [...row]);
  for (let k = whole - 1; k >= own; k--)
    for (let i = 0; i < k; i++) {
      const factor = rows[i][k] / rows[k][k];
      for (let j = 0; j < k; j++) rows[i][j] -= factor * rows[k][j];
    }
  return rows.slice(0, own).map(row => row.slice(0, own));
}

describe('matrices with intermediate unknowns', () => {
  for (const solver of [auto(), lu(), sparseLu()])
    it(`${solver.name}: solves, several at once and transposed, are those of the Schur complement to 1e-12`, () => {
      const rows = dense(3);
      const {pattern, values} = fromRows(rows);
      const analysis = analyze(solver, {...pattern, schurSize: own});
      const factor = analysis.factor(values);
      expect([analysis.n, factor.n, wholeOf(factor).n]).to.deep.equal([own, own, whole]);
      const small = complement(rows);
      for (const transposed of [false, true]) {
        const expected = vector(2 * own, random(4));
        const b = Float64Array.from({length: 2 * own}, (_, k) => {
          const [d, i] = [k < own ? 0 : own, k % own];
          return small.reduce((sum, _row, j) => sum + (transposed ? small[j][i] : small[i][j]) * expected[d + j], 0);
        });
        // In place, as users of a factor may.
        if (transposed) factor.solveTransposed(b, b, 2);
        else factor.solve(b, b, 2);
        b.forEach((x, k) => expect(Math.abs(x - expected[k])).to.be.below(1e-12));
      }
    });

  it('a matrix without them is analyzed as it is', () => {
    const {pattern, values} = fromRows([
      [2, 1],
      [1, 3],
    ]);
    const factor = analyze(auto(), pattern).factor(values);
    expect(wholeOf(factor)).to.equal(factor);
  });

  it('a singular one tells the rows that its user knows', () => {
    const {pattern, values} = fromRows([
      [0, 0, 0],
      [0, 1, 2],
      [0, 3, 1],
    ]);
    expect(() => analyze(lu(), {...pattern, schurSize: 2}).factor(values))
      .to.throw(SingularMatrixError)
      .with.nested.property('data.rows')
      .deep.equal([0]);
  });
});
