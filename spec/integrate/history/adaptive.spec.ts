/**
 * Steps as long as their error allows: errors in proportion to the tolerance, ends met, rejections counted, failures
 * said.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {AdaptiveOptions, Scheme, SimulateOptions, Trajectory} from '../../../lib/index.js';
import type {RunSettings} from '../../../lib/simulate/options.js';
import {
  adaptive,
  batch,
  bdf2,
  constant,
  defineScheme,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  newton,
  NewtonError,
  ode,
  OptionError,
  radauIIA5,
  rk4,
  sdirk2,
  simulate,
  trapezoid,
  tsit5,
  unrolledAdjoint,
  verlet,
} from '../../../lib/index.js';
import {doubleEngines} from '../../simulate/engines.js';
import {largest, order} from '../../simulate/numbers.js';
import {slow} from '../../tiers.js';

const oscillator = mechanics({mass: [1, 4], forces: ({q}) => tf.neg(tf.mul(q, [1, 36]))});
const start = {q: [1, 0.5], v: [0, -1]};
/** Frequencies 1 and 3. */
const exact = (t: number): number[] => [Math.cos(t), 0.5 * Math.cos(3 * t) - Math.sin(3 * t) / 3];
const run = (
  scheme: Scheme,
  options: AdaptiveOptions,
  more: Partial<RunSettings> & {steps?: number; t1?: number} = {},
): Trajectory => {
  const path = simulate(oscillator, start, {
    scheme,
    dt: 1e-3,
    t1: 5,
    saveAt: 'end',
    control: adaptive(options),
    ...more,
  } as SimulateOptions);
  path.dispose();
  return path;
};
const errorOf = (path: Trajectory): number =>
  largest(
    path
      .values('q')
      .slice(2)
      .map((q, i) => q - exact(5)[i]),
  );

describe('adaptive steps', () => {
  // With an estimate of order k steps have lengths h ~ tol^(1/k), and those of a scheme of order p add up to tol^(p/k).
  const cases: readonly (readonly [Scheme, number])[] = [
    [sdirk2(), 3],
    [kvaerno3(), 3],
    [kvaerno5(), 5],
    [radauIIA5(), 4],
    [gaussLegendre(), 5],
    [trapezoid(), 3],
    [implicitMidpoint(), 3],
    [newmark(), 3],
    [verlet(), 3],
    [rk4(), 5],
    [implicitEuler(), 2],
    [generalizedAlpha(), 3],
    [hht(), 3],
    [bdf2(), 3],
  ];
  for (const [scheme, k] of cases) {
    it(`${scheme.name}: the error of a run is in proportion to the tolerance`, () => {
      const p = scheme.order;
      const tolerances = p === 1 ? [1e-3, 1e-4, 1e-5] : p === 2 ? [1e-4, 1e-5, 1e-6, 1e-7] : [1e-4, 1e-6, 1e-8, 1e-10];
      const errors = tolerances.map(rtol => errorOf(run(scheme, {rtol, atol: rtol})));
      const last = tolerances.length - 1;
      const power = Math.log(errors[0] / errors[last]) / Math.log(tolerances[0] / tolerances[last]);
      expect(power).to.be.closeTo(p / k, 0.12);
      errors.slice(1).forEach((error, i) => expect(error).to.be.below(errors[i]));
    });
  }

  describe('the estimates of implicit Runge–Kutta methods', () => {
    /** Steps of y' = y·z of length 1 that are refused, with the tolerance on the error itself. */
    const refused = (scheme: Scheme, z: number, atol: number): boolean => {
      const line = ode(({y}) => tf.mul(y, z));
      const path = simulate(
        line,
        {y: 1},
        {scheme, dt: 1, steps: 1, saveAt: 'end', control: adaptive({rtol: 0, atol, max: 1}), engine: 'interpreter'},
      );
      path.dispose();
      return path.stats.rejectedSteps > 0;
    };
    /** The estimate itself, by bisection of the tolerance that accepts it. */
    const estimate = (scheme: Scheme, z: number): number => {
      let [low, high] = [1e-14, 1e6];
      while (high / low > 1.001) {
        const middle = Math.sqrt(low * high);
        if (refused(scheme, z, middle)) low = middle;
        else high = middle;
      }
      return high;
    };
    // What is infinitely stiff: zero by the second filtering; Kværnø's second formulas leave a share of it below one.
    const cases: readonly (readonly [Scheme, number, number])[] = [
      [sdirk2(), 3, 1e-6],
      [kvaerno3(), 3, 1],
      [kvaerno5(), 5, 1],
      [radauIIA5(), 4, 1e-6],
    ];
    for (const [scheme, power, most] of cases) {
      slow(`${scheme.name}: falls with its power of h, and is bounded where the step resolves nothing`, () => {
        expect(order(estimate(scheme, -0.1), estimate(scheme, -0.05))).to.be.within(power - 0.2, power + 0.2);
        expect(estimate(scheme, -1e8)).to.be.below(most);
      });
    }

    it("sdirk2: for a linear motion its first term is that of the step's error", () => {
      const z = -0.01;
      const path = simulate(
        ode(({y}) => tf.mul(y, z)),
        {y: 1},
        {scheme: sdirk2(), dt: 1, steps: 1, saveAt: 'end'},
      );
      path.dispose();
      expect(estimate(sdirk2(), z) / Math.abs(path.values('y')[1] - Math.exp(z))).to.be.closeTo(1, 0.05);
    });
  });

  it('the lengths follow the motion', () => {
    // y' = −50 (y − cos t): a boundary layer of 0.02, then a slow motion.
    const stiff = ode(({y, t}) => tf.mul(tf.sub(y, tf.cos(t)), -50));
    const path = simulate(
      stiff,
      {y: 0},
      {scheme: implicitMidpoint(), dt: 1e-4, t1: 3, control: adaptive({rtol: 1e-5, atol: 1e-5})},
    );
    const t = path.values('t');
    const lengths = t.slice(1).map((value, i) => value - t[i]);
    expect(Math.max(...lengths.slice(0, 5))).to.be.below(3e-3);
    expect(Math.max(...lengths)).to.be.above(0.02);
    const [y, end] = [path.values('y'), t.length - 1];
    expect(y[end]).to.be.closeTo((2500 * Math.cos(3) + 50 * Math.sin(3)) / 2501, 1e-4);
  });

  it('ends exactly at t1, without a tiny last step', () => {
    for (const t1 of [1, 1.0001, 1.37, 2]) {
      const t = run(rk4(), {rtol: 1e-4}, {t1, saveAt: 'all'}).values('t');
      expect(t[t.length - 1]).to.equal(t1);
      const [before, last] = [t[t.length - 2] - t[t.length - 3], t1 - t[t.length - 2]];
      expect(last / before).to.be.above(0.4);
    }
  });

  describe('times to save near the ends', () => {
    const decay = ode(({y}) => tf.neg(y));
    const base = {scheme: tsit5(), dt: 0.1, t1: 1} as const;
    const control = adaptive({rtol: 1e-11, atol: 1e-12});
    const saved = (saveAt: readonly number[], more: object = {}): number[][] => {
      const path = simulate(decay, {y: 1}, {...base, saveAt, control, ...more});
      path.dispose();
      path.values('y').forEach((y, i) => expect(y).to.be.closeTo(Math.exp(-path.values('t')[i]), 1e-9));
      return [[...path.values('t')]];
    };

    it('are the ends where they lie beside them by rounding, as with constant steps', () => {
      for (const more of [{}, {control: constant()}]) {
        expect(saved([-1e-12, 0.5, 1 + 1e-12], more)).to.deep.equal([[0, 0.5, 1]]);
        for (const saveAt of [
          [-1e-6, 0.5],
          [0.5, 1 + 1e-6],
          [0.5, 1, 1 + 1e-12],
        ])
          expect(() => saved(saveAt, more)).to.throw(OptionError, /does not lie in the run, from t = 0 to 1/);
      }
      const back = simulate(decay, {y: 1, t: 1}, {...base, dt: -0.1, t1: 0, saveAt: [1 + 1e-12, -1e-12], control});
      back.dispose();
      expect([...back.values('t')]).to.deep.equal([1, 0]);
    });

    it('are all saved, however many lie within the rounding of a time', () => {
      const ulp = Number.EPSILON / 2;
      const close = [1 - 4 * ulp, 1 - 3 * ulp, 1 - 2 * ulp, 1 - ulp, 1];
      expect(saved(close)).to.deep.equal([close]);
      // By blocks of steps too, which a run begins after some, and in one call with its gradient.
      const many = simulate.prepare(decay, {y: 1}, {...base, saveAt: close, control});
      for (let i = 0; i < 40; i++) {
        const path = many.run();
        path.dispose();
        expect([...path.values('t')]).to.deep.equal(close);
      }
      const {value, gradient} = many.valueAndGrad(({y}) => tf.sum(y));
      expect(value).to.be.closeTo(5 * Math.exp(-1), 1e-9);
      expect(gradient.initial?.y[0]).to.be.closeTo(5 * Math.exp(-1), 1e-9);
    });
  });

  it('first, max, steps and progress', () => {
    const lengths = (
      options: AdaptiveOptions,
      more: Partial<RunSettings> & {steps?: number; t1?: number} = {},
    ): number[] => {
      const t = run(rk4(), options, {saveAt: 'all', ...more}).values('t');
      return [...t.slice(1).map((value, i) => value - t[i])];
    };
    // The two halves of a first step are one step.
    expect(lengths({first: 1e-5})[0]).to.be.closeTo(1e-5, 1e-20);
    expect(lengths({})[0]).to.be.closeTo(1e-3, 1e-18);
    expect(Math.max(...lengths({max: 0.02}))).to.be.at.most(0.02 * (1 + 1e-12));
    expect(lengths({}, {t1: undefined, steps: 7})).to.have.lengthOf(7);
    expect(lengths({}, {t1: undefined, steps: 0})).to.have.lengthOf(0);
    const told: number[] = [];
    run(
      rk4(),
      {},
      {
        onProgress: ({t, steps}) => {
          expect(steps).to.equal(undefined);
          told.push(t);
        },
      },
    );
    expect(told[told.length - 1]).to.equal(5);
    const some = run(rk4(), {rtol: 1e-6}, {saveAt: {every: 5}});
    const all = run(rk4(), {rtol: 1e-6}, {saveAt: 'all'});
    expect([...some.values('t')]).to.deep.equal([...all.values('t')].filter((_, n) => n % 5 === 0));
  });

  it('tolerances by component and by block', () => {
    const tight = run(rk4(), {rtol: 0, atol: [1, 1e-9]});
    const loose = run(rk4(), {rtol: 0, atol: [1e-9, 1]});
    // The second oscillator is three times as fast.
    expect(tight.stats.steps).to.be.above(2 * loose.stats.steps);
    expect(run(rk4(), {rtol: 0, atol: {q: 1e-9, v: 1}}).stats.steps).to.be.below(
      run(rk4(), {rtol: 0, atol: {q: 1e-9, v: 1e-12}}).stats.steps,
    );
  });

  it('a scheme brings its own estimate: Euler in Heun', () => {
    const heun = defineScheme({
      name: 'heun',
      order: 2,
      unknown: [],
      kind: 'ode',
      update: (_, {x, t, h, rate}) => {
        const k = rate(x, t).y;
        return {
          y: tf.add(x.y, tf.mul(tf.mul(h, 0.5), tf.add(k, rate({y: tf.add(x.y, tf.mul(h, k))}, tf.add(t, h)).y))),
        };
      },
      error: {
        order: 2,
        estimate: (_, {x, t, h, rate}) => {
          const k = rate(x, t).y;
          return {y: tf.mul(tf.mul(h, 0.5), tf.sub(rate({y: tf.add(x.y, tf.mul(h, k))}, tf.add(t, h)).y, k))};
        },
      },
    });
    const growth = ode(({y}) => y);
    const steps = (rtol: number): number => {
      const path = simulate(
        growth,
        {y: 1},
        {scheme: heun, dt: 1e-3, t1: 1, saveAt: 'end', control: adaptive({rtol, atol: 0})},
      );
      expect(path.values('y')[1]).to.be.closeTo(Math.E, 3 * rtol);
      return path.stats.steps;
    };
    // h²/2 = tol·0.81: √2/0.9 of a step for each √tol.
    expect(steps(1e-6) / steps(1e-4)).to.be.closeTo(10, 1);
    expect(steps(1e-6)).to.be.within(700, 900);
  });

  for (const {name: engine} of doubleEngines) {
    it(`rejections are counted by their cause: ${engine}`, () => {
      // A sudden force at t = 1 asks for shorter steps; Newton fails where a step overshoots the pole of the tangent.
      const struck = ode(({y, t}) => tf.sub(tf.mul(50, tf.sigmoid(tf.mul(400, tf.sub(t, 1)))), tf.tan(tf.mul(y, 0.9))));
      const path = simulate(
        struck,
        {y: 0},
        {
          scheme: implicitMidpoint(),
          dt: 0.1,
          t1: 2,
          saveAt: 'end',
          control: adaptive({rtol: 1e-5}),
          newton: newton({maxIterations: 6}),
          engine,
        },
      );
      const {failures, rejectedSteps} = path.stats;
      expect(failures.error).to.be.above(0);
      expect(failures['newton-diverged']).to.be.above(0);
      expect(rejectedSteps).to.equal(Object.values(failures).reduce((sum, count) => sum + count));
      expect(Math.tan(0.9 * path.values('y')[1])).to.be.closeTo(50, 1e-6);
    });
  }

  it('a pole: the step gets too small, and the sentence says why', () => {
    const pole = ode(({y}) => tf.square(y));
    const options: SimulateOptions = {scheme: rk4(), dt: 0.01, t1: 2, control: adaptive({rtol: 1e-6})};
    expect(() => simulate(pole, {y: 1}, options))
      .to.throw(NewtonError, /shorter than allowed.*rejected: \d+ by/)
      .with.property('code', 'step-too-small');
    const path = simulate(pole, {y: 1}, {...options, throw: false});
    expect(path.status).to.equal('step-too-small');
    // y = 1/(1 − t).
    expect(path.values('t').at(-1)).to.be.closeTo(1, 1e-5);
    expect(
      simulate(pole, {y: 1}, {...options, control: adaptive({min: 1e-3}), throw: false})
        .values('t')
        .at(-1),
    ).to.be.below(0.999);
    expect(() => simulate(pole, {y: 1}, {...options, control: adaptive({min: 1e-3})})).to.throw(
      NewtonError,
      /shorter than allowed: h = 0\.000\d+, and adaptive has min: 0\.001\. Lower it/,
    );
  });

  it('a jump at t = 0 that no step takes ends after a hundred halvings at most', () => {
    const never = ode(({y, t}) => tf.div(tf.add(tf.zerosLike(y), 1e30), tf.sqrt(tf.add(t, 1e-300))));
    const path = simulate(
      never,
      {y: 0},
      {scheme: implicitMidpoint(), dt: 0.1, t1: 1, control: adaptive({rtol: 1e-12, atol: 1e-12}), throw: false},
    );
    path.dispose();
    expect(path.status).to.equal('step-too-small');
    expect(path.stats.rejectedSteps).to.be.below(150);
  });

  it('steps beside t1 are the most that are taken', () => {
    const path = run(rk4(), {}, {steps: 10, throw: false, saveAt: 'all'});
    expect(path.status).to.equal('too-many-steps');
    expect(path.values('t')).to.have.lengthOf(11);
    expect(() => run(rk4(), {}, {steps: 10})).to.throw(NewtonError, /the 10 steps allowed are used up/);
  });

  it('constant() is the grid', () => {
    const path = (control?: SimulateOptions['control']): number[] => [
      ...simulate(oscillator, start, {scheme: trapezoid(), dt: 0.1, steps: 20, control}).values('q'),
    ];
    expect(path(constant())).to.deep.equal(path());
  });

  it('steps that fail are halved on the grid, with events too', () => {
    const hard = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.sinh(tf.mul(q, 6)))});
    const options: SimulateOptions = {
      scheme: trapezoid(),
      dt: 0.2,
      steps: 3,
      newton: newton({onFailure: 'halve', maxIterations: 5}),
    };
    const plain = simulate(hard, {q: 1, v: 0}, options);
    const history = simulate(hard, {q: 1, v: 0}, {...options, saveAt: [0, 0.1, 0.2, 0.4, 3 * 0.2]});
    expect(plain.stats.rejectedSteps).to.be.above(0);
    expect(history.stats.rejectedSteps).to.equal(plain.stats.rejectedSteps);
    expect(history.stats.steps).to.equal(plain.stats.steps);
    expect(history.values('q')[4]).to.equal(plain.values('q')[3]);
  });

  it('a step that fails at every length ends both loops alike', () => {
    // y' = y² blows up at t = 1, where no step of any length has a root.
    const pole = ode(({y}) => tf.square(y));
    const options: SimulateOptions = {
      scheme: implicitEuler(),
      dt: 0.3,
      steps: 10,
      newton: newton({onFailure: 'halve'}),
      throw: false,
    };
    const [plain, history] = [options, {...options, saveAt: [0, 0.1]}].map(taken => simulate(pole, {y: 1}, taken));
    expect(plain.status).to.equal('step-too-small');
    expect(history.status).to.equal(plain.status);
    expect(history.error?.message).to.equal(plain.error?.message);
    expect(history.stats.failures).to.deep.equal(plain.stats.failures);
    expect(history.stats.rejectedSteps).to.equal(plain.stats.rejectedSteps);
  });

  const refused: readonly (readonly [string, () => unknown, string])[] = [
    ['no tolerance', () => run(rk4(), {rtol: 0, atol: 0}), 'bad-control'],
    ['a negative one', () => adaptive({rtol: -1}), 'bad-control'],
    ['one of another shape', () => run(rk4(), {atol: [1, 2, 3]}), 'bad-control'],
    ['one without a block', () => run(rk4(), {atol: {q: 1}}), 'bad-control'],
    ['a safety above 1', () => adaptive({safety: 2}), 'bad-control'],
    ['min above max', () => adaptive({min: 1, max: 0.5}), 'bad-control'],
    ['a misspelt option', () => adaptive({['tol' as 'rtol']: 1}), 'bad-control'],
    [
      'a control without brackets',
      () => simulate(oscillator, start, {dt: 0.1, t1: 1, control: adaptive as unknown as SimulateOptions['control']}),
      'bad-control',
    ],
    ['no end', () => simulate(oscillator, start, {dt: 0.1, control: adaptive()} as SimulateOptions), 'bad-time'],
    [
      'times without an end',
      () => simulate(oscillator, start, {dt: 0.1, steps: 3, control: adaptive(), saveAt: [0.1]}),
      'bad-save',
    ],
    [
      'the unrolled adjoint',
      () => simulate(oscillator, start, {dt: 0.1, t1: 1, control: adaptive(), adjoint: unrolledAdjoint()}),
      'bad-adjoint',
    ],
  ];
  slow('far from t = 0, as of Unix seconds, take no other time than the clock', () => {
    // x' = 1 beside an oscillator that sets the steps: x is the time that has passed, to the rounding of its own sum.
    const clocked = ode(({y}) => {
      const [, a, b] = tf.unstack(y);
      return tf.stack([tf.scalar(1), tf.mul(30, b), tf.mul(-30, a)]);
    });
    for (const scheme of [tsit5(), kvaerno3(), trapezoid()])
      for (const t of [2 ** 20, 1.7e9])
        for (const engine of ['wasm', 'interpreter'] as const) {
          const options = {scheme, engine, dt: 0.01, t1: t + 4, saveAt: 'end', control: adaptive({rtol: 1e-5, max: 0.0371})} as const; // prettier-ignore
          const path = simulate(clocked, {y: [0, 0, 1], t}, options);
          expect(path.values('y')[3], `${scheme.name}, ${t}, ${engine}`).to.be.closeTo(4, 1e-12);
          path.dispose();
          const {trajectories: [member]} = batch.prepare(clocked, {y: [0, 0, 1], t}, options).vjp([{}]); // prettier-ignore
          expect(member.values('y')[3], `${scheme.name}, ${t}, in a batch`).to.be.closeTo(4, 1e-12);
          member.dispose();
        }
  });

  for (const [title, f, code] of refused) {
    it(`refuses ${title}`, () => {
      expect(f).to.throw(OptionError).with.property('code', code);
    });
  }
});
