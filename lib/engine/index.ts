/** Which engine runs a program here. */
import {OptionError} from '../errors.js';
import {automatic} from './automatic.js';
import type {Engine} from './engine.js';
import {interpreter} from './interpreter.js';
import {tensor} from './tensor/index.js';
import {wasm, wasmSingle, wasmSupported} from './wasm/wasm.js';

/** The engines that ship, and `auto` for the fastest that runs here. */
export type EngineName = 'auto' | 'wasm' | 'interpreter' | 'tensor';

/** Precision of compiled programs. */
export type Precision = 'double' | 'single';

/** 'auto': compiled code, or the interpreter where WebAssembly is missing or forbidden. */
const engines: {readonly [N in EngineName]: () => Engine} = {
  auto: () => (wasmSupported() ? automatic : interpreter),
  wasm: () => {
    if (!wasmSupported())
      throw new OptionError(
        'no-wasm',
        "WebAssembly is missing or forbidden here (a content security policy may need 'wasm-unsafe-eval'); use "
          + "engine 'auto' or 'interpreter'.",
      );
    return wasm;
  },
  interpreter: () => interpreter,
  tensor: () => tensor,
};

/**
 * The engine with this name, or the given engine.
 * @throws OptionError 'bad-engine', 'no-wasm', 'bad-precision' where an engine has no single precision of its own
 * choosing
 */
export function chooseEngine(engine: EngineName | Engine, precision: Precision = 'double'): Engine {
  const chosen = engineOf(engine);
  if (precision === 'double') return chosen;
  if (chosen === automatic || chosen === wasm) return wasmSingle;
  const here =
    engine === 'auto' ? 'here is the interpreter (WebAssembly is missing or forbidden)' : `is '${chosen.name}'`;
  throw new OptionError(
    'bad-precision',
    `precision 'single' is only for compiled code: the engine ${here}. Leave precision out, or take engine 'auto' or `
      + `'wasm'${engine === 'auto' ? ' where WebAssembly runs' : ''}.`,
    {precision},
  );
}

function engineOf(engine: EngineName | Engine): Engine {
  if (isEngine(engine)) return engine;
  if (typeof engine === 'string' && Object.hasOwn(engines, engine)) return engines[engine]();
  const names = Object.keys(engines).join(', ');
  throw new OptionError(
    'bad-engine',
    typeof engine === 'string'
      ? `There is no engine '${String(engine)}'; choose one of ${names}.`
      : `engine must be one of ${names}, or an object with a name, `
          + 'the machine epsilon of its arithmetic, and compile(programs, options).',
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
export function threadEngine(engine: Engine): 'auto' | 'wasm' | 'wasmSingle' | 'interpreter' | undefined {
  switch (engine) {
    case automatic:
      return 'auto';
    case wasm:
      return 'wasm';
    case wasmSingle:
      return 'wasmSingle';
    case interpreter:
      return 'interpreter';
    default:
      return undefined;
  }
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
export {interpreter, tensor, wasm, wasmSingle};
