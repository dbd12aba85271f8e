/** Frames of an animation as SVG: side by side, or moving by SMIL's `animate`, without a script. */
import {markup, verbatim, type Content, type Markup} from '../lib/markup.js';
import type {Frames} from './player.js';
import {BAR_HEIGHT, camera, colorBar, lightOn, lit, painted, palette, PLAIN, px, type Seen} from './shading.js';

/** Texts of a picture, and its colours. */
export interface Words {
  readonly title: string;
  readonly description: string;
  readonly theme: 'auto' | 'light' | 'dark';
}

const light = '--ink: #1f2328; --soft: #59636e; --spring: #0072b2; --ball: #d55e00; --trail: #7cc4ee; --force: #009e73';
const dark = '--ink: #e6edf3; --soft: #9198a1; --spring: #56b4e9; --ball: #f28e4b; --trail: #1f6f9f; --force: #65eeb6';
const rules = `.still path { fill: none; stroke-linejoin: round; stroke-linecap: round; }
.still .rods { stroke: var(--ink); stroke-width: 2.5; } .still .springs { stroke: var(--spring); stroke-width: 1.2; }
.still .balls { stroke: var(--ball); } .still .fixed { stroke: var(--soft); stroke-width: 8; stroke-linecap: square; }
.still .faces path { fill: currentColor; stroke: currentColor; stroke-width: .5; }
.still .lines path { fill: none; stroke-width: 3; }
.still .ground { stroke: var(--soft); stroke-width: 1.5; } .still .grid { stroke-width: 0.5; }
.still .trail { stroke: var(--trail); stroke-width: 1.2; } .still .forces { fill: var(--force); }
.still text { fill: var(--soft); font: 12px system-ui, sans-serif; }`;

const styleOf = (theme: Words['theme']): Markup => {
  const colours = `.still { ${theme === 'dark' ? dark : light} }`;
  const dimmed = theme === 'auto' ? ` @media (prefers-color-scheme: dark) { .still { ${dark} } }` : '';
  return markup`<style>${verbatim(`${colours}${dimmed}\n${rules}`)}</style>`;
};

/** A picture with its name, its description and its style. */
const picture = (width: number, height: number, {title, description, theme}: Words, content: Content): string =>
  String(
    markup`<svg class="still" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}"
height="${height}" role="img"><title>${title}</title><desc>${description}</desc>${styleOf(theme)}${content}</svg>`,
  );

const MARGIN = 14;

/** Pixels of points, at a width and from a left edge. */
interface View {
  readonly height: number;
  place(frame: number, point: number): readonly [number, number];
  /** A point as the camera sees it. */
  seen(frame: number, point: number): Seen;
  /** An end of an arrow: foot and tip in turn. */
  arrow(frame: number, end: number): readonly [number, number];
  /** An end of a line of the ground. */
  ground(line: number, end: 0 | 1): readonly [number, number];
  readonly scale: number;
}

/** The view as the player begins. */
const view = camera();

function viewOf(frames: Frames, width: number, left = 0): View {
  const {box, dim, at} = frames;
  const project = (row: readonly number[], i: number): Seen => {
    if (dim === 2) return [row[2 * i], row[2 * i + 1], 0];
    const [a, b, c] = [0, 1, 2].map(k => row[3 * i + k] - box[k] / 2);
    return view(a, b, c);
  };
  const all = [...at, ...frames.arrows, ...frames.ground].flatMap(row =>
    Array.from({length: row.length / dim}, (_, i) => project(row, i)),
  );
  const bound = (axis: 0 | 1): [number, number] =>
    dim === 2
      ? [0, box[axis]]
      : all.reduce(
          ([low, high], point) => [Math.min(low, point[axis]), Math.max(high, point[axis])],
          [Infinity, -Infinity],
        );
  const [[x0, x1], [y0, y1]] = [bound(0), bound(1)];
  const inner = width - 2 * MARGIN;
  const scale = Math.min(inner / Math.max(x1 - x0, 1), inner / Math.max(y1 - y0, 1));
  const height = Math.round((y1 - y0) * scale + 2 * MARGIN);
  const indent = left + MARGIN + (inner - (x1 - x0) * scale) / 2;
  const flat = ([x, y]: Seen): readonly [number, number] => [
    indent + (x - x0) * scale,
    height - MARGIN - (y - y0) * scale,
  ];
  return {
    height,
    scale,
    ground: (line, end) => flat(project(frames.ground[line], end)),
    place: (frame, point) => flat(project(at[frame], point)),
    seen: (frame, point) => project(at[frame], point),
    arrow: (frame, end) => flat(project(frames.arrows[frame], end)),
  };
}

const join = (points: readonly (readonly [number, number])[]): string =>
  points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${px(x)} ${px(y)}`).join('');

/** A spring's windings between two points: always as many, so that paths of different frames have one form. */
function winding([a, b]: readonly [number, number], [c, d]: readonly [number, number]): string {
  const length = Math.hypot(c - a, d - b) || 1;
  const [ux, uy] = [(c - a) / length, (d - b) / length];
  const inner = Array.from({length: 8}, (_, i) => {
    const [s, side] = [length * (0.15 + 0.1 * i), i === 0 || i === 7 ? 0 : i % 2 === 0 ? 4 : -4];
    return [a + ux * s - uy * side, b + uy * s + ux * side] as const;
  });
  return join([[a, b], ...inner, [c, d]]);
}

/** The outline of an arrow: always of as many points, all of them its foot where there is no force. */
function pointed([a, b]: readonly [number, number], [c, d]: readonly [number, number]): string {
  const length = Math.hypot(c - a, d - b);
  const head = Math.min(12, 0.6 * length);
  const thick = Math.min(1.75, head / 4);
  const [ux, uy] = length > 0 ? [(c - a) / length, (d - b) / length] : [0, 0];
  const at = (s: number, side: number) => [a + ux * s - uy * side, b + uy * s + ux * side] as const;
  const outline = [
    [0, thick],
    [length - head, thick],
    [length - head, head / 2],
  ];
  const back = outline.map(([s, side]) => at(s, side)).reverse();
  return `${join([...outline.map(([s, side]) => at(s, -side)), [c, d], ...back])}Z`;
}

/** More springs than this are drawn as lines: their windings would be a smear. */
const WOUND = 40;

interface Layer {
  readonly name: 'springs' | 'rods' | 'balls' | 'fixed' | 'forces';
  readonly style: Content;
  readonly d: (frame: number) => string;
}

function layersOf(frames: Frames, view: View): Layer[] {
  const {springs, rods, fixed, dots: drawn, radius} = frames;
  const still = new Set(fixed);
  const free = drawn.filter(i => !still.has(i));
  const thin = drawn.length > WOUND;
  const sizes = [...new Set(free.map(i => radius[i]))];
  const dots = (list: readonly number[], frame: number): string =>
    list.map(i => `M${view.place(frame, i).map(px).join(' ')}h0`).join('');
  const spring =
    springs.length > WOUND ? (a: readonly [number, number], b: readonly [number, number]) => join([a, b]) : winding;
  const layers: Layer[] = [
    {name: 'springs', style: '', d: k => springs.map(([i, j]) => spring(view.place(k, i), view.place(k, j))).join('')},
    {name: 'rods', style: '', d: k => rods.map(([i, j]) => join([view.place(k, i), view.place(k, j)])).join('')},
    ...sizes.map((size): Layer => ({
      name: 'balls',
      style: markup` style="stroke-width:${size > 0 ? px(2 * size * view.scale) : thin ? 3 : 9}"`,
      d: k =>
        dots(
          free.filter(i => radius[i] === size),
          k,
        ),
    })),
    {name: 'fixed', style: thin ? verbatim(' style="stroke-width:4"') : '', d: k => dots(fixed, k)},
    {
      name: 'forces',
      style: '',
      d: k =>
        Array.from({length: (frames.arrows[k]?.length ?? 0) / (2 * frames.dim)}, (_, i) =>
          pointed(view.arrow(k, 2 * i), view.arrow(k, 2 * i + 1)),
        ).join(''),
    },
  ];
  return layers.filter(({d}) => d(0) !== '');
}

/** Faces of a frame: in the plane all of one colour together, in space from far to near. */
function faces(frames: Frames, view: View, frame: number): Markup[] {
  const polygons = frames.faces.map((face, f) => {
    const seen = face.map(i => view.seen(frame, i));
    const color = lit(palette[frames.shades[frame]?.[f]] ?? PLAIN, frames.dim === 2 ? 1 : lightOn(seen));
    const d = `${join(face.map(i => view.place(frame, i)))}${face.length > 2 ? 'z' : ''}`;
    return {color, d, away: seen.reduce((sum, place) => sum + place[2], 0) / seen.length};
  });
  if (frames.dim === 2) return painted(polygons);
  return polygons.sort((a, b) => b.away - a.away).flatMap(polygon => painted([polygon]));
}

const faceGroup = ({faces: [first]}: Frames): Markup =>
  first?.length === 2 ? markup` class="faces lines"` : markup` class="faces"`;

/** The note and the colour bar below the pictures. */
function below({note, bar}: Frames, width: number, top: number): {readonly height: number; readonly drawn: Content} {
  const words = note === undefined ? undefined : markup`<text x="${MARGIN}" y="${top + 12}">${note}</text>`;
  const barTop = top + (note === undefined ? 0 : 18);
  const end = barTop + (bar === undefined ? 0 : BAR_HEIGHT);
  return {height: end, drawn: [words, bar === undefined ? undefined : colorBar(bar, width, barTop + 4)]};
}

function ground(frames: Frames, view: View): Markup[] {
  const name = frames.dim === 2 ? 'ground' : 'ground grid';
  return frames.ground.map(
    (_, line) => markup`<path class="${name}" d="${join([view.ground(line, 0), view.ground(line, 1)])}"/>`,
  );
}

function trail(frames: Frames, view: View, to: number): Markup[] {
  return frames.trails.map(
    i => markup`<path class="trail" d="${join(Array.from({length: to + 1}, (_, k) => view.place(k, i)))}"/>`,
  );
}

/** Frames with the mean force since the frame kept before: no impact falls between two pictures. */
function averaged(frames: Frames, kept: readonly number[]): Frames {
  const {arrows, dim} = frames;
  if (arrows.length === 0) return frames;
  const means = [...arrows];
  kept.forEach((to, k) => {
    const from = k === 0 ? to : kept[k - 1] + 1;
    means[to] = arrows[to].map((value, i) => {
      if (i % (2 * dim) < dim) return value;
      let sum = 0;
      for (let frame = from; frame <= to; frame++) sum += arrows[frame][i] - arrows[frame][i - dim];
      return arrows[to][i - dim] + sum / (to - from + 1);
    });
  });
  return {...frames, arrows: means};
}

/** `count` frames at equal distances, none twice. */
const some = (frames: Frames, count: number): number[] => {
  const last = frames.t.length - 1;
  const wanted = Math.min(count, last + 1);
  return Array.from({length: wanted}, (_, k) => Math.round((last * k) / Math.max(1, wanted - 1)));
};

/** Width of a picture in a strip, in pixels. */
const CELL = 170;

/** Pictures side by side, each with its time and with the way so far. */
export function strip(frames: Frames, count: number, words: Words): string {
  const kept = some(frames, count);
  const {height} = viewOf(frames, CELL);
  const pictures = kept.map((frame, k) => {
    const view = viewOf(frames, CELL, k * CELL);
    const layers = layersOf(frames, view).map(
      ({name, style, d}) => markup`<path class="${name}"${style} d="${d(frame)}"/>`,
    );
    const surface = markup`<g${faceGroup(frames)}>${faces(frames, view, frame)}</g>`;
    const drawn = [ground(frames, view), trail(frames, view, frame), frames.faces.length > 0 ? surface : '', layers];
    const time = `${frames.t[frame].toFixed(2)} ${frames.unit}`;
    return markup`<svg x="0" y="0" width="${kept.length * CELL}" height="${height}">${drawn}</svg>
<text x="${k * CELL + CELL / 2}" y="${height + 14}" text-anchor="middle">${time}</text>`;
  });
  const rest = below(frames, kept.length * CELL, height + 20);
  return picture(kept.length * CELL, rest.height, words, [pictures, rest.drawn]);
}

/** One picture whose paths take the forms of all frames, over and over. */
export function moving(all: Frames, count: number, width: number, words: Words): string {
  const kept = some(all, count);
  const frames = averaged(all, kept);
  const view = viewOf(frames, width);
  const seconds = ((frames.t[frames.t.length - 1] - frames.t[0]) * frames.pace).toFixed(2);
  const layers = layersOf(frames, view).map(({name, style, d}) => {
    const values = kept.map(d);
    const moves = values.some(value => value !== values[0]);
    const start = markup`<path class="${name}"${style} d="${values[0]}"`;
    const steps = markup`dur="${seconds}s" repeatCount="indefinite" values="${values.join(';')}"`;
    return moves ? markup`${start}><animate attributeName="d" ${steps}/></path>` : markup`${start}/>`;
  });
  const rest = below(frames, width, view.height);
  const surfaces = frames.faces.length > 0 ? shownInTurn(kept, seconds, k => faces(frames, view, k), frames) : [];
  return picture(width, rest.height, words, [ground(frames, view), surfaces, layers, rest.drawn]);
}

/** Groups of which each is seen while its frame is the nearest one. */
function shownInTurn(
  kept: readonly number[],
  seconds: string,
  drawn: (frame: number) => Content,
  frames: Frames,
): Markup[] {
  const half = (k: number): string => px4((k - 0.5) / Math.max(1, kept.length - 1));
  return kept.map((frame, k) => {
    const isLast = k === kept.length - 1;
    const values = `${k === 0 ? '' : 'none;'}inline${isLast ? '' : ';none'}`;
    const times = `0${k === 0 ? '' : `;${half(k)}`}${isLast ? '' : `;${half(k + 1)}`}`;
    const steps = markup`dur="${seconds}s" repeatCount="indefinite" values="${values}" keyTimes="${times}"`;
    const start = markup`<g${faceGroup(frames)} display="${k === 0 ? 'inline' : 'none'}">`;
    return markup`${start}<animate attributeName="display" calcMode="discrete" ${steps}/>${drawn(frame)}</g>`;
  });
}

const px4 = (value: number): string => String(Math.round(value * 1e4) / 1e4);
