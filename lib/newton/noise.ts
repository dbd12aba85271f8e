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
const farther = 8;
const growth = 4;

/**
 * Numbers that move along the line, by about the spacing's share of themselves and at least by `least` of them from
 * point to point.
 */
export interface Moving {
  readonly values: Float64Array;
  readonly least?: Float64Array;
}

export class ResidualNoise {
  /** The noise in every row: the largest value measured since `forget`. */
  readonly rows: Float64Array;
  private measured = 0;
  private readonly squares: Float64Array;
  private readonly largest: Float64Array;
  private readonly middle: Float64Array;
  private readonly change: Float64Array;
  private readonly kept: Float64Array;
  private readonly last: Float64Array;
  private readonly first: Float64Array;
  private readonly second: Float64Array;

  constructor(n: number) {
    const vector = (): Float64Array => new Float64Array(n);
    [this.rows, this.squares, this.largest, this.middle, this.change, this.kept, this.last, this.first, this.second] =
      Array.from({length: 9}, vector);
  }

  /** Discards the measurements, as the residual has changed. */
  forget(): void {
    if (this.measured === 0) return;
    this.rows.fill(0);
    this.measured = 0;
  }

  /**
   * One more measurement, along a line of its own: so few points of a short sum can all be rounded the
   * same way, about once in twenty times, and a second line finds what the first did not.
   * @param spacing of the points, as a share of every number: so far that what is computed from it is
   *   rounded anew, so near that the residual is smooth. Each number takes its own share of it, up or
   *   down, so that no row sees a rigid motion.
   */
  measure(moving: readonly Moving[], residual: Float64Array, spacing: number, evaluate: () => void): void {
    const {rows, squares} = this;
    this.follow(moving, residual, spacing, 1, evaluate);
    for (let i = 0; i < rows.length; i++) rows[i] = Math.max(rows[i], Math.sqrt((gamma3 * squares[i]) / (points - 3)));
  }

  /**
   * The same where `least` is no longer so short that the residual is known to be smooth along it. What is taken for
   * noise there is as large over a longer line, and in more than one third difference: a jump before the first point is
   * in one alone.
   * @param most noise is no larger a share of what the residual changes by from point to point
   */
  measureApart(
    moving: readonly Moving[],
    residual: Float64Array,
    spacing: number,
    evaluate: () => void,
    most = Infinity,
  ): void {
    const {rows, squares, middle, change} = this;
    this.follow(moving, residual, farther * spacing, farther, evaluate);
    const far = squares.slice();
    this.follow(moving, residual, spacing, 1, evaluate);
    for (let i = 0; i < rows.length; i++) {
      const noise = Math.sqrt(gamma3) * middle[i];
      if (far[i] <= growth * growth * squares[i] && noise <= most * change[i]) rows[i] = Math.max(rows[i], noise);
    }
  }

  /**
   * Third differences along a line, `stretched` times as long as `least` asks: their squares' sum and the middle one of
   * each row, and the largest first difference.
   */
  private follow(
    moving: readonly Moving[],
    residual: Float64Array,
    spacing: number,
    stretched: number,
    evaluate: () => void,
  ): void {
    const {kept, last, first, second} = this;
    const n = residual.length;
    const starts = moving.map(({values}) => values.slice());
    kept.set(residual);
    last.set(residual);
    const squares = this.squares.fill(0);
    const largest = this.largest.fill(0);
    const middle = this.middle.fill(0);
    const change = this.change.fill(0);
    const stretch = 1 + ((this.measured++ * golden) % 1);
    for (let k = 1; k < points; k++) {
      moving.forEach(({values, least}, m) => {
        const start = starts[m];
        for (let i = 0; i < values.length; i++) {
          const step = stretch * Math.max(spacing * Math.abs(start[i]), least === undefined ? 0 : stretched * least[i]);
          values[i] = start[i] + k * step * share(i);
        }
      });
      evaluate();
      for (let i = 0; i < n; i++) {
        const d1 = residual[i] - last[i];
        change[i] = Math.max(change[i], Math.abs(d1));
        const d2 = d1 - first[i];
        const d3 = d2 - second[i];
        if (k >= 3) {
          squares[i] += d3 * d3;
          const size = Math.abs(d3);
          middle[i] = Math.max(middle[i], Math.min(size, largest[i]));
          largest[i] = Math.max(largest[i], size);
        }
        last[i] = residual[i];
        first[i] = d1;
        second[i] = d2;
      }
    }
    moving.forEach(({values}, m) => values.set(starts[m]));
    residual.set(kept);
  }
}

/** Multiples of the golden ratio fill an interval evenly. */
const golden = 0.6180339887498949;

/** Magnitudes between ½ and 1, with alternating signs. */
function share(i: number): number {
  const fraction = (i * golden) % 1;
  return (i % 2 === 0 ? 0.5 : -0.5) * (1 + fraction);
}
