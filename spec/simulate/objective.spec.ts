/**
 * The loss of a run and its gradient in one: against simulate.vjp with the loss's cotangent written out, tfjs's tape,
 * closed forms and differences in double precision; traced once.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  adaptive,
  event,
  EventError,
  GradientError,
  implicitMidpoint,
  InconsistentStateError,
  kvaerno3,
  mechanics,
  ode,
  OptionError,
  ShapeError,
  simulate,
  TraceError,
  tsit5,
} from '../../lib/index.js';
import type {ObjectiveAt, Params, Simulation, StiffgradError, ValueAndGradient} from '../../lib/index.js';

type With<Name extends string> = {readonly [name in Name]: tf.Tensor};

/** Two prey, two predators: y′ of shape [2, 2] with rates from params and a weight that is captured. */
const weight = tf.variable(
  tf.tensor2d([
    [0.3, -0.2],
    [0.5, 0.1],
  ]),
);
const system = ode<With<'rate'>>(({y, t, params}) =>
  tf.add(
    tf.mul(tf.neg(params.rate), y),
    tf.mul(tf.tanh(tf.matMul(y as tf.Tensor2D, weight as tf.Tensor2D)), tf.cos(t)),
  ),
);
const start = [
  [1, 0.5],
  [-0.3, 0.8],
];
const fixed = {scheme: tsit5(), dt: 0.1, steps: 12, params: {rate: 0.4}};
const times = [0, 0.13, 0.5, 0.77, 1.2];
const moving = {
  scheme: tsit5(),
  dt: 0.05,
  t1: 1.2,
  control: adaptive({rtol: 1e-6, atol: 1e-9}),
  saveAt: times,
  params: {rate: 0.4},
};
const stiff = {...moving, scheme: kvaerno3()};
const cases = {'tsit5 on a grid': fixed, 'adaptive tsit5': moving, 'adaptive kvaerno3': stiff};

const targets = (saved: number): Float64Array => Float64Array.from({length: saved * 4}, (_, i) => Math.sin(i));
const meanSquare = ({y, data}: ObjectiveAt): tf.Tensor =>
  tf.mean(tf.squaredDifference(y, tf.reshape((data as With<'target'>).target, y.shape)));

const largest = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Math.max(...Array.from(a, (value, i) => Math.abs(value - b[i]) / Math.max(1, Math.abs(b[i]))));

describe('the value and gradient of a loss', () => {
  for (const [name, options] of Object.entries(cases)) {
    it(`are what simulate.vjp gives for the loss's cotangent: ${name}`, () => {
      const {trajectory, pullback} = simulate.vjp(system, {y: start}, options);
      const y = trajectory.values('y');
      trajectory.dispose();
      const target = targets(y.length / 4);
      const expected = pullback({y: y.map((value, i) => (2 * (value - target[i])) / y.length)});
      const model = simulate.prepare(system, {y: start}, options);
      const {value, gradient} = model.valueAndGrad(meanSquare, {data: {target}});
      expect(value).to.be.closeTo(y.reduce((sum, one, i) => sum + (one - target[i]) ** 2, 0) / y.length, 1e-14);
      // A run without a gradient may take Jacobians over from one step to the next.
      expect(model.value(meanSquare, {data: {target}})).to.be.closeTo(value, options === stiff ? 1e-9 : 0);
      expect(largest(gradient.initial?.y ?? [], expected.initial.y)).to.be.below(1e-13);
      expect(largest(gradient.params.rate, expected.params.rate)).to.be.below(1e-13);
      expect(largest(gradient.variables.get(weight) ?? [], expected.variables.get(weight) ?? [])).to.be.below(1e-13);
    });

    it(`agree with differences and with tfjs's tape: ${name}`, () => {
      const model = simulate.prepare(system, {y: start}, options);
      const saved = options === fixed ? 13 : times.length;
      const data = {target: targets(saved)};
      const at = (rate: number, y0 = start): number =>
        model.valueAndGrad(meanSquare, {initial: {y: y0}, params: {rate}, data}).value;
      const {value, gradient} = model.valueAndGrad(meanSquare, {data});
      const h = 1e-5;
      // Adaptive steps choose other lengths beside: the difference sees that, to the tolerance.
      const digits = options === fixed ? 1e-9 : 1e-5;
      expect(gradient.params.rate[0]).to.be.closeTo((at(0.4 + h) - at(0.4 - h)) / (2 * h), digits);
      const {value: taped, grads} = tf.variableGrads(() => {
        const {y} = model.run();
        return tf.mean(tf.squaredDifference(y, tf.tensor(Float32Array.from(data.target), y.shape))) as tf.Scalar;
      }, [weight]);
      expect(value).to.be.closeTo(taped.dataSync()[0], 1e-6);
      expect(largest(gradient.variables.get(weight) ?? [], grads[weight.name].dataSync())).to.be.below(2e-6);
      tf.dispose([taped, grads]);
    });
  }

  it('go through an encoder, observations, params and variables that the loss alone reads', () => {
    const code = tf.variable(tf.tensor2d([[0.2, -0.4, 0.1, 0.3]]));
    const scale = tf.variable(tf.scalar(1.5));
    const decoder = tf.variable(tf.tensor2d([[0.7], [-0.6]]));
    const model = simulate.prepare(
      system,
      {y: start},
      {...fixed, observe: ({y}) => tf.matMul(y as tf.Tensor2D, decoder as tf.Tensor2D)},
    );
    const initial = ({params, data}: {params: Params; data: Params}): {y: tf.Tensor} => ({
      y: tf.reshape(
        tf.mul(
          tf.tanh(tf.matMul(tf.reshape(data.context as tf.Tensor, [1, 1]), code as tf.Tensor2D)),
          params.rate as tf.Tensor,
        ),
        [2, 2],
      ),
    });
    const loss = ({observed, t, params}: ObjectiveAt): tf.Tensor =>
      tf.add(
        tf.sum(tf.mul(tf.reshape(tf.exp(tf.neg(t)), [-1, 1, 1]), tf.square(tf.mul(observed, scale)))),
        tf.square(params.rate as tf.Tensor),
      );
    const numbers = new Map<tf.Variable, Float64Array>(
      [code, scale, decoder, weight].map(variable => [variable, Float64Array.from(variable.dataSync())]),
    );
    const at = (rate: number, variables = numbers) =>
      model.valueAndGrad(loss, {initial, params: {rate}, data: {context: 0.8}, variables});
    const {gradient} = at(0.4);
    expect(gradient.initial).to.equal(undefined);
    const h = 1e-5;
    expect(gradient.params.rate[0]).to.be.closeTo((at(0.4 + h).value - at(0.4 - h).value) / (2 * h), 1e-9);
    for (const [variable, values] of numbers)
      for (const i of values.keys()) {
        const moved = (by: number): number =>
          at(0.4, new Map([...numbers, [variable, values.map((value, k) => (k === i ? value + by : value))]])).value;
        expect(gradient.variables.get(variable)?.[i]).to.be.closeTo((moved(h) - moved(-h)) / (2 * h), 1e-8);
      }
    tf.dispose([code, scale, decoder]);
  });

  it('take a mechanical system by implicit steps, velocities too', () => {
    // q = cos(ωt): d/dω Σ(q² + v²) at the last step, by differences.
    const spring = mechanics<With<'k'>>({mass: 1, forces: ({q, params}) => tf.neg(tf.mul(params.k, q))});
    const model = simulate.prepare(
      spring,
      {q: [1, 2], v: [0, 1]},
      {scheme: implicitMidpoint(), dt: 0.05, steps: 20, params: {k: 3}},
    );
    const loss = ({q, v}: ObjectiveAt): tf.Tensor => tf.sum(tf.add(tf.square(q), tf.mul(q, v)));
    const {gradient} = model.valueAndGrad(loss);
    const at = (k: number): number => model.valueAndGrad(loss, {params: {k}}).value;
    expect(gradient.params.k[0]).to.be.closeTo((at(3 + 1e-5) - at(3 - 1e-5)) / 2e-5, 1e-7);
    expect(Object.keys(gradient.initial ?? {})).to.deep.equal(['q', 'v']);
  });

  it('stay as they are when the next are taken, each of the series that its own loss reads', () => {
    const spring = mechanics<With<'k'>>({mass: 1, forces: ({q, params}) => tf.neg(tf.mul(params.k, q))});
    const options = {scheme: implicitMidpoint(), dt: 0.05, steps: 20, params: {k: 3}};
    const prepared = (): Simulation => simulate.prepare(spring, {q: [1, 2], v: [0, 1]}, options) as Simulation;
    const losses = [
      ({q}: ObjectiveAt) => tf.sum(tf.square(q)),
      ({v}: ObjectiveAt) => tf.sum(tf.square(v)),
      ({q, v}: ObjectiveAt) => tf.sum(tf.mul(q, v)),
    ];
    const numbers = ({value, gradient}: ValueAndGradient): unknown => ({
      value,
      k: [...(gradient.params.k as Float64Array)],
      start: Object.entries(gradient.initial ?? {}).map(([name, values]) => [name, ...values]),
    });
    const alone = losses.map(loss => numbers(prepared().valueAndGrad(loss)));
    const model = prepared();
    const inTurns = [0, 1, 2, 0, 2, 1, 1, 0].map(i => ({i, result: model.valueAndGrad(losses[i])}));
    for (const {i, result} of inTurns) expect(numbers(result)).to.deep.equal(alone[i]);
  });

  it("carry a loss of an event's time", () => {
    // A body thrown up at v comes down at t = 2v/g.
    const thrown = mechanics<With<'g'>>({mass: 1, forces: ({params}) => tf.neg(params.g)});
    const model = simulate.prepare(
      thrown,
      {q: 0.1, v: 3},
      {
        dt: 0.01,
        steps: 200,
        params: {g: 9.81},
        saveAt: 'end',
        events: [event({when: ({q}) => q, direction: 'falling', then: 'stop'})],
      },
    );
    const {value, gradient} = model.valueAndGrad(({events}) => tf.sum(events));
    const root = Math.sqrt(9 + 2 * 9.81 * 0.1);
    expect(value).to.be.closeTo((3 + root) / 9.81, 1e-9);
    expect((gradient.initial as {v: Float64Array}).v[0]).to.be.closeTo((1 + 3 / root) / 9.81, 1e-9);
  });

  it('of events that did not happen are refused with what to change', () => {
    const thrown = mechanics<With<'g'>>({mass: 1, forces: ({params}) => tf.neg(params.g)});
    const landing = event({when: ({q}) => q, direction: 'falling', then: 'record', name: 'landing'});
    const run = (steps: number) =>
      simulate.prepare(thrown, {q: 0.1, v: 3}, {dt: 0.01, steps, params: {g: 9.81}, saveAt: 'end', events: [landing]});
    const first = ({events}: ObjectiveAt): tf.Tensor => tf.gather(events, 0);
    const second = ({events}: ObjectiveAt): tf.Tensor => tf.reshape(tf.slice(events, [1], [1]), []);
    for (const act of ['value', 'valueAndGrad'] as const) {
      expect(() => run(20)[act](first)).to.throw(
        EventError,
        /no event happened in this run, of landing.*Make the run longer/,
      );
      expect(() => run(20)[act](second)).to.throw(EventError, /no event happened/);
    }
    expect(() => run(100).value(({events}) => tf.gather(events, 1))).to.throw(EventError, /only 1 event happened/);
    expect(run(100).value(first)).to.be.closeTo((3 + Math.sqrt(9 + 2 * 9.81 * 0.1)) / 9.81, 1e-9);
    // What else fails in such a loss is told as it is.
    expect(() => run(20).value(({q, events}) => tf.add(tf.gather(q, 7), tf.sum(events)))).to.throw(/gather: index 7/);
    expect(run(20).value(({q}) => tf.sum(q))).to.be.greaterThan(0);
  });

  it('leave out what is missing, by tf.where', () => {
    const target = targets(13);
    target[7] = NaN;
    const loss = ({y, data}: ObjectiveAt): tf.Tensor => {
      const there = tf.reshape((data as With<'target'>).target, y.shape);
      const error = tf.where(tf.isNaN(there), 0, tf.sub(y, there));
      return tf.sum(tf.square(error));
    };
    const model = simulate.prepare(system, {y: start}, fixed);
    const {value, gradient} = model.valueAndGrad(loss, {data: {target}});
    expect(value).to.be.above(0);
    expect([...gradient.params.rate].every(Number.isFinite)).to.equal(true);
  });

  it('are traced once, leave no tensor behind, and differ by the numbers alone', () => {
    const model = simulate.prepare(system, {y: start}, fixed);
    let traced = 0;
    const loss = (at: ObjectiveAt): tf.Tensor => {
      traced++;
      return meanSquare(at);
    };
    let encoded = 0;
    const initial = ({data}: {data: Params}): {y: tf.Tensor} => {
      encoded++;
      return {y: tf.mul((data as With<'first'>).first, 2)};
    };
    const first = model.valueAndGrad(loss, {initial, data: {target: targets(13), first: start}});
    const {numTensors} = tf.memory();
    const values = [0.5, 0.6, 0.5].map(
      factor =>
        model.valueAndGrad(loss, {
          initial,
          params: {rate: 0.4 + (factor - 0.5)},
          data: {target: targets(13), first: start.map(row => row.map(x => (x * factor) / 0.5))},
        }).value,
    );
    expect([traced, encoded]).to.deep.equal([1, 1]);
    expect(values[0]).to.equal(first.value);
    expect(values[2]).to.equal(first.value);
    expect(values[1]).not.to.equal(first.value);
    expect(tf.memory().numTensors).to.equal(numTensors);
  });

  it('say what is wrong', () => {
    const model = simulate.prepare(system, {y: start}, fixed);
    const fails = (
      call: () => unknown,
      kind: abstract new (...args: never[]) => StiffgradError,
      code: string,
    ): void => {
      expect(call).to.throw(kind).with.property('code', code);
    };
    fails(() => model.valueAndGrad(({y}) => y), ShapeError, 'loss-shape');
    fails(() => model.valueAndGrad(({y}) => tf.scalar(y.dataSync()[0])), TraceError, 'value-read');
    fails(() => model.valueAndGrad(({y}) => tf.log(tf.neg(tf.sum(tf.square(y))))), GradientError, 'loss-not-finite');
    fails(
      () => model.valueAndGrad(({y}) => tf.sqrt(tf.sub(tf.sum(y), tf.sum(y)))),
      GradientError,
      'gradient-not-finite',
    );
    fails(
      () => model.valueAndGrad(meanSquare, {initial: () => ({y: tf.zeros([3])}), data: {target: targets(13)}}),
      ShapeError,
      'initial-shape',
    );
    fails(
      () =>
        model.valueAndGrad(meanSquare, {
          initial: () => ({y: tf.log(tf.fill([2, 2], -1))}),
          data: {target: targets(13)},
        }),
      InconsistentStateError,
      'not-finite',
    );
    fails(
      () =>
        model.valueAndGrad(meanSquare, {
          data: {target: targets(13)},
          variables: new Map([[weight, new Float64Array(3)]]),
        }),
      ShapeError,
      'variable-shape',
    );
    fails(() => model.valueAndGrad(meanSquare, {date: {}} as never), OptionError, 'unknown-option');
    fails(() => model.valueAndGrad(3 as never), OptionError, 'bad-loss');
  });
});
