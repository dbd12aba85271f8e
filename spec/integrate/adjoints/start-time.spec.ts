/**
 * Derivatives by the time of the start, all other times of the run held: against closed forms of the motion and of
 * single schemes, backwards and forwards.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme, SimulateOptions} from '../../../lib/index.js';
import {
  adaptive,
  backsolveAdjoint,
  batch,
  batchAsync,
  bdf2,
  bilateral,
  event,
  explicitEuler,
  forwardSensitivity,
  gaussLegendre,
  generalizedAlpha,
  implicitAdjoint,
  implicitEuler,
  kvaerno5,
  mechanics,
  ode,
  radauIIA5,
  rk4,
  simulate,
  trapezoid,
  tsit5,
  unrolledAdjoint,
} from '../../../lib/index.js';
import {order} from '../../simulate/numbers.js';
import {slow} from '../../tiers.js';

/** y' = −y + sin t. */
const forced = ode(({y, t}) => tf.sub(tf.sin(t), y));
const [t0, t1, y0] = [0.3, 1.9, 1.7];
/** ∂y(t)/∂t₀ = −e^−(t − t₀) f(y₀, t₀). */
const moved = (t: number): number => -Math.exp(t0 - t) * (Math.sin(t0) - y0);

type Options = SimulateOptions;
const start = {y: y0, t: t0};
const back = (options: Options, cotangent: readonly number[], from: object = start): number =>
  simulate.vjp(forced, from as never, options).pullback({y: [...cotangent]}, {t0: true}).t0 as number;
const plainly = (scheme: Scheme, dt: number): Options => ({scheme, dt, t1, saveAt: 'end'}) as Options;
const along = (options: Options, from: object = start): number[] => [
  ...(simulate.jvp(forced, from as never, options, {t0: 1}).tangent.y as Float64Array),
];

describe('derivatives by the time of the start', function () {
  this.timeout(60000);

  for (const [scheme, dt] of [
    [rk4(), 1 / 400],
    [tsit5(), 1 / 200],
    [gaussLegendre({stages: 3}), 1 / 40],
    [radauIIA5(), 1 / 160],
    [kvaerno5(), 1 / 160],
  ] as const)
    it(`${scheme.name}: to 1e-10, along a grid`, () => {
      const options = {scheme, dt, t1, saveAt: 'end'} as const;
      expect(back(options, [0, 1])).to.be.closeTo(moved(t1), 1e-10);
      // The saved start is y₀ whenever it is.
      expect(back(options, [1, 0])).to.equal(0);
      const [atStart, atEnd] = along(options);
      expect(atStart).to.equal(0);
      expect(atEnd).to.be.closeTo(moved(t1), 1e-10);
    });

  for (const scheme of [tsit5(), kvaerno5(), radauIIA5()])
    it(`${scheme.name}: to 1e-10, in adaptive steps, at saved times`, () => {
      const control = adaptive({rtol: 1e-12, atol: 1e-13});
      const options = {scheme, dt: 0.01, t1, control, saveAt: 'end'} as const;
      expect(back(options, [0, 1])).to.be.closeTo(moved(t1), 1e-10);
      expect(along(options)[1]).to.be.closeTo(moved(t1), 1e-10);
      // Within the first step and later ones, by dense output of a lower order.
      const times = [t0 + 0.004, 0.7, 1.23];
      const between = {...options, saveAt: times, dt: 0.01};
      times.forEach((t, i) => {
        const one = times.map((_, k) => (k === i ? 1 : 0));
        expect(back(between, one)).to.be.closeTo(moved(t), 1e-5);
        expect(along(between)[i]).to.be.closeTo(back(between, one), 1e-12);
      });
    });

  it("are those of the run: Euler's methods in closed form", () => {
    const [n, h] = [8, 0.2];
    const options = {dt: h, steps: n, saveAt: 'end'} as const;
    // y₁ = y₀ + h f(y₀, t₀) with h = t₁ − t₀.
    const explicit = (y0 - Math.sin(t0) + h * Math.cos(t0)) * (1 - h) ** (n - 1);
    expect(back({...options, scheme: explicitEuler()}, [0, 1])).to.be.closeTo(explicit, 1e-14);
    // y₁ = (y₀ + h sin t₁)/(1 + h).
    const implicit = -(Math.sin(t0 + h) - y0) / (1 + h) ** 2 / (1 + h) ** (n - 1);
    expect(back({...options, scheme: implicitEuler()}, [0, 1])).to.be.closeTo(implicit, 1e-14);
    for (const scheme of [explicitEuler(), implicitEuler()])
      expect(along({...options, scheme})[1]).to.be.closeTo(back({...options, scheme}, [0, 1]), 1e-14);
  });

  for (const [scheme, p] of [
    [trapezoid(), 2],
    [bdf2(), 2],
    [implicitEuler(), 1],
  ] as const)
    it(`${scheme.name}: of order ${p}`, () => {
      const error = (n: number): number =>
        Math.abs(back({scheme, dt: (t1 - t0) / n, steps: n, saveAt: 'end'}, [0, 1]) - moved(t1));
      expect(order(error(40), error(80))).to.be.closeTo(p, 0.3);
    });

  it('backwards in time', () => {
    const options = {scheme: tsit5(), dt: -0.01, t1: -1.1, saveAt: 'end'} as const;
    expect(back(options, [0, 1])).to.be.closeTo(moved(-1.1), 1e-9);
    expect(along(options)[1]).to.be.closeTo(moved(-1.1), 1e-9);
  });

  it('of mechanical systems, with what schemes carry and with constraints', () => {
    const schemes: readonly (readonly [Scheme, number])[] = [
      [generalizedAlpha({rhoInf: 0.7}), 2],
      [bdf2(), 2],
      [trapezoid(), 2],
      [tsit5(), 5],
    ];
    // q'' = −4 q + cos t: ∂(q, v)/∂t₀ = −Φ(t − t₀)(v₀, f₀).
    const driven = mechanics({mass: 1, forces: ({q, t}) => tf.add(tf.mul(-4, q), tf.cos(t))});
    const [q0, v0] = [0.4, -0.3];
    const exact = (t: number): number => {
      const [c, s] = [Math.cos(2 * (t - t0)), Math.sin(2 * (t - t0))];
      return -(v0 * c + ((-4 * q0 + Math.cos(t0)) * s) / 2);
    };
    for (const [scheme, p] of schemes) {
      const error = (n: number): number => {
        const options = {scheme, dt: (t1 - t0) / n, steps: n, saveAt: 'end'} as const;
        const found = simulate.vjp(driven, {q: q0, v: v0, t: t0}, options).pullback({q: [0, 1]}, {t0: true})
          .t0 as number;
        const tangent = simulate.jvp(driven, {q: q0, v: v0, t: t0}, options, {t0: 1}).tangent;
        expect((tangent.q as Float64Array)[1]).to.be.closeTo(found, 1e-11);
        return Math.abs(found - exact(t1));
      };
      expect(order(error(32), error(64)), scheme.name).to.be.greaterThan(p - 0.5);
    }
    // A pendulum in cartesian coordinates under a weight that turns, against its angle.
    const rod = mechanics({
      mass: 1,
      forces: ({q, t}) => tf.mul(tf.stack([tf.sin(t), tf.neg(tf.cos(t))]), tf.onesLike(q)),
      constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))],
    });
    const angle = ode(({y, t}) => {
      const [a, w] = tf.unstack(y);
      return tf.stack([w, tf.neg(tf.sin(tf.sub(a, t)))]);
    });
    const fine = {scheme: tsit5(), dt: 1 / 400, t1, saveAt: 'end'} as const;
    const [a, w] = [0.5, 0.2];
    const ofAngle = simulate.jvp(angle, {y: [a, w], t: t0}, fine, {t0: 1});
    const end = ofAngle.trajectory.values('y')[2];
    const expected = Math.cos(end) * (ofAngle.tangent.y as Float64Array)[2];
    const held = {
      q: [Math.sin(a), -Math.cos(a)],
      v: [w * Math.cos(a), w * Math.sin(a)],
      t: t0,
    };
    const options = {scheme: radauIIA5(), dt: 1 / 80, t1, saveAt: 'end'} as const;
    const {t0: found} = simulate.vjp(rod, held, options).pullback({q: [0, 0, 1, 0]}, {t0: true});
    expect(found).to.be.closeTo(expected, 1e-7);
    const {tangent} = simulate.jvp(rod, held, options, {t0: 1});
    expect((tangent.q as Float64Array)[2]).to.be.closeTo(found as number, 1e-10);
  });

  it('of the times of events, and through them', () => {
    const decay = ode<{r: tf.Tensor}>(({y, params: {r}}) => tf.neg(tf.mul(r, y)));
    const level = event({when: ({y}) => tf.sub(y, 0.6), then: ({y}) => ({y: tf.add(y, 1)})});
    const options = {scheme: tsit5(), dt: 0.02, t1: 1.5, saveAt: 'end', events: [level], params: {r: 1.2}} as const;
    const {trajectory, pullback} = simulate.vjp(decay, {y: 1.1, t: 0.2}, options);
    const count = trajectory.events?.length ?? 0;
    expect(count).to.equal(1);
    // τ = t₀ + ln(y₀/0.6)/r, and the end is 1.6 e^−r(t₁ − τ).
    expect(pullback({events: [1]}, {t0: true}).t0).to.be.closeTo(1, 1e-9);
    const end = trajectory.values('y')[1];
    expect(pullback({y: [0, 1]}, {t0: true}).t0).to.be.closeTo(1.2 * end, 1e-8);
    const {tangent} = simulate.jvp(decay, {y: 1.1, t: 0.2}, options, {t0: 1});
    expect((tangent.events as Float64Array)[0]).to.be.closeTo(1, 1e-9);
    expect((tangent.y as Float64Array)[1]).to.be.closeTo(1.2 * end, 1e-8);
  });

  it('of observations, of which the first is at the start', () => {
    const options = {
      scheme: rk4(),
      dt: 0.01,
      t1,
      observe: ({y, t}: {y: tf.Tensor; t: tf.Tensor}) => tf.mul(t, y),
    } as const;
    const path = simulate.vjp(forced, start, options);
    const n = path.trajectory.values('y').length;
    const one = (i: number): number[] => Array.from({length: n}, (_, k) => (k === i ? 1 : 0));
    expect(path.pullback({observed: one(0)}, {t0: true}).t0).to.be.closeTo(y0, 1e-14);
    expect(path.pullback({observed: one(n - 1)}, {t0: true}).t0).to.be.closeTo(t1 * moved(t1), 1e-8);
    const observed = simulate.jvp(forced, start, options, {t0: 1}).tangent.observed as Float64Array;
    expect(observed[0]).to.be.closeTo(y0, 1e-14);
    expect(observed[n - 1]).to.be.closeTo(t1 * moved(t1), 1e-8);
  });

  it('beside the others, within any memory, in threads, and together with other directions', async () => {
    for (const scheme of [rk4(), trapezoid()]) {
      const options = {scheme, dt: 0.004, t1, saveAt: 'end'} as const;
      const alone = simulate.vjp(forced, start, options).pullback({y: [0, 1]});
      expect('t0' in alone).to.equal(false);
      const both = simulate.vjp(forced, start, options).pullback({y: [0, 1]}, {t0: true});
      expect(both.initial.y![0]).to.equal(alone.initial.y![0]);
      const little = {...options, adjoint: implicitAdjoint({memory: 1000})};
      expect(back(little, [0, 1])).to.equal(both.t0);
      const {pullback} = await simulate.prepare(forced, start, options).vjpAsync({workers: 1});
      expect((await pullback({y: [0, 1]}, {t0: true})).t0).to.equal(both.t0);
      const {tangent} = simulate.jvp(forced, start, options, {t0: 2, initial: {y: 3}});
      expect(tangent.y![1]).to.be.closeTo(2 * (both.t0 as number) + 3 * both.initial.y![0], 1e-13);
    }
  });

  slow('of the members of a batch, in this thread and in others', async () => {
    const starts = [1.7, 0.4, -0.9];
    const expected = starts.map(y => -Math.exp(t0 - t1) * (Math.sin(t0) - y));
    const members = starts.map(y => ({y, t: t0}));
    for (const [scheme, dt] of [
      [rk4(), 1 / 400],
      [radauIIA5(), 1 / 160],
    ] as const)
      for (const workers of [0, 2]) {
        const options = {scheme, dt, t1, saveAt: 'end', workers} as const;
        const {pullback} = batch.vjp(forced, members, options);
        const given = [{y: [0, 1]}, undefined, {y: [1, 1]}];
        const found = pullback(given, {t0: true}).members;
        expect(found[0].t0).to.be.closeTo(expected[0], 1e-10);
        expect(found[1].t0).to.equal(0);
        expect(found[2].t0).to.be.closeTo(expected[2], 1e-10);
        expect(found[0].t0).to.equal(back(plainly(scheme, dt), [0, 1]));
        pullback(given).members.forEach(one => expect('t0' in one).to.equal(false));
        const later = await batchAsync.vjp(forced, members, options);
        const again = (await later.pullback(given, {t0: true})).members;
        again.forEach((one, i) => expect(one.t0).to.equal(found[i].t0));
        expect(() => pullback(given, {t1: true} as never)).to.throw(/t1/);
      }
  });

  it('of the members of a prepared batch, each with its own times, in lanes and one after another', () => {
    const times = [
      {initial: {y: 1.7}, t0: 0.3, t1: 1.9},
      {initial: {y: -0.4}, t0: 0.8, t1: 1.6},
    ];
    for (const scheme of [rk4(), radauIIA5()]) {
      const many = batch.prepare(forced, {y: y0}, {scheme, dt: 1 / 200, t1, saveAt: 'end'});
      const {pullback} = many.vjp(times);
      const [plain, timed] = [undefined, {t0: true}].map(also => pullback([{y: [0, 1]}, {y: [0, 2]}], also));
      times.forEach(({initial: {y}, t0: from, t1: to}, i) => {
        const exact = -(i + 1) * Math.exp(from - to) * (Math.sin(from) - y);
        expect(timed.members[i].t0, scheme.name).to.be.closeTo(exact, 1e-8);
        expect('t0' in plain.members[i]).to.equal(false);
        expect(timed.members[i].initial!.y[0]).to.be.closeTo(plain.members[i].initial!.y[0], 1e-13);
      });
    }
  });

  /** y(t₁) of y' = −y + sin t. */
  const motion = (from: number, y: number): number =>
    Math.exp(from - t1) * (y - (Math.sin(from) - Math.cos(from)) / 2) + (Math.sin(t1) - Math.cos(t1)) / 2;
  const slope = (f: (h: number) => number, h = 1e-3): number =>
    (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);

  it('second derivatives: along a grid, with adaptive steps, and with states between them', () => {
    // The saved start has a time, too.
    const value = (s: number, r: number): number => motion(t0 + s, y0 + r) ** 3 + (t0 + s) ** 2 * (y0 + r);
    const loss = ({y, t}: {y: tf.Tensor; t: tf.Tensor}): tf.Tensor => {
      const at = (x: tf.Tensor, i: number): tf.Tensor => tf.reshape(tf.slice(x, [i], [1]), []);
      return tf.add(tf.pow(at(y, y.size - 1), 3), tf.mul(tf.square(at(t, 0)), at(y, 0)));
    };
    const control = adaptive({rtol: 1e-11, atol: 1e-13});
    const all: readonly Options[] = [
      {scheme: rk4(), dt: 1 / 400, t1, saveAt: 'end'},
      {scheme: gaussLegendre({stages: 3}), dt: 1 / 40, t1, saveAt: [t0, 0.777, t1]},
      {scheme: tsit5(), dt: 0.1, t1, saveAt: 'end', control},
      {scheme: kvaerno5(), dt: 0.1, t1, saveAt: [t0, 0.777, t1], control},
    ];
    for (const options of all) {
      const {gradient, products, trajectory} = simulate.hvps(forced, start, options, loss, [
        {t0: 1},
        {initial: {y: 1}},
      ]);
      trajectory.dispose();
      const name = `${options.scheme?.name}, ${JSON.stringify(options.saveAt)}`;
      const near = (found: number | undefined, exact: number): void =>
        void expect(found, name).to.be.closeTo(exact, 1e-7);
      near(
        gradient.t0,
        slope(s => value(s, 0)),
      );
      const [byTime, byStart] = products;
      near(
        byTime.t0,
        slope(a => slope(b => value(a + b, 0))),
      );
      near(
        byTime.initial.y[0],
        slope(a => slope(b => value(a, b))),
      );
      near(
        byStart.t0,
        slope(a => slope(b => value(a, b))),
      );
      near(
        byStart.initial.y[0],
        slope(a => slope(b => value(0, a + b))),
      );
    }
  });

  it('second derivatives through an event', () => {
    const [g, e, q0, T] = [8, 0.8, 10, 2.93];
    const ball = mechanics({mass: 1, forces: ({q}) => tf.add(tf.zerosLike(q), -g)});
    const floor = event({when: ({q}) => q, direction: 'falling', then: ({v}) => ({v: tf.mul(v, -e)})});
    const fall = (q: number): number => Math.sqrt((2 * q) / g);
    const value = (s: number, r: number): number => {
      const since = T - (0.1 + s) - fall(q0 + r);
      return e * g * fall(q0 + r) * since - (g * since ** 2) / 2 + (0.1 + s + fall(q0 + r)) ** 3;
    };
    for (const scheme of [rk4(), trapezoid()])
      for (const saveAt of ['end', [0.7, T]] as const) {
        const {gradient, products, trajectory} = simulate.hvps(
          ball,
          {q: q0, v: 0, t: 0.1},
          {scheme, dt: 0.1, t1: T, saveAt, events: [floor]},
          ({q, events}) => tf.add(tf.sum(tf.slice(q, [q.size - 1], [1])), tf.sum(tf.pow(events, 3))),
          [{t0: 1}, {initial: {q: 1}}],
        );
        trajectory.dispose();
        const near = (found: number | undefined, exact: number): void =>
          void expect(found, `${scheme.name}, ${String(saveAt)}`).to.be.closeTo(exact, 1e-7);
        near(
          gradient.t0,
          slope(s => value(s, 0)),
        );
        near(
          products[0].t0,
          slope(a => slope(b => value(a + b, 0))),
        );
        near(
          products[0].initial.q[0],
          slope(a => slope(b => value(a, b))),
        );
        near(
          products[1].t0,
          slope(a => slope(b => value(a, b))),
        );
      }
  });

  it('are refused where there is none', () => {
    const options = {scheme: trapezoid(), dt: 0.1, t1, saveAt: 'end'} as const;
    for (const adjoint of [forwardSensitivity(), backsolveAdjoint(), unrolledAdjoint()])
      expect(() => back({...options, adjoint}, [0, 1])).to.throw(/no derivative by t0/);
    expect(() => simulate.jvp(forced, start, options, {t0: NaN})).to.throw(/t0/);
    expect(() => simulate.vjp(forced, start, options).pullback({y: [0, 1]}, {t1: true} as never)).to.throw(/t1/);
  });
});
