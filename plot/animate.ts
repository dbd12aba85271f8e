/**
 * Runs as moving pictures. A model knows its figure: its points, and what joins them; a system of one's own is given
 * one. One animation is a page with a player, a cell of a notebook, a strip of frames for a paper, an SVG that moves by
 * itself.
 */
import {
  any,
  callable,
  positiveInteger,
  object,
  oneOf,
  optional,
  positive,
  readOptions,
  refuseUnknownOptions,
  text,
  typed,
  type Options,
  type OptionValues,
} from '../lib/checks.js';
import {markup} from '../lib/markup.js';
import type {Numeric, Trajectory, System} from '../lib/index.js';
import {OptionError} from '../lib/index.js';
import type {Body} from '../fem/internal.js';
import type {Figure, NearRun} from '../models/index.js';
import type {Ground} from '../models/internal.js';
import type {MediaBundle} from '../training/internal.js';
import {bodyFigure, isBody} from './body-figure.js';
import {chosen, placesAt, type Places} from './frames.js';
import {playerPage, type Frames} from './player.js';
import {barOf, shadeOf} from './shading.js';
import {moving, strip} from './stills.js';

const animateOptions = {
  /** How the system is drawn; default: the figure of its model. */
  figure: optional(typed<Figure>(object)),
  /** The params of the run, if the figure reads them, for example a pendulum's length. */
  params: optional(typed<{readonly [name: string]: Numeric}>(object), {}),
  /** Largest number of frames; default 240. */
  frames: optional(positiveInteger, 240),
  /** Seconds per unit of simulated time; default 1, or less if the animation would take more than 12 s. */
  pace: optional(positive),
  /** Unit of time; default 's'. */
  timeUnit: optional(text, 's'),
  title: optional(text, 'Animation'),
  /** A text alternative for readers who cannot see it. */
  description: optional(text),
  theme: optional(oneOf('auto', 'light', 'dark'), 'auto'),
};

/** Options of `animate`. @interface */
export type AnimateOptions = Options<typeof animateOptions>;

/** An animation of a run, in several formats. */
export interface Animation {
  /** A self-contained page with a player: play, pause, a slider, keys. */
  html(): string;
  /** Frames side by side at equal time intervals, as SVG; default 6. */
  strip(options?: {readonly frames?: number}): string;
  /** An animated SVG without a script, which repeats; default 480 px wide, 60 frames, 24 of bodies. */
  svg(options?: {readonly width?: number; readonly frames?: number}): string;
  /** The page in an iframe, for notebooks. */
  toString(): string;
}

/** Whole numbers across the picture: finer than a pixel. */
const GRID = 4096;

/**
 * An animation of a run: a player, a strip of frames, or an animated SVG.
 * @throws OptionError 'no-figure' if neither the system nor the options have a figure, 'bad-option', 'bad-figure';
 *   ShapeError 'figure-shape'
 */
export function animate(run: Trajectory<System> | NearRun, options: AnimateOptions = {}): Animation {
  const given = readOptions(options, animateOptions, 'animate', 'bad-option');
  const {theme, title} = given;
  const {system} = run as {readonly system: {readonly figure?: Figure} | Body};
  const figure = given.figure ?? ('figure' in system ? system.figure : isBody(system) ? bodyFigure(system) : undefined);
  if (figure === undefined)
    throw new OptionError(
      'no-figure',
      'animate: this system has no figure. Give figure: {points: ({q}) => …, rods: [[0, 1]]}, or create the system '
        + 'with withFigure of stiffgrad/models.',
    );
  refuseUnknownOptions(
    figure,
    {
      points: callable,
      rods: any,
      springs: any,
      fixed: any,
      radius: any,
      ground: any,
      trails: any,
      faces: any,
      field: any,
      note: text,
      forces: callable,
      forceScale: positive,
    },
    'animate: figure',
    'bad-figure',
  );
  const frames = framesOf(run, figure, given);
  const description =
    given.description
    ?? `${frames.points} points from t = ${frames.t[0].toPrecision(3)} to `
      + `${frames.t[frames.t.length - 1].toPrecision(3)} ${frames.unit}`;
  const page = (): string => playerPage(frames, title, description, theme);
  const cell = (): string =>
    String(
      markup`<iframe srcdoc="${page()}" sandbox="allow-scripts" title="${title}"
style="width:100%;height:34rem;border:0"></iframe>`,
    );
  const words = `Animation: ${description}`;
  return Object.defineProperties(
    {
      html: page,
      strip: (given: {readonly frames?: number} = {}) => {
        refuseUnknownOptions(given, {frames: positiveInteger}, 'strip', 'bad-option');
        return strip(frames, given.frames ?? 6, {title, description, theme});
      },
      svg: (given: {readonly width?: number; readonly frames?: number} = {}) => {
        refuseUnknownOptions(given, {width: positive, frames: positiveInteger}, 'svg', 'bad-option');
        return moving(frames, given.frames ?? (frames.faces.length > 0 ? 24 : 60), given.width ?? 480, {
          title,
          description,
          theme,
        });
      },
      toString: cell,
    },
    {
      [Symbol.for('nodejs.util.inspect.custom')]: {value: () => words},
      [Symbol.for('Jupyter.display')]: {value: (): MediaBundle => ({'text/html': cell(), 'text/plain': words})},
    },
  );
}

/** The chosen states as points on the grid. */
function framesOf(
  run: Trajectory<System> | NearRun,
  figure: Figure,
  options: OptionValues<typeof animateOptions>,
): Frames {
  const t = run.values('t');
  const kept = chosen(t, options.frames);
  const found = placesAt(run, figure, kept, options.params);
  const {points, places, dim} = found;
  const radius = radii(figure.radius, points);
  const arrows = arrowsOf(found, boxOf(places, dim, radius), figure.forceScale);
  const motion = boxOf(places, dim, radius, arrows);
  const ground = (figure.ground ?? []).flatMap(one => groundLines(one, dim, motion));
  // A line goes beyond the picture, a grid is in it.
  const box = dim === 2 ? motion : boxOf(places, dim, radius, [...arrows, ...ground]);
  const faces = (figure.faces ?? []).map(face => within(face, points, 'faces'));
  const filled = new Set(faces.flat());
  const bar = figure.field === undefined ? undefined : barOf(figure.field, found.values);
  const scale = GRID / Math.max(...box.size, Number.MIN_VALUE);
  const on = (value: number, axis: number): number => Math.round((value - box.low[axis]) * scale);
  const duration = t[t.length - 1] - t[0];
  return {
    t: kept.map(i => Number(t[i].toPrecision(7))),
    dim,
    points,
    at: places.map(row => Array.from(row, (value, k) => on(value, k % dim))),
    fixed: within(figure.fixed, points, 'fixed'),
    trails: within(figure.trails, points, 'trails'),
    rods: pairs(figure.rods, points, 'rods'),
    springs: pairs(figure.springs, points, 'springs'),
    radius: radius.map(r => Math.round(r * scale)),
    box: box.size.map(side => Math.round(side * scale)),
    ground: ground.map(line => line.map((value, k) => on(value, k % dim))),
    faces,
    shades: bar === undefined ? [] : found.values.map(row => shadesOf(row, faces, points, bar.domain)),
    bar,
    note: figure.note,
    dots: Array.from({length: points}, (_, i) => i).filter(i => !filled.has(i)),
    arrows: arrows.map(row => Array.from(row, (value, k) => on(value, k % dim))),
    pace: options.pace ?? (duration > 12 ? 12 / duration : 1),
    unit: options.timeUnit,
  };
}

/** The shade of each face: of its own value, or of the mean of its points. */
function shadesOf(
  values: Float32Array,
  faces: readonly (readonly number[])[],
  points: number,
  range: readonly [number, number],
): number[] {
  const mean = (face: readonly number[]): number => face.reduce((sum, i) => sum + values[i], 0) / face.length;
  return faces.map((face, f) => shadeOf(values.length === points ? mean(face) : values[f], range));
}

function radii(radius: Figure['radius'] = 0, points: number): number[] {
  const all = typeof radius === 'number' ? new Array<number>(points).fill(radius) : [...radius];
  if (all.length === points && all.every(r => r >= 0)) return all;
  throw new OptionError(
    'bad-figure',
    `animate: figure.radius has ${all.length} numbers for ${points} points; give one number that is not negative, or `
      + 'one per point.',
  );
}

function pairs(list: Figure['rods'] = [], points: number, name: string): Frames['rods'] {
  list.forEach(pair => within(pair, points, name));
  return list;
}

function within(list: readonly number[] = [], points: number, name: string): readonly number[] {
  const odd = list.find(i => !Number.isInteger(i) || i < 0 || i >= points);
  if (odd === undefined) return list;
  throw new OptionError(
    'bad-figure',
    `animate: figure.${name} refers to point ${odd}; there are points 0 to ${points - 1}.`,
  );
}

interface Box {
  readonly low: number[];
  readonly size: number[];
}

/** Both ends of every force's arrow, [frames][forces · 2 · dim]. @param box of the points */
function arrowsOf({forces, dim}: Places, box: Box, given: number | undefined): number[][] {
  const strongest = forces.reduce((most, {force}) => {
    for (let i = 0; i < force.length; i += dim) most = Math.max(most, Math.hypot(...force.subarray(i, i + dim)));
    return most;
  }, 0);
  const scale = given ?? (strongest > 0 ? Math.max(...box.size) / (4 * strongest) : 0);
  return forces.map(({at, force}) =>
    Array.from({length: at.length / dim}, (_, i) => {
      const foot = Array.from(at.subarray(i * dim, (i + 1) * dim));
      return [...foot, ...foot.map((value, axis) => value + scale * force[i * dim + axis])];
    }).flat(),
  );
}

/** A box around all frames: points, balls, arrows and a margin. */
function boxOf(
  places: readonly Float32Array[],
  dim: number,
  radius: readonly number[],
  arrows: readonly (readonly number[])[] = [],
): Box {
  const low = new Array<number>(dim).fill(Infinity);
  const high = new Array<number>(dim).fill(-Infinity);
  const hold = (value: number, axis: number, r: number): void => {
    if (!Number.isFinite(value)) return;
    low[axis] = Math.min(low[axis], value - r);
    high[axis] = Math.max(high[axis], value + r);
  };
  for (const row of places) row.forEach((value, i) => hold(value, i % dim, radius[Math.floor(i / dim)]));
  for (const row of arrows) row.forEach((value, i) => hold(value, i % dim, 0));
  // Motion along a line has a picture with some height, too.
  const least = 0.12 * Math.max(...high.map((value, axis) => value - low[axis]), 1e-12);
  const size = high.map((value, axis) => Math.max(value - low[axis], least));
  return {low: low.map((value, axis) => (value + high[axis]) / 2 - size[axis] / 2), size};
}

/** Lines of a wall or floor, each from one end to the other [2 · dim]. */
function groundLines({normal, offset = 0}: Ground, dim: 2 | 3, box: Box): number[][] {
  if (normal.length !== dim || !(Math.hypot(...normal) > 0) || !Number.isFinite(offset))
    throw new OptionError(
      'bad-figure',
      `animate: figure.ground has the normal [${normal.join(', ')}] and the offset ${offset}; give a normal of ${dim} `
        + 'numbers, not all 0, as the points have, and a finite offset.',
    );
  return dim === 2
    ? [groundLine(normal as [number, number], offset, box)]
    : groundGrid(normal as [number, number, number], offset, box);
}

/** Cells of a floor along each side: enough to see how it lies. */
const CELLS = 4;

/** A rectangular grid below the box of the motion; none where the plane is further away than that is large. */
function groundGrid(normal: readonly [number, number, number], offset: number, {low, size}: Box): number[][] {
  const norm = Math.hypot(...normal);
  const n = normal.map(x => x / norm);
  const middle = low.map((value, axis) => value + size[axis] / 2);
  const away = dot(n, middle) - offset / norm;
  if (Math.abs(away) > Math.hypot(...size)) return [];
  const foot = middle.map((value, axis) => value - away * n[axis]);
  // Along the axes of the picture as far as the plane lets them be: the two that the normal is least along.
  const [first] = [0, 1, 2].sort((i, k) => Math.abs(n[i]) - Math.abs(n[k]));
  const along = [0, 1, 2].map(axis => Number(axis === first) - n[first] * n[axis]);
  const u = along.map(x => x / Math.hypot(...along));
  const v = [n[1] * u[2] - n[2] * u[1], n[2] * u[0] - n[0] * u[2], n[0] * u[1] - n[1] * u[0]];
  const below = [u, v].map(side => side.reduce((sum, x, axis) => sum + (Math.abs(x) * size[axis]) / 2, 0));
  // Motion along a line has a floor with some width, too.
  const [a, b] = below.map(half => Math.max(half, Math.max(...below) / 2));
  const at = (s: number, t: number): number[] => foot.map((value, axis) => value + s * a * u[axis] + t * b * v[axis]);
  return Array.from({length: CELLS + 1}, (_, k) => (2 * k) / CELLS - 1).flatMap(s => [
    [...at(s, -1), ...at(s, 1)],
    [...at(-1, s), ...at(1, s)],
  ]);
}

const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, x, axis) => sum + x * b[axis], 0);

/** The part of a line within the box, from one side to the other. */
function groundLine(
  [a, b]: readonly [number, number],
  offset: number,
  {low, size}: Box,
): [number, number, number, number] {
  const norm = Math.hypot(a, b) ** 2 || 1;
  const foot = [(a * offset) / norm, (b * offset) / norm];
  const reach = Math.hypot(...size);
  const middle = [low[0] + size[0] / 2, low[1] + size[1] / 2];
  const along = ((middle[0] - foot[0]) * -b + (middle[1] - foot[1]) * a) / norm;
  const half = reach / 2 / Math.sqrt(norm);
  const at = (s: number): [number, number] => [foot[0] - b * s, foot[1] + a * s];
  return [...at(along - half), ...at(along + half)];
}
