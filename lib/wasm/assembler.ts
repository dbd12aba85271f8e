/**
 * Writes WebAssembly: function bodies instruction by instruction, and the module around them
 * (core spec §5.5). No validation here; the engines validate, and so do the specs.
 */
import type {ModuleBytes} from './bytes.js';
import {Bytes} from './bytes.js';
import type {Instruction, LaneMemoryInstruction, MemoryInstruction} from './instructions.js';
import {extended, laneMemoryOpcodes, memoryOpcodes, opcodes, simd} from './instructions.js';

export type ValueType = 'i32' | 'i64' | 'f32' | 'f64' | 'v128';

const typeCodes: {readonly [T in ValueType]: number} = {i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b};
const emptyBlock = 0x40;

export interface Signature {
  readonly parameters: readonly ValueType[];
  readonly results: readonly ValueType[];
}

/** A local variable of a function body. */
export interface Local {
  readonly index: number;
  readonly type: ValueType;
}

/** The body of one function. */
export class FunctionBody {
  private readonly code = new Bytes();
  private readonly localTypes: ValueType[] = [];
  private readonly free: {readonly [T in ValueType]: Local[]} = {i32: [], i64: [], f32: [], f64: [], v128: []};
  private readonly parameterCount: number;

  constructor(readonly signature: Signature) {
    this.parameterCount = signature.parameters.length;
  }

  parameter(index: number): Local {
    return {index, type: this.signature.parameters[index]};
  }

  /** A local, new or one that was released. Its value is not zero. */
  local(type: ValueType): Local {
    const released = this.free[type].pop();
    if (released !== undefined) return released;
    this.localTypes.push(type);
    return {index: this.parameterCount + this.localTypes.length - 1, type};
  }

  release(local: Local): void {
    this.free[local.type].push(local);
  }

  private opcode(code: number): void {
    if (code >= extended) {
      this.code.byte(0xfc);
      this.code.unsigned(code - extended);
    } else if (code >= simd) {
      this.code.byte(0xfd);
      this.code.unsigned(code - simd);
    } else {
      this.code.byte(code);
    }
  }

  op(...instructions: readonly Instruction[]): this {
    for (const instruction of instructions) this.opcode(opcodes[instruction]);
    return this;
  }

  get(local: Local): this {
    this.code.byte(0x20);
    this.code.unsigned(local.index);
    return this;
  }

  set(local: Local): this {
    this.code.byte(0x21);
    this.code.unsigned(local.index);
    return this;
  }

  tee(local: Local): this {
    this.code.byte(0x22);
    this.code.unsigned(local.index);
    return this;
  }

  i32(value: number): this {
    this.code.byte(0x41);
    this.code.signed(value);
    return this;
  }

  f64(value: number): this {
    this.code.byte(0x44);
    this.code.f64(value);
    return this;
  }

  f32(value: number): this {
    this.code.byte(0x43);
    this.code.f32(value);
    return this;
  }

  /** A vector constant of four equal single-precision numbers. */
  f32x4(value: number): this {
    this.opcode(simd + 0x0c);
    for (let lane = 0; lane < 4; lane++) this.code.f32(value);
    return this;
  }

  /** A vector constant of two doubles. */
  f64x2(low: number, high: number): this {
    this.opcode(simd + 0x0c);
    this.code.f64(low);
    this.code.f64(high);
    return this;
  }

  /** Takes the address from the stack; the effective address is that plus the offset. */
  memory(instruction: MemoryInstruction, offset: number): this {
    const [code, alignment] = memoryOpcodes[instruction];
    this.opcode(code);
    this.code.unsigned(alignment);
    this.code.unsigned(offset);
    return this;
  }

  laneMemory(instruction: LaneMemoryInstruction, offset: number, lane: number): this {
    const [code, alignment] = laneMemoryOpcodes[instruction];
    this.opcode(code);
    this.code.unsigned(alignment);
    this.code.unsigned(offset);
    this.code.byte(lane);
    return this;
  }

  extractLane(lane: number): this {
    this.opcode(simd + 0x21);
    this.code.byte(lane);
    return this;
  }

  replaceLane(lane: number): this {
    this.opcode(simd + 0x22);
    this.code.byte(lane);
    return this;
  }

  /** A single-precision number out of four. */
  extractLane32(lane: number): this {
    this.opcode(simd + 0x1f);
    this.code.byte(lane);
    return this;
  }

  /** Four lanes of 32 bits out of the two vectors on the stack (0 … 3 of the first; 4 … 7 of the second). */
  shuffle32(...lanes: readonly [number, number, number, number]): this {
    this.opcode(simd + 0x0d);
    for (const lane of lanes) for (let i = 0; i < 4; i++) this.code.byte(4 * lane + i);
    return this;
  }

  /** Two lanes out of the four of the two vectors on the stack (0, 1 of the first; 2, 3 of the second). */
  shuffle(first: number, second: number): this {
    this.opcode(simd + 0x0d);
    for (let i = 0; i < 8; i++) this.code.byte(8 * first + i);
    for (let i = 0; i < 8; i++) this.code.byte(8 * second + i);
    return this;
  }

  call(functionIndex: number): this {
    this.code.byte(0x10);
    this.code.unsigned(functionIndex);
    return this;
  }

  /** loop … end; `continueIf` inside jumps back to its beginning. */
  loop(body: () => void): this {
    return this.nested(0x03, body);
  }

  /** block … end; a branch to it leaves it. */
  block(body: () => void): this {
    return this.nested(0x02, body);
  }

  /** Takes a condition from the stack. */
  if(then: () => void, otherwise?: () => void): this {
    this.code.byte(0x04);
    this.code.byte(emptyBlock);
    then();
    if (otherwise !== undefined) {
      this.code.byte(0x05);
      otherwise();
    }
    this.code.byte(0x0b);
    return this;
  }

  private nested(opcode: number, body: () => void): this {
    this.code.byte(opcode);
    this.code.byte(emptyBlock);
    body();
    this.code.byte(0x0b);
    return this;
  }

  /** Branches `depth` structures outwards when the condition on the stack holds. */
  branchIf(depth = 0): this {
    this.code.byte(0x0d);
    this.code.unsigned(depth);
    return this;
  }

  branch(depth = 0): this {
    this.code.byte(0x0c);
    this.code.unsigned(depth);
    return this;
  }

  /** Length so far, in bytes. */
  get size(): number {
    return this.code.length;
  }

  appendTo(target: Bytes): void {
    const whole = new Bytes();
    const runs: {type: ValueType; count: number}[] = [];
    for (const type of this.localTypes) {
      const last = runs[runs.length - 1];
      if (last !== undefined && last.type === type) last.count++;
      else runs.push({type, count: 1});
    }
    whole.unsigned(runs.length);
    for (const {type, count} of runs) {
      whole.unsigned(count);
      whole.byte(typeCodes[type]);
    }
    whole.append(this.code.finish());
    whole.byte(0x0b);
    whole.appendTo(target);
  }
}

/** Pages of 64 KiB that 32 bits address. */
const mostPages = 65536;

/** Whether threads share a memory: modules have to say it of the one that they import. */
export const isShared = ({buffer}: WebAssembly.Memory): boolean =>
  typeof SharedArrayBuffer !== 'undefined' && (buffer as ArrayBufferLike) instanceof SharedArrayBuffer;

/** A function defined in a module. */
export interface Defined {
  readonly index: number;
  readonly body: FunctionBody;
}

/** A module with one imported memory. Imports are declared before functions are defined. */
export class ModuleBuilder {
  private readonly types: string[] = [];
  private readonly typeBytes: Bytes[] = [];
  private readonly imports: {module: string; name: string; type: number}[] = [];
  private readonly functions: {type: number; body: FunctionBody}[] = [];
  private readonly exports: {name: string; index: number}[] = [];

  private typeIndex({parameters, results}: Signature): number {
    const key = `${parameters.join()}>${results.join()}`;
    const known = this.types.indexOf(key);
    if (known >= 0) return known;
    const bytes = new Bytes();
    bytes.byte(0x60);
    for (const list of [parameters, results]) {
      bytes.unsigned(list.length);
      for (const type of list) bytes.byte(typeCodes[type]);
    }
    this.typeBytes.push(bytes);
    return this.types.push(key) - 1;
  }

  import(module: string, name: string, signature: Signature): number {
    if (this.functions.length > 0) throw new Error('imports come before functions');
    return this.imports.push({module, name, type: this.typeIndex(signature)}) - 1;
  }

  /** @param body written beforehand, with calls of imports only */
  define(signature: Signature, body = new FunctionBody(signature)): Defined {
    const index = this.imports.length + this.functions.push({type: this.typeIndex(signature), body}) - 1;
    return {index, body};
  }

  export(name: string, index: number): void {
    this.exports.push({name, index});
  }

  /**
   * @param pages of the memory, which then never grows; without, any memory may be given
   * @param shared by threads
   */
  finish(pages?: number, shared = false): ModuleBytes {
    const out = new Bytes();
    out.append(Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00));
    const section = (id: number, count: number, write: (bytes: Bytes) => void): void => {
      if (count === 0) return;
      const bytes = new Bytes();
      bytes.unsigned(count);
      write(bytes);
      out.byte(id);
      bytes.appendTo(out);
    };
    section(1, this.types.length, bytes => {
      for (const type of this.typeBytes) bytes.append(type.finish());
    });
    section(2, this.imports.length + 1, bytes => {
      for (const {module, name, type} of this.imports) {
        bytes.name(module);
        bytes.name(name);
        bytes.byte(0x00);
        bytes.unsigned(type);
      }
      bytes.name('env');
      bytes.name('memory');
      bytes.byte(0x02);
      // Exactly this many pages: memory never grows, so views of it stay valid.
      // One that is shared always has a largest size.
      const most = pages ?? (shared ? mostPages : undefined);
      bytes.byte((most === undefined ? 0x00 : 0x01) + (shared ? 0x02 : 0x00));
      bytes.unsigned(pages ?? 0);
      if (most !== undefined) bytes.unsigned(most);
    });
    section(3, this.functions.length, bytes => {
      for (const {type} of this.functions) bytes.unsigned(type);
    });
    section(7, this.exports.length, bytes => {
      for (const {name, index} of this.exports) {
        bytes.name(name);
        bytes.byte(0x00);
        bytes.unsigned(index);
      }
    });
    section(10, this.functions.length, bytes => {
      for (const {body} of this.functions) body.appendTo(bytes);
    });
    return out.finish();
  }
}
