/**
 * The two ways in which `train` trains: variables with one of tfjs's optimizers on its tape, or a compiled step
 * (training-step.ts) with its own. Both take a step for a batch; the state of both is saved and restored to the bit.
 */
import * as tf from '@tensorflow/tfjs';
import {CheckpointError, StiffgradError} from '../../lib/errors.js';
import {numbersOf} from '../../lib/read.js';
import {joined} from '../data/joined.js';
import type {NamedArray} from './checkpoint-file.js';
import type {Clip} from './gradients.js';
import {clipped, lossAndGradients} from './gradients.js';
import {
  arrayOf,
  assign,
  hyperparametersOf,
  learningRateOf,
  optimizerArrays,
  restoreOptimizer,
  setLearningRate,
} from './optimizer-state.js';
import type {AnyTraining, CompiledTraining, TrainingLossAt, TrainingProblem} from './problem.js';
import {isCompiledTraining, stepInputs} from './problem.js';
import type {TrainingStep} from './training-step.js';

/** Everything of a learner that its next step depends on. */
export interface LearnerState {
  /** The values of the variables, in their order. */
  readonly variables: readonly NamedArray[];
  /** The state of the optimizer. */
  readonly optimizer: readonly NamedArray[];
  /** Number of the optimizer's updates. */
  readonly iterations: number;
  /** As it was last set; undefined with a line search. `restore` without it leaves the rate as it is. */
  readonly learningRate?: number;
}

export interface Learner<T> {
  readonly variables: readonly tf.Variable[];
  /** The class of the optimizer. */
  readonly kind: string;
  readonly hyperparameters: {readonly [name: string]: number | boolean};
  rate: number | undefined;
  readonly warnings: readonly string[];
  /** Takes one step; returns the loss and the norm of its gradient before it. */
  take(batch: readonly T[], at: TrainingLossAt): {readonly loss: number; readonly norm: number};
  loss(batch: readonly T[], at: TrainingLossAt): number;
  /** Places of the variables that got a gradient in some step. */
  readonly moved: ReadonlySet<number>;
  /** Writes the values to tfjs's variables. */
  publish(): void;
  save(): LearnerState;
  /** Restores a state, or changes nothing. @throws CheckpointError 'checkpoint-mismatch' where it does not fit */
  restore(state: LearnerState, file: string): void;
}

export const learnerOf = <T>(problem: AnyTraining<T>): Learner<T> =>
  isCompiledTraining(problem) ? new StepLearner(problem) : new TapeLearner(problem);

/** Whether arrays have the shapes of the variables, in their order. */
export const fits = (arrays: readonly NamedArray[], variables: readonly tf.Variable[]): boolean =>
  arrays.length === variables.length
  && arrays.every(({name, shape}, i) => name.endsWith(String(i)) && shape.join() === variables[i].shape.join());

const mismatch = (file: string, what: string): CheckpointError =>
  new CheckpointError('checkpoint-mismatch', `${file} does not hold ${what}.`, {file});

class TapeLearner<T> implements Learner<T> {
  readonly variables: readonly tf.Variable[];
  readonly moved = new Set<number>();
  readonly warnings: readonly string[] = [];
  private readonly optimizer: tf.Optimizer;
  private readonly clip: Clip;

  constructor(private readonly problem: TrainingProblem<T>) {
    this.variables = problem.variables;
    this.optimizer = problem.optimizer;
    this.clip = problem.clip ?? {};
  }

  get kind(): string {
    return this.optimizer.getClassName();
  }

  get hyperparameters(): {readonly [name: string]: number | boolean} {
    return hyperparametersOf(this.optimizer);
  }

  get rate(): number | undefined {
    return learningRateOf(this.optimizer);
  }

  set rate(rate: number | undefined) {
    if (rate !== undefined) setLearningRate(this.optimizer, rate);
  }

  take(batch: readonly T[], at: TrainingLossAt): {loss: number; norm: number} {
    const {variables, optimizer, clip, problem} = this;
    const found = lossAndGradients(() => problem.loss(batch, at), variables);
    if (!Number.isFinite(found.loss) || !Number.isFinite(found.norm)) {
      for (const gradient of found.gradients) gradient?.dispose();
      throw new StiffgradError(
        'not-finite',
        `train: in step ${at.step} the loss is ${found.loss} and the norm of its gradient ${found.norm}. Look for NaN `
          + 'in the data of this batch; lower the learning rate, clip the gradient, or skip such steps with '
          + `onFailure: 'skip'.`,
        {step: at.step},
      );
    }
    found.gradients.forEach((gradient, i) => gradient && this.moved.add(i));
    const gradients = clipped(found, clip);
    // By name and in the variables' order, by which the optimizers know their moments.
    optimizer.applyGradients(variables.map(({name}, i) => ({name, tensor: gradients[i] as tf.Tensor})));
    for (const gradient of gradients) gradient?.dispose();
    return found;
  }

  loss(batch: readonly T[], at: TrainingLossAt): number {
    return scalarValue(() => this.problem.loss(batch, at));
  }

  publish(): void {
    // They always have them.
  }

  save(): LearnerState {
    const {optimizer, variables} = this;
    return {
      variables: variables.map((variable, i) => arrayOf(String(i), variable)),
      optimizer: optimizerArrays(optimizer),
      iterations: optimizer.iterations,
      learningRate: learningRateOf(optimizer),
    };
  }

  restore({variables: saved, optimizer: arrays, iterations, learningRate}: LearnerState, file: string): void {
    const {optimizer, variables} = this;
    if (!fits(saved, variables) || !saved.every(({values}) => values instanceof Float32Array))
      throw mismatch(file, 'the values of these variables');
    const shapes = variables.map(({shape}) => shape);
    restoreOptimizer(optimizer, arrays, iterations, shapes, file);
    saved.forEach((array, i) => assign(variables[i], array));
    this.rate = learningRate;
  }
}

class StepLearner<T> implements Learner<T> {
  readonly moved: ReadonlySet<number>;
  private readonly step: TrainingStep<never>;

  /** Its variables are known: `train` has evaluated the loss of a batch. */
  constructor(private readonly problem: CompiledTraining<T>) {
    this.step = problem.step;
    this.moved = new Set(this.variables.keys());
  }

  get variables(): readonly tf.Variable[] {
    return this.step.variables;
  }

  get kind(): string {
    return this.step.optimizer.name;
  }

  get hyperparameters(): {readonly [name: string]: number | boolean} {
    return this.step.optimizer.hyperparameters;
  }

  get rate(): number | undefined {
    return this.step.rate;
  }

  set rate(rate: number | undefined) {
    this.step.rate = rate;
  }

  get warnings(): readonly string[] {
    return this.step.warnings;
  }

  take(batch: readonly T[], at: TrainingLossAt): {loss: number; norm: number} {
    const loss = this.step(stepInputs(this.problem, batch, at));
    return {loss, norm: this.step.gradientNorm};
  }

  loss(batch: readonly T[], at: TrainingLossAt): number {
    return this.step.loss(stepInputs(this.problem, batch, at));
  }

  publish(): void {
    this.step.write();
  }

  save(): LearnerState {
    const {count, optimizer, rate} = this.step.save();
    return {
      variables: this.variables.map((variable, i) => ({
        name: String(i),
        shape: [...variable.shape],
        values: this.step.values(variable),
      })),
      optimizer: Object.entries(optimizer).map(([name, values]) => ({name, shape: [values.length], values})),
      iterations: count,
      learningRate: rate,
    };
  }

  restore({variables, optimizer, iterations, learningRate}: LearnerState, file: string): void {
    const all = [...variables, ...optimizer];
    if (!fits(variables, this.variables) || !all.every(({values}) => values instanceof Float64Array))
      throw mismatch(file, 'the values of these variables in double precision');
    const vectors = optimizer.map(({name, values}) => [name, values as Float64Array] as const);
    try {
      this.step.restore({
        count: iterations,
        values: joined(
          Float64Array,
          variables.map(({values}) => values as Float64Array),
        ),
        optimizer: Object.fromEntries(vectors),
        rate: learningRate,
      });
    } catch {
      throw mismatch(file, `a state of the optimizer ${this.kind} that fits these variables`);
    }
  }
}

/** The number of a loss evaluated without a tape. */
export function scalarValue(loss: () => tf.Scalar): number {
  const value = tf.tidy(loss);
  const [number] = numbersOf(value);
  value.dispose();
  return number;
}
