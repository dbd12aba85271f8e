/**
 * Force terms in two forms, written apart: tensor operations for the library, and plain loops on numbers for the
 * test's own evaluator. Neither is derived from the other, so that an error in one shows.
 * Terms are in units of order one; the system scales them (see system.ts).
 */
import * as tf from '@tensorflow/tfjs';
import type {Params} from '../../../lib/index.js';

/** Where a term is evaluated, in tensors: position and rate have the shape of the state. */
export interface TensorPlace {
  readonly x: tf.Tensor;
  readonly w: tf.Tensor;
  readonly s: tf.Tensor;
  readonly params: Params;
}

/** The same place in numbers, flat. */
export interface PlainPlace {
  readonly x: readonly number[];
  readonly w: readonly number[];
  readonly s: number;
  readonly params: {readonly [name: string]: readonly number[]};
}

export interface Term {
  tensor(at: TensorPlace): tf.Tensor;
  plain(at: PlainPlace): number[];
}

/** What a term is made from: the size and shape of the state, random numbers in (−1, 1), and new parameters. */
export interface Workshop {
  readonly n: number;
  readonly shape: readonly number[];
  readonly next: () => number;
  /** A new parameter of `size` numbers around `centre`; its name. */
  parameter(name: string, size: number, centre: number, width: number): string;
}

type Maker = (shop: Workshop) => Term;

const of = (params: Params, name: string): tf.Tensor => params[name] as tf.Tensor;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const softplus = (x: number): number => Math.log1p(Math.exp(-Math.abs(x))) + Math.max(x, 0);
const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** Linear and hardening springs to the origin; one stiffness for all, or one each. */
const spring: Maker = ({n, shape, next, parameter}) => {
  const each = next() > 0;
  const stiff = 10 ** (next() > 0.6 ? 5 * Math.abs(next()) : 0);
  const k = parameter('k', each ? n : 1, 3, 2);
  const b = parameter('b', 1, 0.3, 0.3);
  return {
    tensor: ({x, params}) => {
      const stiffness = each ? tf.reshape(of(params, k), [...shape]) : tf.reshape(of(params, k), []);
      return tf.neg(
        tf.mul(tf.mul(stiffness, stiff), tf.add(x, tf.mul(tf.reshape(of(params, b), []), tf.pow(x, tf.scalar(3))))),
      );
    },
    plain: ({x, params}) => x.map((xi, i) => -stiff * params[k][each ? i : 0] * (xi + params[b][0] * xi ** 3)),
  };
};

/** Springs between neighbours in a ring, with tanh: gather and unsortedSegmentSum. */
const ring: Maker = ({n, shape, parameter}) => {
  const k = parameter('ring', n, 2, 1);
  const from = Array.from({length: n}, (_, i) => i);
  const to = from.map(i => (i + 1) % n);
  return {
    tensor: ({x, params}) => {
      const flat = tf.reshape(x, [n]);
      const [a, b] = [tf.tensor1d(from, 'int32'), tf.tensor1d(to, 'int32')];
      const pull = tf.mul(of(params, k), tf.tanh(tf.sub(tf.gather(flat, b), tf.gather(flat, a))));
      return tf.reshape(tf.sub(tf.unsortedSegmentSum(pull, a, n), tf.unsortedSegmentSum(pull, b, n)), [...shape]);
    },
    plain: ({x, params}) => {
      const force = x.map(() => 0);
      for (let i = 0; i < n; i++) {
        const pull = params[k][i] * Math.tanh(x[to[i]] - x[i]);
        force[i] += pull;
        force[to[i]] -= pull;
      }
      return force;
    },
  };
};

/** Linear and quadratic damping, with |w|. */
const drag: Maker = ({parameter}) => {
  const c = parameter('c', 2, 0.4, 0.4);
  return {
    tensor: ({w, params}) =>
      tf.neg(tf.add(tf.mul(tf.gather(of(params, c), 0), w), tf.mul(tf.gather(of(params, c), 1), tf.mul(w, tf.abs(w))))),
    plain: ({w, params}) => w.map(wi => -params[c][0] * wi - params[c][1] * wi * Math.abs(wi)),
  };
};

/** Smooth Coulomb friction. */
const coulomb: Maker = ({parameter}) => {
  const mu = parameter('mu', 1, 0.5, 0.3);
  return {
    tensor: ({w, params}) => tf.neg(tf.mul(of(params, mu), tf.tanh(tf.div(w, 0.2)))),
    plain: ({w, params}) => w.map(wi => -params[mu][0] * Math.tanh(wi / 0.2)),
  };
};

const drive: Maker = ({n, shape, parameter}) => {
  const amplitude = parameter('drive', n, 1, 1);
  const omega = parameter('omega', 1, 2, 1);
  return {
    tensor: ({s, params}) =>
      tf.mul(
        tf.reshape(of(params, amplitude), [...shape]),
        tf.sin(tf.add(tf.mul(tf.reshape(of(params, omega), []), s), 0.1)),
      ),
    plain: ({x, s, params}) => x.map((_, i) => params[amplitude][i] * Math.sin(params[omega][0] * s + 0.1)),
  };
};

/** A network of two layers on (x, w). */
const network: Maker = ({n, shape, parameter}) => {
  const m = 3;
  const first = parameter('kernel', 2 * n * m, 0, 0.8);
  const bias = parameter('bias', m, 0, 0.5);
  const second = parameter('head', m * n, 0, 0.8);
  return {
    tensor: ({x, w, params}) => {
      const input = tf.concat([tf.reshape(x, [1, n]), tf.reshape(w, [1, n])], 1);
      const hidden = tf.tanh(tf.add(tf.matMul(input, tf.reshape(of(params, first), [2 * n, m])), of(params, bias)));
      return tf.reshape(tf.matMul(hidden, tf.reshape(of(params, second), [m, n])), [...shape]);
    },
    plain: ({x, w, params}) => {
      const input = [...x, ...w];
      const hidden = Array.from({length: m}, (_, j) =>
        Math.tanh(sum(input.map((value, i) => value * params[first][i * m + j])) + params[bias][j]),
      );
      return x.map((_, k) => sum(hidden.map((value, j) => value * params[second][j * n + k])));
    },
  };
};

/** The gradient of an energy, taken by tf.grad within the function. */
const energy: Maker = ({n, shape, parameter}) => {
  const weight = parameter('weight', n, 1, 0.5);
  return {
    tensor: ({x, params}) => {
      const weights = tf.reshape(of(params, weight), [...shape]);
      return tf.neg(
        tf.grad((at: tf.Tensor) => tf.sum(tf.add(tf.softplus(tf.mul(weights, at)), tf.mul(0.5, tf.square(at)))))(x),
      );
    },
    plain: ({x, params}) => x.map((xi, i) => -params[weight][i] * sigmoid(params[weight][i] * xi) - xi),
  };
};

/** A cable: pulls with √x where it is stretched. Where it is not, the branch that is not taken has no finite derivative, or no value. */
const slackRoot: Maker = ({parameter}) => {
  const k = parameter('cable', 1, 1, 0.5);
  return {
    tensor: ({x, params}) => tf.neg(tf.mul(of(params, k), tf.where(tf.greater(x, 0), tf.sqrt(x), tf.zerosLike(x)))),
    plain: ({x, params}) => x.map(xi => (xi > 0 ? -params[k][0] * Math.sqrt(xi) : 0)),
  };
};

/** x log x where x is positive. */
const entropy: Maker = ({parameter}) => {
  const k = parameter('entropy', 1, 0.4, 0.3);
  return {
    tensor: ({x, params}) => tf.mul(of(params, k), tf.where(tf.greater(x, 0), tf.mul(x, tf.log(x)), tf.zerosLike(x))),
    plain: ({x, params}) => x.map(xi => (xi > 0 ? params[k][0] * xi * Math.log(xi) : 0)),
  };
};

/** A spring to the origin of given length, its norm guarded at 0. */
const guardedNorm: Maker = ({parameter}) => {
  const k = parameter('radial', 2, 1, 0.5);
  return {
    tensor: ({x, params}) => {
      const squared = tf.sum(tf.square(x));
      const away = tf.greater(squared, 0);
      const inverse = tf.where(away, tf.div(1, tf.sqrt(squared)), tf.zerosLike(squared));
      return tf.mul(
        tf.neg(tf.gather(of(params, k), 0)),
        tf.sub(x, tf.mul(tf.mul(tf.gather(of(params, k), 1), inverse), x)),
      );
    },
    plain: ({x, params}) => {
      const r = Math.hypot(...x);
      return x.map(xi => -params[k][0] * (xi - (r > 0 ? (params[k][1] * xi) / r : 0)));
    },
  };
};

/** An elastic stop: relu squared, and the larger of two lines. */
const stop: Maker = ({parameter}) => {
  const k = parameter('stop', 1, 20, 10);
  return {
    tensor: ({x, params}) =>
      tf.sub(tf.neg(tf.mul(of(params, k), tf.square(tf.relu(tf.sub(x, 0.3))))), tf.maximum(x, tf.mul(x, 0.5))),
    plain: ({x, params}) => x.map(xi => -params[k][0] * Math.max(xi - 0.3, 0) ** 2 - Math.max(xi, xi / 2)),
  };
};

/** Sums along and against the order of the coordinates. */
const cumulative: Maker = ({n, shape, parameter}) => {
  const k = parameter('chain', 1, 0.5, 0.4);
  return {
    tensor: ({x, params}) => {
      const flat = tf.reshape(x, [n]);
      const along = tf.sub(tf.cumsum(tf.tanh(flat)), tf.reverse(flat));
      return tf.neg(tf.mul(of(params, k), tf.reshape(along, [...shape])));
    },
    plain: ({x, params}) => x.map((_, i) => -params[k][0] * (sum(x.slice(0, i + 1).map(Math.tanh)) - x[n - 1 - i])),
  };
};

/** A rational law with clipping: a division, a clip, softplus. */
const rational: Maker = ({parameter}) => {
  const k = parameter('rational', 2, 0.6, 0.5);
  return {
    tensor: ({x, w, params}) =>
      tf.neg(
        tf.add(
          tf.div(tf.mul(tf.gather(of(params, k), 0), x), tf.add(1, tf.square(x))),
          tf.mul(tf.gather(of(params, k), 1), tf.mul(tf.clipByValue(w, -0.5, 0.5), tf.softplus(x))),
        ),
      ),
    plain: ({x, w, params}) =>
      x.map(
        (xi, i) =>
          -(params[k][0] * xi) / (1 + xi * xi) - params[k][1] * Math.min(Math.max(w[i], -0.5), 0.5) * softplus(xi),
      ),
  };
};

export const makers: {readonly [name: string]: Maker} = {
  spring,
  ring,
  drag,
  coulomb,
  drive,
  network,
  energy,
  slackRoot,
  entropy,
  guardedNorm,
  stop,
  cumulative,
  rational,
};
