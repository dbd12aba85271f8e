/** What Newton's iteration does between two decisions (newton/iteration.ts), as sequences of a step's programs and the kernels. */
import type {NewtonCalls} from '../engine.js';
import {refused} from '../engine.js';
import type {MemoryFactor} from './factors.js';
import type {NumericKernels} from './kernels.js';
import type {Call} from './sequence.js';
import {sequence, STOPPED} from './sequence.js';

/** Where a correction leaves its numbers beside the largest share of the next one. */
const foundBuffer = 'newtonFound';

/** Room that an executable with a factor has for them. */
export const newtonNumbers = {[foundBuffer]: 2} as const;

/** undefined of programs that are not a Newton step's. */
export function newtonCalls(
  memory: WebAssembly.Memory,
  kernels: NumericKernels,
  factor: MemoryFactor,
  programs: ReadonlyMap<string, () => void>,
  buffers: ReadonlyMap<string, Float64Array>,
): NewtonCalls | undefined {
  const [residual, jacobian] = [programs.get('residual'), programs.get('jacobian')];
  const found = buffers.get(foundBuffer);
  const names = ['z', 'R', 'J', 'delta', 'nextDelta', 'base', 'weights'];
  const [z, R, J, delta, next, base, weights] = names.map(name => buffers.get(name)?.byteOffset ?? NaN);
  if (residual === undefined || jacobian === undefined || found === undefined) return undefined;
  if ([z, R, J, delta, next, base, weights].some(Number.isNaN)) return undefined;
  const {n} = factor;
  const squares: Call = {run: kernels.sumOfSquares, arguments: [R, n], returns: 'f64'};
  const correct = sequence(
    memory,
    [
      {run: jacobian},
      ...factor.eliminationCalls(J),
      ...factor.substitutionCalls(R, delta),
      {run: kernels.depart, arguments: [z, base, delta, n]},
      {run: residual},
      {...squares, store: found.byteOffset},
      {
        run: kernels.weigh,
        arguments: [weights, z, base, delta, n, {parameter: 0}, {parameter: 1}],
        returns: 'f64',
        store: found.byteOffset + Float64Array.BYTES_PER_ELEMENT,
      },
      ...factor.substitutionCalls(R, next),
      {run: kernels.largestRatio, arguments: [next, weights, n], returns: 'f64'},
    ],
    2,
  );
  return {
    residual: sequence(memory, [{run: residual}, squares]),
    correct(absolute, relative) {
      factor.forget();
      const left = correct(absolute, relative);
      return left === STOPPED ? refused : left;
    },
    found,
  };
}
