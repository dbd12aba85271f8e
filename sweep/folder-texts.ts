/**
 * A store's texts in a folder, one file each. A file is written beside its place, forced to the disk and then linked to
 * its name, which fails where the name is taken: it is there whole or not at all, on a shared file system too.
 */
import {randomBytes} from 'node:crypto';
import {link, mkdir, open, readdir, readFile, rename, rm, stat, unlink} from 'node:fs/promises';
import path from 'node:path';
import {DataError} from '../lib/errors.js';
import {absentAs, codeOf} from './files.js';
import {patiently, storeError} from './patience.js';
import {isShard, type Texts} from './texts.js';

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

/** Seconds for which reading is retried: what reads is no computation that would be lost. */
const readPatience = 1;
/** How often a folder that was pruned meanwhile is made again for one text; a link to nowhere stays one. */
const mostRemakes = 3;

export class FolderTexts implements Texts {
  readonly place: string;
  readonly #made = new Set<string>();

  /** @param durable every text is forced to the disk before it counts */
  constructor(
    folder: string,
    readonly patience: number,
    readonly durable: boolean,
  ) {
    this.place = path.resolve(folder);
  }

  #file(name: string): string {
    return path.join(this.place, name);
  }

  /** Returns `absent` only if there is no such file. */
  async #reading<T, U>(file: string, absent: U, read: (file: string) => Promise<T>): Promise<T | U> {
    const isPassing = (error: unknown): boolean => passing.has(codeOf(error));
    const what = `${file} cannot be read`;
    try {
      const patience = Math.min(readPatience, this.patience);
      return await patiently(() => absentAs(absent, read(file)), isPassing, patience, what, 'store-unreadable');
    } catch (error) {
      throw error instanceof DataError ? error : storeError('store-unreadable', what, error as Error);
    }
  }

  async has(name: string): Promise<boolean> {
    return (await this.#reading(this.#file(name), undefined, file => stat(file))) !== undefined;
  }

  async read(name: string): Promise<string | undefined> {
    return this.#reading(this.#file(name), undefined, file => readFile(file, 'utf8'));
  }

  async isThere(): Promise<boolean> {
    return (await this.#folders('')).some(name => name === 'done' || name === 'failed');
  }

  #folders(folder: string): Promise<string[]> {
    return this.#reading(this.#file(folder), [], file => readdir(file));
  }

  async write(name: string, text: string): Promise<boolean> {
    const file = this.#file(name);
    let remakes = 0;
    const mayPass = (error: unknown): boolean => {
      const gone = codeOf(error) === 'ENOENT' && remakes++ < mostRemakes;
      if (gone) this.#made.clear();
      return gone || passing.has(codeOf(error));
    };
    const what = `${file} cannot be written`;
    try {
      return await patiently(() => this.#writeOnce(file, text), mayPass, this.patience, what);
    } catch (error) {
      throw error instanceof DataError ? error : storeError('store-unwritable', what, error as Error);
    }
  }

  async #writeOnce(file: string, text: string): Promise<boolean> {
    await this.#make(path.dirname(file));
    const folder = this.#file('tmp');
    await this.#make(folder);
    const partial = path.join(folder, `${randomBytes(12).toString('hex')}.partial`);
    try {
      const handle = await open(partial, 'wx');
      try {
        await handle.writeFile(text);
        if (this.durable) await handle.sync();
      } finally {
        await handle.close();
      }
      // The folder is not forced to the disk: a name that a loss of power takes is a case to run again, not a wrong
      // one.
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

  async remove(name: string): Promise<void> {
    await rm(this.#file(name), {force: true});
  }

  async *list(folder: 'done' | 'failed'): AsyncGenerator<string[], void> {
    for (const shard of (await this.#folders(folder)).filter(isShard).sort())
      yield (await this.#folders(path.join(folder, shard))).sort().map(file => `${shard}/${file}`);
  }

  async removeParts(older: number): Promise<number> {
    let gone = 0;
    for (const file of await this.#folders('tmp')) {
      const part = path.join(this.#file('tmp'), file);
      const at = await absentAs(undefined, stat(part));
      if (at === undefined || Date.now() - at.mtimeMs < 1000 * older) continue;
      await rm(part, {force: true});
      gone++;
    }
    return gone;
  }
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
  if ((await absentAs(undefined, stat(file))) !== undefined) return false;
  await rename(partial, file);
  return true;
}
