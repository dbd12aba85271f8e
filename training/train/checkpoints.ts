/**
 * The checkpoints of a run in their directory. Each is written beside its place, forced to the disk, and
 * renamed into place: whatever happens, and whenever, a file with a checkpoint's name is whole (Pillai et
 * al., All File Systems Are Not Created Equal, OSDI 2014: without both fsyncs a crash may keep the name
 * and lose the content).
 */
import {CheckpointError} from '../../lib/errors.js';
import {filesystem, reasonOf} from '../data/filesystem.js';
import type {CheckpointContent} from './checkpoint-file.js';
import {decodeCheckpoint, encodeCheckpoint} from './checkpoint-file.js';

const pattern = /^checkpoint-(\d+)\.sgc$/;
const partialPattern = /^checkpoint-\d+\.sgc\.\d+\.partial$/;
/** Twelve digits, so that names sort as steps do. */
const nameOf = (step: number): string => `checkpoint-${String(step).padStart(12, '0')}.sgc`;

const files = () => filesystem(() => new CheckpointError('checkpoint-no-files', 'There is no file system here to keep checkpoints in: leave the option checkpoint out.'));

export class Checkpoints {
  /** @param keep how many are kept, the latest ones */
  constructor(readonly directory: string, private readonly keep: number) {}

  /** Makes the directory and removes what a killed run left half written. */
  async open(): Promise<void> {
    const {mkdir, readdir, rm} = await files();
    try {
      await mkdir(this.directory, {recursive: true});
      for (const name of await readdir(this.directory)) if (partialPattern.test(name)) await rm(this.path(name), {force: true});
    } catch (cause) {
      throw unusable(this.directory, cause);
    }
  }

  /** The latest checkpoint, or undefined where there is none. @throws CheckpointError where it is not whole */
  async latest(): Promise<{readonly file: string; readonly content: CheckpointContent} | undefined> {
    const steps = await this.steps();
    if (steps.length === 0) return undefined;
    const file = this.path(nameOf(steps[steps.length - 1]));
    return {file, content: await readCheckpoint(file)};
  }

  async write(step: number, content: CheckpointContent): Promise<void> {
    const {rm} = await files();
    const bytes = await encodeCheckpoint(content);
    try {
      await writeWhole(this.path(nameOf(step)), bytes);
      const steps = await this.steps();
      for (const old of steps.slice(0, -this.keep)) await rm(this.path(nameOf(old)), {force: true});
    } catch (cause) {
      throw unusable(this.directory, cause);
    }
  }

  /** @throws CheckpointError where there are checkpoints that a new run would mix with its own */
  async requireEmpty(): Promise<void> {
    const steps = await this.steps();
    if (steps.length === 0) return;
    throw new CheckpointError('checkpoint-exists', `${this.directory} holds checkpoints of an earlier run, up to step ${steps[steps.length - 1]}. Go on from there with resume: true, or remove them, or choose another directory.`, {directory: this.directory});
  }

  private async steps(): Promise<number[]> {
    const {readdir} = await files();
    const names = await readdir(this.directory);
    return names.flatMap(name => pattern.exec(name)?.[1] ?? []).map(Number).sort((a, b) => a - b);
  }

  private path(name: string): string {
    return `${this.directory}/${name}`;
  }
}

/** @throws CheckpointError 'checkpoint-unreadable', 'checkpoint-corrupt' */
export async function readCheckpoint(file: string): Promise<CheckpointContent> {
  const {readFile} = await files();
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw new CheckpointError('checkpoint-unreadable', `${file} cannot be read: ${reasonOf(cause)}.`, {file, cause});
  });
  return decodeCheckpoint(bytes, file);
}

/** After this the file has its new content, even if the machine loses its power; before, its old one; never a part. */
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const {open, rename, rm} = await files();
  const partial = `${path}.${process.pid}.partial`;
  try {
    const file = await open(partial, 'w');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, path);
  } catch (error) {
    await rm(partial, {force: true}).catch(() => {}); // the first failure is the one to tell
    throw error;
  }
  await syncDirectory(path.slice(0, path.lastIndexOf('/')));
}

/** The new name, too, has to reach the disk. Windows has no such call and needs none. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  const {open} = await files();
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function unusable(directory: string, cause: unknown): CheckpointError {
  return new CheckpointError('checkpoint-unwritable', `Checkpoints cannot be kept in ${directory}: ${reasonOf(cause)}.`, {directory, cause});
}
