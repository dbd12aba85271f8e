/**
 * The checkpoints of a run in their directory, which one run at a time has: it holds a lock. Whatever happens, and
 * whenever, a file with a checkpoint's name is whole.
 */
import {CheckpointError} from '../../lib/errors.js';
import {filesystem, reasonOf} from '../data/filesystem.js';
import {FolderLock, lockName} from '../data/folder-lock.js';
import {writeWhole} from '../data/write-whole.js';
import type {CheckpointContent} from './checkpoint-file.js';
import {decodeCheckpoint, encodeCheckpoint} from './checkpoint-file.js';

const pattern = /^checkpoint-(\d+)\.sgc$/;
const partialPattern = /^(checkpoint-\d+\.sgc|lock\.json)\.[0-9a-f]+\.partial$/;
/** Twelve digits, so that names sort as steps do. */
const nameOf = (step: number): string => `checkpoint-${String(step).padStart(12, '0')}.sgc`;

const files = () =>
  filesystem(
    () =>
      new CheckpointError(
        'checkpoint-no-files',
        'There is no file system here for checkpoints: omit the option checkpoint.',
      ),
  );

export class Checkpoints {
  private lock?: FolderLock;

  /** @param keep how many are kept, the latest ones */
  constructor(
    readonly directory: string,
    private readonly keep: number,
  ) {}

  /**
   * Makes the directory, takes its lock, and removes what a killed run left half written.
   * @throws CheckpointError 'checkpoint-locked' where another run has it; 'checkpoint-unwritable'
   */
  async open(): Promise<void> {
    const fs = files();
    const {mkdir, readdir, rm} = fs;
    try {
      await mkdir(this.directory, {recursive: true});
      const lock = await FolderLock.take(fs, this.directory);
      if (!(lock instanceof FolderLock))
        throw locked(this.directory, `process ${lock.pid}${lock.host === '' ? '' : ` on ${lock.host}`}`, {
          pid: lock.pid,
          host: lock.host,
        });
      this.lock = lock;
      for (const name of await readdir(this.directory))
        if (partialPattern.test(name)) await rm(this.path(name), {force: true});
    } catch (cause) {
      await this.close();
      throw cause instanceof CheckpointError ? cause : unusable(this.directory, cause);
    }
  }

  /** Others may have it. */
  async close(): Promise<void> {
    await this.lock?.release();
  }

  /** The latest checkpoint, or undefined where there is none. @throws CheckpointError where it is not whole */
  async latest(): Promise<{readonly file: string; readonly content: CheckpointContent} | undefined> {
    const steps = await this.steps();
    if (steps.length === 0) return undefined;
    const file = this.path(nameOf(steps[steps.length - 1]));
    return {file, content: await readCheckpoint(file)};
  }

  /** @throws CheckpointError 'checkpoint-unwritable', 'checkpoint-locked' */
  async write(step: number, content: CheckpointContent): Promise<void> {
    const fs = files();
    const {rm} = fs;
    const bytes = await encodeCheckpoint(content);
    try {
      if ((await this.lock?.isHeld()) !== true)
        throw locked(this.directory, 'another run, which took it from this one,');
      await writeWhole(fs, this.path(nameOf(step)), bytes);
      const steps = await this.steps();
      for (const old of steps.slice(0, -this.keep)) await rm(this.path(nameOf(old)), {force: true});
    } catch (cause) {
      throw cause instanceof CheckpointError ? cause : unusable(this.directory, cause);
    }
  }

  /** @throws CheckpointError where there are checkpoints that a new run would mix with its own */
  async requireEmpty(): Promise<void> {
    const steps = await this.steps();
    if (steps.length === 0) return;
    throw new CheckpointError(
      'checkpoint-exists',
      `${this.directory} holds checkpoints of an earlier run, up to step ${steps[steps.length - 1]}. Resume from `
        + 'there with resume: true, or remove them, or choose another directory.',
      {directory: this.directory},
    );
  }

  private async steps(): Promise<number[]> {
    const {readdir} = files();
    const names = await readdir(this.directory);
    return names
      .flatMap(name => pattern.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  }

  private path(name: string): string {
    return `${this.directory}/${name}`;
  }
}

/**
 * Reads the content of a checkpoint.
 * @throws CheckpointError 'checkpoint-unreadable', 'checkpoint-corrupt'
 */
export async function readCheckpoint(file: string): Promise<CheckpointContent> {
  const {readFile} = files();
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw new CheckpointError('checkpoint-unreadable', `${file} cannot be read: ${reasonOf(cause)}.`, {file, cause});
  });
  return decodeCheckpoint(bytes, file);
}

function locked(directory: string, who: string, data: Readonly<Record<string, unknown>> = {}): CheckpointError {
  return new CheckpointError(
    'checkpoint-locked',
    `${directory} is in use by ${who}. Wait for it to end, or choose another directory; if it has ended, remove `
      + `${directory}/${lockName}.`,
    {directory, ...data},
  );
}

function unusable(directory: string, cause: unknown): CheckpointError {
  return new CheckpointError(
    'checkpoint-unwritable',
    `Checkpoints cannot be kept in ${directory}: ${reasonOf(cause)}.`,
    {directory, cause},
  );
}
