/**
 * A state-space model in continuous time without equations: x' = f(x, u)/τ, y = h(x), all networks, and an encoder that
 * finds the state from past inputs and outputs (SUBNET: Beintema, Tóth & Schoukens, Nonlinear state-space
 * identification using deep encoder networks, L4DC 2021; Continuous-time identification of dynamic state-space models
 * by deep subspace encoding, ICLR 2023). Short sections of the records are simulated in batches: gradients stay tame
 * and every section is an example. The weights kept are those of the best free run over a record held out.
 */
import * as tf from '@tensorflow/tfjs';
import type {Params, Simulation} from '../../lib/index.js';
import {DataError, ode, OptionError, rk4, simulate} from '../../lib/index.js';
import {
  abortSignal,
  callable,
  positiveInteger,
  finite,
  list,
  listOf,
  nonNegative,
  object,
  optional,
  positive,
  readOptions,
  refuseUnknownOptions,
  requireValue,
  throwIfAborted,
  typed,
  type Options,
} from '../../lib/checks.js';
import {
  domainOf,
  extrapolation,
  sampledColumn,
  type Domain,
  type Extrapolation,
  type Visit,
} from '../data/extrapolation.js';
import {entryLabels} from '../identify/parameters.js';
import {goodnessByOutput, together, type GoodnessOfFit} from '../report/residual-statistics.js';
import {Random} from './random.js';
import {trainingStep} from './training-step.js';
import {adamW} from './update-rules.js';
import type {ResidualNetwork} from './residual-network.js';
import {residualNetwork} from './residual-network.js';
import type {InputOutputRecord, NormalizedRecord, ReadRecord, Scale} from './sections.js';
import {normalized, readRecord, scaleOf, sectionsAt} from './sections.js';

const records = typed<InputOutputRecord | readonly InputOutputRecord[]>({
  what: 'a record {t, u, y}, or a list of records',
  test: value => list.test(value) || object.test(value),
});

const problemOptions = {
  /** Training records. */
  data: records,
  /** Held-out records: the weights are those of the epoch with the best free run over these. */
  validation: records,
  /** Size of the state x. */
  states: positiveInteger,
  /** Widths of the hidden layers of each network; default [32]. */
  hidden: optional(listOf('whole numbers', positiveInteger), [32]),
  /** Samples of input and output from which the encoder computes the state; default 2 · `states` + 2. */
  past: optional(positiveInteger),
  /** Samples of a section, as long as the slowest relevant dynamics; default 50. */
  section: optional(
    typed<number>({
      what: 'a whole number of at least 2',
      test: value => positiveInteger.test(value) && Number(value) >= 2,
    }),
    50,
  ),
  /** τ, the time in which the state changes by its size; default 10 sampling intervals. */
  timeConstant: optional(positive),
  /** Sections in a batch; default 32. */
  batchSize: optional(positiveInteger, 32),
  /** Number of passes over all sections; default 100. */
  epochs: optional(positiveInteger, 100),
  /** Largest number of batches per epoch; default 100: neighbouring sections of long records are nearly the same. */
  batches: optional(positiveInteger, 100),
  /** Learning rate of Adam, which decays by half a cosine to a hundredth; default 3e-3. */
  rate: optional(positive, 3e-3),
  /** Weight of the mean square of all matrices' entries in the loss; default 0. */
  ridge: optional(nonNegative, 0),
  /** Stops after this many epochs without a better free run; default: never. */
  patience: optional(positiveInteger),
  /** Seed of the weights and of the order of sections; default 0. */
  seed: optional(finite, 0),
  onProgress: optional(typed<(epoch: NeuralStateSpaceEpoch) => void>(callable)),
  signal: optional(abortSignal),
};

/** The argument of `neuralStateSpace`. @interface */
export type NeuralStateSpaceProblem = Options<typeof problemOptions>;

/** Progress of the training. */
export interface NeuralStateSpaceEpoch {
  readonly epoch: number;
  /** Mean over the batches, for normalized outputs. */
  readonly loss: number;
  /**
   * Root mean square of the free run over the validation records, relative to the outputs' standard deviation; infinite
   * if it diverged.
   */
  readonly validation: number;
}

/** Errors of one output in a free run, in its unit. */
export interface FreeRunOutput extends GoodnessOfFit {
  /** rmse divided by the standard deviation of the measurements; NaN for a constant record. */
  readonly nrmse: number;
}

/**
 * Errors of a free run over a record; the samples of the encoder are excluded. Those of several outputs together:
 * `rmse` and `worst` over all numbers, whatever their units; `nrmse` is the root mean square of the outputs' own, and
 * r2 = 1 − nrmse².
 */
export interface FreeRun extends FreeRunOutput {
  readonly name: string;
  /** Each output's own, in the order of the record. */
  readonly outputs: readonly FreeRunOutput[];
  /**
   * How far the record goes beyond the training records: of outputs y and inputs u the part of the training range (0:
   * within it); of inputs the part of their power at frequencies that training hardly had.
   */
  readonly beyond: Pick<Extrapolation, 'range' | 'spectrum'>;
  /** Of a record that goes far beyond the training records: its error is that of extrapolation. */
  readonly warnings: readonly string[];
}

/** A trained model. */
export interface NeuralStateSpace {
  /** One entry per epoch. */
  readonly history: readonly NeuralStateSpaceEpoch[];
  /** The epoch whose weights these are. */
  readonly best: number;
  /** Number of samples that the encoder needs: a simulation starts after them. */
  readonly past: number;
  /** Variables of the encoder, the state equation and the output, in this order. */
  readonly variables: readonly tf.Variable[];
  /**
   * A free run: the record's first `past` samples determine the state, then only inputs are used.
   * @returns outputs, [samples − past, outputs] row-major
   * @throws DataError if the record is too short or has another sampling interval; errors of `simulate`
   */
  simulate(record: InputOutputRecord): Float64Array;
  /** Errors of the free run; the first `warmUp` samples, at least `past`, are excluded. */
  validate(record: InputOutputRecord, options?: {readonly warmUp?: number}): FreeRun;
  /** Frees the weights. */
  dispose(): void;
}

/**
 * Learns a state-space model only from records of inputs and outputs.
 * @throws (rejects) OptionError, DataError, ShapeError if the records are inconsistent; AbortError
 */
export async function neuralStateSpace(problem: NeuralStateSpaceProblem): Promise<NeuralStateSpace> {
  const read = readOptions(problem, problemOptions, 'neuralStateSpace');
  const {states, hidden, section, batchSize, epochs, rate, ridge, seed, timeConstant, onProgress, signal} = read;
  const {past = 2 * states + 2, patience = Infinity} = read;
  const data = recordsOf(problem.data, 'data');
  const held = recordsOf(problem.validation, 'validation');
  const random = new Random(seed);
  const model = new Model(data, {states, hidden, past, timeConstant, random});
  const places = data
    .map(record => model.normalized(record))
    .flatMap(record =>
      Array.from({length: Math.max(0, record.samples - past - section + 1)}, (_, i) => ({record, at: past + i})),
    );
  if (places.length === 0)
    throw new DataError(
      'too-short',
      `neuralStateSpace: no record has the ${past + section} samples that a past of ${past} and a section of `
        + `${section} need.`,
    );
  for (const record of held) model.requireFits(record);
  const size = Math.min(batchSize, places.length);
  const batches = Math.min(read.batches, Math.floor(places.length / size));
  const step = trainingStep(model.simulation(section, size), {
    loss: ({observed, data: {y}}) => {
      const square = tf.mean(tf.squaredDifference(observed, y as tf.Tensor));
      return ridge === 0 ? square : tf.add(square, tf.mul(ridge, model.meanSquareOfMatrices()));
    },
    initial: ({data: {past: given}}) => ({y: model.encoder.apply(given as tf.Tensor)}),
    optimizer: adamW({rate, decay: 0}),
    // Sections of a model that is not yet stable may have gradients of any size.
    clip: {norm: CLIP},
  });
  const order = Uint32Array.from(places.keys());
  const history: NeuralStateSpaceEpoch[] = [];
  let best = {epoch: 0, validation: Infinity, state: undefined as ReturnType<typeof step.save> | undefined};
  for (let epoch = 1; epoch <= epochs; epoch++) {
    throwIfAborted(signal);
    random.shuffle(order);
    let sum = 0;
    for (let b = 0; b < batches; b++) {
      const done = (epoch - 1 + b / batches) / epochs;
      step.rate = rate * (LAST + ((1 - LAST) * (1 + Math.cos(Math.PI * done))) / 2);
      const batch = Array.from(order.subarray(b * size, (b + 1) * size), i => places[i]);
      const {u, ...data} = sectionsAt(batch, past, section);
      sum += step({params: {u}, data: {past: data.past, y: data.y}});
    }
    step.write();
    const validation = Math.sqrt(held.reduce((total, record) => total + model.freeRun(record) ** 2 / held.length, 0));
    history.push({epoch, loss: sum / batches, validation});
    onProgress?.(history[history.length - 1]);
    if (validation < best.validation) best = {epoch, validation, state: step.save()};
    if (epoch - best.epoch >= patience) break;
    await new Promise(resolve => setTimeout(resolve, 0));
  }
  if (best.state === undefined) {
    model.dispose();
    throw new OptionError(
      'no-model',
      'neuralStateSpace: no epoch had a free run over the validation records that stayed finite. Use a lower rate, a '
        + 'longer timeConstant, or longer sections.',
    );
  }
  step.restore(best.state);
  step.write();
  return model.trained(history, best.epoch);
}

/** Ten times what gradients of a batch are once the model is stable, normalized as it is. */
const CLIP = 10;

/** Part of the learning rate at the end: the cosine's usual floor. */
const LAST = 0.01;

function recordsOf(given: InputOutputRecord | readonly InputOutputRecord[], what: string): ReadRecord[] {
  const all = list.test(given) ? (given as readonly InputOutputRecord[]) : [given as InputOutputRecord];
  if (all.length === 0) throw new OptionError('no-data', `neuralStateSpace: ${what} is empty.`);
  return all.map(readRecord);
}

interface Widths {
  readonly states: number;
  readonly hidden: readonly number[];
  readonly past: number;
  readonly timeConstant?: number;
  readonly random: Random;
}

/** The networks, the scales of the records, and simulations of both by their length. */
class Model {
  readonly encoder: ResidualNetwork;
  private readonly motion: ResidualNetwork;
  private readonly output: ResidualNetwork;
  private readonly u: Scale;
  private readonly y: Scale;
  private readonly first: ReadRecord;
  private readonly domain: Domain;
  private readonly states: number;
  private readonly past: number;
  private readonly timeConstant: number;
  private readonly prepared = new Map<string, Simulation>();

  constructor(records: readonly ReadRecord[], {states, hidden, past, timeConstant, random}: Widths) {
    [this.first] = records;
    for (const record of records) this.requireFits(record, false);
    const {inputs, outputs, interval} = this.first;
    [this.states, this.past, this.timeConstant] = [states, past, timeConstant ?? INTERVALS * interval];
    this.u = scaleOf(records.map(record => ({values: record.u, width: inputs})));
    this.y = scaleOf(records.map(record => ({values: record.y, width: outputs})));
    this.domain = domainOf(records.map(visitOf));
    this.encoder = residualNetwork([past * (inputs + outputs), ...hidden, states], random);
    this.motion = residualNetwork([states + inputs, ...hidden, states], random);
    this.output = residualNetwork([states, ...hidden, outputs], random);
  }

  /** @throws ShapeError, DataError where another record is of other numbers, or another clock */
  requireFits(record: ReadRecord, long = true): void {
    const {inputs, outputs, interval} = this.first;
    if (record.inputs !== inputs || record.outputs !== outputs)
      throw new DataError(
        'data-shape',
        `${record.name} has ${record.inputs} inputs and ${record.outputs} outputs, but the first record has ${inputs} `
          + `and ${outputs}.`,
        {record: record.name},
      );
    if (Math.abs(record.interval / interval - 1) > 1e-3)
      throw new DataError(
        'uneven-clock',
        `${record.name} has a sample every ${record.interval}, but the first record every ${interval}. Use `
          + 'resample(…) to make both equal.',
        {record: record.name},
      );
    if (long && record.samples < this.past + 2)
      throw new DataError(
        'too-short',
        `${record.name} has ${record.samples} samples; the encoder needs ${this.past}, and at least two must remain.`,
        {record: record.name},
      );
  }

  normalized(record: ReadRecord): NormalizedRecord {
    return {...record, nu: normalized(record.u, this.u), ny: normalized(record.y, this.y)};
  }

  /** Sections side by side, [count, states]: one step of rk4 from sample to sample, inputs joined by lines. */
  simulation(samples: number, size: number): Simulation {
    const key = `${samples} ${size}`;
    const known = this.prepared.get(key);
    if (known !== undefined) return known;
    const {inputs, interval} = this.first;
    const {motion, output, timeConstant} = this;
    const system = ode(({y: x, t, params}: {y: tf.Tensor; t: tf.Tensor; params: Params}) => {
      const u = inputAt(params.u as tf.Tensor, tf.div(t, interval), samples);
      return tf.div(motion.apply(tf.concat([x, u], 1)), timeConstant);
    });
    const made = simulate.prepare(
      system,
      {y: zeros([size, this.states])},
      {
        scheme: rk4(),
        dt: interval,
        steps: samples - 1,
        params: {u: zeros([samples, size, inputs])},
        observe: ({y}) => output.apply(y),
        throw: false,
      },
    ) as unknown as Simulation;
    this.prepared.set(key, made);
    return made;
  }

  meanSquareOfMatrices(): tf.Tensor {
    const all = [this.encoder, this.motion, this.output].flatMap(({matrices}) => matrices);
    const count = all.reduce((sum, {size}) => sum + size, 0);
    return tf.div(tf.addN(all.map(matrix => tf.sum(tf.square(matrix)))), count);
  }

  /** Root mean square of a free run's normalized error; infinite where it runs away. */
  freeRun(record: ReadRecord): number {
    const {ny, outputs} = this.normalized(record);
    const simulated = this.outputs(record);
    if (simulated === undefined) return Infinity;
    const measured = ny.subarray(this.past * outputs);
    return Math.sqrt(simulated.reduce((sum, value, i) => sum + (value - measured[i]) ** 2, 0) / simulated.length);
  }

  /** Normalized; undefined where the run did not reach its end. */
  private outputs(record: ReadRecord): Float64Array | undefined {
    const {past, states} = this;
    const samples = record.samples - past;
    const sections = sectionsAt([{record: this.normalized(record), at: past}], past, samples);
    const start = tf.tidy(() => Array.from(this.encoder.apply(tf.tensor2d(sections.past)).dataSync()));
    if (!start.every(Number.isFinite)) return undefined;
    const run = this.simulation(samples, 1).run({
      initial: {y: [start.slice(0, states)]},
      params: {u: sections.u},
    });
    const values = run.status === 'completed' ? run.values('observed') : undefined;
    run.dispose();
    return values?.every(Number.isFinite) === true ? values : undefined;
  }

  trained(history: readonly NeuralStateSpaceEpoch[], best: number): NeuralStateSpace {
    const {past} = this;
    const free = (given: InputOutputRecord): {record: ReadRecord; simulated: Float64Array} => {
      const record = readRecord(given, 0);
      this.requireFits(record);
      const found = this.outputs(record);
      if (found === undefined)
        throw new DataError('not-finite', `${record.name}: the free run does not stay finite.`, {record: record.name});
      const {mean, deviation} = this.y;
      return {
        record,
        simulated: found.map((value, i) => mean[i % mean.length] + deviation[i % mean.length] * value),
      };
    };
    return {
      history,
      best,
      past,
      variables: this.variables,
      simulate: record => free(record).simulated,
      validate: (given, options = {}) => {
        const {warmUp = past} = options;
        refuseUnknownOptions(options, {warmUp: positiveInteger}, 'validate');
        const {record, simulated} = free(given);
        requireValue(
          warmUp,
          {
            what: `a whole number of ${past} to ${record.samples - 2}, because the encoder needs ${past}`,
            test: value => positiveInteger.test(value) && Number(value) >= past && Number(value) <= record.samples - 2,
          },
          'validate: warmUp',
        );
        const measured = record.y.subarray(warmUp * record.outputs);
        const outputs = goodnessByOutput(
          measured,
          simulated.subarray((warmUp - past) * record.outputs),
          record.outputs,
        ).map(one => ({...one, nrmse: Math.sqrt(1 - one.r2)}));
        const all = together(outputs);
        const {warnings, ...beyond} = extrapolation(this.domain, visitOf(record), record.name);
        return {name: record.name, ...all, nrmse: Math.sqrt(1 - all.r2), outputs, beyond, warnings};
      },
      dispose: () => this.dispose(),
    };
  }

  dispose(): void {
    tf.dispose([...this.variables]);
  }

  private get variables(): tf.Variable[] {
    return [this.encoder, this.motion, this.output].flatMap(({variables}) => variables);
  }
}

/** Outputs and inputs of a record, as far as they go. */
function visitOf({u, y, inputs, outputs, interval, samples}: ReadRecord): Visit {
  const labels = (name: string, width: number): string[] => entryLabels(name, width === 1 ? [] : [width]);
  const t = Float64Array.from({length: samples}, (_, i) => i * interval);
  const [from, to] = [0, t[samples - 1]];
  return {
    series: [{labels: labels('y', outputs), values: y}],
    inputs: Object.fromEntries(
      labels('u', inputs).map((label, k) => [
        label,
        (finer: number) => sampledColumn({t, values: u, hold: false}, k, [from, to], finer),
      ]),
    ),
    interval,
  };
}

/** Default of the time constant in sampling intervals: a sampling that shows a motion has some ten samples in it. */
const INTERVALS = 10;

/** [samples, size, inputs] at a place between samples, [size, inputs]; the last one holds. */
function inputAt(table: tf.Tensor, place: tf.Tensor, samples: number): tf.Tensor {
  const index = tf.cast(tf.clipByValue(tf.floor(place), 0, samples - 2), 'int32');
  const share = tf.clipByValue(tf.sub(place, tf.cast(index, 'float32')), 0, 1);
  const [from, to] = [tf.gather(table, index), tf.gather(table, tf.add(index, tf.scalar(1, 'int32')))];
  return tf.add(from, tf.mul(share, tf.sub(to, from)));
}

const zeros = (shape: readonly number[]): number[][] =>
  Array.from({length: shape[0]}, () =>
    shape.length === 2 ? new Array<number>(shape[1]).fill(0) : zeros(shape.slice(1)),
  ) as number[][];
