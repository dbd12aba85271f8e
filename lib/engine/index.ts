/** Which engine runs a program here. */
import {OptionError} from '../errors.js';
import type {Engine} from './engine.js';
import {interpreter} from './interpreter.js';

export type EngineName = 'auto' | 'wasm' | 'interpreter' | 'tensor';

const engines: {readonly [name: string]: Engine | undefined} = {auto: interpreter, interpreter};

/** @throws OptionError 'bad-engine' */
export function chooseEngine(name: EngineName): Engine {
  const engine = engines[name];
  if (engine === undefined) throw new OptionError('bad-engine', `There is no engine '${name}'; choose one of ${Object.keys(engines).join(', ')}.`, {engine: name});
  return engine;
}

export type {Engine, Executable, Programs} from './engine.js';
export {interpreter} from './interpreter.js';
