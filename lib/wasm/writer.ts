/** Writes hand-made kernels: nested operations in place of a stack, loops with bounds known when they run. */
import type {FunctionBody, Local, ValueType} from './assembler.js';
import type {Instruction, MemoryInstruction} from './instructions.js';

/** Code that pushes one value. */
export type Push = () => void;

/**
 * What an instruction works on: code that pushes it, a local that holds it, or a number of the type that the
 * instruction has.
 */
export type Operand = Push | Local | number;

export class Writer {
  constructor(readonly body: FunctionBody) {}

  parameter(index: number): Local {
    return this.body.parameter(index);
  }

  local(type: ValueType): Local {
    return this.body.local(type);
  }

  /** All parameters of the function. */
  parameters(): Local[] {
    return this.body.signature.parameters.map((_, index) => this.parameter(index));
  }

  locals(type: ValueType, count: number): Local[] {
    return Array.from({length: count}, () => this.local(type));
  }

  /** Gives locals back, for others to use. */
  release(...locals: readonly Local[]): void {
    for (const local of locals) this.body.release(local);
  }

  get(local: Local): Push {
    return () => this.body.get(local);
  }

  /** Pushes a value at once; a number as one of this type, a vector's in both lanes. */
  push(value: Operand, type: ValueType = 'i32'): void {
    if (typeof value === 'function') value();
    else if (typeof value !== 'number') this.body.get(value);
    else if (type === 'i32') this.body.i32(value);
    else if (type === 'f64') this.body.f64(value);
    else this.body.f64x2(value, value);
  }

  set(local: Local, value: Operand): void {
    this.push(value, local.type);
    this.body.set(local);
  }

  /** A new local with this value. */
  keep(type: ValueType, value: Operand): Local {
    const local = this.body.local(type);
    this.set(local, value);
    return local;
  }

  int(value: number): Push {
    return () => this.body.i32(value);
  }

  number(value: number): Push {
    return () => this.body.f64(value);
  }

  pair(value: number): Push {
    return () => this.body.f64x2(value, value);
  }

  /** Numbers among the operands are of the type that the instruction's name begins with. */
  op(instruction: Instruction, ...operands: readonly Operand[]): Push {
    const [prefix] = instruction.split('.');
    const type = prefix === 'i32' || prefix === 'f64' ? prefix : 'v128';
    return () => {
      for (const operand of operands) this.push(operand, type);
      this.body.op(instruction);
    };
  }

  /** Calls a function of the module. Numbers are integers. */
  invoke(index: number, ...operands: readonly Operand[]): void {
    for (const operand of operands) this.push(operand);
    this.body.call(index);
  }

  /** Factors multiplied from left to right. */
  product(type: 'f64' | 'f64x2', first: Operand, ...factors: readonly Operand[]): Push {
    return factors.reduce<Operand>((a, factor) => this.op(`${type}.mul`, a, factor), first) as Push;
  }

  plus(a: Operand, b: Operand): Push {
    return this.op('i32.add', a, b);
  }

  /** Moves a pointer on by so many bytes, or a counter. */
  move(pointer: Local, by: Operand): void {
    this.set(pointer, this.plus(pointer, by));
  }

  /** Address of element `index` of doubles that begin at `base`. */
  element(base: Operand, index: Operand): Push {
    return this.plus(base, this.op('i32.shl', index, 3));
  }

  load(address: Operand, offset = 0): Push {
    return this.loadBy('f64.load', address, offset);
  }

  loadPair(address: Operand, offset = 0): Push {
    return this.loadBy('v128.load', address, offset);
  }

  loadInt(address: Operand, offset = 0): Push {
    return this.loadBy('i32.load', address, offset);
  }

  /** One number in both lanes of a vector. */
  loadTwice(address: Operand, offset = 0): Push {
    return this.loadBy('v128.load64_splat', address, offset);
  }

  /** One number in the first lane of a vector, zero in the second. */
  loadOne(address: Operand, offset = 0): Push {
    return this.loadBy('v128.load64_zero', address, offset);
  }

  private loadBy(instruction: MemoryInstruction, address: Operand, offset = 0): Push {
    return () => {
      this.push(address);
      this.body.memory(instruction, offset);
    };
  }

  store(address: Operand, value: Operand, offset = 0): void {
    this.push(address);
    this.push(value, 'f64');
    this.body.memory('f64.store', offset);
  }

  storePair(address: Operand, value: Operand, offset = 0): void {
    this.push(address);
    this.push(value, 'v128');
    this.body.memory('v128.store', offset);
  }

  storeLane(address: Operand, vector: Local, lane: 0 | 1, offset = 0): void {
    this.push(address);
    this.push(vector);
    this.body.laneMemory('v128.store64_lane', offset, lane);
  }

  storeInt(address: Operand, value: Operand, offset = 0): void {
    this.push(address);
    this.push(value);
    this.body.memory('i32.store', offset);
  }

  lane(value: Push | Local, lane: 0 | 1): Push {
    return () => {
      this.push(value);
      this.body.extractLane(lane);
    };
  }

  splat(value: Push | Local): Push {
    return this.op('f64x2.splat', value);
  }

  choose(condition: Push | Local, a: Push | Local, b: Push | Local): Push {
    return () => {
      this.push(a);
      this.push(b);
      this.push(condition);
      this.body.op('select');
    };
  }

  if(condition: Push | Local, then: () => void, otherwise?: () => void): void {
    this.push(condition);
    this.body.if(then, otherwise);
  }

  /** Runs code as long as the condition holds. */
  while(condition: Push | Local, code: () => void): void {
    this.push(condition);
    this.body.if(() =>
      this.body.loop(() => {
        code();
        this.push(condition);
        this.body.branchIf();
      }),
    );
  }

  /** counter = from, from + step, … while it is below the bound. */
  for(counter: Local, from: Operand, below: Operand, code: () => void, step = 1): void {
    this.set(counter, from);
    this.while(this.op('i32.lt_s', counter, below), () => {
      code();
      this.move(counter, step);
    });
  }

  /** counter = count − 1, count − 2, … down to the least. */
  down(counter: Local, count: Operand, code: () => void, least = 0): void {
    this.set(counter, this.op('i32.sub', count, 1));
    this.while(this.op('i32.ge_s', counter, least), () => {
      code();
      this.move(counter, -1);
    });
  }

  /** A number that stands for all elements of `each`. */
  spread(number: Local): Spread {
    return {one: number, both: this.keep('v128', this.splat(number))};
  }

  /**
   * Runs code on elements, over pointers while the first is below `end`: on pairs as long as two fit, then on a last
   * single one. All pointers move on by 8 bytes an element.
   */
  each(pointers: readonly Local[], end: Operand, code: (elements: Elements) => void): void {
    const [first] = pointers;
    const advance = (bytes: number): void => {
      for (const pointer of pointers) this.move(pointer, bytes);
    };
    const last = this.keep('i32', this.op('i32.sub', end, 8));
    this.while(this.op('i32.lt_s', first, last), () => {
      code(new Elements(this, true));
      advance(16);
    });
    // One is left where the first pointer has stopped at the last element.
    this.if(this.op('i32.eq', first, last), () => {
      code(new Elements(this, false));
      advance(8);
    });
    this.release(last);
  }
}

export interface Spread {
  readonly one: Local;
  readonly both: Local;
}

/** Instructions on doubles in memory, on a pair of them or a single one. */
export class Elements {
  constructor(
    private readonly w: Writer,
    readonly paired: boolean,
  ) {}

  op(name: 'add' | 'sub' | 'mul' | 'div' | 'abs', ...operands: readonly Operand[]): Push {
    return this.w.op(this.paired ? `f64x2.${name}` : `f64.${name}`, ...operands);
  }

  load(pointer: Local, offset = 0): Push {
    return this.paired ? this.w.loadPair(pointer, offset) : this.w.load(pointer, offset);
  }

  store(pointer: Local, value: Operand): void {
    if (this.paired) this.w.storePair(pointer, value);
    else this.w.store(pointer, value);
  }

  keep(value: Operand): Local {
    return this.w.keep(this.paired ? 'v128' : 'f64', value);
  }

  all({one, both}: Spread): Local {
    return this.paired ? both : one;
  }
}
