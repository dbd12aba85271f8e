/**
 * A small fully connected network with reproducible weights, for those who need no tf.layers. Its
 * weights exist twice, with equal numbers: as tf.Variables for tfjs's optimizers, and as a tree of
 * numbers to be given as `params` (for simulate.vjp, jvp and identification in double precision).
 */
import * as tf from '@tensorflow/tfjs';
import {finite, optional, readOptions, typed, type Options} from '../lib/checks.js';
import type {NumericParams, Params} from '../lib/index.js';
import {OptionError, ShapeError} from '../lib/index.js';

/** Activation function of hidden layers: by name, or an elementwise function. */
export type Activation = 'tanh' | 'sigmoid' | 'softplus' | 'elu' | 'relu' | 'linear' | ((x: tf.Tensor) => tf.Tensor);

const mlpOptions = {
  /** Widths from input to output, at least two: [2, 16, 1] has one hidden layer. */
  sizes: typed<readonly number[]>(),
  /** After every layer except the last; default 'tanh'. Newton's method needs smooth forces: 'relu' has kinks. */
  activation: optional(typed<Activation>(), 'tanh'),
  /** Default 0. The same seed gives the same weights on every machine. */
  seed: optional(finite, 0),
};

/** The argument of `mlp`. @interface */
export type MlpSpec = Options<typeof mlpOptions>;

/** A network of dense layers, made by `mlp`. */
export interface Mlp {
  readonly sizes: readonly number[];
  readonly activation: Activation;
  /** Weights [in, out] and bias [out] of each layer in turn. */
  readonly variables: readonly tf.Variable[];
  /** {w0: [in, out], b0: [out], w1: …}: the initial weights as numbers. */
  readonly params: NumericParams;
  /**
   * [rows, in] → [rows, out].
   * @param weights a tree like `params`, of tensors; default the variables
   * @throws ShapeError 'network-input'; OptionError 'network-weights'
   */
  apply(x: tf.Tensor, weights?: Params): tf.Tensor;
  /**
   * The weights by which `apply` multiplies: those given, or for a network limited by `lipschitz` the divided ones.
   */
  weights(given?: Params): Params;
  /** Frees the variables. */
  dispose(): void;
}

const activations: {readonly [name: string]: (x: tf.Tensor) => tf.Tensor} = {
  tanh: x => tf.tanh(x),
  sigmoid: x => tf.sigmoid(x),
  softplus: x => tf.softplus(x),
  elu: x => tf.elu(x),
  relu: x => tf.relu(x),
  linear: x => x,
};

/**
 * Weights are drawn uniformly from ±√(6 / (in + out)), which keeps the variance of signals and of
 * gradients through the layers (Glorot & Bengio, Understanding the difficulty of training deep
 * feedforward neural networks, AISTATS 2010, eq. 16); biases are zero. Call it outside of forces.
 * @throws OptionError 'bad-network'
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {mlp} from 'stiffgrad/models';
 *
 * const network = mlp({sizes: [2, 8, 1], activation: 'tanh', seed: 1});
 * console.log(network.apply(tf.zeros([5, 2])).shape); // → [5, 1]
 * ```
 */
export function mlp(spec: MlpSpec): Mlp {
  const {sizes, activation, seed} = readOptions(spec, mlpOptions, 'mlp');
  const given: unknown = sizes;
  if (!Array.isArray(given) || given.length < 2 || given.some(n => !Number.isInteger(n) || n < 1)) {
    throw new OptionError(
      'bad-network',
      `mlp: sizes must be at least two whole numbers of at least 1, not ${JSON.stringify(sizes)}.`,
      {sizes},
    );
  }
  const act = typeof activation === 'function' ? activation : activations[activation];
  if (act === undefined)
    throw new OptionError(
      'bad-network',
      `mlp: there is no activation '${String(activation)}'; choose one of ${Object.keys(activations).join(', ')}, `
        + 'or give a function.',
      {activation},
    );
  const random = uniform(seed);
  const params: {[name: string]: number[] | number[][]} = {};
  for (let layer = 0; layer + 1 < sizes.length; layer++) {
    const [rows, columns] = [sizes[layer], sizes[layer + 1]];
    const limit = Math.sqrt(6 / (rows + columns));
    // Rounded to float32, so that the variables hold the same numbers.
    params[`w${layer}`] = Array.from({length: rows}, () =>
      Array.from({length: columns}, () => Math.fround(limit * (2 * random() - 1))),
    );
    params[`b${layer}`] = new Array<number>(columns).fill(0);
  }
  return network(sizes, activation, act, params);
}

/** A network of given weights, by layer: [in, out] and [out]. */
export function mlpOfWeights(
  activation: Exclude<Activation, (x: tf.Tensor) => tf.Tensor>,
  layers: readonly {readonly weights: number[][]; readonly bias: number[]}[],
): Mlp {
  const sizes = [layers[0].weights.length, ...layers.map(({bias}) => bias.length)];
  return network(
    sizes,
    activation,
    activations[activation],
    Object.fromEntries<number[] | number[][]>(
      layers.flatMap(
        ({weights, bias}, layer) =>
          [
            [`w${layer}`, weights],
            [`b${layer}`, bias],
          ] as const,
      ),
    ),
  );
}

function network(
  sizes: readonly number[],
  activation: Activation,
  act: (x: tf.Tensor) => tf.Tensor,
  params: {readonly [name: string]: number[] | number[][]},
): Mlp {
  const names = Object.keys(params);
  const variables = tf.tidy(() => names.map(name => tf.variable(tf.tensor(params[name]))));
  const own: Params = Object.fromEntries(names.map((name, i) => [name, variables[i]]));
  return {
    sizes,
    activation,
    variables,
    params,
    apply: (x, weights = own) => forward(x, sizes, act, name => weight(weights, name)),
    weights: (given = own) => given,
    dispose: () => tf.dispose(variables),
  };
}

function forward(
  x: tf.Tensor,
  sizes: readonly number[],
  act: (x: tf.Tensor) => tf.Tensor,
  weightOf: (name: string) => tf.Tensor,
): tf.Tensor {
  if (x.shape.length !== 2 || x.shape[1] !== sizes[0]) {
    throw new ShapeError(
      'network-input',
      `mlp: the input has shape [${x.shape.join(', ')}], but the network takes [rows, ${sizes[0]}].`,
      {input: x.shape, sizes},
    );
  }
  const last = sizes.length - 2;
  let signal = x;
  for (let layer = 0; layer <= last; layer++) {
    const sum = tf.add(tf.matMul(signal as tf.Tensor2D, weightOf(`w${layer}`) as tf.Tensor2D), weightOf(`b${layer}`));
    signal = layer < last ? act(sum) : sum;
  }
  return signal;
}

function weight(weights: Params, name: string): tf.Tensor {
  const tensor = (weights as Params | undefined)?.[name];
  if (tensor instanceof tf.Tensor) return tensor;
  throw new OptionError(
    'network-weights',
    `mlp: the given weights have no tensor '${name}'; give a tree like the network's params.`,
    {name},
  );
}

/** Numbers in [0, 1) by mulberry32 (T. Ettinger, 2017, public domain), a generator with 32 bits of state. */
function uniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x = (x + Math.imul(x ^ (x >>> 7), x | 61)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}
