/**
 * Where a program runs. An engine turns graphs into executables over typed arrays; Newton's
 * iteration, the factorizations and the adjoints see nothing else.
 *
 * Programs compiled together share one set of buffers by name: an output called `z` of one is the
 * input called `z` of another, so that a step hands its values on without copies.
 */
import type {Graph} from '../graph/node.js';
import type {Analysis, Factor} from '../linear/index.js';
import {identityKeys} from '../text.js';
import {plainVectors, type Vectors} from './vectors.js';

/** Makes programs run: graphs in, functions of typed arrays out. */
export interface Engine {
  /** 'interpreter', 'wasm', 'tensor', or the name of a custom engine. */
  readonly name: string;
  /** Machine epsilon of its arithmetic, the distance from 1 to the next number; no tolerance is set below it. */
  readonly epsilon: number;
  /**
   * Sums with numbers of its buffers are made in double precision, though `epsilon` may be larger; absent: as `epsilon`
   * says.
   */
  readonly accumulatesInDouble?: boolean;
  /** @throws MemoryError 'out-of-memory' if the programs do not fit */
  compile(programs: Programs, options?: CompileOptions): Executable;
  /** The engine that runs programs that do not fit into this one, with the same bits. */
  readonly fallback?: Engine;
  /**
   * An engine of the same results whose executables lie in one memory, so that one routine (routines.ts) may call
   * programs of all of them: of what is compiled before the first is used. undefined where there is no such memory.
   */
  readonly inOneMemory?: () => Engine | undefined;
  /**
   * Numbers that programs exchange go to a device and back: values are not precomputed once per run or step, nor kept
   * for a gradient.
   */
  readonly remote?: boolean;
}

/** A name that tells engines apart, for what is compiled and kept: two may be called the same. */
export const engineKey = identityKeys<Engine>();

/** Options of an engine's compilation. */
export interface CompileOptions {
  /** Buffers in addition to those of the programs, by name, with their numbers of elements. */
  readonly extra?: Readonly<Record<string, number>>;
  /**
   * Analysis of the matrix that the programs write: the engine reserves storage for its factor if it has a kernel for
   * it.
   */
  readonly analysis?: Analysis;
  /** How often each program will be called, as far as is known: it may be that only then compiling it pays. */
  readonly calls?: number;
}

/** Graphs by program name. */
export interface Programs {
  readonly [name: string]: Graph;
}

/**
 * Compiled programs: named buffers, and functions that read and write them. Who knows its programs says what they and
 * their buffers are called (step/buffers.ts), and a name that is misspelt does not compile; an engine knows text alone.
 */
export interface Executable<Program extends string = string, Buffer extends string = string> {
  /** The buffer of a required input or output, row-major; the same array for the executable's whole life. */
  buffer(name: Buffer): Float64Array;
  /** The buffer of an optional input or output; undefined if no program has it. */
  optionalBuffer(name: Buffer): Float64Array | undefined;
  /** Whether there is a program of this name. */
  has(program: Program): boolean;
  /** Runs one program: reads its inputs' buffers, writes its outputs'. Allocates nothing. */
  run(program: Program): void;
  /** A program as a function, for inner loops: `program(name)()` is `run(name)` without the look-up. */
  program(name: Program): () => void;
  /** Each program will be called so often from now on: see `CompileOptions.calls`. */
  expect?(calls: number): void;
  /** Vector arithmetic on the executable's buffers. */
  readonly vectors: Vectors;
  /**
   * Factors a matrix that lies in its buffers, in place where it was compiled for that; one factor for all calls.
   * @param alone it stays as it is until this executable factors a matrix again; else any other may take its place
   */
  factorization(analysis: Analysis, alone?: boolean): (values: Float64Array) => Factor;
  /**
   * Aᵀx = b for matrices that are solved with once, all in different buffers: what `factorization` made is not to be
   * used afterwards. undefined where that takes as long as factoring and solving.
   */
  transposedSolve?(analysis: Analysis): TransposedSolve | undefined;
}

/**
 * x = A⁻ᵀb for the matrix with these values, which is solved with once. True where every pivot is so large beside its
 * row (`SAFE_PIVOT_RATIO`) that elimination has lost no digits; false where that was not looked at, or is not so.
 */
export type TransposedSolve = (values: Float64Array, b: Float64Array, x: Float64Array) => boolean;

/** Sizes of all buffers of programs compiled together; one name, one size. */
export function bufferSizes(programs: Programs, {extra = {}}: CompileOptions = {}): Map<string, number> {
  const sizes = new Map<string, number>();
  const need = (name: string, size: number): void => {
    const known = sizes.get(name);
    if (known !== undefined && known !== size)
      throw new Error(`buffer ${name} is ${known} numbers in one program and ${size} in another`);
    sizes.set(name, size);
  };
  for (const graph of Object.values(programs)) {
    for (const node of graph.inputs) need(node.attributes.name, node.size);
    for (const output of graph.outputs) need(output.name, output.node.size);
  }
  for (const [name, size] of Object.entries(extra)) need(name, size);
  return sizes;
}

/** A program or a buffer by its name. */
export function named<T>(all: ReadonlyMap<string, T>, what: 'program' | 'buffer', name: string): T {
  const found = all.get(name);
  if (found === undefined) throw new Error(`no ${what} is called ${name}`);
  return found;
}

/** An executable of functions on arrays that lie anywhere. */
export function plainExecutable(
  programs: ReadonlyMap<string, () => void>,
  buffers: ReadonlyMap<string, Float64Array>,
): Executable {
  const program = (name: string): (() => void) => named(programs, 'program', name);
  return {
    buffer: name => named(buffers, 'buffer', name),
    optionalBuffer: name => buffers.get(name),
    has: name => programs.has(name),
    run: name => program(name)(),
    program,
    vectors: plainVectors,
    factorization: factorizationOf,
  };
}

/** An executable that has further names for some of its buffers. */
export function withBufferAliases(executable: Executable, aliases: ReadonlyMap<string, string>): Executable {
  if (aliases.size === 0) return executable;
  const nameOf = (name: string): string => aliases.get(name) ?? name;
  // Its functions are called on it, as those of a custom engine may ask for.
  const aliased: Executable & {readonly routines?: unknown} = {
    buffer: name => executable.buffer(nameOf(name)),
    optionalBuffer: name => executable.optionalBuffer(nameOf(name)),
    has: name => executable.has(name),
    run: name => executable.run(name),
    program: name => executable.program(name),
    expect: calls => executable.expect?.(calls),
    factorization: (analysis, alone) => executable.factorization(analysis, alone),
    transposedSolve: analysis => executable.transposedSolve?.(analysis),
    get vectors() {
      return executable.vectors;
    },
    get routines() {
      return (executable as typeof aliased).routines;
    },
  };
  return aliased;
}

/** By the analysis' own factor, or one more. */
export function factorizationOf(analysis: Analysis, alone = false): (values: Float64Array) => Factor {
  if (!alone) return values => analysis.factor(values);
  const factor = analysis.createFactor();
  return values => {
    factor.refactor(values);
    return factor;
  };
}
