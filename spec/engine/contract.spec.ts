import * as tf from '@tensorflow/tfjs';
import {interpreter} from '../../lib/engine/interpreter.js';
import {tensor} from '../../lib/engine/tensor/index.js';
import {wasm} from '../../lib/engine/wasm/wasm.js';
import {contract} from './contract.js';

describe('engines: what all of them promise', () => {
  before(() => tf.setBackend('cpu'));

  for (const engine of [interpreter, wasm, tensor]) describe(engine.name, () => contract(engine));
});
