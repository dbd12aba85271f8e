/**
 * Noise that was rounded to a converter's steps: its density against quadrature, its estimates and their errors against
 * Fisher's information.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, OptionError, rk4} from '../../../lib/index.js';
import {gaussian} from '../../../training/data/noise.js';
import {bootstrap} from '../../../training/estimate/bootstrap.js';
import {checkRecords, Fit} from '../../../training/identify/fit.js';
import {identify} from '../../../training/identify/identify.js';
import {lbfgs} from '../../../training/identify/lbfgs.js';
import {quantized, white} from '../../../training/identify/noise.js';
import {ResidualObjective} from '../../../training/identify/objective.js';
import {free} from '../../../training/identify/parameters.js';
import {likelihoodProfile} from '../../../training/estimate/profile.js';
import {millsRatio, roundedGround, roundedLoss} from '../../../training/identify/rounded-normal.js';
import {slow} from '../../tiers.js';

/** ∫ φ √(2π) over [l, u] in units of exp(−m²/2), by Simpson's rule. */
function mass(l: number, u: number, m: number): number {
  const n = 20_000;
  // Beyond, nothing is left.
  const h = (Math.min(u, m + 40 / Math.max(1, m)) - l) / n;
  let sum = 0;
  for (let i = 0; i <= n; i++) {
    const x = l + i * h;
    sum += (i === 0 || i === n ? 1 : i % 2 === 1 ? 4 : 2) * Math.exp((m * m - x * x) / 2);
  }
  return (sum * h) / 3;
}
const normal = (x: number): number => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);

describe('noise that was rounded', () => {
  it("Mills' ratio, from tables and its asymptotes", () => {
    // Q(1) and Q(3) by Abramowitz & Stegun, table 26.1; 1/x − 1/x³ + 3/x⁵ … far off
    expect(millsRatio(0)).to.be.closeTo(Math.sqrt(Math.PI / 2), 1e-15);
    expect(millsRatio(1) * normal(1)).to.be.closeTo(0.158655253931457, 1e-15);
    expect(millsRatio(3) * normal(3)).to.be.closeTo(1.349898031630095e-3, 1e-17);
    expect(millsRatio(2 - 1e-9)).to.be.closeTo(millsRatio(2 + 1e-9), 1e-9);
    expect(millsRatio(100)).to.be.closeTo(1e-2 - 1e-6 + 3e-10 - 15e-14 + 105e-18, 1e-17);
  });

  it('has the probability of its step, with its derivatives by the residual and by the scale', () => {
    for (const a of [0.01, 0.3, 1, 4]) {
      for (const z of [-7, -1.3, -0.2, 0, 0.7, 3.9, 4.1, 12, 35]) {
        const [l, u] = [Math.abs(z) - a, Math.abs(z) + a];
        const m = Math.max(l, 0);
        const {rho, psi, slope, tension} = roundedLoss(z, a);
        const expected = -Math.log(mass(l, u, m) / mass(-a, a, 0)) + (m * m) / 2;
        expect(rho, `ρ at ${z}, ${a}`).to.be.closeTo(expected, 1e-11 * Math.max(1, expected));
        const h = 1e-3 * Math.min(1, a);
        const at = (x: number): number => roundedLoss(x, a).rho;
        const difference = (8 * (at(z + h) - at(z - h)) - (at(z + 2 * h) - at(z - 2 * h))) / (12 * h);
        expect(psi, `ψ at ${z}, ${a}`).to.be.closeTo(difference, 1e-7 * Math.max(1, Math.abs(z)));
        const bend =
          (8 * (roundedLoss(z + h, a).psi - roundedLoss(z - h, a).psi)
            - (roundedLoss(z + 2 * h, a).psi - roundedLoss(z - 2 * h, a).psi))
          / (12 * h);
        expect(slope, `ψ′ at ${z}, ${a}`).to.be.closeTo(bend, 1e-7 * Math.max(1, Math.abs(slope)));
        // ln s from 0: z and a fall by its factor.
        const scaled = (e: number): number => {
          const [w, b] = [z * Math.exp(-e), a * Math.exp(-e)];
          return roundedLoss(w, b).rho + roundedGround(b) + e;
        };
        const k = 1e-4;
        const byScale = (8 * (scaled(k) - scaled(-k)) - (scaled(2 * k) - scaled(-2 * k))) / (12 * k);
        expect(1 - tension, `tension at ${z}, ${a}`).to.be.closeTo(byScale, 1e-7 * Math.max(1, z * z));
      }
    }
    const {rho, psi, slope, tension} = roundedLoss(1.7, 1e-9);
    expect([rho, psi, slope, tension]).to.deep.equal([1.7 ** 2 / 2, 1.7, 1, 1.7 ** 2]);
  });

  /** A level of 0.3 steps with noise of a quarter of a step, read by rounding. */
  const [level, sd, samples] = [0.3, 0.25, 2000];
  const still = ode(({y}) => tf.zerosLike(y));
  const t = Float64Array.from({length: samples}, (_, i) => i);
  const next = gaussian(11);
  const y = t.map(() => Math.round(level + sd * next()));
  const base = {
    system: still,
    scheme: rk4(),
    dt: 1,
    data: {t, y},
    parameters: {'initial.y': free(0.45)},
    residuals: 'independent',
  } as const;

  slow('is fitted without the bias that rounding has, with errors from Fisher’s information', async () => {
    const fit = await identify({...base, noise: quantized({step: 1})});
    const cdf = (x: number): number => (x < 0 ? millsRatio(-x) * normal(x) : 1 - millsRatio(x) * normal(x));
    const ks = [-3, -2, -1, 0, 1, 2, 3, 4];
    const cellsOf = (at: number, width: number) =>
      ks.map(k => {
        const [l, u] = [(k - 0.5 - at) / width, (k + 0.5 - at) / width];
        const byLevel = (normal(l) - normal(u)) / width;
        return {k, p: cdf(u) - cdf(l), byLevel, byScale: l * normal(l) - u * normal(u)};
      });
    const cells = cellsOf(level, sd);
    const mean = cells.reduce((sum, {k, p}) => sum + k * p, 0);
    const information = (a: 'byLevel' | 'byScale', b: 'byLevel' | 'byScale', of = cells): number =>
      of.reduce((sum, cell) => sum + (cell.p > 1e-300 ? (cell[a] * cell[b]) / cell.p : 0), 0) * samples;
    const error = fit.standardError['initial.y'];
    // The scale was found too, and is taken as it was found.
    const found = cellsOf(fit.estimate['initial.y'], fit.noise.sd);
    expect(error * Math.sqrt(information('byLevel', 'byLevel', found))).to.be.closeTo(1, 0.02);
    const known = 1 / Math.sqrt(information('byLevel', 'byLevel'));
    const both =
      information('byLevel', 'byLevel') - information('byLevel', 'byScale') ** 2 / information('byScale', 'byScale');
    expect(Math.abs(fit.estimate['initial.y'] - level) * Math.sqrt(both)).to.be.below(3);
    expect(fit.noise.sd).to.be.within(0.15, 0.35);
    const plain = await identify({...base, noise: white()});
    // White noise finds the mean of what was rounded, 0.09 below the level: ten of its standard errors.
    expect(plain.estimate['initial.y']).to.be.closeTo(mean, 4 * plain.standardError['initial.y']);
    expect(Math.abs(plain.estimate['initial.y'] - level)).to.be.above(5 * plain.standardError['initial.y']);
    const held = await identify({...base, noise: quantized({step: 1, sd})});
    expect(held.standardError['initial.y']).to.be.closeTo(known, 0.05 * known);
    expect(Math.abs(held.estimate['initial.y'] - level)).to.be.below(3 * known);
    const other = await identify({...base, noise: quantized({step: 1, sd}), method: lbfgs()});
    expect(other.estimate['initial.y']).to.be.closeTo(held.estimate['initial.y'], 1e-6);
    for (const one of [fit, plain, held, other]) one.trajectory.dispose();
  });

  /** Two levels, one next to the border of a step and one in the middle of it. */
  const two = (seed: number, spread: number) => {
    const draw = gaussian(seed);
    const levels = [0.45, 0.05];
    return {
      levels,
      problem: {
        ...base,
        initial: {y: [0, 0]},
        data: {
          t: t.slice(0, 150),
          y: Array.from({length: 150}, () => levels.map(x => Math.round(x + spread * draw()))),
        },
        parameters: {'initial.y': free([0.4, 0.1])},
        noise: quantized({step: 1, sd: spread}),
      },
    };
  };
  const cdfOf = (x: number): number => (x < 0 ? millsRatio(-x) * normal(x) : 1 - millsRatio(x) * normal(x));
  /** −ln of the likelihood of readings, by a level. */
  const cost = (readings: readonly number[], x: number, spread: number): number =>
    readings.reduce((sum, k) => sum - Math.log(cdfOf((k + 0.5 - x) / spread) - cdfOf((k - 0.5 - x) / spread)), 0);

  slow(
    'tells of each level as much as its readings do: more near the border of a step than in its middle',
    async () => {
      const spread = 0.25;
      const {problem} = two(5, spread);
      const fit = await identify(problem);
      fit.trajectory.dispose();
      const [found, errors] = [fit.estimate, fit.standardError].map(of => of['initial.y'] as unknown as Float64Array);
      for (const i of [0, 1]) {
        const readings = problem.data.y.map(row => row[i]);
        const h = 1e-3;
        const [below, here, above] = [-h, 0, h].map(d => cost(readings, found[i] + d, spread));
        expect((above - below) / (2 * h)).to.be.closeTo(0, 1e-2);
        expect(errors[i]).to.be.closeTo(1 / Math.sqrt((above - 2 * here + below) / h ** 2), 1e-3 * errors[i]);
      }
      // One average of both was 0.037 for each.
      expect(errors[1] / errors[0]).to.be.above(1.3);
      const profile = await likelihoodProfile(fit, 'initial.y[1]', {points: 3, reach: 2});
      const readings = problem.data.y.map(row => row[1]);
      profile.values.forEach((value, k) => {
        const deviance = 2 * (cost(readings, value, spread) - cost(readings, found[1], spread));
        expect(profile.deviance[k]).to.be.closeTo(deviance, 1e-4 * Math.max(deviance, 1));
      });
    },
  );

  slow('is drawn anew as it is read, in steps: the spread of refits is that of refits to new records', async () => {
    const spread = 0.25;
    const {problem, levels} = two(7, spread);
    const fit = await identify({...problem, parameters: {'initial.y': free(levels)}});
    fit.trajectory.dispose();
    const drawn = await bootstrap(fit, {replicates: 150});
    const many: number[][] = [];
    for (let seed = 100; seed < 250; seed++) {
      const one = await identify(two(seed, spread).problem);
      one.trajectory.dispose();
      many.push([...(one.estimate['initial.y'] as unknown as Float64Array)]);
    }
    for (const i of [0, 1]) {
      const mean = many.reduce((sum, one) => sum + one[i], 0) / many.length;
      const sd = Math.sqrt(many.reduce((sum, one) => sum + (one[i] - mean) ** 2, 0) / (many.length - 1));
      // Two deviations of 150 each: ±0.08 of their ratio. Without steps it was 0.75.
      expect(drawn.sd[`initial.y[${i}]`] / sd).to.be.within(0.8, 1.25);
    }
  });

  it('has a likelihood whose derivatives are its own, by the parameter and by the scale', () => {
    const weights = {y: t.map((_, i) => (i % 7 === 0 ? 0 : 1))};
    const problem = {...base, data: {t, y, weights}};
    const objective = new ResidualObjective(
      new Fit(problem, checkRecords(problem, problem.data)),
      quantized({step: 1}),
    );
    const at = (x: number, s: number): number =>
      objective.logLikelihood(Float64Array.of(x), {sd: s, partial: []}).value;
    const {gradient, byLogScale} = objective.logLikelihood(Float64Array.of(0.4), {sd: 0.3, partial: []});
    const h = 1e-4;
    expect(gradient[0]).to.be.closeTo((at(0.4 + h, 0.3) - at(0.4 - h, 0.3)) / (2 * h), 1e-4 * Math.abs(gradient[0]));
    const moved = (at(0.4, 0.3 * Math.exp(h)) - at(0.4, 0.3 * Math.exp(-h))) / (2 * h);
    expect(byLogScale).to.be.closeTo(moved, 1e-4 * Math.abs(byLogScale));
  });

  it('refuses no step', () => {
    expect(() => quantized({step: 0})).to.throw(OptionError, /step/);
    expect(() => quantized({step: 1, order: 2} as never)).to.throw(OptionError, /order/);
  });
});
