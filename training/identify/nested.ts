/** Numbers in the shape of a value, and trees of values by names with dots. */
import type {Numeric} from '../../lib/index.js';
import type {NestedNumbers} from '../../lib/internal.js';

/** Row-major numbers in a shape, as `simulate` takes them: rows inside arrays are arrays too. */
export function nested(values: Float64Array, shape: readonly number[]): Numeric {
  if (shape.length === 0) return values[0];
  return shape.length === 1 ? values : nestedNumbers(Array.from(values), shape);
}

function nestedNumbers(values: readonly number[], [count, ...rest]: readonly number[]): NestedNumbers {
  if (rest.length === 0) return values;
  const step = values.length / count;
  return Array.from({length: count}, (_, i) => nestedNumbers(values.slice(i * step, (i + 1) * step), rest));
}

/** A tree with one more leaf; `path` is written with dots: 'wind.speed'. */
export function withLeaf<T extends object, Leaf>(tree: T, path: string, leaf: Leaf): T {
  const [key, ...rest] = path.split('.');
  const branch = (tree as {readonly [name: string]: object | undefined})[key];
  return {...tree, [key]: rest.length === 0 ? leaf : withLeaf(branch ?? {}, rest.join('.'), leaf)};
}
