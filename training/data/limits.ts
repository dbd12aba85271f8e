/**
 * Limits of reading a file. A file states its own sizes, and a damaged or hostile one states any: so every
 * size is held against a limit before it is allocated. All limits can be raised where a file is known to be good.
 */
import {optional, positiveOrInfinite, readOptions, type Options, type OptionValues} from '../../lib/checks.js';
import {DataError} from '../../lib/errors.js';

const limitOptions = {
  /**
   * Size of the file. Default 2 GiB, which fits into memory at once. `readTable.chunks`, which does not load it at
   * once, has no limit.
   */
  bytes: optional(positiveOrInfinite, 2 ** 31),
  /** Bytes of the numbers and texts read, of one chunk for `readTable.chunks`. Default 2 GiB, half of Node's heap. */
  memory: optional(positiveOrInfinite, 2 ** 31),
  /** Default 2²⁷: a column of as many numbers takes 1 GiB. `readTable.chunks` has no limit. */
  rows: optional(positiveOrInfinite, 2 ** 27),
  /** Default 2¹⁶, four times what spreadsheets have. */
  columns: optional(positiveOrInfinite, 2 ** 16),
  /** Characters of one row of text. Default 2²⁴. A quote that is never closed ends here. */
  record: optional(positiveOrInfinite, 2 ** 24),
  /**
   * Bytes unpacked per packed byte, if more than 64 MiB are unpacked. Default 200: measurements in double precision
   * have 1 to 20, switches written as doubles up to 100.
   */
  ratio: optional(positiveOrInfinite, 200),
  /** Default 10, and one for each MB of the file: the slowest reader does 5 MB a second. */
  seconds: optional(positiveOrInfinite),
};

/** Limits beyond which a file is refused. @interface */
export type ReadLimits = Options<typeof limitOptions>;

/** The ratio does not count below this many bytes: a few zeros pack well. */
const SMALL = 2 ** 26;

/** Milliseconds, 25 days; setTimeout takes more for none. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** The limits of one reading, and when it began. @throws OptionError for limits that are not positive */
export class Budget {
  private readonly limits: OptionValues<typeof limitOptions>;
  private readonly began = performance.now();

  constructor(
    readonly file: string,
    given: ReadLimits = {},
    owner = 'readTable',
  ) {
    this.limits = readOptions(given, limitOptions, `${owner}: limits`);
  }

  limit(name: Exclude<keyof ReadLimits, 'seconds'>): number {
    return this.limits[name];
  }

  /** For a file of so many bytes, as far as they are known. */
  seconds(bytes: number): number {
    return this.limits.seconds ?? 10 + bytes / 1e6;
  }

  /** @param what as in 'the array x takes' @throws DataError 'table-limit' */
  require(name: Exclude<keyof ReadLimits, 'seconds' | 'ratio'>, value: number, what: string): void {
    const most = this.limits[name];
    if (!(value <= most))
      throw this.exceeded(name, `${what} ${value} ${units[name]}, but at most ${most} are allowed`, {value, most});
  }

  /** @throws DataError 'table-limit' where unpacking would give more than was meant */
  requireRatio(unpacked: number, packed: number, what: string): void {
    const {ratio} = this.limits;
    if (unpacked > SMALL && unpacked > ratio * packed)
      throw this.exceeded(
        'ratio',
        `${what} ${packed} bytes that unpack to ${unpacked}, more than ${ratio} times as many`,
        {value: unpacked / packed, most: ratio},
      );
  }

  /** @throws DataError 'table-limit' once the time is over */
  requireTime(bytes: number): void {
    if (performance.now() - this.began > 1000 * this.seconds(bytes)) throw this.overtime(bytes);
  }

  /** The result of `reading`. @throws DataError 'table-limit' once the time is over */
  async within<T>(bytes: number, reading: Promise<T>): Promise<T> {
    const left = 1000 * this.seconds(bytes) - (performance.now() - this.began);
    if (left > LONGEST_TIMER) return reading;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(this.overtime(bytes)), left);
    });
    try {
      return await Promise.race([reading, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  overtime(bytes: number): DataError {
    return this.exceeded('seconds', `reading it took longer than ${this.seconds(bytes)} s`, {
      most: this.seconds(bytes),
    });
  }

  exceeded(name: keyof ReadLimits, why: string, data: Readonly<Record<string, unknown>> = {}): DataError {
    return new DataError('table-limit', `${this.file}: ${why}. If the file is correct, raise limits: {${name}}.`, {
      file: this.file,
      limit: name,
      ...data,
    });
  }
}

const units = {
  bytes: 'bytes',
  memory: 'bytes of memory',
  rows: 'rows',
  columns: 'columns',
  record: 'characters in a row',
} as const;
