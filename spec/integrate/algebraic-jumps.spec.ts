/** Algebraic equations that read an input which jumps: their components are found anew there. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  adaptive,
  bdf2,
  gaussLegendre,
  implicitEuler,
  kvaerno3,
  kvaerno5,
  mechanics,
  ode,
  radauIIA5,
  sdirk2,
  signal,
  simulate,
  theta,
  trapezoid,
  type SimulateOptions,
} from '../../lib/index.js';

/** y' = c z², 0 = z − u. */
const squared = ode<{c: tf.Tensor; u: tf.Tensor}>({
  mass: [1, 0],
  derivative: ({y, params: {c, u}}) => {
    const [, z] = tf.unstack(y);
    return tf.stack([tf.mul(c, tf.square(z)), tf.sub(z, u)]);
  },
});
type Setting = Pick<SimulateOptions, 'scheme' | 'dt' | 'control' | 'consistent'>;
const project = {consistent: 'project'} as const;
const settings: readonly Setting[] = [
  {scheme: trapezoid(), dt: 0.1},
  {scheme: theta(0.6), dt: 0.1},
  {scheme: gaussLegendre({stages: 2}), dt: 0.1},
  ...[radauIIA5(), bdf2(), sdirk2(), implicitEuler()].map(scheme => ({scheme, dt: 0.1})),
  ...[kvaerno3(), kvaerno5(), radauIIA5(), trapezoid()].map(scheme => ({scheme, dt: 0.1, ...project})),
  {scheme: trapezoid(), dt: 0.1, control: adaptive({rtol: 1e-6, atol: 1e-8})},
  {scheme: kvaerno5(), dt: 0.1, control: adaptive({rtol: 1e-6, atol: 1e-8}), ...project},
];

describe('algebraic equations whose input jumps', () => {
  for (const setting of settings)
    it(`${setting.scheme?.name}${setting.control === undefined ? '' : ', adaptive'}${setting.consistent === undefined ? '' : ', project'}: y and its derivatives are those of the motion`, () => {
      const height = tf.variable(tf.tensor1d([0.5, 2, 2]));
      const inputs = {u: signal([0, 0.3, 1], height, 'hold')};
      const {trajectory, pullback} = simulate.vjp(
        squared,
        {y: [1, 0.5]},
        {...setting, t1: 1, saveAt: 'end', inputs, params: {c: 0.7}},
      );
      // u is ½, and 2 from 0.3 on.
      const integral = 0.3 * 0.25 + 0.7 * 4;
      const [, , y, z] = trajectory.values('y');
      expect(y).to.be.closeTo(1 + 0.7 * integral, 1e-9);
      expect(z).to.be.closeTo(2, 1e-9);
      const {params, initial, variables} = pullback({y: [0, 0, 1, 0]});
      expect((params.c as Float64Array)[0]).to.be.closeTo(integral, 1e-9);
      expect((initial.y as Float64Array)[0]).to.be.closeTo(1, 1e-12);
      const ofInput = variables.get(height) as Float64Array;
      expect(ofInput[0] + (initial.y as Float64Array)[1]).to.be.closeTo(0.7 * 0.3, 1e-9);
      expect(ofInput[1]).to.be.closeTo(0.7 * 0.7 * 4, 1e-9);
      trajectory.dispose();
      height.dispose();
    });

  it('a massless point that a stepped force pulls moves at once', () => {
    const pulled = mechanics<{pull: tf.Tensor}>({
      mass: [1, 0],
      forces: ({q, v, params}) => {
        const [a, b] = tf.unstack(q);
        const spring = tf.mul(100, tf.sub(b, a));
        return tf.stack([spring, tf.sub(tf.sub(params.pull, spring), tf.mul(3, tf.gather(v, 1)))]);
      },
    });
    const inputs = {pull: signal([0, 0.02, 1], [0, 30, 30], 'hold')};
    const speeds = [trapezoid(), radauIIA5()].map(scheme => {
      const path = simulate(pulled, {q: [0, 0], v: [0, 0]}, {scheme, dt: 0.001, t1: 0.06, inputs});
      path.dispose();
      return path.values('v').filter((_, i) => i % 2 === 1);
    });
    expect(speeds[1][21]).to.be.above(9);
    for (let k = 21; k < speeds[0].length; k++) expect(speeds[0][k]).to.be.closeTo(speeds[1][k], 0.01);
  });
});
