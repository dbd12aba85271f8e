/** All of a run that the next step depends on, as one value: read into a checkpoint, and put back from it. */
import type {CheckpointContent, NamedArray} from './checkpoint-file.js';
import {corrupt} from './checkpoint-file.js';
import type {Identity} from './identity.js';
import {mismatch} from './identity.js';
import type {EpochMetrics} from './metrics.js';
import type {Learner} from './learner.js';
import {Random} from './random.js';

/** Counts and sums; numbers only, which JSON keeps to the bit. */
export interface Counters {
  /** Steps taken, skipped ones too. */
  step: number;
  /** Epochs done. */
  epoch: number;
  /** Examples of this epoch that were used. */
  position: number;
  /** Of this epoch: Σ loss · examples, and the examples it is over. */
  lossSum: number;
  lossCount: number;
  skipped: number;
  /** Evaluations since the best one. */
  waited: number;
  best?: {readonly epoch: number; readonly loss: number};
  history: EpochMetrics[];
}

interface Facts {
  readonly identity: Identity;
  readonly counters: Counters;
  readonly random: readonly number[];
  readonly optimizer: {readonly kind: string; readonly iterations: number; readonly learningRate?: number};
  readonly metricsLength: number;
  /** The loss of the first batch of the data at these variables; null where it could not be evaluated. */
  readonly probe: number | null;
  /** Names of all arrays that belong to it. */
  readonly arrays: readonly string[];
}

export interface StateSpec {
  readonly learner: Pick<
    Learner<never>,
    'readValues' | 'assignValues' | 'fits' | 'readOptimizer' | 'requireFitting' | 'restoreOptimizer'
  >;
  readonly examples: number;
  readonly seed: number;
}

/** What tells whether a checkpoint is of the same run. */
export interface Comparison {
  /** Names what differs and is meant to. @throws CheckpointError where more does */
  readonly changes: (saved: Identity, file: string) => ReadonlySet<string>;
  /** The probe of the variables as they are. */
  readonly probe: (at: {readonly step: number; readonly epoch: number; readonly random: Random}) => number | null;
  readonly accepted: ReadonlySet<string>;
}

/** Sums in float32 differ by some 1e-6 of themselves from one backend to another; another loss by more than this. */
const SAME_LOSS = 1e-4;

export class TrainingState {
  counters: Counters = {step: 0, epoch: 0, position: 0, lossSum: 0, lossCount: 0, skipped: 0, waited: 0, history: []};
  readonly random: Random;
  /** Of the data in this epoch. */
  readonly order: Uint32Array;
  /** The variables where the loss was lowest. */
  private bestValues: readonly NamedArray[] = [];

  constructor(private readonly spec: StateSpec) {
    this.random = new Random(spec.seed);
    this.order = Uint32Array.from({length: spec.examples}, (_, i) => i);
  }

  /** The variables are the best so far. */
  markBest(epoch: number, loss: number): void {
    this.counters.best = {epoch, loss};
    this.bestValues = this.spec.learner.readValues('best');
  }

  takeBest(): void {
    if (this.bestValues.length > 0) this.spec.learner.assignValues(this.bestValues);
  }

  /** @param metricsLength bytes of the metrics' file that belong to the steps taken */
  save(identity: Identity, probe: number | null, metricsLength: number): CheckpointContent {
    const {kind, iterations, learningRate, arrays} = this.spec.learner.readOptimizer();
    const saved = [
      ...this.spec.learner.readValues('variable'),
      ...this.bestValues,
      ...arrays.map(array => ({...array, name: `optimizer/${array.name}`})),
      {name: 'order', shape: [this.order.length], values: this.order},
    ];
    const facts: Facts = {
      identity,
      counters: this.counters,
      random: this.random.state,
      optimizer: {kind, iterations, learningRate},
      metricsLength,
      probe,
      arrays: saved.map(({name}) => name),
    };
    return {facts, arrays: saved};
  }

  /**
   * Everything is looked at before anything is put back: a run that is refused leaves the variables and the optimizer
   * as they were.
   * @returns the bytes to keep of the metrics' file
   * @throws CheckpointError 'checkpoint-corrupt' where something is missing; 'checkpoint-mismatch' for another run's
   */
  restore(content: CheckpointContent, file: string, {changes, probe, accepted}: Comparison): number {
    const {learner} = this.spec;
    const {identity, counters, random, optimizer: state, metricsLength, probe: expected} = factsOf(content, file);
    const changed = changes(identity, file);
    const under = (folder: string): NamedArray[] =>
      content.arrays
        .filter(({name}) => name.startsWith(`${folder}/`))
        .map(array => ({...array, name: array.name.slice(folder.length + 1)}));
    const [values, best] = [under('variable'), content.arrays.filter(({name}) => name.startsWith('best/'))];
    for (const arrays of [values, ...(best.length > 0 || counters.best !== undefined ? [best] : [])]) {
      if (!learner.fits(arrays)) throw corrupt(file, 'it does not hold the values of its variables');
    }
    const order = content.arrays.find(({name}) => name === 'order')?.values;
    if (!(order instanceof Uint32Array) || !isOrder(order, this.order.length))
      throw corrupt(file, 'it does not hold the order of its examples');
    const optimizerState = {
      ...state,
      learningRate: changed.has('learningRate') ? undefined : state.learningRate,
      arrays: under('optimizer'),
    };
    learner.requireFitting(optimizerState, file);

    const generator = new Random(0);
    generator.state = random;
    const before = learner.readValues('before');
    learner.assignValues(values);
    const found = probe({step: counters.step, epoch: counters.epoch, random: generator.copy()});
    const isOther =
      expected !== null
      && found !== null
      && Math.abs(found - expected) > SAME_LOSS * Math.max(Math.abs(found), Math.abs(expected));
    if (isOther && !accepted.has('loss') && !changed.has('data') && !changed.has('batchSize')) {
      learner.assignValues(before);
      throw mismatch(
        [`the loss of the first ${identity.batchSize} examples at its variables is ${expected}, here ${found}`],
        ['loss'],
        file,
      );
    }
    learner.restoreOptimizer(optimizerState, file);
    // What was best by other data or another loss is no measure for this.
    const judgedAnew = changed.has('data') || changed.has('validation') || (isOther && accepted.has('loss'));
    this.bestValues = judgedAnew ? [] : best;
    this.order.set(order);
    this.random.state = random;
    this.counters = judgedAnew ? {...counters, best: undefined, waited: 0} : counters;
    return metricsLength;
  }
}

function isOrder(order: Uint32Array, examples: number): boolean {
  const seen = new Uint8Array(examples);
  return order.length === examples && order.every(index => index < examples && seen[index]++ === 0);
}

/** @throws CheckpointError 'checkpoint-corrupt' with what is missing */
function factsOf({facts, arrays}: CheckpointContent, file: string): Facts {
  const {identity, counters, random, optimizer, metricsLength, probe, arrays: names} = (facts ?? {}) as Partial<Facts>;
  const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
  const requirements: {readonly [name: string]: boolean} = {
    identity:
      isObject(identity)
      && Array.isArray(identity?.names)
      && (identity.schedule === null || Array.isArray(identity.schedule?.rates))
      && isObject(identity.hyperparameters),
    counters:
      isObject(counters)
      && [
        counters?.step,
        counters?.epoch,
        counters?.position,
        counters?.lossCount,
        counters?.skipped,
        counters?.waited,
      ].every(isCount)
      && Array.isArray(counters?.history)
      && (counters.best === undefined || (isObject(counters.best) && typeof counters.best.loss === 'number')),
    // Of xoroshiro128+: four numbers of 32 bits, not all zero.
    random:
      Array.isArray(random)
      && random.length === 4
      && random.every((word: unknown) => Number.isInteger(word))
      && random.some(word => word !== 0),
    optimizer:
      isObject(optimizer)
      && typeof optimizer?.kind === 'string'
      && isCount(optimizer.iterations)
      && ['number', 'undefined'].includes(typeof optimizer.learningRate),
    metricsLength: isCount(metricsLength),
    probe: probe === null || typeof probe === 'number',
    arrays: Array.isArray(names) && names.length === arrays.length && arrays.every(({name}, i) => name === names[i]),
  };
  const missing = Object.keys(requirements).filter(name => !requirements[name]);
  if (missing.length > 0)
    throw corrupt(file, `it lacks ${missing.join(', ')} as train writes ${missing.length > 1 ? 'them' : 'it'}`);
  return facts as Facts;
}
