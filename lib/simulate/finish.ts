/** The end of a run that the user asked for: its trajectory, or its error. */
import {asTensors} from './operation.js';
import type {PreparedRun} from './prepare.js';
import type {Run} from '../integrate/path.js';
import {seriesValues} from './series.js';
import type {AnyTrajectory} from './trajectory.js';
import {trajectoryOf} from './trajectory.js';

export function raise({options}: PreparedRun, {error}: Run): void {
  if (error !== undefined && options.throw) throw error;
}

/** The trajectory of a run, or its error. */
export function finish(prepared: PreparedRun, result: Run, onTape: boolean): AnyTrajectory {
  raise(prepared, result);
  const matrix = seriesValues(prepared, result);
  return trajectoryOf(
    prepared,
    result,
    matrix,
    asTensors(prepared, onTape ? result : {...result, tape: undefined}, matrix),
  );
}
