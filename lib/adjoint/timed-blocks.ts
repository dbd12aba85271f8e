/**
 * Steps that are pulled back many at once, by one call of a routine (timed-routine.ts): to the same bits as timed-pull.ts pulls
 * each by itself.
 */
import {roomOf} from '../step/adaptive-blocks.js';
import {routinesOf} from '../engine/routines.js';
import type {StepExecutable} from '../step/buffers.js';
import type {HistoryAdjointProgram} from '../step/history-programs.js';
import type {PullTimedTogether} from './gradient.js';
import type {ParameterCotangents} from './parameter-cotangents.js';
import {timedRoutine} from './timed-routine.js';

/**
 * @param cotangents those of the parameters, which the steps add to
 * @param xCotangent that of the state, which they replace
 * @returns undefined where the engine pulls steps one by one
 */
export function timedBlocks(
  executable: StepExecutable<HistoryAdjointProgram>,
  cotangents: ParameterCotangents,
  xCotangent: Float64Array,
): PullTimedTogether | undefined {
  const routines = routinesOf(executable);
  const run = routines?.once('pullTimed', () => timedRoutine(executable, routines, cotangents.sums));
  if (run === undefined) return undefined;
  const size = xCotangent.length;
  const [rows, cotangentsOfStates, thetas, afters, totals, nextCotangent] = (
    ['blockRows', 'blockStates', 'blockTheta', 'blockAfter', 'blockTotals', 'nextCotangent'] as const
  ).map(name => executable.buffer(name));
  return {
    room: roomOf(size),
    pullTimed(record, from, to, end, states, cursor) {
      rows.set(record.rows(from, to - from));
      rows.set(end, (to - from) * (2 + size) + 2);
      cotangentsOfStates.set(states.subarray(cursor.from * size, cursor.to * size));
      afters[0] = -1;
      for (let i = cursor.from, k = 0; i < cursor.to; i++, k++) {
        thetas[k] = cursor.theta(i);
        afters[k + 1] = cursor.after(i) - from;
      }
      nextCotangent.set(xCotangent);
      cotangents.give(totals);
      run(to - from, cursor.to - cursor.from);
      cotangents.take(totals);
      xCotangent.set(nextCotangent);
    },
  };
}
