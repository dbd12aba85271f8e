/**
 * Which values are stored and which are computed where they are read. A value whose elements are all
 * in all asked for about once is computed there, be it in one loop or in several that each take a part;
 * one that would be computed again and again (read in several ways, repeated by a broadcast) is
 * computed once and stored, unless it costs no more than reading it. Whether a stored value then needs
 * memory at all is settled when loops are joined.
 */
import type {Node, Op} from '../../graph/node.js';
import {isOp, topological} from '../../graph/node.js';
import {uniformValue} from '../../graph/build.js';
import {isSpread} from './nest.js';
import type {LoopOperand} from './operands.js';
import {contiguousOperand, stridedOperand} from './operands.js';
import {bare} from './view.js';
import type {Views} from './view-cache.js';

/**
 * What a primitive is to the loops: a leaf, there from outside or before; computed point by point; a view;
 * put together from parts; looked up through a table; written by a nest of its own; or a kernel.
 */
export type Kind = 'leaf' | 'point' | 'view' | 'composed' | 'lookup' | 'nest' | 'kernel';

const table = {
  input: 'leaf',
  constant: 'leaf',
  unary: 'point',
  binary: 'point',
  select: 'point',
  gatherAt: 'point',
  reshape: 'view',
  transpose: 'view',
  broadcast: 'view',
  slice: 'view',
  place: 'composed',
  concat: 'composed',
  gather: 'lookup',
  scatter: 'nest',
  scatterAt: 'nest',
  sum: 'nest',
  max: 'nest',
  min: 'nest',
  searchSorted: 'kernel',
  argMax: 'kernel',
  argMin: 'kernel',
  cumsum: 'kernel',
  matMul: 'kernel',
  solve: 'kernel',
  cholesky: 'kernel',
  triangularSolve: 'kernel',
  lu: 'kernel',
  luPermutation: 'kernel',
  semidefinite: 'kernel',
  eigen: 'kernel',
  svd: 'kernel',
  leastSquares: 'kernel',
  sparseSolve: 'kernel',
  brownian: 'kernel',
  declared: 'kernel',
  mapped: 'kernel',
} as const satisfies {readonly [O in Op]: Kind};

export const kinds: {readonly [O in Op]: Kind} = table;

/** The primitives that are kernels. */
export type KernelOp = {[O in Op]: (typeof table)[O] extends 'kernel' ? O : never}[Op];

/** A composition of more parts than this is stored: every loop that reads it would have a piece for each part. */
const partsInPlace = 4;
/** Most readings of a composition in place: each time, loops are cut at its seams. */
const compositionReadings = 2;

export interface Storage {
  /** Values with a storage of their own, operands before users; leaves are not listed. */
  readonly stored: readonly Node[];
  isStored(node: Node): boolean;
  /** The operands of the kernels. */
  readonly operands: ReadonlyMap<Node, readonly LoopOperand[]>;
}

/** One way of reading a value: from a stored result, through views. */
interface Path {
  /** At how many points it is followed. */
  readonly points: number;
  /** Where it goes on, by the view or composition and the part of it. */
  readonly onwards: Map<number, Path>;
}

/** More parts than a composition has. */
const partLimit = 2 ** 24;

/** A value may be computed this much more often than it has elements before it is stored. */
const recomputation = 1.25;

/** More ways of reading one value than this are not told apart. */
const pathLimit = 8;

class Paths {
  /** Paths that begin at a result, by its number and by their points. */
  private readonly first = new Map<number, Map<number, Path>>();

  /** From a result to an operand, whose elements it takes at so many points. */
  from(result: number, points: number): Path {
    let all = this.first.get(result);
    if (all === undefined) this.first.set(result, (all = new Map<number, Path>()));
    return step(all, points, points);
  }

  /** Through a view, or a part of a composition, that reads only so large a share of the points. */
  through(path: Path, view: number, part: number, share: number): Path {
    return step(path.onwards, view * partLimit + part, path.points * share);
  }
}

function step(ways: Map<number, Path>, key: number, points: number): Path {
  let path = ways.get(key);
  if (path === undefined) ways.set(key, (path = {points, onwards: new Map<number, Path>()}));
  return path;
}

/** The storage of a program as a function of the values that are stored in any case. */
export function storageChoice(outputs: readonly Node[], views: Views): (forced: ReadonlySet<Node>) => Storage {
  const order = topological(outputs);
  const ids = new Map(order.map((node, i) => [node, i]));
  const trivial = trivialValues(order);
  const always = [...outputs.map(bare), ...deepValues(order), ...slopesOfSoftplus(order)];
  return forced => chooseStorage({order, ids, trivial}, new Set<Node>([...forced, ...always]), views);
}

/** A program's values, operands before users, with their places in that order. */
interface Ordered {
  readonly order: readonly Node[];
  readonly ids: ReadonlyMap<Node, number>;
  readonly trivial: ReadonlySet<Node>;
}

function chooseStorage({order, ids, trivial}: Ordered, stored: Set<Node>, views: Views): Storage {
  const isStored = (node: Node): boolean => stored.has(node) || kinds[node.op] === 'leaf';
  const operands = new Map<Node, readonly LoopOperand[]>();
  const readers = new Map<Node, Path[]>();
  const paths = new Paths();
  const read = (node: Node, ways: readonly Path[]): void => {
    const list = readers.get(node) ?? [];
    if (list.length === 0) readers.set(node, list);
    for (const way of ways) if (list.length < pathLimit && !list.includes(way)) list.push(way);
  };

  for (const node of [...order].reverse()) {
    const kind = kinds[node.op];
    const ways = readers.get(node) ?? [];
    if (kind === 'leaf' || (ways.length === 0 && !stored.has(node))) continue;
    const id = ids.get(node) ?? -1;
    if (stored.has(node) || mustStore(node) || worthStoring(node, ways, trivial)) {
      if (node.op !== 'reshape') stored.add(node);
    }
    if (kind === 'kernel') {
      const find = node.op === 'matMul' ? stridedOperand : contiguousOperand;
      const found = node.operands.map(operand => find(operand, views, isStored));
      operands.set(node, found);
      for (const {of} of found) if (kinds[of.op] !== 'leaf') stored.add(of);
      continue;
    }
    if (isOp(node, 'gather') && views.table(node).table !== undefined) stored.add(bare(node.operands[0]));
    if (node.op === 'gatherAt') stored.add(bare(node.operands[0]));
    node.operands.forEach((operand, part) => {
      // A composition reads each part only where that part is.
      const share = kind === 'composed' ? operand.size / node.size : 1;
      if (stored.has(node)) read(operand, [paths.from(id, kind === 'nest' ? operand.size : node.size * share)]);
      else if (node.op === 'reshape' || kind === 'point') read(operand, ways);
      else
        read(
          operand,
          ways.map(way => paths.through(way, id, part, share)),
        );
    });
  }
  return {stored: order.filter(node => stored.has(node) && kinds[node.op] !== 'leaf'), isStored, operands};
}

/**
 * The sigmoids of what softplus is taken of, too: both are made of e^−|x|, and the loop that has the one computes the
 * other for a division more. Where it is read, on the way back through a network, it would cost its exponential again.
 */
function slopesOfSoftplus(order: readonly Node[]): Node[] {
  const operands = new Set(
    order.filter(node => isOp(node, 'unary') && node.attributes.fn === 'softplus').map(node => node.operands[0]),
  );
  return order.filter(
    node => isOp(node, 'unary') && node.attributes.fn === 'sigmoid' && operands.has(node.operands[0]),
  );
}

/** Expressions are built and written by recursion: a chain of functions is stored every so many links. */
const deepestExpression = 128;

function deepValues(order: readonly Node[]): Node[] {
  const depths = new Map<Node, number>();
  return order.filter(node => {
    const depth = 1 + node.operands.reduce((most, operand) => Math.max(most, depths.get(operand) ?? 0), 0);
    const isDeep = depth >= deepestExpression && node.op !== 'reshape';
    depths.set(node, isDeep ? 0 : depth);
    return isDeep;
  });
}

/** Kinds written by a nest or kernel of their own; a place that leaves gaps is one. */
function mustStore(node: Node): boolean {
  const kind = kinds[node.op];
  return kind === 'nest' || kind === 'kernel' || (isOp(node, 'place') && isSpread(node));
}

function worthStoring(node: Node, ways: readonly Path[], trivial: ReadonlySet<Node>): boolean {
  const points = ways.reduce((sum, way) => sum + way.points, 0);
  const often = ways.length === pathLimit || points > recomputation * node.size;
  switch (kinds[node.op]) {
    case 'point':
      return node.size === 1 || (often && !trivial.has(node));
    case 'lookup':
      return often;
    case 'composed':
      return points > compositionReadings * node.size || node.operands.length > partsInPlace;
    default:
      return false;
  }
}

/** No dearer than a load: one cheap operation on an array that is loaded itself, or on two that others want too. */
function trivialValues(order: readonly Node[]): Set<Node> {
  const trivial = new Set<Node>();
  const readers = new Map<Node, number>();
  for (const node of order)
    if (kinds[node.op] !== 'view')
      for (const array of new Set(node.operands.map(belowViews))) readers.set(array, (readers.get(array) ?? 0) + 1);
  const isShared = (array: Node): boolean => (readers.get(array) ?? 0) > 1;
  // One number throughout, or in each of a few parts: outside the loop it is no array.
  const flat = new Set<Node>();
  const isLoaded = (node: Node): boolean =>
    ['leaf', 'kernel', 'nest'].includes(kinds[node.op]) || (kinds[node.op] === 'point' && !trivial.has(node));
  for (const node of order) {
    const arrays = node.operands.map(belowViews).filter(operand => !flat.has(operand));
    const composed = kinds[node.op] === 'composed' && node.operands.length <= partsInPlace;
    if (node.size === 1 || uniformValue(node) !== undefined || (arrays.length === 0 && (composed || isCheap(node))))
      flat.add(node);
    if (
      isCheap(node)
      && arrays.every(isLoaded)
      && (arrays.length <= 1 || (arrays.length === 2 && arrays.every(isShared)))
    )
      trivial.add(node);
  }
  return trivial;
}

function isCheap(node: Node): boolean {
  return (
    (isOp(node, 'unary') && node.attributes.fn === 'neg')
    || (isOp(node, 'binary')
      && (node.attributes.fn === 'add' || node.attributes.fn === 'sub' || node.attributes.fn === 'mul'))
  );
}

/** The value that views show. */
export function belowViews(node: Node): Node {
  let found = node;
  while (kinds[found.op] === 'view') found = found.operands[0];
  return found;
}
