/**
 * Contacts with and without friction in a time step of `moreau`. The laws of impact are in impact-law.ts; their
 * velocities, impulses and coefficients are taken from a constraint here.
 */
import * as tf from '@tensorflow/tfjs';
import type {Node} from '../../graph/node.js';
import {OptionError} from '../../errors.js';
import {affineIn, isAffineIn, type AffineFunction, type Tensors} from '../../trace/differentials.js';
import {constantTensor, nodeOf} from '../../trace/trace.js';
import {complementarity} from '../constraint-kinds.js';
import type {ImpactMultipliers, ImpactStep, PhasePoint, RowScale} from '../constraints.js';
import {contactSoftness, derivativeSoftness} from '../contact-laws.js';
import {
  borderWidth,
  compressionRows,
  contactTerms,
  displacementRows,
  impactRows,
  type ContactRows,
  type ContactStep,
  type Disc,
} from '../impact-law.js';
import {ConstraintPart} from './part.js';

/**
 * Factor of λ, relative to the velocity it gives a typical mass, before it is compared with velocities. Any number has
 * the same zeros, but not the same Newton iteration. Of 30 boxes that tumble to rest, 200 steps each, as many met a
 * step without convergence at the first try as 27 (0.3), 10 (1) and 5 (3): a corner of a box gives way more easily than
 * its centre.
 */
const projectionScale = 3;

export abstract class Contact extends ConstraintPart {
  /** `velocityRows` of places that were asked for. */
  private readonly known: {readonly q: Node; readonly t: Node; readonly rows: AffineFunction | undefined}[] = [];

  /** The velocities that friction opposes, [m, d] each for m contacts; none without friction. */
  protected abstract slips(at: PhasePoint): readonly tf.Tensor[];

  /** μ of each. */
  protected abstract frictions(): readonly tf.Tensor[];

  /** All of them side by side. */
  protected slip(at: PhasePoint): tf.Tensor | undefined {
    const all = this.slips(at);
    return all.length < 2 ? all[0] : tf.concat([...all], 1);
  }

  /** Velocities of its rows, φ' and slip, by those of a place. */
  protected moving(at: PhasePoint): (v: tf.Tensor) => ContactRows {
    const rows = this.velocityRows(at);
    if (rows !== undefined) {
      const slip = this.slip(at);
      return v => split(rows.at(v), slip);
    }
    return v => ({normal: this.rate({...at, v}), tangential: this.slip({...at, v})});
  }

  /** φ' [m] and slip [m, d] at a place as affine functions of v; undefined if their operations do not show that. */
  protected velocityRows({q, v, t}: PhasePoint): AffineFunction | undefined {
    const [ofQ, ofT] = [q, t].map(nodeOf);
    const known = this.known.find(one => one.q === ofQ && one.t === ofT);
    if (known !== undefined) return known.rows;
    const f = (at: Tensors): tf.Tensor => {
      const place = at as unknown as PhasePoint;
      return joined({normal: this.rate(place), tangential: this.slip(place)});
    };
    const rows = affineIn(f, {q, v, t}, 'v');
    if (rows === undefined) this.requireLinearSlip({q, v, t});
    this.known.push({q: ofQ, t: ofT, rows});
    return rows;
  }

  /** @throws OptionError 'bad-constraint' */
  private requireLinearSlip({q, v, t}: PhasePoint): void {
    const slip = (at: Tensors): tf.Tensor => this.slip(at as unknown as PhasePoint) ?? v;
    if (isAffineIn(slip, {q, v, t}, 'v')) return;
    const {index} = this.place;
    throw new OptionError(
      'bad-constraint',
      `constraints[${index}]: slip must be linear in v, as its derivative by v is the direction of the friction. `
        + 'Here the derivative depends on v; for friction that changes with the speed write a force.',
      {constraint: index},
    );
  }

  protected discs(at: PhasePoint): Disc[] {
    const frictions = this.frictions();
    return this.slips(at).map(({shape}, k) => ({width: shape[1] as number, friction: frictions[k]}));
  }

  /** Whether what is known of its laws as numbers is all: there is one friction at most. */
  get simple(): boolean {
    return this.frictions().length < 2;
  }

  override impact(step: ImpactStep, multipliers: ImpactMultipliers, scale: RowScale): ImpactMultipliers {
    const contact = this.contactStep(step, multipliers, scale);
    const {compression} = contact;
    return {
      lambda: joined(impactRows(contact)),
      pi: joined(displacementRows(contact)),
      ...(compression === undefined ? {} : {compression: joined(compressionRows(contact, compression))}),
    };
  }

  /** [7, count], the rows of contact-laws.ts. @param still the step with velocities of zero at its end */
  laws(step: ImpactStep, still: ImpactStep, multipliers: ImpactMultipliers, scale: RowScale): tf.Tensor {
    const contact = this.contactStep(step, multipliers, scale);
    const terms = contactTerms(contact, this.contactStep(still, multipliers, scale).after);
    const [m, d] = [contact.gap.size, contact.after.tangential?.shape[1] ?? 0];
    const owner = constantTensor(
      Float64Array.from({length: m * d}, (_, i) => this.place.offset + Math.floor(i / d)),
      [m * d],
    );
    const rows = (normal: tf.Tensor, tangential: tf.Tensor): tf.Tensor =>
      d === 0 ? normal : tf.concat([normal, tf.reshape(tangential, [m * d])]);
    const {compliance} = this;
    const along = tf.tile(tf.expandDims(terms.dragged, 1), [1, Math.max(1, d)]);
    return tf.stack([
      joined(terms.apart),
      rows(terms.reach, tf.zeros([m * d])),
      rows(terms.friction, owner),
      rows(terms.pushed, along),
      rows(tf.zeros([m]), tf.ones([m * d])),
      tf
        .fill([m + m * d], 1)
        .mul(tf.mul(contact.softness, tf.mul(projectionScale, tf.div(scale.stepCompliance, step.h)))),
      rows(
        compliance === undefined ? tf.zeros([m]) : tf.div(tf.broadcastTo(compliance, [m]), step.h),
        tf.zeros([m * d]),
      ),
    ]);
  }

  /** A step as impact-law.ts sees it. */
  private contactStep(step: ImpactStep, multipliers: ImpactMultipliers, scale: RowScale): ContactStep {
    const {start, end, mean, h, yielding, compressed} = step;
    const {lambda, pi, compression} = multipliers;
    const moving = this.moving(start);
    const [before, free, after] = [start.v, step.free, end.v].map(moving);
    const slipping = before.tangential;
    const unit = tf.mul(projectionScale, tf.div(scale.stepCompliance, h));
    const parted = (all: tf.Tensor): ContactRows => split(tf.mul(unit, this.own(all)), slipping);
    const force = parted(lambda);
    const {relaxation, proximity} = yielding;
    const last = [force, parted(yielding.anchor), parted(yielding.last)];
    const yields = ([now, anchored, before]: readonly tf.Tensor[]): tf.Tensor =>
      tf.add(tf.mul(relaxation, tf.sub(now, anchored)), tf.mul(proximity, tf.sub(now, before)));
    return {
      gap: this.gap(start),
      before,
      free,
      after,
      mean: moving(mean).normal,
      discs: this.discs(start),
      restitution: this.coefficient('restitution'),
      spring: this.springs(lambda, slipping, h),
      force,
      yields: {
        normal: yields(last.map(({normal}) => normal)),
        tangential: slipping && yields(last.map(({tangential}) => tangential as tf.Tensor)),
      },
      tie: tf.mul(proximity, borderWidth / derivativeSoftness),
      shift: parted(pi),
      softness: tf.add(scale.regularization, tf.maximum(relaxation, contactSoftness)),
      h,
      compression:
        compressed === undefined || compression === undefined
          ? undefined
          : {after: moving(compressed), force: parted(compression)},
    };
  }

  /** Contacts with a compliance. */
  private springs(lambda: tf.Tensor, slipping: tf.Tensor | undefined, h: tf.Tensor): ContactStep['spring'] {
    const {compliance} = this;
    if (compliance === undefined) return undefined;
    const {normal} = split(this.own(lambda), slipping);
    const yields = tf.div(tf.mul(compliance, normal), h);
    return {is: () => tf.greater(tf.broadcastTo(compliance, normal.shape), 0), yields};
  }

  /** `sprung` for contacts that are springs, which may overlap, and `rigid` for others. */
  protected unlessSprung(rigid: tf.Tensor, sprung: tf.Tensor): tf.Tensor {
    const {compliance} = this;
    if (compliance === undefined) return rigid;
    return tf.where(tf.greater(tf.broadcastTo(compliance, rigid.shape), 0), sprung, rigid);
  }

  /** 0 ≤ λ_N ⟂ φ ≥ 0 as lengths. */
  protected apart(at: PhasePoint, pushing: tf.Tensor, give: tf.Tensor): tf.Tensor {
    return complementarity(this.gap(at), pushing, give, 0);
  }
}

/** λ_N [m] and λ_T [m, d] of one constraint's multipliers; λ_N alone where nothing slips. */
export function split(all: tf.Tensor, slip: tf.Tensor | undefined): ContactRows {
  if (slip === undefined) return {normal: all, tangential: undefined};
  const [m, d] = slip.shape as [number, number];
  return {normal: tf.slice(all, [0], [m]), tangential: tf.reshape(tf.slice(all, [m], [m * d]), [m, d])};
}

/** The reverse. */
export const joined = ({normal, tangential}: ContactRows): tf.Tensor =>
  tangential === undefined ? normal : tf.concat([normal, tf.reshape(tangential, [tangential.size])]);
