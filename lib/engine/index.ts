/** Which engine runs a program here. */
import {OptionError} from '../errors.js';
import {automatic} from './automatic.js';
import type {Engine} from './engine.js';
import {interpreter} from './interpreter.js';
import {tensor} from './tensor/index.js';
import {wasm, wasmSupported} from './wasm/wasm.js';

/** The engines that ship, and `auto` for the fastest that runs here. */
export type EngineName = 'auto' | 'wasm' | 'interpreter' | 'tensor';

/** 'auto': compiled code, or the interpreter where WebAssembly is missing or forbidden. */
const engines: {readonly [N in EngineName]: () => Engine} = {
  auto: () => (wasmSupported() ? automatic : interpreter),
  wasm: () => {
    if (!wasmSupported())
      throw new OptionError(
        'no-wasm',
        "WebAssembly is missing or forbidden here (a content security policy may need 'wasm-unsafe-eval'); use engine 'auto' or 'interpreter'.",
      );
    return wasm;
  },
  interpreter: () => interpreter,
  tensor: () => tensor,
};

/**
 * The engine of a name, or the one given.
 * @throws OptionError 'bad-engine', 'no-wasm'
 */
export function chooseEngine(engine: EngineName | Engine): Engine {
  if (isEngine(engine)) return engine;
  if (typeof engine === 'string' && Object.hasOwn(engines, engine)) return engines[engine]();
  const names = Object.keys(engines).join(', ');
  throw new OptionError(
    'bad-engine',
    typeof engine === 'string'
      ? `There is no engine '${String(engine)}'; choose one of ${names}.`
      : `engine must be one of ${names}, or an object with a name, the unit roundoff epsilon of its arithmetic, and compile(programs, options).`,
    {engine},
  );
}

function isEngine(given: EngineName | Engine): given is Engine {
  const {name, epsilon, compile} = (given as Engine | null) ?? ({} as Partial<Engine>);
  return (
    typeof given === 'object'
    && typeof name === 'string'
    && typeof compile === 'function'
    && typeof epsilon === 'number'
    && epsilon > 0
  );
}

/** The name by which a worker thread has the same engine; undefined where it has not. */
export function threadEngine(engine: Engine): 'auto' | 'wasm' | 'interpreter' | undefined {
  return engine === automatic ? 'auto' : engine === wasm ? 'wasm' : engine === interpreter ? 'interpreter' : undefined;
}

export {
  bufferSizes,
  engineKey,
  factorizationOf,
  type CompileOptions,
  type Engine,
  type Executable,
  type Programs,
  type TransposedSolve,
} from './engine.js';
export {plainVectors, type Vectors} from './vectors.js';
export {interpreter, tensor, wasm};
