/** The forward programs of a step as the nonlinear system that Newton's iteration solves. */
import type {RoutineFactor, RoutineWriter} from '../engine/wasm/routine.js';
import type {Analysis, Coupling, Factor, Pattern} from '../linear/index.js';
import {auto, constraintCoupling} from '../linear/index.js';
import {routinesOf} from '../engine/routines.js';
import {type CompiledFactorization, resolveJacobianUse, type NonlinearSystem} from '../newton/index.js';
import {programCallee, VectorCallees} from '../routine/callees.js';
import type {Element, RoutineLocal, Callee, RoutineBuilder} from '../routine/routine.js';
import {abs, div, element, greater, less, max, mul} from '../routine/routine.js';
import type {CompiledStep, ForwardExecutable} from '../step/compiled.js';
import {loadParameters} from '../step/context.js';
import type {Block} from '../step/layout.js';
import type {MatrixFreeSolver} from '../step/solvers.js';
import {isMatrixFree, solverKey} from '../step/solvers.js';
import {ConstantFactor} from '../step/constant-factor.js';
import {linearization} from '../step/precomputation.js';
import type {Push} from '../wasm/writer.js';
import {incrementsOf, power, roundoffShareOf} from './typical-sizes.js';
import type {RunContext} from './run-context.js';

/** Whether keeping a Jacobian from iteration to iteration, and from step to step, pays by counted work. */
function isJacobianExpensive({compiled, traced, options: {newton, freshJacobians}}: RunContext): boolean {
  return (
    traced.functions.residualModel === undefined
    && !isMatrixFree(newton.linear)
    && freshJacobians !== true
    && compiled.matrices.isJacobianExpensive(newton.linear)
  );
}

/** Numbers of the matrix that a step of a grid may leave to the next one; 0 where it leaves none. */
export function leftMatrixSize(prepared: RunContext): number {
  const {compiled, options} = prepared;
  if (
    !compiled.implicit
    || resolveJacobianUse(options.newton, {expensiveJacobian: isJacobianExpensive(prepared)}) !== 'auto'
  )
    return 0;
  return compiled.matrices.matrix?.pattern.columns.length ?? 0;
}

export class StepSystem implements NonlinearSystem {
  readonly z: Float64Array;
  readonly residual: Float64Array;
  readonly data?: Float64Array;
  readonly epsilon: number;
  readonly matrixFree: boolean;
  readonly hasApproximateJacobian: boolean;
  readonly expensiveJacobian: boolean;
  readonly evaluateResidual: () => void;
  readonly residualCallee: Callee;
  readonly evaluateFirstResidual?: () => void;
  readonly pattern: Pattern;
  readonly compiled: NonNullable<NonlinearSystem['compiled']>;
  private readonly forward: ForwardExecutable;
  private readonly evaluateJacobian: () => void;
  private readonly values: Float64Array;
  private readonly refactor: (values: Float64Array) => Factor;
  private readonly products?: () => Factor;
  private readonly exactly?: () => Factor;
  private matrixAtHand = true;
  jacobianChecked: boolean;
  readonly compiledFactorization?: NonlinearSystem['compiledFactorization'];
  /** Where Newton's matrix is the same in all steps of one length. */
  private readonly kept?: ConstantFactor;
  /** 1 for every unknown that is a multiplier, and room for a number of every row; undefined where none is. */
  private readonly multipliers?: {readonly are: Uint8Array; readonly terms: Float64Array};
  /** The matrix at the guess is that of other equations: those of broken constraints. */
  private readonly startsApart: boolean;
  reusedFactor = false;

  constructor(private readonly prepared: RunContext) {
    const {compiled, traced, engine, options} = prepared;
    const {matrix} = compiled.matrices;
    if (matrix === undefined) throw new Error('an explicit scheme has no equations to solve');
    const {linear} = options.newton;
    this.forward = compiled.forward(linear, prepared.storage);
    this.pattern = matrix.pattern;
    this.hasApproximateJacobian = traced.functions.residualModel !== undefined;
    this.evaluateResidual = this.forward.program('residual');
    this.residualCallee = programCallee(this.forward, 'residual');
    this.evaluateJacobian = this.forward.program('jacobian');
    this.z = this.forward.buffer('z');
    this.residual = this.forward.buffer('R');
    this.data = this.forward.optionalBuffer('x');
    this.values = this.forward.buffer('J');
    this.epsilon = engine.epsilon;
    this.expensiveJacobian = isJacobianExpensive(prepared);
    // Adaptive steps differ in length, and the estimate of an error has a matrix of its own.
    const steady =
      !this.hasApproximateJacobian
      && !isMatrixFree(linear)
      && options.plan?.control.kind !== 'adaptive'
      && compiled.matrices.isConstant('matrix');
    const blocks = traced.unknown.blocks.filter(({isMultiplier}) => isMultiplier === true);
    if (blocks.length > 0) {
      const size = this.z.length;
      this.multipliers = {are: new Uint8Array(size), terms: new Float64Array(size)};
      for (const {offset, size: count} of blocks) this.multipliers.are.fill(1, offset, offset + count);
    }
    this.startsApart = traced.functions.defect !== undefined;
    if (steady) this.kept = new ConstantFactor(this.forward.optionalBuffer('h'));
    this.refactor = this.forward.factorization(compiled.matrices.analysis(linear, solverKey(linear), 'matrix'), steady);
    this.jacobianChecked = compiled.matrices.isChecked('matrix');
    if (!steady && !this.hasApproximateJacobian && !isMatrixFree(linear) && traced.functions.frozen === undefined) {
      const analysis = compiled.matrices.analysisOf(linear, 'matrix');
      if (analysis !== undefined)
        this.compiledFactorization = (tries, general, count) =>
          new CompiledFactor(this.forward, analysis, {tries, general, count});
    }
    this.compiled = {
      vectors: this.forward.vectors,
      kernels: () => routinesOf(this.forward)?.vectors,
      work: name => this.forward.buffer(name),
      frame: this.forward.buffer('newtonFrame'),
    };
    if (this.hasApproximateJacobian && !isMatrixFree(linear))
      this.exactly = this.bindExact(compiled, compiled.matrices.analysis(linear, solverKey(linear), 'jacobian'));
    if (traced.functions.frozen !== undefined) this.evaluateFirstResidual = this.forward.program('startResidual');
    this.matrixFree = isMatrixFree(linear);
    if (isMatrixFree(linear)) this.products = this.bindProducts(linear, prepared);
  }

  get executable(): ForwardExecutable {
    return this.forward;
  }

  factor(first: boolean, model: boolean): Factor {
    if (!model && this.exactly !== undefined) {
      this.matrixAtHand = false;
      return this.exactly();
    }
    const special = first && this.evaluateFirstResidual !== undefined;
    const apart = special && this.startsApart;
    const present = apart ? undefined : this.kept?.current;
    this.reusedFactor = present !== undefined;
    if (present !== undefined) return present;
    this.kept?.discard();
    if (this.products !== undefined && !special) {
      this.matrixAtHand = false;
      return this.products();
    }
    this.matrixAtHand = true;
    if (!this.jacobianChecked) this.check();
    if (special) this.forward.run('startJacobian');
    else this.evaluateJacobian();
    const factor = this.refactor(this.values);
    if (!apart) this.kept?.store(factor);
    return factor;
  }

  /** The values of the matrix last factored; undefined if it is matrix-free. */
  get matrixValues(): Float64Array | undefined {
    return this.matrixAtHand ? this.values : undefined;
  }

  factorOf(values: Float64Array): Factor {
    this.values.set(values);
    this.matrixAtHand = true;
    return this.refactor(this.values);
  }

  private check(): void {
    this.prepared.compiled.matrices.check('matrix', this.forward, 'jacobian', 'J');
    this.jacobianChecked = true;
  }

  scaleRows(weights: Float64Array, scale: Float64Array): boolean {
    // Intermediate values have no tolerances.
    if (!this.matrixAtHand || this.pattern.schurSize !== undefined) return false;
    const {rowPointers, columns} = this.pattern;
    const {values} = this;
    for (let row = 0; row < scale.length; row++) {
      let sum = 0;
      const end = rowPointers[row + 1];
      for (let k = rowPointers[row]; k < end; k++) sum += Math.abs(values[k]) * weights[columns[k]];
      scale[row] = sum;
    }
    return true;
  }

  /**
   * Typical sizes of coordinates, velocities and what else has the shape of q: the largest number of its own block, and
   * of the state's, each over the powers of h between them; positions that a step rounds are off by ε|q|/h^p there. A
   * multiplier's is what makes as much in one of the equations it appears in as all other unknowns do.
   */
  readonly emitTypicalSizes = (b: RoutineBuilder, to: Float64Array, system: () => NonlinearSystem): void => {
    const {data, z, forward} = this;
    const {state, unknown} = this.prepared.traced;
    const all = new VectorCallees(forward.vectors, () => routinesOf(forward)?.vectors);
    const largest = (values: Float64Array, {offset, size}: Pick<Block, 'offset' | 'size'>): RoutineLocal =>
      b.result(all.largest(values.subarray(offset, offset + size)));
    const whole = b.result(all.largest(z));
    const h = forward.optionalBuffer('h');
    const length = h === undefined ? 0 : abs(element(h));
    for (const block of unknown.blocks) {
      if (block.isMultiplier === true) continue;
      const extent = largest(z, block);
      for (const {offset, distance} of data === undefined ? [] : incrementsOf(state, block)) {
        let shared = mul(roundoffShareOf(distance), largest(data as Float64Array, state.blocks[offset]));
        if (distance > 0) shared = div(shared, power(length, distance));
        b.set(extent, max(extent, shared));
      }
      // Without a magnitude, or not a number: as large as the largest.
      b.unless(greater(extent, 0), () => b.set(extent, whole));
      const i = b.local(block.offset);
      b.while(less(i, block.offset + block.size), () => {
        b.set(element(to, i), extent);
        b.increment(i);
      });
    }
    if (this.multipliers !== undefined) b.call({run: () => (system() as StepSystem).multiplierExtents(to)});
  };

  private multiplierExtents(extents: Float64Array): void {
    const {
      multipliers,
      pattern: {rowPointers, columns},
      values,
      z,
      compiled: {vectors},
    } = this;
    if (multipliers === undefined) return;
    const {are, terms} = multipliers;
    for (let column = 0; column < extents.length; column++) if (are[column] === 1) extents[column] = 0;
    const whole = vectors.largest(z);
    if (!this.scaleRows(extents, terms)) {
      for (let column = 0; column < extents.length; column++) if (are[column] === 1) extents[column] = whole;
      return;
    }
    for (let column = 0; column < extents.length; column++) if (are[column] === 1) extents[column] = Infinity;
    for (let row = 0; row < terms.length; row++) {
      for (let k = rowPointers[row]; k < rowPointers[row + 1]; k++) {
        const column = columns[k];
        if (values[k] !== 0 && terms[row] > 0 && are[column] === 1)
          extents[column] = Math.min(extents[column], terms[row] / Math.abs(values[k]));
      }
    }
    for (let column = 0; column < extents.length; column++)
      if (are[column] === 1)
        extents[column] = Math.max(Math.abs(z[column]), extents[column] < Infinity ? extents[column] : 0) || whole;
  }

  private bindExact(compiled: CompiledStep, analysis: Analysis): () => Factor {
    const evaluate = this.forward.program('exactJacobian');
    const values = this.forward.buffer('exactJ');
    return () => {
      compiled.matrices.check('jacobian', this.forward, 'exactJacobian', 'exactJ');
      evaluate();
      return analysis.factor(values);
    };
  }

  /** The Krylov factor at the present point, bound when it is first asked for: its diagonal may be refused. */
  private bindProducts(solver: MatrixFreeSolver, prepared: RunContext): () => Factor {
    const {products} = prepared.compiled;
    loadParameters(products, prepared);
    const direction = products.optionalBuffer('direction');
    const shared = (['x', 'z', 't', 'h'] as const).flatMap(name => {
      const to = products.optionalBuffer(name);
      const from = this.forward.optionalBuffer(name);
      return to === undefined || from === undefined ? [] : [{to, from}];
    });
    const run =
      (program: 'apply' | 'applyTransposed', output: 'Jd' | 'JTd') =>
      (x: Float64Array, y: Float64Array): void => {
        direction?.set(x);
        products.run(program);
        y.set(products.buffer(output));
      };
    const operator = {
      n: this.z.length,
      epsilon: this.epsilon,
      apply: run('apply', 'Jd'),
      applyTransposed: run('applyTransposed', 'JTd'),
      diagonal: (d: Float64Array): void => this.diagonal(d),
      coupling: this.coupling(prepared),
    };
    const linearize = products.has(linearization) ? products.program(linearization) : undefined;
    let factor: ReturnType<MatrixFreeSolver['bind']> | undefined;
    return () => {
      for (const {to, from} of shared) to.set(from);
      linearize?.();
      if (factor === undefined) factor = solver.bind(operator);
      else factor.refresh();
      return factor;
    };
  }

  /** What the constraint preconditioner solves with; undefined without constraints. */
  private coupling({traced}: RunContext): Coupling | undefined {
    const {blocks, size} = traced.unknown;
    if (!blocks.some(({isMultiplier}) => isMultiplier === true)) return undefined;
    const groups = new Int32Array(size);
    for (const {offset, size: count, isMultiplier} of blocks) {
      for (let i = 0; i < count; i++) groups[offset + i] = isMultiplier === true ? -1 : i;
    }
    return constraintCoupling(this.pattern, groups, this.values, this.evaluateJacobian, auto());
  }

  private diagonal(d: Float64Array): void {
    this.forward.run('jacobian');
    const {rowPointers, columns} = this.pattern;
    d.fill(0);
    for (let row = 0; row < d.length; row++) {
      for (let k = rowPointers[row]; k < rowPointers[row + 1]; k++) if (columns[k] === row) d[row] = this.values[k];
    }
  }
}

/** The kernels of a factor in compiled routines. */
class CompiledFactor implements CompiledFactorization {
  constructor(
    private readonly forward: ForwardExecutable,
    private readonly analysis: Analysis,
    private readonly flags: {readonly tries: Element; readonly general: Element; readonly count: Element},
  ) {}

  factor(general: Callee): Callee {
    const {forward, flags} = this;
    return this.direct(general, (w, factor, otherwise) => () => {
      const at = ({array, index}: Element): number => array.byteOffset + 8 * (index as number);
      const [flag, count] = [w.int(at(flags.general)), w.int(at(flags.count))];
      const eliminate = (): void => {
        w.run(forward.program('jacobian'));
        w.if(
          factor.writeElimination(w, forward.buffer('J').byteOffset),
          () => {
            w.store(flag, w.number(0));
            w.store(count, w.op('f64.add', w.load(count), w.number(1)));
          },
          otherwise,
        );
      };
      w.if(w.op('f64.ne', w.load(w.int(at(flags.tries))), w.number(0)), eliminate, otherwise);
    });
  }

  solve(general: Callee, to: Float64Array): Callee {
    const {forward, flags} = this;
    return this.direct(general, (w, factor, otherwise) => () => {
      const {array, index} = flags.general;
      const isGeneral = w.load(w.int(array.byteOffset + 8 * (index as number)));
      w.if(w.op('f64.ne', isGeneral, w.number(0)), otherwise, () =>
        factor.writeSubstitution(w, forward.buffer('R').byteOffset, to.byteOffset, false),
      );
    });
  }

  scaleRows(general: Callee, weights: Float64Array, scale: Float64Array): Callee {
    const {forward} = this;
    return this.direct(general, (w, {n, band}) => () => {
      const rows = routinesOf(forward)?.kernels.rowScales;
      w.run(rows, forward.buffer('J').byteOffset, weights.byteOffset, scale.byteOffset, n, band);
    });
  }

  /** A part that is written with the factor where there is one when a routine is compiled. */
  private direct(
    general: Callee,
    write: (w: RoutineWriter, factor: RoutineFactor, otherwise: () => void) => Push,
  ): Callee {
    return {
      run: general.run,
      write: (w, given) => {
        const factor = routinesOf(this.forward)?.factor(this.analysis);
        const otherwise = w.call(general.run, given);
        return factor === undefined ? otherwise : write(w, factor, otherwise);
      },
    };
  }
}
