/**
 * Code for a nest: counted loops over the segments of its axes, pointers that advance with them,
 * what does not change hoisted in front, pairs of numbers along one axis with a single last one
 * where the length is odd. Sums are taken in the order of `graph/primitives/summation.ts`: nests have the
 * rows of long ones whole (`pieces.ts` sees to that), in pairs along the vector axis.
 */
import {chains, shortestChains, shortestRow} from '../../graph/primitives/summation.js';
import type {Node} from '../../graph/node.js';
import type {FunctionBody, Local} from '../../wasm/assembler.js';
import type {Instruction} from '../../wasm/instructions.js';
import {awaited, interleavedPairs, resultsOf} from './interleave.js';
import type {Access} from './access.js';
import type {Advance} from './counting.js';
import {repeat} from './counting.js';
import type {Expression} from './expression.js';
import {children} from './expression.js';
import type {Format} from './format.js';
import {constantVector, extract, loadNumber, storeNumber} from './format.js';
import type {Nest, Root} from './nest.js';
import {rowOf} from './nest.js';
import type {Assignment, BuiltPiece, ProgramPiece, CodeSegment} from './pieces.js';
import type {Address, Surroundings} from './point.js';
import {PointEmitter} from './point.js';

/** The partial result of a reduction: for single numbers, and for pairs along the vector axis where that is reduced. */
interface Accumulator {
  readonly number: Local;
  readonly pairs: readonly Local[];
}

/** A pointer that moves with the loops it is made in; `bias` keeps it from passing below zero. */
interface Pointer {
  readonly local: Local;
  readonly bias: number;
}

const start: {readonly [C in Root['combine']]: number} = {
  store: 0,
  scatter: 0,
  scatterAt: 0,
  sum: 0,
  max: -Infinity,
  min: Infinity,
};

export interface LoopSurroundings extends Surroundings {
  /** Pushes nothing, takes nothing: zeroes a value. */
  zero(body: FunctionBody, address: number, of: Node): void;
}

/** Pointers that move on with the tiles of a run, by the bytes from one tile to the next. */
export interface TilePointers {
  pointer(bytes: number): Local;
}

/**
 * @param tiles of a loop whose first axis is that of a run of tiles, which has its loop around this one
 * @param overwrites the loop writes where it reads: at a point, everything is computed before anything is stored
 */
export function emitNest(
  body: FunctionBody,
  {nest, built}: {readonly nest: Nest; readonly built: BuiltPiece},
  overwrites: boolean,
  around: LoopSurroundings,
  tiles?: TilePointers,
): void {
  for (const {node, clear} of nest.roots) {
    const place = around.place(node);
    if (clear && 'address' in place) around.zero(body, place.address, node);
  }
  new NestEmitter(body, nest, built, overwrites, around).emit(tiles);
}

function isReduction(root: Root): boolean {
  return root.combine === 'sum' || root.combine === 'max' || root.combine === 'min';
}

/** The axes from here on are reduced. */
function reducedFrom(root: Root): number {
  let axis = root.resultSteps.length;
  if (!isReduction(root)) return axis;
  while (axis > 0 && root.resultSteps[axis - 1] === 0) axis--;
  return axis;
}

/**
 * Along which axis pairs are formed: the last one that is not cut into single points, or the last one
 * kept where a reduction steps over rows.
 */
function chooseVectorAxis(nest: Nest, {segments}: BuiltPiece, lanes: number): number {
  let last = nest.axes.length - 1;
  while (last > 0 && segments[last].every(({size}) => size === 1)) last--;
  if (last < 0) return -1;
  for (const root of nest.roots) {
    const kept = reducedFrom(root) - 1;
    if (
      kept >= 0
      && kept < last
      && root.sourceSteps[kept] === 1
      && root.sourceSteps[last] !== 1
      && nest.axes[kept].size >= lanes
    )
      return kept;
  }
  return nest.axes[last].size >= lanes ? last : -1;
}

class NestEmitter {
  private readonly at: PointEmitter;
  private readonly vectorAxis: number;
  private readonly format: Format;
  private readonly accumulators = new Map<Root, Accumulator>();
  private readonly pointers = new Map<string, Pointer>();
  /** Axes with a loop around the code being written. */
  private moving = 0;
  /**
   * Points along the vector axis between the loop's pointers and the code being written, and which chain of sums that
   * belongs to.
   */
  private ahead = 0;
  private chain = 0;

  constructor(
    private readonly body: FunctionBody,
    private readonly nest: Nest,
    private readonly built: BuiltPiece,
    private readonly overwrites: boolean,
    private readonly around: LoopSurroundings,
  ) {
    this.format = around.format;
    this.vectorAxis = chooseVectorAxis(nest, built, around.format.lanes);
    this.at = new PointEmitter(body, around);
    this.at.vectorAxis = this.vectorAxis;
    this.at.pointers = {address: (access, base, bytes) => this.address(access, base, bytes)};
  }

  /** @param tiles where the first axis is that of a run of tiles: its pointers, in the loop around */
  emit(tiles?: TilePointers): void {
    if (tiles !== undefined) {
      for (const bytes of tileSteps(this.built.pieces, node => this.around.formatOf(node).bytes))
        this.pointers.set(String(bytes), {local: tiles.pointer(bytes), bias: 0});
      this.moving = 1;
    }
    this.level(tiles === undefined ? 0 : 1, this.built.pieces, false);
  }

  // ---------------------------------------------------------------- loops

  private level(axis: number, pieces: readonly ProgramPiece[], inPairs: boolean): void {
    const begun = this.nest.roots.filter(
      root => isReduction(root) && reducedFrom(root) === axis && axis < this.nest.axes.length,
    );
    for (const root of begun) this.begin(root, inPairs);
    if (this.allPointsFrom(axis)) {
      this.points(pieces, inPairs);
    } else {
      this.built.segments[axis].forEach((segment, s) =>
        this.segment(
          axis,
          segment,
          pieces.filter(piece => piece.segments[axis] === s),
          inPairs,
        ),
      );
    }
    for (const root of begun) this.finish(root, pieces, inPairs);
  }

  /** No axis from here on has a loop, or a reduction: its pieces are single points, side by side. */
  private allPointsFrom(axis: number): boolean {
    const {axes, roots} = this.nest;
    for (let d = axis; d < axes.length; d++) {
      if (
        this.built.segments[d].some(({size}) => size !== 1)
        || roots.some(root => isReduction(root) && reducedFrom(root) === d)
      )
        return false;
    }
    return true;
  }

  private segment(axis: number, {size}: CodeSegment, pieces: readonly ProgramPiece[], inPairs: boolean): void {
    if (size === 0) return;
    const {lanes} = this.format;
    const paired = axis === this.vectorAxis && size >= lanes;
    const step = paired ? lanes : 1;
    const trips = Math.floor(size / step);
    const rest = size - trips * step;
    const loops = trips > 1 || rest > 0;
    if (!loops) {
      this.level(axis + 1, pieces, inPairs || paired);
      return;
    }
    this.at.scope(() => {
      this.hoist(axis, pieces, paired, inPairs);
      this.moving |= 1 << axis;
      const made = this.openPointers(axis, pieces, size);
      const move = (points: number): NamedAdvance[] => made.map(each => ({...each, bytes: each.bytes * points}));
      const inChains =
        paired && size >= shortestChains && [...this.accumulators.values()].some(({pairs}) => pairs.length > 1);
      let left = trips;
      const early =
        paired && !inChains && trips >= interleavedPairs && this.allPointsFrom(axis + 1) ? awaited(pieces, axis) : [];
      if (early.length > 0) {
        repeat(this.body, Math.floor(trips / interleavedPairs), move(step * interleavedPairs), () =>
          this.interleavedPoints(pieces, early),
        );
        left = trips % interleavedPairs;
      } else if (inChains) {
        repeat(this.body, Math.floor(trips / chains), move(step * chains), () => {
          for (this.chain = 0; this.chain < chains; this.chain++) {
            this.ahead = step * this.chain;
            this.level(axis + 1, pieces, true);
          }
          this.chain = 0;
          this.ahead = 0;
        });
        left = trips % chains;
      }
      repeat(this.body, left, left < trips ? move(step).map(each => ({...each, fromZero: false})) : move(step), () =>
        this.level(axis + 1, pieces, inPairs || paired),
      );
      const single = (): void => this.level(axis + 1, pieces, inPairs);
      if (rest > 1)
        repeat(
          this.body,
          rest,
          move(1).map(each => ({...each, fromZero: false})),
          single,
        );
      else if (rest > 0) single();
      for (const {key, local} of made) {
        this.pointers.delete(key);
        this.body.release(local);
      }
      this.moving &= ~(1 << axis);
    });
  }

  // ---------------------------------------------------------------- pointers

  /** The pointers needed inside a loop over an axis: one for each way to move along the axes so far. */
  private openPointers(axis: number, pieces: readonly ProgramPiece[], size: number): NamedAdvance[] {
    const made = new Map<string, NamedAdvance>();
    const want = (access: Access, bytes: number): void => {
      const steps = this.movingSteps(access, bytes, axis);
      if (steps[axis] === 0) return;
      const key = steps.join();
      if (made.has(key)) return;
      const parent = this.pointers.get(parentKey(steps, axis));
      const bias = steps[axis] < 0 ? -steps[axis] * (size - 1) : 0;
      const local = this.body.local('i32');
      if (parent === undefined) this.body.i32(bias).set(local);
      else {
        this.body.get(parent.local);
        if (bias !== 0) this.body.i32(bias).op('i32.add');
        this.body.set(local);
      }
      made.set(key, {key, local, bytes: steps[axis], fromZero: parent === undefined && bias === 0});
      this.pointers.set(key, {local, bias: bias + (parent?.bias ?? 0)});
    };
    const bytesOf = (node: Node): number => this.around.formatOf(node).bytes;
    for (const {access, bytes} of accessesOf(pieces, bytesOf)) want(access, bytes);
    return [...made.values()];
  }

  /** Bytes the access moves along each axis up to this one that has a loop around the current code. */
  private movingSteps(access: Access, bytes: number, axis: number): number[] {
    return access.coefficients.slice(0, axis + 1).map((c, d) => ((this.moving & (1 << d)) !== 0 ? c * bytes : 0));
  }

  private address(access: Access, base: number, bytes: number): Address {
    const steps = this.movingSteps(access, bytes, access.coefficients.length - 1);
    let last = steps.length - 1;
    while (last >= 0 && steps[last] === 0) last--;
    const offset = base + bytes * (access.offset + this.ahead * (access.coefficients[this.vectorAxis] ?? 0));
    if (last < 0) return {pointer: undefined, offset};
    const pointer = this.pointers.get(steps.slice(0, last + 1).join());
    if (pointer === undefined) throw new Error('an access has no pointer');
    return {pointer: pointer.local, offset: offset - pointer.bias};
  }

  // ---------------------------------------------------------------- invariants

  /** Computes what the loop over this axis does not change, as far as it is used where it does. */
  private hoist(axis: number, pieces: readonly ProgramPiece[], paired: boolean, inPairs: boolean): void {
    const pairsBelow =
      paired || (this.vectorAxis > axis && pieces.some(piece => piece.sizes[this.vectorAxis] >= this.format.lanes));
    for (const piece of pieces) {
      let inner = 0;
      for (let d = axis; d < piece.sizes.length; d++) if (piece.sizes[d] > 1) inner |= 1 << d;
      const seen = new Set<Expression>();
      const visit = (e: Expression): void => {
        if (seen.has(e)) return;
        seen.add(e);
        if ((e.varies & inner) === 0) this.at.hoist(e, pairsBelow, inPairs);
        else children(e).forEach(visit);
      };
      for (const {value, position} of piece.assignments) {
        visit(value);
        if (position !== undefined) visit(position);
      }
    }
  }

  // ---------------------------------------------------------------- points

  private points(pieces: readonly ProgramPiece[], inPairs: boolean): void {
    this.at.point(resultsOf(pieces), () => this.assignAll(pieces, inPairs));
  }

  /** The points of several pairs at once, with what functions wait for computed for all of them first. */
  private interleavedPoints(pieces: readonly ProgramPiece[], early: readonly Expression[]): void {
    this.at.interleaved(
      interleavedPairs,
      resultsOf(pieces),
      early,
      pair => (this.ahead = this.format.lanes * pair),
      () => this.assignAll(pieces, true),
    );
    this.ahead = 0;
  }

  private assignAll(pieces: readonly ProgramPiece[], inPairs: boolean): void {
    const assignments = pieces.flatMap(piece => piece.assignments);
    if (!this.overwrites) {
      for (const assignment of assignments) this.assign(assignment, inPairs);
      return;
    }
    const kept = assignments.map((assignment): readonly Local[] => {
      if (this.isWide(assignment, inPairs)) return this.at.wideSum(assignment.value);
      const local = this.body.local(inPairs ? 'v128' : 'f64');
      this.at.push(assignment.value, inPairs);
      this.body.set(local);
      return [local];
    });
    assignments.forEach((assignment, i) => {
      const [local, second] = kept[i];
      if (second === undefined) this.enter(assignment, inPairs, () => this.body.get(local));
      else this.putHalves(assignment, [local, second]);
      for (const own of kept[i]) this.body.release(own);
    });
  }

  /** In single precision: what is stored as doubles, and is a sum of terms that are held so. */
  private isWide({root, target, value}: Assignment, inPairs: boolean): boolean {
    const {node} = root;
    if (!inPairs || this.format.lanes === 2 || this.accumulators.has(root) || 'local' in this.around.place(node))
      return false;
    return this.at.hasWideSum(value, target, this.around.formatOf(node));
  }

  private putHalves({root, target}: Assignment, halves: readonly [Local, Local]): void {
    this.at.storeHalves(target, this.at.addressOf(root.node), half => this.body.get(halves[half]));
  }

  private assign(assignment: Assignment, inPairs: boolean): void {
    switch (assignment.root.combine) {
      case 'scatter':
        this.scatter(assignment, inPairs);
        return;
      case 'scatterAt':
        this.scatterAt(assignment, inPairs);
        return;
      default:
        if (this.isWide(assignment, inPairs)) {
          const halves = this.at.wideSum(assignment.value);
          this.putHalves(assignment, halves);
          for (const half of halves) this.body.release(half);
        } else this.enter(assignment, inPairs, () => this.at.push(assignment.value, inPairs));
    }
  }

  /** Stores the value that `push` leaves on the stack, or takes it into its reduction. */
  private enter({root, target}: Assignment, inPairs: boolean, push: () => void): void {
    const accumulator = this.accumulators.get(root);
    // Without one, the root stores, or every axis it would reduce has size 1.
    if (accumulator === undefined) {
      this.put(root, target, inPairs, push);
      return;
    }
    const {number, pairs} = accumulator;
    if (inPairs && pairs.length === 0 && number.type === 'f64') {
      this.enterInTurn(number, numberCombination(root), push);
      return;
    }
    const local = inPairs ? (pairs[this.chain] ?? pairs[0] ?? number) : number;
    this.body.get(local);
    push();
    this.body.op(this.combination(root, inPairs)).set(local);
  }

  /** Takes the numbers of the pair that `push` leaves one after the other. */
  private enterInTurn(total: Local, combine: 'f64.add' | 'f64.max' | 'f64.min', push: () => void): void {
    const {body} = this;
    const pair = body.local('v128');
    push();
    body.set(pair).get(total);
    this.joinLanes(pair, combine);
    body.set(total);
    body.release(pair);
  }

  /** Takes the numbers of a vector into the one on the stack. */
  private joinLanes(vector: Local, combine: Instruction): void {
    for (let lane = 0; lane < this.format.lanes; lane++) {
      this.body.get(vector);
      extract(this.body, this.format, lane);
      this.body.op(combine);
    }
  }

  private put(root: Root, target: Access, inPairs: boolean, push: () => void): void {
    const place = this.around.place(root.node);
    if ('local' in place) {
      push();
      this.body.set(place.local);
    } else this.at.store(target, place.address, this.around.formatOf(root.node), inPairs, push);
  }

  /** Adds to elements one after another: two of a pair may be the same. */
  private scatter({root, value, target, entry}: Assignment, inPairs: boolean): void {
    const {body, at} = this;
    const base = at.addressOf(root.node);
    const format = this.around.formatOf(root.node);
    this.eachNumber(value, inPairs, (number, lane) => {
      const address = body.local('i32');
      at.pushElementAddress(target, base, format, lane);
      const {table} = root;
      if (table === undefined) {
        body.set(address);
        addTo(body, address, number, format);
      } else {
        const offset = body.local('i32');
        at.pushEntry(table, entry, lane, format.bytes);
        body.tee(offset).op('i32.add').set(address);
        if (table.some(position => position < 0))
          body
            .get(offset)
            .i32(0)
            .op('i32.ge_s')
            .if(() => addTo(body, address, number, format));
        else addTo(body, address, number, format);
        body.release(offset);
      }
      body.release(address);
    });
  }

  private scatterAt({root, value, position}: Assignment, inPairs: boolean): void {
    if (position === undefined) throw new Error('a scatterAt without positions');
    const {body, at} = this;
    const base = at.addressOf(root.node);
    const format = this.around.formatOf(root.node);
    const positions: Local[] = [];
    this.eachNumber(position, inPairs, number => {
      const kept = body.local('f64');
      body.get(number).set(kept);
      positions.push(kept);
    });
    this.eachNumber(value, inPairs, (number, lane) => {
      const where = positions[lane];
      at.pushInside(where, root.node.size);
      body.if(() => {
        const address = body.local('i32');
        at.pushPositionAddress(where, base, format);
        body.set(address);
        addTo(body, address, number, format);
        body.release(address);
      });
    });
    positions.forEach(local => body.release(local));
  }

  /** Runs code for the number, or each of the pair, with it in a local. */
  private eachNumber(e: Expression, inPairs: boolean, code: (number: Local, lane: number) => void): void {
    const {body} = this;
    const number = body.local('f64');
    if (!inPairs) {
      this.at.push(e, false);
      body.set(number);
      code(number, 0);
    } else {
      const pair = body.local('v128');
      this.at.push(e, true);
      body.set(pair);
      for (let lane = 0; lane < this.format.lanes; lane++) {
        body.get(pair);
        extract(body, this.format, lane);
        body.set(number);
        code(number, lane);
      }
      body.release(pair);
    }
    body.release(number);
  }

  // ---------------------------------------------------------------- reductions

  private begin(root: Root, inPairs: boolean): void {
    const {body} = this;
    const number = body.local(inPairs ? 'v128' : 'f64');
    const first = start[root.combine];
    if (inPairs) constantVector(body, this.format, first);
    else body.f64(first);
    body.set(number);
    const pairs = Array.from({length: this.chainsOf(root)}, () => {
      const pair = body.local('v128');
      constantVector(body, this.format, first);
      body.set(pair);
      return pair;
    });
    this.accumulators.set(root, {number, pairs});
  }

  /** Pairs to reduce in; none where the vector axis is kept, or numbers are added one after another. */
  private chainsOf(root: Root): number {
    if (this.vectorAxis < reducedFrom(root) || (root.combine === 'sum' && rowOf(root) < shortestRow)) return 0;
    const longest = Math.max(...this.built.segments[this.vectorAxis].map(({size}) => size));
    return longest >= shortestChains ? chains : 1;
  }

  private finish(root: Root, pieces: readonly ProgramPiece[], inPairs: boolean): void {
    const {body} = this;
    const accumulator = this.accumulators.get(root);
    const target = pieces[0]?.assignments.find(assignment => assignment.root === root)?.target;
    if (accumulator === undefined || target === undefined) throw new Error('a reduction without points');
    const {
      number,
      pairs: [total, ...others],
    } = accumulator;
    if (total !== undefined)
      for (const other of others) body.get(total).get(other).op(this.combination(root, true)).set(total);
    this.put(root, target, inPairs, () => {
      body.get(number);
      if (total === undefined) return;
      if (this.format.lanes !== 2) {
        this.joinLanes(total, numberCombination(root));
        return;
      }
      const join = numberCombination(root);
      body.get(total).extractLane(0).get(total).extractLane(1).op(join, join);
    });
    for (const local of [number, ...accumulator.pairs]) body.release(local);
    this.accumulators.delete(root);
  }

  private combination(root: Root, inPairs: boolean): Instruction {
    const scalar = numberCombination(root);
    return inPairs ? (scalar.replace('f64', this.format.vector) as Instruction) : scalar;
  }
}

interface NamedAdvance extends Advance {
  readonly key: string;
}

function parentKey(steps: readonly number[], axis: number): string {
  let last = axis - 1;
  while (last >= 0 && steps[last] === 0) last--;
  return steps.slice(0, last + 1).join();
}

function numberCombination({combine}: Root): 'f64.add' | 'f64.max' | 'f64.min' {
  return combine === 'max' ? 'f64.max' : combine === 'min' ? 'f64.min' : 'f64.add';
}

function addTo(body: FunctionBody, address: Local, number: Local, format: Format): void {
  body.get(address).get(address);
  loadNumber(body, format, 0);
  body.get(number).op('f64.add');
  storeNumber(body, format, 0);
}

/** The bytes by which accesses move on from tile to tile. */
export function tileSteps(pieces: readonly ProgramPiece[], bytesOf: (node: Node) => number): Set<number> {
  const steps = accessesOf(pieces, bytesOf).map(({access, bytes}) => access.coefficients[0] * bytes);
  return new Set(steps.filter(step => step !== 0));
}

/** Every address that pieces use, with the bytes of an element. */
function accessesOf(
  pieces: readonly ProgramPiece[],
  bytesOf: (node: Node) => number,
): {access: Access; bytes: number}[] {
  const list: {access: Access; bytes: number}[] = [];
  const seen = new Set<Expression>();
  const visit = (e: Expression): void => {
    if (seen.has(e)) return;
    seen.add(e);
    if (e.kind === 'load' || e.kind === 'lookup') list.push({access: e.access, bytes: bytesOf(e.of)});
    if (e.kind === 'lookup') list.push({access: e.entry, bytes: 4});
    children(e).forEach(visit);
  };
  for (const {root, value, target, entry, position} of pieces.flatMap(({assignments}) => assignments)) {
    visit(value);
    if (position !== undefined) visit(position);
    list.push({access: target, bytes: bytesOf(root.node)});
    if (root.table !== undefined) list.push({access: entry, bytes: 4});
  }
  return list;
}
