/**
 * Newton through whole runs: a stick–slip oscillator on which full steps diverge and both damped
 * strategies converge, Jacobians kept, steps halved, and the limits of the arithmetic.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Newton, Scheme, StepLength} from '../../lib/index.js';
import type {RunSettings} from '../../lib/simulate/options.js';
import {
  backtracking,
  full,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  NewtonError,
  newton,
  ode,
  simulate,
  subSteps,
  theta,
  trapezoid,
} from '../../lib/index.js';
import {relative, slope} from '../simulate/numbers.js';
import {bisect} from './equations.js';
import {slow} from '../tiers.js';

/** A block on a driven spring with dry friction, 5 N within ±1 mm/s: the slope of its force jumps by a factor 100 where it sticks. */
const stickSlip = mechanics({
  mass: 1,
  forces: [
    ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, q)),
    ({v}) => tf.mul(-5, tf.tanh(tf.mul(1000, v))),
    ({t}) => tf.mul([50], tf.sin(tf.mul(3, t))),
  ],
});
const dt = 0.01;
const steps = 300;

function stick(
  scheme: Scheme,
  how: Newton,
  options: Partial<RunSettings> & {steps?: number} = {},
): ReturnType<typeof simulate> {
  return simulate(stickSlip, {q: [0.1], v: [0]}, {scheme, dt, steps, params: {k: 100}, newton: how, ...options});
}

/** The same run in implicit Euler, each step's velocity by bisection: its residual rises with v. */
function stickByBisection(): {q: number[]; v: number[]} {
  const path = {q: [0.1], v: [0]};
  for (let n = 0; n < steps; n++) {
    const q = path.q[n];
    const v = path.v[n];
    const next = bisect(
      x => x - v - dt * (-100 * (q + dt * x) - 5 * Math.tanh(1000 * x) + 50 * Math.sin(3 * (n + 1) * dt)),
      -100,
      100,
    );
    path.v.push(next);
    path.q.push(q + dt * next);
  }
  return path;
}

describe('newton: strategies on a stick–slip oscillator', () => {
  it('full steps diverge', () => {
    for (const scheme of [implicitEuler(), implicitMidpoint(), trapezoid()]) {
      expect(() => stick(scheme, newton()))
        .to.throw(NewtonError)
        .with.property('code', 'newton-diverged');
    }
  });

  it('sub-steps and backtracking converge to the root that bisection finds, in every step', () => {
    const {q, v} = stickByBisection();
    // It sticks and slips, or nothing is shown.
    expect(v.filter(x => Math.abs(x) < 1e-3).length).to.be.above(5);
    expect(v.filter(x => Math.abs(x) > 0.5).length).to.be.above(100);
    for (const step of [subSteps(0.1), backtracking()]) {
      for (const jacobian of ['fresh', 'chord', 'auto'] as const) {
        const path = stick(implicitEuler(), newton({step, jacobian}));
        // A velocity inside the friction's steep part is determined to rounding/50; errors of a step stay bounded by the damping.
        path
          .values('v')
          .forEach((x, n) => expect(x, `${step.name}, ${jacobian}, step ${n}`).to.be.closeTo(v[n], 1e-11));
        path.values('q').forEach((x, n) => expect(x).to.be.closeTo(q[n], 1e-11));
        path.dispose();
      }
    }
  });

  it('neither costs much where full steps would do', () => {
    const easy = (step: StepLength): number => {
      const path = simulate(
        mechanics({mass: 1, forces: ({q}) => tf.neg(tf.sinh(q))}),
        {q: [1], v: [0]},
        {scheme: trapezoid(), dt: 0.1, steps: 50, newton: newton({step})},
      );
      path.dispose();
      return path.stats.newtonIterations;
    };
    expect(easy(backtracking())).to.equal(easy(full()));
    expect(easy(subSteps(0.5))).to.be.at.most(easy(full()) + 50);
  });

  it('the gradient through damped steps is that of finite differences, by the implicit adjoint', () => {
    const how = newton({step: backtracking()});
    const loss = (k: number): number => {
      const path = stick(implicitMidpoint(), how, {params: {k}, saveAt: 'end', steps: 100});
      path.dispose();
      return path.values('q')[1];
    };
    const {trajectory, pullback} = simulate.vjp(
      stickSlip,
      {q: [0.1], v: [0]},
      {scheme: implicitMidpoint(), dt, steps: 100, params: {k: 100}, newton: how, saveAt: 'end'},
    );
    trajectory.dispose();
    const [gradient] = pullback({q: [0, 1]}).params.k as Float64Array;
    // A step of 1e-3 in k moves the velocities within the friction's 1e-3 by 1e-5: the formula's h⁴ leaves 1e-7.
    expect(gradient).to.be.closeTo(
      slope(s => loss(100 + s), 1e-3),
      1e-7 * Math.abs(gradient),
    );
  });
});

describe('newton: kept Jacobians through a run', () => {
  const n = 8;
  /** Hardening springs in a row; large strains, so that the Jacobian changes along the run. */
  const chain = mechanics({
    mass: 1,
    forces: ({q, v}) => {
      const strain = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, 0, n - 1)]));
      const tension = tf.mul(1000, tf.add(strain, tf.mul(0.5, tf.pow(strain, 3))));
      return tf.add(tf.sub(tf.sub(tf.concat([tf.slice(tension, 1), tf.zeros([1])]), tension), tf.mul(0.1, v)), 50);
    },
  });
  const run = (how: Newton): ReturnType<typeof simulate> => {
    const path = simulate(
      chain,
      {q: new Float64Array(n), v: new Float64Array(n)},
      {scheme: implicitMidpoint(), dt: 0.01, steps: 100, newton: how},
    );
    path.dispose();
    return path;
  };

  it('reach the same states with fewer factorizations', () => {
    const [fresh, chord, auto] = (['fresh', 'chord', 'auto'] as const).map(jacobian => run(newton({jacobian})));
    // Each step ends within 1e-14 of its root; 100 steps of a conservative system add them up.
    for (const path of [chord, auto]) expect(relative(path.values('q'), fresh.values('q'))).to.be.below(1e-11);
    expect(fresh.stats.factorizations).to.equal(fresh.stats.newtonIterations);
    expect(chord.stats.factorizations).to.equal(100);
    expect(auto.stats.factorizations).to.be.below(60);
    expect(fresh.stats.factorizations).to.be.above(150);
    for (const {stats} of [fresh, chord, auto]) expect(stats.jacobianEvaluations).to.equal(stats.factorizations);
  });

  slow('a linear system is factored once by auto, each step one iteration and its test', () => {
    // Of springs that are no stiffer at any time but might be, as far as a program tells.
    const changing = ({q, t}: {q: tf.Tensor; t: tf.Tensor}): tf.Tensor =>
      tf.mul(tf.mul(q, tf.cos(tf.mul(t, 1e-12))), [-100, -1e6]);
    const constant = ({q}: {q: tf.Tensor}): tf.Tensor => tf.mul(q, [-100, -1e6]);
    const damper = ({v}: {v: tf.Tensor}): tf.Tensor => tf.mul(v, -0.1);
    const drive = ({t}: {t: tf.Tensor}): tf.Tensor => tf.mul(tf.sin(t), [1, 2]);
    // 'current' takes the force at the start's time and 'rest' that of the start's velocity: a drive, or damping, is then a second iteration.
    const others = {
      rest: [],
      current: [damper],
      linearized: [damper],
      consistent: [damper, drive],
      extrapolated: [damper, drive],
    } as const;
    for (const jacobian of ['fresh', 'chord', 'auto'] as const) {
      for (const guess of Object.keys(others) as (keyof typeof others)[]) {
        for (const form of ['condensed', 'coupled'] as const) {
          const factored = (spring: typeof changing | typeof constant): number => {
            const path = simulate(
              mechanics({mass: [2, 1], forces: [spring, ...others[guess]]}),
              {q: [1, -0.5], v: [3, 0]},
              {scheme: trapezoid({guess, form}), dt: 0.01, steps: 40, newton: newton({jacobian})},
            );
            path.dispose();
            // The one iteration of 'linearized' is its guess.
            expect(path.stats, `${jacobian}, ${guess}, ${form}`).to.include({
              newtonIterations: guess === 'linearized' ? 0 : 40,
              residualEvaluations: 80,
            });
            return path.stats.factorizations;
          };
          // A first residual with a chosen force has a Jacobian of its own: nothing is kept from one step to the next.
          const kept = jacobian === 'auto' && (guess === 'consistent' || guess === 'extrapolated');
          expect(factored(changing), `${jacobian}, ${guess}, ${form}`).to.equal(kept ? 1 : 40);
          // One matrix as far as the program tells serves every strategy; a guess that breaks the kinematics has another.
          const breaks = form === 'condensed' && guess !== 'consistent' && guess !== 'extrapolated';
          expect(factored(constant), `${jacobian}, ${guess}, ${form}`).to.equal(breaks ? 40 : 1);
        }
      }
    }
  });
});

describe('newton: steps halved on failure', () => {
  /** y' = y²: an implicit Euler step h has a root only where 4 h y ≤ 1, then y⁺ = (1 − √(1 − 4hy))/(2h). */
  const square = ode(({y}) => tf.square(y));
  interface Halved {
    readonly y: number;
    readonly slope: number;
    readonly taken: number;
    readonly halved: number;
  }
  const byFormula = (y: number, h: number): Halved => {
    const discriminant = 1 - 4 * h * y;
    if (discriminant < 0) {
      const first = byFormula(y, h / 2);
      const second = byFormula(first.y, h / 2);
      return {
        y: second.y,
        slope: first.slope * second.slope,
        taken: first.taken + second.taken,
        halved: 1 + first.halved + second.halved,
      };
    }
    const next = (1 - Math.sqrt(discriminant)) / (2 * h);
    return {y: next, slope: 1 / (1 - 2 * h * next), taken: 1, halved: 0};
  };

  it('the result, the counts and the gradient are those of the halved steps', () => {
    const {trajectory, pullback} = simulate.vjp(
      square,
      {y: [1]},
      {scheme: implicitEuler(), dt: 0.3, steps: 2, newton: newton({onFailure: 'halve'})},
    );
    const first = byFormula(1, 0.3);
    const second = byFormula(first.y, 0.3);
    expect(first.halved + second.halved).to.be.above(3);
    const y = trajectory.values('y');
    // The root's condition is 1/√(1 − 4hy) ≤ 20 a step, over a dozen steps.
    expect(y[1]).to.be.closeTo(first.y, 1e-12 * first.y);
    expect(y[2]).to.be.closeTo(second.y, 1e-11 * second.y);
    expect(trajectory.values('t')).to.deep.equal(Float64Array.of(0, 0.3, 0.6));
    const {stats} = trajectory;
    expect(stats.steps).to.equal(first.taken + second.taken);
    expect(stats.rejectedSteps).to.equal(first.halved + second.halved);
    expect(Object.values(stats.failures).reduce((a, b) => a + b, 0)).to.equal(stats.rejectedSteps);
    expect(pullback({y: [0, 0, 1]}).initial.y?.[0]).to.be.closeTo(
      first.slope * second.slope,
      1e-9 * first.slope * second.slope,
    );
    trajectory.dispose();
  });

  it('on an impulsive mechanical problem, with the gradient of finite differences', () => {
    const how = newton({onFailure: 'halve'});
    const run = (k: number, steps = 60): ReturnType<typeof simulate.vjp> =>
      simulate.vjp(
        stickSlip,
        {q: [0.1], v: [0]},
        {scheme: theta(0.6), dt: 0.02, steps, params: {k}, newton: how, saveAt: 'end'},
      );
    const {trajectory, pullback} = run(100);
    expect(trajectory.stats.rejectedSteps).to.be.above(0);
    expect(trajectory.stats.failures['newton-diverged']).to.be.above(0);
    expect(trajectory.stats.steps).to.equal(60 + trajectory.stats.rejectedSteps);
    const [gradient] = pullback({q: [0, 1]}).params.k as Float64Array;
    const loss = (k: number): number => {
      const other = run(k).trajectory;
      other.dispose();
      // The same steps are halved, or the difference would mix two grids.
      expect(other.stats.steps).to.equal(trajectory.stats.steps);
      return other.values('q')[1];
    };
    expect(gradient).to.be.closeTo(
      slope(s => loss(100 + s), 1e-4),
      1e-6 * Math.abs(gradient),
    );
    trajectory.dispose();
  });

  it('a hopeless step ends with step-too-small, its own time and length', () => {
    const path = (raise: boolean): ReturnType<typeof simulate> =>
      simulate(
        square,
        {y: [1]},
        {scheme: implicitEuler(), dt: 0.3, steps: 10, newton: newton({onFailure: 'halve'}), throw: raise},
      );
    const reached = path(false);
    expect(reached.status).to.equal('step-too-small');
    // The solution has its pole at t = 1 (implicit Euler's a little before): steps to there, none beyond.
    expect(reached.values('t').length).to.be.within(3, 4);
    reached.dispose();
    try {
      path(true).dispose();
      expect.fail('not thrown');
    } catch (error) {
      expect(error).to.be.instanceOf(NewtonError);
      const {code, data, message} = error as NewtonError;
      expect(code).to.equal('step-too-small');
      expect(data.h).to.equal(0.3 / 1024);
      expect(data.t).to.be.within(0.6, 1);
      expect(message)
        .to.match(/^Step [23] of implicitEuler, from t = 0\.[0-9]+ with h = 0\.00029296875: /)
        .and.to.match(/Worst rows: y\[0\]/);
    }
  });
});

describe('newton: the limits of the arithmetic', () => {
  it('very stiff: 1e16 N/m on 1 kg', () => {
    const stiff = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.mul(1e16, tf.add(q, tf.pow(q, 3))))});
    for (const scheme of [implicitEuler(), trapezoid(), implicitMidpoint()]) {
      const path = simulate(stiff, {q: [1e-3], v: [0]}, {scheme, dt: 0.01, steps: 20});
      path.dispose();
      expect(path.status).to.equal('completed');
      // From the root's definition: |v⁺| ≤ 2 |q|/h when the spring alone decides.
      path.values('q').forEach(x => expect(Math.abs(x)).to.be.at.most(1.001e-3));
      expect(path.stats.newtonIterations).to.be.below(20 * 6);
    }
  });

  it('tiny steps: 1e-12 s', () => {
    const path = simulate(
      mechanics({mass: 1, forces: ({q}) => tf.neg(tf.mul(1e4, tf.sin(q)))}),
      {q: [1], v: [2]},
      {scheme: implicitMidpoint(), dt: 1e-12, steps: 50},
    );
    path.dispose();
    // q and v of an exact motion; each step rounds once, 50 units of the last place in all.
    expect(path.values('q')[50]).to.be.closeTo(1 + 2 * 5e-11, 50 * 2 ** -53);
    expect(path.values('v')[50]).to.be.closeTo(2 - 1e4 * Math.sin(1) * 5e-11, 50 * 2 ** -52);
    expect(path.stats.newtonIterations).to.be.at.most(100);
  });

  it('huge forces that cancel at rest: a preloaded joint, 1e9 N either way', () => {
    const preloaded = mechanics({
      mass: 1,
      forces: [({q}) => tf.mul(1e9, tf.exp(tf.neg(q))), ({q}) => tf.mul(-1e9, tf.exp(q)), ({v}) => tf.mul(-1e3, v)],
    });
    for (const how of [
      newton(),
      newton({step: backtracking()}),
      newton({step: subSteps(0.5)}),
      newton({jacobian: 'auto'}),
    ]) {
      const path = simulate(
        preloaded,
        {q: [1e-4], v: [0]},
        {scheme: implicitEuler(), dt: 0.01, steps: 100, newton: how},
      );
      path.dispose();
      // Noise of 2⁻²³ N over 2e9 N/m.
      expect(path.values('q')[100]).to.be.closeTo(0, 1e-15);
      // At rest nothing but noise is left of q: three measurements, 25 evaluations, make sure of that, and line searches look for a way down in it.
      expect(path.stats.residualEvaluations).to.be.below(100 * 60);
    }
  });

  slow('float32 (the tensor engine): as many iterations, and results to its seven digits', () => {
    const pendulum = mechanics({mass: 1, forces: ({q}) => tf.mul(-9.81, tf.sin(q))});
    const contact = mechanics({
      mass: 1,
      forces: [({q}) => tf.mul(1e3, tf.softplus(tf.mul(-1e3, q))), ({q}) => tf.fill(q.shape, -9.81)],
    });
    for (const [system, initial, dt] of [
      [pendulum, {q: [2.5], v: [0]}, 0.05],
      [contact, {q: [0.1, 0.05], v: [0, 0]}, 0.002],
    ] as const) {
      const double = simulate(system, initial, {scheme: implicitMidpoint(), dt, steps: 100});
      for (const how of [
        newton(),
        newton({step: backtracking()}),
        newton({jacobian: 'auto'}),
        newton({tolerance: {absolute: 1e-12, relative: 1e-12}}),
      ]) {
        const single = simulate(system, initial, {
          scheme: implicitMidpoint(),
          dt,
          steps: 100,
          newton: how,
          engine: 'tensor',
        });
        // 2⁻²⁴ a step, and a factor of ten for bounces that amplify what came before.
        expect(relative(single.values('q'), double.values('q'))).to.be.below(100 * 2 ** -24 * 10);
        // A tolerance below what float32 holds is not asked for again and again.
        expect(single.stats.newtonIterations).to.be.below(how.jacobian === 'auto' ? 500 : 200);
        single.dispose();
      }
      double.dispose();
    }
  });

  it('a system at rest under load stays there, without a growing cost', () => {
    // Sagging by 1 m under 1e6 N: the force's rounding, 1e-10 N, is all that moves it.
    const loaded = mechanics({mass: [1, 5], forces: ({q}) => tf.sub(1e6, tf.mul([1e6, 1e5], q))});
    const path = simulate(loaded, {q: [1, 10], v: [0, 0]}, {scheme: implicitMidpoint(), dt: 0.01, steps: 500});
    path.dispose();
    expect(path.stats.newtonIterations).to.be.at.most(500);
    path.values('v').forEach(x => expect(Math.abs(x)).to.be.below(1e-12));
  });
});
