/**
 * The two scales that judge Newton's iteration (equations.md §3): every unknown's tolerance, and for every row of the
 * residual what a correction of the tolerance would leave in it, under the step's first Jacobian. Beside them the
 * rounding in the residual, measured where it may be all that is left.
 */
import type {Vectors} from '../engine/vectors.js';
import {interpret} from '../routine/interpret.js';
import {RoutineBuilder} from '../routine/routine.js';
import type {ProbedValues} from './residual-noise.js';
import {ResidualNoise} from './residual-noise.js';
import type {Newton} from './options.js';
import type {NonlinearSystem} from './system.js';

/**
 * Residuals up to this many standard deviations of the measured noise are noise: the largest of a
 * thousand rows lies at 3.3, and the measurement itself is good to a factor of about 4 (Moré & Wild).
 */
export const noiseFactor = 14;

/** If rounding leaves fewer than three digits in z, convergence is accepted only after a further test. */
export const noiseTestThreshold = 1e-3;

/**
 * Arguments of exponentials, and constants that something is added to, are of size one: z moves by so much beside them,
 * thousands of roundings.
 */
const unitProbe = 1e-12;

/**
 * Rounding of numbers of size one is 1e-4 of what a move by `unitProbe` makes of them. Where z is smaller still because
 * its unit is large, that move leads far away, and third differences of the function are as large as its change: no
 * noise.
 */
const maxNoiseShare = 1 / 64;

/**
 * Corrections that z moves by for that look: a jump of the residual that the iteration goes to and fro across lies
 * before the first point.
 */
const probeSpacing = 8;

/**
 * Corrections below so many ε of what an unknown is computed from are not asked to shrink: a force adds up some tens
 * of terms. In the unit of that 1.4e-14, and held with the iteration's margin of a hundred.
 */
export const roundoffFactor = 64;

/**
 * A state that dies out (an implicit Euler step divides a stiff mode by its h²ω²) must not be solved for to the last of
 * the denormal doubles, which have no relative precision. Residuals of it, times a stiffness of 1e18, are normal
 * numbers still.
 */
const minTolerance = 1e-290;

/** Weights of corrections: at least the rounding error of each unknown. */
export const effectiveTolerance = (
  {absolute, relative}: Newton['tolerance'],
  epsilon: number,
): {readonly absolute: number; readonly relative: number} => ({
  absolute: Math.max(absolute, minTolerance),
  relative: Math.max(relative, 4 * epsilon),
});

/** Flags of the iteration's frame that the emitted routine reads and sets. */
export interface ToleranceFlags {
  readonly frame: Float64Array;
  /** Slot of the flag that the row scales are known. */
  readonly hasRowScales: number;
  /** Slot of the flag that roundoff is known, and part of the tolerances. */
  readonly hasRoundoffFloor: number;
}

export class Tolerances {
  readonly effective: {readonly absolute: number; readonly relative: number};
  private readonly data: readonly ProbedValues[];
  /** The tolerances where the caller gave an absolute one: no component is smaller. */
  private readonly explicitWeights: Float64Array | undefined;
  private noise: ResidualNoise | undefined;
  private typicalSizesRoutine: (() => number) | undefined;

  /**
   * @param arrays every component's tolerance, every row's scale, and the size of what every component is computed from
   * @param evaluate the residual, at z as it then lies there
   */
  constructor(
    private readonly system: NonlinearSystem,
    private readonly tolerance: Newton['tolerance'],
    private readonly vectors: Vectors,
    readonly arrays: {
      readonly weights: Float64Array;
      readonly rowScale: Float64Array;
      readonly typicalSizes: Float64Array;
    },
    private readonly flags: ToleranceFlags,
    private readonly evaluate: () => void,
  ) {
    this.effective = effectiveTolerance(tolerance, system.epsilon);
    this.data = system.data === undefined ? [] : [{values: system.data}];
    this.explicitWeights = tolerance.absolute > 0 ? arrays.weights : undefined;
  }

  private get hasRowScales(): boolean {
    return this.flags.frame[this.flags.hasRowScales] === 1;
  }

  private get hasRoundoffFloor(): boolean {
    return this.flags.frame[this.flags.hasRoundoffFloor] === 1;
  }

  /** Discards the measured noise, as the residual has changed. */
  forgetNoise(): void {
    this.noise?.forget();
  }

  /**
   * Computes every component's tolerance from its size on either side of a correction; returns the correction's size in
   * these units.
   */
  computeWeights(base: Float64Array, delta: Float64Array): number {
    const {
      vectors,
      arrays: {weights, typicalSizes},
      system: {z, epsilon},
      effective: {absolute, relative},
    } = this;
    const size = vectors.computeWeights(weights, z, base, delta, absolute, relative);
    if (!this.hasRoundoffFloor) return size;
    vectors.axpy(weights, weights, typicalSizes, -roundoffFactor * epsilon);
    return vectors.largestRatio(delta, weights);
  }

  /**
   * Computes what a correction of the size of the tolerance leaves in each row: from the matrix, or if that is not at
   * hand from the first correction, `size` tolerances long, of a residual of norm `first`.
   */
  scaleRows(size: number, first: number): void {
    const {
      system,
      arrays: {weights, rowScale},
    } = this;
    if (!system.scaleRows(weights, rowScale)) rowScale.fill(size > 0 ? first / size : 0);
  }

  /** Sets all row scales to 1 before the first Jacobian. */
  resetRowScales(): void {
    if (!this.hasRowScales) this.arrays.rowScale.fill(1);
  }

  /**
   * Whether the residual is no larger than its roundoff. If z has digits, z and the residual's other data move by √ε of
   * themselves, which rounds every number anew. If it has none (a state of rest, velocities between positions that a
   * tiny step rounds), or rounding makes plateaus of it, z moves farther, and noise is told from the shape of a
   * function; this is tried for corrections that are tiny beside the typical sizes of z, or beside one.
   * @param correction the next correction
   */
  atRoundoff(correction: Float64Array): boolean {
    const {
      system: {z, residual, epsilon},
      vectors,
      evaluate,
    } = this;
    const noise = (this.noise ??= new ResidualNoise(correction.length));
    const spacing = Math.sqrt(epsilon);
    // Typical sizes, as a component that passes through zero has no digits of its own.
    const sizes = this.typicalSizes();
    if (correction.every((x, i) => Math.abs(x) <= noiseTestThreshold * sizes[i])) {
      noise.measure([{values: z, minStep: this.explicitWeights}, ...this.data], residual, spacing, evaluate);
      if (this.isNoise(noise.rows)) return true;
    }
    if (vectors.largest(correction) <= unitProbe) {
      noise.measureAtTwoScales(
        [{values: z, minStep: correction.map(() => unitProbe)}, ...this.data],
        residual,
        spacing,
        evaluate,
        maxNoiseShare,
      );
      if (this.isNoise(noise.rows)) return true;
    }
    if (!this.isTiny(correction)) return false;
    noise.measureAtTwoScales(
      [
        {
          values: z,
          minStep: correction.map((x, i) => probeSpacing * Math.max(Math.abs(x), noiseTestThreshold * Math.abs(z[i]))),
        },
        ...this.data,
      ],
      residual,
      spacing,
      evaluate,
    );
    return this.isNoise(noise.rows);
  }

  /** Whether a correction is below √ε of the typical sizes, half of all digits. */
  private isTiny(correction: Float64Array): boolean {
    const {
      system,
      arrays: {typicalSizes},
    } = this;
    if (!this.hasRoundoffFloor) return false;
    const share = Math.sqrt(system.epsilon);
    return correction.every((x, i) => Math.abs(x) <= share * typicalSizes[i]);
  }

  private isNoise(rows: Float64Array): boolean {
    const {
      system: {residual},
    } = this;
    const scale = this.noiseScale();
    let floor = 0;
    let worst = 0;
    for (let i = 0; i < rows.length; i++) {
      floor = Math.max(floor, rows[i] / scale[i]);
      worst = Math.max(worst, Math.abs(residual[i]) / scale[i]);
    }
    return worst <= noiseFactor * floor;
  }

  /**
   * Row scales for the noise: what a tiny share of z makes in each row. Components of no size must not make one row's
   * noise count for more than another's.
   */
  private noiseScale(): Float64Array {
    const {
      system,
      effective: {relative},
    } = this;
    const sizes = this.typicalSizes();
    const scale = new Float64Array(system.z.length);
    if (
      !system.scaleRows(
        system.z.map((z, i) => relative * (Math.abs(z) + sizes[i])),
        scale,
      )
    )
      scale.fill(1);
    for (let i = 0; i < scale.length; i++) if (!(scale[i] > 0)) scale[i] = 1;
    return scale;
  }

  /** The typical size of every unknown at the present z, plus absolute/relative tolerance. */
  private typicalSizes(): Float64Array {
    const {
      system,
      tolerance: {absolute, relative},
      arrays: {typicalSizes},
    } = this;
    // What is part of the tolerances stays as it was.
    const saved = typicalSizes.slice();
    if (system.emitTypicalSizes === undefined) typicalSizes.fill(this.vectors.largest(system.z));
    else this.evaluateTypicalSizes();
    const sizes = typicalSizes.map(extent => extent + absolute / relative);
    typicalSizes.set(saved);
    return sizes;
  }

  private evaluateTypicalSizes(): void {
    if (this.typicalSizesRoutine === undefined) {
      const b = new RoutineBuilder();
      this.system.emitTypicalSizes?.(b, this.arrays.typicalSizes, () => this.system);
      this.typicalSizesRoutine = interpret(b.routine);
    }
    this.typicalSizesRoutine();
  }

  /** The largest |z| plus absolute/relative tolerance. */
  sizeOfUnknown(): number {
    const {absolute, relative} = this.tolerance;
    return this.vectors.largest(this.system.z) + absolute / relative;
  }

  /** Rows with the largest scaled residual, worst first; those that are not finite before all others. */
  worstRows(count: number): {row: number; residual: number; scaled: number}[] {
    const {residual} = this.system;
    const scaleOf = (row: number): number => (this.hasRowScales ? this.arrays.rowScale[row] || 1 : 1);
    const size = (scaled: number): number => (Number.isNaN(scaled) ? Infinity : scaled);
    return Array.from(residual, (value, row) => ({row, residual: value, scaled: size(Math.abs(value) / scaleOf(row))}))
      .sort((a, b) => (a.scaled === b.scaled ? a.row - b.row : b.scaled - a.scaled))
      .slice(0, count);
  }
}
