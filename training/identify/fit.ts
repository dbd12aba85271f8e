/** All records of an identification as one least-squares problem in the coordinates of its parameters. */
import {type SimulationContents, type System, OptionError, type Trajectory} from '../../lib/index.js';
import {input as isInput, nearestName, requireValue} from '../../lib/checks.js';
import type {Visit} from '../data/extrapolation.js';
import {joined} from '../data/joined.js';
import {isDensity, readNames, type DensityRows} from './density.js';
import {evaluate, type Evaluation} from './evaluation.js';
import {isFailedSimulation, prefixed} from './failed-simulation.js';
import type {EvaluatedProblem, ResidualLinearization} from './least-squares-problem.js';
import {entryLabels, ParameterSpace, type Parameters} from './parameters.js';
import {type RowMetric, RecordModel, type RecordValues, recordKey} from './record-model.js';
import type {Model} from './model.js';
import {numberText} from '../report/number-text.js';
import {
  type Channel,
  type CheckedRecord,
  type MeasuredRecord,
  type RecordSeriesName,
  checkRecord,
  stateNames,
} from './records.js';
import type {UncutRecord} from './cut-record.js';
import type {ResidualSeries} from './uncertainty.js';
import type {WhitenedStretch} from './weighing.js';

/** One component of a series, measured and simulated, without samples of weight 0. */
export interface FittedSeries {
  readonly name: string;
  readonly t: Float64Array;
  readonly measured: Float64Array;
  readonly simulated: Float64Array;
}

/** As `RowMetric`, of the record with this number. */
export type RecordMetric = (residuals: Float64Array, record: number) => ReturnType<RowMetric>;

/** @throws OptionError, ShapeError, DataError where the records do not fit the model, or each other */
export function checkRecords(model: Model, data: MeasuredRecord | readonly MeasuredRecord[]): CheckedRecord[] {
  for (const [name, input] of Object.entries(model.inputs ?? {}))
    requireValue(input, isInput, `inputs.${name}`, 'not-a-signal');
  const list = Array.isArray(data) ? (data as readonly MeasuredRecord[]) : [data as MeasuredRecord];
  if (list.length === 0) throw new OptionError('no-data', 'identify: data is empty.');
  const compared = comparedSeries(model.system, model.observe !== undefined);
  const records = list.map((record, i) => checkRecord(record, i, compared, false, model.system));
  const twice = records.find(({name}, i) => records.findIndex(other => other.name === name) < i);
  if (twice !== undefined)
    throw new OptionError('name-clash', `identify: two records are named '${twice.name}'; give each its own name.`, {
      name: twice.name,
    });
  return records;
}

export class Fit implements EvaluatedProblem {
  /** The problem's parameters by name, those of single records by 'record: name'. */
  readonly parameters: Parameters;
  readonly space: ParameterSpace;
  readonly warnings: readonly string[];
  /** Parameters that the density of the noise reads, and the system does not. */
  readonly noiseNames: readonly string[];
  private readonly models: readonly RecordModel[];
  private readonly rows: number;

  /**
   * @param like of the same model and the same times, whose simulations serve this one too
   * @throws OptionError, ShapeError, DataError where the problem is not well posed
   */
  constructor(
    private readonly model: Model,
    records: readonly CheckedRecord[],
    like?: Fit,
  ) {
    const noise = isDensity(model.noise) ? readNames(model.noise, model.parameters) : [];
    this.noiseNames = noise;
    const parameters = Object.fromEntries(Object.entries(model.parameters).filter(([name]) => !noise.includes(name)));
    const simulated = noise.length === 0 ? model : {...model, parameters};
    this.models = records.map((record, i) => new RecordModel(simulated, record, like?.models[i].traced));
    this.parameters = Object.assign(
      {},
      model.parameters,
      ...records.map(({name: record, parameters}) =>
        Object.fromEntries(Object.entries(parameters).map(([name, parameter]) => [recordKey(record, name), parameter])),
      ),
    ) as Parameters;
    requireBlocks(this.parameters, model.system);
    this.space = new ParameterSpace(this.parameters);
    this.rows = this.models.reduce((sum, {rows}) => sum + rows, 0);
    this.warnings = this.models.flatMap(({warnings}) => warnings);
    if (this.observations === 0) throw new OptionError('no-data', 'identify: every measurement has weight 0.');
  }

  /** dt. */
  get step(): number {
    return this.model.dt;
  }

  /** The fit with half the step; undefined where a tolerance chooses the steps. */
  finer(): Fit | undefined {
    const {model} = this;
    return model.control?.kind === 'adaptive' ? undefined : new Fit({...model, dt: model.dt / 2}, this.measured);
  }

  /** The simulation of each record as data. @throws StiffgradError where it cannot be simulated at the guess */
  contents(): SimulationContents[] {
    const values = this.space.values(this.space.start);
    return this.models.map(model => model.contents(values));
  }

  /** Measurements that count: their weight is not 0. */
  get observations(): number {
    return this.channels.reduce((sum, {weights}) => sum + weights.filter(weight => weight > 0).length, 0);
  }

  /** ½ Σ (weight · measured)² */
  get magnitude(): number {
    return this.channels.reduce(
      (sum, {measured, weights}) => measured.reduce((all, value, i) => all + (weights[i] * value) ** 2 / 2, sum),
      0,
    );
  }

  /** Relative rounding of the stored measurements: 2⁻²⁴ where all are single-precision numbers. */
  get rounding(): number {
    const single = this.channels.every(({measured}) =>
      measured.every(value => Number.isNaN(value) || Math.fround(value) === value),
    );
    return single ? 2 ** -24 : 2 ** -53;
  }

  bound(x: Float64Array): string | undefined {
    return this.space.runaway(x);
  }

  get samples(): number {
    return this.models.reduce((sum, {record}) => sum + record.t.length, 0);
  }

  /** The records as they were checked. */
  get measured(): readonly CheckedRecord[] {
    return this.models.map(({record}) => record);
  }

  /** What the last derivatives of the simulations were warned of. */
  get derivativeWarnings(): readonly string[] {
    return this.models.flatMap(({derivativeWarnings}) => derivativeWarnings);
  }

  /** Whether worker threads have made some of the simulations. */
  get elsewhere(): boolean {
    return this.models.some(({elsewhere}) => elsewhere);
  }

  get records(): number {
    return this.models.length;
  }

  /** Residuals w·(simulated − measured), and their Jacobian with respect to the coordinates. */
  *linearize(x: Float64Array): Evaluation<ResidualLinearization> {
    const {space} = this;
    const residuals = new Float64Array(this.rows);
    const jacobian = new Float64Array(this.rows * space.size);
    const values = space.values(x);
    let row = 0;
    for (const model of this.models) {
      const end = row + model.rows;
      yield* this.inRecord(
        model,
        model.linearize(
          values,
          residuals.subarray(row, end),
          jacobian.subarray(row * space.size, end * space.size),
          space.size,
          key => space.columnOf(key),
        ),
      );
      row = end;
    }
    return {residuals, jacobian: space.toCoordinates(jacobian, x)};
  }

  /** Residuals alone. */
  *residuals(x: Float64Array): Evaluation<Float64Array> {
    const values = this.space.values(x);
    const parts: Float64Array[] = [];
    for (const model of this.models) parts.push(yield* this.inRecord(model, model.residuals(values)));
    return joined(Float64Array, parts);
  }

  /** By record, in its rows: of each output those that were measured. @throws OptionError where samples are not even */
  stretches(): WhitenedStretch[][] {
    requireAlike(this.models.map(({record}) => record));
    return this.models.map(model => {
      return Array.from({length: model.width}, (_, group) => measuredStretch(model, group)).filter(
        ({rows}) => rows.length > 0,
      );
    });
  }

  /** Where the rows of a record begin. */
  firstRow(record: number): number {
    return this.models.slice(0, record).reduce((sum, {rows}) => sum + rows, 0);
  }

  /** The data of a record's rows. */
  rowsOf(record: number): Omit<DensityRows, 'residuals'> {
    const {
      weights,
      measured,
      width,
      rows,
      record: {t},
    } = this.models[record];
    const known = measured.map((value, row) => (weights[row] === 0 ? 0 : value)); // NaN where it is missing
    const samples = Float64Array.from({length: rows}, (_, row) => t[Math.floor(row / width)]);
    return {weights, measured: known, t: samples, output: samples.map((_, row) => row % width)};
  }

  /** The weights, row by row. */
  get weights(): Float64Array {
    return joined(
      Float64Array,
      this.models.map(({weights}) => weights),
    );
  }

  /** ½‖r‖², or another cost of each record's residuals, with its gradient, by one sweep back a record. */
  *gradient(x: Float64Array, metric?: RecordMetric): Evaluation<{cost: number; gradient: Float64Array}> {
    const {space} = this;
    const values = space.values(x);
    const gradient = new Float64Array(space.size);
    let cost = 0;
    for (const [record, model] of this.models.entries()) {
      const measure = metric === undefined ? undefined : (r: Float64Array): ReturnType<RowMetric> => metric(r, record);
      const found = yield* this.inRecord(model, model.gradient(values, undefined, measure));
      cost += found.cost;
      for (const [key, part] of Object.entries(found.gradient)) {
        const column = space.columnOf(key);
        if (column >= 0) part.forEach((value, i) => (gradient[column + i] += value));
      }
    }
    return {cost, gradient: space.toCoordinates(gradient, x)};
  }

  /** The records for multiple shooting, with the motion at x where a start needs it. */
  uncut(x: Float64Array): UncutRecord[] {
    const values = this.space.values(x);
    return this.models.map(model => {
      let motion: ReturnType<UncutRecord['guess']> | undefined;
      return {
        model: this.model,
        record: model.record,
        shapeOf: block => model.shapeOf(block, values),
        guess: () => (motion ??= motionOf(model, values)),
      };
    });
  }

  /** Every record simulated; the caller disposes. */
  trajectories(x: Float64Array): Trajectory<System>[] {
    const values: RecordValues = this.space.values(x);
    const trajectories: Trajectory<System>[] = [];
    try {
      for (const model of this.models) trajectories.push(evaluate(this.inRecord(model, model.simulate(values))));
      return trajectories;
    } catch (error) {
      for (const trajectory of trajectories) trajectory.dispose();
      throw error;
    }
  }

  /** The rows that are one series in time: all of a record, for its outputs miss the same things. */
  residualSeries(): ResidualSeries[] {
    let start = 0;
    return this.models.map(({record, width, rows, weights}) => {
      const series = {start, samples: record.t.length, outputs: width, weights};
      start += rows;
      return series;
    });
  }

  /** Measured and simulated, each output apart. */
  fittedSeries(trajectories: readonly Trajectory<System>[]): FittedSeries[] {
    return this.models.flatMap(({record}, r) =>
      record.channels.flatMap(channel => {
        const values = trajectories[r].values(channel.simulated);
        return Array.from({length: channel.outputs}, (_, k) => ({
          ...oneOutput(record.t, channel, values, k),
          name: this.models.length === 1 ? label(channel, k) : recordKey(record.name, label(channel, k)),
        })).filter(({t}) => t.length > 0);
      }),
    );
  }

  /** What each record visits, by its trajectory at x. */
  visits(x: Float64Array, trajectories: readonly Trajectory<System>[]): Visit[] {
    const values = this.space.values(x);
    return this.models.map((model, r) => model.visit(trajectories[r], values));
  }

  private get channels(): Channel[] {
    return this.models.flatMap(({record}) => record.channels);
  }

  /** Where there are several records, errors of the simulation name theirs. */
  private *inRecord<T>({record}: RecordModel, work: Evaluation<T>): Evaluation<T> {
    try {
      return yield* work;
    } catch (error) {
      throw this.models.length > 1 && isFailedSimulation(error) ? prefixed(error, record.name) : error;
    }
  }
}

/** Intervals within this part of their mean count as even: a clock written with six digits. */
const EVEN = 1e-3;

/** Sampling intervals that differ by less are one: a correlation of 0.9 is 0.89 at the other. */
const ALIKE = 1.1;

/** The coefficients of an autoregression belong to one interval. */
function requireAlike(records: readonly CheckedRecord[]): void {
  for (const record of records) requireEven(record);
  const sampled = records.filter(({t}) => t.length > 1);
  const other = sampled.find(record => {
    const ratio = meanInterval(record) / meanInterval(sampled[0]);
    return Math.max(ratio, 1 / ratio) > ALIKE;
  });
  if (other !== undefined)
    throw new OptionError(
      'bad-noise',
      'identify: an autoregression of the noise needs records with one sampling interval, but it is '
        + `${numberText(meanInterval(sampled[0]))} in ${sampled[0].name} and ${numberText(meanInterval(other))} in `
        + `${other.name}: correlation from sample to sample differs between them. Use resample, separate fits, or `
        + `residuals: 'correlated' with noise: noise.white().`,
      {record: other.name},
    );
}

const meanInterval = ({t}: CheckedRecord): number => (t[t.length - 1] - t[0]) / (t.length - 1);

function requireEven(record: CheckedRecord): void {
  const {name, t} = record;
  const mean = meanInterval(record);
  const odd = t.findIndex((time, i) => i > 0 && Math.abs(time - t[i - 1] - mean) > EVEN * mean);
  if (odd > 0)
    throw new OptionError(
      'bad-noise',
      `identify: an autoregression of the noise needs evenly spaced samples, but ${name} goes from t = ${t[odd - 1]} `
        + `to ${t[odd]}, and its mean interval is ${mean}. Give samples that are missing as NaN with missing: 'skip'; `
        + `of an uneven clock use resample, or residuals: 'correlated' with noise: noise.white().`,
      {record: name},
    );
}

function measuredStretch({weights, width, record: {t}}: RecordModel, group: number): WhitenedStretch {
  const samples = Array.from(t.keys()).filter(k => weights[k * width + group] !== 0);
  const rows = samples.map(k => k * width + group);
  const lags = samples.map((sample, k) => (k === 0 ? 0 : sample - samples[k - 1]));
  return lags.some(lag => lag > 1) ? {group, rows, lags} : {group, rows};
}

/** The states at the measured times; nothing where the model has none at these values. */
function motionOf(model: RecordModel, values: RecordValues): ReturnType<UncutRecord['guess']> {
  try {
    const trajectory = evaluate(model.simulate(values));
    const motion = Object.fromEntries(model.blocks.map(block => [block, trajectory.values(block)]));
    trajectory.dispose();
    return motion;
  } catch (error) {
    if (isFailedSimulation(error)) return {};
    throw error;
  }
}

export function comparedSeries(
  {kind}: System,
  observed: boolean,
): {readonly [series in RecordSeriesName]?: Channel['simulated']} {
  const y = observed ? ({y: 'observed'} as const) : {};
  return kind === 'ode' ? {y: 'y', ...y} : {q: 'q', v: 'v', ...y};
}

/** An unknown start would be ignored in silence, a misspelt one a parameter that nothing reads. */
function requireBlocks(parameters: Parameters, system: System): void {
  const blocks = stateNames(system);
  for (const key of Object.keys(parameters)) {
    const [, owner, block] = /(?:^|: )([^.: ]+)\.([^.]+)$/.exec(key) ?? [];
    if (block === undefined || (owner === 'initial' && blocks.includes(block))) continue;
    // Every letter is one slip away from every other.
    const meant =
      block.length > 1 ? nearestName(block, blocks) : blocks.find(name => name.toLowerCase() === block.toLowerCase());
    // Another name is that of a parameter in a group, unless both its parts are those of a start but for a slip.
    if (owner !== 'initial' && (meant === undefined || nearestName(owner, ['initial']) === undefined)) continue;
    const hint = meant === undefined ? '' : ` Did you mean 'initial.${meant}'?`;
    throw new OptionError(
      'bad-initial',
      `identify: there is no ${key} to estimate; this system starts from `
        + `${blocks.map(name => `initial.${name}`).join(' and ')}.${hint}`,
      {name: key, nearest: meant === undefined ? undefined : `initial.${meant}`},
    );
  }
}

/** 'q', or 'q[1]', 'q[0,2]' where a sample has several numbers. */
function label({name, shape, outputs}: Channel, k: number): string {
  return outputs === 1 ? name : entryLabels(name, shape)[k];
}

function oneOutput(
  t: Float64Array,
  {measured, weights, outputs}: Channel,
  simulated: Float64Array,
  k: number,
): Omit<FittedSeries, 'name'> {
  const kept = Array.from(t.keys()).filter(i => weights[i * outputs + k] > 0);
  const take = (from: Float64Array): Float64Array => Float64Array.from(kept, i => from[i * outputs + k]);
  return {t: Float64Array.from(kept, i => t[i]), measured: take(measured), simulated: take(simulated)};
}
