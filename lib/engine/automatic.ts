/** Compiled code, and the interpreter for what has no room in one memory of WebAssembly: 4 GiB, or what the system gives. */
import type {Engine} from './engine.js';
import {interpreter} from './interpreter.js';
import {wasm} from './wasm/wasm.js';

export const automatic: Engine = {...wasm, instead: interpreter};
