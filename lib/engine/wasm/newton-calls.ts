/** What Newton's iteration does between two decisions (newton/iteration.ts), as routines of a step's programs and the kernels. */
import type {NewtonCalls} from '../engine.js';
import {refused} from '../engine.js';
import type {MemoryFactor} from './factors.js';
import type {NumericKernels} from './kernels.js';
import {routine} from './routine.js';

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
  const correct = routine<(absolute: number, relative: number) => number>(
    memory,
    {parameters: ['f64', 'f64'], results: ['f64']},
    w => {
      const [absolute, relative] = [w.parameter(0), w.parameter(1)];
      w.run(jacobian);
      w.if(w.op('i32.eqz', factor.writeElimination(w, J)), () => w.return(w.number(refused)));
      factor.writeSubstitution(w, R, delta, false);
      w.run(kernels.depart, z, base, delta, n);
      w.run(residual);
      w.store(w.int(found.byteOffset), w.call(kernels.sumOfSquares, [R, n], 'f64'));
      const size = w.call(kernels.weigh, [weights, z, base, delta, n, absolute, relative], 'f64');
      w.store(w.int(found.byteOffset), size, Float64Array.BYTES_PER_ELEMENT);
      factor.writeSubstitution(w, R, next, false);
      w.call(kernels.largestRatio, [next, weights, n], 'f64')();
    },
  );
  return {
    residual: routine(memory, {parameters: [], results: ['f64']}, w => {
      w.run(residual);
      w.call(kernels.sumOfSquares, [R, n], 'f64')();
    }),
    correct(absolute, relative) {
      factor.forget();
      return correct(absolute, relative);
    },
    found,
  };
}
