/**
 * One module from lowered programs: addresses for everything, imports for what JavaScript computes,
 * a function for each program, constants and tables as data.
 */
import type {BinaryName, UnaryName} from '../../graph/node.js';
import type {Body, Defined} from './assembler.js';
import {ModuleBuilder} from './assembler.js';
import {binaryForms, unaryForms} from './functions.js';
import {visitExpressions} from './fuse.js';
import type {HostKernel} from './host.js';
import {hostOps, withoutGraph} from './host.js';
import type {KernelStep, Lowered} from './lower.js';
import {ProgramEmitter} from './program.js';
import {aligned, placeValues} from './memory.js';

/** What an instance needs beside the module's bytes. */
export interface Layout {
  /** Address and number of doubles of each named buffer. */
  readonly buffers: ReadonlyMap<string, {readonly address: number; readonly size: number}>;
  readonly pages: number;
  /** Exported functions by program. */
  readonly exports: ReadonlyMap<string, string>;
  readonly calls: readonly (UnaryName | BinaryName)[];
  readonly hostKernels: readonly HostKernel[];
}

export interface Linked {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly layout: Layout;
}

const pageBytes = 65536;
/** Address 0 holds a pair of zeros: what a missing position reads. */
const firstAddress = 16;

export function link(programs: ReadonlyMap<string, Lowered>, bufferSizes: ReadonlyMap<string, number>): Linked {
  return new Linker(programs, bufferSizes).link();
}

export class Linker {
  private readonly builder = new ModuleBuilder();
  private readonly buffers = new Map<string, {address: number; size: number}>();
  private readonly constants = new Map<Float64Array, number>();
  private readonly tables = new Map<Int32Array, number>();
  private readonly callIndices = new Map<UnaryName | BinaryName, number>();
  private readonly hostImports = new Map<KernelStep, {index: number; slot: number}>();
  private readonly hostKernels: HostKernel[] = [];
  private readonly shared: number;
  private end: number;
  private zero: Defined | undefined;
  private copy: Defined | undefined;

  constructor(private readonly programs: ReadonlyMap<string, Lowered>, bufferSizes: ReadonlyMap<string, number>) {
    this.end = firstAddress;
    for (const [name, size] of bufferSizes) this.buffers.set(name, {address: this.room(8 * size), size});
    this.shared = this.end;
  }

  private room(bytes: number): number {
    const address = this.end;
    this.end = address + aligned(bytes);
    return address;
  }

  link(): Linked {
    const placements = new Map([...this.programs].map(([name, lowered]) => [name, placeValues(lowered)]));
    this.room(Math.max(0, ...[...placements.values()].map(placement => placement.size)));
    this.declareImports();
    this.defineHelpers();
    const exports = new Map<string, string>();
    let index = 0;
    for (const [name, lowered] of this.programs) {
      const placement = placements.get(name);
      if (placement === undefined) continue;
      const exported = `p${index++}`;
      exports.set(name, exported);
      const defined = this.builder.define({parameters: [], results: []});
      new ProgramEmitter(this, defined.body, lowered, placement).emit();
      this.builder.export(exported, defined.index);
    }
    const pages = Math.ceil(this.end / pageBytes);
    const calls = [...this.callIndices.keys()];
    return {bytes: this.builder.finish(pages), layout: {buffers: this.buffers, pages, exports, calls, hostKernels: this.hostKernels}};
  }

  private declareImports(): void {
    const unary = (fn: UnaryName): void => {
      if (!this.callIndices.has(fn)) this.callIndices.set(fn, this.builder.import('math', fn, {parameters: ['f64'], results: ['f64']}));
    };
    for (const {steps} of this.programs.values()) {
      for (const step of steps) {
        if (step.kind === 'kernel') {
          const slot = this.hostImports.size;
          if (hostOps.has(step.node.op)) this.hostImports.set(step, {slot, index: this.builder.import('host', String(slot), {parameters: [], results: []})});
          continue;
        }
        visitExpressions(step.built, e => {
          if (e.kind === 'unary' && unaryForms[e.fn].by === 'call') unary(e.fn);
          if (e.kind === 'binary' && binaryForms[e.fn].by === 'call' && !this.callIndices.has(e.fn)) {
            this.callIndices.set(e.fn, this.builder.import('math', e.fn, {parameters: ['f64', 'f64'], results: ['f64']}));
          }
        });
      }
    }
  }

  /** zero(address, bytes) and copy(from, to, bytes), in pairs: the room behind an odd double belongs to it. */
  private defineHelpers(): void {
    this.zero = this.builder.define({parameters: ['i32', 'i32'], results: []});
    const {body: zero} = this.zero;
    const [at, end] = [zero.parameter(0), zero.parameter(1)];
    zero.block(() => {
      zero.get(end).op('i32.eqz').branchIf();
      zero.get(at).get(end).op('i32.add').set(end);
      zero.loop(() => {
        zero.get(at).f64x2(0, 0).memory('v128.store', 0);
        zero.get(at).i32(16).op('i32.add').tee(at).get(end).op('i32.lt_u').branchIf();
      });
    });
    this.copy = this.builder.define({parameters: ['i32', 'i32', 'i32'], results: []});
    const {body: copy} = this.copy;
    const [from, to, count] = [copy.parameter(0), copy.parameter(1), copy.parameter(2)];
    copy.block(() => {
      copy.get(count).op('i32.eqz').branchIf();
      copy.get(from).get(count).op('i32.add').set(count);
      copy.loop(() => {
        copy.get(to).get(from).memory('v128.load', 0).memory('v128.store', 0);
        copy.get(to).i32(16).op('i32.add').set(to);
        copy.get(from).i32(16).op('i32.add').tee(from).get(count).op('i32.lt_u').branchIf();
      });
    });
  }

  emitZero(body: Body, address: number, count: number): void {
    if (this.zero !== undefined) body.i32(address).i32(aligned(8 * count)).call(this.zero.index);
  }

  emitCopy(body: Body, from: number, to: number, count: number): void {
    if (this.copy !== undefined) body.i32(from).i32(to).i32(aligned(8 * count)).call(this.copy.index);
  }

  bufferAddress(name: string): number {
    const buffer = this.buffers.get(name);
    if (buffer === undefined) throw new Error(`no buffer is called ${name}`);
    return buffer.address;
  }

  sharedAddress(offset: number): number {
    return this.shared + offset;
  }

  /** Room for values set aside while outputs change places. */
  scratch(bytes: number): number {
    return this.room(bytes);
  }

  constantAddress(values: Float64Array): number {
    let address = this.constants.get(values);
    if (address === undefined) {
      this.constants.set(values, (address = this.room(values.byteLength)));
      this.builder.data(address, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    }
    return address;
  }

  /** Tables hold byte offsets; what was negative stays so. */
  tableAddress(table: Int32Array): number {
    let address = this.tables.get(table);
    if (address === undefined) {
      const offsets = table.map(position => (position < 0 ? -1 : 8 * position));
      this.tables.set(table, (address = this.room(offsets.byteLength)));
      this.builder.data(address, new Uint8Array(offsets.buffer));
    }
    return address;
  }

  callIndex(fn: UnaryName | BinaryName): number {
    const index = this.callIndices.get(fn);
    if (index === undefined) throw new Error(`${fn} was not imported`);
    return index;
  }

  /** Function index of a kernel that runs in JavaScript, which is told where to work. */
  hostIndex(step: KernelStep, operands: HostKernel['operands'], address: number): number {
    const found = this.hostImports.get(step);
    if (found === undefined) throw new Error(`${step.node.op} was not imported`);
    this.hostKernels[found.slot] = {node: withoutGraph(step.node), operands, address};
    return found.index;
  }
}
