/**
 * Joins loops over the same points: one that uses what another computes at the very same point, or
 * reads the same values. A value that only its own loop uses then needs no memory.
 */
import type {Node} from '../../graph/node.js';
import type {Expression} from './expression.js';
import {children} from './expression.js';
import type {Nest, Root} from './nest.js';
import {divide} from './nest.js';
import type {BuiltPiece} from './pieces.js';
import {buildPieces, offeredBy} from './pieces.js';
import type {Views} from './view-cache.js';

/** A nest with its expressions and what they read. */
export interface Loop {
  readonly kind: 'loop';
  readonly nest: Nest;
  readonly built: BuiltPiece;
  readonly writes: ReadonlySet<Node>;
  readonly reads: ReadonlySet<Node>;
  /** Different values computed or read at a point. */
  readonly weight: number;
  /** How many points there are. */
  readonly points: number;
  /** In double precision, whatever the program's is. */
  readonly precise: boolean;
  /** The values that are whole at each point, for others at the same point to use. */
  readonly offered: ReadonlySet<Node>;
  /** The loop with more results, if these leave axes and cuts as they are; this object is used up then. */
  extended(roots: readonly Root[]): Loop | undefined;
}

/** Past this many values at a point, registers are long exhausted and a joined loop saves nothing. */
const heaviest = 160;
/** Up to this size loops are joined even if they share nothing: starting a loop costs more than its points. */
const smallSize = 16;

/** @param precise of what is made of times, and decisions (precise.ts); single numbers are so anyway */
export function loopOf(nest: Nest, built: BuiltPiece, precise: boolean): Loop {
  const known = {
    values: new Set<Expression>(),
    reads: new Set<Node>(),
    writes: new Set<Node>(),
    offered: new Set<Node>(),
  };
  return loopWith(nest, built, known, 0, precise || pointsOf(nest) === 1);
}

/** Sets that grow with a loop. */
interface Known {
  readonly values: Set<Expression>;
  readonly reads: Set<Node>;
  readonly writes: Set<Node>;
  readonly offered: Set<Node>;
}

/** @param from the first result that is not among what is known */
function loopWith(nest: Nest, built: BuiltPiece, known: Known, from: number, precise: boolean): Loop {
  const {values, reads, writes, offered} = known;
  visitExpressions(
    built,
    e => {
      if (e.kind === 'load' || e.kind === 'lookup' || e.kind === 'loadAt') reads.add(e.of);
    },
    from,
    values,
  );
  const more = nest.roots.slice(from);
  for (const {node} of more) writes.add(node);
  for (const node of offeredBy(more)) offered.add(node);
  return {
    kind: 'loop',
    nest,
    built,
    writes,
    reads,
    weight: values.size / Math.max(1, built.pieces.length),
    points: pointsOf(nest),
    precise,
    offered,
    extended(roots) {
      const all = built.extended(roots);
      if (all === undefined) return undefined;
      return loopWith({...nest, roots: [...nest.roots, ...roots]}, all, known, nest.roots.length, precise);
    },
  };
}

/** @param from the first of each piece's results that are gone through, `seen` what of them is known already */
export function visitExpressions(
  {pieces}: Pick<BuiltPiece, 'pieces'>,
  visit: (e: Expression) => void,
  from = 0,
  seen = new Set<Expression>(),
): void {
  const walk = (e: Expression): void => {
    if (seen.has(e)) return;
    seen.add(e);
    visit(e);
    // By kind, without a list of the branches: every expression of every loop is met here.
    if (e.kind === 'binary') {
      walk(e.a);
      walk(e.b);
    } else if (e.kind === 'unary') walk(e.x);
    else if (e.kind !== 'load' && e.kind !== 'constant') for (const child of children(e)) walk(child);
  };
  for (const {assignments} of pieces) {
    for (let i = from; i < assignments.length; i++) {
      const {value, position} = assignments[i];
      walk(value);
      if (position !== undefined) walk(position);
    }
  }
}

function pointsOf(nest: Nest): number {
  return nest.axes.reduce((product, {size}) => product * size, 1);
}

/**
 * Whether joining can pay and keeps every value before its readers. `earlier` or what is before it has all that `later`
 * reads.
 */
export function mayJoin(earlier: Loop, later: Loop): boolean {
  if (
    earlier.points !== later.points
    || earlier.precise !== later.precise
    || earlier.weight + later.weight > heaviest
    || !earlier.nest.flat
    || !later.nest.flat
  )
    return false;
  // Without arrays of what is read: each loop is held against all before it.
  const dependencies = new Set<Node>();
  let isShared = later.points <= smallSize;
  for (const node of later.reads) {
    if (earlier.writes.has(node)) {
      if (!earlier.offered.has(node)) return false;
      dependencies.add(node);
    } else {
      isShared ||= node.size > 1 && earlier.reads.has(node);
    }
  }
  return dependencies.size > 0 ? readsInPlace(later, dependencies) : isShared;
}

/** Whether the loop reads the given values only at the point it is at. */
function readsInPlace({nest, built}: Loop, values: ReadonlySet<Node>): boolean {
  const steps = flatSteps(nest);
  return built.pieces.every(piece => {
    let from = 0;
    piece.segments.forEach((s, axis) => (from += steps[axis] * built.segments[axis][s].from));
    let inPlace = true;
    const seen = new Set<Expression>();
    const walk = (e: Expression): void => {
      if (seen.has(e)) return;
      seen.add(e);
      if ((e.kind === 'lookup' || e.kind === 'loadAt') && values.has(e.of)) inPlace = false;
      if (e.kind === 'load' && values.has(e.of)) {
        inPlace &&=
          e.access.offset === from
          && e.access.coefficients.every((c, axis) => c === (piece.sizes[axis] === 1 ? 0 : steps[axis]));
      }
      children(e).forEach(walk);
    };
    for (const {value, position} of piece.assignments) {
      walk(value);
      if (position !== undefined) walk(position);
    }
    return inPlace;
  });
}

function flatSteps({axes}: Nest): number[] {
  const steps = new Array<number>(axes.length);
  let step = 1;
  for (let axis = axes.length - 1; axis >= 0; axis--) {
    steps[axis] = step;
    step *= axes[axis].size;
  }
  return steps;
}

/** The two loops as one, or undefined where their axes or pieces do not go together. */
export function join(earlier: Loop, later: Loop, isStored: (node: Node) => boolean, views: Views): Loop | undefined {
  const [first, second] = [copyOf(earlier.nest), copyOf(later.nest)];
  const boundaries = [...new Set([...flatSteps(first), ...flatSteps(second)])].sort((a, b) => a - b);
  const total = earlier.points;
  if (boundaries.some((step, i) => (boundaries[i + 1] ?? total) % step !== 0)) return undefined;
  for (const nest of [first, second]) divideAt(nest, boundaries);
  const extended = first.axes.length === earlier.nest.axes.length ? earlier.extended(second.roots) : undefined;
  if (extended !== undefined) return extended;
  const nest: Nest = {
    axes: first.axes.map(({size}) => ({size, cuts: []})),
    roots: [...first.roots, ...second.roots],
    flat: true,
  };
  const built = buildPieces(nest, isStored, views);
  return 'store' in built ? undefined : loopOf(nest, built, earlier.precise);
}

function copyOf({axes, roots, flat}: Nest): Nest {
  return {axes: axes.map(({size}) => ({size, cuts: []})), roots, flat};
}

/** Divides axes so that each of the given steps, ascending, is one's. */
function divideAt(nest: Nest, steps: readonly number[]): void {
  for (const step of steps) {
    const own = flatSteps(nest);
    if (own.includes(step)) continue;
    const axis = own.findIndex((s, i) => s < step && step < s * nest.axes[i].size);
    if (axis >= 0) divide(nest, axis, step / own[axis]);
  }
}

/** The loop without the results nobody outside it needs. */
export function withoutUnread(loop: Loop, isNeeded: (node: Node) => boolean): Loop {
  const roots = loop.nest.roots.filter(({node, source}) => node !== source || isNeeded(node));
  if (roots.length === loop.nest.roots.length) return loop;
  const kept = new Set(roots);
  const pieces = loop.built.pieces.map(piece => ({
    ...piece,
    assignments: piece.assignments.filter(({root}) => kept.has(root)),
  }));
  return {
    ...loop,
    nest: {...loop.nest, roots},
    built: {...loop.built, pieces},
    writes: new Set(roots.map(({node}) => node)),
  };
}
