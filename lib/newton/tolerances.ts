/**
 * The two scales that judge Newton's iteration (equations.md §3): every unknown's tolerance, and for every row of the
 * residual what a correction of the tolerance would leave in it, under the step's first Jacobian. Beside them the
 * rounding in the residual, measured where it may be all that is left.
 */
import type {Vectors} from '../engine/vectors.js';
import type {Moving} from './noise.js';
import {ResidualNoise} from './noise.js';
import type {Newton} from './options.js';
import type {NonlinearSystem} from './system.js';

/**
 * Residuals up to this many standard deviations of the measured noise are noise: the largest of a
 * thousand rows lies at 3.3, and the measurement itself is good to a factor of about 4 (Moré & Wild).
 */
const noiseFactor = 14;

/** Where rounding leaves fewer than three digits in z, it is not called convergence. */
const coarsest = 1e-3;

export class Tolerances {
  /** The row scales are known. */
  scaled = false;
  private readonly relative: number;
  private readonly moving: readonly Moving[];
  private measuredNoise: ResidualNoise | undefined;

  /**
   * @param weights every component's tolerance
   * @param rowScale of every row
   * @param evaluate the residual, at z as it then lies there
   */
  constructor(
    private readonly system: NonlinearSystem, private readonly tolerance: Newton['tolerance'], private readonly vectors: Vectors,
    private readonly weights: Float64Array, private readonly rowScale: Float64Array, private readonly evaluate: () => void,
  ) {
    this.relative = Math.max(tolerance.relative, 4 * system.epsilon);
    this.moving = [{values: system.z, least: weights}, ...(system.data === undefined ? [] : [{values: system.data}])];
  }

  /** For another residual. */
  restart(): void {
    this.scaled = false;
    this.measuredNoise?.forget();
  }

  /** Every component's tolerance, from its size on either side of a correction; returns that correction in tolerances. */
  weigh(base: Float64Array, delta: Float64Array): number {
    return this.vectors.weigh(this.weights, this.system.z, base, delta, this.tolerance.absolute, this.relative);
  }

  /** A correction in the tolerances last weighed. */
  sizeOf(delta: Float64Array): number {
    return this.vectors.largestRatio(delta, this.weights);
  }

  /** What a correction of the tolerance leaves in each row: by the matrix, or by what the first correction, `size` tolerances long, took away of a residual of norm `first`. */
  scaleRows(size: number, first: number): void {
    const {weights, rowScale, system} = this;
    if (this.scaled) return;
    this.scaled = true;
    if (!system.scaleRows(weights, rowScale)) rowScale.fill(size > 0 ? first / size : 0);
  }

  /** Before the first Jacobian every row counts by itself. */
  withoutScale(): void {
    if (!this.scaled) this.rowScale.fill(1);
  }

  scaledResidual(): number {
    return this.vectors.largestRatio(this.system.residual, this.rowScale);
  }

  /**
   * The residual is no larger than the rounding in it, as far as the tolerances just weighed see it.
   * @param left the correction that it still asks for
   */
  atRoundoff(left: Float64Array): boolean {
    const {system, rowScale} = this;
    const noise = (this.measuredNoise ??= new ResidualNoise(rowScale.length));
    // Of the whole: a component that passes through zero has no digits of its own, nor has a state of rest.
    if (!(this.vectors.largest(left) <= coarsest * this.extent())) return false;
    // √ε of every number: rounded anew wherever it enters, and the residual still smooth.
    noise.measure(this.moving, system.residual, Math.sqrt(system.epsilon), this.evaluate);
    let floor = 0;
    let worst = 0;
    for (let i = 0; i < rowScale.length; i++) {
      const scale = rowScale[i] > 0 ? rowScale[i] : 1;
      floor = Math.max(floor, noise.rows[i] / scale);
      worst = Math.max(worst, Math.abs(system.residual[i]) / scale);
    }
    return worst <= noiseFactor * floor;
  }

  /** The size of z, or of what counts as one. */
  extent(): number {
    const {absolute, relative} = this.tolerance;
    return this.vectors.largest(this.system.z) + absolute / relative;
  }

  /** Rows with the largest scaled residual, worst first; those that are not finite before all others. */
  worstRows(count: number): {row: number; residual: number; scaled: number}[] {
    const {residual} = this.system;
    const scaleOf = (row: number): number => (this.scaled ? this.rowScale[row] || 1 : 1);
    const size = (scaled: number): number => (Number.isNaN(scaled) ? Infinity : scaled);
    return Array.from(residual, (value, row) => ({row, residual: value, scaled: size(Math.abs(value) / scaleOf(row))}))
      .sort((a, b) => (a.scaled === b.scaled ? a.row - b.row : b.scaled - a.scaled))
      .slice(0, count);
  }
}
