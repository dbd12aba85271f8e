/**
 * Text that is equal for equal programs: what compiled code is cached by. Tables and constants enter
 * as two independent 32-bit hashes with their length, so that a key stays short; a collision of
 * both (2⁻⁶⁴ for unrelated values) is less likely than a memory error.
 */
import type {Graph, Node} from './node.js';
import {topological} from './node.js';

function hashBytes(bytes: Uint8Array): string {
  // cyrb53's two multiplicative streams (bryc, public domain), kept apart.
  let a = 0xdeadbeef ^ bytes.length;
  let b = 0x41c6ce57 ^ bytes.length;
  for (let i = 0; i < bytes.length; i++) {
    a = Math.imul(a ^ bytes[i], 2654435761);
    b = Math.imul(b ^ bytes[i], 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return `${bytes.length}#${(a >>> 0).toString(36)}.${(b >>> 0).toString(36)}`;
}

/** Tables are shared by many nodes; each is hashed once. */
const hashes = new WeakMap<object, string>();

function attributeKey(value: unknown): string {
  if (ArrayBuffer.isView(value)) {
    let hash = hashes.get(value);
    if (hash === undefined) {
      // One small value is its own best hash.
      hash = value instanceof Float64Array && value.length === 1 && !Object.is(value[0], -0)
        ? String(value[0])
        : hashBytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
      hashes.set(value, hash);
    }
    return hash;
  }
  // Names are quoted, so that none can be taken for a piece of the key.
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** The key of one node whose operands are already numbered. */
export function structuralKey(node: Node, operandIds: readonly number[]): string {
  let key = `${node.op}:${node.dtype}[${node.shape.join(',')}](${operandIds.join(',')})`;
  for (const name in node.attributes) key += `${name}=${attributeKey((node.attributes as Record<string, unknown>)[name])};`;
  return key;
}

/** The key of a whole program. */
export function graphKey(graph: Graph): string {
  const nodes = topological([...graph.inputs, ...graph.outputs.map(output => output.node)]);
  const ids = new Map<Node, number>();
  const parts: string[] = [];
  for (const node of nodes) {
    ids.set(node, ids.size);
    parts.push(structuralKey(node, node.operands.map(operand => ids.get(operand) ?? -1)));
  }
  const outputs = graph.outputs.map(output => `${JSON.stringify(output.name)}=${ids.get(output.node)}`);
  return `${parts.join('|')}>${outputs.join(',')}`;
}
