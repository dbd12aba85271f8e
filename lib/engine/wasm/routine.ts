/**
 * Functions of WebAssembly that call compiled functions, those of programs and of kernels, with loops and decisions
 * between the calls: what lies between them need not go through JavaScript. A call from one module to another takes a
 * few nanoseconds, one from JavaScript some fifteen, with the arrays' addresses to be asked for beside.
 */
import type {Local, Signature, ValueType} from '../../wasm/assembler.js';
import {FunctionBody, isShared, ModuleBuilder} from '../../wasm/assembler.js';
import type {Push} from '../../wasm/writer.js';
import {Writer} from '../../wasm/writer.js';

/** An address or a count; a number; or what a local variable holds. */
export type Argument = number | {readonly number: number} | Local;

const isLocal = (argument: Argument): argument is Local => typeof argument === 'object' && 'index' in argument;
const typeOf = (argument: Argument): ValueType =>
  isLocal(argument) ? argument.type : typeof argument === 'number' ? 'i32' : 'f64';

interface Imported {
  readonly run: unknown;
  readonly signature: Signature;
}

/** Writes the body of a routine: the writer of kernels, which may call. */
export class RoutineWriter extends Writer {
  readonly imported: Imported[] = [];

  /**
   * A call, which pushes what is returned.
   * @param run a function that a module exports, or one of JavaScript's of numbers
   */
  call(run: unknown, given: readonly Argument[] = [], returns?: ValueType): Push {
    const signature = {parameters: given.map(typeOf), results: returns === undefined ? [] : [returns]};
    let index = this.imported.findIndex(known => known.run === run);
    if (index < 0) index = this.imported.push({run, signature}) - 1;
    return () => {
      for (const argument of given) {
        if (isLocal(argument)) this.body.get(argument);
        else if (typeof argument === 'number') this.body.i32(argument);
        else this.body.f64(argument.number);
      }
      this.body.call(index);
    };
  }

  /** Writes a call of a function that returns nothing. */
  run(run: unknown, ...given: readonly Argument[]): void {
    this.call(run, given)();
  }

  /** Ends the routine, with this result where it has one. */
  return(result?: Push): void {
    result?.();
    this.body.op('return');
  }
}

/**
 * A function of a memory.
 * @param write its body; what it returns is left on the stack at the end
 */
export function routine<Run extends (...given: number[]) => number | undefined>(
  memory: WebAssembly.Memory,
  signature: Signature,
  write: (w: RoutineWriter) => void,
): Run {
  const builder = new ModuleBuilder();
  const w = new RoutineWriter(new FunctionBody(signature));
  write(w);
  w.imported.forEach((known, i) => builder.import('calls', String(i), known.signature));
  builder.export('routine', builder.define(signature, w.body).index);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(builder.finish(undefined, isShared(memory))), {
    env: {memory},
    calls: Object.fromEntries(w.imported.map(({run}, i) => [String(i), run as WebAssembly.ImportValue])),
  });
  return instance.exports.routine as Run;
}

/** A factor of the matrix in an executable's memory, as parts of routines. */
export interface RoutineFactor {
  readonly n: number;
  /** Row i of the matrix has the columns i − band … i + band that there are. */
  readonly band: number;
  /** Before a routine that factors: what was factored is gone. */
  forget(): void;
  /** Factors the values at an address; pushes whether the matrix is one for the kernel. */
  writeElimination(w: RoutineWriter, values: number): Push;
  /** Solves from one address to another. */
  writeSubstitution(w: RoutineWriter, from: number, to: number, transposed: boolean): void;
  /** Elimination and transposed solve in one; pushes whether no digits were lost, else nothing is solved. */
  writeTransposedOnce?(w: RoutineWriter, values: number, from: number, to: number): Push;
}
