/**
 * A file is written beside its place, forced to the disk, and renamed into place: at any moment, whatever happens,
 * the name has its whole old content or its whole new one (Pillai et al., All File Systems Are Not Created Equal,
 * OSDI 2014: without both fsyncs a crash may keep the name and lose the content).
 */
import {nodePath, type FileSystem} from './filesystem.js';

/** Hexadecimal digits that nobody can know before. */
export function randomName(digits: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(digits / 2)), byte =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

/**
 * Several writers of one path do not meet: each has a name of its own for the part, and the last to rename is the one
 * that stays. Nobody can lay a link in the way, for the part must not exist before. A device or a pipe is written
 * to, not replaced.
 */
export async function writeWhole(fs: FileSystem, path: string, content: Uint8Array | string): Promise<void> {
  const there = await fs.stat(path).catch((error: {readonly code?: string}) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (there !== undefined && !there.isFile() && !there.isDirectory()) return fs.writeFile(path, content);
  const partial = `${path}.${randomName(16)}.partial`;
  try {
    await writeNew(fs, partial, content);
    if (there !== undefined) await fs.chmod(partial, there.mode & 0o777);
    await fs.rename(partial, path);
  } catch (error) {
    await fs.rm(partial, {force: true}).catch(() => {}); // the first failure is the one to tell
    throw error;
  }
  await syncFolder(fs, path);
}

/** A file that must not exist yet, not even as a link; on the disk when this is done. */
export async function writeNew(fs: FileSystem, path: string, content: Uint8Array | string): Promise<void> {
  const {O_CREAT, O_EXCL, O_WRONLY} = fs.constants;
  // Windows has no O_NOFOLLOW; O_EXCL alone refuses links, too.
  const file = await fs.open(
    path,
    O_CREAT | O_EXCL | O_WRONLY | ((fs.constants.O_NOFOLLOW as number | undefined) ?? 0),
  );
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The new name, too, has to reach the disk. Windows has no such call and needs none. */
async function syncFolder(fs: FileSystem, path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await fs.open(nodePath().dirname(path), 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
