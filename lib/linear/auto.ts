/**
 * The default: the method that should take the least time for a pattern, dense, banded or sparse. Time is
 * judged from counted work, each kind of loop having its own measured price for a floating-point
 * operation and for a row. Sparse and banded matrices that are symmetric, by promise or by inspection (symmetrized.ts),
 * are tried with L D Lᵀ; where that cannot take a matrix, an LU does: a sparse one in supernodes, which
 * pivots within blocks, and the scalar one with full threshold pivoting for small matrices and for what the former
 * refuses, unless it would take minutes, mostly to call a matrix singular (static-null.ts). Dense ones are for an LU at
 * once: the compiled one, of which whole steps are made, takes 0.5 to 0.7 of the time of Cholesky in JavaScript.
 *
 * Large matrices whose near null space is known (bodies tell theirs) are tried with conjugate gradients and multigrid
 * where that should take less time. Its solutions are as exact as direct ones; a matrix that is not symmetric positive
 * definite, or at which the iteration stalls, is for a direct method.
 */
import {analyzeBand} from './band.js';
import {FactorAnalysis} from './analysis.js';
import {blockPattern, blockSizeOf} from './block-rows.js';
import {analyzeDenseLu} from './dense-lu.js';
import type {SpecialFactor} from './direct.js';
import {FallbackFactor} from './fallback.js';
import {analyzeMultigrid, blockEliminationWork, multigridWork} from './multigrid-factor.js';
import {structurallySymmetric} from './pattern.js';
import {withRecipe} from './recipe.js';
import type {Analysis, LinearSolver, Pattern} from './solver.js';
import {analyzeLdlt} from './sparse-ldlt.js';
import {analyzeLu, isNearlySymmetric} from './sparse-lu.js';
import {analyzeSupernodalLu, SUPERNODAL} from './supernodal-lu.js';
import {specialFor} from './symmetrized.js';

const automatic = withRecipe<LinearSolver>({name: 'auto', analyze: choose}, 'auto');

/**
 * Every call returns one object, so that the analysis of one run is reused by the next.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {auto, mechanics, newton, simulate} from 'stiffgrad';
 *
 * const system = mechanics({mass: [1, 1], forces: ({q}) => tf.neg(q)});
 * const path = simulate(system, {q: [1, 0], v: [0, 0]}, {dt: 0.01, steps: 2, newton: newton({linear: auto()})});
 * console.log(path.stats.linear); // → dense
 * ```
 */
export function auto(): LinearSolver {
  return automatic;
}

/**
 * Nanoseconds a floating-point operation and a row, rounded from timings of a factorization and a solve of
 * random, banded, star and grid matrices of 4 to 2000 unknowns on one machine. Only their ratios matter:
 * of 46 patterns, 42 got the method that was fastest, and the others one within a factor of 2.2. The supernodal LU,
 * timed later against the scalar one on 16 grids and meshes of 12 to 3600 unknowns: 14 got the faster one, two one that
 * took 6 % more at most.
 */
const PRICE = {
  dense: {operation: 0.4, row: 15},
  band: {operation: 0.7, row: 20},
  ldlt: {operation: 0.25, row: 60},
  lu: {operation: 1.8, row: 60},
  supernodalLu: {operation: 0.25, row: 350},
} as const;

/**
 * Nanoseconds an operation on blocks of tetrahedra of 12,168 to 101,400 unknowns: L D Lᵀ takes 0.083 to 0.089 there,
 * multigrid 1.2.
 */
const LARGE_PRICE = {ldlt: 0.09, multigrid: 1.2} as const;

/** Solves with one factor: 3.7 in Newton's iteration of implicit dynamics of these blocks. */
const SOLVES = 4;

/** Matrices of so few unknowns are dense, whatever their pattern. */
const TINY = 3;

const cost = (price: {operation: number; row: number}, work: number, n: number): number =>
  price.operation * work + price.row * n;

function choose(pattern: Pattern): Analysis {
  const {n} = pattern;
  const dense = analyzeDenseLu(pattern);
  if (pattern.dense || n <= TINY) return dense;
  // Predicted work is that of AᵀA, three times too much. Chains of 45 joints: 9 to 15 µs a body, as bands 25 to 39.
  if (pattern.schurSize !== undefined) return analyzeLu(pattern);
  const band = analyzeBand(pattern);
  if (band.kind === 'tridiagonal') return band;
  const iterative = chooseMultigrid(pattern);
  if (iterative !== undefined) return iterative;
  const sparse = analyzeSparse(pattern);
  const candidates = [
    {analysis: dense, time: cost(PRICE.dense, dense.work, n)},
    {analysis: band, time: cost(PRICE.band, band.work, n)},
    {analysis: sparse, time: cost(sparsePrice(sparse), sparse.work, n)},
  ];
  return candidates.reduce((best, next) => (next.time < best.time ? next : best)).analysis;
}

function sparsePrice({kind, symmetric}: SparseAnalysis): {operation: number; row: number} {
  if (symmetric) return PRICE.ldlt;
  return kind === SUPERNODAL ? PRICE.supernodalLu : PRICE.lu;
}

type SparseAnalysis = Analysis & {readonly symmetric: boolean};

/** Sparse L D Lᵀ where that can be; an LU is analyzed only when a matrix needs it. */
function analyzeSparse(pattern: Pattern): SparseAnalysis {
  if (!structurallySymmetric(pattern)) return Object.assign(analyzeGeneral(pattern), {symmetric: false});
  const ldlt = analyzeLdlt(pattern);
  const special = specialFor(pattern, () => ldlt.createFactor());
  return Object.assign(
    triedFirst(ldlt, special, () => analyzeGeneral(pattern)),
    {symmetric: true},
  );
}

/** Multigrid where the near null space is known and it takes less time than L D Lᵀ; the latter where that fails. */
function chooseMultigrid(pattern: Pattern): Analysis | undefined {
  if (pattern.nearNullSpace === undefined || !structurallySymmetric(pattern)) return undefined;
  const {work, iterationWork, solveWork} = multigridWork(pattern);
  const iterative = LARGE_PRICE.multigrid * (work + SOLVES * solveWork);
  const blocks = blockPattern(pattern, blockSizeOf(pattern));
  const direct = LARGE_PRICE.ldlt * blockEliminationWork(blocks, iterative / LARGE_PRICE.ldlt);
  if (direct <= iterative) return undefined;
  // A matrix at which it stalls has cost no more than the direct method then does.
  const most = Math.ceil(direct / (LARGE_PRICE.multigrid * iterationWork));
  const multigrid = analyzeMultigrid(pattern, most);
  const special = specialFor(pattern, () => multigrid.createFactor());
  return triedFirst(multigrid, special, () => analyzeSparse(pattern));
}

/** A special method for the matrices that it can take; a general one is analyzed when a matrix needs it. */
function triedFirst(
  {kind, n, nonzeros, work, solveWork}: Analysis,
  special: () => SpecialFactor,
  analyzeRest: () => Analysis,
): FactorAnalysis {
  let general: Analysis | undefined;
  let last = kind;
  const analysis = (): Analysis => (general ??= analyzeRest());
  return new FactorAnalysis({
    kind: () => last,
    n,
    nonzeros,
    work,
    solveWork,
    createFactor: () => {
      const first = special();
      return new FallbackFactor(
        first,
        () => analysis().createFactor(),
        took => (last = took === first.kind ? kind : analysis().kind),
      );
    },
    pivots: {
      save: () => general?.pivots?.save(),
      restore(saved) {
        if (saved !== undefined || general !== undefined) analysis().pivots?.restore(saved);
      },
    },
  });
}

/** A sparse LU: in supernodes where the pattern is nearly symmetric and there is work enough for them. */
function analyzeGeneral(pattern: Pattern): FactorAnalysis {
  if (!isNearlySymmetric(pattern)) return analyzeLu(pattern);
  const supernodal = analyzeSupernodalLu(pattern);
  const time = cost(PRICE.supernodalLu, supernodal.work, pattern.n);
  return time < cost(PRICE.lu, supernodal.scalarWork, pattern.n) ? supernodal : analyzeLu(pattern);
}
