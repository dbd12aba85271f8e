/** The continuous adjoint: its order, what it reaches, how it fails, and what it refuses. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Pullback, Scheme, SimulateOptions} from '../../../lib/index.js';
import type {RunSettings} from '../../../lib/simulate/options.js';
import {
  adaptive,
  backsolveAdjoint,
  batch,
  bdf2,
  bilateral,
  cg,
  dopri5,
  event,
  explicitEuler,
  gaussLegendre,
  generalizedAlpha,
  implicitAdjoint,
  implicitEuler,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  newton,
  ode,
  OptionError,
  radauIIA5,
  rk4,
  sdirk2,
  signal,
  simulate,
  symplecticEuler,
  trapezoid,
  tsit5,
} from '../../../lib/index.js';
import {doubleEngines} from '../../simulate/engines.js';
import {order, relative} from '../../simulate/numbers.js';
import {slow} from '../../tiers.js';

type P = Readonly<Record<string, tf.Tensor>>;

/** Of everything: a tree of params, a captured variable and a captured tensor, time, and what f does not depend on. */
const kernel = tf.tensor2d([
  [0.3, -0.5],
  [0.2, 0.4],
]);
const offset = tf.tensor1d([0.1, -0.2]);
const derivative = ({y, t, params}: {y: tf.Tensor; t: tf.Tensor; params: unknown}, bias: tf.Tensor): tf.Tensor => {
  const {rate, drive, unused} = params as {rate: tf.Tensor; drive: P; unused: tf.Tensor};
  void unused; // read, and without an effect: what is not read at all is refused
  const inner = tf.add(tf.reshape(tf.matMul(kernel, tf.reshape(y, [2, 1])), [2]), bias);
  return tf.addN([tf.tanh(inner), tf.neg(tf.mul(rate, y)), tf.mul(drive.size, tf.sin(tf.mul(drive.omega, t))), offset]);
};
const params = {rate: 0.4, drive: {size: [0.5, -0.3], omega: 2}, unused: 3};
const initial = {y: [0.8, -0.6], t: 0.3};

const flat = (pulled: Pullback, bias: tf.Variable): Float64Array => {
  const {rate, drive, unused} = pulled.params as {
    rate: Float64Array;
    drive: {size: Float64Array; omega: Float64Array};
    unused: Float64Array;
  };
  return Float64Array.from([
    ...(pulled.initial.y as Float64Array),
    ...rate,
    ...drive.size,
    ...drive.omega,
    ...unused,
    ...(pulled.variables.get(bias) as Float64Array),
    ...(pulled.tensors.get(kernel) as Float64Array),
    ...(pulled.tensors.get(offset) as Float64Array),
  ]);
};

describe('the continuous adjoint', () => {
  let bias: tf.Variable;
  before(() => {
    bias = tf.variable(tf.tensor1d([0.2, 0.1]));
  });
  after(() => bias.dispose());
  const system = ode(at => derivative(at, bias));

  function gradient(options: SimulateOptions): Float64Array {
    const {trajectory, pullback} = simulate.vjp(system, initial, {params, ...options});
    const y = trajectory.values('y');
    trajectory.dispose();
    const observed =
      options.observe === undefined ? {} : {observed: trajectory.values('observed').map((_, i) => Math.cos(i))};
    return flat(pullback({y: y.map((value, i) => value * Math.sin(i + 1)), ...observed}), bias);
  }

  const schemes: readonly [Scheme, number][] = [
    [explicitEuler(), 1],
    [implicitEuler(), 1],
    [trapezoid(), 2],
    [bdf2(), 2],
    [sdirk2(), 2],
    [kvaerno3(), 3],
    [rk4(), 4],
    [gaussLegendre({stages: 2}), 4],
    [radauIIA5(), 5],
    [kvaerno5(), 5],
    [tsit5(), 5],
  ];
  for (const [scheme, p] of schemes) {
    slow(`has the order of ${scheme.name}, ${p}, in every part of the gradient`, () => {
      const error = (steps: number): number => {
        const options = {scheme, dt: 1.5 / steps, steps, saveAt: 'end'} as const;
        const exact = gradient({
          ...options,
          scheme: gaussLegendre({stages: 3}),
          dt: 1.5 / 24,
          steps: 24,
          adjoint: implicitAdjoint(),
        });
        return relative(gradient({...options, adjoint: backsolveAdjoint()}), exact);
      };
      const steps = p > 3 ? 6 : p > 1 ? 24 : 48;
      // Of these few steps; one that has a better constant at one of the two shows more.
      expect(order(error(steps), error(2 * steps))).to.be.above(p - 0.35);
    });
  }

  slow('begins anew at every saved state, on the grid, beside it, and where steps are not equal', () => {
    const exact = (options: SimulateOptions): Float64Array =>
      gradient({...options, scheme: gaussLegendre({stages: 2}), adjoint: implicitAdjoint()});
    const cases: readonly SimulateOptions[] = [
      {dt: 0.05, steps: 30, saveAt: 'all'},
      {dt: 0.05, t1: 1.77, saveAt: {every: 7}},
      {dt: 0.05, t1: 1.77, saveAt: 'end'},
      {dt: 0.05, t1: 1.77, saveAt: [0.45, 1.2, 1.77]},
      {dt: 0.05, t1: 1.77, saveAt: [0.3, 0.456, 1.11, 1.5]},
      {dt: 0.05, t1: 1.77, saveAt: [0.9]},
    ];
    for (const options of cases) {
      for (const {name: engine} of doubleEngines) {
        const found = gradient({...options, engine, scheme: gaussLegendre({stages: 2}), adjoint: backsolveAdjoint()});
        expect(relative(found, exact(options)), JSON.stringify(options)).to.be.below(1e-7);
      }
    }
  });

  it('through an observed function of state, time and parameters', () => {
    const options: SimulateOptions = {
      scheme: rk4(),
      dt: 0.05,
      t1: 1.77,
      saveAt: [0.3, 0.456, 1.5],
      observe: ({y, t, params: at}) => tf.mul((at as P).rate, tf.add(tf.square(y), t)),
    };
    expect(relative(gradient({...options, adjoint: backsolveAdjoint()}), gradient(options))).to.be.below(1e-6);
  });

  slow('keeps the order of the scheme where a held input jumps at the end of a step, whatever it carries', () => {
    // y' = k u − y, u = 1 up to t = 1 and 3 from there on: ∂y(2)/∂k = (1 − 1/e)/e + 3 (1 − 1/e), and as much with time turned.
    const held = signal([-3, -1, 1, 3], [3, 1, 3, 3], 'hold');
    const forced = (sign: number) =>
      ode<{k: tf.Tensor}>(({y, t, params: {k}}) => tf.mul(sign, tf.sub(tf.mul(k, held.at(t)), y)));
    const exact = (1 - Math.exp(-1)) * (Math.exp(-1) + 3);
    for (const scheme of [rk4(), tsit5(), dopri5(), kvaerno5(), radauIIA5(), bdf2()])
      for (const sign of [1, -1]) {
        const options = {scheme, dt: sign / 32, t1: 2 * sign, saveAt: 'end', params: {k: 1}} as const;
        const {trajectory, pullback} = simulate.vjp(forced(sign), {y: 0}, {...options, adjoint: backsolveAdjoint()});
        const {params} = pullback({y: [0, 1]});
        trajectory.dispose();
        const tolerance = scheme.name === 'bdf2' ? 2e-3 : 2e-8;
        expect((params.k as Float64Array)[0], `${scheme.name}, ${sign}`).to.be.closeTo(exact, tolerance);
      }
  });

  it('with adaptive steps has an error that falls with the tolerance', () => {
    const errors = [1e-4, 1e-6, 1e-8].map(rtol => {
      const options = {
        scheme: rk4(),
        dt: 0.1,
        t1: 3,
        saveAt: [0.3, 1, 2.2, 3],
        control: adaptive({rtol, atol: rtol}),
      } as const;
      const exact = gradient({...options, control: adaptive({rtol: 1e-12, atol: 1e-12})});
      return relative(gradient({...options, adjoint: backsolveAdjoint()}), exact);
    });
    errors.forEach((error, i) => expect(error).to.be.below(100 * 10 ** (-4 - 2 * i)));
    expect(errors[2]).to.be.below(1e-2 * errors[0]);
  });

  it('does not depend on the size of the cotangents', () => {
    const {trajectory, pullback} = simulate.vjp(system, initial, {
      params,
      scheme: implicitEuler(),
      dt: 0.1,
      steps: 10,
      adjoint: backsolveAdjoint(),
    });
    trajectory.dispose();
    const by = (scale: number): Float64Array => flat(pullback({y: new Float64Array(22).fill(scale)}), bias);
    const one = by(1);
    for (const scale of [1e-12, 1e12])
      expect(
        relative(
          by(scale).map(value => value / scale),
          one,
        ),
      ).to.be.below(1e-14);
    expect([...by(0)]).to.deep.equal([...one].map(() => 0));
  });

  const pendulum = mechanics({
    mass: ({q, params: at}) => tf.mul((at as P).m, tf.add(1, tf.mul(0.1, tf.square(tf.sin(q))))),
    forces: ({q, v, params: at}) => tf.sub(tf.neg(tf.mul((at as P).k, tf.sin(q))), tf.mul(0.1, v)),
  });
  const swing = {initial: {q: [1, -0.4], v: [0, 0.3]}, params: {m: 1.2, k: [9.81, 5]}};
  const swinging = (options: SimulateOptions): Pullback => {
    const {trajectory, pullback} = simulate.vjp(pendulum, swing.initial, {params: swing.params, ...options});
    trajectory.dispose();
    return pullback({q: trajectory.values('q'), v: trajectory.values('v')});
  };

  slow('of mechanics, by every scheme that integrates its first-order form, whatever solves its steps', () => {
    const all = ({initial: start, params: at}: Pullback): Float64Array =>
      Float64Array.from([
        ...(start.q as Float64Array),
        ...(start.v as Float64Array),
        ...(at.m as Float64Array),
        ...(at.k as Float64Array),
      ]);
    const exact = all(swinging({scheme: gaussLegendre({stages: 3}), dt: 0.05, steps: 40, saveAt: {every: 10}}));
    for (const scheme of [trapezoid(), rk4(), kvaerno5(), bdf2()]) {
      const found = all(swinging({scheme, dt: 0.0125, steps: 160, saveAt: {every: 40}, adjoint: backsolveAdjoint()}));
      expect(relative(found, exact), scheme.name).to.be.below(scheme.order === 2 ? 2e-3 : 1e-6);
    }
    // Symmetric are Newton's matrices of the motion, not those of its adjoint.
    const options = {scheme: trapezoid(), dt: 0.05, steps: 20, adjoint: backsolveAdjoint()};
    expect(relative(all(swinging({...options, newton: newton({linear: cg()})})), all(swinging(options)))).to.be.below(
      1e-10,
    );
  });

  it("on tfjs's tape, with a warning in the trajectory, and none of it where there is no gradient", () => {
    const options = {params, scheme: trapezoid(), dt: 0.05, steps: 20, adjoint: backsolveAdjoint()} as const;
    let told: readonly string[] = [];
    const slope = (more: Partial<RunSettings>): Float32Array => {
      const {value, grads} = tf.variableGrads(() => {
        const trajectory = simulate(system, initial, {...options, ...more});
        told = trajectory.warnings;
        return tf.sum(tf.square(trajectory.y as tf.Tensor)) as tf.Scalar;
      });
      const values = grads[bias.name].dataSync() as Float32Array;
      tf.dispose([value, grads[bias.name]]);
      return values;
    };
    const found = slope({});
    expect(told).to.have.length(2);
    expect(told[0]).to.match(/approximate, with an error of order 2 .*trapezoid.*implicitAdjoint\(\) is exact/);
    expect(told[1]).to.match(/states came .* of their size away from where they had been, at t = /);
    expect(relative(found, slope({adjoint: implicitAdjoint()}))).to.be.below(1e-3);
    expect(told).to.deep.equal([]);

    const plain = simulate(system, initial, options);
    plain.dispose();
    expect(plain.warnings).to.deep.equal([]);
  });

  it('tells of the last pullback alone', () => {
    const {trajectory, pullback} = simulate.vjp(system, initial, {
      params,
      scheme: explicitEuler(),
      dt: 0.05,
      steps: 20,
      saveAt: 'end',
      adjoint: backsolveAdjoint(),
    });
    trajectory.dispose();
    expect(trajectory.warnings).to.have.length(1);
    expect(pullback({y: [0, 0, 1, 0]}).recomputedSteps).to.equal(20);
    pullback({y: [0, 0, 0, 1]});
    expect(trajectory.warnings).to.have.length(2);
  });

  describe('where the motion cannot be run backwards', () => {
    // x' = −λ(x − cos t), y' = p x − y: what is lost of x at the rate λ does not come back, and y's adjoint meets it.
    const relaxing = ode(({y, t, params: at}) => {
      const [fast, slow] = tf.split(y, 2);
      return tf.concat([tf.mul(-50, tf.sub(fast, tf.cos(t))), tf.sub(tf.mul((at as P).p, fast), slow)]);
    });
    const options = {scheme: trapezoid(), dt: 0.01, steps: 200, params: {p: 1}, saveAt: 'end'} as const;
    /** x = (λ² cos t + λ sin t + e^{−λt})/(λ² + 1) from x(0) = 1; dy(T)/dp = ∫ e^{−(T−s)} x(s) ds. */
    const exact = ((l: number, t: number): number => {
      const cos = (Math.cos(t) + Math.sin(t) - Math.exp(-t)) / 2;
      const sin = (Math.sin(t) - Math.cos(t) + Math.exp(-t)) / 2;
      return (l * l * cos + l * sin + (Math.exp(-t) - Math.exp(-l * t)) / (l - 1)) / (l * l + 1);
    })(50, 2);
    const slope = (more: Partial<RunSettings>): number => {
      const {trajectory, pullback} = simulate.vjp(relaxing, {y: [1, 0]}, {...options, ...more});
      trajectory.dispose();
      return (pullback({y: [0, 0, 0, 1]}).params.p as Float64Array)[0];
    };

    it('the gradient is useless, and an error says so', () => {
      expect(slope({}) / exact).to.be.closeTo(1, 1e-3);
      for (const scheme of [trapezoid(), implicitEuler(), rk4()]) {
        expect(() => slope({scheme, adjoint: backsolveAdjoint()}), scheme.name)
          .to.throw(
            OptionError,
            /differs from the saved one by .*, more than the allowed 0\.1\. .* useless.*implicitAdjoint/,
          )
          .with.property('code', 'backsolve-drift');
      }
      // Asked for all the same: errors grown by exp(50·2) = 3e43.
      expect(Math.abs(slope({scheme: rk4(), adjoint: backsolveAdjoint({drift: Infinity})}) / exact - 1)).to.be.above(
        1e3,
      );
    });

    it('the gradient is an error where state or adjoint leaves all bounds', () => {
      const cubic = ode(({y, params: at}) => tf.neg(tf.mul((at as P).c, tf.mul(y, tf.square(y)))));
      const {trajectory, pullback} = simulate.vjp(
        cubic,
        {y: 30},
        {
          scheme: implicitEuler(),
          dt: 0.1,
          steps: 10,
          params: {c: 1},
          saveAt: 'end',
          adjoint: backsolveAdjoint({drift: Infinity}),
        },
      );
      trajectory.dispose();
      expect(() => pullback({y: [0, 1]}))
        .to.throw(OptionError, /from t = 1 back to 0 state and adjoint could not be integrated .*implicitAdjoint/)
        .with.property('code', 'backsolve-failed');
    });
  });

  describe('is refused', () => {
    const refused = (f: () => unknown, message: RegExp): void => {
      expect(f).to.throw(OptionError, message).with.property('code', 'bad-adjoint');
    };
    const adjoint = backsolveAdjoint();
    const grid = {dt: 0.1, steps: 2, adjoint} as const;
    const free = mechanics({mass: 1, forces: ({q}) => tf.neg(q)});
    it('constraints', () => {
      const held = mechanics({
        mass: 1,
        forces: ({q}) => tf.neg(q),
        constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))],
      });
      refused(
        () => simulate(held, {q: [1, 0], v: [0, 0]}, {...grid, scheme: generalizedAlpha()}),
        /does not support constraints.*implicitAdjoint/,
      );
    });
    it('events', () => {
      for (const then of ['stop', 'record'] as const)
        refused(
          () => simulate(free, {q: 1, v: 0}, {...grid, scheme: trapezoid(), events: [event({when: ({q}) => q, then})]}),
          /events and their jumps.*implicitAdjoint/,
        );
    });
    it('schemes that integrate no ode', () => {
      for (const scheme of [newmark(), symplecticEuler(), generalizedAlpha()])
        refused(
          () => simulate(free, {q: 1, v: 0}, {...grid, scheme}),
          new RegExp(`which scheme ${scheme.name.replace(/[().]/g, '\\$&')} does not support.*trapezoid`),
        );
    });
    it('a saved state with what a scheme carries', () => {
      const path = simulate(free, {q: 1, v: 0}, {dt: 0.1, steps: 2, scheme: bdf2()});
      path.dispose();
      refused(
        () => simulate(free, path.state(), {...grid, scheme: bdf2()}),
        /blocks that cannot be integrated backwards/,
      );
    });
    it('cotangents of what a scheme carries', () => {
      const {trajectory, pullback} = simulate.vjp(
        free,
        {q: 1, v: 0},
        {...grid, scheme: {...newmark(), ode: trapezoid().ode}},
      );
      trajectory.dispose();
      refused(() => pullback({a: [0, 0, 1]}), /a is not part of the integrated state/);
      expect(pullback({q: [0, 0, 1]}).initial.q).to.have.length(1);
    });
    it('a drift that is no size', () => {
      for (const drift of [0, -1, NaN]) refused(() => backsolveAdjoint({drift}), /drift must be a positive number/);
    });
  });

  it('of a batch stays in this thread', () => {
    const {trajectories, pullback} = batch.vjp(system, [initial, {...initial, y: [0.1, 0.2]}], {
      params,
      scheme: trapezoid(),
      dt: 0.1,
      steps: 10,
      adjoint: backsolveAdjoint(),
      workers: 2,
    });
    trajectories.forEach(trajectory => trajectory.dispose());
    expect(trajectories.map(({stats}) => stats.thread)).to.deep.equal(['own', 'own']);
    const {members} = pullback([{y: new Float64Array(22).fill(1)}, {y: new Float64Array(22).fill(1)}]);
    const alone = simulate.vjp(system, initial, {
      params,
      scheme: trapezoid(),
      dt: 0.1,
      steps: 10,
      adjoint: backsolveAdjoint(),
    });
    alone.trajectory.dispose();
    expect(flat(members[0], bias)).to.deep.equal(flat(alone.pullback({y: new Float64Array(22).fill(1)}), bias));
  });

  it('leaves no tensors behind', () => {
    const before = tf.memory().numTensors;
    gradient({scheme: trapezoid(), dt: 0.1, steps: 5, adjoint: backsolveAdjoint()});
    expect(tf.memory().numTensors).to.equal(before);
  });
});
