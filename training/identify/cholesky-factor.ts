/** L of A = L Lᵀ for a small symmetric positive definite matrix in double precision (Golub & Van Loan, algorithm 4.2.1). */
import {OptionError} from '../../lib/errors.js';

/** @param a [n, n] row-major; its lower triangle is read. @throws OptionError 'not-positive-definite' */
export function choleskyFactor(a: Float64Array, n: number): Float64Array {
  const l = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = a[i * n + j];
      for (let k = 0; k < j; k++) sum -= l[i * n + k] * l[j * n + k];
      if (i !== j) l[i * n + j] = sum / l[j * n + j];
      else if (sum > 0) l[i * n + i] = Math.sqrt(sum);
      else
        throw new OptionError(
          'not-positive-definite',
          `The covariance is not positive definite: pivot ${i} is ${sum}.`,
          {
            pivot: i,
          },
        );
    }
  }
  return l;
}
