/** What may be missing: only a file or a folder that does not exist counts as absent. Every other failure is an error. */

export const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

/** What `found` gives, or `absent` where the error's code is ENOENT or one of `more`. @throws every other error */
export async function absentAs<T, U>(absent: U, found: Promise<T>, ...more: readonly string[]): Promise<T | U> {
  try {
    return await found;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || more.includes(codeOf(error))) return absent;
    throw error;
  }
}
