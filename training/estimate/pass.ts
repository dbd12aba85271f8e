/**
 * The forward pass of a Kalman filter between discrete measurements of a continuous system, in square-root arrays, and
 * what the backward pass of Rauch, Tung & Striebel (1965) needs of it. Continuous noise of density Q enters each step
 * of length h half before and half after it (Strang 1968): P⁺ = Φ(P + Qh/2)Φᵀ + Qh/2, of second order as the default
 * scheme.
 */
import {isFailedSimulation, prefixed} from '../identify/failed-simulation.js';
import type {Image} from './linearization.js';
import type {CheckedProblem} from './problem.js';
import type {RowMatrix} from './roots.js';
import {beside, block, rowsOf, solveTransposed, solveUpper, triangular} from './roots.js';
import {requireRoot} from './covariance.js';

/** A mean with a root of its covariance, R of RᵀR. */
export interface Gaussian {
  readonly mean: Float64Array;
  readonly root: Float64Array;
}

/** The estimate at one sample. */
export interface FilteredSample {
  readonly t: number;
  /** Before its measurements, and after them. */
  readonly predicted: Gaussian;
  readonly filtered: Gaussian;
  /** Which outputs were measured. */
  readonly present: readonly number[];
  /** Measured less predicted, one for each that is present. */
  readonly innovation: Float64Array;
  /** Upper triangular U, UᵀU its covariance. */
  readonly innovationRoot: Float64Array;
  /** U⁻ᵀ times the innovation: independent of unit variance where the model is right. */
  readonly standardized: Float64Array;
}

/** One way from a state x to the next x⁺, for the way back: x given x⁺ is x̂ + G(x⁺ − m⁺), and what is left of P. */
export interface BackwardStep {
  readonly from: Gaussian;
  readonly nextMean: Float64Array;
  /** Gᵀ, [states of x⁺, states of x]. */
  readonly gain: Float64Array;
  /** Root of the covariance of x where x⁺ is known. */
  readonly left: Float64Array;
  /** Whether x⁺ is that of a sample before its measurements: the estimate at the sample stands in its place. */
  readonly sample?: number;
}

export interface Pass {
  readonly samples: readonly FilteredSample[];
  /** In order of time; empty where nobody goes back. */
  readonly back: readonly BackwardStep[];
  /** Σ ln N(innovation; 0, UᵀU). */
  readonly logLikelihood: number;
}

/** @throws NewtonError and its like, with the time of the estimate from which the simulation failed */
export function forwardPass(problem: CheckedProblem, withBackward: boolean): Pass {
  const {record, begin, mean, root} = problem;
  const samples: FilteredSample[] = [];
  const back: BackwardStep[] = [];
  let state: Gaussian = {mean, root};
  let t = begin;
  for (let k = 0; k < record.t.length; k++) {
    if (record.t[k] > t) state = predict(problem, state, t, record.t[k], withBackward ? back : undefined);
    t = record.t[k];
    samples.push(at(t, () => update(problem, state, k)));
    state = samples[k].filtered;
    const last = back[back.length - 1] as BackwardStep | undefined;
    if (last !== undefined && last.sample === undefined) back[back.length - 1] = {...last, sample: k};
  }
  return {samples, back, logLikelihood: samples.reduce((sum, sample) => sum + logDensity(sample), 0)};
}

/** −½ (‖U⁻ᵀe‖² + ln det UᵀU + m ln 2π). */
function logDensity({standardized, innovationRoot}: FilteredSample): number {
  const m = standardized.length;
  let sum = m * Math.log(2 * Math.PI);
  for (let i = 0; i < m; i++) sum += standardized[i] ** 2 + 2 * Math.log(Math.abs(innovationRoot[i * m + i]));
  return -sum / 2;
}

function predict(
  {motion, noise, transform}: CheckedProblem,
  start: Gaussian,
  from: number,
  to: number,
  back: BackwardStep[] | undefined,
): Gaussian {
  const n = motion.size;
  const steps = motion.steps(from, to);
  const still = {mean: start.mean, remainder: new Float64Array(0)};
  let state = start;
  const take = (image: Image, added: RowMatrix): void => {
    state = advanced(state, image, added, back);
  };
  if (noise.kind === 'covariance') {
    const flow = motion.transition(from, to - from, steps);
    take(
      at(from, () => transform.image(flow, state.mean, rowsOf(state.root, n))),
      rowsOf(noise.root, n),
    );
    return state;
  }
  const length = (to - from) / steps;
  const share = (part: number): RowMatrix =>
    rowsOf(
      noise.root.map(value => value * Math.sqrt(part * length)),
      n,
    );
  const [half, whole] = [share(1 / 2), share(1)];
  take({...still, mean: state.mean, pushed: state.root}, half);
  for (let i = 0; i < steps; i++) {
    const t = from + i * length;
    const flow = motion.transition(t, length, 1);
    // What ends one step and begins the next is added at once.
    take(
      at(t, () => transform.image(flow, state.mean, rowsOf(state.root, n))),
      i === steps - 1 ? half : whole,
    );
  }
  return state;
}

/** x⁺ = its image + noise; the rows of [x⁺ | x] are made triangular where the way back is wanted. */
function advanced(
  {mean, root}: Gaussian,
  {mean: nextMean, pushed, remainder}: Image,
  added: RowMatrix,
  back: BackwardStep[] | undefined,
): Gaussian {
  const n = mean.length;
  const [carried, left] = [rowsOf(pushed, n), rowsOf(remainder, n)];
  if (back === undefined) return {mean: nextMean, root: triangular([carried, left, added])};
  const joint = triangular([beside(carried, rowsOf(root, n)), beside(left, n), beside(added, n)]);
  const next = block(joint, 2 * n, [0, n], [0, n]);
  back.push({
    from: {mean, root},
    nextMean,
    gain: solveUpper(next, block(joint, 2 * n, [0, n], [n, n]), n),
    left: block(joint, 2 * n, [n, n], [n, n]),
  });
  return {mean: nextMean, root: next};
}

/** The rows of [measurements | x], made triangular: [[U, K], [0, R⁺]], with the gain KᵀU⁻ᵀ. */
function update(
  {motion, record, measurement, transform}: CheckedProblem,
  predicted: Gaussian,
  k: number,
): FilteredSample {
  const t = record.t[k];
  const {present, measured} = measurementsOf(record, k);
  const m = present.length;
  const n = motion.size;
  if (m === 0) {
    const none = new Float64Array(0);
    return {t, predicted, filtered: predicted, present, innovation: none, innovationRoot: none, standardized: none};
  }
  const outputs = Math.sqrt(measurement.length);
  const {mean, pushed, remainder} = transform.image(
    motion.observation(t, record.channels),
    predicted.mean,
    rowsOf(predicted.root, n),
  );
  const among = (values: Float64Array): RowMatrix => rowsOf(columns(values, outputs, present), m);
  const noise = requireRoot(
    Float64Array.from({length: m * m}, (_, i) => measurement[present[Math.floor(i / m)] * outputs + present[i % m]]),
    m,
    'measurementNoise',
  );
  const joint = triangular([
    beside(among(pushed), rowsOf(predicted.root, n)),
    beside(among(remainder), n),
    beside(rowsOf(noise, m), n),
  ]);
  const size = m + n;
  const innovationRoot = block(joint, size, [0, m], [0, m]);
  const gain = block(joint, size, [0, m], [m, n]);
  const innovation = measured.map((value, i) => value - mean[present[i]]);
  const standardized = solveTransposed(innovationRoot, innovation, m);
  const filtered = {
    mean: predicted.mean.map((value, i) => standardized.reduce((sum, w, j) => sum + gain[j * n + i] * w, value)),
    root: block(joint, size, [m, n], [m, n]),
  };
  return {t, predicted, filtered, present, innovation, innovationRoot, standardized};
}

function measurementsOf({channels}: CheckedProblem['record'], k: number): {present: number[]; measured: Float64Array} {
  const present: number[] = [];
  const measured: number[] = [];
  let offset = 0;
  for (const {outputs, measured: values, weights} of channels) {
    for (let i = 0; i < outputs; i++) {
      if (weights[k * outputs + i] === 0) continue;
      present.push(offset + i);
      measured.push(values[k * outputs + i]);
    }
    offset += outputs;
  }
  return {present, measured: Float64Array.from(measured)};
}

/** Some columns of rows, [count, chosen.length]. */
function columns(rows: Float64Array, width: number, chosen: readonly number[]): Float64Array {
  const count = rows.length / width;
  return Float64Array.from(
    {length: count * chosen.length},
    (_, i) => rows[Math.floor(i / chosen.length) * width + chosen[i % chosen.length]],
  );
}

function at<R>(t: number, run: () => R): R {
  try {
    return run();
  } catch (error) {
    if (isFailedSimulation(error)) throw prefixed(error, `From the filter's estimate at t = ${t}`);
    throw error;
  }
}
