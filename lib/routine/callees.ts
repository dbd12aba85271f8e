/** Programs and kernels on arrays, as parts of routines. */
import type {Executable} from '../engine/engine.js';
import type {VectorKernels} from '../engine/wasm/kernels.js';
import type {Vectors} from '../engine/vectors.js';
import type {Callee} from './routine.js';

/** A program; compiled routines call it without JavaScript between. */
export function programCallee<Program extends string>(executable: Executable<Program, never>, name: Program): Callee {
  return {run: executable.program(name), write: w => w.call(executable.program(name))};
}

/** A function of JavaScript that returns a number. */
export const hostFunction = (run: (...given: number[]) => number): Callee => ({run, returns: true});

/** Operations on whole arrays, which lie in the kernels' memory where there is one. */
export class VectorCallees {
  /** @param kernels gives the compiled kernels when a routine is compiled; undefined where it never is */
  constructor(
    private readonly vectors: Vectors,
    private readonly kernels: () => VectorKernels | undefined,
  ) {}

  private get compiled(): VectorKernels {
    const kernels = this.kernels();
    if (kernels === undefined) throw new Error('there are no compiled kernels in this memory');
    return kernels;
  }

  sumOfSquares(x: Float64Array): Callee {
    return {
      run: () => this.vectors.sumOfSquares(x),
      returns: true,
      write: w => w.call(this.compiled.sumOfSquares, [x.byteOffset, x.length], 'f64'),
    };
  }

  /** max |xᵢ|, NaN where one is. */
  largest(x: Float64Array): Callee {
    return {
      run: () => this.vectors.largest(x),
      returns: true,
      write: w => w.call(this.compiled.largest, [x.byteOffset, x.length], 'f64'),
    };
  }

  /** max |xᵢ|/unitᵢ; 0/0 is 0, ∞ where a number is not one. */
  largestRatio(x: Float64Array, unit: Float64Array): Callee {
    return {
      run: () => this.vectors.largestRatio(x, unit),
      returns: true,
      write: w => w.call(this.compiled.largestRatio, [x.byteOffset, unit.byteOffset, x.length], 'f64'),
    };
  }

  /**
   * weights = absolute + relative·max(|z|, |base|); returns the largest |x|/weights. Arguments: absolute, relative.
   */
  computeWeights(weights: Float64Array, z: Float64Array, base: Float64Array, x: Float64Array): Callee {
    return {
      run: (absolute, relative) => this.vectors.computeWeights(weights, z, base, x, absolute, relative),
      returns: true,
      write: (w, given) => {
        const places = [weights, z, base, x].map(({byteOffset}) => byteOffset);
        return w.call(this.compiled.computeWeights, [...places, z.length, ...given], 'f64');
      },
    };
  }

  /** base ← z, and z ← z − delta. */
  saveAndStep(z: Float64Array, base: Float64Array, delta: Float64Array): Callee {
    return {
      run: () => this.vectors.saveAndStep(z, base, delta),
      write: w => w.call(this.compiled.saveAndStep, [z.byteOffset, base.byteOffset, delta.byteOffset, z.length]),
    };
  }

  /** z = base − s·delta; base may be z. Argument: s. */
  axpy(z: Float64Array, base: Float64Array, delta: Float64Array): Callee {
    return {
      run: s => this.vectors.axpy(z, base, delta, s),
      write: (w, [s]) => w.call(this.compiled.axpy, [z.byteOffset, base.byteOffset, delta.byteOffset, z.length, s]),
    };
  }

  copy(to: Float64Array, from: Float64Array): Callee {
    return {
      run: () => this.vectors.copy(to, from),
      write: w => w.call(this.compiled.copy, [to.byteOffset, from.byteOffset, to.length]),
    };
  }
}
