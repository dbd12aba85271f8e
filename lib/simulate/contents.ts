/** What a simulation computes, as data, from which a hash for a store or a cache can be made. */
import {programKey} from '../graph/key.js';
import {recipeOf} from '../linear/recipe.js';
import {stepGraph} from '../step/compiled.js';
import {readParameters, type PreparedRun} from './prepare.js';

/** Equal for two simulations, in any processes, that were traced to the same functions of the same numbers. */
export interface SimulationContents {
  /**
   * The graphs of the system's functions, the scheme, observations and events; how equations are solved, in which
   * precision, and whether steps are adaptive. Tolerances, lengths of steps and what controls them are no part of it.
   */
  readonly text: string;
  /** The numbers in these graphs, those of parameters, and those of captured tensors. */
  readonly arrays: readonly (Float64Array | Int32Array)[];
}

export function contentsOf({
  compiled,
  leaves,
  options,
  parameterValues,
  start,
  traced,
}: PreparedRun): SimulationContents {
  const {linear, step, iterations, onFailure} = options.newton;
  // What users make themselves has no recipe: its name stands for it.
  const solvers = [linear, step].map(made => recipeOf(made) ?? made.name);
  const control = options.plan?.control.kind ?? 'constant';
  const settings = {solvers, iterations, onFailure, control, single: compiled.isSingle};
  const {text, arrays} = programKey(JSON.stringify(settings), [start.traced, traced].map(stepGraph));
  return {text, arrays: [...arrays, ...parameterValues, ...readParameters(start.traced, leaves)]};
}
