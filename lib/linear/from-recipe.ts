/** A solver from its recipe (recipe.ts). */
import {auto} from './auto.js';
import {band} from './band.js';
import {cg} from './cg.js';
import {cholesky} from './cholesky.js';
import {lu} from './dense-lu.js';
import {gmres} from './gmres.js';
import {minres} from './minres.js';
import type {Recipe} from './recipe.js';
import type {LinearSolver} from './solver.js';
import {sparseLdlt} from './sparse-ldlt.js';
import {sparseLu} from './sparse-lu.js';
import {supernodalLu} from './supernodal-lu.js';

const makers: Readonly<Record<string, (options: object) => LinearSolver>> = {
  auto,
  band,
  cg,
  cholesky,
  gmres,
  lu,
  minres,
  sparseLdlt,
  sparseLu,
  supernodalLu,
};

export function fromRecipe({make, options = {}}: Recipe): LinearSolver {
  const maker = makers[make] as ((options: object) => LinearSolver) | undefined;
  if (maker === undefined) throw new Error(`no linear solver is made by ${make}`);
  return maker(options);
}
