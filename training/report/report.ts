/**
 * A fit as one HTML page that needs nothing else: what was found, how sure it is, how well the model meets
 * the data and where it does not. Takes plain data, so that anything can be reported; `writeReport` replaces a
 * file only when the new one is whole.
 */
import {DataError, OptionError} from '../../lib/errors.js';
import {
  each,
  finite,
  list,
  listOf,
  nested,
  numbers,
  object,
  optional,
  readBy,
  readOptions,
  real,
  requireValue,
  text,
  typed,
  type Check,
  type Options,
} from '../../lib/checks.js';
import {htmlPage, lines, markup, verbatim, type Content, type Markup} from '../../lib/markup.js';
import {filesystem, nodePath, reasonOf} from '../data/filesystem.js';
import {writeWhole} from '../data/write-whole.js';
import {errorText, fixedText, measuredText, numberText, quantityText} from './number-text.js';
import {fitSchema, historyChart, residualChart, type ReportFit} from './charts.js';
import {chartElement, chartStyle, type Chart, type Series} from './plot.js';
import {autocorrelation, goodnessOfFit, histogram} from './residual-statistics.js';

const parameterSchema = {
  name: text,
  unit: optional(text),
  description: optional(text),
  estimate: real,
  /** None for a fixed parameter; Infinity for one that the data cannot tell. */
  standardError: optional(real),
  /** Text after the standard error: '± 0.06 if the residuals are independent'. */
  otherError: optional(text),
  /** The 95 % interval, where it is not estimate ± 1.96 standard errors. */
  interval: optional(typed<readonly [number, number]>(numbers)),
  /** A value that others found, or the truth of a synthetic record. */
  reference: optional(real),
};

/** A row of the report's table of parameters. @interface */
export type ReportParameter = Options<typeof parameterSchema>;

const statisticSchema = {
  name: text,
  value: typed<number | string>({
    what: 'a number or text',
    test: value => typeof value === 'number' || typeof value === 'string',
  }),
  unit: optional(text),
};

/** An entry of a history, which may have more in it than is drawn. */
const historyEntry: Check<{readonly iteration: number; readonly cost: number}> = readBy((value, name) => {
  requireValue(value, object, name);
  requireValue(value.iteration, finite, `${name}: iteration`);
  requireValue(value.cost, real, `${name}: cost`);
  return value;
});

export const reportSchema = {
  title: text,
  description: optional(text),
  parameters: each(nested(parameterSchema, 'bad-option')),
  /** A sentence below the table of parameters: what the standard errors assume. */
  parameterNote: optional(text),
  /** The heading of the reference column: 'published', 'truth'. */
  referenceName: optional(text),
  /** One for each output and record. */
  fits: each(nested(fitSchema, 'bad-option')),
  /** Cost by iteration: a LeastSquaresResult's history fits. */
  history: optional(each(historyEntry)),
  /** Values [p, p] row-major. */
  correlation: optional(nested({labels: listOf('labels', text), values: numbers}, 'bad-option')),
  /** Facts for the head of the page: iterations, time, solver's counts. */
  statistics: optional(each(nested(statisticSchema, 'bad-option'))),
  /** Pictures of one's own, below the parameters; each under its title. */
  charts: optional(typed<readonly Chart[]>(list)),
  warnings: optional(listOf('texts', text)),
  notes: optional(listOf('texts', text)),
};

/** The content of a report. @interface */
export type Report = Options<typeof reportSchema>;

/** Half the width of a 95 % interval in standard errors. */
const Z95 = 1.959963984540054;

/** The page as text. */
export function page(report: Report): string {
  const body = mainPart(report);
  return htmlPage({title: report.title, style: reportStyle, body, name: 'report'});
}

/** The report as a fragment with its own style, for a cell of a notebook or a place in a page. */
export function renderFragment(report: Report): string {
  return String(markup`<div class="report">
<style>
${verbatim(reportStyle)}
.report { main { padding: 1rem 1.25rem 1.5rem; } }
</style>
${mainPart(report)}
</div>
`);
}

function mainPart(report: Report): Markup {
  check(report);
  const {title, description, fits, history = [], correlation} = report;
  return lines([
    verbatim('<main>'),
    markup`<header><h1>${title}</h1>${note(description)}</header>`,
    warnings(report),
    facts(report),
    report.parameters.length === 0 ? '' : section('Parameters', parameterTable(report)),
    ...(report.charts ?? []).map(chartSection),
    ...fits.map(fit => section(fits.length > 1 ? `Fit: ${fit.name}` : 'Fit', fitFigures(fit))),
    fits.length === 0 ? '' : section('Goodness of fit', goodnessTable(fits)),
    history.length < 2 ? '' : section('Convergence', figure({height: 220, ...historyChart(history)})),
    correlation === undefined || correlation.labels.length < 2
      ? ''
      : section('Correlation of the estimates', heatTable(correlation.labels, correlation.values)),
    bulletSection('Notes', report.notes),
    markup`<footer>Made by stiffgrad.${report.parameters.length === 0 ? '' : ` ${ASSUMPTION}`}</footer>`,
    verbatim('</main>'),
  ]);
}

/**
 * Writes the page to `path`, folders included: whole or not at all, and after several writers the last one's.
 * @throws DataError 'report-unwritable'; OptionError as reports.page
 */
export async function writeReport(path: string, report: Report): Promise<void> {
  const html = page(report);
  const fs = filesystem(
    () =>
      new DataError(
        'report-unwritable',
        `There is no file system here to write ${path} to: take the page's text from reports.page.`,
        {file: path},
      ),
  );
  try {
    await fs.mkdir(nodePath().dirname(path), {recursive: true});
    await writeWhole(fs, path, html);
  } catch (cause) {
    throw new DataError('report-unwritable', `The report cannot be written to ${path}: ${reasonOf(cause)}.`, {
      file: path,
      cause,
    });
  }
}

const ASSUMPTION =
  'Intervals hold for a model that is right except for random noise; they do not include errors of the model that the '
  + 'residuals show.';

const note = (text: string | undefined): Content => (text === undefined ? '' : markup`<p class="soft">${text}</p>`);

function section(heading: string, content: Content): Markup {
  return markup`<section>\n<h2>${heading}</h2>\n${content}\n</section>`;
}

function warnings({warnings: sentences = []}: Report): Content {
  if (sentences.length === 0) return '';
  const heading = sentences.length === 1 ? 'A warning' : 'Warnings';
  return markup`<section class="warnings" role="note">\n<h2>${heading}</h2>\n${bullets(sentences)}\n</section>`;
}

function chartSection(chart: Chart): Markup {
  return section(chart.title, figure({width: WIDTH, height: 280, ...chart}));
}

function bulletSection(heading: string, sentences: readonly string[] = []): Content {
  return sentences.length === 0 ? '' : section(heading, bullets(sentences));
}

function bullets(sentences: readonly string[]): Markup {
  return markup`<ul>${sentences.map(sentence => markup`<li>${sentence}</li>`)}</ul>`;
}

function facts({statistics = []}: Report): Content {
  if (statistics.length === 0) return '';
  const shown = (value: number | string): string =>
    typeof value === 'string' ? value : Number.isInteger(value) ? countText(value) : numberText(value);
  const items = statistics.map(
    ({name, value, unit}) => markup`<div><dt>${name}</dt><dd>${shown(value)}${unitText(unit)}</dd></div>`,
  );
  return markup`<dl class="facts">${items}</dl>`;
}

function parameterTable({parameters, parameterNote, referenceName = 'reference'}: Report): Markup {
  const compared = parameters.some(({reference}) => reference !== undefined);
  const head = [
    'parameter',
    'estimate',
    'standard error',
    'relative',
    '95 % interval',
    ...(compared ? [referenceName, 'difference', 'in std. errors'] : []),
  ];
  const rows = parameters.map(parameter => parameterRow(parameter, compared));
  return lines([table(head, rows), note(parameterNote)]);
}

function parameterRow(
  {name, unit, description, estimate, standardError, otherError, interval, reference}: ReportParameter,
  compared: boolean,
): Markup {
  const fixed = standardError === undefined;
  const error = standardError ?? NaN;
  const [low, high] = interval ?? [estimate - Z95 * error, estimate + Z95 * error];
  const more = description === undefined ? '' : markup`<br><span class="unit">${description}</span>`;
  const cells = [
    measuredText(estimate, error),
    fixed ? 'fixed' : `${errorText(error)}${otherError === undefined ? '' : ` (${otherError})`}`,
    fixed || estimate === 0 ? '' : percent(error / Math.abs(estimate)),
    fixed
      ? ''
      : Number.isFinite(error)
        ? `${measuredText(low, error)} … ${measuredText(high, error)}`
        : `${numberText(low)} … ${numberText(high)}`,
  ];
  if (compared) cells.push(...(reference === undefined ? ['', '', ''] : comparison(estimate, error, reference)));
  const columns = cells.map((cell, i) =>
    i === 3 ? markup`<td class="interval">${cell}</td>` : markup`<td>${cell}</td>`,
  );
  return markup`<tr><th scope="row">${name}${unitText(unit)}${more}</th>${columns}</tr>`;
}

function comparison(estimate: number, error: number, reference: number): string[] {
  const difference = estimate - reference;
  return [
    numberText(reference, 7),
    reference === 0
      ? numberText(difference, 2)
      : `${difference < 0 ? '−' : '+'}${percent(Math.abs(difference / reference))}`,
    error > 0 && Number.isFinite(error) ? fixedText(difference / error, 1) : '',
  ];
}

/** Two digits are what an error deserves. */
function percent(ratio: number): string {
  return Number.isFinite(ratio) ? `${numberText(100 * ratio, 2)} %` : '∞';
}

function fitFigures(fit: ReportFit): Markup {
  const {name, unit, t, measured, simulated, timeUnit = 's'} = fit;
  const residuals = Float64Array.from(measured, (value, i) => value - simulated[i]);
  const time = {label: 'time', unit: timeUnit};
  const value = {label: name, unit};
  const both: Series[] = [
    {name: 'measured', x: t, y: measured, style: 'underlay'},
    {name: 'simulated', x: t, y: simulated, color: 0},
  ];
  const complete = residuals.every(Number.isFinite);
  const residual = residualChart(fit);
  const {worst, worstAt, rmse} = goodnessOfFit(measured, simulated);
  const [from, to] = around(worstAt, t.length);
  const closer = (series: readonly Series[]): Series[] =>
    series.map(one => ({...one, x: slice(one.x, from, to), y: slice(one.y, from, to)}));
  const visible = worst > VISIBLE * extent(slice(measured, from, to));
  return lines([
    figure({title: 'Measured and simulated', x: time, y: value, series: both}),
    figure({height: 220, ...residual}),
    t.length > CLOSE
      ? figure({
          title: 'Where the model is furthest off',
          height: 220,
          x: time,
          ...(visible ? {y: value, series: closer(both)} : {y: residual.y, series: closer(residual.series)}),
        })
      : '',
    // A simulation that broke off has neither distribution nor memory to show.
    !complete
      ? ''
      : markup`<div class="pair">${distribution(residuals, rmse, unit)}${memory(residuals, t, timeUnit)}</div>`,
  ]);
}

/** A chart as wide as the page, which has its style rules. */
const figure = (chart: Chart): Markup =>
  markup`<figure>${chartElement({width: WIDTH, height: 260, ...chart, bare: true})}</figure>`;

/** The page's column, and half of it for charts two abreast, in CSS pixels (62 rem less the padding). */
const WIDTH = 950;
const HALF = {width: 467, height: 240};

function distribution(residuals: Float64Array, rmse: number, unit: string | undefined): Markup {
  const {centers, share, width} = histogram(residuals);
  const normalX = Float64Array.from(
    {length: 121},
    (_, i) => centers[0] + ((centers[centers.length - 1] - centers[0]) * i) / 120,
  );
  const normal = normalX.map(x => ((100 * width) / (rmse * Math.sqrt(2 * Math.PI))) * Math.exp(-0.5 * (x / rmse) ** 2));
  const series: Series[] = [{name: 'residuals', x: centers, y: share.map(part => 100 * part), style: 'bars', color: 1}];
  if (rmse > 0) series.push({name: 'normal of the same RMS', x: normalX, y: normal, color: 0});
  return figure({
    ...HALF,
    title: 'Distribution of the residual',
    x: {label: 'residual', unit},
    y: {label: 'share', unit: '%'},
    series,
  });
}

function memory(residuals: Float64Array, t: ArrayLike<number>, unit: string): Markup {
  const {lags, values, band} = autocorrelation(residuals);
  const spacing = t.length > 1 ? (t[t.length - 1] - t[0]) / (t.length - 1) : 1;
  return figure({
    ...HALF,
    title: 'Autocorrelation of the residual',
    x: {label: 'lag', unit},
    y: {label: 'correlation', domain: [Math.min(-0.2, ...values) - 0.05, 1.05]},
    levels: [{y: band, name: 'white noise, 95 %'}, {y: -band}],
    series: [{name: 'autocorrelation', x: lags.map(lag => lag * spacing), y: values, color: 1}],
  });
}

/** Samples in the closer view: about one for each pixel of its width. */
const CLOSE = 800;

function around(index: number, length: number): [number, number] {
  const from = Math.max(0, Math.min(index - CLOSE / 2, length - CLOSE));
  return [from, Math.min(length, from + CLOSE)];
}

/** A deviation below 2 % of the range hides behind the lines: then the residual itself is shown. */
const VISIBLE = 0.02;

function extent(values: Float64Array): number {
  return (
    values.reduce((high, value) => Math.max(high, value), -Infinity)
    - values.reduce((low, value) => Math.min(low, value), Infinity)
  );
}

function slice(values: ArrayLike<number>, from: number, to: number): Float64Array {
  return Float64Array.from({length: to - from}, (_, i) => values[from + i]);
}

function goodnessTable(fits: readonly ReportFit[]): Markup {
  const rows = fits.map(({name, unit, measured, simulated, t, timeUnit = 's'}) => {
    const {samples, rmse, worst, worstAt, r2} = goodnessOfFit(measured, simulated);
    const cells = [
      countText(samples),
      quantityText(rmse, unit),
      quantityText(worst, unit),
      `${numberText(t[worstAt])} ${timeUnit}`,
      determinationText(r2),
    ];
    return markup`<tr><th scope="row">${name}</th>${cells.map(cell => markup`<td>${cell}</td>`)}</tr>`;
  });
  return table(['output', 'samples', 'RMSE', 'largest', 'at', 'R²'], rows);
}

/** R², told by what it lacks to 1 where it is nearer than four digits can show. */
function determinationText(r2: number): string {
  return r2 > 0.9999 && r2 < 1 ? `1 − ${numberText(1 - r2, 2)}` : numberText(r2);
}

/** Thousands set apart. */
function countText(count: number): string {
  return count.toLocaleString('en-US');
}

function heatTable(labels: readonly string[], values: ArrayLike<number>): Markup {
  const p = labels.length;
  const rows = labels.map((label, i) => {
    const cells = labels.map((_, j) => heatCell(values[i * p + j], i === j));
    return markup`<tr><th scope="row">${label}</th>${cells}</tr>`;
  });
  return table(['', ...labels], rows, verbatim(' class="heat"'));
}

/** Blue for positive, orange for negative; at most 60 % opaque, so that the number stays legible on either ground. */
function heatCell(value: number, diagonal: boolean): Markup {
  if (diagonal) return verbatim('<td class="soft">1</td>');
  if (!Number.isFinite(value)) return verbatim('<td class="soft">–</td>');
  const color = value > 0 ? '0,114,178' : '213,94,0';
  const opacity = (0.6 * Math.abs(value)).toFixed(2);
  return markup`<td style="background:rgba(${color},${opacity})">${fixedText(value, 2)}</td>`;
}

function table(head: readonly string[], rows: readonly Markup[], attributes: Content = ''): Markup {
  const columns = head.map(cell => markup`<th scope="col">${cell}</th>`);
  return markup`<div class="scroll"><table${attributes}>
<thead><tr>${columns}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

function unitText(unit: string | undefined): Content {
  return unit === undefined || unit === '' ? '' : markup` <span class="unit">${unit}</span>`;
}

function check(report: Report): void {
  const {fits, correlation} = readOptions(report, reportSchema, 'reports.page', 'bad-option');
  for (const {name, t, measured, simulated} of fits) {
    if (t.length === 0 || t.length !== measured.length || t.length !== simulated.length) {
      throw new OptionError(
        'report-lengths',
        `The report's fit '${name}' has ${t.length} times, ${measured.length} measured and ${simulated.length} `
          + 'simulated values: give as many of each, and at least one.',
        {fit: name},
      );
    }
  }
  if (correlation === undefined || correlation.values.length === correlation.labels.length ** 2) return;
  throw new OptionError(
    'report-correlation',
    `A correlation of ${correlation.labels.length} parameters needs ${correlation.labels.length ** 2} values, not `
      + `${correlation.values.length}.`,
  );
}

/**
 * The looks of a report: one column, light and dark by the reader's setting, printable, nothing from the net. All rules
 * are nested below `.report`, so that a fragment in a notebook changes nothing around it.
 */
const reportStyle = `
.report { color-scheme: light dark; --ground: #ffffff; --panel: #f6f8fa; --ink: #1f2328; --soft: #59636e;
  --rule: #d8dee4; --warn: #fff8e5; --warnrule: #bf8700;
  margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
* { box-sizing: border-box; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 0.5rem; } h2 { font-size: 1.2rem; margin: 2.5rem 0 0.75rem; }
p { margin: 0.5rem 0; max-width: 44rem; } .soft { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: 0.4rem; font-size: 0.85rem; }
th, td { padding: 0.35rem 0.65rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
thead th { white-space: normal; border-bottom: 1px solid var(--soft); font-weight: 600; vertical-align: bottom; }
th[scope=row], thead th:first-child { text-align: left; font-weight: 600; padding-left: 0; }
.unit { color: var(--soft); font-weight: 400; } .interval { text-align: center; }
.heat td { text-align: center; border: 1px solid var(--ground); min-width: 3.6rem; }
.heat thead th { text-align: center; border: 0; } .heat th[scope=row] { border: 0; padding-right: 0.8rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: 0.6rem; margin: 1rem 0 0;
  padding: 0; }
.facts div { background: var(--panel); border: 1px solid var(--rule); border-radius: 6px; padding: 0.5rem 0.8rem; }
.facts dt { color: var(--soft); font-size: 0.8rem; }
.facts dd { margin: 0; overflow-wrap: anywhere; font-size: 1.05rem; font-weight: 600;
  font-variant-numeric: tabular-nums; }
.warnings { background: var(--warn); border-left: 4px solid var(--warnrule); border-radius: 0 6px 6px 0;
  margin: 1.5rem 0 0; padding: 0.7rem 1rem 0.7rem 1.1rem; }
.warnings h2 { margin: 0 0 0.3rem; font-size: 1rem; } ul { margin: 0.3rem 0; padding-left: 1.2rem; }
figure { margin: 1rem 0 0; overflow-x: auto; }
.chart { display: block; max-width: 100%; min-width: 27rem; height: auto; } .chart[width="950"] { min-width: 44rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 1rem; }
footer { margin-top: 3rem; padding-top: 0.8rem; border-top: 1px solid var(--rule); color: var(--soft);
  font-size: 0.85rem; }
}
@media (prefers-color-scheme: dark) { .report { --ground: #0d1117; --panel: #161b22; --ink: #e6edf3; --soft: #9198a1;
  --rule: #30363d; --warn: #272115; --warnrule: #d29922; } }
@media print { .report { font-size: 11pt; main { max-width: none; padding: 0; } figure, tr { break-inside: avoid; } } }
${chartStyle}
`.trim();
