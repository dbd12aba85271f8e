/** Spectral normalization: bounds that hold, are met where they can be, and a network that only takes energy away. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {mechanics, OptionError, simulate, trapezoid, stochastic} from '../../lib/index.js';
import {mlp, type Mlp} from '../../models/index.js';
import {mlpToLayers} from '../../models/mlp-layers.js';
import {lipschitz, lipschitzBound} from '../../models/lipschitz.js';
import {slow} from '../tiers.js';

/** The network with weights so many times as large. */
function scaled(network: Mlp, factor: number): Mlp {
  for (const variable of network.variables) tf.tidy(() => variable.assign(tf.mul(variable, factor)));
  return network;
}

const normal = (seed: number, rows: number, columns: number): tf.Tensor2D =>
  tf.tensor2d(Array.from(stochastic.brownianPath(seed, [rows, columns]).at(1)), [rows, columns]);

/** The largest |f(x) − f(y)|/|x − y| of random neighbours. */
const steepest = (network: Mlp): number =>
  tf.tidy(() => {
    const [n] = network.sizes;
    const x = normal(1, 500, n);
    const y = tf.add(x, tf.mul(normal(2, 500, n), 0.01));
    const length = (d: tf.Tensor): tf.Tensor => tf.sqrt(tf.sum(tf.square(d), 1));
    return tf.max(tf.div(length(tf.sub(network.apply(x), network.apply(y))), length(tf.sub(x, y)))).dataSync()[0];
  });

describe('models: lipschitz', () => {
  slow('bounds how a network moves, whatever its weights', () => {
    for (const activation of ['tanh', 'sigmoid', 'softplus', 'elu', 'relu'] as const) {
      for (const factor of [0.1, 1, 30]) {
        const network = scaled(mlp({sizes: [3, 16, 16, 2], activation, seed: 2}), factor);
        expect(steepest(network), activation).to.be.below(lipschitzBound(network) * 1.001);
        const limited = lipschitz(network, 0.7);
        expect(steepest(limited), activation).to.be.below(0.7 * 1.001);
        network.dispose();
      }
    }
  });

  it('is the largest singular value of one linear layer: diag(3, 1/2)', () => {
    const network = mlp({sizes: [2, 2], seed: 1});
    tf.tidy(() =>
      network.variables[0].assign(
        tf.tensor2d([
          [0, 3],
          [0.5, 0],
        ]),
      ),
    );
    expect(lipschitzBound(network)).to.be.closeTo(3, 1e-6);
    const [values] = tf.tidy(
      () =>
        lipschitz(network, 1)
          .apply(tf.tensor2d([[1, 1]]))
          .arraySync() as number[][],
    );
    expect(values[0]).to.be.closeTo(0.5 / 3, 1e-6);
    expect(values[1]).to.be.closeTo(1, 1e-6);
    // Below its share a layer stays as it is.
    const same = tf.tidy(
      () =>
        lipschitz(network, 5)
          .apply(tf.tensor2d([[1, 1]]))
          .arraySync() as number[][],
    );
    expect(same[0]).to.deep.equal([0.5, 3]);
    network.dispose();
  });

  it('is saved with the divided weights, and its bound is theirs: diag(3, 1/2) over 3', () => {
    const network = mlp({sizes: [2, 2], seed: 1});
    tf.tidy(() =>
      network.variables[0].assign(
        tf.tensor2d([
          [0, 3],
          [0.5, 0],
        ]),
      ),
    );
    const limited = lipschitz(network, 1);
    expect(lipschitzBound(limited)).to.be.closeTo(1, 1e-6);
    // Of the outer one's weights the inner one divides none.
    expect(lipschitzBound(lipschitz(limited, 0.5))).to.be.closeTo(0.5, 1e-6);
    expect(lipschitzBound(lipschitz(limited, 2))).to.be.closeTo(1, 1e-6);
    const before = tf.memory().numTensors;
    const model = mlpToLayers(limited);
    const values = tf.tidy(() => (model.predict(tf.tensor2d([[1, 1]])) as tf.Tensor).dataSync());
    expect(values[0]).to.be.closeTo(0.5 / 3, 1e-6);
    expect(values[1]).to.be.closeTo(1, 1e-6);
    model.dispose();
    expect(tf.memory().numTensors).to.equal(before);
    network.dispose();
  });

  it('begins to learn from zero weights, as a last layer often has: ∂(c · xW)/∂W = x cᵀ', () => {
    const network = scaled(mlp({sizes: [2, 2], seed: 1}), 0);
    const limited = lipschitz(network, 0.5);
    const found = tf.tidy(() => {
      const {grads} = tf.variableGrads(
        () => tf.sum(tf.mul(limited.apply(tf.tensor2d([[1, 0.5]])), [[1, 2]])),
        [network.variables[0]],
      );
      return Array.from(Object.values(grads)[0].dataSync());
    });
    expect(found).to.deep.equal([1, 2, 0.5, 1]);
    network.dispose();
  });

  it('has gradients through the division: by differences, in double precision', () => {
    const network = mlp({sizes: [2, 6, 2], seed: 3});
    const limited = lipschitz(network, 0.5);
    const system = mechanics({
      mass: 1,
      forces: ({q, params}) => tf.sub(tf.reshape(limited.apply(tf.reshape(q, [1, 2]), params as never), [2]), q),
    });
    const options = {scheme: trapezoid(), dt: 0.1, steps: 10, saveAt: 'end'} as const;
    const start = {q: [1, -0.5], v: [0, 0.2]};
    const {pullback} = simulate.vjp(system, start, {...options, params: network.params});
    const found = pullback({q: [0, 0, 1, 0]}).params as unknown as {w0: Float64Array};
    const at = (k: number, change: number): number => {
      const w0 = (network.params.w0 as number[][]).map((row, i) =>
        row.map((w, j) => w + (6 * i + j === k ? change : 0)),
      );
      return simulate(system, start, {...options, params: {...network.params, w0}}).values('q')[2];
    };
    for (const k of [0, 5, 7]) expect(found.w0[k]).to.be.closeTo((at(k, 1e-5) - at(k, -1e-5)) / 2e-5, 1e-8);
    network.dispose();
  });

  it('with a damper of the same rate it is passive: the power is never positive', () => {
    const network = scaled(mlp({sizes: [3, 12, 3], seed: 5}), 8);
    const limited = lipschitz(network, 2);
    const v = normal(7, 400, 3);
    const power = (of: Mlp): number =>
      tf.tidy(() => {
        const moved = tf.sub(of.apply(v), of.apply(tf.zerosLike(v)));
        return tf.max(tf.sum(tf.mul(v, tf.sub(moved, tf.mul(v, 2))), 1)).dataSync()[0];
      });
    expect(power(limited)).to.be.at.most(1e-5);
    expect(power(network)).to.be.above(1);
    tf.dispose([v]);
    network.dispose();
  });

  it('refuses what it knows no bound of', () => {
    const own = mlp({sizes: [1, 2, 1], activation: x => tf.sin(x)});
    expect(() => lipschitz(own, 1)).to.throw(OptionError, 'slope');
    expect(() => lipschitzBound(own)).to.throw(OptionError, 'slope');
    expect(() => lipschitz(mlp({sizes: [1, 1]}), 0)).to.throw(OptionError, 'bound');
  });
});
