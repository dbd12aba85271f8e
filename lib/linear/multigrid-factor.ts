/**
 * Conjugate gradients with multigrid in the place of a direct factor: iterated until only rounding is left, so that a
 * solution is as good as a direct one, and refused where they do not get there. For symmetric positive definite
 * matrices whose near null space is known (`Pattern.nearNullSpace`).
 */
import {StiffgradError} from '../errors.js';
import {amd} from './amd.js';
import {FactorAnalysis} from './analysis.js';
import {BlockOperator, normOf, type BlockPattern} from './block-rows.js';
import {ConjugateGradients} from './cg.js';
import {SpecialFactor} from './direct.js';
import {eliminate} from './elimination.js';
import {symmetricGraph} from './graph.js';
import {norm, PreconditionedSystem, type Cycle} from './krylov.js';
import {multigrid} from './multigrid.js';
import {nestedDissection} from './nested-dissection.js';
import type {PreconditionerFactor} from './preconditioner.js';
import {REFINED, throwInaccurate} from './refinement.js';
import {EPSILON, type Pattern} from './solver.js';

/** Iterations to rounding: 22 to 24 on blocks of tetrahedra of 3,888 to 101,400 unknowns, fewer with a mass. */
const ITERATIONS = 25;

/** Operations of an iteration for each number of the matrix, coarse levels and prolongators included, as on those. */
const ITERATION_WORK = 13;

/** A setup takes the time of so many iterations there. */
const SETUP_ITERATIONS = 10;

/**
 * The first cycle ends at this share of the right-hand side: the solution then is known well enough to tell how small a
 * residual rounding allows, which the next one goes to.
 */
const FIRST_CYCLE = 1e-9;

/** Operations of a setup and of a solve, as far as the pattern tells. */
export function multigridWork({columns}: Pattern): Record<'work' | 'iterationWork' | 'solveWork', number> {
  const iterationWork = ITERATION_WORK * columns.length;
  return {work: SETUP_ITERATIONS * iterationWork, iterationWork, solveWork: ITERATIONS * iterationWork};
}

/** Nested dissection divides the work of minimum degree on blocks of tetrahedra by 1.4 (12,168 unknowns) to 3.4. */
const DISSECTION_GAIN = 4;

/**
 * Operations of L D Lᵀ, counted on the graph of nodes: the unknowns of one have the same neighbours, so that a block of
 * d × d takes d³ times the operations of a number.
 * @param enough nested dissection is tried where it may bring the work from above this to below it
 */
export function blockEliminationWork({count, height, rowPointers, columns}: BlockPattern, enough: number): number {
  const graph = symmetricGraph({n: count, rowPointers, columns, symmetric: true, dense: false});
  const work = (order: Int32Array): number => eliminate(graph, order).squares * height ** 3;
  const byDegree = work(amd(graph));
  if (byDegree < enough || byDegree > DISSECTION_GAIN * enough) return byDegree;
  return Math.min(byDegree, work(nestedDissection(graph)));
}

/** @param most iterations after which a matrix is refused */
export function analyzeMultigrid(pattern: Pattern, most: number): FactorAnalysis<MultigridFactor> {
  const {work, solveWork} = multigridWork(pattern);
  const preconditioner = multigrid();
  const blocks = preconditioner.blocks(pattern);
  const make = preconditioner.analyzeBlocks(blocks, pattern);
  return new FactorAnalysis({
    kind: MultigridFactor.kind,
    n: pattern.n,
    nonzeros: pattern.columns.length,
    work,
    solveWork,
    createFactor: () => new MultigridFactor(pattern, new BlockOperator(pattern, blocks), make(), most),
  });
}

export class MultigridFactor extends SpecialFactor {
  static readonly kind = 'cg, multigrid';
  readonly kind = MultigridFactor.kind;
  private readonly method: ConjugateGradients;
  private readonly cycle: Cycle;
  private readonly right: Float64Array;
  private readonly solution: Float64Array;
  private norm = 0;
  private iterations = 0;

  constructor(
    pattern: Pattern,
    private readonly matrix: BlockOperator,
    private readonly preconditioner: PreconditionerFactor,
    private readonly most: number,
  ) {
    super(pattern);
    const {n} = pattern;
    const vector = (): Float64Array => new Float64Array(n);
    this.method = new ConjugateGradients(n);
    const precondition = (r: Float64Array, z: Float64Array): void => this.preconditioner.solve(r, z);
    const system = new PreconditionedSystem(matrix, precondition, this.method.diagonal, this.method.name);
    this.cycle = {system, residual: vector(), correction: vector()};
    [this.right, this.solution] = [vector(), vector()];
  }

  get size(): number {
    return this.matrix.size + this.preconditioner.size + this.method.size + 4 * this.n;
  }

  override get linearIterations(): number {
    return this.iterations;
  }

  override get isJudged(): boolean {
    return true;
  }

  /** False where the matrix shows that it is not positive definite, or is singular on the coarsest level. */
  tryRefactor(values: Float64Array): boolean {
    this.usable = false;
    this.iterations = 0;
    this.matrix.load(values);
    this.norm = normOf(this.matrix);
    try {
      this.preconditioner.refactor(this.matrix, true);
    } catch (error) {
      if (!(error instanceof StiffgradError)) throw error;
      return false;
    }
    return (this.usable = true);
  }

  protected override substituteTransposed(x: Float64Array, at: number): void {
    this.substitute(x, at);
  }

  /** @throws StiffgradError 'inaccurate-solve' where the backward error ‖b − A x‖ / (‖A‖ ‖x‖ + ‖b‖) stays large */
  protected substitute(x: Float64Array, at: number): void {
    const {cycle, right, solution, matrix} = this;
    const {residual, correction} = cycle;
    for (let i = 0; i < right.length; i++) right[i] = residual[i] = x[at + i];
    solution.fill(0);
    this.iterations = 0;
    const size = norm(right);
    let target = FIRST_CYCLE * size;
    for (let error = size === 0 ? 0 : Infinity; error > EPSILON;) {
      this.advance(target);
      for (let i = 0; i < solution.length; i++) solution[i] += correction[i];
      matrix.apply(solution, residual);
      for (let i = 0; i < residual.length; i++) residual[i] = right[i] - residual[i];
      const scale = this.norm * norm(solution) + size;
      const now = norm(residual) / scale;
      if (!(now <= error / 2) || this.iterations >= this.most) {
        if (!(now <= REFINED)) throwInaccurate(this.kind, now, this.iterations);
        break;
      }
      error = now;
      target = (EPSILON / 2) * scale;
    }
    for (let i = 0; i < solution.length; i++) x[at + i] = solution[i];
  }

  /** Curvature that is not positive is for a direct factor, too. */
  private advance(target: number): void {
    try {
      this.iterations += this.method.cycle(this.cycle, target, this.most - this.iterations);
    } catch (error) {
      if (error instanceof StiffgradError) throwInaccurate(this.kind, NaN, this.iterations);
      throw error;
    }
  }
}
