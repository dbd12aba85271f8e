/** A model's options by who takes them: those of runs and those of fits. */
import {any, integrationChecks, refuseUnknownOptions, type Check} from '../lib/checks.js';
import type {RunSettings} from '../lib/internal.js';
import type {IdentificationProblem} from '../training/index.js';

/** Options of `simulate`: dt, steps or t1, scheme, params, …. */
export type RunOptions = RunSettings & {readonly steps?: number; readonly t1?: number};

/** Options of `identify` that stand in no other place of a model. */
export type FitOptions = Omit<IdentificationProblem, 'system' | 'initial' | 'parameters' | 'data'>;

/** Options of `simulate` and of `identify`: each command takes its own. */
export type ModelOptions = RunOptions & Omit<FitOptions, keyof RunOptions>;

type Names<T> = {readonly [name in keyof Required<T>]: Check};

// The types name every option: one that is added there is missing here, and does not compile.
const shared = {...integrationChecks, dt: any, inputs: any, events: any, observe: any, onProgress: any, signal: any};
const ofRuns: Names<RunOptions> = {...shared, steps: any, t1: any, params: any, saveAt: any, throw: any};
const ofFits: Names<FitOptions> = {
  ...shared,
  offGrid: any,
  method: any,
  shooting: any,
  residuals: any,
  noise: any,
  earlyStopping: any,
  starts: any,
  seed: any,
  workers: any,
  sweep: any,
};

/** @throws OptionError where neither a run nor a fit has an option; values are checked by what takes them */
export function refuseUnknownModelOptions(options: object, owner: string): void {
  refuseUnknownOptions(options, [...new Set([...Object.keys(ofRuns), ...Object.keys(ofFits)])], owner);
}

const picked = (options: object, names: object): object =>
  Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(names, name)));

export const runOptions = (options: ModelOptions): RunOptions => picked(options, ofRuns) as RunOptions;
export const fitOptions = (options: ModelOptions): FitOptions => picked(options, ofFits) as FitOptions;
