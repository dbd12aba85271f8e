/**
 * One module from lowered programs: addresses for everything, imports for what JavaScript computes,
 * a function for each program.
 */
import type {ModuleBytes} from '../../wasm/bytes.js';
import type {BinaryName, Node} from '../../graph/node.js';
import {isOp} from '../../graph/node.js';
import type {FunctionBody, Local, ValueType} from '../../wasm/assembler.js';
import {ModuleBuilder} from '../../wasm/assembler.js';
import type {FunctionName} from './functions.js';
import {binaryForms, unaryForms} from './functions.js';
import {visitExpressions} from './fuse.js';
import type {HostKernel} from './host.js';
import {hostOps, withoutGraph} from './host.js';
import type {LoweredProgram} from './lower.js';
import type {ModuleSurroundings} from './program.js';
import {ProgramEmitter} from './program.js';
import type {VectorFunction} from './transcendental.js';
import {Formula} from './formula.js';
import {emitVectorFunction, fallbacks, inDouble, isVectorFunction} from './transcendental.js';
import {inSingle} from './transcendental-single.js';
import type {MemoryUse} from './memory.js';
import type {KernelStep} from './steps.js';
import {plainSteps} from './steps.js';
import {isBlocked} from '../../graph/primitives/contraction.js';
import {emitProduct, productKey} from './contraction.js';
import type {Product} from './contraction-block.js';
import {move} from './counting.js';
import {named} from '../engine.js';
import {defineBlockedProduct, productParameters, workspaceBytes} from './blocked-product.js';
import type {Format} from './format.js';
import {double, single} from './format.js';
import {Held} from './held.js';
import type {ThreadedProduct} from './product-threads.js';
import {fewestOperations} from './product-threads.js';
import {aligned, blockBytes, ordinary, placeValues} from './memory.js';

/** Inputs of an instance beside the module's bytes. */
export interface ModuleLayout {
  /** Address and number of doubles of each named buffer. */
  readonly buffers: ReadonlyMap<string, {readonly address: number; readonly size: number}>;
  readonly pages: number;
  /** The first address behind it. */
  readonly end: number;
  /** Exported functions by program. */
  readonly exports: ReadonlyMap<string, string>;
  readonly calls: readonly (FunctionName | BinaryName)[];
  readonly hostKernels: readonly HostKernel[];
  /** Constants, by address. They are copied when an instance is made and stay out of the module, so that a long
   * constant costs no time to generate, and a module's text shows its code alone. */
  readonly data: readonly {readonly address: number; readonly values: Float64Array | Float32Array}[];
  /** Tables of positions, for numbers of so many bytes: memory holds byte offsets; what is negative becomes −1. */
  readonly tables: readonly {readonly address: number; readonly table: Int32Array; readonly bytes: 4 | 8}[];
  /** Products on several threads: where there are any, the memory is shared. */
  readonly products: readonly ThreadedProduct[];
}

export interface Linked {
  readonly bytes: ModuleBytes;
  readonly layout: ModuleLayout;
}

export const pageBytes = 65536;
/** Addresses are 32 bits. */
const mostBytes = 2 ** 32;
/** From address 0 on there are zeros, as many as a vector has numbers: what a missing position reads. */
export const firstAddress = {double: 16, single: 32} as const;

export function link(
  programs: ReadonlyMap<string, LoweredProgram>,
  bufferSizes: ReadonlyMap<string, number>,
  memory = ordinary,
  format = double,
  threads = 1,
  begin?: number,
): Linked {
  return new Linker(programs, bufferSizes, memory, format, threads, begin).link();
}

class Linker implements ModuleSurroundings {
  private readonly builder = new ModuleBuilder();
  private readonly buffers = new Map<string, {address: number; size: number}>();
  /** By format, and by the bytes of a number. */
  private readonly constants = {double: new Map<Float64Array, number>(), single: new Map<Float64Array, number>()};
  private readonly tableAddresses = {8: new Map<Int32Array, number>(), 4: new Map<Int32Array, number>()};
  private readonly tables: {address: number; table: Int32Array; bytes: 4 | 8}[] = [];
  private readonly pairs = new Map<bigint, number>();
  /** Index of the imported function for those computed by the host. */
  private readonly imported = new Map<FunctionName | BinaryName, number>();
  /** Index of the module's own function for those computed several at once, by format. */
  private readonly own = {
    double: new Map<FunctionName | BinaryName, number>(),
    single: new Map<FunctionName | BinaryName, number>(),
  };
  private readonly vectorFunctions = {double: new Set<VectorFunction>(), single: new Set<VectorFunction>()};
  private readonly hostImports = new Map<KernelStep, {index: number; slot: number}>();
  private readonly hostKernels: HostKernel[] = [];
  private readonly data: {address: number; values: Float64Array | Float32Array}[] = [];
  private readonly shared: number;
  private end: number;
  /** Index of each function on whole blocks, by name. */
  private readonly blockFunctions = new Map<BlockFunction, number>();
  /** Index by shape. */
  private readonly productFunctions = new Map<string, number>();
  private readonly blocked = new Map<Format, {readonly index: number; readonly workspace: number}>();
  private readonly threaded = new Map<Format, {readonly index: number; readonly product: ThreadedProduct}>();
  /** Room for inputs in single precision, by name. */
  private readonly converted = new Map<string, number>();

  constructor(
    private readonly programs: ReadonlyMap<string, LoweredProgram>,
    bufferSizes: ReadonlyMap<string, number>,
    readonly memory: MemoryUse,
    private readonly format: Format,
    private readonly threads: number,
    /** The first free address of a memory that is shared with others. */
    private readonly begin?: number,
  ) {
    this.end = begin ?? firstAddress[format.name];
    for (const [name, size] of bufferSizes) this.buffers.set(name, {address: this.reserve(8 * size), size});
    this.shared = this.end;
  }

  private reserve(bytes: number): number {
    const address = this.end;
    this.end = address + blockBytes(bytes);
    if (this.end > mostBytes) throw new RangeError(`WebAssembly's memory is limited to ${mostBytes} bytes`);
    return address;
  }

  link(): Linked {
    const held = new Map([...this.programs].map(([name, lowered]) => [name, new Held(lowered, this.format)]));
    const placements = new Map(
      [...this.programs].flatMap(([name, lowered]) => {
        const formats = held.get(name);
        return formats === undefined ? [] : [[name, placeValues(lowered, this.memory, formats)] as const];
      }),
    );
    this.reserve(Math.max(0, ...[...placements.values()].map(placement => placement.size)));
    this.declareImports();
    this.defineVectorFunctions();
    const exports = new Map<string, string>();
    let index = 0;
    for (const [name, lowered] of this.programs) {
      const placement = placements.get(name);
      const formats = held.get(name);
      if (placement === undefined || formats === undefined) continue;
      const exported = `p${index++}`;
      exports.set(name, exported);
      const defined = this.builder.define({parameters: [], results: []});
      new ProgramEmitter(this, defined.body, lowered, placement, formats).emit();
      this.builder.export(exported, defined.index);
    }
    const pages = Math.ceil(this.end / pageBytes);
    const calls = [...this.imported.keys()];
    return {
      bytes: this.builder.finish(this.begin === undefined ? pages : undefined, this.threaded.size > 0),
      layout: {
        buffers: this.buffers,
        pages,
        end: this.end,
        exports,
        calls,
        hostKernels: this.hostKernels,
        data: this.data,
        tables: this.tables,
        products: [...this.threaded.values()].map(({product}) => product),
      },
    };
  }

  private declareImports(): void {
    const declare = (fn: FunctionName | BinaryName, parameters: readonly ValueType[]): void => {
      if (!this.imported.has(fn))
        this.imported.set(fn, this.builder.import('math', fn, {parameters, results: ['f64']}));
    };
    const unary = (fn: FunctionName, {name}: Format): void => {
      if (unaryForms[fn].by === 'call') declare(fn, ['f64']);
      if (!isVectorFunction(fn)) return;
      this.vectorFunctions[name].add(fn);
      const fallback = fallbacks[fn];
      if (fallback !== undefined) declare(fallback, ['f64']);
    };
    for (const {steps} of this.programs.values()) {
      for (const step of plainSteps(steps)) {
        if (step.kind === 'kernel') {
          this.declareProducts(step.node);
          const slot = this.hostImports.size;
          if (hostOps.has(step.node.op))
            this.hostImports.set(step, {
              slot,
              index: this.builder.import('host', String(slot), {parameters: [], results: []}),
            });
          continue;
        }
        visitExpressions(step.built, e => {
          if (e.kind === 'unary') unary(e.fn, step.precise ? double : this.format);
          if (e.kind === 'binary' && binaryForms[e.fn].by === 'call') declare(e.fn, ['f64', 'f64']);
        });
      }
    }
  }

  /** A product in the programs' format that is worth other threads. */
  private declareProducts(node: Node): void {
    const {format, builder, threads} = this;
    if (threads === 1 || this.threaded.has(format) || !isOp(node, 'matMul') || !isBlocked(node)) return;
    const [, m, n] = node.shape;
    if (2 * n * m * node.operands[0].shape[node.attributes.transposeA ? 1 : 2] < fewestOperations) return;
    const name = `product/${format.name}`;
    const workspaces = Array.from({length: threads}, () => this.reserve(workspaceBytes(format)));
    const index = builder.import('threads', name, {parameters: productParameters.slice(0, -1), results: []});
    this.threaded.set(format, {index, product: {name, workspaces}});
  }

  private defineVectorFunctions(): void {
    for (const format of [double, single])
      for (const fn of this.vectorFunctions[format.name]) {
        const {index, body} = this.builder.define({parameters: ['v128'], results: ['v128']});
        const formula = new Formula(body, bits => this.pairAddress(bits), format);
        emitVectorFunction(fn, formula, format === double ? inDouble : inSingle, this.imported.get(fn));
        this.own[format.name].set(fn, index);
      }
  }

  product(product: Product, format: Format): number {
    const key = productKey(product, format);
    let index = this.productFunctions.get(key);
    if (index === undefined) {
      const {body, ...defined} = this.builder.define({parameters: ['i32', 'i32', 'i32'], results: []});
      const [a, b, c] = [product.a, product.b, product.c].map((place, i) => ({...place, address: body.parameter(i)}));
      emitProduct(body, {...product, a, b, c}, format);
      this.productFunctions.set(key, (index = defined.index));
    }
    return index;
  }

  blockedProduct(format: Format, operations: number): {readonly index: number; readonly workspace?: number} {
    const threaded = this.threaded.get(format);
    let defined = this.blocked.get(format);
    if (defined === undefined) {
      const {index} = defineBlockedProduct(this.builder, format);
      const workspace = threaded?.product.workspaces[0] ?? this.reserve(workspaceBytes(format));
      this.blocked.set(format, (defined = {index, workspace}));
      if (threaded !== undefined) this.builder.export(threaded.product.name, index);
    }
    return threaded !== undefined && operations >= fewestOperations ? {index: threaded.index} : defined;
  }

  convertedAddress(node: Node<'input'>): number {
    const {name} = node.attributes;
    let address = this.converted.get(name);
    if (address === undefined) this.converted.set(name, (address = this.reserve(single.bytes * node.size)));
    return address;
  }

  /** Calls a function on blocks: what is behind a value in its last vector belongs to it. */
  private callOnBlocks(body: FunctionBody, name: BlockFunction, addresses: readonly number[], bytes: number): void {
    if (bytes === 0) return;
    let index = this.blockFunctions.get(name);
    if (index === undefined) {
      const parameters = [...addresses, bytes].map((): ValueType => 'i32');
      const defined = this.builder.define({parameters, results: []});
      blockFunctions[name](defined.body, ...parameters.map((_, i) => defined.body.parameter(i)));
      this.blockFunctions.set(name, (index = defined.index));
    }
    for (const given of [...addresses, aligned(bytes)]) body.i32(given);
    body.call(index);
  }

  emitNarrow(body: FunctionBody, from: number, to: number, count: number): void {
    this.callOnBlocks(body, 'narrow', [from, to], 8 * count);
  }

  emitWiden(body: FunctionBody, from: number, to: number, count: number): void {
    this.callOnBlocks(body, 'widen', [from, to], 8 * count);
  }

  emitZero(body: FunctionBody, address: number, bytes: number): void {
    this.callOnBlocks(body, 'zero', [address], bytes);
  }

  /** Makes all of a value's block NaN. */
  emitPoison(body: FunctionBody, address: number, bytes: number): void {
    this.callOnBlocks(body, 'poison', [address], bytes);
  }

  emitCopy(body: FunctionBody, from: number, to: number, count: number): void {
    this.callOnBlocks(body, 'copy', [from, to], 8 * count);
  }

  bufferAddress(name: string): number {
    return named(this.buffers, 'buffer', name).address;
  }

  sharedAddress(offset: number): number {
    return this.shared + offset;
  }

  /** A workspace for values set aside while outputs change places. */
  scratch(bytes: number): number {
    return this.reserve(bytes);
  }

  constantAddress(values: Float64Array, format: Format): number {
    const known = this.constants[format.name];
    let address = known.get(values);
    if (address === undefined) {
      known.set(values, (address = this.reserve(format.bytes * values.length)));
      this.data.push({address, values: format === double ? values : Float32Array.from(values)});
    }
    return address;
  }

  /** A pair of equal doubles, given by their bits. */
  private pairAddress(bits: bigint): number {
    let address = this.pairs.get(bits);
    if (address === undefined) {
      this.pairs.set(bits, (address = this.reserve(16)));
      this.data.push({address, values: new Float64Array(BigUint64Array.of(bits, bits).buffer)});
    }
    return address;
  }

  tableAddress(table: Int32Array, bytes: 4 | 8): number {
    const known = this.tableAddresses[bytes];
    let address = known.get(table);
    if (address === undefined) {
      known.set(table, (address = this.reserve(table.byteLength)));
      this.tables.push({address, table, bytes});
    }
    return address;
  }

  callIndex(fn: FunctionName | BinaryName, {name}: Format): number {
    const index = this.own[name].get(fn) ?? this.imported.get(fn);
    if (index === undefined) throw new Error(`${fn} was not declared`);
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

/**
 * Runs code for every 16 bytes of doubles from an address on; `end`, given as their number of bytes, becomes where they
 * end.
 */
function eachPair(body: FunctionBody, at: Local, end: Local, code: () => void): void {
  body.get(at).get(end).op('i32.add').set(end);
  body.loop(() => {
    code();
    move(body, at, 16);
    body.get(at).get(end).op('i32.lt_u').branchIf();
  });
}

const fill =
  (value: number) =>
  (body: FunctionBody, at: Local, bytes: Local): void =>
    eachPair(body, at, bytes, () => body.get(at).f64x2(value, value).memory('v128.store', 0));

type BlockFunction = 'zero' | 'poison' | 'copy' | 'narrow' | 'widen';

/** Functions of addresses, and of a number of bytes of doubles. */
const blockFunctions: {readonly [N in BlockFunction]: (body: FunctionBody, ...given: Local[]) => void} = {
  zero: fill(0),
  poison: fill(NaN),
  copy: (body, from, to, bytes) =>
    eachPair(body, from, bytes, () => {
      body.get(to).get(from).memory('v128.load', 0).memory('v128.store', 0);
      move(body, to, 16);
    }),
  /** From doubles, in pairs, as an odd number of them may be at the end of the memory. */
  narrow: (body, from, to, bytes) =>
    eachPair(body, from, bytes, () => {
      body.get(to).get(from).memory('v128.load', 0).op('f32x4.demote_f64x2_zero');
      body.laneMemory('v128.store64_lane', 0, 0);
      move(body, to, 8);
    }),
  /** To doubles. */
  widen: (body, from, to, bytes) =>
    eachPair(body, to, bytes, () => {
      body.get(to).get(from).memory('v128.load64_zero', 0).op('f64x2.promote_low_f32x4').memory('v128.store', 0);
      move(body, from, 8);
    }),
};
