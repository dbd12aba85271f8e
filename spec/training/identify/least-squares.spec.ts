/**
 * Levenberg–Marquardt against NIST's certified regressions, classical minima known in closed form, and
 * problems with failures and with directions that cannot be identified.
 */
import fc from 'fast-check';
import {expect} from 'chai';
import {NewtonError, OptionError} from '../../../lib/errors.js';
import {levenbergMarquardt} from '../../../training/identify/least-squares.js';
import type {LeastSquaresProblem} from '../../../training/identify/least-squares-problem.js';
import {RowQr, singularValues} from '../../../training/identify/row-qr.js';
import {gaussian} from '../../../training/data/noise.js';
import {widening} from '../../../training/identify/small-sample.js';
import {uncertainty} from '../../../training/identify/uncertainty.js';
import {referenceProblems, type ReferenceProblem} from './nist-regression.js';
import {runs} from '../../property.js';
import {slow} from '../../tiers.js';

/** r_i = f(b, x_i) − y_i for a model that returns [f, ∂f/∂b...]. */
function regression(model: ReferenceProblem['model'], x: ArrayLike<number>, y: ArrayLike<number>): LeastSquaresProblem {
  return {
    linearize(b) {
      const residuals = new Float64Array(x.length);
      const jacobian = new Float64Array(x.length * b.length);
      for (let i = 0; i < x.length; i++) {
        const [f, ...slope] = model([...b], x[i]);
        residuals[i] = f - y[i];
        jacobian.set(slope, i * b.length);
      }
      return {residuals, jacobian};
    },
  };
}

/** r = Ax − b, row-major. */
function linear(a: Float64Array, b: Float64Array): LeastSquaresProblem {
  return {
    linearize(x) {
      const residuals = b.map((value, i) => x.reduce((sum, xj, j) => sum + a[i * x.length + j] * xj, -value));
      return {residuals, jacobian: a};
    },
  };
}

const rosenbrock: LeastSquaresProblem = {
  linearize: ([x, y]) => ({
    residuals: Float64Array.of(10 * (y - x * x), 1 - x),
    jacobian: Float64Array.of(-20 * x, 10, -1, 0),
  }),
};

function worst(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  return Math.max(...Array.from(expected, (value, i) => Math.abs(found[i] / value - 1)));
}

describe('least squares', () => {
  describe("NIST's certified regressions, from either start", () => {
    for (const {name, model, x, y, starts, certified, deviation, sumOfSquares} of referenceProblems) {
      starts.forEach((start, which) => {
        it(`${name}, start ${which + 1}`, () => {
          const problem = regression(model, x, y);
          const usual = levenbergMarquardt().minimize(problem, start);
          expect(usual.converged, usual.message).to.equal(true);
          expect(worst(usual.x, certified), 'six digits at the usual tolerance').to.be.below(1e-6);
          const fit = levenbergMarquardt({tolerance: {cost: 1e-18}}).minimize(problem, start);
          const {standardError, degreesOfFreedom, unidentified} = uncertainty(fit);
          expect(worst(fit.x, certified), 'seven at roundoff: MGH09 is that flat').to.be.below(1e-7);
          // Thurber's differ by 1.6e-7 between the Math functions of Node 20 and 24.
          expect(worst(standardError, deviation), 'standard deviations').to.be.below(3e-7);
          expect(2 * fit.cost).to.be.closeTo(sumOfSquares, 1e-9 * sumOfSquares);
          expect(degreesOfFreedom).to.equal(x.length - certified.length);
          expect(unidentified).to.have.length(0);
        });
      });
    }
  });

  it("reaches the bottom of Rosenbrock's valley exactly", () => {
    const fit = levenbergMarquardt().minimize(rosenbrock, [-1.2, 1]);
    expect(fit.status).to.equal('zero-residual');
    expect(worst(fit.x, [1, 1])).to.be.below(1e-14);
    expect(fit.history.length).to.be.below(30); // MINPACK's lmder needs 21 evaluations (Moré, Garbow & Hillstrom 1981, tables)
  });

  it('converges to a parameter of zero, as the logarithm of one is, whose relative steps never get short', () => {
    const times = Float64Array.from({length: 41}, (_, i) => i / 10);
    for (const size of [0, 1e-15, 1e-13, 1e-11]) {
      const next = gaussian(7);
      const noise = times.map(() => size * next());
      const decay = (rate: number, t: number): number => 3 * Math.exp(-rate * t);
      const fit = levenbergMarquardt().minimize(
        {
          linearize: ([log]) => ({
            residuals: times.map((t, i) => decay(Math.exp(log), t) - decay(1, t) + noise[i]),
            jacobian: times.map(t => -Math.exp(log) * t * decay(Math.exp(log), t)),
          }),
        },
        [0.6],
      );
      expect(fit.converged, `${size}: ${fit.message}`).to.equal(true);
      expect(Math.abs(fit.x[0])).to.be.below(1e-15 + size);
    }
  });

  it('solves a linear problem in the step a small damping allows, and one that confirms it', () => {
    const a = Float64Array.of(1, 0, 1, 1, 1, 2, 1, 3);
    const b = Float64Array.of(1, 3, 4, 4);
    const fit = levenbergMarquardt({damping: 1e-12}).minimize(linear(a, b), [100, -100]);
    // The normal equations of a line through (0,1) (1,3) (2,4) (3,4): 1.5 + x.
    expect(worst(fit.x, [1.5, 1])).to.be.below(1e-11);
    expect(fit.history.length - 1).to.be.at.most(2);
    const slow = levenbergMarquardt().minimize(linear(a, b), [100, -100]);
    expect(worst(slow.x, [1.5, 1])).to.be.below(1e-9);
  });

  it('does not depend on the units of the parameters', () => {
    const {model, x, y, starts, certified} = referenceProblems.find(({name}) => name === 'Rat43')!;
    const units = [1e8, 1e-6, 1e3, 1e-3];
    const scaled: ReferenceProblem['model'] = (b, at) =>
      model(
        b.map((value, i) => value * units[i]),
        at,
      ).map((value, i) => (i === 0 ? value : value * units[i - 1]));
    const one = levenbergMarquardt().minimize(regression(model, x, y), starts[1]);
    const other = levenbergMarquardt().minimize(
      regression(scaled, x, y),
      starts[1].map((value, i) => value / units[i]),
    );
    expect(
      worst(
        other.x.map((value, i) => value * units[i]),
        certified,
      ),
    ).to.be.below(1e-6);
    expect(other.history.length).to.equal(one.history.length);
    expect(uncertainty(other).condition / uncertainty(one).condition).to.be.closeTo(1, 1e-6);
  });

  it('judges steps by the residuals alone where the problem offers them, to the same end', () => {
    const {model, x, y, starts} = referenceProblems.find(({name}) => name === 'MGH09')!;
    const whole = regression(model, x, y);
    const split: LeastSquaresProblem = {...whole, residuals: b => whole.linearize(b)!.residuals};
    const one = levenbergMarquardt().minimize(whole, starts[0]);
    const other = levenbergMarquardt().minimize(split, starts[0]);
    expect(other.x).to.deep.equal(one.x);
    expect(other.history).to.deep.equal(one.history);
    const accepted = one.history.filter(step => step.accepted).length;
    expect(other.evaluations.jacobians).to.equal(accepted);
    expect(one.evaluations.jacobians).to.equal(one.history.length);
  });

  it('tells each iteration, and the cost never rises', () => {
    const seen: number[] = [];
    const fit = levenbergMarquardt().minimize(rosenbrock, [-1.2, 1], ({iteration, cost}) => (seen[iteration] = cost));
    expect(seen).to.deep.equal(fit.history.map(({cost}) => cost));
    expect(seen.every((cost, i) => i === 0 || cost <= seen[i - 1])).to.equal(true);
  });

  describe('evaluations that fail', () => {
    const {model, x, y, starts, certified} = referenceProblems.find(({name}) => name === 'Rat43')!;
    const sound = regression(model, x, y);
    // The way from the far start leads through both: a first step to b2 = 64, later ones to b4 = −7.6.
    const outside = (b: Float64Array): boolean => b[1] > 60 || b[3] < 0;
    const failures: readonly [string, () => undefined][] = [
      [
        'a diverged simulation',
        () => {
          throw new NewtonError('newton-diverged', 'no convergence at t = 0.1 s');
        },
      ],
      ['undefined', () => undefined],
    ];
    for (const [name, fail] of failures) {
      it(`${name}: a rejected step, and the minimum is found all the same`, () => {
        let failed = 0;
        const fragile: LeastSquaresProblem = {linearize: b => (outside(b) ? (failed++, fail()) : sound.linearize(b))};
        const fit = levenbergMarquardt().minimize(fragile, starts[0]);
        expect(failed).to.be.above(0);
        expect(fit.evaluations.failed).to.equal(failed);
        expect(fit.history.filter(step => step.failure !== undefined)).to.have.length(failed);
        expect(worst(fit.x, certified)).to.be.below(1e-6);
      });
    }

    it('NaN residuals: the same', () => {
      const fragile: LeastSquaresProblem = {
        linearize(b) {
          const at = sound.linearize(b)!;
          if (outside(b)) at.residuals[3] = NaN;
          return at;
        },
      };
      const fit = levenbergMarquardt().minimize(fragile, starts[0]);
      expect(fit.history.find(step => step.failure !== undefined)?.failure).to.equal('residual 3 is NaN');
      expect(worst(fit.x, certified)).to.be.below(1e-6);
    });

    it('nothing but failures: ends unconverged, and says why', () => {
      let first = true;
      const broken: LeastSquaresProblem = {linearize: b => (first ? ((first = false), sound.linearize(b)) : undefined)};
      const fit = levenbergMarquardt().minimize(broken, starts[0]);
      expect(fit.status).to.equal('no-progress');
      expect(fit.converged).to.equal(false);
      expect([...fit.x]).to.deep.equal(starts[0]);
    });

    it('at the start: an error that names the place', () => {
      const nan: LeastSquaresProblem = {
        linearize: () => ({residuals: Float64Array.of(0, NaN), jacobian: new Float64Array(2)}),
      };
      expect(() => levenbergMarquardt().minimize(nan, [1])).to.throw(OptionError, /residual 1 is NaN/);
      expect(() => levenbergMarquardt().minimize(nan, [NaN])).to.throw(OptionError, /Entry 0 of the start is NaN/);
    });

    it('a mistake in the program is not taken for a failed simulation', () => {
      let calls = 0;
      const mistaken: LeastSquaresProblem = {
        linearize: b => {
          if (calls++ > 0) throw new TypeError('oops');
          return sound.linearize(b);
        },
      };
      expect(() => levenbergMarquardt().minimize(mistaken, starts[0])).to.throw(TypeError, 'oops');
    });

    it('options out of range', () => {
      expect(() => levenbergMarquardt({damping: 0})).to.throw(OptionError, /damping must be a positive number, not 0/);
      expect(() => levenbergMarquardt({tolerance: {step: -1}})).to.throw(
        OptionError,
        /step must be a number of at least 0, not -1/,
      );
    });
  });

  it('stops after as many steps as it was given', () => {
    const fit = levenbergMarquardt({maxIterations: 3}).minimize(rosenbrock, [-1.2, 1]);
    expect(fit.status).to.equal('max-iterations');
    expect(fit.history).to.have.length(4);
    expect(fit.message).to.contain('levenbergMarquardt({maxIterations: 6})');
  });

  it('fits nothing when every parameter is fixed', () => {
    const fit = levenbergMarquardt().minimize(
      {linearize: () => ({residuals: Float64Array.of(1, 2), jacobian: new Float64Array(0)})},
      [],
    );
    expect(fit.cost).to.equal(2.5);
    expect(fit.converged).to.equal(true);
    expect(uncertainty(fit).variance).to.equal(2.5);
  });

  describe('what the data cannot tell', () => {
    /** f = (a·b) x + c: only the product of a and b is seen. */
    const product: ReferenceProblem['model'] = ([a, b, c], x) => [a * b * x + c, b * x, a * x, 1];
    const x = Array.from({length: 20}, (_, i) => i / 10);
    const noise = gaussian(1);
    const y = x.map(xi => 6 * xi + 1 + 0.01 * noise());

    it('is named: two parameters that appear as a product', () => {
      const fit = levenbergMarquardt().minimize(regression(product, x, y), [1, 4, 0]);
      const {standardError, unidentified, rank, warnings, correlation} = uncertainty(fit, {
        names: ['gain', 'mass', 'offset'],
      });
      expect(fit.converged).to.equal(true);
      expect(fit.x[0] * fit.x[1]).to.be.closeTo(6, 0.05);
      expect(rank).to.equal(2);
      expect(unidentified.map(({parameters}) => parameters)).to.deep.equal([[0, 1]]);
      // along the null direction the product stays: da·b + a·db = 0
      const [da, db] = unidentified[0].direction;
      expect(da * fit.x[1] + db * fit.x[0]).to.be.closeTo(0, 1e-9);
      expect(standardError[0]).to.equal(Infinity);
      expect(standardError[1]).to.equal(Infinity);
      // The offset is determined as well as in the two-parameter fit of a line.
      const line = levenbergMarquardt().minimize(
        regression(([s, c], at) => [s * at + c, at, 1], x, y),
        [1, 0],
      );
      expect(standardError[2]).to.be.closeTo(uncertainty(line).standardError[1], 1e-9);
      expect(correlation[1]).to.be.NaN;
      expect(warnings).to.have.length(1);
      expect(warnings[0]).to.match(
        /^gain and mass cannot be told apart: the residuals do not change along .*gain .*mass/,
      );
    });

    it('is named: a parameter without influence', () => {
      const idle: ReferenceProblem['model'] = ([a], at) => [a * at, at, 0];
      const fit = levenbergMarquardt().minimize(regression(idle, x, y), [1, 7]);
      const {standardError, warnings} = uncertainty(fit, {names: ['slope', 'idle']});
      expect(fit.x[1]).to.equal(7);
      expect([...standardError].map(Number.isFinite)).to.deep.equal([true, false]);
      expect(warnings[0]).to.match(/do not depend on idle/);
    });

    it('takes nothing from what the data do tell, where residuals may be correlated', () => {
      const series = [{start: 0, samples: x.length, outputs: 1}];
      const [alone, ...others] = [0, 1, 9].map(count => {
        const idle: ReferenceProblem['model'] = ([a], at) => [a * at, at, ...new Array<number>(count).fill(0)];
        const fit = levenbergMarquardt().minimize(regression(idle, x, y), [1, ...new Array<number>(count).fill(7)]);
        return uncertainty(fit, {series}).standardError[0];
      });
      for (const other of others) expect(other).to.be.closeTo(alone, 1e-12 * alone);
      // The same of a number that a prior alone determines, but for the share of a sample in its degrees of freedom.
      const idle: ReferenceProblem['model'] = ([a], at) => [a * at, at, 0];
      const fit = levenbergMarquardt().minimize(regression(idle, x, y), [1, 7]);
      const priorRows = Float64Array.of(0, 1);
      const factor = fit.factor.append(priorRows, new Float64Array(1));
      const held = uncertainty({...fit, factor}, {series, priorRows}).standardError[0];
      expect(held / alone).to.be.within(1, 1.01);
    });

    it('is named: more parameters than data', () => {
      const fit = levenbergMarquardt().minimize(regression(product, [1], [2]), [1, 1, 1]);
      const {standardError, warnings} = uncertainty(fit);
      expect([...standardError]).to.deep.equal([Infinity, Infinity, Infinity]);
      expect(warnings[0]).to.match(/not more residuals that depend on the parameters \(1\) than numbers/);
    });

    it('is not claimed of parameters whose effects differ by ten orders of magnitude', () => {
      const scaled: ReferenceProblem['model'] = ([a, b], at) => [1e5 * a * at + 1e-5 * b, 1e5 * at, 1e-5];
      const fit = levenbergMarquardt().minimize(regression(scaled, x, y), [1, 1]);
      expect(uncertainty(fit).unidentified).to.have.length(0);
      expect(uncertainty(fit).warnings).to.have.length(0);
    });

    it('warns of a correlation beyond 0.99', () => {
      const shifted: ReferenceProblem['model'] = ([a, b], at) => [a * (at + 100) + b, at + 100, 1];
      const fit = levenbergMarquardt().minimize(regression(shifted, x, y), [1, 1]);
      expect(uncertainty(fit).warnings[0]).to.match(/x\[0\] and x\[1\] are hard to tell apart.*-0\.9999/);
    });
  });

  describe('residuals correlated in time', () => {
    slow('one mean under first-order autoregressive noise has the variance σ²/(1−φ)²/n', () => {
      const [phi, n, records] = [0.95, 4000, 40];
      const ratios = Array.from({length: records}, (_, record) => {
        const noise = gaussian(record + 1);
        let state = noise() / Math.sqrt(1 - phi * phi);
        const y = Float64Array.from({length: n}, () => (state = phi * state + noise()));
        const fit = levenbergMarquardt().minimize(linear(new Float64Array(n).fill(1), y), [0]);
        const expected = 1 / (1 - phi) / Math.sqrt(n);
        const independent = uncertainty(fit).standardError[0];
        const correlated = uncertainty(fit, {series: [{start: 0, samples: n, outputs: 1}]});
        // (1 + φ)/(1 − φ) = 39
        expect(correlated.bandwidth).to.be.within(25, 70);
        return {
          independent: independent / expected,
          correlated: correlated.standardError[0] / expected,
          error: Math.abs(fit.x[0]) / expected,
        };
      });
      const mean = (pick: (ratio: (typeof ratios)[0]) => number): number =>
        ratios.reduce((sum, ratio) => sum + pick(ratio), 0) / records;
      expect(
        mean(r => r.independent),
        'the usual formula: √((1−φ)/(1+φ)) of the truth',
      ).to.be.closeTo(Math.sqrt((1 - phi) / (1 + phi)), 0.01);
      expect(
        mean(r => r.correlated),
        'Andrews and Monahan',
      ).to.be.within(0.95, 1.05);
      expect(
        mean(r => r.error),
        'the errors themselves: E|z| = √(2/π)',
      ).to.be.closeTo(Math.sqrt(2 / Math.PI), 0.25); // 40 records: ±0.1
    });

    for (const [phi, samples] of [
      [0, 200],
      [0.7, 200],
      [0.7, 1000],
      [-0.4, 200],
    ])
      slow(`intervals of 95 % hold the truth in 95 ± 3 % of 400 records: φ = ${phi}, ${samples} samples`, () => {
        const basis = (k: number): number[] => {
          const t = k / samples;
          return [1, t, Math.sin(6 * t), Math.cos(9 * t)];
        };
        const jacobian = Float64Array.from({length: samples}, (_, k) => k).reduce(
          (all, k) => {
            all.set(basis(k), 4 * k);
            return all;
          },
          new Float64Array(4 * samples),
        );
        let held = 0;
        for (let record = 0; record < 400; record++) {
          const noise = gaussian(1000 + record);
          let state = noise() / Math.sqrt(1 - phi * phi);
          const y = Float64Array.from({length: samples}, () => (state = phi * state + noise()));
          const fit = levenbergMarquardt().minimize(linear(jacobian, y), [0, 0, 0, 0]);
          const {standardError} = uncertainty(fit, {series: [{start: 0, samples, outputs: 1}]});
          held += fit.x.filter((x, i) => Math.abs(x) < 1.959964 * standardError[i]).length;
        }
        expect(held / 1600).to.be.within(0.92, 0.98);
      });

    it('with a window of one sample is the sandwich of MacKinnon and White, HC3, widened as Student says', () => {
      const y = Float64Array.of(1, -2, 4, 0, 7);
      const fit = levenbergMarquardt().minimize(linear(new Float64Array(5).fill(1), y), [0]);
      const squares = y.reduce((sum, value) => sum + (value - 2) ** 2, 0);
      const {standardError, degrees} = uncertainty(fit, {series: [{start: 0, samples: 5, outputs: 1}], bandwidth: 1});
      // Of a mean every leverage is 1/5, and the variance has four degrees of freedom: t = 2.776445 in the tables.
      expect(degrees[0]).to.be.closeTo(4, 1e-12);
      const expected = (Math.sqrt(squares / (4 / 5) ** 2 / 25) * 2.776445) / 1.959964;
      expect(standardError[0]).to.be.closeTo(expected, 1e-3 * expected);
    });

    it("widens by Student's quantiles, of the tables", () => {
      const tables = [
        [1, 12.706205],
        [2, 4.302653],
        [2.5, 3.574655],
        [3, 3.182446],
        [5, 2.570582],
        [10, 2.228139],
        [30, 2.042272],
        [120, 1.97993],
      ] as const;
      for (const [degrees, t] of tables)
        expect(widening(degrees) * 1.959963984540054, String(degrees)).to.be.closeTo(t, 2e-5);
      expect(widening(Infinity)).to.equal(1);
    });

    it('equals the double sum with Bartlett weights, over two outputs and two series', () => {
      const noise = gaussian(3);
      const [m, p, lag] = [24, 2, 4];
      const a = Float64Array.from({length: m * p}, noise);
      const fit = levenbergMarquardt().minimize(linear(a, Float64Array.from({length: m}, noise)), [0, 0]);
      const series = [
        {start: 0, samples: 8, outputs: 2},
        {start: 16, samples: 8, outputs: 1},
      ];
      const normal = [0, 0, 0, 0];
      for (let row = 0; row < m; row++)
        for (let i = 0; i < 4; i++) normal[i] += a[row * p + (i >> 1)] * a[row * p + (i & 1)];
      const det = normal[0] * normal[3] - normal[1] * normal[2];
      const inverse = [normal[3] / det, -normal[1] / det, -normal[2] / det, normal[0] / det];
      const share = (row: number, d: number): number =>
        inverse[2 * d] * a[row * p] + inverse[2 * d + 1] * a[row * p + 1];
      const leverage = (row: number): number => a[row * p] * share(row, 0) + a[row * p + 1] * share(row, 1);
      const score = (row: number, j: number): number => (a[row * p + j] * fit.residuals[row]) / (1 - leverage(row));
      const at = (s: number, k: number, j: number): number =>
        s === 0 ? score(2 * k, j) + score(2 * k + 1, j) : score(16 + k, j);
      const middle = [0, 0, 0, 0];
      for (let s = 0; s < 2; s++)
        for (let k = 0; k < 8; k++)
          for (let l = 0; l < 8; l++)
            for (let i = 0; i < 4; i++) {
              middle[i] += Math.max(0, 1 - Math.abs(k - l) / lag) * at(s, k, i >> 1) * at(s, l, i & 1);
            }
      const shares = (s: number, k: number, d: number): number =>
        s === 0 ? share(2 * k, d) ** 2 + share(2 * k + 1, d) ** 2 : share(16 + k, d) ** 2;
      const degreesOf = (d: number): number => {
        let [sum, pairs] = [0, 0];
        for (let s = 0; s < 2; s++)
          for (let k = 0; k < 8; k++) {
            sum += shares(s, k, d);
            for (let l = 0; l < 8; l++)
              pairs += Math.max(0, 1 - Math.abs(k - l) / lag) ** 2 * shares(s, k, d) * shares(s, l, d);
          }
        return ((sum * sum) / pairs) * (1 - p / 16);
      };
      const variance = [0, 1].map(d => {
        let sum = 0;
        for (let i = 0; i < 2; i++)
          for (let j = 0; j < 2; j++) sum += inverse[2 * d + i] * middle[2 * i + j] * inverse[2 * j + d];
        return sum * widening(degreesOf(d)) ** 2;
      });
      const {covariance} = uncertainty(fit, {series, bandwidth: lag});
      expect(worst([covariance[0], covariance[3]], variance)).to.be.below(1e-12);
    });

    it('refuses series that do not cover the residuals', () => {
      const fit = levenbergMarquardt().minimize(linear(Float64Array.of(1, 1), Float64Array.of(1, 2)), [0]);
      expect(() => uncertainty(fit, {series: [{start: 0, samples: 1, outputs: 1}]})).to.throw(
        OptionError,
        /cover 1 residuals, but there are 2/,
      );
    });
  });

  describe('its linear algebra', () => {
    const entry = fc.double({min: -10, max: 10, noNaN: true}).map(x => (Math.abs(x) < 1e-3 ? 0 : x));

    it('RᵀR = JᵀJ and Rᵀc = Jᵀr, rows taken in any portions', () => {
      fc.assert(
        fc.property(
          fc.integer({min: 1, max: 6}),
          fc.integer({min: 1, max: 700}),
          fc.integer(),
          fc.integer({min: 1, max: 700}),
          (p, m, seed, cut) => {
            const noise = gaussian(seed);
            const j = Float64Array.from({length: m * p}, noise);
            const r = Float64Array.from({length: m}, noise);
            const first = Math.min(cut, m);
            const qr = new RowQr(p)
              .append(j.subarray(0, first * p), r.subarray(0, first))
              .append(j.subarray(first * p), r.subarray(first));
            const gradient = qr.gradient();
            for (let a = 0; a < p; a++) {
              let jr = 0;
              for (let i = 0; i < m; i++) jr += j[i * p + a] * r[i];
              expect(gradient[a]).to.be.closeTo(jr, 1e-12 * m);
              for (let b = 0; b < p; b++) {
                let [jj, rr] = [0, 0];
                for (let i = 0; i < m; i++) jj += j[i * p + a] * j[i * p + b];
                for (let i = 0; i < p; i++) rr += qr.r[i * p + a] * qr.r[i * p + b];
                expect(rr).to.be.closeTo(jj, 1e-12 * m);
              }
            }
          },
        ),
        runs(50),
      );
    });

    it('keeps a difference of 1e-9 between two columns, which JᵀJ would lose', () => {
      const epsilon = 1e-9; // Läuchli's matrix: JᵀJ rounds to a singular one for ε < 1.5e-8
      const j = Float64Array.of(1, 1, epsilon, 0, 0, epsilon);
      const fit = levenbergMarquardt({damping: 1e-30}).minimize(
        linear(j, Float64Array.of(2, epsilon, epsilon)),
        [0, 0],
      );
      expect(worst(fit.x, [1, 1])).to.be.below(1e-6);
    });

    it('singular values: A V = U Σ with orthogonal columns, descending', () => {
      fc.assert(
        fc.property(
          fc
            .integer({min: 1, max: 6})
            .chain(n => fc.tuple(fc.constant(n), fc.array(entry, {minLength: n * n, maxLength: n * n}))),
          ([n, list]) => {
            const a = Float64Array.from(list);
            const {values, vectors} = singularValues(a, n);
            const scale = Math.max(1, values[0]) ** 2;
            for (let k = 0; k < n; k++) {
              if (k > 0) expect(values[k]).to.be.at.most(values[k - 1]);
              for (let l = 0; l < n; l++) {
                let [product, inner] = [0, 0];
                for (let i = 0; i < n; i++) {
                  let [x, y] = [0, 0];
                  for (let j = 0; j < n; j++) {
                    x += a[i * n + j] * vectors[j * n + k];
                    y += a[i * n + j] * vectors[j * n + l];
                  }
                  product += x * y;
                  inner += vectors[i * n + k] * vectors[i * n + l];
                }
                expect(product).to.be.closeTo(k === l ? values[k] ** 2 : 0, 1e-13 * scale);
                expect(inner).to.be.closeTo(k === l ? 1 : 0, 1e-13);
              }
            }
          },
        ),
        runs(200),
      );
    });

    it('singular values of a graded matrix, each to full relative accuracy', () => {
      // [1 1; 0 δ]: σ₁σ₂ = δ, σ₁² + σ₂² = 2 + δ²
      const delta = 1e-12;
      const {values} = singularValues(Float64Array.of(1, 1, 0, delta), 2);
      expect(values[0]).to.be.closeTo(Math.SQRT2, 1e-15);
      expect(values[1] / (delta / Math.SQRT2)).to.be.closeTo(1, 1e-15 / delta); // the columns' own roundoff over δ
    });

    it('a column whose squares underflow counts as zero', () => {
      for (const tiny of [1e-150, 1e-158, 1e-170]) {
        const {r} = new RowQr(2).append(Float64Array.of(0, 1, tiny, 0, tiny, 0), new Float64Array(3));
        expect(r.every(Number.isFinite)).to.equal(true);
        expect(r[0]).to.be.oneOf([0, Math.hypot(tiny, tiny)]);
        expect(Math.abs(r[3])).to.be.closeTo(1, 1e-15);
      }
    });
  });

  it('takes a record of 1e5 samples and 8 parameters in well under a second', () => {
    const [m, p] = [100_000, 8];
    const noise = gaussian(5);
    const a = Float64Array.from({length: m * p}, noise);
    const truth = Float64Array.from({length: p}, (_, i) => i + 1);
    const b = Float64Array.from({length: m}, (_, i) => truth.reduce((sum, t, j) => sum + t * a[i * p + j], noise()));
    const started = process.cpuUsage();
    const qr = new RowQr(p).append(a, b);
    const milliseconds = process.cpuUsage(started).user / 1000;
    // errors of 1/√m = 0.003 standard deviation
    expect(Math.max(...qr.solve().map((x, i) => Math.abs(x - truth[i])))).to.be.below(0.016);
    expect(milliseconds).to.be.below(500);
  });
});
