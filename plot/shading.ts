/** Bodies in colour and light: the colours of values, an orthographic camera, and the light of a facet. */
import {scaleLinear} from 'd3-scale';
import {OptionError} from '../lib/index.js';
import {markup, type Markup} from '../lib/markup.js';
import {CIVIDIS, layAxis, numberText} from '../training/internal.js';

/** Red, green and blue, 0 … 255. */
export type Rgb = readonly [number, number, number];

/** Colours that are told apart in a picture; each is one path. */
export const SHADES = 32;

const channel = (k: number): ((at: number) => number) =>
  scaleLinear(
    CIVIDIS.map((_, i) => (i / (CIVIDIS.length - 1)) * (SHADES - 1)),
    CIVIDIS.map(color => parseInt(color.slice(1 + 2 * k, 3 + 2 * k), 16)),
  );
const channels = [0, 1, 2].map(channel);

/** The colours of values, from the lowest to the highest. */
export const palette: readonly Rgb[] = Array.from(
  {length: SHADES},
  (_, shade) => channels.map(at => Math.round(at(shade))) as unknown as Rgb,
);

/** A body without a field: a grey blue that edges stand out from on light and dark paper. */
export const PLAIN: Rgb = [143, 168, 196];

/** The shade of a value in a range: each has an equal part of it; values beyond it have those of its ends. */
export const shadeOf = (value: number, [low, high]: readonly [number, number]): number =>
  Math.min(SHADES - 1, Math.max(0, Math.floor(((value - low) / (high - low)) * SHADES)));

/** A colour in a light from 0 to 1, as #rrggbb. */
export const lit = (color: Rgb, light = 1): string =>
  `#${color
    .map(c =>
      Math.round(c * light)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`;

/** A place as the camera sees it: to the right, upwards, and away from it. */
export type Seen = readonly [right: number, up: number, away: number];

/** The view of pictures in space: from the front right, a little from above, radians. */
export const [TURN, TILT] = [-0.6, 0.35];

/** An orthographic camera: `turn` turns the body about z, `tilt` raises the camera; z is upwards. */
export function camera(turn = TURN, tilt = TILT): (x: number, y: number, z: number) => Seen {
  const [c, s, ct, st] = [Math.cos(turn), Math.sin(turn), Math.cos(tilt), Math.sin(tilt)];
  return (x, y, z) => {
    const back = x * s + y * c;
    return [x * c - y * s, z * ct + back * st, back * ct - z * st];
  };
}

/** The direction to the light, as the camera sees it: over its left shoulder. */
export const LIGHT: Seen = [-0.36, 0.48, -0.8];
/** What a facet in the shadow keeps of its colour, so that values can be read there, too. */
export const AMBIENT = 0.65;

/** The normal of a polygon, twice its area long (Newell's sum): towards the camera where its third number is < 0. */
export function normalOf(corners: readonly Seen[]): Seen {
  const n = [0, 0, 0];
  corners.forEach((a, i) => {
    const b = corners[(i + 1) % corners.length];
    for (let k = 0; k < 3; k++) {
      const [u, v] = [(k + 1) % 3, (k + 2) % 3];
      n[k] -= a[u] * b[v] - a[v] * b[u];
    }
  });
  return [n[0], n[1], n[2]];
}

/** The light on a polygon, on the side that is seen (Lambert's law); lines have no shadow. */
export function lightOn(corners: readonly Seen[]): number {
  if (corners.length < 3) return 1;
  const n = normalOf(corners);
  const size = Math.hypot(...n) * (n[2] > 0 ? -1 : 1);
  const cosine = size === 0 ? 0 : (n[0] * LIGHT[0] + n[1] * LIGHT[1] + n[2] * LIGHT[2]) / size;
  return AMBIENT + (1 - AMBIENT) * Math.max(0, cosine);
}

/** A colour bar before it is laid on a picture. */
export interface ColorBar {
  readonly name: string;
  readonly unit?: string;
  /** Values of the ends of the bar. */
  readonly domain: readonly [number, number];
}

/** The bar of a field: of its range, or of the least and the greatest of all its values. */
export function barOf(
  {name, unit, range}: {readonly name: string; readonly unit?: string; readonly range?: readonly [number, number]},
  all: readonly ArrayLike<number>[],
): ColorBar {
  if (range !== undefined && !(range.length === 2 && range[0] < range[1]))
    throw new OptionError(
      'bad-plot',
      `field.range must be two increasing numbers, not [${Array.from(range).join(', ')}].`,
    );
  let [low, high] = [Infinity, -Infinity];
  for (const values of all)
    for (let i = 0; i < values.length; i++)
      if (Number.isFinite(values[i])) [low, high] = [Math.min(low, values[i]), Math.max(high, values[i])];
  return {name, unit, domain: range ?? layAxis({label: name}, low <= high ? [low, high] : [0, 1], [0, 1], 5).domain};
}

/** Pixels with one decimal. */
export const px = (value: number): string => String(Math.round(value * 10) / 10);

/** Room for a colour bar with its ticks and its name, in pixels. */
export const BAR_HEIGHT = 50;

/** The shades from left to right, with ticks and the field's name and unit below. */
export function colorBar({name, unit, domain}: ColorBar, width: number, top: number): Markup {
  const [left, right] = [34, 34 + Math.min(300, width - 68)];
  // 60 px between ticks
  const {ticks, title, at} = layAxis(
    {label: name, unit, domain},
    domain,
    [left, right],
    Math.floor((right - left) / 60),
  );
  const step = (right - left) / SHADES;
  const cells = palette.map((color, shade) => {
    const d = `M${px(left + step * shade)} ${px(top)}h${px(step)}v10h${px(-step)}z`;
    return markup`<path style="fill:${lit(color)};stroke:${lit(color)};stroke-width:.5" d="${d}"/>`;
  });
  const marks = ticks.map(
    ({value, text}) =>
      markup`<text class="tick" x="${px(at(value))}" y="${px(top + 23)}" text-anchor="middle">${text}</text>`,
  );
  const lines = ticks.map(({value}) => `M${px(at(value))} ${px(top + 10)}v3`).join('');
  return markup`${cells}<path style="fill:none;stroke:var(--soft);stroke-width:1" d="${lines}"/>${marks}
<text x="${px((left + right) / 2)}" y="${px(top + 39)}" text-anchor="middle">${title}</text>`;
}

/** Displacements by words: none reads off a picture how much they are enlarged. */
export const scaleWords = (scale: number): string =>
  scale === 1 ? 'Displacements to scale' : `Displacements × ${numberText(scale)}`;

/** Polygons that do not cover each other as paths, one for each colour. */
export function painted(polygons: Iterable<{readonly color: string; readonly d: string}>): Markup[] {
  const parts = new Map<string, string[]>();
  for (const {color, d} of polygons) {
    const same = parts.get(color);
    if (same === undefined) parts.set(color, [d]);
    else same.push(d);
  }
  return [...parts].map(([color, d]) => markup`<path color="${color}" d="${d.join('')}"/>`);
}
