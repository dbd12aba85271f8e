/**
 * A run of adaptive explicit steps that saves states at given times, and its way back, as parts of one call (run-call.ts).
 * A run that takes more steps than there is room for ends the call.
 */
import {historyAdjoint} from '../../adjoint/timed-pull.js';
import {timedRoutine} from '../../adjoint/timed-blocks.js';
import {routinesOf} from '../../engine/routines.js';
import {compile} from '../../routine/compile.js';
import {blockNumbers, blockPlace} from '../../step/adaptive-block.js';
import {parameterCotangent} from '../../step/parameter-names.js';
import {rowStart} from '../../step/rows.js';
import type {AskedCall, Room, RunCall} from '../run-call.js';
import {parameterList, writeSum} from '../run-call.js';
import type {Runnable} from '../runnable.js';
import {startCall} from '../start-call.js';
import {isPlain, Judge, partsOfAttempts} from './adaptive-blocks.js';
import {attemptsRoutine} from './adaptive-text.js';
import {errorPart, setTolerances} from './error-estimate.js';
import {AdaptivePace} from './pace.js';
import {stopsOf} from './plan.js';

const bytes = Float64Array.BYTES_PER_ELEMENT;

/** Room for so many times as many attempts as the last run took steps, as there are refused ones and steps become shorter in training. */
const spare = 4;

/**
 * @param room in the memory of all programs
 * @param memory bytes that the record of the steps may take
 * @returns undefined of a run that is not taken so
 */
export function adaptiveCall(prepared: Runnable, room: Room, memory: number): AskedCall | undefined {
  const {
    compiled: known,
    traced,
    options: {plan, grid},
  } = prepared;
  if (plan?.saving.kind !== 'times' || plan.resume !== undefined || !isPlain(prepared, plan)) return undefined;
  const {absolute, control, saving} = plan;
  if (control.first === 'auto' || absolute === undefined || grid.backwards === true) return undefined;
  if (!known.areAlike || known.derived.parameters.length > 0) return undefined;
  const {size} = traced.state;
  const {times} = saving;
  const keeps = known.layers === undefined ? undefined : 'layers';
  const width = rowStart + size + (known.layers?.size ?? 0);
  const capacity = spare * known.transitions;
  if ((capacity + 1) * width * bytes > memory) return undefined;
  const start = startCall(prepared, room);
  if (start === undefined) return undefined;
  const compiled = known.on(room.engine);
  const forward = compiled.adaptiveRun(keeps);
  const adjoint = historyAdjoint({...prepared, compiled, keeps});
  const count = prepared.parameterValues.length;
  const longest = Math.max(1, ...prepared.parameterValues.map(({length}) => length));
  const asked = {
    rows: room.ask((capacity + 1) * width),
    states: room.ask(times.length * size),
    cotangents: room.ask(times.length * size),
    theta: room.ask(times.length),
    after: room.ask(1 + times.length),
    times: room.ask(times.length),
    control: room.ask(blockNumbers),
    absolute: room.ask(absolute.length),
    judged: room.ask(absolute.length),
    cotangent: room.ask(size),
    zeros: room.ask(Math.max(longest, size)),
  };

  const bind = (): RunCall | undefined => {
    const [forwards, backwards] = [routinesOf(forward), routinesOf(adjoint)];
    const x̄ = adjoint.find('nextCotangent');
    if (forwards === undefined || backwards === undefined || x̄?.length !== size) return undefined;
    const arrays = Object.fromEntries(Object.entries(asked).map(([name, array]) => [name, array()])) as {
      readonly [name in keyof typeof asked]: Float64Array;
    };
    const at = Object.fromEntries(Object.entries(arrays).map(([name, {byteOffset}]) => [name, byteOffset])) as {
      readonly [name in keyof typeof asked]: number;
    };
    // The start is saved before the steps.
    const first = times[0] === grid.t0 ? 1 : 0;
    const {states, theta, after} = arrays;
    arrays.times.set(times);
    after[0] = -1;
    if (first === 1) theta[0] = 1;
    const tolerances = {absolute: arrays.absolute, judged: arrays.judged};
    setTolerances(tolerances, plan, traced, arrays.control);
    const judge = new Judge(arrays.control);
    const parts = partsOfAttempts(forward, errorPart(forward, tolerances), judge.part);
    const attempts = compile(
      attemptsRoutine(parts, {
        control: arrays.control,
        rows: arrays.rows,
        capacity,
        layers: forward.find('layers'),
        states: states.subarray(first * size),
        theta: theta.subarray(first),
        after: after.subarray(1 + first),
        times: arrays.times.subarray(first),
        x: forward.buffer('x'),
        next: forward.buffer('next'),
        kernels: forwards.vectors,
      }),
      forwards.memory,
    );
    const power = traced.along?.errorOrder ?? traced.order + 1;
    const set = (name: keyof typeof blockPlace, value: number): void => void (arrays.control[blockPlace[name]] = value);
    const get = (name: keyof typeof blockPlace): number => arrays.control[blockPlace[name]];
    /** From the start; 1 where the run has reached its end and all times are saved. */
    const take = (): number => {
      judge.pace = new AdaptivePace(control, power, false, grid.dt, plan.end, plan.most, stopsOf(plan));
      set('t', grid.t0);
      set('boundaries', 0);
      set('mostAttempts', capacity);
      set('times', times.length - first);
      set('moreTimes', 0);
      if (!judge.propose()) return 0;
      attempts();
      return get('t') < (plan.end ?? 0) || get('saved') < times.length - first ? 0 : 1;
    };
    const pull = timedRoutine(adjoint, backwards, size, {
      rows: at.rows,
      states: at.cotangents,
      theta: at.theta,
      after: at.after,
      cotangent: at.cotangent,
    });
    const begin = start.bind();
    const {vectors} = forwards;
    const {copy} = vectors;
    const x = forward.buffer('x').byteOffset;
    const sums = parameterList(count).map(name => adjoint.find(parameterCotangent('pullStep', name)));
    return {
      executables: [...begin.executables, forward, adjoint],
      given: begin.given,
      states,
      times,
      cotangents: arrays.cotangents,
      initial: begin.initial,
      sums: [sums, begin.sums],
      writeRun(w, stop) {
        begin.writeStart(w, stop);
        w.run(copy, x, begin.next, size);
        if (first === 1) w.run(copy, at.states, begin.next, size);
        w.if(w.op('f64.eq', w.call(take, [], 'f64'), w.number(0)), stop);
        // The state at the end follows the rows.
        const rows = w.op('i32.trunc_sat_f64_s', w.load(w.int(at.control), bytes * blockPlace.rows));
        const end = w.keep(
          'i32',
          w.plus(w.int(at.rows + bytes * rowStart), w.op('i32.mul', rows, w.int(bytes * width))),
        );
        w.run(copy, end, x, size);
      },
      writeSteps(w) {
        for (const sum of sums) if (sum !== undefined) w.run(copy, sum.byteOffset, at.zeros, sum.length);
        w.run(copy, x̄.byteOffset, at.zeros, size);
        const rows = w.keep('i32', w.op('i32.trunc_sat_f64_s', w.load(w.int(at.control), bytes * blockPlace.rows)));
        w.run(pull, rows, times.length);
        if (first === 1) writeSum(w, vectors, x̄.byteOffset, x̄.byteOffset, at.cotangents, size);
      },
      writeEnd(w) {
        begin.writePull(w, x̄.byteOffset, at.zeros);
      },
    };
  };
  return {bind};
}
