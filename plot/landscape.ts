/** A function of two parameters in colours, with the way of an optimizer across it. */
import {
  boolean,
  callable,
  list,
  nested,
  numbers,
  optional,
  readOptions,
  text,
  typed,
  type Options,
} from '../lib/checks.js';
import {OptionError} from '../lib/index.js';
import {type Series} from '../training/index.js';
import {numberText, lineChart} from '../training/internal.js';
import {lookOf, lookOptions} from './charts.js';

const axis = nested({name: text, values: numbers, unit: optional(text)}, 'bad-option');

const landscapeOptions = {
  ...lookOptions,
  /** The parameters of the two axes and the values at which the loss is evaluated. */
  x: axis,
  y: axis,
  /** The loss as a function, or all its values, [y, x] row-major. */
  loss: typed<((x: number, y: number) => number) | ArrayLike<number>>({
    what: 'a function or an array of numbers',
    test: value => callable.test(value) || numbers.test(value),
  }),
  /** Colours by the logarithm of the loss; default true if all are positive. */
  log: optional(boolean),
  /** Points on an optimizer's path, [x, y] each. */
  path: optional(typed<readonly (readonly [number, number])[]>(list), []),
};

/** The argument of `charts.landscape`. @interface */
export type Landscape = Options<typeof landscapeOptions>;

/**
 * The loss over a grid of two parameters: dark is low. Grids are evenly spaced; a loss that is not finite leaves a
 * hole.
 * @throws OptionError 'bad-option', 'bad-plot'
 */
export function landscape(landscape: Landscape): string {
  const read = readOptions(landscape, landscapeOptions, 'charts.landscape', 'bad-option');
  const {x, y, loss, path} = read;
  const [columns, rows] = [x.values.length, y.values.length];
  if (columns < 2 || rows < 2 || (typeof loss !== 'function' && loss.length !== columns * rows))
    throw new OptionError(
      'bad-plot',
      `charts.landscape: a grid of ${columns} × ${rows} values must be at least 2 × 2 and needs one loss for each.`,
    );
  const places = Array.from(
    {length: columns * rows},
    (_, i) => [x.values[i % columns], y.values[Math.floor(i / columns)]] as const,
  );
  const values =
    typeof loss === 'function' ? Float64Array.from(places, ([a, b]) => loss(a, b)) : Float64Array.from(loss);
  const known = values.filter(Number.isFinite);
  const {log = known.every(value => value > 0)} = read;
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
