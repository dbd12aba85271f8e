/** The record of steps that a gradient goes back through. */
import type {StepRecord} from '../adjoint/record.js';
import type {ForwardExecutable, SequentialExecutable} from '../step/compiled.js';
import type {RunContext} from './run-context.js';
import type {StageSolver} from './stage-solver.js';

/** What is recorded of a step: nothing, what `keep` leaves of it, or its state and unknown. */
export type RecordedParts = 'nothing' | 'kept' | 'whole';

/** The arrays that a row of the record holds. */
export function recordedArrays(
  {compiled}: Pick<RunContext, 'compiled'>,
  forward: ForwardExecutable,
  parts: RecordedParts,
): Float64Array[] {
  if (parts === 'nothing') return [];
  const names = parts === 'kept' ? (['kept'] as const) : (['x', ...(compiled.implicit ? ['z' as const] : [])] as const);
  return names.flatMap(name => forward.optionalBuffer(name) ?? []);
}

export class StepRecorder {
  /** Where rows are appended; undefined where steps are not recorded. */
  record: StepRecord | undefined;
  private readonly state: Float64Array;
  /** What `keep` leaves of a step, where that is recorded. */
  private readonly kept: Float64Array | undefined;

  /** @param storesKept the programs leave what is recorded of a step, where that is less than its state and unknown */
  constructor(
    forward: ForwardExecutable | SequentialExecutable,
    private readonly solver: StageSolver,
    storesKept: boolean,
    private readonly recordIterations: boolean,
  ) {
    this.state = forward.buffer('x');
    // Nothing is kept of a step that is linear in all that it reads.
    this.kept = storesKept ? (forward.optionalBuffer('kept') ?? new Float64Array(0)) : undefined;
  }

  get parts(): RecordedParts {
    if (this.record === undefined) return 'nothing';
    return this.kept === undefined ? 'whole' : 'kept';
  }

  /** Appends a step that has been solved and updated, before its end becomes the state. */
  append(t: number, h: number): void {
    const {record, state, kept, solver} = this;
    if (record === undefined) return;
    if (kept !== undefined) record.append(t, h, kept, undefined);
    else record.append(t, h, state, solver.z);
    if (this.recordIterations) record.iterations.push(solver.iterations ?? []);
  }
}
