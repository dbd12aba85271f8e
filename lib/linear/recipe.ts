/**
 * How a solver or a step length was made, as plain values: what a worker thread needs to make the same one
 * (itself it holds functions, which no message carries). What users make themselves has no recipe.
 */

export interface Recipe {
  /** The function's name, as the public API exports it: 'gmres'. */
  readonly make: string;
  readonly options?: Readonly<Record<string, unknown>>;
}

const recipes = new WeakMap<object, Recipe>();

/** Notes the recipe of what was made. Options with a function or an object among them (a preconditioner) make none. */
export function withRecipe<T extends object>(made: T, make: string, options: object = {}): T {
  const plain = Object.values(options).every(
    value =>
      value === undefined || typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean',
  );
  if (plain) recipes.set(made, {make, options: {...options}});
  return made;
}

export function recipeOf(made: object): Recipe | undefined {
  return recipes.get(made);
}
