/** A fit says so where its steps are too long for its data: by the midpoint rule's own frequency, tan(ωh/2) = ω'h/2. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {adaptive, gaussLegendre, implicitMidpoint, mechanics, simulate} from '../../../lib/index.js';
import {identify, lbfgs, levenbergMarquardt, positive, type Identification} from '../../../training/index.js';
import {autoregressive} from '../../../training/identify/noise.js';
import {slow} from '../../tiers.js';

const [k, h] = [40, 0.05];
const system = mechanics<{k: tf.Tensor}>({mass: 1, forces: ({q, params}) => tf.neg(tf.mul(params.k, q))});
const t = Float64Array.from({length: 201}, (_, i) => i * h);
const noise = t.map((_, i) => 0.2 * Math.sin(12.9898 * i * i));
const swing = t.map(time => Math.cos(Math.sqrt(k) * time));
const q = swing.map((x, i) => x + noise[i]);
const shared = {
  system,
  initial: {q: 1, v: 0},
  data: {t, q},
  parameters: {k: positive(39)},
  scheme: implicitMidpoint(),
  dt: h,
  residuals: 'independent',
} as const;
/** By how many standard errors half the step would move k, as the warning tells. */
const told = ({warnings}: Pick<Identification, 'warnings'>): number =>
  Number(/would move by up to (\S+) standard errors \(k\)/.exec(warnings.join())?.[1]);
/** The stiffness of which the midpoint rule makes the motion of k. */
const apparent = (dt: number): number => ((2 / dt) * Math.tan((Math.sqrt(k) * dt) / 2)) ** 2;

describe('the error of the steps', () => {
  it('is told with its size: what half the step would change', async () => {
    const coarse = await identify(shared);
    expect(coarse.estimate.k).to.be.closeTo(apparent(h), 4 * coarse.standardError.k);
    const moved = (apparent(h) - apparent(h / 2)) / coarse.standardError.k;
    expect(moved).to.be.within(3, 50);
    expect(told(coarse) / moved).to.be.closeTo(1, 0.1);
    expect(coarse.warnings[0]).to.match(/half of dt = 0\.05 .* Take a smaller dt/);
    const fine = await identify({...shared, dt: h / 2});
    expect(Math.abs(fine.estimate.k - coarse.estimate.k) / coarse.standardError.k / moved).to.be.closeTo(1, 0.1);
    expect(told(await identify({...shared, noise: autoregressive()})) / moved).to.be.within(0.5, 2);
  });

  slow(
    'is not told where it is smaller, a tolerance chooses the steps, or the record is that of such steps',
    async () => {
      expect((await identify({...shared, scheme: gaussLegendre({stages: 2})})).warnings).to.deep.equal([]);
      expect((await identify({...shared, control: adaptive({rtol: 1e-3})})).warnings).to.deep.equal([]);
      const same = t.map(time => Math.cos((2 / h) * Math.atan((Math.sqrt(k) * h) / 2) * time));
      const exact = await identify({...shared, data: {t, q: same}});
      expect(exact.estimate.k).to.be.closeTo(k, 1e-9);
      expect(exact.warnings).to.deep.equal([]);
    },
  );

  it('is told of data without noise, to whatever digit they agree with the steps', async () => {
    // The motion of k itself, with eight digits; as the record of an instrument that the warning took for a simulation it was silent.
    const eight = swing.map((x, i) => x + 1e-8 * Math.sin(12.9898 * i * i));
    const formula = await identify({...shared, data: {t, q: eight}});
    // Off by twenty thousandths, and told: the standard error is that of the eighth digit.
    expect(formula.estimate.k).to.be.closeTo(apparent(h), 1e-6);
    expect(formula.standardError.k).to.be.below(1e-6);
    expect(formula.warnings.join()).to.match(/would move by over 100 standard errors \(k\).* if by these very steps/);
  });

  slow('is not reported for data of the same steps, in single precision, or where the fit ends early', async () => {
    const pendulum = mechanics<{k: tf.Tensor; c: tf.Tensor}>({
      mass: 1,
      forces: ({q, v, params: {k, c}}) => tf.neg(tf.add(tf.mul(k, tf.sin(q)), tf.mul(c, v))),
    });
    const swung = {system: pendulum, initial: {q: 2, v: 0}, dt: h, parameters: {k: positive(38), c: positive(0.5)}};
    const made = (dt: number): Float64Array =>
      simulate(pendulum, swung.initial, {dt, saveAt: Array.from(t), t1: t[200], params: {k, c: 0.4}}).values('q');
    const own = made(h);
    for (const method of [levenbergMarquardt(), lbfgs()])
      for (const given of [own, own.map(Math.fround)]) {
        const fit = await identify({...swung, data: {t, q: given}, method});
        expect(fit.estimate.k).to.be.closeTo(k, 1e-4);
        expect(fit.warnings, method.name).to.deep.equal([]);
      }
    // The same of steps that are fifty times as fine are another matter, in single precision too.
    for (const given of [made(h / 50), made(h / 50).map(Math.fround)])
      expect((await identify({...swung, data: {t, q: given}})).warnings.join()).to.match(/Take a smaller dt/);
  });
});
