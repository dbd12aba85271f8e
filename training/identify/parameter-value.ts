/** Values of parameters as they are given: numbers, arrays of any depth, tensors. */
import {OptionError} from '../../lib/errors.js';

/** A number, an array of any depth, or anything with a shape and its values, such as a tensor. */
export type ParameterValue =
  | number
  | Float64Array
  | readonly ParameterValue[]
  | {readonly shape: readonly number[]; dataSync(): ArrayLike<number>};

/** The kind of a parameter. */
export type ParameterKind = 'free' | 'positive' | 'bounded' | 'fixed';

/** Row-major numbers of a value, with its shape. @throws OptionError of what is no value */
export function flatten(value: ParameterValue): {guess: Float64Array; shape: readonly number[]} {
  if (typeof value === 'number') return {guess: Float64Array.of(value), shape: []};
  if (value instanceof Float64Array) return {guess: value.slice(), shape: [value.length]};
  if (!isArray(value) && typeof (value as {dataSync?: unknown} | null | undefined)?.dataSync !== 'function') {
    throw new OptionError(
      'parameter-guess',
      `A parameter's guess must be a number, an array or a tensor, not ${value === undefined ? 'undefined' : typeof value === 'string' ? `'${String(value)}'` : typeof value}: free(guess), positive(guess), bounded(low, high, guess), fixed(value).`,
    );
  }
  if (!isArray(value)) return {guess: Float64Array.from(value.dataSync()), shape: [...value.shape]};
  const parts = value.map(flatten);
  const inner = parts.length === 0 ? [] : parts[0].shape;
  const odd = parts.findIndex(({shape}) => shape.join() !== inner.join());
  if (odd >= 0) {
    throw new OptionError(
      'parameter-ragged',
      `A parameter's guess is not a regular array: its entry ${odd} has shape [${parts[odd].shape}], but the first has [${inner}].`,
      {entry: odd},
    );
  }
  return {guess: Float64Array.from(parts.flatMap(({guess}) => [...guess])), shape: [value.length, ...inner]};
}

/** `Array.isArray` does not narrow a readonly array out of a union. */
function isArray(value: ParameterValue): value is readonly ParameterValue[] {
  return Array.isArray(value);
}
