/** Files that may be missing, and files that appear whole. */
import {randomBytes} from 'node:crypto';
import {mkdir, rename, rm} from 'node:fs/promises';
import path from 'node:path';
import {DataError} from '../lib/errors.js';

export const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

/**
 * The value of `found`, or `absent` if the error's code is ENOENT or one of `more`: other failures do not tell whether
 * a file is there.
 * @throws every other error
 */
export async function absentAs<T, U>(absent: U, found: Promise<T>, ...more: readonly string[]): Promise<T | U> {
  try {
    return await found;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || more.includes(codeOf(error))) return absent;
    throw error;
  }
}

/**
 * Has a file written under another name, which no other writer has, and renames it when it is complete. Makes its
 * folder.
 * @throws what `write` throws; DataError 'file-unwritable' where the file system fails
 */
export async function writeWhole<T>(file: string, write: (partial: string) => Promise<T>): Promise<T> {
  const partial = `${file}.${randomBytes(8).toString('hex')}.partial`;
  try {
    await mkdir(path.dirname(path.resolve(file)), {recursive: true});
    const result = await write(partial);
    await rename(partial, file);
    return result;
  } catch (error) {
    await rm(partial, {force: true}).catch(() => {}); // the first failure is the one to tell
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new DataError('file-unwritable', `${file} cannot be written: ${(error as Error).message}.`, {file});
  }
}
