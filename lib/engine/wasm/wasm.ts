/**
 * The engine that compiles programs to WebAssembly: one module for all programs compiled together,
 * fused loops over one memory of fixed size, the interpreter's results to the bit. Modules are kept by
 * the programs' structure, so a system built anew compiles once.
 */
import type {ModuleBytes} from '../../wasm/bytes.js';
import {binaryRules} from '../../graph/primitives/elementwise.js';
import {hoist} from '../../graph/hoist.js';
import {KeyedCache, programKey} from '../../graph/key.js';
import type {BinaryName, Graph} from '../../graph/node.js';
import {valuesOf} from '../../graph/declarations.js';
import type {Analysis} from '../../linear/index.js';
import {binaryNames} from '../../graph/node.js';
import type {CompileOptions, Engine, Executable, Programs} from '../engine.js';
import {bufferSizes, factorizationOf, named} from '../engine.js';
import type {Routines} from '../routines.js';
import {ModuleBuilder} from '../../wasm/assembler.js';
import {Bytes} from '../../wasm/bytes.js';
import type {Format} from './format.js';
import {double, single} from './format.js';
import type {FunctionName} from './functions.js';
import {valueOf} from './functions.js';
import {bindHostKernel} from './host.js';
import type {NumericKernels, VectorKernels} from './kernels.js';
import {MemoryError} from '../../errors.js';
import {numericKernels, vectorKernels} from './kernels.js';
import type {ModuleLayout} from './link.js';
import type {MemoryFactor} from './factors.js';
import {factorSize, memoryFactor} from './factors.js';
import {firstAddress, link, pageBytes} from './link.js';
import {lower} from './lower.js';
import type {MemoryUse} from './memory.js';
import {blockBytes, ordinary} from './memory.js';
import {computedOnce} from './precise.js';
import type {Vectors} from '../vectors.js';
import {getThreadsCount, productThreads} from './product-threads.js';
import {memoryVectors} from './vectors.js';

export interface WasmExecutable extends Executable {
  readonly routines: Routines;
  readonly memory: WebAssembly.Memory;
  /** Byte address of a named buffer, for code that works in the same memory. */
  address(name: string): number;
  /** Numerical kernels on this memory. */
  readonly kernels: NumericKernels;
}

/**
 * Chrome before version 115 compiles at most 4 KiB at once on a page's main thread (newer ones 8 MiB),
 * which no program here keeps to. A module padded beyond that tells.
 */
const padding = 5000;

function paddedModule(): ModuleBytes {
  const bytes = new Bytes();
  bytes.append(Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00));
  // A custom section with an empty name.
  bytes.byte(0x00);
  bytes.unsigned(1 + padding);
  bytes.byte(0x00);
  bytes.append(new Uint8Array(padding));
  return bytes.finish();
}

let supported: boolean | undefined;

/**
 * Whether WebAssembly is there and allowed (a content security policy may forbid it), at once and in pairs of doubles.
 */
export function wasmSupported(): boolean {
  supported ??= typeof WebAssembly === 'object' && canCompile(paddedModule()) && canCompile(pairModule());
  return supported;
}

function canCompile(bytes: ModuleBytes): boolean {
  try {
    return new WebAssembly.Module(bytes) instanceof WebAssembly.Module;
  } catch {
    return false;
  }
}

/** A module with a vector instruction: engines of before 2021 (Safari of before 2023) do not know them. */
function pairModule(): ModuleBytes {
  const builder = new ModuleBuilder();
  const {body} = builder.define({parameters: ['v128'], results: ['v128']});
  body.get(body.parameter(0)).op('f64x2.abs');
  return builder.finish();
}

interface Compiled {
  readonly module: WebAssembly.Module;
  readonly layout: ModuleLayout;
  /** Programs to run once, when an instance is made. */
  readonly beginnings: readonly string[];
}

/** Modules kept, the least recently used given up first: a training loop alternates between a handful of
 * systems, each with forward, backward and initial programs. */
const cacheSize = 64;
const cache = new KeyedCache<Compiled>(cacheSize);

export interface WasmEngine extends Engine {
  compile(programs: Programs, options?: CompileOptions): WasmExecutable;
}

let memoryUse = ordinary;

/**
 * For finding mistakes in the compiler: from now on programs are compiled to treat their memory so, until this is
 * called again. What was compiled before stays as it is.
 */
export function treatMemory(use: Partial<MemoryUse>): void {
  memoryUse = {...ordinary, ...use};
}

export const wasm: WasmEngine = engineIn(double, Number.EPSILON);

/**
 * The same engine with its loops and products in single precision. Buffers are double, and so are factorizations: what
 * runs between two programs does not know the difference, but for the machine epsilon.
 */
export const wasmSingle: WasmEngine = engineIn(single, 2 ** -23);

/** An engine that computes in a format, with its machine epsilon. */
export function engineIn(format: Format, epsilon: number): WasmEngine {
  const compile: WasmEngine['compile'] = (programs, options) => compileIn(format, programs, options);
  return {name: 'wasm', epsilon, accumulatesInDouble: true, compile, inOneMemory: () => inOneMemory(format, epsilon)};
}

/** Kernels compare addresses as numbers with signs. */
const mostTogether = 2 ** 31;

/**
 * What is compiled until the first of it is used lies in one memory, one after another; it is made then, as large as
 * all of that needs, since a memory that grows leaves the views of it without numbers. What is compiled later has a
 * memory of its own.
 */
function inOneMemory(format: Format, epsilon: number): WasmEngine | undefined {
  if (getThreadsCount() > 1) return undefined;
  let memory: WebAssembly.Memory | undefined;
  let end: number = firstAddress[format.name];
  const compile = (programs: Programs, options?: CompileOptions): WasmExecutable => {
    if (memory !== undefined) return compileIn(format, programs, options);
    const found = requireRoom(() => compiled(programs, withFactor(options), format, end));
    ({end} = found.layout);
    let made: WasmExecutable | undefined;
    const use = (): WasmExecutable => {
      memory ??= requireRoom(() => {
        if (end >= mostTogether) throw new RangeError(`together they need ${end} bytes`);
        return new WebAssembly.Memory({initial: Math.ceil(end / pageBytes)});
      });
      return (made ??= instantiate(found, options?.analysis, memory));
    };
    return {
      has: name => use().has(name),
      program: name => use().program(name),
      run: name => use().run(name),
      buffer: name => use().buffer(name),
      optionalBuffer: name => use().optionalBuffer(name),
      factorization: (...given) => use().factorization(...given),
      transposedSolve: analysis => use().transposedSolve?.(analysis),
      address: name => use().address(name),
      get vectors() {
        return use().vectors;
      },
      get kernels() {
        return use().kernels;
      },
      get memory() {
        return use().memory;
      },
      get routines() {
        return use().routines;
      },
    };
  };
  return {name: 'wasm', epsilon, accumulatesInDouble: true, compile};
}

/** With room for the factor of the matrix. */
function withFactor({extra, analysis}: CompileOptions = {}): CompileOptions {
  const size = analysis === undefined ? 0 : factorSize(analysis);
  return {extra: size > 0 ? {...extra, [factorBuffer]: size} : extra};
}

const compileIn = (format: Format, programs: Programs, options?: CompileOptions): WasmExecutable =>
  requireRoom(() => instantiate(compiled(programs, withFactor(options), format), options?.analysis));

function requireRoom<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    // Too much for one memory, or more than the system gives: of data, code or address space.
    if (!(error instanceof RangeError || error instanceof WebAssembly.CompileError)) throw error;
    const refused = new MemoryError(
      'out-of-memory',
      `The programs of a step do not fit into WebAssembly's memory: ${error.message}. `
        + "Use engine 'auto' or 'interpreter', which does not need it, or a smaller system.",
    );
    refused.cause = error;
    throw refused;
  }
}

/**
 * @param begin where it begins in a memory that others lie in too
 * @param threads that take products; more than one need a memory that is shared
 */
function compiled(
  programs: Programs,
  options: CompileOptions,
  format: Format,
  begin?: number,
  threads = getThreadsCount(),
): Compiled {
  const key = programKey(
    JSON.stringify([Object.keys(programs), options.extra ?? {}, memoryUse, format.name, format.fused, threads, begin]),
    Object.values(programs),
  );
  let found = cache.get(key);
  if (found === undefined) cache.add(key, (found = compileAnew(programs, options, format, threads, begin)));
  return found;
}

function compileAnew(
  programs: Programs,
  options: CompileOptions,
  format: Format,
  threads: number,
  begin?: number,
): Compiled {
  const {bytes, layout, beginnings} = generate(programs, options, memoryUse, format, threads, begin);
  return {module: new WebAssembly.Module(bytes), layout, beginnings};
}

/** The module's bytes and what an instance needs beside them. */
export function generate(
  programs: Programs,
  options: CompileOptions = {},
  memory = ordinary,
  format = double,
  threads = 1,
  begin?: number,
): {bytes: ModuleBytes; layout: ModuleLayout; beginnings: string[]} {
  const parts = new Map<string, Graph>();
  const beginnings: string[] = [];
  for (const [name, graph] of Object.entries(programs)) {
    // Values that depend on no input are computed once, when an instance is made.
    const all = new Set(graph.inputs.map(node => node.attributes.name));
    const {before, each} = hoist(valuesOf(graph), all, `${name}${computedOnce}`);
    if (before.outputs.length > 0) {
      beginnings.push(`${name}/fixed`);
      parts.set(`${name}/fixed`, before);
    }
    parts.set(name, each);
  }
  // Buffers of programs lie first, so that their addresses are known before anything is compiled (`roomFor`).
  const sizes = new Map([...bufferSizes(programs, options), ...bufferSizes(Object.fromEntries(parts))]);
  const lowered = new Map([...parts].map(([name, graph]) => [name, lower(graph, format === single, memory.tiles)]));
  return {...link(lowered, sizes, memory, format, threads, begin), beginnings};
}

/** Where the compiled factor of the matrix lies. */
const factorBuffer = 'factor';

const isBinary = new Set<string>(binaryNames);

function mathFunction(fn: FunctionName | BinaryName): (a: number, b: number) => number {
  return isBinary.has(fn) ? binaryRules[fn as BinaryName].value : valueOf(fn as FunctionName);
}

/** The functions of the programs in a memory, after those that run once. */
function functionsOf({module, layout, beginnings}: Compiled, memory: WebAssembly.Memory): Map<string, () => void> {
  const {products} = layout;
  const threads = products.length > 0 ? productThreads(module, memory, products) : undefined;
  const instance = new WebAssembly.Instance(module, {
    env: {memory},
    threads: threads?.imports ?? {},
    math: Object.fromEntries(layout.calls.map(fn => [fn, mathFunction(fn)])),
    host: Object.fromEntries(layout.hostKernels.map((kernel, i) => [String(i), bindHostKernel(kernel, memory)])),
  });
  threads?.bind(instance.exports);
  for (const {address, values} of layout.data) {
    if (values instanceof Float64Array) new Float64Array(memory.buffer, address, values.length).set(values);
    else new Float32Array(memory.buffer, address, values.length).set(values);
  }
  for (const {address, table, bytes} of layout.tables) {
    const offsets = new Int32Array(memory.buffer, address, table.length);
    for (let i = 0; i < table.length; i++) offsets[i] = table[i] < 0 ? -1 : bytes * table[i];
  }
  const functions = new Map<string, () => void>();
  for (const [program, name] of layout.exports) {
    const exported = instance.exports[name];
    if (typeof exported === 'function') functions.set(program, exported as () => void);
  }
  for (const name of beginnings) functions.get(name)?.();
  return functions;
}

/** @param given the memory that others lie in too */
function instantiate(compiled: Compiled, analysis: Analysis | undefined, given?: WebAssembly.Memory): WasmExecutable {
  const {pages, products, buffers} = compiled.layout;
  const memory = given ?? new WebAssembly.Memory({initial: pages, maximum: pages, shared: products.length > 0});
  return executableIn(memory, viewsOf(memory, buffers), functionsOf(compiled, memory), analysis);
}

/**
 * An executable of programs in a memory, whatever runs them, with the kernels that work there.
 * @param own the analysis whose factor has its room: others that are as large would overwrite it
 */
function executableIn(
  memory: WebAssembly.Memory,
  views: ReadonlyMap<string, Float64Array>,
  functions: ReadonlyMap<string, () => void>,
  own: Analysis | undefined,
): WasmExecutable {
  const program = (name: string): (() => void) => named(functions, 'program', name);
  const buffer = (name: string): Float64Array => named(views, 'buffer', name);
  let kernels: NumericKernels | undefined;
  let vectors: Vectors | undefined;
  let factor: MemoryFactor | undefined;
  let ofVectors: VectorKernels | undefined;
  const boundVectors = (): VectorKernels => (ofVectors ??= vectorKernels(memory));
  const boundKernels = (): NumericKernels => (kernels ??= numericKernels(memory, boundVectors()));
  const compiledFactor = (analysis: Analysis): MemoryFactor | undefined => {
    const workspace = views.get(factorBuffer);
    if (workspace === undefined || analysis !== own) return undefined;
    return (factor ??= memoryFactor(analysis, boundKernels(), memory, workspace));
  };
  return {
    memory,
    has: name => functions.has(name),
    program,
    run: name => program(name)(),
    buffer,
    optionalBuffer: name => views.get(name),
    get kernels() {
      return boundKernels();
    },
    get vectors() {
      return (vectors ??= memoryVectors(boundVectors()));
    },
    factorization(analysis, alone) {
      const compiled = compiledFactor(analysis);
      if (compiled === undefined) return factorizationOf(analysis, alone);
      return values => {
        compiled.refactor(values);
        return compiled;
      };
    },
    transposedSolve(analysis) {
      return compiledFactor(analysis)?.solveTransposedOnce;
    },
    routines: {
      memory,
      get vectors() {
        return boundVectors();
      },
      get kernels() {
        return boundKernels();
      },
      factor: compiledFactor,
    },
    address: name => buffer(name).byteOffset,
  };
}

function viewsOf(memory: WebAssembly.Memory, buffers: ModuleLayout['buffers']): Map<string, Float64Array> {
  return new Map([...buffers].map(([name, {address, size}]) => [name, new Float64Array(memory.buffer, address, size)]));
}

/** A memory for programs that are not compiled yet. */
export interface Room {
  /** The buffers, where compiled code will look for them. */
  readonly views: ReadonlyMap<string, Float64Array>;
  /** With functions that are looked up by name whenever a program is asked for. */
  holding(functions: ReadonlyMap<string, () => void>): WasmExecutable;
  /**
   * The programs compiled into this memory; undefined where they need more of it.
   * @throws MemoryError
   */
  compile(): ReadonlyMap<string, () => void> | undefined;
}

/**
 * @param more bytes that compiled code may need beside the buffers
 * @throws MemoryError
 */
export function roomFor(programs: Programs, given: CompileOptions | undefined, more: number): Room {
  const options = withFactor(given);
  const buffers = new Map<string, {address: number; size: number}>();
  let end: number = firstAddress.double;
  for (const [name, size] of bufferSizes(programs, options)) {
    buffers.set(name, {address: end, size});
    end += blockBytes(Float64Array.BYTES_PER_ELEMENT * size);
  }
  const memory = requireRoom(() => new WebAssembly.Memory({initial: Math.ceil((end + more) / pageBytes)}));
  const views = viewsOf(memory, buffers);
  return {
    views,
    holding: functions => executableIn(memory, views, functions, given?.analysis),
    compile: () =>
      requireRoom(() => {
        const found = compiled(programs, options, double, firstAddress.double, 1);
        return found.layout.end <= memory.buffer.byteLength ? functionsOf(found, memory) : undefined;
      }),
  };
}
