/**
 * Several steps of a grid as one call: the loop of stepper.ts as a routine of compiled functions, on the same numbers, to the
 * same bits. The call ends before a step that needs special treatment; the stepper takes that one. Rows of the record
 * and states at ends of steps pass through buffers in the programs' memory (step/rows.ts).
 */
import type {Routines} from '../engine/routines.js';
import {routinesOf} from '../engine/routines.js';
import {routine, type RoutineFactor, type RoutineWriter} from '../engine/wasm/routine.js';
import {unitOf, writeNewton, type Extent} from '../newton/index.js';
import type {ForwardExecutable} from '../step/compiled.js';
import {rowStart, stepsInBlock} from '../step/rows.js';
import {solverKey} from '../step/solvers.js';
import type {TracedStep} from '../step/traced-step.js';
import type {Local} from '../wasm/assembler.js';
import type {Push} from '../wasm/writer.js';
import {motionsOf, shareOfExtent} from './extents.js';
import type {Runnable} from './runnable.js';

/** What is recorded of a step: nothing, what `keep` leaves of it, or its state and unknown. */
export type Recorded = 'nothing' | 'kept' | 'whole';

/** count, states at ends are stored, absolute, relative, rounding may be added, iterations → steps taken. */
export type Take = (
  count: number,
  ends: number,
  absolute: number,
  relative: number,
  floors: number,
  iterations: number,
) => number;

const bytes = Float64Array.BYTES_PER_ELEMENT;

/** The last arguments of a `Take`. */
type Limits = readonly [absolute: number, relative: number, floors: number, iterations: number];

export function limitsOf({engine, options: {newton}}: Runnable): Limits {
  const {tolerance, maxIterations} = newton;
  const {absolute, relative} = unitOf(tolerance, engine.epsilon);
  return [absolute, relative, tolerance.absolute > 0 ? 0 : 1, maxIterations];
}

export class StepBlocks {
  /** Steps that a call takes at most. */
  readonly capacity: number;
  /** t, h and what is recorded, step by step. */
  readonly rows: Float64Array;
  readonly width: number;
  /** Newton's iterations of the last call. */
  private readonly made: Float64Array;
  private readonly call: Take;
  private readonly factor: RoutineFactor | undefined;
  private readonly ends: Float64Array;
  private readonly limits: Limits;

  /** undefined where the steps of this run are not taken so. Of an implicit scheme, once its Jacobian has been checked. */
  static of(prepared: Runnable, forward: ForwardExecutable, recorded: Recorded): StepBlocks | undefined {
    const routines = routinesOf(forward);
    const [room, made] = [forward.find('block'), forward.find('iterations')];
    if (routines === undefined || room === undefined || made === undefined) return undefined;
    const width = rowStart + sizeOfRecord(prepared, recorded);
    const capacity = Math.min(
      stepsInBlock(width, prepared.traced.state.size),
      Math.floor(room.length / (width + prepared.traced.state.size)),
    );
    if (capacity === 0) return undefined;
    const factor = stepFactor(prepared, routines);
    if (prepared.compiled.implicit && factor === undefined) return undefined;
    return new StepBlocks(prepared, forward, recorded, {routines, room, made, width, capacity, factor});
  }

  private constructor(
    prepared: Runnable,
    forward: ForwardExecutable,
    recorded: Recorded,
    given: {
      readonly routines: Routines;
      readonly room: Float64Array;
      readonly made: Float64Array;
      readonly width: number;
      readonly capacity: number;
      readonly factor: RoutineFactor | undefined;
    },
  ) {
    const {
      traced,
      engine: {epsilon},
      options: {newton},
    } = prepared;
    const {routines, room, made, width, capacity, factor} = given;
    const {size} = traced.state;
    [this.width, this.capacity, this.factor, this.made] = [width, capacity, factor, made];
    this.rows = room.subarray(0, capacity * width);
    this.ends = room.subarray(capacity * width, capacity * (width + size));
    this.limits = limitsOf(prepared);
    const matrix = factor === undefined ? 'explicit' : `${factor.n}/${factor.band}/${solverKey(newton.linear)}`;
    this.call = routines.once(`steps/${recorded}/${width}/${matrix}`, () =>
      takeRoutine(traced, forward, recorded, routines, factor, {
        rows: this.rows.byteOffset,
        ends: this.ends.byteOffset,
        made: made.byteOffset,
        width,
        epsilon,
      }),
    );
  }

  /**
   * Takes steps whose times and lengths stand in `rows`, from the state in x.
   * @param keepEnds the state at each end is stored
   * @returns how many were taken: fewer where the next one is not like most
   */
  take(count: number, keepEnds: boolean): number {
    const [absolute, relative, floors, iterations] = this.limits;
    this.factor?.forget();
    return this.call(count, keepEnds ? 1 : 0, absolute, relative, floors, iterations);
  }

  /** Of the steps that the last call took. */
  get iterations(): number {
    return this.made[0];
  }

  /** The states at the ends of the first `count` of them, one after another. */
  endsOf(count: number, size: number): Float64Array {
    return this.ends.subarray(0, count * size);
  }
}

function sizeOfRecord({traced, compiled}: Runnable, recorded: Recorded): number {
  if (recorded === 'nothing') return 0;
  if (recorded === 'kept') return compiled.kept.size;
  return traced.state.size + (compiled.implicit ? traced.unknown.size : 0);
}

export function stepFactor({compiled, options, traced}: Runnable, routines: Routines): RoutineFactor | undefined {
  // What multipliers are computed from is told by the matrix (step-system.ts).
  if (!compiled.implicit || traced.unknown.blocks.some(({multiplies}) => multiplies === true)) return undefined;
  const {linear} = options.newton;
  const analysis = compiled.matrices.analysisOf(linear, 'matrix');
  return analysis === undefined ? undefined : routines.factor(analysis);
}

/** Where a routine of steps finds and leaves its numbers. */
export interface TakeRoom {
  /** Addresses. */
  readonly rows: number;
  readonly ends: number;
  readonly made: number;
  readonly width: number;
  readonly epsilon: number;
}

export function takeRoutine(
  traced: TracedStep,
  forward: ForwardExecutable,
  recorded: Recorded,
  routines: Routines,
  factor: RoutineFactor | undefined,
  room: TakeRoom,
): Take {
  const {memory, vectors} = routines;
  const {size} = traced.state;
  const at = (name: Parameters<ForwardExecutable['buffer']>[0]): number => forward.buffer(name).byteOffset;
  const [x, next, t, h] = [at('x'), at('next'), forward.find('t'), forward.find('h')];
  return routine<Take>(memory, {parameters: ['i32', 'i32', 'f64', 'f64', 'i32', 'i32'], results: ['i32']}, w => {
    const [count, keepEnds, absolute, relative, floors, iterations] = [0, 1, 2, 3, 4, 5].map(i => w.parameter(i));
    const [row, end] = [w.keep('i32', w.int(room.rows)), w.keep('i32', w.int(room.ends))];
    const [k, total, place] = [w.local('i32'), w.keep('i32', w.int(0)), w.local('i32')];
    const stop = (): void => w.return(w.get(k));
    /** Copies numbers to the row, from `offset` on. */
    const record = (from: number, length: number, offset: number): void => {
      if (length === 0) return;
      w.set(place, w.plus(w.get(row), w.int(offset * bytes)));
      w.run(vectors.copy, place, from, length);
    };
    w.store(w.int(room.made), w.number(0));
    w.for(k, w.int(0), w.get(count), () => {
      if (t !== undefined) w.store(w.int(t.byteOffset), w.load(w.get(row)));
      if (h !== undefined) w.store(w.int(h.byteOffset), w.load(w.get(row), bytes));
      if (factor !== undefined) {
        w.run(forward.program('guess'));
        const made = writeNewton(
          w,
          {
            kernels: routines.kernels,
            factor,
            residual: forward.program('residual'),
            jacobian: forward.program('jacobian'),
            places: {
              z: at('z'),
              R: at('R'),
              J: at('J'),
              delta: at('delta'),
              nextDelta: at('nextDelta'),
              base: at('base'),
              weights: at('weights'),
              rowScale: at('rowScale'),
            },
            extents: extentsIn(w, traced, vectors, {x, z: at('z'), length: w.load(w.get(row), bytes)}),
            epsilon: room.epsilon,
          },
          {absolute, relative, floors, iterations},
          stop,
        );
        w.set(total, w.plus(w.get(total), w.get(made)));
      }
      w.run(forward.program(recorded === 'kept' || !forward.has('update') ? 'keep' : 'update'));
      w.if(w.op('i32.eqz', w.op('f64.lt', w.call(vectors.largest, [next, size], 'f64'), w.number(Infinity))), stop);
      if (recorded === 'kept') record(forward.find('kept')?.byteOffset ?? 0, room.width - rowStart, rowStart);
      if (recorded === 'whole') {
        record(x, size, rowStart);
        if (factor !== undefined) record(at('z'), factor.n, rowStart + size);
      }
      w.run(vectors.copy, x, next, size);
      w.if(w.get(keepEnds), () => {
        w.run(vectors.copy, end, x, size);
        advance(w, end, size);
      });
      advance(w, row, room.width);
      w.store(w.int(room.made), w.op('f64.convert_i32_s', w.get(total)));
    });
    w.get(count)();
  });
}

const advance = (w: RoutineWriter, pointer: Local, numbers: number): void =>
  w.set(pointer, w.plus(w.get(pointer), w.int(numbers * bytes)));

/** `StepSystem.extents` of an unknown without multipliers. */
function extentsIn(
  w: RoutineWriter,
  {state, unknown}: TracedStep,
  {largest}: Routines['vectors'],
  {x, z, length}: {readonly x: number; readonly z: number; readonly length: Push},
): Extent[] {
  const sizeIn = (start: number, {offset, size}: {readonly offset: number; readonly size: number}): Push =>
    w.call(largest, [start + bytes * offset, size], 'f64');
  return unknown.blocks.map(block => {
    let value = sizeIn(z, block);
    for (const {place, apart} of motionsOf(state, block)) {
      let shared = w.op('f64.mul', w.number(shareOfExtent(apart)), sizeIn(x, state.blocks[place]));
      if (apart > 0) {
        let power: Push = w.op('f64.abs', length);
        for (let i = 1; i < apart; i++) power = w.op('f64.mul', power, w.op('f64.abs', length));
        shared = w.op('f64.div', shared, power);
      }
      value = w.op('f64.max', value, shared);
    }
    return {offset: block.offset, size: block.size, value};
  });
}
