/**
 * Energies beside forces. A conservative term carries its potential, so that a test can compare the
 * force with its gradient and a run can watch what it conserves: `simulate(system, …, {observe:
 * system.energy})` saves the energy in double precision.
 */
import * as tf from '@tensorflow/tfjs';
import type {Constraint, ForceTerm, Mass, MechanicalSystem, Params} from '../lib/index.js';
import {mechanics} from '../lib/index.js';
import {massAction} from '../lib/internal.js';

/** A potential energy [J] as a scalar tensor. */
export type Potential = (at: {readonly q: tf.Tensor; readonly params: Params}) => tf.Tensor;

/** An energy of the state [J] as a scalar tensor; can be used as `options.observe`. */
export type Energy = (at: {readonly q: tf.Tensor; readonly v: tf.Tensor; readonly params: Params}) => tf.Tensor;

/** A force −∂V/∂q with its potential V. */
export interface ConservativeTerm extends ForceTerm {
  readonly energy: Potential;
}

/** A system with its kinetic and potential energy; dampers and friction decrease it, drives change it. */
export interface SystemWithEnergy extends MechanicalSystem {
  readonly energy: Energy;
}

/** A term from its force and its potential. The force must be minus the potential's gradient; this is not checked. */
export function conservative(force: ForceTerm, energy: Potential): ConservativeTerm {
  return Object.assign((at: Parameters<ForceTerm>[0]) => force(at), {energy});
}

function isConservative(term: ForceTerm): term is ConservativeTerm {
  return 'energy' in term && typeof term.energy === 'function';
}

/** ½ vᵀM(q)v + Σ V: the mechanical energy of the mass and of the conservative terms. */
export function mechanicalEnergy({mass, forces}: Pick<MechanicalSystem, 'mass' | 'forces'>): Energy {
  const potentials = forces.filter(isConservative);
  return ({q, v, params}) => {
    const kinetic: tf.Tensor = tf.mul(0.5, tf.sum(tf.mul(v, massTimes(mass, v, {q, params}))));
    return potentials.reduce((total, {energy}) => tf.add(total, energy({q, params})), kinetic);
  };
}

/**
 * `mechanics({mass, forces, constraints})` with its mechanical energy; what compliant constraints store is not in it.
 */
export function withEnergy(
  mass: Mass,
  forces: readonly ForceTerm[],
  constraints: readonly Constraint[] = [],
): SystemWithEnergy {
  const system = mechanics({mass, forces, constraints});
  return {...system, energy: mechanicalEnergy(system)};
}

/**
 * M w for a mass as `mechanics` takes it.
 * @throws ShapeError 'mass-shape'
 */
export const massTimes = (
  mass: Mass | undefined,
  w: tf.Tensor,
  at: {readonly q: tf.Tensor; readonly params: Params},
): tf.Tensor => massAction(mass, at).times(w);
