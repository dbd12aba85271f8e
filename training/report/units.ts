/**
 * Units of readable size: 0.0000033 m is 3.3 µm. Only units that take SI prefixes get one; others, kg among
 * them, which has one already, get a power of ten.
 */
import {numberText, powerOfTen} from './number-text.js';

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
