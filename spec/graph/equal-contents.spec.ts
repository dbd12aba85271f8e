/** Programs that differ in the contents of large or structured constants alone: each run has its own numbers. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {explicitEuler, gaussLegendre, kvaerno5, ode, radauIIA5, sdirk2, simulate} from '../../lib/index.js';
import {constantTensor} from '../../lib/trace/trace.js';
import type {Scheme} from '../../lib/index.js';
import {slow} from '../tiers.js';

describe('equality by contents', () => {
  it('keeps two masks of one long array apart', () => {
    const n = 16384;
    const mask = (k: number): Float64Array => new Float64Array(n).fill(1, (k * n) / 4, ((k + 1) * n) / 4);
    const system = ode(({y}) =>
      tf.add(tf.mul(0, y), tf.sub(constantTensor(mask(0), [n]), constantTensor(mask(1), [n]))),
    );
    const end = simulate(system, {y: new Float64Array(n)}, {scheme: explicitEuler(), dt: 1, steps: 1, saveAt: 'end'})
      .values('y')
      .slice(n);
    // y = 0 + 1·(m₀ − m₁).
    expect(end).to.deep.equal(Float64Array.from({length: n}, (_, i) => (i < n / 4 ? 1 : i < n / 2 ? -1 : 0)));
  });

  it('gives the second of two systems its own signs', () => {
    const n = 26;
    const [a, b] = ['++++++++++--++++++-+++-+++', '+---+-++-+--+-----+-+++-++'].map(signs =>
      Float64Array.from(signs, sign => (sign === '+' ? 0.25 : -0.25)),
    );
    for (const w of [a, b]) {
      const system = ode(({y}) => tf.mul(tf.square(y), constantTensor(w, [n])));
      const y = simulate(
        system,
        {y: new Float64Array(n).fill(1)},
        {scheme: explicitEuler(), dt: 0.5, steps: 1, saveAt: 'end'},
      )
        .values('y')
        .slice(n);
      // 1 + h w, exact in binary.
      expect(y).to.deep.equal(w.map(value => 1 + 0.5 * value));
    }
  });

  /** The signs and places of a coloured Jacobian's seeds are what batches of one network differ in. */
  function batchError(scheme: Scheme, rows: number): number {
    const wave = (count: number, phase: number): Float64Array =>
      Float64Array.from({length: count}, (_, i) => Math.sin(1.7 * i + phase));
    const [w1, w2] = [
      tf.tensor2d(Array.from(wave(32, 0)), [2, 16]),
      tf.tensor2d(
        Array.from(wave(32, 1), x => 0.3 * x),
        [16, 2],
      ),
    ];
    const system = ode(({y}) => tf.matMul(tf.tanh(tf.matMul(y, w1)), w2));
    const options = {scheme, dt: 0.1, steps: 1, saveAt: 'end'} as const;
    const start = Array.from({length: rows}, (_, i) => [Math.cos(i), Math.sin(3 * i)]);
    const all = simulate(system, {y: start}, options)
      .values('y')
      .slice(2 * rows);
    let error = 0;
    for (const i of [0, 1, rows >> 1, rows - 1]) {
      const alone = simulate(system, {y: [start[i]]}, options)
        .values('y')
        .slice(2);
      for (const k of [0, 1]) error = Math.max(error, Math.abs(all[2 * i + k] - alone[k]));
    }
    tf.dispose([w1, w2]);
    return error;
  }

  // Each member alone is the same system; Newton's tolerance is below 1e-9 of numbers of unit size.
  const tolerance = 1e-9;

  for (const [name, scheme] of Object.entries({
    radauIIA5: radauIIA5(),
    gaussLegendre: gaussLegendre(),
    sdirk2: sdirk2(),
  })) {
    it(`solves a network's batch of 512 under ${name} as its members`, () => {
      expect(batchError(scheme, 512)).to.be.at.most(tolerance);
    });
  }

  for (const rows of [256, 512, 768, 1024]) {
    slow(`solves a network's batch of ${rows} under kvaerno5 as its members`, () => {
      expect(batchError(kvaerno5(), rows)).to.be.at.most(tolerance);
    });
  }
});
