/**
 * Sums of many small terms of one form, as functions make them that add forces in a loop: the term once, with a leading
 * axis for all of them, and one sum over it. What is derived from it, and the code of both, is then as short as for one
 * term (loop rerolling, as compilers do it). Constants, parameters and the parts of values that are read may differ
 * from term to term. Linear in the nodes.
 */
import {add, concat, constant, gather, neg, operandTable, otherOperands, rebuild, reshape, sum} from './build.js';
import {mixed, ownHash, sameOperation} from './interned.js';
import type {Node} from './node.js';
import {isOp, sameShape, topological} from './node.js';
import {primitiveOf} from './primitives/index.js';
import {doesWork} from './work.js';

/** Below this, programs are short, and terms written out run a few per cent faster. */
const fewestTerms = 16;

/** Numbers in the terms of one axis: 32 KiB, the first cache. Longer terms are loops already. */
const mostNumbers = 4096;

/** Operations one after another in a term, which is gone through recursively. */
const deepest = 500;

interface Term {
  readonly node: Node;
  readonly isNegative: boolean;
}

/** Outputs with long sums as loops; the nodes themselves where there are no such sums. */
export function rerolled(outputs: readonly Node[]): readonly Node[] {
  const order = topological(outputs);
  const parts = partsOfLongSums(order, outputs);
  if (parts === undefined) return outputs;
  const forms = formsOf(order);
  const results = new Map<Node, Node>();
  const result = (node: Node): Node => results.get(node) ?? node;
  for (const node of order) {
    const terms = isSum(node) && !parts.has(node) ? termsOf(node, parts) : [];
    const shorter = terms.length < fewestTerms ? undefined : sumOf(groupsOf(terms, forms), result);
    if (shorter !== undefined) {
      results.set(node, shorter);
      continue;
    }
    const others = otherOperands(node, result);
    if (others !== undefined) results.set(node, rebuild(node, others));
  }
  return outputs.map(result);
}

const isSum = (node: Node): boolean =>
  node.dtype === 'float'
  && ((isOp(node, 'binary') && (node.attributes.fn === 'add' || node.attributes.fn === 'sub'))
    || (isOp(node, 'unary') && node.attributes.fn === 'neg'));

/** Sums that are only a term of another sum; undefined where no sum has many terms. */
function partsOfLongSums(order: readonly Node[], outputs: readonly Node[]): ReadonlySet<Node> | undefined {
  const uses = new Int32Array(order.length);
  for (const {operands} of order) for (const {notes} of operands) uses[notes.place]++;
  // An output is never a part.
  for (const {notes} of outputs) uses[notes.place] += 2;
  const terms = new Int32Array(order.length).fill(1);
  const parts = new Set<Node>();
  let most = 0;
  order.forEach((node, place) => {
    if (!isSum(node)) return;
    terms[place] = 0;
    for (const operand of node.operands) {
      const at = operand.notes.place;
      const isPart = uses[at] === 1 && isSum(operand) && sameShape(operand.shape, node.shape);
      if (isPart) parts.add(operand);
      terms[place] += isPart ? terms[at] : 1;
    }
    most = Math.max(most, terms[place]);
  });
  return most < fewestTerms ? undefined : parts;
}

/** From left to right. */
function termsOf(whole: Node, parts: ReadonlySet<Node>): Term[] {
  const terms: Term[] = [];
  const rest: Term[] = [{node: whole, isNegative: false}];
  for (let term = rest.pop(); term !== undefined; term = rest.pop()) {
    const {node, isNegative} = term;
    if (node !== whole && !parts.has(node)) {
      terms.push(term);
      continue;
    }
    const [left, right] = node.operands;
    const turns = !isOp(node, 'binary') || node.attributes.fn === 'sub';
    if (right === undefined) rest.push({node: left, isNegative: !isNegative});
    else rest.push({node: right, isNegative: isNegative !== turns}, {node: left, isNegative});
  }
  return terms;
}

/** Equal for values that are computed alike, whichever constants, inputs and parts of values they read. */
function formsOf(order: readonly Node[]): ReadonlyMap<Node, number> {
  const forms = new Map<Node, number>();
  for (const node of order) {
    const isRead = node.op === 'input' || node.op === 'constant' || node.op === 'slice' || node.op === 'gather';
    let form = isRead ? 1 : ownHash(node);
    for (const n of node.shape) form = mixed(form, n);
    if (!isRead) for (const operand of node.operands) form = mixed(form, forms.get(operand) ?? 0);
    forms.set(node, form);
  }
  return forms;
}

/** Terms of one form and sign together, in the order of the first of them. */
function groupsOf(terms: readonly Term[], forms: ReadonlyMap<Node, number>): readonly (readonly Term[])[] {
  const all: Term[][] = [];
  /** The last of each form. */
  const groups = new Map<number, Term[]>();
  for (const term of terms) {
    const form = (forms.get(term.node) ?? 0) ^ (term.isNegative ? 1 : 0);
    let group = groups.get(form);
    if (group === undefined || group.length * term.node.size >= mostNumbers) {
      all.push((group = []));
      groups.set(form, group);
    }
    group.push(term);
  }
  return all;
}

/** Undefined where nothing is rerolled. */
function sumOf(groups: readonly (readonly Term[])[], result: (node: Node) => Node): Node | undefined {
  let isShorter = false;
  const terms = groups.flatMap((group): readonly Term[] => {
    const all = together(group.map(term => result(term.node)));
    if (all === undefined || all.saved < 2) return group.map(term => ({...term, node: result(term.node)}));
    isShorter = true;
    return [{node: sum(all.values, [0]), isNegative: group[0].isNegative}];
  });
  if (!isShorter) return undefined;
  return terms.map(({node, isNegative}) => (isNegative ? neg(node) : node)).reduce((total, node) => add(total, node));
}

/**
 * Nodes of one shape one after another, [count, ...shape]: those of one form are computed together. As functions make
 * them that list a value for each of many parts. Linear in the nodes.
 */
export function stacked(nodes: readonly Node[]): Node {
  const forms = formsOf(topological(nodes));
  const groups = groupsOf(
    nodes.map(node => ({node, isNegative: false})),
    forms,
  );
  const [{shape, size}] = nodes;
  const placesOf = new Map<Node, number[]>();
  nodes.forEach((node, i) => placesOf.set(node, [...(placesOf.get(node) ?? []), i]));
  const table = new Int32Array(nodes.length * size);
  let count = 0;
  const parts = groups.flatMap(group => {
    for (const {node} of group) {
      const place = placesOf.get(node)?.shift() ?? 0;
      for (let k = 0; k < size; k++) table[place * size + k] = count * size + k;
      count++;
    }
    const all = together(group.map(({node}) => node));
    return all === undefined || all.saved < 0 ? group.map(({node}) => reshape(node, [1, ...shape])) : [all.values];
  });
  const whole = concat(parts, 0);
  return table.every((from, to) => from === to) ? whole : gather(whole, table, whole.shape);
}

/**
 * Nodes of one form with a leading axis, and how many operations one of them has beyond those parts that are copied
 * one by one; undefined where they are few, or not alike after all.
 */
function together(nodes: readonly Node[]): {readonly values: Node; readonly saved: number} | undefined {
  const count = nodes.length;
  if (count < fewestTerms) return undefined;
  const known = new Map<Node, {readonly each: readonly Node[]; readonly all: Node | undefined}>();
  let [operations, copies, areAlike] = [0, 0, true];
  /** With the leading axis; undefined where all are one node. */
  const all = (each: readonly Node[], depth: number): Node | undefined => {
    const [first] = each;
    areAlike &&=
      depth <= deepest && each.every(node => node.dtype === first.dtype && sameShape(node.shape, first.shape));
    if (!areAlike || each.every(node => node === first)) return undefined;
    if (each.every(node => isOp(node, 'constant')))
      return constant(
        Float64Array.from(each.flatMap(node => [...(isOp(node, 'constant') ? node.attributes.values : [])])),
        [count, ...first.shape],
        first.dtype,
      );
    if (each.every(node => (node.op === 'slice' || node.op === 'gather') && node.operands[0] === first.operands[0])) {
      const table = new Int32Array(count * first.size);
      each.forEach((node, i) =>
        table.set(isOp(node, 'gather') ? node.attributes.table : operandTable(node), i * first.size),
      );
      return gather(first.operands[0], table, [count, ...first.shape]);
    }
    const rule = primitiveOf(first).batch;
    if (rule === undefined || first.op === 'declared' || !each.every(node => sameOperation(node, first))) {
      copies++;
      return concat(
        each.map(node => reshape(node, [1, ...first.shape])),
        0,
      );
    }
    const before = known.get(first);
    if (before !== undefined) {
      areAlike = before.each.every((node, i) => node === each[i]);
      return before.all;
    }
    const operands = first.operands.map((_, k) =>
      all(
        each.map(node => node.operands[k]),
        depth + 1,
      ),
    );
    // Equal operations on equal operands, which simplification removes: all are the first.
    if (!areAlike || operands.every(operand => operand === undefined)) return undefined;
    if (doesWork(first)) operations++;
    const found = rule(
      first,
      operands.map((operand, k) => operand ?? first.operands[k]),
      operands.map(operand => operand !== undefined),
      count,
    );
    known.set(first, {each, all: found});
    return found;
  };
  const values = all(nodes, 0);
  return areAlike && values !== undefined ? {values, saved: operations - copies} : undefined;
}
