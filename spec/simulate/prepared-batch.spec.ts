/** A prepared batch: members at times of their own are the single runs at these times, of one trace. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import type {Initial, ObjectiveAt, PreparedBatch, SimulateOptions} from '../../lib/index.js';
import type {AnySystem} from '../../lib/simulate/kinds.js';
import type {TimedMember} from '../../lib/simulate/batch-kinds.js';
import {
  adaptive,
  batch,
  batchAsync,
  dopri5,
  event,
  implicitAdjoint,
  kvaerno5,
  mechanics,
  ode,
  rk4,
  signal,
  simulate,
  trapezoid,
  tsit5,
  verlet,
} from '../../lib/index.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

type Rate = {readonly rate: tf.Tensor};

const weights = tf.variable(
  tf.tensor2d([
    [0.3, -1.1],
    [0.9, 0.2],
  ]),
  true,
  'batch.weights',
);

/** Has a parameter, a variable, and the time in it. */
const system = ode<Rate>(({y, t, params: {rate}}) =>
  tf.add(tf.mul(rate, tf.sin(t)), tf.tanh(tf.reshape(tf.matMul(weights, tf.reshape(y, [2, 1])), [2]))),
);

const member = (i: number, saved = 4) => ({
  initial: {y: [Math.cos(i), Math.sin(i)], t: 0.01 * i},
  params: {rate: 0.1 + 0.02 * i},
  saveAt: Array.from({length: saved}, (_, k) => 0.01 * i + (k === 0 ? 0 : 0.4 * k + 0.07 * Math.sin(3 * i + k))),
});

const close = (a: ArrayLike<number>, b: ArrayLike<number>, tolerance: number, what: string): void => {
  expect(a.length, what).to.equal(b.length);
  for (let k = 0; k < a.length; k++)
    expect(Math.abs(a[k] - b[k]), `${what} ${k}: ${a[k]} and ${b[k]}`).to.be.at.most(
      tolerance * Math.max(1, Math.abs(b[k])),
    );
};

/** Runs and gradients of a batch against those of its members by themselves. */
function compare<S extends AnySystem>(
  own: S,
  options: SimulateOptions,
  members: readonly TimedMember<S>[],
  name: 'y' | 'q',
  tolerance: number,
  lanes?: number,
): void {
  const prepared = batch.prepare(
    own,
    members[0].initial as Initial<S>,
    {
      ...options,
      lanes,
    } as never,
  ) as unknown as PreparedBatch;
  const {trajectories, pullback} = prepared.vjp(members as never);
  const cotangents = trajectories.map((path, i) => ({
    [name]: path.values(name).map((_, k) => Math.cos(k + i)),
  }));
  const gradient = pullback(cotangents as never);
  const variables = new Map<tf.Variable, Float64Array>();
  members.forEach(({initial, params, saveAt, t0, t1}, i) => {
    const start = {...(initial as object), ...(t0 === undefined ? {} : {t: t0})} as Initial;
    const single = simulate.vjp(own as never, start, {
      ...options,
      params: params ?? options.params,
      saveAt: saveAt ?? options.saveAt,
      t1: t1 ?? saveAt?.at(-1) ?? options.t1,
      steps: undefined,
    } as never);
    const [a, b] = [trajectories[i], single.trajectory as (typeof trajectories)[0]];
    expect(a.status).to.equal(b.status);
    expect(a.stats.steps, 'steps').to.equal(b.stats.steps);
    close(a.values('t'), b.values('t'), 0, 't');
    close(a.values(name), b.values(name), tolerance, name);
    const pulled = single.pullback(cotangents[i] as never);
    const of = gradient.members[i];
    for (const [block, values] of Object.entries(pulled.initial))
      close((of.initial as never)[block], values as Float64Array, tolerance, `initial ${block}`);
    for (const [leaf, values] of Object.entries(of.params))
      close(values as Float64Array, (pulled.params as never)[leaf], tolerance, leaf);
    for (const [variable, values] of pulled.variables) {
      const sum = variables.get(variable) ?? new Float64Array(values.length);
      values.forEach((value, k) => (sum[k] += value));
      variables.set(variable, sum);
    }
    a.dispose();
    b.dispose();
  });
  expect([...gradient.variables.keys()]).to.deep.equal([...variables.keys()]);
  for (const [variable, values] of variables)
    close(gradient.variables.get(variable) as Float64Array, values, tolerance, variable.name);
}

describe('batch.prepare', () => {
  const members = Array.from({length: 9}, (_, i) => member(i));
  const options = {dt: 0.05, t1: 1, params: {rate: 0.1}};

  slow('in lanes: every member is its own run, at its own times, with its own gradient', () => {
    for (const scheme of [tsit5(), rk4()]) compare(system, {...options, scheme}, members, 'y', 1e-12);
  });

  slow('with steps by their error, each member by its own', () => {
    // Digits in which tsit5's steps differ are those of its error estimates.
    const control = adaptive({rtol: 1e-6, atol: 1e-8});
    compare(system, {...options, scheme: tsit5(), control}, members, 'y', 1e-9);
    const first = adaptive({rtol: 1e-6, atol: 1e-8, first: 'auto', controller: {integral: 1}, growth: 10});
    compare(system, {...options, scheme: dopri5(), control: first}, members, 'y', 1e-9);
  });

  const pulse = ode<Rate>(({y, t, params: {rate}}) =>
    tf.sub(tf.mul(tf.exp(tf.neg(tf.square(tf.mul(rate, tf.sub(t, 1))))), 3), y),
  );
  const rates = [1, 60, 5, 200].map((rate, i) => ({initial: {y: [1]}, params: {rate}, t1: 2 - 0.1 * i}));
  const control = adaptive({rtol: 1e-7, atol: 1e-9});
  const pulses = {scheme: tsit5(), dt: 0.3, t1: 2, params: {rate: 1}, control};

  it('members whose steps are refused do not hold up the others', () => {
    compare(pulse, {...pulses, saveAt: 'all'}, rates, 'y', 1e-9);
  });

  it('members refuse steps of their own', () => {
    const runs = batch.prepare(pulse, {y: [1]}, pulses).run(rates);
    expect(runs.map(({stats}) => stats.rejectedSteps > 0)).to.include(true);
    expect(new Set(runs.map(({stats}) => stats.steps)).size).to.equal(4);
  });

  slow('attempts that overflow, in their end or on the way to it, add nothing to the gradient', () => {
    const control = adaptive({rtol: 1e-6, atol: 1e-8});
    const options = {scheme: tsit5(), dt: 1, t1: 2, params: {rate: 1}, control};
    const cubic = ode<Rate>(({y, params: {rate}}) => tf.neg(tf.mul(rate, tf.mul(y, tf.square(y)))));
    // Where the square is large the exponential is infinite, and its reciprocal a plain zero.
    const damped = ode<Rate>(({y, params: {rate}}) =>
      tf.neg(tf.mul(tf.mul(rate, y), tf.sub(1, tf.reciprocal(tf.add(1, tf.exp(tf.square(y))))))),
    );
    const at = (rates: readonly number[], y: number) =>
      rates.map(rate => ({initial: {y: [y]}, params: {rate}, saveAt: [0.5, 1.2, 2]}));
    for (const [own, members] of [
      [cubic, at([0.001, 2, 5], 10)],
      [damped, at([0.1, 200, 50], 3)],
    ] as const) {
      compare(own, options, members, 'y', 1e-9);
      const runs = batch.prepare(own, {y: [1]}, options).run(members);
      expect(runs.map(({stats}) => stats.rejectedSteps > 0)).to.deep.equal([false, true, true]);
    }
  });

  slow('within a budget: what steps kept is left where it has no room, and the gradient is the same', () => {
    const control = adaptive({rtol: 1e-7, atol: 1e-9});
    for (const memory of [1e3, 8e3, 2e4])
      for (const more of [{}, {control}])
        compare(system, {...options, ...more, scheme: tsit5(), adjoint: implicitAdjoint({memory})}, members, 'y', 1e-9);
  });

  slow('any members in any number of lanes, by random', () => {
    fc.assert(
      fc.property(
        fc.record({
          scheme: fc.constantFrom(tsit5(), rk4()),
          digits: fc.integer({min: 3, max: 8}),
          isAdaptive: fc.boolean(),
          lanes: fc.integer({min: 2, max: 6}),
          memory: fc.constantFrom(5e3, 2e4, 1e9),
          given: fc.array(
            fc.record({
              t: fc.double({min: 0, max: 0.5, noNaN: true}),
              y: fc.double({min: -1, max: 1, noNaN: true}),
              rate: fc.double({min: 0, max: 20, noNaN: true}),
              waits: fc.array(fc.double({min: 1e-3, max: 1, noNaN: true}), {minLength: 1, maxLength: 5}),
            }),
            {minLength: 2, maxLength: 9},
          ),
        }),
        ({scheme, digits, isAdaptive, lanes, memory, given}) => {
          const control =
            isAdaptive && scheme.name === 'tsit5' ? adaptive({rtol: 10 ** -digits, atol: 1e-8, growth: 10}) : undefined;
          const random = given.map(({t, y, rate, waits}) => {
            let time = t;
            return {initial: {y: [y, 1 - y], t}, params: {rate}, saveAt: waits.map(wait => (time += wait))};
          });
          const more = {scheme, control, dt: 0.1, adjoint: implicitAdjoint({memory})};
          compare(system, {...options, ...more}, random, 'y', 1e-9, lanes);
        },
      ),
      runs(20, 5),
    );
  });

  it('more members than lanes, fewer, and one', () => {
    const prepared = batch.prepare(system, members[0].initial, {...options, scheme: tsit5(), lanes: 4});
    const alone = batch.prepare(system, members[0].initial, {...options, scheme: tsit5(), lanes: 1});
    const expected = alone.run(members).map(path => path.values('y'));
    for (const count of [9, 3, 1]) {
      const {trajectories, pullback} = prepared.vjp(members.slice(0, count));
      const other = alone.vjp(members.slice(0, count));
      trajectories.forEach((path, i) => close(path.values('y'), expected[i], 1e-13, 'y'));
      const cotangents = trajectories.map((_, i) =>
        i === 2 ? undefined : {y: Array.from({length: 8}, (__, k) => k - i)},
      );
      const [a, b] = [pullback(cotangents), other.pullback(cotangents)];
      close(a.variables.get(weights) as Float64Array, b.variables.get(weights) as Float64Array, 1e-12, 'weights');
      close(a.params.rate, b.params.rate, 1e-12, 'rate');
    }
  });

  slow('mechanics, implicit schemes, step constraints and events: one after another, in one trace', () => {
    let calls = 0;
    const spring = mechanics<{k: tf.Tensor}>({
      mass: [1, 2],
      forces: ({q, v, params: {k}}) => {
        calls++;
        return tf.sub(tf.neg(tf.mul(k, q)), tf.mul(0.1, v));
      },
    });
    const own = [0, 1, 2].map(i => ({
      initial: {q: [1, -1], v: [0, i]},
      t0: 0.1 * i,
      params: {k: 3 + i},
      saveAt: [0.5 + 0.11 * i, 1.21],
    }));
    const base = {dt: 0.05, t1: 1, params: {k: 3}};
    for (const scheme of [verlet(), trapezoid()]) compare(spring, {...base, scheme}, own, 'q', 1e-11);
    const control = adaptive({rtol: 1e-5, atol: 1e-7});
    compare(spring, {...base, scheme: kvaerno5(), control}, own, 'q', 1e-11);
    const turn = event({when: ({q}) => tf.reshape(tf.slice(q, 0, 1), []), then: ({v}) => ({v: tf.mul(v, 0.9)})});
    compare(spring, {...base, scheme: rk4(), events: [turn] as never}, own, 'q', 1e-11);
    const prepared = batch.prepare(spring, own[0].initial, {...base, scheme: trapezoid()});
    const traced = calls;
    prepared.run(own);
    prepared.run(own.map(one => ({...one, saveAt: [0.77, 1.03]})));
    expect(calls).to.equal(traced);
  });

  it('times of events have derivatives, in losses and by cotangents, also where events differ', async () => {
    const fall = ode<Rate>(({y, params: {rate}}) => tf.neg(tf.mul(rate, y)));
    const crossing = event({when: ({y}: {y: tf.Tensor}) => tf.sub(y, 0.5), then: 'record'});
    const settings = {scheme: tsit5(), dt: 0.05, t1: 2, params: {rate: 1}, events: [crossing], saveAt: 'end'} as never;
    const prepared = batch.prepare(fall, {y: 1}, settings);
    // y = y₀ e^(−r t) is 0.5 at t* = ln(2 y₀)/r: ∂t*/∂r = −t*/r, ∂t*/∂y₀ = 1/(r y₀). The third never is.
    const members = [{initial: {y: 1}}, {initial: {y: 3}}, {initial: {y: 0.4}}];
    const times = [1, 3].map(y => Math.log(2 * y));
    const byRate = -(times[0] + times[1]);
    const near = (found: unknown, exact: number): void => {
      expect((found as Float64Array)[0]).to.be.closeTo(exact, 1e-6);
    };
    const loss = ({y, events}: {y: tf.Tensor; events: tf.Tensor}): tf.Tensor =>
      tf.add(tf.sum(events), tf.sum(tf.square(tf.gather(y, 1))));
    const {gradient, values} = prepared.valueAndGrad(loss as never, members);
    members.forEach(({initial: {y}}, i) => {
      const end = y * Math.exp(-2);
      const happened = i < 2;
      expect(values[i]).to.be.closeTo((happened ? times[i] : 0) + end ** 2, 1e-6);
      const {initial} = gradient.members[i] as {initial: {y: Float64Array}};
      near(initial.y, ((happened ? 1 / y : 0) + 2 * end * Math.exp(-2)) / 3);
    });
    const square = members.reduce((sum, {initial: {y}}) => sum - 4 * (y * Math.exp(-2)) ** 2, 0);
    near(gradient.params.rate, (byRate + square) / 3);
    const cotangents = [{events: [1]}, {events: [1]}, {events: []}] as never[];
    const {trajectories, pullback} = prepared.vjp(members);
    near(pullback(cotangents).params.rate, byRate);
    const starts = members.map(({initial}) => initial);
    const {trajectories: others, pullback: back} = batch.vjp(fall, starts, settings);
    near(back(cotangents).params.rate, byRate);
    const later = await batchAsync.vjp(fall, starts, settings);
    near((await later.pullback(cotangents)).params.rate, byRate);
    for (const path of [...trajectories, ...others, ...later.trajectories]) path.dispose();
    expect(() => back([{events: [1, 2]}] as never)).to.throw(/3 members need one cotangent each/);
    expect(() => back([{events: [1, 2]}, undefined, undefined] as never)).to.throw(/events has 2 numbers; 1 events/);
  });

  slow('inputs that jump: members start, end and are saved on any side of the jumps', () => {
    const held = signal([0, 0.33, 0.8], [1, -1, 2], 'hold');
    const driven = ode<{u: tf.Tensor}>(({y, params: {u}}) => tf.sub(u, y));
    const own = [0, 0.4, 0.33].map(t => ({initial: {y: [0], t}, saveAt: [t + 0.1, 1.1]}));
    for (const control of [undefined, adaptive({rtol: 1e-7, atol: 1e-9})])
      compare(driven, {scheme: tsit5(), dt: 0.11, t1: 1.1, inputs: {u: held}, control} as never, own, 'y', 1e-12);
  });

  it('nothing is traced for another number of members, other times or parameters, nor compiled for fewer', () => {
    let calls = 0;
    const counted = ode<Rate>(({y, params: {rate}}) => {
      calls++;
      return tf.neg(tf.mul(rate, y));
    });
    let losses = 0;
    const loss = ({y, data: {seen}}: ObjectiveAt<Rate, {seen: tf.Tensor}>) => {
      losses++;
      return tf.sum(tf.squaredDifference(tf.reshape(y, [2]), seen));
    };
    const prepared = batch.prepare(counted, {y: [1]}, {scheme: tsit5(), dt: 0.1, t1: 1, params: {rate: 1}});
    const own = (count: number, shift: number) =>
      Array.from({length: count}, (_, i) => ({
        initial: {y: [1 + i]},
        params: {rate: 1 + 0.1 * i + shift},
        saveAt: [0.31 + 0.01 * i, 0.9 + shift],
        data: {seen: [0, 0]},
      }));
    prepared.valueAndGrad(loss, own(6, 0));
    const traced = [calls, losses];
    for (const count of [6, 5, 2]) {
      const {value, values, gradient} = prepared.valueAndGrad(loss, own(count, 0.05 * count));
      // Closed form: y = y₀ e^(−rt).
      const exact = own(count, 0.05 * count).map(({initial: {y}, params: {rate}, saveAt}) => {
        const squares = saveAt.map(t => (y[0] * Math.exp(-rate * t)) ** 2);
        return {
          value: squares[0] + squares[1],
          y: (2 * (squares[0] + squares[1])) / y[0],
          rate: -2 * (saveAt[0] * squares[0] + saveAt[1] * squares[1]),
        };
      });
      close(
        values,
        exact.map(one => one.value),
        1e-6,
        'values',
      );
      expect(value).to.be.closeTo(exact.reduce((sum, one) => sum + one.value, 0) / count, 1e-6 * value);
      gradient.members.forEach((one, i) => {
        close(one.initial?.y as Float64Array, [exact[i].y / count], 1e-6, 'y');
        close(one.params.rate as Float64Array, [exact[i].rate / count], 1e-6, 'rate');
      });
      close(gradient.params.rate, [exact.reduce((sum, one) => sum + one.rate / count, 0)], 1e-6, 'rate');
    }
    expect([calls, losses]).to.deep.equal(traced);
  });

  it('order five holds at steps only: errors between them fall as h⁴ of the quartic, or faster', () => {
    const still = ode(({y}) => tf.neg(y));
    const errors = [0.2, 0.1, 0.05].map(dt => {
      const prepared = batch.prepare(still, {y: [1]}, {scheme: tsit5(), dt, t1: 2});
      const own = Array.from({length: 5}, (_, i) => ({saveAt: [0.537 + 0.1 * i, 1.234 + 0.05 * i]}));
      return Math.max(
        ...prepared.run(own).flatMap(path => {
          const t = path.values('t');
          return [...path.values('y')].map((value, k) => Math.abs(value - Math.exp(-t[k])));
        }),
      );
    });
    for (let k = 1; k < errors.length; k++) expect(Math.log2(errors[k - 1] / errors[k])).to.be.above(3.8);
  });

  it('the gradient is that of differences', () => {
    const prepared = batch.prepare(system, members[0].initial, {...options, scheme: tsit5()});
    const loss = ({y}: {y: tf.Tensor}) => tf.sum(tf.mul(tf.square(y), tf.exp(y)));
    const at = (rate: number, w: number) =>
      prepared.value(
        loss,
        members.map(one => ({...one, params: {rate}})),
        {variables: new Map([[weights, Float64Array.of(0.3 + w, -1.1, 0.9, 0.2)]])},
      );
    const {gradient} = prepared.valueAndGrad(
      loss,
      members.map(one => ({...one, params: {rate: 0.3}})),
      {variables: new Map([[weights, Float64Array.of(0.3, -1.1, 0.9, 0.2)]])},
    );
    const e = 1e-6;
    expect((at(0.3 + e, 0) - at(0.3 - e, 0)) / (2 * e)).to.be.closeTo(gradient.params.rate[0], 1e-7);
    expect((at(0.3, e) - at(0.3, -e)) / (2 * e)).to.be.closeTo(
      (gradient.variables.get(weights) as Float64Array)[0],
      1e-7,
    );
  });

  it('samples that are not there: the same loss and gradient as without them', () => {
    const prepared = batch.prepare(system, members[0].initial, {...options, scheme: tsit5()});
    const full = (saveAt: number[], seen: number[]) => ({...members[1], saveAt, data: {seen}});
    const loss = ({y, data: {seen}}: ObjectiveAt<Rate, {seen: tf.Tensor}>) => {
      const first = tf.reshape(tf.slice(y, [0, 0], [-1, 1]), seen.shape);
      return tf.sum(tf.square(tf.sub(first, tf.where(tf.isNaN(seen), first, seen))));
    };
    const few = prepared.valueAndGrad(loss, [full([0.5, 0.9], [1, 2])]);
    const gaps = prepared.valueAndGrad(loss, [full([NaN, 0.5, NaN, 0.9], [NaN, 1, NaN, 2])]);
    expect(gaps.value).to.equal(few.value);
    for (const [variable, values] of few.gradient.variables)
      expect([...(gaps.gradient.variables.get(variable) as Float64Array)]).to.deep.equal([...values]);
    const [path] = prepared.run([{...members[1], saveAt: [NaN, 0.5, NaN, 0.9]}]);
    expect([...path.values('t')]).to.deep.equal([0.5, 0.5, 0.5, 0.9]);
    // What a loss takes from such a place is what it takes from the one it stands for.
    const all = ({y}: {y: tf.Tensor}) =>
      tf.sum(
        tf.mul(
          y,
          tf.tensor2d([
            [1, 1],
            [2, 2],
            [3, 3],
            [4, 4],
          ]),
        ),
      );
    const six = ({y}: {y: tf.Tensor}) =>
      tf.sum(
        tf.mul(
          y,
          tf.tensor2d([
            [6, 6],
            [4, 4],
          ]),
        ),
      );
    close(
      prepared.valueAndGrad(all, [{...members[1], saveAt: [NaN, 0.5, NaN, 0.9]}]).gradient.members[0].initial
        ?.y as Float64Array,
      prepared.valueAndGrad(six, [{...members[1], saveAt: [0.5, 0.9]}]).gradient.members[0].initial?.y as Float64Array,
      1e-13,
      'y',
    );
  });

  it('encoders, observations and losses with parameters: the mean of single simulations', () => {
    type Data = {seen: tf.Tensor};
    const encoder = ({params, data}: {params: Rate; data: Data}) => ({y: tf.mul(params.rate, data.seen)});
    const loss = ({observed, params, data}: ObjectiveAt<Rate, Data>) =>
      tf.add(tf.mean(tf.squaredDifference(observed, tf.mul(data.seen, weights.gather(0)))), tf.square(params.rate));
    const observe = ({y, params: {rate}}: {y: tf.Tensor; params: Rate}) => tf.mul(y, tf.add(rate, y));
    const base = {...options, scheme: tsit5(), observe, saveAt: [0.25, 0.75]};
    const single = simulate.prepare(system, {y: [0, 0]}, {...base, t1: 0.75});
    const prepared = batch.prepare(system, {y: [0, 0]}, base);
    for (const shared of [true, false]) {
      const own = [0, 1, 2].map(i => ({
        initial: encoder,
        params: {rate: shared ? 0.2 : 0.2 + 0.1 * i},
        data: {seen: [1 + i, 2 - i]},
        t1: 0.75,
      }));
      const {value, gradient} = prepared.valueAndGrad(loss as never, own as never);
      const each = own.map(({t1: _, ...one}) => single.valueAndGrad(loss as never, one as never));
      const mean = (of: (one: (typeof each)[0]) => ArrayLike<number>): number[] =>
        Array.from(of(each[0]), (_, k) => each.reduce((sum, one) => sum + of(one)[k] / 3, 0));
      expect(value).to.be.closeTo(mean(one => [one.value])[0], 1e-13);
      close(
        gradient.params.rate,
        mean(one => one.gradient.params.rate),
        1e-12,
        'rate',
      );
      close(
        gradient.variables.get(weights) as Float64Array,
        mean(one => one.gradient.variables.get(weights) as Float64Array),
        1e-12,
        'weights',
      );
      expect(gradient.members[0].initial).to.equal(undefined);
      // The same by the cotangent of what was observed, where the encoder alone has parameters of its own.
      const {trajectories, pullback} = prepared.vjp(own as never);
      const pulled = pullback(trajectories.map(path => ({observed: path.values('observed').fill(1)})));
      const direct = ({observed}: {observed: tf.Tensor}) => tf.sum(observed);
      const summed = prepared.valueAndGrad(direct, own as never).gradient;
      close(
        pulled.params.rate,
        summed.params.rate.map(value => 3 * value),
        1e-12,
        'rate of three',
      );
      for (const path of trajectories) path.dispose();
    }
  });

  it('a pullback after another batch, with parameters of each member, counts encoders of all members', () => {
    const falling = ode<Rate>(({y, params: {rate}}) => tf.neg(tf.mul(rate, y)));
    const encoder = ({params: {rate}}: {params: Rate}) => ({y: tf.reshape(tf.mul(rate, 2), [1])});
    const encoded = [0, 1, 2].map(() => ({initial: encoder}));
    for (const scheme of [rk4(), trapezoid()]) {
      const base = {scheme, dt: 0.01, t1: 1, params: {rate: 0.5}, saveAt: 'end'} as const;
      const prepared = batch.prepare(falling, {y: [1]}, base);
      const {trajectories, pullback} = prepared.vjp(encoded);
      prepared.run([0.7, 0.9].map(rate => ({initial: {y: [1]}, params: {rate}})));
      const {params} = pullback(trajectories.map(() => ({y: [0, 1]})));
      // y(1) = 2 r e⁻ʳ of each of three.
      close(params.rate, [3 * 2 * (1 - 0.5) * Math.exp(-0.5)], 1e-4, scheme.name);
    }
  });

  it('says which member is wrong, and leaves no tensor behind', () => {
    const prepared = batch.prepare(system, members[0].initial, {...options, scheme: tsit5()});
    const before = tf.memory().numTensors;
    const code = (work: () => unknown): string => {
      try {
        work();
      } catch (error) {
        return `${(error as {code: string}).code} ${String((error as {data: {member?: number}}).data.member)}`;
      }
      return 'nothing';
    };
    const with1 = (more: object) => () => prepared.run([members[0], {...members[1], ...more}]);
    expect(code(with1({saveAt: [0.5, 0.4]}))).to.equal('bad-save 1');
    expect(code(with1({saveAt: [NaN]}))).to.equal('bad-save 1');
    expect(code(with1({t1: -1}))).to.equal('bad-time 1');
    expect(code(with1({t0: 'now'}))).to.match(/ 1$/);
    expect(code(with1({initial: {y: [1]}}))).to.equal('initial-shape 1');
    expect(code(with1({params: {other: 1}}))).to.equal('params-shape 1');
    expect(code(with1({save: [1]}))).to.equal('unknown-option 1');
    expect(code(() => prepared.run([]))).to.equal('bad-initial undefined');
    const {trajectories, pullback} = prepared.vjp(members);
    expect(code(() => pullback([]))).to.equal('bad-cotangent undefined');
    for (const path of trajectories) path.dispose();
    expect(code(() => batch.prepare(system, {y: [1, 2]}, {...options, lanes: 0}))).to.match(/^bad-option/);
    const nan = ({y}: {y: tf.Tensor}) => tf.sum(tf.sqrt(tf.sub(y, 100)));
    expect(code(() => prepared.valueAndGrad(nan, members))).to.equal('loss-not-finite 0');
    const steep = ({y}: {y: tf.Tensor}) => tf.sum(tf.sqrt(tf.sub(y, y)));
    expect(code(() => prepared.valueAndGrad(steep, members))).to.match(/^gradient-not-finite 0/);
    expect(() =>
      tf.tidy(() => tf.grad(rate => prepared.run([{...members[0], params: {rate}}])[0].y)(tf.scalar(1))),
    ).to.throw(/tape/);
    expect(tf.memory().numTensors).to.equal(before);
  });

  slow('a member that fails has its status, or its error says which it is', () => {
    const burst = ode<Rate>(({y, params: {rate}}) => tf.mul(rate, tf.square(y)));
    const own = [0.1, 1e9, 0.2].map(rate => ({initial: {y: [1]}, params: {rate}}));
    const base = {scheme: rk4(), dt: 0.1, t1: 1, params: {rate: 1}};
    const runs = batch.prepare(burst, {y: [1]}, {...base, throw: false}).run(own);
    expect(runs.map(({status}) => status)).to.deep.equal(['completed', 'not-finite', 'completed']);
    expect(runs[0].values('y').at(-1)).to.be.closeTo(1 / (1 - 0.1), 1e-6);
    expect(() => batch.prepare(burst, {y: [1]}, base).run(own)).to.throw(/Member 1 .*not finite|Member 1 .*infinite/);
    const control = adaptive({rtol: 1e-6, atol: 1e-8, min: 1e-5});
    const stuck = batch.prepare(burst, {y: [1]}, {...base, scheme: tsit5(), control, throw: false}).run(own);
    expect(stuck.map(({status}) => status)).to.deep.equal(['completed', 'step-too-small', 'completed']);
  });
});
