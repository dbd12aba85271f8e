/** Where a training step's loss and gradient come from: `valueAndGrad` of the prepared simulation, or tfjs's tape. */
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
import {type AnySystem, type MemberTimes, type ParamsOf, type TimedMember, readNumeric} from '../../lib/internal.js';
import {lossAndGradients} from './gradients.js';
import {numbersOf} from '../../lib/read.js';

/**
 * Inputs of one evaluation of the loss: an initial state (or data for the encoder), parameters and data of one run;
 * times of a prepared batch's member.
 */
export type StepInputs<S extends AnySystem> = Pick<ObjectiveValues<S>, 'initial' | 'params' | 'data'> & MemberTimes;

/** Losses are means over the members of a batch. */
export interface GradientSource<S extends AnySystem> {
  /** Those that may be trained and on which a loss has depended in some gradient. */
  readonly read: ReadonlySet<tf.Variable>;
  /** Those that may be trained, found by one evaluation. */
  variables(member: StepInputs<S>): readonly tf.Variable[];
  /** @param at undefined: the values that tfjs holds */
  value(members: readonly StepInputs<S>[], at: VariableVector | undefined): number;
  /** The loss; its gradient is written into a vector like that of the values. */
  gradient(members: readonly StepInputs<S>[], at: VariableVector, gradient: Float64Array): number;
}

const ofMembers: ReadonlySet<string> = new Set<keyof ObjectiveValues>(['initial', 'params', 'data']);
const mayBeTrained = ({trainable, dtype}: tf.Variable): boolean => trainable && dtype === 'float32';

function note(read: Set<tf.Variable>, variables: Iterable<tf.Variable>): void {
  for (const variable of variables) if (mayBeTrained(variable)) read.add(variable);
}

/** Parts of a gradient by variables, and of the flat one that they belong to. */
interface Pairs {
  readonly variables: ReadonlyMap<tf.Variable, Float64Array>;
  readonly total: Float64Array;
  readonly list: readonly {readonly part: Float64Array; readonly own: Float64Array | undefined}[];
}

export class CompiledGradients<S extends AnySystem> implements GradientSource<S> {
  readonly read = new Set<tf.Variable>();
  private last: Pairs | undefined;

  constructor(
    private readonly model: Simulation<S>,
    private readonly loss: Objective<ParamsOf<S>>,
    private readonly initial: Encoder<S> | undefined,
  ) {}

  variables(member: StepInputs<S>): tf.Variable[] {
    const {gradient} = this.model.valueAndGrad(this.loss, this.inputs(member));
    return [...gradient.variables.keys()].filter(mayBeTrained);
  }

  value(members: readonly StepInputs<S>[], at: VariableVector | undefined): number {
    let sum = 0;
    for (const member of members) sum += this.model.value(this.loss, this.inputs(member, at?.views));
    return sum / members.length;
  }

  gradient(members: readonly StepInputs<S>[], at: VariableVector, total: Float64Array): number {
    const share = 1 / members.length;
    let sum = 0;
    if (members.length > 1) total.fill(0);
    for (let k = 0; k < members.length; k++) {
      const {value, variables} = this.model.valueAndVariables(this.loss, this.inputs(members[k], at.views));
      sum += value;
      if (this.last?.variables !== variables || this.last.total !== total) this.pair(variables, at, total);
      const pairs = (this.last as Pairs).list;
      for (let i = 0; i < pairs.length; i++) {
        const {part, own} = pairs[i];
        if (members.length === 1) {
          if (own === undefined) part.fill(0);
          else part.set(own);
        } else if (own !== undefined) for (let j = 0; j < part.length; j++) part[j] += share * own[j];
      }
    }
    return sum * share;
  }

  /** Notes what is read, and which parts of the gradient go where: the same in every step, mostly. */
  private pair(variables: Pairs['variables'], at: VariableVector, total: Float64Array): void {
    note(this.read, variables.keys());
    const list = [...at.partsOf(total)].map(([variable, part]) => ({part, own: variables.get(variable)}));
    this.last = {variables, total, list};
  }

  private inputs(member: StepInputs<S>, variables?: ObjectiveValues<S>['variables']): ObjectiveValues<S> {
    // What does not belong there goes along, to be refused.
    for (const name in member)
      if (!ofMembers.has(name)) return {...member, initial: member.initial ?? this.initial, variables};
    const {initial = this.initial, params, data} = member;
    return {initial, params, data, variables};
  }
}

/** The members of a prepared batch, all of them at once. */
export class BatchGradients<S extends AnySystem> implements GradientSource<S> {
  readonly read = new Set<tf.Variable>();

  constructor(
    private readonly model: PreparedBatch<S>,
    private readonly loss: Objective<ParamsOf<S>>,
    private readonly initial: Encoder<S> | undefined,
  ) {}

  variables(member: StepInputs<S>): tf.Variable[] {
    const {gradient} = this.model.valueAndGrad(this.loss, this.members([member]));
    return [...gradient.variables.keys()].filter(mayBeTrained);
  }

  value(members: readonly StepInputs<S>[], at: VariableVector | undefined): number {
    return this.model.value(this.loss, this.members(members), {variables: at?.views});
  }

  gradient(members: readonly StepInputs<S>[], at: VariableVector, total: Float64Array): number {
    const {value, gradient} = this.model.valueAndGrad(this.loss, this.members(members), {variables: at.views});
    note(this.read, gradient.variables.keys());
    for (const [variable, part] of at.partsOf(total)) {
      const own = gradient.variables.get(variable);
      if (own === undefined) part.fill(0);
      else part.set(own);
    }
    return value;
  }

  private members(members: readonly StepInputs<S>[]): TimedMember<S>[] {
    const {initial} = this;
    return (
      initial === undefined ? members : members.map(one => ({...one, initial: one.initial ?? initial}))
    ) as TimedMember<S>[];
  }
}

/** The same functions run by tfjs, where they cannot be traced: values are rounded to its single precision. */
export class TapeGradients<S extends AnySystem> implements GradientSource<S> {
  readonly read = new Set<tf.Variable>();

  constructor(
    private readonly model: Simulation<S>,
    private readonly loss: Objective<ParamsOf<S>>,
    private readonly initial: Encoder<S> | undefined,
  ) {}

  variables(): never {
    throw new Error('on the tape variables are given');
  }

  value(members: readonly StepInputs<S>[], at: VariableVector | undefined): number {
    at?.write();
    const value = tf.tidy(() => this.mean(members));
    const [number] = numbersOf(value);
    value.dispose();
    return number;
  }

  gradient(members: readonly StepInputs<S>[], at: VariableVector, total: Float64Array): number {
    at.write();
    const {loss, gradients} = lossAndGradients(() => this.mean(members), at.variables);
    let offset = 0;
    gradients.forEach((gradient, i) => {
      const part = total.subarray(offset, (offset += at.variables[i].size));
      if (gradient === undefined) part.fill(0);
      else {
        this.read.add(at.variables[i]);
        part.set(numbersOf(gradient));
        gradient.dispose();
      }
    });
    return loss;
  }

  private mean(members: readonly StepInputs<S>[]): tf.Scalar {
    return tf.div<tf.Scalar>(tf.addN(members.map(member => this.one(member))), members.length);
  }

  private one({initial, params, data}: StepInputs<S>): tf.Tensor {
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
