/**
 * A loss of a run and its gradient in one call into compiled code: parameters handed on, the encoder, the run, observations, the
 * loss, the way back and the sums of what comes to each variable, with all programs in one memory (integrate/run-call.ts). The
 * numbers are those of objective.ts, to the bit.
 */
import * as tf from '@tensorflow/tfjs';
import {routinesOf} from '../engine/routines.js';
import {MemoryError} from '../errors.js';
import type {Shape} from '../graph/node.js';
import {sameShape, sizeOf} from '../graph/node.js';
import {savedCount} from '../integrate/history/plan.js';
import {Room} from '../integrate/run-call.js';
import {loadParameters} from '../step/context.js';
import type {Numeric} from '../system/numeric.js';
import {lentNumeric, readNumericInto} from '../system/numeric.js';
import type {Leaf, NumericParams} from '../system/params.js';
import {readParams, wholeTypeOf} from '../system/params.js';
import type {Slot} from './loss-routine.js';
import {LossRoutine} from './loss-routine.js';
import type {AnyEncoder, AnyValues, LossArgument} from './objective-kinds.js';
import type {Prepared} from './prepare.js';
import {readCaptured, readNumbers} from './prepare.js';
import type {TracedFunction} from './traced-function.js';

const entries: ReadonlySet<string> = new Set<keyof AnyValues>(['initial', 'params', 'data', 'variables']);

export class LossCall {
  /** The gradient by variables; the arrays are those of the next call too. */
  readonly variables: ReadonlyMap<tf.Variable, Float64Array>;
  /** By slot, where its values come from; then what is copied, and what is read from tfjs. */
  private sources: readonly (Float64Array | undefined)[] = [];
  private moves: readonly Move[] = [];
  private read: readonly Slot[];

  private constructor(
    private readonly prepared: Prepared,
    private readonly call: () => number,
    /** Where the start is put; undefined where an encoder makes it. */
    private readonly start: Float64Array | undefined,
    /** Those of the step's parameters first. */
    private readonly slots: readonly Slot[],
    private readonly loss: Float64Array,
    private readonly data: readonly DataPlace[],
    private readonly isTree: boolean,
    private readonly encode: AnyEncoder | undefined,
  ) {
    this.read = slots.filter(({tensor}) => tensor !== undefined);
    this.variables = new Map(
      slots.flatMap(({tensor, gradient}) => (tensor instanceof tf.Variable ? [[tensor as tf.Variable, gradient]] : [])),
    );
  }

  /**
   * @param prepared as all evaluations begin with it
   * @param data leaves of the data, of other numbers perhaps
   * @returns undefined where a run is not taken so, or there is no memory for it
   */
  static of(...given: Parameters<typeof LossCall.made>): LossCall | undefined {
    try {
      return LossCall.made(...given);
    } catch (error) {
      if (error instanceof MemoryError) return undefined;
      throw error;
    }
  }

  private static made(
    prepared: Prepared,
    loss: TracedFunction<LossArgument>,
    encoder: TracedFunction<'given'> | undefined,
    encode: AnyEncoder | undefined,
    data: readonly Leaf[],
  ): LossCall | undefined {
    const engine = prepared.engine.inOneMemory?.();
    const {signal, onProgress, poll, events} = prepared.options;
    const isWatched = [signal, onProgress, poll].some(one => one !== undefined);
    if (engine === undefined || isWatched || events.length > 0) return undefined;
    const room = new Room(engine);
    const askedRun = prepared.adjoint.inOneCall?.(prepared, room);
    if (askedRun === undefined) return undefined;
    const {traced, compiled, parameterValues} = prepared;
    const observe =
      traced.functions.observed === undefined ? undefined : compiled.on(engine).observe(savedCount(prepared.options));
    const ofLoss = {traced: loss, executable: loss.on(engine, 'pull')};
    const ofEncoder = encoder && {traced: encoder, executable: encoder.on(engine, 'all')};
    const tensors: (tf.Tensor | undefined)[] = traced.parameters.map(({tensor}) => tensor);
    for (const one of [loss, encoder])
      for (const {tensor} of one?.captured ?? []) if (!tensors.includes(tensor)) tensors.push(tensor);
    const sizes = tensors.map((tensor, i) => tensor?.size ?? parameterValues[i].length);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const asked = [total, total, Math.max(1, ...sizes)].map(numbers => room.ask(numbers));
    room.close();

    const run = askedRun.bind();
    const routines = routinesOf(ofLoss.executable);
    if (run === undefined || routines === undefined) return undefined;
    const [values, gradient, zeros] = asked.map(array => array());
    let end = 0;
    const slots = sizes.map((size, i): Slot => {
      const begin = end;
      end += size;
      return {tensor: tensors[i], values: values.subarray(begin, end), gradient: gradient.subarray(begin, end)};
    });
    ofLoss.executable.find('t')?.set(run.times);
    observe?.find('ts')?.set(run.times);
    for (const executable of [...run.executables, ...(observe === undefined ? [] : [observe])])
      loadParameters(executable, prepared);
    const writer = new LossRoutine(prepared, run, ofLoss, ofEncoder, observe, {
      routines,
      slots,
      values,
      gradient,
      zeros,
    });
    const places = data.map(({name, shape, dtype}, i): DataPlace => {
      const [first, ...others] = [ofLoss, ofEncoder].flatMap(one => one?.executable.find(`data.${i}`) ?? []);
      return {name, shape, dtype, to: first ?? new Float64Array(sizeOf(shape)), others};
    });
    return new LossCall(
      prepared,
      writer.call,
      ofEncoder === undefined ? run.given : undefined,
      slots,
      ofLoss.executable.buffer('loss'),
      places,
      data.some(({path}) => path.length > 1),
      encode,
    );
  }

  /**
   * The loss; undefined where something is out of the ordinary, and 'other' where other values are given than those it is for.
   * @throws as `Simulation.valueAndGrad`, of values
   */
  at(given: AnyValues): number | undefined | 'other' {
    for (const entry in given) if (!entries.has(entry)) return 'other';
    const {prepared, start, slots, encode} = this;
    const {initial, params, data, variables} = given;
    if ((typeof initial === 'function' ? initial : undefined) !== encode) return 'other';
    const state = typeof initial === 'function' ? undefined : initial;
    if (!this.readData(data)) return 'other';
    const numbers = state === undefined && params === undefined ? prepared : readNumbers(prepared, state, params);
    start?.set(numbers.given);
    const {leaves} = numbers;
    let isSame = true;
    for (let i = 0; i < slots.length; i++) {
      const {tensor, values} = slots[i];
      if (tensor === undefined) values.set(leaves[i].values);
      else if (variables?.get(tensor as tf.Variable) !== this.sources[i]) isSame = false;
    }
    if (!isSame) this.follow(variables);
    for (let i = 0; i < this.moves.length; i++) this.moves[i].to.set(this.moves[i].from);
    for (let i = 0; i < this.read.length; i++)
      this.read[i].values.set(readCaptured(this.read[i].tensor as tf.Tensor, variables));
    if (this.call() === 0) return undefined;
    return this.loss[0];
  }

  /** Values of variables come from other arrays than before: those that lie together go together. Those that are not finite end the call. */
  private follow(variables: AnyValues['variables']): void {
    const {slots} = this;
    this.sources = slots.map(({tensor}) => variables?.get(tensor as tf.Variable));
    const isGiven = ({values}: Slot, i: number): boolean => this.sources[i]?.length === values.length;
    this.read = slots.filter((slot, i) => slot.tensor !== undefined && !isGiven(slot, i));
    this.moves = joinedMoves(
      slots.flatMap((slot, i) => (isGiven(slot, i) ? [{to: slot.values, from: this.sources[i] as Float64Array}] : [])),
    );
  }

  /** Whether the data are like those it is for. */
  private readData(given: NumericParams | undefined): boolean {
    const {data, isTree} = this;
    if (given === undefined) return data.length === 0;
    const leaves = isTree ? readParams(given, 'data', lentNumeric) : undefined;
    if (typeof given !== 'object' || given === null) return false;
    if ((leaves ?? Object.keys(given)).length !== data.length) return false;
    for (let i = 0; i < data.length; i++) {
      const {name, shape, dtype, to, others} = data[i];
      const isLike =
        leaves === undefined
          ? Object.hasOwn(given, name)
            && wholeTypeOf(given[name] as Numeric) === dtype
            && readNumericInto(given[name] as Numeric, shape, to)
          : leaves[i].name === name && leaves[i].dtype === dtype && sameShape(leaves[i].shape, shape);
      if (!isLike) return false;
      if (leaves !== undefined) to.set(leaves[i].values);
      for (let k = 0; k < others.length; k++) others[k].set(to);
    }
    return true;
  }
}

interface Move {
  readonly to: Float64Array;
  readonly from: Float64Array;
}

/** The same numbers to the same places; what lies behind one another on both sides goes at once. */
function joinedMoves(moves: readonly Move[]): Move[] {
  const joined: Move[] = [];
  for (const move of moves) {
    const last = joined.at(-1);
    if (last !== undefined && follows(last.to, move.to) && follows(last.from, move.from))
      joined[joined.length - 1] = {to: both(last.to, move.to), from: both(last.from, move.from)};
    else joined.push(move);
  }
  return joined;
}

const follows = (a: Float64Array, b: Float64Array): boolean =>
  a.buffer === b.buffer && a.byteOffset + a.byteLength === b.byteOffset;

const both = (a: Float64Array, b: Float64Array): Float64Array =>
  new Float64Array(a.buffer, a.byteOffset, a.length + b.length);

/** Where an entry of the data is put, and again. */
interface DataPlace extends Pick<Leaf, 'name' | 'dtype'> {
  readonly shape: Shape;
  readonly to: Float64Array;
  readonly others: readonly Float64Array[];
}

/** Evaluations of one loss: by one call each (loss-call.ts) once others have taken so long that its programs pay. */
export class Calls {
  /**
   * Milliseconds: programs of small models take some 100 to compile, and a call spares a tenth to a half of the evaluation.
   * A call that has failed is made anew, with more room perhaps, after twice as long.
   */
  static after = 400;
  private needed = Calls.after;
  /** By evaluations that were none; undefined before the first, which checks what all others rely on. */
  private spent: number | undefined;
  private made: LossCall | undefined;

  constructor(private readonly loss: TracedFunction<LossArgument>) {}

  spend(milliseconds: number): void {
    this.spent = (this.spent ?? 0) + milliseconds;
  }

  due(make: (loss: TracedFunction<LossArgument>) => LossCall | undefined): LossCall | undefined {
    if (this.made === undefined && this.spent !== undefined && this.spent >= this.needed) {
      this.made = make(this.loss);
      if (this.made === undefined) this.needed = Infinity;
    }
    return this.made;
  }

  failed(): void {
    this.made = undefined;
    this.spent = 0;
    this.needed *= 2;
  }
}
