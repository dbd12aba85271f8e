/**
 * Mechanical systems M(q) a = f(q, v, t; p): what the user writes, and the same as tensor functions
 * for a scheme (equations.md's convention: f is the applied force, on the right-hand side).
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {any, numeric, refuseUnknownOptions} from '../checks.js';
import {sameShape} from '../graph/node.js';
import {constantTensor} from '../trace/trace.js';
import {isConstraint, type Constraint} from './constraint-kinds.js';
import type {Blocks, Equations, UserBlock} from './equations.js';
import type {GeneralInertia} from './general-mechanics.js';
import {motionEquations} from './general-mechanics.js';
import type {AnyStateAt, StateAt, StateSpecs} from './hidden-states.js';
import {checkStates} from './hidden-states.js';
import type {Kinematics, PositionRate} from './kinematics.js';
import {checkKinematics} from './kinematics.js';
import {checkSparseMass, isSparseMass, massAction, type AnyMass, type MassAction, type SparseMass} from './mass.js';
import type {Numeric} from './numeric.js';
import {readNumeric} from './numeric.js';
import type {Bivariant, Params, ParamsLike} from './params.js';
import {ofShape, returned} from './returned.js';
import {withSwitches} from './switches.js';

/**
 * The arguments of a force: position and velocity of one shape, the time [], the parameters, and hidden states Z by
 * their names; with constraints also `lambda`, their multipliers, [rows], for example for friction in joints.
 */
export type ForceAt<P = Params, Z extends string = never> = StateAt<P, Z>;
/** A force of the shape of v, in ordinary tfjs operations on one system (no batch axis). */
export type ForceTerm<P = Params, Z extends string = never> = (at: ForceAt<P, Z>) => tf.Tensor;

/**
 * Numbers or a tensor, or a function of position and parameters: a scalar, one of the shape of v, [n, n] with n the
 * size of v, or for v [bodies, d] one matrix per body, [bodies, d, d]; or a matrix by its entries.
 */
export type Mass<P = Params> = Numeric | ((at: {q: tf.Tensor; params: P}) => tf.Tensor) | SparseMass<P>;

/** The argument of `mechanics`. */
export interface MechanicsSpec<P = Params, Z extends string = never> {
  /**
   * Scalar, lumped (the shape of v), consistent matrix [n, n] with n the size of v, or one matrix per row, [bodies, d,
   * d]; or a function of q and params that returns one of these; or a sparse matrix, {rows, columns, values}. Without
   * a mass the system takes `equilibrium` alone.
   */
  readonly mass?: Mass<P> | undefined;
  /** Summed; may be empty. */
  readonly forces: ForceTerm<P, Z> | readonly ForceTerm<P, Z>[];
  /** Enforced by multipliers λ, in this order. Kinds may be mixed: bilateral, compliant, unilateral, nonholonomic. */
  readonly constraints?: readonly Constraint<P, NoInfer<Z>>[];
  /**
   * Additional states with their own rates, available to all functions by name: friction states, actuators,
   * temperatures.
   */
  readonly states?: StateSpecs<P, Z>;
  /** q' = N(q, t) v, if q' is not v; then q and v may differ in shape. */
  readonly kinematics?: PositionRate<P> | Kinematics<P>;
}

/** Made by `mechanics`. P are the parameters that its functions read, Z the names of its hidden states. */
export interface MechanicalSystem<P = Params, Z extends string = never> {
  readonly kind: 'mechanics';
  /** A system without a mass takes `equilibrium` alone. */
  readonly mass?: AnyMass<P> | undefined;
  readonly forces: readonly Bivariant<AnyStateAt<P, Z>, tf.Tensor>[];
  readonly constraints: readonly Constraint<P, Z>[];
  readonly states?: StateSpecs<P, Z>;
  readonly kinematics?: Kinematics<P>;
  /** A sentence for errors of runs in which a force becomes infinite or NaN: what that means. */
  readonly notFinite?: string;
  /** A sentence for errors of states of rest whose matrix is singular: which motions no force resists, and a remedy. */
  readonly freeMotion?: string;
  /**
   * Vectors of the size of v of motions that hardly any force resists, such as the rigid motions of an elastic body:
   * what multigrid has to know of large systems.
   */
  readonly nearNullSpace?: () => readonly Float64Array[];
}

/**
 * A mechanical system, in consistent units. Declare the parameters that its functions read once, for all of them,
 * `mechanics<{k: tf.Tensor}>({...})`, or in a function's argument, `({q, params}: ForceAt<{k: tf.Tensor}>) => ...`;
 * then the compiler checks their names in every run. With hidden states, declare their names after the parameters,
 * `mechanics<{k: tf.Tensor}, 'z'>({...})`, if P is declared.
 * @throws OptionError, ShapeError if mass, forces, constraints, states or kinematics are invalid
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {mechanics, simulate} from 'stiffgrad';
 *
 * const system = mechanics({
 *   mass: [1, 2],
 *   forces: [({q}) => tf.mul(-40, q), ({v}) => tf.mul(-0.1, v)],
 * });
 * const path = simulate(system, {q: [0.5, 0], v: [0, 0]}, {dt: 0.01, steps: 10});
 * console.log(path.q.shape); // → [11, 2]
 * ```
 */
export function mechanics<P extends ParamsLike<P> = Params, Z extends string = string>(
  spec: MechanicsSpec<P, Z> & {readonly states: StateSpecs<P, Z>},
): MechanicalSystem<P, Z>;
export function mechanics<P extends ParamsLike<P> = Params>(spec: MechanicsSpec<P>): MechanicalSystem<P>;
export function mechanics<P, Z extends string>(spec: MechanicsSpec<P, Z>): MechanicalSystem<P, Z> {
  refuseUnknownOptions(
    spec,
    {mass: any, forces: any, constraints: any, states: any, kinematics: any},
    'mechanics',
    'bad-system',
  );
  const forces = typeof spec.forces === 'function' ? [spec.forces] : spec.forces;
  if (!Array.isArray(forces) || forces.some(force => typeof force !== 'function')) {
    throw new OptionError(
      'bad-forces',
      'forces must be a function of {q, v, t, params} or an array of such functions.',
    );
  }
  requireMass(spec.mass);
  const {constraints = []} = spec;
  if (!Array.isArray(constraints) || !constraints.every(constraint => isConstraint(constraint))) {
    throw new OptionError(
      'bad-constraint',
      'constraints must be an array of bilateral(…), compliant(…), unilateral(…), '
        + 'nonholonomic(…) and what defineConstraint(…) makes.',
    );
  }
  const {states, kinematics} = spec;
  if (states !== undefined) checkStates(states);
  return {
    kind: 'mechanics',
    ...(spec.mass === undefined ? {} : {mass: spec.mass}),
    forces: forces as readonly ForceTerm<P, Z>[],
    constraints: constraints as readonly Constraint<P, Z>[],
    ...(states === undefined || Object.keys(states).length === 0 ? {} : {states}),
    ...(kinematics === undefined ? {} : {kinematics: checkKinematics(kinematics)}),
  };
}

/** Reads numbers for their errors: a ragged matrix is told of here, not in the first trace. */
function requireMass<P>(mass: Mass<P> | undefined): void {
  if (mass === undefined) return;
  const values = isSparseMass(mass) ? mass.values : mass;
  if (isSparseMass(mass)) checkSparseMass(mass);
  if (!numeric.test(values))
    throw new OptionError(
      'bad-mass',
      'mass must be a number, an array, a tensor, a function of {q, params} giving a tensor, or a sparse matrix '
        + '{rows, columns, values}.',
    );
  if (typeof values !== 'function' && !(values instanceof tf.Tensor)) readNumeric(values, 'mass');
}

/** A force term's result, which must have the shape of v: a smaller one is usually a forgotten axis. */
function forceTensor(term: ForceTerm, index: number, at: ForceAt): tf.Tensor {
  const {shape} = at.v;
  const like = sameShape(at.q.shape, shape) ? 'q' : 'v';
  const data = {term: index, [like]: shape};
  return returned(`forces[${index}]`, () => withSwitches(`forces[${index}]`, at, term), {
    code: 'force-shape',
    ...ofShape(shape, like),
    data,
  });
}

type Seen = Omit<StateAt, 'lambda'>;

/** A force's place, whose `lambda` is made when it is read. Spreading it, as models do, does not read it. */
function placeOf(at: Seen, lambda: () => tf.Tensor): ForceAt {
  return Object.defineProperty({...at}, 'lambda', {get: lambda});
}

const noMultipliers = (index: number) => (): never => {
  throw new OptionError(
    'bad-forces',
    `forces[${index}] reads lambda, the multipliers of constraints, and this system has no constraints.`,
    {force: index},
  );
};

/** The force terms that read the multipliers, by their numbers; from a trace that has no other use. */
export function multiplierReaders({forces}: MechanicalSystem, at: Seen, count: number): ReadonlySet<number> {
  const readers = new Set<number>();
  forces.forEach((term, index) => {
    const lambda = (): tf.Tensor => {
      readers.add(index);
      return tf.zeros([count]);
    };
    forceTensor(term, index, placeOf(at, lambda));
  });
  return readers;
}

function inertiaOf(system: MechanicalSystem, params: Params, readers: ReadonlySet<number>): GeneralInertia {
  const sumOf = (terms: readonly tf.Tensor[], v: tf.Tensor): tf.Tensor =>
    terms.length === 0 ? tf.zerosLike(v) : terms.reduce((total, term) => tf.add(total, term));
  const force = (q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, hidden: Blocks = {}): tf.Tensor =>
    sumOf(
      system.forces.flatMap((term, i) =>
        readers.has(i) ? [] : [forceTensor(term, i, placeOf({...hidden, q, v, t, params}, noMultipliers(i)))],
      ),
      v,
    );
  const multiplierForce: GeneralInertia['multiplierForce'] =
    readers.size === 0
      ? undefined
      : ({q, v, t}, lambda, hidden) =>
          sumOf(
            [...readers].map(i => {
              const place = placeOf({...hidden, q, v, t, params}, () => lambda);
              return forceTensor(system.forces[i], i, place);
            }),
            v,
          );
  const mass = (q: tf.Tensor): MassAction => massAction(system.mass, {q, params});
  return {
    force,
    ...(multiplierForce === undefined ? {} : {multiplierForce}),
    massAt: (q, v) => mass(q).value(v),
    times: (q, w) => mass(q).times(w),
    solve: (q, f) => mass(q).solve(f),
  };
}

/**
 * The system as tensor functions, for the trace of a step.
 * @param own the state's blocks: q, v and hidden states
 * @param readers force terms that read the multipliers
 * @param middle the time of the middle of the step, where positions are moved
 */
export const mechanicalEquations = (
  system: MechanicalSystem,
  params: Params,
  own: readonly UserBlock[],
  readers: ReadonlySet<number> = new Set(),
  middle: tf.Tensor = constantTensor(0, []),
): Equations => motionEquations(system, isGeneral(system), inertiaOf(system, params, readers), params, own, middle);

/** Numbers, one a coordinate. Coordinates with zero have no inertia, and are where their forces balance. */
export const isMassless = ({mass}: MechanicalSystem): boolean => {
  if (mass === undefined || typeof mass === 'function' || typeof mass === 'number') return false;
  if (isSparseMass(mass)) return false;
  const {values} = readNumeric(mass, 'mass');
  return values.includes(0) && values.some(m => m !== 0) && !isSquare(mass);
};
const isSquare = (mass: Numeric): boolean => {
  const {shape} = readNumeric(mass, 'mass');
  return shape.length === 2 && shape[0] === shape[1];
};

/** It has hidden states or kinematics of its own. */
export const isGeneral = ({states, kinematics}: MechanicalSystem): boolean =>
  states !== undefined || kinematics !== undefined;
