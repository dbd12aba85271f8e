/** All of a run that the next step depends on, as one value: read into a checkpoint, and put back from it. */
import type * as tf from '@tensorflow/tfjs';
import {CheckpointError} from '../../lib/errors.js';
import type {CheckpointContent, NamedArray} from './checkpoint-file.js';
import type {EpochMetrics} from './metrics.js';
import {arrayOf, assign, kindOf, readOptimizer, restoreOptimizer} from './optimizer-state.js';
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

/** What must be the same for a checkpoint to belong to a run. */
interface Identity {
  readonly optimizer: string;
  readonly shapes: readonly (readonly number[])[];
  readonly examples: number;
  readonly batchSize: number;
  readonly seed: number;
}

interface Facts {
  readonly identity: Identity;
  readonly counters: Counters;
  readonly random: readonly number[];
  readonly optimizer: {readonly kind: string; readonly iterations: number; readonly learningRate?: number};
  readonly metricsLength: number;
}

export interface StateSpec {
  readonly variables: readonly tf.Variable[];
  readonly optimizer: tf.Optimizer;
  readonly examples: number;
  readonly batchSize: number;
  readonly seed: number;
}

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
    this.bestValues = this.spec.variables.map((variable, i) => arrayOf(`best/${i}`, variable));
  }

  takeBest(): void {
    this.bestValues.forEach((array, i) => assign(this.spec.variables[i], array));
  }

  /** @param metricsLength bytes of the metrics' file that belong to the steps taken */
  save(metricsLength: number): CheckpointContent {
    const {kind, iterations, learningRate, arrays} = readOptimizer(this.spec.optimizer);
    const facts: Facts = {identity: this.identity, counters: this.counters, random: this.random.state, optimizer: {kind, iterations, learningRate}, metricsLength};
    return {
      facts,
      arrays: [
        ...this.spec.variables.map((variable, i) => arrayOf(`variable/${i}`, variable)),
        ...this.bestValues,
        ...arrays.map(array => ({...array, name: `optimizer/${array.name}`})),
        {name: 'order', shape: [this.order.length], values: this.order},
      ],
    };
  }

  /** @returns the bytes to keep of the metrics' file @throws CheckpointError 'checkpoint-mismatch' */
  restore({facts, arrays}: CheckpointContent, file: string): number {
    const {identity, counters, random, optimizer, metricsLength} = facts as Facts;
    requireSame(identity, this.identity, file);
    const under = (folder: string): NamedArray[] => arrays.filter(({name}) => name.startsWith(`${folder}/`)).map(array => ({...array, name: array.name.slice(folder.length + 1)}));
    restoreOptimizer(this.spec.optimizer, {...optimizer, arrays: under('optimizer')}, file);
    under('variable').forEach((array, i) => assign(this.spec.variables[i], array));
    this.bestValues = arrays.filter(({name}) => name.startsWith('best/'));
    this.order.set((arrays.find(({name}) => name === 'order') as NamedArray).values);
    this.random.state = random;
    this.counters = counters;
    return metricsLength;
  }

  private get identity(): Identity {
    const {variables, optimizer, examples, batchSize, seed} = this.spec;
    return {optimizer: kindOf(optimizer), shapes: variables.map(({shape}) => [...shape]), examples, batchSize, seed};
  }
}

function requireSame(saved: Identity, own: Identity, file: string): void {
  const differ = (Object.keys(own) as (keyof Identity)[]).find(key => JSON.stringify(saved[key]) !== JSON.stringify(own[key]));
  if (differ === undefined) return;
  const words: {readonly [key in keyof Identity]: string} = {optimizer: 'the optimizer', shapes: 'the shapes of the variables', examples: 'the number of examples', batchSize: 'batchSize', seed: 'seed'};
  throw new CheckpointError('checkpoint-mismatch', `${file} belongs to another run: there ${words[differ]} is ${JSON.stringify(saved[differ])}, here ${JSON.stringify(own[differ])}. Choose another directory, or make the run the same.`, {file, differs: differ});
}
