/** Everything of a run that the next step depends on, as one value: saved in a checkpoint and restored from it. */
import {
  list,
  nested,
  optional,
  readOptions,
  real,
  typed,
  nonNegativeInteger,
  type OptionValues,
} from '../../lib/checks.js';
import {corrupt, type CheckpointContent, type NamedArray} from './checkpoint-file.js';
import {identitySchema, mismatch, nullable, type Identity} from './identity.js';
import {fits, type Learner} from './learner.js';
import type {EpochMetrics} from './metrics.js';
import {Random} from './random.js';

/** Counts and sums; numbers only, which JSON keeps to the bit. */
const counterSchema = {
  /** Number of steps, skipped ones included. */
  step: nonNegativeInteger,
  /** Number of completed epochs. */
  epoch: nonNegativeInteger,
  /** Number of examples of this epoch that were used. */
  position: nonNegativeInteger,
  /** Σ loss · examples of this epoch, and the number of these examples. */
  lossSum: real,
  lossCount: nonNegativeInteger,
  skipped: nonNegativeInteger,
  /** Number of evaluations since the best one. */
  waited: nonNegativeInteger,
  best: optional(nested({epoch: nonNegativeInteger, loss: real})),
  history: typed<EpochMetrics[]>(list),
};
type Counters = {-readonly [N in keyof OptionValues<typeof counterSchema>]: OptionValues<typeof counterSchema>[N]};

/** The facts of a checkpoint, as JSON holds them. */
const factsSchema = {
  identity: nested(identitySchema),
  counters: nested(counterSchema),
  /** State of xoroshiro128+: four numbers of 32 bits, not all zero. */
  random: typed<readonly number[]>({
    what: 'four whole numbers',
    test: value =>
      Array.isArray(value) && value.length === 4 && value.every(Number.isInteger) && value.some(word => word !== 0),
  }),
  optimizer: nested({iterations: nonNegativeInteger, learningRate: optional(real)}),
  /** Bytes of the metrics' file that belong to the steps taken. */
  metricsLength: nonNegativeInteger,
  /** The loss of the first batch of the data at these variables; null where it could not be evaluated. */
  probe: nullable(real),
  /** Names of all arrays that belong to it. */
  arrays: typed<readonly string[]>(list),
};
type Facts = OptionValues<typeof factsSchema>;

export interface TrainingStateSpec {
  readonly learner: Pick<Learner<never>, 'variables' | 'save' | 'restore'>;
  readonly examples: number;
  readonly seed: number;
}

/** Comparison of a checkpoint with the run that resumes from it. */
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
  counters: Counters = {
    ...{step: 0, epoch: 0, position: 0, lossSum: 0, lossCount: 0, skipped: 0, waited: 0},
    best: undefined,
    history: [],
  };
  readonly random: Random;
  /** Order of the data in this epoch. */
  readonly order: Uint32Array;
  /** The variables where the loss was lowest. */
  private bestValues: readonly NamedArray[] = [];

  constructor(private readonly spec: TrainingStateSpec) {
    this.random = new Random(spec.seed);
    this.order = Uint32Array.from({length: spec.examples}, (_, i) => i);
  }

  /** Takes note that the variables are the best so far. */
  markBest(epoch: number, loss: number): void {
    this.counters.best = {epoch, loss};
    this.bestValues = this.spec.learner.save().variables;
  }

  /** Gives the variables the best values so far. */
  takeBest(): void {
    const {learner} = this.spec;
    if (this.bestValues.length > 0) learner.restore({...learner.save(), variables: this.bestValues}, 'the run');
  }

  /** @param metricsLength bytes of the metrics' file that belong to the steps taken */
  save(identity: Identity, probe: number | null, metricsLength: number): CheckpointContent {
    const {variables, optimizer, iterations, learningRate} = this.spec.learner.save();
    const inFolder = (folder: string, arrays: readonly NamedArray[]): NamedArray[] =>
      arrays.map(array => ({...array, name: `${folder}/${array.name}`}));
    const arrays = [
      ...inFolder('variable', variables),
      ...inFolder('best', this.bestValues),
      ...inFolder('optimizer', optimizer),
      {name: 'order', shape: [this.order.length], values: this.order},
    ];
    const facts: Facts = {
      identity,
      counters: this.counters,
      random: this.random.state,
      optimizer: {iterations, learningRate},
      metricsLength,
      probe,
      arrays: arrays.map(({name}) => name),
    };
    return {facts, arrays};
  }

  /**
   * Restores the state of a checkpoint. A run that is refused has its variables and its optimizer as they were.
   * @returns the bytes to keep of the metrics' file
   * @throws CheckpointError 'checkpoint-corrupt' where something is missing; 'checkpoint-mismatch' for another run's
   */
  restore(content: CheckpointContent, file: string, {changes, probe, accepted}: Comparison): number {
    const {learner} = this.spec;
    const {identity, counters, random, optimizer, metricsLength, probe: expected} = factsOf(content, file);
    const changed = changes(identity, file);
    const folder = (name: string): NamedArray[] =>
      content.arrays
        .filter(array => array.name.startsWith(`${name}/`))
        .map(array => ({...array, name: array.name.slice(name.length + 1)}));
    const best = folder('best');
    if ((best.length > 0 || counters.best !== undefined) && !fits(best, learner.variables))
      throw corrupt(file, 'it does not hold the best values of its variables');
    const order = content.arrays.find(({name}) => name === 'order')?.values;
    if (!(order instanceof Uint32Array) || !isOrder(order, this.order.length))
      throw corrupt(file, 'it does not hold the order of its examples');
    const generator = new Random(0);
    generator.state = random;
    const before = learner.save();
    const {iterations} = optimizer;
    const learningRate = changed.has('learningRate') ? undefined : optimizer.learningRate;
    learner.restore({variables: folder('variable'), optimizer: folder('optimizer'), iterations, learningRate}, file);
    const found = probe({step: counters.step, epoch: counters.epoch, random: generator.copy()});
    const isOther =
      expected !== null
      && found !== null
      && Math.abs(found - expected) > SAME_LOSS * Math.max(Math.abs(found), Math.abs(expected));
    if (isOther && !accepted.has('loss') && !changed.has('data') && !changed.has('batchSize')) {
      learner.restore(before, file);
      throw mismatch(
        [`the loss of the first ${identity.batchSize} examples at its variables is ${expected}, here ${found}`],
        ['loss'],
        file,
      );
    }
    // A best loss on other data, or by another loss, says nothing about this run.
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
  let read: Facts;
  try {
    read = readOptions(facts as Facts, factsSchema, 'its header');
  } catch (error) {
    throw corrupt(file, (error as Error).message.replace(/\.$/, ''));
  }
  if (read.arrays.length !== arrays.length || arrays.some(({name}, i) => name !== read.arrays[i]))
    throw corrupt(file, 'it does not hold the arrays that its header lists');
  return read;
}
