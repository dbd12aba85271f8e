/**
 * ∂R/∂z as a program: entry by entry if that is less work, otherwise from products of the tangent with sums of
 * unit vectors, one per colour of columns, and transposed products for full rows.
 */
import {assembledJacobian} from './assembled-jacobian.js';
import {batch} from './batch.js';
import {bicolor} from './bicoloring.js';
import {concat, constant, gather, input, reshape} from './build.js';
import {dependents, orZeros, pushforward, transposeLinear} from './differentiate.js';
import type {Node} from './node.js';
import {isOp, topological} from './node.js';
import {simplifyNodes} from './simplify.js';
import {sparseJacobian} from './sparse-jacobian.js';
import type {SparsityPattern} from './sparsity.js';
import {sparsityPattern} from './sparsity.js';
import {costOf, workOf} from './work.js';

/** ∂R/∂z: where it is not zero, and its values as a program. */
export interface Jacobian {
  readonly pattern: SparsityPattern;
  /** Values in the pattern's order. */
  readonly values: Node;
  /** Products it takes, tangents and transposed ones; 0 where the entries are computed one by one. */
  readonly colors: number;
  /** The product with `direction`, from which it was derived; undefined where that is zero. */
  readonly tangent: Node | undefined;
  readonly direction: Node<'input'>;
}

/**
 * Terms of a tangent that are followed entry by entry: as many as a node of a dense mesh in space has
 * neighbours' coordinates; with more, rows are dense enough for colours.
 */
const mostTerms = 64;
/** Products with so many terms are written out: a tetrahedron's block in space has 12, a rotation or a strain fewer. */
const widestProduct = 12;

/**
 * What runs once a run costs what compiling it takes, some 50 µs a node: entries are written out only of tangents with
 * fewer nodes. The start of a chain of six hinges in maximal coordinates has 5,000 nodes, and ∂R/∂z 7,650 by colours
 * and 29,000 by entries.
 */
const shortTangent = 300;

/**
 * Entries are taken where they cost at most this part of what tangents do. Their program is longer, and making it takes
 * as much longer: for a four-bar with generalizedAlpha and `ggl` entries of nine tenths of the cost saved 4 % of a step
 * of 0.24 ms, and were 29,000 nodes, which took 0.9 s to make.
 */
const worthEntries = 3 / 4;

/**
 * ∂R/∂z, or Newton's matrix where R is a model of the residual. R may have more numbers than z, or fewer.
 * @param once it runs once a run
 */
export function jacobian(residual: Node, z: Node, once = false): Jacobian {
  const direction = input('dz', z.shape);
  const [tangent] = pushforward([residual], new Map([[z, direction]]));
  const long = once && tangent !== undefined && topological([tangent]).length > shortTangent;
  const entries = tangent === undefined || long ? undefined : entryByEntry(tangent, direction);
  return entries ?? byColors(tangent, direction, residual.size);
}

/**
 * Each entry once, where that costs less than so many tangents together as the fullest row has entries, which colours
 * cannot fall below.
 */
function entryByEntry(tangent: Node, direction: Node<'input'>): Jacobian | undefined {
  const order = topological([tangent]);
  // Every entry of a large product depends on all that it multiplies: tangents do that as a product again.
  const isWide = (node: Node): boolean =>
    isOp(node, 'matMul') && node.operands[0].shape[node.attributes.transposeA ? 1 : 2] > widestProduct;
  if (order.some(isWide)) return undefined;
  const linear = dependents([tangent], [direction]);
  const cost = costOf(order);
  const each = order.reduce((sum, node) => (linear.has(node) ? sum + workOf(node) : sum), 0);
  const most = (products: number): number => worthEntries * (cost + (products - 1) * each);
  const limits = {terms: mostTerms, cost: most(Math.min(direction.size, mostTerms))};
  // Entries compute what is computed once, and what each tangent does at least once.
  if (cost > limits.cost) return undefined;
  const found = assembledJacobian(tangent, direction, limits) ?? sparseJacobian(tangent, direction, limits);
  if (found === undefined) return undefined;
  const {pattern} = found;
  let fullest = 0;
  for (let row = 0; row < pattern.rows; row++)
    fullest = Math.max(fullest, pattern.pointers[row + 1] - pattern.pointers[row]);
  if (costOf(topological([found.values])) > most(fullest)) return undefined;
  const [values] = simplifyNodes([found.values]);
  return {pattern, values, colors: 0, tangent, direction};
}

function byColors(tangent: Node | undefined, direction: Node<'input'>, rows: number): Jacobian {
  const pattern = sparsityPattern(tangent, direction, rows);
  if (tangent === undefined || pattern.indices.length === 0) {
    return {pattern, values: constant(new Float64Array(0), [0]), colors: 0, tangent, direction};
  }
  return {pattern, tangent, direction, ...byColumnsAndRows(tangent, direction, pattern)};
}

function byColumnsAndRows(
  tangent: Node,
  direction: Node,
  pattern: SparsityPattern,
): Pick<Jacobian, 'values' | 'colors'> {
  const {pointers, indices} = pattern;
  const {
    columns: {colors, ofColumn},
    rows: groups,
    ofRow,
  } = bicolor(pattern);
  const [rows, n] = [tangent.size, direction.size];
  const weights = input('weights', tangent.shape);
  const products = [
    productsWith(tangent, direction, colors, ofColumn),
    ...(groups === 0
      ? []
      : [
          productsWith(
            orZeros(transposeLinear([tangent], [direction], [weights])[0], direction),
            weights,
            groups,
            ofRow,
          ),
        ]),
  ];
  const table = new Int32Array(indices.length);
  for (let row = 0; row < rows; row++) {
    for (let k = pointers[row]; k < pointers[row + 1]; k++) {
      table[k] = ofRow[row] < 0 ? ofColumn[indices[k]] * rows + row : colors * rows + ofRow[row] * n + indices[k];
    }
  }
  return {values: gather(concat(products, 0), table, [table.length]), colors: colors + groups};
}

/** A linear map's values, one after another, for the sums of unit vectors of one group; negative is no group. */
function productsWith(value: Node, seed: Node, count: number, group: Int32Array): Node {
  const seeds = new Float64Array(count * seed.size);
  group.forEach((g, i) => {
    if (g >= 0) seeds[g * seed.size + i] = 1;
  });
  const [products] = batch([value], new Map([[seed, constant(seeds, [count, ...seed.shape])]]), count);
  return reshape(products, [products.size]);
}
