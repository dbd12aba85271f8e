/**
 * Results in a folder, one file a case. A file is written beside its place, forced to the disk and then linked to its
 * name, which fails where the name is taken: it is there whole or not at all, and the first result of a case is the one
 * that stays. Any number of processes may write at once, on a shared file system too.
 */
import {randomBytes} from 'node:crypto';
import {mkdir, open, link, readdir, readFile, rename, rm, stat, unlink} from 'node:fs/promises';
import path from 'node:path';
import {boolean, nonNegative, refuseUnknownOptions} from '../lib/checks.js';
import {DataError} from '../lib/errors.js';
import {canonical, hash, parse} from './canonical.js';
import type {Case} from './cases.js';
import type {Job} from './task.js';

/** Why a case has no result. */
export type Cause = 'thrown' | 'timeout' | 'memory' | 'exited' | 'lost' | 'refused';

/** A case with its result. */
export interface Row<C extends Case = Case, R = unknown> {
  readonly name: string;
  readonly case: C;
  readonly seed: number;
  readonly task: {readonly name: string; readonly version: string};
  readonly result: R;
  /** How long it took. */
  readonly seconds: number;
}

/** One attempt of a case that failed. */
export interface Failure<C extends Case = Case> {
  readonly name: string;
  readonly case: C;
  readonly seed: number;
  readonly task: {readonly name: string; readonly version: string};
  readonly cause: Cause;
  readonly error: {readonly name: string; readonly message: string; readonly stack?: string};
  /** From 1. */
  readonly attempt: number;
}

/** How many cases a store has. */
export interface StoreStatus {
  readonly done: number;
  /** Cases that failed and have no result. */
  readonly failed: number;
  /** Of these, by the cause of their last failure. */
  readonly causes: Readonly<Partial<Record<Cause, number>>>;
}

/** How a store writes. */
export interface StoreOptions {
  /** Every result is forced to the disk before it counts; default true. Without, a loss of power may lose the last seconds' files. */
  readonly durable?: boolean;
  /** Seconds for which a full or unreachable disk is tried again; default 300. */
  readonly patience?: number;
}

/** Folders that a store's files are spread over: 4096, so that a million files are some 250 a folder. */
const shardDigits = 3;
/** Files read at once: enough to keep a disk busy. */
const readers = 16;
/** A disk that is full, over its quota, or away for the moment. */
const passing = new Set([
  'ENOSPC',
  'EDQUOT',
  'EIO',
  'ESTALE',
  'EAGAIN',
  'EMFILE',
  'ENFILE',
  'EBUSY',
  'ETIMEDOUT',
  'EROFS',
]);
/** File systems without hard links. */
const linkless = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

/** A folder of results. Made by `openStore`. */
export class Store {
  readonly folder: string;
  readonly #durable: boolean;
  readonly #patience: number;
  readonly #made = new Set<string>();

  constructor(folder: string, options: StoreOptions = {}) {
    refuseUnknownOptions(options, {durable: boolean, patience: nonNegative}, 'openStore');
    this.folder = path.resolve(folder);
    this.#durable = options.durable ?? true;
    this.#patience = options.patience ?? 300;
  }

  #file(kind: 'done' | 'failed', name: string, attempt?: number): string {
    return path.join(
      this.folder,
      kind,
      name.slice(0, shardDigits),
      attempt === undefined ? `${name}.json` : `${name}.${attempt}.json`,
    );
  }

  /** Whether a case has a result. */
  async has(name: string): Promise<boolean> {
    return stat(this.#file('done', name)).then(
      () => true,
      () => false,
    );
  }

  /** A case's result, or undefined where there is none. @throws DataError where its file is damaged, which is then set aside */
  async read(name: string): Promise<Row | undefined> {
    const file = this.#file('done', name);
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    const content = verified(text);
    if (content !== undefined) return parse(content) as Row;
    await rename(file, `${file}.damaged`);
    throw new DataError(
      'damaged-result',
      `${file} is not what was written; it was set aside as ${path.basename(file)}.damaged. Run the sweep again: it makes this case anew.`,
      {file},
    );
  }

  /**
   * Takes a case's result, in canonical form, where it has none yet.
   * @returns whether it was the first
   * @throws DataError where the disk stays full longer than the store is patient
   */
  async accept(job: Job, result: string, seconds: number): Promise<boolean> {
    const {case: content, name, seed, task} = job;
    const text = `{"case":${content},"name":"${name}","result":${result},"seconds":${seconds},"seed":${seed},"task":${taskText(task)}}`;
    return this.#write(this.#file('done', name), text);
  }

  /** Keeps a failure; gives which attempt of the case it was, from 1. */
  async fail(job: Job, cause: Cause, error: Failure['error']): Promise<number> {
    const {case: content, name, seed, task} = job;
    for (let attempt = 1; ; attempt++) {
      const text = `{"attempt":${attempt},"case":${content},"cause":"${cause}","error":${canonical(error, 'error')},"name":"${name}","seed":${seed},"task":${taskText(task)}}`;
      if (await this.#write(this.#file('failed', name, attempt), text)) return attempt;
    }
  }

  /** All failures of a case, in order. */
  async failures(name: string): Promise<Failure[]> {
    const found: Failure[] = [];
    for (let attempt = 1; ; attempt++) {
      const text = await readFile(this.#file('failed', name, attempt), 'utf8').catch(() => undefined);
      if (text === undefined) return found;
      const content = verified(text);
      if (content !== undefined) found.push(parse(content) as Failure);
    }
  }

  async #write(file: string, content: string): Promise<boolean> {
    const until = performance.now() + 1000 * this.#patience;
    for (let wait = 100; ; wait = Math.min(2 * wait, 5000)) {
      try {
        return await this.#writeOnce(file, `${content}\n${hash(content)}\n`);
      } catch (error) {
        // A folder that was pruned meanwhile is made again.
        if (codeOf(error) === 'ENOENT') this.#made.clear();
        else if (!passing.has(codeOf(error))) throw error;
        if (performance.now() + wait > until)
          throw new DataError(
            'store-unwritable',
            `${file} cannot be written: ${(error as Error).message}. Make room and run the sweep again: it goes on from here.`,
            {file},
          );
        await new Promise(resolve => setTimeout(resolve, wait));
      }
    }
  }

  async #writeOnce(file: string, text: string): Promise<boolean> {
    await this.#make(path.dirname(file));
    const folder = path.join(this.folder, 'tmp');
    await this.#make(folder);
    const partial = path.join(folder, `${randomBytes(12).toString('hex')}.partial`);
    try {
      const handle = await open(partial, 'wx');
      try {
        await handle.writeFile(text);
        if (this.#durable) await handle.sync();
      } finally {
        await handle.close();
      }
      // The folder is not forced to the disk: a name that a loss of power takes is a case to run again, not a wrong one.
      return await place(partial, file);
    } finally {
      await unlink(partial).catch(() => {}); // where it is left, prune finds it
    }
  }

  async #make(folder: string): Promise<void> {
    if (this.#made.has(folder)) return;
    await mkdir(folder, {recursive: true});
    this.#made.add(folder);
  }

  async *#shards(kind: 'done' | 'failed'): AsyncGenerator<string[], void> {
    const folder = path.join(this.folder, kind);
    const shards = await readdir(folder).catch(() => []);
    for (const shard of shards.sort())
      yield (await readdir(path.join(folder, shard)).catch(() => [])).filter(file => file.endsWith('.json')).sort();
  }

  /** Names of all cases with a result, a folder at a time, in the order of names. */
  async *names(): AsyncGenerator<string[], void> {
    for await (const files of this.#shards('done')) yield files.map(file => file.slice(0, -'.json'.length));
  }

  /** Names of all cases with failures, whether or not they have a result by now, with how many. */
  async failedNames(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for await (const files of this.#shards('failed'))
      for (const file of files) {
        const [name] = file.split('.');
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    return counts;
  }

  /** All results, in the order of names, which depends on the cases alone. Damaged ones are set aside and left out. */
  async *rows(): AsyncGenerator<Row, void> {
    for await (const names of this.names()) {
      for (let i = 0; i < names.length; i += readers) {
        const some = await Promise.all(
          names.slice(i, i + readers).map(name =>
            this.read(name).catch((error: unknown) => {
              if (error instanceof DataError) return undefined;
              throw error;
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

  /** Counts what there is. */
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
   * Removes what is not wanted: parts that ended writers left behind, failures of cases that have a result, and what is asked for.
   * @param options `failures`: of all cases, which are then tried again; `versions`: results of tasks whose version is not
   * among these; `older`: of parts, in seconds, default 3600, so that none is taken from a process that writes
   * @returns how many files went
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
    let gone = 0;
    const remove = async (file: string): Promise<void> => {
      await rm(file, {force: true});
      gone++;
    };
    const parts = path.join(this.folder, 'tmp');
    for (const file of await readdir(parts).catch(() => [])) {
      const at = await stat(path.join(parts, file)).catch(() => undefined);
      if (at !== undefined && Date.now() - at.mtimeMs >= 1000 * older) await remove(path.join(parts, file));
    }
    for (const [name, count] of await this.failedNames())
      if (failures || (await this.has(name)))
        for (let attempt = 1; attempt <= count; attempt++) await remove(this.#file('failed', name, attempt));
    if (versions !== undefined)
      for await (const {name, task} of this.rows())
        if (!versions.includes(task.version)) await remove(this.#file('done', name));
    return gone;
  }
}

const taskText = ({name, version}: Job['task']): string => canonical({name, version}, 'task');

/** The content of a file whose last line is its hash. */
function verified(text: string): string | undefined {
  const [content, sum, end] = text.split('\n');
  return end === '' && sum === hash(content) ? content : undefined;
}

/** Gives a part its name, unless that is taken. */
async function place(partial: string, file: string): Promise<boolean> {
  try {
    await link(partial, file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    if (!linkless.has(codeOf(error))) throw error;
  }
  // Without links the last of two writers at the same moment would stay, with the same numbers.
  if (
    await stat(file).then(
      () => true,
      () => false,
    )
  )
    return false;
  await rename(partial, file);
  return true;
}

/** A folder of results, there already or not. @throws OptionError */
export function openStore(folder: string, options?: StoreOptions): Store {
  return new Store(folder, options);
}
