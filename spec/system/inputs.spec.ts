/** Inputs of a run: the same numbers as a signal read by hand, in every function that has a time; gradients to their samples. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Input, Signal, StiffgradError} from '../../lib/index.js';
import {
  batch,
  bilateral,
  compliant,
  equilibrium,
  event,
  explicitEuler,
  frictionalContact,
  generalizedAlpha,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  moreau,
  ode,
  OptionError,
  radauIIA5,
  rk4,
  signal,
  simulate,
  trapezoid,
} from '../../lib/index.js';
import {constantTensor} from '../../lib/trace/trace.js';
import {slow} from '../tiers.js';

const t = [0, 0.3, 1, 1.2, 2.5];
const values = [1.1, -0.4, 0.7, 2.3, 0.2];
const push = signal(t, values, 'cubic');

type Driven = {readonly [name: string]: tf.Tensor};
const spring = mechanics({mass: 1, forces: ({q, params}) => tf.sub((params as Driven).u, tf.mul(9, q))});
const byHand = mechanics({mass: 1, forces: ({q, t: time}) => tf.sub(push.at(time), tf.mul(9, q))});
const run = {scheme: implicitMidpoint(), dt: 0.05, steps: 60} as const;
const start = {q: 0.2, v: 0};

const codeOf = (f: () => unknown): string => {
  try {
    f();
  } catch (error) {
    return (error as StiffgradError).code;
  }
  return 'nothing was thrown';
};

describe('inputs', () => {
  it('are held beyond their samples, and the run says so', () => {
    const u = signal([0, 0.5, 1], [0, 1, 2], 'hold');
    const driven = (steps: number, input: Signal = u): readonly string[] =>
      simulate(spring, start, {...run, dt: 0.1, steps, inputs: {u: input}}).warnings;
    expect(driven(10)).to.deep.equal([]);
    expect(driven(15)).to.deep.equal([]); // as a digital output holds its last sample
    // A line does not go on, whatever the distance of its samples.
    expect(driven(10, signal([0, 1], [0, 2]))).to.deep.equal([]);
    expect(driven(11, signal([0, 1], [0, 2]))[0]).to.match(/known from 0 to 1, but the run goes from 0 to 1\.1/);
    expect(driven(16)).to.deep.equal([
      'inputs.u is known from 0 to 1, but the run goes from 0 to 1.6: beyond its samples the nearest one was taken.',
    ]);
    const late = signal([0.2, 3], [1, 1]);
    expect(simulate(spring, start, {...run, inputs: {u: late}}).warnings[0]).to.match(
      /known from 0\.2 to 3, but the run/,
    );
  });

  it('are what a signal read by hand is, to the bit: simulate, prepare, batch, steps, vjp', () => {
    const expected = [...simulate(byHand, start, run).values('q')];
    const options = {...run, inputs: {u: push}};
    expect([...simulate(spring, start, options).values('q')]).to.deep.equal(expected);
    expect([...simulate.prepare(spring, {q: 0, v: 0}, options).run({initial: start}).values('q')]).to.deep.equal(
      expected,
    );
    expect(batch(spring, [start, {q: 1, v: 0}], options).map(path => [...path.values('q')])[0]).to.deep.equal(expected);
    expect([...simulate.steps(spring, start, options)].map(state => state.values('q')[0])).to.deep.equal(expected);
    const cotangent = {q: expected.map((_, i) => Math.sin(i))};
    expect(simulate.vjp(spring, start, options).pullback(cotangent).initial).to.deep.equal(
      simulate.vjp(byHand, start, run).pullback(cotangent).initial,
    );
    const filter = ode(({y, params}) =>
      tf.sub(params.wind === undefined ? tf.zerosLike(y) : (params.wind as Driven).speed, y),
    );
    const filterByHand = ode(({y, t: time}) => tf.sub(push.at(time), y));
    expect([
      ...simulate(filter, {y: 0}, {...run, scheme: rk4(), inputs: {'wind.speed': push}}).values('y'),
    ]).to.deep.equal([...simulate(filterByHand, {y: 0}, {...run, scheme: rk4()}).values('y')]);
  });

  it('reach the rates of hidden states and kinematics', () => {
    const lag = 0.2;
    const actuated = mechanics({
      mass: 1,
      forces: ({q, z}) => tf.sub(z, tf.mul(9, q)),
      states: {z: {initial: 0, rate: ({z, params}) => tf.div(tf.sub((params as Driven).u, z), lag)}},
    });
    const flat = ode(({y, t: time}) => {
      const [q, v, z] = [0, 1, 2].map(i => tf.slice(y, [i], [1]));
      return tf.concat([v, tf.sub(z, tf.mul(9, q)), tf.div(tf.sub(push.at(time), z), lag)]);
    });
    const states = simulate(actuated, start, {...run, inputs: {u: push}});
    const expected = simulate(flat, {y: [0.2, 0, 0]}, run).values('y');
    for (const step of [1, 30, 60]) {
      expect(states.values('q')[step]).to.be.closeTo(expected[3 * step], 1e-12);
      expect(states.values('z')[step]).to.be.closeTo(expected[3 * step + 2], 1e-12);
    }
    const skewed = mechanics({
      mass: 1,
      forces: ({q}) => tf.neg(q),
      kinematics: ({v, params}) => tf.mul(v, (params as Driven).u),
    });
    const skewedByHand = mechanics({
      mass: 1,
      forces: ({q}) => tf.neg(q),
      kinematics: ({v, t: time}) => tf.mul(v, push.at(time)),
    });
    expect([...simulate(skewed, start, {...run, inputs: {u: push}}).values('q')]).to.deep.equal([
      ...simulate(skewedByHand, start, run).values('q'),
    ]);
  });

  it('stand beside parameters of the same branch', () => {
    const both = mechanics({
      mass: 1,
      forces: ({q, params}) => tf.sub(tf.mul((params.load as Driven).gain, (params.load as Driven).push), tf.mul(9, q)),
    });
    const path = simulate(both, start, {...run, params: {load: {gain: 1}}, inputs: {'load.push': push}});
    expect([...path.values('q')]).to.deep.equal([...simulate(byHand, start, run).values('q')]);
  });

  it('reach observe, events, gaps and an equilibrium', () => {
    const observed = simulate(spring, start, {
      ...run,
      inputs: {u: push},
      observe: ({params}) => (params as Driven).u,
    }).values('observed');
    for (const i of [0, 7, 60])
      expect(observed[i]).to.be.closeTo(
        tf.tidy(() => push.at(tf.scalar(i * 0.05)).dataSync()[0]),
        1e-6,
      );
    // u = 2t − 1 rises through 0 at t = ½.
    const ramp = signal([0, 2], [-1, 3]);
    const {events} = simulate(spring, start, {
      ...run,
      inputs: {u: ramp},
      events: [event({when: ({params}) => (params as Driven).u, then: 'record'})],
    });
    expect(events.map(({t: time}) => time)).to.have.length(1);
    expect(events[0].t).to.be.closeTo(0.5, 1e-12);
    // A frame that is moved: q = u(t).
    const held = mechanics({
      mass: 1,
      forces: ({q}) => tf.zerosLike(q),
      constraints: [bilateral(({q, params}) => tf.sub(q, (params as Driven).u))],
    });
    const driven = simulate(
      held,
      {q: [0], v: [1]},
      {scheme: generalizedAlpha({rhoInf: 0.8}), dt: 0.1, steps: 10, inputs: {u: signal([0, 5], [0, 5])}},
    );
    driven.values('q').forEach((q, i) => expect(q).to.be.closeTo(0.1 * i, 1e-12));
    // Rest under u(t₀): q = u/9.
    expect(equilibrium(spring, {q: 0, t: 0.5}, {inputs: {u: ramp}}).values('q')[0]).to.be.closeTo(0, 1e-15);
    expect(equilibrium(spring, {q: 0, t: 1}, {inputs: {u: ramp}}).values('q')[0]).to.be.closeTo(1 / 9, 1e-15);
  });

  slow('jump at the ends of steps for constraints as for forces', () => {
    // A held input at the end of a step that ends at its jump is that of the piece before.
    const u = signal([0, 1, 2, 3, 4], [0, 1, -1, 2, 0], 'hold');
    const k = 20;
    const gap = ({q, params}: {readonly q: tf.Tensor; readonly params: unknown}): tf.Tensor =>
      tf.sub(q, (params as Driven).u);
    const free = {mass: 1, forces: ({q}: {readonly q: tf.Tensor}) => tf.zerosLike(q)};
    const byForce = mechanics({mass: 1, forces: at => tf.mul(-k, gap(at))});
    const byConstraint = mechanics({...free, constraints: [compliant(gap, {compliance: 1 / k})]});
    for (const scheme of [implicitEuler(), trapezoid(), generalizedAlpha({rhoInf: 0.8}), radauIIA5()]) {
      const options = {scheme, dt: 0.1, t1: 4, inputs: {u}};
      const expected = simulate(byForce, {q: [0], v: [0]}, options).values('q');
      const found = simulate(byConstraint, {q: [0], v: [0]}, options).values('q');
      found.forEach((q, i) => expect(q, scheme.name).to.be.closeTo(expected[i], 1e-12));
    }
  });

  it('move the ground under a contact: a block on a belt is brought to its speed by friction', () => {
    const [g, mu] = [10, 0.5];
    const belt = signal([0, 10], [2, 2]);
    const block = mechanics({
      mass: [1, 1],
      forces: ({q}) => tf.mul(constantTensor([0, -g], [2]), tf.onesLike(q)),
      constraints: [
        frictionalContact(({q}) => tf.slice(q, [1], [1]), {
          slip: ({v, params}) => tf.sub(tf.slice(v, [0], [1]), (params as unknown as Driven).u),
          friction: mu,
        }),
      ],
    });
    const run = simulate(block, {q: [0, 0], v: [0, 0]}, {scheme: moreau(), dt: 0.01, t1: 1, inputs: {u: belt}});
    // μg t until it moves with the belt, at 2/5 s.
    run.values('v').forEach((v, i) => {
      if (i % 2 === 0) expect(v).to.be.closeTo(Math.min(2, mu * g * 0.01 * (i / 2)), 1e-9);
    });
    const slippery = mechanics({
      mass: 1,
      forces: ({q}) => tf.zerosLike(q),
      constraints: [frictionalContact(({q}) => q, {restitution: params => (params as unknown as Driven).u})],
    });
    expect(() => simulate(slippery, {q: [1], v: [0]}, {scheme: moreau(), dt: 0.01, t1: 1, inputs: {u: belt}})).to.throw(
      OptionError,
      'The restitution reads the input',
    );
  });

  it('have a derivative, an input too: q″ + cq′ + kq = cu′ + ku keeps q = u where it starts there', () => {
    const base = mechanics({
      mass: 1,
      forces: ({q, v, params: {u, rate, bend}}) =>
        tf.addN([tf.mul(9, tf.sub(u as tf.Tensor, q)), tf.mul(2, tf.sub(rate as tf.Tensor, v)), bend as tf.Tensor]),
    });
    // u = t², a cubic through its samples but for the natural ends; so u‴ is small in the middle only: take a line.
    const line = signal([0, 1, 2, 3], [0, 0.5, 1, 1.5], 'cubic');
    const none: Input = {t: line.t, at: time => tf.zerosLike(time)};
    const path = simulate(base, {q: 0, v: 0.5}, {...run, inputs: {u: line, rate: line.derivative, bend: none}});
    path.values('q').forEach((q, i) => expect(q).to.be.closeTo(0.5 * 0.05 * i, 1e-13));
  });

  it('of a variable have gradients: of a sum of explicit Euler steps the hat functions', () => {
    const dt = 0.013;
    const steps = 150;
    const hat = (k: number, x: number): number => {
      const piece = Math.min(t.length - 2, t.filter(time => time <= x).length - 1);
      const share = (x - t[piece]) / (t[piece + 1] - t[piece]);
      return k === piece ? 1 - share : k === piece + 1 ? share : 0;
    };
    const expected = t.map((_, k) =>
      Array.from({length: steps}, (__, n) => dt * hat(k, n * dt)).reduce((sum, x) => sum + x, 0),
    );
    const knots = tf.variable(tf.tensor1d(values));
    const rate = ode(({y, params}) => tf.add(tf.zerosLike(y), (params as Driven).u));
    const options = {scheme: explicitEuler(), dt, steps, saveAt: 'end'} as const;
    const {trajectory, pullback} = simulate.vjp(rate, {y: 0}, {...options, inputs: {u: signal(t, knots)}});
    const gradient = pullback({y: [0, 1]}).variables.get(knots);
    expected.forEach((value, k) => expect(gradient?.[k]).to.be.closeTo(value, 1e-14));
    // Linear in its samples: the value is the gradient's product with them, rounded to float32 as the variable holds them.
    const product = Array.from(knots.dataSync()).reduce((sum, value, k) => sum + value * expected[k], 0);
    expect(trajectory.values('y')[1]).to.be.closeTo(product, 1e-13);

    // The same of params inside a function, by the natural spline: linear in the samples too.
    const inside = ode(({y, t: time, params}) =>
      tf.add(tf.zerosLike(y), signal(t, params.knots as tf.Tensor, 'cubic').at(time)),
    );
    const spline = simulate.vjp(inside, {y: 0}, {...options, params: {knots: values}});
    const slopes = spline.pullback({y: [0, 1]}).params.knots as Float64Array;
    const fixed = ode(({y, params}) => tf.add(tf.zerosLike(y), (params as Driven).u));
    const plain = simulate(fixed, {y: 0}, {...options, inputs: {u: push}}).values('y')[1];
    expect(spline.trajectory.values('y')[1]).to.be.closeTo(plain, 1e-13);
    expect(values.reduce((sum, value, k) => sum + value * slopes[k], 0)).to.be.closeTo(plain, 1e-13);
    knots.dispose();
  });

  it('with samples of a shape drive several masses', () => {
    const two = mechanics({mass: [1, 2], forces: ({q, params}) => tf.sub((params as Driven).u, tf.mul([4, 9], q))});
    const wide = signal(
      [0, 1, 4],
      [
        [0, 1],
        [2, 3],
        [1, 0],
      ],
    );
    const alone = (k: number): Float64Array =>
      simulate(
        mechanics({mass: k + 1, forces: ({q, params}) => tf.sub((params as Driven).u, tf.mul([4, 9][k], q))}),
        start,
        {
          ...run,
          inputs: {
            u: signal(
              [0, 1, 4],
              [
                [0, 2, 1],
                [1, 3, 0],
              ][k],
            ),
          },
        },
      ).values('q');
    const q = simulate(two, {q: [0.2, 0.2], v: [0, 0]}, {...run, inputs: {u: wide}}).values('q');
    for (const k of [0, 1]) alone(k).forEach((value, i) => expect(q[2 * i + k]).to.be.closeTo(value, 1e-13));
  });

  it('are refused where they cannot be right', () => {
    const with_ = (inputs: object, params = {}): string =>
      codeOf(() => simulate(spring, start, {...run, params, inputs: inputs as {u: Input}}));
    expect(with_({u: push, w: push})).to.equal('unknown-input');
    expect(with_({u: [1, 2, 3]})).to.equal('not-a-signal');
    expect(with_({u: push}, {u: 1})).to.equal('name-clash');
    const heavy = mechanics({mass: ({params}) => params.u as tf.Tensor, forces: ({q}) => q});
    expect(codeOf(() => simulate(heavy, start, {...run, inputs: {u: push}}))).to.equal('input-in-mass');
    const misspelt = (): unknown =>
      simulate(
        mechanics({mass: 1, forces: ({q, params}) => tf.mul(q, tf.mul(params.k as tf.Tensor, params.u as tf.Tensor))}),
        start,
        {...run, params: {k: 1, kk: 2}, inputs: {u: push}},
      );
    expect(misspelt).to.throw(OptionError, 'params.kk');
    const many = tf.variable(tf.zeros([1001]));
    expect(
      codeOf(() =>
        signal(
          Array.from({length: 1001}, (_, i) => i),
          many,
          'cubic',
        ),
      ),
    ).to.equal('signal-kind');
    many.dispose();
  });
});
