/** An axis: the range of the data, a unit of readable size, round ticks (by d3-scale) and their labels. */
import {scaleLinear, scaleLog} from 'd3-scale';
import {boolean, numbers, oneOf, optional, text, typed, type Options} from '../../lib/checks.js';
import {numberText, powerOfTen, readableUnit} from './number-text.js';

export const axisSchema = {
  label: text,
  /** 'm', 'N·s/m', …; none for a pure number. */
  unit: optional(text),
  scale: optional(oneOf('linear', 'log')),
  /** Default: the data's range, with a margin on the y axis. */
  domain: optional(typed<readonly [number, number]>(numbers)),
  /** Ticks at whole numbers only, for what is counted. */
  integer: optional(boolean),
};

/** An axis of a chart. @interface */
export type Axis = Options<typeof axisSchema>;

export interface Tick {
  readonly value: number;
  readonly text: string;
}

export interface LaidAxis {
  /** Label with the unit in brackets. */
  readonly title: string;
  readonly ticks: readonly Tick[];
  /** Data to pixels. */
  readonly at: (value: number) => number;
  readonly domain: readonly [number, number];
}

/** `count` is about how many ticks there is room for. */
export function layAxis(
  axis: Axis,
  data: readonly [number, number],
  pixels: readonly [number, number],
  count: number,
): LaidAxis {
  return axis.scale === 'log' ? layLog(axis, data, pixels, count) : layLinear(axis, data, pixels, count);
}

function layLinear(
  axis: Axis,
  data: readonly [number, number],
  pixels: readonly [number, number],
  count: number,
): LaidAxis {
  const domain = axis.domain ?? widened(data);
  const {factor, unit} = readableUnit(axis.unit, Math.max(Math.abs(domain[0]), Math.abs(domain[1])));
  const scale = scaleLinear([domain[0] * factor, domain[1] * factor], [...pixels]);
  const format = axis.integer === true ? String : scale.tickFormat(count);
  return {
    title: unit === '' ? axis.label : `${axis.label} (${unit})`,
    ticks: scale
      .ticks(count)
      .filter(value => axis.integer !== true || Number.isInteger(value))
      .map(value => ({value: value / factor, text: format(value)})),
    at: value => scale(value * factor),
    domain,
  };
}

function layLog(
  axis: Axis,
  data: readonly [number, number],
  pixels: readonly [number, number],
  count: number,
): LaidAxis {
  const [low, high] = axis.domain ?? (data[0] < data[1] ? data : [data[0] / 2, data[0] * 2]);
  const scale = scaleLog([low, high], [...pixels]);
  // 10^k up to roundoff of the logarithm
  const powers = scale.ticks(count).filter(value => Number.isInteger(Number(Math.log10(value).toFixed(9))));
  const step = Math.max(1, Math.ceil(powers.length / count));
  // Between few powers there is room for 2 and 5 of each.
  const halves = scale
    .ticks(count)
    .filter(value => [1, 2, 5].includes(Number((value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toFixed(9))));
  const ticks =
    powers.length < 3 && powers.length > 0 && halves.length > 2 && halves.length <= count + 2
      ? halves.map(value => ({value, text: numberText(value, 3)}))
      : powers.length > 1
        ? powers.filter((_, i) => i % step === 0).map(value => ({value, text: powerText(value)}))
        : scale
            .ticks(count)
            .filter((_, i, all) => i % Math.ceil(all.length / count) === 0)
            .map(value => ({value, text: numberText(value, 3)}));
  return {
    title: axis.unit === undefined ? axis.label : `${axis.label} (${axis.unit})`,
    ticks,
    at: scale,
    domain: [low, high],
  };
}

/** 1 and 10 are easier to read than powers. */
function powerText(value: number): string {
  const exponent = Math.round(Math.log10(value));
  return exponent === 0 ? '1' : exponent === 1 ? '10' : powerOfTen(exponent);
}

/** A record that is constant, or so but for roundoff, still needs a range. */
function widened([low, high]: readonly [number, number]): [number, number] {
  if (high - low > 1e-12 * Math.max(Math.abs(low), Math.abs(high))) return [low, high];
  const margin = Math.abs(low) / 2 || 1;
  return [low - margin, high + margin];
}
