/** Arrays whose size the user decides: where there is no room for one, that is said, with what it was for. */
import {MemoryError} from './errors.js';

/** Bytes in the unit that fits: '3.2 GB'. */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'];
  const power = Math.min(Math.max(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), 0), units.length - 1);
  return `${Number((bytes / 1000 ** power).toPrecision(2))} ${units[power]}`;
}

/**
 * Zeros.
 * @param what they are, as the sentence names them: 'initial.q'
 * @param remedy what to change, as a sentence
 * @throws MemoryError 'out-of-memory'
 */
export function newNumbers(count: number, what: string, remedy = 'Make it smaller.'): Float64Array<ArrayBuffer> {
  try {
    return new Float64Array(count);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const bytes = 8 * count;
    const refused = new MemoryError(
      'out-of-memory',
      `Not enough memory for ${what}: ${count} numbers, ${bytesText(bytes)}. ${remedy}`,
      {bytes, what},
    );
    refused.cause = error;
    throw refused;
  }
}
