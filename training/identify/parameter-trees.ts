/** Trees of parameters, as a network's weights: every leaf a parameter, and back. */
import {OptionError} from '../../lib/errors.js';
import type {Numeric, NumericParams} from '../../lib/index.js';
import {nested} from './nested.js';
import {
  type Parameter,
  type ParameterOptions,
  type Parameters,
  free,
  type ParameterValue,
  flatten,
} from './parameters.js';

/** Arrays by name, to any depth: a network's weights, as in `params`. */
export interface ParameterTree {
  readonly [name: string]: ParameterValue | ParameterTree;
}

/**
 * Free parameters for all leaves of a tree, under names with dots: `{...freeTree('network', network.params)}` estimates
 * all weights. `{prior: {mean: 0, sd: 1}}` is ridge regression of them (Hoerl & Kennard, Technometrics 12, 1970), with
 * the penalty (noise's sd / prior's sd)² on the sum of their squares.
 * @throws OptionError 'bad-parameter' of a tree that contains itself
 */
export function freeTree(name: string, tree: ParameterTree, options?: ParameterOptions): Parameters {
  return Object.fromEntries(leavesOf(name, tree, options, []));
}

function leavesOf(
  name: string,
  tree: ParameterTree,
  options: ParameterOptions | undefined,
  above: readonly ParameterTree[],
): [string, Parameter][] {
  if (above.includes(tree))
    throw new OptionError('bad-parameter', `freeTree: ${name} contains itself; a tree of parameters must be finite.`);
  return Object.entries(tree).flatMap(([key, value]): [string, Parameter][] => {
    const at = `${name}.${key}`;
    return isValue(value) ? [[at, free(value, options)]] : leavesOf(at, value, options, [...above, tree]);
  });
}

/** The tree with the estimates of its leaves, for the `params` of a simulation. */
export function estimatedTree(
  name: string,
  tree: ParameterTree,
  estimate: {readonly [name: string]: number | Float64Array},
): NumericParams {
  return Object.fromEntries(
    Object.entries(tree).map(([key, value]): [string, Numeric | NumericParams] => {
      const at = `${name}.${key}`;
      if (!isValue(value)) return [key, estimatedTree(at, value, estimate)];
      const own = estimate[at];
      return [key, typeof own === 'number' ? own : nested(own, flatten(value).shape)];
    }),
  );
}

const isValue = (value: ParameterValue | ParameterTree): value is ParameterValue =>
  typeof value === 'number' || Array.isArray(value) || ArrayBuffer.isView(value) || 'dataSync' in value;
