/**
 * One process at a time in a folder: a file that says who has it, and that can be made only where there is none. A
 * lock whose process is dead is taken over, so that a killed run can be resumed. To see that a process is the same
 * one and not another with its number, the time of its start is compared, where the system tells it (Linux).
 */
import {nodeOs} from '../../lib/builtin.js';
import type {FileSystem} from './filesystem.js';
import {randomName, writeNew} from './write-whole.js';

export interface Holder {
  readonly pid: number;
  readonly host: string;
  /** Start of the process, by the system's clock of this boot; empty if it is not known. */
  readonly started: string;
  readonly token: string;
}

export const lockName = 'lock.json';

/** A lock that cannot be read for this long, in ms, was left by a process killed while it wrote it. */
const UNWRITTEN = 1000;

/** A takeover takes some ms: a mark of one that is older than this, in ms, was left by a killed process. */
const UNFINISHED = 10_000;

/** Between tries of who waits for a lock, in ms. */
const WAIT = 20;

export class FolderLock {
  private constructor(
    private readonly fs: FileSystem,
    private readonly path: string,
    private readonly text: string,
  ) {}

  /**
   * @param wait for how long, in ms, another process is waited for
   * @returns the lock, or who holds it
   */
  static async take(fs: FileSystem, folder: string, wait = 0): Promise<FolderLock | Holder> {
    const path = `${folder}/${lockName}`;
    const text = JSON.stringify({
      pid: process.pid,
      host: hostName(),
      started: await startOf(fs, 'self'),
      token: randomName(16),
    } satisfies Holder);
    const began = performance.now();
    let unreadSince: number | undefined;
    for (;;) {
      const found = await contentOf(fs, path);
      if (found === undefined) {
        if (await make(fs, path, text)) return new FolderLock(fs, path, text);
        continue;
      }
      const holder = holderOf(found);
      unreadSince = holder === undefined ? (unreadSince ?? performance.now()) : undefined;
      const dead =
        holder === undefined ? performance.now() - (unreadSince as number) > UNWRITTEN : !(await isAlive(fs, holder));
      if (dead) await remove(fs, path, found);
      else if (holder !== undefined && performance.now() - began >= wait) return holder;
      else await new Promise(resolve => setTimeout(resolve, WAIT));
    }
  }

  /** Whether nobody has taken it over meanwhile. */
  async isHeld(): Promise<boolean> {
    return (await contentOf(this.fs, this.path)) === this.text;
  }

  async release(): Promise<void> {
    if (await this.isHeld()) await this.fs.rm(this.path, {force: true});
  }
}

const codeOf = (error: unknown): string | undefined => (error as {code?: string} | null)?.code;

async function contentOf(fs: FileSystem, path: string): Promise<string | undefined> {
  return fs.readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
}

/** Complete from the first moment, by a link to a complete file; where there are no links, written after. */
async function make(fs: FileSystem, path: string, text: string): Promise<boolean> {
  const partial = `${path}.${randomName(16)}.partial`;
  try {
    await writeNew(fs, partial, text);
    await fs.link(partial, path).catch((error: unknown) => {
      if (['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(codeOf(error) ?? '')) return writeNew(fs, path, text);
      throw error;
    });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await fs.rm(partial, {force: true});
  }
}

/**
 * Two may see that a lock is dead, and the slower one must not remove the lock that the faster one has made since. So
 * only who has made a mark for it removes it, after another look; while it is there nobody can make a new one.
 */
async function remove(fs: FileSystem, path: string, dead: string): Promise<void> {
  const mark = `${path}.takeover`;
  try {
    await writeNew(fs, mark, '');
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    const {mtimeMs} = await fs.stat(mark).catch(() => ({mtimeMs: Date.now()}));
    if (Date.now() - mtimeMs > UNFINISHED) await fs.rm(mark, {force: true});
    else await new Promise(resolve => setTimeout(resolve, WAIT));
    return;
  }
  try {
    if ((await contentOf(fs, path)) === dead) await fs.rm(path, {force: true});
  } finally {
    await fs.rm(mark, {force: true});
  }
}

function holderOf(text: string): Holder | undefined {
  try {
    const {pid, host, started, token} = JSON.parse(text) as Partial<Holder>;
    return typeof pid === 'number'
      && typeof host === 'string'
      && typeof started === 'string'
      && typeof token === 'string'
      ? {pid, host, started, token}
      : undefined;
  } catch {
    return undefined;
  }
}

/** Processes of other machines count as alive. */
async function isAlive(fs: FileSystem, {pid, host, started}: Holder): Promise<boolean> {
  if (host !== hostName()) return true;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as {code?: string}).code === 'ESRCH') return false;
  }
  const now = await startOf(fs, pid);
  return started === '' || now === '' || started === now;
}

/** The 22nd field of /proc/pid/stat, in ticks since this boot; 'dead' for one that has ended and is still listed. */
async function startOf(fs: FileSystem, pid: number | 'self'): Promise<string> {
  try {
    const [stat, boot] = await Promise.all([
      fs.readFile(`/proc/${pid}/stat`, 'utf8'),
      fs.readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    ]);
    // The second field is the program's name in parentheses, which may hold blanks.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return /[ZX]/.test(fields[0]) ? 'dead' : `${boot.trim()}/${fields[19]}`;
  } catch {
    return '';
  }
}

const hostName = (): string => nodeOs?.hostname() ?? '';
