/** Writes hand-made kernels: nested operations in place of a stack, loops with bounds known when they run. */
import type {Body, Local, ValueType} from './assembler.js';
import type {Instruction} from './instructions.js';

/** Code that pushes one value. */
export type Push = () => void;

export class Writer {
  constructor(readonly body: Body) {}

  parameter(index: number): Local {
    return this.body.parameter(index);
  }

  local(type: ValueType): Local {
    return this.body.local(type);
  }

  get(local: Local): Push {
    return () => this.body.get(local);
  }

  set(local: Local, value: Push): void {
    value();
    this.body.set(local);
  }

  /** A new local with this value. */
  keep(type: ValueType, value: Push): Local {
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

  op(instruction: Instruction, ...operands: readonly Push[]): Push {
    return () => {
      for (const operand of operands) operand();
      this.body.op(instruction);
    };
  }

  plus(a: Push, b: Push): Push {
    return this.op('i32.add', a, b);
  }

  /** Address of element `index` of doubles that begin at `base`. */
  element(base: Push, index: Push): Push {
    return this.plus(base, this.op('i32.shl', index, this.int(3)));
  }

  load(address: Push, offset = 0): Push {
    return () => {
      address();
      this.body.memory('f64.load', offset);
    };
  }

  loadPair(address: Push, offset = 0): Push {
    return () => {
      address();
      this.body.memory('v128.load', offset);
    };
  }

  loadInt(address: Push, offset = 0): Push {
    return () => {
      address();
      this.body.memory('i32.load', offset);
    };
  }

  store(address: Push, value: Push, offset = 0): void {
    address();
    value();
    this.body.memory('f64.store', offset);
  }

  storePair(address: Push, value: Push, offset = 0): void {
    address();
    value();
    this.body.memory('v128.store', offset);
  }

  storeInt(address: Push, value: Push, offset = 0): void {
    address();
    value();
    this.body.memory('i32.store', offset);
  }

  lane(value: Push, lane: 0 | 1): Push {
    return () => {
      value();
      this.body.extractLane(lane);
    };
  }

  splat(value: Push): Push {
    return this.op('f64x2.splat', value);
  }

  choose(condition: Push, a: Push, b: Push): Push {
    return () => {
      a();
      b();
      condition();
      this.body.op('select');
    };
  }

  if(condition: Push, then: () => void, otherwise?: () => void): void {
    condition();
    this.body.if(then, otherwise);
  }

  /** Runs code while the counter, already set, is below the bound (signed); the code itself moves it on by `step`. */
  while(condition: Push, code: () => void): void {
    condition();
    this.body.if(() =>
      this.body.loop(() => {
        code();
        condition();
        this.body.branchIf();
      }),
    );
  }

  /** counter = from, from + step, … while it is below the bound. */
  for(counter: Local, from: Push, below: Push, code: () => void, step = 1): void {
    this.set(counter, from);
    this.while(this.op('i32.lt_s', this.get(counter), below), () => {
      code();
      this.set(counter, this.plus(this.get(counter), this.int(step)));
    });
  }

  /**
   * Runs over pointers while the first is below `end`: pairs as long as two fit, then a last single
   * one. All pointers move on by 8 bytes an element.
   */
  pairs(pointers: readonly Local[], end: Push, pair: () => void, single: () => void): void {
    const [first] = pointers;
    const advance = (bytes: number): void => {
      for (const pointer of pointers) this.set(pointer, this.plus(this.get(pointer), this.int(bytes)));
    };
    const last = this.keep('i32', this.op('i32.sub', end, this.int(8)));
    this.while(this.op('i32.lt_s', this.get(first), this.get(last)), () => {
      pair();
      advance(16);
    });
    // One is left where the first pointer has stopped at the last element.
    this.if(this.op('i32.eq', this.get(first), this.get(last)), () => {
      single();
      advance(8);
    });
    this.body.release(last);
  }
}
