/**
 * A throw through two impacts: a hollow ball is thrown at the floor, bounces, comes off the wall and falls into a
 * bucket. Of all throws and spins that end there at a given time, the one of least energy is looked for with
 * derivatives through both impacts, with Coulomb's friction and restitution, by Moreau's time stepping.
 *
 *     npx tsx examples/throw.ts
 */
import * as tf from '@tensorflow/tfjs';
import {frictionalContact, mechanics, moreau, simulate, type Trajectory} from '../lib/index.js';
import {gravity, withFigure} from '../models/index.js';
import {animate, type Animation} from '../plot/index.js';
import {printTable, script, type ScriptArguments} from './script.js';
import {writeAnimation} from './write.js';

/**
 * SI units. A hollow ball, J = (2/3) m r², as heavy and large as a basketball; what lands comes to the middle of the
 * bucket's rim.
 */
export const scene = {
  mass: 0.62,
  radius: 0.12,
  inertia: (2 / 3) * 0.62 * 0.12 ** 2,
  g: 9.81,
  friction: 0.5,
  restitution: 0.8,
  wall: 4,
  hand: [0, 1.4],
  target: [3.4, 0.7],
  duration: 1.3,
} as const;

const {mass, radius, inertia} = scene;

/** A throw: velocities in m/s and spin in 1/s, counterclockwise. */
export interface Throw {
  readonly vx: number;
  readonly vy: number;
  readonly spin: number;
}

/** As a length in which ½ m |z|² is the energy of a throw: (vx, vy, spin √(J/m)). */
const arm = Math.sqrt(inertia / mass);

const part = (x: tf.Tensor, i: number): tf.Tensor => tf.gather(x, i);

/** q = (x, y, angle). Rows: floor and wall, pressed; floor and wall, rubbed. */
const flight = mechanics({
  mass: [mass, mass, inertia],
  forces: gravity({mass: [mass, mass, 0], g: scene.g, direction: [0, -1, 0]}),
  constraints: [
    frictionalContact(({q}) => tf.stack([tf.sub(part(q, 1), radius), tf.sub(scene.wall - radius, part(q, 0))]), {
      // The ball's lowest point slips to the right, its rightmost one upwards.
      slip: ({v}) => {
        const turned = tf.mul(radius, part(v, 2));
        return tf.stack([tf.add(part(v, 0), turned), tf.add(part(v, 1), turned)]);
      },
      friction: scene.friction,
      restitution: scene.restitution,
    }),
  ],
});

const spokes = 12;
const [bucketWidth, bucketDepth] = [0.44, scene.target[1]];
const bucket = [
  [-bucketWidth / 2, 0],
  [-bucketWidth / 2 + 0.05, -bucketDepth],
  [bucketWidth / 2 - 0.05, -bucketDepth],
  [bucketWidth / 2, 0],
].map(([x, y]) => [scene.target[0] + x, scene.target[1] + y]);

/** The ball's centre, its rim, and the bucket. */
const ball = withFigure(flight, {
  points: ({q}) => {
    const centre = tf.slice(q, [0], [2]);
    const angles = tf.add(part(q, 2), tf.mul(tf.range(0, spokes), (2 * Math.PI) / spokes));
    const rim = tf.add(centre, tf.mul(radius, tf.stack([tf.cos(angles), tf.sin(angles)], 1)));
    return tf.concat([tf.expandDims(centre), rim, tf.tensor2d(bucket)]);
  },
  rods: [
    ...Array.from({length: spokes}, (_, i) => [1 + i, 1 + ((i + 1) % spokes)] as const),
    ...[0, 3, 6, 9].map(i => [0, 1 + i] as const),
    ...[0, 1, 2].map(i => [1 + spokes + i, 2 + spokes + i] as const),
  ],
  radius: [0.02, ...new Array<number>(spokes + bucket.length).fill(0.008)],
  trails: [0],
  ground: [{normal: [0, 1]}, {normal: [-1, 0], offset: -scene.wall}],
  forces: ({q, lambda}) => {
    const [x, y] = tf.unstack(q);
    const [floor, wall, along, up] = tf.unstack(lambda);
    return {
      at: tf.stack([tf.stack([x, tf.sub(y, radius)]), tf.stack([tf.add(x, radius), y])]),
      force: tf.stack([tf.stack([along, floor]), tf.stack([tf.neg(wall), up])]),
    };
  },
});

const hand = {q: [...scene.hand, 0], v: [2.8, -2, 0]};

/** A whole throw, for its pictures. @param dt its step, in s */
export const thrown = ({vx, vy, spin}: Throw, dt = 1e-3): Trajectory =>
  simulate(ball, {...hand, v: [vx, vy, spin]}, {scheme: moreau(), dt, t1: scene.duration});

/** End of a throw, in m, and its derivatives by (vx, vy, spin). */
export interface Landing {
  readonly place: readonly number[];
  readonly jacobian: readonly (readonly number[])[];
}

/** The map from throws to where they end, with its exact derivative; made once. */
export function landings(dt: number): (given: Throw) => Landing {
  const run = simulate.prepare(flight, hand, {scheme: moreau(), dt, t1: scene.duration, saveAt: 'end'});
  const losses = [0, 1].map(
    i =>
      ({q}: {q: tf.Tensor}) =>
        part(part(q, 1), i),
  );
  return ({vx, vy, spin}) => {
    const found = losses.map(loss => run.valueAndGrad(loss, {initial: {...hand, v: [vx, vy, spin]}}));
    return {
      place: found.map(({value}) => value),
      jacobian: found.map(({gradient}) => [...gradient.initial!.v]),
    };
  };
}

/** In J, of the motion and the spin. */
export const energy = ({vx, vy, spin}: Throw): number => 0.5 * mass * (vx ** 2 + vy ** 2 + (arm * spin) ** 2);

export interface Optimum {
  readonly best: Throw;
  /** Miss and energy of every iterate, in m and J. */
  readonly history: readonly {readonly miss: number; readonly energy: number}[];
}

/**
 * The throw of least energy that ends at the target: sequential quadratic programming with the Hessian of the energy
 * alone. Each iterate is the shortest z that the linearized throw takes to the target, z⁺ = Jᵀ(J Jᵀ)⁻¹(J z − miss)
 * (Nocedal & Wright, §18.1).
 */
export function optimized(guess: Throw, land: (given: Throw) => Landing): Optimum {
  const history: {miss: number; energy: number}[] = [];
  let best = guess;
  for (let iteration = 0; iteration < 60; iteration++) {
    const {place, jacobian} = land(best);
    const miss = place.map((x, i) => x - scene.target[i]);
    history.push({miss: Math.hypot(...miss), energy: energy(best)});
    const rows = jacobian.map(([x, y, spin]) => [x, y, spin / arm]);
    const z = [best.vx, best.vy, best.spin * arm];
    const wanted = rows.map((row, i) => dot(row, z) - miss[i]);
    const [[a, b], [, d]] = rows.map(row => rows.map(other => dot(row, other)));
    const determinant = a * d - b * b;
    const multipliers = [(d * wanted[0] - b * wanted[1]) / determinant, (a * wanted[1] - b * wanted[0]) / determinant];
    const next = z.map((_, k) => rows[0][k] * multipliers[0] + rows[1][k] * multipliers[1]);
    best = {vx: next[0], vy: next[1], spin: next[2] / arm};
    // 1e-9 m/s: far below what the step's length leaves of the exact throw.
    if (Math.hypot(...next.map((value, k) => value - z[k])) < 1e-9) return {best, history};
  }
  throw new Error('The throw did not converge in 60 iterations; begin with one that comes near the bucket.');
}

const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, value, i) => sum + value * b[i], 0);

/**
 * The end of a throw without time steps, by parabolas and the same law of impact, to check against: at an impact the
 * sphere's normal velocity turns to −e times itself, and friction takes the slip away or as much of it as μ times the
 * impulse can.
 */
export function closedForm(given: Throw): readonly [number, number] {
  let [x, y] = scene.hand as readonly [number, number];
  let {vx, vy, spin} = given;
  const {g, friction, restitution, wall} = scene;
  /** Change of the rim's velocity per unit of an impulse there: 1/m + r²/J. */
  const yields = 1 / mass + radius ** 2 / inertia;
  const rubbed = (slip: number, speed: number): number => {
    const most = friction * mass * (1 + restitution) * speed;
    return Math.max(-most, Math.min(most, -slip / yields));
  };
  for (let left: number = scene.duration; ;) {
    const down = (vy + Math.sqrt(vy ** 2 + 2 * g * Math.max(y - radius, 0))) / g;
    const across = vx > 0 ? (wall - radius - x) / vx : Infinity;
    const time = Math.min(down > 1e-9 ? down : Infinity, across > 1e-9 ? across : Infinity, left);
    [x, y, vy] = [x + vx * time, y + vy * time - (g * time ** 2) / 2, vy - g * time];
    left -= time;
    if (left <= 0) return [x, y];
    if (time === down) {
      const impulse = rubbed(vx + radius * spin, -vy);
      [vx, vy, spin] = [vx + impulse / mass, -restitution * vy, spin + (radius * impulse) / inertia];
    } else {
      const impulse = rubbed(vy + radius * spin, vx);
      [vx, vy, spin] = [-restitution * vx, vy + impulse / mass, spin + (radius * impulse) / inertia];
    }
  }
}

/** Distance from the target at which a throw ends by the closed form, in m. */
export const trueMiss = (given: Throw): number => Math.hypot(...closedForm(given).map((x, i) => x - scene.target[i]));

const names = ['vx', 'vy', 'spin'] as const;

/** Derivatives of a map from throws to where they end by central differences. */
export function differences(place: (given: Throw) => readonly number[], at: Throw): number[][] {
  const columns = names.map(name => {
    // The cube root of rounding for what is of order one, and more for the spin, by which little moves.
    const by = name === 'spin' ? 1e-4 : 1e-5;
    const [more, less] = [by, -by].map(step => place({...at, [name]: at[name] + step}));
    return more.map((x, i) => (x - less[i]) / (2 * by));
  });
  return [0, 1].map(i => columns.map(column => column[i]));
}

/** The closed form as a map with derivatives, by differences. */
export const trueLanding = (given: Throw): Landing => ({
  place: closedForm(given),
  jacobian: differences(closedForm, given),
});

/** The largest entry of a − b over the largest of b. */
export const apart = (a: readonly (readonly number[])[], b: readonly (readonly number[])[]): number =>
  Math.max(...a.flatMap((row, i) => row.map((x, k) => Math.abs(x - b[i][k])))) / Math.max(...b.flat().map(Math.abs));

export const moving = (path: Trajectory): Animation =>
  animate(path, {
    title: 'A throw by floor and wall',
    description: 'A ball bounces off the floor and the wall into a bucket; arrows show the impulses of both impacts.',
    pace: 4,
    frames: 100, // each long enough to see the arrow of an impact
  });

/** A throw that comes off the wall, too far to the left. */
export const guess: Throw = {vx: 6, vy: -4, spin: 0};

export async function main({report, short}: ScriptArguments): Promise<void> {
  const dt = short ? 1e-2 : 1e-3;
  const land = landings(dt);
  const {best, history} = optimized(guess, land);
  printTable([
    ['iteration', 'miss, m', 'energy, J'],
    ...history.map((at, i) => [String(i), at.miss.toExponential(1), at.energy.toFixed(4)]),
  ]);
  const error = apart(
    land(best).jacobian,
    differences(given => land(given).place, best),
  );
  console.log(`Derivatives differ from differences by ${error.toExponential(1)} of the largest.\n`);
  const row = (name: string, {vx, vy, spin}: Throw): string[] => [
    name,
    ...[vx, vy, spin, energy({vx, vy, spin}), 1e3 * trueMiss({vx, vy, spin})].map(value => value.toFixed(3)),
  ];
  printTable([
    ['', 'vx, m/s', 'vy, m/s', 'spin, 1/s', 'energy, J', 'true miss, mm'],
    ...(short ? [dt] : [1e-2, dt, 1e-4]).map(step =>
      row(`step ${step} s`, step === dt ? best : optimized(best, landings(step)).best),
    ),
    row('closed form', optimized(best, trueLanding).best),
  ]);
  await writeAnimation(report, moving(thrown(best, dt)));
}

script(
  import.meta.url,
  'throw',
  'A throw that bounces off floor and wall into a bucket, with least energy, found by derivatives through the impacts.',
  main,
);
