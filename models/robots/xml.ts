/** XML as elements with their files and lines, whose attributes are read as numbers, words and names. */
import {parseXml, XmlElement, XmlError} from '@rgrove/parse-xml';
import {DataError} from '../../lib/index.js';
import {norm, origin, type V3} from '../multibody/numbers.js';

/** An element with its file and its line, counted from 1. */
export interface ParsedElement {
  readonly tag: string;
  readonly file: string;
  readonly line: number;
  readonly attributes: {readonly [name: string]: string};
  readonly children: readonly ParsedElement[];
}

/** A part of a file that the model does not represent. */
export interface Note {
  /** The file that the line is in, if it is an included one. */
  readonly file?: string;
  readonly line: number;
  readonly text: string;
}

/** Nested elements at most. A chain of 2000 bodies was read with Node's usual stack, one of 4000 overflowed it. */
const maxDepth = 2048;

/** @throws DataError 'bad-xml' where it is not XML, or its elements are nested more than 2048 deep */
export function readXml(text: string, file: string): ParsedElement {
  const starts = [0];
  for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) starts.push(i + 1);
  const lineAt = (offset: number): number => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle] <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
  const tooDeep = (where = ''): DataError =>
    new DataError('bad-xml', `${file}${where}: elements are nested more than ${maxDepth} deep. Divide the model.`, {
      file,
    });
  const convert = (element: XmlElement, depth: number): ParsedElement => {
    const line = lineAt(element.start);
    if (depth > maxDepth) throw tooDeep(`, line ${line}`);
    const children = element.children.filter(child => child instanceof XmlElement);
    return {
      tag: element.name,
      file,
      line,
      attributes: element.attributes,
      children: children.map(child => convert(child, depth + 1)),
    };
  };
  try {
    const {root} = parseXml(text, {includeOffsets: true});
    if (root !== null) return convert(root, 1);
  } catch (error) {
    // The parser calls itself for each level, and overflows the stack far beyond the limit.
    if (error instanceof RangeError) throw tooDeep();
    if (!(error instanceof XmlError)) throw error;
    const [what] = error.message.split('\n');
    throw new DataError('bad-xml', `${file}, line ${error.line}: this is not valid XML: ${what}`, {
      file,
      line: error.line,
    });
  }
  throw new DataError('bad-xml', `${file} has no element.`, {file});
}

/** Names for what has none: they differ from each other and from those that are taken. */
export class FreeNames {
  private readonly taken: Set<string>;
  constructor(taken: Iterable<string | undefined>) {
    this.taken = new Set([...taken].filter(name => name !== undefined));
  }
  /** The name itself, or followed by the first of (2), (3), … that makes it free. */
  next(name: string): string {
    let found = name;
    for (let i = 2; this.taken.has(found); i++) found = `${name} (${i})`;
    this.taken.add(found);
    return found;
  }
}

/** The names of elements of these tags, at any depth. */
export const namesWithin = ({children}: ParsedElement, tags: readonly string[]): (string | undefined)[] =>
  children.flatMap(child => [
    ...(tags.includes(child.tag) ? [child.attributes.name] : []),
    ...namesWithin(child, tags),
  ]);

/** A condition on numbers, as the end of a sentence. */
export interface AttributeCondition {
  readonly must: string;
  readonly holds: (x: number) => boolean;
}
export const positive: AttributeCondition = {must: 'must be positive', holds: x => x > 0};
export const notNegative: AttributeCondition = {must: 'must not be negative', holds: x => x >= 0};

/**
 * Reads a file's elements. Attributes are read where they act, and checked there: those without effect may have any
 * value. Unsupported parts are collected, and reported in one error.
 */
export class FileReader {
  private readonly missing: Note[] = [];
  private readonly notes: Note[] = [];
  constructor(private readonly file: string) {}

  /** @throws DataError 'bad-model-file' */
  fail({file, line}: ParsedElement, what: string): never {
    throw new DataError('bad-model-file', `${file}, line ${line}: ${what}`, {file, line});
  }
  /** @throws DataError 'bad-model-file', of an attribute's value */
  refuse(element: ParsedElement, name: string, must: string): never {
    return this.fail(element, `${name}="${element.attributes[name]}" of <${element.tag}> ${must}.`);
  }
  private remark(element: ParsedElement, text: string): Note {
    const {file, line} = element;
    return file === this.file ? {line, text} : {file, line, text};
  }
  /** Unsupported parts that would affect the motion. */
  unsupported(element: ParsedElement, text: string): void {
    const found = this.remark(element, text);
    // A default class is met wherever it is used.
    const known = this.missing.some(one => one.file === found.file && one.line === found.line && one.text === text);
    if (!known) this.missing.push(found);
  }
  /** A remark for readers of the model. */
  note(element: ParsedElement, text: string): void {
    this.notes.push(this.remark(element, text));
  }
  /** Attributes beyond these, which blanks divide, are not supported. */
  expect(element: ParsedElement, known: string): void {
    const names = known.split(' ');
    for (const name of Object.keys(element.attributes))
      if (!names.includes(name)) this.unsupported(element, `attribute ${name} of <${element.tag}>`);
  }
  /** All remarks. Unsupported parts throw an error, or are listed with the remarks if the options allow it. */
  finish(unsupported: 'refuse' | 'note'): readonly Note[] {
    const {file, missing, notes} = this;
    if (unsupported === 'refuse' && missing.length > 0) {
      const shown = missing
        .slice(0, 8)
        .map(one => `${one.file === undefined ? '' : `${one.file}, `}line ${one.line}: ${one.text}`);
      const more = missing.length - shown.length;
      throw new DataError(
        'unsupported-model-file',
        `${file} has unsupported elements: ${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}. `
          + "Use unsupported: 'note' to make the model without them.",
        {file, line: missing[0].line, unsupported: missing},
      );
    }
    return [...notes, ...missing.map(one => ({...one, text: `not supported: ${one.text}`}))].sort(
      (a, b) => a.line - b.line,
    );
  }

  /** The child of this tag; undefined where there is none. */
  child(element: ParsedElement, tag: string): ParsedElement | undefined {
    const [first, second] = element.children.filter(child => child.tag === tag);
    const {name} = element.attributes;
    if (second !== undefined)
      this.fail(second, `<${element.tag}>${name === undefined ? '' : ` ${name}`} has two of <${tag}>.`);
    return first;
  }
  requiredChild(element: ParsedElement, tag: string): ParsedElement {
    return this.child(element, tag) ?? this.fail(element, `<${element.tag}> has no <${tag}>.`);
  }

  /** Numbers of an attribute, `min` to `max` of them; undefined where it is absent. */
  numbers(
    element: ParsedElement,
    name: string,
    min: number,
    max = min,
    condition?: AttributeCondition,
  ): number[] | undefined {
    const {[name]: text} = element.attributes;
    if (text === undefined) return undefined;
    const words = text.split(/\s+/).filter(word => word !== '');
    const values = words.map(Number);
    if (values.length < min || values.length > max || !values.every(Number.isFinite)) {
      const count = max === Infinity ? '' : min === max ? `${min} ` : `${min} to ${max} `;
      this.refuse(element, name, `must be ${count}finite number${max === 1 ? '' : 's'}`);
    }
    if (condition !== undefined && !values.every(condition.holds)) this.refuse(element, name, condition.must);
    return values;
  }
  number<T>(element: ParsedElement, name: string, otherwise: T, condition?: AttributeCondition): number | T {
    return this.numbers(element, name, 1, 1, condition)?.[0] ?? otherwise;
  }
  requiredNumber(element: ParsedElement, name: string, condition?: AttributeCondition): number {
    this.required(element, name);
    return this.number(element, name, 0, condition);
  }
  vector(element: ParsedElement, name: string, otherwise: V3 = origin): V3 {
    return (this.numbers(element, name, 3) ?? otherwise) as V3;
  }
  /** A vector that is not zero: MuJoCo's bound of its length. */
  direction(element: ParsedElement, name: string, otherwise: V3): V3 {
    const axis = this.vector(element, name, otherwise);
    return norm(axis) > 1e-7 ? axis : this.refuse(element, name, 'must not be zero');
  }
  word<W extends string>(element: ParsedElement, name: string, words: readonly W[], otherwise: W): W {
    const {[name]: text} = element.attributes;
    if (text === undefined) return otherwise;
    return words.find(word => word === text) ?? this.refuse(element, name, `must be one of ${words.join(', ')}`);
  }
  required(element: ParsedElement, name: string): string {
    return element.attributes[name] ?? this.fail(element, `<${element.tag}> has no ${name}.`);
  }
}
