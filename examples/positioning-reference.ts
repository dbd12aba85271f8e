/**
 * The motion that a positioning stage is asked to make in order to be identified, and the noise of its
 * sensors, both repeatable by a seed. Strokes with trapezoidal velocity (constant acceleration, cruise,
 * constant deceleration) at several speeds and in both directions, as in the EMPS benchmark (Janot, Gautier & Brunot
 * 2019): accelerating shows the mass, several speeds tell viscous from Coulomb friction, both directions the offset.
 */
import {uniformFloat64} from 'pure-rand/distribution/uniformFloat64';
import {seeded} from '../lib/random.js';
import {gaussian} from '../training/data/noise.js';

export interface ReferenceOptions {
  /** Length of the record in s; default 10. */
  readonly seconds?: number;
  readonly seed?: number;
}

/** As in the EMPS benchmark: s, m, m/s² and m/s. */
const dt = 1e-3;
const travel = 0.25;
const acceleration = 5 / 6;
const speeds = [1 / 24, 1 / 12, 1 / 8];

export interface ReferenceTrajectory {
  /** [samples], in s, from 0. */
  readonly t: Float64Array;
  /** [samples], in m. */
  readonly position: Float64Array;
  /** [samples], in m/s. */
  readonly velocity: Float64Array;
}

/** Standard deviations of what the EMPS benchmark's model leaves unexplained, roughly: metres and volts. */
export const positioningNoise = {position: 2e-6, voltage: 0.05} as const;

/** Samples of random strokes, one after the other without a pause, from rest at 0. */
export function positioningReference({seconds = 10, seed = 1}: ReferenceOptions = {}): ReferenceTrajectory {
  const samples = Math.round(seconds / dt) + 1;
  const t = Float64Array.from({length: samples}, (_, k) => k * dt);
  const position = new Float64Array(samples);
  const velocity = new Float64Array(samples);
  const strokes = randomStrokes(seed);
  let stroke = strokes.next().value;
  for (let k = 0; k < samples; k++) {
    while (t[k] >= stroke.end) stroke = strokes.next().value;
    [position[k], velocity[k]] = along(stroke, t[k] - stroke.start);
  }
  return {t, position, velocity};
}

/** `values` with independent Gaussian noise of the given standard deviation. */
export function noisy(values: Float64Array, deviation: number, seed: number): Float64Array {
  const noise = gaussian(seed);
  return values.map(value => value + deviation * noise());
}

interface Stroke {
  readonly start: number;
  readonly end: number;
  readonly from: number;
  /** Signed, in m: negative backwards. */
  readonly distance: number;
  readonly speed: number;
}

/**
 * Endless strokes of random length. Speeds are shuffled in rounds, so that each is used equally often;
 * the direction is kept while there is room for the stroke and turned where there is not.
 */
function* randomStrokes(seed: number): Generator<Stroke, never, void> {
  const generator = seeded(seed);
  const random = (): number => uniformFloat64(generator);
  let start = 0;
  let from = 0;
  let direction = 1;
  for (;;) {
    for (const speed of shuffled(speeds, random)) {
      const shortest = speed ** 2 / acceleration; // just reaches its speed
      let ahead = direction > 0 ? travel - from : from;
      if (ahead < shortest) {
        direction = -direction;
        ahead = travel - ahead;
      }
      const distance = shortest + random() * (ahead - shortest);
      const end = start + distance / speed + speed / acceleration;
      yield {start, end, from, distance: direction * distance, speed};
      start = end;
      from += direction * distance;
    }
  }
}

/** Position and velocity at `time` after the stroke's start: two parabolas with a line between them. */
function along({start, end, from, distance, speed}: Stroke, time: number): [number, number] {
  const sign = Math.sign(distance);
  const left = end - start - time;
  const ramp = speed / acceleration;
  if (time < ramp) return [from + (sign * acceleration * time ** 2) / 2, sign * acceleration * time];
  if (left < ramp) return [from + distance - (sign * acceleration * left ** 2) / 2, sign * acceleration * left];
  return [from + sign * speed * (time - ramp / 2), sign * speed];
}

/** Fisher and Yates. */
function shuffled(values: readonly number[], random: () => number): number[] {
  const order = [...values];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
