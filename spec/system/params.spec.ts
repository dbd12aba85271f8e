/** Parameters of whole numbers: functions get them with their type, whatever evaluates them. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  adaptive,
  backsolveAdjoint,
  batch,
  equilibrium,
  event,
  explicitEuler,
  linearize,
  ode,
  rk4,
  ShapeError,
  simulate,
  tsit5,
} from '../../lib/index.js';

type Whole = {readonly k: tf.Tensor; readonly n: tf.Tensor; readonly on: tf.Tensor; readonly row: tf.Tensor1D};

/** −k y + ⌊11 / 4⌋ + (on ? 10 : 0) + table[row] = −k y + 2 + 10 + 30 */
const system = ode<Whole>(({y, params: {k, n, on, row}}) => {
  const quotient = tf.cast(tf.div(n, tf.scalar(4, 'int32')), 'float32');
  const table = tf.gather(tf.tensor1d([20, 30, 40]), tf.reshape(row, []));
  return tf.add(tf.mul(tf.neg(k), y), tf.addN([quotient, tf.where(on, tf.scalar(10), tf.scalar(0)), table]));
});
const params = {k: 0.5, n: tf.scalar(11, 'int32'), on: tf.scalar(true, 'bool'), row: tf.tensor1d([1], 'int32')};
const one = {scheme: explicitEuler(), dt: 1, steps: 1, saveAt: 'end', params} as const;

describe('int32 and bool parameters', () => {
  it('keep their type in runs, in prepared ones, and in batches', () => {
    expect(simulate(system, {y: 0}, one).values('y')[1]).to.equal(42);
    const prepared = simulate.prepare(system, {y: 0}, one);
    expect(prepared.run({params: {...params, n: tf.scalar(15, 'int32')}}).values('y')[1]).to.equal(43);
    // Numbers that are whole may stand for them.
    expect(prepared.run({params: {...params, n: 7, on: 0}}).values('y')[1]).to.equal(31);
    expect(() => prepared.run({params: {...params, n: 7.5}})).to.throw(ShapeError, /n \[\] of int32/);
    const members = [11, 8, 3].map(n => ({initial: {y: 0}, params: {...params, n: tf.scalar(n, 'int32')}}));
    const ends = batch(system, members, {scheme: rk4(), dt: 1, steps: 1}).map(path => path.values('y')[1]);
    for (const [i, floor] of [2, 2, 0].entries()) expect(ends[i] / ends[0]).to.be.closeTo((40 + floor) / 42, 1e-12);
  });

  for (const adjoint of [undefined, backsolveAdjoint()]) {
    it(`have no derivative, and the others have theirs: ${adjoint === undefined ? 'default' : 'backsolve'}`, () => {
      const {trajectory, pullback} = simulate.vjp(
        system,
        {y: 0},
        {...one, scheme: rk4(), dt: 0.05, steps: 20, adjoint},
      );
      expect(trajectory.values('y')[1]).to.be.closeTo(84 * (1 - Math.exp(-0.5)), 1e-6);
      const gradient = pullback({y: [0, 1]}).params;
      // ∂/∂k of 42 (1 − e^{−k}) / k at ½.
      expect(gradient.k[0]).to.be.closeTo(42 * (Math.exp(-0.5) / 0.5 - (1 - Math.exp(-0.5)) / 0.25), 1e-4);
      expect([...gradient.n, ...gradient.on, ...gradient.row]).to.deep.equal([0, 0, 0]);
    });
  }

  it('reach events, observe, losses, equilibria and linearizations', () => {
    const when = event<Whole>({
      when: ({y, params: {n}}) => tf.sub(y, tf.cast(tf.div(n, tf.scalar(2, 'int32')), 'float32')),
      then: 'stop',
    });
    const options = {...one, scheme: tsit5(), t1: 3, steps: undefined, control: adaptive(), events: [when]} as const;
    const observe = ({params: {n}}: {params: Whole}): tf.Tensor => tf.cast(tf.div(n, tf.scalar(4, 'int32')), 'float32');
    const run = simulate(system, {y: 0}, {...options, observe});
    expect(run.values('y')[1]).to.be.closeTo(5, 1e-9);
    expect(run.values('observed')[1]).to.equal(2);
    expect(equilibrium(system, {y: 80}, {params}).values('y')[0]).to.be.closeTo(84, 1e-9);
    expect(linearize(system, {y: 84}, {params}).A[0][0]).to.be.closeTo(-0.5, 1e-12);
    const loss = ({y, params: {n}}: {y: tf.Tensor; params: Whole}): tf.Tensor =>
      tf.mul(tf.sum(tf.square(y)), tf.cast(tf.div(n, tf.scalar(6, 'int32')), 'float32'));
    expect(simulate.hvp(system, {y: 0}, one, loss, {params: {k: 1}}).value).to.equal(42 ** 2);
    run.dispose();
  });
});
