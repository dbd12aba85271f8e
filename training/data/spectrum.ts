/** The power of an evenly sampled series by frequency: Welch's method (IEEE Transactions AU-15, 1967). */

/** Power by frequency. */
export interface Spectrum {
  /** Between two frequencies, in 1/(unit of the interval). */
  readonly spacing: number;
  /** At spacing, 2·spacing, …: squares of amplitudes, up to a factor that depends only on `segment`. */
  readonly power: Float64Array;
}

/**
 * The mean of the periodograms of segments that overlap by half, each weighted by Hann's window, about the mean of the
 * series.
 * @param values [samples], at least one segment
 * @param segment samples, a power of two
 */
export function spectrumOf(values: Float64Array, interval: number, segment: number): Spectrum {
  const mean = values.reduce((sum, value) => sum + value / values.length, 0);
  const window = Float64Array.from({length: segment}, (_, i) => Math.sin((Math.PI * i) / segment) ** 2);
  const turn = (of: (angle: number) => number): Float64Array =>
    Float64Array.from({length: segment / 2}, (_, k) => of((-2 * Math.PI * k) / segment));
  const turns = [turn(Math.cos), turn(Math.sin)] as const;
  const power = new Float64Array(segment / 2);
  const count = Math.floor((2 * (values.length - segment)) / segment) + 1;
  for (let k = 0; k < count; k++) {
    const re = window.map((weight, i) => weight * (values[(k * segment) / 2 + i] - mean));
    const im = new Float64Array(segment);
    transform(re, im, turns);
    for (let f = 1; f <= segment / 2; f++) power[f - 1] += (re[f] ** 2 + im[f] ** 2) / count;
  }
  return {spacing: 1 / (segment * interval), power};
}

/**
 * Fourier's transform in place, by the algorithm of Cooley and Tukey (1965).
 * @param turns cos and sin of −2πk/n for k below n/2; n, the length, is a power of two
 */
function transform(re: Float64Array, im: Float64Array, turns: readonly [cos: Float64Array, sin: Float64Array]): void {
  const n = re.length;
  // Bits of the indices reversed: j counts up from the highest bit.
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) [re[i], re[j], im[i], im[j]] = [re[j], re[i], im[j], im[i]];
  }
  const [cos, sin] = turns;
  for (let half = 1; half < n; half *= 2)
    for (let from = 0; from < n; from += 2 * half)
      for (let k = 0; k < half; k++) {
        const [even, odd] = [from + k, from + k + half];
        const turn = (k * n) / (2 * half);
        const x = cos[turn] * re[odd] - sin[turn] * im[odd];
        const y = cos[turn] * im[odd] + sin[turn] * re[odd];
        re[odd] = re[even] - x;
        im[odd] = im[even] - y;
        re[even] += x;
        im[even] += y;
      }
}
