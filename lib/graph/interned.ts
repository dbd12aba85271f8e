/**
 * One node for all that are equal: of one primitive, with the same operands, attributes, shape and type. A hash finds
 * the candidates; comparing them decides. The part of the hash that is the node's own is kept at the node, as every
 * pass over a program asks for it again. Constant time a node.
 */
import type {Contents} from './contents.js';
import {contentsHash, sameContents} from './contents.js';
import type {Node} from './node.js';
import {isOp, sameShape} from './node.js';

/** Names of primitives, functions and flags, numbered as they are met. */
const names = new Map<string, number>();

function numberOf(name: string): number {
  let number = names.get(name);
  if (number === undefined) names.set(name, (number = names.size + 1));
  return number;
}

const isContents = (value: unknown): value is Contents => value instanceof Float64Array || value instanceof Int32Array;

/** A multiplication spreads what is added over all bits (Knuth's multiplicative hashing, 2³²/golden ratio). */
export const mixed = (hash: number, more: number): number => Math.imul(hash ^ more, 0x9e3779b1) ^ (hash >>> 15);

function attributeHash(hash: number, value: unknown): number {
  if (typeof value === 'string') return mixed(hash, numberOf(value));
  if (Array.isArray(value)) {
    let all = hash;
    for (const entry of value as readonly number[]) all = mixed(all, entry);
    return all;
  }
  return mixed(hash, isContents(value) ? contentsHash(value) : Number(value));
}

function sameAttribute(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return sameShape(a, b as readonly number[]);
  return isContents(a) && sameContents(a, b as Contents);
}

/** Functions of two values that are the same, to the last bit, with the two exchanged. */
function isCommutative(node: Node): boolean {
  return isOp(node, 'binary') && (node.attributes.fn === 'add' || node.attributes.fn === 'mul');
}

function sameOperands({operands: x}: Node, {operands: y}: Node, commutative: boolean): boolean {
  if (x.length !== y.length) return false;
  if (commutative && x[0] === y[1] && x[1] === y[0]) return true;
  for (let i = 0; i < x.length; i++) if (x[i] !== y[i]) return false;
  return true;
}

/** One operation on whatever operands: equal but for these. */
export function sameOperation(a: Node, b: Node): boolean {
  if (ownHash(a) !== ownHash(b) || a.op !== b.op || a.dtype !== b.dtype || !sameShape(a.shape, b.shape)) return false;
  const [x, y] = [a.attributes, b.attributes] as Readonly<Record<string, unknown>>[];
  for (const name in x) if (!sameAttribute(x[name], y[name])) return false;
  return true;
}

const equal = (a: Node, b: Node): boolean => sameOperands(a, b, isCommutative(a)) && sameOperation(a, b);

/** A hash of all but the operands; never 0. */
export function ownHash(node: Node): number {
  const {notes} = node;
  if (notes.hash === 0) {
    let hash = mixed(numberOf(node.op), node.size);
    for (const name in node.attributes)
      hash = attributeHash(hash, (node.attributes as Readonly<Record<string, unknown>>)[name]);
    notes.hash = hash | 0 || 1;
  }
  return notes.hash;
}

function hashOf(node: Node): number {
  let hash = ownHash(node);
  const {operands} = node;
  // A sum of both is the same with the two exchanged.
  if (isCommutative(node)) return (hash + Math.imul(operands[0].notes.id + operands[1].notes.id, 0x85ebca6b)) | 0;
  for (const operand of operands) hash = mixed(hash, operand.notes.id);
  return hash | 0;
}

export class Interned {
  /** One node, or more where hashes are the same. */
  private readonly byHash = new Map<number, Node | Node[]>();

  /** The first of the nodes equal to this one that was asked for. Its operands are such nodes. */
  of(node: Node): Node {
    const hash = hashOf(node);
    const found = this.byHash.get(hash);
    if (found === undefined) {
      this.byHash.set(hash, node);
      return node;
    }
    if (!Array.isArray(found)) {
      if (equal(found, node)) return found;
      this.byHash.set(hash, [found, node]);
      return node;
    }
    const known = found.find(candidate => equal(candidate, node));
    if (known === undefined) found.push(node);
    return known ?? node;
  }
}
