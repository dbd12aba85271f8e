/**
 * Evaluations of a loss and its gradient with all programs in one memory: parameters, encoder, run, observations, loss
 * and the way back read what the one before wrote (integrate/run-call.ts). The numbers are those of objective.ts, to
 * the bit.
 */
import * as tf from '@tensorflow/tfjs';
import {addTo, setZero, store} from '../adjoint/add-to.js';
import type {Executable} from '../engine/engine.js';
import type {Vectors} from '../engine/vectors.js';
import {MemoryError, StiffgradError} from '../errors.js';
import type {Shape} from '../graph/node.js';
import {sameShape, sizeOf} from '../graph/node.js';
import {savedCount} from '../integrate/history/plan.js';
import type {RunCall} from '../integrate/run-call.js';
import {parameterList, MemoryArena} from '../integrate/run-call.js';
import type {StepExecutable} from '../step/buffers.js';
import {loadParameters} from '../step/context.js';
import {cotangentName} from '../step/parameter-names.js';
import {parameterProgram} from '../step/precomputation.js';
import type {ObserveProgram} from '../step/programs.js';
import type {Numeric} from '../system/numeric.js';
import {lentNumeric, readNumericInto} from '../system/numeric.js';
import type {Leaf, NumericParams} from '../system/params.js';
import {readParams, wholeTypeOf} from '../system/params.js';
import type {LossSeries, SavedRows} from './loss-gradient.js';
import {differentiateLoss} from './loss-gradient.js';
import type {AnyEncoder, AnyValues, LossArgument} from './objective-kinds.js';
import type {PreparedRun} from './prepare.js';
import {readCaptured, readNumbers} from './prepare.js';
import type {SourceCotangents, TracedFunction} from './traced-function.js';

const entries: ReadonlySet<string> = new Set<keyof AnyValues>(['initial', 'params', 'data', 'variables']);

/** A parameter, or what is captured: where its numbers lie, and their cotangent. */
interface Slot {
  readonly tensor?: tf.Tensor;
  readonly values: Float64Array;
  readonly gradient: Float64Array;
}

/** What an evaluation consists of, with its programs in one memory. */
interface Parts {
  readonly run: RunCall;
  readonly loss: TracedFunction<LossArgument>;
  readonly encoder: TracedFunction<'given'> | undefined;
  readonly observe: StepExecutable<ObserveProgram> | undefined;
  /** Those of the step's parameters first. */
  readonly slots: readonly Slot[];
  /** All of their values, and all of their gradients. */
  readonly values: Float64Array;
  readonly gradient: Float64Array;
  readonly data: readonly DataPlace[];
}

export class LossCall {
  /** The gradient by variables; the arrays are those of the next call too. */
  readonly variables: ReadonlyMap<tf.Variable, Float64Array>;
  private readonly sums: SourceCotangents;
  private readonly series: LossSeries;
  /** Values to the programs, and what these derive from them. */
  private readonly handed: readonly Move[];
  private readonly derive: readonly (() => void)[];
  /** Cotangents of the parameters that the programs leave, in the order in which they are added. */
  private readonly added: readonly Move[];
  private readonly isTree: boolean;
  private readonly vectors: Vectors;
  /** By slot, where its values come from; then what is copied, and what is read from tfjs. */
  private sources: readonly (Float64Array | undefined)[] = [];
  private moves: readonly Move[] = [];
  private read: readonly Slot[];

  private constructor(
    private readonly prepared: PreparedRun,
    private readonly parts: Parts,
    private readonly encode: AnyEncoder | undefined,
    data: readonly Leaf[],
  ) {
    const {run, loss, encoder, observe, slots} = parts;
    this.vectors = loss.executable.vectors;
    this.isTree = data.some(({path}) => path.length > 1);
    this.read = slots.filter(({tensor}) => tensor !== undefined);
    const captured = new Map<tf.Tensor, Float64Array>();
    const variables = new Map<tf.Variable, Float64Array>();
    for (const {tensor, gradient} of slots) {
      if (tensor !== undefined) captured.set(tensor, gradient);
      if (tensor instanceof tf.Variable) variables.set(tensor as tf.Variable, gradient);
    }
    this.variables = variables;
    this.sums = {params: slots.slice(0, prepared.leaves.length).map(({gradient}) => gradient), captured};
    const {size} = prepared.traced.state;
    const separate = (states: Float64Array, observed: Float64Array | undefined): SavedRows => ({
      states: {values: states, width: size, offset: 0},
      observed: observed && {values: observed, width: observed.length / run.times.length, offset: 0},
    });
    this.series = {
      times: run.times,
      saved: separate(run.states, observe?.buffer('observed')),
      cotangents: separate(run.cotangents, observe?.optionalBuffer('observedCotangent')),
    };
    const steps = observe === undefined ? run.executables : [...run.executables, observe];
    this.handed = joinedMoves([
      ...steps.flatMap(executable =>
        this.ofParameters(i => ({from: slots[i].values, to: executable.optionalBuffer(`p.${i}`)})),
      ),
      ...[loss, encoder].flatMap(one => (one === undefined ? [] : this.toFunction(one))),
    ]);
    this.derive = (steps as readonly Executable[]).flatMap(one =>
      one.has(parameterProgram) ? one.program(parameterProgram) : [],
    );
    const observed = parameterList(prepared.parameterValues.length).map(name =>
      observe?.optionalBuffer(cotangentName(name)),
    );
    this.added = [...run.sums, observed].flatMap(sums =>
      this.ofParameters(i => ({from: sums[i], to: slots[i].gradient})),
    );
  }

  /** Those of the parameters that both sides have. */
  private ofParameters(move: (i: number) => {readonly [side in keyof Move]: Float64Array | undefined}): Move[] {
    return this.prepared.parameterValues.flatMap((_, i) => {
      const {to, from} = move(i);
      return to === undefined || from === undefined ? [] : [{to, from}];
    });
  }

  private toFunction({buffers, captured}: Pick<TracedFunction<LossArgument>, 'buffers' | 'captured'>): Move[] {
    const {slots} = this.parts;
    const places = [
      ...buffers.params.map((to, i) => ({to, from: slots[i].values})),
      ...captured.map(({tensor}, i) => ({
        to: buffers.captured[i],
        from: slots.find(one => one.tensor === tensor)?.values,
      })),
    ];
    return places.flatMap(({to, from}) => (to === undefined || from === undefined ? [] : [{to, from}]));
  }

  /**
   * @param given the prepared simulation with which all evaluations begin, and leaves of the data
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
    prepared: PreparedRun,
    loss: TracedFunction<LossArgument>,
    encoder: TracedFunction<'given'> | undefined,
    encode: AnyEncoder | undefined,
    data: readonly Leaf[],
  ): LossCall | undefined {
    const engine = prepared.engine.inOneMemory?.();
    const {signal, onProgress, poll, events} = prepared.options;
    const isWatched = [signal, onProgress, poll].some(one => one !== undefined);
    if (engine === undefined || isWatched || events.length > 0) return undefined;
    const room = new MemoryArena(engine);
    const askedRun = prepared.adjoint.inOneCall?.(prepared, room);
    if (askedRun === undefined) return undefined;
    const {traced, compiled, parameterValues} = prepared;
    const observe =
      traced.functions.observed === undefined
        ? undefined
        : compiled.forEngine(engine).observe(savedCount(prepared.options));
    const functions = {loss: loss.on(engine, 'pull'), encoder: encoder?.on(engine, 'all')};
    const tensors: (tf.Tensor | undefined)[] = traced.parameters.map(({tensor}) => tensor);
    for (const one of [loss, encoder])
      for (const {tensor} of one?.captured ?? []) if (!tensors.includes(tensor)) tensors.push(tensor);
    const sizes = tensors.map((tensor, i) => tensor?.size ?? parameterValues[i].length);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const asked = [total, total].map(numbers => room.ask(numbers));
    room.close();

    const run = askedRun.bind();
    if (run === undefined) return undefined;
    const [values, gradient] = asked.map(array => array());
    let end = 0;
    const slots = sizes.map((size, i): Slot => {
      const begin = end;
      end += size;
      return {tensor: tensors[i], values: values.subarray(begin, end), gradient: gradient.subarray(begin, end)};
    });
    observe?.optionalBuffer('ts')?.set(run.times);
    for (const executable of [...run.executables, ...(observe === undefined ? [] : [observe])])
      loadParameters(executable, prepared);
    const places = data.map(({name, shape, dtype}, i): DataPlace => {
      const [first, ...others] = [functions.loss, functions.encoder].flatMap(one => one?.buffers.data[i] ?? []);
      return {name, shape, dtype, to: first ?? new Float64Array(sizeOf(shape)), others};
    });
    const parts = {run, ...functions, observe, slots, values, gradient, data: places};
    return new LossCall(prepared, parts, encode, data);
  }

  /**
   * The loss; undefined where something is out of the ordinary, and 'other' where other values are given than those it
   * is for.
   * @throws as `Simulation.valueAndGrad`, of values
   */
  at(given: AnyValues): number | undefined | 'other' {
    for (const entry in given) if (!entries.has(entry)) return 'other';
    const {
      prepared,
      encode,
      parts: {run, slots},
    } = this;
    const {initial, params, data, variables} = given;
    if ((typeof initial === 'function' ? initial : undefined) !== encode) return 'other';
    const state = typeof initial === 'function' ? undefined : initial;
    if (!this.readData(data)) return 'other';
    const numbers = state === undefined && params === undefined ? prepared : readNumbers(prepared, state, params);
    if (encode === undefined) run.given.set(numbers.initialValues);
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
    try {
      return this.evaluate();
    } catch (error) {
      if (error instanceof StiffgradError) return undefined;
      throw error;
    }
  }

  /** The loss at the numbers that are set; undefined where something is out of the ordinary. */
  private evaluate(): number | undefined {
    const {prepared, parts, handed, derive, series, sums} = this;
    const {run, loss, encoder, observe, values, gradient} = parts;
    if (!this.areFinite(values)) return undefined;
    for (let i = 0; i < handed.length; i++) store(handed[i].to, handed[i].from);
    for (let i = 0; i < derive.length; i++) derive[i]();
    if (encoder !== undefined) {
      encoder.executable.run('value');
      const given = encoder.executable.buffer('given');
      if (!this.areFinite(given)) return undefined;
      run.given.set(given);
    }
    if (!run.run()) return undefined;
    observe?.optionalBuffer('xs')?.set(run.states);
    observe?.run('observe');
    if (observe !== undefined) setZero(run.cotangents);
    setZero(gradient);
    const {value, initial} = differentiateLoss(prepared, loss, encoder, series, sums, () => this.pullRun());
    return this.areFinite(gradient) && this.areFinite(initial) ? value : undefined;
  }

  private areFinite(numbers: Float64Array): boolean {
    return this.vectors.largest(numbers) < Infinity;
  }

  /** From the cotangents of the series to that of the start, which is returned, and of the parameters. */
  private pullRun(): Float64Array {
    const {
      added,
      parts: {run, observe},
    } = this;
    observe?.run('pullObserved');
    if (observe !== undefined) addTo(run.cotangents, observe.buffer('xsCotangent'));
    run.pull();
    for (let i = 0; i < added.length; i++) addTo(added[i].to, added[i].from);
    return run.initial;
  }

  /**
   * Values of variables come from other arrays than before: those that lie together go together. Those that are not
   * finite end the call.
   */
  private follow(variables: AnyValues['variables']): void {
    const {slots} = this.parts;
    this.sources = slots.map(({tensor}) => variables?.get(tensor as tf.Variable));
    const isGiven = ({values}: Slot, i: number): boolean => this.sources[i]?.length === values.length;
    this.read = slots.filter((slot, i) => slot.tensor !== undefined && !isGiven(slot, i));
    this.moves = joinedMoves(
      slots.flatMap((slot, i) => (isGiven(slot, i) ? [{to: slot.values, from: this.sources[i] as Float64Array}] : [])),
    );
  }

  /** Whether the data are like those it is for. */
  private readData(given: NumericParams | undefined): boolean {
    const {
      isTree,
      parts: {data},
    } = this;
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

/** Merges copies whose numbers are adjacent on both sides. */
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
   * Milliseconds: programs of small models take some 100 to compile, and a call spares a tenth to a half of the
   * evaluation. A call that has failed is made anew, with more room perhaps, after twice as long.
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
