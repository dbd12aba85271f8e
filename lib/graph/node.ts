/**
 * A value of a tensor program: one primitive applied to other values, with a static shape.
 * A graph is a set of such nodes reached from its outputs; nodes are immutable and shared freely,
 * so every transformation (tangent, transpose, batching, simplification) builds new nodes beside
 * the old ones. `build.ts` constructs them, `primitives/` says what each means.
 */

/** Type of a value. Every number is stored in double precision; int and bool are whole numbers. */
export type DType = 'float' | 'int' | 'bool';

/** Static shape of a value; [] is a scalar. */
export type Shape = readonly number[];

/** The attributes of every primitive, by name. The tables of the engines and of the rules are
 * mapped types over this one, so a primitive without a rule does not compile. */
export interface Attributes {
  /** A named argument of the program. */
  input: {readonly name: string};
  /** Values known when the program is built, row-major. */
  constant: {readonly values: Float64Array};

  /** A function of one number, element by element. */
  unary: {readonly fn: UnaryName};
  /** A function of two numbers, element by element (one shape). */
  binary: {readonly fn: BinaryName};
  /** Operands: condition, then, else (one shape). */
  select: Empty;

  /** Numbers in another shape, or counted as another type. */
  reshape: Empty;
  /** Result axis i is the operand's axis permutation[i]. */
  transpose: {readonly permutation: readonly number[]};
  /** Axes of size 1 are repeated to the result's size; ranks are equal. */
  broadcast: Empty;
  /** y[i] = x[begin + i·strides], strides may be negative. */
  slice: {readonly begin: readonly number[]; readonly strides: readonly number[]};
  /** Transpose of slice: y is zero except for y[begin + i·strides] = x[i]. */
  place: {readonly begin: readonly number[]; readonly strides: readonly number[]};
  /** The operands one after another along an axis. */
  concat: {readonly axis: number};

  /** y[i] = x[table[i]] over flat positions; −1 gives 0. */
  gather: {readonly table: Int32Array};
  /** Transpose of gather: y[table[i]] += x[i]; −1 is dropped. */
  scatter: {readonly table: Int32Array};
  /** Gather with positions computed by the program: operands x, positions; outside the range gives 0. */
  gatherAt: Empty;
  /** Scatter with computed positions: operands x, positions. */
  scatterAt: Empty;
  /** Operands: sorted [rows, n], values [rows, m]: how many of the sorted are < (left) or ≤ (right) each value. */
  searchSorted: {readonly side: 'left' | 'right'};

  /** Sum over axes, which are dropped. */
  sum: {readonly axes: readonly number[]};
  /** Largest element over axes, which are dropped; −∞ of nothing. */
  max: {readonly axes: readonly number[]};
  /** Smallest element over axes, which are dropped; ∞ of nothing. */
  min: {readonly axes: readonly number[]};
  /** Position of the first largest element along an axis, which is dropped. */
  argMax: {readonly axis: number};
  /** Position of the first smallest element along an axis, which is dropped. */
  argMin: {readonly axis: number};
  /** Running sum along an axis, from its end with reverse, without the element itself with exclusive. */
  cumsum: {readonly axis: number; readonly exclusive: boolean; readonly reverse: boolean};

  /** [b, m, k]·[b, k, n] → [b, m, n]; a flag says its operand is stored transposed. */
  matMul: {readonly transposeA: boolean; readonly transposeB: boolean};
  /** A [b, n, n], B [b, n, k] → A⁻¹B, or A⁻ᵀB. */
  solve: {readonly adjoint: boolean};
  /** A [b, n, n] symmetric positive definite → its lower factor. */
  cholesky: Empty;
  /** T [b, n, n], B [b, n, k] → T⁻¹B or T⁻ᵀB with only the named triangle of T. */
  triangularSolve: {readonly lower: boolean; readonly adjoint: boolean};
  /** A [b, n, n] → L − I + U packed, rows permuted by partial pivoting; a column without a pivot leaves a zero in U. */
  lu: Empty;
  /** A [b, n, n] → [b, n]: row i of the factored matrix is row p[i] of A. */
  luPermutation: Empty;
  /** A [b, n, n] → the symmetric part of A with its negative eigenvalues set to zero, or made positive. */
  semidefinite: {readonly negative: 'zero' | 'turned'};
  /**
   * A [b, n, n] → [b, n + 1, n]: the eigenvalues of its symmetric part, ascending, above the vectors as columns. Values
   * whose difference is some ε of the largest count as equal in derivatives.
   */
  eigen: {readonly epsilon: number};
  /**
   * A [b, m, n] → [b, …]: the singular values, descending, then U and V row by row, A = U diag(s) Vᵀ; all columns of
   * both with fullMatrices. Equal values as in `eigen`.
   */
  svd: {readonly fullMatrices: boolean; readonly epsilon: number};
  /**
   * A [b, m, n], B [b, m, k] → A⁺B [b, n, k]: the least squares solution of least norm, of any rank. Singular values of
   * max(m, n) ε of the largest count as zero.
   */
  leastSquares: {readonly epsilon: number};
  /**
   * Entries [b, k] of symmetric positive definite matrices by row and column, those beside the diagonal once for both
   * triangles, B [b, n] → A⁻¹B. Entries of one place add up.
   */
  sparseSolve: {readonly rows: Int32Array; readonly columns: Int32Array};

  /**
   * Operands: a value, its arguments x, a cotangent c, a gradient for each argument as a function of c: the value,
   * whose derivative along dx is declared to be the transpose of c → gradients; as a tangent, that transpose applied to
   * arguments dx.
   */
  declared: {readonly as: 'value' | 'tangent'};

  /** Operands: seeds and times [...s] → [...s, 2, count]: Brownian paths of the seed at the time, W and ∫₀ᵗ W. */
  brownian: {readonly count: number};

  /** A function of numbers that a user defined, element by element (operands of one shape): the one of this number. */
  mapped: {readonly fn: number};
}

/** No attributes. */
export type Empty = Readonly<Record<string, never>>;
/** The name of a primitive. */
export type Op = keyof Attributes;

/** Elementwise functions of one argument. */
export const unaryNames = [
  'neg',
  'abs',
  'sign',
  'square',
  'sqrt',
  'rsqrt',
  'reciprocal',
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
] as const;
/** One of `unaryNames`. */
export type UnaryName = (typeof unaryNames)[number];

/** Elementwise functions of two arguments, broadcast. */
export const binaryNames = [
  'add',
  'sub',
  'mul',
  'div',
  'pow',
  'maximum',
  'minimum',
  'mod',
  'floorDiv',
  'atan2',
  'equal',
  'notEqual',
  'less',
  'lessEqual',
  'greater',
  'greaterEqual',
  'and',
  'or',
  'bitwiseAnd',
] as const;
/** One of `binaryNames`. */
export type BinaryName = (typeof binaryNames)[number];

/** One primitive applied to operands: a value of a fixed shape and type in a graph. */
export interface Node<O extends Op = Op> {
  readonly op: O;
  readonly operands: readonly Node[];
  readonly attributes: Attributes[O];
  readonly shape: Shape;
  /** Number of elements: the product of the shape. */
  readonly size: number;
  readonly dtype: DType;
  /**
   * What passes over programs note of it, which is no part of its meaning: kept at the node, as a map of nodes for each
   * pass was most of the time of most.
   */
  readonly notes: {
    /** Nodes are numbered as they are made. */
    readonly id: number;
    /** The last traversal that met it, and its place there (`topological`). */
    traversal: number;
    place: number;
    /** Hash of its primitive, attributes, shape and type; 0 before it is asked for (interned.ts). */
    hash: number;
    /** The canonicalizer that it last stood for itself in; 0 for none (simplify.ts). */
    canonicalIn: number;
    /** Properties that follow from its operands, by their number (masks.ts). */
    facts: unknown[] | undefined;
  };
}

/** A program: named inputs, named outputs. */
export interface Graph {
  readonly inputs: readonly Node<'input'>[];
  readonly outputs: readonly Output[];
}

/** A node that a program gives, and the name of the buffer that it goes to. */
export interface Output {
  readonly name: string;
  readonly node: Node;
}

/** Narrows a node to one primitive. */
export function isOp<O extends Op>(node: Node, op: O): node is Node<O> {
  return node.op === op;
}

export function sizeOf(shape: Shape): number {
  let size = 1;
  for (const n of shape) size *= n;
  return size;
}

/** Row-major strides of a shape. */
export function stridesOf(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((n, axis) => n === b[axis]);
}

/** Traversals so far. */
let traversals = 0;

/**
 * Every node the given ones need, operands before their users; their notes say their places in it until the next
 * traversal. Iterative, as graphs may be deep; linear in the nodes and their operands.
 */
export function topological(outputs: readonly Node[]): Node[] {
  const now = ++traversals;
  const order: Node[] = [];
  // The path down to a node, and the operand of each on it that comes next.
  const path: Node[] = [];
  const next: number[] = [];
  for (const output of outputs) {
    if (output.notes.traversal === now) continue;
    output.notes.traversal = now;
    path[0] = output;
    next[0] = 0;
    let last = 0;
    while (last >= 0) {
      const node = path[last];
      const {operands} = node;
      if (next[last] < operands.length) {
        const operand = operands[next[last]++];
        if (operand.notes.traversal === now) continue;
        operand.notes.traversal = now;
        last++;
        path[last] = operand;
        next[last] = 0;
      } else {
        node.notes.place = order.push(node) - 1;
        last--;
      }
    }
  }
  return order;
}
