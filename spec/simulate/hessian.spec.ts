/** Products with the Hessian of a loss: against differences of gradients, symmetric, with a Taylor remainder of third order, whatever is kept. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import type {MechanicalSystem, Pullback, SeriesLoss, SimulateOptions, Tangent} from '../../lib/index.js';
import type {Hvps} from '../../lib/simulate/hessian.js';
import type {RunSettings} from '../../lib/simulate/options.js';
import {
  adaptive,
  backsolveAdjoint,
  bdf2,
  bilateral,
  compliant,
  elements,
  forwardSensitivity,
  gaussLegendre,
  generalizedAlpha,
  implicitAdjoint,
  implicitEuler,
  implicitMidpoint,
  dopri5,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  newton,
  ode,
  OptionError,
  radauIIA5,
  rk4,
  ShapeError,
  simulate,
  TraceError,
  trapezoid,
  tsit5,
  unrolledAdjoint,
  verlet,
} from '../../lib/index.js';
import {constantTensor} from '../../lib/trace/trace.js';
import {doubleEngines} from './engines.js';
import {difference, dot, moved, norm, order, relative, slope} from './numbers.js';
import type {Recipe, Sample} from './random.js';
import {directionOf, evaluate, gradientOf, hessianOf, pointOf, recipe, sampleOf, weightsOf} from './random.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

type Evaluated = ReturnType<typeof evaluate>;
type P = Readonly<Record<string, tf.Tensor>>;

/** Σ w y + ½ Σ y² + ⅙ Σ y³ of all that is saved: as tensors, as numbers, and its cotangent. */
const tensorLoss =
  (weights: Evaluated): SeriesLoss =>
  at =>
    Object.entries(weights)
      .map(([name, w]) => {
        const y = tf.reshape(at[name as 'q'], [-1]);
        const linear = tf.mul(constantTensor(w, [w.length]), y);
        return tf.sum(tf.addN([linear, tf.mul(0.5, tf.square(y)), tf.mul(1 / 6, tf.mul(y, tf.square(y)))]));
      })
      .reduce((sum, part) => tf.add(sum, part));
const lossOf = (series: Evaluated, weights: Evaluated): number =>
  Object.entries(series).reduce(
    (sum, [name, y]) =>
      sum + y.reduce((part, value, i) => part + weights[name][i] * value + value ** 2 / 2 + value ** 3 / 6, 0),
    0,
  );
const cotangentOf = (series: Evaluated, weights: Evaluated): Evaluated =>
  Object.fromEntries(
    Object.entries(series).map(([name, y]) => [name, y.map((value, i) => weights[name][i] + value + value ** 2 / 2)]),
  );

/** As in spec/integrate/adjoints/adjoint.slow.spec.ts. */
const apart = 2 ** -10;
const away = 2 ** -7;

function prepared(chosen: Recipe): {
  sample: Sample;
  point: Float64Array;
  directions: Float64Array[];
  weights: Evaluated;
} {
  const sample = sampleOf(chosen);
  const point = pointOf(sample);
  return {
    sample,
    point,
    directions: [1, 5].map(more => directionOf(sample, chosen.seed + more)),
    weights: weightsOf(evaluate(sample, point), chosen.seed + 2),
  };
}

describe('products with the Hessian', () => {
  slow('of random runs are differences of gradients, symmetric, with a Taylor remainder of third order', () => {
    fc.assert(
      fc.property(recipe, chosen => {
        const {
          sample,
          point,
          directions: [u, v],
          weights,
        } = prepared(chosen);
        const {
          value,
          gradient,
          products: [hu, hv],
        } = hessianOf(sample, point, tensorLoss(weights), [u, v]);
        expect(value).to.be.closeTo(lossOf(evaluate(sample, point), weights), 1e-12 * (1 + Math.abs(value)));
        const gradientAt = (s: number): Float64Array =>
          gradientOf(sample, moved(point, s, u), series => cotangentOf(series, weights));
        // With a gradient to come a step keeps no Jacobian of another: the last bits are others where that is asked for.
        expect(relative(gradient, gradientAt(0))).to.be.below(1e-11);

        const scale = norm(hu) + 1e-3 * norm(gradient);
        const byDifferences = hu.map((_, i) => slope(s => gradientAt(s)[i], apart));
        expect(norm(difference(hu, byDifferences))).to.be.below(1e-7 * scale);
        const [uhv, vhu] = [dot(u, hv), dot(v, hu)];
        expect(Math.abs(uhv - vhu)).to.be.below(1e-10 * (norm(u) * norm(hv) + norm(v) * norm(hu)));

        const remainder = (s: number): number =>
          Math.abs(
            lossOf(evaluate(sample, moved(point, s, u)), weights)
              - value
              - s * dot(gradient, u)
              - ((s * s) / 2) * dot(hu, u),
          );
        const [coarse, fine] = [remainder(away), remainder(away / 2)];
        // Where third derivatives cancel, the remainder falls faster or is rounding.
        if (fine > 1e-9 * Math.abs(value)) expect(order(coarse, fine)).to.be.above(2.8);
      }),
      runs(15, 20240229),
    );
  });

  /** A pendulum of two masses, stiff rods or soft ones, with everything about it a parameter. */
  const pendulum = (soft: boolean): MechanicalSystem => {
    const gap = ({q, params}: {q: tf.Tensor; params: unknown}): tf.Tensor => {
      const [a, b] = tf.split(tf.reshape(q, [2, 2]), 2);
      return tf.sub(tf.stack([tf.sum(tf.square(a)), tf.sum(tf.square(tf.sub(b, a)))]), tf.square((params as P).l));
    };
    return mechanics({
      mass: ({params}) => tf.mul((params as P).m, tf.ones([4])),
      forces: ({v, params}) =>
        tf.sub(tf.mul((params as P).m, tf.mul((params as P).g, [0, -1, 0, -1])), tf.mul(0.1, tf.mul(v, tf.square(v)))),
      constraints: [soft ? compliant(gap, {compliance: 1e-3}) : bilateral(gap)],
    });
  };
  const hanging = {initial: {q: [1, 0, 1, -1], v: [0, 0, 0.5, 0]}, params: {m: 1.5, g: 9.81, l: [1, 1]}};
  const held: Readonly<Record<string, {soft: boolean; options: Partial<RunSettings>}>> = {
    generalizedAlpha: {soft: false, options: {scheme: generalizedAlpha()}},
    ggl: {soft: false, options: {scheme: generalizedAlpha(), stabilization: 'ggl'}},
    projection: {soft: false, options: {scheme: implicitEuler(), stabilization: 'projection'}},
    radauIIA5: {soft: false, options: {scheme: radauIIA5()}},
    'compliant rods, trapezoid': {soft: true, options: {scheme: trapezoid()}},
  };
  for (const [name, {soft, options}] of Object.entries(held)) {
    slow(`with constraints, the start and the multipliers with them: ${name}`, () => {
      const system = pendulum(soft);
      const all: SimulateOptions = {dt: 0.02, steps: 6, saveAt: {every: 3}, consistent: 'project', ...options};
      const loss: SeriesLoss = ({q, v}) => tf.add(tf.sum(tf.mul(q, tf.square(q))), tf.sum(tf.square(v)));
      const run = (s: number, directions: readonly Tangent[]): Hvps => {
        const at = {m: hanging.params.m + 0.3 * s, g: hanging.params.g - s, l: [1 + 0.2 * s, 1 - 0.4 * s]};
        const result = simulate.hvps(system, hanging.initial, {...all, params: at}, loss, directions);
        result.trajectory.dispose();
        return result;
      };
      const numbers = ({params}: Pullback): number[] =>
        Object.values(params).flatMap(leaf => [...(leaf as Float64Array)]);
      const {products} = run(0, [{params: {m: 0.3, g: -1, l: [0.2, -0.4]}}]);
      const found = numbers(products[0]);
      const byDifferences = found.map((_, i) => slope(s => numbers(run(s, [{params: {m: 0}}]).gradient)[i], 1e-3));
      // Differences of 1e-3: truncation 1e-12, Newton's 1e-14 over 1e-3.
      expect(relative(found, byDifferences)).to.be.below(1e-8);
    });
  }

  const stiff = mechanics({
    mass: [1, 2],
    forces: ({q, v, t, params}) =>
      tf.addN([tf.neg(tf.mul((params as P).k, tf.sinh(q))), tf.mul(v, -0.1), tf.mul(tf.cos(tf.mul(t, 3)), [0.3, 0.3])]),
  });
  const start = {q: [1, 0.7], v: [0.2, -0.1]};
  const quadratic: SeriesLoss = ({q, v}) => tf.add(tf.sum(tf.square(q)), tf.sum(tf.mul(v, tf.square(v))));
  const two = [{params: {k: [1, 0]}, initial: {v: [0.5, -1]}}, {params: {k: [0.3, 1]}}];
  const numbersOf = ({initial, params}: Partial<Pick<Pullback, 'initial'>> & Pick<Pullback, 'params'>): number[] => [
    ...(initial?.q as Float64Array),
    ...(initial?.v as Float64Array),
    ...(params.k as Float64Array),
  ];
  const everything = ({value, gradient, products}: Hvps): number[] => [
    value,
    ...numbersOf(gradient),
    ...products.flatMap(numbersOf),
  ];
  const secondOrder = (options: SimulateOptions): Hvps => {
    const result = simulate.hvps(stiff, start, {params: {k: [3, 5]}, ...options}, quadratic, two);
    result.trajectory.dispose();
    return result;
  };

  slow('are the same to the last bit for every budget of memory', () => {
    const cases: readonly SimulateOptions[] = [
      {scheme: implicitMidpoint(), dt: 0.05, steps: 40},
      {scheme: trapezoid(), dt: 0.05, steps: 40, saveAt: 'end', engine: 'interpreter'},
      {scheme: verlet(), dt: 0.05, steps: 40, saveAt: {every: 7}},
      {scheme: newmark(), dt: 0.05, steps: 40},
      {scheme: kvaerno3(), dt: 0.05, t1: 1.93},
      {scheme: trapezoid(), dt: 0.05, t1: 2, saveAt: [0.01, 0.33, 0.34, 1.999]},
      {scheme: kvaerno3(), dt: 0.05, t1: 2, control: adaptive({rtol: 1e-7}), saveAt: [0.01, 0.33, 0.34, 2]},
      {scheme: dopri5(), dt: 0.05, t1: 2, control: adaptive({rtol: 1e-7}), saveAt: [0.01, 0.33, 2]},
      {
        scheme: trapezoid(),
        dt: 1.5,
        steps: 10,
        newton: newton({onFailure: 'halve', maxIterations: 4}),
        saveAt: {every: 3},
      },
    ];
    for (const options of cases) {
      const whole = secondOrder(options);
      expect(whole.gradient.recomputedSteps, options.scheme?.name).to.equal(0);
      for (const memory of [700, 1]) {
        const part = secondOrder({...options, adjoint: implicitAdjoint({memory})});
        expect(everything(part), `${options.scheme?.name}, ${memory}`).to.deep.equal(everything(whole));
        expect(part.gradient.recomputedSteps).to.be.above(0);
      }
    }
  });

  slow('through states between steps are those of differences of gradients', () => {
    for (const scheme of [trapezoid(), rk4(), tsit5(), newmark(), gaussLegendre({stages: 2}), kvaerno5()]) {
      for (const {name: engine} of doubleEngines) {
        const options: SimulateOptions = {scheme, engine, dt: 0.1, t1: 1, saveAt: [0.05, 0.21, 0.29, 0.5, 0.97]};
        const at = (s: number): Hvps => {
          const result = simulate.hvps(
            stiff,
            {q: start.q, v: [0.2 + 0.5 * s, -0.1 - s]},
            {...options, params: {k: [3 + s, 5]}},
            quadratic,
            [two[0]],
          );
          result.trajectory.dispose();
          return result;
        };
        const found = numbersOf(at(0).products[0]);
        expect(
          relative(
            found,
            found.map((_, i) => slope(s => numbersOf(at(s).gradient)[i], 1e-3)),
          ),
          `${scheme.name}, ${engine}`,
        ).to.be.below(1e-8);
      }
    }
  });

  slow('along adaptive steps are those of the same steps on a grid', () => {
    const grid: SimulateOptions = {scheme: kvaerno3(), dt: 0.0625, t1: 2};
    // So tolerant that every step is as long as it may be; the grid saves between its steps too. Newton's last bits are others.
    const loose = {...grid, control: adaptive({rtol: 0.9, atol: 1e3, max: 0.0625})};
    for (const saveAt of ['all', 'end', [0.3, 1.1, 1.97]] as const) {
      expect(
        relative(everything(secondOrder({...loose, saveAt})), everything(secondOrder({...grid, saveAt}))),
        String(saveAt),
      ).to.be.below(1e-10);
    }
    // The lengths of steps count as given, so that differences agree as far as the tolerance does.
    const tight: SimulateOptions = {
      scheme: kvaerno3(),
      dt: 0.05,
      t1: 2,
      saveAt: 'end',
      control: adaptive({rtol: 1e-8, atol: 1e-10}),
    };
    const product = numbersOf(secondOrder(tight).products[0]);
    const exact = numbersOf(
      secondOrder({scheme: gaussLegendre({stages: 3}), dt: 0.02, t1: 2, saveAt: 'end'}).products[0],
    );
    expect(relative(product, exact)).to.be.below(1e-5);
  });

  slow('along adaptive steps of which the first was refused have the gradient of vjp', () => {
    // The rate that these carry from the start on is made for the length of the first step that is taken.
    for (const scheme of [bdf2(), generalizedAlpha(), newmark({beta: 0.36, gamma: 0.7})])
      for (const first of [0.6, 'auto'] as const) {
        const options: SimulateOptions = {
          ...{scheme, dt: 0.6, t1: 2, saveAt: [0.33, 2], params: {k: [3, 5]}},
          control: adaptive({rtol: 1e-4, atol: 1e-4, first}),
        };
        const {gradient, trajectory} = simulate.hvps(stiff, start, options, quadratic, two);
        if (first !== 'auto') expect(trajectory.stats.failures.error, scheme.name).to.be.above(0);
        trajectory.dispose();
        const {gradient: exact} = simulate.prepare(stiff, start, options).valueAndGrad(quadratic);
        expect(relative(numbersOf(gradient), numbersOf(exact)), `${scheme.name}, ${first}`).to.be.below(1e-11);
      }
  });

  it('of a loss whose cotangent is none say so', () => {
    const options: SimulateOptions = {scheme: trapezoid(), dt: 0.05, steps: 20, params: {k: [3, 5]}};
    expect(() => simulate.hvps(stiff, start, options, {cotangent: () => undefined as never}, two))
      .to.throw(OptionError)
      .with.property('code', 'bad-cotangent');
  });

  slow('of a loss by cotangents are those of the traced one; by itself it is linear', () => {
    const options: SimulateOptions = {scheme: trapezoid(), dt: 0.05, steps: 20, params: {k: [3, 5]}};
    const traced = secondOrder(options);
    const given = simulate.hvps(
      stiff,
      start,
      options,
      {
        value: trajectory =>
          trajectory.values('q').reduce((sum, q) => sum + q * q, 0)
          + trajectory.values('v').reduce((sum, v) => sum + v ** 3, 0),
        cotangent: trajectory => ({
          q: trajectory.values('q').map(q => 2 * q),
          v: trajectory.values('v').map(v => 3 * v * v),
        }),
        tangent: ({q, v}, trajectory) => ({
          q: q.map(dq => 2 * dq),
          v: v.map((dv, i) => 6 * trajectory.values('v')[i] * dv),
        }),
      },
      two,
    );
    given.trajectory.dispose();
    expect(relative(everything(given), everything(traced))).to.be.below(1e-13);

    const linear = simulate.hvp(
      stiff,
      start,
      options,
      {cotangent: ({values}) => ({q: values('q').map(() => 1)})},
      two[1],
    );
    const same = simulate.hvp(stiff, start, options, ({q}) => tf.sum(q), two[1]);
    for (const {trajectory} of [linear, same]) trajectory.dispose();
    expect(linear.value).to.deep.equal(NaN);
    expect(relative(numbersOf(linear.product), numbersOf(same.product))).to.be.below(1e-13);
  });

  it('reach what the loss depends on by itself: params, variables of its own and of the system, times', () => {
    const k = tf.variable(tf.scalar(4));
    const penalty = tf.variable(tf.tensor1d([0.5, 2]));
    const system = ode(({y, params}) => tf.neg(tf.mul(k, tf.mul((params as P).c, y))));
    const options: SimulateOptions = {
      scheme: gaussLegendre({stages: 3}),
      dt: 0.05,
      steps: 20,
      saveAt: 'end',
      params: {c: 0.3},
    };
    // y(1) = e^{−kc}; L = y(1) t₁ k + c² k² + Σ p² c.
    const loss: SeriesLoss = ({y, t, params}) =>
      tf.addN([
        tf.mul(tf.mul(tf.slice(y, [1], [1]), tf.slice(t, [1], [1])), k),
        tf.reshape(tf.square(tf.mul((params as P).c, k)), [1]),
        tf.reshape(tf.mul(tf.sum(tf.square(penalty)), (params as P).c), [1]),
      ]);
    const {value, gradient, products, trajectory} = simulate.hvps(system, {y: 1}, options, loss, [
      {variables: new Map([[k, 1]])},
      {params: {c: 1}},
      {variables: new Map([[penalty, [1, 0]]])},
      {initial: {y: 1}},
    ]);
    trajectory.dispose();
    const [kk, c, p] = [4, 0.3, 4.25];
    const y = Math.exp(-kk * c);
    const near = (found: number, expected: number): void => void expect(found).to.be.closeTo(expected, 1e-9);
    const rows = [gradient, ...products].map(one => [
      (one.variables.get(k) as Float64Array)[0],
      (one.params.c as Float64Array)[0],
      (one.variables.get(penalty) as Float64Array)[0],
      (one.initial.y as Float64Array)[0],
    ]);
    const exact = [
      [y - kk * c * y + 2 * c * c * kk, -kk * kk * y + 2 * c * kk * kk + p, c, kk * y],
      [-2 * c * y + kk * c * c * y + 2 * c * c, -2 * kk * y + kk * kk * c * y + 4 * c * kk, 0, y - kk * c * y],
      [-2 * kk * y + kk * kk * c * y + 4 * c * kk, kk ** 3 * y + 2 * kk * kk, 1, -kk * kk * y],
      [0, 1, 2 * c, 0],
      [y - kk * c * y, -kk * kk * y, 0, 0],
    ];
    near(value, y * kk + c * c * kk * kk + p * c);
    exact.forEach((row, i) => row.forEach((number, j) => near(rows[i][j], number)));
    k.dispose();
    penalty.dispose();
  });

  slow("of energies over elements are those of the energy, not of the model that Newton's matrix is made of", () => {
    const chain = (hessian: 'exact' | 'projected'): MechanicalSystem =>
      mechanics({
        mass: 1,
        forces: elements({
          nodes: [
            [0, 1],
            [1, 2],
          ],
          hessian,
          energy: ({x, params}) =>
            tf.mul(
              tf.mul(0.5, (params as P).k),
              tf.square(tf.sub(tf.sum(tf.square(tf.sub(tf.slice(x, [1], [1]), tf.slice(x, [0], [1])))), 1)),
            ),
        }),
      });
    const product = (hessian: 'exact' | 'projected'): number => {
      const {
        product: {params},
        trajectory,
      } = simulate.hvp(
        chain(hessian),
        {q: [0, 0.8, 2.1], v: [0, 0, 0]},
        {scheme: trapezoid(), dt: 0.05, steps: 10, params: {k: 5}},
        ({q}) => tf.sum(tf.square(q)),
        {params: {k: 1}},
      );
      trajectory.dispose();
      return (params.k as Float64Array)[0];
    };
    expect(product('projected') / product('exact')).to.be.closeTo(1, 1e-10);
  });

  slow('of a prepared simulation, a run that goes on, and the tensor engine', () => {
    const options: SimulateOptions = {scheme: newmark(), dt: 0.05, steps: 12, params: {k: [3, 5]}};
    const simulation = simulate.prepare(stiff, start, options);
    const again = simulation.hvps(quadratic, two, {params: {k: [4, 2]}});
    const anew = simulate.hvps(stiff, start, {...options, params: {k: [4, 2]}}, quadratic, two);
    for (const {trajectory} of [again, anew]) trajectory.dispose();
    expect(everything(again)).to.deep.equal(everything(anew));

    const path = simulate(stiff, start, {...options, steps: 5});
    const state = path.state();
    const on = (s: number): Hvps => {
      const result = simulate.hvps(stiff, state, {...options, params: {k: [3 + s, 5]}}, quadratic, [
        {params: {k: [1, 0]}},
      ]);
      for (const {dispose} of [result.trajectory, path]) dispose();
      return result;
    };
    expect((on(0).products[0].params.k as Float64Array)[1]).to.be.closeTo(
      slope(s => (on(s).gradient.params.k as Float64Array)[1], 1e-3),
      1e-8,
    );

    const single = secondOrder({...options, engine: 'tensor'});
    expect(relative(everything(single), everything(secondOrder(options)))).to.be.below(1e-3);
  });

  describe('are refused', () => {
    const options: SimulateOptions = {scheme: trapezoid(), dt: 0.05, steps: 4, params: {k: [3, 5]}};
    const hvp = (
      more: Partial<RunSettings> & {steps?: number},
      loss: unknown = quadratic,
      direction: Tangent = two[0],
    ): unknown => simulate.hvp(stiff, start, {...options, ...more} as SimulateOptions, loss as SeriesLoss, direction);
    const refused = (
      f: () => unknown,
      code: string,
      message: RegExp,
      kind: new (...args: never[]) => Error = OptionError,
    ): void => {
      const before = tf.memory().numTensors;
      expect(f).to.throw(kind, message).with.property('code', code);
      expect(tf.memory().numTensors).to.equal(before);
    };
    it('other adjoints', () => {
      for (const adjoint of [unrolledAdjoint(), forwardSensitivity(), backsolveAdjoint()])
        refused(() => hvp({adjoint}), 'bad-adjoint', /uses the implicit adjoint/);
    });
    it('observations', () => refused(() => hvp({observe: ({q}) => q}), 'bad-hvp', /omit observe/));
    it('what is no loss', () => {
      for (const loss of [null, 3, {}, {tangent: () => ({})}])
        refused(() => hvp({}, loss), 'bad-loss', /the loss must be a function of the saved series/);
      refused(
        () => hvp({}, ({q}: {q: tf.Tensor}) => q),
        'loss-shape',
        /scalar tensor, not one of shape \[5, 2\]/,
        ShapeError,
      );
      refused(() => hvp({}, () => 3), 'loss-shape', /scalar tensor, not 3/, ShapeError);
      refused(() => hvp({}, ({q}: {q: tf.Tensor}) => tf.scalar(q.dataSync()[0])), 'value-read', /loss/, TraceError);
      refused(
        () => hvp({}, {cotangent: () => ({q: [1, 2]})}),
        'cotangent-shape',
        /cotangent\.q has 2 numbers/,
        ShapeError,
      );
    });
    it('directions of what is not there', () => {
      refused(() => simulate.hvps(stiff, start, options, quadratic, []), 'bad-tangent', /one direction at least/);
      refused(() => hvp({}, quadratic, {params: {c: 1}}), 'bad-tangent', /no such parameter/);
    });
    it('a run that fails, whatever it is told to do then', () => {
      expect(() => hvp({throw: false, scheme: rk4(), dt: 10, steps: 40}))
        .to.throw()
        .with.property('code', 'not-finite');
    });
  });

  it('leave no tensors behind', () => {
    const before = tf.memory().numTensors;
    secondOrder({scheme: trapezoid(), dt: 0.05, t1: 0.5, saveAt: [0.11, 0.5]});
    expect(tf.memory().numTensors).to.equal(before);
  });
});
