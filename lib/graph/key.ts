/**
 * Keys for the cache of compiled code. A key consists of a text, which describes a program except for the contents of
 * its constants and tables, and of these arrays. Two programs are equal if their texts are equal and their arrays are,
 * number by number. The text contains hashes of the arrays, so programs that differ only in their numbers rarely have
 * the same text.
 */
import type {Contents} from './contents.js';
import {contentsHash, ContentsTable, sameContents} from './contents.js';
import type {Graph, Node} from './node.js';
import {topological} from './node.js';

export interface Key {
  readonly text: string;
  /** In the order of their numbers in the text. */
  readonly arrays: readonly Contents[];
}

export function sameKey(a: Key, b: Key): boolean {
  return (
    a.text === b.text
    && a.arrays.length === b.arrays.length
    && a.arrays.every((array, i) => sameContents(array, b.arrays[i]))
  );
}

function attributeText(value: unknown, contents: ContentsTable): string {
  if (value instanceof Float64Array || value instanceof Int32Array) {
    // A single number is written as text, except −0 and NaN, whose text is not unique.
    const isPlain =
      value instanceof Float64Array && value.length === 1 && !Object.is(value[0], -0) && !Number.isNaN(value[0]);
    return isPlain ? String(value[0]) : `#${contents.numberOf(value)}`;
  }
  // Names are quoted, so that they cannot be confused with other parts of the key.
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** One node whose operands are already numbered; its arrays by their numbers in the table. */
function structuralText(node: Node, operandIds: readonly number[], contents: ContentsTable): string {
  let text = `${node.op}:${node.dtype}[${node.shape.join(',')}](${operandIds.join(',')})`;
  for (const name in node.attributes)
    text += `${name}=${attributeText((node.attributes as Record<string, unknown>)[name], contents)};`;
  return text;
}

/** The number of a node that was numbered before. */
function numbered(ids: ReadonlyMap<Node, number>, node: Node): number {
  const id = ids.get(node);
  if (id === undefined) throw new Error(`a ${node.op} that was not numbered before its user`);
  return id;
}

function graphText(graph: Graph, contents: ContentsTable): string {
  const nodes = topological([...graph.inputs, ...graph.outputs.map(output => output.node)]);
  const ids = new Map<Node, number>();
  const parts: string[] = [];
  for (const node of nodes) {
    const text = structuralText(
      node,
      node.operands.map(operand => numbered(ids, operand)),
      contents,
    );
    ids.set(node, ids.size);
    parts.push(text);
  }
  const outputs = graph.outputs.map(output => `${JSON.stringify(output.name)}=${numbered(ids, output.node)}`);
  return `${graph.inputs.map(node => numbered(ids, node)).join(',')}<${parts.join('|')}>${outputs.join(',')}`;
}

/** The key of programs. @param more one line of text that distinguishes them further */
export function programKey(more: string, graphs: readonly Graph[]): Key {
  const contents = new ContentsTable();
  const texts = graphs.map(graph => graphText(graph, contents));
  return {text: [more, ...texts, contents.arrays.map(contentsHash).join(',')].join('\n'), arrays: contents.arrays};
}

/** A cache by keys that evicts the least recently used value. */
export class KeyedCache<T> {
  /** The entries of one text, in the order of their use; seldom more than one. */
  private readonly byText = new Map<string, {readonly key: Key; readonly value: T}[]>();
  private count = 0;

  /** @param limit how many values are kept */
  constructor(private readonly limit: number) {}

  get(key: Key): T | undefined {
    const entries = this.byText.get(key.text);
    if (entries === undefined) return undefined;
    const at = entries.findIndex(entry => sameKey(entry.key, key));
    if (at < 0) return undefined;
    const [entry] = entries.splice(at, 1);
    entries.push(entry);
    this.byText.delete(key.text);
    this.byText.set(key.text, entries);
    return entry.value;
  }

  /** The value of a key that `get` does not know. */
  add(key: Key, value: T): void {
    const entries = this.byText.get(key.text) ?? [];
    entries.push({key, value});
    this.byText.delete(key.text);
    this.byText.set(key.text, entries);
    if (this.count < this.limit) this.count++;
    else this.giveUpOldest();
  }

  private giveUpOldest(): void {
    for (const [text, entries] of this.byText) {
      entries.shift();
      if (entries.length === 0) this.byText.delete(text);
      return;
    }
  }
}
