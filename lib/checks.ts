/** Options and values that users pass: how errors show them, and how they are checked and refused. */
import {AbortError, OptionError} from './errors.js';
import {shortened} from './text.js';

/** Letters of a user's own text that a sentence shows: enough to know it again. */
const longestText = 80;

/** A value in a sentence; text in quotes, so that '0.1' is not taken for 0.1. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${shortened(value, longestText)}'`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/** What the value of an option may be, in a sentence and as a test. */
export interface Check {
  readonly what: string;
  readonly test: (value: unknown) => boolean;
}

/** By name of the option. */
export type Checks = Readonly<Record<string, Check>>;

const number = (what: string, test: (value: number) => boolean): Check => ({
  what,
  test: value => typeof value === 'number' && test(value),
});

export const finite = number('a finite number', Number.isFinite);
export const positive = number('a positive number', value => value > 0 && value < Infinity);
/** No limit is a limit, too. */
export const positiveOrInfinite = number('a positive number', value => value > 0);
export const nonNegative = number('a number of at least 0', value => value >= 0 && value < Infinity);
export const count = number('a whole number of at least 1', value => Number.isSafeInteger(value) && value >= 1);
export const whole = number('a whole number of at least 0', value => Number.isSafeInteger(value) && value >= 0);
export const boolean: Check = {what: 'true or false', test: value => typeof value === 'boolean'};
export const text: Check = {what: 'text', test: value => typeof value === 'string'};
export const callable: Check = {what: 'a function', test: value => typeof value === 'function'};
export const list: Check = {what: 'a list', test: Array.isArray};
export const object: Check = {
  what: 'an object',
  test: value => typeof value === 'object' && value !== null && !Array.isArray(value),
};
export const abortSignal: Check = {
  what: 'an AbortSignal, as that of new AbortController()',
  test: value => typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value,
};
/** Judged by what reads it: numbers of any shape, a scheme, a system. JSON's null is none of these. */
export const any: Check = {what: 'given, or left out', test: value => value !== null};
/** Numbers in some form, or what makes them when it is traced. */
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
  what: 'made by signal(t, values), for its value at any time is needed',
  test: value =>
    typeof value === 'object'
    && value !== null
    && !Array.isArray(value)
    && 'at' in value
    && typeof value.at === 'function'
    && 't' in value,
};
export const oneOf = (...names: readonly string[]): Check => ({
  what: `one of ${names.map(shown).join(', ')}`,
  test: value => typeof value === 'string' && names.includes(value),
});
/** NaN and the infinite too, as what is only shown may be. */
export const real = number('a number', () => true);
/** Numbers in a row, of any kind of array: at least as many entries as none. */
export const numbers: Check = {
  what: 'an array of numbers',
  test: value =>
    (ArrayBuffer.isView(value) && !(value instanceof DataView))
    || (Array.isArray(value) && value.every(entry => typeof entry === 'number')),
};
export const listOf = (what: string, each: Check): Check => ({
  what: `a list of ${what}`,
  test: value => Array.isArray(value) && value.every(each.test),
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
  consistent: oneOf('check', 'project'),
  engine: any,
  precision: oneOf('double', 'single'),
} satisfies Checks;

/** These options among others. */
export function integrationOptions<T extends object>(given: T): Pick<T, keyof T & keyof typeof integrationChecks> {
  const own = Object.entries(given).filter(([name]) => Object.hasOwn(integrationChecks, name));
  return Object.fromEntries(own) as Pick<T, keyof T & keyof typeof integrationChecks>;
}

/**
 * Options as a caller without types gives them. A misspelt one would otherwise be a default in silence, and one of
 * another kind ('1e-3' out of JSON) a number by accident. An option that is undefined is one that is not given.
 * @param owner what the options are given to, as the sentence begins: 'newton'
 * @param known with what each may be; a list of names where that is for others to say
 * @param code of the error; default 'unknown-option', or 'bad-option' of a wrong value
 * @throws OptionError
 */
export function refuseUnknownOptions(
  given: object,
  known: readonly string[] | Checks,
  owner: string,
  code?: string,
): void {
  const checks: Checks | undefined = isNames(known) ? undefined : known;
  const names = isNames(known) ? known : Object.keys(known);
  if (typeof (given as unknown) !== 'object' || (given as unknown) === null || Array.isArray(given)) {
    throw new OptionError(
      code ?? 'unknown-option',
      `${owner} takes an object with ${names.join(', ')}, not ${shown(given)}.`,
    );
  }
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    if (!names.includes(name)) {
      const nearest = nearestName(name, names);
      throw new OptionError(
        code ?? 'unknown-option',
        `${owner} has no option '${shown(name).slice(1, -1)}'; it has ${names.join(', ')}.${nearest === undefined ? '' : ` Did you mean '${nearest}'?`}`,
        {option: name},
      );
    }
    // The sentence is put together only where it is needed: training steps check their options every time.
    const check = checks === undefined ? any : checks[name];
    if (value !== undefined && !check.test(value)) requireValue(value, check, `${owner}: ${name}`, code, name);
  }
}

const isNames = (known: readonly string[] | Checks): known is readonly string[] => Array.isArray(known);

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

/** In the tree of `params` a name is a leaf: of one parameter or one input, and without branches. @throws OptionError 'name-clash' */
export function requireOwnPlaces(names: readonly string[], owner: string): void {
  const clash = names.find((name, i) =>
    names.some((other, j) => i !== j && (other === name || other.startsWith(`${name}.`))),
  );
  if (clash !== undefined)
    throw new OptionError(
      'name-clash',
      `${owner}: '${clash}' is used for two different parameters or inputs, or for one and a group of others; rename one.`,
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
 * What a coefficient's function gives. Forces and gaps get {q, v, t, params}; what does not depend on a state gets the params
 * themselves, and the error of a function written for the other says so.
 * @param name what it is, as the sentence begins: 'spring: stiffness'
 * @throws OptionError 'bad-coefficient'
 */
export function calledWithParams<P extends object, T>(of: (params: P) => T, params: P, name: string): T {
  try {
    return of(params);
  } catch (error) {
    if (!(error instanceof TypeError) || 'params' in params) throw error;
    throw new OptionError(
      'bad-coefficient',
      `${name} is a function that failed: ${error.message}. It is given the params themselves: ({k}) => k, not ({params}) => params.k.`,
      {name},
    );
  }
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
 * What is wrong of a command line, in a sentence: an option that is unknown, lacks its text, has one that it does not take, or is given
 * twice.
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
      const nearest = nearestName(name, known);
      return `${program} has no option '${rawName}'.${nearest === undefined ? '' : ` Did you mean '--${nearest}'?`}`;
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

/** Whether samples at these times tell of a stretch of time. Of a digital input the last one holds for as long as the one before. */
export function coversTimes(
  {t, kind}: {readonly t: ArrayLike<number>; readonly kind?: string},
  from: number,
  to: number,
): boolean {
  const last = t[t.length - 1];
  const held = kind === 'hold' && t.length > 1 ? last - t[t.length - 2] : 0;
  return t[0] <= from && last + held >= to;
}
