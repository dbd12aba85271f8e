/**
 * An `mlp` as a tf.layers model and back: so it is saved and loaded in tfjs's own format, by every way tfjs has,
 * and a network trained elsewhere becomes one whose weights can stand among the parameters.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../lib/index.js';
import type {Activation, Mlp} from './mlp.js';
import {mlpOfWeights} from './mlp.js';

type Named = Exclude<Activation, (x: tf.Tensor) => tf.Tensor>;

/** Names that tf.layers knows, too. */
const names: readonly string[] = ['tanh', 'sigmoid', 'softplus', 'elu', 'relu', 'linear'];

/**
 * The network with the current values of its variables, as dense layers: `await mlpToLayers(network).save(…)`. Of a
 * network that `lipschitz` limits, these are the divided weights, which compute the same.
 * The caller disposes of it.
 * @throws OptionError 'bad-network' for a custom activation, which cannot be saved
 */
export function mlpToLayers({sizes, activation, params, weights}: Mlp): tf.Sequential {
  if (typeof activation === 'function')
    throw new OptionError(
      'bad-network',
      'mlpToLayers: an activation that is a function cannot be saved; use one of the named ones.',
    );
  const last = sizes.length - 2;
  const model = tf.sequential();
  for (let layer = 0; layer <= last; layer++) {
    model.add(
      tf.layers.dense({
        units: sizes[layer + 1],
        activation: layer < last ? activation : 'linear',
        ...(layer === 0 ? {inputShape: [sizes[0]]} : {}),
      }),
    );
  }
  tf.tidy(() => {
    const present = weights();
    model.setWeights(Object.keys(params).map(name => present[name] as tf.Tensor));
  });
  return model;
}

/**
 * The dense layers of a model as an `mlp`, with copies of its weights.
 * @throws OptionError 'bad-network' if the model has other layers, different activations, or an activation after the
 *   last layer
 */
export function mlpFromLayers(model: tf.LayersModel): Mlp {
  const dense = model.layers.filter(layer => layer.getClassName() !== 'InputLayer');
  const refuse = (why: string): OptionError =>
    new OptionError('bad-network', `mlpFromLayers: the tf.layers model '${model.name}' ${why}.`);
  const other = dense.find(layer => layer.getClassName() !== 'Dense');
  if (other !== undefined || dense.length === 0)
    throw refuse(`has a layer of class ${other?.getClassName() ?? 'none'}; an mlp has only dense layers`);
  const configs = dense.map(layer => layer.getConfig() as {readonly activation: string; readonly useBias: boolean});
  const last = configs[configs.length - 1];
  const activation = configs[0] === last ? 'linear' : configs[0].activation;
  if (last.activation !== 'linear')
    throw refuse(`has the activation ${last.activation} in its last layer, which is linear in an mlp`);
  if (configs.slice(0, -1).some(config => config.activation !== activation) || !names.includes(activation))
    throw refuse(
      `has the activations ${configs.map(config => config.activation).join(', ')}; `
        + `an mlp has one of ${names.join(', ')} after every layer but the last`,
    );
  return mlpOfWeights(
    activation as Named,
    dense.map((layer, i) => {
      const [kernel, bias] = layer.getWeights();
      return {
        weights: kernel.arraySync() as number[][],
        bias: configs[i].useBias
          ? (bias.arraySync() as number[])
          : new Array<number>(kernel.shape[1] as number).fill(0),
      };
    }),
  );
}
