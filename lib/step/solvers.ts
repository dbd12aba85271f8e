/** What a step asks of a linear solver beside the common contract. */
import type {Factor, LinearSolver, Operator} from '../linear/index.js';
import {auto} from '../linear/index.js';

/** A solver that can work from products with vectors alone. */
export interface MatrixFreeSolver extends LinearSolver {
  bind(operator: Operator): Factor & {refresh(): void};
}

export function isMatrixFree(solver: LinearSolver): solver is MatrixFreeSolver {
  return 'bind' in solver;
}

let solverCount = 0;
const solverKeys = new WeakMap<LinearSolver, string>();

/** A name that tells solver values apart: two gmres() may have different options. */
export function solverKey(solver: LinearSolver): string {
  let key = solverKeys.get(solver);
  if (key === undefined) solverKeys.set(solver, (key = `${solver.name}#${solverCount++}`));
  return key;
}

/** A solver for sweeps whose own works without a matrix: the adjoint has the matrix. */
export function directSolver(solver: LinearSolver): LinearSolver {
  return isMatrixFree(solver) ? auto() : solver;
}

/** One solver value for the start of every run: its systems may be indefinite where the steps' are not. */
export const startSolver = auto();
