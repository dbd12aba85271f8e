/**
 * What `train` trains, and by what: variables with one of tfjs's optimizers on its tape, or a compiled step
 * (training-step.ts) with its own. Both take a step for a batch, and both are read into a checkpoint and put back from
 * it to the bit.
 */
import * as tf from '@tensorflow/tfjs';
import {CheckpointError, StiffgradError} from '../../lib/errors.js';
import type {NamedArray} from './checkpoint-file.js';
import type {Clip} from './gradients.js';
import {clipped, lossAndGradients} from './gradients.js';
import type {OptimizerState} from './optimizer-state.js';
import {
  arrayOf,
  assign,
  hyperparametersOf,
  kindOf,
  learningRateOf,
  readOptimizer,
  requireFitting,
  restoreOptimizer,
  setLearningRate,
} from './optimizer-state.js';
import type {CompiledTraining, LossAt, TrainingProblem, AnyTraining} from './problem.js';
import {isCompiledTraining, stepInputs} from './problem.js';
import type {StepBatch, TrainingStep} from './training-step.js';
import {numbersOf} from '../../lib/read.js';

export interface Learner<T> {
  readonly variables: readonly tf.Variable[];
  /** Of the optimizer. */
  readonly kind: string;
  readonly hyperparameters: {readonly [name: string]: number | boolean};
  rate: number | undefined;
  readonly warnings: readonly string[];
  /** One step; the loss and its gradient's norm before it. */
  take(batch: readonly T[], at: LossAt): {readonly loss: number; readonly norm: number};
  loss(batch: readonly T[], at: LossAt): number;
  /** Variables, by their place, that got a gradient in some step. */
  readonly moved: ReadonlySet<number>;
  /** tfjs's variables have their values from now on. */
  publish(): void;
  readValues(folder: string): NamedArray[];
  assignValues(arrays: readonly NamedArray[]): void;
  /** Whether these are values of these variables, as `readValues` gives them. */
  fits(arrays: readonly NamedArray[]): boolean;
  readOptimizer(): OptimizerState;
  /** @throws CheckpointError */
  requireFitting(state: OptimizerState, file: string): void;
  /** @throws CheckpointError */
  restoreOptimizer(state: OptimizerState, file: string): void;
}

export const learnerOf = <T>(problem: AnyTraining<T>): Learner<T> =>
  isCompiledTraining(problem) ? new StepLearner(problem) : new TapeLearner(problem);

const ofPlaces = (arrays: readonly NamedArray[], variables: readonly tf.Variable[]): boolean =>
  arrays.length === variables.length
  && arrays.every(({name, shape}, i) => name.endsWith(String(i)) && shape.join() === variables[i].shape.join());

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
    return kindOf(this.optimizer);
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

  take(batch: readonly T[], at: LossAt): {loss: number; norm: number} {
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

  loss(batch: readonly T[], at: LossAt): number {
    return scalarValue(() => this.problem.loss(batch, at));
  }

  publish(): void {
    // They always have them.
  }

  readValues(folder: string): NamedArray[] {
    return this.variables.map((variable, i) => arrayOf(`${folder}/${i}`, variable));
  }

  assignValues(arrays: readonly NamedArray[]): void {
    arrays.forEach((array, i) => assign(this.variables[i], array));
  }

  fits(arrays: readonly NamedArray[]): boolean {
    return ofPlaces(arrays, this.variables) && arrays.every(({values}) => values instanceof Float32Array);
  }

  readOptimizer(): OptimizerState {
    return readOptimizer(this.optimizer);
  }

  requireFitting(state: OptimizerState, file: string): void {
    requireFitting(
      this.optimizer,
      state,
      this.variables.map(({shape}) => shape),
      file,
    );
  }

  restoreOptimizer(state: OptimizerState, file: string): void {
    restoreOptimizer(this.optimizer, state, file);
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

  take(batch: readonly T[], at: LossAt): {loss: number; norm: number} {
    const loss = this.step(this.inputs(batch, at));
    return {loss, norm: this.step.gradientNorm};
  }

  loss(batch: readonly T[], at: LossAt): number {
    return this.step.loss(this.inputs(batch, at));
  }

  publish(): void {
    this.step.write();
  }

  readValues(folder: string): NamedArray[] {
    return this.variables.map((variable, i) => ({
      name: `${folder}/${i}`,
      shape: [...variable.shape],
      values: this.step.values(variable),
    }));
  }

  assignValues(arrays: readonly NamedArray[]): void {
    const values = new Float64Array(arrays.reduce((sum, array) => sum + array.values.length, 0));
    let offset = 0;
    for (const array of arrays) {
      values.set(array.values, offset);
      offset += array.values.length;
    }
    this.step.restore({...this.step.save(), values});
  }

  fits(arrays: readonly NamedArray[]): boolean {
    return ofPlaces(arrays, this.variables) && arrays.every(({values}) => values instanceof Float64Array);
  }

  readOptimizer(): OptimizerState {
    const {count, optimizer} = this.step.save();
    return {
      kind: this.kind,
      iterations: count,
      learningRate: this.step.rate,
      arrays: Object.entries(optimizer).map(([name, values]) => ({name, shape: [values.length], values})),
    };
  }

  requireFitting(state: OptimizerState, file: string): void {
    this.restored(state, file);
  }

  restoreOptimizer(state: OptimizerState, file: string): void {
    this.step.restore(this.restored(state, file));
    if (state.learningRate !== undefined) this.step.rate = state.learningRate;
  }

  /** The step's state with this optimizer's. @throws CheckpointError 'checkpoint-mismatch' where it is another's */
  private restored({kind, iterations, arrays}: OptimizerState, file: string): ReturnType<TrainingStep<never>['save']> {
    const now = this.step.save();
    const state = {
      count: iterations,
      values: now.values,
      optimizer: Object.fromEntries(arrays.map(({name, values}) => [name, values as Float64Array])),
    };
    const refuse = (why: string): CheckpointError =>
      new CheckpointError('checkpoint-mismatch', `${file} holds the state of the optimizer ${kind}, ${why}.`, {file});
    if (kind !== this.kind) throw refuse(`but this run has ${this.kind}`);
    if (!arrays.every(({values}) => values instanceof Float64Array)) throw refuse('which is not in double precision');
    try {
      this.step.restore(state);
    } catch {
      throw refuse('which does not fit these variables');
    }
    this.step.restore(now);
    return state;
  }

  private inputs(batch: readonly T[], at: LossAt): StepBatch<never> {
    return stepInputs(this.problem, batch, at);
  }
}

/** The number of a loss evaluated without a tape. */
export function scalarValue(loss: () => tf.Scalar): number {
  const value = tf.tidy(loss);
  const [number] = numbersOf(value);
  value.dispose();
  return number;
}
