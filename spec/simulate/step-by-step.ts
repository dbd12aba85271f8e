/** What specs of several steps or operations in one call share: an engine that has none of them, and systems to be stepped. */
import * as tf from '@tensorflow/tfjs';
import type {Engine, Executable} from '../../lib/engine/engine.js';
import type {MechanicalSystem} from '../../lib/index.js';
import {mechanics} from '../../lib/index.js';
import {draw, stream} from './numbers.js';

/** The engine without routines: every step and every pull by itself. @param own other properties of its executables */
export const stepByStep = (
  engine: Engine,
  name: string,
  own: (executable: Executable) => PropertyDescriptorMap = () => ({}),
): Engine => ({
  ...engine,
  name,
  compile(programs, options) {
    const executable = engine.compile(programs, options);
    return Object.create(executable, {...own(executable), routines: {value: undefined}}) as Executable;
  },
});

/** Every coordinate moves every other: a dense Jacobian, without loops up to 8 unknowns. */
export function coupled(n: number, seed: number): MechanicalSystem {
  const coupling = tf.tensor2d(Array.from(draw(stream(seed), n * n)), [n, n]);
  return mechanics({
    mass: 1,
    forces: ({q, v, params}) =>
      tf.sub(
        tf.reshape(tf.matMul(coupling, tf.reshape(tf.sin(tf.mul(params.k as tf.Tensor, q)), [n, 1])), [n]),
        tf.add(tf.mul(q, 5), tf.mul(v, tf.abs(v))),
      ),
  });
}
