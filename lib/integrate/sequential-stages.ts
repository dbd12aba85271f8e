/**
 * The equations of an adaptive step for simplified Newton iterations (newton/simplified-newton.ts): the
 * unknown's blocks in turn if the scheme allows it, otherwise the unknown as one block. The tolerance
 * is that of the step, as far as an error of the unknown affects the state (`ErrorInfo.stageErrorEffects`).
 */
import type {Vectors} from '../engine/vectors.js';
import type {Factor, LinearSolver} from '../linear/index.js';
import type {Newton, SequentialSystem} from '../newton/index.js';
import {noiseTestThreshold, ResidualNoise, roundoffFactor} from '../newton/index.js';
import type {CompiledStep, ForwardExecutable, SequentialExecutable} from '../step/compiled.js';
import type {SequentialProgram, SequentialBlocks} from '../step/sequential-programs.js';
import {isMatrixFree, solverKey} from '../step/solvers.js';
import {unjudged} from './algebraic.js';
import type {RunContext} from './run-context.js';

/** A step that was taken: what the next one's guess goes on from. */
export interface LastStep {
  readonly t: number;
  readonly h: number;
  readonly z?: Float64Array;
}

/**
 * A step so much longer than the last is not guessed from it: polynomials of degree 3 and 4 have left the motion
 * there.
 */
const longest = 3;

/** Lines along which the rounding of a residual is measured: one misses it about once in twenty times. */
const noiseLines = 2;

/**
 * Whether a run's steps are solved as far as their tolerance asks: where nothing else was asked of Newton's method.
 * Components of index 2 are differences of stages over h, and an error of the iteration comes back so much larger:
 * with these all is solved to rounding (measured on a pendulum of index 2, rtol 1e-4: kvaerno5 takes 17 steps so, and
 * 1730 with the tolerance).
 */
export function solvesToTolerance(prepared: RunContext): boolean {
  const {traced, options} = prepared;
  const {plan, newton} = options;
  return (
    plan?.absolute !== undefined
    && traced.errorInfo?.stageErrorEffects !== undefined
    && traced.functions.residualModel === undefined
    && isPlain(newton)
    && unjudged(prepared).length === 0
  );
}

const isPlain = ({jacobian, hasTolerance, iterations, step, forcing, linear}: Newton): boolean =>
  jacobian === 'by-cost'
  && !hasTolerance
  && iterations === undefined
  && step.isFull === true
  && forcing === undefined
  && !isMatrixFree(linear);

type Run = () => void;

/** The programs and buffers of a step's equations, block by block. */
interface BlockPrograms {
  readonly executable: ForwardExecutable | SequentialExecutable;
  readonly which: 'jacobian' | 'block';
  /** The unknown of the block at hand. */
  readonly z: Float64Array;
  readonly residual: Float64Array;
  /** The matrix of all blocks. */
  readonly values: Float64Array;
  readonly evaluate: Run;
  /** Compares it with its tangent. */
  readonly check: Run;
  /** By block. */
  readonly residuals: readonly Run[];
  readonly beginnings: readonly (Run | undefined)[];
  readonly predictions: readonly Run[];
  /** Before the first block. */
  readonly once?: Run;
  readonly extrapolate?: Run;
}

function asOneBlock(compiled: CompiledStep, linear: LinearSolver): BlockPrograms {
  const executable = compiled.forward(linear);
  return {
    executable,
    which: 'jacobian',
    z: executable.buffer('z'),
    residual: executable.buffer('R'),
    values: executable.buffer('J'),
    evaluate: executable.program('jacobian'),
    check: () => compiled.matrices.check('jacobian', executable, 'jacobian', 'J'),
    residuals: [executable.program('residual')],
    beginnings: [undefined],
    predictions: [executable.program('guess')],
    extrapolate: executable.has('extrapolate') ? executable.program('extrapolate') : undefined,
  };
}

function blockByBlock(compiled: CompiledStep, linear: LinearSolver, sequential: SequentialBlocks): BlockPrograms {
  const executable = compiled.sequentialPrograms(linear, sequential);
  const numbers = Array.from({length: sequential.blocks}, (_, k) => k);
  const find = (name: SequentialProgram): Run | undefined =>
    executable.has(name) ? executable.program(name) : undefined;
  return {
    executable,
    which: 'block',
    z: executable.buffer('zs'),
    residual: executable.buffer('Rs'),
    values: executable.buffer('Js'),
    evaluate: executable.program('sequentialJacobian'),
    check: () => compiled.matrices.check('block', executable, 'sequentialJacobian', 'Js'),
    residuals: numbers.map(k => executable.program(`sequentialResidual.${k}`)),
    beginnings: numbers.map(k => find(`sequentialBegin.${k}`)),
    predictions: numbers.map(k => executable.program(`sequentialPredict.${k}`)),
    once: find('sequentialStep'),
    extrapolate: find('sequentialExtrapolate'),
  };
}

export class SequentialStages implements SequentialSystem {
  readonly executable: ForwardExecutable | SequentialExecutable;
  readonly blocks: number;
  readonly z: Float64Array;
  readonly residual: Float64Array;
  readonly delta: Float64Array;
  readonly weights: Float64Array;
  readonly vectors: Vectors;
  readonly jacobianCost: number;
  /** All of the unknown. */
  readonly whole: Float64Array;
  evaluateResidual: () => void = () => undefined;
  /** The last step, where the next one may begin from it. */
  last: LastStep | undefined;
  /** The step at hand. */
  t = 0;
  h = 0;
  private readonly sequential: boolean;
  private readonly residuals: readonly Run[];
  private readonly beginnings: readonly (Run | undefined)[];
  private readonly predictions: readonly Run[];
  private readonly once?: Run;
  private readonly extrapolate?: Run;
  private readonly matrix: () => Factor;
  /** The values last factored. */
  readonly matrixValues: Float64Array;
  /** Factors values given from outside. */
  readonly factorOf: (values: Float64Array) => Factor;
  private readonly buffers: {
    readonly x: Float64Array;
    readonly last?: Float64Array;
    readonly ahead?: Float64Array;
    readonly ratio?: Float64Array;
  };
  private noise: ResidualNoise | undefined;
  private readonly epsilon: number;
  private readonly tolerated: readonly {readonly offset: number; readonly power: number}[];
  private readonly absolute: Float64Array;
  private readonly relative: number;
  private readonly coordinates: number;

  /** @param kappa what may be left of the tolerance: no component is asked for beyond its rounding */
  constructor({compiled, traced, engine, options}: RunContext, kappa: number) {
    const {
      plan,
      newton: {linear},
    } = options;
    const {sequential} = compiled.matrices;
    this.sequential = sequential !== undefined;
    const bound = sequential === undefined ? asOneBlock(compiled, linear) : blockByBlock(compiled, linear, sequential);
    const {executable, which, values} = bound;
    this.executable = executable;
    this.blocks = sequential?.blocks ?? 1;
    this.whole = executable.buffer('z');
    this.z = bound.z;
    this.residual = bound.residual;
    this.delta = executable.buffer('delta');
    this.weights = executable.buffer('weights');
    this.vectors = executable.vectors;
    this.residuals = bound.residuals;
    this.beginnings = bound.beginnings;
    this.predictions = bound.predictions;
    this.once = bound.once;
    this.extrapolate = bound.extrapolate;
    const refactor = executable.factorization(compiled.matrices.analysis(linear, solverKey(linear), which));
    this.matrixValues = values;
    this.factorOf = given => {
      values.set(given);
      return refactor(values);
    };
    let checked = false;
    this.matrix = () => {
      if (!checked) bound.check();
      checked = true;
      bound.evaluate();
      return refactor(values);
    };
    this.jacobianCost = compiled.matrices.relativeCost(linear, which);
    this.epsilon = engine.epsilon;
    this.buffers = {
      x: executable.buffer('x'),
      last: executable.optionalBuffer('lastUnknown'),
      ahead: executable.optionalBuffer('lastTheta'),
      ratio: executable.optionalBuffer('lengthRatio'),
    };
    const effects = traced.errorInfo?.stageErrorEffects ?? {};
    this.tolerated = traced.state.schemeBlocks.flatMap(({name, offset}) =>
      name in effects ? [{offset, power: effects[name]}] : [],
    );
    this.absolute = plan?.absolute ?? new Float64Array(0);
    this.relative = Math.max(plan?.control.rtol ?? 0, (10 * engine.epsilon) / kappa);
    // The blocks of such an unknown have the size of q, or of y.
    this.coordinates = traced.unknown.blocks[0].size;
  }

  beginStep(): void {
    this.weigh();
    this.once?.();
  }

  beginBlock(k: number): void {
    this.beginnings[k]?.();
    if (k > 0 || !this.goesOn()) this.predictions[k]();
    this.evaluateResidual = this.residuals[k];
  }

  endBlock(k: number): void {
    if (!this.sequential) return;
    const {whole, z} = this;
    const offset = k * z.length;
    for (let i = 0; i < z.length; i++) whole[offset + i] = z[i];
  }

  factor(): Factor {
    return this.matrix();
  }

  roundoff(factor: Factor): {readonly size: number; readonly rounding: number} {
    const {z, residual, delta, weights, vectors, coordinates, epsilon, evaluateResidual} = this;
    const {x} = this.buffers;
    // A correction that changes the leading digits is no rounding: the equations may have no root there.
    if (!(vectors.largest(delta) <= noiseTestThreshold * (vectors.largest(x) + vectors.largest(z))))
      return {size: Infinity, rounding: 0};
    const noise = (this.noise ??= new ResidualNoise(z.length));
    noise.forget();
    // The last correction has moved z since the residual was evaluated.
    evaluateResidual();
    factor.solve(residual, delta);
    const size = vectors.largestRatio(delta, weights);
    const minStep = z.map((_, k) => roundoffFactor * epsilon * Math.abs(x[k % coordinates]));
    for (let line = 0; line < noiseLines; line++)
      noise.measure([{values: z, minStep}], residual, Math.sqrt(epsilon), evaluateResidual);
    const given = residual.slice();
    let rounding = 0;
    // Signs in step with one another, alternating, and without a pattern.
    for (const sign of [() => 1, (i: number) => (i % 2 === 0 ? 1 : -1), (i: number) => Math.sign(Math.sin(i + 1))]) {
      noise.rows.forEach((size, i) => (residual[i] = sign(i) * size));
      factor.solve(residual, delta);
      rounding = Math.max(rounding, vectors.largestRatio(delta, weights));
    }
    residual.set(given);
    return {size, rounding};
  }

  /** Guesses from the last step, if there is one that reaches so far. */
  private goesOn(): boolean {
    const {
      last: step,
      extrapolate,
      buffers: {last, ahead, ratio},
      t,
      h,
    } = this;
    if (step?.z === undefined || extrapolate === undefined || last === undefined) return false;
    const share = h / step.h;
    if (!(share <= longest)) return false;
    last.set(step.z);
    ahead?.fill((t - step.t) / step.h);
    ratio?.fill(share);
    extrapolate();
    return true;
  }

  /** One tolerance for every component of a block: the least that it may leave in the state. */
  private weigh(): void {
    const {
      weights,
      buffers: {x},
      h,
      absolute,
      relative,
      tolerated,
      coordinates,
    } = this;
    for (let i = 0; i < coordinates; i++) {
      let least = Infinity;
      for (const {offset, power} of tolerated) {
        const tolerance = absolute[offset + i] + relative * Math.abs(x[offset + i]);
        least = Math.min(least, power === 0 ? tolerance : tolerance / Math.abs(h) ** power);
      }
      for (let k = i; k < weights.length; k += coordinates) weights[k] = least;
    }
  }
}
