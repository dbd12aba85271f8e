/** The start of a run (start.ts), and its way back, as parts of one call (run-call.ts), where nothing is to be checked or solved. */
import {routinesOf} from '../engine/routines.js';
import type {RoutineWriter} from '../engine/wasm/routine.js';
import {isOp, topological} from '../graph/node.js';
import type {StepExecutable} from '../step/buffers.js';
import {startOf} from '../step/context.js';
import {cotangentName} from '../step/parameter-names.js';
import type {Room, Sums} from './run-call.js';
import {parameterList, writeFinite} from './run-call.js';
import type {Runnable} from './runnable.js';

export interface StartCall {
  readonly executables: readonly StepExecutable[];
  readonly given: Float64Array;
  /** Address of the state that it makes. */
  readonly next: number;
  readonly initial: Float64Array;
  readonly sums: Sums;
  writeStart(w: RoutineWriter, stop: () => void): void;
  /** @param cotangent address of that of the state @param zeros of so many zeros as a parameter has numbers */
  writePull(w: RoutineWriter, cotangent: number, zeros: number): void;
}

/** undefined of a start that has more to it. */
export function startCall(prepared: Runnable, room: Room): {readonly bind: () => StartCall} | undefined {
  const context = startOf(prepared);
  const {traced, compiled: known, linear, t0, h0} = context;
  const {mass, positions, kinematics, delays, seed, rightHandSide, coefficients} = traced.functions;
  const checked = [positions, kinematics, delays, seed, rightHandSide, coefficients];
  // A mass that depends on nothing has been checked by the first run.
  const isConstant = mass === undefined || !topological([mass]).some(node => isOp(node, 'input'));
  if (prepared.resumed === true || known.implicit || !isConstant || checked.some(one => one !== undefined))
    return undefined;
  if (known.derived.parameters.length > 0) return undefined;
  const compiled = known.on(room.engine);
  const forward = compiled.forward(linear);
  const adjoint = compiled.wholeAdjoint(linear);
  const askedGiven = room.ask(prepared.given.length);
  const bind = (): StartCall => {
    const given = askedGiven();
    for (const executable of [forward, adjoint]) {
      executable.find('t')?.fill(t0);
      executable.find('h')?.fill(h0);
    }
    const {vectors} = routinesOf(forward) ?? fail();
    const {copy} = vectors;
    const next = forward.buffer('next');
    const sums = parameterList(prepared.parameterValues.length).map(name => adjoint.find(cotangentName(name)));
    const nextCotangent = adjoint.find('nextCotangent');
    const initial = adjoint.find('xCotangent') ?? adjoint.buffer('nextCotangent');
    const load = (w: RoutineWriter, executable: StepExecutable): void => {
      const x = executable.find('x');
      if (x !== undefined) w.run(copy, x.byteOffset, given.byteOffset, x.length);
    };
    return {
      executables: [forward, adjoint],
      given,
      next: next.byteOffset,
      initial,
      sums,
      writeStart(w, stop) {
        load(w, forward);
        w.run(forward.program('update'));
        writeFinite(w, vectors, next, stop);
      },
      writePull(w, cotangent, zeros) {
        for (const sum of sums) if (sum !== undefined) w.run(copy, sum.byteOffset, zeros, sum.length);
        load(w, adjoint);
        if (nextCotangent !== undefined) w.run(copy, nextCotangent.byteOffset, cotangent, nextCotangent.length);
        w.run(adjoint.program('pullStep'));
      },
    };
  };
  return {bind};
}

function fail(): never {
  throw new Error('programs in one memory are compiled');
}
