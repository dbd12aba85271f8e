/**
 * Numbers as a reader wants them: as many digits as their error leaves meaning (two of the error's:
 * GUM, JCGM 100:2008, §7.2.6), a true minus sign, powers of ten as superscripts.
 */

/**
 * `value` to the last digit that its standard error leaves; to `digits` significant ones without an error.
 * @example
 * ```ts
 * import {reports} from 'stiffgrad/training';
 *
 * console.log(reports.measuredText(9.80665, 0.012)); // → 9.807
 * ```
 */
export function measuredText(value: number, standardError = NaN, digits = 6): string {
  if (!Number.isFinite(value)) return numberText(value);
  if (!(Number.isFinite(standardError) && standardError > 0)) return numberText(value, digits);
  const decimals = errorDecimals(standardError);
  // If the error is larger than the value, the value's own first digits are still worth showing.
  const significant = value === 0 ? 1 : Math.max(1, Math.floor(Math.log10(Math.abs(value))) + 1 + decimals);
  const plain = Math.abs(value) < 1e6 && decimals <= 6 && decimals >= 0;
  return plain ? minus(value.toFixed(decimals)) : numberText(value, Math.min(significant, 15), true);
}

/** A standard error with two significant digits. */
export function errorText(standardError: number): string {
  if (!Number.isFinite(standardError)) return numberText(standardError);
  const decimals = standardError > 0 ? errorDecimals(standardError) : 0;
  return decimals >= 0 && decimals <= 6 && standardError < 1e6
    ? standardError.toFixed(decimals)
    : numberText(standardError, 2, true);
}

/** Significant digits, in positional or scientific notation, whichever is shorter to read. */
export function numberText(value: number, digits = 4, keepZeros = false): string {
  if (Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  const rounded = Number(value.toPrecision(digits));
  if (rounded === 0) return '0';
  const exponent = Math.floor(Math.log10(Math.abs(rounded)));
  if (exponent >= -4 && exponent < Math.max(6, digits)) {
    const text = rounded.toFixed(Math.max(0, digits - 1 - exponent));
    return minus(keepZeros ? text : stripZeros(text));
  }
  const [mantissa, power] = rounded.toExponential(digits - 1).split('e');
  return `${minus(keepZeros ? mantissa : stripZeros(mantissa))} × ${powerOfTen(Number(power))}`;
}

/** A fixed number of decimals, for columns of like numbers; nothing is −0. */
export function fixedText(value: number, decimals: number): string {
  return minus(value.toFixed(decimals)).replace(/^−(0(?:\.0+)?)$/, '$1');
}

/** 10 with a superscript exponent. */
export function powerOfTen(exponent: number): string {
  const superscripts: Readonly<Record<string, string>> = {
    '-': '⁻',
    0: '⁰',
    1: '¹',
    2: '²',
    3: '³',
    4: '⁴',
    5: '⁵',
    6: '⁶',
    7: '⁷',
    8: '⁸',
    9: '⁹',
  };
  return `10${[...String(exponent)].map(digit => superscripts[digit]).join('')}`;
}

function errorDecimals(standardError: number): number {
  return 1 - Math.floor(Math.log10(standardError));
}

function stripZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

function minus(text: string): string {
  return text.replace('-', '−');
}

/** SI base and derived units that take a prefix, alone or at the head of a product or quotient. */
const prefixable = /^(?:m|s|V|A|N|W|J|Hz|Pa|rad|F|H|Ω|C|T)(?=$|[/·*])/;

const prefixes: Readonly<Record<number, string>> = {
  '-12': 'p',
  '-9': 'n',
  '-6': 'µ',
  '-3': 'm',
  0: '',
  3: 'k',
  6: 'M',
  9: 'G',
};

/** The unit in which `size` is easy to read, and the factor that numbers take on in it. */
export function readableUnit(unit = '', size: number): {factor: number; unit: string} {
  if (size === 0 || (size >= 0.1 && size < 1e4)) return {factor: 1, unit};
  const exponent = 3 * Math.floor(Math.log10(size) / 3 + 1e-9); // 1000 itself is 1 k, whatever its logarithm rounds to
  const factor = 10 ** -exponent;
  const prefix = prefixes[exponent];
  if (prefixable.test(unit) && prefix !== undefined) return {factor, unit: prefix + unit};
  return {factor, unit: unit === '' ? `× ${powerOfTen(exponent)}` : `${powerOfTen(exponent)} ${unit}`};
}

/** A number with its unit: '3.3 µm', '0.25 V', '1.2 × 10⁻⁷ kg'. */
export function quantityText(value: number, unit = '', digits = 4): string {
  if (unit === '' || !prefixable.test(unit) || !Number.isFinite(value))
    return `${numberText(value, digits)} ${unit}`.trim();
  const readable = readableUnit(unit, Math.abs(value));
  return `${numberText(value * readable.factor, digits)} ${readable.unit}`;
}
