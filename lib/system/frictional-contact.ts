/**
 * Contact with Coulomb's friction and restitution as the user writes it: a gap, a slip velocity, and two coefficients.
 * What a step makes of them is in impact-law.ts.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {callable, list, optional, readOptions, requireValue, typed, type Options} from '../checks.js';
import {rowCoefficient} from './constraint-kinds.js';
import type {Compliance, Constraint, ConstraintKind, Gap, VelocityGap} from './constraint-kinds.js';
import type {Params, ParamsLike} from './params.js';

/** Steps of `moreau` alone know its law; at one instant there is no impulse, and its λ is zero. */
const kind: ConstraintKind = {
  name: 'frictionalContact',
  of: 'positions',
  holds: 'never',
  oneSided: true,
  kinked: true,
  condition: ({lambda, stepCompliance}) => tf.mul(lambda, stepCompliance),
};

const slipOptions = {slip: typed<(at: never) => tf.Tensor>(callable), friction: rowCoefficient()};

const contactOptions = {
  slip: optional(slipOptions.slip),
  friction: optional(slipOptions.friction),
  restitution: optional(rowCoefficient(1), 0),
  compliance: optional(rowCoefficient(), 0),
  turning: optional(typed<readonly Options<typeof slipOptions>[]>(list), []),
};

/**
 * Contacts with Coulomb's friction and restitution, for the scheme `moreau()`: 0 ≤ λ_N ⟂ φ ≥ 0, |λ_T| ≤ μ λ_N, and λ_T
 * opposes the slip if that is not zero; the speed after an impact is e times the speed before it. With a compliance C
 * the contact is a spring that pushes, 0 ≤ λ_N ⟂ φ + C λ_N ≥ 0 at the end of the step: it overlaps by C λ_N, and its
 * forces are told apart where those of rigid contacts are not. Steps longer than √(C m) damp its rebound, as implicit
 * Euler does. Its multipliers are λ_N [m], the forces along ∂φ/∂q, and then λ_T, those along ∂slip/∂v, by contact [m,
 * d]. One constraint may have several contacts.
 * @param phi the gap, [m] or a scalar, in units of length
 * @param spec.slip velocity in the tangent plane, linear in v: [m] (or a scalar) in the plane, [m, 2] in space, by two
 *   orthogonal directions; without it there is no friction
 * @param spec.friction μ, one number, one per contact, or a function of params; needs `slip`
 * @param spec.turning further velocities that friction opposes by the same normal force, each by itself, |λ_k| ≤ μ_k
 *   λ_N: r ω about two tangents against rolling, r ω about the normal against spinning, where r is a length of the body
 *   and μ_k the arm of the couple over r
 * @param spec.restitution e in [0, 1], likewise; default 0
 * @param spec.compliance C ≥ 0 [length/force], likewise; default 0, rigid. A contact with C > 0 has no part of
 *   `restitution`
 * @throws OptionError 'bad-constraint'
 */
export function frictionalContact<P extends ParamsLike<P> = Params, Z extends string = never>(
  phi: Gap<P, Z>,
  spec: {
    readonly slip?: VelocityGap<P, Z>;
    readonly friction?: Compliance<P>;
    readonly restitution?: Compliance<P>;
    readonly compliance?: Compliance<P>;
    readonly turning?: readonly {readonly slip: VelocityGap<P, Z>; readonly friction: Compliance<P>}[];
  } = {},
): Constraint<P, Z> {
  const name = 'frictionalContact';
  requireValue(phi, callable, name, 'bad-constraint');
  const read = readOptions(spec, contactOptions, name, 'bad-constraint');
  const {slip, friction, restitution, compliance, turning} = read;
  if ((slip === undefined) !== (friction === undefined)) {
    const missing =
      slip === undefined ? 'slip, a function of {q, v, t, params} giving tangential velocities,' : 'friction, μ,';
    throw new OptionError(
      'bad-constraint',
      `${name}: friction and slip must be given together; ${missing} is missing.`,
    );
  }
  if (typeof compliance === 'number' && typeof restitution === 'number' && compliance * restitution !== 0)
    throw new OptionError(
      'bad-constraint',
      `${name}: a contact with a compliance is a spring, and has no restitution: leave one of them out.`,
    );
  return {
    kind,
    gap: phi,
    ...(compliance === 0 ? {} : {compliance}),
    contact: {
      slips: [
        ...(slip === undefined || friction === undefined ? [] : [{slip, friction}]),
        ...turning.map((one, k) => readOptions(one, slipOptions, `${name}: turning[${k}]`, 'bad-constraint')),
      ],
      restitution,
    },
  };
}
