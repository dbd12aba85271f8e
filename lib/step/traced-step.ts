/** A step as nodes over shared inputs: the result of tracing, from which everything else is derived. */
import type {OptionError} from '../errors.js';
import type * as tf from '@tensorflow/tfjs';
import type {Node, Shape} from '../graph/node.js';
import type {Division} from '../system/breaking-points.js';
import type {Breaks} from '../system/breaks.js';
import type {CoefficientValues} from '../system/coefficients.js';
import type {Leaf} from '../system/params.js';
import type {SwitchEvent, SystemSwitches} from '../system/switches.js';
import type {TimeDirection} from './time-direction.js';
import type {Layout} from './layout.js';
import type {StepFunctions} from './step-functions.js';

/** Something the program reads and gradients reach: a leaf of the parameters, or a captured tensor. */
export interface TracedParameter {
  readonly node: Node<'input'>;
  readonly leaf?: Leaf;
  /** A captured tensor or variable; its value is read in every run. */
  readonly tensor?: tf.Tensor;
}

/** What the functions of a step read beside the parameters, each by its own name. */
export interface StepInputs {
  /**
   * The state at the step's beginning, the unknown, the time and the length; of `observed` alone the time is the
   * user's, else the clock's.
   */
  readonly x: Node<'input'>;
  readonly z: Node<'input'>;
  readonly t: Node<'input'>;
  readonly h: Node<'input'>;
  /** z and the intermediate values, of `extended` alone. */
  readonly unknowns?: Node<'input'>;
  /** How far the guess breaks the kinematics. */
  readonly defect?: Node<'input'>;
  /** Inputs of dense output: θ within the step, the state at its end, and the interpolant (interpolant.ts). */
  readonly theta?: Node<'input'>;
  readonly next?: Node<'input'>;
  readonly inside?: Node<'input'>;
  /** The side of zero on which each event's function begins the step (idle.ts), [events]. */
  readonly sides?: Node<'input'>;
  /** A displacement of the state for a filtered error estimate, [own size]. */
  readonly shift?: Node<'input'>;
  /** See `StepPoint.projection`. */
  readonly projection?: Node<'input'>;
  /** The last step's unknown, this step's start as θ of the last step, and the ratio of their lengths. */
  readonly lastUnknown?: Node<'input'>;
  readonly lastTheta?: Node<'input'>;
  readonly lengthRatio?: Node<'input'>;
}

/** Properties of a step's error estimate. */
export interface ErrorInfo {
  /**
   * Powers of h by block of the state: an error δ of a stage is about h^power·δ there. For stages that are solved as
   * far as the step's tolerance asks.
   */
  readonly stageErrorEffects?: {readonly [block: string]: number};
  /** The components with an error estimate, [own size]. */
  readonly errorMask?: Uint8Array;
  /** The order of the estimate in h. */
  readonly errorOrder: number;
}

/** How often a step asks for the system's right-hand side (its forces, its derivative). */
export interface Evaluations {
  /** Evaluations at the step's start: at most one. */
  readonly start: number;
  /** Evaluations elsewhere, by the update and by one residual. */
  readonly update: number;
  readonly residual: number;
}

/** One step: its functions, what they read, and what is known of them. */
export interface TracedStep extends TimeDirection {
  readonly name: string;
  readonly order: number;
  /** See `StepFormulation`. */
  readonly positionLevelOnly?: boolean;
  readonly energyDrifts?: boolean;
  readonly stepDivision?: Division;
  readonly state: Layout;
  readonly unknown: Layout;
  readonly parameters: readonly TracedParameter[];
  readonly inputs: StepInputs;
  readonly functions: StepFunctions;
  /** The shape of `observed`, which is flat. */
  readonly observedShape?: Shape;
  /** See `MechanicalSystem.notFinite`. */
  readonly notFinite?: string;
  /** See `MechanicalSystem.freeMotion`. */
  readonly freeMotion?: string;
  /** See `MechanicalSystem.nearNullSpace`. */
  readonly nearNullSpace?: () => readonly Float64Array[];
  /** See `Scheme.dissipative`. */
  readonly dissipative?: boolean;
  /** See `Guess.linearized`. */
  readonly linearized?: boolean;
  /** The step is a run's start. */
  readonly isInitialStep?: boolean;
  /** The run computes an equilibrium, from a start that need not obey the constraints; of the start. */
  readonly isEquilibrium?: boolean;
  /** The start of a multistep scheme takes the first step on trial, to make its history; of the start. */
  readonly usesTrialStep?: boolean;
  /** The highest index of M y' = f that the scheme integrates; of the start. */
  readonly maxIndex?: 0 | 1 | 2;
  /** What `coefficients` are the values of; of the start. */
  readonly coefficients?: readonly CoefficientValues[];
  /** Switches whose modes are a part of the state, one line for each of their borders. */
  readonly switches?: readonly SwitchEvent[];
  /** Names of switches that should be located, and cannot be. */
  readonly ignoredSwitches?: readonly string[] | undefined;
  /** Names of jumps that have no border by which they could be located. */
  readonly unlocatedJumps?: readonly string[] | undefined;
  /** Present if the run requests an error estimate, dense output or events. */
  readonly errorInfo?: ErrorInfo;
  readonly evaluations: Evaluations;
}

/** A run's two kinds of step: the one that begins it, from the user's own blocks to the whole state, and all others. */
export interface TracedRun {
  readonly start: TracedStep;
  readonly step: TracedStep;
  /** Jumps and kinks of the functions of time that the steps read. */
  readonly breaks: ReadonlySet<Breaks>;
  /** The scheme carries something from step to step beside the state: `Formulation.carry`. */
  readonly carries: boolean;
  /** Steps of a grid end where these functions jump, as they do at switches. */
  readonly locatesJumps: boolean;
  /** Switches that its functions have. */
  readonly switches?: SystemSwitches | undefined;
  /** The error for a parameter that no function reads. */
  readonly unread?: OptionError;
}

/** Inputs in the order they are declared; those that are not there are left out. */
export const inputsOf = (inputs: StepInputs): Node<'input'>[] =>
  (Object.values(inputs) as (Node<'input'> | undefined)[]).filter(node => node !== undefined);

/** The jump of an event: its own, or of the borders of switches the one that leaves the user's blocks as they are. */
export const jumpOf = ({functions: {jump = []}}: TracedStep, event: number): number => Math.min(event, jump.length - 1);
