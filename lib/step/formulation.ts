/** Chooses a scheme's equations for a system: for its kind, its constraints, and the stabilization of the run. */
import type * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import type {Shape} from '../graph/node.js';
import {isHolonomic} from '../scheme/constrained-symplectic.js';
import {stabilized, withReactions} from '../scheme/constrained.js';
import type {Formulation, FormulationOf, Scheme, SystemTraits} from '../scheme/scheme.js';
import {usesTrialStep} from '../scheme/scheme.js';
import {withPast} from '../scheme/delayed.js';
import type {Division} from '../system/breaking-points.js';
import {holdsPosition, isContact, isHardContact} from '../system/constraint-kinds.js';
import type {Delays} from '../system/delays.js';
import {pastUnknown} from '../system/delays.js';
import type {Equations, UserBlock} from '../system/equations.js';
import type {MechanicalSystem} from '../system/mechanics.js';
import {isGeneral, isMassless, mechanicalEquations} from '../system/mechanics.js';
import type {Numeric} from '../system/numeric.js';
import {readNumeric} from '../system/numeric.js';
import {indexText} from '../system/places.js';
import type {OdeSystem} from '../system/ode.js';
import {odeEquations} from '../system/ode.js';
import type {Params} from '../system/params.js';
import {noiseEquations} from '../system/sde.js';
import type {SystemSwitches} from '../system/switches.js';

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
  own: readonly UserBlock[],
  readers?: ReadonlySet<number>,
  middle?: tf.Tensor,
): Equations {
  if (system.kind === 'mechanics') return mechanicalEquations(system, params, own, readers, middle);
  const {noise} = system;
  const equations = odeEquations(system, params, own[0].shape);
  return noise === undefined ? equations : {...equations, noise: noiseEquations(noise, params)};
}

/** Whether a system is integrated as M y' = f with a mass that may be singular. */
export const hasMassMatrix = (system: System): boolean =>
  system.kind === 'mechanics' ? isMassless(system) : system.mass !== undefined;

export const isConstrained = (system: System): boolean => system.kind === 'mechanics' && system.constraints.length > 0;

/** A scheme's formulation for a run, with what the run adds to it. */
export interface StepFormulation extends Formulation {
  /** An ode's for a mechanical system, whose whole state is its one block y. */
  readonly firstOrderForm?: boolean;
  /** Positions alone are held though steps change their length, which multipliers do not follow: the run says so. */
  readonly positionLevelOnly?: boolean;
  /** The scheme damps nothing, but with these constraints the energy of a conservative system drifts. */
  readonly energyDrifts?: boolean;
  /** Breaking points within the steps of a delay equation. */
  readonly stepDivision?: Division;
}

/** The highest index of M y' = f that a formulation integrates; 0: none. */
export const maxIndexOf = ({supports: {mass} = {}}: Formulation): 0 | 1 | 2 => (mass === 'steady' ? 1 : (mass ?? 0));

/** Options of a run for its constraints, in addition to the scheme. */
export interface ConstraintOptions {
  /**
   * Default: 'ggl' where the length of steps changes or the scheme is weakly unstable, if it has that and there are
   * bilateral rows; else 'projection' where there are hard contacts, and 'none' where there are not.
   */
  readonly stabilization?: SystemTraits['stabilization'];
  readonly consistent: 'check' | 'project';
  /** Steps are adaptive. */
  readonly adaptiveSteps?: boolean;
  /** The run begins anew where an input jumps. */
  readonly restartsAtJumps?: boolean;
  /** Time runs backwards, see time-direction.ts. */
  readonly backwards?: boolean;
  /** The length of steps, where it is constant: the past of a dde is kept by it. */
  readonly dt?: number;
  /** What is done about comparisons that make the system's functions jump; default 'ignore'. */
  readonly switches?: 'locate' | 'ignore';
  /** The switches that the steps hold, where a trace has found some. */
  readonly held?: SystemSwitches;
  /** When what the derivative of a dde reads jumps, ascending; none where that is not yet known. */
  readonly jumps?: Float64Array;
  /** Forces read the multipliers. */
  readonly readsMultipliers?: boolean;
}

/** Options of a run that sets none. */
export const defaultConstraintOptions: ConstraintOptions = {consistent: 'check'};

const defaultTraits: SystemTraits = {
  general: false,
  mass: false,
  joints: false,
  holonomic: false,
  readsMultipliers: false,
  stabilization: 'none',
};

const traitsOf = (
  system: System,
  stabilization: SystemTraits['stabilization'] = 'none',
  readsMultipliers = false,
): SystemTraits => ({
  general: system.kind === 'mechanics' && isGeneral(system),
  mass: hasMassMatrix(system),
  joints: system.kind === 'mechanics' && !system.constraints.every(isContact),
  holonomic: system.kind === 'mechanics' && system.constraints.every(({kind}) => holdsPosition(kind)),
  readsMultipliers,
  stabilization,
});

const selectFormulation = (formulation: FormulationOf | undefined, traits: SystemTraits): Formulation | undefined =>
  typeof formulation === 'function' ? formulation(traits) : formulation;

/** The equations that a scheme has for constraints, before they are stabilized; undefined where it holds none. */
export function constrainedOf({name, mechanics, constrained}: Scheme): FormulationOf | undefined {
  if (constrained !== undefined || typeof mechanics !== 'object') return constrained;
  return mechanics.multipliers === undefined ? undefined : withReactions(mechanics, name);
}

/**
 * Held at their positions alone, velocities and multipliers of most schemes depend on the last step's length: where it
 * changes from h⁻ to h, λ is off by a share of (h − h⁻)/h that no tolerance makes smaller, or swings (Gear, Gupta &
 * Leimkuhler 1985; Arnold & Brüls 2007), and so do estimates made of it.
 */
function defaultStabilization(
  scheme: Scheme,
  system: MechanicalSystem,
  adaptiveSteps: boolean | undefined,
): SystemTraits['stabilization'] {
  const constrained = constrainedOf(scheme);
  const has = (stabilization: SystemTraits['stabilization']): boolean =>
    typeof constrained !== 'function' || constrained(traitsOf(system, stabilization)) !== undefined;
  const {constraints} = system;
  // Where accelerations are the unknown and nothing is damped, λ oscillates without decay if only positions are held.
  const oscillates =
    typeof constrained === 'object' && constrained.unknown.includes('a') && scheme.dissipative !== true;
  if ((adaptiveSteps === true || oscillates) && constraints.some(({kind}) => holdsPosition(kind)) && has('ggl'))
    return 'ggl';
  return constraints.some(isHardContact) && has('projection') ? 'projection' : 'none';
}

const wrongScheme = (scheme: Scheme, why: string, data: object = {}): OptionError =>
  new OptionError('wrong-scheme', `Scheme ${scheme.name} ${why}`, {scheme: scheme.name, ...data});

/** @throws OptionError where the scheme has no such stabilization, or does not hold a contact */
function constrainedFormulation(
  scheme: Scheme,
  system: MechanicalSystem,
  {stabilization, adaptiveSteps, readsMultipliers}: ConstraintOptions,
): StepFormulation {
  const {constraints} = system;
  const form = constrainedOf(scheme);
  const withoutStabilization = selectFormulation(form, traitsOf(system, 'none', readsMultipliers));
  if (withoutStabilization === undefined)
    throw wrongScheme(
      scheme,
      form === undefined
        ? 'does not support constraints: choose an implicit one, such as generalizedAlpha(), implicitMidpoint() or '
            + 'radauIIA5().'
        : 'holds bilateral constraints alone, of systems without kinematics, hidden states and forces that read '
            + 'lambda: choose another scheme, such as generalizedAlpha() or implicitMidpoint().',
    );
  requireContacts(scheme, withoutStabilization, constraints);
  const byDefault = defaultStabilization(scheme, system, adaptiveSteps);
  const wanted = stabilization ?? byDefault;
  const selected = selectFormulation(form, traitsOf(system, wanted, readsMultipliers));
  if (selected === undefined)
    throw wrongScheme(
      scheme,
      `has no stabilization '${wanted}': it satisfies positions and velocities at the end of every step without `
        + 'it. Omit the option.',
      {stabilization: wanted},
    );
  const checked = requireKinematics(scheme, selected, system);
  const stable = typeof form === 'function' ? checked : stabilized(checked, wanted, constraints.some(isHardContact));
  return {
    ...stable,
    positionLevelOnly: wanted === 'none' && byDefault === 'ggl' && adaptiveSteps === true,
    energyDrifts:
      scheme.dissipative !== true
      && scheme.order > 1
      && constraints.some(({kind}) => kind.holds === 'always')
      && !constraints.some(isContact)
      && (typeof form === 'function'
        ? !isHolonomic(traitsOf(system, wanted, readsMultipliers))
        : wanted !== 'none' || checked.unknown.includes('a')),
  };
}

/** @throws OptionError 'wrong-scheme' where the scheme does not hold one of the contacts */
function requireContacts(
  scheme: Scheme,
  {supports: {contacts = 'hard'} = {}}: Formulation,
  constraints: MechanicalSystem['constraints'],
): void {
  const rubbing = contacts === 'friction' ? -1 : constraints.findIndex(({contact}) => contact !== undefined);
  if (rubbing >= 0)
    throw wrongScheme(
      scheme,
      `does not support impacts with friction, which constraints[${rubbing}] needs: use scheme moreau().`,
      {constraint: rubbing},
    );
  if (contacts === 'friction' || contacts === 'hard') return;
  const index = constraints.findIndex(
    constraint => constraint.kind.oneSided === true && (contacts === 'none' || isHardContact(constraint)),
  );
  if (index < 0) return;
  const remedy = contacts === 'none' ? '' : ' Or give it compliance or smoothing.';
  throw wrongScheme(
    scheme,
    `does not support the contact constraints[${index}]: choose one that stops what lands, such as `
      + `generalizedAlpha(), newmark() or implicitEuler().${remedy}`,
    {constraint: index},
  );
}

/**
 * After a projection, a step of order one takes half of a turning velocity's change from λ and leaves the other half
 * to the projection's own multiplier: on a circle λ is half of what holds (measured, for every h).
 * @param readers force terms that read multipliers
 * @throws OptionError 'wrong-scheme' where they would read that
 */
export function requireWholeMultipliers(
  scheme: Scheme,
  system: System,
  {stabilization, adaptiveSteps}: ConstraintOptions,
  readers: ReadonlySet<number>,
): void {
  if (readers.size === 0 || system.kind !== 'mechanics' || scheme.order > 1) return;
  const wanted = stabilization ?? defaultStabilization(scheme, system, adaptiveSteps);
  if (!wanted.startsWith('projection') || !system.constraints.some(({kind}) => holdsPosition(kind))) return;
  throw new OptionError(
    'wrong-scheme',
    `forces[${[...readers][0]}] reads lambda, but in a step of ${scheme.name} with stabilization '${wanted}' `
      + "lambda is only a part of the constraint force: use stabilization 'ggl', or a scheme of second order, such "
      + 'as generalizedAlpha().',
    {scheme: scheme.name, stabilization: wanted},
  );
}

/** @throws OptionError 'wrong-scheme' where there are hidden states or kinematics that the formulation does not take */
function requireKinematics(scheme: Scheme, formulation: Formulation, system: MechanicalSystem): Formulation {
  if (!isGeneral(system) || formulation.supports?.kinematics === true) return formulation;
  throw wrongScheme(
    scheme,
    'adds velocities to positions, and this system has '
      + `${system.kinematics === undefined ? 'hidden states' : 'kinematics'}: choose another scheme, such as `
      + 'generalizedAlpha() or radauIIA5(); or update positions by at.retract and declare '
      + 'supports: {kinematics: true}.',
  );
}

/**
 * @throws OptionError 'wrong-scheme' where a system has noise and the scheme none, the other way about, or another
 *   kind of it
 */
function requireNoise(scheme: Scheme, {supports: {noise: able} = {}}: Formulation, {noise}: OdeSystem): void {
  if (noise === undefined) {
    if (able !== undefined)
      throw wrongScheme(scheme, 'integrates sde({...}), and this system has no noise: choose another scheme.');
    return;
  }
  const {kind, calculus} = noise;
  if (able === undefined)
    throw wrongScheme(
      scheme,
      'cannot integrate sde({...}): choose a scheme of the group stochastic, such as stochastic.eulerMaruyama().',
    );
  if (!able.kinds.includes(kind))
    throw wrongScheme(
      scheme,
      `is for noise that is ${able.kinds.join(' or ')}, and this is ${kind}: choose another scheme.`,
    );
  if (kind !== 'additive' && able.calculus !== undefined && calculus !== able.calculus)
    throw wrongScheme(
      scheme,
      `is for ${calculusNames[able.calculus]} SDEs, and this one is in ${calculusNames[calculus ?? 'ito']} form: `
        + 'choose another scheme, or change the drift by ∓½ (∂g/∂y) g and say so.',
    );
}

const calculusNames = {ito: 'Itô', stratonovich: 'Stratonovich'} as const;
/**
 * @param what the scheme would have to integrate, and what to change otherwise
 * @throws OptionError 'wrong-scheme' where the scheme has no equations for M y' = f
 */
function requireMass(scheme: Scheme, formulation: Formulation | undefined, [what, otherwise] = anyMass): Formulation {
  if (formulation !== undefined && maxIndexOf(formulation) > 0) return formulation;
  throw wrongScheme(
    scheme,
    `does not integrate ${what}: choose radauIIA5(), kvaerno5(), kvaerno3(), sdirk2(), bdf2() or `
      + `implicitEuler(), of index 1 also gaussLegendre(), trapezoid() or theta(…) of at least ½; or ${otherwise}.`,
  );
}

const anyMass: readonly [string, string] = ["M y' = f with a mass", 'divide by a mass that has an inverse'];

/**
 * Coordinates without a mass: M v' = f beside q' = v, of index 1 where forces damp them and of index 2 where they do
 * not.
 * @throws OptionError 'wrong-scheme'
 */
function masslessFormulation(scheme: Scheme, system: MechanicalSystem): StepFormulation {
  if (isConstrained(system))
    throw new OptionError(
      'wrong-scheme',
      `mass${firstZero(system)} is 0, and coordinates without a mass cannot be combined with constraints: give `
        + 'every coordinate a mass, or write constraint and multiplier as ode({derivative, mass}).',
      {scheme: scheme.name},
    );
  const zeros = [`coordinates without a mass, and mass${firstZero(system)} is 0`, 'give it a positive mass'] as const;
  return {...requireMass(scheme, selectFormulation(scheme.ode, traitsOf(system)), zeros), firstOrderForm: true};
}

/** The index of the first zero of a mass that is given by numbers. */
function firstZero({mass}: MechanicalSystem): string {
  const {values, shape} = readNumeric(mass as Numeric, 'mass');
  return indexText(shape, values.indexOf(0));
}

/** @throws OptionError where the scheme is not for this kind of system */
export function formulationOf(
  scheme: Scheme,
  system: System,
  holding: ConstraintOptions = defaultConstraintOptions,
): StepFormulation {
  if (system.kind === 'mechanics' && isMassless(system)) return masslessFormulation(scheme, system);
  if (system.kind === 'mechanics' && isConstrained(system)) return constrainedFormulation(scheme, system, holding);
  const formulation = selectFormulation(scheme[system.kind], traitsOf(system));
  if (formulation === undefined) {
    const other = system.kind === 'ode' ? 'mechanics({...})' : 'ode(...)';
    throw wrongScheme(scheme, `integrates ${other}, not ${system.kind}: choose another scheme.`);
  }
  if (system.kind === 'mechanics') return unconstrainedFormulation(scheme, formulation, system);
  requireNoise(scheme, formulation, system);
  if (system.delays !== undefined) return delayFormulation(scheme, formulation, system.delays, holding);
  return system.mass === undefined ? formulation : requireMass(scheme, formulation);
}

/**
 * For a system without constraints: the formulation without its multipliers, or that of an ode where it does not take
 * the system.
 */
function unconstrainedFormulation(scheme: Scheme, formulation: Formulation, system: MechanicalSystem): StepFormulation {
  const own = {...formulation, multipliers: undefined};
  const whole = selectFormulation(scheme.ode, defaultTraits);
  return isGeneral(system) && own.supports?.kinematics !== true && whole !== undefined
    ? {...whole, firstOrderForm: true}
    : requireKinematics(scheme, own, system);
}

/**
 * @throws OptionError 'wrong-scheme' where a step depends on those before it, 'wrong-system' where steps have no
 *   constant length
 */
function delayFormulation(
  scheme: Scheme,
  formulation: Formulation,
  {lengths, longest, history}: Delays,
  {dt, jumps = new Float64Array(0)}: ConstraintOptions,
): StepFormulation {
  if (usesTrialStep(formulation, 'first'))
    throw wrongScheme(
      scheme,
      'uses the previous step, but steps of a dde restart at breaking points: choose a one-step scheme, such as '
        + 'tsit5(), rk4() or radauIIA5().',
    );
  if (dt === undefined) throw pastUnknown('This function');
  const moving = lengths.map(length => typeof length === 'function');
  const kept = {count: lengths.length, longest, ownHistory: history !== undefined};
  return withPast(formulation, scheme.order, {...kept, dt, jumps, moving});
}

/** Names of the user's blocks: q, v and hidden states, or y. */
export const stateBlocks = (system: System): readonly string[] =>
  system.kind === 'mechanics' ? ['q', 'v', ...Object.keys(system.states ?? {})] : ['y'];

/** The user's blocks where they all have one shape. */
export const blocksOfShape = (system: System, shape: Shape): UserBlock[] =>
  stateBlocks(system).map(name => ({name, shape}));

/** Which block of a scheme a block of the user's is a part of; itself where undefined. */
export function partOf(
  system: System,
  {firstOrderForm = false}: Pick<StepFormulation, 'firstOrderForm'>,
  name: string,
): string | undefined {
  if (system.kind !== 'mechanics') return undefined;
  if (firstOrderForm) return 'y';
  if (!isGeneral(system)) return undefined;
  return system.states === undefined || name === 'q' ? undefined : 'v';
}
