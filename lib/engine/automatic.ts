/**
 * Programs run interpreted until that has taken about what compiling them takes, and compiled from then on: the choice
 * of a just-in-time compiler with two tiers, which is never more than twice as slow as the better one (the ski rental
 * problem; Karlin et al. 1988). Both give the same bits, in the same buffers, so that nobody sees which of them runs.
 * What is known to run often is compiled at once, and what has no room in WebAssembly's memory (4 GiB, or what the
 * system gives) is interpreted.
 */
import {MemoryError} from '../errors.js';
import {isOp, topological} from '../graph/node.js';
import {workOf} from '../graph/work.js';
import type {CompileOptions, Engine, Executable, Programs} from './engine.js';
import {interpreted, interpreter} from './interpreter.js';
import {getThreadsCount} from './wasm/product-threads.js';
import {roomFor, wasm, type WasmExecutable} from './wasm/wasm.js';

/** Nanoseconds of compiling a node, V8's own compilers included (33 to 110 µs for three mechanisms). */
const compiling = 50_000;
/** Nanoseconds of interpreting a node, and an operation or a number that is moved. */
const interpreting = 100;
const operation = 1;

/** Programs that pay after fewer calls are compiled at once: V8 would compile the interpreter's loops, too. */
const fewestRounds = 16;

/** Programs with more elements are compiled at once, too: interpreting them would ask for a large memory. */
const mostElements = 2 ** 21;

/** Bytes for a value at most: its block, once more where outputs change places, an entry in a table. */
const bytesOfElement = 3 * Float64Array.BYTES_PER_ELEMENT;
/** The ends of blocks, and the distances between long ones (wasm/memory.ts). */
const bytesOfNode = 640;
/** Constants of functions, workspaces of products. */
const bytesOfModule = 2 ** 20;

interface Size {
  readonly nodes: number;
  readonly elements: number;
  /** Counted operations. */
  readonly work: number;
}

function sizeOf(programs: Programs): Size {
  let [nodes, elements, work] = [0, 0, 0];
  for (const {outputs} of Object.values(programs))
    for (const node of topological(outputs.map(output => output.node))) {
      nodes++;
      elements += node.size;
      work += workOf(node);
      if (isOp(node, 'gather') || isOp(node, 'scatter')) elements += node.attributes.table.length;
    }
  return {nodes, elements, work};
}

export const automatic: Engine = {
  ...wasm,
  fallback: interpreter,
  compile(programs: Programs, options?: CompileOptions): Executable {
    const {nodes, elements, work} = sizeOf(programs);
    const call = interpreting * nodes + operation * (elements + work);
    const rounds = (compiling * nodes) / call;
    const isOften = (calls = 0): boolean => calls >= rounds;
    if (isOften(options?.calls) || rounds < fewestRounds || elements > mostElements || getThreadsCount() > 1)
      return wasm.compile(programs, options);
    const room = roomFor(programs, options, bytesOfModule + bytesOfNode * nodes + bytesOfElement * elements);
    const functions = new Map<string, () => void>();
    let isCompiled = false;
    let left = rounds * Object.keys(programs).length;
    const compile = (): void => {
      left = Infinity;
      try {
        const compiled = room.compile();
        isCompiled = compiled !== undefined;
        for (const [name, run] of compiled ?? []) functions.set(name, run);
      } catch (error) {
        if (!(error instanceof MemoryError)) throw error;
      }
    };
    for (const [name, graph] of Object.entries(programs)) {
      let run: (() => void) | undefined;
      let isLast = false;
      functions.set(name, () => {
        if (--left < 0) compile();
        if (isCompiled && !isLast) {
          isLast = true;
          run = functions.get(name);
        }
        run ??= interpreted(graph, room.views);
        run();
      });
    }
    const executable = room.holding(functions);
    const {has, program, run, buffer, optionalBuffer, factorization, transposedSolve} = executable;
    const tiered: Executable & Partial<Pick<WasmExecutable, 'routines'>> = {
      has,
      program,
      run,
      buffer,
      optionalBuffer,
      factorization,
      transposedSolve,
      get vectors() {
        return executable.vectors;
      },
      // Routines call programs from compiled code.
      get routines() {
        return isCompiled ? executable.routines : undefined;
      },
      expect(calls) {
        if (!isCompiled && left !== Infinity && isOften(calls)) compile();
      },
    };
    return tiered;
  },
};
