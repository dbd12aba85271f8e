/**
 * A step ready to run: its programs, compiled by an engine, each group at its first use. Compiled steps
 * are cached by the structure of their graphs, so that a system created again for every loss evaluation
 * is differentiated and compiled once.
 */
import {MemoryError} from '../errors.js';
import {engineKey, type CompileOptions, type Engine, type Executable, type Programs} from '../engine/engine.js';
import type {Key} from '../graph/key.js';
import {KeyedCache, programKey} from '../graph/key.js';
import type {Analysis, LinearSolver} from '../linear/index.js';
import {auto} from '../linear/index.js';
import {frameSize, workVectors} from '../newton/index.js';
import type {Graph} from '../graph/node.js';
import {adaptiveBuffers, adaptiveBlockSteps} from './adaptive-block-layout.js';
import type {Derived} from './derived.js';
import {deriveStep, pullDerivedPrograms, secondOrderDerivedPrograms} from './derived.js';
import type {HistoryAdjointProgram} from './history-programs.js';
import {historyAdjointPrograms, denseAndEventPrograms} from './history-programs.js';
import type {LaneAdjointProgram} from './lane-programs.js';
import {laneAdjointPrograms} from './lane-programs.js';
import {sinkScalars} from './sink-scalars.js';
import {StepMatrices, type Matrix} from './matrices.js';
import type {ProgramsOf, StepExecutable} from './buffers.js';
import {compileInPlace, graphOf, requireKnownBuffers} from './buffers.js';
import {withPrecomputation, withParameterProgram} from './precomputation.js';
import type {StoragePolicy, StoredForBackward, StoredActivations} from './stored-for-backward.js';
import {storedActivations, reducedStorage} from './stored-for-backward.js';
import type {AdjointProgram, ForwardProgram, ObserveProgram, TangentProgram, UnrolledProgram} from './programs.js';
import {
  adjointPrograms,
  directAdjointPrograms,
  forwardPrograms,
  observePrograms,
  productPrograms,
  tangentResidualPrograms,
  tangentPrograms,
  transposedProductPrograms,
  unrolledPrograms,
} from './programs.js';
import {blockSize, rowHeaderSize, sweepFrameSize} from './block-layout.js';
import {namedFunctions} from './step-functions.js';
import type {TracedStep} from './traced-step.js';
import {inputsOf} from './traced-step.js';
import type {SequentialProgram, SequentialBlocks} from './sequential-programs.js';

type Extra = NonNullable<CompileOptions['extra']>;

/** Options of a group of programs. */
export interface GroupOptions extends Pick<CompileOptions, 'analysis' | 'calls'> {
  /** Further buffers; called once, when the group is compiled. */
  readonly extra?: () => Extra;
  /** The programs have passed `sinkScalars` already. */
  readonly scalarsSunk?: boolean;
  /** Outputs lie in the memory of the inputs that they replace (`BufferKind.replaces`). */
  readonly inPlace?: boolean;
}

/**
 * Activations are stored from this size on. Below it blocks of steps (adaptive-block-layout.ts), whose rows are states
 * alone, spare more than stored activations would: some 40 numbers a member and step.
 */
const minActivations = 512;

interface LaneAdjoint {
  readonly programs: ProgramsOf<LaneAdjointProgram>;
  readonly activations: StoredActivations<LaneAdjointProgram> | undefined;
}

/** The forward programs, with `keep` in runs that store what their gradient needs. */
export type ForwardExecutable = StepExecutable<ForwardProgram | 'keep'>;
/** The forward programs of a step whose unknown is solved stage by stage. */
export type SequentialExecutable = StepExecutable<'update' | 'estimate' | 'filter' | 'touching' | SequentialProgram>;

export class CompiledStep {
  private readonly groups = new Map<string, Executable>();
  private cachedFullAdjoint: ProgramsOf<AdjointProgram> | undefined;
  private cachedFullProduct: ProgramsOf<'transposedProduct'> | undefined;
  private cachedStorage: StoredForBackward | undefined;
  /** null: there are none. */
  private cachedActivations: StoredActivations | undefined | null;
  private cachedLaneAdjoint: LaneAdjoint | undefined;
  private cachedHistoryAdjoint: ProgramsOf<HistoryAdjointProgram> | undefined;
  /** null: the stored numbers do not determine it. */
  private cachedStoredProduct: ProgramsOf<'transposedProduct'> | undefined | null;
  private cachedDerived: Derived | undefined;
  /**
   * A run is using the buffers: another run of the same structure, started within it, gets a compiled step of its own.
   */
  inUse = false;
  /** A lower bound on the number of steps of the present run. */
  expectedSteps = 0;
  /** Steps of grids that were recorded for gradients, while these are few (integrate/checkpointer.ts). */
  recordedSteps = 0;
  /** Adaptive steps attempted one by one, in all runs. */
  attempts = 0;
  /** Transitions of the last recorded adaptive run: the initial capacity of the next record. */
  expectedTransitions = 16;
  /** Milliseconds spent differentiating and compiling since the caller last reset it. */
  compileTime = 0;

  readonly matrices: StepMatrices;

  /** @param checked matrices that need no comparison with their tangents */
  constructor(
    readonly traced: TracedStep,
    public engine: Engine,
    checked: readonly Matrix[] = [],
  ) {
    this.matrices = new StepMatrices(this, checked);
  }

  /** The step as all programs see it, a function of values that are computed from the parameters once a run. */
  get derived(): Derived {
    return (this.cachedDerived ??= this.timed(() => deriveStep(this.traced)));
  }

  get step(): TracedStep {
    return this.derived.step;
  }

  /** There is an unknown to solve for; to ask for the Jacobian instead would be to derive it. */
  get implicit(): boolean {
    return this.traced.functions.residual !== undefined;
  }

  private get isRemote(): boolean {
    return this.engine.remote === true;
  }

  /** The adjoint of a step as a function of its state and unknown. */
  private get fullAdjointPrograms(): ProgramsOf<AdjointProgram> {
    return (this.cachedFullAdjoint ??= this.timed(() =>
      this.sinkScalars(adjointPrograms(this.step, this.matrices.jacobian, this.canAccumulate)),
    ));
  }

  /** Products with the transposed Jacobian as functions of a step's state and unknown. */
  private get fullProductPrograms(): ProgramsOf<'transposedProduct'> {
    return (this.cachedFullProduct ??= this.timed(() => this.sinkScalars(transposedProductPrograms(this.step))));
  }

  /**
   * The numbers stored of a step for `adjoint`. Scalars are sunk before they are chosen, so that `fullAdjoint` gives
   * the same bits.
   */
  get storage(): StoredForBackward {
    return (this.cachedStorage ??= this.timed(() =>
      reducedStorage(this.fullAdjointPrograms, this.step, this.isRemote),
    ));
  }

  /** Sinks signs and scalar factors, which take no time on a device. */
  private sinkScalars<Name extends string>(programs: ProgramsOf<Name>): ProgramsOf<Name> {
    return this.isRemote ? programs : (sinkScalars(definedPrograms(programs)) as ProgramsOf<Name>);
  }

  /** The adjoint of a step with derivatives by its time and length. */
  get historyAdjointPrograms(): ProgramsOf<HistoryAdjointProgram> {
    return (this.cachedHistoryAdjoint ??= historyAdjointPrograms(
      this.step,
      this.matrices.jacobian,
      this.canAccumulate,
    ));
  }

  /**
   * The activations that an explicit step with derivatives by time and length stores; undefined if that does not pay.
   */
  get activations(): StoredActivations | undefined {
    if (this.implicit || this.isRemote) return undefined;
    if (this.cachedActivations === undefined)
      this.cachedActivations =
        this.timed(() => storedActivations(this.historyAdjointPrograms, this.step, minActivations)) ?? null;
    return this.cachedActivations ?? undefined;
  }

  /** The adjoint of steps in lanes, and the activations that they store for it. */
  get laneAdjoint(): LaneAdjoint {
    return (this.cachedLaneAdjoint ??= this.timed(() => {
      const programs = laneAdjointPrograms(this.step, this.canAccumulate);
      return {programs, activations: storedActivations(programs, this.step, 1)};
    }));
  }

  /** Steps in lanes. @param stores activations are stored for a gradient */
  laneForward(stores: boolean): ForwardExecutable {
    const layers = stores ? this.laneAdjoint.activations : undefined;
    return layers === undefined
      ? this.forward(auto())
      : this.group<ForwardProgram | 'keep'>('lanes.keepingLayers', () => this.withActivations(layers), {
          extra: () => ({x: this.traced.state.size}),
        });
  }

  /**
   * The forward programs, with Newton's work vectors and a solver's factor in the same memory.
   * @param storage 'narrow': with `keep`, which also computes the numbers stored for `adjoint`; in an explicit scheme
   *   it replaces `update`, which would be compiled twice. 'layers': `update` also computes the activations
   */
  forward(solver: LinearSolver, storage?: StoragePolicy): ForwardExecutable {
    if (storage === 'layers')
      return this.group<ForwardProgram | 'keep'>('keepingLayers', () => this.withActivations(this.activations), {
        extra: () => ({x: this.traced.state.size}),
      });
    const analysis = this.matrices.analysisOf(solver, 'matrix');
    // One executable for runs with and without a gradient where there may be: calls between JavaScript and
    // WebAssembly take twice as long where a line of code has met the functions of two (Node 20, measured).
    const cached = !this.implicit
      ? undefined
      : (this.groups.get(groupKey('keeping', analysis))
        ?? (storage === 'narrow' ? undefined : this.groups.get(groupKey('forward', analysis))));
    if (cached !== undefined) return this.reuse(cached, this.expectedSteps);
    const extra = (): Extra => {
      const n = this.traced.unknown.size;
      const work =
        this.matrices.matrix === undefined
          ? []
          : [...workVectors.map(name => [name, n] as const), ['newtonFrame', frameSize] as const];
      const {size} = this.traced.state;
      const block = blockSize(rowHeaderSize + size + n, size);
      return {x: size, ...Object.fromEntries(work), ...(block > 0 ? {block, taken: 1} : {})};
    };
    const programs = (): ProgramsOf<ForwardProgram> => {
      const exact = this.traced.functions.residualModel === undefined ? undefined : this.matrices.jacobian;
      return forwardPrograms(this.step, this.matrices.matrix, exact, this.matrices.filter);
    };
    if (storage === undefined) return this.group<ForwardProgram | 'keep'>('forward', programs, {extra, analysis});
    return this.group<ForwardProgram | 'keep'>(
      'keeping',
      () => ({...programs(), keep: graphOf({next: this.step.functions.update, kept: this.storage.node})}),
      {extra, analysis},
    );
  }

  /** Whether steps can be taken and pulled back in blocks: those of an explicit scheme with an estimate of its own. */
  get runsInBlocks(): boolean {
    return this.isBatchable && adaptiveBlockSteps(this.step.state.size) > 0;
  }

  /** Whether attempts at steps of any length are all made by the same programs. */
  get isBatchable(): boolean {
    const {residual, error, filter, touching} = this.step.functions;
    return error !== undefined && [residual, filter, touching].every(one => one === undefined);
  }

  /** Adaptive steps in blocks, with dense output in the same memory. */
  get adaptiveSteps(): StepExecutable<'update' | 'between' | 'dense'> {
    const {state, functions} = this.step;
    return this.group('adaptiveSteps', () => this.attemptPrograms(undefined), {
      extra: () => adaptiveBuffers(state.size, functions.error?.size ?? 0),
      calls: Infinity,
    });
  }

  /** Adaptive steps for a whole run in one call, whose arrays lie elsewhere. */
  adaptiveRun(keeps: 'layers' | undefined): StepExecutable<'update' | 'between' | 'dense'> {
    return this.group(`adaptiveRun.${keeps ?? 'states'}`, () => this.attemptPrograms(keeps), {
      extra: () => ({x: this.step.state.size}),
    });
  }

  private attemptPrograms(keeps: 'layers' | undefined): ProgramsOf<'update' | 'between' | 'dense'> {
    const {between, dense} = denseAndEventPrograms(this.step);
    const {update} =
      keeps === undefined ? forwardPrograms(this.step, undefined) : this.withActivations(this.activations);
    return {update, between, dense};
  }

  private withActivations(layers: Pick<StoredActivations, 'node'> | undefined): ProgramsOf<ForwardProgram> {
    const programs = forwardPrograms(this.step, undefined);
    const made = (programs.update?.outputs ?? []).map(({name, node}) => [name, node] as const);
    return {...programs, update: graphOf({...Object.fromEntries(made), layers: layers?.node})};
  }

  /** The forward programs for an unknown that is solved stage by stage. */
  sequentialPrograms(solver: LinearSolver, {programs, size}: SequentialBlocks): SequentialExecutable {
    const extra = (): Extra => ({
      x: this.traced.state.size,
      z: this.traced.unknown.size,
      zs: size,
      Rs: size,
      delta: size,
      weights: size,
    });
    return this.group(
      'sequentialPrograms',
      () => {
        const {update, estimate, filter, touching} = forwardPrograms(
          this.step,
          undefined,
          undefined,
          this.matrices.filter,
        );
        return {update, estimate, filter, touching, ...programs};
      },
      {extra, analysis: this.matrices.analysisOf(solver, 'block')},
    );
  }

  get products(): StepExecutable<'apply' | 'applyTransposed' | 'linearize'> {
    return this.group<'apply' | 'applyTransposed' | 'linearize'>('products', () => productPrograms(this.step));
  }

  /** The backward pass of a step, from what `keep` stored of it. */
  adjoint(solver: LinearSolver): StepExecutable<AdjointProgram> {
    const extra = (): Extra => {
      const block = blockSize(rowHeaderSize + this.storage.size, this.traced.state.size);
      return block === 0
        ? {}
        : {
            block,
            ...(this.implicit
              ? {growth: 2 * (this.matrices.jacobian?.pattern.n ?? 0), sweepFrame: sweepFrameSize}
              : {}),
          };
    };
    return this.group('adjoint', () => this.storage.programs, {
      analysis: this.matrices.analysisOf(solver, 'jacobian'),
      extra,
      scalarsSunk: true,
      inPlace: this.canAccumulate,
    });
  }

  /** Products with the transposed Jacobian from the stored numbers; undefined if these do not determine it. */
  get storedProduct(): StepExecutable<'transposedProduct'> | undefined {
    if (this.cachedStoredProduct === undefined)
      this.cachedStoredProduct = this.timed(() => this.storage.rewrite(this.fullProductPrograms)) ?? null;
    const programs = this.cachedStoredProduct;
    return programs === null ? undefined : this.group('keptProduct', () => programs, {scalarsSunk: true});
  }

  /** Products with the transposed Jacobian from a step's state and unknown. */
  get fullProduct(): StepExecutable<'transposedProduct'> {
    return this.group('wholeProduct', () => this.fullProductPrograms, {scalarsSunk: true});
  }

  /** The residual of a step's linearized equation. @param timed with tangents of time and length */
  tangentResidual(count: number, timed: boolean): StepExecutable<'tangentLeft'> {
    return this.group(`tangentLeft.${count}${timed ? '.timed' : ''}`, () =>
      tangentResidualPrograms(this.step, count, timed),
    );
  }

  /** The residual of the equation for the derivative by the step's length: dh is 1, all other tangents are zero. */
  get lengthResidual(): StepExecutable<'tangentLeft'> {
    return this.group('lengthLeft', () => tangentResidualPrograms(this.step, 1, true));
  }

  /** The adjoint of a step from its state and unknown. */
  fullAdjoint(solver: LinearSolver): StepExecutable<AdjointProgram> {
    return this.group('wholeAdjoint', () => this.fullAdjointPrograms, {
      analysis: this.matrices.analysisOf(solver, 'jacobian'),
      scalarsSunk: true,
      inPlace: this.canAccumulate,
    });
  }

  /** The adjoint of a step whose end does not depend on its unknown; `pullUnknown` tells whether that is so. */
  get directAdjoint(): StepExecutable<'pullUnknown' | 'pullStep'> {
    return this.group('directAdjoint', () => directAdjointPrograms(this.step));
  }

  get unrolled(): StepExecutable<UnrolledProgram | AdjointProgram> {
    const {jacobian} = this.matrices;
    if (jacobian === undefined) return this.fullAdjoint(auto());
    return this.group<UnrolledProgram | AdjointProgram>('unrolled', () => unrolledPrograms(this.step, jacobian));
  }

  tangent(count: number, solver: LinearSolver): StepExecutable<TangentProgram> {
    return this.group(`tangent.${count}`, () => tangentPrograms(this.step, this.matrices.jacobian, count), {
      analysis: this.matrices.analysisOf(solver, 'jacobian'),
    });
  }

  /** The pull through values derived from the parameters (derived.ts); undefined if there are none. */
  get pullDerived(): StepExecutable<'pullDerived'> | undefined {
    const {derived} = this;
    return derived.parameters.length === 0 ? undefined : this.group('pullDerived', () => pullDerivedPrograms(derived));
  }

  /** Tangents of derived values and of their pull, along `count` directions; undefined if there are none. */
  secondOrderDerived(count: number): StepExecutable<'pushDerived' | 'secondOrderDerived'> | undefined {
    const {derived} = this;
    return derived.parameters.length === 0
      ? undefined
      : this.group(`secondOrderDerived.${count}`, () => secondOrderDerivedPrograms(derived, count));
  }

  observe(count: number): StepExecutable<ObserveProgram> {
    return this.group(`observe.${count}`, () => observePrograms(this.traced, count));
  }

  /** This step for another engine; derived programs, checks and analyses are shared. */
  forEngine(engine: Engine): CompiledStep {
    const other = new CompiledStep(this.traced, engine, this.matrices.checkedMatrices);
    this.matrices.shareWith(other.matrices);
    other.cachedDerived = this.cachedDerived;
    if (other.isRemote === this.isRemote) {
      other.cachedFullAdjoint = this.cachedFullAdjoint;
      other.cachedFullProduct = this.cachedFullProduct;
      other.cachedStorage = this.cachedStorage;
      other.cachedActivations = this.cachedActivations;
      other.cachedLaneAdjoint = this.cachedLaneAdjoint;
    }
    other.cachedHistoryAdjoint = this.cachedHistoryAdjoint;
    return other;
  }

  /** Whether sums over many steps may be made by a program: they are in double precision. */
  get canAccumulate(): boolean {
    return this.engine.accumulatesInDouble ?? !this.isSingle;
  }

  get isSingle(): boolean {
    return this.engine.epsilon > Number.EPSILON;
  }

  /** Programs compiled under this name when they are first asked for. */
  group<Name extends string>(
    name: string,
    build: () => ProgramsOf<Name>,
    {analysis, extra, calls = this.expectedSteps, scalarsSunk = false, inPlace = false}: GroupOptions = {},
  ): StepExecutable<Name> {
    const key = groupKey(name, analysis);
    const cached = this.groups.get(key);
    if (cached !== undefined) return this.reuse(cached, calls);
    const compiled = this.timed(() => {
      const programs = this.precompute(definedPrograms(build()), scalarsSunk);
      const options = {analysis, extra: extra?.(), calls};
      return inPlace
        ? compileInPlace(programs, renamed => this.compile(renamed, options))
        : this.compile(programs, options);
    });
    this.groups.set(key, compiled);
    return compiled;
  }

  /** Tells a compiled group how often it will be called. */
  private reuse(cached: Executable, calls: number): Executable {
    if (cached.expect !== undefined) this.timed(() => cached.expect?.(calls));
    return cached;
  }

  /** Compiles by the engine, or by its fallback if the memory does not suffice. */
  private compile(programs: Programs, options: CompileOptions): Executable {
    requireKnownBuffers(programs);
    try {
      return this.engine.compile(programs, options);
    } catch (error) {
      if (!(error instanceof MemoryError) || this.engine.fallback === undefined) throw error;
      this.engine = this.engine.fallback;
      return this.engine.compile(programs, options);
    }
  }

  /**
   * Moves values that change once a run or once a step into programs of their own. On a device only those of a run, as
   * handing a number over costs more than most programs.
   */
  private precompute(programs: Programs, isLate: boolean): Programs {
    if (this.isRemote) return withParameterProgram(programs, this.derived.values);
    const late = isLate ? programs : sinkScalars(programs);
    // `keep` begins with the update of its step. Of an explicit one that is all of the work, and would be compiled
    // twice.
    const isTwice = late.keep !== undefined && !this.implicit;
    return withPrecomputation(
      isTwice ? Object.fromEntries(Object.entries(late).filter(([name]) => name !== 'update')) : late,
      this.derived.values,
    );
  }

  /** Work that counts as compiling. */
  timed<T>(work: () => T): T {
    const begin = performance.now();
    try {
      return work();
    } finally {
      this.compileTime += performance.now() - begin;
    }
  }
}

const definedPrograms = (programs: ProgramsOf<string>): Programs =>
  Object.fromEntries(Object.entries(programs).filter((entry): entry is [string, Graph] => entry[1] !== undefined));

const groupKey = (name: string, analysis: Analysis | undefined): string => `${name}/${analysis?.method?.name ?? ''}`;

/** Number of compiled steps in the cache: enough for the systems of one program, few enough to hold little memory. */
const cacheSize = 32;
const cache = new KeyedCache<CompiledStep>(cacheSize);

/** All functions of a step as one graph. */
export const stepGraph = (step: TracedStep): Graph => ({
  inputs: [...inputsOf(step.inputs), ...step.parameters.map(({node}) => node)],
  outputs: namedFunctions(step.functions),
});

/** The key of a compiled step in the cache. */
export function stepKey(step: TracedStep, engine: Engine): Key {
  const more = [
    engineKey(engine),
    step.linearized ?? false,
    step.isInitialStep ?? false,
    step.unknown.blocks.map(({size}) => size),
  ];
  return programKey(JSON.stringify(more), [stepGraph(step)]);
}

/** The compiled step for a traced step: a cached one of this structure, or a new one. */
export function compileStep(step: TracedStep, engine: Engine): CompiledStep {
  const key = stepKey(step, engine);
  const cached = cache.get(key);
  if (cached?.inUse === true) return new CompiledStep(step, engine);
  if (cached !== undefined) return cached;
  const compiled = new CompiledStep(step, engine);
  cache.add(key, compiled);
  return compiled;
}
