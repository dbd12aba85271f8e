/** Requirements of a step on a linear solver, in addition to the common contract. */
import type {Factor, LinearSolver, Operator} from '../linear/index.js';
import {auto} from '../linear/index.js';
import {identityKeys} from '../text.js';

/** A solver that can work from products with vectors alone. */
export interface MatrixFreeSolver extends LinearSolver {
  bind(operator: Operator): Factor & {refresh(): void};
}

export function isMatrixFree(solver: LinearSolver): solver is MatrixFreeSolver {
  return 'bind' in solver;
}

/** A name that distinguishes solver values: two gmres() may have different options. */
export const solverKey = identityKeys<LinearSolver>();

/** A solver for sweeps whose own works without a matrix: the adjoint has the matrix. */
export function directSolver(solver: LinearSolver): LinearSolver {
  return isMatrixFree(solver) ? auto() : solver;
}

/** One solver value for the start of every run: its systems may be indefinite where the steps' are not. */
export const startSolver = auto();
