/**
 * Derivatives of tfjs functions against central differences, in double precision: while `inDouble` runs,
 * `Float32Array` is `Float64Array`, so every tensor and kernel of the cpu backend holds doubles (tfjs
 * looks the global up at each call). The differences then have errors far below the tolerances used.
 */
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-cpu';
import {expect} from 'chai';

export type Scalar = (...xs: tf.Tensor[]) => tf.Tensor;

export function inDouble<T>(run: () => T): T {
  const single = globalThis.Float32Array;
  const backend: string | undefined = tf.getBackend();
  tf.setBackend('cpu');
  globalThis.Float32Array = Float64Array as unknown as typeof Float32Array;
  try {
    return tf.tidy(run as () => tf.TensorContainer) as T;
  } finally {
    globalThis.Float32Array = single;
    if (backend !== undefined && backend !== 'cpu') {
      tf.setBackend(backend);
    }
  }
}

/**
 * A reproducible stream of numbers in (0, 1): Lehmer's generator with Park and Miller's multiplier. The first
 * few are dropped: those of neighbouring small seeds lie close together.
 */
export function stream(seed: number): () => number {
  let state = (Math.abs(Math.trunc(seed)) % 2147483646) + 1;
  const next = (): number => (state = (state * 48271) % 2147483647) / 2147483647;
  for (let i = 0; i < 4; i++) {
    next();
  }
  return next;
}

export interface Point {
  values: Float64Array;
  shape: number[];
}

export function point(shape: number[], value: (at: number) => number): Point {
  const size = shape.reduce((product, n) => product * n, 1);
  return {shape, values: Float64Array.from({length: size}, (_, at) => value(at))};
}

const tensors = (xs: Point[]): tf.Tensor[] =>
  xs.map(({values, shape}) => tf.tensor(Array.from(values), shape, 'float32'));

/**
 * Σ wᵢ (yᵢ + ½yᵢ²), y = f(x), with fixed irregular weights: its gradient tests every entry of the Jacobian at
 * once, and its second derivative needs y on the tape, also where f is linear.
 */
export function weighted(f: (...xs: tf.Tensor[]) => tf.Tensor | tf.Tensor[]): Scalar {
  return (...xs) => {
    const ys = f(...xs);
    const sums = (Array.isArray(ys) ? ys : [ys]).map((y, k) => {
      const weights = Array.from({length: y.size}, (_, at) => Math.cos(1 + 2.3 * at + k));
      return tf.sum(tf.mul(tf.add(y, tf.mul(tf.square(y), 0.5)), tf.tensor(weights, y.shape, 'float32')));
    });
    return sums.reduce((sum, term) => tf.add(sum, term));
  };
}

const number = (y: tf.Tensor): number => y.dataSync()[0];

/**
 * Central differences of f in every entry of every x, Richardson-extrapolated once: the error is of order
 * h⁴ from truncation and 2⁻⁵²/h from rounding, balanced near h = 2⁻¹⁰, where both are about 1e−12.
 */
export function differences(f: (xs: Point[]) => number, xs: Point[], h = 2 ** -10): Float64Array[] {
  const slope = (x: Point, at: number, step: number): number => {
    const centre = x.values[at];
    x.values[at] = centre + step;
    const above = f(xs);
    x.values[at] = centre - step;
    const below = f(xs);
    x.values[at] = centre;
    return (above - below) / (2 * step);
  };
  return xs.map(x => x.values.map((_, at) => (4 * slope(x, at, h / 2) - slope(x, at, h)) / 3));
}

function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number, what: string): void {
  expect(actual.length, `${what}: size`).to.equal(expected.length);
  for (let i = 0; i < expected.length; i++) {
    const scale = 1 + Math.abs(expected[i]);
    if (!(Math.abs(actual[i] - expected[i]) <= tolerance * scale)) {
      expect.fail(`${what}: entry ${i} is ${actual[i]}, central differences give ${expected[i]}`);
    }
  }
}

/**
 * Checks tfjs's gradient of Σ w·f, and the gradient of that gradient, against differences. The tolerance
 * 1e−8 leaves four digits for the fourth derivatives in the truncation error of `differences`.
 */
export function checkDerivatives(
  name: string,
  f: (...xs: tf.Tensor[]) => tf.Tensor | tf.Tensor[],
  xs: Point[],
  {tolerance = 1e-8, second = true}: {tolerance?: number; second?: boolean} = {},
): void {
  inDouble(() => {
    const value = weighted(f);
    const gradient = (points: Point[]): Float64Array[] =>
      tf.tidy(() => {
        const gradients = tf.grads(value)(tensors(points));
        // stored values are doubles here, whatever the dtype says
        return gradients.map(g => Float64Array.from(g.dataSync())) as unknown as tf.TensorContainer;
      }) as unknown as Float64Array[];
    const exact = gradient(xs);
    const numerical = differences(
      points => tf.tidy(() => number(value(...tensors(points))) as unknown as tf.TensorContainer) as unknown as number,
      xs,
    );
    xs.forEach((_, i) => expectClose(exact[i], numerical[i], tolerance, `gradient of ${name} by input ${i}`));
    if (!second) {
      return;
    }
    // x ↦ u·∇f(x) with an irregular u: its gradient is the Hessian times u
    const slope: Scalar = (...inputs) =>
      tf
        .grads(value)(inputs)
        .map((g, i) =>
          tf.sum(
            tf.mul(
              g,
              tf.tensor(
                Array.from({length: g.size}, (__, at) => Math.sin(2 + 1.7 * at + i)),
                g.shape,
                'float32',
              ),
            ),
          ),
        )
        .reduce((sum, term) => tf.add(sum, term));
    const slopeValue = (points: Point[]): number =>
      gradient(points).reduce(
        (sum, g, i) => g.reduce((partial, entry, at) => partial + entry * Math.sin(2 + 1.7 * at + i), sum),
        0,
      );
    const exactSecond = tf.grads(slope)(tensors(xs));
    const numericalSecond = differences(slopeValue, xs);
    xs.forEach((_, i) =>
      expectClose(
        exactSecond[i].dataSync(),
        numericalSecond[i],
        tolerance,
        `second derivative of ${name} by input ${i}`,
      ),
    );
  });
}
