import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {implicitEuler, newton, ode, simulate, sparseLu, type LinearSolver} from '../../lib/index.js';

const n = 24;
/** Off its diagonal numbers of up to 400, on it 600 k: of implicit Euler's matrix with h = 0.1 either may be the pivots. */
const off = Array.from({length: n}, (_, i) =>
  Array.from({length: n}, (_, j) =>
    (i * 7 + j * 3) % 5 === 0 && i !== j ? 400 * Math.sin(12.9898 * i * i + 78 * j) : 0,
  ),
);
const system = ode<{k: tf.Tensor}>(({y, params: {k}}) =>
  tf.sub(tf.reshape(tf.matMul(tf.tensor2d(off), tf.reshape(y, [n, 1])), [n]), tf.mul(tf.mul(600, k), y)),
);

describe('what linear solvers learn from a run', () => {
  const initial = {y: Array.from({length: n}, (_, i) => Math.cos(i))};
  /** A solver that shares its analyses with no other one. */
  const prepare = (name: string) => {
    const linear = {name, analyze: (pattern: Parameters<LinearSolver['analyze']>[0]) => sparseLu().analyze(pattern)};
    const options = {scheme: implicitEuler(), dt: 0.1, steps: 7, newton: newton({linear})};
    return simulate.prepare(system, initial, {...options, params: {k: 0}});
  };
  const gradient = (prepared: ReturnType<typeof prepare>, k: number): number[] => {
    const {trajectory, pullback} = prepared.vjp({params: {k}});
    const all = trajectory.values('y');
    const by = pullback({y: Float64Array.from(all, (_, i) => (i >= all.length - n ? i : 0))});
    return [...all, ...by.initial.y, ...by.params.k];
  };

  it('is not carried into the next: after a run with other pivots it has the bits that it has alone', () => {
    const both = prepare('both');
    const first = gradient(both, 0);
    const second = gradient(both, 1);
    expect(second).to.deep.equal(gradient(prepare('alone'), 1));
    expect(gradient(both, 0)).to.deep.equal(first);
  });
});
