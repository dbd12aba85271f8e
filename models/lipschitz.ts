/**
 * Networks whose outputs move by no more than so many times their inputs: weights divided by their largest singular
 * value where that is more than the layer's share (spectral normalization, Miyato, Kataoka, Koyama & Yoshida, ICLR
 * 2018; here the singular value is exact, not that of a power iteration, and differentiated). With a damper of the same
 * rate such a network is passive.
 */
import * as tf from '@tensorflow/tfjs';
import {positive, requireValue} from '../lib/checks.js';
import type {Params} from '../lib/index.js';
import {linalg, OptionError} from '../lib/index.js';
import type {Mlp} from './mlp.js';

/** The largest slope of each activation, by name. */
const slopes: {readonly [name: string]: number} = {tanh: 1, sigmoid: 0.25, softplus: 1, elu: 1, relu: 1, linear: 1};

function slopeOf({activation}: Mlp, owner: string): number {
  const slope = typeof activation === 'string' ? slopes[activation] : undefined;
  if (slope === undefined)
    throw new OptionError(
      'bad-network',
      `${owner}: the largest slope of an activation given as a function is unknown; `
        + `use one of ${Object.keys(slopes).join(', ')}.`,
    );
  return slope;
}

const layersOf = ({sizes}: Mlp): number => sizes.length - 1;

/** The largest singular value of a matrix, []. */
const spectralNorm = (weights: tf.Tensor): tf.Tensor => tf.max(linalg.svd(weights).s);

/**
 * A bound of |f(x) − f(y)|/|x − y| in Euclidean norms: the product of the layers' spectral norms and of their
 * activations' largest slopes (Szegedy et al. 2014). The network itself may well stay below it.
 * @throws OptionError 'bad-network' for an activation of one's own
 */
export function lipschitzBound(network: Mlp): number {
  const slope = slopeOf(network, 'lipschitzBound');
  return tf.tidy(() => {
    const weights = network.weights();
    const norms = Array.from(
      {length: layersOf(network)},
      (_, layer) => spectralNorm(weights[`w${layer}`] as tf.Tensor).dataSync()[0],
    );
    return norms.reduce((product, norm) => product * norm, slope ** (norms.length - 1));
  });
}

/**
 * The network with weights that are divided, where they are used, so that `lipschitzBound` of what is used is at most
 * `bound`: each layer has an equal share, and one below its share stays as it is. Variables and `params` are the
 * network's own, and trained as ever; gradients go through the division.
 * @throws OptionError 'bad-network' for an activation of one's own, 'bad-option' where the bound is not positive
 */
export function lipschitz(network: Mlp, bound: number): Mlp {
  requireValue(bound, positive, 'lipschitz: bound');
  const layers = layersOf(network);
  const share = (bound / slopeOf(network, 'lipschitz') ** (layers - 1)) ** (1 / layers);
  const own: Params = Object.fromEntries(Object.keys(network.params).map((name, i) => [name, network.variables[i]]));
  // As a share of the larger of both: where the weights are zero nothing is divided by their norm.
  const divided = (given: Params): Params => ({
    ...given,
    ...Object.fromEntries(
      Array.from({length: layers}, (_, layer) => {
        const weights = given[`w${layer}`] as tf.Tensor;
        return [`w${layer}`, tf.mul(weights, tf.div(share, tf.maximum(share, spectralNorm(weights))))] as const;
      }),
    ),
  });
  return {
    ...network,
    apply: (x, given = own) => network.apply(x, divided(given)),
    weights: (given = own) => network.weights(divided(given)),
  };
}
