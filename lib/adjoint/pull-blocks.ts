/**
 * Steps that are pulled back many at once, by one call of an engine that has it (engine/step-blocks.ts): to the same bits as
 * timed-pull.ts pulls each by itself.
 */
import {blockRoom} from '../engine/step-blocks.js';
import type {StepExecutable} from '../step/buffers.js';
import type {HistoryAdjointProgram} from '../step/history-programs.js';
import type {ManySteps} from './gradient.js';
import type {ParameterCotangents} from './parameter-cotangents.js';

/**
 * @param cotangents those of the parameters, which the steps add to
 * @param xCotangent that of the state, which they replace
 * @returns undefined where the engine pulls steps one by one
 */
export function pullBlocks(
  executable: StepExecutable<HistoryAdjointProgram>,
  cotangents: ParameterCotangents,
  xCotangent: Float64Array,
): ManySteps | undefined {
  const run = executable.stepPulls?.(cotangents.sums);
  if (run === undefined) return undefined;
  const size = xCotangent.length;
  const [rows, cotangentsOfStates, thetas, afters, totals, nextCotangent] = (
    ['blockRows', 'blockStates', 'blockTheta', 'blockAfter', 'blockTotals', 'nextCotangent'] as const
  ).map(name => executable.buffer(name));
  return {
    room: blockRoom(size),
    pull(record, from, to, end, states, cursor) {
      record.copyRows(from, to, rows);
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
