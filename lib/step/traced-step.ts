/** A step as nodes over shared inputs: the result of tracing, from which everything else is derived. */
import type {OptionError} from '../errors.js';
import type * as tf from '@tensorflow/tfjs';
import type {Node, Shape} from '../graph/node.js';
import type {Division} from '../system/breaking-points.js';
import type {Breaks} from '../system/breaks.js';
import type {CoefficientValues} from '../system/coefficients.js';
import type {Leaf} from '../system/params.js';
import type {Directed} from './clock.js';
import type {Layout} from './layout.js';
import type {StepFunctions} from './step-functions.js';

/** Something the program reads and gradients reach: a leaf of the parameters, or a captured tensor. */
export interface Parameter {
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
  /** Of dense output: the place within the step, the state at its end, and what the update made for it (inside.ts). */
  readonly theta?: Node<'input'>;
  readonly next?: Node<'input'>;
  readonly inside?: Node<'input'>;
  /** Of a filtered estimate: a displacement of the state, [own size]. */
  readonly shift?: Node<'input'>;
  /** Of a guess from the last step: its unknown, where this step begins in it, and how much longer it is. */
  readonly last?: Node<'input'>;
  readonly ahead?: Node<'input'>;
  readonly ratio?: Node<'input'>;
}

/** Of a step whose length is chosen, or that is looked into: how its functions for that are meant. */
export interface AlongStep {
  /**
   * Of stages that are solved as far as the step's tolerance asks: an error δ of one is about h^power·δ in these
   * blocks of the state.
   */
  readonly effects?: {readonly [block: string]: number};
  /** What of [own size] is judged. */
  readonly judged?: Uint8Array;
  /** The power of h that the estimate falls with. */
  readonly errorOrder: number;
}

/** How often a step asks for the system's right-hand side (its forces, its derivative). */
export interface Evaluations {
  /** Where the step begins: once, whoever asks. */
  readonly start: number;
  /** Elsewhere, by the update and by one residual. */
  readonly update: number;
  readonly residual: number;
}

/** One step: its functions, what they read, and what is known of them. */
export interface TracedStep extends Directed {
  readonly name: string;
  readonly order: number;
  /** See `StepFormulation`. */
  readonly positionsAlone?: boolean;
  readonly divides?: Division;
  readonly state: Layout;
  readonly unknown: Layout;
  readonly parameters: readonly Parameter[];
  readonly inputs: StepInputs;
  readonly functions: StepFunctions;
  /** The shape of `observed`, which is flat. */
  readonly observedShape?: Shape;
  /** See `MechanicalSystem.notFinite`. */
  readonly notFinite?: string;
  /** See `Scheme.dissipative`. */
  readonly dissipative?: boolean;
  /** See `Guess.linearized`. */
  readonly linearized?: boolean;
  /** It is the start, and made once a run. */
  readonly once?: boolean;
  /** The run looks for rest, from a start that need not obey the constraints; of the start. */
  readonly still?: boolean;
  /** It was made with the first step, of which a multistep scheme's past is made; of the start. */
  readonly ahead?: boolean;
  /** The highest index of M y' = f that the scheme integrates; of the start. */
  readonly index?: 0 | 1 | 2;
  /** What `coefficients` are the values of; of the start. */
  readonly coefficients?: readonly CoefficientValues[];
  /** There where the run asked for an error estimate, dense output or events. */
  readonly along?: AlongStep;
  readonly evaluations: Evaluations;
}

/** A run's two kinds of step: the one that begins it, from the user's own blocks to the whole state, and all others. */
export interface TracedRun {
  readonly start: TracedStep;
  readonly step: TracedStep;
  /** Of the functions of time that the steps read. */
  readonly breaks: ReadonlySet<Breaks>;
  /** The scheme carries something from step to step beside the state: `Formulation.carry`. */
  readonly carries: boolean;
  /** Where a parameter was given that no function read. */
  readonly unread?: OptionError;
}

/** Inputs in the order they are declared; those that are not there are left out. */
export const inputsOf = (inputs: StepInputs): Node<'input'>[] =>
  (Object.values(inputs) as (Node<'input'> | undefined)[]).filter(node => node !== undefined);
