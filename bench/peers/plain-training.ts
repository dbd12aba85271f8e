/**
 * Training in tfjs's own operations, eager and on its tape: the neural ODE by the same Runge–Kutta method written out, and the
 * hybrid model by Newton's method, its Jacobian from VJPs, its four equations
 * solved in plain loops, and an adjoint step by hand. In single precision, as tfjs computes.
 * `node plain-training.js cpu` or `wasm`: tfjs's backend in JavaScript, or that of @tensorflow/tfjs-backend-wasm where it is
 * installed (in the folder STIFFGRAD_BENCH_MODULES, or here). tfjs's gradients are its own: nothing of this project is imported.
 */
import {createRequire} from 'node:module';
import {dirname, join} from 'node:path';
import * as tf from '@tensorflow/tfjs';
import * as hybridModel from '../hybrid.js';
import {batchSize, dt, sizes, spirals, startsOf, targets, times, weights} from '../spiral.js';
import type {Answer} from '../workloads.js';
import type {Prepared} from './protocol.js';
import {serve} from './protocol.js';
import {gradientNorm, Trainer} from './trainer.js';

/** Tsitouras' method: rows of a; the last is b. */
const tsit5: readonly (readonly number[])[] = [
  [0.161],
  [-0.008480655492356989, 0.335480655492357],
  [2.8971530571054935, -6.359448489975075, 4.3622954328695815],
  [5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525],
  [5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383],
  [0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774],
];

function variablesOf(values: {readonly [name: string]: number[] | number[][]}): Map<string, tf.Variable> {
  return new Map(Object.entries(values).map(([name, numbers]) => [name, tf.variable(tf.tensor(numbers))]));
}

function valueAndNorm(loss: () => tf.Scalar, variables: readonly tf.Variable[]): Answer {
  const {value, grads} = tf.variableGrads(() => tf.tidy(loss), [...variables]);
  return {
    loss: value.dataSync()[0],
    gradientNorm: gradientNorm(Object.values(grads).map(gradient => Float64Array.from(gradient.dataSync()))),
  };
}

// ---------------------------------------------------------------- the neural ODE

function spiral(): Prepared {
  const named = variablesOf(weights());
  const slope = (y: tf.Tensor): tf.Tensor => {
    let signal = y;
    for (let i = 0; i + 1 < sizes.length; i++) {
      signal = tf.add(
        tf.matMul(signal as tf.Tensor2D, named.get(`w${i}`) as tf.Variable as tf.Tensor2D),
        named.get(`b${i}`) as tf.Variable,
      );
      if (i + 2 < sizes.length) signal = tf.softplus(signal);
    }
    return signal;
  };
  const run = (start: tf.Tensor): tf.Tensor => {
    const path = [start];
    let [y, k] = [start, slope(start)];
    for (let n = 1; n < times; n++) {
      const slopes = [k];
      for (const row of tsit5) {
        const point = tf.add(y, tf.mul(dt, tf.addN(row.map((a, i) => tf.mul(a, slopes[i])))));
        slopes.push(slope(point));
        if (row.length === tsit5.length) [y, k] = [point, slopes[row.length]];
      }
      path.push(y);
    }
    return tf.stack(path);
  };
  const data = Array.from({length: spirals / batchSize}, (_, i) => targets(i)).map(values => ({
    start: tf.tensor2d(startsOf(values)),
    target: tf.tensor3d(Float32Array.from(values), [times, batchSize, 2]),
  }));
  const loss = (step: number): tf.Scalar =>
    tf.mean(tf.squaredDifference(run(data[step % data.length].start), data[step % data.length].target));
  return training([...named.values()], loss);
}

function training(variables: readonly tf.Variable[], loss: (step: number) => tf.Scalar): Prepared {
  const trainer = new Trainer(variables, loss);
  return {
    forward: () => tf.tidy(() => void loss(0).dataSync()),
    gradient: () => valueAndNorm(() => loss(0), variables),
    step: () => trainer.step(),
    details,
  };
}

// ---------------------------------------------------------------- the hybrid model

const {masses, steps, damping} = hybridModel;
const h = hybridModel.dt;
/** Newton's iterations a step: enough for single precision from the last velocity. */
const iterations = 3;

type Weights = readonly [k: tf.Tensor, w0: tf.Tensor, b0: tf.Tensor, w1: tf.Tensor, b1: tf.Tensor];

function force(q: tf.Tensor1D, v: tf.Tensor1D, [k, w0, b0, w1, b1]: Weights): tf.Tensor1D {
  const d = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, [0], [masses - 1])]));
  const tension = tf.mul(k, d) as tf.Tensor1D;
  const springs = tf.sub(tf.concat([tf.slice(tension, [1], [masses - 1]), tf.zeros([1])]), tension);
  const signal = tf.tanh(
    tf.add(tf.matMul(tf.reshape(tf.concat([q, v]), [1, 2 * masses]), w0 as tf.Tensor2D), b0),
  ) as tf.Tensor2D;
  const network = tf.reshape(tf.add(tf.matMul(signal, w1 as tf.Tensor2D), b1), [masses]);
  return tf.sub(tf.add(springs, network), tf.mul(v, damping));
}

function residual(z: tf.Tensor1D, q: tf.Tensor1D, v: tf.Tensor1D, p: Weights): tf.Tensor1D {
  const mean = tf.mul(tf.add(v, z), 0.5) as tf.Tensor1D;
  return tf.sub(tf.sub(z, v), tf.mul(force(tf.add(q, tf.mul(mean, h / 2)), mean, p), h));
}

/** Rows ∂R_i/∂z, one VJP each. */
function jacobian(z: tf.Tensor1D, q: tf.Tensor1D, v: tf.Tensor1D, p: Weights): tf.Tensor2D {
  const pull = tf.grad(x => residual(x as tf.Tensor1D, q, v, p));
  return tf.stack(
    Array.from({length: masses}, (_, i) => pull(z, tf.oneHot(tf.scalar(i, 'int32'), masses).toFloat())),
  ) as tf.Tensor2D;
}

/** Gauss's elimination on numbers read back: tf.linalg.qr takes a hundred times as long. */
function solve(matrix: tf.Tensor2D, b: tf.Tensor1D): tf.Tensor1D {
  const a = tf.concat([matrix, tf.reshape(b, [masses, 1])], 1).dataSync();
  const width = masses + 1;
  // I − h/2·∂f/∂v − … is near the identity: the diagonal's numbers are the largest.
  for (let column = 0; column < masses; column++) {
    for (let row = 0; row < masses; row++) {
      if (row === column) continue;
      const factor = a[row * width + column] / a[column * width + column];
      for (let j = column; j < width; j++) a[row * width + j] -= factor * a[column * width + j];
    }
  }
  return tf.tensor1d(Float32Array.from({length: masses}, (_, i) => a[i * width + masses] / a[i * width + i]));
}

/** The whole motion, the loss, and on request the gradient by the adjoint of each step. */
function hybridPass(p: Weights, target: tf.Tensor2D, withGradient: boolean): {loss: number; gradients: tf.Tensor[]} {
  let [q, v] = [tf.tensor1d(hybridModel.start.q), tf.tensor1d(hybridModel.start.v)];
  const path = [q];
  const record: [tf.Tensor1D, tf.Tensor1D, tf.Tensor1D][] = [];
  for (let n = 0; n < steps; n++) {
    let z = v;
    for (let i = 0; i < iterations; i++) z = tf.sub(z, solve(jacobian(z, q, v, p), residual(z, q, v, p)));
    record.push([q, v, z]);
    [q, v] = [tf.add(q, tf.mul(tf.add(v, z), h / 2)), z];
    path.push(q);
  }
  const error = tf.sub(tf.stack(path), target);
  const loss = tf.mean(tf.square(error)).dataSync()[0];
  if (!withGradient) return {loss, gradients: []};
  const cotangents = tf.unstack(tf.mul(error, 2 / error.size)) as tf.Tensor1D[];
  let [toQ, toV] = [cotangents[steps], tf.zeros([masses]) as tf.Tensor1D];
  let gradients = p.map(x => tf.zerosLike(x));
  for (let n = steps - 1; n >= 0; n--) {
    const [q0, v0, z] = record[n];
    const w = solve(tf.transpose(jacobian(z, q0, v0, p)), tf.add(toV, tf.mul(toQ, h / 2)));
    const [byQ, byV, ...byP] = tf.grads((a, b, ...rest) =>
      residual(z, a as tf.Tensor1D, b as tf.Tensor1D, rest as unknown as Weights),
    )([q0, v0, ...p], tf.neg(w));
    [toQ, toV] = [tf.addN([toQ, byQ, cotangents[n]]) as tf.Tensor1D, tf.add(tf.mul(toQ, h / 2), byV) as tf.Tensor1D];
    gradients = gradients.map((sum, i) => tf.add(sum, byP[i]));
  }
  return {loss, gradients};
}

function hybrid(): Prepared {
  const named = variablesOf(hybridModel.parameters());
  const variables = [...named.values()];
  const target = tf.tensor2d(Float32Array.from(hybridModel.target()), [steps + 1, masses]);
  const pass = (withGradient: boolean): {loss: number; gradients: tf.Tensor[]} =>
    hybridPass(variables as unknown as Weights, target, withGradient);
  const optimizer = tf.train.adam(3e-3);
  return {
    forward: () => tf.tidy(() => void pass(false)),
    gradient: () =>
      tf.tidy(() => {
        const {loss, gradients} = pass(true);
        return {loss, gradientNorm: gradientNorm(gradients.map(gradient => Float64Array.from(gradient.dataSync())))};
      }),
    step: () =>
      tf.tidy(() => {
        const {gradients} = pass(true);
        optimizer.applyGradients(variables.map(({name}, i) => ({name, tensor: gradients[i]})));
      }),
    details,
  };
}

// ---------------------------------------------------------------- the backend

const backend = process.argv[2];
const details = {backend, single: true};

/** A sentence where the backend is not there. */
async function missing(): Promise<string | undefined> {
  if (backend === 'wasm') {
    try {
      const place = createRequire(join(process.env.STIFFGRAD_BENCH_MODULES ?? process.cwd(), 'modules.js'));
      const {setWasmPaths} = place('@tensorflow/tfjs-backend-wasm') as {setWasmPaths(folder: string): void};
      setWasmPaths(`${dirname(place.resolve('@tensorflow/tfjs-backend-wasm'))}/`);
    } catch {
      return '@tensorflow/tfjs-backend-wasm is not installed';
    }
  }
  return (await tf.setBackend(backend)) ? undefined : `tfjs has no backend ${backend} here`;
}

const absence = await missing();
await serve(name => absence ?? (name === 'spiral' ? spiral() : name === 'hybrid' ? hybrid() : 'not written for this'));
