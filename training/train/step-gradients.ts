/** Loss and gradient of a training step: by `valueAndGrad` of the prepared simulation, or on tfjs's tape. */
import * as tf from '@tensorflow/tfjs';
import {
  type Encoder,
  type NumericParams,
  type Objective,
  type ObjectiveAt,
  type ObjectiveValues,
  type Params,
  type PreparedBatch,
  type Simulation,
} from '../../lib/index.js';
import {
  type AnySystem,
  type MemberTimes,
  type ParamsOf,
  type TimedMember,
  isDerivativeWarning,
  readNumeric,
} from '../../lib/internal.js';
import {lossAndGradients} from './gradients.js';
import {numbersOf} from '../../lib/read.js';

/**
 * Inputs of one evaluation of the loss: an initial state (or data for the encoder), parameters and data of one run;
 * times of a prepared batch's member.
 */
export type TrainingInputs<S extends AnySystem> = Pick<ObjectiveValues<S>, 'initial' | 'params' | 'data'> & MemberTimes;

/** A loss and its derivatives by the variables that it depends on. */
interface Evaluation {
  readonly value: number;
  readonly variables: ReadonlyMap<tf.Variable, Float64Array>;
}

/** Takes an evaluation with its share of the mean. */
type AddEvaluation = (one: Evaluation, share: number) => void;

const memberOptions: ReadonlySet<string> = new Set<keyof ObjectiveValues>(['initial', 'params', 'data']);
const mayBeTrained = ({trainable, dtype}: tf.Variable): boolean => trainable && dtype === 'float32';

/** Evaluates losses, which are means over the members of a batch, and their gradients. */
export abstract class GradientSource<S extends AnySystem, Model = Simulation<S> | PreparedBatch<S>> {
  /** Trainable variables on which a loss has depended in some gradient. */
  readonly read = new Set<tf.Variable>();
  /** What gradients of adaptive runs were warned of. */
  readonly warnings = new Set<string>();

  constructor(
    protected readonly model: Model,
    protected readonly loss: Objective<ParamsOf<S>>,
    protected readonly initial: Encoder<S> | undefined,
  ) {}

  protected note(warnings: readonly string[] = []): void {
    for (const warning of warnings) if (isDerivativeWarning(warning)) this.warnings.add(warning);
  }

  /** Trainable variables, found by one evaluation. */
  abstract variables(member: TrainingInputs<S>): readonly tf.Variable[];
  /** The loss. @param at undefined: at the values that tfjs holds */
  abstract value(members: readonly TrainingInputs<S>[], at: VariableVector | undefined): number;
  /** Hands out evaluations with their shares of the mean; an evaluation may reuse the arrays of the one before. */
  protected abstract evaluate(members: readonly TrainingInputs<S>[], at: VariableVector, add: AddEvaluation): void;

  /** The loss; its gradient is written into `total`, a vector like that of the values. */
  gradient(members: readonly TrainingInputs<S>[], at: VariableVector, total: Float64Array): number {
    let mean = 0;
    total.fill(0);
    this.evaluate(members, at, ({value, variables}, share) => {
      mean += share * value;
      for (const variable of variables.keys()) if (mayBeTrained(variable)) this.read.add(variable);
      for (const [variable, part] of at.partsOf(total)) {
        const own = variables.get(variable);
        if (own !== undefined) for (let j = 0; j < part.length; j++) part[j] += share * own[j];
      }
    });
    return mean;
  }
}

/** Losses of a prepared simulation, one member after the other. */
export class CompiledGradients<S extends AnySystem> extends GradientSource<S, Simulation<S>> {
  variables(member: TrainingInputs<S>): tf.Variable[] {
    const {variables, warnings} = this.model.valueAndVariables(this.loss, this.inputs(member));
    this.note(warnings);
    return [...variables.keys()].filter(mayBeTrained);
  }

  value(members: readonly TrainingInputs<S>[], at: VariableVector | undefined): number {
    let sum = 0;
    for (const member of members) sum += this.model.value(this.loss, this.inputs(member, at?.views));
    return sum / members.length;
  }

  protected evaluate(members: readonly TrainingInputs<S>[], at: VariableVector, add: AddEvaluation): void {
    for (const member of members) {
      const found = this.model.valueAndVariables(this.loss, this.inputs(member, at.views));
      this.note(found.warnings);
      add(found, 1 / members.length);
    }
  }

  private inputs(member: TrainingInputs<S>, variables?: ObjectiveValues<S>['variables']): ObjectiveValues<S> {
    // Unknown names are passed on, to be refused there.
    for (const name in member)
      if (!memberOptions.has(name)) return {...member, initial: member.initial ?? this.initial, variables};
    const {initial = this.initial, params, data} = member;
    return {initial, params, data, variables};
  }
}

/** Losses of the members of a prepared batch, all of them at once. */
export class BatchGradients<S extends AnySystem> extends GradientSource<S, PreparedBatch<S>> {
  variables(member: TrainingInputs<S>): tf.Variable[] {
    const {gradient, warnings} = this.model.valueAndGrad(this.loss, this.members([member]));
    this.note(warnings);
    return [...gradient.variables.keys()].filter(mayBeTrained);
  }

  value(members: readonly TrainingInputs<S>[], at: VariableVector | undefined): number {
    return this.model.value(this.loss, this.members(members), {variables: at?.views});
  }

  protected evaluate(members: readonly TrainingInputs<S>[], at: VariableVector, add: AddEvaluation): void {
    const {value, gradient, warnings} = this.model.valueAndGrad(this.loss, this.members(members), {
      variables: at.views,
    });
    this.note(warnings);
    add({value, variables: gradient.variables}, 1);
  }

  private members(members: readonly TrainingInputs<S>[]): TimedMember<S>[] {
    const {initial} = this;
    return (
      initial === undefined ? members : members.map(one => ({...one, initial: one.initial ?? initial}))
    ) as TimedMember<S>[];
  }
}

/** Losses that cannot be traced, on tfjs's tape: values are rounded to its single precision. */
export class TapeGradients<S extends AnySystem> extends GradientSource<S, Simulation<S>> {
  variables(): never {
    throw new Error('on the tape variables are given');
  }

  value(members: readonly TrainingInputs<S>[], at: VariableVector | undefined): number {
    at?.write();
    const value = tf.tidy(() => this.mean(members));
    const [number] = numbersOf(value);
    value.dispose();
    return number;
  }

  protected evaluate(members: readonly TrainingInputs<S>[], at: VariableVector, add: AddEvaluation): void {
    at.write();
    const {loss, gradients} = lossAndGradients(() => this.mean(members), at.variables);
    const variables = new Map<tf.Variable, Float64Array>();
    gradients.forEach((gradient, i) => {
      if (gradient === undefined) return;
      variables.set(at.variables[i], numbersOf(gradient));
      gradient.dispose();
    });
    add({value: loss, variables}, 1);
  }

  private mean(members: readonly TrainingInputs<S>[]): tf.Scalar {
    return tf.div<tf.Scalar>(tf.addN(members.map(member => this.one(member))), members.length);
  }

  private one({initial, params, data}: TrainingInputs<S>): tf.Tensor {
    const tensors = {params: treeOf((params ?? {}) as NumericParams), data: treeOf(data ?? {})};
    const encode: unknown = initial ?? this.initial;
    const start: unknown = typeof encode === 'function' ? (encode as (at: typeof tensors) => unknown)(tensors) : encode;
    const path = this.model.run({initial: start, params} as Parameters<typeof this.model.run>[0]);
    // The run's series are its getters, of which the loss reads those that there are.
    const at = Object.assign(Object.create(path as object) as ObjectiveAt, tensors);
    return (this.loss as (at: ObjectiveAt) => tf.Tensor)(at);
  }
}

function treeOf(tree: NumericParams): Params {
  return Object.fromEntries(
    Object.entries(tree).map(([name, value]): [string, tf.Tensor | Params] => {
      if (value instanceof tf.Tensor) return [name, value];
      if (typeof value === 'object' && !Array.isArray(value) && !ArrayBuffer.isView(value))
        return [name, treeOf(value as NumericParams)];
      const {values, shape} = readNumeric(value as Parameters<typeof readNumeric>[0], name);
      return [name, tf.tensor(Float32Array.from(values), [...shape])];
    }),
  );
}

/** Trained variables as one flat vector in double precision, and tfjs's variables that it belongs to. */
export class VariableVector {
  /** By variable, its part of the values. */
  readonly views: ReadonlyMap<tf.Variable, Float64Array>;
  private other: {readonly vector: Float64Array; readonly parts: ReadonlyMap<tf.Variable, Float64Array>} | undefined;

  /** @param values where they lie: the memory of the program that changes them */
  constructor(
    readonly variables: readonly tf.Variable[],
    readonly values: Float64Array,
  ) {
    this.views = partsOf(variables, values);
    this.read();
  }

  /** Views by variable of another vector like the values; those of the same one are made once. */
  partsOf(vector: Float64Array): ReadonlyMap<tf.Variable, Float64Array> {
    if (this.other?.vector !== vector) this.other = {vector, parts: partsOf(this.variables, vector)};
    return this.other.parts;
  }

  read(): void {
    for (const [variable, values] of this.views) values.set(numbersOf(variable));
  }

  write(): void {
    for (const [variable, values] of this.views)
      tf.tidy(() => variable.assign(tf.tensor(Float32Array.from(values), variable.shape, 'float32')));
  }
}

/** Views of a flat vector by variable, one after another. */
function partsOf(variables: readonly tf.Variable[], vector: Float64Array): ReadonlyMap<tf.Variable, Float64Array> {
  let offset = 0;
  return new Map(variables.map(variable => [variable, vector.subarray(offset, (offset += variable.size))] as const));
}
