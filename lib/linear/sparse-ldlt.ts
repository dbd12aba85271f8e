/**
 * Sparse L D Lᵀ of a symmetric matrix, definite or not: ordered by minimum degree, in supernodes, every
 * pivot on the diagonal in an order fixed in advance, so that a new factorization is pure arithmetic.
 *
 * Definite matrices need no more. For an indefinite one (a KKT matrix [A Gᵀ; G 0]) two things replace
 * the search for pivots. Each row without a diagonal entry is matched with a neighbour that is eliminated
 * right before it, so that its pivot is never a structural zero. And a pivot that is still too small is
 * enlarged to √ε of its scale, the solve being corrected by iterative refinement (static pivoting, as
 * in PARDISO: Schenk & Gärtner 2006). Every solve of an indefinite matrix is checked by its residual.
 */
import {StiffgradError} from '../errors.js';
import {FactorAnalysis} from './analysis.js';
import type {PanelBlocks} from './panels.js';
import {structurallySymmetric} from './pattern.js';
import {PROBED} from './refinement.js';
import {withRecipe} from './recipe.js';
import {examine, SUSPICIOUS_PIVOT, throwIfNotFinite} from './singularity.js';
import {EPSILON, type LinearSolver, type Pattern} from './solver.js';
import {sparseLu} from './sparse-lu.js';
import {judgeByNullVector, LU_IN_REACH} from './static-null.js';
import {
  checkSupernodalOptions,
  SupernodalAnalysis,
  SupernodalFactor,
  type SupernodalOptions,
} from './supernodal-factor.js';
import {SupernodalLdlt} from './supernodal-ldlt.js';
import {specialFor} from './symmetrized.js';

/** Options of `sparseLdlt`. */
export type LdltOptions = SupernodalOptions;

/**
 * A pivot below this share of its scale is enlarged to it: the error made is then of size √ε and the
 * factor grows by 1/√ε, which balances the two (Li & Demmel 1998; the same in SuperLU_DIST).
 */
const PIVOT_FLOOR = Math.sqrt(EPSILON);

/**
 * Pivots above this share of their scale grow the factor to 1e4 at most: refinement then gains eight digits at a step.
 */
const SOUND_PIVOT = EPSILON ** 0.25;

/**
 * Sparse L D Lᵀ. Where the pattern does not promise symmetry, every matrix is asked for it, as it is or
 * after a scaling of its rows (symmetrized.ts), and refused without.
 */
export function sparseLdlt(options: LdltOptions = {}): LinearSolver {
  checkSupernodalOptions('sparseLdlt', options);
  return withRecipe({name: 'sparse-ldlt', analyze: pattern => analyzeChecked(pattern, options)}, 'sparseLdlt', options);
}

function analyzeChecked(pattern: Pattern, options: LdltOptions): FactorAnalysis {
  if (!structurallySymmetric(pattern)) {
    throw new StiffgradError(
      'not-symmetric',
      'sparseLdlt() needs an entry (j, i) for every entry (i, j) of the pattern, and this one lacks some. '
        + 'Use sparseLu() or auto() for it.',
      {},
    );
  }
  const ldlt = analyzeLdlt(pattern, options);
  const {n, nonzeros, work} = ldlt;
  const createFactor = specialFor(pattern, () => ldlt.createFactor());
  return new FactorAnalysis({kind: 'sparse', n, nonzeros, work, createFactor});
}

/** For values that are symmetric, by promise or because the caller has seen to it. */
export function analyzeLdlt(pattern: Pattern, options: LdltOptions = {}): FactorAnalysis<SparseLdltFactor> {
  const symmetric = {...pattern, symmetric: true};
  const symbolic = new Symbolic(symmetric, options);
  const {size, work} = symbolic.nodes;
  const createFactor = (): SparseLdltFactor => new SparseLdltFactor(symmetric, symbolic);
  return new FactorAnalysis({kind: 'sparse', n: pattern.n, nonzeros: size, work, createFactor});
}

class Symbolic extends SupernodalAnalysis<SupernodalLdlt> {
  /** Lower-triangle entries of the permuted matrix: where from in the values, where to in the blocks. */
  readonly source: Int32Array;
  readonly target: Int32Array;
  readonly scale: Float64Array;

  constructor(pattern: Pattern, options: LdltOptions) {
    super(pattern, options, 1, SupernodalLdlt);
    const {target} = this.scatter;
    this.source = Int32Array.from(target.keys()).filter(p => target[p] < this.nodes.size);
    this.target = this.source.map(p => target[p]);
    this.scale = new Float64Array(pattern.n);
  }

  /** Position in the values of the diagonal entry of permuted row k, −1 where the pattern has none. */
  get diagonal(): Int32Array {
    return this.scatter.diagonal;
  }
}

export class SparseLdltFactor extends SupernodalFactor<PanelBlocks> {
  readonly kind = 'ldlt';
  private negative = 0;
  private enlarged = 0;

  constructor(
    pattern: Pattern,
    private readonly symbolic: Symbolic,
  ) {
    super(pattern, symbolic, false);
  }

  override get isJudged(): boolean {
    return this.refined;
  }

  /** Negative pivots of the last matrix: the number of its negative eigenvalues (Sylvester's law). */
  get negativePivots(): number {
    return this.negative;
  }

  /** Pivots that had to be enlarged; 0 means the factor is that of the matrix itself. */
  get enlargedPivots(): number {
    return this.enlarged;
  }

  /** Throws where an LU would take minutes to be the judge of a matrix. */
  private judge(values: Float64Array): void {
    this.refuse(values);
    const {symbolic, n} = this;
    if (symbolic.nodes.work <= LU_IN_REACH) return;
    const {order, scale} = symbolic;
    const natural = new Float64Array(n);
    for (let k = 0; k < n; k++) natural[order[k]] = 1 / Math.sqrt(scale[k]);
    judgeByNullVector(this.pattern, values, x => this.substituteOnce(x, 0, false), natural, natural, false);
  }

  override refactor(values: Float64Array): void {
    if (this.tryRefactor(values)) return;
    this.judge(values);
    // LU with pivoting is the judge of what is left: it names dependent rows, or finds nothing wrong.
    sparseLu().analyze(this.pattern).factor(values);
    throw new StiffgradError(
      'unstable-pivots',
      `${this.enlarged} of the ${this.n} pivots of this indefinite matrix vanish in the order chosen from its pattern, `
        + 'and refinement does not make up for it. Use auto() or sparseLu(), which pivot off the diagonal.',
      {enlargedPivots: this.enlarged, negativePivots: this.negative},
    );
  }

  /** False when the matrix needs pivots off the diagonal, or is singular in a way only those can tell. */
  tryRefactor(values: Float64Array): boolean {
    const {numeric, scale} = this.symbolic;
    this.forget();
    if (this.factorDefinite(values)) {
      this.negative = this.enlarged = 0;
      this.usable = true;
      return true;
    }
    schurScale(this.pattern, values, this.symbolic);
    this.load(values);
    let done = numeric.factor(this.blocks, scale, 'above-floor', PIVOT_FLOOR);
    if (!done) {
      throwIfNotFinite(this.pattern, values);
      symmetricScale(this.pattern, values, this.symbolic);
      this.load(values);
      numeric.factor(this.blocks, scale, 'enlarge', PIVOT_FLOOR);
    }
    this.negative = numeric.pivots.negative;
    this.enlarged = numeric.pivots.enlarged;
    this.refine(values);
    done = (done && numeric.pivots.smallest >= SOUND_PIVOT) || this.probe(values, false) <= PROBED;
    this.usable = done;
    return done;
  }

  /** A matrix with a positive diagonal is tried as definite first: nothing to scale, keep or refine. */
  private factorDefinite(values: Float64Array): boolean {
    const {numeric, scale, diagonal} = this.symbolic;
    for (let k = 0; k < scale.length; k++) {
      scale[k] = diagonal[k] < 0 ? 0 : values[diagonal[k]];
      if (!(scale[k] > 0)) return false;
    }
    this.load(values);
    if (!numeric.factor(this.blocks, scale, 'positive', 0)) return false;
    if (!(numeric.pivots.smallest > SUSPICIOUS_PIVOT)) examine(this.pattern, values, this, this.symbolic.nodes.tallest);
    return true;
  }

  private load(values: Float64Array): void {
    const {source, target} = this.symbolic;
    const blocks = this.symbolic.numeric.clear(this.blocks);
    for (let q = 0; q < source.length; q++) blocks[target[q]] = values[source[q]];
  }

  protected override inaccurate(_: Float64Array, __: number, ___: boolean, error: number): void {
    this.refuseSolution('sparse LDLᵀ', error);
  }

  protected override substituteTransposed(x: Float64Array, at: number): void {
    this.substitute(x, at);
  }
}

/**
 * scale_k = max(|a_kk|, max_j a_kj² / |a_jj|): the size of what elimination can leave on the diagonal,
 * so the size a pivot may be expected to have. For a multiplier it is g²/a. Like the pivots it follows
 * any symmetric scaling of the matrix.
 */
function schurScale(
  {n, rowPointers, columns}: Pattern,
  values: Float64Array,
  {order, diagonal, scale, refinement: {sizes: reciprocals}}: Symbolic,
): void {
  for (let k = 0; k < n; k++) {
    const size = diagonal[k] < 0 ? 0 : Math.abs(values[diagonal[k]]);
    reciprocals[order[k]] = size > 0 ? 1 / size : 0;
  }
  for (let k = 0; k < n; k++) {
    const i = order[k];
    let largest = diagonal[k] < 0 ? 0 : Math.abs(values[diagonal[k]]);
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
      // Math.max keeps a NaN, and a NaN fails the test of its pivot.
      largest = Math.max(largest, values[p] * values[p] * reciprocals[columns[p]]);
    }
    scale[k] = largest > 0 ? largest : Infinity;
  }
}

/**
 * scale_k = 1/s_k² where S A S has largest entries near 1 in every row: the scale of last resort, which
 * no zero on the diagonal can mislead. Three rounds of Ruiz's iteration (2001) reach it to a factor 2.
 */
function symmetricScale(
  {n, rowPointers, columns}: Pattern,
  values: Float64Array,
  {order, scale, refinement: {sizes: s, residual: largest}}: Symbolic,
): void {
  s.fill(1);
  for (let round = 0; round < 3; round++) {
    largest.fill(0);
    for (let i = 0; i < n; i++) {
      for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
        largest[i] = Math.max(largest[i], Math.abs(values[p]) * s[i] * s[columns[p]]);
      }
    }
    for (let i = 0; i < n; i++) if (largest[i] > 0) s[i] /= Math.sqrt(largest[i]);
  }
  for (let k = 0; k < n; k++) scale[k] = 1 / (s[order[k]] * s[order[k]]);
}
