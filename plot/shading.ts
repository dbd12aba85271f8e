/** Bodies in colour and light: the colours of values, an orthographic camera, and the light of a facet. */
import {scaleLinear} from 'd3-scale';
import {CIVIDIS} from '../training/internal.js';

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
const LIGHT: Seen = [-0.36, 0.48, -0.8];
/** What a facet in the shadow keeps of its colour, so that values can be read there, too. */
const AMBIENT = 0.65;

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

/** The light on a polygon, on the side that is seen (Lambert's law). */
export function lightOn(corners: readonly Seen[]): number {
  const n = normalOf(corners);
  const size = Math.hypot(...n) * (n[2] > 0 ? -1 : 1);
  const cosine = size === 0 ? 0 : (n[0] * LIGHT[0] + n[1] * LIGHT[1] + n[2] * LIGHT[2]) / size;
  return AMBIENT + (1 - AMBIENT) * Math.max(0, cosine);
}
