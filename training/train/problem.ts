/** The argument of `train`, checked and completed before the first step. */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../../lib/errors.js';
import {
  abortSignal,
  any,
  boolean,
  callable,
  positiveInteger,
  nested,
  nonNegative,
  object,
  oneOf,
  optional,
  readOptions,
  refuseUnknownOptions,
  text,
  typed,
  type Check,
  type Options,
  type OptionValues,
} from '../../lib/checks.js';
import {type Clip, checkClip} from './gradients.js';
import type {Metrics} from './metrics.js';
import type {Random} from './random.js';
import type {Schedule} from './schedules.js';
import type {StepBatch, TrainingStep} from './training-step.js';
import type {AnySystem} from '../../lib/internal.js';

/** The second argument of a loss. */
export interface TrainingLossAt {
  /** Step of the run, from 0. */
  readonly step: number;
  readonly epoch: number;
  /** Random numbers for noise and dropout that a resumed run repeats: their state is part of every checkpoint. */
  readonly random: Random;
}

/** A training by a loss of one's own on tfjs's tape, or by a compiled step. */
export type AnyTraining<T> = TrainingProblem<T> | CompiledTraining<T>;

/** The argument of `train`, with a loss on tfjs's tape. */
export interface TrainingProblem<T> extends TrainingSettings<T> {
  /**
   * The mean loss over the batch, as a scalar; runs on tfjs's tape, so `simulate` and prepared simulations inside it
   * carry gradients.
   */
  readonly loss: (batch: readonly T[], at: TrainingLossAt) => tf.Scalar;
  /** The trained variables; for a tf.layers model, `model.trainableWeights.map(weight => weight.read())`. */
  readonly variables: readonly tf.Variable[];
  /** Any optimizer of tfjs. */
  readonly optimizer: tf.Optimizer;
  readonly clip?: Clip;
}

/** A training by a compiled step, which has its loss, variables, optimizer and clipping. */
export interface CompiledTraining<T, S extends AnySystem = never> extends TrainingSettings<T> {
  /** `trainingStep(model, {loss, optimizer, ...})`. tfjs's variables get their values at the end of every epoch. */
  readonly step: TrainingStep<S>;
  /**
   * The argument of the step for a batch of examples, at once and not as a promise: what is to be waited for belongs
   * into `data.get`. Noise belongs here, drawn from `random`.
   */
  readonly batch: (examples: readonly T[], at: TrainingLossAt) => StepBatch<S>;
}

/** Examples in memory, or behind a function that fetches one: trajectories, segments of them, anything. */
export type Examples<T> = readonly T[] | {readonly length: number; get(index: number): T | Promise<T>};

const examples: Check = {
  what: 'a list, or {length, get(index)}',
  test: value =>
    Array.isArray(value)
    || (object.test(value)
      && positiveInteger.test((value as {readonly length?: unknown}).length)
      && typeof (value as {readonly get?: unknown}).get === 'function'),
};

export const wholeNumber: Check<number> = {what: 'a whole number', test: Number.isSafeInteger};

const settings = {
  /** Number of times that every example is used. */
  epochs: positiveInteger,
  /** Examples per step; the last batch of an epoch may be smaller. Default 32. */
  batchSize: optional(positiveInteger, 32),
  /** Seed of the order of the data and of `random`; default 0. */
  seed: optional(wholeNumber, 0),
  /** In a new order each epoch; default true. */
  shuffle: optional(boolean, true),
  /** Learning rate of every step; default: that of the optimizer. Not with lbfgs() or a step's own schedule. */
  schedule: optional(typed<Schedule>(callable)),
  /**
   * Ends the run when the validation loss (without validation, the epoch's) has not decreased by more than the fraction
   * `least` of itself (default 0) for `patience` evaluations, and gives the variables their best values.
   */
  earlyStopping: optional(nested({patience: positiveInteger, least: optional(nonNegative, 0)})),
  /** A step whose simulation fails or whose loss is not finite: 'throw' (default), or 'skip' and count it. */
  onFailure: optional(oneOf('throw', 'skip'), 'throw'),
  /** Writes a checkpoint into the directory `every` so many steps, and keeps the last ones, by default 2. */
  checkpoint: optional(nested({directory: text, every: positiveInteger, keep: optional(positiveInteger, 2)})),
  /**
   * Resume from the latest checkpoint, if there is one; default false. A checkpoint of a run with other variables,
   * optimizer, rates, data or loss is refused, except for intended changes listed in `accept`, which then
   * apply from here on: {accept: ['learningRate']}. More epochs, earlyStopping and onFailure may change freely.
   */
  resume: optional(
    typed<boolean | {readonly accept: readonly Change[]}>({
      what: 'true, false, or {accept: [...]}',
      test: value => boolean.test(value) || object.test(value),
    }),
    false,
  ),
  /** A file for one JSON object per line, or a function that receives the objects. */
  metrics: optional(typed<string | ((line: Metrics) => void)>(any)),
  onProgress: optional(typed<(progress: TrainingProgress) => void>(callable)),
  /** Ends the training with an AbortError between two steps; `resume` continues from the last checkpoint. */
  signal: optional(abortSignal),
};

const schema = {
  ...settings,
  data: examples,
  validation: optional(nested({data: examples, loss: optional(callable), every: optional(positiveInteger, 1)})),
  step: optional(callable),
  batch: optional(callable),
  loss: optional(any),
  variables: optional(any),
  optimizer: optional(any),
  clip: optional(object),
};

/** Options of every training. */
export type TrainingSettings<T> = Options<typeof settings> & {
  readonly data: Examples<T>;
  readonly validation?: {
    readonly data: Examples<T>;
    /** Default: the loss itself, evaluated without a tape. */
    readonly loss?: (batch: readonly T[]) => tf.Scalar;
    /** Epochs from one evaluation to the next; default 1. */
    readonly every?: number;
  };
};

/** A training with its defaults. */
export type CompleteTraining<T> = AnyTraining<T> & Omit<OptionValues<typeof settings>, 'step'>;

/** Progress of a training. */
export interface TrainingProgress {
  readonly step: number;
  readonly steps: number;
  readonly epoch: number;
  readonly epochs: number;
  /** Loss of the last step; NaN if it was skipped. */
  readonly loss: number;
  readonly learningRate?: number;
  /** Steps per second, in this process. */
  readonly rate: number;
  readonly secondsLeft: number;
  /** Failed writes so far, for example of checkpoints to a full disk. The training goes on, and tries again. */
  readonly warnings?: readonly string[];
}

export const isCompiledTraining = <T>(problem: AnyTraining<T>): problem is CompiledTraining<T> =>
  (problem as Partial<CompiledTraining<T>>).step !== undefined;

/** Inputs of the step for these examples. @throws OptionError 'bad-option' where it is a promise */
export function stepInputs<T>(
  {batch}: CompiledTraining<T>,
  examples: readonly T[],
  at: TrainingLossAt,
): ReturnType<CompiledTraining<T>['batch']> {
  const inputs = batch(examples, at);
  const {then} = ((inputs as unknown) ?? {}) as {readonly then?: unknown};
  if (typeof then !== 'function') return inputs;
  // It is refused here: how it ends is nobody's concern.
  Promise.resolve(inputs).catch(() => undefined);
  throw wrong(
    'batch',
    'train: batch returned a promise, and must return the inputs of the runs, such as {params, data}, at once. '
      + 'Asynchronous work belongs in data: {length, get}, whose get may be asynchronous.',
  );
}

/** The problem, checked, with its defaults. @throws OptionError */
export function readProblem<T>(problem: AnyTraining<T>): CompleteTraining<T> {
  refuseUnknownOptions(problem, Object.keys(schema), 'train');
  const needed = isCompiledTraining(problem) ? ['batch'] : ['loss', 'variables', 'optimizer'];
  for (const required of [...needed, 'data', 'epochs'])
    if ((problem as unknown as {readonly [option: string]: unknown})[required] === undefined)
      throw wrong(required, `train needs '${required}'.`, 'missing-option');
  if (isCompiledTraining(problem)) checkCompiled(problem);
  else checkTape(problem);
  const read = readOptions(problem, schema, 'train') as unknown as CompleteTraining<T>;
  for (const [name, data] of Object.entries({data: read.data, 'validation.data': read.validation?.data}))
    if (data?.length === 0) throw new OptionError('no-data', `train: ${name} is empty.`);
  if (read.resume !== false && read.checkpoint === undefined)
    throw wrong(
      'checkpoint',
      'train: resume needs checkpoint: {directory, every}, the checkpoints to resume from.',
      'missing-option',
    );
  return read;
}

const wrong = (option: string, sentence: string, code = 'bad-option'): OptionError =>
  new OptionError(code, sentence, {option});

function checkCompiled<T>(problem: CompiledTraining<T>): void {
  for (const option of ['loss', 'variables', 'optimizer', 'clip'] as const)
    if ((problem as Partial<TrainingProblem<T>>)[option] !== undefined)
      throw wrong(option, `train: '${option}' is an option of the step: trainingStep(model, {${option}, ...}).`);
  const {schedule, step} = problem;
  if (typeof (step as {restore?: unknown}).restore !== 'function')
    throw wrong('step', 'train: step must be made by trainingStep(model, {loss, optimizer}).');
  if (schedule === undefined) return;
  if (step.rate === undefined)
    throw wrong('schedule', `train: ${step.optimizer.name}() finds its step length by a line search: omit schedule.`);
  if (step.schedule !== undefined)
    throw wrong(
      'schedule',
      'train: the step has a schedule already, trainingStep(model, {schedule, ...}): give it here or there.',
    );
}

function checkTape<T>({variables, loss, optimizer, clip = {}}: TrainingProblem<T>): void {
  requireVariables(variables);
  if (typeof loss !== 'function')
    throw wrong('loss', `train: loss must be a function of a batch that returns a scalar tensor, not ${typeof loss}.`);
  if (typeof (optimizer as {applyGradients?: unknown} | null)?.applyGradients !== 'function') {
    const given = typeof optimizer === 'string' ? `'${String(optimizer)}'` : typeof optimizer;
    throw wrong('optimizer', `train: optimizer must be one of tfjs's, such as tf.train.adam(0.01), not ${given}.`);
  }
  checkClip(clip);
}

function requireVariables(variables: readonly tf.Variable[]): void {
  if (!Array.isArray(variables) || variables.length === 0)
    throw wrong('variables', 'train: variables must be a list of at least one tf.Variable.');
  variables.forEach((variable: unknown, index) => {
    const refuse = (why: string, code = 'bad-option'): OptionError =>
      new OptionError(code, `train: variables[${index}] ${why}.`, {option: 'variables', index});
    if (!(variable instanceof tf.Variable)) throw refuse('is not a tf.Variable');
    if (variable.isDisposed) throw refuse('was disposed', 'disposed-tensor');
    const {dtype, trainable} = variable as tf.Variable;
    if (dtype !== 'float32' || !trainable) throw refuse(`(${dtype}, trainable: ${trainable}) cannot be trained`);
    if (variables.indexOf(variable as tf.Variable) < index) throw refuse('is in the list twice');
  });
}

/** Parts of a run that may differ when `resume` continues it. */
export const changes = [
  'names',
  'learningRate',
  'hyperparameters',
  'schedule',
  'clip',
  'batchSize',
  'shuffle',
  'data',
  'validation',
  'loss',
] as const;

/** A part of a run that may differ when `resume` continues it. */
export type Change = (typeof changes)[number];
