/**
 * The identity of a run: its variables, optimizer, learning rates, data and loss. A checkpoint keeps it; a run that
 * differs is refused, unless the difference is listed as intended.
 */
import {
  boolean,
  list,
  listOf,
  object,
  oneOf,
  readOptions,
  real,
  text,
  typed,
  nonNegativeInteger,
  type Check,
  type OptionValues,
} from '../../lib/checks.js';
import {CheckpointError} from '../../lib/errors.js';
import {fingerprint} from '../data/fingerprint.js';
import type {Learner} from './learner.js';
import {type Change, changes, type CompleteTraining, isCompiledTraining, wholeNumber} from './problem.js';

/** A value that may be null, which JSON has in place of undefined. */
export const nullable = <T>(check: Check<T>): Check<T | null> => ({
  what: `null or ${check.what}`,
  test: value => value === null || check.test(value),
});

export const identitySchema = {
  optimizer: text,
  shapes: typed<readonly (readonly number[])[]>(list),
  names: listOf('names', text),
  examples: nonNegativeInteger,
  batchSize: nonNegativeInteger,
  seed: wholeNumber,
  shuffle: boolean,
  /** The learning rate of the optimizer as it was made; null where a schedule sets it. */
  learningRate: nullable(real),
  hyperparameters: typed<{readonly [name: string]: number | boolean}>(object),
  /** Learning rates of the schedule at steps spread over a run of `steps`. */
  schedule: nullable(
    typed<{readonly steps: number; readonly rates: readonly number[]}>({
      what: 'rates',
      test: value => object.test(value) && list.test((value as {readonly rates?: unknown}).rates),
    }),
  ),
  clip: typed<{readonly norm?: number; readonly value?: number}>(object),
  data: text,
  validation: nullable(text),
};
export type Identity = OptionValues<typeof identitySchema>;

/** Names of entries in errors, where they are not those of options. */
const words: {readonly [key in keyof Identity]?: string} = {
  optimizer: 'the optimizer',
  shapes: 'the shapes of the variables',
  names: 'the order of the variables, by their names,',
  examples: 'the number of examples',
  learningRate: 'the learning rate',
  hyperparameters: 'the optimizer’s setting',
  schedule: 'the schedule',
  data: 'the content of the examples',
  validation: 'the validation data',
};

/** @throws OptionError for a resume that is neither true, false nor {accept} */
export function acceptedChanges(resume: CompleteTraining<unknown>['resume']): ReadonlySet<string> {
  if (typeof resume === 'boolean') return new Set();
  const accept = listOf(`intended changes, from ${changes.join(', ')}`, oneOf(...changes));
  return new Set(readOptions(resume, {accept}, 'train: resume', 'bad-option').accept);
}

export async function identityOf<T>(problem: CompleteTraining<T>, learner: Learner<T>): Promise<Identity> {
  const {data, batchSize, seed, shuffle, schedule, validation} = problem;
  const {variables, kind, hyperparameters, rate} = learner;
  const clip = isCompiledTraining(problem) ? problem.step.clip : (problem.clip ?? {});
  const steps = problem.epochs * Math.ceil(data.length / batchSize);
  return asJson({
    optimizer: kind,
    shapes: variables.map(({shape}) => [...shape]),
    names: variables.map(({name}) => name),
    examples: data.length,
    batchSize,
    seed,
    shuffle,
    learningRate: schedule === undefined ? (rate ?? null) : null,
    hyperparameters,
    schedule: schedule === undefined ? null : {steps, rates: ratesOf(problem, steps)},
    clip: {norm: clip.norm, value: clip.value},
    data: await fingerprint(data),
    validation: validation === undefined ? null : await fingerprint(validation.data),
  });
}

/** Steps of a run at which schedules are compared: stairs of more than 1/64 of a run cannot hide between. */
const PROBES = 65;

function ratesOf<T>({schedule, data, batchSize}: CompleteTraining<T>, steps: number): number[] {
  const perEpoch = Math.ceil(data.length / batchSize);
  return Array.from({length: PROBES}, (_, i) => {
    const step = Math.round((i * (steps - 1)) / (PROBES - 1));
    return schedule?.({step, steps, epoch: Math.floor(step / perEpoch)}) ?? NaN;
  });
}

/** An identity as it comes back from a file. */
const asJson = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

/**
 * @returns what differs and was meant to
 * @throws CheckpointError 'checkpoint-mismatch' where anything else differs
 */
export function requireSame<T>(
  saved: Identity,
  own: Identity,
  problem: CompleteTraining<T>,
  accepted: ReadonlySet<string>,
  file: string,
): ReadonlySet<string> {
  // A schedule may depend on the length of the run, and a longer run is no other.
  const rates =
    saved.schedule === null || own.schedule === null
      ? own.schedule
      : {steps: saved.schedule.steps, rates: asJson(ratesOf(problem, saved.schedule.steps))};
  const here: Identity = {...own, schedule: rates, names: sameOrder(saved.names, own.names) ? saved.names : own.names};
  const differ = (Object.keys(identitySchema) as (keyof Identity)[]).filter(
    key => JSON.stringify(saved[key]) !== JSON.stringify(here[key]),
  );
  const refused = differ.filter(key => !accepted.has(key));
  if (refused.length > 0)
    throw mismatch(
      refused.map(key => difference(key, saved[key], here[key])),
      refused,
      file,
    );
  return new Set(differ);
}

function difference(key: keyof Identity, saved: unknown, own: unknown): string {
  const word = words[key] ?? key;
  if (key === 'data' || key === 'validation') return `${word} differ`;
  if (key === 'schedule' && saved !== null && own !== null) {
    const [there, here] = [saved, own] as NonNullable<Identity['schedule']>[];
    const i = there.rates.findIndex((rate, k) => rate !== here.rates[k]);
    return (
      `the schedule gives ${there.rates[i]} in step ${Math.round((i * (there.steps - 1)) / (PROBES - 1))}, here `
      + `${here.rates[i]}`
    );
  }
  if (key === 'hyperparameters') {
    const [there, here] = [saved, own] as Identity['hyperparameters'][];
    const name = [...Object.keys(there), ...Object.keys(here)].find(one => there[one] !== here[one]) ?? '';
    return `${word} ${name} is ${there[name]}, here ${here[name]}`;
  }
  if (key === 'schedule')
    return `there is ${saved === null ? 'no' : 'a'} schedule, here ${own === null ? 'none' : 'one'}`;
  return `${word} is ${JSON.stringify(saved)}, here ${JSON.stringify(own)}`;
}

/** @param sentences each of one difference @param which their names */
export function mismatch(sentences: readonly string[], which: readonly string[], file: string): CheckpointError {
  const meant = which.every(name => changes.includes(name as Change))
    ? `, or, if the change is intended, resume with resume: {accept: [${which.map(name => `'${name}'`).join(', ')}]}`
    : '';
  return new CheckpointError(
    'checkpoint-mismatch',
    `${file} belongs to another run: there ${sentences.join('; ')}. Choose another directory, make the run the `
      + `same${meant}.`,
    {file, differs: which[0], differences: which},
  );
}

/**
 * Names that tfjs gives count on with every variable and layer of a process: only their order among those of one kind
 * can be compared. Names that a user gives are compared as they are, but for the numbers in them.
 */
function sameOrder(saved: readonly string[], own: readonly string[]): boolean {
  return JSON.stringify(ranked(saved)) === JSON.stringify(ranked(own));
}

/** Each number in a name, replaced by its rank among those in its place of names that are otherwise the same. */
function ranked(names: readonly string[]): string[] {
  // 'kernel' and 'kernel_1' are tfjs's first and second of one name.
  const parts = names.map(name => (/_\d+$|^\d+$/.test(name) ? name : `${name}_0`).split(/(\d+)/));
  const kind = (part: readonly string[]): string => part.filter((_, i) => i % 2 === 0).join('#');
  return parts.map(part =>
    part
      .map((text, i) => {
        if (i % 2 === 0) return text;
        const others = new Set(parts.filter(other => kind(other) === kind(part)).map(other => Number(other[i])));
        return [...others].sort((a, b) => a - b).indexOf(Number(text));
      })
      .join('#'),
  );
}
