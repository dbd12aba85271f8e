/**
 * Which values a program in single precision computes in double precision all the same. Of times single precision
 * leaves no digits: it has steps of 0.06 at t = 10⁶, so that sin(ωt) loses its phase, and a time that is computed twice
 * falls on either side of a breaking point. Nor does it of the increments of a path, differences of values that grow
 * with time: at t = 10⁴ the integral of W is some 10⁶, and of a step of 10⁻³ it is 10⁻⁵. Nor of what a decision is made
 * by, as long as that is little: the seed of a path, an interval among samples, a comparison. What a network decides by
 * stays single.
 */
import type {Node} from '../../graph/node.js';
import {isOp, topological} from '../../graph/node.js';
import {belowViews, kinds} from './storage.js';

/** Inputs that are times or places in time (step/buffers.ts; of a loss the times of what is saved). */
const times: ReadonlySet<string> = new Set(['t', 'h', 'theta', 'ts']);

/** In the names of inputs that depend on nothing (wasm.ts). */
export const computedOnce = '/fixed.';

/** Kernels that find a place. They work in double precision, and cost little beside a product. */
const light: ReadonlySet<string> = new Set(['searchSorted', 'argMax', 'argMin', 'cumsum']);

const decisions: ReadonlySet<string> = new Set([
  ...['less', 'lessEqual', 'greater', 'greaterEqual', 'equal', 'notEqual'],
  ...['mod', 'floorDiv', 'floor', 'ceil', 'round', 'truncate'],
]);

/** Most numbers in a value that a decision is made by: 32 lanes of breaking points have some 900. */
const mostNumbers = 1024;

const decides = (node: Node): boolean =>
  node.op === 'brownian'
  || node.op === 'searchSorted'
  || ((isOp(node, 'unary') || isOp(node, 'binary')) && decisions.has(node.attributes.fn));

/** Or a view of one; or computed once for all. */
function isConstant(node: Node): boolean {
  const found = belowViews(node);
  return isOp(found, 'constant') || (isOp(found, 'input') && found.attributes.name.includes(computedOnce));
}

const isLeaf = (node: Node): boolean => kinds[node.op] === 'leaf';

/** With each value all that it is made of, but for what is given. */
export function preciseValues(outputs: readonly Node[]): ReadonlySet<Node> {
  const order = topological(outputs);
  const ofTime = new Set<Node>();
  const most = new Map<Node, number>();
  const precise = new Set<Node>();
  const require = (nodes: readonly Node[]): void => {
    const left = [...nodes];
    for (let node = left.pop(); node !== undefined; node = left.pop()) {
      if (isLeaf(node) || precise.has(node)) continue;
      precise.add(node);
      left.push(...node.operands);
    }
  };
  for (const node of order) {
    const {operands} = node;
    const isHeavy = kinds[node.op] === 'kernel' && !light.has(node.op);
    if (isOp(node, 'input')) {
      if (times.has(node.attributes.name)) ofTime.add(node);
    } else if (
      node.op === 'brownian'
      || (!isHeavy
        && operands.some(operand => ofTime.has(operand))
        && operands.every(operand => ofTime.has(operand) || isConstant(operand)))
    ) {
      ofTime.add(node);
      precise.add(node);
    }
    const below = operands.reduce((largest, operand) => Math.max(largest, most.get(operand) ?? 0), 0);
    most.set(node, isLeaf(node) ? 0 : isHeavy ? Infinity : Math.max(node.size, below));
    if (decides(node) && below <= mostNumbers) require(operands);
  }
  // Products read their operands in the programs' precision.
  const multiplied = new Set(
    order.filter(node => node.op === 'matMul').flatMap(({operands}) => operands.flatMap(of => [of, belowViews(of)])),
  );
  for (const node of order)
    if (multiplied.has(node) || node.operands.some(operand => !isLeaf(belowViews(operand)) && !precise.has(operand)))
      precise.delete(node);
  return precise;
}

/** Values to be stored, since others read them and would compute them again. */
export function readElsewhere(outputs: readonly Node[], precise: ReadonlySet<Node>): Node[] {
  if (precise.size === 0) return [];
  return topological(outputs)
    .filter(node => !precise.has(node) && kinds[node.op] !== 'view')
    .flatMap(({operands}) => operands.map(belowViews))
    .filter(node => precise.has(node));
}
