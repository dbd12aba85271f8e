/**
 * Code for one point of a loop: pushes an expression's value as one number, or the values at this
 * point and the next along the vector axis as a pair. What does not change along the vector axis is
 * computed as one number and doubled.
 */
import type {BinaryName, Node} from '../../graph/node.js';
import type {Body, Local} from '../../wasm/assembler.js';
import type {Access} from './access.js';
import type {Expression, ExpressionOf} from './expression.js';
import {children} from './expression.js';
import type {FunctionName} from './functions.js';
import {binaryForms, unaryForms} from './functions.js';

/** Where a stored value is: at an address of the memory, or, if it is one number, in a local. */
export type Place = {readonly address: number} | {readonly local: Local};

export interface Surroundings {
  place(of: Node): Place;
  /** Address of a table of byte offsets. */
  table(table: Int32Array): number;
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

/** Two doubles of zero lie at address 0: what a missing position reads. */
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

  constructor(
    readonly body: Body,
    private readonly around: Surroundings,
  ) {}

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
        this.freshPair(e);
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
        this.pair(e);
        this.body.set(this.keep(this.pairs, e, 'v128'));
      }
      return;
    }
    if (e.kind === 'constant') {
      if ((paired || inPairs) && !this.pairs.has(e))
        this.body.f64x2(e.value, e.value).set(this.keep(this.pairs, e, 'v128'));
      return;
    }
    if (!this.numbers.has(e)) {
      this.number(e);
      this.body.set(this.keep(this.numbers, e, 'f64'));
    }
    if ((paired || inPairs) && !this.pairs.has(e)) {
      this.number(e);
      this.body.op('f64x2.splat').set(this.keep(this.pairs, e, 'v128'));
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
  pushAddress(access: Access, base: number): number {
    return this.pushPointer(this.pointers.address(access, base, 8));
  }

  private coefficient(access: Access): number {
    return access.coefficients[this.vectorAxis] ?? 0;
  }

  private placeOf(of: Node): Place {
    return this.around.place(of);
  }

  addressOf(of: Node): number {
    const place = this.placeOf(of);
    if ('local' in place) throw new Error(`${of.op} has no address`);
    return place.address;
  }

  // ---------------------------------------------------------------- one number

  number(e: Expression): void {
    const known = this.numbers.get(e);
    if (known !== undefined) {
      this.body.get(known);
      return;
    }
    this.freshNumber(e);
    if (e.kind !== 'constant' && (this.uses.get(e) ?? 0) > 1) this.body.tee(this.keep(this.numbers, e, 'f64'));
  }

  private freshNumber(e: Expression): void {
    const {body} = this;
    switch (e.kind) {
      case 'constant':
        body.f64(e.value);
        return;
      case 'load': {
        const place = this.placeOf(e.of);
        if ('local' in place) body.get(place.local);
        else body.memory('f64.load', this.pushAddress(e.access, place.address));
        return;
      }
      case 'lookup':
        this.pushLookup(e, 0);
        body.memory('f64.load', 0);
        return;
      case 'loadAt':
        this.number(e.position);
        this.loadAt(e);
        return;
      case 'unary': {
        const form = unaryForms[e.fn];
        this.number(e.x);
        if (form.by === 'instruction') body.op(...form.scalar);
        else if (form.by === 'function') body.op('f64x2.splat').call(this.around.call(e.fn)).extractLane(0);
        else body.call(this.around.call(e.fn));
        return;
      }
      case 'binary': {
        const form = binaryForms[e.fn];
        if (form.by === 'comparison' || form.by === 'logic') {
          this.freshTruth(e);
          body.op('f64.convert_i32_u');
          return;
        }
        this.number(e.a);
        this.number(e.b);
        if (form.by === 'instruction') body.op(form.scalar);
        else body.call(this.around.call(e.fn));
        return;
      }
      case 'select':
        this.number(e.a);
        this.number(e.b);
        this.truth(e.condition);
        body.op('select');
    }
  }

  /** Pushes a condition, as an i32. */
  private truth(e: Expression): void {
    const form =
      e.kind === 'binary' && !this.numbers.has(e) && (this.uses.get(e) ?? 0) <= 1 ? binaryForms[e.fn] : undefined;
    if (e.kind === 'binary' && (form?.by === 'comparison' || form?.by === 'logic')) this.freshTruth(e);
    else {
      this.number(e);
      this.body.f64(0).op('f64.ne');
    }
  }

  private freshTruth(e: ExpressionOf<'binary'>): void {
    const form = binaryForms[e.fn];
    if (form.by === 'comparison') {
      this.number(e.a);
      this.number(e.b);
      this.body.op(form.scalar);
    } else if (form.by === 'logic') {
      this.truth(e.a);
      this.truth(e.b);
      this.body.op(form.scalar);
    }
  }

  /** Pushes the full address of a looked-up element, `lane` steps along the vector axis. */
  private pushLookup(e: ExpressionOf<'lookup'>, lane: 0 | 1): void {
    const {body} = this;
    const ahead = lane === 0 ? 0 : this.coefficient(e.access);
    const from = this.pointers.address(
      {offset: e.access.offset + ahead, coefficients: e.access.coefficients},
      this.addressOf(e.of),
      8,
    );
    if (from.pointer === undefined) body.i32(from.offset);
    else body.get(from.pointer).i32(from.offset).op('i32.add');
    this.pushEntry(e.table, e.entry, lane);
    if (!e.table.some(at => at < 0)) {
      body.op('i32.add');
      return;
    }
    const entry = body.local('i32');
    body.tee(entry).op('i32.add').i32(zeroAddress).get(entry).i32(0).op('i32.ge_s', 'select');
    body.release(entry);
  }

  /** Pushes an entry of a table of byte offsets. */
  pushEntry(table: Int32Array, entry: Access, lane: 0 | 1): void {
    const ahead = lane === 0 ? 0 : this.coefficient(entry);
    const at = this.pointers.address(
      {offset: entry.offset + ahead, coefficients: entry.coefficients},
      this.around.table(table),
      4,
    );
    this.body.memory('i32.load', this.pushPointer(at));
  }

  /** Takes a position from the stack and pushes the element there, or 0 outside the array. */
  private loadAt(e: ExpressionOf<'loadAt'>): void {
    const {body} = this;
    const position = body.local('f64');
    body.set(position);
    this.pushPositionAddress(position, this.addressOf(e.of));
    body.i32(zeroAddress);
    this.pushInside(position, e.of.size);
    body.op('select').memory('f64.load', 0);
    body.release(position);
  }

  pushPositionAddress(position: Local, base: number): void {
    this.body.get(position).op('i32.trunc_sat_f64_s').i32(3).op('i32.shl').i32(base).op('i32.add');
  }

  /** Pushes whether a position lies in 0 … count − 1; not for NaN. */
  pushInside(position: Local, count: number): void {
    this.body.get(position).f64(0).op('f64.ge').get(position).f64(count).op('f64.lt', 'i32.and');
  }

  // ---------------------------------------------------------------- a pair of numbers

  pair(e: Expression): void {
    const {body} = this;
    const known = this.pairs.get(e);
    if (known !== undefined) {
      body.get(known);
      return;
    }
    if (!this.variesInPair(e)) {
      if (e.kind === 'constant') body.f64x2(e.value, e.value);
      else {
        this.number(e);
        body.op('f64x2.splat');
      }
    } else this.freshPair(e);
    if ((this.uses.get(e) ?? 0) > 1) body.tee(this.keep(this.pairs, e, 'v128'));
  }

  private freshPair(e: Expression): void {
    const {body} = this;
    switch (e.kind) {
      case 'constant':
        body.f64x2(e.value, e.value);
        return;
      case 'load':
        this.loadPair(e.access, this.addressOf(e.of));
        return;
      case 'lookup':
        if (this.coefficient(e.entry) === 0 && this.coefficient(e.access) === 1) {
          this.pushLookup(e, 0);
          body.memory('v128.load', 0);
        } else {
          this.pushLookup(e, 1);
          this.pushLookup(e, 0);
          body.memory('v128.load64_zero', 0).laneMemory('v128.load64_lane', 0, 1);
        }
        return;
      case 'loadAt':
        this.pair(e.position);
        this.byLanes(() => this.loadAt(e));
        return;
      case 'unary': {
        const form = unaryForms[e.fn];
        this.pair(e.x);
        if (form.by === 'instruction') body.op(...form.vector);
        else if (form.by === 'function') body.call(this.around.call(e.fn));
        else this.byLanes(() => body.call(this.around.call(e.fn)));
        return;
      }
      case 'binary': {
        const form = binaryForms[e.fn];
        if (form.by === 'comparison' || form.by === 'logic') {
          this.freshMask(e);
          body.f64x2(1, 1).op('v128.and');
          return;
        }
        this.pair(e.a);
        this.pair(e.b);
        if (form.by === 'instruction') body.op(form.vector);
        else this.byLanesOfTwo(() => body.call(this.around.call(e.fn)));
        return;
      }
      case 'select':
        this.pair(e.a);
        this.pair(e.b);
        this.mask(e.condition);
        body.op('v128.bitselect');
    }
  }

  /** Pushes all bits set where a condition holds. */
  private mask(e: Expression): void {
    const fresh = e.kind === 'binary' && !this.pairs.has(e) && this.variesInPair(e) && (this.uses.get(e) ?? 0) <= 1;
    const form = fresh ? binaryForms[e.fn] : undefined;
    if (e.kind === 'binary' && (form?.by === 'comparison' || form?.by === 'logic')) this.freshMask(e);
    else {
      this.pair(e);
      this.body.f64x2(0, 0).op('f64x2.ne');
    }
  }

  private freshMask(e: ExpressionOf<'binary'>): void {
    const form = binaryForms[e.fn];
    if (form.by === 'comparison') {
      this.pair(e.a);
      this.pair(e.b);
      this.body.op(form.vector);
    } else if (form.by === 'logic') {
      this.mask(e.a);
      this.mask(e.b);
      this.body.op(form.vector);
    }
  }

  private loadPair(access: Access, base: number): void {
    const {body} = this;
    const step = this.coefficient(access);
    if (step === 1) {
      body.memory('v128.load', this.pushAddress(access, base));
      return;
    }
    const next = {offset: access.offset + step, coefficients: access.coefficients};
    const offset1 = this.pushAddress(next, base);
    const offset0 = this.pushAddress(access, base);
    body.memory('v128.load64_zero', offset0).laneMemory('v128.load64_lane', offset1, 1);
  }

  /** Applies scalar code to both numbers of the pair on the stack. */
  private byLanes(code: () => void): void {
    const {body} = this;
    const x = body.local('v128');
    body.tee(x).extractLane(0);
    code();
    body.op('f64x2.splat').get(x).extractLane(1);
    code();
    body.replaceLane(1);
    body.release(x);
  }

  private byLanesOfTwo(code: () => void): void {
    const {body} = this;
    const a = body.local('v128');
    const b = body.local('v128');
    body.set(b).tee(a).extractLane(0).get(b).extractLane(0);
    code();
    body.op('f64x2.splat').get(a).extractLane(1).get(b).extractLane(1);
    code();
    body.replaceLane(1);
    body.release(a);
    body.release(b);
  }

  // ---------------------------------------------------------------- results

  /** Stores the number (or pair) that `push` leaves on the stack. */
  store(target: Access, base: number, inPairs: boolean, push: () => void): void {
    const {body} = this;
    if (!inPairs) {
      const offset = this.pushAddress(target, base);
      push();
      body.memory('f64.store', offset);
      return;
    }
    if (this.coefficient(target) === 1) {
      const offset = this.pushAddress(target, base);
      push();
      body.memory('v128.store', offset);
      return;
    }
    const value = body.local('v128');
    push();
    body.set(value);
    for (const lane of [0, 1] as const) {
      const offset = this.pushAddress(
        {offset: target.offset + lane * this.coefficient(target), coefficients: target.coefficients},
        base,
      );
      body.get(value).laneMemory('v128.store64_lane', offset, lane);
    }
    body.release(value);
  }

  /** Pushes the full address of an element `lane` steps along the vector axis. */
  pushElementAddress(access: Access, base: number, lane: 0 | 1): void {
    const offset = this.pushAddress(
      {offset: access.offset + lane * this.coefficient(access), coefficients: access.coefficients},
      base,
    );
    if (offset !== 0) this.body.i32(offset).op('i32.add');
  }
}
