/** Gradients through bodies and joints against differences, and identification from made records. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {gaussLegendre, implicitMidpoint, OptionError, simulate} from '../../../lib/index.js';
import {jointFriction, multibody, revolute, springDamper, universal} from '../../../models/index.js';
import {logCholeskyInertia, logCholeskyParameters} from '../../../models/multibody/inertia.js';
import {identify, positive} from '../../../training/index.js';
import {largest, slope, stream} from '../../simulate/numbers.js';
import {valueOf} from '../evaluate.js';
import {slow} from '../../tiers.js';

type P = {theta: tf.Tensor; friction: tf.Tensor; stiffness: tf.Tensor};
const of = (name: keyof P) => (params: {readonly [name: string]: unknown}) => params[name] as tf.Tensor;

/** Two arms on a universal joint and a hinge, with friction and a spring. */
const arms = multibody({
  gravity: [0, 0, -9.81],
  bodies: {
    upper: {mass: 1, inertia: [0.02, 0.1, 0.1], position: [0.5, 0, 0]},
    lower: {
      mass: logCholeskyInertia(of('theta')).mass,
      inertia: logCholeskyInertia(of('theta')).inertia,
      position: [1.4, 0, 0],
    },
  },
  joints: {
    shoulder: universal('ground', 'upper', {
      at: [0, 0, 0],
      axes: [
        [0, 1, 0],
        [0, 0, 1],
      ],
    }),
    elbow: revolute('upper', 'lower', {at: [1, 0, 0], axis: [0, 1, 1]}),
  },
  forces: [
    jointFriction('upper', 'lower', {axis: [0, 1, 1], viscous: of('friction')}),
    springDamper('ground', 'lower', {from: [1, 1, 1], to: [1.5, 0.1, 0], stiffness: of('stiffness'), damping: 0.1}),
  ],
});
const theta = logCholeskyParameters({
  mass: 2,
  inertia: [
    [0.05, 0.01, 0],
    [0.01, 0.2, -0.02],
    [0, -0.02, 0.19],
  ],
}).slice(0, 7);

describe('gradients through joints', () => {
  slow('of inertia, friction and stiffness are those of differences', () => {
    const options = {scheme: implicitMidpoint(), dt: 0.02, steps: 25, saveAt: 'end'} as const;
    const weights = [0.3, -1, 0.7, 0.2, 0.5, -0.4, 0.9];
    const base = {theta, friction: 0.3, stiffness: 20};
    const prepared = simulate.prepare(arms, arms.initial, {...options, params: base});
    const at = (params: typeof base): number => {
      const path = prepared.run({params});
      path.dispose();
      const q = path.values('q').slice(-7);
      return q.reduce((sum, x, i) => sum + weights[i] * x, 0);
    };
    const {trajectory, pullback} = prepared.vjp();
    trajectory.dispose();
    const cotangent = [0, 1].map(k => [weights.map(() => 0), weights.map(w => (k === 1 ? w : 0))]);
    const {params} = pullback({q: cotangent}) as {params: {[name: string]: Float64Array}};
    theta.forEach((_, i) => {
      const shifted = (s: number): number => at({...base, theta: theta.map((x, j) => (i === j ? x + s : x))});
      expect(params.theta[i], `theta[${i}]`).to.be.closeTo(slope(shifted, 1e-3), 1e-8);
    });
    expect(params.friction[0]).to.be.closeTo(
      slope(s => at({...base, friction: 0.3 + s}), 1e-3),
      1e-8,
    );
    expect(params.stiffness[0]).to.be.closeTo(
      slope(s => at({...base, stiffness: 20 + s}), 1e-2),
      1e-8,
    );
  });

  it('a variable that an inertia captures is reached by tf.grad', () => {
    const spin = tf.variable(tf.tensor1d([0.2, 0.3, 0.4]));
    const free = multibody({bodies: {body: {mass: 1, inertia: spin, angularVelocity: [1, 2, 0.5]}}});
    const {value, grads} = tf.variableGrads(
      () =>
        tf.sum(
          tf.square(simulate(free, free.initial, {scheme: gaussLegendre({stages: 2}), dt: 0.05, steps: 10}).v),
        ) as tf.Scalar,
    );
    expect(value.arraySync()).to.be.above(0);
    expect(largest(grads[spin.name].dataSync() as Float32Array)).to.be.above(1e-3);
    tf.dispose([value, grads, spin]);
  });
});

describe('log-Cholesky parameters', () => {
  const J = [
    [0.05, 0.01, 0],
    [0.01, 0.2, -0.02],
    [0, -0.02, 0.19],
  ];

  it('give mass, inertia and centre back', () => {
    const ten = logCholeskyParameters({mass: 2, inertia: J, centre: [0.1, -0.2, 0.3]});
    const physical = logCholeskyInertia(ten);
    const value = (f: (params: never) => tf.Tensor): number[] =>
      Array.from(valueOf(() => f({} as never), {q: 0, v: 0}));
    expect(value(physical.mass)[0]).to.be.closeTo(2, 1e-14);
    expect(largest(value(physical.inertia).map((x, i) => x - J.flat()[i]))).to.be.below(1e-15);
    expect(largest(value(physical.centre).map((x, i) => x - [0.1, -0.2, 0.3][i]))).to.be.below(1e-15);
  });

  it('of any size are those of a body: moments positive, each less than the sum of the others', () => {
    const next = stream(7);
    for (let round = 0; round < 5; round++) {
      const random = Float64Array.from({length: 10}, () => 2 * next());
      const [a, b, c, , d, e, , , f] = valueOf(() => logCholeskyInertia(random).inertia({}), {q: 0, v: 0});
      const trace = a + d + f;
      // Σ = ½ tr J − J is positive definite: its leading minors.
      const [x, y, z] = [trace / 2 - a, trace / 2 - d, trace / 2 - f];
      expect(x).to.be.above(0);
      expect(x * y - b * b).to.be.above(0);
      expect(x * (y * z - e * e) + b * (-b * z - e * c) - c * (b * e + y * c)).to.be.above(0);
    }
    expect(() => logCholeskyParameters({mass: 1, inertia: [1, 1, 3]})).to.throw(OptionError, /sum of the other two/);
    const below = [[0.05, 0, 0], [0.01, 0.2, 0], [0, -0.02, 0.19]]; // prettier-ignore
    expect(() => logCholeskyParameters({mass: 1, inertia: below})).to.throw(OptionError, /not symmetric/);
    expect(() => logCholeskyParameters({mass: 1, inertia: J, center: [1, 0, 0]} as never)).to.throw(
      OptionError,
      /'center'/,
    );
    expect(() => logCholeskyParameters({mass: 1, inertia: J, centre: [1, 0] as never})).to.throw(
      OptionError,
      /three finite numbers/,
    );
  });
});

describe('identification in maximal coordinates', () => {
  slow('finds mass and friction of a made record', async () => {
    const pendulum = multibody({
      gravity: [0, 0, -9.81],
      bodies: {rod: {mass: params => params.mass as tf.Tensor, inertia: [0.01, 0.05, 0.05], position: [0.6, 0, 0]}},
      joints: {pin: revolute('ground', 'rod', {at: [0, 0, 0], axis: [0, 1, 0]})},
      forces: [jointFriction('ground', 'rod', {axis: [0, 1, 0], viscous: params => params.friction as tf.Tensor})],
    });
    const [truth, options] = [
      {mass: 0.8, friction: 0.12},
      {scheme: implicitMidpoint(), dt: 0.02},
    ];
    const record = simulate(pendulum, pendulum.initial, {...options, steps: 100, params: truth});
    record.dispose();
    const q = Array.from({length: 101}, (_, k) => [Array.from(record.values('q').slice(7 * k, 7 * k + 7))]);
    const fit = await identify({
      system: pendulum,
      initial: pendulum.initial,
      data: {t: record.values('t'), q},
      parameters: {mass: positive(0.5), friction: positive(0.3)},
      ...options,
    });
    expect(fit.estimate.mass as number).to.be.closeTo(0.8, 1e-6);
    expect(fit.estimate.friction as number).to.be.closeTo(0.12, 1e-6);
  });
});
