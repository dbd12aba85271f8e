/**
 * What a loop computes at one point: a tree with shared branches, made once for each different
 * meaning, so that an equal value read or computed twice in a loop is computed once. What is plainly
 * known (a number added to zero at the edge of a chain, a constant's element) is settled here.
 */
import type {BinaryName, Node} from '../../graph/node.js';
import {isOp} from '../../graph/node.js';
import {binaryRules} from '../../graph/primitives/elementwise.js';
import type {Access} from './access.js';
import {accessKey} from './access.js';
import type {FunctionName} from './functions.js';
import {valueOf} from './functions.js';

interface Common {
  readonly id: number;
  /** Bit d is set when the value changes along axis d of the nest. */
  readonly varies: number;
}

export type Expression = Common
  & (
    | {readonly kind: 'constant'; readonly value: number}
    /** An element of a stored value. */
    | {readonly kind: 'load'; readonly of: Node; readonly access: Access}
    /** An element of a stored value at a position partly looked up; a negative entry gives 0. */
    | {
        readonly kind: 'lookup';
        readonly of: Node;
        readonly access: Access;
        readonly table: Int32Array;
        readonly entry: Access;
      }
    /** An element of a stored value at a computed position; outside gives 0. */
    | {readonly kind: 'loadAt'; readonly of: Node; readonly position: Expression}
    | {readonly kind: 'unary'; readonly fn: FunctionName; readonly x: Expression}
    | {readonly kind: 'binary'; readonly fn: BinaryName; readonly a: Expression; readonly b: Expression}
    | {readonly kind: 'select'; readonly condition: Expression; readonly a: Expression; readonly b: Expression}
  );

export type ExpressionOf<K extends Expression['kind']> = Extract<Expression, {kind: K}>;

/** How a value is computed at a point. */
export function children(e: Expression): readonly Expression[] {
  switch (e.kind) {
    case 'constant':
    case 'load':
    case 'lookup':
      return [];
    case 'loadAt':
      return [e.position];
    case 'unary':
      return [e.x];
    case 'binary':
      return [e.a, e.b];
    case 'select':
      return [e.condition, e.a, e.b];
  }
}

/** Bit d is set where an access moves along axis d. */
export function variation(access: Access): number {
  let bits = 0;
  access.coefficients.forEach((c, d) => {
    if (c !== 0) bits |= 1 << d;
  });
  return bits;
}

/** The expressions of one nest. */
export class Expressions {
  private readonly known = new Map<string, Expression>();
  private readonly nodeIds = new Map<object, number>();

  private idOf(thing: object): number {
    let id = this.nodeIds.get(thing);
    if (id === undefined) this.nodeIds.set(thing, (id = this.nodeIds.size));
    return id;
  }

  private intern<K extends Expression['kind']>(key: string, make: (id: number) => ExpressionOf<K>): Expression {
    let found = this.known.get(key);
    if (found === undefined) this.known.set(key, (found = make(this.known.size)));
    return found;
  }

  constant(value: number): Expression {
    const key = Object.is(value, -0) ? '-0' : String(value);
    return this.intern<'constant'>(key, id => ({kind: 'constant', id, varies: 0, value}));
  }

  load(of: Node, access: Access): Expression {
    const varies = variation(access);
    if (varies === 0 && isOp(of, 'constant')) return this.constant(of.attributes.values[access.offset]);
    return this.intern<'load'>(`l${this.idOf(of)}@${accessKey(access)}`, id => ({
      kind: 'load',
      id,
      varies,
      of,
      access,
    }));
  }

  lookup(of: Node, access: Access, table: Int32Array, entry: Access): Expression {
    const varies = variation(access) | variation(entry);
    const key = `t${this.idOf(of)}@${accessKey(access)}[${this.idOf(table)}@${accessKey(entry)}`;
    return this.intern<'lookup'>(key, id => ({kind: 'lookup', id, varies, of, access, table, entry}));
  }

  loadAt(of: Node, position: Expression): Expression {
    return this.intern<'loadAt'>(`p${this.idOf(of)}@${position.id}`, id => ({
      kind: 'loadAt',
      id,
      varies: position.varies,
      of,
      position,
    }));
  }

  unary(fn: FunctionName, x: Expression): Expression {
    if (x.kind === 'constant') return this.constant(valueOf(fn)(x.value));
    if (fn === 'neg' && x.kind === 'unary' && x.fn === 'neg') return x.x;
    const zero = (): Expression => this.constant(0);
    const one = (): Expression => this.constant(1);
    switch (fn) {
      case 'square':
        return this.binary('mul', x, x);
      case 'reciprocal':
        return this.binary('div', one(), x);
      case 'rsqrt':
        return this.binary('div', one(), this.unary('sqrt', x));
      case 'relu':
        return this.binary('maximum', x, zero());
      case 'positive':
        return this.binary('greater', x, zero());
      case 'sign':
        return this.binary('sub', this.binary('greater', x, zero()), this.binary('less', x, zero()));
      case 'not':
        return this.binary('equal', x, zero());
      case 'nonzero':
        return this.binary('notEqual', x, zero());
      case 'isNaN':
        return this.binary('notEqual', x, x);
      case 'isInf':
        return this.binary('equal', this.unary('abs', x), this.constant(Infinity));
      case 'isFinite':
        return this.binary('less', this.unary('abs', x), this.constant(Infinity));
      case 'sigmoid': {
        // e^−|x| serves both tails: 1/(1 + e⁻ˣ) and eˣ/(1 + eˣ).
        const e = this.unary('exp', this.unary('neg', this.unary('abs', x)));
        return this.binary(
          'div',
          this.select(this.binary('greaterEqual', x, zero()), one(), e),
          this.binary('add', one(), e),
        );
      }
      case 'softplus': {
        const e = this.unary('exp', this.unary('neg', this.unary('abs', x)));
        return this.binary('add', this.binary('maximum', x, zero()), this.unary('log1pOfUnit', e));
      }
      default:
    }
    return this.intern<'unary'>(`${fn} ${x.id}`, id => ({kind: 'unary', id, varies: x.varies, fn, x}));
  }

  binary(fn: BinaryName, a: Expression, b: Expression): Expression {
    if (a.kind === 'constant' && b.kind === 'constant') return this.constant(binaryRules[fn].value(a.value, b.value));
    if (fn === 'add' && isZero(a)) return b;
    if ((fn === 'add' || fn === 'sub') && isZero(b)) return a;
    if (fn === 'sub' && isZero(a)) return this.unary('neg', b);
    if (fn === 'add' && b.kind === 'unary' && b.fn === 'neg') return this.binary('sub', a, b.x);
    if (fn === 'mul' && b.kind === 'constant' && b.value === 1) return a;
    if (fn === 'mul' && a.kind === 'constant' && a.value === 1) return b;
    if (fn === 'floorDiv') return this.unary('floor', this.binary('div', a, b));
    return this.intern<'binary'>(`${fn} ${a.id} ${b.id}`, id => ({
      kind: 'binary',
      id,
      varies: a.varies | b.varies,
      fn,
      a,
      b,
    }));
  }

  select(condition: Expression, a: Expression, b: Expression): Expression {
    if (condition.kind === 'constant') return condition.value !== 0 ? a : b;
    if (a === b) return a;
    const varies = condition.varies | a.varies | b.varies;
    return this.intern<'select'>(`? ${condition.id} ${a.id} ${b.id}`, id => ({
      kind: 'select',
      id,
      varies,
      condition,
      a,
      b,
    }));
  }
}

function isZero(e: Expression): boolean {
  return e.kind === 'constant' && e.value === 0;
}
