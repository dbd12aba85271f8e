/**
 * Coulomb's friction, the cone of it in space and no pyramid, and the laws of impact of Moreau and of Poisson as the
 * rows of a time step (equations.md §8), by the projections of Alart & Curnier (1991). Their zeros are those of the
 * second-order cone complementarity of De Saxcé (Acary & Brogliato, Numerical Methods for Nonsmooth Dynamical Systems,
 * 2008, §13).
 */
import * as tf from '@tensorflow/tfjs';

/** The next `width` columns of tangential rows, which obey Coulomb's law by themselves; μ is [] or [m]. */
export interface Disc {
  readonly width: number;
  readonly friction: tf.Tensor;
}

/** Normal and tangential parts of contacts, [m] and [m, d]; in units of velocity. */
export interface ContactRows {
  readonly normal: tf.Tensor;
  /** Undefined without friction. */
  readonly tangential: tf.Tensor | undefined;
}

/** Contacts of one constraint in a step. */
export interface ContactStep {
  /** φ at the start of the step. */
  readonly gap: tf.Tensor;
  /** φ' and slip at the start of the step, with its velocity, that at its end without contacts, and that at its end. */
  readonly before: ContactRows;
  readonly free: ContactRows;
  readonly after: ContactRows;
  /** φ' with the velocity that moves positions. */
  readonly mean: tf.Tensor;
  /** One for each friction of a contact. */
  readonly discs: readonly Disc[];
  readonly restitution: tf.Tensor;
  /** [m], of contacts that are springs: which of them, and the velocity C λ_N/h; undefined where all are rigid. */
  readonly spring: {is(): tf.Tensor; readonly yields: tf.Tensor} | undefined;
  /** λ as the velocities that it gives a typical mass in the step. */
  readonly force: ContactRows;
  /** Velocities by which the contact yields: a share of the forces' difference from their anchor; zero in the end. */
  readonly yields: ContactRows;
  /** For derivatives, the share of a force that is not told from zero; zero while forces are sought. */
  readonly tie: tf.Tensor;
  /** The multipliers that move positions, as `force`. */
  readonly shift: ContactRows;
  /** Share of the velocity that a multiplier of these gives which every row of positions yields. */
  readonly softness: tf.Tensor;
  readonly h: tf.Tensor;
  /** The end of compression by Poisson's law; undefined by Moreau's. */
  readonly compression: Compression | undefined;
}

/** The end of compression, when nothing has been given back. */
export interface Compression {
  /** φ' and slip with the velocity to which the impulses of compression alone have brought that of the step's start. */
  readonly after: ContactRows;
  readonly force: ContactRows;
}

/** The tangential parts of rows; undefined without friction. */
function tangentials(...rows: readonly ContactRows[]): tf.Tensor[] | undefined {
  const all = rows.flatMap(({tangential}) => tangential ?? []);
  return all.length === rows.length ? all : undefined;
}

/**
 * The laws of impact and friction. A contact closes in the step where φ + h u_f ≤ 0 with u_f the approach that forces
 * make of u⁻ by its end, and is touched after the share s of it, φ + s h u_f = 0. From there it leaves with −e times
 * the speed it came with, and forces act for the rest of the step: ũ = u⁺ − c with
 *
 *     c = max(0, −e (u⁻ + s (u_f − u⁻)) + (1 − s)(u_f − u⁻)).
 *
 * At rest c is zero. One that does not close may be pushed to, but no further: ũ = u⁺ + φ/h. One that is a spring of
 * compliance C gives way by what presses it and pushes back, by implicit Euler: ũ = u⁺ + φ/h + C λ_N/h. Then
 *
 *     min(ũ, r λ_N) = 0,     r λ_T = projection of r λ_T − ũ_T on the disc of radius μ (r λ_N − ũ)₊.
 *
 * At a border one derivative is taken: of min(0, 0) that of the open contact, on the disc's edge that of sticking.
 */
export function impactRows(step: ContactStep): ContactRows {
  if (step.compression !== undefined) return expansionRows(step, step.compression);
  const {force, after, yields} = step;
  const {leaves} = flight(step);
  const gained = sprung(step, tf.addN([after.normal, tf.neg(leaves.normal), yields.normal]));
  const pressed = tf.sub(force.normal, gained);
  const normal = tf.where(tf.greater(pressed, 0), gained, force.normal);
  const along = tangentials(force, after, leaves, yields);
  if (along === undefined) return {normal, tangential: undefined};
  const [rub, slip, away, yielding] = along;
  const moving = tf.addN([slip, tf.neg(away), yielding]);
  return {normal, tangential: rubbing(rub, moving, step.discs, friction => tf.mul(friction, tf.relu(pressed)))};
}

/**
 * Poisson's law in the two phases of Glocker & Pfeiffer (Nonlinear Dyn. 7, 1995). Compression, of what its contact
 * comes with, ũ = u_c + s (u_f − u⁻) where it closes, and of what another's impact presses, ũ = u_c + φ/h:
 *
 *     min(ũ, r Λ_c) = 0, and Coulomb's friction between the tangential ones.
 *
 * Impulses that are redundant are those of least norm by softness. A spring takes no part.
 */
export function compressionRows(step: ContactStep, compression: Compression): ContactRows {
  const {discs, softness} = step;
  const {after, force} = compression;
  const {closing, share} = flight(step);
  const gained = tf.add(approach(step, compression), tf.mul(softness, force.normal));
  const pressed = rigidOnly(step, tf.sub(force.normal, gained));
  const normal = tf.where(tf.greater(pressed, 0), gained, force.normal);
  const along = tangentials(force, after, step.free, step.before);
  if (along === undefined) return {normal, tangential: undefined};
  const [rub, slip, free, before] = along;
  const s = tf.expandDims(tf.where(closing, share, tf.zerosLike(share)), 1);
  const moving = tf.addN([slip, tf.mul(s, tf.sub(free, before)), tf.mul(softness, rub)]);
  return {normal, tangential: rubbing(rub, moving, discs, friction => tf.mul(friction, tf.relu(pressed)))};
}

/** Terms of the rows of contacts, [m], and [m, d] of tangential ones. */
export interface ContactTerms {
  /** Velocities of ũ = G v⁺ + `apart` in `impactRows`, without what yields. */
  readonly apart: ContactRows;
  /** φ/h + φ'(w) = G w + `reach` in `displacementRows`, [m]. */
  readonly reach: tf.Tensor;
  /** μ, [m]. */
  readonly friction: tf.Tensor;
  /** The share of λ_N that displaces, s or 1, and minus the share of λ_T, [m]. */
  readonly pushed: tf.Tensor;
  readonly dragged: tf.Tensor;
}

/**
 * Terms of the rows of Moreau's law besides G and the multipliers. All are known at the start of the step.
 * @param still `after` of the step with velocities of zero
 */
export function contactTerms(step: ContactStep, still: ContactRows): ContactTerms {
  const {leaves, share, arrives} = flight(step);
  const arriving = arrives();
  const m = step.gap.shape;
  const along = tangentials(still, leaves);
  return {
    apart: {
      normal: tf.sub(still.normal, leaves.normal),
      tangential: along && tf.sub(along[0], along[1]),
    },
    reach: unreached(step, tf.add(tf.div(step.gap, step.h), still.normal)),
    friction: step.discs.length === 0 ? tf.zeros(m) : tf.broadcastTo(step.discs[0].friction, m),
    pushed: tf.where(arriving, share, tf.onesLike(share)),
    dragged: tf.where(arriving, share, tf.zerosLike(share)),
  };
}

/** With what springs give way by. */
const sprung = ({spring}: ContactStep, u: tf.Tensor): tf.Tensor =>
  spring === undefined ? u : tf.add(u, spring.yields);

/** Zero of springs. */
const rigidOnly = ({spring}: ContactStep, x: tf.Tensor): tf.Tensor =>
  spring === undefined ? x : tf.where(spring.is(), tf.zerosLike(x), x);

/** ũ of compression. */
function approach(step: ContactStep, {after}: Compression): tf.Tensor {
  const {closing, share, reach} = flight(step);
  const forced = tf.sub(step.free.normal, step.before.normal);
  return tf.add(after.normal, tf.where(closing, tf.mul(share, forced), reach));
}

/** A velocity [m/s] that no gap closes with, in place of that at which a spring's does. */
const never = 1e30;

const unreached = ({spring}: ContactStep, u: tf.Tensor): tf.Tensor =>
  spring === undefined ? u : tf.where(spring.is(), tf.fill(u.shape, never), u);

/** ũ of expansion, and the impulse beyond what is given back. */
function departure(step: ContactStep, {force}: Compression): {readonly left: tf.Tensor; readonly beyond: tf.Tensor} {
  const {closing, reach} = flight(step);
  const back = tf.add(force.normal, tf.mul(step.restitution, force.normal));
  return {
    left: sprung(step, tf.add(step.after.normal, tf.where(closing, tf.zerosLike(reach), reach))),
    beyond: tf.sub(step.force.normal, back),
  };
}

/**
 * Expansion, with the forces of the step: at least e of the impulse of compression is given back,
 *
 *     min(ũ, r (λ_N − (1 + e) Λ_c)) = 0,
 *
 * ũ = u⁺ where the contact closes and u⁺ + φ/h elsewhere, and Coulomb's friction between the impulses beyond those of
 * compression. Where both are zero, as at a corner of a box that the others hold, the impulse ends at its bound, and
 * stays there: what the forces nearest to the last step's are off by decides otherwise.
 */
function expansionRows(step: ContactStep, compression: Compression): ContactRows {
  const {force, after, yields} = step;
  const {leaves} = flight(step);
  const {left, beyond} = departure(step, compression);
  const gained = tf.add(left, yields.normal);
  const pressed = tf.sub(beyond, gained);
  const more = tf.greater(pressed, tf.mul(step.tie, tf.relu(force.normal)));
  const normal = tf.where(more, gained, beyond);
  const along = tangentials(force, compression.force, after, leaves, yields);
  if (along === undefined) return {normal, tangential: undefined};
  const [rub, before, slip, away, yielding] = along;
  const back = tf.mul(step.restitution, tf.relu(compression.force.normal));
  const radius = (friction: tf.Tensor): tf.Tensor =>
    tf.mul(friction, tf.add(tf.where(more, pressed, tf.zerosLike(pressed)), back));
  const moving = tf.addN([slip, tf.neg(away), yielding]);
  return {normal, tangential: rubbing(tf.sub(rub, before), moving, step.discs, radius)};
}

/** Zero where a tangential impulse obeys Coulomb's law: it is in the disc, and on its edge against what slips. */
const rubbing = (
  rub: tf.Tensor,
  slip: tf.Tensor,
  discs: readonly Disc[],
  radius: (friction: tf.Tensor) => tf.Tensor,
): tf.Tensor =>
  tf.sub(
    rub,
    byDisc(discs, [tf.sub(rub, slip)], (friction, aimed) => onDisc(aimed, radius(friction))),
  );

/** [m, d] of the columns [m, d] that each of the discs has. */
function byDisc(
  discs: readonly Disc[],
  all: readonly tf.Tensor[],
  of: (friction: tf.Tensor, ...own: tf.Tensor[]) => tf.Tensor,
): tf.Tensor {
  if (discs.length === 1) return of(discs[0].friction, ...all);
  let from = 0;
  return tf.concat(
    discs.map(({width, friction}) => {
      const own = all.map(x => tf.slice(x, [0, from], [-1, width]));
      from += width;
      return of(friction, ...own);
    }),
    1,
  );
}

/**
 * Where positions end. An impact after the share s of the step has moved its body for the rest of it, so of its impulse
 * positions get the share 1 − s: a single contact has slipped with the velocity without contact before it, with that
 * after it for the rest, and φ⁺ = (1 − s) h u⁺. So velocity and position at the end are continuous functions of the
 * start, to the order of the scheme, when the impact moves from one step to the next, and derivatives are those of the
 * motion whose impacts are located. What does not arrive in the step gets as much as holds it, and everything as much
 * more as keeps it from its surface, with ρ = λ + π:
 *
 *     min(φ/h + φ'(w), r (ρ_N − (1 − s) λ_N)) = 0,     ρ_T = (1 − s) λ_T,
 *
 * and for what does not arrive
 *
 *     min(φ/h + φ'(w), r ρ_N) = 0,     ρ_T = λ_T.
 *
 * In the metric of the mass w is the nearest point of a convex set, which is there where nothing overlaps, so that it
 * is no faster than what moves. Equations in place of these inequalities ask for displacements that no rigid motion
 * has, and threw wedged balls metres away. A spring moves nothing, π = 0.
 */
export function displacementRows(step: ContactStep): ContactRows {
  const {gap, mean, force, shift, softness, h} = step;
  const {share, arrives} = flight(step);
  const arriving = arrives();
  const beyond = tf.add(shift.normal, tf.where(arriving, tf.mul(share, force.normal), force.normal));
  const reached = unreached(step, tf.addN([tf.div(gap, h), mean, tf.mul(softness, shift.normal)]));
  const normal = tf.where(tf.greater(beyond, reached), reached, beyond);
  const along = tangentials(shift, force);
  if (along === undefined) return {normal, tangential: undefined};
  const s = tf.expandDims(tf.where(arriving, share, tf.zerosLike(share)), 1);
  return {normal, tangential: tf.add(along[0], tf.mul(s, along[1]))};
}

/**
 * At rest the share s is a quotient of roundings, and the speed of approach is what the forces of the last step leave
 * of it, up to 10⁻⁹ of what forces make in a step: an impact comes, and leaves, with more than this share of that. So
 * rest does not creep, and contacts that do not move ask for nothing that contradicts another's rounding.
 */
const impactShare = 1e-6;

interface Flight {
  readonly closing: tf.Tensor;
  /** φ/h, or zero below the surface: what is there already may stay where it is. Of springs φ/h. */
  readonly reach: tf.Tensor;
  /** The reference of u⁺, c or −φ/h, and that of slip: the slip that forces cause after the contact has left. */
  readonly leaves: ContactRows;
  /** s. */
  readonly share: tf.Tensor;
  /** It comes to its surface rather than rests on it; or it is a spring, whose whole impulse displaces (s = 0). */
  arrives(): tf.Tensor;
}

/** The step as it would be without contact: does the gap close, when, and what follows of that. */
function flight({gap, before, free, restitution, spring, h}: ContactStep): Flight {
  const approach = free.normal;
  const arriving = tf.logicalAnd(tf.less(approach, 0), tf.lessEqual(tf.add(gap, tf.mul(h, approach)), 0));
  const closing = spring === undefined ? arriving : tf.logicalAnd(arriving, tf.logicalNot(spring.is()));
  const zero = tf.zerosLike(gap);
  const sinking = tf.where(closing, tf.neg(approach), tf.onesLike(approach));
  const share = tf.where(closing, tf.div(tf.relu(gap), tf.mul(h, sinking)), zero);
  const left = tf.sub(1, share);
  const forced = tf.sub(approach, before.normal);
  // Nothing is thrown back that was going apart when it touched.
  const came = tf.relu(tf.neg(tf.add(before.normal, tf.mul(share, forced))));
  const rebound = tf.relu(tf.add(tf.mul(restitution, came), tf.mul(left, forced)));
  const slips = tangentials(free, before);
  const jump = slips && tf.sub(slips[0], slips[1]);
  const made = tf.add(tf.square(forced), jump === undefined ? zero : tf.sum(tf.square(jump), 1));
  const felt = (speed: tf.Tensor): tf.Tensor => tf.greater(tf.square(speed), tf.mul(impactShare ** 2, made));
  const away = tf.where(tf.logicalAnd(closing, felt(rebound)), rebound, zero);
  const reach = tf.div(spring === undefined ? tf.relu(gap) : tf.where(spring.is(), gap, tf.relu(gap)), h);
  return {
    closing,
    reach,
    leaves: {
      normal: tf.where(closing, away, tf.neg(reach)),
      tangential: jump && tf.mul(tf.expandDims(tf.where(tf.greater(away, 0), left, zero), 1), jump),
    },
    share,
    arrives: () => (spring === undefined ? felt(came) : tf.logicalOr(spring.is(), felt(came))),
  };
}

/** The nearest point of the disc |x| ≤ radius; [m, d] and [m]. */
function onDisc(x: tf.Tensor, radius: tf.Tensor): tf.Tensor {
  const squares = tf.sum(tf.square(x), 1);
  const some = tf.greater(squares, 0);
  const length = tf.where(some, tf.sqrt(tf.where(some, squares, tf.onesLike(squares))), tf.ones(squares.shape));
  const inside = tf.logicalAnd(tf.greater(radius, 0), tf.lessEqual(squares, tf.square(radius)));
  return tf.mul(tf.expandDims(tf.where(inside, tf.onesLike(radius), tf.div(radius, length)), 1), x);
}

/** Sticking and sliding are not told apart within this share of μ λ_N: ten times what softness makes of it. */
export const borderWidth = 1e-6;

/** How far a contact is from its borders, as lengths: contact or none [m], stick or slip [m, d]. */
export function borderDistance(distance: ContactRows, force: ContactRows, discs: readonly Disc[]): ContactRows {
  const normalImpulse = force.normal;
  const normal = tf.maximum(distance.normal, normalImpulse);
  const along = tangentials(distance, force);
  if (along === undefined) return {normal, tangential: undefined};
  const size = (x: tf.Tensor): tf.Tensor => tf.sqrt(tf.sum(tf.square(x), 1));
  const tangential = byDisc(discs, along, (friction, moving, rub) => {
    const limit = tf.mul(friction, normalImpulse);
    const room = tf.sub(limit, size(rub));
    // Without a normal force, and without friction, there is neither.
    const none = tf.logicalNot(tf.greater(limit, 0));
    const sliding = tf.sub(tf.maximum(size(moving), room), tf.mul(borderWidth, limit));
    const least = tf.where(none, tf.onesLike(normalImpulse), sliding);
    return tf.tile(tf.expandDims(least, 1), [1, moving.shape[1] as number]);
  });
  return {normal, tangential};
}
