/**
 * A loss of a run and its gradient, all of it compiled: what encodes the start from data (where that is a function),
 * the run, its observations (a decoder) and the loss are traced once and differentiated in reverse, in double precision
 * and without tfjs's tape. Between calls with other numbers nothing is traced or compiled again.
 */
import * as tf from '@tensorflow/tfjs';
import {any, callable, abortSignal, object, refuseUnknownOptions, requireValue} from '../checks.js';
import {InconsistentStateError, OptionError, ShapeError} from '../errors.js';
import {full, input} from '../graph/build.js';
import {sameShape} from '../graph/node.js';
import type {Run} from '../integrate/path.js';
import {run} from '../integrate/run.js';
import {Layout} from '../step/layout.js';
import {lentNumeric} from '../system/numeric.js';
import {readParams, toTree} from '../system/params.js';
import {firstNotFinite} from '../system/places.js';
import {constantTensor, immediate} from '../trace/trace.js';
import {Calls, LossCall} from './loss-call.js';
import {differentiateLoss, loadSeries, requireFiniteSums, rowsOf} from './loss-gradient.js';
import {FunctionCache} from './function-cache.js';
import {ofEvents, scalarLoss} from './loss.js';
import type {
  AnyEncoder,
  AnyObjective,
  AnyValues,
  LossArgument,
  ObjectiveAt,
  ValueAndGradient,
  ValueAndVariables,
} from './objective-kinds.js';
import type {PreparedRun} from './prepare.js';
import {readCaptured, refill} from './prepare.js';
import {pullChecked} from './derivatives.js';
import {seriesOf, seriesValues} from './series.js';
import type {EvaluationPoint, SourceCotangents, TracedFunction} from './traced-function.js';
import {traceFunction} from './traced-function.js';

/** The functions beside the run of one prepared simulation, traced where they are new or get data of other shapes. */
export class Objectives {
  private readonly losses = new FunctionCache<TracedFunction<LossArgument>>();
  private readonly encoders = new FunctionCache<TracedFunction<'given'>>();
  /**
   * By loss, room for the cotangents of the saved series: the columns that it reads are written anew each time, the
   * others stay zero.
   */
  private readonly cotangents = new WeakMap<TracedFunction<LossArgument>, Float64Array>();

  private readonly calls = new WeakMap<TracedFunction<LossArgument>, Map<AnyEncoder | undefined, Calls>>();
  /** By loss, the call that served last. */
  private readonly ready = new WeakMap<AnyObjective, LossCall>();

  constructor(private readonly base: PreparedRun) {}

  /** @throws as `Simulation.valueAndVariables` */
  ofVariables(loss: AnyObjective, given: AnyValues = {}): ValueAndVariables {
    const ready = this.ready.get(loss);
    const found = ready?.at(given);
    if (ready !== undefined && typeof found === 'number') return {value: found, variables: ready.variables};
    const {prepared, point, encoder} = this.read(loss, given, 'valueAndVariables');
    const encode = typeof given.initial === 'function' ? given.initial : undefined;
    const calls = this.callsOf(loss, point, encode);
    if (found !== undefined || ready === undefined) {
      const call = calls?.due(traced => LossCall.of(this.base, traced, encoder, encode, point.data));
      if (call !== undefined && call !== ready) {
        this.ready.set(loss, call);
        return this.ofVariables(loss, given);
      }
    }
    const begin = performance.now();
    const result = prepared.adjoint.run(prepared);
    if (result.error !== undefined) throw result.error;
    const {value, gradient, warnings} = this.differentiate(
      prepared,
      result,
      this.lossOf(loss, result, point),
      point,
      encoder,
    );
    if (found === undefined && ready !== undefined) {
      // What another evaluation throws at does not count.
      this.ready.delete(loss);
      calls?.failed();
    }
    calls?.spend(performance.now() - begin);
    return {value, variables: gradient.variables, warnings};
  }

  /**
   * Those of a loss and an encoder, of a run that always saves as many states; undefined of others, and while a run is
   * on.
   */
  private callsOf(loss: AnyObjective, point: EvaluationPoint, encode: AnyEncoder | undefined): Calls | undefined {
    const {
      options: {plan, saved, events},
      compiled,
    } = this.base;
    const count = plan === undefined ? saved.length : plan.saving.kind === 'times' ? plan.saving.times.length : 0;
    if (count === 0 || events.length > 0 || compiled.inUse) return undefined;
    const traced = this.lossOf(loss, {times: new Float64Array(count)}, point);
    let known = this.calls.get(traced);
    if (known === undefined) this.calls.set(traced, (known = new Map<AnyEncoder | undefined, Calls>()));
    let calls = known.get(encode);
    if (calls === undefined) known.set(encode, (calls = new Calls(traced)));
    return calls;
  }

  /** @throws as `Simulation.valueAndGrad` */
  at(loss: AnyObjective, given?: AnyValues): ValueAndGradient {
    const {prepared, point, encoder} = this.read(loss, given, 'valueAndGrad');
    const result = prepared.adjoint.run(prepared);
    if (result.error !== undefined) throw result.error;
    return this.differentiate(prepared, result, this.lossOf(loss, result, point), point, encoder);
  }

  /** @throws as `Simulation.value` */
  valueAt(loss: AnyObjective, given?: AnyValues): number {
    const {prepared, point} = this.read(loss, given, 'value');
    const result = run(prepared);
    if (result.error !== undefined) throw result.error;
    const traced = this.lossOf(loss, result, point);
    traced.load(point);
    const {times, events} = result;
    loadSeries(traced, prepared, {times, events, saved: rowsOf(prepared, seriesValues(prepared, result))});
    traced.executable.run('value');
    return traced.executable.buffer('loss')[0];
  }

  /** The run that is asked for, its start encoded. */
  private read(
    loss: AnyObjective,
    given: AnyValues = {},
    owner: string,
  ): {prepared: PreparedRun; point: EvaluationPoint; encoder: TracedFunction<'given'> | undefined} {
    requireValue(loss, callable, `${owner}: the loss`, 'bad-loss');
    refuseUnknownOptions(
      given,
      {initial: any, params: object, data: object, variables: any, signal: abortSignal},
      owner,
    );
    const {initial, params, variables, signal} = given;
    const encode = typeof initial === 'function' ? initial : undefined;
    const filled = refill(this.base, typeof initial === 'function' ? undefined : initial, params, signal, variables);
    const point: EvaluationPoint = {
      params: filled.leaves,
      data: given.data === undefined ? [] : readParams(given.data, 'data', lentNumeric),
      captured: tensor => readCaptured(tensor, variables),
    };
    const encoder = encode === undefined ? undefined : this.encoderOf(encode, point);
    return {
      prepared: encoder === undefined ? filled : {...filled, initialValues: encoded(encoder, filled, point)},
      point,
      encoder,
    };
  }

  private differentiate(
    prepared: PreparedRun,
    result: Run,
    loss: TracedFunction<LossArgument>,
    point: EvaluationPoint,
    encoder: TracedFunction<'given'> | undefined,
  ): ValueAndGradient {
    const {traced, leaves} = prepared;
    const matrix = seriesValues(prepared, result);
    let cotangents = this.cotangents.get(loss);
    if (cotangents?.length !== matrix.length) this.cotangents.set(loss, (cotangents = new Float64Array(matrix.length)));
    const {times, events} = result;
    const series = {saved: rowsOf(prepared, matrix), cotangents: rowsOf(prepared, cotangents), times, events};
    const captured = new Map<tf.Tensor, Float64Array>();
    const sums: {params: Float64Array[]; captured: typeof captured} = {params: [], captured};
    loss.load(point);
    const {value, initial} = differentiateLoss(prepared, loss, encoder, series, sums, ofTimes => {
      const gradient = pullChecked(prepared, result, {series: cotangents, ...ofTimes});
      result.tape?.record?.release();
      sums.params = gradient.parameters.slice(0, leaves.length);
      traced.parameters.forEach(({tensor}, i) => {
        if (tensor !== undefined) captured.set(tensor, gradient.parameters[i]);
      });
      return gradient.initial;
    });
    requireFiniteSums(sums, leaves);
    return {
      value,
      gradient: named(prepared, encoder === undefined ? initial : undefined, sums),
      warnings: result.warnings,
    };
  }

  /** An encoder, traced where it is new. */
  encoderOf(encode: AnyEncoder, point: EvaluationPoint): TracedFunction<'given'> {
    const {base} = this;
    const {initialValues, engine} = base;
    if (base.resumed === true)
      throw new OptionError(
        'bad-initial',
        'A simulation prepared from a saved state starts from saved states, and an encoder does not return one.',
      );
    return this.encoders.of(encode, nothing, point.data, () =>
      traceFunction(
        'initial',
        engine,
        point,
        [],
        ({params, data}) => ({given: flat(immediate(encode({params, data})), base)}),
        () => input('givenCotangent', [initialValues.length]),
      ),
    );
  }

  /** A loss of so many saved states, traced where it is new. */
  lossOf(
    loss: AnyObjective,
    {times, events}: Pick<Run, 'times' | 'events'>,
    point: EvaluationPoint,
  ): TracedFunction<LossArgument> {
    const {base} = this;
    const {blocks} = seriesOf(base);
    const saved = times.length;
    const hasEvents = base.options.events.length > 0;
    const happened = events?.length ?? 0;
    return this.losses.of(loss, [saved, happened], point.data, () =>
      traceFunction(
        'loss',
        base.engine,
        point,
        [
          {name: 't', shape: [saved]},
          ...blocks.map(({name, shape}) => ({name, shape: [saved, ...shape]})),
          ...(hasEvents ? [{name: 'events', shape: [happened]}] : []),
        ],
        ({own, params, data}) => {
          const at = {...own, params, data} as unknown as ObjectiveAt;
          return {loss: scalarLoss(ofEvents(loss, at, base, happened))};
        },
        () => full(1, []),
      ),
    );
  }
}

const nothing: readonly number[] = [];

/** The blocks of a start, flat, as tensors. */
/** Hidden states that it leaves out begin as the run was prepared. */
function flat(start: {readonly [block: string]: tf.Tensor}, {own, initial, system}: PreparedRun): tf.Tensor {
  const hidden = new Set(system.kind === 'mechanics' ? Object.keys(system.states ?? {}) : []);
  const parts = own.map(({name, shape}, i) => {
    const block: unknown = (start as typeof start | null | undefined)?.[name];
    if (block === undefined && hidden.has(name)) return constantTensor(initial[i].values, [initial[i].values.length]);
    const found = block instanceof tf.Tensor ? (block as tf.Tensor).shape : undefined;
    if (found === undefined || !sameShape(found, shape))
      throw new ShapeError(
        'initial-shape',
        `The function initial must return {${own.map(one => one.name).join(', ')}}; ${name} must be a tensor `
          + `of shape [${shape.join(', ')}] as this simulation was prepared, and is `
          + `${found === undefined ? typeof block : `of shape [${found.join(', ')}]`}.`,
        {name},
      );
    return tf.reshape(block as tf.Tensor, [-1]);
  });
  return tf.concat(parts);
}

/** The start that the encoder makes. @throws InconsistentStateError where it is not finite */
export function encoded(encoder: TracedFunction<'given'>, {own}: PreparedRun, point: EvaluationPoint): Float64Array {
  const {executable} = encoder;
  encoder.load(point);
  executable.run('value');
  const made = executable.buffer('given');
  const at = firstNotFinite(made);
  if (at < 0) return made;
  throw new InconsistentStateError(
    'not-finite',
    `The function initial gives ${made[at]} for ${new Layout(own).rowName(at)}: every number of a start must `
      + 'be finite.',
    {index: at},
  );
}

function named(
  {traced, leaves, initialValues}: PreparedRun,
  initial: Float64Array | undefined,
  {params, captured}: SourceCotangents,
): ValueAndGradient['gradient'] {
  const variables = new Map<tf.Variable, Float64Array>();
  const tensors = new Map<tf.Tensor, Float64Array>();
  for (const [tensor, values] of captured) {
    if (tensor instanceof tf.Variable) variables.set(tensor as tf.Variable, values);
    else tensors.set(tensor, values);
  }
  if (initial === undefined) return {params: toTree(leaves, params), variables, tensors};
  let blocks: {[block: string]: Float64Array} | undefined;
  return {
    // A training step does not ask.
    get initial() {
      return (blocks ??= Object.fromEntries(
        traced.state.blocks
          .filter(({offset}) => offset < initialValues.length)
          .map(({name, offset, size}) => [name, initial.slice(offset, offset + size)]),
      ));
    },
    params: toTree(leaves, params),
    variables,
    tensors,
  };
}
