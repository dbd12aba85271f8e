/**
 * Expressions for a nest: from each result down through views, elementwise functions and
 * compositions to the stored values it reads. Where a value cannot be told apart along the axes as
 * they are, the nest is divided or cut and built again; where that cannot help, a value is named
 * that has to be stored first.
 */
import type {Node} from '../../graph/node.js';
import {isOp} from '../../graph/node.js';
import type {Access, AccessKey, AxisIndices} from './access.js';
import {accessKey, joinAxes, splitByAxes} from './access.js';
import type {Expression} from './expression.js';
import {Expressions} from './expression.js';
import type {LoopAxis, Nest, Root} from './nest.js';
import {cut, divide, keepsRow} from './nest.js';
import {bare, concatRows, placedAxes} from './view.js';
import type {Views} from './view-cache.js';

/** The value that a result receives at the points of a piece. */
export interface Assignment {
  readonly root: Root;
  readonly value: Expression;
  /** Flat position in the result, from the piece's first point. */
  readonly target: Access;
  /** Entry of a scatter's table. */
  readonly entry: Access;
  /** Computed position of a scatterAt. */
  readonly position: Expression | undefined;
}

/** A box of a nest's points, cut so that every expression is one throughout. */
export interface ProgramPiece {
  /** Index of the segment along each axis. */
  readonly segments: readonly number[];
  readonly sizes: readonly number[];
  readonly assignments: readonly Assignment[];
}

export interface BuiltPiece {
  readonly pieces: readonly ProgramPiece[];
  /** First point and length of each segment of each axis. */
  readonly segments: readonly (readonly CodeSegment[])[];
  /**
   * With more results, which may read the ones before, at the same points of the same pieces; undefined where they ask
   * for other axes or cuts. What is known of the nest goes along: this one is not to be extended again where that
   * succeeds.
   */
  extended(roots: readonly Root[]): BuiltPiece | undefined;
}

export interface CodeSegment {
  readonly from: number;
  readonly size: number;
}

/** A value to be stored before the nest can be built; undefined if only its own results are in the way. */
export interface Obstacle {
  readonly store: Node | undefined;
}

/** More pieces than this for one nest are not worth their code: compositions inside are stored instead. A
 * composition along each of two axes, with an edge at both ends, makes nine. */
const pieceLimit = 16;

export function buildPieces(nest: Nest, isStored: (node: Node) => boolean, views: Views): BuiltPiece | Obstacle {
  const within = new Set(offeredBy(nest.roots));
  const dividers: Node[] = [];
  /** The value to store where a nest's own result is too complicated. */
  const other = (candidates: readonly Node[]): Node | undefined =>
    candidates.find(node => !within.has(node) && !isStored(node));
  const isLoaded = (node: Node): boolean => isStored(node) && !within.has(node);
  for (;;) {
    const expressions = new Expressions();
    const segments = nest.axes.map(segmentsOf);
    const wishes = new Wishes();
    const builders = combinations(segments.map(list => list.length)).map(choice => {
      const box = choice.map((s, axis) => segments[axis][s]);
      return new PieceBuilder(choice, box, expressions, wishes, isLoaded, views);
    });
    const pieces = builders.map(builder => builder.piece(nest.roots));
    if (wishes.obstacle !== undefined) {
      return {store: other([wishes.obstacle, ...dividers])};
    }
    if (wishes.division !== undefined) {
      divide(nest, wishes.division.dim, wishes.division.inner);
      dividers.unshift(wishes.division.by);
      continue;
    }
    if (wishes.cuts.length === 0) {
      const divided = nest.roots.find(root => !keepsRow(nest, root));
      if (divided !== undefined) return {store: other([bare(divided.source)])};
      return extensible(pieces, segments, {axes: nest.axes, builders, within, wishes});
    }
    for (const {axis, at} of wishes.cuts) cut(nest, axis, at);
    const count = nest.axes.reduce((product, {cuts}) => product * (cuts.length + 1), 1);
    const store = count > pieceLimit ? other(wishes.composed) : undefined;
    if (store !== undefined) return {store};
  }
}

/** The values that are whole at each point. */
export function offeredBy(roots: readonly Root[]): Node[] {
  return roots.filter(root => root.source === root.node).map(root => root.node);
}

/** State of a nest's building, for results that join it. */
interface Workshop {
  readonly axes: readonly LoopAxis[];
  readonly builders: readonly PieceBuilder[];
  readonly within: Set<Node>;
  readonly wishes: Wishes;
}

function extensible(pieces: readonly ProgramPiece[], segments: BuiltPiece['segments'], known: Workshop): BuiltPiece {
  const {axes, builders, within, wishes} = known;
  for (const builder of builders) builder.keep();
  return {
    pieces,
    segments,
    extended(roots) {
      const offered = offeredBy(roots);
      if (offered.some(node => within.has(node) || builders.some(builder => builder.hasRead(node)))) return undefined;
      for (const node of offered) within.add(node);
      const more = builders.map(builder => builder.piece(roots).assignments);
      if (wishes.none && roots.every(root => keepsRow({axes}, root)))
        return extensible(
          pieces.map((piece, p) => ({...piece, assignments: piece.assignments.concat(more[p])})),
          segments,
          known,
        );
      for (const node of offered) within.delete(node);
      for (const builder of builders) builder.forget();
      wishes.clear();
      return undefined;
    },
  };
}

function segmentsOf({size, cuts}: {size: number; cuts: readonly number[]}): CodeSegment[] {
  const ends = [...cuts, size];
  return ends.map((end, i) => ({from: i === 0 ? 0 : ends[i - 1], size: end - (i === 0 ? 0 : ends[i - 1])}));
}

function combinations(counts: readonly number[]): number[][] {
  return counts.reduce<number[][]>(
    (list, count) => list.flatMap(head => Array.from({length: count}, (_, i) => [...head, i])),
    [[]],
  );
}

/** A value without which a nest cannot be built as it is. */
class Wishes {
  division: {dim: number; inner: number; by: Node} | undefined;
  cuts: {axis: number; at: number}[] = [];
  /** The compositions that asked for cuts. */
  composed: Node[] = [];
  obstacle: Node | undefined;

  get none(): boolean {
    return this.division === undefined && this.cuts.length === 0 && this.obstacle === undefined;
  }

  clear(): void {
    [this.division, this.obstacle, this.cuts, this.composed] = [undefined, undefined, [], []];
  }
}

class PieceBuilder {
  private readonly sizes: readonly number[];
  private readonly memo = new Map<Node, Map<AccessKey, Expression>>();
  /** Keys added to the memo since it was last kept. */
  private added: {readonly of: Node; readonly key: AccessKey}[] = [];

  constructor(
    private readonly segments: readonly number[],
    private readonly box: readonly CodeSegment[],
    private readonly make: Expressions,
    private readonly wishes: Wishes,
    private readonly isLoaded: (node: Node) => boolean,
    private readonly views: Views,
  ) {
    this.sizes = box.map(segment => segment.size);
  }

  piece(roots: readonly Root[]): ProgramPiece {
    return {segments: this.segments, sizes: this.sizes, assignments: this.assignments(roots)};
  }

  keep(): void {
    this.added = [];
  }

  /** Whether what is built depends on where the node's value comes from. */
  hasRead(node: Node): boolean {
    return this.memo.has(node);
  }

  /** As it was when it was last kept. */
  forget(): void {
    for (const {of, key} of this.added) {
      const to = this.memo.get(of);
      to?.delete(key);
      if (to?.size === 0) this.memo.delete(of);
    }
    this.added = [];
  }

  private assignments(roots: readonly Root[]): Assignment[] {
    if (this.sizes.includes(0)) return [];
    return roots.map(root => {
      const source = this.fromSteps(root.sourceSteps, 0);
      return {
        root,
        value: this.value(root.source, source),
        target: this.fromSteps(root.resultSteps, root.resultOffset),
        entry: this.fromSteps(root.tableSteps, 0),
        position: root.combine === 'scatterAt' ? this.value(root.node.operands[1], source) : undefined,
      };
    });
  }

  /** The access that steps so from the nest's origin, seen from the box's first point. */
  private fromSteps(steps: readonly number[], offset: number): Access {
    let from = offset;
    steps.forEach((step, axis) => (from += step * this.box[axis].from));
    return {offset: from, coefficients: this.still(steps)};
  }

  /** Axes along which the box has one point do not move. */
  private still(coefficients: readonly number[]): number[] {
    return coefficients.map((c, axis) => (this.sizes[axis] === 1 ? 0 : c));
  }

  private value(node: Node, access: Access): Expression {
    let byAccess = this.memo.get(node);
    if (byAccess === undefined) this.memo.set(node, (byAccess = new Map<AccessKey, Expression>()));
    const key = accessKey(access);
    let found = byAccess.get(key);
    if (found === undefined) {
      found = this.isLoaded(node) ? this.make.load(node, access) : this.computed(node, access);
      byAccess.set(key, found);
      this.added.push({of: node, key});
    }
    return found;
  }

  private computed(node: Node, access: Access): Expression {
    const [x, y, z] = node.operands;
    if (isOp(node, 'unary')) return this.make.unary(node.attributes.fn, this.value(x, access));
    if (isOp(node, 'binary')) return this.make.binary(node.attributes.fn, this.value(x, access), this.value(y, access));
    if (isOp(node, 'concat')) return this.part(node, access);
    if (isOp(node, 'place')) return this.placed(node, access);
    if (isOp(node, 'gather')) return this.looked(node, access);
    switch (node.op) {
      case 'reshape':
        return this.value(x, access);
      case 'transpose':
      case 'broadcast':
      case 'slice':
        return this.viewed(node, access);
      case 'select':
        return this.make.select(this.value(x, access), this.value(y, access), this.value(z, access));
      case 'gatherAt':
        return this.make.loadAt(bare(x), this.value(y, access));
      default:
        throw new Error(`${node.op} is read before it is stored`);
    }
  }

  /** Stands for what cannot be built yet. */
  private nothing(): Expression {
    return this.make.constant(0);
  }

  private split(node: Node, access: Access, shape: readonly number[]): AxisIndices | undefined {
    const found = splitByAxes(access, this.sizes, shape);
    if (found === undefined) this.wishes.obstacle ??= node;
    else if ('dim' in found) this.wishes.division ??= {...found, by: node};
    else return found;
    return undefined;
  }

  private viewed(node: Node, access: Access): Expression {
    const view = this.views.of(node);
    const indices = this.split(node, access, view.shape);
    return indices === undefined
      ? this.nothing()
      : this.value(node.operands[0], joinAxes(indices, view.strides, view.offset));
  }

  private looked(node: Node<'gather'>, access: Access): Expression {
    const view = this.views.table(node);
    const indices = this.split(node, access, view.shape);
    if (indices === undefined) return this.nothing();
    const at = joinAxes(indices, view.strides, view.offset);
    if (view.table === undefined) return this.value(node.operands[0], at);
    const entry = joinAxes(indices, view.tableStrides, 0);
    if (entry.coefficients.every(c => c === 0)) {
      const known = view.table[entry.offset];
      return known < 0
        ? this.make.constant(0)
        : this.value(node.operands[0], {offset: at.offset + known, coefficients: at.coefficients});
    }
    return this.make.lookup(bare(node.operands[0]), at, view.table, entry);
  }

  private part(node: Node<'concat'>, access: Access): Expression {
    const {outer, width, begins, widths} = concatRows(node);
    const indices = this.split(node, access, outer === 1 ? [width] : [outer, width]);
    if (indices === undefined) return this.nothing();
    const last = outer === 1 ? 0 : 1;
    const [low, high] = range(indices, last, this.sizes);
    let k = 0;
    while (k + 1 < begins.length && begins[k + 1] <= low) k++;
    if (high >= begins[k] + widths[k]) {
      this.cutAt(node, indices, last, begins.slice(1));
      return this.nothing();
    }
    return this.value(node.operands[k], joinAxes(indices, outer === 1 ? [1] : [widths[k], 1], -begins[k]));
  }

  private placed(node: Node<'place'>, access: Access): Expression {
    const axes = placedAxes(node);
    if (axes === undefined) throw new Error('a spread place is read before it is stored');
    const indices = this.split(
      node,
      access,
      axes.map(({large}) => large),
    );
    if (indices === undefined) return this.nothing();
    let inside = true;
    for (let a = 0; a < axes.length; a++) {
      const {begin, small} = axes[a];
      const [low, high] = range(indices, a, this.sizes);
      if (high < begin || low >= begin + small) return this.make.constant(0);
      if (low < begin || high >= begin + small) {
        this.cutAt(node, indices, a, [begin, begin + small]);
        inside = false;
      }
    }
    if (!inside) return this.nothing();
    let offset = 0;
    for (const {begin, stride} of axes) offset -= begin * stride;
    return this.value(
      node.operands[0],
      joinAxes(
        indices,
        axes.map(({stride}) => stride),
        offset,
      ),
    );
  }

  /** Asks for cuts where an index passes the given boundaries; only one axis of the nest may move that index. */
  private cutAt(node: Node, {origin, steps}: AxisIndices, along: number, boundaries: readonly number[]): void {
    const integrators = steps.map((_, d) => d).filter(d => steps[d][along] !== 0 && this.sizes[d] > 1);
    if (integrators.length !== 1) {
      this.wishes.obstacle ??= node;
      return;
    }
    const [d] = integrators;
    const step = steps[d][along];
    for (const boundary of boundaries) {
      const at =
        step > 0 ? Math.ceil((boundary - origin[along]) / step) : Math.floor((origin[along] - boundary) / -step) + 1;
      if (at > 0 && at < this.sizes[d]) this.wishes.cuts.push({axis: d, at: this.box[d].from + at});
    }
    this.wishes.composed.push(node);
  }
}

/** Least and greatest index along an axis over the box. */
function range({origin, steps}: AxisIndices, axis: number, sizes: readonly number[]): [number, number] {
  let low = origin[axis];
  let high = low;
  steps.forEach((step, d) => {
    const reach = step[axis] * (sizes[d] - 1);
    if (reach > 0) high += reach;
    else low += reach;
  });
  return [low, high];
}
