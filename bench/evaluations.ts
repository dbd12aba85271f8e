/**
 * Evaluations of the right-hand side at equal error, beside diffrax: adaptive runs of three problems by tsit5 and of three stiff ones
 * by kvaerno5 over the tolerances of bench/peers/evaluations_diffrax.py, whose output is the one argument. Errors are those of
 * the end, relative by norms; evaluations between two tolerances are interpolated by their logarithms.
 */
import {readFileSync} from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import type {AdaptiveOptions} from '../lib/index.js';
import {adaptive, kvaerno5, ode, simulate, tsit5} from '../lib/index.js';

interface Row {
  readonly problem: string;
  readonly setting: string;
  readonly tol: number;
  readonly atol: number;
  readonly error: number;
  readonly evaluations: number;
  readonly steps: number;
}

type Rate = (y: readonly tf.Tensor[], t: tf.Tensor) => tf.Tensor[];
const {mul, sub, add, neg, square} = tf;

function arenstorf([x, y, vx, vy]: readonly tf.Tensor[]): tf.Tensor[] {
  const mu = 0.012277471;
  const [from, to] = [add(x, mu), sub(x, 1 - mu)];
  const pull = (dx: tf.Tensor): tf.Tensor => tf.pow(add(square(dx), square(y)), -1.5);
  const [earth, moon] = [mul(1 - mu, pull(from)), mul(mu, pull(to))];
  return [
    vx,
    vy,
    sub(sub(add(x, mul(2, vy)), mul(earth, from)), mul(moon, to)),
    sub(sub(y, mul(2, vx)), mul(add(earth, moon), y)),
  ];
}

const problems: {readonly [name: string]: {rate: Rate; initial: number[]; end: number; stiff?: true}} = {
  lotka: {
    rate: ([a, b]) => [sub(mul(1.5, a), mul(a, b)), sub(mul(a, b), mul(3, b))],
    initial: [1, 1],
    end: 10,
  },
  arenstorf: {rate: arenstorf, initial: [0.994, 0, 0, -2.0015851063790825], end: 17.06521656015796},
  pendulum: {
    rate: ([q, v], t) => [v, add(sub(neg(tf.sin(q)), mul(0.1, v)), mul(0.5, tf.cos(t)))],
    initial: [1, 0],
    end: 20,
  },
  vdp: {rate: ([x, v]) => [v, sub(mul(mul(100, sub(1, square(x))), v), x)], initial: [2, 0], end: 200, stiff: true},
  rober: {
    rate: ([a, b, c]) => {
      const [r1, r2, r3] = [mul(0.04, a), mul(3e7, square(b)), mul(1e4, mul(b, c))];
      return [sub(r3, r1), sub(sub(r1, r2), r3), r2];
    },
    initial: [1, 0, 0],
    end: 1e4,
    stiff: true,
  },
  orego: {
    rate: ([a, b, c]) => [
      mul(77.27, add(b, mul(a, sub(sub(1, mul(8.375e-6, a)), b)))),
      tf.div(sub(c, mul(add(1, a), b)), 77.27),
      mul(0.161, sub(a, c)),
    ],
    initial: [1, 2, 3],
    end: 300,
    stiff: true,
  },
};

const controls: {readonly [name: string]: AdaptiveOptions} = {
  default: {},
  classical: {growth: 10, controller: {integral: 1}},
};

const {ref, rows} = JSON.parse(readFileSync(process.argv[2], 'utf8')) as {
  ref: {readonly [name: string]: number[]};
  rows: Row[];
};

for (const [problem, {rate, initial, end, stiff}] of Object.entries(problems)) {
  const system = ode(({y, t}) => tf.stack(rate(tf.unstack(y), t)));
  const asked = new Map(rows.filter(row => row.problem === problem).map(({tol, atol}) => [tol, atol]));
  for (const [setting, control] of Object.entries(controls))
    for (const [tol, atol] of asked) {
      const path = simulate(
        system,
        {y: initial},
        {
          scheme: stiff === true ? kvaerno5() : tsit5(),
          control: adaptive({rtol: tol, atol, first: 'auto', ...control}),
          dt: end / 100,
          t1: end,
          saveAt: 'end',
        },
      );
      const y = path.values('y').subarray(initial.length);
      const norm = (values: readonly number[]): number => Math.hypot(...values);
      const error = norm(ref[problem].map((value, i) => y[i] - value)) / norm(ref[problem]);
      const {evaluations, steps} = path.stats;
      rows.push({problem, setting: `stiffgrad ${setting}`, tol, atol, error, evaluations, steps});
      path.dispose();
    }
}

/** By this error, the fewest evaluations of a setting that reach it. */
function at(of: readonly Row[], error: number): number | undefined {
  const sorted = [...of].sort((a, b) => a.evaluations - b.evaluations);
  for (let k = 0; k < sorted.length; k++) {
    if (sorted[k].error > error) continue;
    if (k === 0) return undefined;
    const [a, b] = [sorted[k - 1], sorted[k]];
    const share = Math.log(a.error / error) / Math.log(a.error / b.error);
    return Math.round(a.evaluations * (b.evaluations / a.evaluations) ** share);
  }
  return undefined;
}

for (const problem of Object.keys(problems)) {
  const own = rows.filter(row => row.problem === problem);
  for (const setting of new Set(own.map(row => row.setting))) {
    const of = own.filter(row => row.setting === setting);
    const cells = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7].map(error => at(of, error) ?? '');
    console.log(`| ${problem}, ${setting} | ${cells.join(' | ')} |`);
    if (process.argv[3] !== undefined)
      console.log(
        of.map(row => `${row.tol} ${row.error.toExponential(1)} ${row.evaluations}/${row.steps}`).join('   '),
      );
  }
}
