/** Options and values that users pass: how errors show them, and how they are checked and refused. */
import {AbortError, OptionError} from './errors.js';
import {shortened} from './text.js';

/** Letters of a user's own text that a sentence shows: enough to know it again. */
const maxTextLength = 80;

/** A value in a sentence; text in quotes, so that '0.1' is not taken for 0.1. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${shortened(value, maxTextLength)}'`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/** What the value of an option may be. Users write a T; a function that reads the option gets an R. */
export interface Check<T = unknown, R = T> {
  /** The end of the sentence '… must be …'. */
  readonly what: string;
  readonly test: (value: unknown) => boolean;
  /**
   * Makes an R of what was written, also of undefined for an option that is required; default: the value itself.
   * @param name begins the sentence of an error: 'spring: stiffness'
   */
  read?(value: T, name: string): R;
  /** Whether the option may be left out, and what is read then. */
  readonly optional?: boolean;
  readonly otherwise?: T;
}

/**
 * A schema: what an options object may contain, by the names of the options. It is the one place where an options
 * object is described. `Options` makes the type from it that users write, with the comments that stand here, and
 * `readOptions` checks and completes what they wrote.
 */
export type OptionSchema = Readonly<Record<string, Check>>;

/** The check of an option that may be left out. */
export type Optional<T, R = T> = Check<T, R> & {readonly optional: true};

type RequiredNames<S extends OptionSchema> = {[N in keyof S]: S[N] extends {optional: true} ? never : N}[keyof S];
type OptionalNames<S extends OptionSchema> = Exclude<keyof S, RequiredNames<S>>;
type Written<S extends OptionSchema, N extends keyof S> = {
  readonly [K in N]: S[K] extends Check<infer T, infer _> ? T : never;
};

/** The options object of a schema as users write it. */
export type Options<S extends OptionSchema> = Written<S, RequiredNames<S>> & Partial<Written<S, OptionalNames<S>>>;

/** The options of a schema as `readOptions` returns them. */
export type OptionValues<S extends OptionSchema> = {
  readonly [N in keyof S]: S[N] extends Check<infer _, infer R> ? R : never;
};

/** An option that may be left out. Without `otherwise` it is then read as undefined. */
export function optional<T, R>(check: Check<T, R>): Optional<T, R | undefined>;
export function optional<T, R>(check: Check<T, R>, otherwise: NoInfer<T>): Optional<T, R>;
export function optional<T, R>(check: Check<T, R>, otherwise?: T): Optional<T, R | undefined> {
  return {...check, optional: true, otherwise};
}

/** A check by a function that makes an R of what was written, or throws an error with a sentence of its own. */
export const readBy = <T, R = T>(read: (value: T, name: string) => R): Check<T, R> => ({
  what: any.what,
  test: any.test,
  read,
});

/** The check with a narrower type, for what a test cannot see: the arguments of a function, the entries of a list. */
export const typed = <T>(check: Check = any): Check<T> => check as Check<T>;

const number = (what: string, test: (value: number) => boolean): Check<number> => ({
  what,
  test: value => typeof value === 'number' && test(value),
});

export const finite = number('a finite number', Number.isFinite);
export const positive = number('a positive number', value => value > 0 && value < Infinity);
export const positiveOrInfinite = number('a positive number', value => value > 0);
export const nonNegative = number('a number of at least 0', value => value >= 0 && value < Infinity);
export const positiveInteger = number(
  'a whole number of at least 1',
  value => Number.isSafeInteger(value) && value >= 1,
);
export const nonNegativeInteger = number(
  'a whole number of at least 0',
  value => Number.isSafeInteger(value) && value >= 0,
);
export const boolean: Check<boolean> = {what: 'true or false', test: value => typeof value === 'boolean'};
export const text: Check<string> = {what: 'text', test: value => typeof value === 'string'};
export const callable: Check = {what: 'a function', test: value => typeof value === 'function'};
export const list: Check = {what: 'a list', test: Array.isArray};
export const object: Check = {
  what: 'an object',
  test: value => typeof value === 'object' && value !== null && !Array.isArray(value),
};
export const abortSignal: Check<AbortSignal> = {
  what: 'an AbortSignal, as that of new AbortController()',
  test: value => typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value,
};
/** A value that is checked where it is read: numbers of any shape, a scheme, a system. */
export const any: Check = {what: 'given, or left out', test: value => value !== null};
/** Numbers in some form, or a function that returns them. */
export const numeric: Check = {
  what: 'a number, an array of numbers, a tensor or a function',
  test: value =>
    typeof value === 'function'
    || (typeof value === 'number'
      ? Number.isFinite(value)
      : Array.isArray(value) || ArrayBuffer.isView(value)
        ? (value as ArrayLike<unknown>).length > 0
        : typeof value === 'object' && value !== null && 'dataSync' in value),
};
/** As `signal` makes it. An array has a function `at`, too. */
export const input: Check = {
  what: 'made by signal(t, values)',
  test: value =>
    typeof value === 'object'
    && value !== null
    && !Array.isArray(value)
    && 'at' in value
    && typeof value.at === 'function'
    && 't' in value,
};
export const oneOf = <N extends string>(...names: readonly N[]): Check<N> => ({
  what: `one of ${names.map(shown).join(', ')}`,
  test: value => typeof value === 'string' && (names as readonly string[]).includes(value),
});
export const oneOfNumbers = <N extends number>(...numbers: readonly N[]): Check<N> => ({
  what: numbers.join(' or '),
  test: value => (numbers as readonly unknown[]).includes(value),
});
/** From low to high, both included. */
export const between = (low: number, high: number): Check<number> =>
  number(`a number in [${Number(low.toPrecision(4))}, ${high}]`, value => value >= low && value <= high);
/** NaN and the infinite included. */
export const real = number('a number', () => true);
/** An array of any kind, which may be empty. */
export const numbers: Check<ArrayLike<number>> = {
  what: 'an array of numbers',
  test: value =>
    (ArrayBuffer.isView(value) && !(value instanceof DataView))
    || (Array.isArray(value) && value.every(entry => typeof entry === 'number')),
};
export const listOf = <T>(what: string, each: Check<T>): Check<readonly T[]> => ({
  what: `a list of ${what}`,
  test: value => Array.isArray(value) && value.every(each.test),
});

/** An object with a schema of its own. @param code of errors, as for `readOptions` */
export const nested = <S extends OptionSchema>(schema: S, code?: string): Check<Options<S>, OptionValues<S>> =>
  readBy((value, name) => readOptions(value, schema, name, code));

/** A list whose entries are read by a check. */
export const each = <T, R>(check: Check<T, R>): Check<readonly T[], readonly R[]> =>
  readBy((values, name) => {
    requireValue(values, list, name);
    return values.map((value, i) => valueOf(value, check, `${name}[${i}]`, name) as R);
  });

/**
 * Options of `simulate` that say how a run is computed rather than what is run. Analyses that simulate, such as
 * `identify`, take them and pass them on. `any` has a sentence of its own: a scheme that was not called.
 */
export const integrationChecks = {
  scheme: any,
  control: any,
  newton: any,
  adjoint: any,
  stabilization: oneOf('none', 'projection', 'projection-before', 'ggl'),
  switches: oneOf('locate', 'ignore'),
  consistent: oneOf('check', 'project'),
  engine: any,
  precision: oneOf('double', 'single'),
} satisfies OptionSchema;

/** The options of `integrationChecks` among others. */
export function integrationOptions<T extends object>(given: T): Pick<T, keyof T & keyof typeof integrationChecks> {
  const own = Object.entries(given).filter(([name]) => Object.hasOwn(integrationChecks, name));
  return Object.fromEntries(own) as Pick<T, keyof T & keyof typeof integrationChecks>;
}

/**
 * Checks an options object against a schema and returns its values: read by their checks, with defaults for those that
 * were left out. An option that is undefined counts as left out.
 * @param owner begins the sentence of an error: 'newton'
 * @param code of errors; default 'unknown-option', or 'bad-option' for a wrong or missing value
 * @throws OptionError; what a check's `read` throws
 */
export function readOptions<S extends OptionSchema>(
  given: NoInfer<Options<S>>,
  schema: S,
  owner: string,
  code?: string,
): OptionValues<S> {
  refuseUnknownOptions(given, schema, owner, code);
  const values = given as {readonly [name: string]: unknown};
  return Object.fromEntries(
    Object.entries(schema).map(([name, check]) => [
      name,
      valueOf(values[name], check, `${owner}: ${name}`, name, code),
    ]),
  ) as OptionValues<S>;
}

function valueOf(given: unknown, check: Check, label: string, option: string, code?: string): unknown {
  const value = given === undefined ? check.otherwise : given;
  if (value === undefined && check.optional === true) return undefined;
  if (check.read !== undefined) return check.read(value, label);
  requireValue(value, check, label, code, option);
  return value;
}

/**
 * Checks the names of options, and their values by a schema. Functions that also read the values use `readOptions`.
 * @param owner begins the sentence of an error: 'newton'
 * @param known a schema, or names alone if the values are checked elsewhere
 * @param code of the error; default 'unknown-option', or 'bad-option' for a wrong value
 * @throws OptionError
 */
export function refuseUnknownOptions(
  given: object,
  known: readonly string[] | OptionSchema,
  owner: string,
  code?: string,
): void {
  const checks: OptionSchema | undefined = isNames(known) ? undefined : known;
  const names = isNames(known) ? known : Object.keys(known);
  if (typeof (given as unknown) !== 'object' || (given as unknown) === null || Array.isArray(given)) {
    throw new OptionError(
      code ?? 'unknown-option',
      `${owner} takes an object with ${names.join(', ')}, not ${shown(given)}.`,
    );
  }
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    if (!names.includes(name)) {
      const wrong = shown(name).slice(1, -1);
      throw new OptionError(
        code ?? 'unknown-option',
        `${owner} has no option '${wrong}'; it has ${names.join(', ')}.${suggestion(name, names)}`,
        {option: name},
      );
    }
    // Training steps check their options every time: the sentence is built only for an error.
    const check = checks === undefined ? any : checks[name];
    if (value !== undefined && !check.test(value)) requireValue(value, check, `${owner}: ${name}`, code, name);
  }
}

const isNames = (known: readonly string[] | OptionSchema): known is readonly string[] => Array.isArray(known);

/** @throws OptionError where one value, in an option or an argument, is not what it may be */
export function requireValue(
  value: unknown,
  {what, test}: Check,
  name: string,
  code = 'bad-option',
  option = name,
): void {
  if (!test(value)) throw new OptionError(code, `${name} must be ${what}, not ${shown(value)}.`, {option, value});
}

/**
 * Parameters and inputs share one tree, in which a name is either a leaf or a group.
 * @throws OptionError 'name-clash'
 */
export function requireOwnPlaces(names: readonly string[], owner: string): void {
  const clash = names.find((name, i) =>
    names.some((other, j) => i !== j && (other === name || other.startsWith(`${name}.`))),
  );
  if (clash !== undefined)
    throw new OptionError(
      'name-clash',
      `${owner}: '${clash}' is used for two different parameters or inputs, or for one and a group of others; `
        + 'rename one.',
      {name: clash},
    );
}

/** @throws OptionError where a name is given that is not one of these */
export function refuseUnknownName(
  what: string,
  given: string | undefined,
  known: readonly string[],
  code = 'bad-linear',
): void {
  if (given !== undefined && !known.includes(given))
    throw new OptionError(code, `${what} must be one of ${known.join(', ')}, not ${shown(given)}.`);
}

/**
 * Calls a coefficient's function, which gets the params themselves. Forces get {q, v, t, params}: the error of a
 * function written like a force says so.
 * @param name begins the sentence of an error: 'spring: stiffness'
 * @throws OptionError 'bad-coefficient'
 */
export function calledWithParams<P extends object, T>(of: (params: P) => T, params: P, name: string): T {
  try {
    return of(params);
  } catch (error) {
    if (!(error instanceof TypeError) || 'params' in params) throw error;
    throw new OptionError(
      'bad-coefficient',
      `${name} is a function that failed: ${error.message}. `
        + 'It is given the params themselves: ({k}) => k, not ({params}) => params.k.',
      {name},
    );
  }
}

/** The end of a sentence about a name that is unknown: a suggestion where one is near enough. */
export function suggestion(wanted: string, known: readonly string[], prefix = ''): string {
  const nearest = nearestName(wanted, known);
  return nearest === undefined ? '' : ` Did you mean '${prefix}${nearest}'?`;
}

/**
 * The known name nearest to `wanted`, or undefined where none is near enough to be meant: optimal string alignment
 * distance (Damerau 1964: insertion, deletion, substitution, swap of neighbours), without regard to case.
 */
export function nearestName(wanted: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  // A third of the letters wrong is the usual limit of a spelling suggestion (git, TypeScript: 0.4).
  let least = Math.floor(Math.max(wanted.length, 3) / 3) + 1;
  for (const name of known) {
    const distance = editDistance(wanted.toLowerCase(), name.toLowerCase());
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** Fewest insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({length: b.length + 1}, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) row[j] = Math.min(row[j], beforeLast[j - 2] + 1);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length];
}

/** A part of a command line, as parseArgs of node:util tells it. */
interface Token {
  readonly kind: string;
  readonly name?: string;
  readonly rawName?: string;
  readonly value?: string;
}

/**
 * What is wrong with a command line, in a sentence: an option that is unknown, lacks its text, has one that it does not
 * take, or is given twice.
 * @param texts options with a text, and what it is
 * @param flags options without
 */
export function wrongOption(
  program: string,
  tokens: readonly Token[],
  texts: {readonly [option: string]: string},
  flags: readonly string[],
): string | undefined {
  const known = [...Object.keys(texts), ...flags];
  const seen = new Set<string>();
  for (const {kind, name = '', rawName = '', value} of tokens) {
    if (kind !== 'option') continue;
    if (!known.includes(name)) {
      return `${program} has no option '${rawName}'.${suggestion(name, known, '--')}`;
    }
    if (seen.has(name)) return `${rawName} is given twice; give it once.`;
    seen.add(name);
    if (Object.hasOwn(texts, name) && (value === undefined || value === ''))
      return `${rawName} needs a text: ${texts[name]}.`;
    if (flags.includes(name) && value !== undefined) return `${rawName} takes no text, and has no use for '${value}'.`;
  }
  return undefined;
}

export function aborted(reason: unknown): AbortError {
  const error = new AbortError('aborted', 'The run was aborted by its signal before it was complete.');
  error.cause = reason;
  return error;
}

/** @throws AbortError where the signal has been aborted */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw aborted(signal.reason);
}

/**
 * Whether samples cover an interval of time. The last sample of a digital input holds for as long as the one before.
 */
export function coversTimes(
  {t, kind}: {readonly t: ArrayLike<number>; readonly kind?: string},
  from: number,
  to: number,
): boolean {
  const last = t[t.length - 1];
  const held = kind === 'hold' && t.length > 1 ? last - t[t.length - 2] : 0;
  return t[0] <= from && last + held >= to;
}
