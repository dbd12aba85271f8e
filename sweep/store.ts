/**
 * Results of a sweep, one text a case, in a folder (folder-texts.ts) or an object store (s3-texts.ts). Each ends with a
 * hash of its content. A text is there whole or not at all, and the first result of a case is the one that stays, so
 * that any number of processes and machines may write at once.
 */
import {boolean, positiveInteger, nonNegative, object, optional, readBy, readOptions, real} from '../lib/checks.js';
import {shown, text, typed, nonNegativeInteger, type Check, type Options} from '../lib/checks.js';
import {DataError, OptionError} from '../lib/errors.js';
import {canonical, hash, parse} from './canonical.js';
import type {Case} from './cases.js';
import {FolderTexts} from './folder-texts.js';
import {S3Texts, type S3Connection} from './s3-texts.js';
import type {Job} from './task.js';
import {shardDigits, type Texts} from './texts.js';

/** Why a case has no result. */
export type Cause = 'thrown' | 'timeout' | 'memory' | 'exited' | 'lost' | 'refused';

const causes: {readonly [C in Cause]: true} = {
  thrown: true,
  timeout: true,
  memory: true,
  exited: true,
  lost: true,
  refused: true,
};
export const isCause = (value: unknown): value is Cause => typeof value === 'string' && Object.hasOwn(causes, value);

/** A case with its result. */
export interface Row<C extends Case = Case, R = unknown> {
  readonly name: string;
  readonly case: C;
  readonly seed: number;
  readonly task: {readonly name: string; readonly version: string};
  readonly result: R;
  /** Time of the computation. */
  readonly seconds: number;
}

/** A failed attempt of a case. */
export interface Failure<C extends Case = Case> {
  readonly name: string;
  readonly case: C;
  readonly seed: number;
  readonly task: {readonly name: string; readonly version: string};
  readonly cause: Cause;
  readonly error: {readonly name: string; readonly message: string; readonly stack?: string};
  /** Number of the attempt, from 1. */
  readonly attempt: number;
}

/** Numbers of cases in a store. */
export interface StoreStatus {
  readonly done: number;
  /** Cases that failed and have no result. */
  readonly failed: number;
  /** Number of failed cases by the cause of their last failure. */
  readonly causes: Readonly<Partial<Record<Cause, number>>>;
}

const storeOptions = {
  /**
   * For folders: every result is flushed to the disk before it counts; default true. Otherwise a power failure may lose
   * the files of the last seconds.
   */
  durable: optional(boolean, true),
  /** Seconds for which writing to a full or unreachable disk or server is retried; default 300. */
  patience: optional(nonNegative, 300),
  /**
   * For an address s3://bucket/prefix: settings that the environment (AWS_REGION, AWS_ENDPOINT_URL_S3, …) does not
   * define.
   */
  s3: optional(typed<S3Connection>(object)),
};

/** Options of a store. @interface */
export type StoreOptions = Options<typeof storeOptions>;

/** Results read at once: enough to keep a disk or a connection busy. */
const readers = 16;

/** Results of a sweep. Made by `openStore`. */
export class Store {
  /** The folder's path, or the address. */
  readonly folder: string;
  readonly #texts: Texts;

  constructor(folder: string, options: StoreOptions = {}) {
    const {durable, patience, s3} = readOptions(options, storeOptions, 'openStore');
    const distant = folder.startsWith('s3://');
    if (!distant && s3 !== undefined)
      throw new OptionError(
        'bad-option',
        `openStore: the option s3 is only for addresses such as s3://bucket/prefix, not for ${folder}.`,
      );
    this.#texts = distant ? new S3Texts(folder, patience, s3) : new FolderTexts(folder, patience, durable);
    this.folder = this.#texts.place;
  }

  /** Whether a case has a result. */
  async has(name: string): Promise<boolean> {
    return this.#texts.has(done(name));
  }

  /** @throws OptionError 'no-store' where no sweep has written anything */
  async requireThere(): Promise<void> {
    if (!(await this.#texts.isThere()))
      throw new OptionError('no-store', `There is no store at ${this.folder}: no sweep has written anything there.`, {
        folder: this.folder,
      });
  }

  /**
   * A case's result, or undefined if there is none.
   * @throws DataError 'damaged-result' if its text is damaged or that of another case; it is then moved aside
   */
  async read(name: string): Promise<Row | undefined> {
    const text = await this.#texts.read(done(name));
    if (text === undefined) return undefined;
    const row = contentOf(text, isRow);
    if (row?.name === name) return row;
    const file = `${this.folder}/${done(name)}`;
    const aside = `${done(name)}.damaged`;
    await this.#texts.write(aside, text);
    await this.#texts.remove(done(name));
    const why = row === undefined ? 'is damaged' : `holds the result of another case, ${row.name},`;
    throw new DataError(
      'damaged-result',
      `${file} ${why} and was moved to ${aside}. Run the sweep again: it computes this case again.`,
      {file},
    );
  }

  /**
   * Stores a case's result, in canonical form, unless it has one already.
   * @returns whether it was the first
   * @throws DataError if the disk stays full for longer than `patience`
   */
  async accept(job: Job, result: string, seconds: number): Promise<boolean> {
    return this.#write(done(job.name), textOf(job, {result, seconds: String(seconds)}));
  }

  /** Stores a failure; returns the number of the attempt, from 1. */
  async fail(job: Job, cause: Cause, error: Failure['error']): Promise<number> {
    const parts = {cause: `"${cause}"`, error: canonical(error, 'error')};
    for (let attempt = 1; ; attempt++) {
      const text = textOf(job, {...parts, attempt: String(attempt)});
      if (await this.#write(failed(job.name, attempt), text)) return attempt;
    }
  }

  /** All failures of a case, in order. Damaged ones are omitted: the case is then tried again. */
  async failures(name: string): Promise<Failure[]> {
    const found: Failure[] = [];
    for (let attempt = 1; ; attempt++) {
      const text = await this.#texts.read(failed(name, attempt));
      if (text === undefined) return found;
      const failure = contentOf(text, isFailure);
      if (failure?.name === name) found.push(failure);
    }
  }

  async #write(name: string, content: string): Promise<boolean> {
    return this.#texts.write(name, `${content}\n${hash(content)}\n`);
  }

  /** Names of all cases with a result, in batches, in the order of names. */
  async *names(): AsyncGenerator<string[], void> {
    for await (const texts of this.#texts.list('done')) yield texts.flatMap(text => doneText.exec(text)?.[2] ?? []);
  }

  /** The attempts of all cases with failures, with or without a result. */
  async #attempts(): Promise<Map<string, number[]>> {
    const attempts = new Map<string, number[]>();
    for await (const texts of this.#texts.list('failed'))
      for (const text of texts) {
        const [, , name, attempt] = failedText.exec(text) ?? [];
        if (name !== undefined) attempts.set(name, [...(attempts.get(name) ?? []), Number(attempt)]);
      }
    return attempts;
  }

  /** Names of all cases with failures, with or without a result, and the number of failures. */
  async failedNames(): Promise<Map<string, number>> {
    return new Map([...(await this.#attempts())].map(([name, attempts]) => [name, attempts.length]));
  }

  /**
   * All results, in the order of names, which depends only on the cases.
   * @throws DataError 'damaged-result' after the last one, where some are damaged and were moved aside
   */
  async *rows(): AsyncGenerator<Row, void> {
    const damaged: DataError[] = [];
    yield* this.#soundRows(damaged);
    if (damaged.length > 0)
      throw new DataError(
        'damaged-result',
        `${damaged.length} of the results could not be read, the first because ${damaged[0].message}`,
        damaged[0].data,
      );
  }

  async *#soundRows(damaged: DataError[]): AsyncGenerator<Row, void> {
    for await (const names of this.names()) {
      for (let i = 0; i < names.length; i += readers) {
        const some = await Promise.all(
          names.slice(i, i + readers).map(name =>
            this.read(name).catch((error: unknown) => {
              if (!(error instanceof DataError) || error.code !== 'damaged-result') throw error;
              damaged.push(error);
            }),
          ),
        );
        for (const row of some) if (row !== undefined) yield row;
      }
    }
  }

  /** The last failure of every case without a result. */
  async *unresolved(): AsyncGenerator<Failure, void> {
    for (const name of [...(await this.failedNames()).keys()].sort()) {
      if (await this.has(name)) continue;
      const last = (await this.failures(name)).at(-1);
      if (last !== undefined) yield last;
    }
  }

  /** Counts results and failures. */
  async status(): Promise<StoreStatus> {
    let done = 0;
    for await (const names of this.names()) done += names.length;
    const causes: Partial<Record<Cause, number>> = {};
    let failed = 0;
    for await (const {cause} of this.unresolved()) {
      failed++;
      causes[cause] = (causes[cause] ?? 0) + 1;
    }
    return {done, failed, causes};
  }

  /**
   * Removes leftovers: partial files of ended writers, failures of cases that have a result, and what the options
   * select.
   * @param options `failures`: those of all cases, which are then tried again; `versions`: results and failures of
   *   tasks whose version is not
   * among these; `older`: the age of partial files, in seconds, default 3600, so that none of a running writer is
   * removed
   * @returns the number of removed files
   */
  async prune({
    failures = false,
    versions,
    older = 3600,
  }: {
    readonly failures?: boolean;
    readonly versions?: readonly string[];
    readonly older?: number;
  } = {}): Promise<number> {
    let gone = await this.#texts.removeParts(older);
    const remove = async (name: string): Promise<void> => {
      await this.#texts.remove(name);
      gone++;
    };
    for (const [name, attempts] of await this.#attempts())
      if (failures || (await this.has(name)) || !(await this.#isOf(versions, name)))
        for (const attempt of attempts) await remove(failed(name, attempt));
    if (versions !== undefined)
      for await (const {name, task} of this.#soundRows([]))
        if (!versions.includes(task.version)) await remove(done(name));
    return gone;
  }

  /** Whether the failures of a case are of one of these versions. */
  async #isOf(versions: readonly string[] | undefined, name: string): Promise<boolean> {
    if (versions === undefined) return true;
    const last = (await this.failures(name)).at(-1);
    return last === undefined || versions.includes(last.task.version);
  }
}

/** A store, or its folder or address, as an option or an argument. */
export const storeOption: Check<string | Store, Store> = readBy((value, name) => {
  if (value instanceof Store) return value;
  if (typeof value === 'string' && value !== '') return new Store(value);
  throw new OptionError(
    'bad-option',
    `${name} must be a folder's path, or a store made by openStore, not ${shown(value)}.`,
  );
});

const done = (name: string): string => `done/${name.slice(0, shardDigits)}/${name}.json`;
const failed = (name: string, attempt: number): string =>
  `failed/${name.slice(0, shardDigits)}/${name}.${attempt}.json`;
/** Texts that the store wrote: not what was set aside, nor what other programs leave, such as ._x.json. */
const fileOf = (ending: string): RegExp =>
  new RegExp(`^([0-9a-f]{${shardDigits}})/(\\1[0-9a-f]{${64 - shardDigits}})${ending}\\.json$`);
const doneText = fileOf('');
const failedText = fileOf('\\.([1-9]\\d*)');

/** A job and more values, which are canonical texts, as one canonical text. */
function textOf({case: content, name, seed, task}: Job, more: {readonly [key: string]: string}): string {
  const version = canonical({name: task.name, version: task.version}, 'task');
  const all = {...more, case: content, name: `"${name}"`, seed: String(seed), task: version};
  const entries = Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, value]) => `"${key}":${value}`).join(',')}}`;
}

/** The content of a text whose last line is its hash; undefined where the text is damaged or means something else. */
function contentOf<T>(text: string, isContent: (value: unknown) => value is T): T | undefined {
  const [content, sum, end, ...more] = text.split('\n');
  if (end !== '' || more.length > 0 || sum !== hash(content)) return undefined;
  const value = parsed(content);
  return isContent(value) ? value : undefined;
}

function parsed(content: string): unknown {
  try {
    return parse(content);
  } catch {
    return undefined;
  }
}

type Named = Pick<Row, 'name' | 'case' | 'seed' | 'task'>;

const isNamed = (value: unknown): value is Named => {
  const {case: one, name, seed, task} = (value ?? {}) as Partial<Named>;
  return (
    text.test(name)
    && object.test(one)
    && nonNegativeInteger.test(seed)
    && text.test(task?.name)
    && text.test(task?.version)
  );
};
/** A result that is undefined is left out. */
const isRow = (value: unknown): value is Row => isNamed(value) && real.test((value as Partial<Row>).seconds);
const isFailure = (value: unknown): value is Failure => {
  const {attempt, cause, error} = (value ?? {}) as Partial<Failure>;
  return (
    isNamed(value)
    && isCause(cause)
    && positiveInteger.test(attempt)
    && text.test(error?.name)
    && text.test(error?.message)
  );
};

/**
 * Opens a store of results, existing or new.
 * @param folder a folder's path, or s3://bucket/prefix of an object store with the S3 protocol
 * @throws OptionError
 */
export function openStore(folder: string, options?: StoreOptions): Store {
  return new Store(folder, options);
}
