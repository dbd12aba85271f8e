/**
 * Gradients through contact, each beside central differences of the same run and its closed form: a puck that slides to rest,
 * sticks or slides under a push, a ball that bounces. bench/peers/contact_mjx.py is the same with MJX. Run with `npx tsx bench/contact.ts`.
 */
import * as tf from '@tensorflow/tfjs';
import {frictionalContact, mechanics, moreau, simulate} from '../lib/index.js';

const g = 9.81;
const options = {scheme: moreau(), dt: 0.001, t1: 1, saveAt: 'end'} as const;
type P = {readonly mu: tf.Tensor; readonly push: tf.Tensor; readonly e: tf.Tensor};

/** x along the table, z above it. */
const puck = mechanics<P>({
  mass: 1,
  forces: ({params}) => tf.concat([tf.reshape(params.push, [1]), tf.tensor1d([-g])]),
  constraints: [
    frictionalContact(({q}) => tf.gather(q, 1), {
      slip: ({v}) => tf.slice(v, [0], [1]),
      friction: ({mu}: P) => mu,
      restitution: ({e}: P) => e,
    }),
  ],
});

interface Scene {
  /** Start and parameters by the numbers that are varied. */
  readonly at: (x: readonly number[]) => {q: number[]; v: number[]; mu: number; push: number; e: number};
  readonly x: readonly number[];
  /** Which coordinate at the end is looked at. */
  readonly seen: 0 | 1;
  /** From the gradient by all to that by x. */
  readonly by: (gradient: {mu: number; q: Float64Array; v: Float64Array}) => readonly number[];
  readonly exact: readonly [value: number, ...gradient: number[]];
}

/** A ball let fall from z with restitution e, at time t, by hand: its height and the derivative by z. */
function bounce(z: number, e: number, t: number): [number, number] {
  const fall = Math.sqrt((2 * z) / g);
  // v₀ = g fall at the first impact; flights of 2 eᵏ v₀/g.
  const [speed, dSpeed] = [g * fall, 1 / fall];
  let [begin, dBegin] = [fall, 1 / (g * fall)];
  for (let k = 1; ; k++) {
    const [v, dv] = [e ** k * speed, e ** k * dSpeed];
    const flight = (2 * v) / g;
    if (begin + flight > t) {
      const s = t - begin;
      return [v * s - (g * s * s) / 2, dv * s - (v - g * s) * dBegin];
    }
    begin += flight;
    dBegin += (2 * dv) / g;
  }
}

const scenes: {readonly [name: string]: Scene} = {
  'slides to rest, by μ and v': {
    at: ([mu, v]) => ({q: [0, 0], v: [v, 0], mu, push: 0, e: 0}),
    x: [0.3, 2],
    seen: 0,
    by: ({mu, v}) => [mu, v[0]],
    exact: [4 / (2 * 0.3 * g), -4 / (2 * 0.09 * g), 2 / (0.3 * g)],
  },
  'sticks under a push of 2 N, by μ': {
    at: ([mu]) => ({q: [0, 0], v: [0, 0], mu, push: 2, e: 0}),
    x: [0.3],
    seen: 0,
    by: ({mu}) => [mu],
    exact: [0, 0],
  },
  'slides under a push of 4 N, by μ': {
    at: ([mu]) => ({q: [0, 0], v: [0, 0], mu, push: 4, e: 0}),
    x: [0.3],
    seen: 0,
    by: ({mu}) => [mu],
    exact: [(4 - 0.3 * g) / 2, -g / 2],
  },
  'bounces, height at 1 s by height at 0': {
    at: ([z]) => ({q: [0, z], v: [0, 0], mu: 0.3, push: 0, e: 0.8}),
    x: [1],
    seen: 1,
    by: ({q}) => [q[1]],
    exact: bounce(1, 0.8, 1),
  },
};

const text = (values: readonly number[]): string => values.map(value => value.toPrecision(8)).join(', ');
for (const [name, {at, by, exact, seen, x}] of Object.entries(scenes)) {
  const run = (values: readonly number[]) => {
    const {q, v, ...params} = at(values);
    return {start: {q, v}, params};
  };
  const value = (values: readonly number[]): number => {
    const {start, params} = run(values);
    return simulate(puck, start, {...options, params}).values('q')[2 + seen];
  };
  const {start, params} = run(x);
  const {pullback, trajectory} = simulate.vjp(puck, start, {...options, params});
  const cotangent = [
    [0, 0],
    [1 - seen, seen],
  ];
  const gradient = pullback({q: cotangent});
  const found = by({
    mu: (gradient.params.mu as Float64Array)[0],
    q: gradient.initial.q as Float64Array,
    v: gradient.initial.v as Float64Array,
  });
  const eps = 1e-6;
  const differences = x.map((_, i) => {
    const moved = (by: number): number => value(x.map((entry, k) => (k === i ? entry + by : entry)));
    return (moved(eps) - moved(-eps)) / (2 * eps);
  });
  console.log(name);
  console.log(`  value       ${trajectory.values('q')[2 + seen].toPrecision(8)}, exact ${exact[0].toPrecision(8)}`);
  console.log(`  gradient    ${text(found)}`);
  console.log(`  differences ${text(differences)}`);
  console.log(`  exact       ${text(exact.slice(1))}`);
}
