/**
 * A store's texts in a folder, one file each. A file is written beside its place, forced to the disk and then linked to its
 * name, which fails where the name is taken: it is there whole or not at all, on a shared file system too.
 */
import {randomBytes} from 'node:crypto';
import {link, mkdir, open, readdir, readFile, rename, rm, stat, unlink} from 'node:fs/promises';
import path from 'node:path';
import {patiently} from './patience.js';
import type {Texts} from './texts.js';

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

const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

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

  async has(name: string): Promise<boolean> {
    return exists(this.#file(name));
  }

  async read(name: string): Promise<string | undefined> {
    return readFile(this.#file(name), 'utf8').catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    });
  }

  async write(name: string, text: string): Promise<boolean> {
    const file = this.#file(name);
    const mayPass = (error: unknown): boolean => {
      // A folder that was pruned meanwhile is made again.
      const gone = codeOf(error) === 'ENOENT';
      if (gone) this.#made.clear();
      return gone || passing.has(codeOf(error));
    };
    return patiently(() => this.#writeOnce(file, text), mayPass, this.patience, `${file} cannot be written`);
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

  async remove(name: string): Promise<void> {
    await rm(this.#file(name), {force: true});
  }

  async setAside(name: string): Promise<string> {
    const aside = `${name}.damaged`;
    await rename(this.#file(name), this.#file(aside));
    return path.basename(aside);
  }

  async *list(folder: 'done' | 'failed'): AsyncGenerator<string[], void> {
    const shards = await readdir(this.#file(folder)).catch(() => []);
    for (const shard of shards.sort()) {
      const files = await readdir(path.join(this.#file(folder), shard)).catch(() => []);
      yield files.sort().map(file => `${shard}/${file}`);
    }
  }

  async removeParts(older: number): Promise<number> {
    const parts = this.#file('tmp');
    let gone = 0;
    for (const file of await readdir(parts).catch(() => [])) {
      const at = await stat(path.join(parts, file)).catch(() => undefined);
      if (at === undefined || Date.now() - at.mtimeMs < 1000 * older) continue;
      await rm(path.join(parts, file), {force: true});
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
  if (await exists(file)) return false;
  await rename(partial, file);
  return true;
}
