/**
 * One column of a table while it is read: numbers in a growing Float64Array, or text. The first
 * filled cell decides which; after that a number column accepts numbers only, so that a broken cell
 * is found where it stands and not as a NaN in the middle of a simulation.
 */

/** The end of a DataError's sentence about a cell: the fault, and the remedy. */
export interface CellComplaint {
  readonly what: string;
  readonly remedy: string;
}

/**
 * Decimal and scientific notation; hexadecimal, blanks and words, which `Number` would take too, are not numbers here.
 * A digit can be matched in one way only, so that a long cell is looked through once.
 */
const pointed = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** A number with a comma before the decimals. */
const withComma = /^[+-]?(?:\d+(?:,\d*)?|,\d+)(?:[eE][+-]?\d+)?$/;

/** From here on, doubles are whole numbers with gaps between. */
const exactBelow = 2 ** 53;

/** A whole number that is meant to its last digit; one with a point or an exponent is a measurement, and is rounded. */
const wholeDigits = /^[+-]?\d+$/;

/** A number in either way of writing. */
export const isNumeral = (cell: string): boolean => pointed.test(cell) || withComma.test(cell);

/** Words that programs write for a missing number. */
const missingWord = /^[+-]?(?:nan|na|n\/a|null|none|#n\/a|-+)$/i;

/** Words for a number that overflowed: a value, but none to compute with. */
const infiniteWord = /^[+-]?(?:inf|infinity|∞)$/i;

/** A column, or a stretch of one, once it is read. */
export interface ReadColumn {
  readonly name: string;
  readonly kind: 'undecided' | 'number' | 'text' | 'ignored';
  readonly decidedAt: number;
  readonly isBlank: boolean;
  readonly values: Float64Array;
  readonly text: readonly string[];
}

export class Column {
  kind: ReadColumn['kind'];
  /** The line of the first filled cell: the reason for the kind. */
  decidedAt = 0;
  private numbers = new Float64Array(16); // a table may have many columns of few rows
  private words: string[] = [];
  private characters = 0;
  private size = 0;
  private firstBlankLine = 0;

  constructor(
    readonly name: string,
    kind: 'undecided' | 'text' | 'ignored' = 'undecided',
    /** Missing numbers become NaN. */
    private readonly lenient = false,
    private readonly decimal: '.' | ',' = '.',
  ) {
    this.kind = kind;
  }

  /** Takes the next cell; a complaint where it does not fit, with the line where the trouble began. */
  push(cell: string, line: number): (CellComplaint & {line: number; text: string}) | undefined {
    if (this.kind === 'ignored') return undefined;
    if (this.decidedAt === 0) this.decide(cell, line);
    if (this.lenient && this.kind !== 'text' && isGap(cell)) {
      if (this.kind === 'undecided') this.keep(cell); // the column may turn out to be text
      return this.append(NaN);
    }
    if (this.kind === 'undecided') {
      this.firstBlankLine ||= line;
    } else if (this.kind === 'number') {
      if (this.firstBlankLine > 0) return {...blank, line: this.firstBlankLine, text: ''};
      const value = this.isNumber(cell) ? Number(cell.replace(',', '.')) : NaN;
      if (!Number.isFinite(value)) return {...this.complaint(cell), line, text: cell};
      // The shortest digits of a double, which programs write, mean that double, though they are another number.
      const shortest = cell === String(value);
      if (Math.abs(value) >= exactBelow && wholeDigits.test(cell) && !shortest && BigInt(cell) !== BigInt(value))
        return {...rounded, line, text: cell};
      if (this.words.length > 0) this.forgetWords();
      return this.append(value);
    }
    this.keep(cell);
    this.size++;
    return undefined;
  }

  /** Memory in bytes: a text is a pointer, a head of three words, and its characters. */
  get bytes(): number {
    return this.numbers.byteLength + 32 * this.words.length + 2 * this.characters;
  }

  /** The cells so far, which are then forgotten; what they are, numbers or text, stays decided. */
  take(): ReadColumn {
    const {name, decidedAt, isBlank, words: text, numbers, size} = this;
    // A column of gaps alone is a column of numbers, if gaps are allowed.
    const kind = this.lenient && this.kind === 'undecided' ? 'number' : this.kind;
    const taken = {name, kind, decidedAt, isBlank, values: numbers.slice(0, size), text};
    this.forgetWords();
    this.size = 0;
    return taken;
  }

  private keep(cell: string): void {
    this.words.push(cell);
    this.characters += cell.length;
  }

  private forgetWords(): void {
    this.words = [];
    this.characters = 0;
  }

  private append(value: number): undefined {
    if (this.size === this.numbers.length) this.grow();
    this.numbers[this.size++] = value;
    return undefined;
  }

  /** Whether every cell so far is blank: what a delimiter at the end of each line leaves behind. */
  get isBlank(): boolean {
    return this.decidedAt === 0;
  }

  private decide(cell: string, line: number): void {
    if (cell === '' || (this.lenient && isGap(cell))) return;
    this.decidedAt = line;
    if (this.kind === 'undecided')
      this.kind = this.isNumber(cell) || missingWord.test(cell) || infiniteWord.test(cell) ? 'number' : 'text';
  }

  private isNumber(cell: string): boolean {
    return (this.decimal === ',' ? withComma : pointed).test(cell);
  }

  private complaint(cell: string): CellComplaint {
    if (cell === '') return blank;
    if (this.isNumber(cell))
      return {what: 'is larger than a double can hold', remedy: 'Correct the cell or choose another unit.'};
    if (infiniteWord.test(cell)) return notFinite(Infinity);
    return missingWord.test(cell) ? notFinite(NaN) : (otherDecimal(cell) ?? notNumeric);
  }

  private grow(): void {
    const larger = new Float64Array(2 * this.numbers.length);
    larger.set(this.numbers);
    this.numbers = larger;
  }
}

const isGap = (cell: string): boolean => cell === '' || missingWord.test(cell);

const blank: CellComplaint = {
  what: 'is empty where a number is needed',
  remedy:
    "Fill the cell, remove the row, read it as NaN with missing: 'nan', or name the columns that are needed in the "
    + 'option `columns`.',
};

const rounded: CellComplaint = {
  what: 'is a whole number that a double cannot represent exactly',
  remedy:
    'Read the column as text by the option `text`, and subtract an offset as BigInt; leave it out by naming the '
    + 'others in `columns`; or, if rounding does not matter, write a decimal point behind it.',
};

/** The complaint about NaN or an infinity; an infinity is not a missing value, and is never read as one. */
export const notFinite = (value: number): CellComplaint => ({
  what: 'is not a finite number',
  remedy: Number.isNaN(value)
    ? "Remove the row, fill the gap with a measured value, or read it as NaN with missing: 'nan'."
    : 'An infinity is no measurement: correct the cell, or remove the row.',
});

const notNumeric: CellComplaint = {
  what: 'is not a number',
  remedy: 'Correct the cell, remove the row, or, if the column is text, name it in the option `text`.',
};

/** The complaint about a cell that would be a number with the other sign before its decimals. */
export function otherDecimal(cell: string): CellComplaint | undefined {
  if (/^[+-]?[1-9]\d{0,2},\d{3}$/.test(cell))
    return {
      what: 'has a comma, of decimals or of thousands',
      remedy:
        "If decimals follow it, read the file with decimal: ',', or write a decimal point; if thousands, remove it.",
    };
  if (/^[+-]?\d*,\d+(?:[eE][+-]?\d+)?$/.test(cell))
    return {what: 'has a decimal comma', remedy: "Read the file with decimal: ',', or write a decimal point."};
  if (/^[+-]?\d*\.\d+(?:[eE][+-]?\d+)?$/.test(cell))
    return {what: 'has a decimal point', remedy: "Read the file without decimal: ','."};
  return undefined;
}
