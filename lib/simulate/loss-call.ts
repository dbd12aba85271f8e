/**
 * A loss of a run and its gradient in one call into compiled code: parameters handed on, the run, the loss, the way back and
 * the sums of what comes to each variable, with all programs in one memory (integrate/run-call.ts). The numbers are those of
 * objective.ts, to the bit.
 */
import type * as tf from '@tensorflow/tfjs';
import {routinesOf} from '../engine/routines.js';
import type {RoutineWriter} from '../engine/wasm/routine.js';
import {routine} from '../engine/wasm/routine.js';
import type {RunCall, Sums} from '../integrate/run-call.js';
import {loadParameters} from '../step/context.js';
import {parameterProgram} from '../step/precomputation.js';
import type {Prepared} from './prepare.js';
import type {LossArgument} from './objective.js';
import {seriesOf} from './series.js';
import type {Point, TracedFunction} from './traced-function.js';

const bytes = Float64Array.BYTES_PER_ELEMENT;

/** Buffers of what a function reads and gives, as `TracedFunction` names them. */
type Buffers = readonly (Float64Array | undefined)[];

export class LossCall {
  /** The gradient by what is captured; the arrays are those of the next call too. */
  readonly captured: ReadonlyMap<tf.Tensor, Float64Array>;

  private constructor(
    private readonly call: () => number,
    private readonly run: RunCall,
    private readonly parameters: readonly Float64Array[],
    private readonly data: Buffers,
    private readonly others: readonly {readonly tensor: tf.Tensor; readonly buffer: Float64Array}[],
    private readonly value: Float64Array,
    captured: ReadonlyMap<tf.Tensor, Float64Array>,
  ) {
    this.captured = captured;
  }

  /** undefined where a run is not taken so. */
  static of(
    prepared: Prepared,
    loss: TracedFunction<LossArgument>,
    encoder: TracedFunction<'given'> | undefined,
  ): LossCall | undefined {
    const engine = prepared.engine.inOneMemory?.();
    const {traced, leaves, options} = prepared;
    const {signal, onProgress, poll} = options;
    if (engine === undefined || signal !== undefined || onProgress !== undefined || poll !== undefined) return undefined;
    const asked = prepared.adjoint.inOneCall?.(prepared, engine);
    if (asked === undefined || encoder !== undefined || traced.functions.observed !== undefined) return undefined;
    const ofLoss = loss.on(engine);
    const tensors = new Map<tf.Tensor, number>();
    const slots: number[] = [];
    traced.parameters.forEach(({tensor}, i) => {
      slots.push(prepared.parameterValues[i].length);
      if (tensor !== undefined) tensors.set(tensor, i);
    });
    for (const {tensor} of loss.captured)
      if (!tensors.has(tensor)) tensors.set(tensor, slots.push(tensor.size) - 1);
    const total = slots.reduce((sum, size) => sum + size, 0);
    const own = engine.compile({}, {extra: {values: total, gradient: total, zeros: Math.max(1, ...slots)}});

    const run = asked.bind();
    if (run === undefined) return undefined;
    const routines = routinesOf(ofLoss);
    if (routines === undefined) return undefined;
    const [values, gradient, zeros] = ['values', 'gradient', 'zeros'].map(name => own.buffer(name));
    const {copy, advance, largest} = routines.vectors;
    let end = 0;
    const parts = slots.map(size => ({values: values.subarray(end, end + size), gradient: gradient.subarray(end, (end += size))}));
    const count = prepared.parameterValues.length;
    const {blocks, width} = seriesOf(prepared);
    const find = (name: string): Float64Array | undefined => ofLoss.find(name as LossArgument);
    ofLoss.find('t')?.set(run.times);
    for (const executable of run.executables) loadParameters(executable, prepared);
    const saved = run.times.length;
    const write = (w: RoutineWriter): void => {
      const stop = (): void => w.return(w.int(0));
      const add = (to: Float64Array, from: Float64Array | undefined, base = to): void => {
        if (from !== undefined)
          w.run(advance, to.byteOffset, base.byteOffset, from.byteOffset, to.length, {number: -1});
        else if (base !== to) w.run(copy, to.byteOffset, base.byteOffset, to.length);
      };
      /** Rows of `size` numbers at each row of the series. */
      const rows = (
        size: number,
        to: {readonly at: number; readonly width: number},
        from: {readonly at: number; readonly width: number},
      ): void => {
        if (size === to.width && size === from.width) {
          w.run(copy, to.at, from.at, saved * size);
          return;
        }
        const [k, a, b] = [w.local('i32'), w.keep('i32', w.int(to.at)), w.keep('i32', w.int(from.at))];
        w.for(k, w.int(0), w.int(saved), () => {
          w.run(copy, a, b, size);
          w.set(a, w.plus(w.get(a), w.int(to.width * bytes)));
          w.set(b, w.plus(w.get(b), w.int(from.width * bytes)));
        });
      };
      for (const executable of run.executables) {
        for (let i = 0; i < count; i++) {
          const place = executable.find(`p.${i}`);
          if (place !== undefined) w.run(copy, place.byteOffset, parts[i].values.byteOffset, place.length);
        }
        if (executable.has(parameterProgram as never)) w.run(executable.program(parameterProgram as never));
      }
      leaves.forEach((_, i) => {
        const place = find(`params.${i}`);
        if (place !== undefined) w.run(copy, place.byteOffset, parts[i].values.byteOffset, place.length);
      });
      loss.captured.forEach(({tensor}, i) => {
        const place = find(`captured.${i}`);
        if (place !== undefined)
          w.run(copy, place.byteOffset, parts[tensors.get(tensor) as number].values.byteOffset, place.length);
      });
      run.writeRun(w, stop);
      for (const {name, size, offset} of blocks) {
        const place = find(name);
        if (place !== undefined)
          rows(size, {at: place.byteOffset, width: size}, {at: run.states.byteOffset + bytes * offset, width});
      }
      w.run(ofLoss.program('pull'));
      blocks.forEach(({size, offset}, i) => {
        const cotangent = find(`cotangent.${1 + i}`);
        if (cotangent !== undefined)
          rows(size, {at: run.cotangents.byteOffset + bytes * offset, width}, {at: cotangent.byteOffset, width: size});
      });
      run.writeBack(w, stop);
      const fromStep = (sums: Sums, first: boolean): void => {
        for (let i = 0; i < count; i++) add(parts[i].gradient, sums[i], first ? zeros : undefined);
      };
      run.sums.forEach((sums, k) => fromStep(sums, k === 0));
      const arguments_ = 1 + blocks.length + (find('events') === undefined ? 0 : 1);
      for (let i = 0; i < leaves.length; i++) add(parts[i].gradient, find(`cotangent.${arguments_ + i}`));
      loss.captured.forEach(({tensor}, i) => {
        const slot = tensors.get(tensor) as number;
        const cotangent = find(`cotangent.${arguments_ + leaves.length + i}`);
        if (slot < count) add(parts[slot].gradient, cotangent);
        else if (cotangent !== undefined)
          w.run(copy, parts[slot].gradient.byteOffset, cotangent.byteOffset, cotangent.length);
      });
      const isFinite = (x: Float64Array): void => {
        if (x.length === 0) return;
        const size = w.call(largest, [x.byteOffset, x.length], 'f64');
        w.if(w.op('i32.eqz', w.op('f64.lt', size, w.number(Infinity))), stop);
      };
      isFinite(gradient);
      isFinite(run.initial);
      isFinite(ofLoss.buffer('loss'));
      w.int(1)();
    };
    const call = routine<() => number>(routines.memory, {parameters: [], results: ['i32']}, write);
    return new LossCall(
      call,
      run,
      parts.slice(0, count).map(part => part.values),
      Array.from({length: dataCount(loss)}, (_, i) => find(`data.${i}`)),
      [...tensors].filter(([, slot]) => slot >= count).map(([tensor, slot]) => ({tensor, buffer: parts[slot].values})),
      ofLoss.buffer('loss'),
      new Map([...tensors].map(([tensor, slot]) => [tensor, parts[slot].gradient])),
    );
  }

  /** The loss; undefined where something is out of the ordinary. */
  at({given, parameterValues}: Prepared, {data, captured}: Point): number | undefined {
    const {run, parameters, others} = this;
    run.given.set(given);
    for (let i = 0; i < parameters.length; i++) parameters[i].set(parameterValues[i]);
    for (let i = 0; i < data.length; i++) this.data[i]?.set(data[i].values);
    for (const {tensor, buffer} of others) buffer.set(captured(tensor));
    return this.call() === 1 ? this.value[0] : undefined;
  }
}

const dataCount = (loss: TracedFunction<LossArgument>): number => loss.counts.data;
