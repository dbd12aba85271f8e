/** The routine of a loss and its gradient in one call (loss-call.ts): what objective.ts does between its programs, to the bit. */
import type * as tf from '@tensorflow/tfjs';
import type {Executable} from '../engine/engine.js';
import type {Routines} from '../engine/routines.js';
import type {RoutineWriter} from '../engine/wasm/routine.js';
import {routine} from '../engine/wasm/routine.js';
import type {RunCall, Sums} from '../integrate/run-call.js';
import {parameterList, writeFinite, writeSum} from '../integrate/run-call.js';
import type {StepExecutable} from '../step/buffers.js';
import {cotangentName} from '../step/parameter-names.js';
import {parameterProgram} from '../step/precomputation.js';
import type {ObserveProgram} from '../step/programs.js';
import type {LossArgument} from './objective-kinds.js';
import type {Prepared} from './prepare.js';
import {seriesOf} from './series.js';
import type {FunctionBuffer, FunctionExecutable, TracedFunction} from './traced-function.js';

const bytes = Float64Array.BYTES_PER_ELEMENT;

/** A parameter, or what is captured: where its numbers lie, and their cotangent. */
export interface Slot {
  readonly tensor?: tf.Tensor;
  readonly values: Float64Array;
  readonly gradient: Float64Array;
}

/** A function with its programs here. */
export interface Bound<Own extends string> {
  readonly traced: TracedFunction<Own>;
  readonly executable: FunctionExecutable<Own>;
}

export class LossRoutine {
  private readonly count: number;

  constructor(
    private readonly prepared: Prepared,
    private readonly run: RunCall,
    private readonly loss: Bound<LossArgument>,
    private readonly encoder: Bound<'given'> | undefined,
    private readonly observe: StepExecutable<ObserveProgram> | undefined,
    private readonly given: {
      readonly routines: Routines;
      readonly slots: readonly Slot[];
      /** All of them, and all of their gradients. */
      readonly values: Float64Array;
      readonly gradient: Float64Array;
      readonly zeros: Float64Array;
    },
  ) {
    this.count = prepared.parameterValues.length;
  }

  /** Returns 1, or 0 where something is out of the ordinary. */
  get call(): () => number {
    return routine<() => number>(this.given.routines.memory, {parameters: [], results: ['i32']}, w => {
      const stop = (): void => w.return(w.int(0));
      this.writeLoss(w, stop);
      this.writeGradient(w, stop);
      w.int(1)();
    });
  }

  /** From the parameters to the loss, and back to the first step. */
  private writeLoss(w: RoutineWriter, stop: () => void): void {
    const {run, loss, encoder, observe, given} = this;
    const {vectors} = given.routines;
    writeFinite(w, vectors, given.values, stop);
    for (const executable of run.executables) this.handParameters(w, executable);
    this.handSources(w, loss);
    if (encoder !== undefined) {
      this.handSources(w, encoder);
      w.run(encoder.executable.program('value'));
      const start = encoder.executable.buffer('given');
      writeFinite(w, vectors, start, stop);
      w.run(vectors.copy, run.given.byteOffset, start.byteOffset, start.length);
    }
    run.writeRun(w, stop);
    if (observe !== undefined) this.handParameters(w, observe);
    this.writeSeries(w);
    run.writeSteps(w, stop);
  }

  /** Back to the start, and the sums. */
  private writeGradient(w: RoutineWriter, stop: () => void): void {
    const {run, loss, encoder, given} = this;
    const {vectors} = given.routines;
    run.writeEnd(w);
    this.addFromStep(w);
    this.addFrom(w, loss, 1 + this.series.blocks.length);
    if (encoder !== undefined) {
      const cotangent = encoder.executable.find('givenCotangent');
      if (cotangent !== undefined) w.run(vectors.copy, cotangent.byteOffset, run.initial.byteOffset, cotangent.length);
      w.run(encoder.executable.program('pull'));
      this.addFrom(w, encoder, 0);
    }
    for (const numbers of [given.gradient, run.initial, loss.executable.buffer('loss')])
      writeFinite(w, vectors, numbers, stop);
  }

  private get series() {
    return seriesOf(this.prepared);
  }

  private copy(w: RoutineWriter, to: Float64Array | undefined, from: Float64Array): void {
    if (to !== undefined) w.run(this.given.routines.vectors.copy, to.byteOffset, from.byteOffset, to.length);
  }

  private handParameters(w: RoutineWriter, executable: StepExecutable): void {
    const {slots} = this.given;
    parameterList(this.count).forEach((name, i) => this.copy(w, executable.find(name), slots[i].values));
    const all = executable as Executable;
    if (all.has(parameterProgram)) w.run(all.program(parameterProgram));
  }

  private handSources<Own extends string>(w: RoutineWriter, {traced, executable}: Bound<Own>): void {
    const find = (name: FunctionBuffer<never>): Float64Array | undefined => executable.find(name);
    this.prepared.leaves.forEach((_, i) => this.copy(w, find(`params.${i}`), this.given.slots[i].values));
    traced.captured.forEach(({tensor}, i) => this.copy(w, find(`captured.${i}`), this.slotOf(tensor).values));
  }

  private slotOf(tensor: tf.Tensor): Slot {
    const slot = this.given.slots.find(one => one.tensor === tensor);
    if (slot === undefined) throw new Error('what a function captures has its place');
    return slot;
  }

  /** Rows of so many numbers, one for each saved state. */
  private copyRows(
    w: RoutineWriter,
    size: number,
    to: {readonly at: number; readonly width: number},
    from: {readonly at: number; readonly width: number},
  ): void {
    const {copy} = this.given.routines.vectors;
    const saved = this.run.times.length;
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
    for (const local of [k, a, b]) w.body.release(local);
  }

  /** The loss of the saved series, and its cotangents. */
  private writeSeries(w: RoutineWriter): void {
    const {run, observe, loss, given, prepared} = this;
    const {blocks} = this.series;
    const {size: width} = prepared.traced.state;
    const {vectors} = given.routines;
    const isOfState = ({offset}: {readonly offset: number}): boolean => offset < width;
    if (observe !== undefined) {
      this.copy(w, observe.find('xs'), run.states);
      w.run(observe.program('observe'));
    }
    for (const block of blocks) {
      const place = loss.executable.find(block.name as LossArgument);
      if (place === undefined) continue;
      const {offset, size} = block;
      if (isOfState(block))
        this.copyRows(
          w,
          size,
          {at: place.byteOffset, width: size},
          {at: run.states.byteOffset + bytes * offset, width},
        );
      else if (observe !== undefined) this.copy(w, place, observe.buffer('observed'));
    }
    w.run(loss.executable.program('pull'));
    const cotangentOf = (i: number): Float64Array | undefined => loss.executable.find(`cotangent.${1 + i}`);
    // What it reads is written each time; the rest is zero, but for what observations add.
    if (observe !== undefined && blocks.some((block, i) => isOfState(block) && cotangentOf(i) === undefined))
      this.zero(w, run.cotangents);
    blocks.forEach((block, i) => {
      const cotangent = cotangentOf(i);
      if (cotangent === undefined || !isOfState(block)) return;
      const {offset, size} = block;
      this.copyRows(
        w,
        size,
        {at: run.cotangents.byteOffset + bytes * offset, width},
        {at: cotangent.byteOffset, width: size},
      );
    });
    if (observe === undefined) return;
    const i = blocks.findIndex(block => !isOfState(block));
    const [to, from] = [observe.find('observedCotangent'), cotangentOf(i)];
    if (to !== undefined && from !== undefined) this.copy(w, to, from);
    w.run(observe.program('pullObserved'));
    const {byteOffset, length} = run.cotangents;
    writeSum(w, vectors, byteOffset, byteOffset, observe.buffer('xsCotangent').byteOffset, length);
  }

  private zero(w: RoutineWriter, {byteOffset, length}: Float64Array): void {
    const place = w.local('i32');
    w.for(
      place,
      w.int(byteOffset),
      w.int(byteOffset + bytes * length),
      () => w.store(w.get(place), w.number(0)),
      bytes,
    );
    w.body.release(place);
  }

  /** What the run's way back has left, and that of its observations. */
  private addFromStep(w: RoutineWriter): void {
    const {run, observe, given, count} = this;
    const ofObserved: Sums[] =
      observe === undefined ? [] : [parameterList(count).map(name => observe.find(cotangentName(name)))];
    [...run.sums, ...ofObserved].forEach((sums, k) => {
      for (let i = 0; i < count; i++) {
        const {gradient} = given.slots[i];
        const source = sums[i];
        if (source !== undefined) this.add(w, gradient, k === 0 ? given.zeros : gradient, source);
        else if (k === 0) this.copy(w, gradient, given.zeros);
      }
    });
  }

  private add(w: RoutineWriter, to: Float64Array, base: Float64Array, x: Float64Array): void {
    writeSum(w, this.given.routines.vectors, to.byteOffset, base.byteOffset, x.byteOffset, to.length);
  }

  /** What a function adds, as `TracedFunction.addTo`. @param own arguments of its own */
  private addFrom<Own extends string>(w: RoutineWriter, {traced, executable}: Bound<Own>, own: number): void {
    const {
      given: {slots, zeros},
      prepared: {leaves},
      count,
    } = this;
    const cotangent = (i: number): Float64Array | undefined => executable.find(`cotangent.${i}`);
    leaves.forEach((_, i) => {
      const source = cotangent(own + i);
      if (source !== undefined) this.add(w, slots[i].gradient, slots[i].gradient, source);
    });
    traced.captured.forEach(({tensor}, i) => {
      const slot = this.slotOf(tensor);
      const source = cotangent(own + leaves.length + i);
      const isFirst = slots.indexOf(slot) >= count && !this.added.has(slot);
      this.added.add(slot);
      if (isFirst) this.copy(w, slot.gradient, source ?? zeros);
      else if (source !== undefined) this.add(w, slot.gradient, slot.gradient, source);
    });
  }

  /** What only functions beside the run read, and has a cotangent already. */
  private readonly added = new Set<Slot>();
}
