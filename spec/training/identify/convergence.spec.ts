/** A fit that has not converged says so: steps made small by damping, coordinates that run off, data that tell too little. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {mechanics, ode, simulate} from '../../../lib/index.js';
import type {Params} from '../../../lib/index.js';
import {doublePendulum} from '../../../models/index.js';
import type {Identification, IdentificationProblem, LeastSquaresProblem} from '../../../training/index.js';
import {bounded, fixed, free, identify, lbfgs, levenbergMarquardt, positive, reports} from '../../../training/index.js';
import {offsetOf} from '../../../training/identify/convergence.js';
import {RowQr} from '../../../training/identify/row-qr.js';
import {gaussian} from '../../../training/data/noise.js';
import {slow} from '../../tiers.js';

const named = (name: string) => (params: Params) => params[name] as tf.Tensor;
const times = (samples: number, dt: number): Float64Array => Float64Array.from({length: samples}, (_, i) => i * dt);

async function found(problem: IdentificationProblem): Promise<Identification> {
  const identification = await identify(problem);
  for (const trajectory of identification.trajectories) trajectory.dispose();
  return identification;
}

describe('convergence is judged at the end', () => {
  it('the offset is the same in all coordinates, and what least squares of a line give by hand', () => {
    // r = (1, 2, 4), J = (1, 1, 1)ᵀ: Q₁ᵀr = 7/√3, ‖r‖² = 21, so the offset is √(49/3) / √((21 − 49/3)/2).
    const residuals = Float64Array.of(1, 2, 4);
    const expected = Math.sqrt(49 / 3 / ((21 - 49 / 3) / 2));
    for (const unit of [1, 1e-100, 1e8]) {
      const {offset, step} = offsetOf(
        new RowQr(1).append(new Float64Array(3).fill(unit), residuals),
        residuals,
        Float64Array.of(2 / unit),
      );
      expect(offset).to.be.closeTo(expected, 1e-12 * expected);
      expect(step).to.be.closeTo(7 / 3 / 2, 1e-12); // δ = −7/3, x = 2
    }
  });

  it('a step that rejections have shrunk is no minimum', () => {
    // The slope of what is fitted is right at every x, but holds only over 1e-13: no step that is tried lowers the cost.
    const comb: LeastSquaresProblem = {
      linearize: ([x]) => ({
        residuals: Float64Array.of(3 + Math.sin(1e13 * (x - 1)) + (x === 1 ? 0 : 5), 2, 1),
        jacobian: Float64Array.of(1e13 * Math.cos(1e13 * (x - 1)), 0, 0),
      }),
    };
    const {status, converged, message, x} = levenbergMarquardt().minimize(comb, [1]);
    expect(x[0]).to.equal(1);
    expect(status).to.equal('no-progress');
    expect(converged).to.equal(false);
    expect(message).to.match(/did not lower the cost, though its gradient is not zero/);
  });

  slow('a double pendulum that a long simulation loses is told of, with what helps', async () => {
    const {mass, forces} = doublePendulum({lengths: named('l'), g: 98.1});
    const system = mechanics({mass, forces});
    const start = {q: [2.5, 2.5], v: [0, 0]};
    const path = simulate(system, start, {dt: 0.01, steps: 400, params: {l: [1, 1]}});
    const data = {
      t: path.values('t'),
      q: Array.from({length: 401}, (_, i) => Array.from(path.values('q').subarray(2 * i, 2 * i + 2))),
    };
    path.dispose();
    const {status, converged, message, warnings, estimate, r2} = await found({
      system,
      initial: start,
      data,
      dt: 0.01,
      parameters: {l: positive([0.7, 0.7])},
    });
    expect(Math.max(...Object.values(r2))).to.be.below(0);
    (estimate.l as Float64Array).forEach(l => expect(l).to.be.closeTo(0.7, 1e-4));
    expect(converged).to.equal(false);
    expect(status).to.equal('no-progress');
    expect(message).to.match(/shooting: multiple\(\{segments: 10\}\)/);
    expect(warnings.join('\n'))
      .to.match(/did not converge.*multiple/)
      .and.match(/farther from the data than their mean.*q\[0\]: R² = -/);
  });

  describe('a parameter that the data want below zero', () => {
    const decay = ode(({y, params}) => tf.mul(tf.neg(params.k as tf.Tensor), y));
    const noise = gaussian(2);
    const t = times(20, 0.1);
    const growing = {t, y: t.map(x => Math.exp(0.4 * x) + 0.01 * noise())};
    for (const [name, method] of [
      ['Levenberg–Marquardt', levenbergMarquardt()],
      ['L-BFGS', lbfgs()],
    ] as const) {
      it(`runs against zero, and ${name} says so`, async () => {
        const problem = {system: decay, initial: {y: 1}, data: growing, dt: 0.1, method};
        const {converged, status, warnings, estimate} = await found({...problem, parameters: {k: positive(1)}});
        expect(estimate.k).to.be.below(1e-8);
        expect(converged).to.equal(false);
        expect(status).to.equal('bound');
        expect(warnings.join('\n'))
          .to.match(/k converged to 0 .*free\(guess\)/)
          .and.match(/y: R² = -2/);
        const low = await found({...problem, parameters: {k: bounded(-0.3, 1, 0.5)}});
        expect(low.converged).to.equal(false);
        expect(low.warnings.join('\n')).to.match(/k is at its lower bound -0.3/);
        const sound = await found({...problem, parameters: {k: free(1)}});
        expect(sound.converged).to.equal(true);
        expect(sound.warnings).to.deep.equal([]);
        expect(sound.estimate.k).to.be.closeTo(-0.4, 0.01);
      });
    }
  });

  slow('more numbers than residuals are one sentence, with every error infinite', async () => {
    const powers = ode(({y, params}) =>
      tf.sum(
        tf.mul(params.w as tf.Tensor, tf.stack(Array.from({length: 100}, (_, i) => tf.pow(tf.add(y, 0.1), i % 7)))),
      ),
    );
    const t = times(20, 0.1);
    const {warnings, standardError} = await found({
      system: powers,
      initial: {y: 1},
      data: {t, y: t.map(x => Math.exp(-x))},
      dt: 0.1,
      parameters: {w: free(new Float64Array(100).fill(0.001))},
    });
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.match(
      /not more residuals that depend on the parameters \(19\) than numbers to estimate \(100\)/,
    );
    expect((standardError.w as Float64Array).every(error => error === Infinity)).to.equal(true);
  });

  it('many directions without influence are one sentence, with names', () => {
    const noise = gaussian(4);
    const m = 60;
    const columns = Float64Array.from({length: m * 12}, (_, i) => (i % 12 < 3 ? noise() : 0));
    for (let row = 0; row < m; row++) for (let j = 3; j < 12; j++) columns[row * 12 + j] = columns[row * 12 + (j % 3)];
    const y = Float64Array.from({length: m}, noise);
    const fit = levenbergMarquardt().minimize(
      {
        linearize: x => ({
          jacobian: columns,
          residuals: y.map((value, row) => x.reduce((sum, xj, j) => sum + columns[row * 12 + j] * xj, -value)),
        }),
      },
      new Float64Array(12),
    );
    const {warnings} = reports.uncertainty(fit);
    expect(fit.converged).to.equal(true);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.match(
      /In 9 independent directions the residuals do not change: 12 numbers .* x\[0\], x\[1\]/,
    );
  });

  it('no variance is negative and no correlation beyond 1, however nearly parameters are alike', () => {
    const noise = gaussian(6);
    const m = 400;
    for (const apart of [1e-4, 1e-6, 1e-8, 3e-9, 1e-9]) {
      const jacobian = Float64Array.from({length: m * 3}, noise);
      for (let row = 0; row < m; row++) jacobian[row * 3 + 1] = jacobian[row * 3] + apart * jacobian[row * 3 + 1];
      const residuals = Float64Array.from({length: m}, noise);
      const fit = {
        jacobian,
        residuals,
        cost: residuals.reduce((sum, r) => sum + (r * r) / 2, 0),
        factor: new RowQr(3).append(jacobian, residuals),
      };
      const {standardError, correlation} = reports.uncertainty(fit, {series: [{start: 0, samples: m, outputs: 1}]});
      expect([...standardError].every(error => error > 0)).to.equal(true);
      expect([...correlation].every(value => Math.abs(value) <= 1)).to.equal(true);
      expect(correlation[1]).to.be.closeTo(-1, 1e-3);
    }
  });

  it('fixed parameters alone are no fit to doubt', async () => {
    const decay = ode(({y, params}) => tf.mul(tf.neg(params.k as tf.Tensor), y));
    const t = times(5, 0.1);
    const {converged} = await found({
      system: decay,
      initial: {y: 1},
      data: {t, y: t.map(x => Math.exp(-x))},
      dt: 0.1,
      parameters: {k: fixed(1)},
    });
    expect(converged).to.equal(true);
  });
});
