/**
 * Values as one text each: JSON with sorted names and exact doubles (the shortest decimal number that reads back as the
 * same double, ECMA-262 Number::toString, as in RFC 8785), and what JSON lacks: -0, NaN, the infinite, typed arrays.
 * Equal values have equal texts, so that a hash of the text names the value.
 */
import {createHash} from 'node:crypto';
import {shown} from '../lib/checks.js';
import {OptionError} from '../lib/errors.js';

const typed = {
  Float64Array,
  Float32Array,
  Int32Array,
  Uint32Array,
  Int16Array,
  Uint16Array,
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
} as const;
type TypedName = keyof typeof typed;

/** Key of an object that stands for a value that JSON lacks: {"$": "NaN"}, {"$": "Float64Array", "of": [1, 2]}. */
const mark = '$';

/**
 * @param what the value is, for the error's sentence
 * @throws OptionError where a value is no data: a function, a symbol, a big integer, an object of a class, a circle
 */
export function canonical(value: unknown, what: string): string {
  return write(value, what, []);
}

function write(value: unknown, where: string, above: readonly object[]): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') return number(value);
  if (value === undefined) return `{"${mark}":"undefined"}`;
  if (typeof value !== 'object') throw noData(value, where);
  if (above.includes(value)) throw new OptionError('no-data', `${where} contains itself; data must be a tree.`);
  const within = [...above, value];
  if (Array.isArray(value))
    return `[${Array.from(value, (entry, i) => write(entry, `${where}[${i}]`, within)).join(',')}]`;
  if (ArrayBuffer.isView(value)) return writeTyped(value, where);
  const prototype: unknown = Object.getPrototypeOf(value);
  // Plain objects of another realm, as of a test runner's, have another Object.prototype: that has no prototype either.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw noData(value, where);
  if (Object.hasOwn(value, mark))
    throw new OptionError(
      'no-data',
      `${where} has the name '${mark}', which is reserved for values that JSON lacks: rename it.`,
    );
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  const texts = entries.map(([name, entry]) => `${JSON.stringify(name)}:${write(entry, `${where}.${name}`, within)}`);
  return `{${texts.join(',')}}`;
}

const number = (value: number): string =>
  Number.isFinite(value) && !Object.is(value, -0)
    ? String(value)
    : `{"${mark}":"${Object.is(value, -0) ? '-0' : value}"}`;

function writeTyped(value: ArrayBufferView, where: string): string {
  const name = value.constructor.name;
  if (!(name in typed)) throw noData(value, where);
  return `{"${mark}":"${name}","of":[${Array.from(value as Float64Array, number).join(',')}]}`;
}

const noData = (value: unknown, where: string): OptionError =>
  new OptionError(
    'no-data',
    `${where} is ${typeof value === 'object' && value !== null ? `a ${value.constructor.name}` : shown(value)}; `
      + 'cases and results are numbers, texts, true, false, null, and lists, typed arrays and plain objects of these.',
  );

/** The value that `canonical` wrote. @throws SyntaxError for any other text */
export function parse(text: string): unknown {
  return JSON.parse(text, (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, mark))
      return value;
    const {[mark]: name, of} = value as {readonly [mark]: unknown; readonly of?: unknown};
    if (of === undefined && special.has(name)) return special.get(name);
    if (typeof name === 'string' && Object.hasOwn(typed, name) && isNumbers(of))
      return typed[name as TypedName].from(of);
    throw new SyntaxError(`There is no value with the mark ${JSON.stringify(name)}.`);
  });
}

/** The reviver would take undefined for a name to leave out: in a list that is a hole, which reads as undefined. */
const special = new Map<unknown, number | undefined>([
  ['undefined', undefined],
  ...['-0', 'NaN', 'Infinity', '-Infinity'].map(name => [name, Number(name)] as const),
]);

const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every(entry => typeof entry === 'number');

/** SHA-256 in hexadecimal digits. */
export const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
