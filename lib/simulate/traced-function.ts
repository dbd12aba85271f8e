/**
 * A function of tensors beside a run (its loss, what encodes its start), traced and compiled with its derivative. It
 * reads the run's parameters, data, and what it captures: these are its sources, which are set before it runs, and to
 * which its cotangents are added.
 */
import type * as tf from '@tensorflow/tfjs';
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
export interface Point {
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

export class TracedFunction<Own extends string> {
  readonly executable: FunctionExecutable<Own>;
  private readonly programs: Programs;
  private readonly own: readonly Node<'input'>[];
  readonly captured: readonly Captured[];
  readonly counts: {readonly params: number; readonly data: number};
  /** What `load` sets, and the cotangents of all sources: every evaluation asks for them. */
  private readonly buffers: {
    readonly [name in 'params' | 'data' | 'captured' | 'cotangent']: readonly (Float64Array | undefined)[];
  };

  /**
   * @param own its arguments beside parameters and data
   * @param seed of a result, its cotangent
   * @throws TraceError
   */
  constructor(
    term: string,
    engine: Engine,
    {params, data}: Pick<Point, 'params' | 'data'>,
    own: readonly TraceInput[],
    body: TracedBody,
    seed: (output: Node) => Node,
  ) {
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
    this.captured = captured;
    this.own = graph.inputs.slice(0, own.length);
    this.counts = {params: params.length, data: data.length};
    const made = compiled(engine, graph, seed, this.sources(graph));
    this.programs = made.programs;
    this.executable = made.executable;
    const find = (name: keyof typeof this.buffers, count: number): (Float64Array | undefined)[] =>
      Array.from({length: count}, (_, i) => this.executable.find(`${name}.${i}`));
    this.buffers = {
      params: find('params', params.length),
      data: find('data', data.length),
      captured: find('captured', captured.length),
      cotangent: find('cotangent', own.length + params.length + captured.length),
    };
  }

  /** Sets the parameters, the data and what was captured. */
  load({params, data, captured}: Point): void {
    const {buffers} = this;
    for (let i = 0; i < params.length; i++) buffers.params[i]?.set(params[i].values);
    for (let i = 0; i < data.length; i++) buffers.data[i]?.set(data[i].values);
    this.captured.forEach(({tensor}, i) => buffers.captured[i]?.set(captured(tensor)));
  }

  /** The same programs by another engine, or only those back. */
  on(engine: Engine, which: 'all' | 'pull'): FunctionExecutable<Own> {
    const {programs} = this;
    return engine.compile(which === 'all' ? programs : {pull: programs.pull});
  }

  /** The cotangent of an argument of its own after `pull`; undefined where nothing depends on it. */
  cotangentOf(i: number): Float64Array | undefined {
    return this.buffers.cotangent[i];
  }

  /** Adds the cotangents of its sources, after `pull`. */
  addTo({params, captured}: SourceCotangents): void {
    const first = this.own.length;
    for (let i = 0; i < this.counts.params; i++) add(params[i], this.cotangentOf(first + i));
    this.captured.forEach(({tensor}, i) => {
      const cotangent = this.cotangentOf(first + this.counts.params + i);
      const total = captured.get(tensor);
      if (total === undefined) captured.set(tensor, cotangent?.slice() ?? new Float64Array(tensor.size));
      else add(total, cotangent);
    });
  }

  /** What cotangents are asked of: all but the data. */
  private sources({inputs}: Graph): Node[] {
    const {params, data} = this.counts;
    const first = this.own.length;
    return [...inputs.slice(0, first + params), ...inputs.slice(first + params + data)];
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

function add(total: Float64Array, more: Float64Array | undefined): void {
  if (more !== undefined) for (let i = 0; i < total.length; i++) total[i] += more[i];
}
