/** Randomized smoothing: against closed forms, coverage of its standard errors, and quadrature of runs through impacts. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  batch,
  event,
  frictionalContact,
  mechanics,
  moreau,
  OptionError,
  simulate,
  trapezoid,
} from '../../../lib/index.js';
import {randomizedSmoothing, type ObjectiveEvaluation} from '../../../training/index.js';
import {slow} from '../../tiers.js';

type F = (x: Float64Array) => {readonly value: number; readonly gradient: Float64Array};
type Loose = (objective: unknown, options: unknown) => unknown;
const orders = ['zeroth', 'first', 'interpolated'] as const;

/** By its power series, to rounding for the small x here. */
function erf(x: number): number {
  let [term, sum] = [x, x];
  for (let n = 1; n < 80; n++) {
    term *= -(x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}
const density = (z: number): number => Math.exp(-(z * z) / 2) / Math.sqrt(2 * Math.PI);

const absolute: F = ([x]) => ({value: Math.abs(x), gradient: Float64Array.of(Math.sign(x))});
const smoothedAbsolute = (x: number, sigma: number): {value: number; slope: number} => ({
  value: x * erf(x / (sigma * Math.SQRT2)) + 2 * sigma * density(x / sigma),
  slope: erf(x / (sigma * Math.SQRT2)),
});
const step: F = ([x]) => ({value: x > 0 ? 1 : 0, gradient: Float64Array.of(0)});

/** Differences in standard errors. */
const off = (found: number, exact: number, error: number): number => Math.abs(found - exact) / error;

describe('randomized smoothing', () => {
  it('of |x|: value and slope in closed form, by every order', () => {
    for (const x of [-0.7, 0, 0.4])
      for (const order of orders) {
        const found = randomizedSmoothing(absolute, {at: Float64Array.of(x), sigma: 0.5, samples: 4000, order});
        const exact = smoothedAbsolute(x, 0.5);
        expect(off(found.value, exact.value, found.valueError)).to.be.below(4);
        // At 0 the slopes of a pair cancel, and there is no error left.
        expect(Math.abs(found.gradient[0] - exact.slope)).to.be.at.most(4 * found.gradientError[0]);
        expect(found.gradientError[0]).to.be.below(0.03);
      }
  });

  it("of a step: the density by 'zeroth'; 0, its bias, by 'first'", () => {
    const options = {at: Float64Array.of(0.3), sigma: 0.5, samples: 20_000};
    const exact = density(0.6) / 0.5;
    const zeroth = randomizedSmoothing(step, options);
    expect(zeroth.alpha).to.equal(0);
    expect(off(zeroth.value, (1 + erf(0.6 / Math.SQRT2)) / 2, zeroth.valueError)).to.be.below(4);
    expect(off(zeroth.gradient[0], exact, zeroth.gradientError[0])).to.be.below(4);
    expect(zeroth.gradientError[0]).to.be.below(0.02 * exact);
    const first = randomizedSmoothing(step, {...options, order: 'first'});
    expect([first.gradient[0], first.gradientError[0]]).to.deep.equal([0, 0]);
  });

  slow("of a step, interpolated: it stays within two errors of 'zeroth', and α vanishes as those do", () => {
    const [few, many] = [1000, 64_000].map(samples => {
      const options = {at: Float64Array.of(0.3), sigma: 0.5, samples};
      const zeroth = randomizedSmoothing(step, options);
      const mixed = randomizedSmoothing(step, {...options, order: 'interpolated'});
      expect(zeroth.gradient[0] - mixed.gradient[0]).to.be.closeTo(2 * zeroth.gradientError[0], 1e-12);
      return mixed.alpha;
    });
    // By the square root of 64, as far as the few samples know the spread.
    expect(few / many).to.be.within(7, 9);
  });

  it("of a quadratic with names: exact by 'first', whose pairs cancel what is left", () => {
    type X = {readonly a: Float64Array; readonly b: Float64Array};
    const at: X = {a: Float64Array.of(1, -2), b: Float64Array.of(0.5)};
    const sigma = {a: 0.1, b: 2};
    const quadratic = ({a: [p, q], b: [r]}: X): ObjectiveEvaluation<X> => ({
      value: p * p + 3 * p * q + r * q + 2 * r * r,
      gradient: {a: Float64Array.of(2 * p + 3 * q, 3 * p + r), b: Float64Array.of(q + 4 * r)},
    });
    const [zeroth, first, mixed] = orders.map(order =>
      randomizedSmoothing(quadratic, {at, sigma, samples: 10_000, order}),
    );
    // f plus half the trace of its Hessian times σ².
    const value = 1 - 6 - 1 + 0.5 + 0.01 + 2 * 4;
    const gradient = {a: [-4, 3.5], b: [0]};
    expect(off(zeroth.value, value, zeroth.valueError)).to.be.below(4);
    expect(mixed.alpha).to.equal(1);
    for (const name of ['a', 'b'] as const)
      for (const [i, exact] of gradient[name].entries()) {
        for (const found of [first, mixed]) {
          expect(found.gradient[name][i]).to.be.closeTo(exact, 1e-12);
          expect(found.gradientError[name][i]).to.be.below(1e-12);
        }
        expect(off(zeroth.gradient[name][i], exact, zeroth.gradientError[name][i])).to.be.below(4);
      }
  });

  it('interpolates with the α of least variance, in units of the objective', () => {
    const wave: F = ([x, y]) => ({
      value: Math.sin(3 * x) + Math.cos(30 * y),
      gradient: Float64Array.of(3 * Math.cos(3 * x), -30 * Math.sin(30 * y)),
    });
    const objective = ({x, y}: {x: Float64Array; y: Float64Array}) => {
      const {value, gradient} = wave(Float64Array.of(x[0], y[0]));
      return {value, gradient: {x: gradient.slice(0, 1), y: gradient.slice(1)}};
    };
    const options = {at: {x: Float64Array.of(0.2), y: Float64Array.of(0.03)}, sigma: {x: 0.5, y: 0.05}, samples: 2000};
    const [zeroth, first, mixed] = orders.map(order => randomizedSmoothing(objective, {...options, order}));
    const variance = ({gradientError: {x, y}}: typeof mixed): number => (0.5 * x[0]) ** 2 + (0.05 * y[0]) ** 2;
    const alpha = variance(zeroth) / (variance(zeroth) + variance(first));
    expect(alpha).to.be.within(0.2, 0.8);
    expect(mixed.alpha).to.be.closeTo(alpha, 1e-12);
    for (const name of ['x', 'y'] as const)
      expect(mixed.gradient[name][0]).to.be.closeTo(
        (1 - alpha) * zeroth.gradient[name][0] + alpha * first.gradient[name][0],
        1e-12,
      );
  });

  slow('its standard errors cover as they should, over seeds', () => {
    const seeds = 1000;
    const exact = smoothedAbsolute(0.4, 0.5);
    for (const order of orders) {
      let [values, slopes] = [0, 0];
      for (let seed = 1; seed <= seeds; seed++) {
        const found = randomizedSmoothing(absolute, {at: Float64Array.of(0.4), sigma: 0.5, samples: 400, seed, order});
        if (off(found.value, exact.value, found.valueError) < 1.96) values++;
        if (off(found.gradient[0], exact.slope, found.gradientError[0]) < 1.96) slopes++;
      }
      // 95 %, within three standard deviations of a share of a thousand.
      expect(values / seeds).to.be.closeTo(0.95, 0.021);
      // One interpolation in twenty meets the limit of α by chance, and may then miss.
      expect(slopes / seeds).to.be.within(0.95 - 0.021 - (order === 'interpolated' ? 0.05 : 0), 0.95 + 0.021);
    }
  });

  it('a seed draws the same bits, in batches of any length too', () => {
    const options = {at: Float64Array.of(0.4), sigma: 0.5, samples: 50, order: 'interpolated'} as const;
    const alone = randomizedSmoothing(absolute, options);
    expect(randomizedSmoothing(absolute, {...options, seed: 1})).to.deep.equal(alone);
    expect(randomizedSmoothing(absolute, {...options, seed: 2}).value).not.to.equal(alone.value);
    for (const batch of [2, 16, 80]) {
      const lengths: number[] = [];
      const together = (points: readonly Float64Array[]) => {
        lengths.push(points.length);
        return points.map(absolute);
      };
      expect(randomizedSmoothing(together, {...options, batch})).to.deep.equal(alone);
      expect(Math.max(...lengths)).to.equal(Math.min(batch, 50));
      expect(lengths.reduce((sum, length) => sum + length, 0)).to.equal(50);
    }
  });

  describe('refuses', () => {
    const sound = {at: Float64Array.of(1, 2), sigma: 0.1, samples: 10};
    const named = {...sound, at: {a: Float64Array.of(1, 2)}};
    const one = (): number => 1;
    const returning = (gradient: unknown) => () => ({value: 1, gradient});
    const cases: Readonly<Record<string, readonly [unknown, object, string, RegExp]>> = {
      'no objective': [1, sound, 'bad-option', /the objective must be a function, not 1/],
      'sigma of 0': [one, {...sound, sigma: 0}, 'bad-option', /sigma must be a positive number.*not 0/],
      'no sigma': [one, {...sound, sigma: undefined}, 'bad-option', /sigma must be a positive number, not undefined/],
      'sigma by name of a vector': [one, {...sound, sigma: {a: 1}}, 'bad-option', /sigma must be a positive number/],
      'a negative sigma': [one, {...named, sigma: {a: -1}}, 'bad-option', /sigma\.a must be a positive number, not -1/],
      'a sigma left out': [one, {...named, sigma: {}}, 'bad-option', /sigma\.a must be .*not undefined/],
      'another sigma': [one, {...named, sigma: {a: 1, b: 1}}, 'bad-option', /sigma has no option 'b'; it has a/],
      'one sample': [
        one,
        {...sound, samples: 1},
        'bad-option',
        /samples must be an even whole number of at least 4, not 1/,
      ],
      'half a pair': [one, {...sound, samples: 11}, 'bad-option', /samples must be an even .*not 11/],
      'no samples': [one, {...sound, samples: undefined}, 'bad-option', /samples must be .*not undefined/],
      'a batch of half pairs': [one, {...sound, batch: 3}, 'bad-option', /batch must be an even whole number .*not 3/],
      'an order of derivatives': [one, {...sound, order: 1}, 'bad-option', /order must be one of 'zeroth'/],
      'another option': [one, {...sound, sample: 3}, 'unknown-option', /Did you mean 'samples'/],
      'no point': [one, {...sound, at: undefined}, 'bad-option', /at must be a Float64Array or an object of them/],
      'a point of lists': [one, {...sound, at: {a: [1]}}, 'bad-option', /at\.a must be a Float64Array, not an array/],
      'an empty point': [one, {...sound, at: {}}, 'bad-option', /at has no entries/],
      'a point that is not finite': [
        one,
        {...sound, at: Float64Array.of(1, NaN)},
        'bad-option',
        /at\[1\] must be .*NaN/,
      ],
      text: [() => '1', sound, 'bad-objective', /at sample 0, x = \[.*\], the objective must return a number/],
      'no gradient': [one, {...sound, order: 'first'}, 'missing-gradient', /returned no gradient.*'zeroth'/],
      'a shorter gradient': [
        returning([1]),
        {...sound, order: 'first'},
        'bad-gradient',
        /array of 2 numbers, .*of 1\./,
      ],
      'a vector for names': [
        returning([1, 1]),
        {...named, order: 'first'},
        'bad-gradient',
        /must have the names of at/,
      ],
      'other names': [returning({b: [1, 1]}), {...named, order: 'interpolated'}, 'bad-gradient', /has 'b', which at/],
      'a name left out': [returning({}), {...named, order: 'first'}, 'bad-gradient', /gradient\.a must be .*undefined/],
      'NaN in a gradient': [
        returning([1, NaN]),
        {...sound, order: 'first'},
        'objective-not-finite',
        /entry 1 of its gradient is NaN/,
      ],
      'lists of another length': [
        () => [1],
        {...sound, batch: 4},
        'bad-objective',
        /each of its 4 points, not 1 of them/,
      ],
    };
    for (const [name, [objective, options, code, sentence]] of Object.entries(cases))
      it(name, () => {
        expect(() => (randomizedSmoothing as Loose)(objective, options))
          .to.throw(OptionError, sentence)
          .with.property('code', code);
      });

    it('a value that is not finite, with the point of the sample', () => {
      const seen: Float64Array[] = [];
      const seventh = (x: {a: Float64Array}): number => (seen.push(x.a) === 7 ? NaN : 1);
      const error = thrown(() => randomizedSmoothing(seventh, {at: {a: Float64Array.of(0.1)}, sigma: 1, samples: 10}));
      expect(error).to.be.instanceOf(OptionError);
      expect(error.code).to.equal('objective-not-finite');
      expect(error.data).to.deep.equal({sample: 6, x: {a: seen[6]}});
      expect(error.message).to.include(
        `at sample 6, a = [${seen[6][0]}], the objective is NaN. Return a finite value for a run that fails, or make sigma smaller.`,
      );
    });
  });
});

function thrown(act: () => unknown): OptionError {
  try {
    act();
  } catch (error) {
    return error as OptionError;
  }
  return expect.fail('nothing was thrown');
}

/** E f(x + σz) and its slope E f(x + σz) z/σ by the trapezoidal rule over ±6 standard deviations. */
function quadrature(f: (x: number) => number, x: number, sigma: number): {value: number; slope: number} {
  const [points, end] = [1200, 6];
  let [value, slope] = [0, 0];
  for (let i = 0; i <= points; i++) {
    const z = end * ((2 * i) / points - 1);
    const mass = f(x + sigma * z) * density(z) * ((2 * end) / points);
    value += mass;
    slope += (mass * z) / sigma;
  }
  return {value, slope};
}

const part = (x: tf.Tensor, i: number): tf.Tensor => tf.gather(x, i);

describe('randomized smoothing of runs through contact', function () {
  this.timeout(60_000);

  slow('a throw that may fly over a wall: its gradient is that of the jump, which first order does not see', () => {
    const flight = mechanics({mass: 1, forces: () => tf.tensor1d([0, -10])});
    const events = [
      event({when: ({q}) => part(q, 1), direction: 'falling', then: ({v}) => ({v: tf.mul(v, [1, -0.8])})}),
      event({
        when: ({q}) => tf.sub(part(q, 0), 2),
        direction: 'rising',
        then: ({q, v}) => ({v: tf.where(tf.less(part(q, 1), 0.6), tf.mul(v, [-0.8, 1]), v)}),
      }),
    ];
    const start = (up: number) => ({q: [0, 0.5], v: [2.5, up]});
    const run = simulate.prepare(flight, start(4), {scheme: trapezoid(), dt: 0.05, t1: 1.5, saveAt: 'end', events});
    const miss = ({q}: {q: tf.Tensor}): tf.Tensor => tf.sum(tf.squaredDifference(part(q, 1), [3, 0]));
    const value = (up: number): number => run.value(miss, {initial: start(up)});
    // It reaches the wall at 0.8 s; the edge of 0.6 m takes 4.125 m/s.
    expect(value(4.13)).to.be.below(value(4.12) - 4);
    const exact = quadrature(value, 4, 0.2);
    const both: F = ([up]) => {
      const found = run.valueAndGrad(miss, {initial: start(up)});
      return {value: found.value, gradient: found.gradient.initial!.v.slice(1)};
    };
    const [zeroth, first, mixed] = orders.map(order =>
      randomizedSmoothing(order === 'zeroth' ? ([up]: Float64Array) => value(up) : both, {
        ...{at: Float64Array.of(4), sigma: 0.2, samples: 1000, order},
      }),
    );
    expect(off(zeroth.value, exact.value, zeroth.valueError)).to.be.below(4);
    expect(off(zeroth.gradient[0], exact.slope, zeroth.gradientError[0])).to.be.below(4);
    expect(zeroth.gradientError[0]).to.be.below(-0.1 * exact.slope);
    expect(first.gradient[0]).to.be.within(0.7, 1);
    expect(exact.slope).to.be.below(-5);
    // Two standard errors of bias are admitted.
    expect(Math.abs(mixed.gradient[0] - exact.slope)).to.be.below((2 + 4) * zeroth.gradientError[0]);
  });

  slow('a ball that bounces once or twice, by Moreau’s steps: continuous, and right by every order', () => {
    const ball = mechanics({
      mass: 1,
      forces: () => tf.tensor1d([-8]),
      constraints: [frictionalContact(({q}) => q, {restitution: 0.8})],
    });
    const options = {scheme: moreau(), dt: 0.02, t1: 3, saveAt: 'end'} as const;
    const run = simulate.prepare(ball, {q: [4], v: [0]}, options);
    const height = ({q}: {q: tf.Tensor}): tf.Tensor => tf.sum(part(q, 1));
    const value = (from: number): number => run.value(height, {initial: {q: [from], v: [0]}});
    const exact = quadrature(value, 4, 0.5);
    const both: F = ([from]) => {
      const found = run.valueAndGrad(height, {initial: {q: [from], v: [0]}});
      return {value: found.value, gradient: found.gradient.initial!.q};
    };
    const errors = orders.map(order => {
      const found = randomizedSmoothing(both, {at: Float64Array.of(4), sigma: 0.5, samples: 600, order});
      expect(off(found.value, exact.value, found.valueError)).to.be.below(4);
      expect(off(found.gradient[0], exact.slope, found.gradientError[0])).to.be.below(4);
      return found.gradientError[0];
    });
    // Runs of a batch have the bits of runs one by one.
    const few = {at: Float64Array.of(4), sigma: 0.5, samples: 24};
    const together = (points: readonly Float64Array[]): number[] => {
      const members = points.map(([from]) => ({q: [from], v: [0]}));
      return batch(ball, members, {...options, workers: 0}).map(path => path.values('q')[1]);
    };
    expect(randomizedSmoothing(together, {...few, batch: 8})).to.deep.equal(
      randomizedSmoothing(([from]) => value(from), few),
    );
    // Both orders err apart from each other here, so that their mean has half the error.
    expect(errors[2]).to.be.below(0.7 * Math.min(errors[0], errors[1]));
  });
});
