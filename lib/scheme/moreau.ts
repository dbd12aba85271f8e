/**
 * Moreau's time stepping for contacts with friction and impacts (Moreau 1988; Jean 1999; equations.md §8): all
 * impacts and forces of a step are impulses of the step, found together, many at once. Positions are moved apart from
 * velocities, so that what lands within a step is where its impact would have led.
 */
import * as tf from '@tensorflow/tfjs';
import {oneOf, refuseUnknownOptions} from '../checks.js';
import type {ImpactStep} from '../system/constraints.js';
import type {Blocks} from '../system/equations.js';
import {impactBlocks} from '../system/contact-laws.js';
import {constraintsOf, instantBalance, rowScale} from './constrained.js';
import type {Formulation, Scheme, StepPoint} from './scheme.js';

/** The unknown's blocks beside v, a and λ, by short names in equations. */
const entries = Object.entries(impactBlocks);
const short = (z: Blocks): Blocks => ({...z, ...Object.fromEntries(entries.map(([name, block]) => [name, z[block]]))});
const named = (rows: Blocks): Blocks =>
  Object.fromEntries(
    Object.entries(rows).map(([name, row]) => [entries.find(([one]) => one === name)?.[1] ?? name, row]),
  );

/** The end of a step; q⁺ = q + h w. */
const end = ({v, mean}: Blocks, {x, t, h, retract}: StepPoint) => ({
  q: retract(x.q, tf.mul(h, mean)),
  v,
  t: tf.add(t, h),
});

/** M(v⁺ − v) − h f⁺, with the mass of the start, where contacts are seen too. */
const impulse = (z: Blocks, at: StepPoint): tf.Tensor => {
  const {q, v, t} = end(z, at);
  return tf.sub(at.mass(at.x.q, tf.sub(v, at.x.v)), tf.mul(at.h, at.force(q, v, t)));
};

/** Implicit Euler whose positions move with v⁺. */
const free: Formulation = {
  unknown: ['v'],
  supports: {kinematics: true},
  residual: ({v}, at) => ({v: impulse({v, mean: v}, at)}),
  update: ({v}, at) => ({q: end({v, mean: v}, at).q, v}),
};

/** @param a the acceleration without contacts at the start */
const impactStep = (z: Blocks, at: StepPoint, a: tf.Tensor): ImpactStep => ({
  start: {q: at.x.q, v: at.x.v, t: at.t},
  end: end(z, at),
  free: tf.add(at.x.v, tf.mul(at.h, a)),
  mean: z.mean,
  h: at.h,
  yielding: {...at.yielding, last: at.x.lambda},
});

/** With λ, and π, which moves positions. */
const impacts = (z: Blocks, at: StepPoint, a: tf.Tensor): Blocks => {
  const {x, h} = at;
  const constraints = constraintsOf(at);
  const step = impactStep(z, at, a);
  const pushed = (multiplier: tf.Tensor): tf.Tensor => tf.mul(h, constraints.reaction(step.start, multiplier));
  const motion = {
    v: tf.sub(impulse(z, at), pushed(z.lambda)),
    mean: tf.sub(at.mass(x.q, tf.sub(z.mean, z.v)), pushed(z.pi)),
  };
  const {lambda, pi, compression, compressed} = z as Partial<Blocks> & Blocks;
  if (compressed === undefined || compression === undefined)
    return {...motion, ...constraints.impact(step, {lambda, pi}, rowScale(at, h, 1))};
  return {
    ...motion,
    compressed: tf.sub(at.mass(x.q, tf.sub(compressed, x.v)), pushed(compression)),
    ...constraints.impact({...step, compressed}, {lambda, pi, compression}, rowScale(at, h, 1)),
  };
};

/** By Moreau's law of impact. */
const constrained: Formulation = {
  unknown: ['v', impactBlocks.mean],
  multipliers: ['lambda', impactBlocks.pi],
  supports: {kinematics: true, contacts: 'friction'},
  residual: (z, at) => named(impacts(short(z), at, at.acceleration(at.x.q, at.x.v, at.t))),
  update: (z, at) => ({q: end(short(z), at).q, v: z.v, lambda: z.lambda}),
  guess: ({x}) => ({z: {[impactBlocks.mean]: x.v}}),
};

/**
 * The laws of contacts with friction as numbers, of steps by Moreau's law of impact without joints: their forces may
 * be found by themselves (integrate/contact-impulses.ts).
 */
export const contactLaws = (z: Blocks, at: StepPoint): tf.Tensor | undefined =>
  impactBlocks.pi in z && !(impactBlocks.compression in z) && !(impactBlocks.bond in z)
    ? constraintsOf(at).laws(
        impactStep(short(z), at, at.acceleration(at.x.q, at.x.v, at.t)),
        {lambda: z.lambda, pi: z[impactBlocks.pi]},
        rowScale(at, at.h, 1),
      )
    : undefined;

/** By Poisson's: the velocity at the end of compression, and the impulses that lead to it, are found with the step. */
const inTwoPhases: Formulation = {
  ...constrained,
  unknown: ['v', impactBlocks.mean, impactBlocks.compressed],
  multipliers: ['lambda', impactBlocks.pi, impactBlocks.compression],
  guess: ({x}) => ({z: {[impactBlocks.mean]: x.v, [impactBlocks.compressed]: x.v}}),
};

/** Where there are joints, too: the acceleration without contacts obeys them, and is found with the step. */
const withJoints = (base: Formulation): Formulation => ({
  ...base,
  unknown: [...base.unknown, 'a'],
  multipliers: [...(base.multipliers ?? []), impactBlocks.bond],
  residual: (z, at) => {
    const bound = instantBalance(at, {q: at.x.q, v: at.x.v, t: at.t}, z.a, z[impactBlocks.bond]);
    return named({...impacts(short(z), at, z.a), a: bound.a, bond: bound.lambda});
  },
});

/** The law of restitution: of velocities (Moreau), or of impulses (Poisson). */
export type ImpactLaw = 'moreau' | 'poisson';

/**
 * Moreau's time stepping: M(v⁺ − v) = h f⁺ + h Gᵀλ with the laws of impact and friction of `frictionalContact` (and
 * of hard `unilateral` rows, which do not rebound) between v, v⁺ and λ. First order. Any number of impacts may fall
 * into a step, and nothing is located; λ is the mean force of the step, in the step of an impact its impulse over h.
 * @param options.impact what restitution e is of: 'moreau' (default; of one contact Newton's law) of velocities, u⁺ =
 *   −e u⁻; 'poisson' of impulses, at least e of what compression took is given back (Glocker & Pfeiffer 1995)
 * @throws OptionError 'bad-scheme'
 */
export function moreau(options: {readonly impact?: ImpactLaw} = {}): Scheme {
  refuseUnknownOptions(options, {impact: oneOf('moreau', 'poisson')}, 'moreau', 'bad-scheme');
  const base = options.impact === 'poisson' ? inTwoPhases : constrained;
  return {
    name: 'moreau',
    order: 1,
    mechanics: free,
    constrained: ({joints, stabilization}) => (stabilization !== 'none' ? undefined : joints ? withJoints(base) : base),
  };
}
