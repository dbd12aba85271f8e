/**
 * Constraints on a mechanical system, M a = f + Gᵀλ (equations.md §1 and §4): what the user writes,
 * and the same as rows and reactions for a scheme. Rows are functions of tensors like forces; G, its
 * transpose and time derivatives are taken from their graphs.
 *
 * | kind       | condition              |
 * |------------|------------------------|
 * | bilateral  | φ(q, t) = 0            |
 * | compliant  | φ + Cλ = 0             |
 * | unilateral | 0 ≤ λ ⟂ φ + Cλ ≥ 0     |
 * | nonholonomic | ψ(q, v, t) = 0       |
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError, ShapeError} from '../errors.js';
import {nonNegative, numeric, refuseUnknownOptions, shown} from '../given.js';
import type {Tensors} from '../trace/differentials.js';
import {derivativeAlong, transposedProduct} from '../trace/differentials.js';
import {constantTensor, immediate, within} from '../trace/trace.js';
import type {Numeric} from './numeric.js';
import {isNumeric, readNumeric} from './numeric.js';
import type {Lenient, Params, ParamsLike} from './params.js';

/** The gap of a constraint: [m] or a scalar, in the unit of length (or angle) of q. */
export type Gap<P = Params> = (at: {q: tf.Tensor; t: tf.Tensor; params: P}) => tf.Tensor;
/** What a constraint on velocities keeps at zero: [m] or a scalar. */
export type VelocityGap<P = Params> = (at: {q: tf.Tensor; v: tf.Tensor; t: tf.Tensor; params: P}) => tf.Tensor;
/** Displacement for a unit multiplier, C ≥ 0: one number, or one a row; a function of params where it is to be found or differentiated. */
export type Compliance<P = Params> = Numeric | Lenient<P, tf.Tensor>;

/** What a constraint demands of its rows, see the table above. */
export type ConstraintKind = 'bilateral' | 'compliant' | 'unilateral' | 'nonholonomic';

/** Made by `bilateral`, `compliant`, `unilateral` and `nonholonomic`. P is what its functions read of the parameters. */
export interface Constraint<P = Params> {
  readonly kind: ConstraintKind;
  readonly gap: Lenient<{q: tf.Tensor; v: tf.Tensor; t: tf.Tensor; params: P}, tf.Tensor>;
  readonly compliance?: Compliance<P> | undefined;
  /** ε of the smoothed complementarity: gap·λ = ε² where they meet; 0 is exact. */
  readonly smoothing: number;
}

/**
 * φ(q, t) = 0, held by the force Gᵀλ with G = ∂φ/∂q.
 * @throws OptionError 'bad-constraint'
 */
export function bilateral<P extends ParamsLike<P> = Params>(phi: Gap<P>): Constraint<P> {
  return {kind: 'bilateral', gap: requireGap('bilateral', phi), smoothing: 0};
}

/**
 * φ + Cλ = 0: a spring of stiffness 1/C written as a constraint, which stays well conditioned as C → 0.
 * @throws OptionError 'bad-constraint'
 */
export function compliant<P extends ParamsLike<P> = Params>(phi: Gap<P>, spec: {readonly compliance: Compliance<P>}): Constraint<P> {
  requireGap('compliant', phi);
  refuseUnknownOptions(spec, {compliance: numeric}, 'compliant', 'bad-constraint');
  return {kind: 'compliant', gap: phi, compliance: requireCompliance('compliant', spec.compliance), smoothing: 0};
}

/**
 * 0 ≤ λ ⟂ φ + Cλ ≥ 0: contact, an end stop, a cable that goes slack. λ pushes along ∂φ/∂q and never
 * pulls; a row is released when it would. Solved with the Fischer–Burmeister function, exact by default;
 * with `smoothing` ε > 0 gap·λ = ε² in place of 0, differentiable across a change of contact.
 * @throws OptionError 'bad-constraint'
 */
export function unilateral<P extends ParamsLike<P> = Params>(phi: Gap<P>, spec: {readonly compliance?: Compliance<P>; readonly smoothing?: number} = {}): Constraint<P> {
  requireGap('unilateral', phi);
  refuseUnknownOptions(spec, {compliance: numeric, smoothing: nonNegative}, 'unilateral', 'bad-constraint');
  const {compliance, smoothing = 0} = spec;
  if (!(smoothing >= 0) || !Number.isFinite(smoothing)) throw new OptionError('bad-constraint', `unilateral: smoothing must be a number of at least 0, not ${shown(smoothing)}.`, {smoothing});
  const soft = compliance === undefined || compliance === 0 ? undefined : requireCompliance('unilateral', compliance);
  return {kind: 'unilateral', gap: phi, compliance: soft, smoothing};
}

/**
 * ψ(q, v, t) = 0: rolling, a driven velocity. Held by the force (∂ψ/∂v)ᵀλ.
 * @throws OptionError 'bad-constraint'
 */
export function nonholonomic<P extends ParamsLike<P> = Params>(psi: VelocityGap<P>): Constraint<P> {
  return {kind: 'nonholonomic', gap: requireGap('nonholonomic', psi), smoothing: 0};
}

const isExactContact = ({kind, smoothing}: Constraint): boolean => kind === 'unilateral' && smoothing === 0;

/** Neither a spring nor smoothed: what lands on it stops at once, and a velocity that points into it cannot be. */
export const isHardContact = ({kind, compliance, smoothing}: Constraint): boolean => kind === 'unilateral' && compliance === undefined && smoothing === 0;

function requireGap<T>(name: string, gap: T): T {
  if (typeof gap !== 'function') throw new OptionError('bad-constraint', `${name} takes a function of {q, ${name === 'nonholonomic' ? 'v, ' : ''}t, params} giving a tensor, not ${shown(gap)}.`);
  return gap;
}

function requireCompliance<P>(name: string, compliance: Compliance<P>): Compliance<P> {
  if (typeof compliance === 'function') return compliance;
  if (!isNumeric(compliance)) throw new OptionError('bad-constraint', `${name}: compliance must be a number, an array, a tensor or a function of params, not ${shown(compliance)}.`);
  const {values} = readNumeric(compliance, `${name}: compliance`);
  const bad = values.findIndex(c => !(c >= 0) || !Number.isFinite(c));
  if (bad >= 0) throw new OptionError('bad-constraint', `${name}: compliance must be finite and at least 0, not ${values[bad]}.`, {index: bad});
  return compliance;
}

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
  readonly relief: tf.Tensor;
}

/** The constraints of one system, λ in the order they were given. */
export interface Constraints {
  /** Numbers in λ. */
  readonly count: number;
  /**
   * Gᵀλ + ψ_vᵀλ, of the shape of q; of some kinds alone where `of` is given. There 'compliant' are all
   * springs, unilateral ones too.
   */
  reaction(at: Place, lambda: tf.Tensor, of?: readonly ConstraintKind[]): tf.Tensor;
  /**
   * [count], zero where the constraints hold with these multipliers.
   * @param spring where springs are met; default `at`
   */
  rows(at: Place, lambda: tf.Tensor, scale: RowScale, spring?: Place): tf.Tensor;
  /**
   * [count], as lengths: the larger of gap and multiplier of exact unilateral rows, which should not both
   * be zero; 1 elsewhere. Undefined where there are no such rows.
   */
  touching(at: Place, lambda: tf.Tensor, scale: RowScale): tf.Tensor | undefined;
  /** As `rows` at rest, in units of positions; nonholonomic rows for the displacement from `origin` in place of a velocity. */
  still(at: Place, origin: tf.Tensor, lambda: tf.Tensor, scale: RowScale): tf.Tensor;
  /** λ of springs at a place, −φ/C, of those that only push no less than 0; zero elsewhere. */
  springs(at: Place): tf.Tensor;
  /**
   * [count]: φ of bilateral rows, and of hard contacts what is below zero of it; `idle` elsewhere.
   * @param give where given, of hard contacts complementarity with the multiplier `idle` in place of
   *   that: the displacement of a unit of it
   */
  positions(at: Place, idle: tf.Tensor, give?: tf.Tensor): tf.Tensor;
  /**
   * [count]: φ' of bilateral rows, and of unilateral ones where `closed`; ψ of nonholonomic ones where
   * `nonholonomic`; `idle` elsewhere.
   */
  velocities(at: Place, idle: tf.Tensor, nonholonomic: boolean, closed?: tf.Tensor): tf.Tensor;
  /** The same for φ'' with the acceleration a. */
  accelerations(at: Place, a: tf.Tensor, idle: tf.Tensor, closed: tf.Tensor): tf.Tensor;
  /** [count], true in the rows of hard contacts that push: rigid and without smoothing, λ > 0 and the gap 0. */
  closed(at: Place, lambda: tf.Tensor, scale: RowScale): tf.Tensor;
  /** As `rows`, for the acceleration and multipliers at one instant: φ'' of bilateral rows and ψ' in place of φ and ψ. */
  instant(at: Place, a: tf.Tensor, lambda: tf.Tensor, scale: RowScale, h: tf.Tensor): tf.Tensor;

}

/** One constraint with its part of λ. */
interface Part extends Constraint {
  /** Which force it is: a unilateral row with compliance is a spring, 'compliant'. */
  readonly role: ConstraintKind;
  readonly index: number;
  readonly offset: number;
  readonly count: number;
}

/** The rows of each constraint, as its function gives them for tensors of a trace. */
export function constraintSizes(constraints: readonly Constraint[], at: Place, params: Params): number[] {
  return constraints.map((constraint, index) => gapTensor(constraint, index, at, params).size);
}

function gapTensor({gap}: Constraint, index: number, {q, v, t}: Place, params: Params): tf.Tensor {
  return within(`constraints[${index}]`, () => {
    const value = immediate(gap({q, v, t, params}));
    if (!(value instanceof tf.Tensor) || value.rank > 1) {
      const got = value instanceof tf.Tensor ? `shape [${value.shape.join(', ')}]` : typeof value;
      throw new ShapeError('constraint-shape', `constraints[${index}] must return a tensor of shape [m] or a scalar, one number a row; it returned ${got}.`, {constraint: index});
    }
    return tf.reshape(value, [value.size]);
  });
}

/** At one instant no division by h² enlarges rounding, and a far smaller relief tells redundant multipliers apart. */
const instantShare = 3e-3;

/** @param sizes rows of each constraint, see `constraintSizes` */
export function constraintEquations(constraints: readonly Constraint[], sizes: readonly number[], params: Params): Constraints {
  let count = 0;
  const parts = constraints.map((constraint, index): Part => {
    const offset = count;
    count += sizes[index];
    const role = constraint.kind === 'unilateral' && constraint.compliance !== undefined ? 'compliant' : constraint.kind;
    return {...constraint, role, index, offset, count: sizes[index]};
  });
  const own = (part: Part, vector: tf.Tensor): tf.Tensor => (part.count === count ? vector : tf.slice(vector, [part.offset], [part.count]));
  const value = (part: Part, at: Place): tf.Tensor => gapTensor(part, part.index, at, params);
  const collect = (row: (part: Part) => tf.Tensor): tf.Tensor => (parts.length === 1 ? row(parts[0]) : tf.concat(parts.map(row)));
  const compliance = (part: Part): tf.Tensor => complianceTensor(part, params);
  /** dφ/dt or dψ/dt with q' = v, v' = a. */
  const rate = (part: Part, at: Place, a?: tf.Tensor): tf.Tensor => {
    const one = constantTensor(1, []);
    const direction: Tensors = part.kind !== 'nonholonomic' ? {q: at.v, t: one} : {q: at.v, t: one, v: a ?? tf.zerosLike(at.v)};
    return derivativeAlong(place => value(part, {v: at.v, ...place} as unknown as Place), part.kind !== 'nonholonomic' ? {q: at.q, t: at.t} : {...at}, direction);
  };
  const second = (part: Part, at: Place, a: tf.Tensor): tf.Tensor =>
    derivativeAlong(place => rate(part, place as unknown as Place), {...at}, {q: at.v, v: a, t: constantTensor(1, [])});
  const pressure = (part: Part, gap: tf.Tensor, lambda: tf.Tensor, {give, relief}: RowScale): tf.Tensor => {
    const soft = part.compliance === undefined ? tf.mul(relief, give) : tf.add(compliance(part), tf.mul(relief, give));
    return complementarity(tf.add(gap, tf.mul(soft, lambda)), lambda, give, part.smoothing);
  };
  const row = (part: Part, at: Place, lambda: tf.Tensor, scale: RowScale, spring: Place): tf.Tensor => {
    const {position, velocity, give, relief} = scale;
    const held = tf.mul(tf.mul(relief, give), lambda);
    switch (part.kind) {
      case 'bilateral': return tf.div(tf.add(value(part, at), held), position);
      case 'compliant': return tf.div(tf.add(value(part, spring), tf.mul(compliance(part), lambda)), position);
      case 'unilateral': return tf.div(pressure(part, value(part, part.role === 'compliant' ? spring : at), lambda, scale), position);
      // In the unit of velocity the relief is that of positions over the time that makes one of the other.
      case 'nonholonomic': return tf.div(tf.add(value(part, at), tf.mul(held, tf.div(velocity, position))), velocity);
    }
  };
  return {
    count,
    reaction: (at, lambda, of) => {
      const terms = parts.filter(({role}) => of === undefined || of.includes(role)).map(part => {
        const moved = part.kind === 'nonholonomic' ? 'v' : 'q';
        return transposedProduct(place => value(part, {...at, ...place}), {[moved]: at[moved]}, moved, own(part, lambda));
      });
      return terms.length === 0 ? tf.zerosLike(at.q) : terms.reduce((sum, term) => tf.add(sum, term));
    },
    rows: (at, lambda, scale, spring = at) => collect(part => row(part, at, own(part, lambda), scale, spring)),
    still: (at, origin, lambda, scale) => collect(part => {
      const gentle = {...scale, relief: tf.mul(scale.relief, instantShare)};
      if (part.kind !== 'nonholonomic') return row(part, at, own(part, lambda), gentle, at);
      const moved = tf.sub(value(part, {...at, v: tf.sub(at.q, origin)}), value(part, at));
      return tf.add(moved, tf.mul(tf.mul(gentle.relief, scale.give), own(part, lambda)));
    }),
    touching: (at, lambda, {give}) => (!parts.some(isExactContact) ? undefined : collect(part => {
      if (!isExactContact(part)) return tf.ones([part.count]);
      const mine = own(part, lambda);
      const gap = value(part, at);
      return tf.maximum(part.compliance === undefined ? gap : tf.add(gap, tf.mul(compliance(part), mine)), tf.mul(mine, give));
    })),
    springs: at => collect(part => (part.role !== 'compliant' ? tf.zeros([part.count]) : springForce(part, value(part, at), compliance(part)))),
    positions: (at, idle, give) => collect(part => {
      if (part.kind === 'bilateral') return value(part, at);
      if (!isHardContact(part)) return own(part, idle);
      return give === undefined ? tf.minimum(value(part, at), 0) : complementarity(value(part, at), own(part, idle), give, 0);
    }),
    closed: (at, lambda, scale) => collect(part => {
      if (!isHardContact(part)) return tf.zeros([part.count], 'bool');
      const mine = own(part, lambda);
      // The two sides of complementarity as lengths: the larger is the one that is not zero.
      const reach = tf.mul(tf.mul(mine, scale.give), tf.sub(1, scale.relief));
      return tf.greater(reach, value(part, at));
    }),
    accelerations: (at, a, idle, closed) => collect(part => {
      const mine = own(part, idle);
      if (part.kind === 'bilateral') return second(part, at, a);
      return isHardContact(part) ? tf.where(own(part, closed), second(part, at, a), mine) : mine;
    }),
    velocities: (at, idle, nonholonomicToo, closed) => collect(part => {
      if (part.kind === 'bilateral') return rate(part, at);
      if (closed !== undefined && isHardContact(part)) return tf.where(own(part, closed), rate(part, at), own(part, idle));
      return part.kind === 'nonholonomic' && nonholonomicToo ? value(part, at) : own(part, idle);
    }),
    instant: (at, a, lambda, scale, h) => collect(part => {
      const mine = own(part, lambda);
      const yielding = tf.mul(tf.mul(tf.mul(scale.relief, instantShare), tf.div(scale.give, tf.square(h))), mine);
      switch (part.kind) {
        case 'bilateral': return tf.add(second(part, at, a), yielding);
        case 'nonholonomic': return tf.add(rate(part, at, a), yielding);
        case 'compliant': return tf.div(tf.add(value(part, at), tf.mul(compliance(part), mine)), tf.square(h));
        case 'unilateral': {
          // The gap after one step of this acceleration: rows far from contact stay open, closed ones may not sink further.
          const ahead = tf.addN([value(part, at), tf.mul(h, rate(part, at)), tf.mul(tf.square(h), second(part, at, a))]);
          return tf.div(pressure(part, ahead, mine, scale), tf.square(h));
        }
      }
    }),
  };
}

/** λ with φ + Cλ = 0; of a unilateral row with (φ + Cλ)λ = ε² and λ ≥ 0. */
function springForce({kind, smoothing}: Part, gap: tf.Tensor, compliance: tf.Tensor): tf.Tensor {
  if (kind === 'compliant') return tf.neg(tf.div(gap, compliance));
  if (smoothing === 0) return tf.div(tf.relu(tf.neg(gap)), compliance);
  return tf.div(tf.sub(tf.sqrt(tf.add(tf.square(gap), tf.mul(compliance, 4 * smoothing ** 2))), gap), tf.mul(2, compliance));
}

function complianceTensor({compliance, index}: Part, params: Params): tf.Tensor {
  if (typeof compliance === 'function') {
    return within(`constraints[${index}].compliance`, () => {
      const value = immediate(compliance(params));
      if (!(value instanceof tf.Tensor)) throw new ShapeError('constraint-shape', `constraints[${index}]: compliance must return a tensor, not ${typeof value}.`, {constraint: index});
      return value;
    });
  }
  if (compliance instanceof tf.Tensor) return compliance;
  const {values, shape} = readNumeric(compliance ?? 0, 'compliance');
  return constantTensor(values, shape);
}

/**
 * Below this (the least that float32 holds with all its digits, and a share of 1e-18 of anything that
 * matters) a² + b² counts as zero under the root, whose derivative there is infinite: with a row at
 * rest exactly between contact and none, the derivative taken is (1, 1), one of the generalized ones.
 */
const grazing = 1e-36;

/**
 * Fischer–Burmeister: a + b − √(a² + b² + 2ε²) with a = gap/√give and b = λ√give, which share the unit
 * √(gap·λ), so that neither drowns the other and ab = ε² means gap·λ = ε². In the unit of the gap.
 */
function complementarity(gap: tf.Tensor, lambda: tf.Tensor, give: tf.Tensor, smoothing: number): tf.Tensor {
  const root = tf.sqrt(give);
  const a = tf.div(gap, root);
  const b = tf.mul(lambda, root);
  const squares = tf.addN([tf.square(a), tf.square(b), tf.mul(tf.onesLike(a), 2 * smoothing ** 2)]);
  return tf.mul(root, tf.sub(tf.add(a, b), tf.sqrt(tf.maximum(squares, grazing))));
}
