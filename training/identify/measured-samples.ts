/**
 * A series of residuals without what was not measured. Its samples are those at which anything was, so that a sample
 * of weight 0 is as one left out; and a lag of an output is one of its own samples, where outputs were measured at
 * different times. (Treating the rest as equally spaced is consistent for the covariance of the sum over the samples
 * that there are: the products of all lags add up to it, however they are counted. Datta & Du, Nonparametric HAC
 * estimation for time series data with missing observations, Federal Reserve IFDP 1060, 2012.)
 */

/** A time series of residuals: `samples` rows of `outputs` residuals each, from row `start` on. */
export interface ResidualSeries {
  readonly start: number;
  readonly samples: number;
  readonly outputs: number;
  /** [samples, outputs]; of weight 0 is what was not measured. Default: everything was. */
  readonly weights?: Float64Array;
}

/** Outputs that were measured at the same samples. */
export interface OutputGroup {
  /** Which of the series' measured samples, ascending. */
  readonly at: readonly number[];
  /** The first row of each of these samples, measured or not. */
  readonly firstRow: readonly number[];
  /** The rows of a sample that were measured, from its first row on. */
  readonly outputs: readonly number[];
  /** Median number of measured samples from one of the group to the next; 1 where there is one group. */
  readonly spacing: number;
  /** Mean spacing in half octaves: outputs of one rate are taken to have one memory. */
  readonly rate: number;
}

export interface MeasuredSamples {
  /** Samples at which anything was measured. */
  readonly samples: number;
  readonly groups: readonly OutputGroup[];
}

export function measuredSamples({start, samples, outputs, weights}: ResidualSeries): MeasuredSamples {
  const positions = new Int32Array(samples).fill(-1);
  let measured = 0;
  const present = (sample: number, output: number): boolean =>
    weights === undefined || weights[sample * outputs + output] !== 0;
  const patterns: {readonly at: number[]; readonly outputs: number[]}[] = [];
  const all = Array.from({length: samples}, (_, sample) => sample);
  for (let output = 0; output < outputs; output++) {
    const at = all.filter(sample => present(sample, output));
    if (at.length === 0) continue;
    const alike = patterns.find(one => one.at.length === at.length && one.at.every((sample, k) => sample === at[k]));
    if (alike === undefined) patterns.push({at, outputs: [output]});
    else alike.outputs.push(output);
  }
  for (const {at} of patterns) for (const sample of at) positions[sample] = 0;
  for (const sample of all) if (positions[sample] === 0) positions[sample] = measured++;
  const groups = patterns.map(({at: own, outputs: together}): OutputGroup => {
    const at = own.map(sample => positions[sample]);
    return {
      at,
      firstRow: own.map(sample => start + sample * outputs),
      outputs: together,
      spacing: medianStep(at),
      rate: rateOf(at),
    };
  });
  return {samples: measured, groups};
}

/** Median difference of ascending whole numbers; 1 where there are no two. */
function medianStep(at: readonly number[]): number {
  const steps = Int32Array.from(at.slice(1), (value, k) => value - at[k]).sort();
  return steps.length === 0 ? 1 : steps[Math.floor(steps.length / 2)];
}

function rateOf(at: readonly number[]): number {
  return at.length < 2 ? 0 : Math.round(2 * Math.log2((at[at.length - 1] - at[0]) / (at.length - 1)));
}
