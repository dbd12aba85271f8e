/**
 * The start of a run (start.ts) and its way back, as parts of a run in one memory (run-call.ts), where nothing is to be
 * checked or solved.
 */
import {isOp, topological} from '../graph/node.js';
import type {StepExecutable} from '../step/buffers.js';
import {startContext} from '../step/context.js';
import {cotangentName} from '../step/parameter-names.js';
import type {MemoryArena, Sums} from './run-call.js';
import {clear, parameterList} from './run-call.js';
import type {RunContext} from './run-context.js';

export interface StartCall {
  readonly executables: readonly StepExecutable[];
  readonly given: Float64Array;
  /** The state that it makes. */
  readonly next: Float64Array;
  readonly initial: Float64Array;
  readonly sums: Sums;
  /** Whether the state that it makes is finite. */
  run(): boolean;
  /** @param cotangent that of the state */
  pull(cotangent: Float64Array): void;
}

/** undefined of a start that has more to it. */
export function startCall(prepared: RunContext, room: MemoryArena): {readonly bind: () => StartCall} | undefined {
  const context = startContext(prepared);
  const {traced, compiled: known, linear, t0, h0} = context;
  const {mass, positions, kinematics, delays, seed, rightHandSide, coefficients} = traced.functions;
  const checked = [positions, kinematics, delays, seed, rightHandSide, coefficients];
  // A mass that depends on nothing has been checked by the first run.
  const isConstant = mass === undefined || !topological([mass]).some(node => isOp(node, 'input'));
  if (prepared.resumed === true || known.implicit || !isConstant || checked.some(one => one !== undefined))
    return undefined;
  if (known.derived.parameters.length > 0) return undefined;
  const compiled = known.forEngine(room.engine);
  const forward = compiled.forward(linear);
  const adjoint = compiled.fullAdjoint(linear);
  const askedGiven = room.ask(prepared.initialValues.length);
  const bind = (): StartCall => {
    const given = askedGiven();
    for (const executable of [forward, adjoint]) {
      executable.optionalBuffer('t')?.fill(t0);
      executable.optionalBuffer('h')?.fill(h0);
    }
    const next = forward.buffer('next');
    const sums = parameterList(prepared.parameterValues.length).map(name =>
      adjoint.optionalBuffer(cotangentName(name)),
    );
    const [x, pulledX, nextCotangent] = [
      forward.optionalBuffer('x'),
      adjoint.optionalBuffer('x'),
      adjoint.optionalBuffer('nextCotangent'),
    ];
    const [update, pullStep] = [forward.program('update'), adjoint.program('pullStep')];
    return {
      executables: [forward, adjoint],
      given,
      next,
      initial: adjoint.buffer('xCotangent'),
      sums,
      run() {
        x?.set(given);
        update();
        return forward.vectors.largest(next) < Infinity;
      },
      pull(cotangent) {
        clear(sums);
        pulledX?.set(given);
        nextCotangent?.set(cotangent);
        pullStep();
      },
    };
  };
  return {bind};
}
