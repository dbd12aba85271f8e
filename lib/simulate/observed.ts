/** Saved functions of the state: their values for all saved states at once, and the derivatives through them. */
import {loadParameters} from '../step/context.js';
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import type {ObserveProgram} from '../step/programs.js';
import type {Path} from '../integrate/path.js';

type Saved = Pick<Path, 'states' | 'times'>;

function load(context: StepContext, {states, times}: Saved): StepExecutable<ObserveProgram> {
  const executable = context.compiled.observe(times.length);
  loadParameters(executable, context);
  executable.optionalBuffer('xs')?.set(states);
  executable.optionalBuffer('ts')?.set(times);
  return executable;
}

/** [saved, ...shape of the observation], flat. */
export function observedValues(context: StepContext, saved: Saved): Float64Array {
  const executable = load(context, saved);
  executable.run('observe');
  return executable.buffer('observed').slice();
}

/**
 * Adds the cotangents of the states behind a cotangent of the observations; returns those of the saved times, and of
 * the parameters.
 */
export function pullObserved(
  context: StepContext,
  saved: Saved,
  cotangent: Float64Array,
  stateCotangents: Float64Array,
): {times: Float64Array; parameters: Float64Array[]} {
  const executable = load(context, saved);
  executable.optionalBuffer('observedCotangent')?.set(cotangent);
  executable.run('pullObserved');
  const xsCotangent = executable.buffer('xsCotangent');
  for (let i = 0; i < stateCotangents.length; i++) stateCotangents[i] += xsCotangent[i];
  return {
    times: executable.buffer('tsCotangent').slice(),
    parameters: context.parameterValues.map((_, i) => executable.buffer(`pCotangent.${i}`).slice()),
  };
}

/**
 * The tangents of the observations for tangents of the states [count, saved, state], of their times [count, saved], and
 * directions of the parameters.
 */
export function pushObserved(
  context: StepContext,
  saved: Saved,
  tangents: Float64Array,
  times: Float64Array,
  parameters: readonly Float64Array[],
  count: number,
): Float64Array[] {
  const executable = load(context, saved);
  const width = tangents.length / count;
  return Array.from({length: count}, (_, k) => {
    executable.optionalBuffer('dxs')?.set(tangents.subarray(k * width, (k + 1) * width));
    executable.optionalBuffer('dts')?.set(times.subarray(k * saved.times.length, (k + 1) * saved.times.length));
    parameters.forEach((dp, i) => {
      const size = dp.length / count;
      executable.optionalBuffer(`dp.${i}`)?.set(dp.subarray(k * size, (k + 1) * size));
    });
    executable.run('pushObserved');
    return executable.buffer('dObserved').slice();
  });
}
