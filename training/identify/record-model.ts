/** A record and the system that is to explain it: its residuals, and their derivatives by forward sensitivities. */
import {
  type Initial,
  type Input,
  type Inputs,
  type Numeric,
  type NumericParams,
  type Pullback,
  type Simulation,
  type SimulationContents,
  type Vjp,
  InconsistentStateError,
  NewtonError,
  OptionError,
  ShapeError,
  simulate,
  type Tangent,
  type Trajectory,
  type System,
} from '../../lib/index.js';
import {type Jvps, type Stretch, type VjpAsync, isDerivativeWarning, readNumeric} from '../../lib/internal.js';
import {coversTimes, integrationOptions, requireOwnPlaces} from '../../lib/checks.js';
import type {Visit} from '../data/extrapolation.js';
import {joined} from '../data/joined.js';
import {requested, type Evaluation} from './evaluation.js';
import {isFailedSimulation} from './failed-simulation.js';
import type {Model} from './model.js';
import {requireParameters, type Parameter} from './parameters.js';
import {
  type Channel,
  type CheckedRecord,
  type Start,
  eachChannel,
  givenBlock,
  startOfState,
  stateNames,
  widthOf,
} from './records.js';
import {mostSteps, requireFewSteps, requireGrid, stepsASample, stepsEach} from './sampling.js';
import {nested, withLeaf} from './nested.js';
import {visitOf} from './visit.js';

/** The simulation of records that differ in their times and starts alone: traced once, at the guess. */
export interface TracedRecord {
  simulation?: Simulation;
}

/** 'q', 'v', 'y', or the name of a hidden state. */
export type RecordBlock = string;

/** The state at a record's last sample, its blocks one after another, and its derivative by each number that moves. */
export interface End {
  readonly state: Float64Array;
  readonly derivatives: readonly {readonly column: number; readonly values: Float64Array}[];
}

/** A cost of residuals, with its gradient by them. */
export type RowMetric = (residuals: Float64Array) => {readonly cost: number; readonly gradient: Float64Array};

const sumOfSquares: RowMetric = residuals => ({
  cost: residuals.reduce((sum, r) => sum + r * r, 0) / 2,
  gradient: residuals,
});

export class RecordModel {
  /** Residuals of one sample. */
  readonly width: number;
  /** Residuals of the record. */
  readonly rows: number;
  readonly warnings: readonly string[];
  /** What the last derivatives of its simulation were warned of. */
  derivativeWarnings: readonly string[] = [];
  private readonly bindings: readonly Binding[];
  private readonly directions: readonly Direction[];
  private readonly inputs: Inputs;
  private readonly start: Start & {readonly t: number};
  /** Whether a worker thread has made one of its simulations. */
  elsewhere = false;
  private readonly adaptive: boolean;
  private prepared: Simulation | undefined;
  /** With adaptive steps: the same with as many of them as a trial may take. */
  private limited: Simulation | undefined;

  /**
   * @param traced what it shares with records of the same model and inputs: segments, made records
   * @throws OptionError, DataError where record and model do not fit together
   */
  constructor(
    private readonly model: Model,
    readonly record: CheckedRecord,
    readonly traced: TracedRecord = {},
  ) {
    const {name, t, channels} = record;
    const inputs = (this.inputs = {...model.inputs, ...record.inputs});
    requireParameters({...model.parameters, ...record.parameters});
    this.bindings = bind(model, record);
    this.directions = this.bindings.flatMap(directionsOf);
    requireOwnPlaces([...this.bindings.map(binding => binding.name), ...Object.keys(inputs)], 'identify');
    const initial: Start = {...model.initial, ...record.initial};
    this.start = {...initial, t: initial.t ?? t[0]};
    this.requireStart();
    const {dt, offGrid} = model;
    const adaptive = (this.adaptive = model.control?.kind === 'adaptive');
    requireGrid(t, this.start.t, dt, name, adaptive ? 'interpolate' : offGrid);
    if (!adaptive) requireFewSteps(t, this.start.t, dt, name);
    this.width = widthOf(channels);
    this.rows = t.length * this.width;
    this.warnings = [
      ...Object.entries(inputs).flatMap(([called, input]) =>
        shortInput(called, input, name, this.start.t, t[t.length - 1]),
      ),
      ...(adaptive ? [] : manySteps(t, this.start.t, dt, name)),
    ];
  }

  /** The simulation as data; traced as for any values. */
  contents(values: RecordValues): SimulationContents {
    return this.simulation(values).contents();
  }

  *simulate(values: RecordValues): Evaluation<Trajectory<System>> {
    const simulation = yield* this.trial(values);
    const at = this.at(values);
    return this.checked(
      yield* this.made(
        () => simulation.run(at),
        workers => simulation.runAsync({...at, workers}),
      ),
    );
  }

  /**
   * Residuals w·(simulated − measured), sample by sample, and their derivatives by each number of each parameter.
   * @param jacobian [rows, columns] row-major; columns without influence on this record stay as they are
   * @param columnOf where a key's first number has its column
   * @returns the state at the end, with its derivatives
   */
  *linearize(
    values: RecordValues,
    residuals: Float64Array,
    jacobian: Float64Array,
    columns: number,
    columnOf: (key: string) => number,
  ): Evaluation<End> {
    const {trajectory, tangents} = yield* this.run(values);
    try {
      this.noteDerivative(trajectory);
      residuals.set(this.residualsOf(trajectory));
      eachChannel(this.record.channels, (channel, rowOf) => {
        const {simulated, weights} = channel;
        this.directions.forEach(({key, index}, d) => {
          const tangent = tangents[d][simulated];
          this.requireFinite(tangent, channel, `derivative with respect to ${key} of the simulated`);
          const column = columnOf(key) + index;
          for (let i = 0; i < tangent.length; i++)
            jacobian[rowOf(i) * columns + column] = weights[i] === 0 ? 0 : weights[i] * tangent[i];
        });
      });
      const last = (from: (name: RecordBlock) => Float64Array): Float64Array =>
        joined(
          Float64Array,
          this.blocks.map(name => from(name).slice(-this.sizeOf(name, values))),
        );
      return {
        state: last(name => trajectory.values(name)),
        derivatives: this.directions.map(({key, index}, d) => ({
          column: columnOf(key) + index,
          values: last(name => tangents[d][name]),
        })),
      };
    } finally {
      trajectory.dispose();
    }
  }

  /**
   * ½ Σ r² and, by key, its gradient: one sweep back, however many parameters there are.
   * @param atEnd a further cost of the state at the last sample, with its gradient
   * @param metric another cost of the residuals, [rows], with its gradient, in place of ½ Σ r²
   */
  *gradient(
    values: RecordValues,
    atEnd?: (state: Float64Array) => {readonly cost: number; readonly gradient: Float64Array},
    metric: RowMetric = sumOfSquares,
  ): Evaluation<{readonly cost: number; readonly gradient: RecordValues}> {
    const simulation = yield* this.trial(values);
    const at = this.at(values);
    const {trajectory, pullback}: Vjp | VjpAsync = yield* this.made<Vjp | VjpAsync>(
      () => simulation.vjp(at),
      workers => simulation.vjpAsync({...at, workers}),
    );
    this.checked(trajectory);
    try {
      const measure = metric(this.residualsOf(trajectory));
      let {cost} = measure;
      const cotangent: {[series: string]: Float64Array} = {};
      eachChannel(this.record.channels, ({simulated, weights}, rowOf) => {
        cotangent[simulated] = weights.map((weight, i) => (weight === 0 ? 0 : weight * measure.gradient[rowOf(i)]));
      });
      if (atEnd !== undefined) cost += this.addEnd(trajectory, values, atEnd, cotangent);
      const {initial, params}: Pullback = yield* requested(
        () => pullback(cotangent) as Pullback,
        async () => pullback(cotangent),
      );
      this.noteDerivative(trajectory);
      const starts = initial as {readonly [block: string]: Float64Array};
      return {cost, gradient: byKey(this.bindings, starts, params)};
    } finally {
      trajectory.dispose();
    }
  }

  /** Residuals w·(simulated − measured), [rows]: sample by sample, of weight 0 they are 0. */
  *residuals(values: RecordValues): Evaluation<Float64Array> {
    const trajectory = yield* this.simulate(values);
    try {
      return this.residualsOf(trajectory);
    } finally {
      trajectory.dispose();
    }
  }

  /** By row. */
  get weights(): Float64Array {
    return this.byRow(({weights}) => weights);
  }

  /** By row. */
  get measured(): Float64Array {
    return this.byRow(({measured}) => measured);
  }

  private byRow(of: (channel: Channel) => Float64Array): Float64Array {
    const all = new Float64Array(this.rows);
    eachChannel(this.record.channels, (channel, rowOf) => of(channel).forEach((value, i) => (all[rowOf(i)] = value)));
    return all;
  }

  private residualsOf(trajectory: Trajectory<System>): Float64Array {
    const residuals = new Float64Array(this.rows);
    eachChannel(this.record.channels, (channel, rowOf) => {
      const {simulated, measured, weights} = channel;
      const series = trajectory.values(simulated);
      this.requireFinite(series, channel, 'simulated');
      for (let i = 0; i < series.length; i++)
        residuals[rowOf(i)] = weights[i] === 0 ? 0 : weights[i] * (series[i] - measured[i]);
    });
    return residuals;
  }

  /** Puts the gradient at the end into the cotangents of the state's blocks. @returns the cost there */
  private addEnd(
    trajectory: Trajectory<System>,
    values: RecordValues,
    atEnd: (state: Float64Array) => {readonly cost: number; readonly gradient: Float64Array},
    cotangent: {[series: string]: Float64Array},
  ): number {
    const series = this.blocks.map(name => ({name, all: trajectory.values(name), size: this.sizeOf(name, values)}));
    const {cost, gradient} = atEnd(
      joined(
        Float64Array,
        series.map(({all, size}) => all.slice(-size)),
      ),
    );
    let offset = 0;
    for (const {name, all, size} of series) {
      const bar = (cotangent[name] ??= new Float64Array(all.length));
      for (let k = 0; k < size; k++) bar[bar.length - size + k] += gradient[offset + k];
      offset += size;
    }
    return cost;
  }

  /** What the record visits, by its trajectory at these values. */
  visit(trajectory: Trajectory<System>, values: RecordValues): Visit {
    const measured = this.record.channels.map(({simulated}) => simulated as string);
    return visitOf(
      this.record,
      this.inputs,
      this.blocks
        .filter(block => !measured.includes(block))
        .map(name => ({name, shape: this.shapeOf(name, values), values: trajectory.values(name)})),
    );
  }

  private noteDerivative({warnings}: Trajectory<System>): void {
    const {name} = this.record;
    this.derivativeWarnings = warnings.filter(isDerivativeWarning).map(warning => `${name}: ${warning}`);
  }

  private sizeOf(name: RecordBlock, values: RecordValues): number {
    return this.shapeOf(name, values).reduce((product, n) => product * n, 1);
  }

  /** The blocks of a state, in order. */
  get blocks(): readonly RecordBlock[] {
    return stateNames(this.model.system);
  }

  /** The shape of a block of the state, by the start that is given. */
  shapeOf(name: RecordBlock, values: RecordValues): readonly number[] {
    const given = givenBlock(this.initial(values), name);
    return readNumeric((given ?? startOfState(this.model.system, name)) as Numeric, name).shape;
  }

  /** An observation may give the logarithm of a negative number, or the derivative of a root at 0. */
  private requireFinite(series: Float64Array, {name, outputs, weights}: Channel, what: string): void {
    const bad = series.findIndex((value, i) => !Number.isFinite(value) && weights[i] !== 0);
    if (bad < 0) return;
    const t = this.record.t[Math.floor(bad / outputs)];
    throw new InconsistentStateError('not-finite', `The ${what} ${name} is ${series[bad]} at t = ${t}.`, {
      series: name,
      t,
    });
  }

  private *run(values: RecordValues): Evaluation<Jvps> {
    const {directions} = this;
    if (directions.length === 0) return {trajectory: yield* this.simulate(values), tangents: []};
    const tangents = directions.map(({tangent}) => tangent);
    const simulation = yield* this.trial(values);
    const at = this.at(values);
    const result = yield* this.made(
      () => simulation.jvps(tangents, at),
      workers => simulation.jvpsAsync(tangents, {...at, workers}),
    );
    this.checked(result.trajectory);
    return result;
  }

  private simulation(values: RecordValues): Simulation {
    const {model, inputs, traced} = this;
    const {system, observe, dt, events} = model;
    if (this.prepared !== undefined) return this.prepared;
    const {t0, ...span} = this.span(mostSteps);
    if (traced.simulation !== undefined) return (this.prepared = traced.simulation.over({t0, ...span}));
    return (this.prepared = traced.simulation =
      simulate.prepare(system, this.initial(values), {
        ...integrationOptions(model),
        dt,
        events,
        ...(span as {readonly t1: number}), // `steps` of adaptive steps alone
        params: this.params(values),
        inputs,
        observe,
      }));
  }

  /** @param steps the most that are taken, where a tolerance chooses them */
  private span(steps: number): Stretch & {readonly t1: number} {
    const {t} = this.record;
    const span = {t0: this.start.t, t1: t[t.length - 1], saveAt: Array.from(t)};
    return this.adaptive ? {...span, steps} : span;
  }

  /**
   * The simulation as it is tried at these values. Where a tolerance chooses the steps there may be any number of them
   * far from the guess, so that a trial would not end: it may take some times those of the run at the guess.
   */
  private *trial(values: RecordValues): Evaluation<Simulation> {
    const simulation = this.simulation(values);
    if (!this.adaptive || this.isGuess(values)) return simulation;
    const steps = this.limited === undefined ? yield* this.stepsAtGuess(simulation) : NaN;
    return (this.limited ??= simulation.over(this.span(stepsOfTrial(steps, this.record.t.length))));
  }

  /** But for the rounding of coordinates. */
  private isGuess(values: RecordValues): boolean {
    return this.bindings.every(({key, parameter: {guess}}) =>
      guess.every((value, i) => Math.abs(value - values[key][i]) <= 1e-12 * Math.abs(value)),
    );
  }

  /** 0 where it cannot be simulated. */
  private *stepsAtGuess(simulation: Simulation): Evaluation<number> {
    const at = this.at(Object.fromEntries(this.bindings.map(({key, parameter}) => [key, parameter.guess])));
    try {
      const trajectory = yield* requested(
        () => simulation.run(at),
        workers => simulation.runAsync({...at, workers}),
      );
      trajectory.dispose();
      return trajectory.stats.steps;
    } catch (error) {
      if (isFailedSimulation(error)) return 0;
      throw error;
    }
  }

  /** A trial's simulation; of one that used up its steps the error says how many there are. */
  private *made<T>(here: () => T, there: (workers: number | undefined) => Promise<T>): Evaluation<T> {
    try {
      return yield* requested(here, there);
    } catch (error) {
      if (!(error instanceof NewtonError && error.code === 'too-many-steps')) throw error;
      throw new NewtonError(error.code, `${error.message} ${stepsSentence}`, error.data);
    }
  }

  private at(values: RecordValues): {readonly initial: Initial; readonly params: NumericParams} {
    return {initial: this.initial(values), params: this.params(values)};
  }

  private params(values: RecordValues): NumericParams {
    return paramsOf(this.bindings, values);
  }

  private initial(values: RecordValues): Initial {
    return {...this.start, ...blocksOf(this.bindings, values)} as Initial; // complete: see requireStart
  }

  private requireStart(): void {
    const {system} = this.model;
    const given = blockNames(this.bindings);
    const missing = this.blocks.find(
      block =>
        givenBlock(this.start, block) === undefined
        && startOfState(system, block) === undefined
        && !given.includes(block),
    );
    if (missing === undefined) return;
    const {name} = this.record;
    throw new OptionError(
      'missing-option',
      `identify: ${name} has no initial value: give initial.${missing}, as a number or as a parameter of this name.`,
      {record: name, missing: `initial.${missing}`},
    );
  }

  /** The trajectory, once the measured series have its shapes. */
  private checked(trajectory: Trajectory<System>): Trajectory<System> {
    try {
      this.requireWhole(trajectory);
      for (const channel of this.record.channels) this.requireShape(trajectory, channel);
      this.elsewhere ||= trajectory.stats.thread === 'worker';
      return trajectory;
    } catch (error) {
      trajectory.dispose();
      throw error;
    }
  }

  /** An event may have stopped the run before the last sample. */
  private requireWhole({status, events}: Trajectory<System>): void {
    if (status !== 'event') return;
    const {name: record, t} = this.record;
    const {name, index, t: at} = events[events.length - 1];
    throw new InconsistentStateError(
      'stopped',
      `${record} goes to t = ${t[t.length - 1]}, but event ${name === undefined ? index : `'${name}'`} stops the `
        + `simulation at t = ${at}. Cut the record there, or let the event change the state or only be recorded.`,
      {record, t: at},
    );
  }

  private requireShape(trajectory: Trajectory<System>, {name, simulated, shape, outputs}: Channel): void {
    const own = trajectory[simulated]?.shape.slice(1) ?? [];
    const flat = shape.length <= 1;
    if (flat ? own.reduce((product, n) => product * n, 1) === outputs : own.join() === shape.join()) return;
    const {record} = this;
    throw new ShapeError(
      'data-shape',
      `${record.name}: a sample of ${name} has shape [${shape.join(', ')}], but the simulation gives `
        + `[${own.join(', ')}]. To compare a part of the state, or another quantity, use observe and y.`,
      {record: record.name, series: name, measured: [...shape], simulated: [...own]},
    );
  }
}

/**
 * The steps that a trial may take: a multiple of those at the guess; a number for each sample, as data that show a
 * motion have one every few steps; a number where both are small.
 */
const [ofGuess, ofSample, ofAny] = [20, 50, 5000];

const stepsOfTrial = (guess: number, samples: number): number =>
  Math.min(Math.max(ofGuess * guess, ofSample * samples, ofAny), mostSteps);

const stepsSentence =
  `A trial of a fit takes at most ${ofGuess} times the steps of the run at the guess, or `
  + `${ofSample} for each sample: start nearer, where the motion needs as many.`;

function shortInput(name: string, input: Input, record: string, from: number, to: number): string[] {
  const [first, last] = [input.t[0], input.t[input.t.length - 1]];
  // Times of records and inputs may come from clocks of their own, rounded.
  const rounding = 1e-9 * (last - first);
  if (coversTimes(input, from + rounding, to - rounding)) return [];
  return [
    `The input '${name}' is known from ${first} to ${last}, but ${record} runs from ${from} to ${to}: beyond its `
      + 'samples the nearest one was used.',
  ];
}

function manySteps(t: Float64Array, start: number, dt: number, record: string): string[] {
  const each = stepsEach(t, start, dt);
  if (each < stepsASample) return [];
  return [
    `${record} has ${Math.round(each)} steps of dt = ${dt} from one sample to the next: are its times in the same `
      + 'unit as dt?',
  ];
}

/** A parameter as one record sees it. */
export interface Binding {
  /** By this name the system reads it: a path in `params`, or 'initial.q'. */
  readonly name: string;
  /** By this name the fit knows it: with the record's name before it, where it is the record's own. */
  readonly key: string;
  readonly parameter: Parameter;
}

/** One number that moves. */
export interface Direction {
  readonly key: string;
  /** Which number of the parameter. */
  readonly index: number;
  readonly tangent: Tangent;
}

/** Values of all parameters, row-major, by key. */
export type RecordValues = {readonly [key: string]: Float64Array};

const initialPrefix = 'initial.';

const isInitial = ({name}: Pick<Binding, 'name'>): boolean => name.startsWith(initialPrefix);
const blockOf = ({name}: Pick<Binding, 'name'>): string => name.slice(initialPrefix.length);

/** Whether a key is that of a parameter which the system reads in every record: no start, and no record's own. */
export const belongsToModel = (key: string): boolean => !key.startsWith(initialPrefix) && !key.includes(': ');

/** The key of a parameter that belongs to one record alone. */
export const recordKey = (record: string, name: string): string => `${record}: ${name}`;

/** Own parameters come before the record's start, that before the problem's parameters and start. */
export function bind(
  {parameters}: Model,
  {name: record, owner = record, parameters: own, initial}: CheckedRecord,
): Binding[] {
  const shared = Object.entries(parameters)
    .filter(
      ([name]) =>
        !Object.hasOwn(own, name)
        && !(name.startsWith(initialPrefix) && Object.hasOwn(initial ?? {}, name.slice(initialPrefix.length))),
    )
    .map(([name, parameter]) => ({name, key: name, parameter}));
  return [
    ...shared,
    ...Object.entries(own).map(([name, parameter]) => ({
      name,
      key: recordKey(name.startsWith(initialPrefix) ? record : owner, name),
      parameter,
    })),
  ];
}

type Gradients = {readonly [name: string]: Float64Array | Gradients};

function leafOf(tree: Gradients, path: string): Float64Array {
  return path
    .split('.')
    .reduce<Float64Array | Gradients>((branch, key) => (branch as Gradients)[key], tree) as Float64Array;
}

export function directionsOf(binding: Binding): Direction[] {
  const {
    name,
    key,
    parameter: {kind, guess, shape},
  } = binding;
  if (kind === 'fixed') return [];
  return Array.from(guess, (_, index) => {
    const unit = new Float64Array(guess.length);
    unit[index] = 1;
    const value = nested(unit, shape);
    return {
      key,
      index,
      tangent: isInitial(binding) ? {initial: {[blockOf(binding)]: value}} : {params: withLeaf({}, name, value)},
    };
  });
}

/** Values of `params`, each in the shape its guess was given in. */
export const paramsOf = (bindings: readonly Binding[], values: RecordValues): NumericParams =>
  bindings
    .filter(binding => !isInitial(binding))
    .reduce((params, {name, key, parameter: {shape}}) => withLeaf(params, name, nested(values[key], shape)), {});

/** Blocks of the initial state that are parameters. */
export const blocksOf = (bindings: readonly Binding[], values: RecordValues): {readonly [block: string]: Numeric} =>
  Object.fromEntries(
    bindings.filter(isInitial).map(({name, key, parameter: {shape}}) => [blockOf({name}), nested(values[key], shape)]),
  );

/** The names of these blocks. */
export const blockNames = (bindings: readonly Binding[]): string[] => bindings.filter(isInitial).map(blockOf);

/** Derivatives by the initial state and `params`, under the keys of the fit. */
export const byKey = (
  bindings: readonly Binding[],
  initial: {readonly [block: string]: Float64Array},
  params: Gradients,
): RecordValues =>
  Object.fromEntries(
    bindings.map(binding => [
      binding.key,
      isInitial(binding) ? initial[blockOf(binding)] : leafOf(params, binding.name),
    ]),
  );
