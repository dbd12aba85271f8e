/**
 * One step of training, compiled whole: loss and gradient by `valueAndGrad` (encoder, simulation, observations and loss
 * in double precision), then clipping and the optimizer's update of one flat vector in a program's memory, where the
 * trained variables live. tfjs's variables get their values when they are asked for.
 */
import * as tf from '@tensorflow/tfjs';
import {
  any,
  callable,
  positiveInteger,
  nonNegative,
  object,
  optional,
  readOptions,
  requireValue,
  nonNegativeInteger,
} from '../../lib/checks.js';
import {OptionError, StiffgradError, TraceError} from '../../lib/errors.js';
import type {Encoder, Objective, Params, PreparedBatch, Simulation} from '../../lib/index.js';
import type {AnySystem, ParamsOf} from '../../lib/internal.js';
import type {LeastSquaresMethod} from '../identify/least-squares-problem.js';
import type {QuasiNewton} from '../identify/lbfgs.js';
import {type Clip, checkClip} from './gradients.js';
import type {Schedule} from './schedules.js';
import {
  type GradientSource,
  type TrainingInputs,
  BatchGradients,
  CompiledGradients,
  TapeGradients,
  VariableVector,
} from './step-gradients.js';
import {type StepUpdate, LineSearchUpdate, RuleUpdate} from './step-updates.js';
import {type UpdateRule, isUpdateRule} from './update-rules.js';

/** A prepared simulation, or a prepared batch of them. */
export type StepModel<S extends AnySystem> = Simulation<S> | PreparedBatch<S>;

/** One run, or a list of any length, whose mean loss is used. */
export type StepBatch<S extends AnySystem> = TrainingInputs<S> | readonly TrainingInputs<S>[];

/** Options of `trainingStep`. */
export interface TrainingStepOptions<S extends AnySystem, D = Params, E = Params> {
  /** A scalar function of the saved series, `params` and `data`, as in `valueAndGrad`. */
  readonly loss: Objective<ParamsOf<S>, D>;
  /** adam(), adamW() or sgd(); or lbfgs(), which searches along its direction on the same batch. */
  readonly optimizer: UpdateRule | (LeastSquaresMethod & QuasiNewton);
  /** An encoder: the initial state of every run as a function of params and data. */
  readonly initial?: Encoder<S, E>;
  /** Default: all trainable variables that the system, the encoder and the loss read. */
  readonly variables?: readonly tf.Variable[];
  readonly clip?: Clip;
  /** Learning rate of every step; default: that of the optimizer. */
  readonly schedule?: Schedule;
  /** Number of steps of the training, for schedules that need it. */
  readonly steps?: number;
}

/** Everything that the next step depends on, except its batch; restored to the bit. */
export interface StepState {
  /** Number of updates so far. */
  readonly count: number;
  /** The variables, one after another. */
  readonly values: Float64Array;
  /** State of the optimizer. */
  readonly optimizer: {readonly [name: string]: Float64Array};
  /** Learning rate of the next step; undefined with a line search. */
  readonly rate?: number;
  /** The optimizer, which `restore` compares. Without it only names and lengths of the vectors count. */
  readonly rule?: Rule;
}

/** The name of an optimizer and its options, except the rate. */
type Rule = Pick<UpdateRule, 'name' | 'hyperparameters'>;

/** Takes a step and returns the loss before it. @throws as `valueAndGrad`; StiffgradError 'not-finite' */
export interface TrainingStep<S extends AnySystem> {
  (batch?: StepBatch<S>): number;
  /** The loss without a step. */
  loss(batch?: StepBatch<S>): number;
  /** The trained variables; known after the first evaluation. */
  readonly variables: readonly tf.Variable[];
  readonly optimizer: Rule;
  readonly clip: Clip;
  readonly schedule?: Schedule;
  /** Number of updates so far. */
  readonly count: number;
  /**
   * Learning rate of the next step, unless a schedule defines it; undefined with a line search.
   * @throws OptionError 'bad-option', when set, if it is not a number of at least 0, or there is a line search
   */
  rate: number | undefined;
  /** Norm of the last gradient, before clipping. */
  readonly gradientNorm: number;
  /** False if the loss or the encoder could not be traced and runs on tfjs's tape. */
  readonly compiled: boolean;
  /**
   * Warnings: why it is not compiled, gradients of adaptive runs that are wrong, and variables that never got a
   * gradient, or one of 0 in every step.
   */
  readonly warnings: readonly string[];
  /** A variable's values in double precision. */
  values(variable: tf.Variable): Float64Array;
  /** Writes the values to tfjs's variables, rounded to single precision. */
  write(): void;
  /** Reads the values of tfjs's variables, after other code has changed them. */
  read(): void;
  /** As text, JSON.stringify(step.save()), of which `restore` takes what JSON.parse gives. */
  save(): StepState;
  /**
   * Restores a saved state; before the first evaluation, the one that the training goes on from. The rate is part of
   * it, and may be another than the step's own; so may the memory of lbfgs(), if the state fits in.
   * @throws OptionError 'bad-state' if it belongs to another optimizer, to one with other options, or to other
   *   variables; of the variables, and of states without `rule`, the first evaluation, if that is to come
   */
  restore(state: StepState): void;
}

function isVector(value: unknown): boolean {
  if (!Array.isArray(value) && !(value instanceof Float64Array)) return false;
  for (let i = 0; i < value.length; i++) if (!Number.isFinite(value[i])) return false;
  return true;
}

/** @throws OptionError 'bad-state' before anything is taken from it */
function checkState(state: unknown): void {
  const {count: updates, values, optimizer, rate, rule} = object.test(state) ? (state as Partial<StepState>) : {};
  const vectors = object.test(optimizer) ? Object.entries({values, ...optimizer}) : [['optimizer', undefined]];
  const wrong = !nonNegativeInteger.test(updates)
    ? 'count'
    : rate !== undefined && !nonNegative.test(rate)
      ? 'rate'
      : (vectors.find(([, vector]) => !isVector(vector))?.[0]
        ?? (rule === undefined || (object.test(rule) && object.test(rule.hyperparameters)) ? undefined : 'rule'));
  if (wrong === undefined) return;
  const wanted: {readonly [entry: string]: string} = {
    count: 'whole number of at least 0',
    rate: 'finite number of at least 0',
    rule: 'name with hyperparameters',
  };
  throw new OptionError(
    'bad-state',
    `trainingStep: restore takes {count, values, optimizer, rate, rule} as save() returns it, and ${wrong} is not a `
      + `${wanted[wrong] ?? 'Float64Array or array of finite numbers'}. JSON turns typed arrays into objects: write `
      + 'Array.from(…).',
    {entry: wrong},
  );
}

/**
 * A training step for a prepared simulation, or for a prepared batch, whose members run in one program and may
 * have their own times; compiled as a whole. The step then holds the variables' values in double precision: `write`
 * copies them to tfjs.
 * @throws OptionError
 */
export function trainingStep<S extends AnySystem, D = Params, E = Params>(
  model: StepModel<S>,
  given: TrainingStepOptions<S, D, E>,
): TrainingStep<S> {
  const options = given as TrainingStepOptions<S>;
  check(model, options);
  const machine = new Machine(model, options);
  const step = (batch: StepBatch<S> = {}): number => machine.step(batch);
  return Object.defineProperties(step, {
    loss: {value: (batch: StepBatch<S> = {}) => machine.loss(batch)},
    variables: {get: () => machine.variables},
    optimizer: {value: machine.optimizer},
    clip: {value: options.clip ?? {}},
    schedule: {value: options.schedule},
    count: {get: () => machine.count},
    rate: {get: () => machine.rate, set: (rate: unknown) => machine.setRate(rate)},
    gradientNorm: {get: () => machine.norm},
    compiled: {get: () => machine.compiled},
    warnings: {get: () => [...machine.warnings, ...machine.source.warnings, ...machine.unmoved]},
    values: {value: (variable: tf.Variable) => machine.valuesOf(variable)},
    write: {value: () => machine.write()},
    read: {value: () => machine.vector?.read()},
    save: {value: () => machine.save()},
    restore: {value: (state: StepState) => machine.restore(state)},
  }) as unknown as TrainingStep<S>;
}

class Machine<S extends AnySystem> {
  count = 0;
  norm = NaN;
  rate: number | undefined;
  vector: VariableVector | undefined;
  readonly warnings: string[] = [];
  readonly optimizer: TrainingStep<S>['optimizer'];
  source: GradientSource<S>;
  private update: StepUpdate | undefined;
  /** Restored before it was known which variables there are. */
  private awaited: StepState | undefined;
  /** How many variables losses depended on when it was last looked which. */
  private known = -1;
  /** Variables whose gradient was 0 in every step. */
  private still: ReadonlyMap<tf.Variable, Float64Array> = new Map();

  constructor(
    private readonly model: StepModel<S>,
    private readonly options: TrainingStepOptions<S>,
  ) {
    const {optimizer} = options;
    this.rate = isUpdateRule(optimizer) ? optimizer.rate : undefined;
    this.optimizer = isUpdateRule(optimizer)
      ? {name: optimizer.name, hyperparameters: optimizer.hyperparameters}
      : {name: optimizer.name, hyperparameters: {memory: optimizer.memory}};
    this.source = isBatch(model)
      ? new BatchGradients(model, options.loss, options.initial)
      : new CompiledGradients(model, options.loss, options.initial);
  }

  get compiled(): boolean {
    return !(this.source instanceof TapeGradients);
  }

  get variables(): readonly tf.Variable[] {
    return this.vector?.variables ?? this.options.variables ?? [];
  }

  step(batch: StepBatch<S>): number {
    const members = this.begin(batch);
    const {schedule, steps = NaN} = this.options;
    const rate = schedule === undefined ? this.rate : requireRate(schedule({step: this.count, steps, epoch: 0}));
    this.rate = rate;
    const [update, vector] = [this.update as StepUpdate, this.vector as VariableVector];
    const taken = update.take({
      count: this.count + 1,
      rate: rate ?? NaN,
      evaluate: () => {
        const loss = this.source.gradient(members, vector, update.gradient);
        this.requireListed(vector);
        return requireFinite(loss, this.count);
      },
    });
    this.norm = taken.norm;
    this.count++;
    if (this.still.size > 0)
      this.still = new Map([...this.still].filter(([, gradient]) => gradient.every(value => value === 0)));
    return taken.loss;
  }

  setRate(rate: unknown): void {
    if (!isUpdateRule(this.options.optimizer)) {
      if (rate === undefined) return;
      throw new OptionError(
        'bad-option',
        `trainingStep: ${this.optimizer.name}() finds its step length by a line search: do not set a rate.`,
        {option: 'rate', value: rate},
      );
    }
    requireValue(rate, nonNegative, 'trainingStep: rate', 'bad-option', 'rate');
    this.rate = rate as number;
  }

  loss(batch: StepBatch<S>): number {
    const members = this.begin(batch);
    return this.source.value(members, this.vector);
  }

  valuesOf(variable: tf.Variable): Float64Array {
    if (this.vector === undefined) throw notBegun('values');
    const found = this.vector.views.get(variable);
    if (found === undefined)
      throw new OptionError('bad-option', `trainingStep: the variable ${variable.name} is not trained here.`);
    return found.slice();
  }

  save(): StepState {
    const {vector, update, count: updates} = this;
    if (vector === undefined || update === undefined) throw notBegun('save');
    const state = {count: updates, values: vector.values.slice(), optimizer: update.save(), rule: this.optimizer};
    return asJson(this.rate === undefined ? state : {...state, rate: this.rate});
  }

  restore(state: StepState): void {
    checkState(state);
    this.requireOwn(state.rule);
    const {vector, update} = this;
    if (vector === undefined || update === undefined) this.awaited = state;
    else this.resume(state, vector.values, update);
    this.count = state.count;
    if (state.rate !== undefined && isUpdateRule(this.options.optimizer)) this.rate = state.rate;
  }

  /** Moments of another optimizer are other numbers. @throws OptionError 'bad-state' */
  private requireOwn(rule: Rule | undefined): void {
    const {options, optimizer: own} = this;
    if (rule === undefined) return;
    // Pairs of steps and gradients are the same in a memory of any length.
    const compared = isUpdateRule(options.optimizer)
      ? Object.keys({...own.hyperparameters, ...rule.hyperparameters})
      : [];
    if (rule.name === own.name && compared.every(name => rule.hyperparameters[name] === own.hyperparameters[name]))
      return;
    throw new OptionError(
      'bad-state',
      `trainingStep: this is the state of ${ruleText(rule)}, and the optimizer here is ${ruleText(own)}. Make the `
        + `step with that optimizer; or leave 'rule' out of the state, to take its vectors for this one's.`,
      {entry: 'rule'},
    );
  }

  private resume({values, optimizer}: StepState, own: Float64Array, update: StepUpdate): void {
    if (values.length !== own.length || !update.fits(optimizer))
      throw new OptionError(
        'bad-state',
        `trainingStep: this is the state of ${values.length} numbers with `
          + `${Object.keys(optimizer).join(', ') || 'nothing remembered'}; here are ${own.length} numbers and the `
          + `optimizer ${this.optimizer.name}.`,
      );
    own.set(values);
    update.restore(optimizer);
  }

  write(): void {
    if (this.vector === undefined && this.awaited !== undefined) throw notBegun('write');
    this.vector?.write();
  }

  /** Warnings of the variables that stay as they are. */
  get unmoved(): string[] {
    // A state that was restored has a count, before there is a gradient here.
    if (this.count === 0 || this.known < 0) return [];
    const {read} = this.source;
    return this.variables.flatMap((variable, i) => {
      const name = `variables[${i}] ('${variable.name}')`;
      if (!read.has(variable)) return [`${name} never got a gradient: no loss depended on it. ${howToRead}`];
      return this.still.has(variable)
        ? [`${name} had a gradient of 0 in every step: the loss does not depend on what reads it, or is level there.`]
        : [];
    });
  }

  /**
   * The loss must depend on a variable of the list; without a list, all variables must have been found before.
   * @throws OptionError 'no-gradient'
   */
  private requireListed({views, variables}: VariableVector): void {
    const {read} = this.source;
    if (read.size === this.known) return;
    const unlisted = this.options.variables === undefined && [...read].find(variable => !views.has(variable));
    if (unlisted)
      throw new OptionError(
        'no-gradient',
        `trainingStep: this batch reads the variable ${unlisted.name}, which the first run did not, so it would not `
          + 'be trained. List the trained variables in the option variables.',
        {variable: unlisted.name},
      );
    if (!variables.some(variable => read.has(variable)))
      throw new OptionError('no-gradient', `trainingStep: the loss depends on none of the variables. ${howToRead}`, {
        option: 'variables',
      });
    this.known = read.size;
  }

  /** At the first evaluation: which variables there are, and whether loss and encoder can be traced. */
  private begin(batch: StepBatch<S>): readonly TrainingInputs<S>[] {
    const members = isList(batch) ? batch : [batch];
    if (members.length === 0) throw new OptionError('bad-option', 'trainingStep: the batch is an empty list.');
    if (this.vector !== undefined) return members;
    const {variables, clip = {}, optimizer, loss, initial} = this.options;
    let found: readonly tf.Variable[];
    try {
      found = variables ?? this.source.variables(members[0]);
      if (variables !== undefined) this.source.value(members.slice(0, 1), undefined);
    } catch (error) {
      const {model} = this;
      if (!(error instanceof TraceError) || isBatch(model)) throw error;
      if (variables === undefined)
        throw wrong(
          'variables',
          `the loss cannot be traced, and on tfjs's tape it needs 'variables', the list of trained variables. `
            + `${error.message}`,
          'missing-option',
        );
      this.warnings.push(`The loss runs on tfjs's tape, because it cannot be compiled: ${error.message}`);
      this.source = new TapeGradients(model, loss, initial);
      found = variables;
    }
    if (found.length === 0)
      throw wrong(
        'variables',
        'neither the system nor the encoder nor the loss reads a trainable tf.Variable.',
        'no-gradient',
      );
    const update = isUpdateRule(optimizer)
      ? new RuleUpdate(optimizer, sizeOf(found), clip)
      : new LineSearchUpdate(optimizer.memory, sizeOf(found));
    const vector = new VariableVector(found, update.values);
    // It is refused each time, if it does not fit: no training begins with other numbers than it should.
    if (this.awaited !== undefined) this.resume(this.awaited, vector.values, update);
    this.awaited = undefined;
    this.update = update;
    this.vector = vector;
    this.still = new Map(vector.partsOf(update.gradient));
    return members;
  }
}

const howToRead =
  'Let the system, an encoder or the loss use the tf.Variable itself: in initial, params and data its numbers are '
  + 'read, without a gradient.';

/** An optimizer as one writes it. */
const ruleText = ({name, hyperparameters}: Rule): string =>
  `${name}({${Object.entries(hyperparameters)
    .map(([option, value]) => `${option}: ${value}`)
    .join(', ')}})`;

const sizeOf = (variables: readonly tf.Variable[]): number => variables.reduce((sum, {size}) => sum + size, 0);

const isBatch = <S extends AnySystem>(model: StepModel<S>): model is PreparedBatch<S> => 'kind' in model;

const isList = <S extends AnySystem>(batch: StepBatch<S>): batch is readonly TrainingInputs<S>[] =>
  Array.isArray(batch);

/** A state that JSON.stringify writes with lists: of typed arrays it would make objects. */
function asJson(state: StepState): StepState {
  const {values, optimizer} = state;
  const lists = (): unknown => ({
    ...state,
    values: Array.from(values),
    optimizer: Object.fromEntries(Object.entries(optimizer).map(([name, vector]) => [name, Array.from(vector)])),
  });
  return Object.defineProperty(state, 'toJSON', {value: lists});
}

const notBegun = (what: string): OptionError =>
  new OptionError(
    'not-begun',
    `trainingStep: ${what} needs to know the variables: evaluate the loss of a batch first, step.loss(batch).`,
  );

/** @throws StiffgradError 'not-finite' */
function requireFinite(loss: number, step: number): number {
  if (Number.isFinite(loss)) return loss;
  throw new StiffgradError(
    'not-finite',
    `trainingStep: in step ${step} the loss is ${loss}. Look for NaN in the data of this batch, or lower the learning `
      + 'rate.',
    {step},
  );
}

function requireRate(rate: number): number {
  if (rate >= 0 && rate < Infinity) return rate;
  throw new OptionError(
    'bad-schedule',
    `trainingStep: the schedule returned ${rate}. A schedule that depends on the length of the training needs the `
      + 'option steps.',
  );
}

const wrong = (option: string, sentence: string, code = 'bad-option'): OptionError =>
  new OptionError(code, `trainingStep: ${sentence}`, {option});

const stepOptions = {
  loss: callable,
  optimizer: object,
  initial: optional(callable),
  variables: optional(any),
  clip: optional(object),
  schedule: optional(callable),
  steps: optional(positiveInteger),
};

function check<S extends AnySystem>(model: StepModel<S>, options: TrainingStepOptions<S>): void {
  const isModel: boolean = typeof (model as Partial<StepModel<S>> | null | undefined)?.valueAndGrad === 'function';
  if (!isModel)
    throw wrong('model', 'the model must be made by simulate.prepare(system, initial, options) or batch.prepare.');
  const {variables, schedule, clip} = readOptions(options, stepOptions, 'trainingStep');
  const {optimizer} = options;
  const isLineSearch: boolean = (optimizer as {name?: unknown}).name === 'lbfgs';
  if (!isUpdateRule(optimizer) && !isLineSearch)
    throw wrong(
      'optimizer',
      'optimizer must be adam(), adamW(), sgd() or lbfgs() of stiffgrad/training; for an optimizer of tfjs use '
        + 'train({loss, variables, optimizer}).',
    );
  const [unused] = optimizer.searchOptions ?? [];
  if (unused !== undefined)
    throw wrong(
      unused,
      `${optimizer.name}({${unused}}) ends a search of identify, but each call of a training step is one step: leave `
        + `${unused} out, and stop calling.`,
    );
  if (isLineSearch && (schedule !== undefined || clip !== undefined))
    throw wrong(
      schedule === undefined ? 'clip' : 'schedule',
      'lbfgs() finds its step length by a line search: omit schedule and clip.',
    );
  checkClip(options.clip ?? {});
  const isTrainable = (variable: unknown): boolean =>
    variable instanceof tf.Variable && (variable as tf.Variable).trainable && variable.dtype === 'float32';
  const isListed = Array.isArray(variables) && variables.length > 0 && variables.every(isTrainable);
  if (variables !== undefined && !(isListed && new Set(variables).size === variables.length))
    throw wrong('variables', 'variables must be a list of different trainable tf.Variables of float32.');
}
