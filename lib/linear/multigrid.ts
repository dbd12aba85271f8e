/**
 * Multigrid by smoothed aggregation (Vaněk, Mandel & Brezina, Computing 56 (1996) 179–196), with Gauss–Seidel sweeps:
 * forwards before the coarse correction and backwards after it, so that a cycle is symmetric and a preconditioner of
 * conjugate gradients. Its iterations hardly grow with the number of unknowns if the near null space is told. Coarse
 * levels are visited twice (a W-cycle), and aggregates are neighbours where their nodes are: from 27,744 to 295,704
 * unknowns in space it goes from 20 iterations to 22. With a V-cycle it goes from 27 to 38, with aggregates by the
 * pattern of the coarse matrix, in which smoothed prolongators overlap, from 22 to 25.
 *
 * Aggregates, tentative prolongators and all patterns depend on the matrix's pattern alone and are found once
 * (`Hierarchy`). For each matrix the prolongators are smoothed, and coarse matrices are computed anew
 * (`MultigridCycle`): a solution depends on its own matrix only, never on those before it.
 */
import {positiveInteger, any, refuseUnknownOptions} from '../checks.js';
import {OptionError} from '../errors.js';
import {aggregate, contracted, type Adjacency, type Aggregates} from './aggregation.js';
import {
  addProduct,
  addTransposedProduct,
  blockPattern,
  blockSizeOf,
  invertDiagonal,
  multiplyBlocks,
  multiplyDiagonal,
  type BlockPattern,
  type BlockRows,
} from './block-rows.js';
import {sweepBackward, sweepForward} from './gauss-seidel.js';
import {throwIndefinite} from './krylov-errors.js';
import {nearNullSpace, nodesOf, type NearNullSpaceOptions} from './near-null-space.js';
import type {MatrixPreconditioner, PreconditionerFactor} from './preconditioner.js';
import type {Factor, Pattern} from './solver.js';
import {analyzeLdlt} from './sparse-ldlt.js';

/** Options of `multigrid`. */
export interface MultigridOptions extends NearNullSpaceOptions {
  /** Gauss–Seidel sweeps before and after each coarse correction, in alternating directions. Default 1. */
  readonly sweeps?: number;
  /** Matrices of at most so many rows are factored. Default 1000. */
  readonly coarsest?: number;
}

/**
 * Smoothed-aggregation multigrid as a preconditioner of `cg` or `minres`, for symmetric matrices from meshes
 * (Vaněk, Mandel & Brezina 1996). Give the nodes' `coordinates` for elastic bodies: without rotations in the near null
 * space it needs about twice the iterations.
 * @throws OptionError 'bad-linear'
 * @example
 * ```ts
 * import {cg, multigrid, newton} from 'stiffgrad';
 *
 * const nodes = [[1, 0], [1, 1], [2, 0], [2, 1]];
 * const settings = newton({linear: cg({preconditioner: multigrid({coordinates: nodes})})});
 * ```
 */
export function multigrid(options: MultigridOptions = {}): MatrixPreconditioner {
  refuseUnknownOptions(
    options,
    {
      coordinates: {
        what: "a list of the nodes' positions, or a typed array of their numbers",
        test: value => Array.isArray(value) || ArrayBuffer.isView(value),
      },
      nearNullSpace: any,
      blockSize: positiveInteger,
      sweeps: positiveInteger,
      coarsest: positiveInteger,
    },
    'multigrid',
    'bad-linear',
  );
  if (options.coordinates !== undefined && options.nearNullSpace !== undefined)
    throw new OptionError('bad-linear', 'multigrid: give coordinates or nearNullSpace, not both.', {});
  return {
    name: 'multigrid',
    isSymmetric: true,
    blocks: pattern => blockPattern(pattern, chosenBlockSize(pattern, options)),
    analyzeBlocks(blocks, {nearNullSpace: known}) {
      const isTold = options.coordinates !== undefined || options.nearNullSpace !== undefined;
      const hierarchy = new Hierarchy(
        blocks,
        isTold || known === undefined ? options : {...options, nearNullSpace: known},
      );
      return () => new MultigridCycle(hierarchy);
    },
  };
}

function chosenBlockSize(pattern: Pattern, options: MultigridOptions): number {
  const nodes = nodesOf(options);
  return options.blockSize ?? (nodes === undefined ? blockSizeOf(pattern) : pattern.n / nodes);
}

/** Ratio of the prolongator's damping to the largest eigenvalue of D⁻¹A (Vaněk et al. 1996). */
const DAMPING = 4 / 3;

/** Lanczos steps for that eigenvalue: they find it to some per cent, which the damping does not feel. */
const LANCZOS_STEPS = 8;

/** A level that does not lose this share of its nodes is the last one. */
const LEAST_COARSENING = 0.2;

/** A column of an aggregate's vectors that is this small beside what it was depends on those before it. */
const DEPENDENT = 1e-8;

/** What one level knows from the pattern and the near null space. */
interface LevelPlan {
  readonly blocks: BlockPattern;
  /** How its nodes are joined; undefined on the coarsest level. */
  readonly transfer?: {
    readonly aggregates: Aggregates;
    /** Orthonormal vectors of each aggregate: a block for each node. */
    readonly tentative: Float64Array;
    readonly prolongator: BlockPattern;
  };
}

/** All levels, finest first. */
class Hierarchy {
  readonly levels: LevelPlan[] = [];
  readonly coarsest: {readonly pattern: Pattern; readonly factor: () => Factor};
  readonly sweeps: number;

  constructor(blocks: BlockPattern, options: MultigridOptions) {
    this.sweeps = options.sweeps ?? 1;
    const {coarsest = 1000} = options;
    let vectors = nearNullSpace(options, blocks.count * blocks.height, blocks.height);
    let level = blocks;
    let graph: Adjacency = blocks;
    while (level.count * level.height > coarsest) {
      const aggregates = aggregate(graph);
      if (aggregates.count > (1 - LEAST_COARSENING) * level.count) break;
      const {tentative, coarse} = orthonormalize(level, aggregates, vectors);
      const prolongator = prolongatorPattern(level, aggregates, vectors.length);
      this.levels.push({blocks: level, transfer: {aggregates, tentative, prolongator}});
      level = galerkinPattern(level, prolongator);
      graph = contracted(graph, aggregates);
      vectors = coarse;
    }
    this.levels.push({blocks: level});
    const pattern = scalarPattern(level);
    const analysis = analyzeLdlt(pattern);
    this.coarsest = {pattern, factor: () => analysis.createFactor()};
  }
}

/**
 * QR of the vectors on each aggregate: Q goes into the tentative prolongator, R represents the vectors on the coarse
 * level. Vectors that depend on others on a small aggregate become zero.
 */
function orthonormalize(
  {count: nodes, height}: BlockPattern,
  {count, of}: Aggregates,
  vectors: readonly Float64Array[],
): {tentative: Float64Array; coarse: Float64Array[]} {
  const width = vectors.length;
  const tentative = new Float64Array(nodes * height * width);
  vectors.forEach((vector, k) => vector.forEach((value, i) => (tentative[i * width + k] = value)));
  const coarse = vectors.map(() => new Float64Array(count * width));
  const [pointers, members] = membersOf(count, of);
  const product = (a: number, k: number, l: number): number => {
    let sum = 0;
    for (let m = pointers[a]; m < pointers[a + 1]; m++) {
      const first = members[m] * height * width;
      for (let at = first; at < first + height * width; at += width) sum += tentative[at + k] * tentative[at + l];
    }
    return sum;
  };
  const add = (a: number, k: number, l: number, factor: number): void => {
    for (let m = pointers[a]; m < pointers[a + 1]; m++) {
      const first = members[m] * height * width;
      for (let at = first; at < first + height * width; at += width) tentative[at + k] += factor * tentative[at + l];
    }
  };
  for (let a = 0; a < count; a++) {
    for (let k = 0; k < width; k++) {
      const before = product(a, k, k);
      for (let pass = 0; pass < 2; pass++) {
        for (let l = 0; l < k; l++) {
          const share = product(a, k, l);
          coarse[k][a * width + l] += share;
          add(a, k, l, -share);
        }
      }
      const after = product(a, k, k);
      const length = after > DEPENDENT * before ? Math.sqrt(after) : 0;
      coarse[k][a * width + k] = length;
      add(a, k, k, length === 0 ? -1 : 1 / length - 1);
    }
  }
  return {tentative, coarse};
}

/** The nodes of each aggregate. */
function membersOf(count: number, of: Int32Array): [pointers: Int32Array, members: Int32Array] {
  const pointers = new Int32Array(count + 1);
  for (const a of of) pointers[a + 1]++;
  for (let a = 0; a < count; a++) pointers[a + 1] += pointers[a];
  const next = pointers.slice(0, count);
  const members = new Int32Array(of.length);
  of.forEach((a, i) => (members[next[a]++] = i));
  return [pointers, members];
}

/** Node i of the smoothed prolongator depends on the aggregates of its neighbours. */
function prolongatorPattern(
  {count, height, rowPointers, columns}: BlockPattern,
  {count: across, of}: Aggregates,
  width: number,
): BlockPattern {
  const pointers = new Int32Array(count + 1);
  const found = new Int32Array(columns.length);
  const seen = new Int32Array(across).fill(-1);
  let end = 0;
  for (let i = 0; i < count; i++) {
    const add = (a: number): void => {
      if (seen[a] === i) return;
      seen[a] = i;
      found[end++] = a;
    };
    add(of[i]);
    for (let q = rowPointers[i]; q < rowPointers[i + 1]; q++) add(of[columns[q]]);
    found.subarray(pointers[i], end).sort();
    pointers[i + 1] = end;
  }
  return {count, across, height, width, rowPointers: pointers, columns: found.slice(0, end)};
}

/** The pattern of Pᵀ A P. */
function galerkinPattern(level: BlockPattern, prolongator: BlockPattern): BlockPattern {
  const {across: count, width} = prolongator;
  const [pointers, members] = transposed(prolongator);
  const seen = new Int32Array(count).fill(-1);
  const rows: Int32Array[] = [];
  const rowPointers = new Int32Array(count + 1);
  const row = new Int32Array(count);
  // Of one coarse row, nodes have many neighbours in common.
  const visited = new Int32Array(level.count).fill(-1);
  for (let a = 0; a < count; a++) {
    let found = 0;
    for (let m = pointers[a]; m < pointers[a + 1]; m++) {
      const i = members[m];
      for (let q = level.rowPointers[i]; q < level.rowPointers[i + 1]; q++) {
        const j = level.columns[q];
        if (visited[j] === a) continue;
        visited[j] = a;
        for (let p = prolongator.rowPointers[j]; p < prolongator.rowPointers[j + 1]; p++) {
          const c = prolongator.columns[p];
          if (seen[c] === a) continue;
          seen[c] = a;
          row[found++] = c;
        }
      }
    }
    rows.push(row.slice(0, found).sort());
    rowPointers[a + 1] = rowPointers[a] + found;
  }
  const columns = new Int32Array(rowPointers[count]);
  rows.forEach((found, a) => columns.set(found, rowPointers[a]));
  return {count, across: count, height: width, width, rowPointers, columns};
}

/** The rows of each column. */
function transposed({across, count, rowPointers, columns}: BlockPattern): [pointers: Int32Array, rows: Int32Array] {
  const pointers = new Int32Array(across + 1);
  for (const a of columns) pointers[a + 1]++;
  for (let a = 0; a < across; a++) pointers[a + 1] += pointers[a];
  const next = pointers.slice(0, across);
  const rows = new Int32Array(columns.length);
  for (let i = 0; i < count; i++)
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) rows[next[columns[p]]++] = i;
  return [pointers, rows];
}

/** Every number of every block. */
function scalarPattern({count, height, rowPointers, columns}: BlockPattern): Pattern {
  const n = count * height;
  const pointers = new Int32Array(n + 1);
  const scalars = new Int32Array(columns.length * height * height);
  let end = 0;
  for (let i = 0; i < n; i++) {
    const row = Math.floor(i / height);
    for (let q = rowPointers[row]; q < rowPointers[row + 1]; q++)
      for (let c = 0; c < height; c++) scalars[end++] = columns[q] * height + c;
    pointers[i + 1] = end;
  }
  return {n, rowPointers: pointers, columns: scalars, symmetric: true, dense: end === n * n};
}

/** The numbers of one level. */
class Level {
  readonly prolongator: BlockRows | undefined;
  readonly inverses: Float64Array;
  readonly x: Float64Array;
  readonly right: Float64Array;
  readonly residual: Float64Array;
  private largest: LargestEigenvalue | undefined;
  private second: {readonly x: Float64Array; readonly right: Float64Array} | undefined;

  constructor(
    readonly plan: LevelPlan,
    readonly values: Float64Array,
  ) {
    const {blocks, transfer} = plan;
    const n = blocks.count * blocks.height;
    this.inverses = new Float64Array(transfer === undefined ? 0 : n * blocks.height);
    [this.x, this.right, this.residual] = [new Float64Array(n), new Float64Array(n), new Float64Array(n)];
    if (transfer !== undefined) {
      const {prolongator: pattern} = transfer;
      const values = new Float64Array(pattern.columns.length * pattern.height * pattern.width);
      this.prolongator = {pattern, values};
    }
  }

  get matrix(): BlockRows {
    return {pattern: this.plan.blocks, values: this.values};
  }

  /** Room for a second cycle. */
  get again(): {readonly x: Float64Array; readonly right: Float64Array} {
    const {length} = this.x;
    return (this.second ??= {x: new Float64Array(length), right: new Float64Array(length)});
  }

  get size(): number {
    return this.values.length + this.inverses.length + 3 * this.x.length + (this.prolongator?.values.length ?? 0);
  }

  /** P = (I − ω D⁻¹A) T. */
  smoothProlongator(): void {
    const {plan, values, prolongator, inverses, matrix} = this;
    const {blocks, transfer} = plan;
    if (transfer === undefined || prolongator === undefined) return;
    const failed = invertDiagonal(matrix, inverses, true);
    if (failed >= 0)
      throwIndefinite('multigrid', `the diagonal block of node ${failed} is not`, {rows: [failed * blocks.height]});
    this.largest ??= new LargestEigenvalue(this.x.length);
    const omega = DAMPING / this.largest.of(matrix, inverses);
    const {
      aggregates: {of, count},
      tentative,
    } = transfer;
    const {height, rowPointers, columns} = blocks;
    const {width, rowPointers: pointers, columns: coarse} = prolongator.pattern;
    const to = prolongator.values;
    const place = new Int32Array(count);
    const square = height * width;
    const row = new Float64Array(square);
    to.fill(0);
    for (let i = 0; i < blocks.count; i++) {
      for (let p = pointers[i]; p < pointers[i + 1]; p++) place[coarse[p]] = p;
      for (let q = rowPointers[i]; q < rowPointers[i + 1]; q++) {
        const j = columns[q];
        addBlockProduct(values, q * height * height, tentative, j * square, to, place[of[j]] * square, height, width);
      }
      for (let p = pointers[i]; p < pointers[i + 1]; p++) {
        const at = p * square;
        row.fill(0);
        addBlockProduct(inverses, i * height * height, to, at, row, 0, height, width);
        for (let k = 0; k < square; k++) to[at + k] = -omega * row[k];
      }
      const own = place[of[i]] * square;
      for (let k = 0; k < square; k++) to[own + k] += tentative[i * square + k];
    }
  }

  /** Pᵀ A P into the next level's values: on and above the diagonal, then its mirror image. */
  galerkin(next: Level): void {
    const {
      plan: {blocks},
      values,
      prolongator,
    } = this;
    if (prolongator === undefined) return;
    const {height, rowPointers, columns} = blocks;
    const {width, rowPointers: pointers, columns: coarse} = prolongator.pattern;
    const {rowPointers: nextPointers, columns: nextColumns} = next.plan.blocks;
    const from = prolongator.values;
    const to = next.values;
    const square = height * width;
    const count = prolongator.pattern.across;
    const place = new Int32Array(count).fill(-1);
    const found = new Int32Array(count);
    let product = new Float64Array(64 * square);
    to.fill(0);
    for (let i = 0; i < blocks.count; i++) {
      // Row i of A P: its columns ascend, since they are met in those of neighbours in turn and then sorted.
      let length = 0;
      const first = coarse[pointers[i]];
      for (let q = rowPointers[i]; q < rowPointers[i + 1]; q++) {
        const j = columns[q];
        for (let p = pointers[j]; p < pointers[j + 1]; p++) {
          const c = coarse[p];
          // Below the diagonal of every coarse row of node i.
          if (c < first || place[c] >= 0) continue;
          let k = length++;
          for (; k > 0 && found[k - 1] > c; k--) found[k] = found[k - 1];
          found[k] = c;
          place[c] = 0;
        }
      }
      if (product.length < length * square) product = new Float64Array(2 * length * square);
      product.fill(0, 0, length * square);
      for (let k = 0; k < length; k++) place[found[k]] = k * square;
      for (let q = rowPointers[i]; q < rowPointers[i + 1]; q++) {
        const j = columns[q];
        for (let p = pointers[j]; p < pointers[j + 1]; p++) {
          const c = coarse[p];
          if (c >= first)
            addBlockProduct(values, q * height * height, from, p * square, product, place[c], height, width);
        }
      }
      for (let p = pointers[i]; p < pointers[i + 1]; p++) {
        const a = coarse[p];
        let q = nextPointers[a];
        for (let k = 0; k < length; k++) {
          const c = found[k];
          if (c < a) continue;
          while (nextColumns[q] < c) q++;
          addTransposedBlockProduct(from, p * square, product, k * square, to, q * width * width, height, width);
        }
      }
      for (let k = 0; k < length; k++) place[found[k]] = -1;
    }
    mirror(next.plan.blocks, to);
  }
}

/** C ← C + A B for a square block A of `height`. */
function addBlockProduct(
  a: Float64Array,
  atA: number,
  b: Float64Array,
  atB: number,
  c: Float64Array,
  atC: number,
  height: number,
  width: number,
): void {
  for (let r = 0; r < height; r++) {
    for (let t = 0; t < height; t++) {
      const value = a[atA + r * height + t];
      const [from, to] = [atB + t * width, atC + r * width];
      for (let k = 0; k < width; k++) c[to + k] += value * b[from + k];
    }
  }
}

/** C ← C + Aᵀ B for blocks A and B of `height` × `width`. */
function addTransposedBlockProduct(
  a: Float64Array,
  atA: number,
  b: Float64Array,
  atB: number,
  c: Float64Array,
  atC: number,
  height: number,
  width: number,
): void {
  for (let t = 0; t < height; t++) {
    const from = atB + t * width;
    for (let r = 0; r < width; r++) {
      const value = a[atA + t * width + r];
      const to = atC + r * width;
      for (let k = 0; k < width; k++) c[to + k] += value * b[from + k];
    }
  }
}

/**
 * Blocks below the diagonal become those above, transposed. An unknown without a vector of its own (of an aggregate too
 * small for all of them) has an empty row, and gets a 1 on the diagonal.
 */
function mirror({count, height, rowPointers, columns}: BlockPattern, values: Float64Array): void {
  const square = height * height;
  const next = rowPointers.slice(0, count);
  for (let i = 0; i < count; i++) {
    for (let q = rowPointers[i]; q < rowPointers[i + 1]; q++) {
      const j = columns[q];
      if (j < i) continue;
      if (j === i) {
        for (let r = 0; r < height; r++)
          if (values[q * square + r * height + r] === 0) values[q * square + r * height + r] = 1;
        next[i]++;
        continue;
      }
      const to = next[j]++ * square;
      for (let r = 0; r < height; r++)
        for (let c = 0; c < height; c++) values[to + c * height + r] = values[q * square + r * height + c];
    }
  }
}

/** The largest eigenvalue of D⁻¹A by Lanczos' method in the scalar product of D. */
class LargestEigenvalue {
  private readonly vectors: readonly Float64Array[];

  constructor(n: number) {
    this.vectors = Array.from({length: 4}, () => new Float64Array(n));
  }

  /** A little less than it is. */
  of(matrix: BlockRows, inverses: Float64Array): number {
    // v = D w: Lanczos vectors are kept with and without D.
    const w = this.vectors[3];
    let [v, vOld, product] = this.vectors;
    const {height} = matrix.pattern;
    for (let i = 0, seed = 1; i < v.length; i++) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      v[i] = seed / 2 ** 31 - 1;
    }
    vOld.fill(0);
    const diagonal: number[] = [];
    const beside: number[] = [];
    let before = 0;
    for (let step = 0; step < Math.min(LANCZOS_STEPS, v.length); step++) {
      multiplyDiagonal(inverses, height, v, w);
      let square = 0;
      for (let i = 0; i < v.length; i++) square += v[i] * w[i];
      const length = Math.sqrt(square);
      if (!(length > 0)) break;
      if (step > 0) beside.push(length);
      before = step > 0 ? length : 0;
      for (let i = 0; i < v.length; i++) {
        v[i] /= length;
        w[i] /= length;
      }
      multiplyBlocks(matrix, w, product);
      let alpha = 0;
      for (let i = 0; i < v.length; i++) alpha += w[i] * product[i];
      diagonal.push(alpha);
      for (let i = 0; i < v.length; i++) product[i] -= alpha * v[i] + before * vOld[i];
      [vOld, v, product] = [v, product, vOld];
    }
    return largestOfTridiagonal(diagonal, beside);
  }
}

/** Bisection by Sylvester's count of negative pivots. */
function largestOfTridiagonal(diagonal: readonly number[], beside: readonly number[]): number {
  const at = (k: number): number => Math.abs(beside[k] ?? 0);
  let high = Math.max(...diagonal.map((d, k) => d + at(k) + (k > 0 ? at(k - 1) : 0)));
  let low = Math.max(...diagonal);
  if (!(low > 0 && high < Infinity)) return 1;
  while (high - low > 1e-3 * high) {
    const middle = (low + high) / 2;
    let pivot = 1;
    let isAbove = true;
    diagonal.forEach((d, k) => {
      pivot = middle - d - (k > 0 ? beside[k - 1] ** 2 / pivot : 0);
      isAbove &&= pivot > 0;
    });
    if (isAbove) high = middle;
    else low = middle;
  }
  return high;
}

/** One cycle as the inverse of a matrix. */
class MultigridCycle implements PreconditionerFactor {
  private readonly levels: Level[] = [];
  private readonly factor: Factor;

  constructor(private readonly hierarchy: Hierarchy) {
    this.factor = hierarchy.coarsest.factor();
  }

  get size(): number {
    return this.levels.reduce((sum, level) => sum + level.size, this.factor.size);
  }

  refactor(matrix: BlockRows): void {
    const {hierarchy, levels, factor} = this;
    if (levels.length === 0 || levels[0].values !== matrix.values) {
      levels.length = 0;
      hierarchy.levels.forEach((plan, k) => {
        const {columns, height} = plan.blocks;
        levels.push(new Level(plan, k === 0 ? matrix.values : new Float64Array(columns.length * height * height)));
      });
    }
    for (let k = 0; k + 1 < levels.length; k++) {
      levels[k].smoothProlongator();
      levels[k].galerkin(levels[k + 1]);
    }
    factor.refactor(scalarValues(levels[levels.length - 1].matrix));
  }

  solve(r: Float64Array, z: Float64Array): void {
    this.cycle(0, r, z);
  }

  /**
   * A second cycle for what the first leaves of a level's right-hand side: aggregates of aggregates are large, and
   * coarse levels cost little.
   */
  private cycleAgain(k: number): void {
    const {matrix, x, right, again} = this.levels[k];
    multiplyBlocks(matrix, x, again.right);
    for (let i = 0; i < right.length; i++) again.right[i] = right[i] - again.right[i];
    this.cycle(k, again.right, again.x);
    for (let i = 0; i < x.length; i++) x[i] += again.x[i];
  }

  /** x ≈ A⁻¹ b on a level. */
  private cycle(k: number, b: Float64Array, x: Float64Array): void {
    const {
      levels,
      factor,
      hierarchy: {sweeps},
    } = this;
    const level = levels[k];
    const {matrix, inverses, residual, prolongator} = level;
    if (prolongator === undefined) {
      factor.solve(b, x);
      return;
    }
    sweepForward(matrix, inverses, b, x, residual);
    for (let s = 1; s < sweeps; s++) {
      if (s % 2 === 1) sweepBackward(matrix, inverses, b, x);
      else sweepForward(matrix, inverses, b, x);
    }
    if (sweeps > 1) {
      multiplyBlocks(matrix, x, residual);
      for (let i = 0; i < b.length; i++) residual[i] = b[i] - residual[i];
    }
    const next = levels[k + 1];
    next.right.fill(0);
    addTransposedProduct(prolongator, residual, next.right);
    this.cycle(k + 1, next.right, next.x);
    if (next.prolongator !== undefined) this.cycleAgain(k + 1);
    addProduct(prolongator, next.x, x);
    for (let s = sweeps - 1; s >= 0; s--) {
      if (s % 2 === 0) sweepBackward(matrix, inverses, b, x);
      else sweepForward(matrix, inverses, b, x);
    }
  }
}

/** The numbers of a matrix in the order of its scalar rows. */
function scalarValues({pattern: {count, height, rowPointers}, values}: BlockRows): Float64Array {
  const scalars = new Float64Array(values.length);
  let end = 0;
  for (let row = 0; row < count; row++)
    for (let r = 0; r < height; r++)
      for (let q = rowPointers[row]; q < rowPointers[row + 1]; q++)
        for (let c = 0; c < height; c++) scalars[end++] = values[(q * height + r) * height + c];
  return scalars;
}
