/**
 * A batch as data come: one traced simulation for any number of members, each with its own start, times, parameters and
 * data. Nothing is traced or compiled for another number of them, nor for other times.
 */
import * as tf from '@tensorflow/tfjs';
import {gradientNotFinite} from '../adjoint/not-finite.js';
import {addTo} from '../adjoint/add-to.js';
import type {LaneGradients} from '../adjoint/pull-lanes.js';
import {
  abortSignal,
  any,
  callable,
  positiveInteger,
  finite,
  list,
  object,
  refuseUnknownOptions,
  requireValue,
  throwIfAborted,
} from '../checks.js';
import {OptionError} from '../errors.js';
import {toUserTime} from '../step/time-direction.js';
import type {System} from '../step/formulation.js';
import type {NumericParams} from '../system/params.js';
import {readParams, toTree} from '../system/params.js';
import {isRunState} from '../integrate/run-state.js';
import type {
  BatchLoss,
  BatchValues,
  MemberGradient,
  MembersGradient,
  PreparedBatch,
  PreparedBatchOptions,
} from './batch-kinds.js';
import type {AnySystem, Cotangent, Initial, ParamsOf, StatesOf} from './kinds.js';
import type {MemberRun} from './members.js';
import {Members, widthOf} from './members.js';
import {readPullbackOptions, runCotangents} from './named.js';
import type {AnyEncoder, AnyObjective, LossArgument} from './objective-kinds.js';
import {
  timeCotangents,
  loadSeries,
  requireFiniteLoss,
  requireFiniteSums,
  rowsOf,
  setSeriesCotangents,
} from './loss-gradient.js';
import {encoded, Objectives} from './objective.js';
import {asTensors, taping} from './operation.js';
import type {AskedGradient, SeriesCotangents} from './series.js';
import type {SimulateOptions} from './options.js';
import type {PreparedRun} from './prepare.js';
import {prepare, readCaptured, refill, refillMember} from './prepare.js';
import type {MemberTimes} from './timed.js';
import {atTimes, gatheredRows, placed} from './timed.js';
import type {EvaluationPoint, SourceCotangents, TracedFunction} from './traced-function.js';
import type {AnyTrajectory} from './trajectory.js';
import {trajectoryOf} from './trajectory.js';
import {inMember} from './workers/serialize-error.js';

/** A prepared batch of any system, for the compiler. */
interface Untyped {
  readonly kind: 'batch';
  run(members: unknown, values?: BatchValues): unknown;
  vjp(members: unknown, values?: BatchValues): unknown;
  valueAndGrad(loss: unknown, members: unknown, values?: BatchValues): unknown;
  value(loss: unknown, members: unknown, values?: BatchValues): unknown;
}

type AnyMember = MemberTimes & {
  readonly initial?: Initial | AnyEncoder;
  readonly params?: NumericParams;
  readonly data?: NumericParams;
};

/** A member's run as it is asked for, with what else depends on its numbers. */
interface Asked {
  readonly prepared: PreparedRun;
  readonly places?: Int32Array;
  readonly point: EvaluationPoint;
  readonly encoder?: TracedFunction<'given'>;
}

/** @throws as `simulate.prepare` */
export function prepareBatch<S extends AnySystem>(
  system: S,
  initial: Initial<S>,
  all: PreparedBatchOptions<ParamsOf<S>, StatesOf<S>>,
): PreparedBatch<S> {
  requireValue(all, object, 'batch.prepare: the options', 'bad-time');
  const {lanes, ...options} = all;
  if (lanes !== undefined) requireValue(lanes, positiveInteger, 'batch.prepare: lanes', 'bad-option', 'lanes');
  if (isRunState(initial))
    throw new OptionError('bad-initial', 'batch.prepare: members cannot start from a saved state: give {y} or {q, v}.');
  const batch = new Batches(system, initial, options as SimulateOptions, lanes);
  return {
    kind: 'batch',
    run: (members, values) => batch.run(members as readonly AnyMember[], values),
    vjp: (members, values) => batch.vjp(members as readonly AnyMember[], values),
    valueAndGrad: (loss, members, values) =>
      batch.valueAndGrad(loss as AnyObjective, members as readonly AnyMember[], values),
    value: (loss, members, values) => batch.value(loss as AnyObjective, members as readonly AnyMember[], values),
  } satisfies Untyped as unknown as PreparedBatch<S>;
}

class Batches {
  private readonly base: PreparedRun;
  private readonly objectives: Objectives;
  private readonly members: Members;

  constructor(
    system: System,
    initial: Initial,
    private readonly options: SimulateOptions,
    lanes: number | undefined,
  ) {
    this.base = {...prepare(system, initial, options, 'any times'), unread: undefined};
    this.objectives = new Objectives(this.base);
    this.members = new Members(this.base, lanes);
  }

  run(given: readonly AnyMember[], values: BatchValues = {}): AnyTrajectory[] {
    const asked = this.read(given, values, 'run');
    return this.trajectories(asked, this.runs(asked, false, this.base.options.throw));
  }

  vjp(
    given: readonly AnyMember[],
    values: BatchValues = {},
  ): {
    trajectories: AnyTrajectory[];
    pullback: (cotangents: readonly (Cotangent | undefined)[], also?: {readonly t0?: boolean}) => MembersGradient;
  } {
    const asked = this.read(given, values, 'run');
    const runs = this.runs(asked, true, this.base.options.throw);
    return {
      trajectories: this.trajectories(asked, runs),
      pullback: (cotangents, also) => {
        const wanted = readPullbackOptions(also);
        requireValue(cotangents, list, 'pullback: the cotangents', 'bad-cotangent');
        if (cotangents.length !== runs.length)
          throw new OptionError(
            'bad-cotangent',
            `pullback: ${runs.length} members need one cotangent each (undefined for none), but got `
              + `${cotangents.length}.`,
            {members: runs.length, cotangents: cotangents.length},
          );
        const packed = cotangents.map((cotangent, i) =>
          cotangent === undefined ? undefined : this.packed(asked[i], runs[i], cotangent, i, wanted),
        );
        return this.pulled(asked, runs, packed, this.sums(asked, runs), 1);
      },
    };
  }

  value(loss: AnyObjective, given: readonly AnyMember[], values: BatchValues = {}): number {
    requireValue(loss, callable, 'value: the loss', 'bad-loss');
    const asked = this.read(given, values, 'loss');
    const runs = this.runs(asked, false, true);
    let sum = 0;
    asked.forEach((one, i) => {
      const traced = this.loaded(loss, one, runs[i]);
      traced.executable.run('value');
      sum += traced.executable.buffer('loss')[0];
    });
    return sum / asked.length;
  }

  valueAndGrad(loss: AnyObjective, given: readonly AnyMember[], values: BatchValues = {}): BatchLoss {
    requireValue(loss, callable, 'valueAndGrad: the loss', 'bad-loss');
    const asked = this.read(given, values, 'loss');
    const runs = this.runs(asked, true, true);
    const losses = new Float64Array(asked.length);
    const sums = this.sums(asked, runs);
    const cotangents = asked.map((one, i) => {
      const {run: result} = runs[i];
      const traced = this.loaded(loss, one, runs[i]);
      traced.executable.run('pull');
      losses[i] = traced.executable.buffer('loss')[0];
      inOne(i, () => requireFiniteLoss(losses[i]));
      traced.addTo(sums[i]);
      const width = widthOf(one.prepared);
      const places = one.places?.length ?? result.times.length;
      const all = new Float64Array(places * width);
      setSeriesCotangents(traced, one.prepared, rowsOf(one.prepared, all));
      const {times, happened} = timeCotangents(traced, one.prepared);
      return {
        series: gatheredRows(all, one.places, width, result.times.length),
        happened,
        times: times && gatheredRows(times, one.places, 1, result.times.length),
      };
    });
    const gradient = this.pulled(asked, runs, cotangents, sums, 1 / asked.length);
    runs[0].ways?.record.steps.release();
    return {
      value: losses.reduce((sum, value) => sum + value, 0) / losses.length,
      values: losses,
      gradient,
      warnings: [...new Set(runs.flatMap(one => one.run.warnings))],
    };
  }

  /** Through the runs, and through the encoders of their starts; times `share`. */
  private pulled(
    asked: readonly Asked[],
    runs: readonly MemberRun[],
    cotangents: readonly (SeriesCotangents | undefined)[],
    sums: readonly SourceCotangents[],
    share: number,
  ): MembersGradient {
    const gradients = this.members.pull(runs, cotangents);
    asked.forEach(({encoder, prepared, point}, i) => {
      if (encoder === undefined) return;
      // Its buffers were another member's since.
      encoder.load(point);
      encoder.executable.optionalBuffer('givenCotangent')?.set(gradients.initial[i]);
      encoder.executable.run('pull');
      encoder.addTo(sums[i]);
      inOne(i, () => requireFiniteSums({params: sums[i].params, captured: new Map()}, prepared.leaves));
    });
    return this.gradient(asked, gradients, sums, share);
  }

  /** Everything read and checked, before anything runs. */
  private read(given: readonly AnyMember[], values: BatchValues, what: 'run' | 'loss'): Asked[] {
    requireValue(given, list, 'a batch: its members', 'bad-initial');
    refuseUnknownOptions(values, {variables: any, signal: abortSignal}, 'a batch');
    throwIfAborted(values.signal ?? this.base.options.signal);
    if (given.length === 0) throw new OptionError('bad-initial', 'a batch: give one member at least.');
    const shared = refill(this.base, undefined, undefined, values.signal, values.variables);
    const known = new Map<tf.Tensor, Float64Array>();
    const captured = (tensor: tf.Tensor): Float64Array => {
      let numbers = known.get(tensor);
      if (numbers === undefined) known.set(tensor, (numbers = readCaptured(tensor, values.variables)));
      return numbers;
    };
    return given.map((member, i) => inOne(i, () => this.readOne(shared, member, captured, what)));
  }

  private readOne(
    shared: PreparedRun,
    member: AnyMember,
    captured: EvaluationPoint['captured'],
    what: 'run' | 'loss',
  ): Asked {
    requireValue(member, object, 'a member', 'bad-initial');
    refuseUnknownOptions(
      member,
      {initial: any, params: object, t0: finite, t1: finite, saveAt: list, data: object},
      'a member of a batch',
    );
    const {initial, params, data} = member;
    const encode = typeof initial === 'function' ? initial : undefined;
    const start = typeof initial === 'function' ? undefined : initial;
    const filled = refillMember(shared, start, params);
    if (what === 'run' && taping(filled))
      throw new OptionError(
        'on-tape',
        "A prepared batch was called inside tf.grad or an optimizer's minimize, but it is not recorded on "
          + 'their tape: use its valueAndGrad or vjp, or `batch` itself.',
      );
    const t0 = member.t0 ?? start?.t ?? toUserTime(this.base.traced, this.base.t0);
    const {prepared, places} = atTimes(filled, this.options, member, t0, this.members.inLanes);
    const point: EvaluationPoint = {
      params: prepared.leaves,
      data: data === undefined ? [] : readParams(data, 'data'),
      captured,
    };
    const encoder = encode === undefined ? undefined : this.objectives.encoderOf(encode, point);
    if (encoder === undefined) return {prepared, places, point};
    return {prepared: {...prepared, initialValues: encoded(encoder, prepared, point).slice()}, places, point, encoder};
  }

  private runs(asked: readonly Asked[], keep: boolean, throws: boolean): MemberRun[] {
    const runs = this.members.run(
      asked.map(({prepared}) => prepared),
      keep,
    );
    runs.forEach(({run: {error}}, i) => {
      if (error !== undefined && throws) throw inMember(error, i);
    });
    return runs;
  }

  private trajectories(asked: readonly Asked[], runs: readonly MemberRun[]): AnyTrajectory[] {
    return runs.map(({prepared, run: result, matrix}, i) => {
      const {places} = asked[i];
      const shown = {...result, times: placed(result.times, places, 1), tape: undefined};
      const rows = placed(matrix, places, widthOf(prepared));
      return trajectoryOf(prepared, shown, rows, asTensors(prepared, shown, rows));
    });
  }

  private loaded(
    loss: AnyObjective,
    {places, point}: Asked,
    {prepared, run: {times, events}, matrix}: MemberRun,
  ): TracedFunction<LossArgument> {
    const saved = {times: placed(times, places, 1), events};
    const traced = this.objectives.lossOf(loss, saved, point);
    traced.load(point);
    loadSeries(traced, prepared, {...saved, saved: rowsOf(prepared, placed(matrix, places, widthOf(prepared)))});
    return traced;
  }

  private packed(
    {prepared, places}: Asked,
    {run: result}: MemberRun,
    cotangent: Cotangent,
    i: number,
    wanted: AskedGradient,
  ): SeriesCotangents {
    const {series, happened} = inOne(i, () => runCotangents(prepared, result, cotangent, places?.length));
    return {series: gatheredRows(series, places, widthOf(prepared), result.times.length), happened, asked: wanted};
  }

  /** What loss and encoder add: to sums that the members share, or to their own. */
  private sums(asked: readonly Asked[], runs: readonly MemberRun[]): SourceCotangents[] {
    const {members, base} = this;
    const own = members.ownOf(runs);
    const zeros = (): Float64Array[] => base.leaves.map(({values}) => new Float64Array(values.length));
    const captured = new Map<tf.Tensor, Float64Array>();
    const shared = zeros();
    return asked.map(() => {
      const ofMember = own.size === 0 ? shared : zeros();
      return {captured, params: shared.map((total, p) => (own.has(p) ? ofMember[p] : total))};
    });
  }

  /** @param beside what loss and encoder add */
  private gradient(
    asked: readonly Asked[],
    {initial, shared, own, t0}: LaneGradients,
    beside: readonly SourceCotangents[],
    share: number,
  ): MembersGradient {
    const {leaves, traced} = this.base;
    const scaled = (values: Float64Array): Float64Array => (share === 1 ? values : values.map(value => share * value));
    const isOwn = (p: number): boolean => own[0].has(p);
    const ownLeaves = leaves.filter((_, p) => isOwn(p));
    const params = leaves.map((leaf, p) => {
      if (!isOwn(p)) {
        addTo(shared[p], beside[0].params[p]);
        return scaled(shared[p]);
      }
      const total = new Float64Array(leaf.values.length);
      own.forEach((of, i) => {
        addTo(of.get(p), beside[i].params[p]);
        addTo(total, of.get(p), share);
      });
      return total;
    });
    const variables = new Map<tf.Variable, Float64Array>();
    const tensors = new Map<tf.Tensor, Float64Array>();
    const [{captured}] = beside;
    traced.parameters.forEach(({tensor}, p) => {
      if (tensor === undefined) return;
      addTo(shared[p], captured.get(tensor));
      captured.set(tensor, shared[p]);
    });
    for (const [tensor, values] of captured) {
      const bad = values.find(value => !Number.isFinite(value));
      if (bad !== undefined)
        throw gradientNotFinite({
          name: tensor instanceof tf.Variable ? `the variable ${tensor.name}` : 'a captured tensor',
          value: bad,
        });
      if (tensor instanceof tf.Variable) variables.set(tensor as tf.Variable, scaled(values));
      else tensors.set(tensor, scaled(values));
    }
    return {
      members: asked.map(({encoder, prepared}, i) => ({
        ...(encoder === undefined ? {initial: this.named(prepared, scaled(initial[i]))} : {}),
        params: toTree(
          ownLeaves,
          ownLeaves.map(leaf => scaled(own[i].get(leaves.indexOf(leaf)) as Float64Array)),
        ),
        ...(t0 === undefined ? {} : {t0: t0[i]}),
      })),
      params: toTree(leaves, params),
      variables,
      tensors,
    };
  }

  private named({traced, initialValues}: PreparedRun, flat: Float64Array): MemberGradient['initial'] {
    const started = traced.state.blocks.filter(({offset}) => offset < initialValues.length);
    return Object.fromEntries(started.map(({name, offset, size}) => [name, flat.slice(offset, offset + size)]));
  }
}

/** An error says which member it is of. */
function inOne<T>(i: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw inMember(error, i);
  }
}
