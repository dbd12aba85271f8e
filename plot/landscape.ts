/** A function of two parameters in colours, with the way of an optimizer across it. */
import {callable, list, numbers, object, refuseUnknownOptions, text, boolean} from '../lib/checks.js';
import {OptionError} from '../lib/index.js';
import {lineChart, numberText, type Series} from '../training/index.js';
import {lookOf, lookOptions, type Look} from './charts.js';

/** The argument of `lossLandscape`. */
export interface Landscape extends Look {
  /** The parameters of the two axes and the values at which the loss is evaluated. */
  readonly x: {readonly name: string; readonly values: ArrayLike<number>; readonly unit?: string};
  readonly y: {readonly name: string; readonly values: ArrayLike<number>; readonly unit?: string};
  /** The loss as a function, or all its values, [y, x] row-major. */
  readonly loss: ((x: number, y: number) => number) | ArrayLike<number>;
  /** Colours by the logarithm of the loss; default true if all are positive. */
  readonly log?: boolean;
  /** Points on an optimizer's path, [x, y] each. */
  readonly path?: readonly (readonly [number, number])[];
}

/**
 * The loss over a grid of two parameters: dark is low. Grids are evenly spaced; a loss that is not finite leaves a
 * hole.
 * @throws OptionError 'bad-option', 'bad-plot'
 */
export function lossLandscape(landscape: Landscape): string {
  refuseUnknownOptions(
    landscape,
    {
      ...lookOptions,
      x: object,
      y: object,
      loss: {what: 'a function or an array of numbers', test: value => callable.test(value) || numbers.test(value)},
      log: boolean,
      path: list,
    },
    'lossLandscape',
    'bad-option',
  );
  const {x, y, loss, path = []} = landscape;
  for (const side of ['x', 'y'] as const)
    refuseUnknownOptions(
      landscape[side],
      {name: text, values: numbers, unit: text},
      `lossLandscape: ${side}`,
      'bad-option',
    );
  const [columns, rows] = [x.values.length, y.values.length];
  if (columns < 2 || rows < 2 || (typeof loss !== 'function' && loss.length !== columns * rows))
    throw new OptionError(
      'bad-plot',
      `lossLandscape: a grid of ${columns} × ${rows} values must be at least 2 × 2 and needs one loss for each.`,
    );
  const places = Array.from(
    {length: columns * rows},
    (_, i) => [x.values[i % columns], y.values[Math.floor(i / columns)]] as const,
  );
  const values =
    typeof loss === 'function' ? Float64Array.from(places, ([a, b]) => loss(a, b)) : Float64Array.from(loss);
  const known = values.filter(Number.isFinite);
  const {log = known.every(value => value > 0)} = landscape;
  const [low, high] = [
    known.reduce((a, b) => Math.min(a, b), Infinity),
    known.reduce((a, b) => Math.max(a, b), -Infinity),
  ];
  const series: Series[] = [
    {
      name: `loss: ${numberText(low, 2)} (dark) … ${numberText(high, 2)}${log ? ', logarithmic' : ''}`,
      x: places.map(([a]) => a),
      y: places.map(([, b]) => b),
      value: log ? values.map(Math.log) : values,
      style: 'cells',
    },
  ];
  if (path.length > 0) {
    const [across, up] = [path.map(([a]) => a), path.map(([, b]) => b)];
    series.push({name: 'path', x: across, y: up, color: 1}, {name: '', x: across, y: up, color: 1, style: 'points'});
  }
  return lineChart({
    title: landscape.title ?? `Loss over ${x.name} and ${y.name}`,
    ...lookOf({width: 520, height: 420, ...landscape}),
    legend: true,
    x: {label: x.name, unit: x.unit},
    y: {label: y.name, unit: y.unit},
    series,
  });
}
