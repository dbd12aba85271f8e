/** Chooses a scheme's equations for a system: for its kind, its constraints, and the stabilization of the run. */
import type * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import type {Shape} from '../graph/node.js';
import {gearGuptaLeimkuhler, velocityProjection, velocityProjectionBefore} from '../scheme/constrained.js';
import type {Formulation, Scheme} from '../scheme/scheme.js';
import {withPast} from '../scheme/delayed.js';
import {asWhole} from '../scheme/scheme.js';
import {holdsPosition, isContact, isHardContact} from '../system/constraint-kinds.js';
import type {Delays} from '../system/delays.js';
import {pastUnknown} from '../system/delays.js';
import type {Equations, OwnBlock} from '../system/equations.js';
import type {MechanicalSystem} from '../system/mechanics.js';
import {isGeneral, isMassless, mechanicalEquations} from '../system/mechanics.js';
import type {Numeric} from '../system/numeric.js';
import {readNumeric} from '../system/numeric.js';
import {indexText} from '../system/places.js';
import type {OdeSystem} from '../system/ode.js';
import {odeEquations} from '../system/ode.js';
import type {Params} from '../system/params.js';
import {noiseEquations} from '../system/sde.js';

/** A system to simulate; made by `mechanics`, `ode`, `sde` or `dde`. P are the parameters that its functions read. */
export type System<P = Params> = MechanicalSystem<P> | OdeSystem<P>;

/**
 * @param own the state's blocks
 * @param readers force terms that read multipliers
 * @param middle the time of the middle of the step, where positions are moved
 */
export function equationsOf(
  system: System,
  params: Params,
  own: readonly OwnBlock[],
  readers?: ReadonlySet<number>,
  middle?: tf.Tensor,
): Equations {
  if (system.kind === 'mechanics') return mechanicalEquations(system, params, own, readers, middle);
  const {noise} = system;
  const equations = odeEquations(system, params, own[0].shape);
  return noise === undefined ? equations : {...equations, noise: noiseEquations(noise, params)};
}

/** It is integrated as M y' = f with a mass that may be singular. */
export const hasMass = (system: System): boolean =>
  system.kind === 'mechanics' ? isMassless(system) : system.mass !== undefined;

export const isConstrained = (system: System): boolean => system.kind === 'mechanics' && system.constraints.length > 0;

/** Options of a run for its constraints, in addition to the scheme. */
export interface Holding {
  /**
   * Default: 'ggl' where the length of steps changes or the scheme is weakly unstable, if it has that and there are
   * bilateral rows; else 'projection' where there are hard contacts, and 'none' where there are not.
   */
  readonly stabilization?: 'none' | 'projection' | 'projection-before' | 'ggl';
  readonly consistent: 'check' | 'project';
  /** Steps are adaptive. */
  readonly changingSteps?: boolean;
  /** The run begins anew where an input jumps. */
  readonly restarts?: boolean;
  /** Time runs backwards, see clock.ts. */
  readonly backwards?: boolean;
  /** The length of steps, where it is constant: the past of a dde is kept by it. */
  readonly dt?: number;
  /** When what the derivative of a dde reads jumps, ascending; none where that is not yet known. */
  readonly jumps?: Float64Array;
}

/** What a run asks that says nothing of it. */
export const plain: Holding = {consistent: 'check'};

/** GGL stabilizes bilateral rows; the velocity of contacts that close is projected with it. */
const stabilizations: {
  readonly [S in NonNullable<Holding['stabilization']>]: (base: Formulation, contacts: boolean) => Formulation;
} = {
  none: base => base,
  projection: velocityProjection,
  'projection-before': velocityProjectionBefore,
  ggl: (base, contacts) => (contacts ? velocityProjection(gearGuptaLeimkuhler(base), true) : gearGuptaLeimkuhler(base)),
};

/**
 * Held at their positions alone, velocities and multipliers of most schemes depend on the last step's length: where it
 * changes from h⁻ to h, λ is off by a share of (h − h⁻)/h that no tolerance makes smaller, or swings (Gear, Gupta &
 * Leimkuhler 1985; Arnold & Brüls 2007), and so do estimates made of it.
 */
function defaultStabilization(
  {stabilized, weaklyUnstable}: Scheme,
  {constraints}: MechanicalSystem,
  changing: boolean,
): NonNullable<Holding['stabilization']> {
  const contacts = stabilized?.projection !== null && constraints.some(isHardContact);
  const able = stabilized?.ggl !== null && constraints.some(({kind}) => holdsPosition(kind));
  return able && (changing || weaklyUnstable === true) ? 'ggl' : contacts ? 'projection' : 'none';
}

const hasHardContacts = (system: System): boolean =>
  system.kind === 'mechanics' && system.constraints.some(isHardContact);

/** @throws OptionError where the scheme has no such stabilization, or does not hold a contact */
function held(scheme: Scheme, system: MechanicalSystem, {stabilization, changingSteps = false}: Holding): Formulation {
  const {name, stabilized, contacts: able} = scheme;
  const constrained = moving(
    scheme,
    system.constraints.every(isContact) ? scheme.constrained : (scheme.jointed ?? scheme.constrained),
    system,
  );
  const rubbing = able === 'friction' ? -1 : system.constraints.findIndex(({contact}) => contact !== undefined);
  if (rubbing >= 0)
    throw new OptionError(
      'wrong-scheme',
      `Scheme ${name} does not support impacts with friction, which constraints[${rubbing}] needs: use scheme moreau().`,
      {scheme: name, constraint: rubbing},
    );
  const index =
    able === undefined || able === 'friction'
      ? -1
      : system.constraints.findIndex(
          constraint => constraint.kind.oneSided === true && (able === 'none' || isHardContact(constraint)),
        );
  if (index >= 0) {
    const remedy = able === 'none' ? '' : ' Or give it compliance or smoothing.';
    throw new OptionError(
      'wrong-scheme',
      `Scheme ${name} does not support the contact constraints[${index}]: choose one that stops what lands, such as generalizedAlpha(), newmark() or implicitEuler().${remedy}`,
      {scheme: name, constraint: index},
    );
  }
  if (constrained === undefined) {
    throw new OptionError(
      'wrong-scheme',
      `Scheme ${name} does not support constraints: choose an implicit one, such as generalizedAlpha(), implicitMidpoint() or radauIIA5().`,
      {scheme: name},
    );
  }
  const contacts = stabilized?.projection !== null && hasHardContacts(system);
  const wanted = stabilization ?? defaultStabilization(scheme, system, changingSteps);
  const own = wanted === 'none' ? undefined : moving(scheme, stabilized?.[wanted], system);
  if (own === null) {
    throw new OptionError(
      'wrong-scheme',
      `Scheme ${name} has no stabilization '${wanted}': it satisfies positions and velocities at the end of every step without it. Omit the option.`,
      {scheme: name, stabilization: wanted},
    );
  }
  if (wanted === 'none' && defaultStabilization(scheme, system, changingSteps) === 'ggl' && changingSteps)
    return {...constrained, positionsAlone: true};
  if (own === undefined) return stabilizations[wanted](constrained, contacts);
  return contacts ? velocityProjection(own, true) : own;
}

/**
 * After a projection, a step of order one takes half of a turning velocity's change from λ and leaves the other half to the
 * projection's own multiplier: on a circle λ is half of what holds (measured, for every h).
 * @param readers force terms that read multipliers
 * @throws OptionError 'wrong-scheme' where they would read that
 */
export function requireWholeMultipliers(
  scheme: Scheme,
  system: System,
  {stabilization, changingSteps = false}: Holding,
  readers: ReadonlySet<number>,
): void {
  if (readers.size === 0 || system.kind !== 'mechanics' || scheme.order > 1) return;
  const wanted = stabilization ?? defaultStabilization(scheme, system, changingSteps);
  if (!wanted.startsWith('projection') || !system.constraints.some(({kind}) => holdsPosition(kind))) return;
  throw new OptionError(
    'wrong-scheme',
    `forces[${[...readers][0]}] reads lambda, but in a step of ${scheme.name} with stabilization '${wanted}' lambda is only a part of the constraint force: use stabilization 'ggl', or a scheme of second order, such as generalizedAlpha().`,
    {scheme: scheme.name, stabilization: wanted},
  );
}

/**
 * The formulation itself, or what takes its place where there are hidden states or kinematics.
 * @throws OptionError 'wrong-scheme' where nothing does
 */
function moving<F extends Formulation | null | undefined>(
  {name}: Scheme,
  formulation: F,
  system: MechanicalSystem,
): F | Formulation {
  if (!isGeneral(system) || formulation === undefined || formulation === null) return formulation;
  const able = formulation.moves === true ? formulation : formulation.moving;
  if (able === undefined)
    throw new OptionError(
      'wrong-scheme',
      `Scheme ${name} adds velocities to positions, and this system has ${system.kinematics === undefined ? 'hidden states' : 'kinematics'}: choose another scheme, such as generalizedAlpha() or radauIIA5(); or update positions by at.moved and declare moves: true.`,
      {scheme: name},
    );
  return able.judges === 'positions' && system.states !== undefined
    ? {...able, error: undefined, errorOrder: undefined}
    : able;
}

/** @throws OptionError 'wrong-scheme' where a system has noise and the scheme none, the other way about, or another kind of it */
function requireNoise({name}: Scheme, {stochastic}: Formulation, {noise}: OdeSystem): void {
  const refuse = (why: string): never => {
    throw new OptionError('wrong-scheme', `Scheme ${name} ${why}`, {scheme: name});
  };
  if (noise === undefined) {
    if (stochastic !== undefined) refuse('integrates sde({...}), and this system has no noise: choose another scheme.');
    return;
  }
  const {kind, calculus} = noise;
  if (stochastic === undefined)
    return refuse(
      'knows no noise, and this system is an sde: choose eulerMaruyama(), stochasticHeun(), milstein(), sra1() or sri1().',
    );
  if (!stochastic.noise.includes(kind))
    refuse(`is for noise that is ${stochastic.noise.join(' or ')}, and this is ${kind}: choose another scheme.`);
  if (kind !== 'additive' && stochastic.calculus !== undefined && calculus !== stochastic.calculus)
    refuse(
      `integrates in the sense of ${calculusNames[stochastic.calculus]}, and this sde is meant in that of ${calculusNames[calculus ?? 'ito']}: choose another scheme, or change the drift by ∓½ (∂g/∂y) g and say so.`,
    );
}

const calculusNames = {ito: 'Itô', stratonovich: 'Stratonovich'} as const;
/**
 * @param what the scheme would have to integrate, and what to change otherwise
 * @throws OptionError 'wrong-scheme' where the scheme has no equations for M y' = f
 */
function massive({name}: Scheme, formulation: Formulation, [what, otherwise] = anyMass): Formulation {
  const able = (formulation.masses ?? 0) > 0 ? formulation : formulation.massive;
  if (able !== undefined) return able;
  throw new OptionError(
    'wrong-scheme',
    `Scheme ${name} does not integrate ${what}: choose radauIIA5(), kvaerno5(), kvaerno3(), sdirk2(), bdf2() or implicitEuler(), of index 1 also gaussLegendre(), trapezoid() or theta(…) of at least ½; or ${otherwise}.`,
    {scheme: name},
  );
}

const anyMass: readonly [string, string] = ["M y' = f with a mass", 'divide by a mass that has an inverse'];

/**
 * Coordinates without a mass: M v' = f beside q' = v, of index 1 where forces damp them and of index 2 where they do not.
 * @throws OptionError 'wrong-scheme'
 */
function withoutInertia(scheme: Scheme, system: MechanicalSystem): Formulation {
  if (isConstrained(system))
    throw new OptionError(
      'wrong-scheme',
      `mass${firstZero(system)} is 0, and coordinates without a mass cannot be combined with constraints: give every coordinate a mass, or write constraint and multiplier as ode({derivative, mass}).`,
      {scheme: scheme.name},
    );
  const zeros = [`coordinates without a mass, and mass${firstZero(system)} is 0`, 'give it a positive mass'] as const;
  return asWhole(massive(scheme, scheme.ode ?? {unknown: [], update: x => x}, zeros));
}

/** Where the mass, given by numbers, is 0, as an index. */
function firstZero({mass}: MechanicalSystem): string {
  const {values, shape} = readNumeric(mass as Numeric, 'mass');
  return indexText(shape, values.indexOf(0));
}

/** @throws OptionError where the scheme is not for this kind of system */
export function formulationOf(scheme: Scheme, system: System, holding: Holding = plain): Formulation {
  if (system.kind === 'mechanics' && isMassless(system)) return withoutInertia(scheme, system);
  if (system.kind === 'mechanics' && isConstrained(system)) {
    return held(scheme, system, holding);
  }
  const formulation = scheme[system.kind];
  if (formulation === undefined) {
    const other = system.kind === 'ode' ? 'mechanics({...})' : 'ode(...)';
    throw new OptionError(
      'wrong-scheme',
      `Scheme ${scheme.name} integrates ${other}, not ${system.kind}: choose another scheme.`,
      {scheme: scheme.name},
    );
  }
  if (system.kind === 'mechanics') return moving(scheme, formulation, system);
  requireNoise(scheme, formulation, system);
  if (system.delays !== undefined) return delayed(scheme, formulation, system.delays, holding);
  return system.mass === undefined ? formulation : massive(scheme, formulation);
}

/** @throws OptionError 'wrong-scheme' where a step depends on those before it, or a stage lies beyond its end, 'wrong-system' where there are no steps of constant length */
function delayed(
  {name, order}: Scheme,
  formulation: Formulation,
  {lengths, longest, history}: Delays,
  {dt, jumps = new Float64Array(0)}: Holding,
): Formulation {
  if (formulation.startsAhead === true)
    throw new OptionError(
      'wrong-scheme',
      `Scheme ${name} uses the previous step, but steps of a dde restart at breaking points: choose a one-step scheme, such as tsit5(), rk4() or radauIIA5().`,
      {scheme: name},
    );
  if (formulation.looksBeyond === true)
    throw new OptionError(
      'wrong-scheme',
      `Scheme ${name} has a stage beyond the end of its step. Between breaking points that lie close together it would read delayed states far outside the polynomials that hold them: choose kvaerno3() or radauIIA5().`,
      {scheme: name},
    );
  if (dt === undefined) throw pastUnknown('This function');
  const moving = lengths.map(length => typeof length === 'function');
  const kept = {count: lengths.length, longest, ownHistory: history !== undefined};
  return withPast(formulation, order, {...kept, dt, jumps, moving});
}

/** Names of the user's blocks: q, v and hidden states, or y. */
export const stateBlocks = (system: System): readonly string[] =>
  system.kind === 'mechanics' ? ['q', 'v', ...Object.keys(system.states ?? {})] : ['y'];

/** The user's blocks where they all have one shape. */
export const equalBlocks = (system: System, shape: Shape): OwnBlock[] =>
  stateBlocks(system).map(name => ({name, shape}));

/** Which block of a scheme a block of the user's is a part of; itself where undefined. */
export function partOf(system: System, {whole = false}: Pick<Formulation, 'whole'>, name: string): string | undefined {
  if (system.kind !== 'mechanics') return undefined;
  if (whole) return 'y';
  if (!isGeneral(system)) return undefined;
  return system.states === undefined || name === 'q' ? undefined : 'v';
}
