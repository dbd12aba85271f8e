/** XML as elements that know their lines, and attributes read as numbers, words and names, with errors that name the line. */
import {parseXml, XmlElement, XmlError} from '@rgrove/parse-xml';
import {DataError} from '../../lib/index.js';

/** An element with its line, counted from 1. */
export interface Element {
  readonly tag: string;
  readonly line: number;
  readonly attributes: {readonly [name: string]: string};
  readonly children: readonly Element[];
}

/** A part of a file that the model does not represent. */
export interface Note {
  readonly line: number;
  readonly text: string;
}

/** Nested elements at most. A chain of 2000 bodies was read with Node's usual stack, one of 4000 overflowed it. */
const deepest = 2048;

/** @throws DataError 'bad-xml' where it is not XML, or its elements are nested more than 2048 deep */
export function readXml(text: string, file: string): Element {
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
    new DataError('bad-xml', `${file}${where}: elements are nested more than ${deepest} deep. Divide the model.`, {
      file,
    });
  const convert = (element: XmlElement, depth: number): Element => {
    const line = lineAt(element.start);
    if (depth > deepest) throw tooDeep(`, line ${line}`);
    const children = element.children.filter(child => child instanceof XmlElement);
    return {
      tag: element.name,
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
export const namesWithin = ({children}: Element, tags: readonly string[]): (string | undefined)[] =>
  children.flatMap(child => [
    ...(tags.includes(child.tag) ? [child.attributes.name] : []),
    ...namesWithin(child, tags),
  ]);

/** Reads a file's elements. Unsupported parts are collected, and reported in one error. */
export class FileReader {
  private readonly missing: Note[] = [];
  private readonly told: Note[] = [];
  constructor(private readonly file: string) {}

  /** @throws DataError 'bad-model-file' */
  fail({line}: Element, what: string): never {
    throw new DataError('bad-model-file', `${this.file}, line ${line}: ${what}`, {file: this.file, line});
  }
  /** Unsupported parts that would affect the motion. */
  unsupported({line}: Element, text: string): void {
    // What a default class has is met wherever it is used.
    if (!this.missing.some(one => one.line === line && one.text === text)) this.missing.push({line, text});
  }
  /** What a reader of the model should know. */
  note({line}: Element, text: string): void {
    this.told.push({line, text});
  }
  /** Attributes beyond these are not supported; those of `harmless` do not move anything. */
  expect(element: Element, known: readonly string[], harmless: readonly string[] = []): void {
    for (const name of Object.keys(element.attributes))
      if (!known.includes(name) && !harmless.includes(name))
        this.unsupported(element, `attribute ${name} of <${element.tag}>`);
  }
  /** All remarks. Unsupported parts throw an error, or are listed with the remarks if the options allow it. */
  finish(unsupported: 'refuse' | 'note'): readonly Note[] {
    if (unsupported === 'refuse' && this.missing.length > 0) {
      const shown = this.missing.slice(0, 8).map(({line, text}) => `line ${line}: ${text}`);
      const more = this.missing.length - shown.length;
      throw new DataError(
        'unsupported-model-file',
        `${this.file} has unsupported elements: ${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}. Use unsupported: 'note' to make the model without them.`,
        {file: this.file, line: this.missing[0].line, unsupported: this.missing},
      );
    }
    return [...this.told, ...this.missing.map(({line, text}) => ({line, text: `not supported: ${text}`}))].sort(
      (a, b) => a.line - b.line,
    );
  }

  /** Numbers of an attribute, `least` to `most` of them; undefined where it is absent. */
  numbers(element: Element, name: string, least: number, most = least): number[] | undefined {
    const {[name]: text} = element.attributes;
    if (text === undefined) return undefined;
    const words = text.trim().split(/\s+/);
    const values = words.map(Number);
    if (text.trim() !== '' && values.length >= least && values.length <= most && values.every(Number.isFinite))
      return values;
    const count = least === most ? String(least) : `${least} to ${most}`;
    return this.fail(element, `${name}="${text}" of <${element.tag}> must be ${count} finite numbers.`);
  }
  number<T>(element: Element, name: string, otherwise: T): number | T {
    return this.numbers(element, name, 1)?.[0] ?? otherwise;
  }
  vector(element: Element, name: string): [number, number, number] | undefined {
    return this.numbers(element, name, 3) as [number, number, number] | undefined;
  }
  word<W extends string>(element: Element, name: string, words: readonly W[], otherwise: W): W {
    const {[name]: text} = element.attributes;
    if (text === undefined) return otherwise;
    const found = words.find(word => word === text);
    return found ?? this.fail(element, `${name}="${text}" of <${element.tag}> must be one of ${words.join(', ')}.`);
  }
  required(element: Element, name: string): string {
    const {[name]: text} = element.attributes;
    return text ?? this.fail(element, `<${element.tag}> has no ${name}.`);
  }
}
