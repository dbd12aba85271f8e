/**
 * The constraints of a mechanical system as equations: each constraint gets its place in λ and the rows of its kind,
 * and what they return is joined. `partOf` says which class of constraint-parts/ writes the rows of a kind.
 */
import * as tf from '@tensorflow/tfjs';
import {within} from '../trace/trace.js';
import {coefficientsOf} from './coefficients.js';
import {holdsPosition, isHardContact, type Constraint, type ConstraintKind} from './constraint-kinds.js';
import {Contact} from './constraint-parts/contact.js';
import {FrictionalContact, slipTensors} from './constraint-parts/frictional.js';
import {HeldPositions, HeldVelocities} from './constraint-parts/joints.js';
import {ConstraintPart, gapTensor, type ConstraintContext, type ConstraintPlace} from './constraint-parts/part.js';
import {HardUnilateral} from './constraint-parts/unilateral.js';
import type {
  AccelerationLevel,
  ConstraintConditions,
  ConstraintForces,
  Constraints,
  ForceSelection,
  ImpactLevel,
  ImpactMultipliers,
  PhasePoint,
  PositionLevel,
  VelocityLevel,
} from './constraints.js';
import {fewestTold} from './contact-laws.js';
import type {Equations} from './equations.js';

/** The rows of each constraint, as its function gives them for tensors of a trace. */
export function constraintSizes(
  constraints: readonly Constraint[],
  at: PhasePoint,
  context: ConstraintContext,
): number[] {
  return constraints.map(
    (constraint, index) =>
      gapTensor(constraint, index, at, context).size
      + slipTensors(constraint, index, at, context).reduce((sum, {size}) => sum + size, 0),
  );
}

/**
 * The rows of one constraint.
 *
 * | constraint | rows |
 * |---|---|
 * | `frictionalContact` | `FrictionalContact` |
 * | `holds: 'contact'`, rigid `unilateral` | `HardUnilateral` |
 * | `holds: 'always'`, `bilateral` and `nonholonomic` | `HeldPositions`, `HeldVelocities` |
 * | `holds: 'never'`, `compliant` and soft `unilateral` | `ConstraintPart` |
 */
function partOf(constraint: Constraint, place: ConstraintPlace, context: ConstraintContext): ConstraintPart {
  if (constraint.contact !== undefined) return new FrictionalContact(constraint, place, context);
  if (isHardContact(constraint)) return new HardUnilateral(constraint, place, context);
  if (holdsPosition(constraint.kind)) return new HeldPositions(constraint, place, context);
  if (constraint.kind.holds === 'always') return new HeldVelocities(constraint, place, context);
  return new ConstraintPart(constraint, place, context);
}

function partsOf(
  constraints: readonly Constraint[],
  sizes: readonly number[],
  context: ConstraintContext,
): ConstraintPart[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  let offset = 0;
  return constraints.map((constraint, index) => {
    const part = partOf(constraint, {index, offset, count: sizes[index], total}, context);
    offset += sizes[index];
    return part;
  });
}

type MultiplierForce = Equations['multiplierForce'];

const concatenated = (each: readonly tf.Tensor[], axis = 0): tf.Tensor =>
  each.length === 1 ? each[0] : tf.concat([...each], axis);

const collected = (parts: readonly ConstraintPart[], rows: (part: ConstraintPart) => tf.Tensor): tf.Tensor =>
  concatenated(parts.map(rows));

const selects: Readonly<Record<ForceSelection, (kind: ConstraintKind) => boolean>> = {
  all: () => true,
  springs: ({law}) => law !== undefined,
  rigid: ({law}) => law === undefined,
  rigidPositions: ({of, law}) => of === 'positions' && law === undefined,
  held: ({holds}) => holds === 'always',
  heldPositions: holdsPosition,
};

/**
 * @param sizes rows of each constraint, see `constraintSizes`
 * @param multiplierForce forces that read the multipliers: a part of the reaction
 */
export function constraintEquations(
  constraints: readonly Constraint[],
  sizes: readonly number[],
  context: ConstraintContext,
  multiplierForce?: MultiplierForce,
): Constraints {
  const parts = partsOf(constraints, sizes, context);
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  return {
    count,
    coefficients: () => coefficientsOf(constraints, context.params),
    ...forces(parts, multiplierForce),
    ...conditions(parts),
    ...positionLevel(parts),
    ...velocityLevel(parts, context.motion),
    ...accelerationLevel(parts, multiplierForce),
    ...impactLaw(parts, count),
  };
}

/** @param multiplierForce undefined where it is no part of this sum */
function reactionOf(
  parts: readonly ConstraintPart[],
  at: PhasePoint,
  lambda: tf.Tensor,
  multiplierForce: MultiplierForce,
): tf.Tensor {
  const terms = parts.map(part => part.reaction(at, lambda));
  if (multiplierForce !== undefined) terms.push(multiplierForce(at, lambda));
  return terms.length === 0 ? tf.zerosLike(at.v) : terms.reduce((sum, term) => tf.add(sum, term));
}

const forces = (parts: readonly ConstraintPart[], multiplierForce: MultiplierForce): ConstraintForces => ({
  reaction: (at, lambda, of = 'all') =>
    reactionOf(
      parts.filter(({kind}) => selects[of](kind)),
      at,
      lambda,
      of === 'all' || of === 'rigid' ? multiplierForce : undefined,
    ),
  springs: at => collected(parts, part => part.spring(at) ?? tf.zeros([part.count])),
  averagedMultipliers: (at, lambda, alpha) => collected(parts, part => part.averagedMultipliers(at, lambda, alpha)),
});

const conditions = (parts: readonly ConstraintPart[]): ConstraintConditions => ({
  rows: (at, lambda, scale, spring = at) => collected(parts, part => part.rows(at, lambda, scale, spring)),
  restRows: (at, displacement, lambda, scale) =>
    collected(parts, part => part.restRows(at, displacement, lambda, scale)),
  degeneracyMargin: (at, lambda, scale) =>
    parts.some(({kind}) => kind.kinked)
      ? collected(parts, part => part.degeneracyMargin(at, lambda, scale))
      : undefined,
});

const positionLevel = (parts: readonly ConstraintPart[]): PositionLevel => ({
  positions: (at, placeholder, stepCompliance) =>
    collected(parts, part => part.positions(at, placeholder, stepCompliance)),
  penetration: (at, h) => {
    const each = parts.map(part => part.penetration(at, h));
    if (each.every(depths => depths === undefined)) return undefined;
    return concatenated(each.map((depths, i) => depths ?? tf.zeros([parts[i].count])));
  },
});

const velocityLevel = (parts: readonly ConstraintPart[], motion: ConstraintContext['motion']): VelocityLevel => ({
  velocities: (at, placeholder, ofVelocities, closed) =>
    collected(parts, part => part.velocities(at, placeholder, ofVelocities, closed)),
  ...(motion === undefined
    ? {}
    : {
        velocityJacobianProduct: (at, w, placeholder) =>
          collected(parts, part => part.velocityJacobianProduct(at, w, placeholder, motion)),
      }),
  activeContacts: (at, lambda, scale) => collected(parts, part => part.activeContacts(at, lambda, scale)),
});

const accelerationLevel = (parts: readonly ConstraintPart[], multiplierForce: MultiplierForce): AccelerationLevel => ({
  accelerations: (at, a, placeholder, closed) =>
    collected(parts, part => part.accelerations(at, a, placeholder, closed)),
  accelerationLevelRows: (at, a, lambda, scale, h) =>
    collected(parts, part => part.accelerationLevelRows(at, a, lambda, scale, h)),
  reactionAtInstant: (at, lambda) =>
    reactionOf(
      parts.filter(part => !(part instanceof FrictionalContact)),
      at,
      lambda,
      multiplierForce,
    ),
});

function impactLaw(parts: readonly ConstraintPart[], count: number): ImpactLevel {
  const contacts = parts.filter(part => part instanceof Contact);
  return {
    impact: (step, multipliers, scale) => {
      const rows = parts.map(part => part.impact(step, multipliers, scale));
      const all = (name: keyof ImpactMultipliers): tf.Tensor =>
        concatenated(rows.map(one => one[name]).filter(one => one !== undefined));
      const both = {lambda: all('lambda'), pi: all('pi')};
      return step.compressed === undefined ? both : {...both, compression: all('compression')};
    },
    laws: (step, multipliers, scale) => {
      if (count < fewestTold || step.compressed !== undefined || contacts.length < parts.length) return undefined;
      if (contacts.some(({simple}) => !simple)) return undefined;
      const none = tf.zerosLike(step.end.v);
      const still = {...step, end: {...step.end, v: none}, mean: none};
      const each = contacts.map(part => part.laws(step, still, multipliers, scale));
      return within('contacts', () => concatenated(each, 1));
    },
  };
}
