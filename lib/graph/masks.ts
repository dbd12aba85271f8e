/**
 * The derivative of a branch that is not selected is zero, whatever its partial derivative: where(q > 0, √q, 0) has the
 * slope 0 at q = 0 and q = −1, although that of √q is ∞ and NaN there. In floating point 0·∞ is NaN. Therefore the
 * zeros of a linear map are propagated as *masks*: booleans that are false where an element is zero by construction
 * (in the branch that a select, a relu, a maximum or a product with a boolean leaves out, or where a slice does not
 * read). A partial derivative that may not be finite is applied only where its mask is true. Elements that merely
 * happen to be zero have no mask: √q where it is selected has an infinite slope at 0. (With jnp.where users have to
 * write a second where.)
 */
import {
  binary,
  broadcastTo,
  constant,
  full,
  make,
  rebuild,
  reshape,
  select,
  sum,
  transpose,
  unary,
  uniformValue,
  zeros,
} from './build.js';
import type {Node, Op, Shape, UnaryName} from './node.js';
import {isOp} from './node.js';
import {primitiveOf} from './primitives/index.js';

/** False where an element is zero by construction; undefined is true everywhere. */
export type Mask = Node | undefined;

/** Properties so far. */
let properties = 0;

/** A property of nodes that follows from that of their operands, computed once per node and kept there. */
function property<T>(rule: (node: Node, of: (operand: Node) => T) => T): (node: Node) => T {
  const number = properties++;
  /** Where the property is undefined, its rule has been asked and said so. */
  const isKnown = ({notes: {facts}}: Node): boolean => facts !== undefined && number in facts;
  const of = ({notes: {facts}}: Node): T => facts?.[number] as T;
  return node => {
    if (isKnown(node)) return of(node);
    // Iterative: graphs may be deep.
    const stack = [node];
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      const before = stack.length;
      if (!isKnown(top)) for (const operand of top.operands) if (!isKnown(operand)) stack.push(operand);
      if (stack.length > before) continue;
      if (!isKnown(top)) (top.notes.facts ??= [])[number] = rule(top, of);
      stack.pop();
    }
    return of(node);
  };
}

const finiteOfFinite: ReadonlySet<UnaryName> = new Set<UnaryName>([
  'neg',
  'abs',
  'sign',
  'square',
  'sin',
  'cos',
  'atan',
  'tanh',
  'asinh',
  'sigmoid',
  'softplus',
  'erf',
  'relu',
  'positive',
  'floor',
  'ceil',
  'round',
  'truncate',
  'isNaN',
  'isInf',
  'isFinite',
  'not',
  'nonzero',
]);
/** Linear, with no number in them but 0 and 1: of masks they make masks. */
const linearViews: ReadonlySet<Op> = new Set<Op>([
  'reshape',
  'transpose',
  'broadcast',
  'slice',
  'place',
  'concat',
  'gather',
  'scatter',
  'gatherAt',
  'scatterAt',
  'sum',
  'cumsum',
]);

/**
 * Whether a value is finite wherever the inputs are: roots, logarithms, quotients and exponentials may not be. Products
 * that overflow are not thought of.
 */
export const isFinite = property<boolean>((node, of) => {
  if (node.dtype !== 'float' || node.op === 'input') return true;
  if (isOp(node, 'constant')) return node.attributes.values.every(Number.isFinite);
  if (isOp(node, 'unary')) return finiteOfFinite.has(node.attributes.fn) && of(node.operands[0]);
  if (isOp(node, 'binary')) {
    const {fn} = node.attributes;
    const [a, b] = node.operands;
    if (fn === 'div') return of(a) && isNowhereZero(b);
    if (fn === 'pow') return of(a) && Number.isInteger(uniformValue(b)) && (uniformValue(b) as number) >= 0;
    return fn !== 'mod' && fn !== 'floorDiv' && of(a) && of(b);
  }
  if (node.op === 'declared') return of(node.operands[0]);
  return (linearViews.has(node.op) || ['select', 'max', 'min', 'matMul'].includes(node.op)) && node.operands.every(of);
});

/** Whether division by a value is as harmless as a product: constants alone are known. */
function isNowhereZero(node: Node): boolean {
  const value = uniformValue(node);
  if (value !== undefined) return value !== 0;
  return isOp(node, 'constant') && node.attributes.values.every(entry => entry !== 0);
}

/** Where a factor may be other than zero. */
export const supportOf = property<Mask>((node, of) => {
  const [a, b, c] = node.operands;
  if (isOp(node, 'constant')) return node.attributes.values.includes(0) ? node : undefined;
  if (node.dtype === 'bool') return node;
  if (isOp(node, 'unary')) {
    if (node.attributes.fn === 'positive') return node;
    return node.attributes.fn === 'neg' || node.attributes.fn === 'square' ? of(a) : undefined;
  }
  if (isOp(node, 'binary')) return node.attributes.fn === 'mul' ? both(of(a), of(b)) : undefined;
  if (node.op === 'select') {
    if (uniformValue(c) === 0) return both(a, of(b));
    return uniformValue(b) === 0 ? both(not(a), of(c)) : undefined;
  }
  if (node.op === 'reshape' || node.op === 'broadcast' || node.op === 'transpose' || node.op === 'slice') {
    const inner = of(a);
    return inner === undefined ? undefined : inner === a ? node : rebuild(node, [inner]);
  }
  return undefined;
});

function not(mask: Node): Node {
  return isOp(mask, 'unary') && mask.attributes.fn === 'not' ? mask.operands[0] : unary('not', mask);
}

/** Values of a mask that no input decides. */
function knownMask(mask: Node): Float64Array | undefined {
  if (isOp(mask, 'constant')) return mask.attributes.values;
  const value = uniformValue(mask);
  return value === undefined ? undefined : new Float64Array(mask.size).fill(value);
}

/**
 * Levels of operands that are looked at for values that are known: a mask is built from others in two or three steps.
 */
const foldedLevels = 3;

/** The values of a mask that no input decides, computed from its operands'. */
function evaluatedMask(mask: Node, levels = foldedLevels): Float64Array | undefined {
  const known = knownMask(mask);
  if (known !== undefined || levels === 0 || mask.operands.length === 0) return known;
  const operands: Float64Array[] = [];
  for (const operand of mask.operands) {
    const values = evaluatedMask(operand, levels - 1);
    if (values === undefined) return undefined;
    operands.push(values);
  }
  const values = new Float64Array(mask.size);
  primitiveOf(mask).evaluate(mask)(operands, values);
  return values;
}

/** A mask as a constant where it is known; undefined where it holds everywhere. */
function settledMask(mask: Node): Mask {
  if (mask.op === 'broadcast') {
    const inner = settledMask(mask.operands[0]);
    return inner === undefined ? undefined : broadcastTo(inner, mask.shape);
  }
  const values = evaluatedMask(mask);
  if (values === undefined) return mask;
  return values.includes(0) ? constant(values, mask.shape, 'bool') : undefined;
}

function both(a: Mask, b: Mask): Mask {
  if (a === undefined || b === undefined || a === b) return a ?? b;
  return settledMask(binary('and', a, b));
}

/** Where at least one of several holds. */
export function either(masks: readonly Mask[]): Mask {
  return masks.reduce((a, b) => {
    if (a === undefined || b === undefined || a === b) return a === b ? a : undefined;
    return not(a) === b || not(b) === a || isNot(a, b) || isNot(b, a) ? undefined : settledMask(binary('or', a, b));
  });
}

const isNot = (a: Node, b: Node): boolean => isOp(a, 'unary') && a.attributes.fn === 'not' && a.operands[0] === b;

/** A value of which only what a mask lets through counts. */
function onlyWhere(mask: Node, value: Node): Node {
  return select(mask, value, zeros(value.shape));
}

/** As 0 and 1, to be counted. */
function asNumber(mask: Mask, shape: Shape): Node {
  if (mask === undefined) return full(1, shape);
  if (mask.op === 'broadcast') return broadcastTo(asNumber(mask.operands[0], mask.operands[0].shape), shape);
  const known = knownMask(mask);
  return known === undefined
    ? select(mask, full(1, shape), zeros(shape))
    : constant(
        known.map(value => (value === 0 ? 0 : 1)),
        shape,
      );
}
/** Whether a mask holds anywhere along some axes, which stay with length 1. */
function anyAlong(mask: Node, axes: readonly number[]): Node {
  return reshape(
    sum(asNumber(mask, mask.shape), axes),
    mask.shape.map((n, axis) => (axes.includes(axis) ? 1 : n)),
  );
}

/** A tangent or cotangent with its mask. */
export interface Masked {
  readonly value: Node;
  readonly mask: Mask;
}

/** The product with a factor, or the quotient, of a masked value. */
function scaledBy(product: Node, {value, mask}: Masked, factor: Node, divides: boolean): Masked {
  const support = divides ? undefined : supportOf(factor);
  const found = both(mask, support);
  const harmless = (divides ? isNowhereZero(factor) : isFinite(factor)) && (support === undefined || isFinite(value));
  return {value: found === undefined || harmless ? product : onlyWhere(found, product), mask: found};
}

type Turnable = readonly [node: Node, turned: boolean];

const turn = (x: Node, turned: boolean): Node => (turned ? transpose(x, [0, 2, 1]) : x);

/** Masks of rows or columns [b, m, 1], [b, 1, n] for a matrix as it is stored. */
function spread(mask: Node, [matrix, turned]: Turnable): Node {
  const [b, m, n] = matrix.shape;
  return turn(broadcastTo(mask, turned ? [b, n, m] : [b, m, n]), turned);
}

/** A factor without the rows or columns that meet nothing but zeros: 0·∞ in a sum would be NaN. */
function met(mask: Node, factor: Turnable): Node {
  return isFinite(factor[0]) ? factor[0] : onlyWhere(spread(mask, factor), factor[0]);
}

const operandsOf = (node: Node<'matMul'>): [Turnable, Turnable] => [
  [node.operands[0], node.attributes.transposeA],
  [node.operands[1], node.attributes.transposeB],
];

const allAxes = (shape: Shape): number[] => shape.map((_, axis) => axis);

/** Linear in its right-hand side [b, n, k]: column by column. */
const isSolve = (node: Node): boolean => node.op === 'solve' || node.op === 'triangularSolve';

// ---------------------------------------------------------------- backward

/** The cotangents of a linear node's operands, by its primitive's rule, with their masks. */
export function transposed(node: Node, cotangent: Masked, linear: readonly boolean[]): (Masked | undefined)[] {
  const rule = primitiveOf(node).transpose;
  if (rule === undefined) throw new Error(`${node.op} stands in a linear map but has no transpose`);
  const {value, mask} = cotangent;
  const [a, b] = node.operands;
  const masked = (
    parts: readonly (Node | undefined)[],
    maskOf: (k: number, part: Node) => Mask,
  ): (Masked | undefined)[] =>
    parts.map((part, k) => (part === undefined ? undefined : {value: part, mask: maskOf(k, part)}));
  const parts = rule(node, value, linear);
  if (isOp(node, 'binary') && (node.attributes.fn === 'mul' || node.attributes.fn === 'div')) {
    const divides = node.attributes.fn === 'div';
    return parts.map((part, k) =>
      part === undefined ? undefined : scaledBy(part, cotangent, k === 0 ? b : a, divides),
    );
  }
  if (node.op === 'select') return masked(parts, k => both(mask, k === 1 ? a : not(a)));
  const leavesOut = node.op === 'slice' || node.op === 'gather';
  if (mask === undefined && !leavesOut) return masked(parts, () => undefined);
  if (node.op === 'unary' || node.op === 'binary') return masked(parts, () => mask);
  if (linearViews.has(node.op)) {
    const masks = rule(node, asNumber(mask, node.shape), linear);
    return masked(parts, k => settledMask(masks[k] as Node));
  }
  if (mask === undefined) return masked(parts, () => undefined);
  if (isOp(node, 'matMul')) {
    const [left, right] = operandsOf(node);
    const [rows, columns] = [anyAlong(mask, [2]), anyAlong(mask, [1])];
    const clean = make(
      node.op,
      linear[0] ? [a, met(columns, right)] : [met(rows, left), b],
      node.attributes,
      node.shape,
      node.dtype,
    );
    return masked(rule(clean, value, linear), k =>
      settledMask(spread(k === 0 ? rows : columns, k === 0 ? left : right)),
    );
  }
  return masked(parts, (_, {shape}) =>
    broadcastTo(isSolve(node) ? anyAlong(mask, [1]) : reshape(anyAlong(mask, allAxes(mask.shape)), []), shape),
  ).map(part => (part?.mask === undefined ? part : {value: onlyWhere(part.mask, part.value), mask: part.mask}));
}

// ---------------------------------------------------------------- forward

/** A linear node over operands with masks; those that are not there are not linear. */
function pushed(node: Node, given: readonly (Masked | undefined)[]): Masked {
  const operands = node.operands.map((operand, k) => given[k]?.value ?? operand);
  const value = operands.some((operand, k) => operand !== node.operands[k]) ? rebuild(node, operands) : node;
  const [a, b] = operands;
  const [first, second] = given;
  if (isOp(node, 'binary')) {
    const {fn} = node.attributes;
    if (fn === 'mul' || fn === 'div')
      return first !== undefined
        ? scaledBy(value, first, b, fn === 'div')
        : scaledBy(value, second as Masked, a, false);
    return {value, mask: either([first, second].flatMap(operand => (operand === undefined ? [] : [operand.mask])))};
  }
  if (node.op === 'unary') return {value, mask: first?.mask};
  if (node.op === 'select') {
    const none = (k: number): boolean => given[k] === undefined && uniformValue(operands[k]) === 0;
    const [then, otherwise] = [both(a, second?.mask), both(not(a), given[2]?.mask)];
    return {
      value,
      mask: none(2)
        ? then
        : none(1)
          ? otherwise
          : second?.mask === undefined || given[2]?.mask === undefined
            ? undefined
            : either([then, otherwise]),
    };
  }
  const masks = given.map(operand => operand?.mask);
  const addsZeros = node.op === 'place' || node.op === 'gather' || node.op === 'concat';
  if (masks.every(mask => mask === undefined) && !addsZeros) return {value, mask: undefined};
  if (linearViews.has(node.op)) {
    if (given.some((operand, k) => operand === undefined && k === 0 && node.op !== 'concat'))
      return {value, mask: undefined};
    const truth = node.operands.map((operand, k) =>
      given[k] !== undefined
        ? asNumber(masks[k], operand.shape)
        : node.op !== 'concat'
          ? operand
          : full(uniformValue(operand) === 0 ? 0 : 1, operand.shape),
    );
    return {value, mask: settledMask(rebuild(node, truth))};
  }
  if (isOp(node, 'matMul')) {
    const [left, right] = operandsOf(node);
    const k = first === undefined ? 1 : 0;
    const own = turn(masks[k] as Node, (k === 0 ? left : right)[1]);
    const inner = turn(anyAlong(own, [k === 0 ? 1 : 2]), true);
    const clean = k === 0 ? [a, met(inner, [b, right[1]])] : [met(inner, [a, left[1]]), b];
    return {value: rebuild(node, clean), mask: settledMask(broadcastTo(anyAlong(own, [k === 0 ? 2 : 1]), node.shape))};
  }
  if (isSolve(node) && masks[1] !== undefined) {
    const mask = broadcastTo(anyAlong(masks[1], [1]), node.shape);
    return {value: onlyWhere(mask, value), mask};
  }
  return {value, mask: undefined};
}

/** Tangents with partials applied only where their factor is not zero by construction. */
export function guarded(
  tangents: readonly (Node | undefined)[],
  linear: ReadonlySet<Node>,
  order: readonly Node[],
  seeds: ReadonlySet<Node>,
): (Node | undefined)[] {
  const found = new Map<Node, Masked>();
  for (const node of order) {
    if (!linear.has(node)) continue;
    found.set(
      node,
      seeds.has(node)
        ? {value: node, mask: undefined}
        : pushed(
            node,
            node.operands.map(operand => found.get(operand)),
          ),
    );
  }
  return tangents.map(tangent => (tangent === undefined ? undefined : (found.get(tangent)?.value ?? tangent)));
}
