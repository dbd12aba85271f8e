/** The rounding in a residual, measured: against noise of a known size, and against functions that have none. */
import {expect} from 'chai';
import {ResidualNoise} from '../../lib/newton/residual-noise.js';

const spacing = Math.sqrt(Number.EPSILON);

/** Numbers in [−1, 1) that depend on every bit of x: what rounding looks like. Their standard deviation is 1/√3. */
function hashed(x: number): number {
  const words = new Uint32Array(Float64Array.of(x).buffer);
  let h = Math.imul(words[0] ^ Math.imul(words[1], 0x9e3779b1), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 15), 0xc2b2ae35);
  return ((h ^ (h >>> 13)) >>> 0) / 2 ** 31 - 1;
}

/** The noise of n rows r(z_i), all of one function, at z. */
function measured(r: (z: number) => number, z: Float64Array, least?: number): {rows: Float64Array; moves: number[]} {
  const noise = new ResidualNoise(z.length);
  const residual = z.map(r);
  const [start, before] = [z.slice(), residual.slice()];
  const moves: number[] = [];
  const evaluate = (): void => {
    moves.push(Math.abs(z[0] - start[0]));
    z.forEach((value, i) => (residual[i] = r(value)));
  };
  if (least === undefined) noise.measure([{values: z}], residual, spacing, evaluate);
  else noise.measureAtTwoScales([{values: z, minStep: z.map(() => least)}], residual, spacing, evaluate);
  expect([...z]).to.deep.equal([...start]);
  expect([...residual]).to.deep.equal([...before]);
  return {rows: noise.rows.slice(), moves};
}

const middle = (rows: Float64Array): number => rows.slice().sort()[rows.length >> 1];
const z = Float64Array.from({length: 400}, (_, i) => 1 + i / 399);

describe('newton: the noise of a residual', () => {
  // Numbers of one z have the same third differences of a function within a few of its steps of 1.5e-8.
  it('has the standard deviation that was put in, beside any smooth function', () => {
    for (const size of [1e-12, 1e-9]) {
      const {rows, moves} = measured(x => Math.sin(3 * x) + size * hashed(x), z);
      // The mean square of three third differences: the median of rows is its square root within a fifth or so.
      expect(middle(rows)).to.be.within((0.75 * size) / Math.sqrt(3), (1.25 * size) / Math.sqrt(3));
      // Moré & Wild: good to a factor of 4, here in all but one row in twenty.
      expect(rows.filter(row => row > size / Math.sqrt(3) / 4 && row < (4 * size) / Math.sqrt(3)).length).to.be.above(
        0.95 * rows.length,
      );
      expect(moves).to.have.length(5);
    }
  });

  it("is the arithmetic's own where nothing else is", () => {
    // sin near 1: half a unit in the last place at most, of 1.1e-16; third differences of sin(3z) itself are 27 (1.5e-8)³ = 1e-22.
    const {rows} = measured(x => Math.sin(3 * x), z);
    expect(middle(rows)).to.be.within(1e-17, 2e-16);
    expect(Math.max(...rows)).to.be.below(1e-15);
  });

  it('takes the most of several lines, until it is told to forget', () => {
    const noise = new ResidualNoise(1);
    const [at, residual] = [Float64Array.of(1), Float64Array.of(0)];
    let size = 1e-6;
    const evaluate = (): void => void (residual[0] = size * hashed(at[0]));
    const measure = (): number => {
      noise.measure([{values: at}], residual, spacing, evaluate);
      return noise.rows[0];
    };
    const most = measure();
    size = 1e-12;
    expect(measure()).to.equal(most);
    noise.forget();
    expect(measure()).to.be.within(1e-14, 1e-11);
  });

  describe('far apart', () => {
    it('is found as well', () => {
      const size = 1e-6;
      const {rows, moves} = measured(x => size * hashed(x), z, 1e-3);
      // The middle one of three third differences, where the longer line has no more than four times as much: in most rows.
      expect(rows.filter(row => row > size / Math.sqrt(3) / 4 && row < (4 * size) / Math.sqrt(3)).length).to.be.above(
        0.8 * rows.length,
      );
      // Points of a line are 1e-3 to 4e-3 apart (a stretch and a share below 2 and 1), and of the other one eight times that.
      expect(moves).to.have.length(10);
      expect(Math.max(...moves.slice(0, 5)) / Math.max(...moves.slice(5))).to.be.within(4, 16);
    });

    it('is not what a smooth function makes of it, nor a kink', () => {
      for (const [name, r] of Object.entries({
        sine: (x: number): number => Math.sin(5 * x),
        cube: (x: number): number => x ** 3,
        growth: (x: number): number => Math.exp(10 * x),
      })) {
        // Third differences are 1e-9 and more here, and grow 512 times over the longer line: nothing but roundings may be left.
        expect(Math.max(...measured(r, z, 1e-3).rows), name).to.be.below(1e-15);
      }
      // Between the first points of the shorter line: differences grow 8 times, their squares 64 times, more than the 16 of noise.
      expect(Math.max(...measured(Math.abs, new Float64Array(20).fill(-5e-4), 1e-3).rows)).to.be.below(1e-15);
    });

    it('is not a jump before the first point', () => {
      // One third difference alone is large there: the middle one of three is as small as the least two.
      const jump = (x: number): number => (x === 0 ? 0 : 1);
      expect(Math.max(...measured(jump, new Float64Array(20), 1e-3).rows)).to.equal(0);
    });
  });
});
