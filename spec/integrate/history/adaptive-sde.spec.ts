/**
 * Adaptive steps of stochastic equations: errors on a path against tolerances, with closed forms on the same path; one path whatever
 * the steps, met again by gradients; and refused steps, whose ends are met by later ones.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme, Trajectory, OdeSystem} from '../../../lib/index.js';
import type {Calculus} from '../../../lib/system/equations.js';
import {adaptive, batch, forwardSensitivity, OptionError, sde, simulate, stochastic} from '../../../lib/index.js';
import {AdaptiveController} from '../../../lib/integrate/history/step-size-controller.js';
import {slow} from '../../tiers.js';

interface Seeded {
  seed: tf.Tensor;
  sigma: tf.Tensor;
}

const [mu, sigma] = [0.5, 0.8];
const geometric = (calculus: Calculus) =>
  sde<Seeded>({
    drift: ({y}) => tf.mul(mu, y),
    diffusion: ({y, params}) => tf.mul(params.sigma, y),
    calculus,
    seed: ({seed}) => seed,
  });

/** y exp((μ − σ²/2) t + σ W(t)), in the sense of Stratonovich without −σ²/2. */
const solution = (calculus: Calculus, seed: number, t = 1): number =>
  Math.exp((calculus === 'ito' ? mu - sigma ** 2 / 2 : mu) * t + sigma * stochastic.brownianPath(seed).at(t)[0]);

/** The root of the mean square error at the end of 100 paths, and the mean number of steps. */
function errorOf(scheme: Scheme, calculus: Calculus, rtol: number): {error: number; steps: number} {
  const model = simulate.prepare(
    geometric(calculus),
    {y: 1},
    {
      scheme,
      dt: 0.01,
      t1: 1,
      saveAt: 'end',
      control: adaptive({rtol, atol: rtol / 10}),
      params: {seed: 0, sigma},
    },
  );
  let [sum, steps] = [0, 0];
  for (let seed = 1; seed <= 100; seed++) {
    const run = model.run({params: {seed, sigma}});
    run.dispose();
    sum += (run.values('y')[1] - solution(calculus, seed)) ** 2;
    steps += run.stats.steps / 100;
  }
  return {error: Math.sqrt(sum / 100), steps};
}

describe('simulate: sde with adaptive steps', () => {
  describe('errors on the path fall with the tolerance', () => {
    // Errors of steps are as h^1.5, so that h is as the 2/3rd power of the tolerance, and so is the error of a run. The mean of 100
    // paths leaves a tenth of an order, and more where few steps are taken.
    const rows: [Scheme, Calculus, number, number][] = [
      [stochastic.milstein(), 'ito', 0.5, 0.8],
      [stochastic.heun(), 'stratonovich', 0.4, 0.8],
      // Steps that follow the path leave it less than the order 1.5 that it has with constant ones.
      [stochastic.sri1(), 'ito', 0.4, 0.8],
    ];
    for (const [scheme, calculus, low, high] of rows)
      slow(scheme.name, () => {
        const [coarse, fine] = [1e-2, 1e-4].map(rtol => errorOf(scheme, calculus, rtol));
        expect(Math.log10(coarse.error / fine.error) / 2).within(low, high);
        expect(fine.steps).above(3 * coarse.steps);
      });
  });

  it('an Ornstein–Uhlenbeck process is that of its path, at all times that are asked for', () => {
    const drive = 0.7;
    const process = sde({drift: ({y}) => tf.neg(y), diffusion: () => tf.scalar(drive), noise: 'additive', seed: 5});
    const saveAt = [0.1, 0.37, 1, 1.61, 2];
    const run = simulate(
      process,
      {y: 1},
      {scheme: stochastic.sra1(), dt: 0.1, t1: 2, saveAt, control: adaptive({rtol: 1e-4, atol: 1e-4})},
    );
    const path = stochastic.brownianPath(5);
    // e⁻ᵗ + σ (W(t) − ∫ e^(s−t) W(s) ds), the integral by the trapezoidal rule on 2¹² intervals.
    const n = 4096;
    saveAt.forEach((t, i) => {
      let integral = path.at(t)[0] / 2;
      for (let k = 1; k < n; k++) integral += Math.exp((k / n - 1) * t) * path.at((k * t) / n)[0];
      const exact = Math.exp(-t) + drive * (path.at(t)[0] - (integral * t) / n);
      expect(run.values('y')[i], `t = ${t}`).closeTo(exact, 1e-3);
    });
    expect(run.stats.rejectedSteps).above(0);
  });

  it('long steps where little happens: a fall from 30 into a double well', () => {
    const well = sde({
      drift: ({y}) => tf.sub(y, tf.pow(y, 3)),
      diffusion: () => tf.scalar(0.3),
      noise: 'additive',
      seed: 3,
    });
    const common = {scheme: stochastic.sra1(), t1: 4, saveAt: 'end'} as const;
    const end = ({values}: Trajectory<OdeSystem>): number => values('y')[1];
    const exact = end(simulate(well, {y: 30}, {...common, dt: 1 / 16384}));
    const run = simulate(well, {y: 30}, {...common, dt: 1e-3, control: adaptive({rtol: 1e-4, atol: 1e-4})});
    expect(end(run)).closeTo(exact, 2e-3);
    const taken = run.stats.steps + run.stats.rejectedSteps;
    // At the start steps of more than 2/2700 are not stable.
    expect(taken).below(1000);
    expect(() => simulate(well, {y: 30}, {...common, dt: 4 / 1000})).to.throw();
  });

  it('gradients meet the same steps and the same path', () => {
    const options = {
      scheme: stochastic.milstein(),
      dt: 0.01,
      t1: 1,
      saveAt: 'end',
      control: adaptive({rtol: 1e-5, atol: 1e-6}),
      params: {seed: 4, sigma},
    } as const;
    const {trajectory, pullback} = simulate.vjp(geometric('ito'), {y: 1}, options);
    expect(trajectory.stats.rejectedSteps).above(0);
    const byAdjoint = pullback({y: [0, 1]}).params.sigma[0];
    const sensitivity = simulate.vjp(geometric('ito'), {y: 1}, {...options, adjoint: forwardSensitivity()});
    expect(sensitivity.pullback({y: [0, 1]}).params.sigma[0]).closeTo(byAdjoint, 1e-10);
    // The derivative of the solution on this path, (W − σ) y, as far as the run itself is exact: 3e-3.
    const exact = (stochastic.brownianPath(4).at(1)[0] - sigma) * solution('ito', 4);
    expect(byAdjoint).closeTo(exact, 0.02);
  });

  it('a run goes on from where it stood, refused steps in mind', () => {
    const options = {
      scheme: stochastic.milstein(),
      dt: 0.01,
      saveAt: 'end',
      control: adaptive({rtol: 1e-4, atol: 1e-5}),
      params: {seed: 4, sigma},
    } as const;
    const whole = simulate(geometric('ito'), {y: 1}, {...options, steps: 120});
    let seen = 0;
    for (const steps of [20, 41, 63, 80]) {
      const half = simulate(geometric('ito'), {y: 1}, {...options, steps});
      const state = JSON.parse(JSON.stringify(half.state())) as ReturnType<typeof half.state>;
      seen += state.pace?.refused?.length ?? 0;
      const rest = simulate(geometric('ito'), state as never, {...options, steps: 120 - steps});
      expect(rest.values('t')[1]).equal(whole.values('t')[1]);
      expect(rest.values('y')[1]).equal(whole.values('y')[1]);
    }
    expect(seen).above(0);
  });

  it('members of a batch are single runs', () => {
    const options = {
      scheme: stochastic.milstein(),
      dt: 0.01,
      t1: 1,
      saveAt: [0.4, 1],
      control: adaptive({rtol: 1e-3}),
      params: {seed: 1, sigma},
    } as const;
    const members = batch.prepare(geometric('ito'), {y: 1}, options);
    const runs = members.run([1, 2].map(seed => ({params: {seed, sigma}})));
    [1, 2].forEach((seed, i) => {
      const own = simulate(geometric('ito'), {y: 1}, {...options, params: {seed, sigma}}).values('y');
      expect([...runs[i].values('y')]).eql([...own]);
    });
  });

  it('a refused step is halved, and its end is met, whatever was refused within it', () => {
    const pace = new AdaptiveController(adaptive(), 1.5, false, 0.4, 1, Infinity, new Float64Array(0), true);
    expect(pace.propose(0)).eql({h: 0.4, end: 0.4});
    pace.reject(0, 0.4, 50);
    expect(pace.propose(0)).eql({h: 0.2, end: 0.2});
    pace.reject(0, 0.2, 50);
    expect(pace.propose(0)).eql({h: 0.1, end: 0.1});
    // Steps may be as long as they like now, but for the ends that were seen.
    const ends: number[] = [];
    for (let t = 0; t < 1;) {
      const {h, end} = pace.propose(t)!;
      pace.accept(h, 1e-9);
      ends.push((t = end));
    }
    expect(ends.slice(0, 3)).eql([0.1, 0.2, 0.4]);
    expect(ends.at(-1)).equal(1);
  });

  it('refuses schemes below first order where noise depends on y, and steps finer than the path', () => {
    const options = {dt: 0.01, t1: 1, control: adaptive({rtol: 1e-2}), params: {seed: 1, sigma}} as const;
    expect(() => simulate(geometric('ito'), {y: 1}, {...options, scheme: stochastic.eulerMaruyama()})).to.throw(
      OptionError,
      'strong order 1 or more',
    );
    const pace = new AdaptiveController(adaptive(), 1.5, false, 1e-9, 200, Infinity, new Float64Array(0), true);
    expect(pace.propose(100)).equal(undefined);
    expect(pace.propose(10)?.h).closeTo(1e-9, 2e-15);
  });
});
