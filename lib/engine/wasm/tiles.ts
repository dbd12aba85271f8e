/**
 * Steps that run over the same long leading axis, such as the elements of a mesh or the members of a batch, are taken
 * together for some rows at a time: what one step leaves for another then needs memory for these rows alone, which
 * stay in the cache (strip mining: Wolfe, High Performance Compilers for Parallel Computing, 1996, §9). Each row is
 * computed by the instructions that would compute it otherwise, in the same order.
 */
import type {Node} from '../../graph/node.js';
import {isOp} from '../../graph/node.js';
import {isBlocked} from '../../graph/primitives/contraction.js';
import type {Access} from './access.js';
import {reachOf} from './access.js';
import type {Expression} from './expression.js';
import {variation} from './expression.js';
import type {Loop} from './fuse.js';
import {visitExpressions} from './fuse.js';
import type {KernelStep, PlainStep, Step, TiledSteps} from './steps.js';
import type {LoopOperand} from './operands.js';
import type {Assignment} from './pieces.js';

/** A run of tiles of one size. */
export interface TileRun {
  readonly first: number;
  readonly rows: number;
  readonly tiles: number;
}

/** The whole tiles, and the rows that are left. */
export function tileRuns({rows, atOnce}: TiledSteps): TileRun[] {
  const tiles = Math.floor(rows / atOnce);
  const rest = rows - tiles * atOnce;
  const whole = {first: 0, rows: atOnce, tiles};
  return rest === 0 ? [whole] : [whole, {first: tiles * atOnce, rows: rest, tiles: 1}];
}

/** What is taken in tiles, and how many rows at a time. */
export interface TileLimits {
  /** Bytes that tiles have to save. */
  readonly leastSaved: number;
  /** Bytes of the local values of a tile. */
  readonly tileBytes: number;
  readonly fewestRows: number;
  readonly mostRows: number;
  /** Shorter axes are not looked at. */
  readonly shortestAxis: number;
}

/**
 * What fits into the second level of the cache is not worth a loop of its own. A tile takes a fourth of a second level
 * of 512 KiB, as what comes from outside needs room, too; a multiple of eight rows fills pairs, and is worth the
 * beginnings of its loops.
 */
export const worthTiles: TileLimits = {
  leastSaved: 2 ** 20,
  tileBytes: 2 ** 17,
  fewestRows: 8,
  mostRows: 128,
  shortestAxis: 256,
};

/** The steps in an order in which those over one leading axis stand together, as far as that saves memory. */
export function tiled(steps: readonly PlainStep[], outputs: ReadonlySet<Node>, limits: TileLimits): Step[] {
  let all: Step[] = [...steps];
  for (const rows of leadingAxes(steps, limits)) all = gathered(all, rows, outputs, limits) ?? all;
  return all;
}

/** Sizes of the leading axes of what is stored, those with the most numbers first. */
function leadingAxes(steps: readonly PlainStep[], {shortestAxis, leastSaved}: TileLimits): number[] {
  const numbers = new Map<number, number>();
  for (const {shape, size} of new Set(steps.flatMap(step => [...step.writes])))
    if (shape.length > 0 && shape[0] >= shortestAxis) numbers.set(shape[0], (numbers.get(shape[0]) ?? 0) + size);
  return [...numbers]
    .filter(([, count]) => 8 * count >= leastSaved)
    .sort(([, a], [, b]) => b - a)
    .map(([rows]) => rows);
}

/** The steps over that many rows taken together; undefined where that does not save enough. */
function gathered(
  steps: readonly Step[],
  rows: number,
  outputs: ReadonlySet<Node>,
  limits: TileLimits,
): Step[] | undefined {
  const before: Step[] = [];
  const within: PlainStep[] = [];
  const after: Step[] = [];
  const made = new Set<Node>();
  /** Of these any row may change until the last tile has run. */
  const unfinished = new Set<Node>();
  const later = new Set<Node>();
  for (const step of steps) {
    const touches = (values: ReadonlySet<Node>): boolean =>
      [...step.reads, ...step.writes].some(node => values.has(node));
    const waits = touches(later) || [...step.reads].some(node => unfinished.has(node));
    if (!waits && step.kind !== 'tiles' && keepsRows(step, rows, made)) {
      within.push(step);
      for (const node of step.writes) made.add(node);
      for (const node of scatteredBy(step)) unfinished.add(node);
    } else if (!waits && !touches(made)) before.push(step);
    else {
      after.push(step);
      for (const node of step.writes) later.add(node);
    }
  }
  const elsewhere = new Set<Node>(outputs);
  for (const step of [...before, ...after]) for (const node of [...step.reads, ...step.writes]) elsewhere.add(node);
  for (const node of unfinished) elsewhere.add(node);
  const local = new Set([...made].filter(node => !elsewhere.has(node)));
  const bytes = 8 * [...local].reduce((sum, {size}) => sum + size, 0);
  if (local.size === 0 || bytes < limits.leastSaved) return undefined;
  const reads = new Set(within.flatMap(step => [...step.reads]).filter(node => !made.has(node)));
  const writes = new Set([...made].filter(node => !local.has(node)));
  const atOnce = rowsAtOnce(rows, bytes / rows, limits);
  return [...before, {kind: 'tiles', steps: within, rows, atOnce, local, writes, reads}, ...after];
}

/** Values that a step adds to, anywhere in them. */
function scatteredBy(step: PlainStep): Node[] {
  if (step.kind === 'kernel') return [];
  return step.nest.roots.filter(({combine}) => combine === 'scatter' || combine === 'scatterAt').map(({node}) => node);
}

/** As many rows as fit, and if there is one near, a number that divides all of them. */
function rowsAtOnce(rows: number, bytes: number, {tileBytes, fewestRows, mostRows}: TileLimits): number {
  const fitting = 8 * Math.floor(tileBytes / bytes / 8);
  const most = Math.min(mostRows, Math.max(fewestRows, fitting), rows);
  for (let count = most; 2 * count > most; count -= 2) if (rows % count === 0) return count;
  return most;
}

// ---------------------------------------------------------------- which steps

/** Whether a step computes rows one by one, from the same rows of what the steps before it made. */
function keepsRows(step: PlainStep, rows: number, made: ReadonlySet<Node>): boolean {
  return step.kind === 'loop' ? loopKeepsRows(step, rows, made) : kernelKeepsRows(step, rows, made);
}

function loopKeepsRows({nest, built}: Loop, rows: number, made: ReadonlySet<Node>): boolean {
  if (nest.axes.length === 0 || built.segments[0].length !== 1 || nest.axes[0].size % rows !== 0) return false;
  const points = nest.axes[0].size / rows;
  return built.pieces.every(piece => {
    const sizes = [points, ...piece.sizes.slice(1)];
    const isRow = (of: Node, access: Access): boolean => isRowOf(of, access, sizes, rows);
    let keeps = true;
    visitExpressions({pieces: [piece]}, e => {
      if (e.kind === 'load') keeps &&= made.has(e.of) ? isRow(e.of, e.access) : forward(e.access);
      else if (e.kind === 'lookup') keeps &&= !made.has(e.of) && forward(e.access) && forward(e.entry);
      else if (e.kind === 'loadAt') keeps &&= !made.has(e.of);
    });
    return (
      keeps
      && piece.assignments.every(({root, target, entry}) =>
        root.combine === 'scatter' || root.combine === 'scatterAt'
          ? forward(target) && forward(entry)
          : isRow(root.node, target),
      )
    );
  });
}

/** Pointers of a run of tiles only move forwards. */
function forward({coefficients}: Access): boolean {
  return coefficients[0] >= 0;
}

/** Whether an access for row i is within row i of a value. */
function isRowOf(of: Node, access: Access, sizes: readonly number[], rows: number): boolean {
  const length = of.size / rows;
  if (!Number.isInteger(length) || access.coefficients[0] * sizes[0] !== length) return false;
  const [low, high] = reachOf(access, sizes);
  return low >= 0 && high < length;
}

function kernelKeepsRows({node, operands}: KernelStep, rows: number, made: ReadonlySet<Node>): boolean {
  if (!isOp(node, 'matMul') || node.shape[0] % rows !== 0 || isBlocked(node)) return false;
  const products = node.shape[0] / rows;
  return operands.every(({of, offset, strides}, i) => {
    if (!made.has(of)) return strides[0] >= 0;
    const [, m, n] = node.operands[i].shape;
    return isRowOf(of, {offset, coefficients: strides}, [products, m, n], rows);
  });
}

// ---------------------------------------------------------------- what a tile runs

/** A loop over the rows of a tile, with the tiles of a run as its first axis. */
export function loopOfTile(loop: Loop, {rows, local}: TiledSteps, run: TileRun): Loop {
  const {nest, built} = loop;
  const points = (nest.axes[0].size / rows) * run.rows;
  const before = (nest.axes[0].size / rows) * run.first;
  const moved = ({offset, coefficients: [c, ...rest]}: Access, isLocal: boolean): Access =>
    isLocal
      ? {offset, coefficients: [0, c, ...rest]}
      : {offset: offset + before * c, coefficients: [points * c, c, ...rest]};
  const rewritten = new Map<Expression, Expression>();
  const rewrite = (e: Expression): Expression => {
    let found = rewritten.get(e);
    if (found === undefined) rewritten.set(e, (found = withTiles(e, moved, rewrite, local)));
    return found;
  };
  const assigned = ({root, value, target, entry, position}: Assignment): Assignment => ({
    root: roots[nest.roots.indexOf(root)],
    value: rewrite(value),
    target: moved(target, local.has(root.node)),
    entry: moved(entry, false),
    position: position === undefined ? undefined : rewrite(position),
  });
  const split = (steps: readonly number[]): number[] => [points * steps[0], ...steps];
  const roots = nest.roots.map(root => ({
    ...root,
    sourceSteps: split(root.sourceSteps),
    resultSteps: split(root.resultSteps),
    tableSteps: split(root.tableSteps),
  }));
  const axes = [{size: run.tiles, cuts: []}, {size: points, cuts: []}, ...nest.axes.slice(1)];
  const pieces = built.pieces.map(piece => ({
    segments: [0, ...piece.segments],
    sizes: [run.tiles, points, ...piece.sizes.slice(1)],
    assignments: piece.assignments.map(assigned),
  }));
  const segments = [[{from: 0, size: run.tiles}], [{from: 0, size: points}], ...built.segments.slice(1)];
  return {
    ...loop,
    nest: {axes, roots, flat: false},
    built: {pieces, segments, extended: () => undefined},
    extended: () => undefined,
  };
}

function withTiles(
  e: Expression,
  moved: (access: Access, isLocal: boolean) => Access,
  rewrite: (e: Expression) => Expression,
  local: ReadonlySet<Node>,
): Expression {
  switch (e.kind) {
    case 'constant':
      return e;
    case 'load': {
      const access = moved(e.access, local.has(e.of));
      return {...e, access, varies: variation(access)};
    }
    case 'lookup': {
      const [access, entry] = [moved(e.access, false), moved(e.entry, false)];
      return {...e, access, entry, varies: variation(access) | variation(entry)};
    }
    case 'loadAt': {
      const position = rewrite(e.position);
      return {...e, position, varies: position.varies};
    }
    case 'unary': {
      const x = rewrite(e.x);
      return {...e, x, varies: x.varies};
    }
    case 'binary': {
      const [a, b] = [rewrite(e.a), rewrite(e.b)];
      return {...e, a, b, varies: a.varies | b.varies};
    }
    case 'select': {
      const [condition, a, b] = [rewrite(e.condition), rewrite(e.a), rewrite(e.b)];
      return {...e, condition, a, b, varies: condition.varies | a.varies | b.varies};
    }
  }
}

/** Products of a tile, and the numbers by which an operand, or the result, moves on from tile to tile. */
export interface TileProducts {
  readonly batch: number;
  /** From the beginning of the value to the first tile of the run. */
  begin(operand: LoopOperand): number;
  step(operand: LoopOperand): number;
}

export function productsOfTile(node: Node<'matMul'>, {rows, local}: TiledSteps, run: TileRun): TileProducts {
  const products = node.shape[0] / rows;
  return {
    batch: products * run.rows,
    begin: ({of, strides}) => (local.has(of) ? 0 : products * run.first * strides[0]),
    step: ({of, strides}) => (local.has(of) ? 0 : products * run.rows * strides[0]),
  };
}
