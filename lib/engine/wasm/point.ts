/**
 * Code for one point of a loop: pushes an expression's value as one number, or the values at this
 * point and the next along the vector axis as a pair. What does not change along the vector axis is
 * computed as one number and doubled.
 */
import type {BinaryName, Node} from '../../graph/node.js';
import type {FunctionBody, Local} from '../../wasm/assembler.js';
import type {Instruction} from '../../wasm/instructions.js';
import type {Access} from './access.js';
import type {Expression, ExpressionOf} from './expression.js';
import {children} from './expression.js';
import type {FunctionName} from './functions.js';
import {
  constantVector,
  double,
  extract,
  type Format,
  inFormat,
  loadNumber,
  narrow,
  replace,
  splat,
  storeNumber,
  widen,
} from './format.js';
import {binaryForms, unaryForms} from './functions.js';
import {termsOf, type SumTerm} from './sum-terms.js';

/** Where a stored value is: at an address of the memory, or, if it is one number, in a local. */
export type ValueLocation = {readonly address: number} | {readonly local: Local};

export interface Surroundings {
  /** Format of vectors; single numbers are computed in double precision. */
  readonly format: Format;
  /** Format in which a stored value is held. */
  formatOf(of: Node): Format;
  place(of: Node): ValueLocation;
  /** Address of a table of byte offsets, of numbers of so many bytes. */
  table(table: Int32Array, bytes: Format['bytes']): number;
  /** Index of the function that computes it. */
  call(fn: FunctionName | BinaryName): number;
}

/** A pointer local and what to add to it; no pointer stands for zero. */
export interface Address {
  readonly pointer: Local | undefined;
  readonly offset: number;
}

export interface Pointers {
  /** Address of an element of an array that begins at `base`, with so many bytes an element. */
  address(access: Access, base: number, bytes: number): Address;
}

/** A value in a local, under the map that knows it. */
interface Kept {
  readonly map: Map<Expression, Local>;
  readonly e: Expression;
  readonly local: Local;
}

/** A vector of zeros lies at address 0: what a missing position reads. */
const zeroAddress = 0;

export class PointEmitter {
  /** Values that are already in locals, as numbers and as pairs. */
  private readonly numbers = new Map<Expression, Local>();
  private readonly pairs = new Map<Expression, Local>();
  private uses = new Map<Expression, number>();
  private made: Kept[] = [];
  pointers: Pointers = {address: (access, base, bytes) => ({pointer: undefined, offset: base + bytes * access.offset})};
  /** Axis along which pairs are formed. */
  vectorAxis = -1;

  private readonly format: Format;

  constructor(
    readonly body: FunctionBody,
    private readonly around: Surroundings,
  ) {
    this.format = around.format;
  }

  // ---------------------------------------------------------------- scopes

  /** Runs code whose locals are forgotten afterwards. */
  scope(code: () => void): void {
    const outer = this.made;
    this.made = [];
    code();
    this.forget(this.made);
    this.made = outer;
  }

  private forget(made: readonly Kept[]): void {
    for (const {map, e, local} of made) {
      map.delete(e);
      this.body.release(local);
    }
  }

  /** Runs code for one point: values used more than once there are computed once. */
  point(results: readonly Expression[], code: () => void): void {
    const outer = this.uses;
    this.uses = new Map();
    for (const e of results) this.count(e);
    this.scope(code);
    this.uses = outer;
  }

  /**
   * As `point`, for so many pairs side by side: what is to be had early is computed for one after the other, then comes
   * each one's code. `enter` is called whenever the code that follows is another pair's.
   */
  interleaved(
    pairs: number,
    results: readonly Expression[],
    early: readonly Expression[],
    enter: (pair: number) => void,
    code: () => void,
  ): void {
    const [outerUses, outerMade] = [this.uses, this.made];
    this.uses = new Map();
    for (const e of results) this.count(e);
    const own = Array.from({length: pairs}, (): Kept[] => []);
    const each = (run: () => void): void =>
      own.forEach((kept, pair) => {
        this.made = kept;
        for (const {map, e, local} of kept) map.set(e, local);
        enter(pair);
        run();
        for (const {map, e} of kept) map.delete(e);
      });
    for (const e of early) {
      each(() => {
        this.fresh(e, true);
        this.body.set(this.keep(this.pairs, e, 'v128'));
      });
    }
    each(code);
    for (const kept of own) this.forget(kept);
    [this.uses, this.made] = [outerUses, outerMade];
  }

  private count(e: Expression): void {
    const before = this.uses.get(e) ?? 0;
    this.uses.set(e, before + 1);
    if (before === 0 && !this.numbers.has(e) && !this.pairs.has(e)) for (const child of children(e)) this.count(child);
  }

  private keep(map: Map<Expression, Local>, e: Expression, type: 'f64' | 'v128'): Local {
    const local = this.body.local(type);
    map.set(e, local);
    this.made.push({map, e, local});
    return local;
  }

  /** Computes a value before a loop that does not change it; `paired` if pairs of it are needed inside. */
  hoist(e: Expression, paired: boolean, inPairs: boolean): void {
    if (inPairs && this.variesInPair(e)) {
      if (!this.pairs.has(e)) {
        this.push(e, true);
        this.body.set(this.keep(this.pairs, e, 'v128'));
      }
      return;
    }
    if (e.kind === 'constant') {
      if ((paired || inPairs) && !this.pairs.has(e)) {
        constantVector(this.body, this.format, e.value);
        this.body.set(this.keep(this.pairs, e, 'v128'));
      }
      return;
    }
    if (!this.numbers.has(e)) {
      this.push(e, false);
      this.body.set(this.keep(this.numbers, e, 'f64'));
    }
    if ((paired || inPairs) && !this.pairs.has(e)) {
      this.push(e, false);
      splat(this.body, this.format);
      this.body.set(this.keep(this.pairs, e, 'v128'));
    }
  }

  private variesInPair(e: Expression): boolean {
    return this.vectorAxis >= 0 && (e.varies & (1 << this.vectorAxis)) !== 0;
  }

  // ---------------------------------------------------------------- addresses

  private pushPointer({pointer, offset}: Address): number {
    if (pointer === undefined) this.body.i32(0);
    else this.body.get(pointer);
    if (offset >= 0) return offset;
    this.body.i32(offset).op('i32.add');
    return 0;
  }

  /** Pushes the dynamic part of an element's address; returns what the instruction is to add. */
  private pushAddress(access: Access, base: number, {bytes}: Format): number {
    return this.pushPointer(this.pointers.address(access, base, bytes));
  }

  /** The position so many steps along the vector axis. */
  private ahead(access: Access, lane: number): Access {
    return {offset: access.offset + lane * this.coefficient(access), coefficients: access.coefficients};
  }

  private coefficient(access: Access): number {
    return access.coefficients[this.vectorAxis] ?? 0;
  }

  private placeOf(of: Node): ValueLocation {
    return this.around.place(of);
  }

  addressOf(of: Node): number {
    const place = this.placeOf(of);
    if ('local' in place) throw new Error(`${of.op} has no address`);
    return place.address;
  }

  // ---------------------------------------------------------------- values

  /** Pushes a value: as one number, or `paired` as a vector along the vector axis. */
  push(e: Expression, paired: boolean): void {
    const {body} = this;
    const kept = paired ? this.pairs : this.numbers;
    const known = kept.get(e);
    if (known !== undefined) {
      body.get(known);
      return;
    }
    if (!paired || e.kind === 'constant' || this.variesInPair(e)) this.fresh(e, paired);
    else {
      this.push(e, false);
      splat(body, this.format);
    }
    if ((paired || e.kind !== 'constant') && (this.uses.get(e) ?? 0) > 1)
      body.tee(this.keep(kept, e, paired ? 'v128' : 'f64'));
  }

  private constant(value: number, paired: boolean): void {
    if (paired) constantVector(this.body, this.format, value);
    else this.body.f64(value);
  }

  private instruction({scalar, vector}: {scalar: Instruction; vector: Instruction}, paired: boolean): void {
    this.body.op(paired ? inFormat(this.format, vector) : scalar);
  }

  private fresh(e: Expression, paired: boolean): void {
    const {body} = this;
    switch (e.kind) {
      case 'constant':
        this.constant(e.value, paired);
        return;
      case 'load':
        if (paired) this.loadPair(e);
        else this.loadNumber(e);
        return;
      case 'lookup': {
        const format = this.around.formatOf(e.of);
        const push = (lane: number): number => {
          this.pushLookup(e, lane);
          return 0;
        };
        const contiguous = this.coefficient(e.entry) === 0 && this.coefficient(e.access) === 1;
        if (paired) this.loadVector(format, contiguous, push);
        else loadNumber(body, format, push(0));
        return;
      }
      case 'loadAt':
        this.push(e.position, paired);
        this.byLanes(paired, () => this.loadAt(e));
        return;
      case 'unary': {
        const form = unaryForms[e.fn];
        this.push(e.x, paired);
        if (form.by === 'instruction') this.instruction(form, paired);
        else if (form.by !== 'function') this.byLanes(paired, () => body.call(this.around.call(e.fn)));
        else if (paired) body.call(this.around.call(e.fn));
        else {
          splat(body, this.format);
          body.call(this.around.call(e.fn));
          extract(body, this.format, 0);
        }
        return;
      }
      case 'binary': {
        const form = binaryForms[e.fn];
        if (form.by === 'comparison' || form.by === 'logic') {
          this.freshCondition(e, paired);
          if (paired) {
            this.constant(1, true);
            body.op('v128.and');
          } else body.op('f64.convert_i32_u');
          return;
        }
        this.push(e.a, paired);
        this.push(e.b, paired);
        if (form.by === 'instruction') this.instruction(form, paired);
        else if (paired) this.byLanesOfTwo(() => body.call(this.around.call(e.fn)));
        else body.call(this.around.call(e.fn));
        return;
      }
      case 'select':
        this.push(e.a, paired);
        this.push(e.b, paired);
        this.condition(e.condition, paired);
        body.op(paired ? 'v128.bitselect' : 'select');
    }
  }

  /** Pushes a condition, as an i32, or with all bits of a number set where it holds. */
  private condition(e: Expression, paired: boolean): void {
    const kept = paired ? this.pairs : this.numbers;
    const isFresh = !kept.has(e) && (this.uses.get(e) ?? 0) <= 1 && (!paired || this.variesInPair(e));
    if (e.kind === 'binary' && isFresh && ['comparison', 'logic'].includes(binaryForms[e.fn].by)) {
      this.freshCondition(e, paired);
      return;
    }
    this.push(e, paired);
    this.constant(0, paired);
    this.instruction({scalar: 'f64.ne', vector: 'f64x2.ne'}, paired);
  }

  private freshCondition(e: ExpressionOf<'binary'>, paired: boolean): void {
    const form = binaryForms[e.fn];
    if (form.by !== 'comparison' && form.by !== 'logic') throw new Error(`${e.fn} is no condition`);
    for (const operand of [e.a, e.b]) {
      if (form.by === 'comparison') this.push(operand, paired);
      else this.condition(operand, paired);
    }
    this.instruction(form, paired);
  }

  private loadNumber({of, access}: ExpressionOf<'load'>): void {
    const place = this.placeOf(of);
    if ('local' in place) this.body.get(place.local);
    else {
      const format = this.around.formatOf(of);
      loadNumber(this.body, format, this.pushAddress(access, place.address, format));
    }
  }

  private loadPair({of, access}: ExpressionOf<'load'>): void {
    const [base, format] = [this.addressOf(of), this.around.formatOf(of)];
    const push = (lane: number): number => this.pushAddress(this.ahead(access, lane), base, format);
    this.loadVector(format, this.coefficient(access) === 1, push);
  }

  /** Pushes the full address of a looked-up element, `lane` steps along the vector axis. */
  private pushLookup(e: ExpressionOf<'lookup'>, lane: number): void {
    const {body} = this;
    const {bytes} = this.around.formatOf(e.of);
    const from = this.pointers.address(this.ahead(e.access, lane), this.addressOf(e.of), bytes);
    if (from.pointer === undefined) body.i32(from.offset);
    else body.get(from.pointer).i32(from.offset).op('i32.add');
    this.pushEntry(e.table, e.entry, lane, bytes);
    if (!e.table.some(at => at < 0)) {
      body.op('i32.add');
      return;
    }
    const entry = body.local('i32');
    body.tee(entry).op('i32.add').i32(zeroAddress).get(entry).i32(0).op('i32.ge_s', 'select');
    body.release(entry);
  }

  /** Pushes an entry of a table of byte offsets, in an array of numbers of so many bytes. */
  pushEntry(table: Int32Array, entry: Access, lane: number, bytes: Format['bytes']): void {
    const at = this.pointers.address(this.ahead(entry, lane), this.around.table(table, bytes), 4);
    this.body.memory('i32.load', this.pushPointer(at));
  }

  /** Takes a position from the stack and pushes the element there, or 0 outside the array. */
  private loadAt(e: ExpressionOf<'loadAt'>): void {
    const {body} = this;
    const position = body.local('f64');
    const format = this.around.formatOf(e.of);
    body.set(position);
    this.pushPositionAddress(position, this.addressOf(e.of), format);
    body.i32(zeroAddress);
    this.pushInside(position, e.of.size);
    body.op('select');
    loadNumber(body, format, 0);
    body.release(position);
  }

  pushPositionAddress(position: Local, base: number, {bytes}: Format): void {
    this.body.get(position).op('i32.trunc_sat_f64_s').i32(Math.log2(bytes)).op('i32.shl').i32(base).op('i32.add');
  }

  /** Pushes whether a position lies in 0 … count − 1; not for NaN. */
  pushInside(position: Local, count: number): void {
    this.body.get(position).f64(0).op('f64.ge').get(position).f64(count).op('f64.lt', 'i32.and');
  }

  /**
   * Loads a vector of numbers held in a format; `push` pushes a number's address, by lane, and returns what the
   * instruction is to add.
   */
  private loadVector(held: Format, contiguous: boolean, push: (lane: number) => number): void {
    const {body, format} = this;
    const load = (from: number): void => {
      if (contiguous) {
        body.memory('v128.load', push(from));
        return;
      }
      const offsets = Array.from({length: held.lanes}, (_, i) => push(from + held.lanes - 1 - i)).reverse();
      body.memory(held.loadZero, offsets[0]);
      for (let lane = 1; lane < held.lanes; lane++) body.laneMemory(held.loadLane, offsets[lane], lane);
    };
    if (held.lanes > format.lanes) {
      // Two numbers, to be widened.
      if (contiguous) body.memory(double.loadZero, push(0));
      else {
        const [second, first] = [push(1), push(0)];
        body.memory(held.loadZero, first).laneMemory(held.loadLane, second, 1);
      }
      body.op('f64x2.promote_low_f32x4');
      return;
    }
    load(0);
    if (held.lanes === format.lanes) return;
    load(2);
    narrow(body);
  }

  /** Applies scalar code to the number on the stack, or to all numbers of the vector. */
  private byLanes(paired: boolean, code: () => void): void {
    const {body, format} = this;
    if (!paired) {
      code();
      return;
    }
    const x = body.local('v128');
    body.tee(x);
    extract(body, format, 0);
    code();
    splat(body, format);
    for (let lane = 1; lane < format.lanes; lane++) {
      body.get(x);
      extract(body, format, lane);
      code();
      replace(body, format, lane);
    }
    body.release(x);
  }

  private byLanesOfTwo(code: () => void): void {
    const {body, format} = this;
    const a = body.local('v128');
    const b = body.local('v128');
    body.set(b).set(a);
    for (let lane = 0; lane < format.lanes; lane++) {
      for (const local of [a, b]) {
        body.get(local);
        extract(body, format, lane);
      }
      code();
      if (lane === 0) splat(body, format);
      else replace(body, format, lane);
    }
    body.release(a);
    body.release(b);
  }

  // ---------------------------------------------------------------- results

  /** Stores the number (or vector) that `push` leaves on the stack, in a format. */
  store(target: Access, base: number, held: Format, inPairs: boolean, push: () => void): void {
    const {body, format} = this;
    if (!inPairs) {
      const offset = this.pushAddress(target, base, held);
      push();
      storeNumber(body, held, offset);
      return;
    }
    const contiguous = this.coefficient(target) === 1;
    if (contiguous && held.lanes === format.lanes) {
      const offset = this.pushAddress(target, base, held);
      push();
      body.memory('v128.store', offset);
      return;
    }
    const value = body.local('v128');
    push();
    body.set(value);
    if (contiguous) this.storeWidened(target, base, value);
    else
      for (let lane = 0; lane < format.lanes; lane++) {
        const offset = this.pushAddress(this.ahead(target, lane), base, held);
        body.get(value);
        if (held.lanes === format.lanes) body.laneMemory(held.storeLane, offset, lane);
        else {
          extract(body, format, lane);
          storeNumber(body, held, offset);
        }
      }
    body.release(value);
  }

  private storeWidened(target: Access, base: number, value: Local): void {
    this.storeHalves(target, base, half => widen(this.body, value, half));
  }

  /** Stores four numbers as doubles: `push` leaves two of them on the stack. */
  storeHalves(target: Access, base: number, push: (half: 0 | 1) => void): void {
    for (const half of [0, 1] as const) {
      const offset = this.pushAddress(this.ahead(target, 2 * half), base, double);
      push(half);
      this.body.memory('v128.store', offset);
    }
  }

  /** Whether `wideSum` gives more digits of a value than single precision has. */
  hasWideSum(e: Expression, target: Access, held: Format): boolean {
    if (held.lanes === this.format.lanes || this.coefficient(target) !== 1) return false;
    return termsOf(e).some(term => this.isWide(term));
  }

  private isWide({of: e}: SumTerm): boolean {
    return (
      e.kind === 'load'
      && this.coefficient(e.access) === 1
      && 'address' in this.placeOf(e.of)
      && this.around.formatOf(e.of) === double
    );
  }

  /**
   * The two halves of a sum whose terms are in part held as doubles, which are added as such; the others in single
   * precision before. A state so keeps what a step adds to it, and a difference of two states its digits.
   */
  wideSum(e: Expression): readonly [Local, Local] {
    const {body} = this;
    const terms = termsOf(e);
    const shared = (this.uses.get(e) ?? 0) > 1;
    const rest = terms.filter(term => !this.isWide(term));
    const sum = rest.length === 0 ? undefined : body.local('v128');
    if (sum !== undefined) {
      rest.forEach(({of, sign}, i) => {
        this.push(of, true);
        if (shared && of.kind !== 'constant' && !this.pairs.has(of)) body.tee(this.keep(this.pairs, of, 'v128'));
        if (i === 0) {
          if (sign < 0) body.op('f32x4.neg');
        } else body.op(sign < 0 ? 'f32x4.sub' : 'f32x4.add');
      });
      body.set(sum);
    }
    const wide = terms.filter(term => this.isWide(term));
    const halves = ([0, 1] as const).map(half => {
      wide.forEach(({of, sign}, i) => {
        const {access, of: node} = of as ExpressionOf<'load'>;
        body.memory('v128.load', this.pushAddress(this.ahead(access, 2 * half), this.addressOf(node), double));
        if (i === 0) {
          if (sign < 0) body.op('f64x2.neg');
        } else body.op(sign < 0 ? 'f64x2.sub' : 'f64x2.add');
      });
      if (sum !== undefined) {
        widen(body, sum, half);
        body.op('f64x2.add');
      }
      const local = body.local('v128');
      body.set(local);
      return local;
    });
    if (sum !== undefined) body.release(sum);
    return [halves[0], halves[1]];
  }

  /** Pushes the full address of an element `lane` steps along the vector axis. */
  pushElementAddress(access: Access, base: number, held: Format, lane: number): void {
    const offset = this.pushAddress(this.ahead(access, lane), base, held);
    if (offset !== 0) this.body.i32(offset).op('i32.add');
  }
}
