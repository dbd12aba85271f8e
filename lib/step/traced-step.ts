/** A step as nodes over shared inputs: what tracing returns and everything else is derived from. */
import type {OptionError} from '../errors.js';
import type * as tf from '@tensorflow/tfjs';
import type {Node, Shape} from '../graph/node.js';
import type {Leaf} from '../system/params.js';
import type {Layout} from './layout.js';
import type {TracedAlong} from './traced-along.js';

/** Something the program reads and gradients reach: a leaf of the parameters, or a captured tensor. */
export interface Parameter {
  readonly node: Node<'input'>;
  readonly leaf?: Leaf;
  /** A captured tensor or variable; its value is read anew for every run. */
  readonly tensor?: tf.Tensor;
}

/** The functions of one step, as nodes over shared inputs. */
export interface TracedStep {
  readonly name: string;
  readonly order: number;
  /** See Formulation. */
  readonly positionsAlone?: boolean;
  readonly state: Layout;
  readonly unknown: Layout;
  readonly parameters: readonly Parameter[];
  readonly x: Node<'input'>;
  readonly z: Node<'input'>;
  readonly t: Node<'input'>;
  readonly h: Node<'input'>;
  readonly residual?: Node;
  /** The residual with its derivative by blocks, and its model, where Newton's matrix is to be made from that (graph/newton-matrix.ts). */
  readonly residualBlocks?: Node;
  readonly residualModel?: Node;
  readonly update: Node;
  readonly guess?: TracedGuess;
  /** What the user observes of a state, as a function of x, t and the parameters. */
  readonly observed?: TracedObservation;
  /** Of a state with exact contacts: how far each is from being neither open nor closed, as a length. */
  readonly touching?: Node;
  /** M(q) of a start, in the shape the user gave it. */
  readonly mass?: Node;
  /** Of a start with constraints: φ, φ' and ψ of the state it was given. */
  readonly gaps?: {readonly positions: Node; readonly velocities: Node};
  /** See `Formulation.still`; of the start. */
  readonly still?: boolean;
  /** See `Formulation.startsAhead`; of the start. */
  readonly ahead?: boolean;
  /** Error estimate, dense output and events, where the run asks for them. */
  readonly along?: TracedAlong;
}

/** A run's two kinds of step: the one that begins it, from the user's own blocks to the whole state, and all others. */
export interface TracedRun {
  readonly start: TracedStep;
  readonly step: TracedStep;
  /** Where a parameter was given that no function read. */
  readonly unread?: OptionError;
}

export interface TracedObservation {
  /** Flat. */
  readonly node: Node;
  readonly shape: Shape;
}

export interface TracedGuess {
  readonly z: Node;
  /** The eliminated kinematics' defect as a function of x, and the input that stands for it. */
  readonly defect?: {readonly value: Node; readonly input: Node<'input'>; readonly residual: Node; readonly residualBlocks?: Node; readonly residualModel?: Node};
  /** The first residual, its forces those of the step's start. */
  readonly frozen?: Node;
  readonly linearized: boolean;
}

/** Every function of a step by a name of its own, but for what is traced along with it (`alongOutputs`). */
export function stepOutputs({update, residual, residualBlocks, residualModel, guess, observed, touching, mass, gaps}: TracedStep): {[name: string]: Node | undefined} {
  const {value: defectValue, residual: defectResidual, residualBlocks: defectBlocks, residualModel: defectModel} = {...guess?.defect};
  return {
    update, residual, residualBlocks, residualModel, guess: guess?.z, frozen: guess?.frozen, defectValue, defectResidual, defectBlocks, defectModel,
    mass, touching, positions: gaps?.positions, velocities: gaps?.velocities, observed: observed?.node,
  };
}
