/**
 * What is known of parameters before the measurement, as rows beside those of the data: a normal prior of mean m and
 * deviation σ on θ is one more measurement, (θ − m)/σ (Tarantola, Inverse Problem Theory, §3.2). The rows are in the
 * coordinates of the fit: of a positive parameter in its logarithm, where a lognormal prior is a normal one. The
 * estimate is then the most probable one with respect to dθ, of a positive parameter to dθ/θ.
 */
import {OptionError} from '../../lib/errors.js';
import {any, refuseUnknownOptions} from '../../lib/checks.js';
import type {ParameterKind, ParameterValue} from './parameter-value.js';
import {flatten} from './parameter-value.js';

/**
 * A prior as given: one number for all numbers of a parameter, or one each. Both refer to the parameter itself, in
 * its unit; for a positive one they are the mean and the standard deviation of the lognormal distribution, for a
 * bounded one those of the normal distribution before truncation.
 */
export interface PriorGiven {
  /** Default: the guess. */
  readonly mean?: ParameterValue;
  /** Standard deviation, greater than 0. */
  readonly sd: ParameterValue;
}

/** The prior of each number, [size] each: of θ, for a positive parameter of ln θ. */
export interface Prior {
  readonly mean: Float64Array;
  readonly sd: Float64Array;
}

/** @throws OptionError 'bad-prior' */
export function readPrior(
  kind: ParameterKind,
  given: PriorGiven,
  {guess, shape}: {readonly guess: Float64Array; readonly shape: readonly number[]},
): Prior {
  refuseUnknownOptions(given, {mean: any, sd: any}, `${kind}: prior`, 'bad-prior');
  const each = (name: 'mean' | 'sd', value: ParameterValue | undefined): Float64Array => {
    const {guess: numbers} = flatten(value as ParameterValue);
    const bad = numbers.find(
      number => !(Number.isFinite(number) && (number > 0 || (name === 'mean' && kind !== 'positive'))),
    );
    if (bad !== undefined)
      throw new OptionError(
        'bad-prior',
        `${kind}: the ${name} of the prior is ${bad}, but must be finite${name === 'sd' || kind === 'positive' ? ' and greater than 0' : ''}.`,
        {name, value: bad},
      );
    if (numbers.length === guess.length) return numbers;
    if (numbers.length === 1) return new Float64Array(guess.length).fill(numbers[0]);
    throw new OptionError(
      'bad-prior',
      `${kind}: the ${name} of the prior has ${numbers.length} numbers for a parameter of shape [${shape.join(', ')}]: give one, or ${guess.length}.`,
      {name},
    );
  };
  const mean = given.mean === undefined ? guess.slice() : each('mean', given.mean);
  const sd = each('sd', given.sd);
  if (kind !== 'positive') return {mean, sd};
  // Of a lognormal variable with mean m and deviation s: σ² = ln(1 + s²/m²), μ = ln m − σ²/2.
  const variance = sd.map((s, i) => Math.log1p((s / mean[i]) ** 2));
  return {mean: mean.map((m, i) => Math.log(m) - variance[i] / 2), sd: variance.map(Math.sqrt)};
}
