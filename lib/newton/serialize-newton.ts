/** Serializes Newton's options for messages to other threads. */
import {fromRecipe} from '../linear/from-recipe.js';
import type {Recipe} from '../linear/recipe.js';
import {recipeOf} from '../linear/recipe.js';
import type {Newton} from './options.js';
import type {StepLength} from './step-length.js';
import {backtracking, full, subSteps} from './step-length.js';

export type SerializedNewton = Omit<Newton, 'step' | 'linear'> & {readonly step: Recipe; readonly linear: Recipe};

/** Undefined if the step length or the linear solver is custom, or contains a function. */
export function serializeNewton({step, linear, ...rest}: Newton): SerializedNewton | undefined {
  const [stepRecipe, linearRecipe] = [recipeOf(step), recipeOf(linear)];
  return stepRecipe === undefined || linearRecipe === undefined
    ? undefined
    : {...rest, step: stepRecipe, linear: linearRecipe};
}

export function deserializeNewton({step, linear, ...rest}: SerializedNewton): Newton {
  return {...rest, step: stepLength(step), linear: fromRecipe(linear)};
}

function stepLength({make, options = {}}: Recipe): StepLength {
  switch (make) {
    case 'full':
      return full();
    case 'subSteps':
      return subSteps(options.fraction as number);
    case 'backtracking':
      return backtracking(options);
    default:
      throw new Error(`no step length is made by ${make}`);
  }
}
