/**
 * Contacts of `frictionalContact`, with Coulomb's friction where they have a slip velocity. Their multipliers are λ_N
 * [m], then λ_T [m, d]. Only steps of `moreau` know their law (contact.ts, impact-law.ts): at one instant there is no
 * impulse, and λ is zero.
 */
import * as tf from '@tensorflow/tfjs';
import type {Constraint} from '../constraint-kinds.js';
import type {PhasePoint, RowScale} from '../constraints.js';
import {borderDistance} from '../impact-law.js';
import {checked} from '../returned.js';
import {Contact, joined, split} from './contact.js';
import {gapTensor, ofPlace, velocitiesAt, type ConstraintContext} from './part.js';

export class FrictionalContact extends Contact {
  override reaction(at: PhasePoint, lambda: tf.Tensor): tf.Tensor {
    const own = this.own(lambda);
    const rows = this.velocityRows(at);
    if (rows !== undefined) return rows.transposed(own);
    const {normal, tangential} = split(own, this.slip(at));
    const pressed = this.force(place => this.gap(place), 'q', at, normal);
    if (tangential === undefined) return pressed;
    const rubbed = this.force(place => this.slip(place) as tf.Tensor, 'v', at, tangential);
    return tf.add(pressed, rubbed);
  }

  override degeneracyMargin(at: PhasePoint, lambda: tf.Tensor, {stepCompliance, position: h}: RowScale): tf.Tensor {
    const slip = this.slip(at);
    const {normal, tangential} = split(this.own(lambda), slip);
    const distance = {normal: this.yielding(this.gap(at), normal), tangential: slip && tf.mul(slip, h)};
    const force = {
      normal: tf.mul(normal, stepCompliance),
      tangential: tangential && tf.mul(tangential, stepCompliance),
    };
    return joined(borderDistance(distance, force, this.discs(at)));
  }

  override positions(at: PhasePoint, placeholder: tf.Tensor, give?: tf.Tensor): tf.Tensor {
    const own = this.own(placeholder);
    if (give === undefined) return own;
    const {normal, tangential} = split(own, this.slip(at));
    return joined({normal: this.unlessSprung(this.apart(at, normal, give), normal), tangential});
  }

  override penetration(at: PhasePoint, h: tf.Tensor): tf.Tensor {
    const gap = this.gap(at);
    const bend = tf.abs(this.second(at, tf.zerosLike(at.v)));
    const depth = this.unlessSprung(tf.minimum(tf.add(gap, tf.mul(tf.square(h), bend)), 0), tf.zerosLike(gap));
    return gap.size === this.count ? depth : tf.concat([depth, tf.zeros([this.count - gap.size])]);
  }

  override accelerationLevelRows(_at: PhasePoint, _a: tf.Tensor, lambda: tf.Tensor): tf.Tensor {
    return this.own(lambda);
  }

  protected override frictions(): readonly tf.Tensor[] {
    return (this.constraint.contact?.slips ?? []).map((_, k) => this.coefficient({friction: k}));
  }

  protected override slips(at: PhasePoint): readonly tf.Tensor[] {
    return slipTensors(this.constraint, this.place.index, at, this.context);
  }
}

/**
 * The velocities at a place that friction opposes, [m, d] each for m contacts.
 * @throws ShapeError where a function does not return one or two numbers a contact
 */
export function slipTensors(
  constraint: Constraint,
  index: number,
  at: PhasePoint,
  context: ConstraintContext,
): readonly tf.Tensor[] {
  const slips = constraint.contact?.slips ?? [];
  if (slips.length === 0) return [];
  const {size} = gapTensor(constraint, index, at, context);
  const {params, motion} = context;
  return slips.map(({slip}, k) =>
    ofPlace(context, `constraints[${index}].slip${k === 0 ? '' : ` ${k}`}`, at, place => {
      const result = slip({...velocitiesAt(place, motion), q: place.q, t: place.t, params});
      const value = checked(result, `constraints[${index}]: slip`, {
        code: 'constraint-shape',
        must: `a tensor of shape [${size}] in the plane or [${size}, 2] in space, one row for each contact`,
        fits: ({size: all, rank, shape}) =>
          (all === size || all === 2 * size) && (rank === 0 || shape[0] === size || all === 2),
        data: {constraint: index},
      });
      return tf.reshape(value, [size, value.size / size]);
    }),
  );
}
