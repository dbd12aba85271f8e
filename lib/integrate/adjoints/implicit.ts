/** The adjoint of the implicit function (equations.md §5), from the stored steps of a run or from checkpoints. */
import {implicitGridPull} from '../../adjoint/implicit-pull.js';
import {positiveOrInfinite, refuseUnknownOptions} from '../../checks.js';
import type {GridSteps} from '../checkpointer.js';
import {recordSteps, deserializeTape} from '../checkpointer.js';
import {gridCall} from '../grid-call.js';
import {adaptiveCall} from '../history/adaptive-call.js';
import {run} from '../run.js';
import type {Adjoint, AdjointFactory, PreparedAdjoint} from './adjoint.js';

/** 1 GiB: a quarter of what Node gives a process by default, and more than most browsers' pages may take. */
const defaultMemory = 2 ** 30;

/**
 * Steps with a longer record take so long that what lies between them is not seen, and the record is not held between
 * two runs either (adjoint/record-memory.ts).
 */
const mostInOneCall = 2 ** 28;

/**
 * The adjoint of the implicit function (equations.md §5): one transposed solve and one vector–Jacobian
 * product per step, exact for a converged step, whatever the iterations were. Steps beyond `memory` (in
 * bytes, default 1 GiB, at most half of the machine's) are recomputed from stored states by a binomial schedule;
 * the gradient is the same to the last bit, whatever the budget. At least two states are stored (four along adaptive
 * steps), and then n steps are recomputed about √(2n) times. The runs of a batch share `memory`. A Jacobian of one
 * step is not reused in the next.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {implicitAdjoint, ode, rk4, simulate} from 'stiffgrad';
 *
 * const decay = ode(({y}) => tf.neg(y));
 * const {pullback} = simulate.vjp(decay, {y: 1}, {
 *   scheme: rk4(),
 *   dt: 0.1,
 *   steps: 10,
 *   saveAt: 'end',
 *   adjoint: implicitAdjoint({memory: 1e6}),
 * });
 * console.log(pullback({y: [0, 1]}).initial.y[0]); // → 0.36788
 * ```
 */
export function implicitAdjoint(options: {readonly memory?: number} = {}): Adjoint {
  refuseUnknownOptions(options, {memory: positiveOrInfinite}, 'implicitAdjoint', 'bad-adjoint');
  const {memory = defaultMemory} = options;
  const method: AdjointFactory = {name, secondOrder: {memory}, prepare: () => implicit(memory)};
  return method;
}

const name = 'implicitAdjoint';

/** How steps are recorded and pulled back by the implicit function. */
export const implicitSteps: GridSteps = {storesReduced: () => true, iterations: false, pull: implicitGridPull};

export function implicit(memory: number): PreparedAdjoint {
  return {
    run: prepared => run(prepared, recordSteps(memory, implicitSteps)),
    inOneCall(prepared, room) {
      const most = Math.min(memory, mostInOneCall);
      return prepared.options.plan === undefined ? gridCall(prepared, room, most) : adaptiveCall(prepared, room, most);
    },
    threads: {
      plain: {name, memory},
      paysOff: true,
      deserializeTape: (plain, completed) => deserializeTape(plain, implicitSteps, completed),
    },
    sharedAmong: runs => implicit(memory / runs),
  };
}
