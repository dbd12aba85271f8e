/** Runs that pass the memory of their records on: what a gradient gives is the same, however often and in whatever order it is asked for. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {StepRecord} from '../../lib/adjoint/record.js';
import {implicitMidpoint, mechanics, simulate, unrolledAdjoint} from '../../lib/index.js';

const system = mechanics({mass: 1, forces: ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, tf.sinh(q)))});
const options = {scheme: implicitMidpoint(), dt: 0.05, steps: 60, params: {k: 2}} as const;
const bars = (steps: number, share: number): Float64Array => Float64Array.from({length: steps + 1}, (_, i) => share * Math.cos(i));

describe('the memory of records', () => {
  for (const adjoint of [undefined, unrolledAdjoint()]) {
    it(`serves the next run; a gradient asked for again is the same to the bit (${adjoint?.kind ?? 'implicit'})`, () => {
      const prepared = simulate.prepare(system, {q: 1, v: 0}, {...options, adjoint});
      const first = prepared.vjp();
      const once = first.pullback({q: bars(60, 1)});
      const others = [1.5, 2.5, 3.5].map(k => prepared.vjp({params: {k}}));
      const early = others.map(({pullback}) => pullback({q: bars(60, 1)}).params.k);
      const late = others.map(({pullback}) => pullback({q: bars(60, 1)}).params.k);
      expect(late).to.deep.equal(early);
      expect(first.pullback({q: bars(60, 1)})).to.deep.equal(once);
      // Linear in the cotangent, whichever record it came from.
      const [doubled] = first.pullback({q: bars(60, 2)}).params.k as Float64Array;
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
    first.offer();
    filled(100);
    expect(first.lost).to.equal(false);
    const second = filled(900);
    expect(first.lost).to.equal(true);
    second.offer();
    first.offer(); // has nothing to give
    expect(second.lost).to.equal(false);
    filled(1200);
    expect(second.lost).to.equal(false);
    filled(900);
    expect(second.lost).to.equal(true);
  });
});
