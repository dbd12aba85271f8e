/** Which engine runs a program here. */
import {OptionError} from '../errors.js';
import {automatic} from './automatic.js';
import type {Engine} from './engine.js';
import {interpreter} from './interpreter.js';
import {tensor} from './tensor/index.js';
import {wasm, wasmSupported} from './wasm/wasm.js';

export type EngineName = 'auto' | 'wasm' | 'interpreter' | 'tensor';

/** 'auto': compiled code, or the interpreter where WebAssembly is missing or forbidden. */
const engines: {readonly [N in EngineName]: () => Engine} = {
  auto: () => (wasmSupported() ? automatic : interpreter),
  wasm: () => {
    if (!wasmSupported()) throw new OptionError('no-wasm', 'WebAssembly is missing or forbidden here (a content security policy may need \'wasm-unsafe-eval\'); use engine \'auto\' or \'interpreter\'.');
    return wasm;
  },
  interpreter: () => interpreter,
  tensor: () => tensor,
};

/** @throws OptionError 'bad-engine', 'no-wasm' */
export function chooseEngine(name: EngineName): Engine {
  if (!Object.hasOwn(engines, name)) throw new OptionError('bad-engine', `There is no engine '${String(name)}'; choose one of ${Object.keys(engines).join(', ')}.`, {engine: name});
  return engines[name]();
}

export type {Engine, Executable, Programs} from './engine.js';
export {interpreter, tensor, wasm};
