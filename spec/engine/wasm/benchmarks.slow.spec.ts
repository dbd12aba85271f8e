/** Whole simulations and gradients: the workloads that are measured, on the compiled engine and on the interpreter. */
import {expect} from 'chai';
import {simulate} from '../../../lib/index.js';
import type {RunName} from '../../../bench/workloads.js';
import {workload} from '../../../bench/workloads.js';
import {relative} from '../../simulate/numbers.js';

interface Outcome {
  readonly loss: number;
  readonly end: readonly number[];
  readonly gradient: ReadonlyMap<string, readonly number[]>;
  readonly newtonIterations: number;
}

/** Σ(q_T² + v_T²), the state at the end, and the gradient with respect to every parameter. */
function outcome(name: RunName, n: number, engine: 'wasm' | 'interpreter'): Outcome {
  const {system, initial, options} = workload(name, n);
  const {trajectory, pullback} = simulate.vjp(system, initial, {...options, engine});
  const [q, v] = (['q', 'v'] as const).map(part => trajectory.values(part));
  const {stats} = trajectory;
  trajectory.dispose();
  expect(stats.engine).to.equal(engine);
  // The trajectory has the start and the end; the loss sees the end.
  const cotangent = (values: Float64Array): Float64Array =>
    values.map((value, i) => (2 * i < values.length ? 0 : 2 * value));
  const {params} = pullback({q: cotangent(q), v: cotangent(v)});
  const end = [...q.subarray(q.length / 2), ...v.subarray(v.length / 2)];
  return {
    end,
    loss: end.reduce((sum, value) => sum + value * value, 0),
    gradient: new Map(Object.entries(params).map(([key, value]) => [key, [...(value as Float64Array)]])),
    newtonIterations: stats.newtonIterations,
  };
}

/**
 * Programs have the same bits on both engines; what may differ is the factorizations, whose compiled kernels
 * are free to add in another order than the plain ones: some tens of roundings, since the mass matrix keeps
 * these systems well conditioned.
 */
const agreement = 1e-13;

const measured: readonly (readonly [name: RunName, sizes: readonly number[]])[] = [
  ['chain', [8, 32, 128]],
  ['net', [6, 12, 20]],
  ['mlp', [8]],
];

describe('wasm engine: the benchmarks', () => {
  for (const [name, sizes] of measured) {
    for (const n of sizes) {
      it(`${name} of ${n}: states, loss and gradient are the interpreter's`, () => {
        const [actual, expected] = [outcome(name, n, 'wasm'), outcome(name, n, 'interpreter')];
        expect(actual.newtonIterations).to.equal(expected.newtonIterations);
        expect(relative(actual.end, expected.end), 'states').to.be.at.most(agreement);
        expect(Math.abs(actual.loss - expected.loss) / expected.loss, 'loss').to.be.at.most(agreement);
        for (const [key, values] of expected.gradient)
          expect(relative(actual.gradient.get(key) ?? [], values), `gradient for ${key}`).to.be.at.most(agreement);
      }).timeout(20_000);
    }
  }
});
