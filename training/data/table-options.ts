/** What a reader of tables may be told. */
import type {ReadLimits} from './limits.js';

/** Options of `readTable`. */
export interface TableOptions {
  /**
   * The delimiter of fields; ' ' is any number of blanks and tabs. Default: detected in the header line, tab before
   * semicolon before comma, and blanks if it has none of these and the line below it has a number for each of its
   * words.
   */
  readonly delimiter?: string;
  /** The decimal separator: '.' (default), or ',' as in many countries. */
  readonly decimal?: '.' | ',';
  /** Start of comment lines; default '#'. */
  readonly comment?: string;
  /** Lines at the beginning of a text file that are left out, whatever they contain; default 0. Errors count them. */
  readonly skip?: number;
  /** Columns that are text although they may look like numbers, such as codes. */
  readonly text?: readonly string[];
  /** Only these columns are read; the contents of others are neither kept nor checked. Default: all. */
  readonly columns?: readonly string[];
  /**
   * A missing number in a column of numbers (blank, NaN, NA, null, …): an error (default), or NaN. Infinities, text and
   * nested values in such a column are errors in either case.
   */
  readonly missing?: 'error' | 'nan';
  /** Limits of reading; beyond them a DataError 'table-limit' is thrown before the memory is allocated. */
  readonly limits?: Partial<ReadLimits>;
  /**
   * false: a text file begins with its first row. Its columns are then named by `columns`, one name per column, or c0,
   * c1, … Default true.
   */
  readonly header?: boolean;
}
