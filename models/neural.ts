/**
 * Networks as terms of a model, beside the physical ones: a free force, one with a potential, one that
 * only takes energy away. A network sees plain numbers: choose units, or scale inside, so that its
 * inputs are of order 1.
 */
import * as tf from '@tensorflow/tfjs';
import {boolean, list, optional, positive, readOptions, typed, type Options} from '../lib/checks.js';
import type {ForceTerm, Params} from '../lib/index.js';
import {OptionError, ShapeError} from '../lib/index.js';
import {quantity} from './coefficient.js';
import type {ConservativeTerm} from './energy.js';
import {conservative} from './energy.js';
import type {Mlp} from './mlp.js';

/**
 * A tf.layers model with one input and one output, an
 * `mlp`, or a custom function [rows, features] → [rows, outputs]. Weights are captured and so
 * trained by tfjs's optimizers; weights in `params` are used by a function:
 * `(x, params) => network.apply(x, params.network as Params)`.
 */
export type Network = tf.LayersModel | Mlp | ((x: tf.Tensor2D, params: Params) => tf.Tensor);

/** Possible inputs of a network. */
export type NetworkInput = 'q' | 'v' | 't';

const networkOptions = {
  /** The inputs, in this order, flattened and concatenated. */
  inputs: optional(typed<readonly NetworkInput[]>(list)),
  /**
   * false (default): one row with all of q and v, so that every coordinate can affect every other.
   * true: one row per particle (the first axis of q) with its own q and v, the same network for all; the
   * Jacobian stays sparse.
   */
  shared: optional(boolean, false),
};
const forceOptions = {
  ...networkOptions,
  /** Multiplies the output, a number or broadcasting to q; default 1. */
  scale: optional(quantity(), 1),
};
const massOptions = {
  /** Lower bound of its eigenvalues [mass]; default 1e-3. */
  minEigenvalue: optional(positive, 1e-3),
};

/** Inputs of a network, and the coordinates it acts on. @interface */
export type NetworkOptions = Options<typeof networkOptions>;

type At = Parameters<ForceTerm>[0];

/** The network's outputs [rows, outputs] at a state. */
type Evaluate = (at: At) => tf.Tensor;

/**
 * A force from a network: its output, as many numbers as q has, in the shape of q.
 * @param options.inputs default ['q', 'v']
 * @throws OptionError 'bad-network', 'bad-coefficient'; when traced, ShapeError
 *   'network-input', 'network-output', 'coefficient-shape'
 * @example
 * ```ts
 * import {mechanics, simulate} from 'stiffgrad';
 * import {mlp, neuralForce} from 'stiffgrad/models';
 *
 * const network = mlp({sizes: [2, 8, 1], seed: 1});
 * const system = mechanics({mass: 1, forces: [neuralForce(x => network.apply(x))]});
 * console.log(simulate(system, {q: [1], v: [0]}, {dt: 0.01, steps: 10}).q.shape); // → [11, 1]
 * ```
 */
export function neuralForce(network: Network, options: Options<typeof forceOptions> = {}): ForceTerm {
  const {scale} = readOptions(options, forceOptions, 'neuralForce');
  const evaluate = evaluator(network, options, ['q', 'v'], 'neuralForce');
  return at => {
    const output = requireOutputs(evaluate(at), at.q.size, 'neuralForce', 'one a coordinate');
    return tf.mul(scale(at.params, at.q.shape), tf.reshape(output, at.q.shape));
  };
}

/**
 * A conservative force −∂V/∂q whose potential V(q) is a network's output: one number, or one per
 * particle if it is shared. The work along any closed path is zero, whatever the weights.
 * @throws OptionError 'bad-network'; when traced, ShapeError 'network-input', 'network-output'
 * @example
 * ```ts
 * import {mechanics, simulate} from 'stiffgrad';
 * import {mlp, neuralPotential} from 'stiffgrad/models';
 *
 * const network = mlp({sizes: [1, 8, 1], seed: 1});
 * const system = mechanics({mass: 1, forces: [neuralPotential(x => network.apply(x))]});
 * console.log(simulate(system, {q: [1], v: [0]}, {dt: 0.01, steps: 10}).q.shape); // → [11, 1]
 * ```
 */
export function neuralPotential(network: Network, options: Pick<NetworkOptions, 'shared'> = {}): ConservativeTerm {
  readOptions(options, {shared: networkOptions.shared}, 'neuralPotential');
  const evaluate = evaluator(network, {...options, inputs: ['q']}, ['q'], 'neuralPotential');
  const energy = (q: tf.Tensor, params: Params): tf.Tensor => {
    // Only q is an input; v and t are there to be ignored.
    const output = evaluate({q, v: q, t: tf.scalar(0), params});
    return tf.sum(requireOutputs(output, output.shape[0], 'neuralPotential', 'one a row'));
  };
  return conservative(
    ({q, params}) => tf.neg(tf.grad(x => energy(x, params))(q)),
    ({q, params}) => energy(q, params),
  );
}

/**
 * A passive force −L Lᵀ v: the network's n² outputs, n the size of q, are the matrix L. Its power
 * −|Lᵀv|² is never positive, whatever the weights.
 * @param options.inputs default ['q']
 * @throws OptionError 'bad-network'; when traced, ShapeError 'network-input', 'network-output'
 */
export function neuralDissipation(network: Network, options: Pick<NetworkOptions, 'inputs'> = {}): ForceTerm {
  readOptions(options, {inputs: networkOptions.inputs}, 'neuralDissipation');
  const evaluate = evaluator(network, options, ['q'], 'neuralDissipation');
  return at => {
    const n = at.v.size;
    const outputs = requireOutputs(evaluate(at), n * n, 'neuralDissipation', 'a matrix [n, n]');
    const factor = tf.reshape<tf.Rank.R2>(outputs, [n, n]);
    const velocity = tf.reshape<tf.Rank.R2>(at.v, [n, 1]);
    return tf.neg(tf.reshape(tf.matMul(factor, tf.matMul(factor, velocity, true)), at.v.shape));
  };
}

/**
 * A mass matrix M(q) = L Lᵀ + minEigenvalue·I, positive definite whatever the weights: the network's n(n + 1)/2
 * outputs, n the size of q, are the lower triangle L by rows (Lutter, Ritter & Peters 2019). A mass alone has no
 * inertia forces: let `lagrangian` derive them from ½ vᵀM(q)v.

 * @throws OptionError 'bad-network', 'bad-option'; when traced, ShapeError 'network-input', 'network-output'
 */
export function neuralMass(
  network: Network,
  options: Options<typeof massOptions> = {},
): (at: {readonly q: tf.Tensor; readonly params: Params}) => tf.Tensor2D {
  const {minEigenvalue} = readOptions(options, massOptions, 'neuralMass');
  const evaluate = evaluator(network, {inputs: ['q']}, ['q'], 'neuralMass');
  return ({q, params}) => {
    const n = q.size;
    const outputs = requireOutputs(
      evaluate({q, v: q, t: tf.scalar(0), params}),
      (n * (n + 1)) / 2,
      'neuralMass',
      'the lower triangle of a matrix [n, n]',
    );
    // Above the diagonal stands the zero behind the outputs.
    const places = Array.from({length: n * n}, (_, at) => {
      const [row, column] = [Math.floor(at / n), at % n];
      return column > row ? outputs.size : (row * (row + 1)) / 2 + column;
    });
    const entries = tf.concat([tf.reshape(outputs, [-1]), tf.zeros([1])]);
    const factor = tf.reshape<tf.Rank.R2>(tf.gather(entries, tf.tensor1d(places, 'int32')), [n, n]);
    return tf.add(tf.matMul(factor, factor, false, true), tf.mul(minEigenvalue, tf.eye(n)));
  };
}

function evaluator(
  network: Network,
  {inputs, shared = false}: NetworkOptions,
  defaults: readonly NetworkInput[],
  name: string,
): Evaluate {
  const chosen = inputs ?? defaults;
  const unknown = chosen.find(input => !['q', 'v', 't'].includes(input));
  if (unknown !== undefined || chosen.length === 0)
    throw new OptionError(
      'bad-network',
      `${name}: inputs must be some of 'q', 'v' and 't', not ${JSON.stringify(chosen)}.`,
      {inputs: chosen},
    );
  const apply = applier(network, name);
  return at => {
    const output: unknown = apply(features(at, chosen, shared), at.params);
    if (output instanceof tf.Tensor) return output;
    throw new ShapeError('network-output', `${name}: the network must return a tensor, not ${typeof output}.`);
  };
}

/** [1, all] or, shared, [particles, each]. */
function features(at: At, inputs: readonly NetworkInput[], shared: boolean): tf.Tensor2D {
  const rows = shared ? (at.q.shape[0] ?? 1) : 1;
  return tf.concat2d(
    inputs.map(input =>
      input === 't' ? tf.broadcastTo(at.t, [rows, 1]) : tf.reshape(at[input], [rows, at.q.size / rows]),
    ),
    1,
  );
}

function requireOutputs(output: tf.Tensor, size: number, name: string, what: string): tf.Tensor {
  if (output.size === size) return output;
  const got = `${output.size} numbers, shape [${output.shape.join(', ')}]`;
  throw new ShapeError(
    'network-output',
    `${name}: the network must return ${size} numbers, ${what}, but returned ${got}.`,
    {size},
  );
}

function applier(network: Network, name: string): (x: tf.Tensor2D, params: Params) => tf.Tensor {
  if (typeof network === 'function') return network;
  if (isLayersModel(network)) return layersApplier(network, name);
  if (typeof network?.apply === 'function' && Array.isArray(network.sizes)) return x => network.apply(x);
  throw new OptionError(
    'bad-network',
    `${name} takes a tf.layers model, an mlp, or a function of a tensor [rows, features].`,
  );
}

const isLayersModel = (network: tf.LayersModel | Mlp): network is tf.LayersModel => network instanceof tf.LayersModel;

function layersApplier(model: tf.LayersModel, name: string): (x: tf.Tensor2D) => tf.Tensor {
  // A sequential model without layers has neither list, whatever its type says.
  const [inputs, outputs] = [model.inputs, model.outputs].map(
    list => (list as readonly unknown[] | undefined)?.length ?? 0,
  );
  if (inputs !== 1 || outputs !== 1) {
    throw new OptionError(
      'bad-network',
      `${name}: the tf.layers model '${model.name}' has ${inputs} inputs and ${outputs} outputs; `
        + 'it must have one of each.',
    );
  }
  const [, ...shape] = model.inputs[0].shape;
  return x => {
    if (shape.length !== 1 || shape[0] !== x.shape[1]) {
      throw new ShapeError(
        'network-input',
        `${name}: the tf.layers model '${model.name}' takes inputs [${shape.join(', ')}], `
          + `but the state has ${x.shape[1]} numbers per row.`,
        {expected: shape, given: x.shape[1]},
      );
    }
    return model.apply(x) as tf.Tensor;
  };
}
