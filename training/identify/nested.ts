/** Row-major numbers as arrays of arrays, the way a shape says. */
export type NestedNumbers = readonly (number | NestedNumbers)[];

export function nestedNumbers(values: readonly number[], [count, ...rest]: readonly number[]): NestedNumbers {
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
