/**
 * A function of tensors beside a run (its loss, what encodes its start), traced and compiled with its derivative. It
 * reads the run's parameters, data, and what it captures: these are its sources, which are set before it runs, and to
 * which its cotangents are added.
 */
import type * as tf from '@tensorflow/tfjs';
import {addTo} from '../adjoint/add-to.js';
import type {Engine, Executable, Programs} from '../engine/engine.js';
import {engineKey} from '../engine/engine.js';
import {pullback} from '../graph/differentiate.js';
import {KeyedCache, programKey} from '../graph/key.js';
import {namedGraph} from '../graph/named-graph.js';
import {settled} from '../graph/newton-matrix.js';
import type {Graph, Node} from '../graph/node.js';
import type {Leaf, Params} from '../system/params.js';
import {typedTree} from '../system/params.js';
import type {Captured, Traced, TraceInput} from '../trace/trace.js';
import {trace, within} from '../trace/trace.js';

/** What such a function is evaluated at. */
export interface EvaluationPoint {
  readonly params: readonly Leaf[];
  readonly data: readonly Leaf[];
  /** The numbers of what a function captures. */
  readonly captured: (tensor: tf.Tensor) => Float64Array;
}

/** Cotangents of the parameters, in their order, and of what is captured. */
export interface SourceCotangents {
  readonly params: readonly Float64Array[];
  readonly captured: Map<tf.Tensor, Float64Array>;
}

/** Its buffers: its own arguments and results by their names, and by number the rest. */
export type FunctionBuffer<Own extends string> =
  Own | `${Own}Cotangent` | `params.${number}` | `data.${number}` | `captured.${number}` | `cotangent.${number}`;

export type FunctionExecutable<Own extends string> = Executable<'value' | 'pull', FunctionBuffer<Own>>;

/** Compiled functions by structure: those of one training, its validation, and those of another. */
const keptFunctions = 32;
const kept = new KeyedCache<{readonly programs: Programs; readonly executable: Executable}>(keptFunctions);

/** Parameters, data and arguments of its own, as the function's author sees them. */
export type TracedBody = (at: {
  readonly own: {readonly [name: string]: tf.Tensor};
  readonly params: Params;
  readonly data: Params;
}) => ReturnType<Traced>;

/**
 * Traces a function.
 * @param own its arguments beside parameters and data
 * @param seed of a result, its cotangent
 * @throws TraceError
 */
export function traceFunction<Own extends string>(
  term: string,
  engine: Engine,
  {params, data}: Pick<EvaluationPoint, 'params' | 'data'>,
  own: readonly TraceInput[],
  body: TracedBody,
  seed: (output: Node) => Node,
): TracedFunction<Own> {
  const listed = (name: string, leaves: readonly Leaf[]): TraceInput[] =>
    leaves.map(({shape}, i) => ({name: `${name}.${i}`, shape}));
  const {graph, captured} = trace(
    at =>
      within(term, () =>
        body({
          own: Object.fromEntries(own.map(({name}) => [name, at[name]])),
          params: treeOf('params', params, at),
          data: treeOf('data', data, at),
        }),
      ),
    [...own, ...listed('params', params), ...listed('data', data)],
  );
  const counts = {params: params.length, data: data.length, captured: captured.length};
  const {inputs} = graph;
  // Cotangents are asked of all but the data.
  const first = own.length + params.length;
  const sources = [...inputs.slice(0, first), ...inputs.slice(first + data.length)];
  const {programs, executable} = compiled(engine, graph, seed, sources);
  return new TracedFunction<Own>(
    programs,
    executable,
    captured,
    own.map(({name}) => name as Own),
    counts,
  );
}

type FunctionBuffers = {
  readonly [name in 'own' | 'params' | 'data' | 'captured' | 'cotangent']: readonly (Float64Array | undefined)[];
};

export class TracedFunction<Own extends string> {
  private found: FunctionBuffers | undefined;

  /** See `traceFunction`. */
  constructor(
    private readonly programs: Programs,
    readonly executable: FunctionExecutable<Own>,
    readonly captured: readonly Captured[],
    private readonly own: readonly Own[],
    private readonly counts: {readonly [name in 'params' | 'data' | 'captured']: number},
  ) {}

  /**
   * What it sets and reads: every evaluation asks for them. Programs that share a memory have none until all are known.
   */
  get buffers(): FunctionBuffers {
    return (this.found ??= this.find());
  }

  private find(): FunctionBuffers {
    const {executable, own, counts} = this;
    const find = (name: Exclude<keyof FunctionBuffers, 'own'>, count: number): (Float64Array | undefined)[] =>
      Array.from({length: count}, (_, i) => executable.optionalBuffer(`${name}.${i}`));
    return {
      own: own.map(name => executable.optionalBuffer(name)),
      params: find('params', counts.params),
      data: find('data', counts.data),
      captured: find('captured', counts.captured),
      cotangent: find('cotangent', own.length + counts.params + counts.captured),
    };
  }

  /** Sets the parameters, the data and what was captured. */
  load({params, data, captured}: EvaluationPoint): void {
    const {buffers} = this;
    for (let i = 0; i < params.length; i++) buffers.params[i]?.set(params[i].values);
    for (let i = 0; i < data.length; i++) buffers.data[i]?.set(data[i].values);
    this.captured.forEach(({tensor}, i) => buffers.captured[i]?.set(captured(tensor)));
  }

  /** The function by another engine, with both programs or only that back. */
  on(engine: Engine, which: 'all' | 'pull'): TracedFunction<Own> {
    const {programs, captured, own, counts} = this;
    const executable = engine.compile(which === 'all' ? programs : {pull: programs.pull});
    return new TracedFunction<Own>(programs, executable, captured, own, counts);
  }

  /** The cotangent of an argument of its own after `pull`; undefined where nothing depends on it. */
  cotangentOf(i: number): Float64Array | undefined {
    return this.buffers.cotangent[i];
  }

  /** Adds the cotangents of its sources, after `pull`. */
  addTo({params, captured}: SourceCotangents): void {
    const own = this.own.length;
    for (let i = 0; i < params.length; i++) addTo(params[i], this.cotangentOf(own + i));
    this.captured.forEach(({tensor}, i) => {
      let total = captured.get(tensor);
      if (total === undefined) captured.set(tensor, (total = new Float64Array(tensor.size)));
      addTo(total, this.cotangentOf(own + params.length + i));
    });
  }
}

function compiled(
  engine: Engine,
  {outputs, inputs}: Graph,
  seed: (output: Node) => Node,
  sources: readonly Node[],
): {readonly programs: Programs; readonly executable: Executable} {
  const values = settled(
    outputs.map(({node}) => node),
    'value',
  );
  const named = outputs.map(({name}, i) => ({name, node: values[i]}));
  const key = programKey(engineKey(engine), [{inputs, outputs: named}]);
  let made = kept.get(key);
  if (made === undefined) {
    // What is whole or a truth has no derivative.
    const wrt = sources.map(node => (node.dtype === 'float' ? node : undefined));
    const asked = wrt.filter(node => node !== undefined);
    const cotangents = pullback(values, asked, values.map(seed));
    const found = new Map(asked.map((node, i) => [node, cotangents[i]]));
    const value = Object.fromEntries(named.map(({name, node}) => [name, node]));
    const programs = {
      value: namedGraph(value),
      pull: namedGraph({
        ...value,
        ...Object.fromEntries(wrt.map((node, i) => [`cotangent.${i}`, node && found.get(node)])),
      }),
    };
    kept.add(key, (made = {programs, executable: engine.compile(programs)}));
  }
  return made;
}

const treeOf = (name: string, leaves: readonly Leaf[], at: {readonly [name: string]: tf.Tensor}): Params =>
  typedTree(
    leaves,
    leaves.map((_, i) => at[`${name}.${i}`]),
  );
