/** A large net in a process of its own: `large.js rows` runs it and its gradient, once cold and once again, and prints JSON with the peak of resident memory. */
import {newton, simulate} from '../lib/index.js';
import {auto} from '../lib/linear/index.js';
import type {Analysis, LinearSolver} from '../lib/linear/index.js';
import type {Large} from './results.js';
import {netWorkload} from './workloads.js';

const rows = Number(process.argv[2]);
const {system, initial, options, size} = netWorkload(rows);

/** The first of the workload's ten: past the eighth the cloth of 200² knots folds, and Newton's full steps lose it. */
const steps = 5;

let factoring = 0;
let factorizations = 0;
/** auto(), its factorizations timed. */
const timed: LinearSolver = {
  name: 'auto, timed',
  analyze(pattern): Analysis {
    const analysis = auto().analyze(pattern);
    const {kind, n, nonzeros, work} = analysis;
    return {
      kind,
      n,
      nonzeros,
      work,
      createFactor: () => analysis.createFactor(),
      factor(values) {
        const begin = performance.now();
        const factor = analysis.factor(values);
        factoring += performance.now() - begin;
        factorizations++;
        return factor;
      },
    };
  },
};

const prepared = simulate.prepare(system, initial, {...options, t1: undefined, steps, newton: newton({linear: timed})});
const {params} = options;

function gradient(): {forward: number; total: number; iterations: number} {
  const begin = performance.now();
  const {trajectory, pullback} = prepared.vjp({params});
  const forward = performance.now() - begin;
  const doubled = (name: 'q' | 'v'): Float64Array =>
    trajectory.values(name).map((x, i, all) => (i < all.length - size ? 0 : 2 * x));
  pullback({q: doubled('q'), v: doubled('v')});
  const iterations = trajectory.stats.newtonIterations;
  trajectory.dispose();
  return {forward, total: performance.now() - begin, iterations};
}

const first = gradient().total;
factoring = factorizations = 0;
const {forward, total, iterations} = gradient();
const result: Large = {
  rows,
  unknowns: size,
  iterations,
  first,
  forward,
  gradient: total,
  factorization: factoring / factorizations,
  peak: process.resourceUsage().maxRSS / 1024,
};
console.log(JSON.stringify(result));
