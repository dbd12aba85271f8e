/**
 * A page that shows how far a sweep is: counts, rate, time left, failures by cause, the best so far, and parallel
 * coordinates (Inselberg 1985) of cases and results. It is written anew as the sweep goes and asks its reader's browser
 * to load it again; nothing serves it.
 */
import {writeFile} from 'node:fs/promises';
import {callable, nonNegative, object, optional, readOptions, typed, type Options} from '../lib/checks.js';
import {DataError} from '../lib/errors.js';
import {htmlPage, markup, type Markup} from '../lib/markup.js';
import {numbersOf} from './collect.js';
import {writeWhole} from './files.js';
import type {Row, Store} from './store.js';
import type {SweepProgress} from './sweep.js';

const pageOptions = {
  /** Progress from `onProgress`: total, rate and time left. */
  progress: optional(typed<SweepProgress>(object)),
  /** The objective; the smallest is best. Default: the first number of a result, by its name. */
  objective: optional(typed<(result: unknown, one: Row['case']) => number>(callable)),
  /** Seconds after which a browser loads the page again; 0: never. Default 5. */
  refresh: optional(nonNegative, 5),
};

/** Options of a page. @interface */
export type PageOptions = Options<typeof pageOptions>;

/** Lines that parallel coordinates can still show. */
const maxLines = 500;
/** Results that are read for the best: some seconds' worth. Names are hashes, so the first ones are a fair sample. */
const maxRows = 20_000;
/** Failures that are listed. */
const maxFailures = 50;
const [width, height, margin] = [900, 300, 40];

/** Writes the complete page to a file. @throws OptionError */
export async function writePage(store: Store, file: string, options: PageOptions = {}): Promise<void> {
  const html = await sweepPage(store, options);
  await writeWhole(file, partial => writeFile(partial, html));
}

/** The page as text. @throws OptionError */
export async function sweepPage(store: Store, options: PageOptions = {}): Promise<string> {
  const {objective, progress, refresh} = readOptions(options, pageOptions, 'sweepPage');
  // The page of a running sweep leaves out what other versions of its task left in the store.
  const ofSweep = ({task}: Pick<Row, 'task'>): boolean =>
    progress === undefined || (task.name === progress.task.name && task.version === progress.task.version);
  const rows: {readonly row: Row; readonly value: number}[] = [];
  let damaged: string | undefined;
  try {
    for await (const row of store.rows()) {
      if (!ofSweep(row)) continue;
      rows.push({row, value: objective?.(row.result, row.case) ?? firstNumber(row)});
      if (rows.length === maxRows) break;
    }
  } catch (error) {
    if (!(error instanceof DataError) || error.code !== 'damaged-result') throw error;
    damaged = error.message;
  }
  const causes = new Map<string, number>();
  const failures: Markup[] = [];
  for await (const failure of store.unresolved()) {
    if (!ofSweep(failure)) continue;
    const {case: one, cause, error} = failure;
    causes.set(cause, (causes.get(cause) ?? 0) + 1);
    if (failures.length < maxFailures)
      failures.push(markup`<tr><td>${cause}</td><td>${JSON.stringify(one)}</td><td>${error.message}</td></tr>`);
  }
  const failed = [...causes.values()].reduce((sum, count) => sum + count, 0);
  const done = progress?.done ?? (await store.status()).done;
  const ranked = rows.filter(({value}) => !Number.isNaN(value)).sort((a, b) => a.value - b.value);
  const facts: [string, string | undefined][] = [
    ['done', progress?.total === undefined ? String(done) : `${done} of ${progress.total}`],
    ['failed', `${failed}${[...causes].map(([cause, count]) => `, ${count} ${cause}`).join('')}`],
    ['rate', progress && `${progress.rate.toPrecision(3)} a second`],
    ['time left', progress?.left === undefined ? undefined : duration(progress.left)],
    ['damaged', damaged],
    [
      rows.length === maxRows ? `best of ${maxRows}` : 'best so far',
      ranked[0] && `${ranked[0].value.toPrecision(6)} at ${JSON.stringify(ranked[0].row.case)}`,
    ],
  ];
  const known = facts.filter(([, value]) => value !== undefined);
  const body = markup`<h1>Sweep</h1>
<table>${known.map(([name, value]) => markup`<tr><th>${name}</th><td>${value}</td></tr>`)}</table>
${ranked.length > 1 ? parallelCoordinates(ranked) : ''}
${failures.length === 0 ? '' : markup`<h2>Failures</h2><table>${failures}</table>`}`;
  return htmlPage({title: `${done} done`, style: STYLE, body, refresh: refresh > 0 ? refresh : undefined});
}

const STYLE = `body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
:root { color-scheme: light dark; }
td, th { padding: 0 1rem 0 0; text-align: left; vertical-align: top; }
svg { max-width: 100%; }
svg text { fill: currentColor; font-size: 12px; }`;

/** The first number of a result by its name, or NaN. */
function firstNumber(row: Row): number {
  for (const [name, value] of numbersOf(row)) if (name.startsWith('result')) return value;
  return NaN;
}

/** One axis a number of the cases, the last one for the objective; good lines are drawn over bad ones. */
function parallelCoordinates(ranked: readonly {readonly row: Row; readonly value: number}[]): Markup {
  const finite = ranked.filter(({value}) => Number.isFinite(value));
  // The best ones, and a fair sample of the others.
  const stride = Math.max(1, Math.ceil(finite.length / maxLines));
  const lines = finite
    .filter((_, rank) => rank < maxLines / 10 || rank % stride === 0)
    .map(({row, value}) => ({
      value,
      numbers: new Map([
        ...[...numbersOf(row)].filter(([name]) => name.startsWith('case')),
        ['objective', value] as const,
      ]),
    }));
  const axes = [...new Set(lines.flatMap(({numbers}) => [...numbers.keys()]))].filter(name => name !== 'objective');
  const shown = [...axes.slice(0, 11), 'objective'].map((name, place, all) => {
    const values = lines.flatMap(({numbers}) => numbers.get(name) ?? []);
    const [low, high] = values.reduce(
      ([a, b], value) => [Math.min(a, value), Math.max(b, value)],
      [Infinity, -Infinity],
    );
    return {name, low, high, x: margin + ((width - 2 * margin) * place) / Math.max(1, all.length - 1)};
  });
  const y = (value: number, {high, low}: {low: number; high: number}): number =>
    height - margin - (high > low ? ((value - low) / (high - low)) * (height - 2 * margin) : (height - 2 * margin) / 2);
  const paths = [...lines].reverse().map(({numbers}, i) => {
    const points = shown.flatMap(axis =>
      numbers.has(axis.name) ? [`${axis.x.toFixed(1)},${y(numbers.get(axis.name)!, axis).toFixed(1)}`] : [],
    );
    // From blue, bad, to red, good.
    const hue = 220 + (140 * i) / Math.max(1, lines.length - 1);
    const colour = `hsl(${hue.toFixed(0)} 70% 50%)`;
    return markup`<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-opacity="0.5"/>`;
  });
  const label = (x: number, at: number, text: string): Markup =>
    markup`<text x="${x}" y="${at}" text-anchor="middle">${text}</text>`;
  const ruled = shown.flatMap(({high, low, name, x}) => [
    markup`<line x1="${x}" x2="${x}" y1="${margin}" y2="${height - margin}" stroke="currentColor"/>`,
    label(x, 15, name),
    label(x, 30, high.toPrecision(4)),
    label(x, height - 20, low.toPrecision(4)),
  ]);
  const title = `Parallel coordinates of ${lines.length} cases`;
  return markup`<h2>Cases and results</h2>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">${paths}${ruled}</svg>`;
}

/** Seconds in the units of a reader. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
