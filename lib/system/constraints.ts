/**
 * The constraints of a mechanical system, M a = f + Gᵀλ (equations.md §1 and §4), as rows and reactions for a
 * scheme. Rows are functions of tensors like forces; G, its transpose and time derivatives are taken from their graphs.
 */
import * as tf from '@tensorflow/tfjs';
import {ShapeError} from '../errors.js';
import type {Tensors} from '../trace/differentials.js';
import {derivativeAlong, transposedProduct} from '../trace/differentials.js';
import {constantTensor, immediate, within} from '../trace/trace.js';
import {coefficientsOf, coefficientTensor, type CoefficientName, type Coefficients} from './coefficients.js';
import type {Constraint, ConstraintKind, GapAndMultiplier} from './constraint-kinds.js';
import {fewestRows} from './contact-laws.js';
import {contactSoftness, derivativeSoftness} from './contact-softness.js';
import {complementarity, holdsPosition, isHardContact} from './constraint-kinds.js';
import type {Equations} from './equations.js';
import {
  borderDistance,
  borderWidth,
  compressionRows,
  contactTerms,
  displacementRows,
  impactRows,
  type ContactRows,
  type ContactStep,
} from './impact-law.js';
import type {Params} from './params.js';

/** A place in phase space and time. */
export interface Place {
  readonly q: tf.Tensor;
  readonly v: tf.Tensor;
  readonly t: tf.Tensor;
}

/** What rows are measured in, so that the equations of a step stay well conditioned as h → 0. */
export interface RowScale {
  /** Rows of positions are divided by this. */
  readonly position: tf.Tensor | number;
  /** Rows of velocities likewise. */
  readonly velocity: tf.Tensor | number;
  /** The displacement that a unit multiplier gives a typical mass in the step, h²/m. */
  readonly give: tf.Tensor;
  /**
   * Compliance that every rigid row gains, as a share of `give`; 0 unless rows are redundant. Then the
   * multipliers are those of least norm, and the constraint is off by that share of what it holds.
   */
  readonly regularization: tf.Tensor;
}

/** What hidden states and kinematics change for constraints: v stands for (v, z) here. */
export interface ConstraintMotion {
  /** v and the hidden states by name. */
  seen(v: tf.Tensor): Tensors;
  /** q' = N(q, t) v. */
  positionRate(q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor;
  /** How the hidden states move by themselves, of the shape of v; undefined where there are none. */
  drift(at: Place): tf.Tensor | undefined;
  /** Nᵀ·push: a force on positions as one on velocities. */
  pushed(at: Place, push: tf.Tensor): tf.Tensor;
  /** A force on (v, z) without its part on z. */
  onVelocities(push: tf.Tensor): tf.Tensor;
}

/** The constraints of one system, λ in the order they were given. */
export interface Constraints {
  /** Numbers in λ. */
  readonly count: number;
  /**
   * Gᵀλ + ψ_vᵀλ, of the shape of v; of some kinds alone where `of` is given, see `forces`. Forces that read λ belong to all
   * together, and to `forces.rigid`.
   */
  reaction(at: Place, lambda: tf.Tensor, of?: (kind: ConstraintKind) => boolean): tf.Tensor;
  /**
   * [count], zero where the constraints hold with these multipliers.
   * @param spring where springs are met; default `at`
   */
  rows(at: Place, lambda: tf.Tensor, scale: RowScale, spring?: Place): tf.Tensor;
  /**
   * [count], as lengths: the larger of gap and multiplier of kinked rows, which should not both
   * be zero; 1 elsewhere. Undefined where there are no such rows.
   */
  touching(at: Place, lambda: tf.Tensor, scale: RowScale): tf.Tensor | undefined;
  /** As `rows` at rest, in units of positions; rows that hold velocities for a displacement in place of one. */
  still(at: Place, displacement: tf.Tensor, lambda: tf.Tensor, scale: RowScale): tf.Tensor;
  /** λ of springs at a place, by their law; zero elsewhere. */
  springs(at: Place): tf.Tensor;
  /** λ, of springs the mean of their law at a place, with the weight 1 − α, and of λ. */
  blended(at: Place, lambda: tf.Tensor, alpha: number): tf.Tensor;
  /**
   * [count], φ of rows that are held, and of hard contacts what is below zero of it; `idle` elsewhere.
   * @param give where given, of contacts, those with friction too, complementarity with the multiplier `idle` in place of
   *   that: the displacement of a unit of it
   */
  positions(at: Place, idle: tf.Tensor, give?: tf.Tensor): tf.Tensor;
  /**
   * Of shape [count]: how far contacts with friction lie below their surfaces, as φ ≤ 0, beyond what a step of length h leaves
   * that takes the surface for its tangent plane, h² |φ''| at constant velocity; 0 elsewhere. Undefined where there are none.
   */
  depths(at: Place, h: tf.Tensor): tf.Tensor | undefined;
  /**
   * [count], φ' of rows that are held, and of hard contacts where `closed`; ψ of held velocities where
   * `ofVelocities`; `idle` elsewhere.
   */
  velocities(at: Place, idle: tf.Tensor, ofVelocities: boolean, closed?: tf.Tensor): tf.Tensor;
  /**
   * Of shape [count]: G N w of rows that are held, of a change of velocity w; `idle` elsewhere. Undefined where φ' is affine in v, so
   * that a difference of `velocities` is the same: hidden states' rates need not be.
   */
  readonly changes?: (at: Place, w: tf.Tensor, idle: tf.Tensor) => tf.Tensor;
  /** The same for φ'' with the acceleration a. */
  accelerations(at: Place, a: tf.Tensor, idle: tf.Tensor, closed: tf.Tensor): tf.Tensor;
  /** [count], true in the rows of hard contacts that push: λ > 0 and the gap 0. */
  closed(at: Place, lambda: tf.Tensor, scale: RowScale): tf.Tensor;
  /** As `rows`, for the acceleration and multipliers at one instant: φ'' and ψ' of held rows in place of φ and ψ. */
  instant(at: Place, a: tf.Tensor, lambda: tf.Tensor, scale: RowScale, h: tf.Tensor): tf.Tensor;
  /** Coefficients that may be another number in every run. */
  coefficients(): Coefficients | undefined;
  /** [count] each, in units of velocity: the laws of impact and friction, and where they leave positions; see impact-law.ts. */
  impact(step: ImpactStep, multipliers: ImpactMultipliers, scale: RowScale): ImpactMultipliers;
  /** [6, count], see contact-laws.ts: the laws of Moreau's impacts as numbers, where all constraints are contacts, and many; undefined elsewhere. */
  laws(step: ImpactStep, multipliers: ImpactMultipliers, scale: RowScale): tf.Tensor | undefined;
}

/** A step from `start`, at its time, to `end`; positions move with the velocity `mean`. */
export interface ImpactStep {
  readonly start: Place;
  readonly end: Place;
  /** What the velocity would be at the end without contacts. */
  readonly free: tf.Tensor;
  readonly mean: tf.Tensor;
  /** By Poisson's law the velocity at the end of compression, with impulses of `ImpactMultipliers.compression` alone; undefined by Moreau's. */
  readonly compressed?: tf.Tensor;
  readonly h: tf.Tensor;
  /** How contacts yield while their forces are sought, see `StepPoint`. */
  readonly yielding: Yielding;
}

/** What contacts yield: relaxation (λ − anchor) + proximity (λ − last), times the velocity that a unit of them gives. */
export interface Yielding {
  /** [] */
  readonly relaxation: tf.Tensor;
  readonly proximity: tf.Tensor;
  /** The shape of λ. */
  readonly anchor: tf.Tensor;
  readonly last: tf.Tensor;
}

/** λ makes velocities, π moves positions, and the part of λ that compresses; likewise their rows. */
export interface ImpactMultipliers {
  readonly lambda: tf.Tensor;
  readonly pi: tf.Tensor;
  /** With `ImpactStep.compressed`. */
  readonly compression?: tf.Tensor;
}

/** Some of the forces of constraints, by their kinds. */
export const forces = {
  /** Of springs, one-sided ones too: they are weighed as forces are. */
  springs: ({law}: ConstraintKind): boolean => law !== undefined,
  rigid: ({law}: ConstraintKind): boolean => law === undefined,
  /** Of gaps of positions that are no springs. */
  rigidPositions: ({of, law}: ConstraintKind): boolean => of === 'positions' && law === undefined,
  held: ({holds}: ConstraintKind): boolean => holds === 'always',
  heldPositions: holdsPosition,
};

/** One constraint with its part of λ. */
interface Part extends Constraint {
  readonly index: number;
  readonly offset: number;
  readonly count: number;
}

/** The rows of each constraint, as its function gives them for tensors of a trace. */
export function constraintSizes(
  constraints: readonly Constraint[],
  at: Place,
  params: Params,
  motion?: ConstraintMotion,
): number[] {
  return constraints.map(
    (constraint, index) =>
      gapTensor(constraint, index, at, params, motion).size
      + (slipTensor(constraint, index, at, params, motion)?.size ?? 0),
  );
}

function gapTensor(
  {gap}: Constraint,
  index: number,
  {q, v, t}: Place,
  params: Params,
  motion?: ConstraintMotion,
): tf.Tensor {
  return within(`constraints[${index}]`, () => {
    const seen = motion === undefined ? {v} : (motion.seen(v) as {v: tf.Tensor});
    const value = immediate(gap({...seen, q, t, params}));
    if (!(value instanceof tf.Tensor) || value.rank > 1) {
      const got = value instanceof tf.Tensor ? `shape [${value.shape.join(', ')}]` : typeof value;
      throw new ShapeError(
        'constraint-shape',
        `constraints[${index}] must return a tensor of shape [m] or a scalar, one number a row; it returned ${got}.`,
        {constraint: index},
      );
    }
    return tf.reshape(value, [value.size]);
  });
}

/** [m, d] for m contacts; undefined of what has no friction. */
function slipTensor(
  {gap, contact}: Constraint,
  index: number,
  at: Place,
  params: Params,
  motion?: ConstraintMotion,
): tf.Tensor | undefined {
  const slip = contact?.slip;
  if (slip === undefined) return undefined;
  const {size} = gapTensor({gap} as Constraint, index, at, params, motion);
  return within(`constraints[${index}].slip`, () => {
    const seen = motion === undefined ? {v: at.v} : (motion.seen(at.v) as {v: tf.Tensor});
    const value = immediate(slip({...seen, q: at.q, t: at.t, params}));
    const fits = value instanceof tf.Tensor && (value.size === size || value.size === 2 * size);
    if (!fits || (value.rank > 0 && value.shape[0] !== size && value.size !== 2))
      throw new ShapeError(
        'constraint-shape',
        `constraints[${index}]: slip must return a tensor of shape [${size}] in the plane or [${size}, 2] in space, for ${size} contact${size === 1 ? '' : 's'}; it returned ${value instanceof tf.Tensor ? `shape [${value.shape.join(', ')}]` : typeof value}.`,
        {constraint: index},
      );
    return tf.reshape(value, [size, value.size / size]);
  });
}

/** At one instant no division by h² enlarges rounding, and a far smaller regularization tells redundant multipliers apart. */
const instantShare = 3e-3;

/**
 * @param sizes rows of each constraint, see `constraintSizes`
 * @param multiplierForce forces that read the multipliers: a part of the reaction
 */
export function constraintEquations(
  constraints: readonly Constraint[],
  sizes: readonly number[],
  params: Params,
  motion?: ConstraintMotion,
  multiplierForce?: Equations['multiplierForce'],
): Constraints {
  let count = 0;
  const parts = constraints.map((constraint, index): Part => {
    const offset = count;
    count += sizes[index];
    return {...constraint, index, offset, count: sizes[index]};
  });
  const own = (part: Part, vector: tf.Tensor): tf.Tensor =>
    part.count === count ? vector : tf.slice(vector, [part.offset], [part.count]);
  const value = (part: Part, at: Place): tf.Tensor => gapTensor(part, part.index, at, params, motion);
  const positionRate = ({q, v, t}: Place): tf.Tensor => (motion === undefined ? v : motion.positionRate(q, v, t));
  const collect = (row: (part: Part) => tf.Tensor): tf.Tensor =>
    parts.length === 1 ? row(parts[0]) : tf.concat(parts.map(row));
  const coefficient = (part: Part, name: CoefficientName): tf.Tensor =>
    coefficientTensor(part, part.index, name, params);
  const compliance = (part: Part): tf.Tensor => coefficient(part, 'compliance');
  /** dφ/dt or dψ/dt with q' = v, v' = a. */
  const rate = (part: Part, at: Place, a?: tf.Tensor): tf.Tensor => {
    const one = constantTensor(1, []);
    const positions = part.kind.of === 'positions';
    const q = positionRate(at);
    // A position that hidden states move goes with them.
    const drift = positions ? motion?.drift(at) : undefined;
    const direction: Tensors =
      drift !== undefined ? {q, t: one, v: drift} : positions ? {q, t: one} : {q, t: one, v: a ?? tf.zerosLike(at.v)};
    return derivativeAlong(
      place => value(part, {v: at.v, ...place} as unknown as Place),
      positions && drift === undefined ? {q: at.q, t: at.t} : {...at},
      direction,
    );
  };
  const second = (part: Part, at: Place, a: tf.Tensor): tf.Tensor =>
    derivativeAlong(
      place => rate(part, place as unknown as Place),
      {...at},
      {q: positionRate(at), v: a, t: constantTensor(1, [])},
    );
  /** (∂f/∂q)ᵀλ or (∂f/∂v)ᵀλ as a force on velocities. */
  const pushBy = (f: (at: Place) => tf.Tensor, moved: 'q' | 'v', at: Place, lambda: tf.Tensor): tf.Tensor => {
    const push = transposedProduct(place => f({...at, ...place}), {[moved]: at[moved]}, moved, lambda);
    if (motion === undefined) return push;
    return moved === 'v' ? motion.onVelocities(push) : motion.pushed(at, push);
  };
  const slip = (part: Part, at: Place): tf.Tensor | undefined => slipTensor(part, part.index, at, params, motion);
  const pushOf = (part: Part, at: Place, lambda: tf.Tensor): tf.Tensor => {
    const mine = own(part, lambda);
    const slipping = slip(part, at);
    if (slipping === undefined)
      return pushBy(place => value(part, place), part.kind.of === 'velocities' ? 'v' : 'q', at, mine);
    const {normal, tangential} = split(mine, slipping.shape as [number, number]);
    return tf.add(
      pushBy(place => value(part, place), 'q', at, normal),
      pushBy(place => slip(part, place) as tf.Tensor, 'v', at, tangential),
    );
  };
  const condition = (part: Part, gap: tf.Tensor, lambda: tf.Tensor, softness: tf.Tensor, give: tf.Tensor): tf.Tensor =>
    conditionTensor(part, {gap, lambda, compliance: compliance(part), softness, give});
  const row = (
    part: Part,
    at: Place,
    lambda: tf.Tensor,
    {position, velocity, give, regularization}: RowScale,
    spring: Place,
  ): tf.Tensor => {
    const gap = value(part, part.kind.law === undefined ? at : spring);
    const softness = tf.mul(regularization, give);
    if (part.kind.of === 'positions') return tf.div(condition(part, gap, lambda, softness, give), position);
    // In the unit of velocity what a multiplier gives is that of positions over the time that makes one of the other.
    const unit = tf.div(velocity, position);
    return tf.div(condition(part, gap, lambda, tf.mul(softness, unit), tf.mul(give, unit)), velocity);
  };
  const nearBorder = (part: Part, at: Place, mine: tf.Tensor, give: tf.Tensor, h: tf.Tensor | number): tf.Tensor => {
    const slipping = slip(part, at);
    const {normal, tangential} = split(mine, slipping?.shape as [number, number] | undefined);
    const scaled = (x: tf.Tensor | undefined): tf.Tensor | undefined => (x === undefined ? undefined : tf.mul(x, give));
    return joined(
      borderDistance(
        value(part, at),
        tf.mul(normal, give),
        slipping === undefined ? undefined : tf.mul(slipping, h),
        slipping === undefined ? undefined : scaled(tangential),
        coefficient(part, 'friction'),
      ),
    );
  };
  /** What a contact of this kind knows of a step; one without friction is a hard unilateral row. */
  const contactStep = (
    part: Part,
    step: ImpactStep,
    {lambda, pi, compression}: ImpactMultipliers,
    scale: RowScale,
  ): ContactStep => {
    const {start, end, mean, h, yielding, compressed} = step;
    const moving = (v: tf.Tensor): Place => ({...start, v});
    const slipping = slip(part, start);
    const unit = tf.mul(projectionScale, tf.div(scale.give, h));
    const parted = (all: tf.Tensor) => split(tf.mul(unit, own(part, all)), slipping?.shape as [number, number]);
    const [force, anchor, last, shift] = [lambda, yielding.anchor, yielding.last, pi].map(parted);
    const squeeze = compression === undefined ? undefined : parted(compression);
    const {relaxation, proximity} = yielding;
    const yields = (part: 'normal' | 'tangential'): tf.Tensor =>
      tf.add(tf.mul(relaxation, tf.sub(force[part], anchor[part])), tf.mul(proximity, tf.sub(force[part], last[part])));
    return {
      gap: value(part, start),
      before: rate(part, start),
      free: rate(part, moving(step.free)),
      after: rate(part, moving(end.v)),
      mean: rate(part, moving(mean)),
      slips:
        slipping === undefined
          ? undefined
          : {
              before: slipping,
              free: slip(part, moving(step.free)) as tf.Tensor,
              after: slip(part, moving(end.v)) as tf.Tensor,
              mean: slip(part, moving(mean)) as tf.Tensor,
            },
      friction: coefficient(part, 'friction'),
      restitution: coefficient(part, 'restitution'),
      push: force.normal,
      rub: slipping === undefined ? undefined : force.tangential,
      yields: {
        normal: yields('normal'),
        tangential: slipping === undefined ? undefined : yields('tangential'),
      },
      tie: tf.mul(proximity, borderWidth / derivativeSoftness),
      shove: shift.normal,
      drag: slipping === undefined ? undefined : shift.tangential,
      softness: tf.add(scale.regularization, tf.maximum(relaxation, contactSoftness)),
      h,
      compression:
        compressed === undefined || squeeze === undefined
          ? undefined
          : {
              after: rate(part, moving(compressed)),
              slip: slip(part, moving(compressed)),
              push: squeeze.normal,
              rub: slipping === undefined ? undefined : squeeze.tangential,
            },
    };
  };
  const laws: Constraints['laws'] = (step, multipliers, scale) => {
    const areContacts = parts.every(part => part.contact !== undefined || isHardContact(part));
    if (count < fewestRows || step.compressed !== undefined || !areContacts) return undefined;
    const {end} = step;
    const none = tf.zerosLike(end.v);
    const still = {...step, end: {...end, v: none}, mean: none};
    const each = parts.map(part => {
      const contact = contactStep(part, step, multipliers, scale);
      const terms = contactTerms(contact, contactStep(part, still, multipliers, scale));
      const [m, d] = [contact.gap.size, contact.slips?.after.shape[1] ?? 0];
      const owner = constantTensor(
        Float64Array.from({length: m * d}, (_, i) => part.offset + Math.floor(i / d)),
        [m * d],
      );
      const rows = (normal: tf.Tensor, tangential: tf.Tensor): tf.Tensor =>
        d === 0 ? normal : tf.concat([normal, tf.reshape(tangential, [m * d])]);
      const along = tf.tile(tf.expandDims(terms.dragged, 1), [1, Math.max(1, d)]);
      return tf.stack([
        joined(terms.apart),
        rows(terms.reach, tf.zeros([m * d])),
        rows(terms.friction, owner),
        rows(terms.pushed, along),
        rows(tf.zeros([m]), tf.ones([m * d])),
        tf.fill([m + m * d], 1).mul(tf.mul(contact.softness, tf.mul(projectionScale, tf.div(scale.give, step.h)))),
      ]);
    });
    return within('contacts', () => (each.length === 1 ? each[0] : tf.concat(each, 1)));
  };
  const impact: Constraints['impact'] = (step, multipliers, scale) => {
    const {start, end, h, compressed} = step;
    const unit = tf.div(scale.give, h);
    const soft = tf.mul(scale.regularization, unit);
    const rows = parts.map((part): ImpactMultipliers => {
      const mine = {lambda: own(part, multipliers.lambda), pi: own(part, multipliers.pi)};
      const squeeze = multipliers.compression === undefined ? undefined : own(part, multipliers.compression);
      if (part.contact !== undefined || isHardContact(part)) {
        const contact = contactStep(part, step, multipliers, scale);
        return {
          lambda: joined(impactRows(contact)),
          pi: joined(displacementRows(contact)),
          ...(contact.compression === undefined
            ? {}
            : {compression: joined(compressionRows(contact, contact.compression))}),
        };
      }
      // Joints are held in compression, too; springs give no impulse.
      const held = (v: tf.Tensor): tf.Tensor | undefined =>
        holdsPosition(part.kind)
          ? rate(part, {...start, v})
          : part.kind.of === 'velocities' && part.kind.holds === 'always'
            ? value(part, {...start, v})
            : undefined;
      const compression =
        compressed === undefined || squeeze === undefined
          ? {}
          : {compression: tf.add(held(compressed) ?? tf.mul(unit, squeeze), tf.mul(soft, squeeze))};
      if (holdsPosition(part.kind))
        return {
          lambda: tf.add(rate(part, {...start, v: end.v}), tf.mul(soft, mine.lambda)),
          pi: tf.add(tf.div(value(part, end), h), tf.mul(soft, mine.pi)),
          ...compression,
        };
      return {lambda: row(part, end, mine.lambda, scale, end), pi: tf.mul(unit, mine.pi), ...compression};
    });
    const all = (name: keyof ImpactMultipliers): tf.Tensor => {
      const each = rows.map(one => one[name]).filter(one => one !== undefined);
      return each.length === 1 ? each[0] : tf.concat(each);
    };
    const both = {lambda: all('lambda'), pi: all('pi')};
    return compressed === undefined ? both : {...both, compression: all('compression')};
  };
  return {
    count,
    coefficients: () => coefficientsOf(constraints, params),
    impact,
    laws,
    reaction: (at, lambda, of) => {
      const terms = parts.filter(({kind}) => of === undefined || of(kind)).map(part => pushOf(part, at, lambda));
      if (multiplierForce !== undefined && (of === undefined || of === forces.rigid))
        terms.push(multiplierForce(at, lambda));
      return terms.length === 0 ? tf.zerosLike(at.v) : terms.reduce((sum, term) => tf.add(sum, term));
    },
    rows: (at, lambda, scale, spring = at) => collect(part => row(part, at, own(part, lambda), scale, spring)),
    still: (at, displacement, lambda, scale) =>
      collect(part => {
        const gentle = {...scale, regularization: tf.mul(scale.regularization, instantShare)};
        if (part.kind.of === 'positions' || part.kind.holds === 'never')
          return row(part, at, own(part, lambda), gentle, at);
        const moved = tf.sub(value(part, {...at, v: displacement}), value(part, at));
        return condition(part, moved, own(part, lambda), tf.mul(gentle.regularization, scale.give), scale.give);
      }),
    touching: (at, lambda, {give, position}) =>
      !parts.some(({kind}) => kind.kinked)
        ? undefined
        : collect(part => {
            if (part.kind.kinked !== true) return tf.ones([part.count]);
            const mine = own(part, lambda);
            if (part.contact !== undefined) return nearBorder(part, at, mine, give, position);
            const gap = value(part, at);
            return tf.maximum(
              part.compliance === undefined ? gap : tf.add(gap, tf.mul(compliance(part), mine)),
              tf.mul(mine, give),
            );
          }),
    springs: at => collect(part => part.kind.law?.(value(part, at), compliance(part)) ?? tf.zeros([part.count])),
    blended: (at, lambda, alpha) =>
      collect(part => {
        const law = part.kind.law?.(value(part, at), compliance(part));
        const mine = own(part, lambda);
        return law === undefined ? mine : tf.add(tf.mul(law, 1 - alpha), tf.mul(mine, alpha));
      }),
    positions: (at, idle, give) =>
      collect(part => {
        if (holdsPosition(part.kind)) return value(part, at);
        const mine = own(part, idle);
        const apart = (pushing: tf.Tensor): tf.Tensor =>
          give === undefined ? tf.minimum(value(part, at), 0) : complementarity(value(part, at), pushing, give, 0);
        if (isHardContact(part)) return apart(mine);
        if (part.contact === undefined || give === undefined) return mine;
        const slipping = slip(part, at);
        if (slipping === undefined) return apart(mine);
        const {normal, tangential} = split(mine, slipping.shape as [number, number]);
        return joined({normal: apart(normal), tangential});
      }),
    depths: (at, h) => {
      if (parts.every(({contact}) => contact === undefined)) return undefined;
      return collect(part => {
        if (part.contact === undefined) return tf.zeros([part.count]);
        const gap = value(part, at);
        const bend = tf.abs(second(part, at, tf.zerosLike(at.v)));
        const depth = tf.minimum(tf.add(gap, tf.mul(tf.square(h), bend)), 0);
        return gap.size === part.count ? depth : tf.concat([depth, tf.zeros([part.count - gap.size])]);
      });
    },
    closed: (at, lambda, scale) =>
      collect(part => {
        if (!isHardContact(part)) return tf.zeros([part.count], 'bool');
        const mine = own(part, lambda);
        // The two sides of complementarity as lengths: the larger is the one that is not zero.
        const reach = tf.mul(tf.mul(mine, scale.give), tf.sub(1, scale.regularization));
        return tf.greater(reach, value(part, at));
      }),
    accelerations: (at, a, idle, closed) =>
      collect(part => {
        const mine = own(part, idle);
        if (holdsPosition(part.kind)) return second(part, at, a);
        return isHardContact(part) ? tf.where(own(part, closed), second(part, at, a), mine) : mine;
      }),
    changes:
      motion === undefined
        ? undefined
        : (at, w, idle) =>
            collect(part =>
              holdsPosition(part.kind)
                ? derivativeAlong(
                    place => value(part, {...at, ...place}),
                    {q: at.q},
                    {q: motion.positionRate(at.q, w, at.t)},
                  )
                : own(part, idle),
            ),
    velocities: (at, idle, ofVelocities, closed) =>
      collect(part => {
        const {of, holds} = part.kind;
        if (holdsPosition(part.kind)) return rate(part, at);
        if (closed !== undefined && isHardContact(part))
          return tf.where(own(part, closed), rate(part, at), own(part, idle));
        return of === 'velocities' && holds === 'always' && ofVelocities ? value(part, at) : own(part, idle);
      }),
    instant: (at, a, lambda, {regularization, give}, h) =>
      collect(part => {
        const mine = own(part, lambda);
        // At one instant there is no impulse.
        if (part.contact !== undefined) return mine;
        const positions = part.kind.of === 'positions';
        if (part.kind.holds === 'always') {
          const unit = tf.div(give, tf.square(h));
          return condition(
            part,
            positions ? second(part, at, a) : rate(part, at, a),
            mine,
            tf.mul(tf.mul(regularization, instantShare), unit),
            unit,
          );
        }
        // What one step of this acceleration does: for a gap h²a, for a velocity ha.
        const reach = positions ? tf.square(h) : h;
        const scale = positions ? give : tf.div(give, h);
        const gap = (): tf.Tensor => {
          if (part.kind.oneSided !== true) return value(part, at);
          // The gap after that step: rows far from contact stay open, closed ones may not sink further.
          if (!positions) return tf.add(value(part, at), tf.mul(h, rate(part, at, a)));
          return tf.addN([value(part, at), tf.mul(h, rate(part, at)), tf.mul(tf.square(h), second(part, at, a))]);
        };
        return tf.div(condition(part, gap(), mine, tf.mul(regularization, scale), scale), reach);
      }),
  };
}

/**
 * What λ is multiplied with, over what it gives a typical mass, before it is compared with velocities: any number has the same zeros, but not
 * the same Newton iteration. Of 30 boxes that tumble to rest, 200 steps each, as many met a step without convergence at the first try as
 * 27 (0.3), 10 (1) and 5 (3): a corner of a box gives way more easily than its centre.
 */
const projectionScale = 3;

/** λ_N [m] and λ_T [m, d] of one constraint's multipliers; all of them λ_N where there is no friction. */
function split(all: tf.Tensor, slips?: readonly [number, number]): {normal: tf.Tensor; tangential: tf.Tensor} {
  if (slips === undefined) return {normal: all, tangential: all};
  const [m, d] = slips;
  return {normal: tf.slice(all, [0], [m]), tangential: tf.reshape(tf.slice(all, [m], [m * d]), [m, d])};
}

const joined = ({normal, tangential}: ContactRows): tf.Tensor =>
  tangential === undefined ? normal : tf.concat([normal, tf.reshape(tangential, [tangential.size])]);

/** @throws ShapeError where the condition is not one number a row */
function conditionTensor({kind, index, count}: Part, at: GapAndMultiplier): tf.Tensor {
  return within(`constraints[${index}].condition`, () => {
    const value = immediate(kind.condition(at));
    if (!(value instanceof tf.Tensor) || value.size !== count || value.rank !== 1) {
      const got = value instanceof tf.Tensor ? `shape [${value.shape.join(', ')}]` : typeof value;
      throw new ShapeError(
        'constraint-shape',
        `constraints[${index}]: the condition of ${kind.name} must return a tensor of shape [${count}], one number per row, not ${got}.`,
        {constraint: index},
      );
    }
    return value;
  });
}
