/**
 * What a sparse factorization knows from the pattern of A + Aᵀ: an order with pivots on the diagonal, and the
 * supernodes of the factor. L D Lᵀ and the supernodal LU of one pattern have the same, so it is found once.
 */
import {eliminate, type Elimination} from './elimination.js';
import {symmetricGraph} from './graph.js';
import {pairedOrdering} from './kkt-ordering.js';
import type {OrderingName} from './ordering.js';
import type {Pattern} from './solver.js';
import {supernodes, type Supernodes} from './supernodes.js';

export interface Structure {
  readonly order: Int32Array;
  readonly nodes: Supernodes;
  /** Operations of the scalar LU in this order, if all its pivots are on the diagonal. */
  readonly scalarWork: number;
}

interface Known {
  readonly rowPointers: Int32Array;
  readonly byName: Map<OrderingName | 'auto', Structure>;
}

/** By a pattern's columns: the arrays stay when a promise about the values is added. */
const found = new WeakMap<Int32Array, Known>();

export function structureOf(pattern: Pattern, name: OrderingName | 'auto'): Structure {
  const {rowPointers, columns} = pattern;
  let known = found.get(columns);
  if (known?.rowPointers !== rowPointers) {
    known = {rowPointers, byName: new Map()};
    found.set(columns, known);
  }
  const structure = known.byName.get(name) ?? analyze(pattern, name);
  known.byName.set(name, structure);
  return structure;
}

/**
 * From so many operations for each unknown on, a factorization takes longer than nested dissection, which halves its
 * work on a mesh in space: 40 µs an unknown, at 5 operations a nanosecond.
 */
const DISSECTION_PAYS = 2e5;

/** 'auto' is minimum degree, and nested dissection too where that may pay: the one with fewer operations. */
function analyze(pattern: Pattern, name: OrderingName | 'auto'): Structure {
  const graph = symmetricGraph(pattern);
  const by = (own: OrderingName): Elimination => eliminate(graph, pairedOrdering(pattern, graph, own));
  let elimination = by(name === 'auto' ? 'amd' : name);
  if (name === 'auto' && elimination.squares > DISSECTION_PAYS * pattern.n) {
    const dissected = by('nested-dissection');
    if (dissected.squares < elimination.squares) elimination = dissected;
  }
  return {
    order: elimination.order,
    nodes: supernodes(graph, elimination),
    scalarWork: elimination.below + 2 * elimination.squares,
  };
}
