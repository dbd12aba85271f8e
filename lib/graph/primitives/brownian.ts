/**
 * Brownian paths in a program: of a seed and a time, W and its integral. There is no derivative by the time: the times
 * of steps are constants to a gradient, and where one moves, as that of an event does, it is refused
 * (adjoint/timed-pull.ts).
 */
import {brownian} from '../build.js';
import {brownianPath, toTime, treeTime} from './brownian-path.js';
import {aligned} from './elementwise.js';
import type {Primitive} from './primitive.js';

/** The last values read: a step's end is the next one's beginning, and a sweep back meets them in turn. */
interface Remembered {
  seed: number;
  t: number;
  values: Float64Array;
}
const recent: Remembered[] = Array.from({length: 4}, () => ({seed: NaN, t: NaN, values: new Float64Array(0)}));
/** Larger ones are made anew: 1 MB for each that is remembered. */
const mostRemembered = 2 ** 17;
let oldest = 0;

function write(seed: number, t: number, count: number, out: Float64Array, at: number): void {
  const size = 2 * count;
  for (const {seed: of, t: when, values} of recent) {
    if (of === seed && when === t && values.length === size) {
      for (let i = 0; i < size; i++) out[at + i] = values[i];
      return;
    }
  }
  brownianPath(seed, t, count, out, at);
  if (size > mostRemembered) return;
  const place = recent[oldest];
  oldest = (oldest + 1) % recent.length;
  if (place.values.length !== size) place.values = new Float64Array(size);
  for (let i = 0; i < size; i++) place.values[i] = out[at + i];
  place.seed = seed;
  place.t = t;
}

export const brownianPrimitive: Primitive<'brownian'> = {
  evaluate({attributes: {count}}) {
    return ([seeds, times], out) => {
      for (let i = 0; i < times.length; i++) {
        const at = 2 * count * i;
        write(seeds[i], treeTime(times[i]), count, out, at);
        toTime(times[i], count, out, at);
      }
    };
  },
  tangent: () => undefined,
  dependence: () => 'none',
  batch(node, operands, batched, size) {
    const [seed, t] = aligned(operands, batched, size);
    return brownian(seed, t, node.attributes.count);
  },
};
