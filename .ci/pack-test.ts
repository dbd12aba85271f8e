// Runs in an empty folder where the packed project was installed (pack-test.sh). Every number has a closed form.
import * as tf from '@tensorflow/tfjs';
import {batch, batchAsync, mechanics, NewtonError, simulate, trapezoid} from 'stiffgrad';
import {pendulum, spring} from 'stiffgrad/models';
import {identify, positive, reports} from 'stiffgrad/training';

function near(name: string, value: number, expected: number, tolerance: number): void {
  if (!(Math.abs(value - expected) <= tolerance)) throw new Error(`${name} is ${value}, not ${expected}`);
}

// One step of the trapezoidal rule, M = 1, K = 10, h = 0.1, from q = 1 at rest: q⁺ = (1 − h²K/4)/(1 + h²K/4).
const oscillator = mechanics({mass: 1, forces: spring({stiffness: ({k}) => k as tf.Tensor})});
const start = {q: 1, v: 0};
const options = {scheme: trapezoid(), dt: 0.1, steps: 1, params: {k: 10}} as const;
const {trajectory, pullback} = simulate.vjp(oscillator, start, options);
near('q', trajectory.values('q')[1], 0.975 / 1.025, 1e-15);
// dq⁺/dK = −2c/(1 + cK)² with c = h²/4
near('dq/dK', (pullback({q: [0, 1]}).params.k as Float64Array)[0], -0.005 / 1.025 ** 2, 1e-15);

// The same through tfjs's tape, in single precision.
const stiffness = tf.variable(tf.scalar(10));
const free = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.mul(stiffness, q))});
const {grads} = tf.variableGrads(() => tf.sum(tf.slice(simulate(free, start, {...options, params: {}}).q, [1])));
near('tape', grads[stiffness.name].dataSync()[0], -0.005 / 1.025 ** 2, 1e-9);

// Two starts on two worker threads, waited for and not: q⁺ is linear in q.
const both = [start, {q: 2, v: 0}];
for (const paths of [batch(oscillator, both, {...options, workers: 2}), await batchAsync(oscillator, both, options)]) {
  paths.forEach((path, i) => near(`member ${i}`, path.values('q')[1], ((i + 1) * 0.975) / 1.025, 2e-15));
  if (paths.some(({stats}) => stats.thread !== 'worker')) throw new Error('no worker thread ran the batch');
}

// A stiffness found again from the motion it gave.
const steps = 100;
const run = simulate(oscillator, start, {...options, steps});
const fit = await identify({
  system: oscillator,
  initial: start,
  scheme: options.scheme,
  dt: options.dt,
  data: {t: run.values('t'), q: run.values('q')},
  parameters: {k: positive(8)},
});
near('k', fit.estimate.k as number, 10, 1e-8);

if (
  typeof pendulum !== 'function'
  || !reports
    .lineChart({title: 'q', x: {label: 't'}, y: {label: 'q'}, series: [{name: 'q', x: [0, 1], y: [0, 1]}]})
    .startsWith('<svg')
)
  throw new Error('an entry is not whole');
if (!reports.page({title: 'k', parameters: [{name: 'k', estimate: 10}], fits: []}).startsWith('<!doctype html>'))
  throw new Error('no report');
if (!(new NewtonError('code', 'sentence') instanceof Error)) throw new Error('errors are no errors');
console.log(`packed and installed: q = ${trajectory.values('q')[1]}, k = ${fit.estimate.k as number}`);
