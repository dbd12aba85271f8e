/**
 * This project: prepared once, as the peers are compiled once ('prepared'), or traced at every call as a loss function does
 * ('plain'). Training by a compiled step, in double precision ('prepared') or in 'single'. A number says how many threads products have.
 */
import type {Pullback, Vjp, Trajectory, System} from '../../lib/index.js';
import {simulate} from '../../lib/index.js';
import type {Answer, Workload} from '../workloads.js';
import {dense} from '../dense.js';
import {trainingRows} from '../training-rows.js';
import {isTraining, workload} from '../workloads.js';
import {serve} from './protocol.js';

const way = process.argv[2] as 'prepared' | 'plain' | 'single';
const plain = way === 'plain';
const threads = process.argv[3] === undefined ? undefined : Number(process.argv[3]);

function numbers(tree: Pullback['params'] | Float64Array): Float64Array[] {
  return tree instanceof Float64Array ? [tree] : Object.values(tree).flatMap(branch => numbers(branch));
}

/** Σx² of the end, the last `size` numbers; loops, as in the peer in C, and not a function's call for every number. */
function square(x: Float64Array, size = x.length): number {
  let sum = 0;
  for (let i = x.length - size; i < x.length; i++) sum += x[i] * x[i];
  return sum;
}

function gradient({trajectory, pullback}: Vjp, size: number): Answer {
  const [q, v] = [trajectory.values('q'), trajectory.values('v')];
  const doubled = (x: Float64Array): Float64Array => {
    const cotangent = new Float64Array(x.length);
    for (let i = x.length - size; i < x.length; i++) cotangent[i] = 2 * x[i];
    return cotangent;
  };
  const leaves = numbers(pullback({q: doubled(q), v: doubled(v)}).params);
  trajectory.dispose();
  return {
    loss: square(q, size) + square(v, size),
    gradientNorm: Math.sqrt(leaves.reduce((sum, leaf) => sum + square(leaf), 0)),
  };
}

function runners({system, initial, options}: Workload): {run: () => Trajectory<System>; vjp: () => Vjp} {
  if (plain) return {run: () => simulate(system, initial, options), vjp: () => simulate.vjp(system, initial, options)};
  const prepared = simulate.prepare(system, initial, options);
  const {params} = options;
  return {run: () => prepared.run({params}), vjp: () => prepared.vjp({params})};
}

await serve((name, n) => {
  const precision = way === 'single' ? 'single' : 'double';
  if (isTraining(name)) return trainingRows[name]().prepare(precision);
  if (name === 'dense') return dense(precision, threads);
  const made = workload(name, n);
  const {run, vjp} = runners(made);
  const trajectory = run();
  const {stats} = trajectory;
  trajectory.dispose();
  return {
    forward: () => run().dispose(),
    gradient: () => gradient(vjp(), made.size),
    details: {engine: stats.engine, linear: stats.linear, iterations: stats.newtonIterations},
  };
});
