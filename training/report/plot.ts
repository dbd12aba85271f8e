/**
 * Charts as SVG text, without a document and without scripts: for reports and for figures in the docs. Scales,
 * ticks and curves come from d3-scale and d3-shape; what a charting library would add (a browser's DOM,
 * interaction) has no use in a file. The first colours are Okabe and Ito's; any two differ for colour-blind readers too
 * (spec/training/report/palette.spec.ts), and lines of different colours have different dashes. They lie in style
 * rules, so that one figure serves light and dark pages.
 */
import {area, line} from 'd3-shape';
import {scaleLinear} from 'd3-scale';
import {OptionError} from '../../lib/errors.js';
import {
  between,
  boolean,
  each,
  nested,
  numbers,
  oneOf,
  optional,
  readOptions,
  real,
  text,
  nonNegativeInteger,
  type Check,
  type Options,
} from '../../lib/checks.js';
import {lines, markup, verbatim, type Content, type Markup} from '../../lib/markup.js';
import {numberText} from './number-text.js';
import {axisSchema, layAxis, type Axis, type LaidAxis} from './plot-axis.js';

export type {Axis} from './plot-axis.js';

const styles = oneOf('line', 'underlay', 'dashed', 'points', 'bars', 'stems', 'band', 'cells');

/**
 * 'underlay' is a broad pale line for another to lie on; 'stems' are lines from zero; 'bars' touch each other; 'band'
 * is the area between `low` and y; 'cells' are squares of a grid, in the colours of `value` where there is one.
 */
export type SeriesStyle = typeof styles extends Check<infer Style> ? Style : never;

const seriesSchema = {
  name: text,
  x: numbers,
  y: numbers,
  style: optional(styles),
  /** The lower edge of a band, one for each y. */
  low: optional(numbers),
  /** Numbers that the colours of cells show, one for each cell. */
  value: optional(numbers),
  /** One of the six colours, from 0; default: the place among the series. */
  color: optional(nonNegativeInteger),
};

/** One line or set of points of a chart. @interface */
export type Series = Options<typeof seriesSchema>;

const levelSchema = {y: real, name: optional(text)};

/** A horizontal line across the plot: a limit, a mean. @interface */
export type Level = Options<typeof levelSchema>;

const themes = oneOf('auto', 'light', 'dark');

/** Dark ink for light paper, light ink for dark paper, or as the reader's system says. */
export type Theme = typeof themes extends Check<infer Name> ? Name : never;

/** Sides in pixels: narrower than its margins a chart has no plot, and no page is wider than the other. */
const side = between(80, 20_000);

const chartSchema = {
  title: text,
  /** A text alternative for readers who cannot see it; default: ranges of the axes and series. */
  description: optional(text),

  x: nested(axisSchema, 'bad-option'),
  y: nested(axisSchema, 'bad-option'),
  series: each(nested(seriesSchema, 'bad-option')),
  levels: optional(each(nested(levelSchema, 'bad-option'))),
  /** Default: true where there is more than one series. */
  legend: optional(boolean),
  /** In CSS pixels; default 720 × 300. */
  width: optional(side),
  height: optional(side),
  /** Id of the `<svg>` element; default none. Nothing in a chart refers to an id. */
  id: optional<string, string>({
    what: 'a letter and then letters, digits, _, . or -',
    test: value => typeof value === 'string' && /^[A-Za-z][\w.-]{0,199}$/.test(value),
  }),
  /** Without its own style rules, for a page that has `chartStyle` already. */
  bare: optional(boolean),
  /** 'auto' (default) follows the reader's setting. */
  theme: optional(themes),
};

/** A chart for `lineChart`. @interface */
export type Chart = Options<typeof chartSchema>;

const dark = `--ink: #e6edf3; --halo: #0d1117d9; --soft: #9198a1; --grid: #30363d; --pale: #606a76; --c0: #56b4e9;
  --c1: #f28e4b; --c2: #65eeb6; --c3: #d389b1; --c4: #dac329; --c5: #8679f1;`;

/** The rules for all charts of a page. Contrast of each colour to the ground is at least 3:1 (WCAG 1.4.11). */
export const chartStyle = `
.chart { --ink: #1f2328; --halo: #ffffffd9; --soft: #59636e; --grid: #d8dee4; --pale: #b4bcc6; --c0: #0072b2;
  --c1: #d55e00; --c2: #009e73; --c3: #7251cf; --c4: #8f5a28; --c5: #858be8;
  color: var(--ink); font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
@media (prefers-color-scheme: dark) { .chart:not(.light) { ${dark} } }
.chart.dark { ${dark} }
.chart text { fill: var(--ink); } .chart .heading { font-weight: 600; font-size: 13px; }
.chart .tick, .chart .level { fill: var(--soft); font-size: 11px; font-variant-numeric: tabular-nums; }
.chart .grid { stroke: var(--grid); stroke-width: 1; }
.chart .frame { stroke: var(--soft); stroke-width: 1; fill: none; }
.chart .level { paint-order: stroke; stroke: var(--halo); stroke-width: 4; }
.chart .levelline { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 4 3; }
.chart .s { fill: none; stroke-width: 1.5; stroke-linejoin: round; stroke-linecap: round; }
.chart .underlay { stroke: var(--pale); stroke-width: 4; } .chart .dashed { stroke-dasharray: 6 4; }
.chart .dash1 { stroke-dasharray: 10 3; } .chart .dash2 { stroke-dasharray: 2 4; }
.chart .dash3 { stroke-dasharray: 10 4 2 4; } .chart .dash4 { stroke-dasharray: 6 2; }
.chart .dash5 { stroke-dasharray: 10 4 2 4 2 4; }
.chart .points { stroke-width: 4; } .chart .bars { fill-opacity: 0.35; stroke-width: 1; }
.chart .band { fill-opacity: 0.22; stroke: none; } .chart .cells { stroke: none; shape-rendering: crispEdges; }
`.trim();

/** Room for text, in pixels: sizes of the style above and a little air. */
const MARGIN = {top: 26, right: 14, bottom: 40};
const LEGEND_LINE = 18;
/** Width of an average character of the fonts above at 11 and 12 px: text cannot be measured without a browser. */
const TICK_CHARACTER = 6.3;
const LEGEND_CHARACTER = 6.6;

interface Frame {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/**
 * One chart as the text of an `<svg>` element. Long records are decimated to what the pixels can show.
 * @throws OptionError 'bad-option' for what would not be such text: a chart may come from JSON that nobody checked
 */
export function lineChart(chart: Chart): string {
  return String(chartElement(chart));
}

/** A chart as an element for a page. */
export function chartElement(chart: Chart): Markup {
  check(chart);
  const {width = 720, height = 300, id, theme = 'auto'} = chart;
  const dashes = dashesOf(chart);
  const legend = legendRows(chart, width, dashes);
  const [xRange, yRange] = ranges(chart);
  const top = MARGIN.top + LEGEND_LINE * legend.length;
  const bottom = height - MARGIN.bottom;
  // 45 px between ticks
  const y = layAxis(chart.y, yRange, [bottom, top], Math.max(2, Math.round((bottom - top) / 45)));
  // Never narrower than for six characters, so that charts below each other share their time axis.
  const left = 26 + TICK_CHARACTER * Math.max(...y.ticks.map(({text}) => text.length), 6);
  const {x, right} = layHorizontal(chart.x, xRange, left, width);
  const frame: Frame = {left, right, top, bottom};
  const [from, above] = [frame.left - 3, frame.top - 3];
  const [across, down] = [frame.right - frame.left + 6, frame.bottom - frame.top + 6];
  const name = markup`class="${theme === 'auto' ? 'chart' : `chart ${theme}`}"`;
  const attributes = id === undefined ? name : markup`${name} id="${id}"`;
  const style = `width:${px(across)}px;height:${down}px;max-width:none;overflow:hidden`;
  const [inner, outer] = [`${px(from)} ${above} ${px(across)} ${down}`, `0 0 ${width} ${height}`];
  const place = markup`x="${px(from)}" y="${above}"`;
  const size = markup`viewBox="${outer}" width="${width}" height="${height}"`;
  return lines([
    markup`<svg ${attributes} xmlns="http://www.w3.org/2000/svg" ${size} role="img">`,
    markup`<title>${chart.title}</title><desc>${chart.description ?? describe(chart, x, y)}</desc>`,
    chart.bare === true ? '' : markup`<style>${verbatim(chartStyle)}</style>`,
    markup`<text class="heading" x="${px(frame.left)}" y="14">${chart.title}</text>`,
    ...drawLegend(legend, frame),
    ...drawAxes(x, y, frame, height),
    // Drawings end at the frame. A clipPath would need an id, of which one page may hold two; the style keeps
    // rules of the page for svg away.
    markup`<svg ${place} width="${px(across)}" height="${down}" viewBox="${inner}" style="${style}">`,
    ...chart.series.map((series, i) =>
      drawSeries(
        series,
        i,
        x,
        y,
        dashes[i],
        chart.series.slice(0, i).some(one => one.value !== undefined),
      ),
    ),
    ...(chart.levels ?? []).filter(level => Number.isFinite(level.y)).map(level => drawLevel(level, y, frame)),
    verbatim('</svg></svg>'),
  ]);
}

/** Text in attributes is what its type says; all other text is escaped where it is written. */
function check(chart: Chart): void {
  const {series} = readOptions(chart, chartSchema, 'lineChart', 'bad-option');
  const refuse = (option: string, must: string): never => {
    throw new OptionError('bad-option', `lineChart: ${option} must be ${must}.`, {option});
  };
  series.forEach(({style, low, value, y}, i) => {
    if (style === 'band' ? low?.length !== y.length : low !== undefined)
      refuse(`series[${i}].low`, 'as long as y for a band, and left out for all else');
    if (value !== undefined && (style !== 'cells' || value.length !== y.length))
      refuse(`series[${i}].value`, 'as long as y, and of cells only');
  });
}

/** The horizontal axis with as many labels as fit; the right margin holds what the last one sticks out. */
function layHorizontal(
  axis: Axis,
  data: readonly [number, number],
  left: number,
  width: number,
): {x: LaidAxis; right: number} {
  for (let count = Math.max(2, Math.round((width - left) / 80)); ; count--) {
    const draft = layAxis(axis, data, [left, width - MARGIN.right], count);
    const label = TICK_CHARACTER * Math.max(...draft.ticks.map(({text}) => text.length), 1);
    const right = width - Math.max(MARGIN.right, label / 2 + 2);
    const x = layAxis(axis, data, [left, right], count);
    const tight = x.ticks.some(
      ({value}, i) => i > 0 && x.at(value) - x.at(x.ticks[i - 1].value) < label + 2 * TICK_CHARACTER,
    );
    if (!tight) return {x, right};
    if (count === 1) return {x: {...x, ticks: x.ticks.slice(0, 1)}, right};
  }
}

/** The data's range on both axes; on y with a margin of 4 %, so that lines do not run along the frame. */
function ranges({series, levels = [], y}: Chart): [readonly [number, number], readonly [number, number]] {
  const positive = y.scale === 'log';
  const xs = range(
    series.map(one => one.x),
    false,
  );
  const half = Math.max(
    0,
    ...series.filter(({style}) => style === 'bars').map(({x}) => (x.length > 1 ? (x[1] - x[0]) / 2 : 0.5)),
    ...series.filter(({style}) => style === 'cells').map(({x}) => spacing(x) / 2),
  );
  const halfHigh = Math.max(0, ...series.filter(({style}) => style === 'cells').map(one => spacing(one.y) / 2));
  const fromZero = series.some(({style}) => style === 'bars' || style === 'stems');
  const [low, high] = range(
    [
      ...series.map(one => one.y),
      ...series.map(one => one.low ?? []),
      levels.map(level => level.y),
      fromZero ? [0] : [],
    ],
    positive,
  );
  const margin = positive ? (high / low) ** 0.04 : halfHigh > 0 ? halfHigh : 0.04 * (high - low);
  const yRange: [number, number] = positive
    ? [low / margin, high * margin]
    : [low === 0 && fromZero ? 0 : low - margin, high + margin];
  return [[xs[0] - half, xs[1] + half], yRange];
}

/** Spacing of a grid: the least distance of two different places on it. */
function spacing(places: ArrayLike<number>): number {
  const sorted = Float64Array.from(new Set(Array.from(places))).sort();
  let least = Infinity;
  for (let i = 1; i < sorted.length; i++) least = Math.min(least, sorted[i] - sorted[i - 1]);
  return Number.isFinite(least) ? least : 1;
}

function range(columns: readonly ArrayLike<number>[], positive: boolean): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const column of columns) {
    for (let i = 0; i < column.length; i++) {
      const value = column[i];
      if (!Number.isFinite(value) || (positive && value <= 0)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : positive ? [1, 10] : [0, 1]; // nothing to show: an empty frame
}

/** Lines of the first colour are whole; those of each further one have dashes of their own. */
function dashesOf({series}: Chart): string[] {
  const lines = series.map(({style = 'line', color}, i) => (style === 'line' ? colorOf(color, i) : -1));
  const colors = [...new Set(lines)].filter(color => color >= 0);
  return lines.map(color => (colors.indexOf(color) > 0 ? ` dash${colors.indexOf(color)}` : ''));
}

interface LegendEntry {
  readonly name: string;
  readonly style: SeriesStyle;
  readonly color: number;
  readonly dash: string;
  readonly x: number;
  /** In all the colours of a scale. */
  readonly shaded: boolean;
}

/** Rows as wide as the chart. One series needs none by itself: the heading and the axis say what it is. */
function legendRows(
  {series, legend = series.length > 1}: Chart,
  width: number,
  dashes: readonly string[],
): LegendEntry[][] {
  if (!legend) return [];
  const rows: LegendEntry[][] = [[]];
  let x = 0;
  series.forEach(({name, style = 'line', color, value}, i) => {
    if (name === '') return; // a line's own points
    const space = 34 + LEGEND_CHARACTER * name.length + 16; // the sample line, its gap, the name, the gap to the next
    if (x > 0 && x + space > width - 80) {
      rows.push([]);
      x = 0;
    }
    rows[rows.length - 1].push({
      name,
      style,
      color: colorOf(color, i),
      dash: dashes[i],
      x,
      shaded: value !== undefined,
    });
    x += space;
  });
  return rows;
}

function drawLegend(rows: readonly (readonly LegendEntry[])[], {left}: Frame): Markup[] {
  return rows.flatMap((row, r) =>
    row.map(({name, style, color, dash, x, shaded}) => {
      const [from, y] = [left + x, MARGIN.top + 6 + LEGEND_LINE * r];
      const label = markup`<text x="${px(from + 34)}" y="${y + 4}">${name}</text>`;
      const cell = (shade: string, i: number): Markup =>
        markup`<path class="s cells" style="fill:${shade}" d="M${px(from + 5 * i)} ${y + 5}v-10h5v10z"/>`;
      if (shaded) return markup`${CIVIDIS.map(cell)}${label}`;
      const sample =
        style === 'points'
          ? `M${px(from + 14)} ${y}h0`
          : style === 'bars' || style === 'band' || style === 'cells'
            ? `M${px(from + 3)} ${y + 5}v-10h22v10z`
            : `M${px(from)} ${y}h28`;
      return markup`<path class="s ${style}${dash}" ${paint(style, color)} d="${sample}"/>${label}`;
    }),
  );
}

function drawAxes(x: LaidAxis, y: LaidAxis, {left, right, top, bottom}: Frame, height: number): Markup[] {
  const horizontal = y.ticks.map(({value}) => `M${px(left)} ${px(y.at(value))}H${px(right)}`).join('');
  const vertical = x.ticks.map(({value}) => `M${px(x.at(value))} ${bottom}v5`).join('');
  const middle = (top + bottom) / 2;
  return [
    markup`<path class="grid" d="${horizontal}"/>`,
    markup`<path class="frame" d="M${px(left)} ${bottom}H${px(right)}${vertical}"/>`,
    ...y.ticks.map(
      ({value, text}) =>
        markup`<text class="tick" x="${px(left - 6)}" y="${px(y.at(value) + 4)}" text-anchor="end">${text}</text>`,
    ),
    ...x.ticks.map(
      ({value, text}) =>
        markup`<text class="tick" x="${px(x.at(value))}" y="${bottom + 18}" text-anchor="middle">${text}</text>`,
    ),
    markup`<text x="${px((left + right) / 2)}" y="${height - 4}" text-anchor="middle">${x.title}</text>`,
    markup`<text transform="translate(12 ${px(middle)}) rotate(-90)" text-anchor="middle">${y.title}</text>`,
  ];
}

function drawLevel({y: value, name}: Level, y: LaidAxis, {left, right}: Frame): Markup {
  const at = px(y.at(value));
  const text =
    name === undefined
      ? ''
      : markup`<text class="level" x="${px(right - 4)}" y="${px(y.at(value) - 5)}" text-anchor="end">${name}</text>`;
  return markup`<path class="levelline" d="M${px(left)} ${at}H${px(right)}"/>${text}`;
}

/** On colours of a scale a line has a casing, as roads have on maps. */
function drawSeries(series: Series, index: number, x: LaidAxis, y: LaidAxis, dash: string, cased: boolean): Markup {
  const {style = 'line'} = series;
  const xs = Float64Array.from(series.x, x.at);
  const ys = Float64Array.from(series.y, value => (Number.isFinite(value) ? y.at(value) : NaN));
  const name = markup`<title>${series.name}</title>`;
  if (style === 'cells') return markup`${drawCells(series, colorOf(series.color, index), x, y, name)}`;
  if (style === 'band')
    return markup`<path class="s band" ${paint(style, colorOf(series.color, index))} d="${bandShape(
      xs,
      ys,
      Float64Array.from(series.low ?? [], value => (Number.isFinite(value) ? y.at(value) : NaN)),
    )}">${name}</path>`;
  const d = shape(style, xs, ys, y.at(Math.max(0, y.domain[0])));
  const casing = cased
    ? markup`<path class="s casing" style="stroke:var(--halo);stroke-width:${style === 'points' ? 8 : 5}" d="${d}"/>`
    : '';
  const color = paint(style, colorOf(series.color, index));
  return markup`${casing}<path class="s ${style}${dash}" ${color} d="${d}">${name}</path>`;
}

/** Between two lines; of long records as many places as there are pixels. */
function bandShape(x: Float64Array, high: Float64Array, low: Float64Array): string {
  const kept = new Set([...decimate(x, high), ...decimate(x, low)]);
  const draw = area<number>(
    i => x[i],
    i => low[i],
    i => high[i],
  )
    .defined(i => Number.isFinite(high[i]) && Number.isFinite(low[i]))
    .digits(1);
  return draw([...kept].sort((a, b) => a - b)) ?? '';
}

/** Cividis at six places, dark blue is low (Nuñez, Anderton & Renslow, PLOS ONE 13, 2018). */
export const CIVIDIS = ['#00224e', '#35456c', '#666970', '#948e77', '#c8b866', '#fee838'];
/** Steps of colour that are told apart; each is one path. */
const SHADES = 32;
const shadeOf = scaleLinear<string>(
  CIVIDIS.map((_, i) => (i / (CIVIDIS.length - 1)) * (SHADES - 1)),
  CIVIDIS,
);

/** Squares of a grid, in data's own size; those of one shade are one path. */
function drawCells({x, y, value}: Series, color: number, xAxis: LaidAxis, yAxis: LaidAxis, name: Markup): Markup[] {
  const [width, height] = [spacing(x), spacing(y)];
  const [low, high] = value === undefined ? [0, 1] : range([value], false);
  const shades = new Map<number, string[]>();
  for (let i = 0; i < x.length; i++) {
    if (value !== undefined && !Number.isFinite(value[i])) continue;
    const shade =
      value === undefined ? -1 : high > low ? Math.round(((value[i] - low) / (high - low)) * (SHADES - 1)) : 0;
    const [left, right] = [xAxis.at(x[i] - width / 2), xAxis.at(x[i] + width / 2)];
    const [top, bottom] = [yAxis.at(y[i] - height / 2), yAxis.at(y[i] + height / 2)];
    const d = `M${px(left)} ${px(top)}H${px(right)}V${px(bottom)}H${px(left)}z`;
    const same = shades.get(shade);
    if (same === undefined) shades.set(shade, [d]);
    else same.push(d);
  }
  return [...shades].map(([shade, d]) => {
    const fill = shade < 0 ? `var(--c${color})` : shadeOf(shade);
    return markup`<path class="s cells" style="fill:${fill}" d="${d.join('')}">${name}</path>`;
  });
}

function shape(style: SeriesStyle, x: Float64Array, y: Float64Array, zero: number): string {
  if (style === 'bars') {
    const half = x.length > 1 ? (x[1] - x[0]) / 2 : 4;
    return Array.from(x, (at, i) => `M${px(at - half)} ${px(zero)}V${px(y[i])}H${px(at + half)}V${px(zero)}`).join('');
  }
  if (style === 'stems') return Array.from(x, (at, i) => `M${px(at)} ${px(zero)}V${px(y[i])}`).join('');
  if (style === 'points')
    return distinctPixels(x, y)
      .filter(i => Number.isFinite(y[i]))
      .map(i => `M${px(x[i])} ${px(y[i])}h0`)
      .join('');
  const kept = isAscending(x) ? decimate(x, y) : distinctPixels(x, y);
  const path = line<number>(
    i => x[i],
    i => y[i],
  )
    .defined(i => Number.isFinite(y[i]))
    .digits(1);
  return path(kept) ?? '';
}

function isAscending(x: Float64Array): boolean {
  for (let i = 1; i < x.length; i++) if (!(x[i] >= x[i - 1])) return false;
  return true;
}

function paint(style: SeriesStyle, color: number): Content {
  if (style === 'underlay') return '';
  const stroke = `stroke:var(--c${color})`;
  if (style === 'band' || style === 'cells') return markup`style="fill:var(--c${color})"`;
  return style === 'bars' ? markup`style="${stroke};fill:var(--c${color})"` : markup`style="${stroke}"`;
}

function colorOf(color: number | undefined, index: number): number {
  return (color ?? index) % 6;
}

function describe({series}: Chart, x: LaidAxis, y: LaidAxis): string {
  const lines = series.map(({name, y: values}) => {
    const [low, high] = range([values], false);
    return `${name}: ${values.length} values between ${numberText(low)} and ${numberText(high)}`;
  });
  return (
    `${y.title} against ${x.title}, from ${numberText(x.domain[0])} to ${numberText(x.domain[1])}. `
    + `${lines.join('; ')}.`
  );
}

/** A tenth of a pixel is finer than a screen shows. */
function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/**
 * Indices of the samples to draw, ascending: of all samples in one column of pixels the first, the lowest, the highest
 * and the last, which leaves the picture unchanged (M4: Jugel, Jerzak, Hackenbroich & Markl, VLDB 2014).
 * @param x in pixels, ascending
 * @param y where NaN is kept once, as a gap
 */
export function decimate(x: ArrayLike<number>, y: ArrayLike<number>): number[] {
  const kept: number[] = [];
  for (let from = 0; from < x.length;) {
    const column = Math.floor(x[from]);
    let to = from + 1;
    while (to < x.length && Math.floor(x[to]) === column) to++;
    keepColumn(kept, y, from, to);
    from = to;
  }
  return kept;
}

function keepColumn(kept: number[], y: ArrayLike<number>, from: number, to: number): void {
  let [lowest, highest, gap] = [-1, -1, -1];
  for (let i = from; i < to; i++) {
    if (Number.isNaN(y[i])) gap = i;
    else {
      if (lowest < 0 || y[i] < y[lowest]) lowest = i;
      if (highest < 0 || y[i] > y[highest]) highest = i;
    }
  }
  const column = [from, lowest, highest, gap, to - 1].filter(i => i >= 0).sort((a, b) => a - b);
  for (const i of column) if (kept[kept.length - 1] !== i) kept.push(i);
}

/** Indices of points of which no two fall on the same pixel: for points, and for lines that turn back in x. */
export function distinctPixels(x: ArrayLike<number>, y: ArrayLike<number>): number[] {
  const kept: number[] = [];
  let [lastX, lastY] = [NaN, NaN];
  for (let i = 0; i < x.length; i++) {
    const [column, row] = [Math.round(x[i]), Math.round(y[i])];
    if (column === lastX && row === lastY) continue;
    kept.push(i);
    [lastX, lastY] = [column, row];
  }
  return kept;
}
