/**
 * Which contacts of a state are on a border of their laws: gap and force both zero, or a slip of zero with all the
 * friction that there is. A motion has several derivatives there, and warnings (warnings.ts) say so.
 */
import type {StepExecutable} from '../step/buffers.js';
import type {RunContext} from './run-context.js';

/**
 * Gap and multiplier count as zero together below this, both as lengths and in units of the largest
 * coordinate, or of 1: the tolerance of Newton's method, below which the two sides are not told apart.
 */
const together = 1e-12;

export class ContactBorders {
  private size = 1;

  private constructor(
    private readonly run: () => void,
    private readonly distances: Float64Array,
    private readonly state: Float64Array,
    private readonly time: Float64Array | undefined,
    private readonly coordinates: number,
  ) {}

  /** Undefined where there is nothing to look at. */
  static of(
    {traced, coordinates}: RunContext,
    executable: () => StepExecutable<'touching'>,
  ): ContactBorders | undefined {
    if (traced.functions.touching === undefined) return undefined;
    const forward = executable();
    const run = forward.program('touching');
    return new ContactBorders(
      run,
      forward.buffer('touching'),
      forward.buffer('x'),
      forward.optionalBuffer('t'),
      coordinates,
    );
  }

  get rows(): number {
    return this.distances.length;
  }

  /** At the state that lies in the programs' x, at time t. */
  look(t: number): void {
    const {time, state, coordinates} = this;
    if (time !== undefined) time[0] = t;
    this.run();
    this.size = 1;
    for (let i = 0; i < coordinates; i++) this.size = Math.max(this.size, Math.abs(state[i]));
  }

  isOn(row: number): boolean {
    return this.distances[row] <= together * this.size;
  }
}
