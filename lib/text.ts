/**
 * Texts for sentences and keys: of bounded length, as what a user gave stands in errors, and a cell of a table or a
 * name may hold megabytes.
 */

/** A text of about so many letters at most: its beginning, and so many of its end. */
export function shortened(text: string, most: number, end = 0): string {
  if (text.length <= most) return text;
  return (
    `${text.slice(0, most - end)} … (${text.length - most} letters left `
    + `out)${end === 0 ? '' : ` … ${text.slice(-end)}`}`
  );
}

/**
 * The entries of a list in a sentence, of a long one the first and how many more there are.
 * @param most of a thousand rows the first eight say where to look
 */
export function listed(entries: readonly unknown[], most = 8): string {
  const first = entries.slice(0, most).join(', ');
  return entries.length <= most ? first : `${first} and ${entries.length - most} more`;
}

/** Keys that tell objects apart which may have one name, for what is kept by them. */
export function identityKeys<T extends object & {readonly name: string}>(): (object: T) => string {
  const keys = new WeakMap<T, string>();
  let count = 0;
  return object => {
    let key = keys.get(object);
    if (key === undefined) keys.set(object, (key = `${object.name}#${count++}`));
    return key;
  };
}

/**
 * A word of a command line of a POSIX shell, whatever characters it has: between single quotes only such a quote is
 * special.
 */
export const shellWord = (word: string): string => (/^[\w-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`);
