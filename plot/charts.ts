/** Runs, fits and trainings as charts: what is shown of each, in words and units; training's `lineChart` draws it. */
import {
  boolean,
  finite,
  list,
  listOf,
  nested,
  numbers,
  oneOf,
  optional,
  positive,
  readBy,
  readOptions,
  refuseUnknownOptions,
  requireValue,
  text,
  typed,
  type Options,
} from '../lib/checks.js';
import type {Trajectory, System} from '../lib/index.js';
import {OptionError} from '../lib/index.js';
import {type Series} from '../training/index.js';
import type {SeriesName} from '../lib/internal.js';
import {type LossHistory, historyChart, numberText, residualChart, lineChart} from '../training/internal.js';

export const lookOptions = {
  title: optional(text),
  /** A text alternative for readers who cannot see it. */
  description: optional(text),
  /** 'auto' (default) follows the reader's setting. */
  theme: optional(oneOf('auto', 'light', 'dark')),
  /** In CSS pixels; default 720 × 300. */
  width: optional(positive),
  height: optional(positive),
};

/** Options of all plots. @interface */
export type Look = Options<typeof lookOptions>;

/** The look of a chart without its title. */
export const lookOf = ({description, theme, width, height}: Look): Omit<Look, 'title'> => ({
  ...{description, theme, width, height},
});

const saved = oneOf('q', 'v', 'a', 'lambda', 'y', 'observed');

const plotOptions = {
  ...lookOptions,
  /** Default: q of mechanics, y of an ode. */
  series: optional(saved),
  /** Indices of the plotted components of a saved state, in row-major order; default: the first six. */
  components: optional(typed<readonly number[]>(list)),
  /** Names of the components, in their order. */
  names: optional(listOf('names', text)),
  /** Unit of the series: 'm', 'rad'. */
  unit: optional(text),
  /** Default 's'. */
  timeUnit: optional(text, 's'),
  /** With several runs, the fraction that lies within the band; default 0.9. */
  coverage: optional(positive, 0.9),
  /** An uncertainty about each component of one run, [saved, components] row-major: the band is value ± spread. */
  spread: optional(numbers),
  /** A record as points at its own times: values [samples, components] row-major, NaN where missing. */
  measured: optional(
    readBy((given: {readonly t: ArrayLike<number>; readonly values: ArrayLike<number>}, name) => {
      refuseUnknownOptions(given, {t: numbers, values: numbers}, name, 'bad-option');
      for (const one of ['t', 'values'] as const) requireValue(given[one], numbers, `${name}.${one}`);
      return given;
    }),
  ),
};

/** Options of `plot`. @interface */
export type PlotOptions = Options<typeof plotOptions>;

/** Lines that are told apart: there are six colours. */
const LINES = 6;

/**
 * A series over time: of one run, or of several at the same times as their median and the band that contains `coverage`
 * of them, as from a batch over uncertain parameters.
 * @throws OptionError 'bad-option', 'no-series', 'bad-plot'
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {mechanics, simulate} from 'stiffgrad';
 * import {plot} from 'stiffgrad/plot';
 *
 * const system = mechanics({mass: 1, forces: ({q}) => tf.neg(q)});
 * const path = simulate(system, {q: 1, v: 0}, {dt: 0.1, steps: 100});
 * console.log(plot(path, {unit: 'm'})); // → <svg class="chart"…
 * ```
 */
export function plot(run: Trajectory<System> | readonly Trajectory<System>[], options: PlotOptions = {}): string {
  const given = readOptions(options, plotOptions, 'plot', 'bad-option');
  const runs = requireRuns(run);
  const {series = mainSeries(runs[0]), unit, timeUnit, coverage, spread} = given;
  if (coverage >= 1)
    throw new OptionError('bad-option', `plot: coverage must be a fraction below 1, not ${coverage}.`, {coverage});
  const t = runs[0].values('t');
  const all = runs.map(one => columnsOf(one, series, t.length));
  const chosen = componentsOf(options.components, all[0].length);
  if (spread !== undefined && (runs.length > 1 || spread.length !== t.length * chosen.length))
    throw new OptionError(
      'bad-plot',
      `plot: spread has ${spread.length} numbers; one run of ${t.length} states and ${chosen.length} components needs `
        + `${t.length * chosen.length}.`,
    );
  if (runs.some(one => !sameTimes(one.values('t'), t)))
    throw new OptionError('bad-plot', 'plot: the runs are saved at different times; give them the same saveAt.');
  const lines = chosen.flatMap((k, i): Series[] => {
    const name = options.names?.[i] ?? (all[0].length === 1 ? series : `${series}[${k}]`);
    const members = all.map(columns => columns[k]);
    if (members.length > 1) {
      const [low, middle, high] = [(1 - coverage) / 2, 0.5, (1 + coverage) / 2].map(share => quantiles(members, share));
      return [
        {
          name: `${chosen.length > 1 ? `${name}, ` : ''}${percent(coverage)} of ${runs.length} runs`,
          x: t,
          y: high,
          low,
          style: 'band',
          color: i,
        },
        {name, x: t, y: middle, color: i},
      ];
    }
    const values = members[0];
    const at = (j: number): number => spread?.[j * chosen.length + i] ?? 0;
    const band: Series[] =
      spread === undefined
        ? []
        : [
            {
              name: `${name} ± uncertainty`,
              x: t,
              y: values.map((value, j) => value + at(j)),
              low: values.map((value, j) => value - at(j)),
              style: 'band',
              color: i,
            },
          ];
    return [...band, {name, x: t, y: values, color: i}];
  });
  if (options.measured !== undefined) lines.push(...measuredPoints(options.measured, lines, chosen.length));
  const some = chosen.length < all[0].length ? `, ${chosen.length} of ${all[0].length}` : '';
  return lineChart({
    title: options.title ?? `${spoken[series]} over time${some}`,
    ...lookOf(options),
    x: {label: 'time', unit: timeUnit},
    y: {label: options.names?.length === 1 ? options.names[0] : series, unit},
    series: lines,
  });
}

/** A record's samples as points in the colours of the lines that they belong to. */
function measuredPoints(
  measured: NonNullable<PlotOptions['measured']>,
  lines: readonly Series[],
  components: number,
): Series[] {
  const {t, values} = measured;
  if (values.length !== t.length * components)
    throw new OptionError(
      'bad-plot',
      `plot: measured has ${values.length} values; ${t.length} times and ${components} plotted components need `
        + `${t.length * components}. Choose components: [...] to plot those that were measured.`,
    );
  const drawn = lines.filter(({style}) => style !== 'band');
  return drawn.map(({name}, i) => ({
    name: `${name}, measured`,
    x: t,
    y: Float64Array.from(t, (_, j) => values[j * components + i]),
    style: 'points',
    color: i,
  }));
}

const spoken: {readonly [series in Exclude<SeriesName, 't'>]: string} = {
  q: 'Position',
  v: 'Velocity',
  a: 'Acceleration',
  lambda: 'Multipliers',
  y: 'State',
  observed: 'Observed',
};

const placeOptions = {
  series: saved,
  /** Index in row-major order; default 0. */
  component: optional(finite),
  name: optional(text),
  unit: optional(text),
};

/** One component of a saved state. @interface */
export type Place = Options<typeof placeOptions>;

const phaseOptions = {
  ...lookOptions,
  /** Default: the first position, or the first number of an ode's state. */
  x: optional(nested(placeOptions, 'bad-option')),
  /** Default: the first velocity, or the second number of an ode's state. */
  y: optional(nested(placeOptions, 'bad-option')),
};

/** Options of `charts.phase`. @interface */
export type PhaseOptions = Options<typeof phaseOptions>;

/**
 * One component of the state against another; several runs have different colours. A point marks the initial state.
 * @throws OptionError 'bad-option', 'no-series'
 */
export function phase(run: Trajectory<System> | readonly Trajectory<System>[], options: PhaseOptions = {}): string {
  const given = readOptions(options, phaseOptions, 'charts.phase', 'bad-option');
  const runs = requireRuns(run);
  const mechanical = mainSeries(runs[0]) === 'q';
  const x: Place = given.x ?? {series: mechanical ? 'q' : 'y'};
  const y: Place = given.y ?? (mechanical ? {series: 'v'} : {series: 'y', component: 1});
  const label = ({series, component, name}: Place): string =>
    name ?? (component === undefined ? series : `${series}[${component}]`);
  const curves = runs.flatMap((one, i): Series[] => {
    const [horizontal, vertical] = [place(one, x), place(one, y)];
    return [
      {name: runs.length > 1 ? `run ${i + 1}` : 'path', x: horizontal, y: vertical, color: i},
      {name: '', x: [horizontal[0]], y: [vertical[0]], style: 'points', color: i},
    ];
  });
  return lineChart({
    title: options.title ?? `${label(y)} against ${label(x)}`,
    ...lookOf({width: 420, height: 380, ...options}),
    legend: runs.length > 1 && runs.length <= LINES,
    x: {label: label(x), unit: x.unit},
    y: {label: label(y), unit: y.unit},
    series: curves,
  });
}

function place(run: Trajectory<System>, {series, component = 0}: Place): Float64Array {
  const columns = columnsOf(run, series, run.values('t').length);
  return columns[componentsOf([component], columns.length)[0]];
}

const energyOptions = {
  ...lookOptions,
  /** Unit of the energy; default 'J'. */
  unit: optional(text, 'J'),
  /** Default 's'. */
  timeUnit: optional(text, 's'),
  /** Divided by the start's; default true where that is not 0. */
  relative: optional(boolean),
};

/**
 * The observed energy of a run, `observe: system.energy`, as its change from the start: it shows what a scheme loses or
 * gains.
 * @throws OptionError 'no-series' if the run observed nothing, 'bad-plot' if it observed more than one number
 */
export function energy(run: Trajectory<System>, options: Options<typeof energyOptions> = {}): string {
  const given = readOptions(options, energyOptions, 'charts.energy', 'bad-option');
  const [t, energy] = [run.values('t'), run.values('observed')];
  if (energy.length !== t.length)
    throw new OptionError(
      'bad-plot',
      'charts.energy: this run did not observe one number for each state; simulate with observe: system.energy.',
    );
  const {relative = energy[0] !== 0, unit, timeUnit} = given;
  const change = energy.map(value => (value - energy[0]) / (relative ? Math.abs(energy[0]) : 1));
  return lineChart({
    title: options.title ?? `Change of energy from ${numberText(energy[0])} ${unit}`,
    ...lookOf(options),
    x: {label: 'time', unit: timeUnit},
    y: {label: relative ? 'relative change' : 'change', unit: relative ? undefined : unit},
    series: [{name: 'energy', x: t, y: change}],
    levels: [{y: 0}],
  });
}

const residualOptions = {
  t: numbers,
  measured: numbers,
  simulated: numbers,
  /** Default 'output'. */
  name: optional(text, 'output'),
  unit: optional(text),
  /** Default 's'. */
  timeUnit: optional(text, 's'),
};

/** A measured series, and the simulated one. @interface */
export type ResidualSamples = Options<typeof residualOptions>;

/**
 * Measured minus simulated, with ± its root mean square.
 * @throws OptionError 'bad-option', 'bad-plot'
 */
export function residuals(samples: ResidualSamples, look: Look = {}): string {
  const read = readOptions(samples, residualOptions, 'charts.residuals', 'bad-option');
  refuseUnknownOptions(look, lookOptions, 'charts.residuals', 'bad-option');
  const {t, measured, simulated, name, unit, timeUnit} = read;
  if (t.length !== measured.length || t.length !== simulated.length)
    throw new OptionError(
      'bad-plot',
      `charts.residuals: there are ${t.length} times, ${measured.length} measured and ${simulated.length} simulated `
        + 'values.',
    );
  return lineChart({
    ...residualChart({t, measured, simulated, unit, timeUnit}),
    title: look.title ?? `Residual of ${name}: measured − simulated (dashed: ± RMSE)`,
    ...lookOf(look),
  });
}

/** Loss by epoch of a training, or cost by iteration of a fit. @throws OptionError 'bad-option', 'bad-plot' */
export function loss({history}: {readonly history: LossHistory}, look: Look = {}): string {
  refuseUnknownOptions(look, lookOptions, 'charts.loss', 'bad-option');
  if (history.length === 0) throw new OptionError('bad-plot', 'charts.loss: the history is empty.');
  const chart = historyChart(history);
  return lineChart({...chart, title: look.title ?? chart.title, ...lookOf(look)});
}

/** Work and error of several runs of one method. */
export interface WorkPrecision {
  readonly name: string;
  readonly work: ArrayLike<number>;
  readonly error: ArrayLike<number>;
}

const workOptions = {
  ...lookOptions,
  /** Label of the work; default 'work'. */
  work: optional(text, 'work'),
  /** Unit of the work: 'ms'. */
  unit: optional(text),
  /** Label of the error; default 'error'. */
  error: optional(text, 'error'),
};

/**
 * Error against work, both logarithmic (Hairer & Wanner, Solving Ordinary Differential Equations II, §IV.10): lower is
 * better.
 */
export function workPrecision(methods: readonly WorkPrecision[], options: Options<typeof workOptions> = {}): string {
  const {work, unit, error} = readOptions(options, workOptions, 'workPrecision', 'bad-option');
  return lineChart({
    title: options.title ?? 'Work and precision',
    ...lookOf(options),
    x: {label: work, unit, scale: 'log'},
    y: {label: error, scale: 'log'},
    series: methods.flatMap(({name, work: x, error: y}, i): Series[] => [
      {name, x, y, color: i},
      {name: '', x, y, color: i, style: 'points'},
    ]),
  });
}

function requireRuns(run: Trajectory<System> | readonly Trajectory<System>[]): readonly Trajectory<System>[] {
  const runs = Array.isArray(run) ? (run as readonly Trajectory<System>[]) : [run as Trajectory<System>];
  const given: readonly unknown[] = runs;
  if (runs.length > 0 && given.every(one => typeof one === 'object' && one !== null && 'values' in one)) return runs;
  throw new OptionError('bad-plot', 'A plot needs a trajectory, as returned by simulate, or a list of trajectories.');
}

const mainSeries = (run: Trajectory<System>): 'q' | 'y' => (run.system.kind === 'ode' ? 'y' : 'q');

/** [components][saved] */
function columnsOf(run: Trajectory<System>, series: SeriesName, saved: number): Float64Array[] {
  const values = run.values(series);
  const width = values.length / saved;
  return Array.from({length: width}, (_, k) =>
    Float64Array.from({length: saved}, (_unused, i) => values[i * width + k]),
  );
}

function componentsOf(wanted: readonly number[] | undefined, width: number): readonly number[] {
  if (wanted === undefined) return Array.from({length: Math.min(width, LINES)}, (_, k) => k);
  const odd = wanted.find(k => !Number.isInteger(k) || k < 0 || k >= width);
  if (odd === undefined && wanted.length > 0) return wanted;
  throw new OptionError(
    'bad-option',
    `A saved state of this series has ${width} numbers, 0 to ${width - 1}; there is no component ${odd}.`,
    {component: odd},
  );
}

const sameTimes = (a: Float64Array, b: Float64Array): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

/** Quantile of the members at every time, linear between neighbours (type 7 of Hyndman & Fan 1996). */
function quantiles(members: readonly Float64Array[], share: number): Float64Array {
  return members[0].map((_, i) => {
    const sorted = Float64Array.from(members, member => member[i]).sort();
    const at = share * (sorted.length - 1);
    const below = Math.floor(at);
    return sorted[below] + (at - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
  });
}

const percent = (share: number): string => `${numberText(100 * share)} %`;
