/** Products with the Hessian through events: against closed forms, and differences of gradients of the same run. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Event, Pullback, Scheme, SimulateOptions, System} from '../../lib/index.js';
import {
  adaptive,
  bdf2,
  bilateral,
  dopri5,
  event,
  EventError,
  gaussLegendre,
  generalizedAlpha,
  implicitAdjoint,
  implicitMidpoint,
  kvaerno5,
  mechanics,
  newmark,
  ode,
  radauIIA5,
  rk4,
  signal,
  simulate,
  trapezoid,
  tsit5,
} from '../../lib/index.js';
import {slow} from '../tiers.js';

type P = Readonly<Record<string, tf.Tensor>>;
type Numbers = {readonly [name: string]: number};
interface Series {
  readonly t: tf.Tensor;
  readonly q: tf.Tensor;
  readonly v: tf.Tensor;
  readonly y: tf.Tensor;
  readonly events: tf.Tensor;
}

/** Derivatives by differences of fourth order. */
const slope = (f: (h: number) => number, h = 1e-3): number => (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);

const cube = (x: tf.Tensor): tf.Tensor => tf.sum(tf.mul(x, tf.square(x)));
const last = (x: tf.Tensor): tf.Tensor => tf.reshape(tf.slice(x, [x.shape[0] - 1], [1]), []);

describe('products with the Hessian through events', () => {
  /** Bounces on a floor of height f, with a share e of its speed. */
  const ball = mechanics<P>({mass: 1, forces: ({q, params: {g}}) => tf.sub(tf.zerosLike(q), g)});
  const floor = (then: 'bounce' | 'stop' | 'record' = 'bounce'): Event =>
    event<P>({
      when: ({q, params: {f}}) => tf.sub(tf.sum(q), f),
      direction: 'falling',
      then: then === 'bounce' ? ({v, params: {e}}) => ({v: tf.mul(v, tf.neg(e))}) : then,
    }) as Event;
  const at = {e: 0.8, g: 8, f: 0.3, q: 10};
  const names = Object.keys(at) as (keyof typeof at)[];

  /** The Hessian of a loss by e, g, f and q₀. */
  const hessian = (
    loss: (at: Series) => tf.Tensor,
    options: Pick<SimulateOptions, 'scheme' | 'dt' | 't1' | 'saveAt' | 'events'>,
  ): number[][] => {
    const {e, g, f} = at;
    const directions = [{params: {e: 1, g: 0, f: 0}}, {params: {e: 0, g: 1, f: 0}}, {params: {e: 0, g: 0, f: 1}}];
    const {products, trajectory} = simulate.hvps(
      ball,
      {q: at.q, v: 0},
      {...options, params: {e, g, f}} as SimulateOptions<P>,
      loss as never,
      [...directions, {initial: {q: 1}}],
    );
    trajectory.dispose();
    return products.map(({params, initial}) => [
      ...['e', 'g', 'f'].map(name => (params as {readonly [name: string]: Float64Array})[name][0]),
      initial.q[0],
    ]);
  };
  /** Second derivatives of a closed form. */
  const secondOf = (value: (p: typeof at) => number): number[][] =>
    names.map(a =>
      names.map(b =>
        slope(s =>
          slope(r => {
            const displaced = {...at, [a]: at[a] + s};
            return value({...displaced, [b]: displaced[b] + r});
          }),
        ),
      ),
    );
  const near = (found: number[][], exact: number[][], digits = 1e-8): void =>
    found.forEach((row, i) =>
      row.forEach((value, j) => expect(value).to.be.closeTo(exact[i][j], digits * (1 + Math.abs(exact[i][j])))),
    );

  const fall = ({g, f, q}: typeof at): number => Math.sqrt((2 * (q - f)) / g);
  /** The height after two bounces. */
  const height = (p: typeof at, T: number): number => {
    const {e, g, f} = p;
    const since = T - fall(p) * (1 + 2 * e);
    return f + e * e * g * fall(p) * since - (g * since * since) / 2;
  };

  // Both schemes integrate a parabola exactly.
  for (const scheme of [trapezoid(), rk4()])
    it(`a ball that bounces: ${scheme.name}`, () => {
      const {dt, events} = {dt: 0.1, events: [floor()]};
      const T = 4.33;
      near(
        hessian(({q}) => last(q), {scheme, dt, t1: T, events, saveAt: [0.7, T]}),
        secondOf(p => height(p, T)),
      );
      const times = hessian(({events: happened}) => cube(happened), {scheme, dt, t1: 4.3, events, saveAt: 'end'});
      near(
        times,
        secondOf(p => fall(p) ** 3 * (1 + (1 + 2 * p.e) ** 3)),
      );
    });

  it('the time at which an event stops the run, as `events` and as the time of the last state', () => {
    const options = {scheme: rk4(), dt: 0.1, t1: 3, events: [floor('stop')], saveAt: 'end'} as const;
    const exact = secondOf(p => fall(p) ** 3);
    near(
      hessian(({events}) => cube(events), options),
      exact,
    );
    near(
      hessian(({t}) => cube(t), options),
      exact,
    );
    // And the state there, from which the motion goes on.
    near(
      hessian(({v, t}) => tf.mul(last(v), last(t)), options),
      secondOf(p => -p.g * fall(p) ** 2),
    );
  });

  it('the time of an event that is only recorded', () => {
    for (const scheme of [trapezoid(), kvaerno5()])
      near(
        hessian(({events, q}) => tf.add(cube(events), last(q)), {
          ...{scheme, dt: 0.1, t1: 1.9, events: [floor('record')], saveAt: 'end'},
        }),
        secondOf(p => fall(p) ** 3 + p.q - (p.g * 1.9 ** 2) / 2),
      );
  });

  it('a gradient of the time of a saved state is that of the event which makes it', () => {
    const {e, g, f, q} = at;
    const options = {scheme: rk4(), dt: 0.1, t1: 3, events: [floor('stop')], saveAt: 'end', params: {e, g, f}} as const;
    const {gradient} = simulate.prepare(ball, {q, v: 0}, options).valueAndGrad(({t}) => tf.sum(tf.square(t)));
    expect(gradient.initial?.q[0]).to.be.closeTo(2 / g, 1e-11);
    expect((gradient.params as {readonly g: Float64Array}).g[0]).to.be.closeTo((-2 * (q - f)) / g ** 2, 1e-11);
  });

  it('a loss that reads an event that did not happen says so', () => {
    const options = {scheme: rk4(), dt: 0.1, t1: 1, events: [floor()], saveAt: 'end'} as const;
    expect(() => hessian(({events}) => last(events), options))
      .to.throw(EventError)
      .with.property('code', 'too-few-events');
  });

  it('a loss by cotangents has those of the times of events', () => {
    const {e, g, f, q} = at;
    const {gradient, product, trajectory} = simulate.hvp(
      ball,
      {q, v: 0},
      {scheme: rk4(), dt: 0.1, t1: 3, events: [floor()], saveAt: 'end', params: {e, g, f}},
      {
        value: ({events}) => events[0].t ** 3,
        cotangent: ({events}) => ({events: events.map(({t}) => 3 * t * t)}),
        tangent: ({events: moved = []}, {events}) => ({events: events.map(({t}, i) => 6 * t * moved[i])}),
      },
      {initial: {q: 1}},
    );
    trajectory.dispose();
    // t² = 2 (q − f)/g: d t³/dq = 3 t/g, d² t³/dq² = 3/(g² t).
    expect(gradient.initial.q[0]).to.be.closeTo((3 * fall(at)) / g, 1e-11);
    expect(product.initial.q[0]).to.be.closeTo(3 / (g * g * fall(at)), 1e-11);
  });

  interface Case {
    readonly system: System<never>;
    readonly initial: {readonly [block: string]: number | readonly number[]};
    readonly options: Partial<SimulateOptions<P>>;
    readonly params: Numbers;
    readonly along: Numbers;
    /** How the start moves. */
    readonly initially?: {readonly [block: string]: number | readonly number[]};
  }
  const loss = ({q, v, y, events, t}: Series): tf.Tensor =>
    tf.addN(
      [q, v, y]
        .flatMap(one => (one === undefined ? [] : [cube(one), tf.sum(tf.mul(last(t), one))]))
        .concat(events === undefined ? [] : [cube(events)]),
    );
  const numbers = ({params, initial}: Partial<Pick<Pullback, 'initial'>> & {readonly params: unknown}): number[] =>
    [params, initial].flatMap(part => Object.values(part as {[name: string]: Float64Array}).flatMap(one => [...one]));
  const displaced = (value: number | readonly number[], by: number | readonly number[] | undefined, s: number) =>
    typeof value === 'number'
      ? value + s * ((by as number | undefined) ?? 0)
      : value.map((x, i) => x + s * ((by as readonly number[] | undefined)?.[i] ?? 0));

  /** The product is that of differences of gradients of the same run; its bits are the same for any memory. */
  const check = (name: string, {system, initial, options, params, along, initially = {}}: Case): void => {
    const moved = (s: number) => ({
      start: Object.fromEntries(
        Object.entries(initial).map(([block, value]) => [block, displaced(value, initially[block], s)]),
      ) as never,
      given: {
        ...options,
        params: Object.fromEntries(Object.entries(params).map(([one, value]) => [one, value + s * (along[one] ?? 0)])),
      } as SimulateOptions,
    });
    const gradientAt = (s: number): number[] => {
      const {start, given} = moved(s);
      return numbers(simulate.prepare(system, start, given).valueAndGrad(loss as never).gradient as never);
    };
    const {start, given} = moved(0);
    const run = (memory: number) => {
      const result = simulate.hvp(
        system,
        start,
        {...given, adjoint: implicitAdjoint({memory})},
        loss as never,
        {
          params: along,
          initial: initially,
        } as never,
      );
      result.trajectory.dispose();
      return result;
    };
    const before = tf.memory().numTensors;
    const {gradient, product} = run(Infinity);
    expect(tf.memory().numTensors, name).to.equal(before);
    const first = gradientAt(0);
    const scale = Math.max(...numbers(product).map(Math.abs));
    numbers(gradient).forEach((value, i) =>
      expect(value, name).to.be.closeTo(first[i], 1e-12 * (1 + Math.abs(first[i]))),
    );
    numbers(product).forEach((value, i) =>
      expect(value, name).to.be.closeTo(
        slope(s => gradientAt(s)[i], 3e-4),
        1e-8 * (1 + scale),
      ),
    );
    const again = run(200);
    expect([numbers(again.gradient), numbers(again.product)], name).to.deep.equal([
      numbers(gradient),
      numbers(product),
    ]);
    expect(again.gradient.recomputedSteps, name).to.be.above(0);
  };

  const schemes: readonly Scheme[] = [
    ...[rk4(), tsit5(), dopri5(), trapezoid(), implicitMidpoint(), kvaerno5(), radauIIA5(), gaussLegendre({stages: 2})],
    ...[newmark(), generalizedAlpha()],
  ];
  const dragged = mechanics<P>({
    mass: 1,
    forces: ({q, v, params: {g, d}}) => tf.sub(tf.mul(tf.neg(d), tf.mul(v, tf.square(v))), tf.add(g, tf.zerosLike(q))),
  });
  const throwing: Omit<Case, 'options'> = {
    system: dragged,
    initial: {q: 10, v: 0},
    params: {e: 0.8, g: 8, d: 0.01, f: 0.3},
    along: {e: 0.5, g: 1, d: 0.02, f: 0.4},
    initially: {q: 0.2, v: -0.3},
  };
  for (const scheme of schemes)
    (scheme.name === 'kvaerno5' ? it : slow)(`are differences of gradients: ${scheme.name}`, () => {
      for (const saveAt of ['end', 'all', [0.51, 1.43, 2.21, 2.9]] as const)
        check(String(saveAt), {...throwing, options: {scheme, dt: 0.1, t1: 3, events: [floor()] as never, saveAt}});
    });

  slow('backwards in time, and with several events', () => {
    const top = event({when: ({v}) => tf.sum(v), direction: 'falling', then: 'record'});
    for (const scheme of [rk4(), trapezoid(), tsit5()]) {
      check('several', {
        ...throwing,
        options: {scheme, dt: 0.1, t1: 3, events: [floor(), top] as never, saveAt: [0.51, 2.9]},
      });
      check('backwards', {
        ...throwing,
        initial: {q: 1, v: 2, t: 3},
        options: {scheme, dt: -0.1, t1: 1, events: [floor()] as never, saveAt: [2.9, 1.33, 1]},
      });
    }
  });

  slow('with constraints, which a jump must keep', () => {
    const pendulum = mechanics<P>({
      mass: 1,
      forces: ({params: {g}}) => tf.mul(g, tf.tensor1d([0, -1])),
      constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))],
    });
    const wall = event<P>({
      when: ({q, params: {x}}) => tf.sub(tf.gather(q, 0), x),
      direction: 'falling',
      then: ({v, params: {e}}) => ({v: tf.mul(v, tf.neg(e))}),
    });
    for (const scheme of [generalizedAlpha(), radauIIA5(), trapezoid()])
      check(scheme.name, {
        system: pendulum,
        initial: {q: [0.6, -0.8], v: [0, 0]},
        params: {g: 9.81, x: -0.1, e: 0.7},
        along: {g: 1, x: 0.1, e: 0.2},
        options: {scheme, dt: 0.05, t1: 2, events: [wall] as never, saveAt: [0.3, 2], consistent: 'project'},
      });
  });

  slow('over jumps of an input, whatever a scheme carries', () => {
    const pushed = ode<{k: tf.Tensor; u: tf.Tensor}>(({y, params: {k, u}}) =>
      tf.sub(u, tf.mul(k, tf.mul(y, tf.square(y)))),
    );
    for (const scheme of [rk4(), tsit5(), dopri5(), bdf2(), kvaerno5()]) {
      const options = {
        scheme,
        dt: 0.1,
        t1: 1,
        saveAt: [0.33, 1],
        inputs: {u: signal([0, 0.3, 0.62], [1, -1, 2], 'hold')},
      };
      check(scheme.name, {
        system: pushed,
        initial: {y: [0.5]},
        params: {k: 2},
        along: {k: 1},
        initially: {y: [0.3]},
        options: options as never,
      });
    }
  });

  slow('along adaptive steps approach those of the motion', () => {
    const exact = secondOf(p => height(p, 4.33));
    for (const scheme of [tsit5(), kvaerno5()]) {
      const control = adaptive({rtol: 1e-9, atol: 1e-11});
      const options = {scheme, dt: 0.1, t1: 4.33, events: [floor()], saveAt: 'end', control} as const;
      near(
        hessian(({q}) => last(q), options),
        exact,
        1e-7,
      );
    }
  });
});
