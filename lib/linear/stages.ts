/**
 * Equations of stages that are found one after another: a block lower triangular matrix, of which the diagonal blocks
 * alone are factored, each by itself. Substitution goes from block to block, forwards or, transposed, backwards. To
 * factor all of it as one matrix is more work, and judges it by a condition number that grows with every stage.
 */
import {FactorAnalysis} from './analysis.js';
import {throwNotFactored} from './direct.js';
import type {Analysis, Factor, LinearSolver, Pattern} from './solver.js';

/** Where the entries of one row of blocks are. */
interface Stage {
  readonly analysis: Analysis;
  /** Places of the diagonal block's values among all. */
  readonly own: Int32Array;
}

/**
 * @param count diagonal blocks, of one size
 * @param solver what each is solved by
 */
export function stagewise(count: number, solver: LinearSolver): LinearSolver {
  return {name: solver.name, analyze: pattern => analyzeStages(pattern, count, solver) ?? solver.analyze(pattern)};
}

/** undefined where an entry stands above the diagonal blocks. */
function analyzeStages(pattern: Pattern, count: number, solver: LinearSolver): Analysis | undefined {
  const {n, rowPointers, columns, symmetric} = pattern;
  const size = n / count;
  if (count < 2 || !Number.isInteger(size)) return undefined;
  const stages: Stage[] = [];
  for (let k = 0; k < count; k++) {
    const [first, end] = [k * size, (k + 1) * size];
    const own: number[] = [];
    const pointers = new Int32Array(size + 1);
    for (let i = 0; i < size; i++) {
      for (let p = rowPointers[first + i]; p < rowPointers[first + i + 1]; p++) {
        if (columns[p] >= end) return undefined;
        if (columns[p] >= first) own.push(p);
      }
      pointers[i + 1] = own.length;
    }
    const places = Int32Array.from(own);
    const block: Pattern = {
      n: size,
      rowPointers: pointers,
      columns: places.map(p => columns[p] - first),
      symmetric,
      dense: own.length === size * size,
    };
    stages.push({analysis: solver.analyze(block), own: places});
  }
  const total = (of: 'nonzeros' | 'work'): number => stages.reduce((sum, {analysis}) => sum + analysis[of], 0);
  return new FactorAnalysis({
    kind: () => stages[0].analysis.kind,
    n,
    nonzeros: total('nonzeros') + columns.length,
    work: total('work'),
    createFactor: () => new StagesFactor(pattern, size, stages),
    pivots: {
      save() {
        const saved = stages.map(({analysis}) => analysis.pivots?.save());
        return saved.some(one => one !== undefined) ? saved : undefined;
      },
      restore(saved) {
        stages.forEach(({analysis}, k) => analysis.pivots?.restore((saved as readonly unknown[] | undefined)?.[k]));
      },
    },
  });
}

class StagesFactor implements Factor {
  readonly n: number;
  private readonly factors: readonly Factor[];
  private readonly parts: readonly Float64Array[];
  private readonly values: Float64Array;
  private readonly block: Float64Array;
  private usable = false;

  constructor(
    private readonly pattern: Pattern,
    private readonly width: number,
    private readonly stages: readonly Stage[],
  ) {
    this.n = pattern.n;
    this.factors = stages.map(({analysis}) => analysis.createFactor());
    this.parts = stages.map(({own}) => new Float64Array(own.length));
    this.values = new Float64Array(pattern.columns.length);
    this.block = new Float64Array(width);
  }

  get kind(): string {
    return this.factors[0].kind;
  }

  get size(): number {
    return this.values.length + this.factors.reduce((sum, {size}) => sum + size, 0);
  }

  get linearIterations(): number {
    return this.factors.reduce((sum, {linearIterations}) => sum + linearIterations, 0);
  }

  refactor(values: Float64Array): void {
    this.usable = false;
    this.values.set(values);
    this.stages.forEach(({own}, k) => {
      const part = this.parts[k];
      for (let i = 0; i < own.length; i++) part[i] = values[own[i]];
      this.factors[k].refactor(part);
    });
    this.usable = true;
  }

  solve(b: Float64Array, x: Float64Array, count = 1): void {
    const {
      n,
      width,
      factors,
      block,
      values,
      pattern: {rowPointers, columns},
    } = this;
    if (!this.usable) throwNotFactored();
    for (let d = 0; d < count; d++) {
      for (let k = 0; k < factors.length; k++) {
        const first = k * width;
        for (let i = 0; i < width; i++) {
          let sum = b[d * n + first + i];
          for (let p = rowPointers[first + i]; columns[p] < first && p < rowPointers[first + i + 1]; p++)
            sum -= values[p] * x[d * n + columns[p]];
          block[i] = sum;
        }
        factors[k].solve(block, block);
        for (let i = 0; i < width; i++) x[d * n + first + i] = block[i];
      }
    }
  }

  solveTransposed(b: Float64Array, x: Float64Array, count = 1): void {
    const {
      n,
      width,
      factors,
      block,
      values,
      pattern: {rowPointers, columns},
    } = this;
    if (!this.usable) throwNotFactored();
    if (b !== x) for (let i = 0; i < count * n; i++) x[i] = b[i];
    for (let d = 0; d < count; d++) {
      for (let k = factors.length - 1; k >= 0; k--) {
        const first = k * width;
        for (let i = 0; i < width; i++) block[i] = x[d * n + first + i];
        factors[k].solveTransposed(block, block);
        for (let i = 0; i < width; i++) {
          x[d * n + first + i] = block[i];
          for (let p = rowPointers[first + i]; columns[p] < first && p < rowPointers[first + i + 1]; p++)
            x[d * n + columns[p]] -= values[p] * block[i];
        }
      }
    }
  }
}
