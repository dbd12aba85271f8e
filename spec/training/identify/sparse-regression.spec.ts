/** Sparse regression: Lorenz's equations from a run of them (Brunton, Proctor & Kutz 2016), and what is refused. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {DataError, ode, OptionError, rk4, ShapeError, simulate, stochastic} from '../../../lib/index.js';
import {gaussian} from '../../../training/data/noise.js';
import {type Columns, type SparseRegressionProblem} from '../../../training/index.js';
import {differences, polynomials, fit} from '../../../training/identify/sparse-regression.js';
import {slow} from '../../tiers.js';

const names = ['x', 'y', 'z'] as const;
type Lorenz = {[K in (typeof names)[number]]: Float64Array};

/** Lorenz's system with 10, 28 and 8/3, from (−8, 7, 27). */
function lorenz(dt: number, steps: number): {t: Float64Array; states: Lorenz; rates: Lorenz} {
  const system = ode(({y: state}) => {
    const [x, y, z] = tf.unstack(state);
    return tf.stack([
      tf.mul(10, tf.sub(y, x)),
      tf.sub(tf.mul(x, tf.sub(28, z)), y),
      tf.sub(tf.mul(x, y), tf.mul(8 / 3, z)),
    ]);
  });
  const run = simulate(system, {y: [-8, 7, 27]}, {scheme: rk4(), dt, steps});
  run.dispose();
  const values = run.values('y');
  const [x, y, z] = [0, 1, 2].map(k => values.filter((_, i) => i % 3 === k));
  return {
    t: run.values('t'),
    states: {x, y, z},
    rates: {
      x: x.map((_, i) => 10 * (y[i] - x[i])),
      y: x.map((value, i) => value * (28 - z[i]) - y[i]),
      z: x.map((value, i) => value * y[i] - (8 / 3) * z[i]),
    },
  };
}

const truth: {[name: string]: {[term: string]: number}} = {
  x: {x: -10, y: 10},
  y: {x: 28, y: -1, 'x z': -1},
  z: {z: -8 / 3, 'x y': 1},
};

function expectLorenz(found: ReturnType<typeof fit>, relative: number): void {
  for (const name of names) {
    const {coefficients} = found[name];
    expect(Object.keys(coefficients).sort(), name).to.deep.equal(Object.keys(truth[name]).sort());
    for (const [term, value] of Object.entries(truth[name]))
      expect(Math.abs(coefficients[term] / value - 1), `${name}: ${term}`).to.be.below(relative);
  }
}

describe('identify: sparse regression', () => {
  it('finds the same terms of columns of any magnitude', () => {
    const draw = gaussian(7);
    const [a, b] = [0, 1].map(() => Float64Array.from({length: 60}, draw));
    const target = a.map((value, i) => 3 * value + b[i] + 0.01 * Math.sin(i * i));
    const plain = fit({features: {a, b}, targets: {y: target}, share: 0.01}).y;
    for (const by of [1e100, 1e155, 1e200, 1e300, 1e-150, 1e-170, 1e-290])
      for (const [features, targets, ratio] of [
        [{a: a.map(value => value * by), b}, {y: target}, 1 / by],
        // Of a large target b's coefficient is scaled, too, so that only a's is compared.
        [{a: a.map(value => value * by), b: b.map(value => value * by)}, {y: target.map(value => value * by)}, 1],
      ] as const) {
        const {coefficients, standardError, r2, residual, warnings} = fit({
          features,
          targets,
          share: 0.01,
        }).y;
        expect(Object.keys(coefficients), `${by}`).to.deep.equal(['a', 'b']);
        expect(coefficients.a / ratio / plain.coefficients.a, `${by}`).to.be.closeTo(1, 1e-12);
        expect(coefficients.b / plain.coefficients.b, `${by}`).to.be.closeTo(1, 1e-12);
        expect(standardError.a / ratio / plain.standardError.a, `${by}`).to.be.closeTo(1, 1e-10);
        expect(r2, `${by}`).to.be.closeTo(plain.r2, 1e-12);
        expect(residual / (ratio === 1 ? by : 1) / plain.residual, `${by}`).to.be.closeTo(1, 1e-10);
        expect(warnings).to.deep.equal([]);
      }
    // A threshold is in the target's unit over the feature's: 3e-155 is below 1e-154 and above 1e-156.
    const large = {a: a.map(value => value * 1e155), b};
    for (const [threshold, kept] of [
      [1e-154, ['b']],
      [1e-156, ['a', 'b']],
    ] as const)
      expect(Object.keys(fit({features: large, targets: {y: target}, threshold}).y.coefficients)).to.deep.equal(kept);
  });

  it("finds Lorenz's seven terms among sixty, to rounding where rates are exact", () => {
    const {states, rates} = lorenz(0.01, 1000);
    const features = polynomials(states, 3);
    expect(Object.keys(features).length).to.equal(20);
    const found = fit({features, targets: rates, threshold: 0.1});
    expectLorenz(found, 1e-9);
    expect(found.x.text).to.equal('−10·x + 10·y');
    expect(found.z.r2).to.be.closeTo(1, 1e-12);
    // Terms of less than 5 % of a rate are none of the others'.
    expectLorenz(fit({features, targets: rates, share: 0.05}), 1e-9);
  });

  it('finds them by differences, and in noise, to the errors of these', () => {
    const {t, states} = lorenz(0.002, 5000);
    const features = polynomials(states, 2);
    const rates = Object.fromEntries(names.map(name => [name, differences(t, states[name])]));
    expectLorenz(fit({features, targets: rates, threshold: 0.1}), 5e-3);
    const noise = stochastic.brownianPath(1, [3, t.length]).at(1);
    const noisy = Object.fromEntries(
      names.map((name, k) => [name, rates[name].map((rate, i) => rate + 2 * noise[k * t.length + i])]),
    );
    const found = fit({features, targets: noisy, threshold: 0.2});
    expectLorenz(found, 0.05);
    for (const name of names) expect(found[name].residual).to.be.closeTo(2, 0.1);
  });

  it('takes columns of one number per sample, and as many of each', () => {
    const x = [1, 2, 3, 4];
    const rows = x.map(value => [value, value]);
    const regress = (features: Columns): unknown => fit({features, targets: {x}, threshold: 0});
    for (const [of, name] of [
      [regress, 'sindy.fit: features'],
      [(columns: Columns): unknown => polynomials(columns, 2), 'polynomials: variables'],
    ] as const) {
      expect(() => of({rows})).to.throw(ShapeError, `${name}.rows has shape [4, 2]; give one number per sample`);
      expect(() => of({x, short: [1, 2]})).to.throw(ShapeError, 'short has 2 samples, others have 4');
      expect(() => of({gap: [1, NaN, 3, 4]})).to.throw(DataError, `${name}.gap is NaN in sample 1`);
    }
    expect(() => differences([0, 1, 2, 3, 4, 5, 6, 7], rows)).to.throw(ShapeError, 'differences: values has shape');
    expect(() => differences(x, [0, 1, Infinity, 2])).to.throw(DataError, 'values is Infinity in sample 2');
  });

  describe('standard errors', () => {
    const samples = 40;
    const t = Float64Array.from({length: samples}, (_, i) => i / 10);
    const features = {one: t.map(() => 1), t, wave: t.map(Math.sin)};

    it('are those of a straight line, in closed form', () => {
      const noise = gaussian(3);
      const y = t.map(x => 2 + 3 * x + 0.5 * noise());
      const {coefficients, standardError} = fit({
        features: {one: features.one, t},
        targets: {y},
        threshold: 0.1,
      }).y;
      const mean = t.reduce((sum, x) => sum + x, 0) / samples;
      const spread = t.reduce((sum, x) => sum + (x - mean) ** 2, 0);
      const rest = y.reduce((sum, value, i) => sum + (value - coefficients.one - coefficients.t * t[i]) ** 2, 0);
      const variance = rest / (samples - 2);
      expect(standardError.t / Math.sqrt(variance / spread)).to.be.closeTo(1, 1e-12);
      expect(standardError.one / Math.sqrt(variance * (1 / samples + mean ** 2 / spread))).to.be.closeTo(1, 1e-12);
    });

    /** Root mean squares of the errors told, over the scatter of the coefficients, of `records` made records. */
    function overScatter(
      problem: Pick<SparseRegressionProblem, 'features' | 'threshold' | 'ridge'>,
      sd: number,
      records = 2000,
    ): {[name: string]: number} {
      const noise = gaussian(11);
      const found = Array.from(
        {length: records},
        () => fit({...problem, targets: {y: t.map(x => 1 + 2 * Math.sin(x) + sd * noise())}}).y,
      );
      const ratio = (name: string): number => {
        const all = found.map(({coefficients}) => coefficients[name]);
        const mean = all.reduce((sum, x) => sum + x, 0) / records;
        const scatter = all.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (records - 1);
        return Math.sqrt(found.reduce((sum, {standardError}) => sum + standardError[name] ** 2, 0) / records / scatter);
      };
      return Object.fromEntries(Object.keys(found[0].coefficients).map(name => [name, ratio(name)]));
    }

    // A scatter of 2000 is known to 1/√4000 = 1.6 %: three of these.
    slow('are what coefficients of kept terms scatter by', () => {
      // t has no part in it, and is dropped in each of the records.
      const ratios = overScatter({features, threshold: 0.3}, 0.2);
      expect(ratios).to.have.all.keys('one', 'wave');
      for (const ratio of Object.values(ratios)) expect(ratio).to.be.within(0.95, 1.05);
    });

    slow('are those of a ridge, which scatters less: by 1.5 of least squares here', () => {
      const {one, wave} = features;
      const ratios = overScatter({features: {one, wave}, threshold: 0, ridge: 0.5}, 3);
      for (const ratio of Object.values(ratios)) expect(ratio).to.be.within(0.95, 1.06);
    });

    it('are infinite of what the samples leave open', () => {
      const noise = gaussian(5);
      const y = t.map(x => 1 + 2 * x + 0.1 * noise());
      const {standardError} = fit({
        features: {one: features.one, t, again: t},
        targets: {y},
        threshold: 0.1,
      }).y;
      expect(standardError.t).to.equal(Infinity);
      expect(standardError.again).to.equal(Infinity);
      expect(standardError.one).to.be.within(0.02, 0.05);
      const exact = fit({features: {x: [1, 2], y: [3, -1]}, targets: {z: [2, 5]}, threshold: 0.1}).z;
      expect(exact.standardError).to.deep.equal({x: Infinity, y: Infinity});
    });
  });

  it('a ridge makes coefficients smaller by what it weighs', () => {
    const x = Float64Array.of(3, 4);
    const {coefficients} = fit({features: {x}, targets: {y: x}, threshold: 0, ridge: 0.25}).y;
    expect(coefficients.x).to.be.closeTo(0.8, 1e-15);
  });

  it('differences are exact of parabolas, on any grid', () => {
    const t = [0, 0.1, 0.5, 0.6, 2];
    differences(
      t,
      t.map(x => 3 * x * x - x),
    ).forEach((slope, i) => expect(slope).to.be.closeTo(6 * t[i] - 1, 1e-12));
  });

  it('polynomials have the names of their products', () => {
    expect(Object.keys(polynomials({a: [1, 2], b: [3, 4]}, 2))).to.deep.equal(['1', 'a', 'b', 'a²', 'a b', 'b²']);
    expect([...polynomials({a: [1, 2], b: [3, 4]}, 3)['a² b']]).to.deep.equal([3, 16]);
  });

  it('nothing is found of nothing, and dependent features are said', () => {
    const x = [1, 2, 3, 4];
    const none = fit({features: {x}, targets: {y: [0, 0, 0, 0]}, threshold: 0.1}).y;
    expect(none.text).to.equal('0');
    const twice = fit({features: {x, again: x}, targets: {y: x}, threshold: 0.1}).y;
    expect(twice.warnings[0]).to.include('depend on each other');
    expect(twice.coefficients).to.have.all.keys('x', 'again');
  });

  it('refuses what cannot be asked', () => {
    const x = [1, 2, 3];
    expect(() => fit({features: {x}, targets: {x}})).to.throw(OptionError, 'threshold and share');
    expect(() => fit({features: {x}, targets: {y: [1]}, threshold: 1})).to.throw(ShapeError, 'targets.y');
    expect(() => fit({features: {x}, targets: {y: [1, NaN, 2]}, threshold: 1})).to.throw(DataError, 'targets.y');
    expect(() => fit({features: {}, targets: {x}, threshold: 1})).to.throw(DataError, 'samples');
    expect(() => polynomials({x}, 0)).to.throw(OptionError, 'degree');
    // It took the place of the product, without a word.
    expect(() => polynomials({x, 'x²': x}, 2)).to.throw(OptionError, "would be named 'x²'");
    expect(() => differences([0, 1, 1], x)).to.throw(DataError, 'increase');
  });
});
