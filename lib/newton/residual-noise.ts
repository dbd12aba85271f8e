/**
 * The rounding in a residual, measured: Moré & Wild, "Estimating computational noise", SIAM J. Sci.
 * Comput. 33 (2011). Along a line of points so close together that the residual is smooth to rounding,
 * its third differences hold nothing but noise; scaled by γ₃ they are the noise's standard deviation.
 * Whatever the cause (cancelling forces, constants, float32), it is in there, and no model of the
 * arithmetic is needed.
 */

/**
 * Points along the line, including the present one: they give three third differences, enough for the order of
 * magnitude.
 */
const points = 6;

/** γ₃ = (3!)²/6!: the expected square of a third difference of independent noise is σ²/γ₃. */
const gamma3 = 1 / 20;

/**
 * Noise is as large over a line so many times as long, but for the factor of about 4 that the measurement is good to;
 * third differences of a function grow by at least 8 there where it has a kink, by 512 where it is smooth.
 */
const longLineFactor = 8;
const maxNoiseGrowth = 4;

/**
 * Numbers that move along the line: from point to point by the spacing times themselves, and at least by `minStep`.
 */
export interface ProbedValues {
  readonly values: Float64Array;
  readonly minStep?: Float64Array;
}

export class ResidualNoise {
  /** The noise in every row: the largest measured since `forget` was called. */
  readonly rows: Float64Array;
  private lineCount = 0;
  private readonly squares: Float64Array;
  private readonly largestThird: Float64Array;
  private readonly middleThird: Float64Array;
  private readonly largestChange: Float64Array;
  private readonly savedResidual: Float64Array;
  private readonly previousResidual: Float64Array;
  private readonly firstDifferences: Float64Array;
  private readonly secondDifferences: Float64Array;

  constructor(n: number) {
    const vector = (): Float64Array => new Float64Array(n);
    [
      this.rows,
      this.squares,
      this.largestThird,
      this.middleThird,
      this.largestChange,
      this.savedResidual,
      this.previousResidual,
      this.firstDifferences,
      this.secondDifferences,
    ] = Array.from({length: 9}, vector);
  }

  /** Discards the measurements, as the residual has changed. */
  forget(): void {
    if (this.lineCount === 0) return;
    this.rows.fill(0);
    this.lineCount = 0;
  }

  /**
   * One more measurement, along a line of its own: so few points of a short sum can all be rounded the
   * same way, about once in twenty times, and a second line finds what the first did not.
   * @param spacing of the points, as a share of every number: so far that what is computed from it is
   *   rounded anew, so near that the residual is smooth. Each number takes its own share of it, up or
   *   down, so that no row sees a rigid motion.
   */
  measure(probed: readonly ProbedValues[], residual: Float64Array, spacing: number, evaluate: () => void): void {
    const {rows, squares} = this;
    this.takeDifferences(probed, residual, spacing, 1, evaluate);
    for (let i = 0; i < rows.length; i++) rows[i] = Math.max(rows[i], Math.sqrt((gamma3 * squares[i]) / (points - 3)));
  }

  /**
   * Measures along a line so long that the residual may not be smooth on it. Noise must be as large over a longer line,
   * and in more than one third difference: a jump before the first point is in one alone.
   * @param maxShare the largest share that noise may have of the residual's change from point to point
   */
  measureAtTwoScales(
    probed: readonly ProbedValues[],
    residual: Float64Array,
    spacing: number,
    evaluate: () => void,
    maxShare = Infinity,
  ): void {
    const {rows, squares, middleThird, largestChange} = this;
    this.takeDifferences(probed, residual, longLineFactor * spacing, longLineFactor, evaluate);
    const far = squares.slice();
    this.takeDifferences(probed, residual, spacing, 1, evaluate);
    for (let i = 0; i < rows.length; i++) {
      const noise = Math.sqrt(gamma3) * middleThird[i];
      if (far[i] <= maxNoiseGrowth * maxNoiseGrowth * squares[i] && noise <= maxShare * largestChange[i])
        rows[i] = Math.max(rows[i], noise);
    }
  }

  /**
   * Takes third differences along a line with steps of at least `stepFactor · minStep`: the sum of their squares and
   * the middle one of each row, and the largest first difference.
   */
  private takeDifferences(
    probed: readonly ProbedValues[],
    residual: Float64Array,
    spacing: number,
    stepFactor: number,
    evaluate: () => void,
  ): void {
    const {savedResidual, previousResidual, firstDifferences, secondDifferences} = this;
    const n = residual.length;
    const starts = probed.map(({values}) => values.slice());
    savedResidual.set(residual);
    previousResidual.set(residual);
    const squares = this.squares.fill(0);
    const largest = this.largestThird.fill(0);
    const middle = this.middleThird.fill(0);
    const change = this.largestChange.fill(0);
    const stretch = 1 + ((this.lineCount++ * golden) % 1);
    for (let k = 1; k < points; k++) {
      probed.forEach(({values, minStep}, m) => {
        const start = starts[m];
        for (let i = 0; i < values.length; i++) {
          const step =
            stretch * Math.max(spacing * Math.abs(start[i]), minStep === undefined ? 0 : stepFactor * minStep[i]);
          values[i] = start[i] + k * step * lineDirection(i);
        }
      });
      evaluate();
      for (let i = 0; i < n; i++) {
        const d1 = residual[i] - previousResidual[i];
        change[i] = Math.max(change[i], Math.abs(d1));
        const d2 = d1 - firstDifferences[i];
        const d3 = d2 - secondDifferences[i];
        if (k >= 3) {
          squares[i] += d3 * d3;
          const size = Math.abs(d3);
          middle[i] = Math.max(middle[i], Math.min(size, largest[i]));
          largest[i] = Math.max(largest[i], size);
        }
        previousResidual[i] = residual[i];
        firstDifferences[i] = d1;
        secondDifferences[i] = d2;
      }
    }
    probed.forEach(({values}, m) => values.set(starts[m]));
    residual.set(savedResidual);
  }
}

/** Multiples of the golden ratio fill an interval evenly. */
const golden = 0.6180339887498949;

/** Magnitudes between ½ and 1, with alternating signs. */
function lineDirection(i: number): number {
  const fraction = (i * golden) % 1;
  return (i % 2 === 0 ? 0.5 : -0.5) * (1 + fraction);
}
