/** Starts off the slow manifold: what stiffness takes out in a step may not come in magnified, and smooth starts keep their order. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Initial, MechanicalSystem, OdeSystem, Scheme, SimulateOptions} from '../../lib/index.js';
import type {RunSettings} from '../../lib/simulate/options.js';
import {
  adaptive,
  bdf2,
  bilateral,
  blendedEuler,
  event,
  generalizedAlpha,
  hht,
  implicitEuler,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  ode,
  radauIIA5,
  sdirk2,
  simulate,
  theta,
} from '../../lib/index.js';
import {largest, order} from '../simulate/numbers.js';
import {slow} from '../tiers.js';

/** Those that carry a past. */
const remembering = [
  ...[0, 0.5, 0.8, 0.95].map(rhoInf => generalizedAlpha({rhoInf})),
  hht(),
  hht({alpha: -1 / 3}),
  bdf2(),
  newmark({beta: 0.3025, gamma: 0.6}),
  newmark({beta: 0.5, gamma: 0.9}),
];
const damping = [
  ...remembering,
  implicitEuler(),
  theta(0.6),
  theta(0.9),
  blendedEuler({alpha: 0.7, beta: 0.7}),
  sdirk2(),
  kvaerno3(),
  kvaerno5(),
  radauIIA5(),
];

const series = (
  system: MechanicalSystem | OdeSystem,
  initial: Initial,
  options: SimulateOptions,
  name: 'q' | 'v' | 'a' | 'y' = 'q',
): Float64Array => {
  const path = simulate(system, initial, {engine: 'interpreter', ...options});
  path.dispose();
  return path.values(name);
};

describe('starts off the slow manifold', () => {
  const floor = mechanics({mass: 1, forces: ({q, v}) => tf.sub(tf.sub(tf.mul(q, -1e8), tf.mul(v, 2e4)), 9.81)});
  for (const scheme of damping) {
    it(`${scheme.name}: 1 mm inside a damped floor a ball of 1 kg comes to rest`, () => {
      // 500 steps: 0.95⁵⁰⁰, with the square of the number of steps for a triple root, is 2e-6 of a millimetre.
      const q = series(floor, {q: -1e-3, v: 0}, {scheme, dt: 0.01, steps: 500});
      expect(q[500]).to.be.closeTo(-9.81e-8, 1e-8);
      expect(largest(q), 'on the way').to.be.at.most(1e-3);
    });
  }

  // A floor that pushes only, with damping in proportion to its depth (Hunt & Crossley 1975): continuous where the ball leaves it.
  const contact = mechanics({
    mass: 1,
    forces: ({q, v}) => tf.sub(tf.mul(tf.mul(tf.relu(tf.neg(q)), 1e8), tf.relu(tf.sub(1, tf.mul(v, 1)))), 9.81),
  });
  for (const scheme of remembering) {
    it(`${scheme.name}: ... and a floor that only pushes lets it go with a velocity of (q − q₀)/h`, () => {
      // v of 3 mm/h at most, as |hv| below, and not the hω times as much that a Taylor start made: 0.3 m/s rise 4.6 mm.
      const q = series(contact, {q: -1e-3, v: 0}, {scheme, dt: 0.01, steps: 5});
      expect(largest(q)).to.be.below(0.01);
    });
  }

  // One that pushes only and damps at once: the force jumps at q = 0, where steps of a given length may have no solution. Exactly the ball stays below.
  const unilateral = mechanics({
    mass: 1,
    forces: ({q, v}) => tf.sub(tf.where(tf.less(q, 0), tf.sub(tf.mul(q, -1e8), tf.mul(v, 2e4)), tf.zerosLike(q)), 9.81),
  });
  for (const scheme of damping) {
    it(`${scheme.name}: on adaptive steps it comes to rest on a damped floor that only pushes`, () => {
      // First-order schemes take thousands of steps at the default tolerance.
      const q = series(
        unilateral,
        {q: -1e-3, v: 0},
        {scheme, dt: 0.01, t1: 5, control: adaptive(scheme.order < 2 ? {rtol: 1e-3} : {})},
      );
      expect(q[q.length - 1]).to.be.closeTo(-9.81e-8, 1e-8);
      expect(Math.max(...q), 'on the way').to.be.below(0);
    });
  }

  for (const scheme of remembering) {
    it(`${scheme.name}: unresolved vibrations do not grow, with and without damping`, () => {
      for (const ratio of [0, 0.01, 1, 100]) {
        const stiff = mechanics({mass: 1, forces: ({q, v}) => tf.sub(tf.mul(q, -1e12), tf.mul(v, 2e6 * ratio))});
        const options = {scheme, dt: 1, steps: 40};
        const q = series(stiff, {q: 1, v: 0}, options);
        const v = series(stiff, {q: 1, v: 0}, options, 'v');
        // The first step ends where 1/(hω)² leaves it, 2ζ/hω with damping; velocities are those of such a step, 3/h for ρ∞ = 0.
        expect(largest(q.subarray(1)), `damping ${ratio}`).to.be.below(1e-9 + 1e-5 * ratio);
        expect(largest(v), `damping ${ratio}`).to.be.below(3.1);
      }
    });
  }

  it("bdf2, y' = λy: the first step is R(z) = (1 − ½z²/(1 − z)²)/(1 − z), the others its formula", () => {
    for (const z of [-1e6, -40, -3, -0.1]) {
      const y = series(
        ode(({y: x}) => tf.mul(x, z)),
        {y: 1},
        {scheme: bdf2(), dt: 1, steps: 3},
        'y',
      );
      const first = (1 - (0.5 * z * z) / (1 - z) ** 2) / (1 - z);
      const second = (4 * first - 1) / (3 - 2 * z);
      [1, first, second, (4 * second - first) / (3 - 2 * z)].forEach((expected, n) =>
        expect(y[n]).to.be.closeTo(expected, 1e-12),
      );
    }
  });

  it('after a change of step, and after a jump', () => {
    const stiff = mechanics({mass: 1, forces: ({q}) => tf.mul(q, -1e12)});
    const kick = event({when: ({t}) => tf.sub(t, 4.25), then: ({q}) => ({q: tf.add(q, 1)})});
    for (const scheme of remembering) {
      const v = series(stiff, {q: 1, v: 0}, {scheme, dt: 1, t1: 9.4, events: [kick]}, 'v');
      // Twice a start of size 1: the rest of the first adds to it.
      expect(largest(v), scheme.name).to.be.below(8);
    }
  });

  it('adaptive steps follow the slow motion beside a stiff mode that is off by less than the tolerance', () => {
    const pair = mechanics({mass: 1, forces: ({q, v}) => tf.sub(tf.mul(q, [-1, -1e10]), tf.mul(v, [0, 2e3]))});
    for (const scheme of [generalizedAlpha(), hht(), bdf2()]) {
      const path = simulate(
        pair,
        {q: [1, 1e-8], v: [0, 0]},
        {scheme, control: adaptive({rtol: 1e-4, atol: 1e-4}), dt: 0.01, t1: 5, saveAt: 'end'},
      );
      path.dispose();
      expect(path.stats.steps, scheme.name).to.be.below(500);
      expect(path.values('q')[2], scheme.name).to.be.closeTo(Math.cos(5), 0.02);
    }
  });
});

describe('the first adaptive step of a scheme that makes its past from it', () => {
  for (const scheme of remembering) {
    it(`${scheme.name}: is as short as its error asks, whatever is proposed, at the start and after a jump`, () => {
      const omega = 100;
      const exact = (t: number): number[] => [
        0.6 * Math.cos(omega * t) + 0.8 * Math.sin(omega * t),
        0.8 * Math.cos(omega * t) - 0.6 * Math.sin(omega * t),
      ];
      const oscillator = mechanics({mass: 1, forces: ({q}) => tf.mul(q, -(omega ** 2))});
      const again = event({when: ({t}) => tf.sub(t, 0.01), then: () => ({q: tf.tensor(0.6), v: tf.tensor(80)})});
      for (const dt of [0.02, 0.005, 0.001]) {
        for (const events of [[], [again]]) {
          const path = simulate(
            oscillator,
            {q: 0.6, v: 0.8 * omega},
            {scheme, dt, t1: 0.04, control: adaptive({rtol: 1e-5}), events, engine: 'interpreter'},
          );
          path.dispose();
          const [t, q, v] = [path.values('t'), path.values('q'), path.values('v')];
          const begin = events.length === 0 ? 0 : t.indexOf(path.events[0].t) + 1;
          const [x, y] = exact(t[begin] - (events.length === 0 ? 0 : path.events[0].t));
          const expected = begin === 0 ? exact(t[1]) : [x, y];
          const k = Math.max(begin, 1);
          // Ten tolerances of a step: the estimate is that of its leading term.
          expect(q[k], `dt ${dt}`).to.be.closeTo(expected[0], 1e-4);
          expect(v[k] / omega, `dt ${dt}`).to.be.closeTo(expected[1], 1e-4);
        }
      }
    });
  }
});

describe('smooth starts', () => {
  const oscillator = mechanics({mass: 1, forces: ({q, t}) => tf.add(tf.neg(q), tf.sin(tf.mul(t, 2)))});
  // q'' = −q + sin 2t from q = 1, v = 0: cos t + ⅔ sin t − ⅓ sin 2t.
  const exact = {
    q: (t: number) => Math.cos(t) + (2 * Math.sin(t)) / 3 - Math.sin(2 * t) / 3,
    v: (t: number) => -Math.sin(t) + (2 * Math.cos(t)) / 3 - (2 * Math.cos(2 * t)) / 3,
    a: (t: number) => -Math.cos(t) - (2 * Math.sin(t)) / 3 + (4 * Math.sin(2 * t)) / 3,
  };
  for (const scheme of remembering.filter(({order: p}) => p === 2)) {
    it(`${scheme.name}: second order at every step from the first on, in q, v and a`, () => {
      for (const name of ['q', 'v', ...(scheme.name === 'bdf2' ? [] : ['a'])] as ('q' | 'v' | 'a')[]) {
        const worst = (n: number): number =>
          largest(
            series(oscillator, {q: 1, v: 0}, {scheme, dt: 1 / n, steps: n}, name).map((x, i) => x - exact[name](i / n)),
          );
        const [coarse, fine] = [400, 800].map(worst);
        expect(order(coarse, fine), name).to.be.closeTo(2, 0.05);
      }
    });
  }
});

describe('gradients through the start', () => {
  const spring = mechanics({
    mass: [1, 2],
    forces: ({q, v, t, params}) =>
      tf.addN([
        tf.mul(tf.mul(q, tf.add(1, tf.square(q))), tf.neg(params.k as tf.Tensor)),
        tf.mul(v, -0.5),
        tf.sin(tf.add(t, [0, 1])),
        tf.mul(tf.sub(tf.reverse(q), q), 3),
      ]),
  });
  const rod = mechanics({
    mass: [1, 1],
    forces: ({q, params}) => tf.add(tf.mul(q, tf.neg(params.k as tf.Tensor)), [0, -9.81]),
    constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))],
  });
  const reaction = ode(({y, t, params}) =>
    tf.add(tf.mul(tf.neg(params.k as tf.Tensor), tf.mul(y, tf.add(1, tf.square(y)))), tf.cos(tf.add(t, [0, 1]))),
  );
  const bounce = event({
    when: ({q}) => tf.slice(q, [0], [1]),
    direction: 'falling',
    then: ({v}) => ({v: tf.mul(v, [-0.5, 1])}),
  });
  const cases: readonly (readonly [
    string,
    MechanicalSystem | OdeSystem,
    Initial,
    number,
    readonly Scheme[],
    Partial<RunSettings>,
  ])[] = [
    ['springs', spring, {q: [1, -0.5], v: [0, 0.3]}, 400, remembering, {}],
    ['an ode', reaction, {y: [1, -0.5]}, 60, [bdf2()], {}],
    [
      'a constraint',
      rod,
      {q: [0.6, -0.8], v: [0.4, 0.3]},
      50,
      [generalizedAlpha({rhoInf: 0.5}), hht(), bdf2(), newmark({beta: 0.3025, gamma: 0.6})],
      {},
    ],
    ['a jump', spring, {q: [0.3, -0.5], v: [0, 0.3]}, 40, [generalizedAlpha(), bdf2()], {events: [bounce]}],
    // Differences of runs with another sequence of steps are rough: jvp alone is the measure.
    [
      'adaptive steps, and starts made anew for shorter ones',
      spring,
      {q: [1, -0.5], v: [0, 0.3]},
      400,
      [generalizedAlpha(), bdf2()],
      {control: adaptive({rtol: 1e-5})},
    ],
  ];
  for (const [title, system, initial, k, schemes, more] of cases) {
    for (const scheme of schemes) {
      slow(`${scheme.name}: ${title}`, () => {
        const block = system.kind === 'ode' ? 'y' : 'q';
        const options = (value: number): SimulateOptions => ({
          scheme,
          dt: 0.1,
          t1: 0.5,
          saveAt: 'end',
          params: {k: value},
          ...more,
        });
        const {trajectory, pullback} = simulate.vjp(system, initial, options(k));
        const size = trajectory.values(block).length / 2;
        const weights = Float64Array.from({length: 2 * size}, (_, i) => (i < size ? 0 : 1 + i));
        const gradient = pullback({[block]: weights});
        trajectory.dispose();
        const tangents = simulate.jvp(system, initial, options(k), {params: {k: 1}});
        tangents.trajectory.dispose();
        const along = (tangents.tangent as unknown as {[name: string]: Float64Array})[block].reduce(
          (sum, x, i) => sum + weights[i] * x,
          0,
        );
        const byK = (gradient.params.k as Float64Array)[0];
        expect(byK).to.be.closeTo(along, 1e-9 * Math.max(1, Math.abs(along)));
        if (more.control !== undefined) return;
        const value = (at: number): number =>
          series(system, initial, {...options(at), engine: 'auto'}, block).reduce(
            (sum, x, i) => sum + weights[i] * x,
            0,
          );
        const step = 1e-5 * k;
        // Central differences: k³ step² of the third derivative, and rounding over the step.
        expect(byK).to.be.closeTo((value(k + step) - value(k - step)) / (2 * step), 1e-8);
      });
    }
  }
});
