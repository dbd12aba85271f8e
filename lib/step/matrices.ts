/**
 * The matrices of a step: ∂R/∂z, the model of it that Newton's iteration may solve with, that of the error estimate,
 * and that of one block of an unknown found in turn. Each is derived once, compared with its tangents before its values
 * are first used, and analyzed once for each linear solver.
 */
import {isOp, topological, type Node} from '../graph/node.js';
import {countWork} from '../graph/work.js';
import type {Analysis, LinearSolver} from '../linear/index.js';
import {analyze, stagewise} from '../linear/index.js';
import type {StepExecutable} from './buffers.js';
import {checkJacobian} from './jacobian-check.js';
import {jacobianProgram, type JacobianProgram} from './jacobian-program.js';
import {extendedJacobian} from './lift.js';
import {dependsOnLengthOnly} from './programs.js';
import {sequentialBlocks, type SequentialBlocks} from './sequential-programs.js';
import {directSolver, solverKey} from './solvers.js';
import type {TracedStep} from './traced-step.js';

/**
 * What is factored: ∂R/∂z, what Newton's iteration solves with, the matrix of the error estimate, or that of one block
 * of an unknown found in turn.
 */
export type Matrix = 'jacobian' | 'matrix' | 'filter' | 'block';

/** See `Analysis.pivotState`. */
export type PivotStates = {readonly [M in Matrix]?: unknown};

/**
 * A Jacobian of so many residuals and solves is kept while it serves: with an old one a step takes two or
 * three iterations more, each a residual and a solve. Measured: a force from two hidden layers of 64 on 8
 * masses (6 times) takes 0.54 of the time; chains (1.5 times) gain nothing, and lose in robustness.
 */
const expensiveJacobianRatio = 4;

/** The step that matrices are derived of. */
export interface MatrixSource {
  readonly traced: TracedStep;
  /** With what depends on the parameters alone apart. */
  readonly step: TracedStep;
  timed<T>(work: () => T): T;
}

/** A direct solve multiplies and adds once for every number of the factor. */
const solveWork = ({nonzeros, solveWork: told = 2 * nonzeros}: Analysis): number => told;

export class StepMatrices {
  private readonly analyses: Readonly<Record<Matrix, Map<string, Analysis>>> = {
    jacobian: new Map(),
    matrix: new Map(),
    filter: new Map(),
    block: new Map(),
  };
  private readonly lastUsed: {[M in Matrix]?: Analysis} = {};
  private restoredPivots: PivotStates | undefined;
  private cachedJacobian: JacobianProgram | undefined;
  private cachedMatrix: JacobianProgram | undefined;
  private cachedFilter: JacobianProgram | undefined;
  private cachedSequential: SequentialBlocks | undefined | null;
  /** Compared with their tangents. */
  private readonly checked: Set<Matrix>;
  private readonly stagewiseSolvers = new WeakMap<LinearSolver, LinearSolver>();
  private readonly constantMatrices = new Map<JacobianProgram, boolean>();
  private jacobianWork: {readonly jacobian: number; readonly residual: number} | undefined;

  /** @param checked those that were compared with their tangents where this step comes from */
  constructor(
    private readonly source: MatrixSource,
    checked: readonly Matrix[],
  ) {
    this.checked = new Set(checked);
  }

  get checkedMatrices(): readonly Matrix[] {
    return [...this.checked];
  }

  /** What was derived for another engine need not be again. */
  shareWith(other: StepMatrices): void {
    other.cachedJacobian = this.cachedJacobian;
    other.cachedMatrix = this.cachedMatrix;
  }

  private get step(): TracedStep {
    return this.source.step;
  }

  /** The Jacobian of an implicit scheme; undefined for an explicit one. */
  get jacobian(): JacobianProgram | undefined {
    const {residual, residualBlocks = residual} = this.step.functions;
    if (residualBlocks !== undefined)
      this.cachedJacobian ??= this.source.timed(() => extendedJacobian(this.step) ?? this.programOf(residualBlocks));
    return this.cachedJacobian;
  }

  private programOf(residual: Node): JacobianProgram {
    const {inputs, isInitialStep} = this.step;
    return jacobianProgram(residual, inputs.z, {
      weak: this.weakRows(residual),
      once: isInitialStep,
      nearNullSpace: this.step.nearNullSpace?.(),
    });
  }

  /**
   * Multipliers of contacts with friction, whose own share of their equations is what contacts yield; undefined without
   * such.
   */
  private weakRows(residual: Node): Int32Array | undefined {
    const yields = topological([residual]).some(node => isOp(node, 'input') && node.attributes.name === 'relaxation');
    if (!yields) return undefined;
    const rows = this.step.unknown.blocks.flatMap(({isMultiplier, offset, size}) =>
      isMultiplier === true ? Array.from({length: size}, (_, i) => offset + i) : [],
    );
    return Int32Array.from(rows);
  }

  /** What Newton's iteration solves with: the Jacobian, or a model of it. */
  get matrix(): JacobianProgram | undefined {
    const {residualModel} = this.step.functions;
    if (residualModel === undefined) return this.jacobian;
    return (this.cachedMatrix ??= this.source.timed(() => this.programOf(residualModel)));
  }

  /** The matrix of the error estimate; undefined where it has none. */
  get filter(): JacobianProgram | undefined {
    const {
      functions: {filter},
      inputs: {shift},
    } = this.step;
    if (filter !== undefined && shift !== undefined)
      this.cachedFilter ??= this.source.timed(() => jacobianProgram(filter, shift));
    return this.cachedFilter;
  }

  /** The equations of blocks that are found in turn; undefined where they are not. */
  get sequential(): SequentialBlocks | undefined {
    if (this.cachedSequential === undefined)
      this.cachedSequential = this.source.timed(() => sequentialBlocks(this.step)) ?? null;
    return this.cachedSequential ?? undefined;
  }

  get block(): JacobianProgram | undefined {
    return this.sequential?.jacobian;
  }

  /**
   * Compares a Jacobian with its tangent before its values are first used; later ones pass.
   * @param at where its inputs stand, with the program that computes it and that one's output
   * @throws StiffgradError 'jacobian-pattern'
   */
  check<Program extends string>(
    which: Matrix,
    at: StepExecutable<Program>,
    run: NoInfer<Program>,
    output: 'J' | 'exactJ' | 'Js',
  ): void {
    const of = this.resolveKind(which);
    const program = this[of];
    if (program === undefined || this.checked.has(of)) return;
    this.source.timed(() => {
      at.run(run);
      checkJacobian(program, at.buffer(output), at, this.source.traced.unknown);
    });
    this.checked.add(of);
  }

  /** Whether that has been done. */
  isChecked(which: Matrix): boolean {
    return this.checked.has(this.resolveKind(which));
  }

  /**
   * Whether ∂R/∂z, or Newton's matrix, is the same in all steps of one length of a run: that of a problem that is
   * linear with constant coefficients. One factor then serves them all.
   */
  isConstant(which: 'jacobian' | 'matrix'): boolean {
    const program = this[this.resolveKind(which) === 'matrix' ? 'matrix' : 'jacobian'];
    if (program === undefined) return false;
    let steady = this.constantMatrices.get(program);
    if (steady === undefined) {
      const names = topological([program.values]).flatMap(node => (isOp(node, 'input') ? [node.attributes.name] : []));
      this.constantMatrices.set(program, (steady = names.every(dependsOnLengthOnly)));
    }
    return steady;
  }

  /** Whether keeping a Jacobian pays, by counted work. */
  isJacobianExpensive(solver: LinearSolver): boolean {
    const {
      jacobian,
      step: {
        functions: {residual},
      },
    } = this;
    if (residual === undefined || jacobian === undefined) return false;
    this.jacobianWork ??= {jacobian: countWork([jacobian.values]), residual: countWork([residual])};
    const iteration = this.jacobianWork.residual + solveWork(this.analysis(solver, solverKey(solver), 'jacobian'));
    return this.jacobianWork.jacobian >= expensiveJacobianRatio * iteration;
  }

  /** Work of a matrix, with its factorization, over that of an iteration with it: a residual and a solve. */
  relativeCost(solver: LinearSolver, which: 'jacobian' | 'block'): number {
    const program = this[which];
    const residual = which === 'block' ? this.sequential?.first : this.step.functions.residual;
    if (program === undefined || residual === undefined) return 0;
    const analysis = this.analysis(solver, solverKey(solver), which);
    return (countWork([program.values]) + analysis.work) / (countWork([residual]) + solveWork(analysis));
  }

  /** The analysis last used: what the statistics show. */
  currentAnalysis: Analysis | undefined;

  /**
   * Every run starts with analyses that know no matrix (undefined), and its way back with those it left:
   * what it gives then depends on nothing that ran before.
   */
  restorePivots(saved: PivotStates | undefined): void {
    this.restoredPivots = saved;
    for (const of of ['jacobian', 'matrix', 'filter', 'block'] as const) {
      for (const analysis of this.analyses[of].values()) analysis.pivots?.restore(saved?.[of]);
    }
  }

  /** What the linear solvers last used have learned. */
  get pivotStates(): PivotStates {
    const {jacobian, matrix, filter, block} = this.lastUsed;
    return {
      jacobian: jacobian?.pivots?.save(),
      matrix: matrix?.pivots?.save(),
      filter: filter?.pivots?.save(),
      block: block?.pivots?.save(),
    };
  }

  /** The solver's symbolic work for this step's Jacobian, or for Newton's matrix where that is another, done once. */
  analysis(solver: LinearSolver, key: string, which: Matrix): Analysis {
    const of = this.resolveKind(which);
    let analysis = this.analyses[of].get(key);
    if (analysis === undefined) {
      const program = this[of];
      if (program === undefined) throw new Error('an explicit scheme has no linear system');
      analysis = this.source.timed(() => analyze(solver, program.pattern));
      if (this.restoredPivots?.[of] !== undefined) analysis.pivots?.restore(this.restoredPivots[of]);
      this.analyses[of].set(key, analysis);
    }
    this.lastUsed[of] = analysis;
    if (of !== 'filter') this.currentAnalysis = analysis;
    return analysis;
  }

  /** Without a model of the residual there is one matrix. */
  private resolveKind(which: Matrix): Matrix {
    return which === 'matrix' && this.source.traced.functions.residualModel === undefined ? 'jacobian' : which;
  }

  /**
   * What derivatives of a step are solved by: the run's own solver, or one with a matrix; stage by stage where the run
   * finds its stages so.
   */
  sweepSolver(linear: LinearSolver): LinearSolver {
    const direct = directSolver(linear);
    const blocks = this.sequential?.blocks;
    if (blocks === undefined) return direct;
    const known = this.stagewiseSolvers.get(direct) ?? stagewise(blocks, direct);
    this.stagewiseSolvers.set(direct, known);
    return known;
  }

  /** For programs compiled with room for the factor; undefined for an explicit scheme. */
  analysisOf(solver: LinearSolver, which: Matrix): Analysis | undefined {
    return this[which] === undefined ? undefined : this.analysis(solver, solverKey(solver), which);
  }
}
