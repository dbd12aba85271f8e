/**
 * The loss of a product with a Hessian: a tensor function of the saved series, traced, so that its value,
 * gradient and second derivative come in double precision; or functions that give cotangents.
 */
import * as tf from '@tensorflow/tfjs';
import type {Directions} from '../adjoint/directions.js';
import {engineKey, type Engine, type Executable} from '../engine/engine.js';
import {EventError, OptionError, ShapeError} from '../errors.js';
import {callable, refuseUnknownOptions, shown} from '../checks.js';
import {full, input} from '../graph/build.js';
import {orZeros, pullback} from '../graph/differentiate.js';
import type {Key} from '../graph/key.js';
import {namedGraph} from '../graph/named-graph.js';
import {KeyedCache, programKey} from '../graph/key.js';
import type {Node} from '../graph/node.js';
import {settled} from '../graph/newton-matrix.js';
import {tangentsAlong} from '../step/programs.js';
import type {TracedParameter} from '../step/traced-step.js';
import type {Bivariant, Params} from '../system/params.js';
import {typedTree} from '../system/params.js';
import {immediate, trace, within} from '../trace/trace.js';
import type {PreparedRun} from './prepare.js';
import {column, seriesOf, setColumn} from './series.js';

/** The saved series [saved, ...shape], those that the run has; t is [saved]. */
export type SavedSeries<P = Params, Z extends string = never> = OwnSeries<P> & {readonly [K in Z]: tf.Tensor};
/** Values without hidden states. */
export interface OwnSeries<P = Params> {
  readonly t: tf.Tensor;
  readonly q: tf.Tensor;
  readonly v: tf.Tensor;
  readonly y: tf.Tensor;
  readonly a: tf.Tensor;
  readonly lambda: tf.Tensor;
  /**
   * Times of the events that happened, if the run has events; reading one that did not happen throws an `EventError`.
   */
  readonly events: tf.Tensor;
  readonly params: P;
}

/** A scalar function of the saved series; it is traced, and may use params and captured variables. */
export type SeriesLoss<P = Params, Z extends string = never> = Bivariant<SavedSeries<P, Z>, tf.Tensor>;

/** What a loss is a function of: the saved matrix [saved, width], its times, and the times of events that happened. */
export interface LossArguments {
  readonly matrix: Float64Array;
  readonly times: Float64Array;
  readonly happened: Float64Array;
}

/** A loss at a run, and what it gives beside the run's own derivatives. */
export interface LossAt {
  readonly value?: number;
  readonly cotangents: LossArguments;
  /** By parameter, where the loss depends on it by itself. */
  readonly parameters: readonly (Float64Array | undefined)[];
  /** How these change along tangents of the arguments, one for each direction. */
  along(
    tangents: readonly LossArguments[],
    directions: Directions,
  ): {readonly cotangents: readonly LossArguments[]; readonly parameters: readonly (Float64Array | undefined)[]};
}

/** value: the series → loss and its cotangents; secondOrder: and directions → how the cotangents change. */
type LossPrograms = Executable<'value' | 'secondOrder'>;

/** Compiled losses by structure: enough for the losses of one program. */
const keptLosses = 16;
const kept = new KeyedCache<Map<number, LossPrograms>>(keptLosses);

export class TracedLoss {
  /** The run's, and those that the loss alone captures. */
  readonly parameters: readonly TracedParameter[];
  private readonly blocks: ReturnType<typeof seriesOf>['blocks'];
  private readonly width: number;
  private readonly value: Node;
  /** Times, the series, and the times of events where there may be any. */
  private readonly series: readonly Node<'input'>[];
  private readonly sources: readonly Node[];
  private readonly engine: Engine;
  private readonly key: Key;

  /**
   * @param happened how many events did
   * @throws TraceError; ShapeError 'loss-shape' where the loss is no scalar; EventError 'too-few-events'
   */
  constructor(
    prepared: PreparedRun,
    loss: SeriesLoss,
    private readonly saved: number,
    happened: number,
  ) {
    const {leaves, traced, engine} = prepared;
    const {blocks, width} = seriesOf(prepared);
    const hasEvents = prepared.options.events.length > 0;
    const series = [
      {name: 't', shape: [saved]},
      ...blocks.map(({name, shape}) => ({name, shape: [saved, ...shape]})),
      ...(hasEvents ? [{name: 'events', shape: [happened]}] : []),
    ];
    const {graph, captured} = trace(
      at =>
        within('loss', () => {
          const params = typedTree(
            leaves,
            leaves.map((_, i) => at[`p.${i}`]),
          );
          const own = Object.fromEntries(series.map(({name}) => [name, at[name]]));
          return {value: scalarLoss(ofEvents(loss, {...own, params} as unknown as SavedSeries, prepared, happened))};
        }),
      [...series, ...leaves.map((leaf, i) => ({name: `p.${i}`, shape: leaf.shape}))],
    );
    this.series = graph.inputs.slice(0, series.length);
    this.sources = graph.inputs.slice(series.length);
    const own = captured.filter(({tensor}) => !traced.parameters.some(parameter => parameter.tensor === tensor));
    this.parameters = [
      ...traced.parameters,
      ...own.map(({tensor}, i) => ({tensor, node: input(`p.${traced.parameters.length + i}`, tensor.shape)})),
    ];
    [this.value] = settled([graph.outputs[0].node], 'value');
    this.places = [
      ...leaves.map((_, i) => i),
      ...captured.map(({tensor}) => this.parameters.findIndex(parameter => parameter.tensor === tensor)),
    ];
    this.key = programKey(engineKey(engine), [{inputs: graph.inputs, outputs: [{name: 'value', node: this.value}]}]);
    this.blocks = blocks;
    this.width = width;
    this.engine = engine;
  }

  /** By source of the loss, its place among the parameters. */
  private readonly places: readonly number[];

  /** The programs for so many directions. */
  private executable(count: number): LossPrograms {
    let known = kept.get(this.key);
    if (known === undefined) kept.add(this.key, (known = new Map<number, LossPrograms>()));
    const compiled = known.get(count) ?? this.compile(count);
    known.set(count, compiled);
    return compiled;
  }

  private compile(count: number): LossPrograms {
    const {value, series, sources, engine} = this;
    const wrt = [...series, ...sources];
    const cotangents = pullback([value], wrt, [full(1, [])]).map((cotangent, i) => orZeros(cotangent, wrt[i]));
    const changes = tangentsAlong(
      cotangents,
      new Map(wrt.map((node, i) => [node, input(`d.${i}`, [count, ...node.shape])])),
      count,
    );
    const named = (name: string, nodes: readonly Node[]): {[name: string]: Node} =>
      Object.fromEntries(nodes.map((node, i) => [`${name}.${i}`, node]));
    return engine.compile({
      value: namedGraph({loss: value, ...named('cotangent', cotangents)}),
      secondOrder: namedGraph(named('change', changes)),
    });
  }

  /** @param values of all parameters */
  at(series: LossArguments, values: readonly Float64Array[], count: number): LossAt {
    const {sources, places, parameters} = this;
    const own = this.series.length;
    const executable = this.executable(count);
    const set = (name: string, numbers: Float64Array): void => void executable.optionalBuffer(name)?.set(numbers);
    this.columns(series).forEach((values, i) => set(this.series[i].attributes.name, values));
    places.forEach((p, i) => set((sources[i] as Node<'input'>).attributes.name, values[p]));
    executable.run('value');
    const gathered = (
      name: string,
      rows: number,
    ): {cotangents: LossArguments[]; parameters: (Float64Array | undefined)[]} => {
      const part = (i: number, d: number): Float64Array => {
        const whole = executable.buffer(`${name}.${i}`);
        return whole.slice((d * whole.length) / rows, ((d + 1) * whole.length) / rows);
      };
      const byParameter = new Array<Float64Array | undefined>(parameters.length).fill(undefined);
      places.forEach((p, i) => (byParameter[p] = executable.buffer(`${name}.${own + i}`).slice()));
      return {
        cotangents: Array.from({length: rows}, (_, d) => this.joined(i => part(i, d))),
        parameters: byParameter,
      };
    };
    const {
      cotangents: [cotangents],
      parameters: byParameter,
    } = gathered('cotangent', 1);
    return {
      value: executable.buffer('loss')[0],
      cotangents,
      parameters: byParameter,
      along: (tangents, directions) => {
        const columns = tangents.map(one => this.columns(one));
        for (let i = 0; i < own; i++) set(`d.${i}`, Float64Array.from(columns.flatMap(one => [...one[i]])));
        places.forEach((p, i) => set(`d.${own + i}`, directions.parameters[p]));
        executable.run('secondOrder');
        return gathered('change', count);
      },
    };
  }

  /** Times, series, and times of events, each by itself. */
  private columns({matrix, times, happened}: LossArguments): Float64Array[] {
    const {blocks, width} = this;
    return [times, ...blocks.map(block => column(matrix, width, block)), happened].slice(0, this.series.length);
  }

  /** The inverse of `columns`. */
  private joined(part: (i: number) => Float64Array): LossArguments {
    const {blocks, width, saved, series} = this;
    const matrix = new Float64Array(saved * width);
    blocks.forEach((block, i) => setColumn(matrix, width, block, part(1 + i)));
    const hasEvents = series.length > 1 + blocks.length;
    return {matrix, times: part(0), happened: hasEvents ? part(1 + blocks.length) : new Float64Array(0)};
  }
}

/**
 * A loss, which may read the times of events.
 * @throws EventError 'too-few-events' where it reads `events` and fails for want of one; what else fails while none
 *   happened is told with it
 */
export function ofEvents<A extends SavedSeries>(
  loss: (at: A) => tf.Tensor,
  at: A,
  {options: {events}}: PreparedRun,
  happened: number,
): tf.Tensor {
  if (events.length === 0) return immediate(loss(at));
  let read = false;
  const watched = Object.defineProperty({...at}, 'events', {
    enumerable: true,
    get: () => {
      read = true;
      return at.events;
    },
  });
  try {
    return immediate(loss(watched));
  } catch (error) {
    const outside = error instanceof ShapeError && error.code === 'index-out-of-range';
    if (!read || (outside ? error.data.size !== happened : happened > 0)) throw error;
    const none = happened === 0 ? 'no event happened' : `only ${happened} event${happened === 1 ? '' : 's'} happened`;
    const watchedFor = events.map(({name}, i) => name ?? `events[${i}]`).join(', ');
    throw new EventError(
      'too-few-events',
      `The loss reads \`events\`, the times of what happened, and ${none} in this run, of ${watchedFor}: `
        + `${(error as Error).message} Make the run longer, check \`when\` and \`direction\` of the event, or `
        + 'start nearer to it. Without the event, the loss has no derivative with respect to its time.',
      {happened},
    );
  }
}

/** @throws ShapeError 'loss-shape' */
export function scalarLoss(value: tf.Tensor): tf.Tensor {
  const isTensor = value instanceof tf.Tensor;
  if (!isTensor || value.size !== 1)
    throw new ShapeError(
      'loss-shape',
      'The loss must return a scalar tensor, not '
        + `${isTensor ? `one of shape [${value.shape.join(', ')}]` : shown(value)}.`,
    );
  return tf.reshape(value, []);
}

/** @throws OptionError 'bad-loss' */
export function requireLoss(loss: unknown): void {
  if (typeof loss === 'function') return;
  if (typeof loss === 'object' && loss !== null && typeof (loss as {cotangent?: unknown}).cotangent === 'function') {
    refuseUnknownOptions(loss, {value: callable, cotangent: callable, tangent: callable}, 'hvp: the loss', 'bad-loss');
    return;
  }
  throw new OptionError(
    'bad-loss',
    'hvp: the loss must be a function of the saved series giving a scalar tensor, or {cotangent: trajectory => '
      + `cotangent, tangent}, not ${shown(loss)}.`,
  );
}
