import {expect} from 'chai';
import fc from 'fast-check';
import {unrolledKernels, unrolledSizes} from '../../../lib/engine/wasm/kernels/unrolled.js';
import {densePattern, lu} from '../../../lib/linear/index.js';
import {SUSPICIOUS_PIVOT} from '../../../lib/linear/singularity.js';
import {backwardError, fromRows, random, vector} from '../../linear/matrices.js';
import {runs} from '../../property.js';

const memory = new WebAssembly.Memory({initial: 1, maximum: 1});
const doubles = new Float64Array(memory.buffer);
const kernels = new Map(
  Array.from({length: unrolledSizes.to - unrolledSizes.from + 1}, (_, i) => i + unrolledSizes.from).map(n => [
    n,
    unrolledKernels(n, memory),
  ]),
);
/** Places in the memory, in doubles. */
const at = {values: 0, a: 64, scale: 128, pivots: 136, b: 144, x: 152};
const address = (name: keyof typeof at): number => 8 * at[name];

describe('engine wasm: LU written out for 1 to 8 unknowns', () => {
  for (const [n, {factor, solve, solveTransposed}] of kernels) {
    const load = (rows: readonly (readonly number[])[]): number => {
      doubles.set(rows.flat(), at.values);
      return factor(address('values'), address('a'), address('pivots'), address('scale'));
    };

    it(`n = ${n}: solves with A and its transpose, backward stably, whatever the units of the rows`, () => {
      fc.assert(
        fc.property(fc.integer(), seed => {
          const next = random(seed);
          const units = Array.from({length: n}, () => 10 ** (12 * next() - 6));
          const plain = Array.from({length: n}, () => [...vector(n, next)]);
          const smallest = load(plain.map((row, i) => row.map(value => value * units[i])));
          // A random matrix of eight rows may be near singular; a pivot of 1e-4 loses four digits at most.
          fc.pre(smallest > 1e-4);
          const b = vector(n, next);
          doubles.set(
            b.map((value, i) => value * units[i]),
            at.b,
          );
          solve(address('a'), address('pivots'), address('b'), address('x'));
          const matrix = fromRows(plain);
          expect(backwardError(matrix, doubles.slice(at.x, at.x + n), b)).to.be.below(20 * n * Number.EPSILON);
          // In place, transposed: (U A)ᵀ (U⁻¹ y) = b where Aᵀ y = b.
          doubles.set(b, at.x);
          solveTransposed(address('a'), address('pivots'), address('x'), address('x'));
          expect(
            backwardError(
              matrix,
              doubles.slice(at.x, at.x + n).map((value, i) => value * units[i]),
              b,
              true,
            ),
          ).to.be.below(20 * n * Number.EPSILON);
        }),
        runs(60),
      );
    });

    it(`n = ${n}: gives the bits that the interpreter's factor gives, where pivots tie too`, () => {
      const entry = fc.oneof(fc.constantFrom(-2, -1, 0, 1, 2), fc.double({min: -1, max: 1, noNaN: true}));
      fc.assert(
        fc.property(fc.array(entry, {minLength: n * n, maxLength: n * n}), fc.integer(), (values, seed) => {
          doubles.set(values, at.values);
          fc.pre(factor(address('values'), address('a'), address('pivots'), address('scale')) > 1e-4);
          const other = lu().analyze(densePattern(n)).factor(Float64Array.from(values));
          const b = vector(n, random(seed));
          const expected = new Float64Array(n);
          for (const [mine, theirs] of [
            [solve, other.solve],
            [solveTransposed, other.solveTransposed],
          ] as const) {
            doubles.set(b, at.b);
            mine(address('a'), address('pivots'), address('b'), address('x'));
            theirs.call(other, b, expected);
            expect([...doubles.slice(at.x, at.x + n)]).to.deep.equal([...expected]);
          }
        }),
        runs(200),
      );
    });

    it(`n = ${n}: a permutation, solved to the bit, and singular matrices told by their pivot`, () => {
      const cycle = Array.from({length: n}, (_, i) =>
        Array.from({length: n}, (_unused, j) => (j === (i + 1) % n ? 2 : 0)),
      );
      expect(load(cycle)).to.equal(1);
      const b = Float64Array.from({length: n}, (_, i) => i + 1);
      doubles.set(b, at.b);
      solve(address('a'), address('pivots'), address('b'), address('x'));
      // 2 x_{i+1} = b_i
      expect([...doubles.slice(at.x, at.x + n)]).to.deep.equal([...b].map((_, i) => b[(i + n - 1) % n] / 2));
      const next = random(n);
      const rows = Array.from({length: n}, () => [...vector(n, next)]);
      if (n > 1) {
        rows[n - 1] = rows[0].map(value => -3 * value);
        expect(load(rows)).to.be.below(SUSPICIOUS_PIVOT);
      }
      rows[0].fill(0);
      expect(load(rows)).to.equal(0);
    });
  }
});
