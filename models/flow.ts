/**
 * Continuous normalizing flows: points move by z' = f(z, t), and the logarithm of their density by −tr ∂f/∂z (Chen,
 * Rubanova, Bettencourt & Duvenaud, NeurIPS 2018). The trace is exact, by one derivative along each axis, or
 * Hutchinson's estimate ε·(∂f/∂z)ε with a probe that stays as it is over a run (Grathwohl et al., FFJORD, ICLR 2019).
 * Both are exactly differentiated with the rest.
 */
import * as tf from '@tensorflow/tfjs';
import {callable, positiveInteger, optional, readOptions, typed, type Options} from '../lib/checks.js';
import type {OdeSystem, Params} from '../lib/index.js';
import {ode, OptionError, ShapeError} from '../lib/index.js';
import {isElementwise, derivativeAlong} from '../lib/internal.js';

const flowOptions = {
  /** Numbers of a point. */
  size: positiveInteger,
  /** f: [rows, size] and a time [] to [rows, size], each row by itself. */
  field: typed<(z: tf.Tensor, t: tf.Tensor, params: Params) => tf.Tensor>(callable),
  /**
   * Hutchinson's estimate of the trace with these probes [rows, size], of mean 0 and covariance 1, such as those of
   * `stochastic.rademacher`; a function of params. Default: the trace itself, whose cost grows with `size`.
   */
  probe: optional(typed<(params: Params) => tf.Tensor>(callable)),
};

/** The argument of `continuousFlow`. @interface */
export type FlowSpec = Options<typeof flowOptions>;

/**
 * A flow as an ode of rows [z, l], [rows, size + 1], with l' = tr ∂f/∂z: starting with l = 0, the density at a point is
 * that at its end point times eˡ, log p₀(z(0)) = log p₁(z(t)) + l(t).
 * @throws OptionError; when traced, 'rows-mixed' if a row of the field depends on other rows, ShapeError if field or
 *   probe have another shape
 */
export function continuousFlow(spec: FlowSpec): OdeSystem {
  const {size, field, probe} = readOptions(spec, flowOptions, 'continuousFlow');
  /**
   * Params of the traces whose rows were checked. The stages of a trace share them, and a check costs more than a
   * trace.
   */
  const checked = new WeakSet<Params>();
  return ode(({y, t, params}) => {
    if (y.rank !== 2 || y.shape[1] !== size + 1)
      throw new ShapeError(
        'flow-state',
        `continuousFlow: the state has shape [${y.shape.join(', ')}], but must have [rows, ${size + 1}]: `
          + `points of ${size} numbers, and the logarithm.`,
        {y: y.shape},
      );
    const z = tf.slice(y, [0, 0], [-1, size]);
    const f = (at: tf.Tensor): tf.Tensor => shaped(field(at, t, params), z.shape, 'field');
    if (!checked.has(params) && !isElementwise(at => f(at.y), z, size))
      throw new OptionError(
        'rows-mixed',
        'continuousFlow: a row of field depends on other rows of z, for example through a mean over the batch, '
          + 'so its trace would be wrong. Compute each row of the field from the same row of z only.',
      );
    checked.add(params);
    const trace = probe === undefined ? exactTrace(f, z) : quadraticForm(f, z, shaped(probe(params), z.shape, 'probe'));
    return tf.concat([f(z), trace], 1);
  });
}

/** ε·(∂f/∂z)ε of each row, [rows, 1]. */
function quadraticForm(f: (z: tf.Tensor) => tf.Tensor, z: tf.Tensor, probe: tf.Tensor): tf.Tensor {
  const along = derivativeAlong(at => f(at.z), {z}, {z: probe});
  return tf.sum(tf.mul(probe, along), 1, true);
}

/** Rows do not act on each other, so one direction serves all. */
function exactTrace(f: (z: tf.Tensor) => tf.Tensor, z: tf.Tensor): tf.Tensor {
  const [rows, size] = z.shape;
  const axis = (k: number): tf.Tensor =>
    tf.tile(tf.tensor2d([Array.from({length: size}, (_, i) => Number(i === k))]), [rows, 1]);
  return Array.from({length: size}, (_, k) => quadraticForm(f, z, axis(k))).reduce((sum, part) => tf.add(sum, part));
}

function shaped(x: tf.Tensor, shape: readonly number[], what: string): tf.Tensor {
  if (x.shape.length === shape.length && x.shape.every((n, axis) => n === shape[axis])) return x;
  throw new ShapeError(
    'flow-shape',
    `continuousFlow: ${what} returned shape [${x.shape.join(', ')}], but the points have [${shape.join(', ')}].`,
    {
      [what]: x.shape,
    },
  );
}

/** log N(z; 0, 1) of each row of [rows, size], [rows]. */
export function logStandardNormal(z: tf.Tensor): tf.Tensor {
  return tf.sub(tf.mul(tf.sum(tf.square(z), -1), -0.5), (z.shape[z.rank - 1] / 2) * Math.log(2 * Math.PI));
}
