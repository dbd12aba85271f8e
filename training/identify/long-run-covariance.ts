/**
 * The covariance of a sum of vectors that are correlated in time, Σ_{|l|<L} (1 − |l|/L) Σ_k u_k u_{k+l}ᵀ
 * (Bartlett's weights: Newey & West, Econometrica 1987). Written as the mean of w wᵀ over all windows of L
 * samples, w their sum, which is the same number in one pass, whatever L; and kept as the triangle of their QR
 * factorization, so that it is positive semidefinite under rounding too. Before it, what a first-order autoregression
 * explains is taken out, and put back as 1/(1 − φ)² (Andrews & Monahan, Econometrica 1992): of 200 samples with φ = 0.7
 * intervals of 95 % hold the truth in 93 % of records, without it in 79 %.
 *
 * Outputs that were measured at different samples have each their own lags, so that correlation is neither diluted nor
 * missed between samples that are not neighbours: what an autoregression explains is taken out from one of their own
 * samples to the next. What is left of all outputs stands at its sample, and the windows go over samples: products of
 * different outputs are those of the same time, and the covariance remains positive semidefinite.
 */
import {RowQr} from './row-qr.js';

/** Vectors of a series in time, those of outputs that were measured at the same samples together. */
export interface VectorSeries {
  readonly samples: number;
  readonly groups: readonly VectorGroup[];
}

export interface VectorGroup {
  /** Which of the samples. */
  readonly at: readonly number[];
  /** [at.length, p] row-major. */
  readonly vectors: Float64Array;
  /** Samples from one of them to the next. */
  readonly spacing: number;
  /** Groups of the same are taken to have one memory. */
  readonly rate: number;
}

export interface LongRunCovariance {
  /** [q, q] row-major upper triangular, RᵀR the covariance of the sum of all vectors. */
  readonly root: Float64Array;
  /** Samples that count as one: L, or the time (1 + φ)/(1 − φ) of the autoregression. */
  readonly bandwidth: number;
  /** L. */
  readonly window: number;
  /** By rate: relative variance of 1/(1 − φ)², as φ is an estimate: (2/(1 − φ))² of φ's, (1 − φ²)/n. */
  readonly spread: ReadonlyMap<number, number>;
}

/**
 * Vectors of different series are taken to be independent. `map` [q, p] row-major: what is wanted is the covariance of
 * its product with the sum, and the bandwidth that of the vectors themselves.
 * @param regressors numbers that the fit has determined from these data
 * @param bandwidth samples
 */
export function longRunCovariance(
  series: readonly VectorSeries[],
  p: number,
  map: Float64Array,
  regressors: number,
  bandwidth?: number,
): LongRunCovariance {
  const q = p === 0 ? 0 : map.length / p;
  const factor = new RowQr(q);
  const groups = series.flatMap(one => one.groups);
  const memories = new Map(
    [...new Set(groups.map(({rate}) => rate))].map(rate => [
      rate,
      memoryOf(rate, series, p, regressors, bandwidth === undefined),
    ]),
  );
  const of = ({rate}: VectorGroup): Memory => memories.get(rate)!;
  const longest = Math.max(1, ...series.map(({samples}) => samples));
  const reach = Math.min(Math.max(1, ...groups.map(group => reachOf(group, of(group).bandwidth))), longest / 4);
  const window = Math.max(1, Math.round(bandwidth ?? reach));
  for (const {samples, groups: own} of series) {
    const sum = new Float64Array(samples * p);
    for (const group of own) {
      const {phi, left} = of(group);
      left.get(group)?.forEach((value, k) => (sum[group.at[Math.floor(k / p)] * p + (k % p)] += value / (1 - phi)));
    }
    addWindows(factor, sum, p, map, window);
  }
  return {
    root: factor.r.map(value => value / Math.sqrt(window)),
    bandwidth: Math.max(
      window,
      ...groups.map(group => Math.round((group.spacing * (1 + of(group).phi)) / (1 - of(group).phi))),
    ),
    window,
    spread: new Map(Array.from(memories, ([rate, {spread}]) => [rate, spread])),
  };
}

/** The autoregression of vectors of one rate, in their own samples. */
interface Memory {
  readonly phi: number;
  readonly spread: number;
  /** Each group's vectors without the part that the autoregression explains. */
  readonly left: ReadonlyMap<VectorGroup, Float64Array>;
  /** L of it. */
  readonly bandwidth: number;
}

function memoryOf(
  rate: number,
  series: readonly VectorSeries[],
  p: number,
  regressors: number,
  remembers: boolean,
): Memory {
  const own = series.map(({groups}) => groups.filter(group => group.rate === rate));
  const vectors = own.flatMap(groups => groups.map(group => group.vectors));
  // Times, however many outputs were measured at them: their errors may be the same.
  const samples = own.reduce((sum, groups) => sum + Math.max(0, ...groups.map(({at}) => at.length)), 0);
  const phi = remembers ? autocorrelation(vectors, p, regressors, samples) : 0;
  const left = new Map(own.flat().map(group => [group, whitened(group.vectors, p, phi)]));
  return {
    phi,
    spread: remembers && samples > 0 ? (4 * (1 + phi)) / (1 - phi) / samples : 0,
    left,
    bandwidth: andrewsBandwidth([...left.values()], p),
  };
}

/**
 * L in samples of the series. What is left at a sample is of the time since the last one, so that outputs measured more
 * often in between are related to it over the whole spacing: Bartlett's weights of twice that keep three quarters of it
 * on the average.
 */
const reachOf = ({spacing}: VectorGroup, bandwidth: number): number =>
  spacing > 1 ? spacing * Math.max(bandwidth, 2) : bandwidth;

/** A memory nearer to 1 cannot be told from a drift in records of any length (Andrews & Monahan take 0.97). */
export const LARGEST_MEMORY = 0.97;

/**
 * φ of u_k = φ u_{k−1} + w_k, one for all components, each in its own scale. The residuals of a fit are less correlated
 * than the noise: each of the smooth regressors takes (1 + φ)/n away as a mean does, beside the 2φ/n of any estimate
 * (Marriott & Pope, Biometrika 1954).
 */
function autocorrelation(series: readonly Float64Array[], p: number, regressors: number, samples: number): number {
  const squares = new Float64Array(p);
  const products = new Float64Array(p);
  for (const vectors of series) {
    for (let k = 0; k < vectors.length; k++) {
      squares[k % p] += vectors[k] ** 2;
      if (k >= p) products[k % p] += vectors[k] * vectors[k - p];
    }
  }
  const shares = [...products].flatMap((product, j) => (squares[j] > 0 ? [product / squares[j]] : []));
  if (shares.length === 0) return 0;
  const phi = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const unbiased = phi + (regressors * (1 + phi) + 2 * phi) / samples;
  return Math.min(Math.max(unbiased, -LARGEST_MEMORY), LARGEST_MEMORY);
}

/** w of u: the first as large as the others. */
function whitened(vectors: Float64Array, p: number, phi: number): Float64Array {
  return vectors.map((value, k) => (k < p ? value * Math.sqrt(1 - phi * phi) : value - phi * vectors[k - p]));
}

/** Every window that touches the series, those at its ends too: outside, the vectors count as zero. */
function addWindows(factor: RowQr, vectors: Float64Array, p: number, map: Float64Array, window: number): void {
  const samples = p === 0 ? 0 : vectors.length / p;
  const q = factor.p;
  const sum = new Float64Array(p);
  const rows = new Float64Array((samples + window - 1) * q);
  for (let last = 0; last < samples + window - 1; last++) {
    for (let j = 0; j < p; j++) {
      if (last < samples) sum[j] += vectors[last * p + j];
      if (last >= window) sum[j] -= vectors[(last - window) * p + j];
    }
    for (let i = 0; i < q; i++) for (let j = 0; j < p; j++) rows[last * q + i] += map[i * p + j] * sum[j];
  }
  factor.append(rows, new Float64Array(samples + window - 1));
}

/**
 * L of least mean square error when each component is a first-order autoregression: 1.1447 (α n)^⅓ with
 * α = 4ρ² / (1 − ρ²)², ρ the correlation of neighbours (Andrews, Econometrica 1991, table I and (6.4)). The
 * component with the longest memory decides. At most a quarter of the longest series, so that several windows remain.
 */
function andrewsBandwidth(series: readonly Float64Array[], p: number): number {
  const longest = Math.max(1, ...series.map(vectors => vectors.length / p));
  let alpha = 0;
  for (let j = 0; j < p; j++) {
    const squared = neighbourCorrelation(series, p, j) ** 2;
    alpha = Math.max(alpha, (4 * squared) / (1 - squared) ** 2);
  }
  return Math.min(1.1447 * Math.cbrt(alpha * longest), longest / 4);
}

function neighbourCorrelation(series: readonly Float64Array[], p: number, component: number): number {
  let product = 0;
  let square = 0;
  for (const vectors of series) {
    for (let k = component; k < vectors.length; k += p) {
      square += vectors[k] ** 2;
      if (k >= p) product += vectors[k] * vectors[k - p];
    }
  }
  return square === 0 ? 0 : product / square;
}
