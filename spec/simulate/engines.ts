/** The engines the numerical tests run on, with what each can resolve. A new engine is one more entry. */
import type {EngineName} from '../../lib/engine/index.js';

export interface EngineCase {
  readonly name: Exclude<EngineName, 'auto'>;
  /** Double precision: printed digits are met as printed, and gradients meet finite differences. */
  readonly double: boolean;
}

export const engines: readonly EngineCase[] = [
  {name: 'interpreter', double: true},
  {name: 'wasm', double: true},
  // tfjs kernels on the active backend: float32.
  {name: 'tensor', double: false},
];

export const doubleEngines = engines.filter(({double}) => double);
