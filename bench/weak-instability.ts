/**
 * The weak instability of Newmark's method on index-3 constraints (Cardona & Géradin 1989), and what is
 * free of it: the multiplier of a pendulum in Cartesian coordinates by three ways. Writes the figure of
 * docs/constraints.md: `npx tsx bench/weak-instability.ts`. The numbers are the same on every machine.
 */
import * as tf from '@tensorflow/tfjs';
import {mkdirSync, writeFileSync} from 'node:fs';
import {dirname} from 'node:path';
import {fileURLToPath} from 'node:url';
import type {Scheme, SimulateOptions} from '../lib/index.js';
import {bilateral, generalizedAlpha, mechanics, newmark, simulate} from '../lib/index.js';
import {lineChart} from '../training/report/plot.js';

export const figurePath = fileURLToPath(new URL('../docs/figures/weak-instability.svg', import.meta.url));

const g = 9.81;
const pendulum = mechanics({
  mass: 1,
  forces: ({q}) => tf.add(tf.zerosLike(q), tf.tensor1d([0, -g])),
  constraints: [bilateral(({q}) => tf.div(tf.sub(tf.sum(tf.square(q)), 1), 2))],
});
/** An angle of 1 from the vertical, swinging outwards at 1 rad/s. */
const start = {q: [Math.sin(1), -Math.cos(1)], v: [Math.cos(1), Math.sin(1)]};

export interface Held {
  readonly name: string;
  readonly t: Float64Array;
  /** The tension −λ, N. */
  readonly tension: Float64Array;
  /** Its error against m v²/l + m g cos θ, with the speed that the energy gives at the position reached. */
  readonly error: Float64Array;
}

function held(name: string, scheme: Scheme, stabilization: SimulateOptions['stabilization'], dt: number): Held {
  const path = simulate(pendulum, start, {scheme, stabilization, dt, t1: 2});
  path.dispose();
  const tension = path.values('lambda').map(lambda => -lambda);
  const q = path.values('q');
  const exact = tension.map((_, i) => {
    const y = q[2 * i + 1];
    return 1 + 2 * g * (-Math.cos(1) - y) - g * y;
  });
  return {name, t: path.values('t'), tension, error: tension.map((value, i) => value - exact[i])};
}

/** The three ways, with one step length. */
export const ways = (dt: number): readonly Held[] => [
  held('Newmark (¼, ½)', newmark(), 'none', dt),
  held('Newmark (¼, ½), ggl', newmark(), 'ggl', dt),
  held('generalized-α, ρ∞ = 0.8', generalizedAlpha(), 'none', dt),
];

const stepLength = 0.02;

export function figure(): string {
  const series = ways(stepLength).map(({name, t, tension}) => ({name, x: t, y: tension}));
  return lineChart({
    title: `Tension of a pendulum as an index-3 system, h = ${stepLength} s`,
    x: {label: 'time', unit: 's'},
    y: {label: 'tension', unit: 'N'},
    series: [series[0], {...series[1], style: 'underlay'}, {...series[2], style: 'dashed'}],
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(dirname(figurePath), {recursive: true});
  writeFileSync(figurePath, figure());
}
