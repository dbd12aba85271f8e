/** Node's file system, loaded at the call, so that whatever may need it can be imported in a browser. */
import type {StiffgradError} from '../../lib/errors.js';

/** @param absent the error where there is none: a bundle for browsers has an empty module in its place */
export async function filesystem(absent: () => StiffgradError) {
  const fs = await import('node:fs/promises');
  if (fs.open === undefined) throw absent();
  return fs;
}

export type FileHandle = Awaited<ReturnType<Awaited<ReturnType<typeof filesystem>>['open']>>;

/** What went wrong, in the operating system's words. */
export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
