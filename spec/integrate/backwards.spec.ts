/** Runs backwards in time: orders, ways back, and the mirrored system run forwards, which must give the same numbers. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Adjoint, Derivative, Scheme, SimulateOptions} from '../../lib/index.js';
import {
  adaptive,
  backsolveAdjoint,
  batch,
  bdf2,
  bilateral,
  dopri5,
  event,
  explicitEuler,
  forwardSensitivity,
  frictionalContact,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitAdjoint,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  moreau,
  newmark,
  ode,
  OptionError,
  radauIIA5,
  rk4,
  sde,
  sdirk2,
  signal,
  simulate,
  symplecticEuler,
  theta,
  trapezoid,
  tsit5,
  unilateral,
  unrolledAdjoint,
  verlet,
} from '../../lib/index.js';
import {relative} from '../simulate/numbers.js';
import {slow} from '../tiers.js';

/** Of errors at h and h/2. */
const observedOrder = ([coarse, fine]: readonly number[]): number => Math.log2(coarse / fine);

/** y' = −y/2 + sin 2t, from 1 at t = 0. */
const driven = ode(({y, t}) => tf.add(tf.mul(y, -0.5), tf.sin(tf.mul(t, 2))));
const particular = (t: number): number => (0.5 * Math.sin(2 * t) - 2 * Math.cos(2 * t)) / 4.25;
const drivenAt = (t: number): number => particular(t) + (1 - particular(0)) * Math.exp(-t / 2);

/** q'' = −4q + 1.5 cos t. */
const forced = mechanics({mass: 2, forces: ({q, t}) => tf.add(tf.mul(q, -8), tf.mul(tf.cos(t), 3))});
const forcedAt = (t: number): {q: number; v: number} => ({
  q: 0.5 * Math.cos(t) + 0.3 * Math.sin(2 * t),
  v: -0.5 * Math.sin(t) + 0.6 * Math.cos(2 * t),
});

type P = {readonly birth: tf.Tensor; readonly u: tf.Tensor};

/** Lotka and Volterra's, with a season in it so that time counts. */
const volterra: Derivative<P> = ({y, t, params}) => {
  const [prey, hunters] = tf.unstack(y);
  const met = tf.mul(prey, hunters);
  const season = tf.add(1, tf.mul(0.1, tf.sin(t)));
  return tf.stack([
    tf.sub(tf.mul(tf.mul(params.birth, season), prey), met),
    tf.sub(tf.mul(0.5, met), tf.mul(0.8, hunters)),
  ]);
};

/** The system whose motion along s = −t is that of f along t backwards. */
const mirrored =
  (f: Derivative<P>): Derivative<P> =>
  ({t, ...at}) =>
    tf.neg(f({...at, t: tf.neg(t)}));

const field = ode<P>(volterra);
const mirror = ode<P>(mirrored(volterra));
const params = {birth: 1.2};
const start = [1.3, 0.7];

type Some = Omit<SimulateOptions<P>, 'dt' | 'steps' | 't1' | 'params'> & {readonly dt?: number};
/** The same run backwards from t = 2 to −1, and of the mirrored system forwards. */
const there = (options: Some = {}): SimulateOptions<P> =>
  ({params, t1: -1, ...options, dt: -(options.dt ?? 0.1)}) as never;
const mirroredRun = (options: Some = {}): SimulateOptions<P> => ({params, t1: 1, dt: 0.1, ...options}) as never;
const from = {y: start, t: 2};
const fromMirror = {y: start, t: -2};

const odeSchemes: readonly Scheme[] = [
  explicitEuler(),
  rk4(),
  dopri5(),
  tsit5(),
  theta(0.7),
  trapezoid(),
  implicitEuler(),
  implicitMidpoint(),
  bdf2(),
  gaussLegendre(),
  radauIIA5(),
  sdirk2(),
  kvaerno3(),
  kvaerno5(),
];

describe('runs backwards in time', () => {
  describe('an ode', () => {
    for (const scheme of odeSchemes) {
      it(`${scheme.name} has its order`, () => {
        const errors = [0.04, 0.02].map(h => {
          const run = simulate(driven, {y: drivenAt(3), t: 3}, {scheme, dt: -h, t1: 1});
          return Math.abs((run.values('y').at(-1) as number) - drivenAt(1));
        });
        // θ = 0.7 is close to the trapezoidal rule: its first-order part shows late.
        expect(observedOrder(errors)).to.be.within(scheme.order - 0.25, scheme.order + 0.4);
      });

      it(`${scheme.name} is that of the mirrored system`, () => {
        const options = {scheme, dt: 0.05};
        const [back, forth] = [
          simulate(field, from, there(options)),
          simulate(mirror, fromMirror, mirroredRun(options)),
        ];
        expect(relative(back.values('y'), forth.values('y'))).to.be.below(1e-13);
        expect(back.values('t').map(t => 0 - t)).to.deep.equal(forth.values('t'));
      });
    }

    slow('takes the adaptive steps of the mirrored system', () => {
      for (const scheme of [tsit5(), bdf2(), radauIIA5(), kvaerno3()]) {
        const options = {scheme, control: adaptive({rtol: 1e-4, first: 'auto'})};
        const [back, forth] = [
          simulate(field, from, there(options)),
          simulate(mirror, fromMirror, mirroredRun(options)),
        ];
        expect(back.stats.steps).to.equal(forth.stats.steps);
        // Rounding goes into the lengths by way of small estimates.
        expect(
          relative(
            back.values('t').map(t => 0 - t),
            forth.values('t'),
          ),
        ).to.be.below(1e-9);
        expect(relative(back.values('y'), forth.values('y'))).to.be.below(1e-9);
      }
    });

    it('adaptive steps meet a closed form to their tolerance, in the order of the run', () => {
      const saveAt = [3, 2.2, 1, 0.5];
      for (const scheme of [tsit5(), radauIIA5(), kvaerno5()]) {
        const run = simulate(
          driven,
          {y: drivenAt(3), t: 3},
          {scheme, dt: -0.1, t1: 0.5, control: adaptive({rtol: 1e-8, atol: 1e-10}), saveAt},
        );
        expect([...run.values('t')]).to.deep.equal(saveAt);
        [...run.values('y')].forEach((y, i) => expect(y).to.be.closeTo(drivenAt(saveAt[i]), 2e-7));
      }
    });

    it('with a singular mass, algebraic components included', () => {
      // y' = −y + z, 0 = z − cos t: y = (cos t + sin t)/2 + c e^(−t).
      const dae = ode({
        derivative: ({y, t}) => {
          const [a, z] = tf.unstack(y);
          return tf.stack([tf.sub(z, a), tf.sub(z, tf.cos(t))]);
        },
        mass: [1, 0],
      });
      const at = (t: number): number[] => [0.5 * (Math.cos(t) + Math.sin(t)) + 0.5 * Math.exp(-t), Math.cos(t)];
      const errors = [0.1, 0.05].map(h => {
        const y = simulate(dae, {y: at(2), t: 2}, {dt: -h, t1: 0, saveAt: 'end'})
          .values('y')
          .slice(2);
        return Math.max(...at(0).map((exact, i) => Math.abs(y[i] - exact)));
      });
      expect(observedOrder(errors)).to.be.within(4.7, 5.3);
    });
  });

  describe('mechanics', () => {
    const schemes = [
      symplecticEuler(),
      verlet(),
      newmark(),
      newmark({beta: 0.3025, gamma: 0.6}),
      generalizedAlpha(),
      hht(),
      trapezoid(),
      implicitMidpoint(),
      bdf2(),
      gaussLegendre(),
      radauIIA5(),
      kvaerno5(),
      rk4(),
    ];
    for (const scheme of schemes) {
      it(`${scheme.name} has its order`, () => {
        const errors = [0.02, 0.01].map(h => {
          const run = simulate(forced, {...forcedAt(3), t: 3}, {scheme, dt: -h, t1: 1, saveAt: 'end'});
          const {q, v} = forcedAt(1);
          return Math.hypot(run.values('q')[1] - q, run.values('v')[1] - v);
        });
        expect(observedOrder(errors)).to.be.within(scheme.order - 0.1, scheme.order + 0.1);
      });
    }

    // Their step by −h is the inverse of that by h: what is left is Newton's tolerance and rounding.
    for (const scheme of [
      verlet(),
      newmark(),
      trapezoid(),
      implicitMidpoint(),
      gaussLegendre(),
      gaussLegendre({stages: 3}),
    ]) {
      it(`${scheme.name} comes back to where it began`, () => {
        const pendulum = mechanics({mass: 1, forces: ({q}) => tf.mul(tf.sin(q), -9.81)});
        const there = simulate(pendulum, {q: 2, v: 0.5}, {scheme, dt: 0.05, steps: 100, saveAt: 'end'});
        const [q, v] = [there.values('q')[1], there.values('v')[1]];
        const back = simulate(pendulum, {q, v, t: 5}, {scheme, dt: -0.05, steps: 100});
        expect(back.values('t').at(-1)).to.equal(0);
        expect(back.values('q').at(-1)).to.be.closeTo(2, 1e-10);
        expect(back.values('v').at(-1)).to.be.closeTo(0.5, 1e-10);
      });
    }

    slow('holds constraints, and gives their multipliers', () => {
      const swing = mechanics({
        mass: 1,
        forces: () => tf.tensor1d([0, -9.81]),
        constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))],
      });
      for (const [scheme, stabilization, tolerance, ofMultipliers] of [
        [gaussLegendre(), undefined, 1e-11, 1e-10],
        [radauIIA5(), 'ggl', 1e-11, 1e-6],
        [kvaerno5(), undefined, 1e-8, 1e-8],
        [generalizedAlpha(), 'ggl', 1e-5, 1e-3],
        [bdf2(), 'projection', 1e-3, 3e-2],
      ] as const) {
        const options = {scheme, stabilization, t1: 1, saveAt: 'end' as const};
        const forth = simulate(swing, {q: [1, 0], v: [0, 0]}, {...options, dt: 2e-3});
        const [q, v] = [forth.values('q').slice(2), forth.values('v').slice(2)];
        const back = simulate(swing, {q, v, t: 1}, {...options, t1: 0, dt: -2e-3, consistent: 'project'});
        expect(relative(back.values('q').slice(2), [1, 0])).to.be.below(tolerance);
        expect(back.values('lambda')[0]).to.be.closeTo(forth.values('lambda').at(-1) as number, ofMultipliers);
      }
    });

    it('goes through soft contacts, which are springs', () => {
      const ball = mechanics({
        mass: 1,
        forces: () => tf.scalar(-9.81),
        constraints: [unilateral(({q}) => q, {compliance: 1e-3})],
      });
      for (const scheme of [implicitMidpoint(), trapezoid()]) {
        const options = {scheme, saveAt: 'end'} as const;
        const forth = simulate(ball, {q: 1, v: 0}, {...options, dt: 1e-3, steps: 800});
        const [q, v] = [forth.values('q')[1], forth.values('v')[1]];
        expect(v).to.be.above(0);
        const back = simulate(ball, {q, v, t: 0.8}, {...options, dt: -1e-3, steps: 800});
        expect(back.values('q')[1]).to.be.closeTo(1, 1e-9);
      }
    });

    it('kinematics and hidden states go back, too', () => {
      // A turn about one axis as a quaternion's two numbers, and a charge that leaks.
      const rotor = mechanics({
        mass: 1,
        kinematics: {
          rate: ({q, v}) => {
            const [c, s] = tf.unstack(q);
            const w = tf.reshape(v, []);
            return tf.stack([tf.neg(tf.mul(s, w)), tf.mul(c, w)]);
          },
          project: ({q}) => tf.div(q, tf.norm(q)),
        },
        states: {charge: {initial: 1, rate: ({charge}) => tf.mul(charge, -0.3)}},
        forces: ({t, v}) => tf.mul(tf.onesLike(v), tf.cos(t)),
      });
      const errors = [0.02, 0.01].map(dt => {
        const run = simulate(
          rotor,
          {q: [Math.cos(2), Math.sin(2)], v: [Math.sin(2)], charge: Math.exp(-0.6), t: 2},
          {scheme: trapezoid(), dt: -dt, t1: 0, saveAt: 'end'},
        );
        // v = sin t, angle 3 − cos t − (1 + …): from 2 at t = 2 back by ∫₀² sin.
        const angle = 2 - (1 - Math.cos(2));
        const q = run.values('q').slice(2);
        expect(run.values('charge')[1]).to.be.closeTo(1, 1e-4);
        return Math.hypot(q[0] - Math.cos(angle), q[1] - Math.sin(angle), run.values('v')[1]);
      });
      expect(observedOrder(errors)).to.be.within(1.9, 2.1);
    });
  });

  describe('gradients', () => {
    const observe = ({y, t}: {readonly y: tf.Tensor; readonly t: tf.Tensor}): tf.Tensor => tf.mul(tf.sum(y), tf.exp(t));
    const gradientOf = (system: typeof field, begin: typeof from, options: SimulateOptions<P>): number[] => {
      const {trajectory, pullback} = simulate.vjp(system, begin, options);
      const y = trajectory.values('y').map((_, i) => Math.cos(i));
      const {initial, params: p} = pullback({y});
      return [...(initial.y as Float64Array), ...(p as {birth: Float64Array}).birth];
    };
    const adjoints: Readonly<Record<string, Adjoint>> = {
      implicit: implicitAdjoint(),
      'implicit with little memory': implicitAdjoint({memory: 600}),
      unrolled: unrolledAdjoint(),
      forward: forwardSensitivity(),
    };
    for (const [name, adjoint] of Object.entries(adjoints))
      for (const control of [undefined, ...(name === 'implicit' ? [adaptive({rtol: 1e-5})] : [])])
        it(`${name}, steps ${control?.kind ?? 'constant'}: those of the mirrored system`, () => {
          for (const scheme of [trapezoid(), tsit5()]) {
            const options = {scheme, adjoint, control};
            expect(
              relative(gradientOf(field, from, there(options)), gradientOf(mirror, fromMirror, mirroredRun(options))),
            ).to.be.below(1e-11);
          }
        });

    it('agree with differences, of observations at their times too', () => {
      const value = (birth: number, y0: number): number => {
        const run = simulate(
          field,
          {y: [y0, start[1]], t: 2},
          {...there({scheme: kvaerno3(), observe}), params: {birth}},
        );
        return run.values('observed').reduce((sum, o) => sum + o ** 2, 0);
      };
      const {trajectory, pullback} = simulate.vjp(field, from, there({scheme: kvaerno3(), observe}));
      const observed = trajectory.values('observed').map(o => 2 * o);
      const {initial, params: p} = pullback({observed});
      const d = 1e-5;
      const byBirth = (value(1.2 + d, 1.3) - value(1.2 - d, 1.3)) / (2 * d);
      const byStart = (value(1.2, 1.3 + d) - value(1.2, 1.3 - d)) / (2 * d);
      expect((p as {birth: Float64Array}).birth[0]).to.be.closeTo(byBirth, 1e-7 * Math.abs(byBirth));
      expect((initial.y as Float64Array)[0]).to.be.closeTo(byStart, 1e-7 * Math.abs(byStart));
    });

    it('the continuous adjoint goes forwards in time, with the order of the scheme', () => {
      const exact = gradientOf(field, from, there({scheme: radauIIA5(), dt: 0.01, saveAt: 'end'}));
      const errors = [0.1, 0.05].map(dt => {
        const options = there({scheme: rk4(), dt, saveAt: 'end', adjoint: backsolveAdjoint()});
        return relative(gradientOf(field, from, options), exact);
      });
      expect(observedOrder(errors)).to.be.within(3.7, 4.6);
      const adaptively = there({
        scheme: tsit5(),
        control: adaptive({rtol: 1e-9, atol: 1e-10}),
        saveAt: 'end',
        adjoint: backsolveAdjoint(),
      });
      expect(relative(gradientOf(field, from, adaptively), exact)).to.be.below(1e-7);
    });

    it('forwards and second-order', () => {
      const tangent = {initial: {y: [1, -0.5]}, params: {birth: 0.3}};
      const options = {scheme: trapezoid()};
      const [back, forth] = [
        simulate.jvp(field, from, there(options), tangent),
        simulate.jvp(mirror, fromMirror, mirroredRun(options), tangent),
      ];
      expect(relative(back.tangent.y as Float64Array, forth.tangent.y as Float64Array)).to.be.below(1e-12);
      const loss = ({y, t}: {readonly y: tf.Tensor; readonly t: tf.Tensor}): tf.Tensor =>
        tf.sum(tf.mul(tf.square(tf.sum(y, 1)), tf.exp(t)));
      const lossOfMirror = ({y, t}: {readonly y: tf.Tensor; readonly t: tf.Tensor}): tf.Tensor =>
        loss({y, t: tf.neg(t)});
      const [one, other] = [
        simulate.hvp(field, from, there(options), loss, tangent),
        simulate.hvp(mirror, fromMirror, mirroredRun(options), lossOfMirror, tangent),
      ];
      expect(one.value).to.be.closeTo(other.value, 1e-12 * Math.abs(other.value));
      expect(relative(one.product.initial.y as Float64Array, other.product.initial.y as Float64Array)).to.be.below(
        1e-11,
      );
    });

    it("on tfjs's tape", () => {
      const [g] = tf.grads((y: tf.Tensor) => tf.sum(simulate(field, {y, t: 2}, there({scheme: trapezoid()})).y))([
        tf.tensor1d(start),
      ]);
      const {pullback, trajectory} = simulate.vjp(field, from, there({scheme: trapezoid()}));
      const {initial} = pullback({y: trajectory.values('y').fill(1)});
      expect(relative(g.dataSync(), initial.y as Float64Array)).to.be.below(1e-6);
    });

    it('compiled losses see the times of the run', () => {
      const loss = ({y, t, observed}: {readonly y: tf.Tensor; readonly t: tf.Tensor; readonly observed: tf.Tensor}) =>
        tf.add(tf.sum(tf.mul(tf.sum(y, 1), t)), tf.mean(observed));
      const prepared = simulate.prepare(field, from, there({observe}));
      const run = prepared.run();
      const [t, y, observed] = [run.values('t'), run.values('y'), run.values('observed')];
      let expected = observed.reduce((sum, o) => sum + o, 0) / t.length;
      t.forEach((time, i) => (expected += time * (y[2 * i] + y[2 * i + 1])));
      expect(prepared.value(loss)).to.be.closeTo(expected, 1e-11 * Math.abs(expected));
    });
  });

  describe('events', () => {
    // Prey and hunters alike: crossed on the way, with a jump that depends on the parameters.
    const alike = {when: ({y}: {readonly y: tf.Tensor}) => tf.sub(tf.slice(y, [0], [1]), tf.slice(y, [1], [1]))};
    const jump = event<P>({
      ...alike,
      then: ({y, params: {birth}}) => ({y: tf.mul(y, tf.sub(1.3, tf.mul(0.25, birth)))}),
    });
    const late = (sign: number) =>
      event<P>({when: ({t}) => tf.sub(tf.mul(sign, t), -0.45), then: 'record', direction: 'rising', name: 'late'});

    slow('are those of the mirrored system at their own times, and so are their gradients', () => {
      for (const control of [undefined, adaptive({rtol: 1e-7})]) {
        const [back, forth] = [
          simulate.vjp(field, from, there({scheme: tsit5(), control, events: [jump, late(-1)]})),
          simulate.vjp(mirror, fromMirror, mirroredRun({scheme: tsit5(), control, events: [jump, late(1)]})),
        ];
        const [here, other] = [back.trajectory.events, forth.trajectory.events];
        expect(here.length).to.be.at.least(2);
        expect(here.map(one => one.index)).to.deep.equal(other.map(one => one.index));
        expect(here.map(one => one.direction)).to.deep.equal(other.map(one => one.direction));
        here.forEach((one, i) => expect(one.t).to.be.closeTo(-other[i].t, 1e-11));
        expect(here.find(one => one.name === 'late')?.t).to.be.closeTo(0.45, 1e-12);
        const cotangent = {events: here.map((_, i) => i + 1)};
        const [a, b] = [back.pullback(cotangent), forth.pullback({events: cotangent.events.map(e => -e)})];
        expect(relative(a.initial.y as Float64Array, b.initial.y as Float64Array)).to.be.below(1e-9);
        const tangent = {initial: {y: [1, 0]}, params: {birth: 0}};
        const pushed = simulate.jvp(field, from, there({scheme: tsit5(), control, events: [jump, late(-1)]}), tangent);
        const moved = pushed.tangent.events as Float64Array;
        expect(moved.reduce((sum, d, i) => sum + (i + 1) * d, 0)).to.be.closeTo((a.initial.y as Float64Array)[0], 1e-9);
      }
    });

    it('stop a run, whose last time moves with the start as differences say', () => {
      const stop = event<P>({...alike, then: 'stop'});
      const options = there({scheme: rk4(), dt: 0.02, events: [stop], observe: ({t}: {readonly t: tf.Tensor}) => t});
      const end = (y0: number): number =>
        simulate(field, {y: [y0, start[1]], t: 2}, options)
          .values('t')
          .at(-1) as number;
      const {trajectory, pullback} = simulate.vjp(field, from, options);
      expect(trajectory.status).to.equal('event');
      expect(end(start[0])).to.be.within(-1, 2);
      const observed = trajectory.values('observed');
      expect([...observed]).to.deep.equal([...trajectory.values('t')]);
      const cotangent = new Float64Array(observed.length);
      cotangent[observed.length - 1] = 1;
      const {initial} = pullback({observed: cotangent});
      const d = 1e-5;
      expect((initial.y as Float64Array)[0]).to.be.closeTo((end(1.3 + d) - end(1.3 - d)) / (2 * d), 1e-7);
    });
  });

  describe('inputs', () => {
    const pushed = ode<P>(({y, params: {u}}) => tf.sub(u, tf.mul(0.5, y)));
    const mirrorPushed = ode<P>(({y, params: {u}}) => tf.neg(tf.sub(u, tf.mul(0.5, y))));
    const times = [0, 0.5, 1, 1.25, 2, 3];
    const values = [0, 0, 1, -1, 2, 2];
    const reverse = (numbers: readonly number[], sign = 1): number[] => numbers.map(x => sign * x + 0).reverse();

    for (const kind of ['linear', 'cubic'] as const)
      for (const control of [undefined, adaptive({rtol: 1e-6})])
        it(`${kind}, steps ${control?.kind ?? 'constant'}: read at decreasing times`, () => {
          const run = simulate(
            pushed,
            {y: 1, t: 2.8},
            {inputs: {u: signal(times, values, kind)}, dt: -0.07, t1: 0.1, control, scheme: kvaerno3()},
          );
          const other = simulate(
            mirrorPushed,
            {y: 1, t: -2.8},
            {
              inputs: {u: signal(reverse(times, -1), reverse(values), kind)},
              dt: 0.07,
              t1: -0.1,
              control,
              scheme: kvaerno3(),
            },
          );
          expect(relative(run.values('y'), other.values('y'))).to.be.below(1e-9);
          expect(run.stats.steps).to.equal(other.stats.steps);
          expect(run.warnings.filter(warning => warning.startsWith('inputs'))).to.deep.equal([]);
        });

    it('held: each step is taken in the piece it lies in, and what is carried begins anew at a jump', () => {
      // Piecewise exponentials, exactly: y(t) = 2u + (y₁ − 2u) e^(−(t − t₁)/2).
      const piece = (y: number, u: number, dt: number): number => 2 * u + (y - 2 * u) * Math.exp(-dt / 2);
      let exact = 1;
      for (const [u, dt] of [
        [2, -0.8],
        [-1, -0.75],
        [1, -0.25],
        [0, -0.9],
      ])
        exact = piece(exact, u, dt);
      for (const [scheme, control, dt, tolerance] of [
        [gaussLegendre({stages: 3}), undefined, -0.05, 1e-9],
        [bdf2(), undefined, -0.005, 1e-4],
        [kvaerno5(), adaptive({rtol: 1e-9, atol: 1e-11}), -0.1, 1e-7],
        [radauIIA5(), adaptive({rtol: 1e-9, atol: 1e-11}), -0.1, 1e-7],
      ] as const) {
        const run = simulate(
          pushed,
          {y: 1, t: 2.8},
          {inputs: {u: signal(times, values, 'hold')}, dt, t1: 0.1, control, scheme, saveAt: 'end'},
        );
        expect(run.values('y')[1]).to.be.closeTo(exact, tolerance);
      }
    });

    it('a short pulse is not stepped over', () => {
      const pulse = signal([0, 10, 10.01, 10.02, 20], [0, 0, 50, 0, 0]);
      const run = simulate(
        pushed,
        {y: 0, t: 20},
        {inputs: {u: pulse}, dt: -0.1, t1: 0, control: adaptive({rtol: 1e-6}), scheme: tsit5(), saveAt: 'end'},
      );
      // A pulse of area ½ at t = 10, seen from behind: −½ e^(5) but for its width.
      expect(run.values('y')[1]).to.be.closeTo(-0.5 * Math.exp(10.01 / 2), 1e-3 * Math.exp(5));
    });
  });

  describe('what runs are made of', () => {
    slow('a run that is gone on with, from its state as JSON, bit for bit', () => {
      for (const options of [
        {scheme: bdf2()},
        {scheme: generalizedAlpha()},
        {scheme: radauIIA5(), control: adaptive({rtol: 1e-6})},
      ]) {
        const base = {...options, dt: -0.02, saveAt: 'end' as const};
        const begin = {...forcedAt(3), t: 3};
        const steps = simulate(forced, begin, {...base, steps: 60});
        const half = simulate(forced, begin, {...base, steps: 25}).state();
        const saved = JSON.parse(JSON.stringify(half)) as typeof half;
        expect(saved.backwards).to.equal(true);
        expect(saved.t).to.be.below(3);
        const on = simulate(forced, saved, {...base, steps: 35});
        for (const name of ['t', 'q', 'v'] as const)
          expect([...on.values(name)].at(-1)).to.equal([...steps.values(name)].at(-1));
        expect(() => simulate(forced, saved, {...base, dt: 0.02, steps: 5})).to.throw(
          OptionError,
          /left by a run backwards in time, and this one runs forwards/,
        );
        const forwards = simulate(forced, begin, {...base, dt: 0.02, steps: 3}).state();
        expect(() => simulate(forced, forwards, {...base, steps: 5})).to.throw(OptionError, /left by a run forwards/);
        const damaged = {...saved, backwards: undefined};
        if (saved.grid !== undefined)
          expect(() => simulate(forced, damaged, {...base, steps: 5})).to.throw(OptionError, /is damaged: its grid/);
      }
    });

    slow('prepared ones over other stretches, batches, members with times of their own, threads', async () => {
      const options = there({scheme: tsit5(), saveAt: 'end'});
      const prepared = simulate.prepare(field, from, options);
      const over = prepared.over({t0: 1, t1: 0.35}).run();
      const direct = simulate(field, {y: start, t: 1}, {...options, t1: 0.35} as SimulateOptions<P>);
      expect([...over.values('y')]).to.deep.equal([...direct.values('y')]);
      expect([...over.values('t')]).to.deep.equal([1, 0.35]);
      expect(() => prepared.over({t0: 1, t1: 2})).to.throw(OptionError, /t1 = 2 lies after the start t = 1/);
      expect(() => prepared.run({initial: {y: start, t: 1}})).to.throw(OptionError, /start at t = 2, not 1/);
      const members = batch(field, [{initial: from}, {initial: {y: [0.9, 0.6], t: 2}}], options);
      const alone = simulate(field, from, options);
      expect([...members[0].values('y')]).to.deep.equal([...alone.values('y')]);
      const many = batch.prepare(field, from, {...options, saveAt: [2, 0.3, -1]} as SimulateOptions<P>);
      const [a, b] = many.run([{}, {t0: 1, saveAt: [0.8, 0.1]}]);
      // The grid's own times.
      expect([...a.values('t')]).to.deep.equal([2, 2 - 17 * 0.1, -1]);
      expect(relative(b.values('t'), [0.8, 0.1])).to.be.below(1e-15);
      const own = simulate(field, {y: start, t: 1}, {params, scheme: tsit5(), dt: -0.1, t1: 0.1, saveAt: [0.8, 0.1]});
      expect(relative(b.values('y'), own.values('y'))).to.be.below(1e-14);
      const elsewhere = await simulate.prepare(field, from, there({scheme: trapezoid()})).runAsync({workers: 1});
      const here = simulate(field, from, there({scheme: trapezoid()}));
      expect([...elsewhere.values('y')]).to.deep.equal([...here.values('y')]);
      expect([...elsewhere.values('t')]).to.deep.equal([...here.values('t')]);
    });

    it('tells its own times: as it goes, state by state, and where it fails', () => {
      const told: number[] = [];
      simulate(field, from, there({onProgress: ({t}) => told.push(t)}));
      expect(told.at(-1)).to.equal(-1);
      const states = [...simulate.steps(field, from, there({saveAt: {every: 10}}))];
      expect(states.map(({t}) => Number(t.toFixed(9)))).to.deep.equal([2, 1, 0, -1]);
      expect(states[1].state()).to.include({t: 1, backwards: true});
      const pole = ode(({y}) => tf.neg(tf.square(y)));
      // y = 1/(t + 1) has its pole at −1.
      expect(() => simulate(pole, {y: 1}, {scheme: tsit5(), dt: -0.1, t1: -3, control: adaptive()})).to.throw(
        /from t = -(1|0\.99)[\d.]*, would be shorter than allowed: h = -/,
      );
      expect(() => simulate(pole, {y: 1}, {scheme: implicitMidpoint(), dt: -0.3, t1: -3})).to.throw(
        /from t = -[\d.]+ with h = -0\.3/,
      );
    });

    it('warns where a scheme damps whichever way time goes', () => {
      const warned = (scheme: Scheme, dt: number): readonly string[] =>
        simulate(driven, {y: 1, t: 1}, {scheme, dt, steps: 2}).warnings;
      for (const scheme of [implicitEuler(), bdf2(), radauIIA5(), kvaerno5(), theta(0.7)]) {
        expect(warned(scheme, -0.1).join()).to.match(/^Time runs backwards, and .* takes out fast motion/);
        expect(warned(scheme, 0.1)).to.deep.equal([]);
      }
      for (const scheme of [trapezoid(), gaussLegendre(), rk4(), tsit5(), theta(0.5)])
        expect(warned(scheme, -0.1)).to.deep.equal([]);
      const damped = simulate(forced, {...forcedAt(1), t: 1}, {scheme: generalizedAlpha(), dt: -0.1, steps: 2});
      expect(damped.warnings.length).to.equal(1);
      // The warning is right: e^(50 t) from t = 1 back grows forwards in s, which these steps turn into decay.
      const stiff = ode(({y}) => tf.mul(y, -50));
      const lost = simulate(stiff, {y: 1, t: 1}, {scheme: radauIIA5(), dt: -0.5, t1: 0, saveAt: 'end'});
      expect(Math.abs(lost.values('y')[1])).to.be.below(1);
    });
  });

  describe('is refused', () => {
    const refused = (run: () => unknown, code: string, message: RegExp): void => {
      expect(run).to.throw(OptionError, message).with.property('code', code);
    };
    it('where the signs of dt and of the span differ, and times are in the other order', () => {
      const run = (options: object) => () =>
        simulate(driven, {y: 1, t: 1}, {dt: -0.1, t1: 0, ...options} as SimulateOptions);
      refused(run({t1: 2}), 'bad-time', /^t1 = 2 lies after the start t = 1, from where a negative dt runs backwards/);
      refused(run({dt: 0.1}), 'bad-time', /^t1 = 0 lies before the start t = 1, .*A negative dt runs backwards/);
      refused(run({dt: -Infinity}), 'bad-time', /not -Infinity/);
      refused(run({dt: -0}), 'bad-time', /^dt must be a positive number, or a negative one/);
      refused(run({t1: '0'}), 'bad-time', /^t1 = '0'/);
      refused(
        run({saveAt: [0.5, 0.7]}),
        'bad-save',
        /^saveAt must descend where time runs backwards: entry 1 is 0\.7 after 0\.5/,
      );
      refused(run({saveAt: [0.53, 0.71]}), 'bad-save', /must descend/);
      refused(run({saveAt: [0.53, -0.1]}), 'bad-save', /-0\.1 does not lie in the run, from t = 1 to 0/);
      refused(run({dt: -1e-300}), 'bad-time', /From t = 1 to t1 = 0 there are .* steps of dt = -1e-300/);
    });

    it('for noise, impacts and friction', () => {
      const noisy = sde({
        drift: ({y}) => tf.neg(y),
        diffusion: ({y}) => tf.mul(0.1, tf.onesLike(y)),
        noise: 'additive',
        calculus: 'ito',
        seed: 1,
      });
      refused(
        () => simulate(noisy, {y: 1}, {dt: -0.1, steps: 2} as never),
        'not-reversible',
        /an sde cannot be integrated backwards/,
      );
      const ball = (constraints: NonNullable<Parameters<typeof mechanics>[0]['constraints']>) =>
        mechanics({mass: 1, forces: () => tf.tensor1d([0, -9.81]), constraints});
      const falling = {q: [0, 1], v: [0, 0]};
      const height = ({q}: {readonly q: tf.Tensor}): tf.Tensor => tf.slice(q, [1], [1]);
      refused(
        () => simulate(ball([unilateral(height)]), falling, {dt: -0.1, steps: 2, scheme: generalizedAlpha()}),
        'not-reversible',
        /constraints\[0\] cannot be integrated backwards/,
      );
      const rubbing = frictionalContact(height, {
        slip: ({v}: {readonly v: tf.Tensor}) => tf.slice(v, [0], [1]),
        friction: 0.3,
      });
      refused(
        () => simulate(ball([rubbing]), falling, {dt: -0.1, steps: 2, scheme: moreau()}),
        'not-reversible',
        /constraints\[0\] cannot be integrated backwards/,
      );
    });
  });
});
