/**
 * The Jacobian of a recorded step, factored again for its tangent or cotangent, and solves with it that are as accurate
 * as the run's.
 */
import type {TransposedSolve} from '../engine/engine.js';
import {routinesOf} from '../engine/routines.js';
import type {RoutineFactor} from '../engine/wasm/routine.js';
import type {Factor} from '../linear/index.js';
import {LOSING, lostDigits, Rows, wholeOf, type LostDigits} from '../linear/index.js';
import {linearFailure} from '../newton/failure.js';
import {failedStep} from '../step/failed-step.js';
import {solverKey} from '../step/solvers.js';
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters} from '../step/context.js';
import {SteadyFactor} from '../step/steady-factor.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';

/** Evaluates b − Jx for the x that was solved for, into an array of its own. */
export type Left = () => Float64Array;

/**
 * Solves are in the executable's buffers. Where the Jacobian keeps too few digits (linear/lost-digits.ts) they are refined as
 * Newton's iteration refines the step, by what the step's own functions say is left; then b is overwritten.
 */
export interface JacobianFactor {
  /** Evaluates J where the executable's buffers say, or its variant at a guess, and factors it. */
  refresh(program?: 'startJacobian'): Factor;
  /** J x = b with the Jacobian last refreshed, for `count` right-hand sides. */
  solve(b: Float64Array, x: Float64Array, count: number, left: Left): void;
  /** Jᵀx = b with the Jacobian where the buffers say, that of step k of a record, which is solved with once. */
  solveTransposed(b: Float64Array, x: Float64Array, record: StepRecord, k: number): void;
  /**
   * What the last x of `solveTransposed` lacks below its last digit; undefined where digits are not lost. A stiffness
   * multiplies the rounding of x: k = 1e12 makes 1e-4 of that of a number near 1.
   */
  readonly rest: Float64Array | undefined;
  /** The same for `count` right-hand sides, with the Jacobian last refreshed. */
  solveManyTransposed(b: Float64Array, x: Float64Array, count: number, record: StepRecord, k: number): void;
  /** The factor as parts of a routine, which solves as `solveTransposed` does; undefined where there is none. */
  readonly routineFactor: RoutineFactor | undefined;
  /** Steps that a routine may take before a measurement; they are counted off by `pass`. And the longest step of them. */
  readonly untilMeasured: number;
  pass(steps: number): void;
  readonly longest: number;
  /** For another sweep: what was measured along the last one is not to be relied on. */
  restart(): void;
}

/**
 * Whether digits are lost is measured once in so many steps, and where pivots become small or rows change: a measurement
 * takes about as long as a step of the sweep.
 */
const measured = 256;

/** And before a step that is so many times as long as the one it was measured at: what is stiff grows with h². */
const longer = 2;

/** A correction gains the digits that the factor has; with none it does not shrink, and nothing is to be gained. */
const mostCorrections = 4;

/** undefined for an explicit scheme. */
export function jacobianFactor(
  context: StepContext,
  executable: StepExecutable<'jacobian'>,
): JacobianFactor | undefined {
  return context.compiled.implicit ? new SweepFactor(context, executable) : undefined;
}

class SweepFactor implements JacobianFactor {
  private readonly steady: boolean;
  private readonly refactor: (values: Float64Array) => Factor;
  private readonly solveOnce: TransposedSolve | undefined;
  readonly routineFactor: RoutineFactor | undefined;
  private readonly values: Float64Array;
  private readonly evaluate: () => void;
  private readonly kept: SteadyFactor | undefined;
  private readonly h: Float64Array;
  private readonly size: number;
  private lost: LostDigits | undefined;
  private rows: Rows | undefined;
  /** Steps until the next measurement, and the longest step that it may wait for. */
  private ahead = 0;
  longest = 0;
  private due = false;
  private losing = false;
  private products: StepExecutable<'transposedProduct'> | undefined;
  private last: Factor | undefined;
  rest: Float64Array | undefined;

  constructor(
    private readonly context: StepContext,
    private readonly executable: StepExecutable<'jacobian' | 'startJacobian'>,
  ) {
    const {compiled, linear} = context;
    const solver = compiled.matrices.sweepSolver(linear);
    const analysis = compiled.matrices.analysis(solver, solverKey(solver), 'jacobian');
    this.steady = compiled.matrices.isSteady('jacobian');
    this.refactor = executable.factorization(analysis, this.steady);
    this.solveOnce = this.steady ? undefined : executable.transposedSolve?.(analysis);
    this.values = executable.buffer('J');
    this.evaluate = executable.program('jacobian');
    this.routineFactor = this.steady ? undefined : routinesOf(executable)?.factor(analysis);
    const h = executable.find('h');
    this.h = h ?? new Float64Array(1);
    this.kept = this.steady ? new SteadyFactor(h) : undefined;
    this.size = analysis.n;
  }

  private factored(program?: 'startJacobian'): Factor {
    const {kept, values} = this;
    const present = program === undefined ? kept?.present : undefined;
    if (present !== undefined) return present;
    kept?.forget();
    if (program === undefined) this.evaluate();
    else this.executable.run(program);
    const factor = this.attempted(values);
    if (program === undefined) kept?.keep(factor);
    return factor;
  }

  /** @throws the error of a failed step where the matrix has no factor */
  private attempted(values: Float64Array): Factor {
    try {
      return this.refactor(values);
    } catch (error) {
      const {
        context: {traced: scheme},
        executable,
        h: [h],
      } = this;
      const rowName = (row: number): string => scheme.unknown.rowName(row);
      throw failedStep({
        ...linearFailure(error),
        scheme,
        t: executable.find('t')?.[0],
        h,
        history: [],
        worst: [],
        rowName,
      });
    }
  }

  refresh(program?: 'startJacobian'): Factor {
    if (program === undefined && this.isDue()) this.due = true;
    this.last = this.factored(program);
    if (program === undefined && !this.steady && this.rows?.haveChanged(this.values) === true) this.due = true;
    return this.last;
  }

  solve(b: Float64Array, x: Float64Array, count: number, left: Left): void {
    const factor = this.last ?? this.refresh();
    this.measureIfDue(factor, b, x, false);
    factor.solve(b, x, count);
    if (this.losing) this.refine(b, x, count, left, (from, to) => factor.solve(from, to, count));
  }

  solveTransposed(b: Float64Array, x: Float64Array, record: StepRecord, k: number): void {
    const {h, solveOnce} = this;
    // Most steps; nothing else here may cost them anything.
    if (solveOnce !== undefined && this.ahead > 1 && !this.losing && Math.abs(h[0]) <= this.longest) {
      this.ahead--;
      this.evaluate();
      if (solveOnce(this.values, b, x) || this.rows?.haveChanged(this.values) !== true) return;
    }
    this.refresh();
    this.solveManyTransposed(b, x, 1, record, k);
  }

  solveManyTransposed(b: Float64Array, x: Float64Array, count: number, record: StepRecord, k: number): void {
    const factor = this.last ?? this.refresh();
    this.measureIfDue(factor, b, x, true);
    this.transposed(factor, b, x, count, record, k);
  }

  private transposed(
    factor: Factor,
    b: Float64Array,
    x: Float64Array,
    count: number,
    record: StepRecord,
    k: number,
  ): void {
    this.rest = undefined;
    if (!this.losing) {
      factor.solveTransposed(b, x, count);
      return;
    }
    const right = b.slice(0, count * this.size);
    factor.solveTransposed(b, x, count);
    const product = this.productAt(record, k);
    if (product === undefined) return;
    this.refine(
      b,
      x,
      count,
      () => this.leftOf(product, right, x, count),
      (from, to) => factor.solveTransposed(from, to, count),
    );
  }

  /** Where digits are lost every step is refined. */
  get untilMeasured(): number {
    return this.losing || this.rows === undefined ? 0 : this.ahead - 1;
  }

  pass(steps: number): void {
    this.ahead -= steps;
  }

  restart(): void {
    [this.ahead, this.longest] = [0, 0];
    this.due = this.losing = false;
    this.last = this.rest = undefined;
  }

  private isDue(): boolean {
    const length = Math.abs(this.h[0]);
    if (--this.ahead > 0 && length <= this.longest) return false;
    this.ahead = measured;
    this.longest = longer * length;
    return true;
  }

  /** Solves for what is known, in the place of what is asked for, which stays as it was. In single precision the run itself is as inexact. */
  private measureIfDue(factor: Factor, b: Float64Array, x: Float64Array, transposed: boolean): void {
    const {
      size,
      values,
      context: {compiled},
    } = this;
    if (!this.due) return;
    this.due = this.losing = false;
    if (compiled.matrices.jacobian === undefined) return;
    const {pattern} = compiled.matrices.jacobian;
    (this.rows ??= new Rows(pattern, this.executable.find('growth'))).remember(values);
    if (compiled.isSingle) return;
    const lost = (this.lost ??= lostDigits(pattern));
    if (lost.isDominant(values)) return;
    const whole = wholeOf(factor);
    const extended = whole.n > size;
    const right = b.slice(0, size);
    const [from, to] = extended ? [new Float64Array(whole.n), new Float64Array(whole.n)] : [b, x];
    lost.right(values, from, transposed);
    if (transposed) whole.solveTransposed(from, to);
    else whole.solve(from, to);
    this.losing = lost.growth(to, transposed) > LOSING;
    if (!extended) b.set(right);
  }

  /**
   * Iterative refinement. A correction that is not half as large as the one before is below the last digit, or the factor is
   * of no use, as where the first is not half as large as the solution.
   */
  private refine(
    b: Float64Array,
    x: Float64Array,
    count: number,
    left: Left,
    solve: (from: Float64Array, to: Float64Array) => void,
  ): void {
    const {size} = this;
    const solution = x.slice(0, count * size);
    let before = 1;
    for (let i = 0; i < mostCorrections; i++) {
      b.set(left());
      solve(b, x);
      let share = 0;
      for (let d = 0; d < count; d++) {
        const whole = largest(solution, d * size, size);
        const part = largest(x, d * size, size);
        if (part > 0) share = Math.max(share, part / whole);
      }
      const gains = share < before / 2;
      if (gains) for (let j = 0; j < solution.length; j++) solution[j] += x[j];
      if (!gains && i > 0) this.rest = x.slice(0, solution.length);
      x.set(solution);
      if (!gains) return;
      before = share;
    }
  }

  private leftOf(
    product: StepExecutable<'transposedProduct'>,
    right: Float64Array,
    x: Float64Array,
    count: number,
  ): Float64Array {
    const {size} = this;
    const left = new Float64Array(count * size);
    const w = product.find('w');
    const made = product.buffer('JTw');
    for (let d = 0; d < count; d++) {
      w?.set(x.subarray(d * size, (d + 1) * size));
      product.run('transposedProduct');
      for (let i = 0; i < size; i++) left[d * size + i] = right[d * size + i] - made[i];
    }
    return left;
  }

  /** Products with Jᵀ at a step; undefined where what was recorded of it does not tell them. */
  private productAt(record: StepRecord, k: number): StepExecutable<'transposedProduct'> | undefined {
    const {context, executable} = this;
    if (this.products === undefined) {
      const whole = executable.find('x') !== undefined || executable.find('z') !== undefined;
      this.products = whole ? context.compiled.wholeProduct : context.compiled.keptProduct;
      if (this.products === undefined) return undefined;
      loadParameters(this.products, context);
    }
    record.load(k, stepBuffers(this.products));
    return this.products;
  }
}

function largest(x: Float64Array, from: number, count: number): number {
  let most = 0;
  for (let i = from; i < from + count; i++) most = Math.max(most, Math.abs(x[i]));
  return most;
}
