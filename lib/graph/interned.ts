/**
 * One node for all that are equal: of one primitive, with the same operands, attributes, shape and type. A hash finds the
 * candidates; comparing them decides. Every pass over a program looks each of its nodes up, and text to look it up by
 * would be most of the work.
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
const mixed = (hash: number, more: number): number => Math.imul(hash ^ more, 0x9e3779b1) ^ (hash >>> 15);

function attributeHash(hash: number, value: unknown): number {
  if (isContents(value)) return mixed(hash, contentsHash(value));
  if (Array.isArray(value)) return (value as readonly number[]).reduce(mixed, hash);
  return mixed(hash, typeof value === 'string' ? numberOf(value) : Number(value));
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

function sameOperands(a: Node, b: Node): boolean {
  const [x, y] = [a.operands, b.operands];
  if (x.length === y.length && x.every((operand, i) => operand === y[i])) return true;
  return isCommutative(a) && x[0] === y[1] && x[1] === y[0];
}

function equal(a: Node, b: Node): boolean {
  if (a.op !== b.op || a.dtype !== b.dtype || !sameShape(a.shape, b.shape)) return false;
  const [x, y] = [a.attributes, b.attributes] as Readonly<Record<string, unknown>>[];
  for (const name in x) if (!sameAttribute(x[name], y[name])) return false;
  return sameOperands(a, b);
}

export class Interned {
  private readonly numbers = new Map<Node, number>();
  private readonly byHash = new Map<number, Node[]>();

  /** A node that is equal only to itself, as inputs are, which are told apart by identity. */
  adopt(node: Node): Node {
    this.numbers.set(node, this.numbers.size);
    return node;
  }

  /** The first of the nodes equal to this one that was asked for. Its operands are such nodes. */
  of(node: Node): Node {
    const hash = this.hash(node);
    const candidates = this.byHash.get(hash);
    const known = candidates?.find(candidate => equal(candidate, node));
    if (known !== undefined) return known;
    if (candidates === undefined) this.byHash.set(hash, [node]);
    else candidates.push(node);
    return this.adopt(node);
  }

  private hash(node: Node): number {
    let hash = mixed(numberOf(node.op), node.size);
    for (const operand of node.operands) {
      const number = this.numbers.get(operand);
      if (number === undefined) throw new Error(`a ${operand.op} that was not numbered before its user`);
      // A sum of both is the same with the two exchanged.
      hash = isCommutative(node) ? hash + Math.imul(number + 1, 0x85ebca6b) : mixed(hash, number);
    }
    for (const name in node.attributes)
      hash = attributeHash(hash, (node.attributes as Readonly<Record<string, unknown>>)[name]);
    return hash | 0;
  }
}
