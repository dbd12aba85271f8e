/**
 * Calls of compiled functions one after another, made one function of WebAssembly: where nothing is decided between them,
 * they need not go through JavaScript. A call from one module to another takes a few nanoseconds, one from JavaScript some
 * fifteen, with the arrays' addresses to be asked for beside.
 */
import type {ValueType} from '../../wasm/assembler.js';
import {isShared, ModuleBuilder} from '../../wasm/assembler.js';

/** An address or a count; a number; or the sequence's own parameter with this index, which is a number. */
export type Argument = number | {readonly number: number} | {readonly parameter: number};

export interface Call {
  /** A function that a module exports. */
  readonly run: unknown;
  readonly arguments?: readonly Argument[];
  readonly returns?: 'i32' | 'f64';
  /** The address where the number that it returns is stored. */
  readonly store?: number;
  /** The sequence goes on where the number is above this, or every one of these sets of bits has one in common with what is returned. */
  readonly onlyIf?: {readonly above: number} | {readonly bits: readonly number[]};
}

/** What a sequence returns that has ended at an `onlyIf`. */
export const STOPPED = -1;

const typeOf = (argument: Argument): ValueType => (typeof argument === 'number' ? 'i32' : 'f64');

/**
 * @param parameters how many it has
 * @returns a function of so many numbers, which returns what its last call does, a number, or `STOPPED`
 */
export function sequence(
  memory: WebAssembly.Memory,
  calls: readonly Call[],
  parameters = 0,
): (...numbers: number[]) => number {
  const builder = new ModuleBuilder();
  const imports = calls.map(({arguments: given = [], returns}, i) =>
    builder.import('calls', String(i), {
      parameters: given.map(typeOf),
      results: returns === undefined ? [] : [returns],
    }),
  );
  const {index, body} = builder.define({parameters: new Array<ValueType>(parameters).fill('f64'), results: ['f64']});
  const [last, bits] = [body.local('f64'), body.local('i32')];
  body.block(() => {
    calls.forEach(({arguments: given = [], returns, store, onlyIf}, i) => {
      for (const argument of given) {
        if (typeof argument === 'number') body.i32(argument);
        else if ('number' in argument) body.f64(argument.number);
        else body.get(body.parameter(argument.parameter));
      }
      body.call(imports[i]);
      if (returns !== undefined) body.set(returns === 'i32' ? bits : last);
      if (store !== undefined) body.i32(store).get(last).memory('f64.store', 0);
      if (onlyIf === undefined) return;
      const stopUnless = (condition: () => void): void => {
        condition();
        body.op('i32.eqz');
        body.if(() => body.f64(STOPPED).set(last).branch(1));
      };
      if ('above' in onlyIf) stopUnless(() => body.get(last).f64(onlyIf.above).op('f64.gt'));
      else for (const set of onlyIf.bits) stopUnless(() => body.get(bits).i32(set).op('i32.and'));
    });
  });
  body.get(last);
  builder.export('sequence', index);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(builder.finish(undefined, isShared(memory))), {
    env: {memory},
    calls: Object.fromEntries(calls.map(({run}, i) => [String(i), run as WebAssembly.ImportValue])),
  });
  return instance.exports.sequence as (...numbers: number[]) => number;
}
