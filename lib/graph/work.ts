/** Counted work of programs in floating-point operations, so that ways to compute can be compared untimed. */
import type {BinaryName, Node, UnaryName} from './node.js';
import {isOp, topological} from './node.js';

/**
 * What a function costs in additions, rounded from the compiled engine's times for long arrays: a division
 * or a root occupies its unit for 4 to 5 cycles a pair, a transcendental function takes some twenty
 * instructions a pair where it is vectorised and a call of about as many additions where it is not.
 */
const dear = 20;
const division = 4;

const dearFunctions: ReadonlySet<UnaryName | BinaryName> = new Set<UnaryName | BinaryName>([
  'exp',
  'expm1',
  'log',
  'log1p',
  'sin',
  'cos',
  'tan',
  'asin',
  'acos',
  'atan',
  'sinh',
  'cosh',
  'tanh',
  'asinh',
  'acosh',
  'atanh',
  'sigmoid',
  'softplus',
  'erf',
  'pow',
  'atan2',
]);
const divisions: ReadonlySet<UnaryName | BinaryName> = new Set<UnaryName | BinaryName>([
  'sqrt',
  'rsqrt',
  'reciprocal',
  'div',
  'mod',
  'floorDiv',
]);

const priceOf = (fn: UnaryName | BinaryName): number =>
  dearFunctions.has(fn) ? dear : divisions.has(fn) ? division : 1;

/** Operations of one node, its operands given. Views cost nothing, moving a number one operation. */
export function workOf(node: Node): number {
  if (isOp(node, 'unary') || isOp(node, 'binary')) return node.size * priceOf(node.attributes.fn);
  if (isOp(node, 'matMul')) return 2 * node.size * node.operands[0].shape[node.attributes.transposeA ? 1 : 2];
  if (!doesWork(node)) return 0;
  switch (node.op) {
    case 'sum':
    case 'max':
    case 'min':
    case 'scatter':
    case 'scatterAt':
      return node.operands[0].size;
    case 'solve':
    case 'cholesky':
    case 'triangularSolve':
    case 'lu': {
      const rows = node.operands[0].shape[node.operands[0].shape.length - 1] ?? 1;
      return node.size * rows;
    }
    // Some six sweeps, a rotation of every pair in each, of six operations on each number of the two.
    case 'eigen':
    case 'svd':
    case 'leastSquares': {
      const [, rows, columns] = node.operands[0].shape;
      return 36 * node.operands[0].size * Math.min(rows, columns) + node.size;
    }
    // Some thirty iterations, of four operations on each entry.
    case 'sparseSolve':
      return 120 * node.operands[0].size;
    // Some forty midpoints, each of a hundred operations.
    case 'brownian':
      return 2000 * node.size;
    default:
      return node.size;
  }
}

const idle: ReadonlySet<Node['op']> = new Set(['input', 'constant', 'reshape', 'broadcast', 'slice', 'transpose']);

/** Whether a node computes or moves numbers; views do not. */
export const doesWork = ({op}: Node): boolean => !idle.has(op);

/** Operations of everything that the outputs need and `counts` says yes to. */
export function countWork(outputs: readonly Node[], counts: (node: Node) => boolean = () => true): number {
  let work = 0;
  for (const node of topological(outputs)) if (counts(node)) work += workOf(node);
  return work;
}

/**
 * What a node costs beside its arithmetic, in operations: loads, stores, its share of a loop's beginning, and code that
 * a cache must hold. Both ways to a Jacobian were timed for six mechanisms, and 10 takes the faster one in each;
 * without it a gripper on a free base (9 velocities) had 17,000 nodes in place of 3,900, took a third longer for a step
 * and twice as long to compile.
 */
const nodeWork = 10;

/** Cost of nodes in operations: their work, and `nodeWork` for each that does any. */
export const costOf = (nodes: readonly Node[]): number =>
  nodes.reduce((sum, node) => (doesWork(node) ? sum + nodeWork + workOf(node) : sum), 0);
