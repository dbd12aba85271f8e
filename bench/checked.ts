/**
 * What it costs to check the gradient of an adaptive run: processor time of the first gradient, which is compared with
 * one of tighter tolerances, and of later ones, with all programs compiled.
 */
import * as tf from '@tensorflow/tfjs';
import {adaptive, kvaerno3, ode, radauIIA5, simulate, tsit5, type Scheme} from '../lib/index.js';

export interface CheckedRow {
  readonly name: string;
  readonly steps: number;
  /** Milliseconds of processor time. */
  readonly first: number;
  readonly later: number;
}

const equations = (derivative: (y: tf.Tensor[], p: tf.Tensor) => tf.Tensor[]) =>
  ode<{p: tf.Tensor}>(({y, params: {p}}) => tf.stack(derivative(tf.unstack(y), p)));

const rayleigh = equations(([x, v], p) => [v, tf.sub(tf.mul(p, tf.sub(v, tf.div(tf.mul(v, tf.square(v)), 3))), x)]);
const lotkaVolterra = equations(([a, b], p) => [
  tf.sub(tf.mul(p, a), tf.mul(0.4, tf.mul(a, b))),
  tf.sub(tf.mul(0.1, tf.mul(a, b)), b),
]);

const processor = (work: () => void): number => {
  const begin = process.cpuUsage();
  work();
  const {user, system} = process.cpuUsage(begin);
  return (user + system) / 1000;
};
const least = (milliseconds: () => number): number => Math.min(...Array.from({length: 20}, () => milliseconds()));

function row(
  name: string,
  system: typeof rayleigh,
  at: {readonly y: number[]; readonly p: number; readonly t1: number},
  scheme: Scheme,
  rtol: number,
): CheckedRow {
  const prepare = (tolerance: number) =>
    simulate.prepare(
      system,
      {y: at.y},
      {
        scheme,
        dt: 1e-4,
        t1: at.t1,
        saveAt: 'end',
        params: {p: at.p},
        control: adaptive({rtol: tolerance, atol: tolerance}),
      },
    );
  const gradient = (simulation: ReturnType<typeof prepare>): number => {
    const {trajectory, pullback} = simulation.vjp();
    pullback({y: [0, 0, 1, 0]});
    trajectory.dispose();
    return trajectory.stats.steps;
  };
  const known = prepare(rtol);
  const steps = gradient(known);
  const later = least(() => processor(() => void gradient(known)));
  // Nothing is known yet of another tolerance.
  let count = 0;
  const first = least(() => {
    const other = prepare(rtol * (1 + 1e-9 * ++count));
    return processor(() => void gradient(other));
  });
  return {name, steps, first, later};
}

export const checkedRows = (): CheckedRow[] => [
  row('Rayleigh, μ = 50, radauIIA5', rayleigh, {y: [0.5, 1], p: 50, t1: 200}, radauIIA5(), 1e-6),
  row('Lotka–Volterra, kvaerno3', lotkaVolterra, {y: [10, 5], p: 1.1, t1: 20}, kvaerno3(), 1e-6),
  row('Lotka–Volterra, tsit5', lotkaVolterra, {y: [10, 5], p: 1.1, t1: 20}, tsit5(), 1e-6),
];

if (process.argv[1]?.includes('checked')) console.log(JSON.stringify(checkedRows()));
