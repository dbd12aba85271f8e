/**
 * Factors that compiled kernels make in the memory where a program leaves the matrix. Each is one of
 * lib/linear's methods with the same storage and the same test of its pivots; a matrix that fails the
 * test goes to the factor of lib/linear, which has more general methods behind it and names dependent rows.
 */
import {throwNotFactored} from '../../linear/direct.js';
import type {Analysis, Factor} from '../../linear/index.js';
import {SUSPICIOUS_PIVOT} from '../../linear/singularity.js';
import type {TransposedSolve} from '../engine.js';
import type {CompiledMethod} from '../../linear/solver.js';
import type {NumericKernels} from './kernels.js';
import type {RoutineFactor, RoutineWriter} from './routine.js';
import type {Push} from '../../wasm/writer.js';
import type {UnrolledKernels} from './kernels/unrolled.js';
import {unrolledKernels, unrolledSizes} from './kernels/unrolled.js';
import {tridiagonalPositive, tridiagonalSmallMultipliers, tridiagonalSound} from './kernels/tridiagonal-ends.js';

/**
 * Doubles between arrays that are read together, so that those of a power of two do not fall on the same
 * lines of the first-level cache (see `blockBytes` in memory.ts).
 */
const gap = 24;

/** Doubles that the factor of an analysis needs in the memory; 0 where there is no kernel for its method. */
export function factorSize({n, method}: Analysis): number {
  switch (method?.name) {
    case 'tridiagonal':
      return 3 * (n + gap);
    case 'dense':
      return n * n + n + Math.ceil(n / 2);
    default:
      return 0;
  }
}

/** @param workspace as many doubles as `factorSize` says, in the kernels' memory */
export function memoryFactor(
  analysis: Analysis,
  kernels: NumericKernels,
  memory: WebAssembly.Memory,
  workspace: Float64Array,
): MemoryFactor {
  const {method, n} = analysis;
  if (method?.name === 'dense' && n >= unrolledSizes.from && n <= unrolledSizes.to)
    return new UnrolledMemoryFactor(analysis, unrolledKernels(n, memory), workspace);
  return method?.name === 'tridiagonal'
    ? new TridiagonalMemoryFactor(analysis, kernels, workspace, method)
    : new DenseMemoryFactor(analysis, kernels, workspace);
}

/**
 * Right-hand sides and solutions lie in the same memory as the values: nothing looks whether they do, as asking an
 * array for its memory takes longer than a small solve.
 */
export abstract class MemoryFactor implements Factor, RoutineFactor {
  readonly n: number;
  abstract readonly band: number;
  generation = 0;
  protected abstract readonly method: string;
  /** There is a matrix, and the kernel took it. */
  private compiled = false;
  private general: Factor | undefined;
  /** The matrix went to lib/linear's factor. */
  private usesGeneral = false;

  constructor(
    readonly analysis: Analysis,
    private readonly workspace: Float64Array,
  ) {
    this.n = analysis.n;
  }

  get kind(): string {
    return this.usesGeneral ? (this.general?.kind ?? this.method) : this.method;
  }

  get size(): number {
    return this.workspace.length + (this.general?.size ?? 0);
  }

  get linearIterations(): number {
    return this.usesGeneral ? (this.general?.linearIterations ?? 0) : 0;
  }

  refactor(values: Float64Array): void {
    this.generation++;
    this.usesGeneral = false;
    this.compiled = this.eliminate(values.byteOffset);
    if (this.compiled) return;
    this.general ??= this.analysis.createFactor();
    this.general.refactor(values);
    this.usesGeneral = true;
  }

  solve(b: Float64Array, x: Float64Array, count = 1): void {
    if (this.compiled)
      for (let k = 0, at = 0; k < count; k++, at += 8 * this.n)
        this.substitute(b.byteOffset + at, x.byteOffset + at, false);
    else this.inGeneral().solve(b, x, count);
  }

  solveTransposed(b: Float64Array, x: Float64Array, count = 1): void {
    if (this.compiled)
      for (let k = 0, at = 0; k < count; k++, at += 8 * this.n)
        this.substitute(b.byteOffset + at, x.byteOffset + at, true);
    else this.inGeneral().solveTransposed(b, x, count);
  }

  /** In other arrays of the memory than each other. Afterwards there is no factor. Where there is a kernel for it. */
  readonly solveTransposedOnce?: TransposedSolve;

  /** Gives up the factor. */
  forget(): void {
    this.generation++;
    this.compiled = false;
    this.usesGeneral = false;
  }

  private inGeneral(): Factor {
    if (this.general === undefined || !this.usesGeneral) throwNotFactored();
    return this.general;
  }

  abstract writeElimination(w: RoutineWriter, values: number): Push;
  abstract writeSubstitution(w: RoutineWriter, from: number, to: number, transposed: boolean): void;
  /** Factors the values at an address; false where the matrix is not one for the kernel. */
  protected abstract eliminate(values: number): boolean;
  /** Solves from one address to another, which may be the same. */
  protected abstract substitute(from: number, to: number, transposed: boolean): void;
}

class TridiagonalMemoryFactor extends MemoryFactor {
  protected readonly method = 'tridiagonal';
  readonly band = 1;
  private readonly lower: number;
  private readonly reciprocals: number;
  private readonly upper: number;
  private readonly stable: number;

  constructor(
    analysis: Analysis,
    private readonly kernels: NumericKernels,
    workspace: Float64Array,
    method: Extract<CompiledMethod, {name: 'tridiagonal'}>,
  ) {
    super(analysis, workspace);
    const {n} = analysis;
    const stride = 8 * (n + gap);
    this.lower = workspace.byteOffset;
    this.reciprocals = this.lower + stride;
    this.upper = this.reciprocals + stride;
    this.stable = tridiagonalSmallMultipliers | (method.symmetric ? tridiagonalPositive : 0);
  }

  protected eliminate(values: number): boolean {
    return this.accepts(this.kernels.tridiagonalFactor(values, this.lower, this.reciprocals, this.upper, this.n));
  }

  writeElimination(w: RoutineWriter, values: number): Push {
    const {kernels, lower, reciprocals, upper, n} = this;
    return this.soundIn(w, w.call(kernels.tridiagonalFactor, [values, lower, reciprocals, upper, n], 'i32'));
  }

  writeSubstitution(w: RoutineWriter, from: number, to: number, transposed: boolean): void {
    const {kernels, lower, reciprocals, upper, n} = this;
    w.run(
      transposed ? kernels.tridiagonalSolveTransposed : kernels.tridiagonalSolve,
      lower,
      reciprocals,
      upper,
      n,
      from,
      to,
    );
  }

  writeTransposedOnce(w: RoutineWriter, values: number, from: number, to: number): Push {
    const {kernels, upper, n} = this;
    return this.soundIn(w, w.call(kernels.tridiagonalSolveTransposedOnce, [values, from, to, upper, n], 'i32'));
  }

  /** `accepts` of the bits that are pushed. */
  private soundIn(w: RoutineWriter, bits: Push): Push {
    const kept = w.local('i32');
    const has = (set: number): Push => w.op('i32.ne', w.op('i32.and', kept, set), 0);
    return () => {
      w.set(kept, bits);
      w.op('i32.and', has(tridiagonalSound), has(this.stable))();
    };
  }

  override readonly solveTransposedOnce: TransposedSolve = (values, b, x) => {
    this.forget();
    const {kernels, upper, n} = this;
    if (this.accepts(kernels.tridiagonalSolveTransposedOnce(values.byteOffset, b.byteOffset, x.byteOffset, upper, n)))
      return true;
    this.refactor(values);
    this.solveTransposed(b, x);
    return false;
  };

  private accepts(bits: number): boolean {
    return (bits & tridiagonalSound) !== 0 && (bits & this.stable) !== 0;
  }

  protected substitute(from: number, to: number, transposed: boolean): void {
    if (transposed) this.kernels.tridiagonalSolveTransposed(this.lower, this.reciprocals, this.upper, this.n, from, to);
    else this.kernels.tridiagonalSolve(this.lower, this.reciprocals, this.upper, this.n, from, to);
  }
}

/** Where a dense LU lies in its workspace: the matrix, the rows' scales, the pivots. */
abstract class DenseLayout<Kernels> extends MemoryFactor {
  protected readonly method = 'lu';
  readonly band: number;
  protected readonly matrix: number;
  protected readonly scale: number;
  protected readonly pivots: number;

  constructor(
    analysis: Analysis,
    protected readonly kernels: Kernels,
    workspace: Float64Array,
  ) {
    super(analysis, workspace);
    const {n} = analysis;
    this.band = n;
    this.matrix = workspace.byteOffset;
    this.scale = this.matrix + 8 * n * n;
    this.pivots = this.scale + 8 * n;
  }
}

/** Dense LU of a few unknowns, without loops. */
class UnrolledMemoryFactor extends DenseLayout<UnrolledKernels> {
  writeElimination(w: RoutineWriter, values: number): Push {
    const {kernels, matrix, pivots, scale} = this;
    const pivot = w.call(kernels.factor, [values, matrix, pivots, scale], 'f64');
    return w.op('f64.gt', pivot, SUSPICIOUS_PIVOT);
  }

  writeSubstitution(w: RoutineWriter, from: number, to: number, transposed: boolean): void {
    const {kernels, matrix, pivots} = this;
    w.run(transposed ? kernels.solveTransposed : kernels.solve, matrix, pivots, from, to);
  }

  protected eliminate(values: number): boolean {
    return this.kernels.factor(values, this.matrix, this.pivots, this.scale) > SUSPICIOUS_PIVOT;
  }

  protected substitute(from: number, to: number, transposed: boolean): void {
    if (transposed) this.kernels.solveTransposed(this.matrix, this.pivots, from, to);
    else this.kernels.solve(this.matrix, this.pivots, from, to);
  }
}

class DenseMemoryFactor extends DenseLayout<NumericKernels> {
  writeElimination(w: RoutineWriter, values: number): Push {
    const {kernels, n, matrix, scale, pivots} = this;
    const pivot = w.call(kernels.denseFactor, [matrix, n, pivots, scale], 'f64');
    return () => {
      w.run(kernels.copy, matrix, values, n * n);
      w.run(kernels.denseScales, matrix, n, scale);
      w.op('f64.gt', pivot, SUSPICIOUS_PIVOT)();
    };
  }

  writeSubstitution(w: RoutineWriter, from: number, to: number, transposed: boolean): void {
    const {kernels, n, matrix, pivots} = this;
    if (from !== to) w.run(kernels.copy, to, from, n);
    w.run(transposed ? kernels.denseSolveTransposed : kernels.denseSolve, matrix, n, pivots, to);
  }

  protected eliminate(values: number): boolean {
    const {kernels, n, matrix, scale, pivots} = this;
    kernels.copy(matrix, values, n * n);
    kernels.denseScales(matrix, n, scale);
    return kernels.denseFactor(matrix, n, pivots, scale) > SUSPICIOUS_PIVOT;
  }

  protected substitute(from: number, to: number, transposed: boolean): void {
    const {kernels, n, matrix, pivots} = this;
    if (from !== to) kernels.copy(to, from, n);
    if (transposed) kernels.denseSolveTransposed(matrix, n, pivots, to);
    else kernels.denseSolve(matrix, n, pivots, to);
  }
}
