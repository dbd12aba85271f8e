/**
 * Reports a gradient that is not finite, with the step where this began. The final gradient is checked when a
 * sweep has ended; only if it is not finite, the sweep is repeated and checked step by step.
 */
import type {StepExecutable} from '../step/buffers.js';
import {GradientError} from '../errors.js';
import {cotangentName} from '../step/parameter-names.js';
import {toUserTime} from '../step/time-direction.js';
import {firstNotFinite} from '../system/places.js';
import type {StepContext} from '../step/context.js';
import {parameterNames} from './derived-cotangents.js';
import type {Gradient} from './gradient.js';

/**
 * Looks at what transition n of a sweep back, from time t, has left: the cotangent of its beginning, and those of the
 * parameters.
 */
export type TransitionWatch = (n: number, t: number, xCotangent: Float64Array, executable: StepExecutable) => void;

const notFinite = (values: Float64Array | undefined): number => (values === undefined ? -1 : firstNotFinite(values));

const remedy =
  'A slope is infinite there, as that of √x at 0, or the motion is chaotic or unstable and its gradient grows '
  + 'beyond the range of numbers: '
  + 'choose another formula there (tf.where leaves out what it does not choose), or shorten the run.';

/** What parameter i is called: 'params.k', or the captured variable's name. */
function parameterName({traced}: StepContext, i: number): string {
  const parameter = traced.parameters[i] as (typeof traced.parameters)[number] | undefined;
  if (parameter === undefined) return 'a value derived from the parameters';
  const {leaf, tensor} = parameter;
  if (leaf !== undefined) return `params.${leaf.name}`;
  return tensor !== undefined && 'name' in tensor ? `the variable ${String(tensor.name)}` : 'a captured tensor';
}

/** The first part of a gradient that is not finite. @param ofInitial that by the initial state is looked at */
export function notFinitePart(
  context: StepContext,
  {initial, parameters, t0}: Pick<Gradient, 'initial' | 'parameters' | 't0'>,
  ofInitial = true,
): {name: string; value: number} | undefined {
  const row = ofInitial ? notFinite(initial) : -1;
  if (row >= 0) return {name: `initial ${context.traced.state.rowName(row)}`, value: initial[row]};
  for (let i = 0; i < parameters.length; i++) {
    const at = notFinite(parameters[i]);
    if (at >= 0) return {name: parameterName(context, i), value: parameters[i][at]};
  }
  if (t0 !== undefined && !Number.isFinite(t0)) return {name: 't0', value: t0};
  return undefined;
}

/** @throws GradientError at the first step, going back, that is not finite */
export function finiteWatch(context: StepContext): TransitionWatch {
  const names = parameterNames(context);
  return (n, t, xCotangent, executable) => {
    const row = notFinite(xCotangent);
    const parameter =
      row >= 0 ? -1 : names.findIndex(name => notFinite(executable.optionalBuffer(cotangentName(name))) >= 0);
    if (row < 0 && parameter < 0) return;
    const [name, value] =
      row >= 0
        ? [context.traced.state.rowName(row), xCotangent[row]]
        : [
            parameterName(context, parameter),
            executable.buffer(cotangentName(names[parameter])).find(entry => !Number.isFinite(entry)) ?? NaN,
          ];
    const at = toUserTime(context.traced, t);
    throw new GradientError(
      'gradient-not-finite',
      `The gradient is not finite. In the backward pass it is first ${value} in step ${n + 1}, from t = `
        + `${Number(at.toPrecision(12))}: the cotangent of ${name}. ${remedy}`,
      {t: at, step: n, name, value},
    );
  };
}

/** Where no step tells: what the loss gave, the start of the run, or a sweep that has no steps to look at. */
export function gradientNotFinite({name, value}: {name: string; value: number}): GradientError {
  return new GradientError(
    'gradient-not-finite',
    `The gradient is not finite: that of ${name} is ${value}. ${remedy}`,
    {name, value},
  );
}

/**
 * Where a saved value itself is not finite it has no tangent, and shows that itself.
 * @param matrices tangents of the saved series [saved, width], by direction
 * @param values the series
 */
export function requireFiniteTangents(
  context: StepContext,
  matrices: readonly Float64Array[],
  width: number,
  times: Float64Array,
  values: () => Float64Array,
): void {
  matrices.forEach((matrix, direction) => {
    if (notFinite(matrix) < 0) return;
    const series = values();
    const at = matrix.findIndex((tangent, i) => !Number.isFinite(tangent) && Number.isFinite(series[i]));
    if (at < 0) return;
    const [t, row] = [times[Math.floor(at / width)], at % width];
    const {state} = context.traced;
    const name = row < state.size ? state.rowName(row) : `observed[${row - state.size}]`;
    throw new GradientError(
      'gradient-not-finite',
      `The tangent along direction ${direction} is not finite: at the saved t = ${Number(t.toPrecision(12))}, `
        + `and at none before, that of ${name} is ${matrix[at]}. ${remedy}`,
      {t, name, direction, value: matrix[at]},
    );
  });
}
