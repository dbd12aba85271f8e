/**
 * The rows of one constraint: its gap, the derivatives of the gap (taken from its graph), its force, and what its
 * kind's condition makes of them. As it stands this is a constraint that yields: a spring, a soft contact, a custom
 * kind with `holds: 'never'`. Joints and contacts, in the files beside this one, extend it with the equations in which
 * they take part; in the others their rows are those of `placeholder`. Methods have the names and arguments of
 * `Constraints`; they read the whole λ and return the constraint's own rows, [count].
 */
import * as tf from '@tensorflow/tfjs';
import {sameShape} from '../../graph/node.js';
import type {Tensors} from '../../trace/differentials.js';
import {derivativeAlong, tracedOnce, transposedProduct} from '../../trace/differentials.js';
import {constantTensor, within} from '../../trace/trace.js';
import {atStage, breaksRead} from '../breaks.js';
import {coefficientTensor, type CoefficientName} from '../coefficients.js';
import type {Constraint, ConstraintKind} from '../constraint-kinds.js';
import type {ConstraintMotion, ImpactMultipliers, ImpactStep, PhasePoint, RowScale} from '../constraints.js';
import type {Params} from '../params.js';
import {checked, returned} from '../returned.js';

/** Parameters and motion, common to the constraints of a system. */
export interface ConstraintContext {
  readonly params: Params;
  readonly motion?: ConstraintMotion | undefined;
}

/** Where a constraint stands among those of its system, and its multipliers in λ. */
export interface ConstraintPlace {
  readonly index: number;
  readonly offset: number;
  /** Its multipliers, and those of all constraints. */
  readonly count: number;
  readonly total: number;
}

/**
 * At one instant no division by h² enlarges rounding, and a far smaller regularization makes redundant multipliers
 * unique.
 */
const instantShare = 3e-3;

export class ConstraintPart {
  readonly kind: ConstraintKind;
  readonly count: number;

  constructor(
    protected readonly constraint: Constraint,
    protected readonly place: ConstraintPlace,
    protected readonly context: ConstraintContext,
  ) {
    this.kind = constraint.kind;
    this.count = place.count;
  }

  /** Gᵀλ of this constraint. */
  reaction(at: PhasePoint, lambda: tf.Tensor): tf.Tensor {
    const moved = this.kind.of === 'velocities' ? 'v' : 'q';
    return this.force(place => this.gap(place), moved, at, this.own(lambda));
  }

  rows(at: PhasePoint, lambda: tf.Tensor, scale: RowScale, spring: PhasePoint): tf.Tensor {
    const {position, velocity, stepCompliance, regularization} = scale;
    const own = this.own(lambda);
    const gap = this.gap(this.kind.law === undefined ? at : spring);
    const softness = tf.mul(regularization, stepCompliance);
    if (this.kind.of === 'positions') return tf.div(this.condition(gap, own, softness, stepCompliance), position);
    // A unit multiplier gives a velocity of `stepCompliance` divided by the time that relates the two units.
    const unit = tf.div(velocity, position);
    return tf.div(this.condition(gap, own, tf.mul(softness, unit), tf.mul(stepCompliance, unit)), velocity);
  }

  restRows(at: PhasePoint, _displacement: tf.Tensor, lambda: tf.Tensor, scale: RowScale): tf.Tensor {
    return this.rows(at, lambda, this.gentle(scale), at);
  }

  degeneracyMargin(at: PhasePoint, lambda: tf.Tensor, {stepCompliance}: RowScale): tf.Tensor {
    if (this.kind.kinked !== true) return tf.ones([this.count]);
    const own = this.own(lambda);
    const gap = this.gap(at);
    return tf.maximum(this.yielding(gap, own), tf.mul(own, stepCompliance));
  }

  /** Undefined of what is no spring. */
  spring(at: PhasePoint): tf.Tensor | undefined {
    return this.kind.law?.(this.gap(at), this.coefficient('compliance'));
  }

  averagedMultipliers(at: PhasePoint, lambda: tf.Tensor, alpha: number): tf.Tensor {
    const law = this.spring(at);
    const own = this.own(lambda);
    return law === undefined ? own : tf.add(tf.mul(law, 1 - alpha), tf.mul(own, alpha));
  }

  positions(_at: PhasePoint, placeholder: tf.Tensor, _give?: tf.Tensor): tf.Tensor {
    return this.own(placeholder);
  }

  /** Undefined of what has no friction. */
  penetration(_at: PhasePoint, _h: tf.Tensor): tf.Tensor | undefined {
    return undefined;
  }

  velocities(_at: PhasePoint, placeholder: tf.Tensor, _ofVelocities: boolean, _closed?: tf.Tensor): tf.Tensor {
    return this.own(placeholder);
  }

  velocityJacobianProduct(
    _at: PhasePoint,
    _w: tf.Tensor,
    placeholder: tf.Tensor,
    _motion: ConstraintMotion,
  ): tf.Tensor {
    return this.own(placeholder);
  }

  accelerations(_at: PhasePoint, _a: tf.Tensor, placeholder: tf.Tensor, _closed: tf.Tensor): tf.Tensor {
    return this.own(placeholder);
  }

  activeContacts(_at: PhasePoint, _lambda: tf.Tensor, _scale: RowScale): tf.Tensor {
    return tf.zeros([this.count], 'bool');
  }

  /** The effect of one step of this acceleration: h²a on a gap, ha on a velocity. */
  accelerationLevelRows(
    at: PhasePoint,
    a: tf.Tensor,
    lambda: tf.Tensor,
    {regularization, stepCompliance}: RowScale,
    h: tf.Tensor,
  ): tf.Tensor {
    const own = this.own(lambda);
    const positions = this.kind.of === 'positions';
    const reach = positions ? tf.square(h) : h;
    const scale = positions ? stepCompliance : tf.div(stepCompliance, h);
    return tf.div(
      this.condition(
        this.kind.oneSided === true ? this.oneSidedGap(at, a, h) : this.gap(at),
        own,
        tf.mul(regularization, scale),
        scale,
      ),
      reach,
    );
  }

  /** A spring gives no impulse: π and Λ_c are zero. */
  impact(step: ImpactStep, multipliers: ImpactMultipliers, scale: RowScale): ImpactMultipliers {
    const {end, h} = step;
    const lambda = this.rows(end, multipliers.lambda, scale, end);
    const pi = tf.mul(tf.div(scale.stepCompliance, h), this.own(multipliers.pi));
    return {lambda, pi, ...this.compression(step, multipliers, scale)};
  }

  protected compression(
    {start, compressed, h}: ImpactStep,
    {compression}: ImpactMultipliers,
    {stepCompliance, regularization}: RowScale,
  ): Pick<ImpactMultipliers, 'compression'> {
    if (compressed === undefined || compression === undefined) return {};
    const unit = tf.div(stepCompliance, h);
    const own = this.own(compression);
    const held = this.heldVelocity({...start, v: compressed}) ?? tf.mul(unit, own);
    return {compression: tf.add(held, tf.mul(tf.mul(regularization, unit), own))};
  }

  /** φ' or ψ where it is held at zero. */
  protected heldVelocity(_at: PhasePoint): tf.Tensor | undefined {
    return undefined;
  }

  /** φ or ψ, one number a row of the gap. */
  protected gap(at: PhasePoint): tf.Tensor {
    return gapTensor(this.constraint, this.place.index, at, this.context);
  }

  /** At an instant a spring has the force of its own gap; what does not give way is judged by the gap a step later. */
  private oneSidedGap(at: PhasePoint, a: tf.Tensor, h: tf.Tensor): tf.Tensor {
    const after = this.gapAfter(at, a, h);
    return this.kind.law === undefined
      ? after
      : tf.where(tf.greater(this.coefficient('compliance'), 0), this.gap(at), after);
  }

  /**
   * The gap after a step with the acceleration a: rows far from contact stay open, closed ones may not sink further.
   */
  private gapAfter(at: PhasePoint, a: tf.Tensor, h: tf.Tensor): tf.Tensor {
    if (this.kind.of === 'velocities') return tf.add(this.gap(at), tf.mul(h, this.rate(at, a)));
    return tf.addN([this.gap(at), tf.mul(h, this.rate(at)), tf.mul(tf.square(h), this.second(at, a))]);
  }

  /** φ', or ψ' with v' = a. */
  protected rate(at: PhasePoint, a?: tf.Tensor): tf.Tensor {
    const {motion} = this.context;
    const one = constantTensor(1, []);
    const positions = this.kind.of === 'positions';
    const q = this.positionRate(at);
    // A gap of positions that reads hidden states changes with them.
    const drift = positions ? motion?.drift(at) : undefined;
    const direction: Tensors =
      drift !== undefined ? {q, t: one, v: drift} : positions ? {q, t: one} : {q, t: one, v: a ?? tf.zerosLike(at.v)};
    return derivativeAlong(
      place => this.gap({v: at.v, ...place} as unknown as PhasePoint),
      positions && drift === undefined ? {q: at.q, t: at.t} : {...at},
      direction,
    );
  }

  /** φ'' with v' = a. */
  protected second(at: PhasePoint, a: tf.Tensor): tf.Tensor {
    return derivativeAlong(
      place => this.rate(place as unknown as PhasePoint),
      {...at},
      {q: this.positionRate(at), v: a, t: constantTensor(1, [])},
    );
  }

  private positionRate({q, v, t}: PhasePoint): tf.Tensor {
    const {motion} = this.context;
    return motion === undefined ? v : motion.positionRate(q, v, t);
  }

  /** (∂f/∂q)ᵀλ or (∂f/∂v)ᵀλ as a force on velocities. */
  protected force(f: (at: PhasePoint) => tf.Tensor, moved: 'q' | 'v', at: PhasePoint, lambda: tf.Tensor): tf.Tensor {
    const {motion} = this.context;
    const force = transposedProduct(place => f({...at, ...place}), {[moved]: at[moved]}, moved, lambda);
    if (motion === undefined) return force;
    return moved === 'v' ? motion.onVelocities(force) : motion.pushed(at, force);
  }

  /**
   * The condition of its kind, for gap and λ of its rows.
   * @throws ShapeError where it is not one number a row
   */
  protected condition(gap: tf.Tensor, lambda: tf.Tensor, softness: tf.Tensor, give: tf.Tensor): tf.Tensor {
    const {kind, count} = this;
    const {index} = this.place;
    const compliance = this.coefficient('compliance');
    return returned(
      `constraints[${index}].condition`,
      () => kind.condition({gap, lambda, compliance, softness, stepCompliance: give}),
      {
        code: 'constraint-shape',
        label: `constraints[${index}]: the condition of ${kind.name}`,
        must: `a tensor of shape [${count}], one number per row`,
        fits: ({shape}) => sameShape(shape, [count]),
        data: {constraint: index},
      },
    );
  }

  /** Its part of λ. */
  protected own(lambda: tf.Tensor): tf.Tensor {
    const {offset, count, total} = this.place;
    return count === total ? lambda : tf.slice(lambda, [offset], [count]);
  }

  protected coefficient(name: CoefficientName): tf.Tensor {
    return coefficientTensor(this.constraint, this.place.index, name, this.context.params);
  }

  /** Undefined of what was given none. */
  protected get compliance(): tf.Tensor | undefined {
    return this.constraint.compliance === undefined ? undefined : this.coefficient('compliance');
  }

  /** φ + Cλ */
  protected yielding(gap: tf.Tensor, lambda: tf.Tensor): tf.Tensor {
    const {compliance} = this;
    return compliance === undefined ? gap : tf.add(gap, tf.mul(compliance, lambda));
  }

  /** The scale at an instant. */
  protected gentle(scale: RowScale): RowScale {
    return {...scale, regularization: tf.mul(scale.regularization, instantShare)};
  }
}

/**
 * The gap of a constraint at a place, [m].
 * @throws ShapeError where its function does not return one number a row
 */
export function gapTensor({gap}: Constraint, index: number, at: PhasePoint, context: ConstraintContext): tf.Tensor {
  const {params, motion} = context;
  return ofPlace(context, `constraints[${index}]`, at, place => {
    const result = gap({...velocitiesAt(place, motion), q: place.q, t: place.t, params});
    const value = checked(result, `constraints[${index}]`, {
      code: 'constraint-shape',
      must: 'a tensor of shape [m] or a scalar, one number a row',
      fits: ({rank}) => rank <= 1,
      data: {constraint: index},
    });
    return tf.reshape(value, [value.size]);
  });
}

/**
 * A function of constraints at a place. It is traced once for all places of a step.
 * @param term its name in errors
 */
export function ofPlace(
  context: ConstraintContext,
  term: string,
  {q, v, t}: PhasePoint,
  f: (at: PhasePoint) => tf.Tensor,
): tf.Tensor {
  const before = breaksRead();
  return tracedOnce(
    context,
    term,
    at => within(term, () => atStage(at.t, () => f(at as unknown as PhasePoint))),
    {q, v, t},
    () => breaksRead() === before,
  );
}

/** v and the hidden states by name, as functions of users read them. */
export const velocitiesAt = ({v}: PhasePoint, motion: ConstraintMotion | undefined): {v: tf.Tensor} =>
  motion === undefined ? {v} : (motion.seen(v) as {v: tf.Tensor});
