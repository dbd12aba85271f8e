/**
 * The Jacobian of a recorded step, factored again for its tangent or cotangent, and solves with it that are as accurate
 * as the run's.
 */
import type {TransposedSolve} from '../engine/engine.js';
import {routinesOf} from '../engine/routines.js';
import type {Analysis, Factor} from '../linear/index.js';
import {MAX_AMPLIFICATION, errorAmplification, RowMonitor, wholeOf, type ErrorAmplification} from '../linear/index.js';
import {linearFailure} from '../newton/linear-failure.js';
import type {Element, Callee} from '../routine/routine.js';
import {element} from '../routine/routine.js';
import type {Push} from '../wasm/writer.js';
import {stepError} from '../step/failed-step.js';
import {sweepFrameSize} from '../step/block-layout.js';
import {solverKey} from '../step/solvers.js';
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters} from '../step/context.js';
import {ConstantFactor} from '../step/constant-factor.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';

/** Evaluates b − Jx for the x that was solved for, into an array of its own. */
export type ResidualFunction = () => Float64Array;

/**
 * Solves are in the executable's buffers, and leave b as it is. Where the Jacobian keeps too few digits
 * (linear/error-amplification.ts) they are refined as Newton's iteration refines the step, by what the step's own
 * functions say is left.
 */
export interface JacobianFactor {
  /** Evaluates J where the executable's buffers say, or its variant at a guess, and factors it. */
  refresh(program?: 'startJacobian'): void;
  /** Jᵀx = b with the Jacobian last refreshed, as its factor gives it: lost digits are neither measured nor refined. */
  solveTransposedUnrefined(b: Float64Array, x: Float64Array): void;
  /** J x = b with the Jacobian last refreshed, for `count` right-hand sides. */
  solve(b: Float64Array, x: Float64Array, count: number, left: ResidualFunction): void;
  /** Jᵀx = b with the Jacobian where the buffers say, that of step k of a record, which is solved with once. */
  solveTransposed(b: Float64Array, x: Float64Array, record: StepRecord, k: number): void;
  /**
   * What the last x of `solveTransposed` lacks below its last digit; undefined where digits are not lost. A stiffness
   * multiplies the rounding of x: k = 1e12 makes 1e-4 of that of a number near 1.
   */
  readonly lowPart: Float64Array | undefined;
  /** Jᵀx = b for `count` right-hand sides, with the Jacobian last refreshed. */
  solveManyTransposed(b: Float64Array, x: Float64Array, count: number, record: StepRecord, k: number): void;
  /** A flag: there is such a low part. */
  readonly hasLowPart: Element;
  /**
   * `solveTransposed` as a part of routines, of (row).
   * @param general solves in JavaScript, where the matrix is to be measured or is not one for the kernels
   */
  transposedCallee(b: Float64Array, x: Float64Array, general: (row: number) => void): Callee;
  /** For another sweep: what was measured along the last one is not to be relied on. */
  restart(): void;
}

/**
 * Whether digits are lost is measured once in so many steps, and where pivots become small or rows change: a
 * measurement takes about as long as a step of the sweep.
 */
const stepsBetweenChecks = 256;

/** Growth of the step length after which digits are measured again: what is stiff grows with h². */
const maxLengthRatio = 2;

/**
 * Steps until the next measurement, the longest step that it may wait for, and flags: digits are lost, there is a rest.
 */
const [stepsUntilCheck, maxCheckedLength, losesDigitsSlot, rest] = [0, 1, 2, 3];

/** A correction gains the digits that the factor has; with none it does not shrink, and nothing is to be gained. */
const maxCorrections = 4;

/** The frame of each executable, which its routines read and write. */
const frames = new WeakMap<StepExecutable, Float64Array>();

function frameOf(executable: StepExecutable): Float64Array {
  let frame = executable.optionalBuffer('sweepFrame') ?? frames.get(executable);
  if (frame === undefined) frames.set(executable, (frame = new Float64Array(sweepFrameSize)));
  return frame;
}

/** undefined for an explicit scheme. @param inText it serves a text of pulls (emit-pull.ts) */
export function jacobianFactor(
  context: StepContext,
  executable: StepExecutable<'jacobian'>,
  inText = false,
): JacobianFactor | undefined {
  return context.compiled.implicit ? new SweepFactor(context, executable, inText) : undefined;
}

class SweepFactor implements JacobianFactor {
  private readonly isConstant: boolean;
  private readonly refactor: (values: Float64Array) => Factor;
  private readonly solveOnce: TransposedSolve | undefined;
  private readonly values: Float64Array;
  private readonly evaluate: () => void;
  private readonly analysis: Analysis;
  private readonly constantFactor: ConstantFactor | undefined;
  private readonly h: Float64Array;
  private readonly size: number;
  private amplification: ErrorAmplification | undefined;
  private rowMonitor: RowMonitor | undefined;
  /** Places `ahead` to `lowPart`; in the programs' memory where a text may be compiled there. */
  private readonly frame: Float64Array;
  private due = false;
  private products: StepExecutable<'transposedProduct'> | undefined;
  private lastFactor: Factor | undefined;
  private lowOrderPart: Float64Array | undefined;

  constructor(
    private readonly context: StepContext,
    private readonly executable: StepExecutable<'jacobian' | 'startJacobian'>,
    inText: boolean,
  ) {
    const {compiled, linear} = context;
    const solver = compiled.matrices.sweepSolver(linear);
    const analysis = compiled.matrices.analysis(solver, solverKey(solver), 'jacobian');
    this.isConstant = compiled.matrices.isConstant('jacobian');
    this.refactor = executable.factorization(analysis, this.isConstant);
    this.solveOnce = this.isConstant ? undefined : executable.transposedSolve?.(analysis);
    this.values = executable.buffer('J');
    this.evaluate = executable.program('jacobian');
    this.analysis = analysis;
    this.frame = inText ? frameOf(executable).fill(0) : new Float64Array(sweepFrameSize);
    const h = executable.optionalBuffer('h');
    this.h = h ?? new Float64Array(1);
    this.constantFactor = this.isConstant ? new ConstantFactor(h) : undefined;
    this.size = analysis.n;
  }

  private currentFactor(program?: 'startJacobian'): Factor {
    const {constantFactor, values} = this;
    const present = program === undefined ? constantFactor?.current : undefined;
    if (present !== undefined) return present;
    constantFactor?.discard();
    if (program === undefined) this.evaluate();
    else this.executable.run(program);
    const factor = this.factorOrThrow(values);
    if (program === undefined) constantFactor?.store(factor);
    return factor;
  }

  /** @throws the error of a failed step where the matrix has no factor */
  private factorOrThrow(values: Float64Array): Factor {
    try {
      return this.refactor(values);
    } catch (error) {
      const {
        context: {traced: scheme},
        executable,
        h: [h],
      } = this;
      throw stepError({
        ...linearFailure(error),
        scheme,
        t: executable.optionalBuffer('t')?.[0],
        h,
        history: [],
        worst: [],
        layout: scheme.unknown,
      });
    }
  }

  refresh(program?: 'startJacobian'): void {
    this.refreshedFactor(program);
  }

  solveTransposedUnrefined(b: Float64Array, x: Float64Array): void {
    (this.lastFactor ?? this.refreshedFactor()).solveTransposed(b, x);
  }

  private refreshedFactor(program?: 'startJacobian'): Factor {
    if (program === undefined && this.isDue()) this.due = true;
    this.lastFactor = this.currentFactor(program);
    if (program === undefined && !this.isConstant && this.rowMonitor?.haveChanged(this.values) === true)
      this.due = true;
    return this.lastFactor;
  }

  solve(b: Float64Array, x: Float64Array, count: number, left: ResidualFunction): void {
    const factor = this.lastFactor ?? this.refreshedFactor();
    this.measureIfDue(factor, b, x, false);
    factor.solve(b, x, count);
    if (this.losesDigits) this.refine(b, x, count, left, (from, to) => factor.solve(from, to, count));
  }

  solveTransposed(b: Float64Array, x: Float64Array, record: StepRecord, k: number): void {
    const {h, solveOnce} = this;
    // Most steps; nothing else here may cost them anything.
    if (solveOnce !== undefined && this.needsNoCheck(h[0])) {
      this.frame[stepsUntilCheck]--;
      this.evaluate();
      if (solveOnce(this.values, b, x) || this.rowMonitor?.haveChanged(this.values) !== true) return;
    }
    this.refresh();
    this.solveManyTransposed(b, x, 1, record, k);
  }

  solveManyTransposed(b: Float64Array, x: Float64Array, count: number, record: StepRecord, k: number): void {
    const factor = this.lastFactor ?? this.refreshedFactor();
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
    this.setLowPart(undefined);
    if (!this.losesDigits) {
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
      () => this.residualOf(product, right, x, count),
      (from, to) => factor.solveTransposed(from, to, count),
    );
  }

  /** Neither to be measured nor refined. */
  private needsNoCheck(length: number): boolean {
    const {frame} = this;
    return frame[stepsUntilCheck] > 1 && frame[losesDigitsSlot] === 0 && Math.abs(length) <= frame[maxCheckedLength];
  }

  get hasLowPart(): Element {
    return element(this.frame, rest);
  }

  transposedCallee(b: Float64Array, x: Float64Array, general: (row: number) => void): Callee {
    const {executable, analysis, frame, isConstant} = this;
    return {
      run: general,
      write: (w, given) => {
        const routines = routinesOf(executable);
        const factor = isConstant ? undefined : routines?.factor(analysis);
        const growth = executable.optionalBuffer('growth');
        const otherwise = w.call(general, given);
        if (routines === undefined || factor === undefined || growth === undefined) return otherwise;
        const {n, band} = factor;
        const J = executable.buffer('J').byteOffset;
        const number = (place: number): Push => w.load(w.int(frame.byteOffset), 8 * place);
        const least = growth.byteOffset + 4 * growth.length;
        const changed = w.call(routines.kernels.rowsChanged, [J, growth.byteOffset, least, n, band], 'i32');
        const passed = (): void =>
          w.store(w.int(frame.byteOffset), w.op('f64.sub', number(stepsUntilCheck), w.number(1)), 8 * stepsUntilCheck);
        const anew = (): void =>
          w.if(w.op('i32.eqz', factor.writeElimination(w, J)), otherwise, () =>
            w.if(changed, otherwise, () => {
              factor.writeSubstitution(w, b.byteOffset, x.byteOffset, true);
              passed();
            }),
          );
        const length = executable.optionalBuffer('h') === undefined ? w.number(0) : w.load(w.int(this.h.byteOffset));
        const mayPass = w.op(
          'i32.and',
          w.op('f64.gt', number(stepsUntilCheck), w.number(1)),
          w.op(
            'i32.and',
            w.op('f64.eq', number(losesDigitsSlot), w.number(0)),
            w.op('f64.le', w.op('f64.abs', length), number(maxCheckedLength)),
          ),
        );
        return () =>
          w.if(
            mayPass,
            () => {
              w.run(executable.program('jacobian'));
              const once = factor.writeTransposedOnce?.(w, J, b.byteOffset, x.byteOffset);
              if (once === undefined) anew();
              else w.if(once, passed, anew);
            },
            otherwise,
          );
      },
    };
  }

  get lowPart(): Float64Array | undefined {
    return this.lowOrderPart;
  }

  private setLowPart(lacking: Float64Array | undefined): void {
    this.lowOrderPart = lacking;
    this.frame[rest] = lacking === undefined ? 0 : 1;
  }

  restart(): void {
    this.frame.fill(0);
    this.due = false;
    this.lastFactor = undefined;
    this.setLowPart(undefined);
  }

  private get losesDigits(): boolean {
    return this.frame[losesDigitsSlot] === 1;
  }

  private set losesDigits(isLosing: boolean) {
    this.frame[losesDigitsSlot] = isLosing ? 1 : 0;
  }

  private isDue(): boolean {
    const {frame} = this;
    const length = Math.abs(this.h[0]);
    if (--frame[stepsUntilCheck] > 0 && length <= frame[maxCheckedLength]) return false;
    frame[stepsUntilCheck] = stepsBetweenChecks;
    frame[maxCheckedLength] = maxLengthRatio * length;
    return true;
  }

  /**
   * Solves for what is known, in the place of what is asked for, which stays as it was. In single precision the run
   * itself is as inexact.
   */
  private measureIfDue(factor: Factor, b: Float64Array, x: Float64Array, transposed: boolean): void {
    const {
      size,
      values,
      context: {compiled},
    } = this;
    if (!this.due) return;
    this.due = this.losesDigits = false;
    if (compiled.matrices.jacobian === undefined) return;
    const {pattern} = compiled.matrices.jacobian;
    (this.rowMonitor ??= new RowMonitor(pattern, this.executable.optionalBuffer('growth'))).remember(values);
    if (compiled.isSingle) return;
    const lost = (this.amplification ??= errorAmplification(pattern));
    if (lost.isDominant(values)) return;
    const whole = wholeOf(factor);
    const extended = whole.n > size;
    const right = b.slice(0, size);
    const [from, to] = extended ? [new Float64Array(whole.n), new Float64Array(whole.n)] : [b, x];
    lost.right(values, from, transposed);
    if (transposed) whole.solveTransposed(from, to);
    else whole.solve(from, to);
    this.losesDigits = lost.amplification(to, transposed) > MAX_AMPLIFICATION;
    if (!extended) b.set(right);
  }

  /**
   * Iterative refinement. A correction that is not half as large as the one before is below the last digit, or the
   * factor is of no use, as where the first is not half as large as the solution.
   */
  private refine(
    b: Float64Array,
    x: Float64Array,
    count: number,
    left: ResidualFunction,
    solve: (from: Float64Array, to: Float64Array) => void,
  ): void {
    const {size} = this;
    const [right, solution] = [b, x].map(array => array.slice(0, count * size));
    let previousRatio = 1;
    for (let i = 0; i < maxCorrections; i++) {
      b.set(left());
      solve(b, x);
      let ratio = 0;
      for (let d = 0; d < count; d++) {
        const whole = largest(solution, d * size, size);
        const part = largest(x, d * size, size);
        if (part > 0) ratio = Math.max(ratio, part / whole);
      }
      const gains = ratio < previousRatio / 2;
      if (gains) for (let j = 0; j < solution.length; j++) solution[j] += x[j];
      if (!gains && i > 0) this.setLowPart(x.slice(0, solution.length));
      x.set(solution);
      if (!gains) break;
      previousRatio = ratio;
    }
    b.set(right);
  }

  private residualOf(
    product: StepExecutable<'transposedProduct'>,
    right: Float64Array,
    x: Float64Array,
    count: number,
  ): Float64Array {
    const {size} = this;
    const left = new Float64Array(count * size);
    const w = product.optionalBuffer('w');
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
      const whole = executable.optionalBuffer('x') !== undefined || executable.optionalBuffer('z') !== undefined;
      this.products = whole ? context.compiled.fullProduct : context.compiled.storedProduct;
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
