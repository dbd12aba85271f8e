/** The state a run starts from, and the check that its masses move. */
import {InconsistentStateError, SingularMatrixError} from '../errors.js';
import {densePattern, lu} from '../linear/index.js';
import {loadStart} from '../step/context.js';
import {firstNotFinite, indexText} from '../system/places.js';
import type {Runnable} from './runnable.js';

/**
 * x at the start: the user's blocks and what the scheme carries. The mass is checked on the way.
 * @throws SingularMatrixError 'singular-mass'; InconsistentStateError where the start is not finite
 */
export function startState(prepared: Runnable): Float64Array {
  const {traced} = prepared;
  const {start} = prepared.compiled;
  loadStart(start, prepared);
  start.run('start');
  checkMass(prepared, start.find('mass'));
  const x = start.buffer('x').slice();
  const at = firstNotFinite(x);
  if (at >= 0) {
    throw new InconsistentStateError('not-finite', `${traced.state.rowName(at)} of the initial state is ${x[at]}: a force or the mass is not finite there.`, {row: at});
  }
  return x;
}

function checkMass({traced, coordinates: n}: Runnable, mass: Float64Array | undefined): void {
  const node = traced.start.mass;
  if (mass === undefined || node === undefined) return;
  const bad = mass.findIndex(value => !Number.isFinite(value));
  if (bad >= 0) throw new InconsistentStateError('not-finite', `The mass is not finite at ${indexText(node.shape, bad) || 'its one value'}: ${mass[bad]}.`, {index: bad});
  if (mass.length === n * n && mass.length > 1 && node.shape.length === 2 && node.shape[0] === n) {
    checkMassMatrix(mass, n);
    return;
  }
  const at = mass.findIndex(value => !(value > 0));
  if (at >= 0) {
    throw new SingularMatrixError('singular-mass', `mass${indexText(node.shape, at)} is ${mass[at]}: every coordinate needs a positive mass. Give it one, or leave the coordinate out.`, {rows: [at]});
  }
}

function checkMassMatrix(mass: Float64Array, n: number): void {
  try {
    lu().analyze(densePattern(n)).factor(mass.slice());
  } catch (error) {
    if (!(error instanceof SingularMatrixError)) throw error;
    const rows = error.data.rows as number[];
    throw new SingularMatrixError('singular-mass', `The mass matrix is singular: its rows ${rows.join(', ')} depend on one another. Give every coordinate a mass of its own, or leave out those that have none.`, {rows});
  }
}

