/**
 * What factors in supernodes share, symmetric or not: solves in the permuted order, refined where the pivots are weak,
 * and each judged by its backward error then.
 */
import {refuseUnknownName, refuseUnknownOptions, text} from '../checks.js';
import {SpecialFactor} from './direct.js';
import type {OrderingName} from './ordering.js';
import {CompiledPanels} from './panels-compiled.js';
import {PlainPanels} from './panels-plain.js';
import type {PanelKernels} from './panels.js';
import {ACCEPTABLE, Refinement, throwInaccurate, type Substitution} from './refinement.js';
import {scatter, type Scatter} from './scatter.js';
import type {Pattern} from './solver.js';
import {structureOf, type Structure} from './structure.js';
import type {Supernodal} from './supernodal.js';
import type {Supernodes} from './supernodes.js';

/** Options of `sparseLdlt` and `supernodalLu`. */
export interface SupernodalOptions {
  /** Default 'auto': 'amd', or 'nested-dissection' where a large matrix has less work so. */
  readonly ordering?: OrderingName | 'auto';
  /** Plain loops or WebAssembly. Default 'auto': WebAssembly. Where it is not allowed, plain loops stand in. */
  readonly arithmetic?: ArithmeticName;
}

/** How the arithmetic of a factorization is done. */
export type ArithmeticName = 'auto' | 'plain' | 'compiled';

/** @throws OptionError 'bad-linear' */
export function checkSupernodalOptions(name: string, options: SupernodalOptions): void {
  refuseUnknownOptions(options, {ordering: text, arithmetic: text}, name, 'bad-linear');
  refuseUnknownName(`${name}: ordering`, options.ordering, ['auto', 'amd', 'nested-dissection', 'rcm', 'natural']);
  refuseUnknownName(`${name}: arithmetic`, options.arithmetic, ['auto', 'plain', 'compiled']);
}

/** The lists that the numeric part follows, and the scratch that all factors of an analysis share. */
export class SupernodalAnalysis<N extends Supernodal<unknown>> {
  readonly order: Int32Array;
  readonly nodes: Supernodes;
  readonly scalarWork: number;
  readonly scatter: Scatter;
  readonly refinement: Refinement;
  private readonly isPlain: boolean;
  private made: N | undefined;

  constructor(
    pattern: Pattern,
    {ordering = 'auto', arithmetic = 'auto'}: SupernodalOptions,
    private readonly panels: 1 | 2,
    private readonly Numeric: new (nodes: Supernodes, kernels: PanelKernels) => N,
  ) {
    const {order, nodes, scalarWork}: Structure = structureOf(pattern, ordering);
    this.order = order;
    this.nodes = nodes;
    this.scalarWork = scalarWork;
    this.isPlain = arithmetic === 'plain';
    this.scatter = scatter(pattern, order, nodes);
    this.refinement = new Refinement(pattern);
  }

  /** Made for the first factor: an analysis is often one of several candidates. */
  get numeric(): N {
    const {nodes, panels, isPlain, Numeric} = this;
    return (this.made ??= new Numeric(
      nodes,
      (isPlain ? undefined : CompiledPanels.create(nodes, panels)) ?? new PlainPanels(nodes, panels),
    ));
  }
}

/** @typeParam F what the numeric part keeps of a factor */
export abstract class SupernodalFactor<F extends {readonly size: number}>
  extends SpecialFactor
  implements Substitution
{
  protected readonly blocks: F;
  /** The matrix is R⁻¹ (L D U) C⁻¹; undefined stands for ones. */
  protected readonly rowScale: Float64Array | undefined;
  protected readonly columnScale: Float64Array | undefined;
  /** The values themselves, when solves are refined; made at the first matrix that needs it. */
  protected values: Float64Array | undefined;
  protected refined = false;
  private iterations = 0;

  constructor(
    pattern: Pattern,
    private readonly shared: SupernodalAnalysis<Supernodal<F>>,
    isScaled: boolean,
  ) {
    super(pattern);
    this.blocks = shared.numeric.createBlocks();
    this.rowScale = isScaled ? new Float64Array(pattern.n) : undefined;
    this.columnScale = isScaled ? new Float64Array(pattern.n) : undefined;
  }

  get size(): number {
    return this.blocks.size + (this.values?.length ?? 0);
  }

  override get linearIterations(): number {
    return this.iterations;
  }

  /** Before a new matrix. */
  protected forget(): void {
    this.usable = this.refined = false;
    this.iterations = 0;
  }

  /** Solves with the present matrix are refined from now on. */
  protected refine(values: Float64Array): void {
    this.values ??= new Float64Array(this.pattern.columns.length);
    const kept = this.values;
    for (let p = 0; p < kept.length; p++) kept[p] = values[p];
    this.refined = true;
  }

  /** The backward error that refinement leaves of a right-hand side that stands for all. */
  protected probe(values: Float64Array, transposed: boolean): number {
    const {refinement} = this.shared;
    const error = refinement.probe(this, values, transposed);
    this.iterations = refinement.iterations;
    return error;
  }

  /** A refined solution at x[at …] with too large a backward error. */
  protected refuseSolution(method: string, error: number): never {
    throwInaccurate(method, error, this.iterations);
  }

  /** Handles a refined solution at x[at …] with too large a backward error. */
  protected abstract inaccurate(x: Float64Array, at: number, transposed: boolean, error: number): void;

  protected substitute(x: Float64Array, at: number): void {
    this.substituteOneWay(x, at, false);
  }

  protected substituteTransposed(x: Float64Array, at: number): void {
    this.substituteOneWay(x, at, true);
  }

  private substituteOneWay(x: Float64Array, at: number, transposed: boolean): void {
    if (!this.refined || this.values === undefined) {
      this.substituteOnce(x, at, transposed);
      return;
    }
    const {refinement} = this.shared;
    const error = refinement.solve(this, this.values, x, at, transposed);
    this.iterations = refinement.iterations;
    if (!(error <= ACCEPTABLE)) this.inaccurate(x, at, transposed, error);
  }

  substituteOnce(x: Float64Array, at: number, transposed: boolean): void {
    const {order, numeric} = this.shared;
    const before = transposed ? this.columnScale : this.rowScale;
    const after = transposed ? this.rowScale : this.columnScale;
    const permuted = numeric.kernels.x;
    for (let k = 0; k < order.length; k++) {
      const i = order[k];
      permuted[k] = before === undefined ? x[at + i] : x[at + i] * before[i];
    }
    numeric.solve(this.blocks, transposed);
    for (let k = 0; k < order.length; k++) {
      const i = order[k];
      x[at + i] = after === undefined ? permuted[k] : permuted[k] * after[i];
    }
  }
}
