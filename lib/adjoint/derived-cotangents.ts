/**
 * Values that a step derives only from the parameters (step/derived.ts), in sweeps: like the parameters they have
 * tangents, computed before the first step, and cotangents, summed over the steps and pulled back to the parameters
 * once, after the last.
 */
import type {BufferName, StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters} from '../step/context.js';
import type {ParameterName} from '../step/parameter-names.js';
import {cotangentName, directionName, secondOrderName} from '../step/parameter-names.js';
import {addTo} from './add-to.js';
import type {Directions} from './directions.js';

type Context = Pick<StepContext, 'compiled' | 'parameterValues' | 'redundancy'>;

/** The parameters, then the values derived from them, as their buffers are called. */
export function parameterNames({compiled, parameterValues}: Context): ParameterName[] {
  return [
    ...parameterValues.map((_, i) => `p.${i}` as const),
    ...compiled.derived.parameters.map(({node}) => node.attributes.name as ParameterName),
  ];
}

/** Room for the cotangents of all these, `count` of each: views of one array, as one is allocated faster than many. */
export function zeroCotangents({compiled, parameterValues}: Context, count = 1): Float64Array[] {
  const derived = compiled.derived.parameters;
  let total = 0;
  for (const {length} of parameterValues) total += count * length;
  for (const {node} of derived) total += count * node.size;
  const all = new ArrayBuffer(total * Float64Array.BYTES_PER_ELEMENT);
  const parts: Float64Array[] = [];
  let end = 0;
  const take = (size: number): void => {
    parts.push(new Float64Array(all, end, size));
    end += size * Float64Array.BYTES_PER_ELEMENT;
  };
  for (const {length} of parameterValues) take(count * length);
  for (const {node} of derived) take(count * node.size);
  return parts;
}

/**
 * The cotangents of the parameters alone, from those of all: what comes through the derived values is added.
 * @param cotangents of a sweep that is over
 */
export function throughDerived(context: Context, cotangents: readonly Float64Array[]): Float64Array[] {
  const own = cotangents.slice(0, context.parameterValues.length);
  const executable = context.compiled.pullDerived;
  if (executable === undefined) return own;
  loadParameters(executable, context);
  setCotangents(context, executable, cotangents, cotangentName);
  executable.run('pullDerived');
  own.forEach((cotangent, i) => addTo(cotangent, executable.optionalBuffer(cotangentName(`p.${i}`))));
  return own;
}

/** Pulls the changes of derived values' cotangents along directions; the cotangents' own are as the sweep left them. */
export function secondOrderThroughDerived(
  context: Context,
  directions: Directions,
  cotangents: readonly Float64Array[],
  turns: readonly Float64Array[],
): Float64Array[] {
  const own = turns.slice(0, context.parameterValues.length);
  const executable = loadSequential(context, directions);
  if (executable === undefined) return own;
  setCotangents(context, executable, cotangents, cotangentName);
  setCotangents(context, executable, turns, secondOrderName);
  executable.run('secondOrderDerived');
  own.forEach((turn, i) => addTo(turn, executable.optionalBuffer(secondOrderName(`p.${i}`))));
  return own;
}

/** Sets the directions of the parameters, and of the derived values what follows from them. */
export function setDirections(context: Context, executable: StepExecutable, directions: Directions): void {
  directions.parameters.forEach((dp, i) => executable.optionalBuffer(directionName(`p.${i}`))?.set(dp));
  const push = loadSequential(context, directions);
  if (push === undefined) return;
  push.run('pushDerived');
  for (const {node} of context.compiled.derived.parameters)
    executable.optionalBuffer(directionName(node))?.set(push.buffer(directionName(node)));
}

function loadSequential(
  context: Context,
  {count, parameters}: Directions,
): StepExecutable<'pushDerived' | 'secondOrderDerived'> | undefined {
  const executable = context.compiled.secondOrderDerived(count);
  if (executable === undefined) return undefined;
  loadParameters(executable, context);
  parameters.forEach((dp, i) => executable.optionalBuffer(directionName(`p.${i}`))?.set(dp));
  return executable;
}

function setCotangents(
  context: Context,
  executable: StepExecutable,
  cotangents: readonly Float64Array[],
  name: (of: ParameterName) => BufferName,
): void {
  const first = context.parameterValues.length;
  parameterNames(context)
    .slice(first)
    .forEach((of, j) => executable.optionalBuffer(name(of))?.set(cotangents[first + j]));
}
