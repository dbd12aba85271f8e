/**
 * One column of a table while it is read: numbers in a growing Float64Array, or text. The first
 * filled cell decides which; after that a number column accepts numbers only, so that a broken cell
 * is found where it stands and not as a NaN in the middle of a simulation.
 */

/** What is wrong with a cell, and what to do: the end of a DataError's sentence. */
export interface CellComplaint {
  readonly what: string;
  readonly remedy: string;
}

/** Decimal and scientific notation; hexadecimal, blanks and words, which `Number` would take too, are not numbers here. */
const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Words that programs write for a number that is none: a number column's, not a text column's. */
const notANumber = /^[+-]?(?:nan|inf|infinity|na|n\/a|null|none|#n\/a|-+)$/i;

export class Column {
  kind: 'undecided' | 'number' | 'text';
  /** The line of the first filled cell: the reason for the kind. */
  decidedAt = 0;
  private numbers = new Float64Array(1024);
  private readonly words: string[] = [];
  private size = 0;
  private firstBlankLine = 0;

  constructor(
    readonly name: string,
    kind: 'undecided' | 'text' = 'undecided',
  ) {
    this.kind = kind;
  }

  /** Takes the next cell; a complaint where it does not fit, with the line where the trouble began. */
  push(cell: string, line: number): (CellComplaint & { line: number; text: string }) | undefined {
    if (this.decidedAt === 0) this.decide(cell, line);
    if (this.kind === 'undecided') {
      this.firstBlankLine ||= line;
    } else if (this.kind === 'number') {
      if (this.firstBlankLine > 0) return { ...blank, line: this.firstBlankLine, text: '' };
      const value = decimal.test(cell) ? Number(cell) : NaN;
      if (!Number.isFinite(value)) return { ...complaint(cell), line, text: cell };
      if (this.size === this.numbers.length) this.grow();
      this.numbers[this.size] = value;
    }
    if (this.kind !== 'number') this.words.push(cell);
    this.size++;
    return undefined;
  }

  get values(): Float64Array {
    return this.numbers.slice(0, this.size);
  }

  get text(): readonly string[] {
    return this.words;
  }

  /** Whether every cell so far is blank: what a delimiter at the end of each line leaves behind. */
  get isBlank(): boolean {
    return this.decidedAt === 0;
  }

  private decide(cell: string, line: number): void {
    if (cell === '') return;
    this.decidedAt = line;
    if (this.kind === 'undecided') this.kind = decimal.test(cell) || notANumber.test(cell) ? 'number' : 'text';
  }

  private grow(): void {
    const larger = new Float64Array(2 * this.numbers.length);
    larger.set(this.numbers);
    this.numbers = larger;
  }
}

const blank: CellComplaint = {
  what: 'is empty where a number is needed',
  remedy: 'Fill the cell or remove the row.',
};

function complaint(cell: string): CellComplaint {
  if (cell === '') return blank;
  if (notANumber.test(cell))
    return { what: 'is not a finite number', remedy: 'Remove the row or fill the gap with a measured value.' };
  if (decimal.test(cell)) return { what: 'is larger than a double can hold', remedy: 'Correct the cell or choose another unit.' };
  if (/^[+-]?\d+,\d+$/.test(cell)) return { what: 'has a decimal comma', remedy: 'Write a decimal point.' };
  return {
    what: 'is not a number',
    remedy: 'Correct the cell, remove the row, or, where the column is meant to be text, name it in the option `text`.',
  };
}
