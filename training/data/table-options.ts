/** Options of readers of tables. */
import {
  boolean,
  listOf,
  object,
  oneOf,
  optional,
  text,
  typed,
  nonNegativeInteger,
  type Options,
} from '../../lib/checks.js';
import type {ReadLimits} from './limits.js';

export const tableOptions = {
  /**
   * The delimiter of fields; ' ' is any number of blanks and tabs. Default: detected in the header line, tab before
   * semicolon before comma, and blanks if it has none of these and the line below it has a number for each of its
   * words.
   */
  delimiter: optional(text),
  /** The decimal separator: '.' (default), or ',' as in many countries. */
  decimal: optional(oneOf('.', ',')),
  /** Start of comment lines; default '#'. */
  comment: optional(text),
  /** Lines at the beginning of a text file that are left out, whatever they contain; default 0. Errors count them. */
  skip: optional(nonNegativeInteger),
  /** Columns that are text although they may look like numbers, such as codes. */
  text: optional(listOf('names', text)),
  /** Only these columns are read; the contents of others are neither kept nor checked. Default: all. */
  columns: optional(listOf('names', text)),
  /**
   * A missing number in a column of numbers (blank, NaN, NA, null, …): an error (default), or NaN. Infinities, text and
   * nested values in such a column are errors in either case.
   */
  missing: optional(oneOf('error', 'nan')),
  /** Limits of reading; beyond them a DataError 'table-limit' is thrown before the memory is allocated. */
  limits: optional(typed<ReadLimits>(object)),
  /**
   * false: a text file begins with its first row. Its columns are then named by `columns`, one name per column, or c0,
   * c1, … Default true.
   */
  header: optional(boolean),
};

/** Options of `readTable`. @interface */
export type TableOptions = Options<typeof tableOptions>;
