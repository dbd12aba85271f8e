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
import {adaptiveBuffers, adaptiveRoom} from './adaptive-block.js';
import type {Derived} from './derived.js';
import {deriveStep, pullDerivedPrograms, secondOrderDerivedPrograms} from './derived.js';
import type {HistoryAdjointProgram} from './history-programs.js';
import {historyAdjointPrograms, historyPrograms} from './history-programs.js';
import type {LaneAdjointProgram} from './lane-programs.js';
import {laneAdjointPrograms} from './lane-programs.js';
import {latePrograms} from './late-programs.js';
import {StepMatrices, type Matrix} from './matrices.js';
import type {ProgramsOf, StepExecutable} from './buffers.js';
import {graphOf, requireNamed} from './buffers.js';
import {precomputed, withParameterProgram} from './precomputation.js';
import type {Keeps, Kept, LayersKept} from './kept.js';
import {layersOf, narrowed} from './kept.js';
import type {AdjointProgram, ForwardProgram, ObserveProgram, TangentProgram, UnrolledProgram} from './programs.js';
import {
  adjointPrograms,
  carriesOn,
  directAdjointPrograms,
  forwardPrograms,
  observePrograms,
  productPrograms,
  tangentLeftPrograms,
  tangentPrograms,
  transposedProductPrograms,
  unrolledPrograms,
} from './programs.js';
import {blockRoom, rowStart, sweepFrameSize} from './rows.js';
import {namedFunctions} from './step-functions.js';
import type {TracedStep} from './traced-step.js';
import {inputsOf} from './traced-step.js';
import type {SequentialProgram, SequentialBlocks} from './sequential-programs.js';

type Extra = NonNullable<CompileOptions['extra']>;

/** Those of a group of programs; what it needs beside them is asked for when it is compiled, while every run asks for the group. */
export interface GroupOptions extends Pick<CompileOptions, 'analysis' | 'calls'> {
  readonly extra?: () => Extra;
  /** Signs and scalar factors are late already. */
  readonly isLate?: boolean;
}

/** Below, blocks of steps (adaptive-block.ts), whose rows are states alone, spare more than what is kept would: some 40 a member and step. */
const fewestLayers = 512;

interface LaneAdjoint {
  readonly programs: ProgramsOf<LaneAdjointProgram>;
  readonly layers: LayersKept<LaneAdjointProgram> | undefined;
}

/** The forward programs, with `keep` where a run keeps what its gradient needs. */
export type ForwardExecutable = StepExecutable<ForwardProgram | 'keep'>;
/** The same of a step whose unknown is found in turn. */
export type SequentialExecutable = StepExecutable<'update' | 'estimate' | 'filter' | 'touching' | SequentialProgram>;

export class CompiledStep {
  private readonly groups = new Map<string, Executable>();
  private ownWholeAdjoint: ProgramsOf<AdjointProgram> | undefined;
  private ownWholeProduct: ProgramsOf<'transposedProduct'> | undefined;
  private ownKept: Kept | undefined;
  /** null where there is no such thing. */
  private ownLayers: LayersKept | undefined | null;
  private ownLaneAdjoint: LaneAdjoint | undefined;
  private ownHistoryAdjoint: ProgramsOf<HistoryAdjointProgram> | undefined;
  /** null where what is kept of a step does not tell them. */
  private ownKeptProduct: ProgramsOf<'transposedProduct'> | undefined | null;
  private ownDerived: Derived | undefined;
  /** A run is using the buffers: another one of the same structure, started by its progress, takes a step of its own. */
  busy = false;
  /** Steps that the present run takes at least, as far as that is known. */
  expected = 0;
  /** Steps of grids that were recorded for gradients, while these are few (integrate/checkpointer.ts). */
  recorded = 0;
  /** Adaptive steps attempted one by one, in all runs. */
  attempts = 0;
  /** Transitions of the last run whose steps were recorded without a grid: the next record has room for as many at once. */
  transitions = 16;
  /** Milliseconds spent differentiating and compiling since the caller last reset it. */
  compileTime = 0;

  readonly matrices: StepMatrices;

  /** @param checked matrices that were compared with their tangents where this step comes from */
  constructor(
    readonly traced: TracedStep,
    public engine: Engine,
    checked: readonly Matrix[] = [],
  ) {
    this.matrices = new StepMatrices(this, checked);
  }

  /** The step as all programs see it: what depends on the parameters alone apart. */
  get derived(): Derived {
    return (this.ownDerived ??= this.timed(() => deriveStep(this.traced)));
  }

  get step(): TracedStep {
    return this.derived.step;
  }

  /** There is an unknown to solve for; to ask for the Jacobian instead would be to derive it. */
  get implicit(): boolean {
    return this.traced.functions.residual !== undefined;
  }

  private get isDistant(): boolean {
    return this.engine.distant === true;
  }

  /** The way back from a step's state and unknown. */
  private get wholeAdjointPrograms(): ProgramsOf<AdjointProgram> {
    return (this.ownWholeAdjoint ??= this.timed(() =>
      this.late(adjointPrograms(this.step, this.matrices.jacobian, this.addsUp)),
    ));
  }

  /** Products with the transposed Jacobian, from the same. */
  private get wholeProductPrograms(): ProgramsOf<'transposedProduct'> {
    return (this.ownWholeProduct ??= this.timed(() => this.late(transposedProductPrograms(this.step))));
  }

  /** What a step leaves for `adjoint`. Scales are late before that is chosen, so that both ways back give the same bits. */
  get kept(): Kept {
    return (this.ownKept ??= this.timed(() => narrowed(this.wholeAdjointPrograms, this.step, this.isDistant)));
  }

  /** With signs and scalar factors late, which a device takes no time for. */
  private late<Name extends string>(programs: ProgramsOf<Name>): ProgramsOf<Name> {
    return this.isDistant ? programs : (latePrograms(present(programs)) as ProgramsOf<Name>);
  }

  /** The way back through a step whose time and length have derivatives, derived once. */
  get historyAdjointPrograms(): ProgramsOf<HistoryAdjointProgram> {
    return (this.ownHistoryAdjoint ??= historyAdjointPrograms(this.step, this.matrices.jacobian, this.addsUp));
  }

  /** What an explicit step keeps beside its state, where its time and its length have derivatives too; undefined where that is not worth it. */
  get layers(): LayersKept | undefined {
    if (this.implicit || this.isDistant) return undefined;
    if (this.ownLayers === undefined)
      this.ownLayers = this.timed(() => layersOf(this.historyAdjointPrograms, this.step, fewestLayers)) ?? null;
    return this.ownLayers ?? undefined;
  }

  /** The way back of steps in lanes, and what these keep for it beside their states. */
  get laneAdjoint(): LaneAdjoint {
    return (this.ownLaneAdjoint ??= this.timed(() => {
      const programs = laneAdjointPrograms(this.step, this.addsUp);
      return {programs, layers: layersOf(programs, this.step, 1)};
    }));
  }

  /** Steps in lanes, with layers where a gradient is to come. */
  laneForward(keeps: boolean): ForwardExecutable {
    const layers = keeps ? this.laneAdjoint.layers : undefined;
    return layers === undefined
      ? this.forward(auto())
      : this.group<ForwardProgram | 'keep'>('lanes.keepingLayers', () => this.keeping(layers), {
          extra: () => ({x: this.traced.state.size}),
        });
  }

  /**
   * With the vectors of Newton's iteration, and room for a solver's factor, in the same memory.
   * @param keeps 'narrow': with `keep` → kept, what a step leaves for `adjoint`, of an explicit one in place of `update`, which is all of its
   *   work and would be compiled twice; 'layers': update → layers, too
   */
  forward(solver: LinearSolver, keeps?: Keeps): ForwardExecutable {
    if (keeps === 'layers')
      return this.group<ForwardProgram | 'keep'>('keepingLayers', () => this.keeping(this.layers), {
        extra: () => ({x: this.traced.state.size}),
      });
    const analysis = this.matrices.analysisOf(solver, 'matrix');
    // One executable for runs with and without a gradient where there may be: calls between JavaScript and
    // WebAssembly take twice as long where a line of code has met the functions of two (Node 20, measured).
    const known = !this.implicit
      ? undefined
      : (this.groups.get(groupKey('keeping', analysis))
        ?? (keeps === 'narrow' ? undefined : this.groups.get(groupKey('forward', analysis))));
    if (known !== undefined) return this.again(known, this.expected);
    const extra = (): Extra => {
      const n = this.traced.unknown.size;
      const work =
        this.matrices.matrix === undefined
          ? []
          : [...workVectors.map(name => [name, n] as const), ['newtonFrame', frameSize] as const];
      const {size} = this.traced.state;
      const block = blockRoom(rowStart + size + n, size);
      return {x: size, ...Object.fromEntries(work), ...(block > 0 ? {block, taken: 1} : {})};
    };
    const programs = (): ProgramsOf<ForwardProgram> => {
      const exact = this.traced.functions.residualModel === undefined ? undefined : this.matrices.jacobian;
      return forwardPrograms(this.step, this.matrices.matrix, exact, this.matrices.filter);
    };
    if (keeps === undefined) return this.group<ForwardProgram | 'keep'>('forward', programs, {extra, analysis});
    return this.group<ForwardProgram | 'keep'>(
      'keeping',
      () => ({...programs(), keep: graphOf({next: this.step.functions.update, kept: this.kept.node})}),
      {extra, analysis},
    );
  }

  /** Whether steps can be taken and pulled back in blocks: those of an explicit scheme with an estimate of its own, without events. */
  get inBlocks(): boolean {
    return this.areAlike && adaptiveRoom(this.step.state.size) > 0;
  }

  /** Whether attempts at steps of any length are all made by the same programs. */
  get areAlike(): boolean {
    const {residual, error, filter, events, touching} = this.step.functions;
    return error !== undefined && [residual, filter, events, touching].every(one => one === undefined);
  }

  /** Adaptive steps in blocks, with dense output in the same memory. */
  get adaptiveSteps(): StepExecutable<'update' | 'between' | 'dense'> {
    const {state, functions} = this.step;
    return this.group('adaptiveSteps', () => this.programsOfAttempts(undefined), {
      extra: () => adaptiveBuffers(state.size, functions.error?.size ?? 0),
      calls: Infinity,
    });
  }

  /** The same for a whole run in one call, whose room lies elsewhere; with layers or without. */
  adaptiveRun(keeps: 'layers' | undefined): StepExecutable<'update' | 'between' | 'dense'> {
    return this.group(`adaptiveRun.${keeps ?? 'states'}`, () => this.programsOfAttempts(keeps), {
      extra: () => ({x: this.step.state.size}),
    });
  }

  private programsOfAttempts(keeps: 'layers' | undefined): ProgramsOf<'update' | 'between' | 'dense'> {
    const {between, dense} = historyPrograms(this.step);
    const {update} = keeps === undefined ? forwardPrograms(this.step, undefined) : this.keeping(this.layers);
    return {update, between, dense};
  }

  private keeping(layers: Pick<LayersKept, 'node'> | undefined): ProgramsOf<ForwardProgram> {
    const programs = forwardPrograms(this.step, undefined);
    const made = (programs.update?.outputs ?? []).map(({name, node}) => [name, node] as const);
    return {...programs, update: graphOf({...Object.fromEntries(made), layers: layers?.node})};
  }

  /** The same for an unknown that is found in turn: everything but Newton's iteration on all of it. */
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
      const block = blockRoom(rowStart + this.kept.size, this.traced.state.size);
      return block === 0
        ? {}
        : {
            block,
            ...(this.implicit
              ? {growth: 2 * (this.matrices.jacobian?.pattern.n ?? 0), sweepFrame: sweepFrameSize}
              : {}),
          };
    };
    return this.group('adjoint', () => this.kept.programs, {
      analysis: this.matrices.analysisOf(solver, 'jacobian'),
      extra,
      isLate: true,
    });
  }

  /** Whether `adjoint` pulls a step back so that the step before it, of the same length, need not begin anew. */
  get carriesOn(): boolean {
    return carriesOn(this.wholeAdjointPrograms);
  }

  /** Products with the transposed Jacobian, from what `keep` left of a step; undefined where that does not tell them. */
  get keptProduct(): StepExecutable<'transposedProduct'> | undefined {
    if (this.ownKeptProduct === undefined)
      this.ownKeptProduct = this.timed(() => this.kept.reading(this.wholeProductPrograms)) ?? null;
    const programs = this.ownKeptProduct;
    return programs === null ? undefined : this.group('keptProduct', () => programs, {isLate: true});
  }

  /** The same from their state and unknown. */
  get wholeProduct(): StepExecutable<'transposedProduct'> {
    return this.group('wholeProduct', () => this.wholeProductPrograms, {isLate: true});
  }

  /** What the tangents of a step's equation leave, with its time and length among their arguments or without. */
  tangentLeft(count: number, timed: boolean): StepExecutable<'tangentLeft'> {
    return this.group(`tangentLeft.${count}${timed ? '.timed' : ''}`, () =>
      tangentLeftPrograms(this.step, count, timed),
    );
  }

  /** The same for the derivative by the step's length: dh is 1, and all that is not set is zero. */
  get lengthLeft(): StepExecutable<'tangentLeft'> {
    return this.group('lengthLeft', () => tangentLeftPrograms(this.step, 1, true));
  }

  /** The same from its state and unknown. */
  wholeAdjoint(solver: LinearSolver): StepExecutable<AdjointProgram> {
    return this.group('wholeAdjoint', () => this.wholeAdjointPrograms, {
      analysis: this.matrices.analysisOf(solver, 'jacobian'),
      isLate: true,
    });
  }

  /** The same where the step's end does not depend on its unknown, which its `pullUnknown` tells. */
  get directAdjoint(): StepExecutable<'pullUnknown' | 'pullStep'> {
    return this.group('directAdjoint', () => directAdjointPrograms(this.step));
  }

  get unrolled(): StepExecutable<UnrolledProgram | AdjointProgram> {
    const {jacobian} = this.matrices;
    if (jacobian === undefined) return this.wholeAdjoint(auto());
    return this.group<UnrolledProgram | AdjointProgram>('unrolled', () => unrolledPrograms(this.step, jacobian));
  }

  tangent(count: number, solver: LinearSolver): StepExecutable<TangentProgram> {
    return this.group(`tangent.${count}`, () => tangentPrograms(this.step, this.matrices.jacobian, count), {
      analysis: this.matrices.analysisOf(solver, 'jacobian'),
    });
  }

  /** What comes through values derived from the parameters (derived.ts); undefined where there are none. */
  get pullDerived(): StepExecutable<'pullDerived'> | undefined {
    const {derived} = this;
    return derived.parameters.length === 0 ? undefined : this.group('pullDerived', () => pullDerivedPrograms(derived));
  }

  /** The same along `count` directions. */
  secondOrderDerived(count: number): StepExecutable<'pushDerived' | 'secondOrderDerived'> | undefined {
    const {derived} = this;
    return derived.parameters.length === 0
      ? undefined
      : this.group(`secondOrderDerived.${count}`, () => secondOrderDerivedPrograms(derived, count));
  }

  observe(count: number): StepExecutable<ObserveProgram> {
    return this.group(`observe.${count}`, () => observePrograms(this.traced, count));
  }

  /** The same step for programs of another engine: what was derived, checked and analyzed need not be again. */
  on(engine: Engine): CompiledStep {
    const other = new CompiledStep(this.traced, engine, this.matrices.checkedMatrices);
    this.matrices.shareWith(other.matrices);
    other.ownDerived = this.ownDerived;
    if (other.isDistant === this.isDistant) {
      other.ownWholeAdjoint = this.ownWholeAdjoint;
      other.ownWholeProduct = this.ownWholeProduct;
      other.ownKept = this.ownKept;
      other.ownLayers = this.ownLayers;
      other.ownLaneAdjoint = this.ownLaneAdjoint;
    }
    other.ownHistoryAdjoint = this.ownHistoryAdjoint;
    return other;
  }

  /** Whether sums over many steps may be made by a program: they are in double precision. */
  get addsUp(): boolean {
    return this.engine.addsInDouble ?? !this.isSingle;
  }

  get isSingle(): boolean {
    return this.engine.epsilon > Number.EPSILON;
  }

  /** Programs compiled under this name when they are first asked for. */
  group<Name extends string>(
    name: string,
    build: () => ProgramsOf<Name>,
    {analysis, extra, calls = this.expected, isLate = false}: GroupOptions = {},
  ): StepExecutable<Name> {
    const key = groupKey(name, analysis);
    const known = this.groups.get(key);
    if (known !== undefined) return this.again(known, calls);
    const made = this.timed(() =>
      this.compile(this.ahead(present(build()), isLate), {analysis, extra: extra?.(), calls}),
    );
    this.groups.set(key, made);
    return made;
  }

  /** What was compiled before, told how often it will be called. */
  private again(known: Executable, calls: number): Executable {
    if (known.expect !== undefined) this.timed(() => known.expect?.(calls));
    return known;
  }

  /** By the engine, or by the one that takes what does not fit into it. */
  private compile(programs: Programs, options: CompileOptions): Executable {
    requireNamed(programs);
    try {
      return this.engine.compile(programs, options);
    } catch (error) {
      if (!(error instanceof MemoryError) || this.engine.instead === undefined) throw error;
      this.engine = this.engine.instead;
      return this.engine.compile(programs, options);
    }
  }

  /** With what is computed once a run and once a step apart; on a device a number that is handed over goes there and back, which costs more than most programs. */
  private ahead(programs: Programs, isLate: boolean): Programs {
    if (this.isDistant) return withParameterProgram(programs, this.derived.values);
    const late = isLate ? programs : latePrograms(programs);
    // `keep` begins with the update of its step. Of an explicit one that is all of the work, and would be compiled twice.
    const isTwice = late.keep !== undefined && !this.implicit;
    return precomputed(
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

const present = (programs: ProgramsOf<string>): Programs =>
  Object.fromEntries(Object.entries(programs).filter((entry): entry is [string, Graph] => entry[1] !== undefined));

const groupKey = (name: string, analysis: Analysis | undefined): string => `${name}/${analysis?.method?.name ?? ''}`;

/** Compiled steps kept: enough for the systems of one program, few enough to hold little memory. */
const keptSteps = 32;
const kept = new KeyedCache<CompiledStep>(keptSteps);

/** All functions of a step as one graph. */
export const stepGraph = (step: TracedStep): Graph => ({
  inputs: [...inputsOf(step.inputs), ...step.parameters.map(({node}) => node)],
  outputs: namedFunctions(step.functions),
});

/** What tells compiled steps apart. */
export function stepKey(step: TracedStep, engine: Engine): Key {
  const more = [
    engineKey(engine),
    step.linearized ?? false,
    step.once ?? false,
    step.unknown.blocks.map(({size}) => size),
  ];
  return programKey(JSON.stringify(more), [stepGraph(step)]);
}

/** The compiled step of this structure: a kept one, or a new one. */
export function compileStep(step: TracedStep, engine: Engine): CompiledStep {
  const key = stepKey(step, engine);
  const known = kept.get(key);
  if (known?.busy === true) return new CompiledStep(step, engine);
  if (known !== undefined) return known;
  const compiled = new CompiledStep(step, engine);
  kept.add(key, compiled);
  return compiled;
}
