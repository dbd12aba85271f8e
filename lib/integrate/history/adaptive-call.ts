/**
 * A run of adaptive explicit steps that saves states at given times, and its way back, in one memory (run-call.ts),
 * where it takes no more steps than there is room for.
 */
import {addTo} from '../../adjoint/add-to.js';
import {historyAdjoint} from '../../adjoint/timed-pull.js';
import {timedPulls} from '../../adjoint/timed-blocks.js';
import {routinesOf} from '../../engine/routines.js';
import {compile} from '../../routine/compile.js';
import {hostFunction} from '../../routine/callees.js';
import type {BlockNumber} from '../../step/adaptive-block-layout.js';
import {controlSize, controlIndex} from '../../step/adaptive-block-layout.js';
import {parameterCotangent} from '../../step/parameter-names.js';
import {rowHeaderSize} from '../../step/block-layout.js';
import {noCounts} from '../counters.js';
import type {DeferredCall, MemoryArena, RunCall} from '../run-call.js';
import {clear, parameterList} from '../run-call.js';
import type {RunContext} from '../run-context.js';
import {startCall} from '../start-call.js';
import {AttemptLoop} from './attempt-loop.js';
import {isPlain, Judge, partsOfAttempts} from './adaptive-blocks.js';
import {attemptsRoutine} from './emit-adaptive.js';
import {errorCallee, setTolerances} from './error-estimate.js';
import {AdaptiveController} from './step-size-controller.js';
import {stopsOf} from './plan.js';
import {Saver} from './saver.js';
import {StepSequence} from './step-sequence.js';

const bytes = Float64Array.BYTES_PER_ELEMENT;

/**
 * Room for so many times as many attempts as the last run took steps: some are refused, and steps become shorter in
 * training.
 */
const spare = 4;

/**
 * @param room in the memory of all programs
 * @param memory bytes that the record of the steps may take
 * @returns undefined of a run that is not taken so
 */
export function adaptiveCall(prepared: RunContext, room: MemoryArena, memory: number): DeferredCall | undefined {
  const {
    compiled: known,
    traced,
    options: {plan, grid},
  } = prepared;
  if (plan?.saving.kind !== 'times' || plan.resume !== undefined || !isPlain(prepared, plan)) return undefined;
  const {absolute, control, saving} = plan;
  if (control.first === 'auto' || absolute === undefined || grid.backwards === true) return undefined;
  if (!known.isBatchable || traced.functions.events !== undefined) return undefined;
  if (known.derived.parameters.length > 0) return undefined;
  const {size} = traced.state;
  const {times} = saving;
  const storage = known.activations === undefined ? undefined : 'layers';
  const width = rowHeaderSize + size + (known.activations?.size ?? 0);
  const capacity = spare * known.expectedTransitions;
  if ((capacity + 1) * width * bytes > memory) return undefined;
  const start = startCall(prepared, room);
  if (start === undefined) return undefined;
  const compiled = known.forEngine(room.engine);
  const forward = compiled.adaptiveRun(storage);
  const adjoint = historyAdjoint({...prepared, compiled, storage});
  const count = prepared.parameterValues.length;
  const asked = {
    rows: room.ask((capacity + 1) * width),
    states: room.ask(times.length * size),
    cotangents: room.ask(times.length * size),
    theta: room.ask(times.length),
    after: room.ask(1 + times.length),
    control: room.ask(controlSize),
    absolute: room.ask(absolute.length),
    judged: room.ask(absolute.length),
    cotangent: room.ask(size),
  };

  const bind = (): RunCall | undefined => {
    const [forwards, backwards] = [routinesOf(forward), routinesOf(adjoint)];
    const x̄ = adjoint.optionalBuffer('nextCotangent');
    if (forwards === undefined || backwards === undefined || x̄?.length !== size) return undefined;
    const arrays = Object.fromEntries(Object.entries(asked).map(([name, array]) => [name, array()])) as {
      readonly [name in keyof typeof asked]: Float64Array;
    };
    // The start is saved before the steps.
    const first = times[0] === grid.t0 ? 1 : 0;
    const {states, theta, after} = arrays;
    after[0] = -1;
    const tolerances = {absolute: arrays.absolute, errorMask: arrays.judged};
    setTolerances(tolerances, plan, traced, arrays.control);
    const judge = new Judge(arrays.control, forward);
    const judgeCallee = hostFunction(error => judge.judge(error));
    const parts = partsOfAttempts(forward, errorCallee(forward, tolerances), judgeCallee);
    const attempts = compile(
      attemptsRoutine(parts, {
        control: arrays.control,
        rows: arrays.rows,
        capacity,
        layers: forward.optionalBuffer('layers'),
        x: forward.buffer('x'),
        next: forward.buffer('next'),
        kernels: forwards.vectors,
      }),
      forwards.memory,
    );
    const stops = stopsOf(plan);
    const power = traced.errorInfo?.errorOrder ?? traced.order + 1;
    const set = (name: BlockNumber, value: number): void => void (arrays.control[controlIndex[name]] = value);
    const get = (name: BlockNumber): number => arrays.control[controlIndex[name]];
    const pullSteps = compile(
      timedPulls(adjoint, {
        rows: arrays.rows,
        states: arrays.cotangents,
        thetas: theta,
        afters: after,
        sum: arrays.cotangent,
      }),
      backwards.memory,
    );
    const begin = start.bind();
    const x = forward.buffer('x');
    const sums = parameterList(count).map(name => adjoint.optionalBuffer(parameterCotangent('pullStep', name)));
    return {
      executables: [...begin.executables, forward, adjoint],
      given: begin.given,
      states,
      times,
      cotangents: arrays.cotangents,
      initial: begin.initial,
      sums: [sums, begin.sums],
      run() {
        if (!begin.run()) return false;
        x.set(begin.next);
        let count = 0;
        const places = {
          save(at: number, _moment: unknown, steps: number): void {
            theta[count++] = at;
            after[count] = steps;
          },
        };
        const saver = new Saver(saving, size, places, states);
        saver.start(grid.t0, begin.next);
        const controller = new AdaptiveController(control, power, false, grid.dt, plan.end, plan.most, stops);
        const sequence = new StepSequence(controller, saver, grid.t0);
        if (!judge.begin(new AttemptLoop(controller, noCounts()), sequence, 0)) return false;
        set('mostAttempts', capacity);
        attempts();
        // The state at the end follows the rows.
        arrays.rows.set(x, get('rows') * width + rowHeaderSize);
        return get('t') >= (plan.end ?? 0) && count === times.length;
      },
      pull() {
        clear(sums);
        x̄.fill(0);
        pullSteps(get('rows'), times.length);
        if (first === 1) addTo(x̄, arrays.cotangents);
        begin.pull(x̄);
      },
    };
  };
  return {bind};
}
