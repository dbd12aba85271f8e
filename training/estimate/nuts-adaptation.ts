/**
 * The warm-up: it finds the step length by dual averaging (Nesterov 2009; Hoffman & Gelman 2014, §3.2), and the
 * metric from the draws of windows that double (Stan Reference Manual, "Automatic parameter tuning"), with its
 * shrinkage.
 */
import type {Random} from '../train/random.js';
import type {LogDensity, DensityPoint} from './nuts.js';
import {firstStep, transition, type Transition} from './nuts.js';
import {denseMetric, diagonalMetric, type Metric} from './nuts-metric.js';

/** Hoffman & Gelman's constants, which Stan has too. */
const GAMMA = 0.05;
const T0 = 10;
const KAPPA = 0.75;

class StepLength {
  private count = 0;
  private error = 0;
  private average = 0;
  private log: number;

  constructor(
    private readonly first: number,
    private readonly target: number,
  ) {
    this.log = Math.log(first);
  }

  get now(): number {
    return Math.exp(this.log);
  }

  get averaged(): number {
    return Math.exp(this.average);
  }

  update(acceptance: number): void {
    const m = ++this.count;
    this.error += (this.target - acceptance - this.error) / (m + T0);
    this.log = Math.log(10 * this.first) - (Math.sqrt(m) / GAMMA) * this.error;
    const share = m ** -KAPPA;
    this.average = share * this.log + (1 - share) * this.average;
  }
}

/** The result of a warm-up. */
export interface Tuned {
  readonly place: DensityPoint;
  readonly step: number;
  readonly metric: Metric;
  readonly evaluations: number;
}

export interface Tuning {
  readonly warmUp: number;
  readonly metric: 'diagonal' | 'dense';
  readonly targetAcceptance: number;
  readonly maxDepth: number;
}

/** @param told after each draw */
export async function tune(
  density: LogDensity,
  from: DensityPoint,
  {warmUp, metric: kind, targetAcceptance, maxDepth}: Tuning,
  random: Random,
  told: (draw: number) => Promise<void>,
): Promise<Tuned> {
  const n = from.x.length;
  let metric = diagonalMetric(new Float64Array(n).fill(1));
  let step = new StepLength(firstStep(density, from, metric, random), targetAcceptance);
  let place = from;
  let evaluations = 0;
  let draws: Float64Array[] = [];
  const {first, ends} = windows(warmUp);
  for (let i = 0; i < warmUp; i++) {
    const made: Transition = transition(density, place, {metric, step: step.now, random, maxDepth});
    ({place} = made);
    evaluations += made.evaluations;
    step.update(made.acceptance);
    await told(i);
    if (i >= first && i < ends[ends.length - 1]) draws.push(place.x);
    if (!ends.includes(i + 1)) continue;
    metric = metricOf(draws, n, kind);
    draws = [];
    step = new StepLength(firstStep(density, place, metric, random), targetAcceptance);
  }
  return {place, step: warmUp === 0 ? step.now : step.averaged, metric, evaluations};
}

/** Stan's windows: 75 draws for the step, 25, 50, 100, …, 50 for the step again; in proportion below 150. */
function windows(warmUp: number): {readonly first: number; readonly ends: readonly number[]} {
  if (warmUp < 20) return {first: warmUp, ends: []};
  const short = warmUp < 150;
  const first = short ? Math.floor(0.15 * warmUp) : 75;
  const last = warmUp - (short ? Math.floor(0.1 * warmUp) : 50);
  const ends: number[] = [];
  let [end, size] = [first, short ? last - first : 25];
  while (end < last) {
    end += size;
    size *= 2;
    if (end + size > last) end = last;
    ends.push(end);
  }
  return {first, ends};
}

/** The draws' covariance, drawn towards a small multiple of the unit matrix as if by five draws (Stan's). */
function metricOf(draws: readonly Float64Array[], n: number, kind: 'diagonal' | 'dense'): Metric {
  const count = draws.length;
  const mean = Float64Array.from({length: n}, (_, i) => draws.reduce((sum, x) => sum + x[i], 0) / count);
  const covariance = (i: number, j: number): number => {
    const own = draws.reduce((sum, x) => sum + (x[i] - mean[i]) * (x[j] - mean[j]), 0) / Math.max(count - 1, 1);
    return (count / (count + 5)) * own + (i === j ? (1e-3 * 5) / (count + 5) : 0);
  };
  if (kind === 'diagonal') return diagonalMetric(Float64Array.from({length: n}, (_, i) => covariance(i, i)));
  return denseMetric(
    Float64Array.from({length: n * n}, (_, k) => covariance(Math.floor(k / n), k % n)),
    n,
  );
}
