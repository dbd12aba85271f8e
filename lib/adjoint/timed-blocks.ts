/**
 * Many explicit steps with their times pulled back in one call (`timedPullsRoutine` of emit-pull.ts), where these times
 * are constants: what timed-pull.ts does with them one by one. Steps of a grid have a separate one (pull-blocks.ts): it
 * reads what is stored of a step instead of its state, and handles Newton's matrix, but not states within steps.
 */
import {routinesOf} from '../engine/routines.js';
import {programCallee} from '../routine/callees.js';
import type {Routine} from '../routine/routine.js';
import type {SharedRoutine} from '../routine/shared.js';
import {RoutineCache} from '../routine/shared.js';
import {adaptiveBlockSteps} from '../step/adaptive-block-layout.js';
import type {BufferName, StepExecutable} from '../step/buffers.js';
import type {HistoryAdjointProgram} from '../step/history-programs.js';
import {rowHeaderSize} from '../step/block-layout.js';
import type {BatchedPull, Segment} from './gradient.js';
import type {TimedRoom} from './emit-pull.js';
import {pairs, timedPullsRoutine} from './emit-pull.js';

/** (rows, from the last one to the first; saved states in them) */
const timedRoutines = new RoutineCache<TimedBlocks>({emit: blocks => blocks.emit(), interpretedCalls: 0});

export class TimedBlocks implements BatchedPull {
  readonly maxSaved: number;
  readonly savedAt = 'anywhere';
  private readonly states: Float64Array;
  private readonly thetas: Float64Array;
  private readonly afters: Float64Array;
  private readonly routine: SharedRoutine<TimedBlocks>;

  /**
   * @param xCotangent that of the state, which they replace
   * @returns undefined where steps are pulled back one by one
   */
  static of(executable: StepExecutable<HistoryAdjointProgram>, xCotangent: Float64Array): TimedBlocks | undefined {
    const [rows, nextCotangent] = [executable.optionalBuffer('block'), executable.optionalBuffer('nextCotangent')];
    const {length: size} = xCotangent;
    if (routinesOf(executable) === undefined || rows === undefined || nextCotangent?.length !== size) return undefined;
    return new TimedBlocks(executable, xCotangent, rows, nextCotangent);
  }

  private constructor(
    private readonly executable: StepExecutable<HistoryAdjointProgram>,
    private readonly xCotangent: Float64Array,
    private readonly rows: Float64Array,
    private readonly nextCotangent: Float64Array,
  ) {
    const {length: size} = xCotangent;
    this.maxSaved = adaptiveBlockSteps(size);
    this.states = rows.subarray((this.maxSaved + 1) * (rowHeaderSize + size));
    [this.thetas, this.afters] = (['blockTheta', 'blockAfter'] as const).map(name => executable.buffer(name));
    this.routine = timedRoutines.of(executable, []);
  }

  emit(): Routine {
    const {executable, rows, states, thetas, afters} = this;
    return timedPulls(executable, {rows, states, thetas, afters, sum: executable.buffer('blockCotangent')});
  }

  get maxCount(): number {
    return this.maxSaved;
  }

  pull({record, from, to, end, saved, states: all}: Segment): void {
    const {rows, states, thetas, afters, xCotangent, nextCotangent} = this;
    const [count, size] = [to - from, xCotangent.length];
    rows.set(record.rows(from, count));
    rows.set(end, count * record.width + rowHeaderSize);
    states.set(all.subarray(saved.from * size, saved.to * size));
    afters[0] = -1;
    for (let i = saved.from, k = 0; i < saved.to; i++, k++) {
      thetas[k] = saved.theta(i);
      afters[k + 1] = saved.after(i) - from;
    }
    nextCotangent.set(xCotangent);
    this.routine.bind(this)(count, saved.to - saved.from);
    xCotangent.set(nextCotangent);
  }
}

/** Arrays that `timedPulls` needs beside those of the programs (`TimedRoom`). */
export interface TimedArrays extends Pick<TimedRoom, 'rows' | 'states' | 'thetas' | 'afters'> {
  /** Room for a cotangent of the state. */
  readonly sum: Float64Array;
}

/** (rows, from the last one to the first; saved states in them): a routine to be compiled. */
export function timedPulls(executable: StepExecutable<HistoryAdjointProgram>, {sum, ...arrays}: TimedArrays): Routine {
  const find = (name: BufferName): Float64Array | undefined => executable.optionalBuffer(name);
  const layers = find('layers');
  const cotangent = executable.buffer('nextCotangent');
  const {length: size} = cotangent;
  const insideCotangent = find('insideCotangent');
  const dense = (): TimedRoom['dense'] => ({
    inside: executable.has('inside') ? programCallee(executable, 'inside') : undefined,
    pullDense: programCallee(executable, 'pullDense'),
    next: find('next'),
    theta: find('theta'),
    cotangent: find('denseCotangent'),
    x: sum,
    added: pairs([
      [find('denseNextCotangent'), cotangent],
      [find('denseXCotangent'), sum],
      [find('denseInsideCotangent'), insideCotangent],
    ]),
  });
  const parts = {h: find('h'), pullStep: programCallee(executable, 'pullStep')};
  return timedPullsRoutine(parts, {
    ...arrays,
    width: rowHeaderSize + size + (layers?.length ?? 0),
    t: find('t'),
    x: find('x'),
    layers,
    cotangent,
    result: executable.buffer('xCotangent'),
    insideCotangent,
    dense: executable.has('pullDense') ? dense() : undefined,
    kernels: routinesOf(executable)?.vectors,
  });
}
