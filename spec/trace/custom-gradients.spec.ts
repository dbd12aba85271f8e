/**
 * tf.customGrad in the functions of a system: what it declares is the derivative, in every sweep and on every
 * engine. Expected values are closed forms of the declared chain rule.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {OdeSystem} from '../../lib/index.js';
import {explicitEuler, implicitEuler, mechanics, newton, ode, simulate, trapezoid} from '../../lib/index.js';
import {engines} from '../simulate/engines.js';

type Custom = (x: tf.Tensor) => tf.Tensor;
type Args = (tf.Tensor | tf.GradSaveFunc)[];

const custom = (value: Custom, gradient: Custom): Custom =>
  tf.customGrad((...[x]: Args) => ({
    value: value(x as tf.Tensor),
    gradFunc: (dy: tf.Tensor) => gradient(dy),
  })) as unknown as Custom;

const stopped = custom(tf.clone, tf.zerosLike);
const straight = custom(tf.round, tf.clone);
const reversed = custom(tf.clone, tf.neg);
const doubled = custom(tf.clone, dy => tf.mul(dy, 2));
const clipped = custom(tf.clone, dy => tf.clipByValue(dy, -0.25, 0.25));

/** y' = −f(k) y by explicit Euler: y₂ = (1 − h f(k))² y₀, and ∂y₂/∂k = −2h (1 − h f(k)) f'(k) y₀. */
const h = 0.1;
const k = 1.75;
const decay = (f: Custom): OdeSystem => ode(({y, params}) => tf.neg(tf.mul(f(params['k'] as tf.Tensor), y)));
const start = {y: [1]};
const options = {scheme: explicitEuler(), dt: h, steps: 2, saveAt: 'end', params: {k}} as const;
const end = {y: [[0], [1]]};

const numberOf = (gradient: unknown): number => (gradient as Float64Array)[0];

describe('tf.customGrad in a system', () => {
  const declared: readonly [string, Custom, number, number][] = [
    ['a stop-gradient has none', stopped, k, 0],
    ['a straight-through estimator passes it', straight, 2, 1],
    ['a reversed gradient', reversed, k, -1],
    ['a scaled gradient', doubled, k, 2],
  ];
  for (const {name: engine, double} of engines) {
    // The engine of tensors has seven digits.
    const tolerance = double ? 1e-15 : 1e-6;
    for (const [name, f, value, slope] of declared) {
      it(`${engine}: ${name}, backward and forward`, () => {
        const {trajectory, pullback} = simulate.vjp(decay(f), start, {...options, engine});
        expect(trajectory.values('y')[1]).to.be.closeTo((1 - h * value) ** 2, tolerance);
        const expected = -2 * h * (1 - h * value) * slope;
        expect(numberOf(pullback(end).params['k'])).to.be.closeTo(expected, tolerance);
        const {tangent} = simulate.jvp(decay(f), start, {...options, engine}, {params: {k: 1}});
        expect(tangent.y?.[1]).to.be.closeTo(expected, tolerance);
      });
    }

    it(`${engine}: implicit schemes differentiate the step with the declared derivative`, () => {
      // y₂ = y₀/(1 + hk)² by implicit Euler.
      const {pullback} = simulate.vjp(decay(doubled), start, {...options, engine, scheme: implicitEuler()});
      expect(numberOf(pullback(end).params['k'])).to.be.closeTo((2 * -2 * h) / (1 + h * k) ** 3, tolerance);
    });
  }

  it('a clipped gradient is clipped in a sweep backward, and refused along a direction', () => {
    // One step: the cotangent of f(k) is −h y₀ = −0.1·5, clipped to −0.25.
    const one = {...options, steps: 1};
    expect(numberOf(simulate.vjp(decay(clipped), {y: [5]}, one).pullback(end).params['k'])).to.equal(-0.25);
    expect(() => simulate.jvp(decay(clipped), {y: [5]}, one, {params: {k: 1}}))
      .to.throw('not linear in the cotangent')
      .with.property('code', 'gradient-not-linear');
    const state = ode(({y}) => tf.neg(clipped(y)));
    const alone = {...one, params: {}};
    expect(() => simulate(state, start, {...alone, scheme: implicitEuler()})).to.throw('not linear in the cotangent');
    expect(simulate(state, start, alone).values('y')[1]).to.be.closeTo(0.9, 1e-15);
  });

  it('with saved tensors, several arguments, and what is captured beside them', () => {
    const w = tf.variable(tf.scalar(3));
    // a·b² w; the declared gradients leave out w, are twice the true one of a, and the true one of b.
    const product = tf.customGrad((...args: Args) => {
      const [a, b, save] = args as [tf.Tensor, tf.Tensor, tf.GradSaveFunc];
      const square = tf.square(b);
      save([a, b, square]);
      return {
        value: tf.mul(tf.mul(a, square), w),
        gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => [
          tf.mul(tf.mul(dy, saved[2]), tf.mul(w, 2)),
          tf.mul(tf.mul(dy, saved[0]), tf.mul(tf.mul(saved[1], 2), w)),
        ],
      };
    }) as unknown as (a: tf.Tensor, b: tf.Tensor) => tf.Tensor;
    const system = ode(({y, params}) =>
      tf.add(product(params['a'] as tf.Tensor, params['b'] as tf.Tensor), tf.mul(y, 0)),
    );
    const {trajectory, pullback} = simulate.vjp(system, start, {...options, steps: 1, params: {a: 2, b: 5}});
    expect(trajectory.values('y')[1]).to.be.closeTo(1 + h * 2 * 25 * 3, 1e-13);
    const {params, variables} = pullback(end);
    expect(numberOf(params['a'])).to.be.closeTo(h * 2 * 25 * 3, 1e-13);
    expect(numberOf(params['b'])).to.be.closeTo(h * 2 * 2 * 5 * 3, 1e-13);
    expect(variables.get(w)?.[0] ?? 0).to.equal(0);
    w.dispose();
  });

  it('a gradient function with a derivative of its own gives the second derivatives', () => {
    // The value is y, the declared slope y²: of one Euler step L = y₁ = y₀ + h f(y₀), so L″ = h d(y²)/dy = 2 h y.
    const cubic = tf.customGrad((...args: Args) => {
      const [x, save] = args as [tf.Tensor, tf.GradSaveFunc];
      save([x]);
      return {value: tf.clone(x), gradFunc: (dy: tf.Tensor, [saved]: tf.Tensor[]) => tf.mul(dy, tf.square(saved))};
    }) as unknown as Custom;
    const system = ode(({y}) => cubic(y));
    const y = 3;
    for (const {name: engine, double} of engines) {
      const {gradient, product} = simulate.hvp(
        system,
        {y: [y]},
        {...options, steps: 1, engine},
        ({y: saved}) => tf.sum(tf.slice(saved, 1, 1)),
        {initial: {y: [1]}},
      );
      const tolerance = double ? 1e-13 : 1e-5;
      expect(gradient.initial.y?.[0]).to.be.closeTo(1 + h * y ** 2, tolerance);
      expect(product.initial.y?.[0]).to.be.closeTo(h * 2 * y, tolerance);
    }
  });

  it("inside tf.grad of an energy, on tfjs's tape around the run, and in a batch of states", () => {
    // The energy's declared gradient is that of q⁴/4, its value that of q²/2: the force is −q³, and its own derivative −3q².
    const energy = tf.customGrad((...args: Args) => {
      const [q, save] = args as [tf.Tensor, tf.GradSaveFunc];
      save([q]);
      return {
        value: tf.mul(0.5, tf.sum(tf.square(q))),
        gradFunc: (dy: tf.Tensor, [saved]: tf.Tensor[]) => tf.mul(dy, tf.pow(saved, 3)),
      };
    }) as unknown as Custom;
    const byEnergy = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.grad(energy)(q))});
    const byForce = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.pow(q, 3))});
    const from = {q: [1, -0.5], v: [0, 0.25]};
    const run = {scheme: trapezoid(), dt: h, steps: 5, saveAt: 'end'} as const;
    const gradients = [byEnergy, byForce].map(system => {
      const {trajectory, pullback} = simulate.vjp(system, from, run);
      return [
        trajectory.values('q'),
        pullback({
          q: [
            [0, 0],
            [1, 2],
          ],
        }).initial.q as Float64Array,
      ];
    });
    gradients[0].forEach((numbers, i) =>
      numbers.forEach((value, j) => expect(value).to.be.closeTo(gradients[1][i][j], 1e-14)),
    );

    const w = tf.variable(tf.scalar(k));
    const onTape = (f: Custom): number =>
      tf.tidy(() => {
        const system = ode(({y}) => tf.neg(tf.mul(f(w), y)));
        return tf
          .variableGrads(
            () =>
              tf.sum(
                tf.slice(simulate(system, start, {...options, params: undefined}).y as tf.Tensor, 1, 1),
              ) as tf.Scalar,
            [w],
          )
          .grads[w.name].dataSync()[0];
      });
    expect(onTape(stopped)).to.equal(0);
    expect(onTape(straight)).to.be.closeTo(-2 * h * (1 - 2 * h), 1e-7);
    w.dispose();
  });

  it('Newton iterates with the declared derivative and solves the equations as they are', () => {
    // y₁ = y₀ − h k y₁³ has one root; a declared slope of zero makes Newton's matrix 1, a fixed point iteration that contracts with 3hk y² ≈ 0.1.
    const cube: Custom = custom(x => tf.pow(x, 3), tf.zerosLike);
    const [with_, without] = [cube, (x: tf.Tensor) => tf.pow(x, 3)].map(f =>
      simulate(
        ode(({y}) => tf.mul(f(y), -1)),
        {y: [0.5]},
        {scheme: implicitEuler(), dt: 0.15, steps: 3, newton: newton({maxIterations: 60})},
      ),
    );
    with_.values('y').forEach((value, i) => expect(value).to.be.closeTo(without.values('y')[i], 1e-11));
    expect(with_.stats.newtonIterations).to.be.above(without.stats.newtonIterations);
  });

  it('operations of tfjs that are written with customGrad keep their derivatives, second ones too', () => {
    // log softmax: ∂/∂a of (log softmax)₀ is 1 − p₀, and −p₀(1 − p₀) once more.
    const system = ode(({y, params}) =>
      tf.add(tf.slice(tf.logSoftmax(tf.concat([params['a'] as tf.Tensor, tf.zeros([1])])), 0, 1), tf.mul(y, 0)),
    );
    const p = 1 / (1 + Math.exp(-0.3));
    const {gradient, product} = simulate.hvp(
      system,
      start,
      {...options, steps: 1, params: {a: [0.3]}},
      ({y}) => tf.sum(tf.slice(y, 1, 1)),
      {params: {a: [1]}},
    );
    expect(numberOf(gradient.params['a'])).to.be.closeTo(h * (1 - p), 1e-15);
    expect(numberOf(product.params['a'])).to.be.closeTo(-h * p * (1 - p), 1e-15);
  });
});
