/** `batch` in this thread and on two: chains from different starts with stiffnesses of their own, in turns; prints JSON. */
import {loadavg} from 'node:os';
import {batch} from '../lib/index.js';
import type {BatchMember} from '../lib/index.js';
import type {BatchTimes} from './results.js';
import {chainWorkload} from './workloads.js';

const runs = 64;
const masses = 128;
const {system, initial, options} = chainWorkload(masses);
const {
  params: {k},
  ...shared
} = options as typeof options & {readonly params: {readonly k: Float64Array}};
// No two members alike: each has its own Newton iterations.
const members: BatchMember[] = Array.from({length: runs}, (_, i) => ({
  initial,
  params: {k: k.map(value => value * (1 + i / runs))},
}));

function forward(workers: number): number {
  const begin = performance.now();
  for (const trajectory of batch(system, members, {...shared, workers})) trajectory.dispose();
  return performance.now() - begin;
}

/** With the gradients of Σ q² + Σ v² at the end, by every stiffness of every member. */
function gradient(workers: number): {readonly milliseconds: number; readonly norm: number} {
  const begin = performance.now();
  const {trajectories, pullback} = batch.vjp(system, members, {...shared, workers});
  const doubled = (values: Float64Array): Float64Array =>
    values.map((x, i) => (i < values.length - masses ? 0 : 2 * x));
  const {members: each} = pullback(
    trajectories.map(path => ({q: doubled(path.values('q')), v: doubled(path.values('v'))})),
  );
  const milliseconds = performance.now() - begin;
  for (const trajectory of trajectories) trajectory.dispose();
  return {
    milliseconds,
    norm: Math.sqrt(
      each.reduce(
        (sum, {params}) =>
          sum + (params.k as Float64Array).reduce((total, cotangent) => total + cotangent * cotangent, 0),
        0,
      ),
    ),
  };
}

const kinds = [1, 2];
const norms = kinds.map(workers => {
  forward(workers);
  return gradient(workers).norm;
});
if (norms.some(norm => norm !== norms[0]))
  throw new Error(`gradients differ by the number of threads: ${norms.join(', ')}`);
const times = kinds.map(() => ({forward: [] as number[], gradient: [] as number[]}));
// In turns, so that what else the machine does falls on both alike.
for (let round = 0; round < 12; round++) {
  kinds.forEach((workers, i) => {
    times[i].forward.push(forward(workers));
    times[i].gradient.push(gradient(workers).milliseconds);
  });
}
const result: BatchTimes = {
  runs,
  masses,
  steps: options.steps ?? 0,
  load: loadavg()[0],
  threads: kinds.map((workers, i) => ({
    workers,
    forward: Math.min(...times[i].forward),
    gradient: Math.min(...times[i].gradient),
  })),
};
console.log(JSON.stringify(result));
process.exit(0);
