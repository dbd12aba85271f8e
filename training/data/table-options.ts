/** What a reader of tables may be told. */
import type {ReadLimits} from './limits.js';

/** Options of `readTable`. */
export interface TableOptions {
  /**
   * What stands between fields; ' ' is any number of blanks and tabs. Default: by the header line, tab before semicolon before
   * comma, and blanks where it has none of these and the line below it has a number for each of its words.
   */
  readonly delimiter?: string;
  /** What stands before the decimals: '.' (default), or ',' in files written where that is usual. */
  readonly decimal?: '.' | ',';
  /** A line that begins so is a remark; default '#'. */
  readonly comment?: string;
  /** Columns that are text though they may look like numbers, such as codes. */
  readonly text?: readonly string[];
  /** Only these are read; what stands in others is neither kept nor looked at. Default all. */
  readonly columns?: readonly string[];
  /** A cell without a number in a column of numbers (blank, NaN, NA, null, …): an error (default), or NaN. */
  readonly missing?: 'error' | 'nan';
  /** What reading may cost; beyond it there is a DataError 'table-limit' before the memory is taken. */
  readonly limits?: Partial<ReadLimits>;
  /** false: a text file begins with its first row. Its columns are then named by `columns`, one a column, or c0, c1, … Default true. */
  readonly header?: boolean;
}
