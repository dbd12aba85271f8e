/** Node's file system, asked for at the call, so that whatever may need it can be imported in a browser. */
import {builtin} from '../../lib/builtin.js';
import type {StiffgradError} from '../../lib/errors.js';

/** @param absent the error where there is none: in pages, and in Node before 20.16 */
export function filesystem(absent: () => StiffgradError) {
  const fs = builtin?.('node:fs/promises');
  if (fs === undefined) throw absent();
  return fs;
}

export type FileSystem = ReturnType<typeof filesystem>;
export type FileHandle = Awaited<ReturnType<FileSystem['open']>>;

/** Node's `path`, for those who have its file system already. */
export const nodePath = () => (builtin as NonNullable<typeof builtin>)('node:path');

/** The cause of an error, in the operating system's words. */
export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
