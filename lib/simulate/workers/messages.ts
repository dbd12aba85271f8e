/** What passes between a batch and its worker threads: plain values alone. */
import type {Directions} from '../../adjoint/directions.js';
import type {SerializedRecord} from '../../adjoint/record.js';
import type {Engine} from '../../engine/engine.js';
import type {SerializedNewton} from '../../newton/serialize-newton.js';
import type {PivotStates} from '../../step/matrices.js';
import type {Redundancy} from '../../step/context.js';
import type {SerializedStep, StepProperties} from '../../step/serialize-step.js';
import type {SerializedAdjoint} from '../../integrate/adjoints/adjoint.js';
import type {SerializedTape} from '../../integrate/path.js';
import type {GridOptions, Progress} from '../../integrate/grid.js';
import type {Counters, Status} from '../../integrate/counters.js';
import type {AskedGradient} from '../series.js';
import type {PlainError} from './serialize-error.js';

/** What the jobs of one batch have in common. */
export interface Task {
  /** The number of a step that was sent before. */
  readonly step: number;
  readonly facts: StepProperties;
  /** The step that begins the run. */
  readonly first: number;
  readonly firstFacts: StepProperties;
  readonly engine: 'auto' | 'wasm' | 'wasmSingle' | 'interpreter';
  readonly t0: number;
  readonly grid: GridOptions;
  readonly saved: Float64Array;
  readonly newton: SerializedNewton;
  readonly adjoint: SerializedAdjoint;
  readonly consistent: 'check' | 'project';
  readonly progress: boolean;
  /**
   * Members beyond the number that stands here are no longer wanted (abort.ts); absent where there is no shared memory.
   */
  readonly interest?: Int32Array;
  readonly coordinates: number;
  /** Values of the parameters, where a job brings none of its own. */
  readonly parameters: readonly Float64Array[];
}

/** A run's start, and the parameters in which it differs from the task. */
export interface MemberStart {
  readonly given: Float64Array;
  readonly own: readonly (readonly [parameter: number, values: Float64Array])[];
}

/** What the way back needs of a run. */
export interface SerializedPath {
  readonly states: Float64Array;
  readonly times: Float64Array;
  readonly completed: number;
  readonly tape?: SerializedTape;
  readonly pivotStates?: PivotStates;
  /** The step that began the run. */
  readonly start: SerializedRecord;
  readonly redundancy: Redundancy;
}

export interface SerializedRun extends SerializedPath {
  readonly status: Status;
  readonly error?: PlainError;
  readonly warnings: string[];
  readonly counters: Counters;
  readonly milliseconds: number;
  readonly compileTime: number;
  readonly nonzeros: number;
  readonly linear: string;
  readonly engine: Engine['name'];
}

export interface SerializedGradient {
  readonly initial: Float64Array;
  readonly parameters: readonly Float64Array[];
  readonly t0?: number;
  readonly recomputedSteps: number;
}

export type Request =
  | {readonly kind: 'step'; readonly step: number; readonly plain: SerializedStep}
  | {readonly kind: 'drop'; readonly step: number}
  | {readonly kind: 'task'; readonly task: number; readonly plain: Task}
  | {readonly kind: 'end'; readonly task: number}
  | {
      readonly kind: 'run';
      readonly job: number;
      readonly member: number;
      readonly task: number;
      readonly start: MemberStart;
      readonly keep: boolean;
    }
  | {
      readonly kind: 'pull';
      readonly job: number;
      readonly member: number;
      readonly task: number;
      readonly start: MemberStart;
      readonly path: SerializedPath;
      readonly cotangents: Float64Array;
      readonly asked?: AskedGradient;
    }
  | {
      readonly kind: 'push';
      readonly job: number;
      readonly member: number;
      readonly task: number;
      readonly start: MemberStart;
      readonly directions: Directions;
      /** A run that fails is told without its tangents. */
      readonly throws: boolean;
    };

export type Reply =
  /** The thread has started. */
  {readonly kind: 'ready'} | Answer;

export type Answer =
  /** `matrix` is there where it is not the states themselves. */
  | {readonly kind: 'ran'; readonly job: number; readonly run: SerializedRun; readonly matrix?: Float64Array}
  /** Tangents of the matrix, one for each direction; none of a run that failed. */
  | {
      readonly kind: 'pushed';
      readonly job: number;
      readonly run: SerializedRun;
      readonly matrix?: Float64Array;
      readonly tangents: readonly Float64Array[];
    }
  | {
      readonly kind: 'pulled';
      readonly job: number;
      readonly gradient: SerializedGradient;
      readonly kept?: SerializedTape;
    }
  /** Without an error that is one of ours the batch runs the job itself, and meets its error there. */
  | {readonly kind: 'failed'; readonly job: number; readonly error?: PlainError}
  | {readonly kind: 'progress'; readonly job: number; readonly progress: Progress};

/** The memory of what is kept, which a message moves instead of copying it. */
export function memoryOf({record, states}: SerializedTape = {}): ArrayBuffer[] {
  const arrays = [...(record === undefined ? [] : [record.rows]), ...(states?.values() ?? [])];
  return buffersOf(arrays);
}

/** Each once, for several arrays may lie in one. */
export function buffersOf(arrays: readonly Float64Array[]): ArrayBuffer[] {
  return [...new Set(arrays.map(({buffer}) => buffer as ArrayBuffer))];
}
