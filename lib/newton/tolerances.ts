/**
 * The two scales that judge Newton's iteration (equations.md §3): every unknown's tolerance, and for every row of the
 * residual what a correction of the tolerance would leave in it, under the step's first Jacobian. Beside them the
 * rounding in the residual, measured where it may be all that is left.
 */
import type {Vectors} from '../engine/vectors.js';
import {interpret} from '../routine/interpret.js';
import {RoutineBuilder} from '../routine/routine.js';
import type {Moving} from './noise.js';
import {ResidualNoise} from './noise.js';
import type {Newton} from './options.js';
import type {NonlinearSystem} from './system.js';

/**
 * Residuals up to this many standard deviations of the measured noise are noise: the largest of a
 * thousand rows lies at 3.3, and the measurement itself is good to a factor of about 4 (Moré & Wild).
 */
const noiseFactor = 14;

/** If rounding leaves fewer than three digits in z, convergence is accepted only after a further test. */
const coarsest = 1e-3;

/**
 * Arguments of exponentials, and constants that something is added to, are of size one: z moves by so much beside them,
 * thousands of roundings.
 */
const beside = 1e-12;

/**
 * Rounding of numbers of size one is 1e-4 of what a move by `beside` makes of them. Where z is smaller still because
 * its unit is large, that move leads far away, and third differences of the function are as large as its change: no
 * noise.
 */
const shareOfNoise = 1 / 64;

/**
 * Corrections that z moves by for that look: a jump of the residual that the iteration goes to and fro across lies
 * before the first point.
 */
const apart = 8;

/**
 * Corrections below so many ε of what an unknown is computed from are not asked to shrink: a force adds up some tens
 * of terms. In the unit of that 1.4e-14, and held with the iteration's margin of a hundred.
 */
export const roundings = 64;

/**
 * A state that dies out (an implicit Euler step divides a stiff mode by its h²ω²) must not be solved for to the last of
 * the denormal doubles, which have no relative precision. Residuals of it, times a stiffness of 1e18, are normal
 * numbers still.
 */
const leastTolerance = 1e-290;

/** Weights of corrections: at least the rounding error of each unknown. */
export const unitOf = (
  {absolute, relative}: Newton['tolerance'],
  epsilon: number,
): {readonly absolute: number; readonly relative: number} => ({
  absolute: Math.max(absolute, leastTolerance),
  relative: Math.max(relative, 4 * epsilon),
});

/** Flags that the text of the iteration reads and sets, in the array it shares. */
export interface ToleranceFlags {
  readonly frame: Float64Array;
  /** Place of whether the row scales are known. */
  readonly scaled: number;
  /** Place of whether every component's rounding error is known, and part of its tolerance. */
  readonly floored: number;
}

export class Tolerances {
  readonly unit: {readonly absolute: number; readonly relative: number};
  private readonly data: readonly Moving[];
  /** The tolerances where the caller gave an absolute one: no component is smaller. */
  private readonly explicit: Float64Array | undefined;
  private measuredNoise: ResidualNoise | undefined;
  private extentsRoutine: (() => number) | undefined;

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
      readonly extents: Float64Array;
    },
    private readonly flags: ToleranceFlags,
    private readonly evaluate: () => void,
  ) {
    this.unit = unitOf(tolerance, system.epsilon);
    this.data = system.data === undefined ? [] : [{values: system.data}];
    this.explicit = tolerance.absolute > 0 ? arrays.weights : undefined;
  }

  private get scaled(): boolean {
    return this.flags.frame[this.flags.scaled] === 1;
  }

  private get floored(): boolean {
    return this.flags.frame[this.flags.floored] === 1;
  }

  /** For another residual. */
  forgetNoise(): void {
    this.measuredNoise?.forget();
  }

  /**
   * Every component's tolerance, from its size on either side of a correction; returns that correction in tolerances.
   */
  weigh(base: Float64Array, delta: Float64Array): number {
    const {
      vectors,
      arrays: {weights, extents},
      system: {z, epsilon},
      unit: {absolute, relative},
    } = this;
    const size = vectors.weigh(weights, z, base, delta, absolute, relative);
    if (!this.floored) return size;
    vectors.advance(weights, weights, extents, -roundings * epsilon);
    return vectors.largestRatio(delta, weights);
  }

  /**
   * What a correction of the tolerance leaves in each row: by the matrix, or by what the first correction, `size`
   * tolerances long, took away of a residual of norm `first`.
   */
  scaleRows(size: number, first: number): void {
    const {
      system,
      arrays: {weights, rowScale},
    } = this;
    if (!system.scaleRows(weights, rowScale)) rowScale.fill(size > 0 ? first / size : 0);
  }

  /** Before the first Jacobian, every row is its own scale. */
  withoutScale(): void {
    if (!this.scaled) this.arrays.rowScale.fill(1);
  }

  /**
   * The residual is no larger than the rounding in it. Where z has its digits, z and what the residual is computed from
   * beside it move by √ε of themselves, which rounds every number anew. Where it has none (a state of rest, velocities
   * between positions that a tiny step rounds), or rounding makes plateaus of it, z moves farther, and noise is told
   * from the shape of a function. That is tried for corrections that are tiny beside what z is computed from, or beside
   * one.
   * @param left the correction that it still asks for
   */
  atRoundoff(left: Float64Array): boolean {
    const {
      system: {z, residual, epsilon},
      vectors,
      evaluate,
    } = this;
    const noise = (this.measuredNoise ??= new ResidualNoise(left.length));
    const spacing = Math.sqrt(epsilon);
    // Of what an unknown is computed from: a component that passes through zero has no digits of its own.
    const extents = this.extents();
    if (left.every((x, i) => Math.abs(x) <= coarsest * extents[i])) {
      noise.measure([{values: z, least: this.explicit}, ...this.data], residual, spacing, evaluate);
      if (this.isNoise(noise.rows)) return true;
    }
    if (vectors.largest(left) <= beside) {
      noise.measureApart(
        [{values: z, least: left.map(() => beside)}, ...this.data],
        residual,
        spacing,
        evaluate,
        shareOfNoise,
      );
      if (this.isNoise(noise.rows)) return true;
    }
    if (!this.isTiny(left)) return false;
    noise.measureApart(
      [{values: z, least: left.map((x, i) => apart * Math.max(Math.abs(x), coarsest * Math.abs(z[i])))}, ...this.data],
      residual,
      spacing,
      evaluate,
    );
    return this.isNoise(noise.rows);
  }

  /** √ε of what each unknown is computed from: half of all digits. */
  private isTiny(left: Float64Array): boolean {
    const {
      system,
      arrays: {extents},
    } = this;
    if (!this.floored) return false;
    const share = Math.sqrt(system.epsilon);
    return left.every((x, i) => Math.abs(x) <= share * extents[i]);
  }

  private isNoise(rows: Float64Array): boolean {
    const {
      system: {residual},
    } = this;
    const scale = this.judged();
    let floor = 0;
    let worst = 0;
    for (let i = 0; i < rows.length; i++) {
      floor = Math.max(floor, rows[i] / scale[i]);
      worst = Math.max(worst, Math.abs(residual[i]) / scale[i]);
    }
    return worst <= noiseFactor * floor;
  }

  /**
   * What a tiny share of all of z makes in each row; components of no size are not to make a row's noise count for more
   * than another's.
   */
  private judged(): Float64Array {
    const {
      system,
      unit: {relative},
    } = this;
    const extents = this.extents();
    const scale = new Float64Array(system.z.length);
    if (
      !system.scaleRows(
        system.z.map((z, i) => relative * (Math.abs(z) + extents[i])),
        scale,
      )
    )
      scale.fill(1);
    for (let i = 0; i < scale.length; i++) if (!(scale[i] > 0)) scale[i] = 1;
    return scale;
  }

  /** The size of what every unknown is computed from at the present z, with what counts as one where that was said. */
  private extents(): Float64Array {
    const {
      system,
      tolerance: {absolute, relative},
      arrays: {extents},
    } = this;
    // What is part of the tolerances stays as it was.
    const kept = extents.slice();
    if (system.writeExtents === undefined) extents.fill(this.vectors.largest(system.z));
    else this.evaluateExtents();
    const found = extents.map(extent => extent + absolute / relative);
    extents.set(kept);
    return found;
  }

  private evaluateExtents(): void {
    if (this.extentsRoutine === undefined) {
      const b = new RoutineBuilder();
      this.system.writeExtents?.(b, this.arrays.extents, () => this.system);
      this.extentsRoutine = interpret(b.routine);
    }
    this.extentsRoutine();
  }

  /** The size of z, or of what counts as one where that was said. */
  extent(): number {
    const {absolute, relative} = this.tolerance;
    return this.vectors.largest(this.system.z) + absolute / relative;
  }

  /** Rows with the largest scaled residual, worst first; those that are not finite before all others. */
  worstRows(count: number): {row: number; residual: number; scaled: number}[] {
    const {residual} = this.system;
    const scaleOf = (row: number): number => (this.scaled ? this.arrays.rowScale[row] || 1 : 1);
    const size = (scaled: number): number => (Number.isNaN(scaled) ? Infinity : scaled);
    return Array.from(residual, (value, row) => ({row, residual: value, scaled: size(Math.abs(value) / scaleOf(row))}))
      .sort((a, b) => (a.scaled === b.scaled ? a.row - b.row : b.scaled - a.scaled))
      .slice(0, count);
  }
}
