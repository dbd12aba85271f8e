/** A run along a grid whose states are all saved, and its way back, as parts of one call (run-call.ts): of explicit schemes. */
import {pullRoutine} from '../adjoint/pull-blocks.js';
import {routinesOf} from '../engine/routines.js';
import {cotangentName} from '../step/parameter-names.js';
import {rowStart} from '../step/rows.js';
import type {AskedCall, Room, RunCall} from './run-call.js';
import {parameterList, writeSum} from './run-call.js';
import type {Runnable} from './runnable.js';
import {startCall} from './start-call.js';
import {takeRoutine} from './step-blocks.js';

const bytes = Float64Array.BYTES_PER_ELEMENT;

/** The steps after which states are saved are all there are, with the start or without. */
function savesAll(saved: Float64Array, steps: number): boolean {
  const first = saved[0] === 0 ? 0 : 1;
  return saved.length === steps + 1 - first && saved[saved.length - 1] === steps;
}

/**
 * @param room in the memory of all programs
 * @param memory bytes that the record of the steps may take
 * @returns undefined of a run that is not taken so
 */
export function gridCall(prepared: Runnable, room: Room, memory: number): AskedCall | undefined {
  const {
    compiled: known,
    traced,
    options: {plan, grid, saved, newton},
  } = prepared;
  const {steps} = grid;
  const {size} = traced.state;
  const {touching, error} = traced.functions;
  const isPlain =
    plan === undefined && touching === undefined && error === undefined && grid.backwards !== true && steps > 0;
  if (!isPlain || known.implicit || !known.addsUp || known.derived.parameters.length > 0) return undefined;
  if (!savesAll(saved, steps)) return undefined;
  const width = rowStart + known.kept.size;
  if (steps * width * bytes > memory) return undefined;
  const start = startCall(prepared, room);
  if (start === undefined) return undefined;
  const compiled = known.on(room.engine);
  const forward = compiled.forward(newton.linear, 'narrow');
  const adjoint = compiled.adjoint(compiled.sweepSolver(newton.linear));
  const count = prepared.parameterValues.length;
  const longest = Math.max(1, ...prepared.parameterValues.map(({length}) => length));
  const asked = [steps * width, (steps + 1) * size, (steps + 1) * size, 1, Math.max(longest, size)].map(numbers =>
    room.ask(numbers),
  );

  const bind = (): RunCall | undefined => {
    const [forwards, backwards] = [routinesOf(forward), routinesOf(adjoint)];
    const cotangent = adjoint.find('nextCotangent');
    if (forwards === undefined || backwards === undefined || cotangent?.length !== size) return undefined;
    const [rows, states, cotangents, made, zeros] = asked.map(array => array());
    for (let n = 0; n < steps; n++) {
      rows[n * width] = grid.time(n);
      rows[n * width + 1] = grid.length(n);
    }
    const take = takeRoutine(traced, forward, 'kept', forwards, undefined, {
      rows: rows.byteOffset,
      ends: states.byteOffset + bytes * size,
      made: made.byteOffset,
      width,
      epsilon: room.engine.epsilon,
    });
    const pull = pullRoutine(adjoint, backwards, false, {
      factor: undefined,
      growth: undefined,
      rows: rows.byteOffset,
      ends: cotangents.byteOffset + bytes * size,
      width,
      size,
    });
    const {copy} = forwards.vectors;
    const x = forward.buffer('x').byteOffset;
    const begin = start.bind();
    const sums = parameterList(count).map(name => adjoint.find(cotangentName(name)));
    const first = saved[0] === 0 ? 0 : 1;
    const times = Float64Array.from(saved, n => grid.time(n));
    return {
      executables: [...begin.executables, forward, adjoint],
      given: begin.given,
      states: states.subarray(first * size),
      times,
      cotangents: cotangents.subarray(first * size),
      initial: begin.initial,
      sums: [sums, begin.sums],
      writeRun(w, stop) {
        begin.writeStart(w, stop);
        w.run(copy, x, begin.next, size);
        w.run(copy, states.byteOffset, begin.next, size);
        const taken = w.keep(
          'i32',
          w.call(take, [steps, 1, {number: 0}, {number: 0}, 0, 0], 'i32'),
        );
        w.if(w.op('i32.ne', w.get(taken), w.int(steps)), stop);
      },
      writeBack(w, stop) {
        for (const sum of sums) if (sum !== undefined) w.run(copy, sum.byteOffset, zeros.byteOffset, sum.length);
        const {byteOffset: x̄} = cotangent;
        writeSum(w, forwards.vectors, x̄, zeros.byteOffset, cotangents.byteOffset + bytes * steps * size, size);
        const pulled = w.call(pull, [steps, 1, 1, {number: NaN}, {number: Infinity}], 'i32');
        w.if(w.op('i32.ne', pulled, w.int(steps)), stop);
        if (first === 0) writeSum(w, forwards.vectors, x̄, x̄, cotangents.byteOffset, size);
        begin.writePull(w, x̄, zeros.byteOffset);
      },
    };
  };
  return {bind};
}
