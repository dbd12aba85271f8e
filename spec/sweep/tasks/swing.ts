/** A damped swing whose stiffness is a square, so that it has two minima: the problem that the spec of fits by sweeps divides. */
import * as tf from '@tensorflow/tfjs';
import {implicitMidpoint, mechanics} from '../../../lib/index.js';
import {fitTask, free, positive} from '../../../training/index.js';

const swing = mechanics<{a: tf.Tensor; c: tf.Tensor}>({
  mass: 1,
  forces: [({q, params: {a}}) => tf.neg(tf.mul(tf.square(a), q)), ({v, params: {c}}) => tf.neg(tf.mul(c, v))],
});

/** Of q̈ + c q̇ + a² q = 0 from q = 1 at rest, with errors like an instrument's. */
function record(phase: number): {t: Float64Array; q: Float64Array} {
  const t = Float64Array.from({length: 41}, (_, i) => i / 10);
  const w = Math.sqrt(4 - 0.01);
  const q = t.map(
    (time, i) =>
      Math.exp(-0.1 * time) * (Math.cos(w * time) + (0.1 / w) * Math.sin(w * time))
      + 0.01 * Math.sin(12.9898 * (i + phase) ** 2),
  );
  return {t, q};
}

export const problem = {
  system: swing,
  initial: {q: 1, v: 0},
  data: [record(0), record(50), record(100)],
  parameters: {a: free(1.5), c: positive(0.3)},
  scheme: implicitMidpoint(),
  dt: 0.05,
};

export default fitTask(problem);

/** Of one record, made when it is asked for, as a problem that reads a file is. */
export const single = fitTask(async () => Promise.resolve({...problem, data: record(0)}));

/** Another problem than the one that is analysed. */
export const other = fitTask({...problem, parameters: {a: free(1.6), c: positive(0.3)}});
