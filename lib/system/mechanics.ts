/**
 * Mechanical systems M(q) a = f(q, v, t; p): what the user writes, and the same as tensor functions
 * for a scheme (equations.md's convention: f is the applied force, on the right-hand side).
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError, ShapeError} from '../errors.js';
import {any, numeric, refuseUnknownOptions} from '../checks.js';
import {sizeOf} from '../graph/node.js';
import {linalg} from '../linalg/index.js';
import {constantTensor, immediate, within} from '../trace/trace.js';
import {isConstraint, type Constraint} from './constraint-kinds.js';
import type {Equations} from './equations.js';
import type {Numeric} from './numeric.js';
import {readNumeric} from './numeric.js';
import type {Lenient, Params, ParamsLike} from './params.js';

/** Where a force is asked for: position and velocity of one shape, the time [], and the parameters. */
export type ForceAt<P = Params> = {q: tf.Tensor; v: tf.Tensor; t: tf.Tensor; params: P};
/** A force of the shape of q, in ordinary tfjs operations on one system (no batch axis). */
export type ForceTerm<P = Params> = (at: ForceAt<P>) => tf.Tensor;

/** Numbers or a tensor, or a function of position and parameters: a scalar, one of the shape of q, or [n, n] with n the size of q. */
export type Mass<P = Params> = Numeric | ((at: {q: tf.Tensor; params: P}) => tf.Tensor);

/** What `mechanics` makes a system of. */
export interface MechanicsSpec<P = Params> {
  /** Scalar, lumped (the shape of q) or consistent matrix [n, n] with n the size of q; or a function of q giving one of these. */
  readonly mass: Mass<P>;
  /** Summed; may be empty. */
  readonly forces: ForceTerm<P> | readonly ForceTerm<P>[];
  /** Held by multipliers λ, in this order: bilateral, compliant, unilateral, nonholonomic, in any mixture. */
  readonly constraints?: readonly Constraint<P>[];
}

/** Made by `mechanics`. P is what its functions read of the parameters. */
export interface MechanicalSystem<P = Params> {
  readonly kind: 'mechanics';
  readonly mass: Numeric | Lenient<{q: tf.Tensor; params: P}, tf.Tensor>;
  readonly forces: readonly Lenient<ForceAt<P>, tf.Tensor>[];
  readonly constraints: readonly Constraint<P>[];
}

/**
 * A mechanical system of unit-consistent terms. Which parameters they read is said once, for all of them,
 * `mechanics<{k: tf.Tensor}>({...})`, or where a function takes them, `({q, params}: ForceAt<{k: tf.Tensor}>) => ...`;
 * then the compiler knows their names in every run.
 * @throws OptionError, ShapeError where mass, forces or constraints are not what they should be
 */
export function mechanics<P extends ParamsLike<P> = Params>(spec: MechanicsSpec<P>): MechanicalSystem<P> {
  refuseUnknownOptions(spec, {mass: any, forces: any, constraints: any}, 'mechanics', 'bad-system');
  const forces = typeof spec.forces === 'function' ? [spec.forces] : spec.forces;
  if (!Array.isArray(forces) || forces.some(force => typeof force !== 'function')) {
    throw new OptionError(
      'bad-forces',
      'forces must be a function of {q, v, t, params} or an array of such functions.',
    );
  }
  if (!numeric.test(spec.mass)) {
    throw new OptionError(
      'bad-mass',
      'mass must be a number, an array, a tensor, or a function of {q, params} giving a tensor.',
    );
  }
  // Read for its errors: a ragged matrix is told of here, not in the first trace.
  if (typeof spec.mass !== 'function' && !(spec.mass instanceof tf.Tensor)) readNumeric(spec.mass, 'mass');
  const {constraints = []} = spec;
  if (!Array.isArray(constraints) || !constraints.every(constraint => isConstraint(constraint))) {
    throw new OptionError(
      'bad-constraint',
      'constraints must be an array of bilateral(…), compliant(…), unilateral(…), nonholonomic(…) and what defineConstraint(…) makes.',
    );
  }
  return {kind: 'mechanics', mass: spec.mass, forces, constraints};
}

type MassKind = 'scalar' | 'lumped' | 'consistent';

function massKind(mass: readonly number[], shape: readonly number[]): MassKind {
  const n = sizeOf(shape);
  if (sizeOf(mass) === 1) return 'scalar';
  if (mass.length === shape.length && mass.every((m, axis) => m === shape[axis])) return 'lumped';
  if (mass.length === 2 && mass[0] === n && mass[1] === n) return 'consistent';
  throw new ShapeError(
    'mass-shape',
    `mass has shape [${mass.join(', ')}]: give a number, one mass a coordinate [${shape.join(', ')}], or a matrix [${n}, ${n}].`,
    {term: 'mass', mass: [...mass], q: [...shape]},
  );
}

/** The mass as a tensor in the running trace, in double precision. */
function massTensor(mass: Mass, q: tf.Tensor, params: Params): tf.Tensor {
  if (typeof mass === 'function') {
    return within('mass', () => {
      const value = immediate(mass({q, params}));
      if (!(value instanceof tf.Tensor))
        throw new ShapeError('mass-shape', `mass must return a tensor, not ${typeof value}.`, {term: 'mass'});
      return value;
    });
  }
  if (mass instanceof tf.Tensor) return mass;
  const {values, shape} = readNumeric(mass, 'mass');
  return constantTensor(values, shape);
}

/** A force term's result, checked to have the shape of q (a scalar or smaller shape is refused: it is usually a forgotten axis). */
function forceTensor(term: ForceTerm, index: number, at: ForceAt): tf.Tensor {
  return within(`forces[${index}]`, () => {
    const force = immediate(term(at));
    if (!(force instanceof tf.Tensor)) {
      throw new ShapeError(
        'force-shape',
        `forces[${index}] must return a tensor of the shape of q, [${at.q.shape.join(', ')}], not ${typeof force}.`,
        {term: index},
      );
    }
    if (force.shape.length !== at.q.shape.length || force.shape.some((n, axis) => n !== at.q.shape[axis])) {
      throw new ShapeError(
        'force-shape',
        `forces[${index}] returned shape [${force.shape.join(', ')}], but q has shape [${at.q.shape.join(', ')}]. Every force has the shape of q.`,
        {term: index, force: force.shape, q: at.q.shape},
      );
    }
    return force;
  });
}

/** The system as tensor functions, for the trace of a step. */
export function mechanicalEquations(system: MechanicalSystem, params: Params): Equations {
  const force = (q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor => {
    const terms = system.forces.map((term, i) => forceTensor(term, i, {q, v, t, params}));
    return terms.length === 0 ? tf.zerosLike(q) : terms.reduce((total, term) => tf.add(total, term));
  };
  const massAt = (q: tf.Tensor): tf.Tensor => massTensor(system.mass, q, params);
  const massTimes = (q: tf.Tensor, w: tf.Tensor): tf.Tensor => {
    const mass = massAt(q);
    switch (massKind(mass.shape, q.shape)) {
      case 'scalar':
        return tf.mul(tf.reshape(mass, []), w);
      case 'lumped':
        return tf.mul(mass, w);
      case 'consistent':
        return tf.reshape(tf.matMul(mass as tf.Tensor2D, tf.reshape(w, [w.size, 1])), w.shape);
    }
  };
  const massSolve = (q: tf.Tensor, f: tf.Tensor): tf.Tensor => {
    const mass = massAt(q);
    switch (massKind(mass.shape, q.shape)) {
      case 'scalar':
        return tf.div(f, tf.reshape(mass, []));
      case 'lumped':
        return tf.div(f, mass);
      case 'consistent':
        return tf.reshape(linalg.solve(mass, tf.reshape(f, [f.size, 1])), f.shape);
    }
  };
  const acceleration = (q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor => massSolve(q, force(q, v, t));
  return {
    kind: 'mechanics',
    force,
    mass: massTimes,
    massAt,
    acceleration,
    rate: (x, t) => ({q: x.v, v: acceleration(x.q, x.v, t)}),
  };
}
