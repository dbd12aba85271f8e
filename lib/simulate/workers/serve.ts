/**
 * A worker thread's work: it compiles the steps it is sent, each once, and answers one job after another.
 * It keeps nothing of a job, so that any worker can do any job.
 */
import {automatic} from '../../engine/automatic.js';
import type {Engine} from '../../engine/engine.js';
import {interpreter} from '../../engine/interpreter.js';
import {wasm, wasmSingle} from '../../engine/wasm/wasm.js';
import {deserializeNewton} from '../../newton/serialize-newton.js';
import {CompiledStep} from '../../step/compiled.js';
import type {StepPrograms} from '../../step/context.js';
import {noRedundancy} from '../../step/context.js';
import type {SerializedStep, StepProperties, StepGraph} from '../../step/serialize-step.js';
import {deserializeStep, assembleStep} from '../../step/serialize-step.js';
import {polling} from '../abort.js';
import type {PreparedAdjoint} from '../../integrate/adjoints/adjoint.js';
import {adjointOf} from '../../integrate/adjoints/serialize-adjoint.js';
import {readGrid} from '../../integrate/grid.js';
import type {Progress} from '../../integrate/grid.js';
import {run} from '../../integrate/run.js';
import type {RunContext} from '../../integrate/run-context.js';
import {pullSeries, runAndPush, seriesValues} from '../series.js';
import type {Reply, Request, MemberStart, Task} from './messages.js';
import {buffersOf, memoryOf} from './messages.js';
import {serializeError} from './serialize-error.js';
import {deserializePath, serializeRun} from './serialize-run.js';

type Post = (reply: Reply, transfer: ArrayBuffer[]) => void;

const engines: Readonly<Record<Task['engine'], Engine>> = {auto: automatic, wasm, wasmSingle, interpreter};

interface KnownStep {
  readonly graph: StepGraph;
  readonly checked: SerializedStep['checked'];
  /** Made when the first task says for which engine. */
  compiled?: CompiledStep;
}

interface KnownTask {
  readonly plain: Task;
  readonly runnable: RunContext;
  readonly adjoint: PreparedAdjoint;
}

/** A function that takes requests; its answers go through `post`. */
export function serve(post: Post): (request: Request) => void {
  const steps = new Map<number, KnownStep>();
  const tasks = new Map<number, KnownTask>();
  const prepare = (plain: Task): KnownTask => {
    const engine = engines[plain.engine];
    const programsOf = (step: number, facts: StepProperties): StepPrograms => {
      const known = steps.get(step);
      if (known === undefined) throw new Error(`step ${step} is not here`);
      const traced = assembleStep(known.graph, facts);
      known.compiled ??= new CompiledStep(traced, engine, known.checked);
      return {traced, compiled: known.compiled};
    };
    const grid = readGrid(plain.grid, plain.t0);
    const newton = deserializeNewton(plain.newton);
    const adjoint = adjointOf(plain.adjoint);
    const runnable: RunContext = {
      ...programsOf(plain.step, plain.facts),
      start: programsOf(plain.first, plain.firstFacts),
      redundancy: noRedundancy,
      engine,
      initialValues: new Float64Array(0),
      parameterValues: plain.parameters,
      coordinates: plain.coordinates,
      t0: grid.t0,
      h0: grid.length(0),
      linear: newton.linear,
      options: {grid, saved: plain.saved, newton, freshJacobians: adjoint.freshJacobians, consistent: plain.consistent},
    };
    return {plain, runnable, adjoint};
  };
  const runnableFor = ({
    job,
    member,
    task,
    start,
  }: {
    readonly job: number;
    readonly member: number;
    readonly task: number;
    readonly start: MemberStart;
  }): {runnable: RunContext; adjoint: PreparedAdjoint} => {
    const known = tasks.get(task);
    if (known === undefined) throw new Error(`task ${task} is not here`);
    const {plain, runnable, adjoint} = known;
    const parameterValues = [...runnable.parameterValues];
    for (const [parameter, values] of start.own) parameterValues[parameter] = values;
    runnable.compiled.compileTime = 0;
    const onProgress = plain.progress
      ? (progress: Progress): void => post({kind: 'progress', job, progress}, [])
      : undefined;
    return {
      adjoint,
      runnable: {
        ...runnable,
        initialValues: start.given,
        parameterValues,
        options: {...runnable.options, onProgress, poll: polling(plain.interest, member)},
      },
    };
  };
  const answer = (request: Request): void => {
    switch (request.kind) {
      case 'step':
        steps.set(request.step, {graph: deserializeStep(request.plain), checked: request.plain.checked});
        return;
      case 'drop':
        steps.delete(request.step);
        return;
      case 'task':
        tasks.set(request.task, prepare(request.plain));
        return;
      case 'end':
        tasks.delete(request.task);
        return;
      case 'run': {
        const {runnable, adjoint} = runnableFor(request);
        const result = request.keep ? adjoint.run(runnable) : run(runnable);
        const matrix = seriesValues(runnable, result);
        const plain = serializeRun(runnable, result);
        const own = matrix === result.states ? undefined : matrix;
        post({kind: 'ran', job: request.job, run: plain, matrix: own}, [
          ...memoryOf(plain.tape),
          plain.states.buffer as ArrayBuffer,
          ...(own === undefined ? [] : [own.buffer as ArrayBuffer]),
        ]);
        return;
      }
      case 'pull': {
        const {runnable, adjoint} = runnableFor(request);
        const path = deserializePath(request.path, adjoint);
        const gradient = pullSeries(runnable, path, {series: request.cotangents, asked: request.asked});
        const plain = path.tape?.serialize?.();
        post({kind: 'pulled', job: request.job, gradient, kept: plain}, memoryOf(plain));
        return;
      }
      case 'push': {
        const {runnable} = runnableFor(request);
        const {run: result, tangents} = runAndPush(runnable, request.directions, request.throws);
        const matrix = seriesValues(runnable, result);
        const plain = serializeRun(runnable, {...result, tape: undefined});
        const own = matrix === result.states ? undefined : matrix;
        const moved = [plain.states, ...(own === undefined ? [] : [own]), ...tangents];
        post({kind: 'pushed', job: request.job, run: plain, matrix: own, tangents}, buffersOf(moved));
      }
    }
  };
  post({kind: 'ready'}, []);
  return request => {
    try {
      answer(request);
    } catch (error) {
      if (!('job' in request)) return;
      post({kind: 'failed', job: request.job, error: serializeError(error)}, []);
    }
  };
}
