/** Hidden states in every scheme against the same system as an ode; their gradients in every adjoint against differences. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Adjoint, Params, Scheme} from '../../lib/index.js';
import {
  adaptive,
  backsolveAdjoint,
  batchAsync,
  bdf2,
  bilateral,
  blendedEuler,
  compliant,
  defineScheme,
  dopri5,
  equilibrium,
  event,
  explicitEuler,
  forwardSensitivity,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitAdjoint,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  nonholonomic,
  ode,
  radauIIA5,
  rk4,
  sdirk2,
  signal,
  simulate,
  symplecticEuler,
  theta,
  trapezoid,
  tsit5,
  unrolledAdjoint,
  verlet,
} from '../../lib/index.js';
import {free, identify, multiple} from '../../training/index.js';
import {slow} from '../tiers.js';

const part = (x: tf.Tensor, from: number, size: number): tf.Tensor => tf.slice(x, [from], [size]);
const largest = (values: Iterable<number>): number => Math.max(...Array.from(values, Math.abs));

/** An actuator that lags behind the motion and grows warm: two hidden states of different shapes. */
type Read = {k: tf.Tensor; c: tf.Tensor};
const masses = [1, 2];
const force = (q: tf.Tensor, v: tf.Tensor, lag: tf.Tensor, warm: tf.Tensor, k: tf.Tensor): tf.Tensor =>
  tf.addN([tf.mul(q, -4), tf.mul(v, -0.2), tf.mul(lag, tf.mul(k, tf.sin(warm)))]);
const lagRate = (q: tf.Tensor, v: tf.Tensor, lag: tf.Tensor, t: tf.Tensor): tf.Tensor =>
  tf.addN([v, tf.neg(lag), tf.mul(q, tf.sin(t))]);
const warmRate = (v: tf.Tensor, warm: tf.Tensor, c: tf.Tensor): tf.Tensor =>
  tf.sub(tf.sum(tf.square(v)), tf.mul(c, warm));
const system = mechanics<Read, 'lag' | 'warm'>({
  mass: masses,
  states: {
    lag: {initial: [0.3, -0.2], rate: ({q, v, lag, t}) => lagRate(q, v, lag, t)},
    warm: {initial: 1, rate: ({v, warm, params}) => warmRate(v, warm, params.c)},
  },
  forces: ({q, v, lag, warm, params}) => force(q, v, lag, warm, params.k),
});
const asOde = ode<Read>(({y, t, params}) => {
  const [q, v, lag, warm] = [part(y, 0, 2), part(y, 2, 2), part(y, 4, 2), tf.reshape(part(y, 6, 1), [])];
  return tf.concat([
    v,
    tf.div(force(q, v, lag, warm, params.k), tf.tensor1d(masses)),
    lagRate(q, v, lag, t),
    tf.reshape(warmRate(v, warm, params.c), [1]),
  ]);
});
const start = {q: [0.5, 0.1], v: [0, 0.3], lag: [0.1, 0.2], warm: 0.8};
const params = {k: 2, c: 0.5};
const blocks = ['q', 'v', 'lag', 'warm'] as const;

const schemes: readonly Scheme[] = [
  explicitEuler(),
  symplecticEuler(),
  verlet(),
  rk4(),
  dopri5(),
  tsit5(),
  theta(0.7),
  implicitEuler(),
  implicitEuler({unknown: 'acceleration'}),
  trapezoid(),
  trapezoid({form: 'coupled', guess: 'rest'}),
  trapezoid({guess: 'linearized'}),
  implicitMidpoint({guess: 'extrapolated'}),
  blendedEuler({alpha: 0.5, beta: 0.5, unknown: 'increment'}),
  newmark(),
  newmark({beta: 0.3, gamma: 0.6}),
  generalizedAlpha({rhoInf: 0.5}),
  hht(),
  bdf2(),
  sdirk2(),
  kvaerno3(),
  kvaerno5(),
  gaussLegendre(),
  gaussLegendre({stages: 3}),
  radauIIA5(),
];

describe('hidden states', () => {
  it('are named where a step fails', () => {
    const runaway = mechanics({
      mass: 1,
      forces: ({q, z}: {q: tf.Tensor; z: tf.Tensor}) => tf.neg(tf.mul(z, q)),
      states: {z: {initial: 1, rate: ({z}: {z: tf.Tensor}) => tf.mul(1e3, tf.exp(tf.mul(z, 5)))}},
    });
    for (const scheme of [implicitEuler(), radauIIA5()])
      expect(() => simulate(runaway, {q: 1, v: 0}, {scheme, dt: 0.1, steps: 10})).to.throw(
        /\w+\[\d\]( in stage \d)? \(z\)/,
      );
  });

  const exact = simulate(
    asOde,
    {y: [...start.q, ...start.v, ...start.lag, start.warm]},
    {scheme: radauIIA5(), dt: 0.005, t1: 2, saveAt: 'end', params},
  ).values('y');
  for (const [index, scheme] of schemes.entries()) {
    it(`${scheme.name}: order ${scheme.order} (${index})`, () => {
      const errors = [0.05, 0.025].map(dt => {
        const run = simulate(system, start, {scheme, dt, t1: 2, saveAt: 'end', params});
        const end = blocks.flatMap(name => {
          const both = run.values(name);
          return [...both.slice(both.length / 2)];
        });
        run.dispose();
        return largest(end.map((value, i) => value - exact[7 + i]));
      });
      // With six orders rounding is near; a damped scheme's first step counts for a little.
      expect(Math.log2(errors[0] / errors[1])).greaterThan(Math.min(scheme.order, 5) - 0.35);
    });
  }

  const adjoints: readonly (readonly [string, Adjoint])[] = [
    ['implicit', implicitAdjoint()],
    ['implicit, from checkpoints', implicitAdjoint({memory: 2000})],
    ['unrolled', unrolledAdjoint()],
    ['forward', forwardSensitivity()],
  ];
  const cotangent = {q: [0, 0, 1, 2], v: [0, 0, 0.3, -1], lag: [0, 0, 1, 0.5], warm: [0, 0.7]};
  for (const scheme of [verlet(), trapezoid(), generalizedAlpha(), bdf2(), kvaerno3(), radauIIA5(), dopri5()]) {
    slow(`${scheme.name}: gradients by every adjoint are those of differences`, () => {
      const options = {scheme, dt: 0.02, steps: 30, saveAt: 'end' as const};
      const loss = (from: typeof start, k: number): number => {
        const run = simulate(system, from, {...options, params: {...params, k}});
        const sum = blocks.reduce(
          (total, name) => total + run.values(name).reduce((all, x, i) => all + x * cotangent[name][i], 0),
          0,
        );
        run.dispose();
        return sum;
      };
      const e = 1e-5;
      const difference = (f: (s: number) => number): number => (f(e) - f(-e)) / (2 * e);
      const expected = [
        difference(s => loss(start, params.k + s)),
        difference(s => loss({...start, warm: start.warm + s}, params.k)),
        difference(s => loss({...start, lag: [start.lag[0] + s, start.lag[1]]}, params.k)),
        difference(s => loss({...start, q: [start.q[0], start.q[1] + s]}, params.k)),
      ];
      for (const [name, adjoint] of adjoints) {
        const {trajectory, pullback} = simulate.vjp(system, start, {...options, params, adjoint});
        const {initial, params: byParams} = pullback(cotangent);
        const found = [byParams.k?.[0] ?? NaN, initial.warm[0], initial.lag[0], initial.q[1]];
        expect(largest(found.map((value, i) => value - expected[i])), name).lessThan(1e-8);
        trajectory.dispose();
      }
    });
  }

  slow('the continuous adjoint runs over them; Hessian products are differences of gradients', () => {
    const options = {scheme: radauIIA5(), dt: 0.02, steps: 30, saveAt: 'end' as const};
    const gradient = (s: number, adjoint: Adjoint = implicitAdjoint()): number[] => {
      const {trajectory, pullback} = simulate.vjp(
        system,
        {...start, lag: [start.lag[0] + s, start.lag[1]]},
        {...options, params: {...params, k: params.k + s}, adjoint},
      );
      const [lag, warm] = [trajectory.values('lag'), trajectory.values('warm')];
      const {initial, params: byParams} = pullback({
        lag: [0, 0, 2 * lag[2], 2 * lag[3]],
        warm: [0, Math.cos(warm[1])],
      });
      trajectory.dispose();
      return [byParams.k?.[0] ?? NaN, ...initial.lag, initial.warm[0]];
    };
    const [own, continuous] = [gradient(0), gradient(0, backsolveAdjoint())];
    expect(largest(own.map((value, i) => value - continuous[i]))).lessThan(1e-8);
    const {product} = simulate.hvp(
      system,
      start,
      {...options, params},
      ({lag, warm}) => tf.add(tf.sum(tf.square(tf.slice(lag, [1]))), tf.sum(tf.sin(tf.slice(warm, [1])))),
      {params: {k: 1}, initial: {lag: [1, 0]}},
    );
    const e = 1e-5;
    const [above, below] = [gradient(e), gradient(-e)];
    const found = [product.params.k?.[0] ?? NaN, ...product.initial.lag, product.initial.warm[0]];
    expect(largest(found.map((value, i) => value - (above[i] - below[i]) / (2 * e)))).lessThan(1e-8);
  });

  slow('adaptive steps judge them by their tolerances; dense times, events, jumps and observe see them', () => {
    for (const scheme of [trapezoid(), generalizedAlpha(), bdf2(), radauIIA5(), dopri5()]) {
      const run = simulate(system, start, {
        scheme,
        dt: 0.01,
        t1: 2,
        control: adaptive({rtol: 1e-7, atol: {q: 1e-9, v: 1e-9, lag: 1e-9, warm: 1e-8}}),
        saveAt: [1.234, 2],
        params,
        events: [event({when: ({lag}) => tf.sum(lag), then: 'record', name: 'even'})],
        observe: ({q, lag}) => tf.mul(q, lag),
      });
      const end = blocks.flatMap(name => {
        const both = run.values(name);
        return [...both.slice(both.length / 2)];
      });
      expect(largest(end.map((value, i) => value - exact[7 + i])), scheme.name).lessThan(2e-5);
      const [q, lag, observed] = [run.values('q'), run.values('lag'), run.values('observed')];
      expect(largest(observed.map((value, i) => value - q[i] * lag[i]))).lessThan(1e-15);
      expect(run.events).length(1);
      expect(run.events[0].after.lag[0] + run.events[0].after.lag[1]).closeTo(0, 1e-7);
      run.dispose();
    }
    const run = simulate(system, start, {
      scheme: radauIIA5(),
      dt: 0.01,
      t1: 1,
      params,
      events: [event({when: ({t}) => tf.sub(t, 0.5), then: ({warm}) => ({warm: tf.add(warm, 1)})})],
    });
    expect(run.events[0].after.warm[0] - run.events[0].before.warm[0]).closeTo(1, 1e-14);
    run.dispose();
  });

  slow('only a scheme that estimates them takes short steps where nothing else moves', () => {
    const alone = mechanics({
      mass: 1,
      states: {z: {initial: 1, rate: ({z, t}) => tf.neg(tf.mul(tf.mul(50, z), tf.sin(tf.mul(20, t))))}},
      forces: ({v}) => tf.zerosLike(v),
    });
    for (const scheme of [newmark(), generalizedAlpha(), bdf2(), trapezoid()]) {
      const run = simulate(
        alone,
        {q: 0, v: 0},
        {scheme, dt: 0.01, t1: 1, control: adaptive({rtol: 1e-6}), saveAt: 'end'},
      );
      expect(run.values('z')[1], scheme.name).closeTo(Math.exp(2.5 * (Math.cos(20) - 1)), 1e-4);
      run.dispose();
    }
  });

  slow('worker threads, runs that go on, inputs and identification', async () => {
    const options = {scheme: trapezoid(), dt: 0.01, params, saveAt: 'end' as const};
    const one = simulate(system, start, {...options, steps: 100});
    const many = await batchAsync(system, [start, start, start, start], {...options, steps: 100});
    for (const run of many) expect([...run.values('lag')]).to.deep.equal([...one.values('lag')]);
    const [whole, rest] = [
      simulate(system, start, {...options, steps: 150}),
      simulate(system, one.state(), {...options, steps: 50}),
    ];
    expect(rest.values('warm')[1]).equal(whole.values('warm')[1]);
    tf.dispose([one, whole, rest, ...many].map(({t}) => t));
    const driven = mechanics<{k: tf.Tensor; u: tf.Tensor; tau: tf.Tensor}, 'z'>({
      mass: 1,
      states: {z: {initial: 0, rate: ({z, params: p}) => tf.div(tf.sub(p.u, z), p.tau)}},
      forces: ({q, v, z, params: p}) => tf.addN([tf.neg(tf.mul(q, p.k)), z, tf.mul(v, -0.3)]),
    });
    const t = Array.from({length: 81}, (_, i) => i * 0.05);
    const u = signal(
      t,
      t.map(s => Math.sin(2 * s)),
    );
    const run = simulate(
      driven,
      {q: 0, v: 0, z: 0.4},
      {scheme: generalizedAlpha(), dt: 0.05, t1: 4, params: {k: 3, tau: 0.5}, inputs: {u}},
    );
    const problem = {
      system: driven,
      initial: {q: 0, v: 0},
      data: {t, q: run.values('q')},
      inputs: {u},
      parameters: {k: free(2), tau: free(1), 'initial.z': free(0)},
      scheme: generalizedAlpha(),
      dt: 0.05,
    } as const;
    for (const shooting of [undefined, multiple({segments: 4})]) {
      const {estimate} = await identify(shooting === undefined ? problem : {...problem, shooting});
      expect(
        [estimate.k, estimate.tau, estimate['initial.z']].map(value => Number(Number(value).toFixed(8))),
      ).to.deep.equal([3, 0.5, 0.4]);
    }
  });

  it('at rest their rates are zero: q = −⅓, z = ⅔', () => {
    const spring = mechanics<{k: tf.Tensor}, 'z'>({
      mass: 1,
      states: {z: {initial: 0, rate: ({q, z}) => tf.add(tf.sub(q, z), 1)}},
      forces: ({q, z, v, params: p}) => tf.sub(tf.sub(tf.mul(q, tf.neg(p.k)), z), v),
    });
    const rest = equilibrium(spring, {q: 0.1}, {params: {k: 2}});
    expect([rest.values('q')[0], rest.values('z')[0]].map(value => Math.round(value * 3e9) / 3e9)).to.deep.equal([
      -1 / 3,
      2 / 3,
    ]);
    // q = −1/(1 + k), z = k/(1 + k): dz/dk = 1/9.
    expect(equilibrium.vjp(spring, {q: 0.1}, {params: {k: 2}}).pullback({z: 1}).params.k?.[0]).closeTo(1 / 9, 1e-12);
  });
});

describe('constraints that see hidden states', () => {
  /** A mass on a slider that an actuator moves, q₀ = z, beside one that hangs on it by a spring; the reduced system is an ode. */
  const slider = mechanics({
    mass: [1, 2],
    states: {
      z: {
        initial: 0.2,
        rate: ({q, v, z, t}) =>
          tf.addN([
            tf.sin(t),
            tf.neg(z),
            tf.sum(tf.mul(v, [0.1, 0.2])),
            tf.mul(0.3, tf.slice(q, [1], [1]).reshape([])),
          ]),
      },
    },
    constraints: [bilateral<Params, 'z'>(({q, z}) => tf.sub(tf.reshape(part(q, 0, 1), []), z))],
    forces: ({q, v}) => {
      const pull = tf.sub(part(q, 0, 1), part(q, 1, 1));
      return tf.concat([tf.mul(pull, -5), tf.sub(tf.mul(pull, 5), tf.mul(part(v, 1, 1), 0.1))]);
    },
  });
  // z' = sin t − z + 0.1 z' + 0.2 w + 0.3 p, as v₀ = z'.
  const reduced = ode(({y, t}) => {
    const [z, p, w] = tf.unstack(y);
    const rate = tf.div(tf.addN([tf.sin(t), tf.neg(z), tf.mul(0.2, w), tf.mul(0.3, p)]), 0.9);
    return tf.stack([rate, w, tf.div(tf.sub(tf.mul(tf.sub(z, p), 5), tf.mul(w, 0.1)), 2)]);
  });
  const p0 = 0.1;
  const v0 = (-0.2 + 0.3 * p0) / 0.9;
  const exact = simulate(reduced, {y: [0.2, p0, 0]}, {scheme: radauIIA5(), dt: 0.01, t1: 1, saveAt: 'end'}).values('y');
  const cases: readonly (readonly [Scheme, 'none' | 'projection' | 'ggl' | undefined, number])[] = [
    [implicitEuler(), undefined, 1],
    [implicitMidpoint(), 'ggl', 2],
    [newmark(), undefined, 2],
    [generalizedAlpha({rhoInf: 0.5}), undefined, 2],
    [generalizedAlpha({rhoInf: 0.5}), 'ggl', 2],
    [generalizedAlpha({rhoInf: 0.5}), 'projection', 2],
    [bdf2(), undefined, 2],
    [kvaerno3(), undefined, 3],
    [gaussLegendre(), undefined, 4],
    [radauIIA5(), undefined, 3],
    [radauIIA5(), 'ggl', 5],
  ];
  for (const [scheme, stabilization, order] of cases) {
    slow(`${scheme.name}${stabilization === undefined ? '' : `, ${stabilization}`}: order ${order}`, () => {
      const errors = [0.05, 0.025].map(dt => {
        const run = simulate(slider, {q: [0.2, p0], v: [v0, 0]}, {scheme, dt, t1: 1, saveAt: 'end', stabilization});
        const [q, v, z] = [run.values('q'), run.values('v'), run.values('z')];
        run.dispose();
        return largest([q[2] - exact[3], q[3] - exact[4], v[3] - exact[5], z[1] - exact[3]]);
      });
      expect(Math.log2(errors[0] / errors[1])).greaterThan(order - 0.3);
    });
  }

  it('springs and held velocities see them: the same as a force, and a driven velocity', () => {
    const states = {z: {initial: 0.5, rate: ({z}: {z: tf.Tensor}) => tf.neg(z)}};
    const sprung = mechanics({
      mass: 1,
      states,
      forces: ({v}) => tf.zerosLike(v),
      constraints: [compliant<Params, 'z'>(({q, z}) => tf.sub(tf.reshape(q, []), z), {compliance: 0.1})],
    });
    const forced = mechanics({mass: 1, states, forces: ({q, z}) => tf.mul(tf.sub(z, q), 10)});
    const options = {scheme: implicitMidpoint(), dt: 0.05, t1: 1, saveAt: 'end' as const};
    const [a, b] = [sprung, forced].map(one => simulate(one, {q: [0.3], v: [0]}, options).values('q')[1]);
    expect(a).closeTo(b, 1e-12);
    const driven = mechanics({
      mass: 1,
      states,
      forces: ({v}) => tf.zerosLike(v),
      constraints: [nonholonomic<Params, 'z'>(({v, z}) => tf.sub(tf.reshape(v, []), z))],
    });
    const run = simulate(driven, {q: [0], v: [0.5]}, {...options, scheme: radauIIA5()});
    expect(run.values('q')[1]).closeTo(0.5 * (1 - Math.exp(-1)), 1e-6);
  });
});

describe('what hidden states refuse', () => {
  const good = {initial: 0, rate: ({z}: {z: tf.Tensor}) => tf.neg(z)};
  const made = (states: object): unknown =>
    mechanics({mass: 1, forces: [], states} as unknown as Parameters<typeof mechanics>[0]);
  it('names that are taken, rates that are none, starts of another shape', () => {
    expect(() => made({q: good})).to.throw('cannot be called');
    expect(() => made({'a b': good})).to.throw('cannot be called');
    expect(() => made({z: {initial: 0}})).to.throw('rate must be a function');
    expect(() => made({z: {rate: good.rate}})).to.throw('initial must be a number');
    expect(() => made({z: {...good, rates: 1}})).to.throw('rates');
    const one = mechanics({mass: 1, states: {z: good}, forces: ({v}) => tf.neg(v)});
    const options = {dt: 0.1, steps: 1};
    expect(() => simulate(one, {q: 0, v: 0, z: [1, 2]}, options)).to.throw(
      "the system's own initial of this state has []",
    );
    expect(() => simulate(one, {q: 0, v: 0, w: 1} as never, options)).to.throw("it has no 'w'");
    const wide = mechanics({mass: 1, states: {z: {...good, rate: () => tf.zeros([3])}}, forces: ({v}) => tf.neg(v)});
    expect(() => simulate(wide, {q: 0, v: 0}, options)).to.throw(
      'rate must return a tensor of the shape of the state, []; it returned a tensor of shape [3]',
    );
  });
  it('a scheme that adds velocities to positions', () => {
    const euler = defineScheme({
      order: 1,
      unknown: [],
      update: (_, {x, t, h, acceleration}) => ({
        q: tf.add(x.q, tf.mul(h, x.v)),
        v: tf.add(x.v, tf.mul(h, acceleration(x.q, x.v, t))),
      }),
    });
    const one = mechanics({mass: 1, states: {z: good}, forces: ({v}) => tf.neg(v)});
    expect(() => simulate(one, {q: 0, v: 0}, {dt: 0.1, steps: 1, scheme: euler})).to.throw(
      'adds velocities to positions',
    );
  });
});
