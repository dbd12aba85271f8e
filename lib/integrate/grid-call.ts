/** A run along a grid whose states are all saved, and its way back, in one memory (run-call.ts). */
import {addTo} from '../adjoint/add-to.js';
import {GridPull} from '../adjoint/implicit-pull.js';
import {jacobianFactor} from '../adjoint/jacobian-factor.js';
import {ParameterCotangents} from '../adjoint/parameter-cotangents.js';
import {batchedPullRoutine} from '../adjoint/emit-pull.js';
import {stepBuffers, StepRecord} from '../adjoint/record.js';
import {routinesOf} from '../engine/routines.js';
import {compile} from '../routine/compile.js';
import {cotangentName} from '../step/parameter-names.js';
import {rowHeaderSize} from '../step/block-layout.js';
import type {DeferredCall, MemoryArena, RunCall} from './run-call.js';
import {clear, parameterList} from './run-call.js';
import type {RunContext} from './run-context.js';
import {startCall} from './start-call.js';
import {recordedArrays} from './step-recorder.js';
import {stepsRoutine} from './emit-step.js';
import {Stepper} from './stepper.js';

const nothing = new Float64Array(0);
const bytes = Float64Array.BYTES_PER_ELEMENT;

/** The steps after which states are saved are all there are, with the start or without. */
function savesAll(saved: Float64Array, steps: number): boolean {
  const first = saved[0] === 0 ? 0 : 1;
  return saved.length === steps + 1 - first && saved[saved.length - 1] === steps;
}

/** Steps go as most do, as far as that is known before them. */
function isPlain(prepared: RunContext): boolean {
  const {compiled, traced, options, redundancy} = prepared;
  const {plan, grid, saved} = options;
  if (plan !== undefined || grid.backwards === true || grid.steps === 0 || !savesAll(saved, grid.steps)) return false;
  if (traced.functions.touching !== undefined || redundancy.regularization > 0) return false;
  return compiled.derived.parameters.length === 0;
}

/**
 * @param room in the memory of all programs
 * @param memory bytes that the record of the steps may take
 * @returns undefined of a run that is not taken so
 */
export function gridCall(given: RunContext, room: MemoryArena, memory: number): DeferredCall | undefined {
  const known = {...given, storage: 'narrow'} as const;
  if (!isPlain(known)) return undefined;
  // What an iteration is made of is told by compiled programs.
  known.compiled.expectedSteps = Infinity;
  if (new Stepper(known, new Float64Array(known.traced.state.size), false, false).batchable === undefined)
    return undefined;
  const {
    traced,
    options: {
      grid: {steps},
      newton,
    },
  } = known;
  const {size} = traced.state;
  const width = rowHeaderSize + known.compiled.storage.size;
  if (steps * width * bytes > memory) return undefined;
  const start = startCall(known, room);
  if (start === undefined) return undefined;
  const compiled = known.compiled.forEngine(room.engine);
  const prepared: RunContext = {...known, engine: room.engine, compiled};
  const forward = compiled.forward(newton.linear, 'narrow');
  const adjoint = compiled.adjoint(compiled.matrices.sweepSolver(newton.linear));
  const asked = [steps * width, (steps + 1) * size, (steps + 1) * size, 1].map(numbers => room.ask(numbers));

  const bind = (): RunCall | undefined => {
    const {grid, saved} = prepared.options;
    const [forwards, backwards] = [routinesOf(forward), routinesOf(adjoint)];
    const cotangent = adjoint.optionalBuffer('nextCotangent');
    if (forwards === undefined || backwards === undefined || cotangent?.length !== size) return undefined;
    const [rows, states, cotangents, made] = asked.map(array => array());
    for (let n = 0; n < steps; n++) {
      rows[n * width] = grid.time(n);
      rows[n * width + 1] = grid.length(n);
    }
    const stepper = new Stepper(prepared, nothing, false, false);
    const take = compile(
      stepsRoutine(stepper.operations(true), {
        rows,
        width,
        recorded: recordedArrays(prepared, forward, 'kept'),
        ends: states.subarray(size),
        x: forward.buffer('x'),
        next: forward.buffer('next'),
        taken: made,
        kernels: forwards.vectors,
      }),
      forwards.memory,
    );
    const jacobian = jacobianFactor(prepared, adjoint, true);
    const back = new GridPull(prepared, adjoint, new ParameterCotangents(prepared, adjoint, true), jacobian);
    const {t, x: kept} = stepBuffers(adjoint);
    const pullSteps = compile(
      batchedPullRoutine(back.operations({owner: back}), {
        rows,
        width,
        t,
        kept,
        cotangent,
        result: adjoint.buffer('xCotangent'),
        ends: cotangents.subarray(size),
        kernels: backwards.vectors,
      }),
      backwards.memory,
    );
    const record = StepRecord.deserialize({
      stateSize: width - rowHeaderSize,
      unknownSize: 0,
      count: steps,
      rows,
      within: new Set(),
      iterations: [],
    });
    const begin = start.bind();
    const x = forward.buffer('x');
    const sums = parameterList(known.parameterValues.length).map(name => adjoint.optionalBuffer(cotangentName(name)));
    const first = saved[0] === 0 ? 0 : 1;
    const last = cotangents.subarray(steps * size);
    return {
      executables: [...begin.executables, forward, adjoint],
      given: begin.given,
      states: states.subarray(first * size),
      times: Float64Array.from(saved, n => grid.time(n)),
      cotangents: cotangents.subarray(first * size),
      initial: begin.initial,
      sums: [sums, begin.sums],
      run() {
        if (!begin.run()) return false;
        x.set(begin.next);
        states.set(begin.next);
        // A run with a step that fails is taken again by run.ts, which tells why.
        return stepper.solver.solveSeveral(take, steps, 1) === 0;
      },
      pull() {
        clear(sums);
        cotangent.set(last);
        jacobian?.restart();
        back.at(record, 0);
        pullSteps(steps, 1, 1, NaN);
        if (first === 0) addTo(cotangent, cotangents);
        begin.pull(cotangent);
      },
    };
  };
  return {bind};
}
