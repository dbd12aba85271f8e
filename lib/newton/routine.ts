/**
 * Newton's iteration with full steps and a Jacobian of its own for each, as part of a routine: the decisions of
 * iteration.ts and tolerances.ts where all goes well, on the same numbers, to the same bits. What is unusual (a
 * residual that is not finite, a matrix that is not one for the kernel, corrections that do not shrink) is not decided
 * here: the routine gives up, and iteration.ts begins the step anew.
 */
import type {RoutineFactor, RoutineWriter} from '../engine/wasm/routine.js';
import type {NumericKernels} from '../engine/wasm/kernels.js';
import type {Local} from '../wasm/assembler.js';
import type {Push} from '../wasm/writer.js';
import {margin, stagnation} from './iteration.js';
import {smallestSquare} from './norms.js';
import {roundings} from './tolerances.js';

/** Addresses in the memory. */
export interface NewtonPlaces {
  readonly z: number;
  readonly R: number;
  readonly J: number;
  readonly delta: number;
  readonly nextDelta: number;
  readonly base: number;
  readonly weights: number;
  readonly rowScale: number;
}

/** A group of `size` unknowns from `offset` on whose rounding errors have the same magnitude. */
export interface Extent {
  readonly offset: number;
  readonly size: number;
  /** Pushes the magnitude of the values they are computed from. */
  readonly value: Push;
}

/** Settings of a run for its iterations, in locals of the routine. */
export interface NewtonLimits {
  readonly absolute: Local;
  readonly relative: Local;
  /** Whether the rounding of what unknowns are computed from is part of their tolerance where it is not met without. */
  readonly floors: Local;
  readonly iterations: Local;
}

export interface NewtonParts {
  readonly kernels: NumericKernels;
  readonly factor: RoutineFactor;
  readonly residual: () => void;
  readonly jacobian: () => void;
  readonly places: NewtonPlaces;
  readonly extents: readonly Extent[];
  readonly epsilon: number;
}

/** No iteration more: the last correction is still to be taken, or the residual is zero. */
const [going, small, exact] = [0, 1, 2];

/**
 * Writes the iteration from a guess in z to the root in z.
 * @param giveUp writes how the routine ends where the step is to be taken by other means
 * @returns a local with the iterations that were made
 */
export function writeNewton(w: RoutineWriter, parts: NewtonParts, limits: NewtonLimits, giveUp: () => void): Local {
  const {kernels, factor, residual, jacobian, places, extents, epsilon} = parts;
  const {z, R, J, delta, nextDelta, base, weights, rowScale} = places;
  const {n, band} = factor;
  const {absolute, relative} = limits;
  const [done, state, scaled, floored] = [w.local('i32'), w.local('i32'), w.local('i32'), w.local('i32')];
  const [square, size, left, rate, worst] = Array.from({length: 5}, () => w.local('f64'));
  const floors = extents.map(() => w.local('f64'));
  const unless = (condition: Push, then: () => void): void => w.if(w.op('i32.eqz', condition), then);
  const and = (...conditions: readonly Push[]): Push => conditions.reduce((a, b) => w.op('i32.and', a, b));
  const atMost = (a: Push, b: number): Push => w.op('f64.le', a, w.number(b));

  const evaluate = (): void => {
    w.run(residual);
    w.set(square, w.call(kernels.sumOfSquares, [R, n], 'f64'));
    unless(w.op('f64.lt', w.get(square), w.number(Infinity)), giveUp);
  };
  const addFloors = (): void => {
    const [at, i] = [w.local('i32'), w.local('i32')];
    extents.forEach(({offset, size: count}, k) => {
      w.set(at, w.int(weights + 8 * offset));
      w.for(i, w.int(0), w.int(count), () => {
        w.store(w.get(at), w.op('f64.add', w.load(w.get(at)), w.get(floors[k])));
        w.set(at, w.plus(w.get(at), w.int(8)));
      });
    });
    w.body.release(at);
    w.body.release(i);
    w.set(size, w.call(kernels.largestRatio, [delta, weights, n], 'f64'));
  };
  const weigh = (): void => w.set(size, w.call(kernels.weigh, [weights, z, base, delta, n, absolute, relative], 'f64'));
  const compare = (): void => {
    w.set(left, w.call(kernels.largestRatio, [nextDelta, weights, n], 'f64'));
    const ratio = w.op('f64.div', w.get(left), w.get(size));
    w.set(rate, w.choose(w.op('f64.eq', w.get(left), w.number(0)), w.number(0), ratio));
  };
  /** `NewtonIteration.accepts`: the state is `small` where it says so. */
  const judge = (): void => {
    const share = w.op('f64.add', w.get(rate), w.get(rate));
    const isSmall = and(atMost(w.get(rate), stagnation), atMost(w.op('f64.mul', share, w.get(left)), margin));
    w.set(state, isSmall);
    w.if(w.op('i32.or', w.op('i32.eqz', w.get(state)), w.get(scaled)), () => {
      unless(w.get(scaled), () => w.run(kernels.rowScales, J, weights, rowScale, n, band));
      w.set(scaled, w.int(1));
      w.set(worst, w.call(kernels.largestRatio, [R, rowScale, n], 'f64'));
      const stagnant = and(
        w.op('f64.gt', w.get(rate), w.number(stagnation)),
        and(atMost(w.get(left), 1), atMost(w.get(worst), 1)),
      );
      w.set(state, w.op('i32.or', and(w.get(state), atMost(w.op('f64.mul', share, w.get(worst)), 1)), stagnant));
    });
  };
  /** `Tolerances.floor` */
  const floor = (): void => {
    w.set(floored, w.int(1));
    w.set(scaled, w.int(0));
    w.set(worst, w.call(kernels.largest, [z, n], 'f64'));
    extents.forEach(({value}, k) => {
      w.set(floors[k], value);
      // Without a magnitude, or not a number: as large as the largest.
      const some = w.op('f64.gt', w.op('f64.abs', w.get(floors[k])), w.number(0));
      w.set(floors[k], w.op('f64.mul', w.choose(some, w.get(floors[k]), w.get(worst)), w.number(roundings * epsilon)));
    });
    weigh();
    addFloors();
    compare();
    judge();
  };

  for (const local of [done, state, scaled, floored]) w.set(local, w.int(0));
  evaluate();
  w.body.loop(() => {
    unless(w.op('i32.lt_s', w.get(done), w.get(limits.iterations)), giveUp);
    // Smaller squares have lost their digits: zero may be none.
    w.if(atMost(w.get(square), smallestSquare), () => {
      const zero = w.op('f64.eq', w.call(kernels.largest, [R, n], 'f64'), w.number(0));
      w.set(state, w.choose(zero, w.int(exact), w.int(going)));
    });
    w.if(w.op('i32.eq', w.get(state), w.int(going)), () => {
      w.run(jacobian);
      unless(factor.writeElimination(w, J), giveUp);
      factor.writeSubstitution(w, R, delta, false);
      w.run(kernels.depart, z, base, delta, n);
      evaluate();
      weigh();
      w.if(w.get(floored), addFloors);
      factor.writeSubstitution(w, R, nextDelta, false);
      w.set(done, w.plus(w.get(done), w.int(1)));
      compare();
      judge();
      const mayFloor = and(w.get(limits.floors), w.op('i32.eqz', w.op('i32.or', w.get(state), w.get(floored))));
      w.if(mayFloor, floor);
      // Corrections that do not shrink may be rounding, which is measured elsewhere.
      unless(w.op('i32.or', w.get(state), atMost(w.get(rate), stagnation)), giveUp);
    });
    w.op('i32.eq', w.get(state), w.int(going))();
    w.body.branchIf();
  });
  w.if(w.op('i32.eq', w.get(state), w.int(small)), () => w.run(kernels.advance, z, z, nextDelta, n, {number: 1}));
  return done;
}
