/**
 * Moves signs and scalar factors of a program as late as possible. A force is scaled by h, halved and negated
 * before or after differences of it are taken, in whatever order the rules of differentiation give; here the
 * linear operations come first, and the product of the scalars, which is one number, is applied once to the result.
 * Products of the same values in another order become one, (x·y)·y as x·(y·y).
 *
 * Values change in their last bits, and a difference of equal numbers may have the other zero. What is on the way to
 * them lacks the scalars that come later, up to four of them: a scalar beyond 10^±75 that makes up for vectors as far
 * on the other side may let numbers leave their range that do not as the program was written.
 */
import {
  add,
  binary,
  broadcastTo,
  mul,
  neg,
  otherOperands,
  partRead,
  rebuild,
  reshape,
  scalar,
  slice,
  sub,
  unary,
  uniformValue,
} from './build.js';
import type {Graph, Node} from './node.js';
import {isOp, topological} from './node.js';
import {canonicalizer} from './simplify.js';
import {countWork} from './work.js';

/** constant · Π factors, the factors scalars in the order of the program. */
interface Scale {
  readonly constant: number;
  readonly factors: readonly Node[];
}

/** A value as its scale times something of its shape. */
interface Scaled extends Scale {
  readonly core: Node;
}

const none: readonly Node[] = [];
const one: Scale = {constant: 1, factors: none};

/**
 * What a scale may hold: constants whose products, and their products with values, stay far from the ends of the
 * range of numbers, and factors of a degree that forces have anyway.
 */
const largestExponent = 64;
const mostFactors = 4;

const isModest = ({constant, factors}: Scale): boolean =>
  (constant === 1 || Math.abs(Math.log2(Math.abs(constant))) <= largestExponent) && factors.length <= mostFactors;

/** Exactly a power of two: dividing by it rounds nothing. */
const isPowerOfTwo = (x: number): boolean => Number.isInteger(Math.log2(Math.abs(x)));

/** The part of `all` that is not in `some`, by multiplicity. */
function without(all: readonly Node[], some: readonly Node[]): readonly Node[] {
  if (all.length === 0 || some.length === 0) return all;
  const left = [...some];
  return all.filter(node => {
    const at = left.indexOf(node);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

const sameFactors = (a: readonly Node[], b: readonly Node[]): boolean =>
  a.length === b.length && without(a, b).length === 0;

/** Operations through which a factor of their first operand passes, for they are linear in it. */
const linear: ReadonlySet<Node['op']> = new Set<Node['op']>([
  'reshape',
  'transpose',
  'slice',
  'place',
  'broadcast',
  'gather',
  'scatter',
  'sum',
  'cumsum',
]);

/** Zeros beside a scaled part are few; a repetition makes more of its factor than there was. */
const mostGrowth = 2;

class Scales {
  private readonly canonical: (node: Node) => Node;
  private readonly forms = new Map<Node, Scaled>();
  /** The scaled form of values whose scale was applied. */
  private readonly origins = new Map<Node, Scaled>();
  private readonly order = new Map<Node, number>();

  /** @param uses of each node in the program */
  constructor(
    inputs: readonly Node[],
    private readonly uses: ReadonlyMap<Node, number>,
  ) {
    this.canonical = canonicalizer(inputs);
  }

  /** The form of a node; its operands' are known, or found for the little that a rule builds. */
  form(node: Node): Scaled {
    let form = this.forms.get(node);
    if (form === undefined) {
      const {core, constant, factors} = this.split(node);
      this.forms.set(node, (form = {core: this.canonical(core), constant, factors}));
    }
    return form;
  }

  /** The node's value, its scale applied. */
  value(node: Node): Node {
    return this.applied(this.form(node));
  }

  private applied(form: Scaled): Node {
    const {core, constant, factors} = form;
    if (factors.length === 0 && constant === 1) return core;
    const result = this.canonical(
      factors.length === 0 && constant === -1 ? negated(core) : mul(core, this.scalarOf(form, core)),
    );
    this.origins.set(result, form);
    return result;
  }

  private scalarOf({constant, factors}: Scale, {shape}: Node): Node {
    const sorted = [...factors].sort((a, b) => this.placeOf(a) - this.placeOf(b));
    const product = sorted
      .map(factor => reshape(this.value(factor), []))
      .reduce<Node | undefined>((a, b) => (a === undefined ? b : mul(a, b)), undefined);
    const scale = product === undefined ? scalar(constant) : constant === 1 ? product : mul(product, scalar(constant));
    return broadcastTo(scale, shape);
  }

  private placeOf(factor: Node): number {
    const place = this.order.get(factor) ?? this.order.size;
    this.order.set(factor, place);
    return place;
  }

  /** All scales applied. */
  private whole(node: Node): Scaled {
    const others = otherOperands(node, operand => this.value(operand));
    return {core: others === undefined ? node : rebuild(node, others), constant: 1, factors: none};
  }

  private split(node: Node): Scaled {
    if (node.dtype !== 'float' || node.operands.some(({dtype}) => dtype !== 'float')) return this.whole(node);
    const known = uniformValue(node);
    if (known !== undefined)
      return known < 0 ? {core: broadcastTo(scalar(-known), node.shape), ...one, constant: -1} : {core: node, ...one};
    const [first, second] = node.operands;
    if (linear.has(node.op)) {
      const {core, ...scale} = this.form(first);
      const inside = isOp(node, 'slice') ? withinPart(core, node) : undefined;
      if (inside !== undefined) return this.rescaled(this.form(inside), scale);
      return node.size <= mostGrowth * first.size ? {core: rebuild(node, [core]), ...scale} : this.whole(node);
    }
    if (isOp(node, 'concat')) return this.together(node) ?? this.whole(node);
    if (isOp(node, 'matMul')) return this.product(node, first, second);
    if (node.op === 'solve' || node.op === 'triangularSolve') {
      const {core, ...scale} = this.form(second);
      return {core: rebuild(node, [this.value(first), core]), ...scale};
    }
    // A scalar is computed once for a whole loop.
    if (node.size === 1) return this.whole(node);
    if (isOp(node, 'unary')) return this.ofOne(node) ?? this.whole(node);
    if (isOp(node, 'binary')) return this.ofTwo(node, first, second) ?? this.whole(node);
    return this.whole(node);
  }

  /** Parts of one scale, zeros aside. */
  private together(node: Node<'concat'>): Scaled | undefined {
    const parts = node.operands.map(operand => this.form(operand));
    const [of, ...others] = parts.filter(({core}) => uniformValue(core) !== 0);
    if (
      of === undefined
      || others.some(({constant, factors}) => constant !== of.constant || !sameFactors(factors, of.factors))
    )
      return undefined;
    return {
      ...of,
      core: rebuild(
        node,
        parts.map(({core}) => core),
      ),
    };
  }

  private product(node: Node<'matMul'>, a: Node, b: Node): Scaled {
    const late = (operand: Node): Scaled =>
      node.size <= operand.size ? this.form(operand) : {core: this.value(operand), ...one};
    const [left, right] = [late(a), late(b)];
    const scale = times(left, right);
    return isModest(scale)
      ? {core: rebuild(node, [left.core, right.core]), ...scale}
      : {core: rebuild(node, [this.value(a), this.value(b)]), ...one};
  }

  private ofOne(node: Node<'unary'>): Scaled | undefined {
    const form = this.form(node.operands[0]);
    const {core, constant, factors} = form;
    if (node.attributes.fn === 'neg') return {core, constant: -constant, factors};
    const squared = times(form, form);
    if (node.attributes.fn === 'square' && isModest(squared)) return {core: unary('square', core), ...squared};
    if (node.attributes.fn === 'abs' && factors.length === 0)
      return {core: unary('abs', core), constant: Math.abs(constant), factors};
    return undefined;
  }

  private ofTwo(node: Node<'binary'>, a: Node, b: Node): Scaled | undefined {
    const [left, right] = [this.form(a), this.form(b)];
    switch (node.attributes.fn) {
      case 'add':
      case 'sub': {
        const other = node.attributes.fn === 'add' ? right : {...right, constant: -right.constant};
        return this.gathered(a, left, other) ?? this.sum(left, other);
      }
      case 'mul':
        return this.scaledBy(left, b) ?? this.scaledBy(right, a) ?? this.times(left, right);
      case 'div':
        return {
          core: binary('div', left.core, this.applied({...right, constant: Math.abs(right.constant)})),
          constant: left.constant * Math.sign(right.constant),
          factors: left.factors,
        };
      default:
        return undefined;
    }
  }

  /** A value times a scalar: nothing to compute yet. */
  private scaledBy(form: Scaled, by: Node): Scaled | undefined {
    const scalars = by.op === 'broadcast' && by.operands[0].size === 1 ? this.factorsOf(by) : undefined;
    if (scalars === undefined) return undefined;
    return this.rescaled(form, scalars);
  }

  private rescaled(form: Scaled, by: Scale): Scaled {
    const scale = times(form, by);
    return isModest(scale) ? {core: form.core, ...scale} : {core: this.applied(form), ...by};
  }

  /** A scalar taken apart into what it is the product of. */
  private factorsOf(node: Node): Scale {
    const known = uniformValue(node);
    // Zero has no place among factors that are divided by; the constructors take it out before.
    if (known !== undefined && known !== 0 && Number.isFinite(known)) return {constant: known, factors: []};
    if (node.op === 'broadcast' || node.op === 'reshape')
      return node.operands[0].dtype === 'float' ? this.factorsOf(node.operands[0]) : {constant: 1, factors: [node]};
    if (isOp(node, 'unary') && node.attributes.fn === 'neg') {
      const {constant, factors} = this.factorsOf(node.operands[0]);
      return {constant: -constant, factors};
    }
    if (isOp(node, 'binary') && node.attributes.fn === 'mul') {
      const scale = times(this.factorsOf(node.operands[0]), this.factorsOf(node.operands[1]));
      if (isModest(scale)) return scale;
    }
    return {constant: 1, factors: [node]};
  }

  private times(left: Scaled, right: Scaled): Scaled {
    const scale = times(left, right);
    if (!isModest(scale)) return {core: mul(this.applied(left), this.applied(right)), ...one};
    return {
      core:
        this.squareInside(left.core, right.core)
        ?? this.squareInside(right.core, left.core)
        ?? mul(left.core, right.core),
      ...scale,
    };
  }

  /** (x·y)·y as x·(y·y), which more than one product may want. */
  private squareInside(product: Node, y: Node): Node | undefined {
    if (!isOp(product, 'binary') || product.attributes.fn !== 'mul' || !product.operands.includes(y)) return undefined;
    const [a, b] = product.operands;
    const x = a === y ? b : a;
    return x === y ? undefined : mul(x, this.canonical(mul(y, y)));
  }

  /** s(x + y) + z, the first sum for this alone, where sy and z are multiples of one value. */
  private gathered(of: Node, {core: total, constant, factors}: Scaled, whole: Scaled): Scaled | undefined {
    if (this.uses.get(of) !== 1 || !isOp(total, 'binary') || total.attributes.fn !== 'add' || !isPowerOfTwo(constant))
      return undefined;
    const z = {core: whole.core, constant: whole.constant / constant, factors: without(whole.factors, factors)};
    if (z.factors.length !== whole.factors.length - factors.length) return undefined;
    const [x, y] = total.operands.map(operand => this.origins.get(operand) ?? {core: operand, ...one});
    const [rest, like] = isLike(x, z) ? [y, x] : [x, y];
    return isLike(like, z) && isSafelyGathered(like, z)
      ? this.rescaled(this.sum(rest, this.sum(like, z)), {constant, factors})
      : undefined;
  }

  private sum(a: Scaled, b: Scaled): Scaled {
    if (isLike(a, b) && a.constant + b.constant !== 0) return {...a, constant: a.constant + b.constant};
    const factors = without(a.factors, without(a.factors, b.factors));
    const ratio = b.constant / a.constant;
    const constant =
      isPowerOfTwo(ratio) && (Math.abs(ratio) === 1 || (Math.abs(a.constant) !== 1 && Math.abs(b.constant) !== 1))
        ? a.constant
        : Math.sign(a.constant);
    const rest = (form: Scaled): Node =>
      this.applied({
        core: form.core,
        constant: Math.abs(form.constant / constant),
        factors: without(form.factors, factors),
      });
    const [x, y] = [rest(a), rest(b)];
    if (Math.sign(a.constant) === Math.sign(b.constant)) return {core: add(x, y), constant, factors};
    // The sign that is left is none where it can be.
    return constant < 0 ? {core: sub(y, x), constant: -constant, factors} : {core: sub(x, y), constant, factors};
  }
}

const negated = (x: Node): Node =>
  isOp(x, 'binary') && x.attributes.fn === 'sub' ? sub(x.operands[1], x.operands[0]) : neg(x);

function times(a: Scale, b: Scale): Scale {
  const factors =
    a.factors.length === 0 ? b.factors : b.factors.length === 0 ? a.factors : [...a.factors, ...b.factors];
  return {constant: a.constant * b.constant, factors};
}

/** Multiples of one value. */
const isLike = (a: Scaled, b: Scaled): boolean => a.core === b.core && sameFactors(a.factors, b.factors);

/**
 * (x + y) + cy as x + (1 + c)y rounds a number as large as y. The first form does too unless x + y is a small
 * difference and cy is small with it: with |c| at least this, no more than three bits of its accuracy are lost.
 */
const leastGathered = 1 / 8;

/** Where nothing is left of y, (x + y) − y was written to round x, or to have what adding y rounds away. */
function isSafelyGathered(like: Scale, z: Scale): boolean {
  return like.constant + z.constant !== 0 && Math.abs(z.constant) >= leastGathered * Math.abs(like.constant);
}

/** A slice of a function of values of which one is a concatenation: the function of slices, if of one part. */
function withinPart(of: Node, {shape, attributes: {begin, strides}}: Node<'slice'>): Node | undefined {
  if (
    !isOp(of, 'binary')
    || !of.operands.some(operand => isOp(operand, 'concat') && partRead(operand, begin, shape, strides) !== undefined)
  )
    return undefined;
  const [a, b] = of.operands.map(operand => slice(operand, begin, shape, strides));
  return binary(of.attributes.fn, a, b);
}

/** Values with their scales late, whether that is less to compute or not. Linear in the nodes. */
export function factorOutScalars(outputs: readonly Node[], inputs: readonly Node[] = []): Node[] {
  const order = topological(outputs);
  const uses = new Map<Node, number>();
  const use = (node: Node): unknown => uses.set(node, (uses.get(node) ?? 0) + 1);
  outputs.forEach(use);
  for (const {operands} of order) operands.forEach(use);
  const scales = new Scales(inputs, uses);
  for (const node of order) scales.form(node);
  return outputs.map(node => scales.value(node));
}

/** By output, as a matrix is a program of several modules. */
const found = new WeakMap<Node, Node>();

/** The graph with its scales late, where that is less to compute by counted work. */
export function withLateScales(graph: Graph): Graph {
  const before = graph.outputs.map(({node}) => node);
  const known = before.length === 1 ? found.get(before[0]) : undefined;
  const late = known === undefined ? factorOutScalars(before, graph.inputs) : [known];
  const after = known !== undefined || countWork(late) < countWork(before) ? late : before;
  if (before.length === 1) found.set(before[0], after[0]).set(after[0], after[0]);
  return {inputs: graph.inputs, outputs: graph.outputs.map(({name}, i) => ({name, node: after[i]}))};
}
