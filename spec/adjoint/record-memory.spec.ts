/** Runs that pass the memory of their records on: what a gradient gives is the same, however often and in whatever order it is asked for. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {StepRecord} from '../../lib/adjoint/record.js';
import {implicitMidpoint, mechanics, simulate, unrolledAdjoint} from '../../lib/index.js';

const system = mechanics({mass: 1, forces: ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, tf.sinh(q)))});
const options = {scheme: implicitMidpoint(), dt: 0.05, steps: 60, params: {k: 2}} as const;
const cotangents = (steps: number, share: number): Float64Array =>
  Float64Array.from({length: steps + 1}, (_, i) => share * Math.cos(i));

describe('the memory of records', () => {
  for (const adjoint of [undefined, unrolledAdjoint()]) {
    it(`serves the next run; a second gradient is the same to the bit (${adjoint?.name ?? 'implicitAdjoint'})`, () => {
      const prepared = simulate.prepare(system, {q: 1, v: 0}, {...options, adjoint});
      const first = prepared.vjp();
      const once = first.pullback({q: cotangents(60, 1)});
      const others = [1.5, 2.5, 3.5].map(k => prepared.vjp({params: {k}}));
      const early = others.map(({pullback}) => pullback({q: cotangents(60, 1)}).params.k);
      const late = others.map(({pullback}) => pullback({q: cotangents(60, 1)}).params.k);
      expect(late).to.deep.equal(early);
      expect(first.pullback({q: cotangents(60, 1)})).to.deep.equal(once);
      // Linear in the cotangent, whichever record it came from.
      const [doubled] = first.pullback({q: cotangents(60, 2)}).params.k as Float64Array;
      expect(doubled).to.equal(2 * (once.params.k as Float64Array)[0]);
      [first, ...others].forEach(({trajectory}) => trajectory.dispose());
    });
  }

  it('is taken by a record of like size alone, and its former owner knows', () => {
    const filled = (steps: number): StepRecord => {
      const record = new StepRecord(2, 1, steps);
      for (let k = 0; k < steps; k++) record.append(k, 1, Float64Array.of(k, -k), Float64Array.of(k));
      return record;
    };
    const first = filled(1000);
    first.release();
    filled(100);
    expect(first.isLost).to.equal(false);
    const second = filled(900);
    expect(first.isLost).to.equal(true);
    second.release();
    first.release(); // has nothing to give
    expect(second.isLost).to.equal(false);
    filled(1200);
    expect(second.isLost).to.equal(false);
    filled(900);
    expect(second.isLost).to.equal(true);
  });

  it('gives every record its own rows, with views of them or without', () => {
    const row = (k: number, size: number, of: number): number[] =>
      Array.from({length: size}, (_, i) => of + Math.sin(k * size + i));
    /** A record of rows with numbers of its own, each shown twice. */
    const shown = (size: number, expected: number, steps: number, of: number): StepRecord => {
      const record = new StepRecord(size, 1, expected);
      for (let k = 0; k < steps; k++) record.append(k, 0.1, Float64Array.from(row(k, size, of)), Float64Array.of(-k));
      const [t, x, z] = [new Float64Array(1), new Float64Array(size), new Float64Array(1)];
      const wrong = [...Array(steps).keys(), ...Array(steps).keys()].reverse().filter(k => {
        record.load(k, {t, x, z});
        return t[0] !== k || z[0] !== -k || row(k, size, of).some((value, i) => value !== x[i]);
      });
      expect(wrong).to.deep.equal([]);
      return record;
    };
    // As long rows, in the same memory; longer ones, shorter ones; more steps than were expected; more than there are views.
    const sizes = [
      [40, 100, 100],
      [40, 100, 100],
      [40, 90, 90],
      [60, 60, 60],
      [8, 250, 250],
      [40, 80, 300],
      [40, 150, 300],
      [17, 5000, 5000],
      [17, 5000, 5000],
    ] as const;
    const records = sizes.map(([size, expected, steps], i) => {
      const record = shown(size, expected, steps, 10 * i);
      record.release();
      return record;
    });
    expect(records.map(({isLost}) => isLost)).to.deep.equal([true, true, true, true, true, false, false, true, false]);
  });
});
