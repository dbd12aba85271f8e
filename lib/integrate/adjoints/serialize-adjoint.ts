/** Adjoints in messages between threads: those that work without tfjs. */
import type {SerializedAdjoint, PreparedAdjoint} from './adjoint.js';
import {forward} from './forward.js';
import {implicit} from './implicit.js';
import {unrolled} from './unrolled.js';

const sent: {readonly [name: string]: (plain: SerializedAdjoint) => PreparedAdjoint} = {
  implicitAdjoint: ({memory = Infinity}) => implicit(memory),
  unrolledAdjoint: () => unrolled,
  forwardSensitivity: () => forward,
};

/** The adjoint that `WorkerSupport.plain` describes. */
export function adjointOf(plain: SerializedAdjoint): PreparedAdjoint {
  return sent[plain.name](plain);
}
