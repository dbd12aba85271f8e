/**
 * Inputs that jump at the ends of steps, and that begin to move after a rest: closed forms piece by piece (each piece of
 * a held input is a linear system with a constant force), orders of convergence, gradients by differences.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme, Signal, SimulateOptions} from '../../lib/index.js';
import {
  adaptive,
  batch,
  bdf2,
  constant,
  dopri5,
  event,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitAdjoint,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  ode,
  radauIIA5,
  rk4,
  sdirk2,
  signal,
  simulate,
  theta,
  trapezoid,
  tsit5,
  verlet,
} from '../../lib/index.js';
import {slow} from '../tiers.js';

const knots = Array.from({length: 9}, (_, i) => i * 0.5);
const levels = knots.map((_, i) => Math.sin(3 * i) + (i % 2));
const held = signal(knots, levels, 'hold');
type Driven = {readonly u: tf.Tensor};
const filter = ode(({y, params}) => tf.sub((params as Driven).u, y));
const oscillator = mechanics({mass: 1, forces: ({q, params}) => tf.sub((params as Driven).u, tf.mul(4, q))});

/** y' = u − y from 0, exactly, at the end. */
function filtered(end: number): number {
  let y = 0;
  for (let i = 0; i * 0.5 < end; i++) y = levels[i] + (y - levels[i]) * Math.exp(-0.5);
  return y;
}

/** q'' = u − 4q from rest, exactly. */
function swung(end: number): {q: number; v: number} {
  let [q, v] = [0, 0];
  const [c, s] = [Math.cos(1), Math.sin(1)];
  for (let i = 0; i * 0.5 < end; i++) {
    const rest = levels[i] / 4;
    [q, v] = [rest + (q - rest) * c + (v / 2) * s, v * c - 2 * (q - rest) * s];
  }
  return {q, v};
}

const last = <N extends string>(path: {values(name: N): Float64Array}, name: N): number =>
  path.values(name).at(-1) as number;

/** The order seen between two step lengths. */
const orderOf = (error: (dt: number) => number, dt: number): number => Math.log2(error(dt) / error(dt / 2));

describe('an input that jumps at the ends of steps', () => {
  const ofOdes: readonly [string, Scheme, number][] = [
    ['trapezoid', trapezoid(), 2],
    ['theta', theta(0.75), 1],
    ['rk4', rk4(), 4],
    ['dopri5', dopri5(), 5],
    ['tsit5', tsit5(), 5],
    ['bdf2', bdf2(), 2],
    ['sdirk2', sdirk2(), 2],
    ['kvaerno3', kvaerno3(), 3],
    ['kvaerno5', kvaerno5(), 5],
    ['gaussLegendre', gaussLegendre({stages: 2}), 4],
    ['radauIIA5', radauIIA5(), 5],
  ];
  for (const [name, scheme, order] of ofOdes)
    slow(`leaves ${name} its order ${order}: y' = u − y`, () => {
      const error = (dt: number): number =>
        Math.abs(
          last(simulate(filter, {y: 0}, {scheme, dt, t1: 4, saveAt: 'end', inputs: {u: held}}), 'y') - filtered(4),
        );
      const dt = order > 4 ? 0.25 : order > 2 ? 0.125 : 1 / 64;
      expect(orderOf(error, dt)).to.be.greaterThan(order - 0.35);
      expect(error(dt)).to.be.below(order > 2 ? 3e-5 : order > 1 ? 5e-3 : 0.1);
    });

  const ofMechanics: readonly [string, Scheme][] = [
    ['implicitMidpoint', implicitMidpoint()],
    ['trapezoid', trapezoid()],
    ['verlet', verlet()],
    ['newmark', newmark()],
    ['generalizedAlpha', generalizedAlpha({rhoInf: 0.8})],
    ['hht', hht({alpha: -0.1})],
    ['bdf2', bdf2()],
    ['kvaerno5', kvaerno5()],
    ['tsit5', tsit5()],
  ];
  for (const [name, scheme] of ofMechanics)
    slow(`leaves ${name} its order in q and v: q'' = u − 4q`, () => {
      const error = (dt: number): number => {
        const path = simulate(oscillator, {q: 0, v: 0}, {scheme, dt, t1: 4, saveAt: 'end', inputs: {u: held}});
        const {q, v} = swung(4);
        return Math.hypot(last(path, 'q') - q, last(path, 'v') - v);
      };
      expect(orderOf(error, 0.0625 / 2)).to.be.greaterThan(scheme.order - 0.35);
    });

  slow('is met by adaptive steps, read as an input or inside the force, to their tolerance', () => {
    const inside = ode(({y, t}) => tf.sub(held.at(t), y));
    for (const scheme of [tsit5(), kvaerno5(), radauIIA5(), bdf2()]) {
      const rtol = scheme.order > 2 ? 1e-9 : 1e-6;
      const options = {scheme, dt: 0.01, t1: 4, saveAt: 'end', control: adaptive({rtol, atol: rtol})} as const;
      for (const path of [simulate(filter, {y: 0}, {...options, inputs: {u: held}}), simulate(inside, {y: 0}, options)])
        expect(last(path, 'y'), scheme.name).to.be.closeTo(filtered(4), 200 * rtol);
    }
  });

  it('keeps its order behind a delay', () => {
    const delayed = ode(({y, t}) => tf.sub(held.at(tf.sub(t, 0.5)), y));
    // Until 0.5 it is its first level.
    const exact = (): number => {
      let y = levels[0] * (1 - Math.exp(-0.5));
      for (let i = 0; i < 7; i++) y = levels[i] + (y - levels[i]) * Math.exp(-0.5);
      return y;
    };
    const error = (dt: number): number =>
      Math.abs(last(simulate(delayed, {y: 0}, {scheme: rk4(), dt, t1: 4, saveAt: 'end'}), 'y') - exact());
    expect(orderOf(error, 0.125)).to.be.greaterThan(3.7);
  });

  it('is the rate of a linear one, too', () => {
    const ramp: Signal = signal(knots, levels);
    const follower = ode(({y, t}) => tf.sub(ramp.derivative.at(t), y));
    let exact = 0;
    for (let i = 0; i < 8; i++) {
      const slope = (levels[i + 1] - levels[i]) / 0.5;
      exact = slope + (exact - slope) * Math.exp(-0.5);
    }
    for (const scheme of [rk4(), tsit5(), radauIIA5()]) {
      const error = (dt: number): number =>
        Math.abs(last(simulate(follower, {y: 0}, {scheme, dt, t1: 4, saveAt: 'end'}), 'y') - exact);
      expect(orderOf(error, 0.25), scheme.name).to.be.greaterThan(scheme.order - 0.35);
    }
  });

  it('whose samples are times up to rounding', () => {
    // 0.1 · 3 = 0.30000000000000004 is one of the samples, and 3 steps of 0.1 another number.
    const times = Array.from({length: 41}, (_, i) => 0.1 * i);
    const rounded = signal(
      times.map((time, i) => time * (1 + (i % 3) * Number.EPSILON)),
      times.map((_, i) => (i % 2 === 0 ? 1 : -1)),
      'hold',
    );
    let exact = 0;
    for (let i = 0; i < 40; i++) {
      const level = i % 2 === 0 ? 1 : -1;
      exact = level + (exact - level) * Math.exp(-0.1);
    }
    for (const control of [undefined, adaptive({rtol: 1e-10, atol: 1e-10})])
      expect(
        last(
          simulate(filter, {y: 0}, {scheme: radauIIA5(), dt: 0.1, t1: 4, saveAt: 'end', control, inputs: {u: rounded}}),
          'y',
        ),
      ).to.be.closeTo(exact, 1e-8);
  });

  it('where a run goes on from a saved state', () => {
    for (const scheme of [newmark(), generalizedAlpha({rhoInf: 0.8}), trapezoid()]) {
      const run = {scheme, dt: 0.125, inputs: {u: held}} as const;
      const whole = simulate(oscillator, {q: 0, v: 0}, {...run, t1: 2});
      const first = simulate(oscillator, {q: 0, v: 0}, {...run, t1: 1});
      const second = simulate(oscillator, first.state(), {...run, t1: 2});
      expect(last(second, 'q'), scheme.name).to.be.closeTo(last(whole, 'q'), 1e-14);
    }
  });
});

describe('what a scheme carries from a start that is made ahead', () => {
  // The rate is 1 up to the jump, and −3 behind it; an event at time c begins anew from 0, so that it is 1 − c at the jump.
  const rates = (jump: number): Signal => signal([-5, jump, 5], [1, -3, -3], 'hold');
  type Timed = {readonly c: tf.Tensor};
  const first = ode<Timed>(({y, params}) => tf.add(tf.zerosLike(y), (params as never as Driven).u));
  const second = mechanics<Timed>({
    mass: 1,
    forces: ({q, params}) => tf.add(tf.zerosLike(q), (params as never as Driven).u),
  });
  const when = ({t, params: {c}}: {t: tf.Tensor; params: Timed}): tf.Tensor => tf.sub(t, c);
  type Options = Pick<SimulateOptions, 'control' | 'dt' | 't1' | 'saveAt' | 'inputs'>;
  interface Case {
    readonly title: string;
    /** The saved values, and the derivative of their sum by c. */
    run(options: Options): {readonly values: Float64Array; readonly byTime: number};
    /** Without the event, by itself and in a batch. */
    free(options: Options): readonly Float64Array[];
  }
  const ones = (values: Float64Array): Float64Array => values.map(() => 1);
  const ofOde = (scheme: Scheme): Case => ({
    title: `${scheme.name}, y`,
    run(options) {
      const events = [event<Timed>({when, then: ({y}: {y: tf.Tensor}) => ({y: tf.zerosLike(y)})} as never)];
      const asked = {...options, scheme, events, params: {c: 0.97}} as never;
      const {trajectory, pullback} = simulate.vjp(first, {y: 0}, asked);
      const values = trajectory.values('y');
      return {values, byTime: pullback({y: ones(values)}).params.c[0]};
    },
    free(options) {
      const asked = {...options, scheme} as never;
      return [simulate(first, {y: 0}, asked), ...batch(first, [{y: 0}], asked)].map(path => path.values('y'));
    },
  });
  const ofMechanics = (scheme: Scheme): Case => ({
    title: `${scheme.name}, v`,
    run(options) {
      const events = [event<Timed>({when, then: ({v}: {v: tf.Tensor}) => ({v: tf.zerosLike(v)})} as never)];
      const asked = {...options, scheme, events, params: {c: 0.97}} as never;
      const {trajectory, pullback} = simulate.vjp(second, {q: 0, v: 0}, asked);
      const values = trajectory.values('v');
      return {values, byTime: pullback({v: ones(values)}).params.c[0]};
    },
    free(options) {
      const asked = {...options, scheme} as never;
      return [simulate(second, {q: 0, v: 0}, asked), ...batch(second, [{q: 0, v: 0}], asked)].map(path =>
        path.values('v'),
      );
    },
  });
  const cases = [
    ofOde(bdf2()),
    ...[bdf2(), generalizedAlpha(), hht(), newmark({beta: 0.36, gamma: 0.7})].map(ofMechanics),
  ];

  for (const {title, run, free} of cases) {
    for (const control of [constant(), adaptive({rtol: 1e-2, atol: 1e-2})])
      slow(`does not reach over a jump, after an event shortly before: ${title}, ${control.kind} steps`, () => {
        for (const [dt, t1] of [
          [0.1, 1.2],
          [0.05, 1.2],
          // The jump is at the end of the run.
          [0.1, 1],
        ]) {
          const saveAt = t1 > 1 ? [0.98, 1, t1] : [0.98, 1];
          const {values, byTime} = run({control, dt, t1, saveAt, inputs: {u: rates(1)}});
          values.forEach((one, i) => expect(one).to.be.closeTo([0.01, 0.03, -0.57][i], 1e-13));
          // All begins later by as much as c grows.
          expect(byTime).to.be.closeTo(-values.length, 1e-9);
        }
      });

    it(`nor at the beginning of adaptive steps: ${title}`, () => {
      const control = adaptive({rtol: 1e-2, atol: 1e-2});
      const found = free({control, dt: 0.1, t1: 0.2, saveAt: [0.02, 0.03, 0.2], inputs: {u: rates(0.03)}});
      for (const values of found) [0.02, 0.03, -0.48].forEach((one, i) => expect(values[i]).to.be.closeTo(one, 1e-13));
    });
  }
});

describe('an input that begins to move after a rest', () => {
  const y = 1000 * (1 - Math.exp(-0.001)) * Math.exp(-(10 - 5.001));
  const run = {dt: 0.01, t1: 10, saveAt: 'end', control: adaptive({rtol: 1e-8, atol: 1e-10})} as const;
  for (const scheme of [tsit5(), kvaerno5(), radauIIA5()]) {
    it(`is not stepped over, a held pulse of a millisecond: ${scheme.name}`, () => {
      const pulse = signal([0, 5, 5.001, 20], [0, 1000, 0, 0], 'hold');
      const path = simulate(filter, {y: 0}, {...run, scheme, inputs: {u: pulse}});
      expect(last(path, 'y') / y).to.be.closeTo(1, 1e-6);
    });
    it(`nor a triangle: ${scheme.name}`, () => {
      const triangle = signal([0, 5, 5.0005, 5.001, 20], [0, 0, 2000, 0, 0]);
      // ∫ u e^{−(10 − t)} dt, of a triangle of area 1 and width w: (4/w²)(e^{w/2} − 2 + e^{−w/2}) about its middle.
      const half = 0.0005;
      const exact = Math.exp(-(10 - 5.0005)) * ((2 * Math.cosh(half) - 2) / half ** 2);
      const path = simulate(filter, {y: 0}, {...run, scheme, inputs: {u: triangle}});
      expect(last(path, 'y') / exact).to.be.closeTo(1, 1e-6);
    });
  }
});

describe('gradients over jumps of an input', () => {
  const gain = mechanics({
    mass: 1,
    forces: ({q, v, params}) => {
      const {u, k, c} = params as {u: tf.Tensor; k: tf.Tensor; c: tf.Tensor};
      return tf.sub(tf.sub(u, tf.mul(k, q)), tf.mul(c, v));
    },
  });
  const cases: readonly [string, Pick<SimulateOptions, 'scheme' | 'control'>][] = [
    ['on the grid, generalizedAlpha', {scheme: generalizedAlpha({rhoInf: 0.7})}],
    ['on the grid, newmark', {scheme: newmark()}],
    ['on the grid, bdf2', {scheme: bdf2()}],
    ['on the grid, tsit5', {scheme: tsit5()}],
    ['on the grid, trapezoid', {scheme: trapezoid()}],
    ['adaptive, tsit5', {scheme: tsit5(), control: adaptive({rtol: 1e-9, atol: 1e-11})}],
    [
      'adaptive, generalizedAlpha',
      {scheme: generalizedAlpha({rhoInf: 0.7}), control: adaptive({rtol: 1e-5, atol: 1e-7})},
    ],
  ];
  for (const [name, options] of cases)
    slow(`vjp, jvp and differences agree: ${name}`, () => {
      const run = {dt: 0.05, t1: 4, saveAt: 'end', inputs: {u: held}, ...options} as const;
      const params = {k: 4, c: 0.2};
      const start = {q: 0.3, v: -0.1};
      const {trajectory, pullback} = simulate.vjp(gain, start, {...run, params});
      const gradient = pullback({q: [0, 1], v: [0, 0.5]});
      const direction = {k: 0.7, c: -0.4};
      const {tangent} = simulate.jvp(gain, start, {...run, params}, {params: direction, initial: {q: 1, v: 0.3}});
      const along = tangent.q[1] + 0.5 * tangent.v[1];
      const back =
        0.7 * (gradient.params.k as Float64Array)[0]
        - 0.4 * (gradient.params.c as Float64Array)[0]
        + (gradient.initial.q as Float64Array)[0]
        + 0.3 * (gradient.initial.v as Float64Array)[0];
      expect(back).to.be.closeTo(along, 1e-10 * Math.abs(along));
      const at = (s: number): number => {
        const path = simulate(
          gain,
          {q: start.q + s, v: start.v + 0.3 * s},
          {...run, params: {k: 4 + 0.7 * s, c: 0.2 - 0.4 * s}},
        );
        return path.values('q')[1] + 0.5 * path.values('v')[1];
      };
      // Adaptive steps change with the parameters, which the derivative leaves out: beside a closer run's.
      const closer = {scheme: tsit5(), dt: 0.05, control: adaptive({rtol: 1e-11, atol: 1e-12})};
      const direct = simulate.jvp(
        gain,
        start,
        {...run, ...closer, params},
        {params: direction, initial: {q: 1, v: 0.3}},
      ).tangent;
      if (options.control === undefined)
        expect(along).to.be.closeTo((at(1e-5) - at(-1e-5)) / 2e-5, 1e-8 * Math.abs(along) + 1e-9);
      expect(along).to.be.closeTo(direct.q[1] + 0.5 * direct.v[1], (options.scheme?.order ?? 0) > 2 ? 1e-6 : 2e-2);
      trajectory.dispose();
      // Few checkpoints, and threads of a batch, give the same bits.
      const few = simulate
        .vjp(gain, start, {...run, params, adjoint: implicitAdjoint({memory: 1024})})
        .pullback({q: [0, 1], v: [0, 0.5]});
      expect(few.params).to.deep.equal(gradient.params);
      const [one] = batch(gain, [start, {q: 1, v: 0}], {...run, params});
      expect([...one.values('q')]).to.deep.equal([...simulate(gain, start, {...run, params}).values('q')]);
    });
});
