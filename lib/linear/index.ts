/** The public API of this layer: solvers, their contract, and the patterns they work on. */
export type {Analysis, Factor, LinearSolver, Pattern} from './solver.js';
export {auto} from './auto.js';
export {band} from './band.js';
export {cholesky} from './cholesky.js';
export {lu} from './dense-lu.js';
export {ordering, type OrderingName} from './ordering.js';
export {
  checkPattern,
  csrPattern,
  densePattern,
  patternFromEntries,
  structurallySymmetric,
  transpose,
  type Transpose,
} from './pattern.js';
export {cg} from './cg.js';
export {gmres, type GmresOptions} from './gmres.js';
export type {KrylovFactor, KrylovMethod, KrylovOptions, KrylovSolver, Preconditioner} from './krylov.js';
export {dot} from './krylov.js';
export type {MatrixPreconditioner} from './preconditioner.js';
export {multigrid, type MultigridOptions} from './multigrid.js';
export {minres} from './minres.js';
export {constraintCoupling} from './coupling.js';
export {analyze, wholeOf} from './extended.js';
export {CsrOperator, type Coupling, type Operator} from './operator.js';
export {MAX_AMPLIFICATION, errorAmplification, RowMonitor, type ErrorAmplification} from './error-amplification.js';
export {sparseLdlt, type LdltOptions} from './sparse-ldlt.js';
export {sparseLu, type SparseLuOptions} from './sparse-lu.js';
export {stagewise} from './stages.js';
export {supernodalLu, type SupernodalLuOptions} from './supernodal-lu.js';
