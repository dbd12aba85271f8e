/**
 * How a fitted model meets records that it was not fitted to: simulated free from its start, which the first samples
 * may find (the protocol of nonlinearbenchmark.org), or predicted some samples ahead of what was measured (Ljung,
 * System Identification, 1999, §16.5). Parameters stay as they were found.
 */
import {type Numeric, OptionError, type Trajectory, type System} from '../../lib/index.js';
import {readNumeric} from '../../lib/internal.js';
import {positiveInteger, optional, readOptions, nonNegativeInteger, type Options} from '../../lib/checks.js';
import {listed} from '../../lib/text.js';
import {extrapolation, type Domain, type Extrapolation, type Visit} from '../data/extrapolation.js';
import {joined} from '../data/joined.js';
import {correlatedShare, goodnessOfFit, together} from '../report/residual-statistics.js';
import {type FittedSeries, checkRecords, comparedSeries, Fit} from './fit.js';
import {evaluate} from './evaluation.js';
import {levenbergMarquardt} from './least-squares.js';
import {silent, stepsOf} from './least-squares-problem.js';
import {type Parameter, fixed, free} from './parameters.js';
import {type RecordBlock, RecordModel, type RecordValues} from './record-model.js';
import type {Model} from './model.js';
import {
  type CheckedRecord,
  type MeasuredRecord,
  checkRecord,
  givenBlock,
  slicedRecord,
  startOfState,
  stateNames,
} from './records.js';
import {visitOf} from './visit.js';

const validateOptions = {
  /**
   * Number of samples at the beginning of a record that determine its start and its own parameters by least squares;
   * they are excluded from the statistics. Default 0: the start is that of the record, or of the problem, and the
   * record's own parameters that are not fixed are estimated from all of its samples, which are then not independent of
   * them: a warning says so.
   */
  warmUp: optional(nonNegativeInteger, 0),
  /**
   * Predictions so many samples ahead, each from the state that the `warmUp` samples before it tell (1 is enough where
   * the whole state is measured: each then starts at a sample, and those that start at a missing one are left out);
   * default: one simulation of the whole record.
   */
  horizon: optional(positiveInteger),
  /** Samples from one prediction to the next. Default 1; each takes a fit of its start. */
  every: optional(positiveInteger, 1),
};

/** How `validate` judges a model. @interface */
export type ValidateOptions = Options<typeof validateOptions>;

/** How far simulated values are from measured ones, and what the residuals, measured − simulated, are like. */
export interface OutputValidation {
  readonly samples: number;
  /** Root mean square of the residuals. */
  readonly rmse: number;
  /** `rmse` over the standard deviation of what was measured. */
  readonly nrmse: number;
  /** 1 − residual over total sum of squares. */
  readonly r2: number;
  /** Mean of the residuals. */
  readonly mean: number;
  readonly standardDeviation: number;
  /** Greatest absolute residual, and its time. */
  readonly worst: number;
  readonly worstAt: number;
  /** Share of the residuals' autocorrelations beyond white noise's: 0.05 of noise, near 1 of what a model misses. */
  readonly correlated: number;
}

/** One record's validation: of all its outputs together (their root mean squares), and of each. */
export interface Validation extends Pick<OutputValidation, 'samples' | 'rmse' | 'nrmse' | 'r2'> {
  readonly name: string;
  /** Errors by series, as in a fit's `rmse`: 'q', 'y[1]'. */
  readonly outputs: {readonly [series: string]: OutputValidation};
  /** Measured and simulated, where they were judged. */
  readonly series: readonly FittedSeries[];
  /** Values that the warm-up found, by name: 'initial.q', the record's own parameters; the last prediction's. */
  readonly found: {readonly [name: string]: Float64Array};
  /**
   * How far the record goes beyond the training records: of measured series, states of a free run and inputs the part
   * of the training range (0: within it); of inputs the part of their power at frequencies that training hardly had.
   */
  readonly beyond: Pick<Extrapolation, 'range' | 'spectrum'>;
  /** Also of what goes far beyond the training records. */
  readonly warnings: readonly string[];
}

/** Steps of the search for a start, in which the residuals are nearly linear. */
const WARM_UP_STEPS = 50;

/**
 * A record simulated with the parameters found; it needs no measurements, only its times, and a start where the
 * problem's is not its own.
 * @throws OptionError where a parameter of the record's own is not fixed
 */
export function simulateRecord(model: Model, values: RecordValues, record: MeasuredRecord): Trajectory<System> {
  const checked = checkRecord(record, 0, comparedSeries(model.system, model.observe !== undefined), true, model.system);
  const open = Object.entries(checked.parameters).find(([, {kind}]) => kind !== 'fixed')?.[0];
  if (open !== undefined)
    throw new OptionError(
      'unknown-parameter',
      `simulate: ${open} is an unknown of ${checked.name}, and its measurements are not used here. Give its value by `
        + `fixed(…); that of a fitted record is estimate['${checked.name}: ${open}'] of the fit, and validate(…) `
        + 'estimates it.',
      {record: checked.name, parameter: open},
    );
  const held = heldModel(model, values, checked);
  const own = Object.fromEntries(
    Object.entries(checked.parameters).map(([name, {guess}]) => [`${checked.name}: ${name}`, guess]),
  );
  return evaluate(new RecordModel(held, checked).simulate({...shared(held), ...own}));
}

/**
 * @param domain what the training records visit
 * @throws OptionError, DataError; what `simulate` throws where a record cannot be simulated
 */
export async function validate(
  model: Model,
  values: RecordValues,
  data: MeasuredRecord | readonly MeasuredRecord[],
  options: ValidateOptions | undefined,
  domain: Domain,
): Promise<Validation[]> {
  const {warmUp, horizon, every} = readOptions(options ?? {}, validateOptions, 'validate');
  const validations: Validation[] = [];
  for (const record of checkRecords(model, data)) {
    requireLength(record, warmUp, horizon);
    validations.push(
      horizon === undefined
        ? freeRun(model, values, record, warmUp, domain)
        : await predicted(model, values, record, {warmUp, horizon, every}, domain),
    );
    await new Promise(resolve => setTimeout(resolve, 0)); // a page draws, a terminal prints
  }
  return validations;
}

/** @throws OptionError where nothing would be left to judge */
function requireLength({name, t}: CheckedRecord, warmUp: number, horizon = 1): void {
  if (warmUp + horizon <= t.length) return;
  throw new OptionError(
    'bad-option',
    `validate: ${name} has ${t.length} samples; a warm-up of ${warmUp} leaves fewer than the ${horizon} of the `
      + 'horizon.',
    {record: name, warmUp},
  );
}

/** Everything known, but for what the record's warm-up is to find. */
function heldModel(model: Model, values: RecordValues, {parameters: own}: CheckedRecord): Model {
  const parameters = Object.fromEntries(
    Object.entries(model.parameters)
      .filter(([name]) => !Object.hasOwn(own, name))
      .map(([name, {shape}]) => [name, {...fixed(values[name]), shape}]),
  );
  return {...model, parameters};
}

const shared = ({parameters}: Model): RecordValues =>
  Object.fromEntries(Object.entries(parameters).map(([name, {guess}]) => [name, guess]));

const blocksOf = ({system}: Model): readonly RecordBlock[] => stateNames(system);

/** Whether the first sample of a record has all numbers of a block. */
const hasFirst = ({channels}: CheckedRecord, block: RecordBlock): boolean =>
  channels.some(
    ({simulated, weights, outputs}) => simulated === block && weights.subarray(0, outputs).every(weight => weight > 0),
  );

/** Blocks of a record's start that its first sample does not have; none where the start is at another time. */
function untold(model: Model, record: CheckedRecord): readonly RecordBlock[] {
  const {initial, t} = record;
  const isThere = initial?.t === undefined || initial.t === t[0];
  return blocksOf(model).filter(
    block => isThere && !hasFirst(record, block) && givenBlock(initial, block) !== undefined,
  );
}

/** The record with its start at its first sample, which is the whole state. */
function startedBySample(model: Model, values: RecordValues, record: CheckedRecord): CheckedRecord {
  const given = untold(model, record);
  const bySample = {...record, initial: undefined};
  return withStarts(record, record.t[0], blocksOf(model), block =>
    guessOf(model, values, given.includes(block) ? record : bySample, block),
  );
}

/** The record with its start among its own parameters, to be found; those it has already stay as they are. */
function withFreeStart(model: Model, values: RecordValues, record: CheckedRecord, warm?: RecordValues): CheckedRecord {
  const open = blocksOf(model).filter(block => !Object.hasOwn(record.parameters, `initial.${block}`));
  return withStarts(record, record.initial?.t, open, block => {
    const {guess, shape} = guessOf(model, values, record, block);
    return {guess: warm?.[`initial.${block}`] ?? guess, shape};
  });
}

function withStarts(
  record: CheckedRecord,
  t: number | undefined,
  blocks: readonly RecordBlock[],
  startOf: (block: RecordBlock) => Pick<Parameter, 'guess' | 'shape'>,
): CheckedRecord {
  const starts = blocks.map(block => {
    const {guess, shape} = startOf(block);
    return [`initial.${block}`, {...free(guess), shape}] as const;
  });
  return {...record, initial: {t}, parameters: {...record.parameters, ...Object.fromEntries(starts)}};
}

/** The record's own start; where it has none, what was measured; else the problem's, found or given. */
function guessOf(
  {system, initial, parameters}: Model,
  values: RecordValues,
  record: CheckedRecord,
  block: RecordBlock,
): Pick<Parameter, 'guess' | 'shape'> {
  const given = (value: Numeric): Pick<Parameter, 'guess' | 'shape'> => {
    const {values: guess, shape} = readNumeric(value, `initial.${block}`);
    return {guess, shape};
  };
  const own = givenBlock(record.initial, block);
  if (own !== undefined) return given(own);
  const name = `initial.${block}`;
  const startValue = givenBlock(initial, block) ?? startOfState(system, block);
  const known = Object.hasOwn(parameters, name)
    ? {guess: values[name], shape: parameters[name].shape}
    : startValue === undefined
      ? undefined
      : given(startValue);
  const measured = record.channels.find(({simulated}) => simulated === block);
  if (measured === undefined || measured.weights.subarray(0, measured.outputs).some(weight => weight === 0)) {
    if (known !== undefined) return known;
    throw new OptionError(
      'missing-option',
      `validate: the search for the initial state of ${record.name} needs a guess: give initial.${block}.`,
      {record: record.name, missing: name},
    );
  }
  return {guess: measured.measured.slice(0, measured.outputs), shape: known?.shape ?? measured.shape};
}

/** A record's own parameters by its first samples. */
function warmedUp(
  model: Model,
  record: CheckedRecord,
  samples: number,
): {readonly x: Float64Array; readonly determined: boolean} {
  const fit = new Fit(model, [slicedRecord(record, 0, samples)]);
  const {size, start} = fit.space;
  if (size === 0) return {x: start, determined: true};
  const {x, converged} = evaluate(stepsOf(levenbergMarquardt({maxIterations: WARM_UP_STEPS}))(fit, start, silent));
  return {x, determined: converged && fit.observations >= size};
}

/** @throws OptionError where one sample does not tell the whole state, or the record has more to find */
function requireWholeState(model: Model, record: CheckedRecord): void {
  const refuse = (what: string): OptionError =>
    new OptionError('bad-option', `validate: ${what}: give a longer warmUp.`, {record: record.name, warmUp: 1});
  const given = untold(model, record);
  const unknown = blocksOf(model).find(
    block => !given.includes(block) && !record.channels.some(({simulated}) => simulated === block),
  );
  if (unknown !== undefined)
    throw refuse(`${unknown} of ${record.name} is not measured, and one sample does not determine it`);
  const own = Object.entries(record.parameters).find(
    ([name, {kind}]) => kind !== 'fixed' && !name.startsWith('initial.'),
  );
  if (own !== undefined) throw refuse(`${own[0]} is ${record.name}'s own, and one sample does not determine it`);
}

/** Whether the first sample, with what the record gives beside it, is a whole state. */
const isWhole = (model: Model, record: CheckedRecord): boolean =>
  blocksOf(model).every(block => hasFirst(record, block) || untold(model, record).includes(block));

interface FreeRun {
  readonly fit: Fit;
  readonly x: Float64Array;
  readonly determined: boolean;
  readonly trajectory: Trajectory<System>;
}

function run(model: Model, values: RecordValues, record: CheckedRecord, warmUp: number, warm?: RecordValues): FreeRun {
  const whole =
    warmUp === 0
      ? record
      : warmUp === 1
        ? startedBySample(model, values, record)
        : withFreeStart(model, values, record, warm);
  const held = heldModel(model, values, whole);
  const fit = new Fit(held, [whole]);
  // One sample is the start itself; without a warm-up all samples determine the record's own parameters.
  const {x, determined} =
    warmUp === 1
      ? {x: fit.space.start, determined: true}
      : warmedUp(held, whole, warmUp === 0 ? whole.t.length : warmUp);
  return {fit, x, determined, trajectory: fit.trajectories(x)[0]};
}

function freeRun(
  model: Model,
  values: RecordValues,
  record: CheckedRecord,
  warmUp: number,
  domain: Domain,
): Validation {
  if (warmUp === 1) {
    requireWholeState(model, record);
    if (!isWhole(model, record))
      throw new OptionError(
        'bad-option',
        `validate: the first sample of ${record.name} is missing, and cannot be its start: give a longer warmUp.`,
        {record: record.name, warmUp},
      );
  }
  const {fit, x, determined, trajectory} = run(model, values, record, warmUp);
  const series = fit.fittedSeries([trajectory]).map(one => samplesOf([one], t => t >= record.t[warmUp]));
  const [visit] = fit.visits(x, [trajectory]);
  trajectory.dispose();
  const own = listed(fit.space.labels);
  const warnings = [...fit.warnings];
  if (!determined)
    warnings.push(
      `${own}: not determined by ${warmUp === 0 ? 'the samples' : `the first ${warmUp} samples`}, so the errors may be `
        + 'those of wrong values. Give better guesses, or a longer warmUp.',
    );
  if (warmUp === 0 && fit.space.size > 0)
    warnings.push(
      `${own}: estimated from the samples that are compared, so errors on new data are larger. Give warmUp: that many `
        + 'first samples then determine the estimate, and only the others are compared.',
    );
  return validationOf(record.name, series, ownValues(fit, x, record.name), warnings, {domain, visit});
}

/** Each prediction is the last sample of a short free run. */
async function predicted(
  model: Model,
  values: RecordValues,
  record: CheckedRecord,
  {warmUp, horizon, every}: Required<ValidateOptions>,
  domain: Domain,
): Promise<Validation> {
  const window = Math.max(1, warmUp);
  const points: FittedSeries[][] = [];
  let warm: RecordValues | undefined;
  let found: FreeRun | undefined;
  let [skipped, undetermined] = [0, 0];
  // A prediction from one sample starts at it, whatever the record's start.
  if (window === 1) requireWholeState(model, {...record, initial: undefined});
  for (let from = 0; from + window - 1 + horizon < record.t.length; from += every) {
    const part: CheckedRecord = {
      ...slicedRecord(record, from, from + window + horizon),
      initial: from === 0 && window > 1 ? record.initial : {t: record.t[from]},
    };
    if (window === 1 && !isWhole(model, part)) {
      skipped++;
      continue;
    }
    found = run(model, values, part, window, window === 1 ? undefined : warm);
    const {fit, determined, trajectory} = found;
    if (!determined) undetermined++;
    const last = record.t[from + window - 1 + horizon];
    points.push(fit.fittedSeries([trajectory]).map(one => samplesOf([one], t => t === last)));
    warm = Object.fromEntries(
      blocksOf(model).map(block => [
        `initial.${block}`,
        rowOf(trajectory.values(block), Math.min(every, window + horizon - 1), window + horizon),
      ]),
    );
    trajectory.dispose();
    if (points.length % 50 === 0) await new Promise(resolve => setTimeout(resolve, 0));
  }
  if (found === undefined)
    throw new OptionError(
      'bad-option',
      `validate: no sample of ${record.name} that a prediction starts from was measured whole: give a longer warmUp.`,
      {record: record.name, warmUp},
    );
  const series = points[0].map((_, k) => samplesOf(points.map(all => all[k])));
  const warnings: string[] = [];
  if (undetermined > 0)
    warnings.push(
      `In ${undetermined} of ${points.length} predictions of ${record.name} the ${window} samples before do not `
        + `determine ${listed(found.fit.space.labels)}. Give a longer warmUp.`,
    );
  if (skipped > 0)
    warnings.push(
      `${skipped} of ${skipped + points.length} predictions of ${record.name} were left out, as the sample that each `
        + 'starts from is missing. A warmUp of 2 or more starts from those that are there.',
    );
  // States that were not measured are those of many short runs: they are not compared.
  const visit = visitOf(record, {...model.inputs, ...record.inputs});
  return validationOf(record.name, series, ownValues(found.fit, found.x, record.name), warnings, {domain, visit});
}

const rowOf = (values: Float64Array, row: number, rows: number): Float64Array =>
  values.slice((row * values.length) / rows, ((row + 1) * values.length) / rows);

function ownValues(fit: Fit, x: Float64Array, record: string): {[name: string]: Float64Array} {
  const prefix = `${record}: `;
  return Object.fromEntries(
    Object.entries(fit.space.values(x))
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, value]) => [key.slice(prefix.length), value]),
  );
}

/** Parts of one series one after another, with the samples at these times. */
function samplesOf(parts: readonly FittedSeries[], keep: (t: number) => boolean = () => true): FittedSeries {
  const all = (of: (part: FittedSeries) => Float64Array): Float64Array =>
    joined(
      Float64Array,
      parts.map(part => of(part).filter((_, i) => keep(part.t[i]))),
    );
  return {
    name: parts[0].name,
    t: all(({t}) => t),
    measured: all(({measured}) => measured),
    simulated: all(({simulated}) => simulated),
  };
}

function validationOf(
  name: string,
  series: readonly FittedSeries[],
  found: {readonly [name: string]: Float64Array},
  warnings: readonly string[],
  {domain, visit}: {readonly domain: Domain; readonly visit: Visit},
): Validation {
  const judged = series.filter(({t}) => t.length > 0);
  if (judged.length === 0)
    throw new OptionError(
      'no-data',
      `validate: ${name} has no measurement to compare with after its warm-up: give a shorter warmUp.`,
      {record: name},
    );
  const outputs = Object.fromEntries(judged.map(one => [one.name, outputValidation(one)]));
  const {samples, rmse, r2} = together(judged.map(one => goodnessOfFit(one.measured, one.simulated)));
  const {warnings: far, ...beyond} = extrapolation(domain, visit, name);
  return {
    name,
    samples,
    rmse,
    nrmse: Math.sqrt(1 - r2),
    r2,
    outputs,
    series: judged,
    found,
    beyond,
    warnings: [...warnings, ...far],
  };
}

function outputValidation({t, measured, simulated}: FittedSeries): OutputValidation {
  const {samples, rmse, r2, worst, worstAt} = goodnessOfFit(measured, simulated);
  const residuals = measured.map((value, i) => value - simulated[i]);
  const mean = residuals.reduce((sum, value) => sum + value, 0) / samples;
  return {
    samples,
    rmse,
    nrmse: Math.sqrt(1 - r2),
    r2,
    mean,
    standardDeviation: Math.sqrt(Math.max(0, rmse ** 2 - mean ** 2)),
    worst,
    worstAt: t[worstAt],
    correlated: correlatedShare(residuals),
  };
}
