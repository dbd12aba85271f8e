/**
 * The simplest walking model (Garcia, Chatterjee, Ruina & Coleman, The simplest walking model: stability, complexity,
 * and scaling, ASME J. Biomech. Eng. 120, 1998): two legs without mass, a mass at the hip, feet that are much lighter,
 * on a slope. Its gait is a fixed point of the map from one step's beginning to the next one's, found by Newton's
 * method with the derivative of that map, through the impact and its time; the eigenvalues of the same derivative say
 * whether it is stable.
 *
 *     npx tsx examples/walker.ts
 */
import * as tf from '@tensorflow/tfjs';
import {event, adaptive, dopri5, mechanics, simulate, type Params, type Trajectory} from '../lib/index.js';
import {withFigure} from '../models/index.js';
import {animate, type Animation} from '../plot/index.js';
import {printTable, script, type ScriptArguments} from './script.js';
import {writeAnimation} from './write.js';

/** A step's beginning: the angle of the stance leg from the slope's normal, backwards, and its rate. */
export type StepStart = readonly [theta: number, rate: number];

const [theta, phi] = [0, 1];
const at = (x: tf.Tensor, i: number): tf.Tensor => tf.gather(x, i);

/**
 * q = (θ of the stance leg, φ between the legs, where the stance foot is, which leg that is, 1 or −1), the last two at
 * rest but for heelstrikes; lengths in legs, times in √(l/g).
 */
const legs = mechanics({
  mass: 1,
  forces: ({q, v, params}) => {
    const lean = tf.sub(at(q, theta), params.gamma as tf.Tensor);
    const fall = tf.sin(lean);
    const swing = tf.sub(tf.square(at(v, theta)), tf.cos(lean));
    const rest = tf.zerosLike(fall);
    return tf.stack([fall, tf.add(fall, tf.mul(swing, tf.sin(at(q, phi)))), rest, rest]);
  },
});

/** The hip's mass M and g are 1: the stance leg presses along itself with cos(θ − γ) − θ'². */
const walker = withFigure(legs, {
  // A foot, the hip and the other foot, with the slope's normal as y.
  points: ({q}) => {
    const [angle, between, x, leg] = tf.unstack(q);
    const other = tf.sub(angle, between);
    const hip = tf.stack([tf.sub(x, tf.sin(angle)), tf.cos(angle)]);
    const stance = tf.stack([x, tf.zerosLike(x)]);
    const swung = tf.add(hip, tf.stack([tf.sin(other), tf.neg(tf.cos(other))]));
    const first = tf.greater(leg, 0);
    return tf.stack([tf.where(first, stance, swung), hip, tf.where(first, swung, stance)]);
  },
  rods: [
    [0, 1],
    [1, 2],
  ],
  radius: [0.02, 0.06, 0.02],
  ground: [{normal: [0, 1]}],
  // An arrow a leg; that of the swing leg has no length.
  forces: ({q, v, params}) => {
    const [angle, , x, leg] = tf.unstack(q);
    const press = tf.sub(tf.cos(tf.sub(angle, params.gamma as tf.Tensor)), tf.square(at(v, theta)));
    const along = tf.mul(press, tf.stack([tf.neg(tf.sin(angle)), tf.cos(angle)]));
    const stance = tf.stack([x, tf.zerosLike(x)]);
    const first = tf.greater(leg, 0);
    const none = tf.zerosLike(along);
    return {
      at: tf.stack([stance, stance]),
      force: tf.stack([tf.where(first, along, none), tf.where(first, none, along)]),
    };
  },
});

/** The legs swap; angular momentum about the new foot, and of the other leg about the hip, is kept. */
const heelstrike = ({q, v}: {q: tf.Tensor; v: tf.Tensor}): {q: tf.Tensor; v: tf.Tensor} => {
  const [angle, , x, leg] = tf.unstack(q);
  const rate = tf.mul(tf.cos(tf.mul(2, angle)), at(v, theta));
  return started(tf.neg(angle), rate, tf.sub(x, tf.mul(2, tf.sin(angle))), tf.neg(leg));
};

/** The legs as a heelstrike leaves them: φ = 2θ, φ' = (1 − cos 2θ) θ'. */
const started = (angle: tf.Tensor, rate: tf.Tensor, x = tf.zerosLike(angle), leg = tf.onesLike(angle)) => ({
  q: tf.stack([angle, tf.mul(2, angle), x, leg]),
  v: tf.stack([rate, tf.mul(tf.sub(1, tf.cos(tf.mul(2, angle))), rate), tf.zerosLike(rate), tf.zerosLike(rate)]),
});

/**
 * φ − 2θ is zero where the swing foot is on the slope. It falls through zero at mid-stance, where a leg that does not
 * bend scuffs, which the model allows, and rises through it at heelstrike.
 */
const touch = {
  when: ({q}: {q: tf.Tensor}) => tf.sub(at(q, phi), tf.mul(2, at(q, theta))),
  direction: 'rising',
  name: 'heelstrike',
} as const;

/** Steps of an error far below what is printed; a step of a gait takes 3.1 to 4. */
const course = {scheme: dopri5(), control: adaptive({rtol: 1e-12, atol: 1e-13}), dt: 0.02, t1: 6} as const;

const oneStep = simulate.prepare(
  legs,
  {q: [0.2, 0.4, 0, 1], v: [-0.2, -0.016, 0, 0]},
  {
    ...course,
    events: [event({...touch, then: 'stop'})],
    saveAt: 'end',
    params: {gamma: 0.009, theta: 0.2, rate: -0.2},
  },
);

/** The beginning of the next step, its derivatives, and the duration of this one. */
export interface ReturnMap {
  readonly next: StepStart;
  /** ∂next/∂(θ, θ') */
  readonly jacobian: readonly [StepStart, StepStart];
  /** ∂next/∂γ */
  readonly bySlope: StepStart;
  readonly period: number;
}

/** A number of the next step's beginning, as a loss of the run. */
const beginning = [0, 1].map(i => ({q, v}: {q: tf.Tensor; v: tf.Tensor}) => {
  const after = heelstrike({q: at(q, 1), v: at(v, 1)});
  return i === 0 ? at(after.q, theta) : at(after.v, theta);
});
const ended = ({t}: {t: tf.Tensor}): tf.Tensor => at(t, 1);

/** One step from its beginning. @throws Error where the walker falls */
export function returnMap([angle, rate]: StepStart, gamma: number): ReturnMap {
  const given = {
    params: {gamma, theta: angle, rate},
    initial: ({params}: {params: Params}) => started(params.theta as tf.Tensor, params.rate as tf.Tensor),
  };
  const period = oneStep.value(ended, given);
  if (period >= course.t1)
    throw new Error(`From (${angle}, ${rate}) on a slope of ${gamma} the walker falls: its foot does not come down.`);
  const rows = beginning.map(loss => oneStep.valueAndGrad(loss, given));
  const by = (name: 'theta' | 'rate' | 'gamma'): StepStart => {
    const [one, other] = rows.map(({gradient}) => (gradient.params[name] as Float64Array)[0]);
    return [one, other];
  };
  const [byAngle, byRate] = [by('theta'), by('rate')];
  return {
    next: [rows[0].value, rows[1].value],
    jacobian: [
      [byAngle[0], byRate[0]],
      [byAngle[1], byRate[1]],
    ],
    bySlope: by('gamma'),
    period,
  };
}

/** A gait: the step that is followed by the same step. */
export interface Gait extends ReturnMap {
  readonly start: StepStart;
  readonly gamma: number;
  /** Newton's corrections. */
  readonly iterations: number;
  /** Eigenvalues of the return map; the gait is stable where both lie within the unit circle. */
  readonly eigenvalues: readonly [Eigenvalue, Eigenvalue];
}

export interface Eigenvalue {
  readonly real: number;
  readonly imaginary: number;
}

/** The fixed point of the return map near a guess, by Newton's method: (I − P') δ = P(x) − x. */
export function gait(gamma: number, guess: StepStart): Gait {
  let start = guess;
  for (let iterations = 1; iterations <= 20; iterations++) {
    const {jacobian, next} = returnMap(start, gamma);
    const step = solved(jacobian, [next[0] - start[0], next[1] - start[1]]);
    start = [start[0] + step[0], start[1] + step[1]];
    // Convergence is quadratic: what is left is 1e-16 and what rounding does.
    if (Math.hypot(...step) > 1e-8) continue;
    const map = returnMap(start, gamma);
    return {...map, start, gamma, iterations, eigenvalues: eigenvalues(map.jacobian)};
  }
  throw new Error(
    `No gait near (${guess.join(', ')}) on a slope of ${gamma}: Newton's method did not end in 20 iterations.`,
  );
}

/** The gait on a slope not far from another's: the fixed point moves with the slope as (I − P')⁻¹ ∂P/∂γ. */
export function onSlope(gamma: number, known: Gait): Gait {
  const [angle, rate] = solved(known.jacobian, known.bySlope);
  const by = gamma - known.gamma;
  return gait(gamma, [known.start[0] + by * angle, known.start[1] + by * rate]);
}

/** (I − J) x = b */
function solved([[a, b], [c, d]]: ReturnMap['jacobian'], [x, y]: StepStart): StepStart {
  const determinant = (1 - a) * (1 - d) - b * c;
  return [((1 - d) * x + b * y) / determinant, (c * x + (1 - a) * y) / determinant];
}

export function eigenvalues([[a, b], [c, d]]: ReturnMap['jacobian']): Gait['eigenvalues'] {
  const [half, square] = [(a + d) / 2, ((a - d) / 2) ** 2 + b * c];
  const root = Math.sqrt(Math.abs(square));
  const one = (sign: number): Eigenvalue =>
    square < 0 ? {real: half, imaginary: sign * root} : {real: half + sign * root, imaginary: 0};
  return [one(1), one(-1)];
}

/**
 * The slope beyond which the gait is not stable any more: one eigenvalue is −1, det(P' + I) = 0, and every second step
 * becomes alike. By the secant method.
 */
export function periodDoubling(from: Gait, second: number): Gait {
  const value = ({jacobian: [[a, b], [c, d]]}: Gait): number => (1 + a) * (1 + d) - b * c;
  let [last, here] = [from, onSlope(second, from)];
  for (let k = 0; k < 20 && Math.abs(here.gamma - last.gamma) > 1e-11; k++) {
    const slope = (value(here) - value(last)) / (here.gamma - last.gamma);
    [last, here] = [here, onSlope(here.gamma - value(here) / slope, here)];
  }
  return here;
}

/** Steps from a beginning, with all of their heelstrikes. */
export function walk([angle, rate]: StepStart, gamma: number, t1: number): Trajectory {
  const {q, v} = tf.tidy(() => {
    const numbers = started(tf.scalar(angle), tf.scalar(rate));
    return {q: [...numbers.q.dataSync()], v: [...numbers.v.dataSync()]};
  });
  return simulate(walker, {q, v}, {...course, t1, events: [event({...touch, then: heelstrike})], params: {gamma}});
}

export function moving(path: Trajectory, gamma: number): Animation {
  return animate(path, {
    title: 'The simplest walker',
    description: 'Two legs walk down a slope; an arrow shows what the ground does to the stance leg.',
    params: {gamma},
    // Legs of 1 m.
    pace: Math.sqrt(1 / 9.81),
    timeUnit: '√(l/g)',
  });
}

/** Both gaits on a slope of 0.009 by M. Garcia's program of 1998 for the paper, to 1e-10 as it says. */
export const published = {
  long: [0.20031090049483, -0.19983247291764] as StepStart,
  short: [0.19393736960624, -0.20386692731962] as StepStart,
};

const complex =
  (digits: number) =>
  ({real, imaginary}: Eigenvalue): string =>
    imaginary === 0
      ? real.toFixed(digits)
      : `${real.toFixed(digits)} ${imaginary < 0 ? '−' : '+'} ${Math.abs(imaginary).toFixed(digits)}i`;

export async function main({report, short}: ScriptArguments): Promise<void> {
  const [long, quick] = [gait(0.009, [0.2, -0.2]), gait(0.009, [0.19, -0.2])];
  printTable([
    ['slope 0.009', 'θ', "θ'", 'period', 'eigenvalues', '', 'Newton'],
    ...[long, quick].map(({start, period, eigenvalues: both, iterations}, i) => [
      i === 0 ? 'long' : 'short',
      ...start.map(value => value.toFixed(12)),
      period.toFixed(9),
      ...both.map(complex(9)),
      String(iterations),
    ]),
    ...Object.entries(published).map(([name, start]) => [
      `${name}, published`,
      ...start.map(value => value.toFixed(12)),
      ...['', '', '', ''],
    ]),
  ]);
  if (!short) {
    let found = gait(0.001, [0.097, -0.1]);
    const rows = [0.001, 0.002, 0.004, 0.009, 0.014, 0.016].map(gamma => {
      found = onSlope(gamma, found);
      return [
        gamma.toFixed(3),
        found.start[0].toFixed(6),
        found.period.toFixed(6),
        ...found.eigenvalues.map(complex(6)),
      ];
    });
    printTable([['slope', 'θ', 'period', 'eigenvalues', ''], ...rows]);
    console.log(`Stable up to a slope of ${periodDoubling(long, 0.014).gamma.toFixed(6)}.`);
  }
  // Begun a little wrong, it comes back to the gait.
  const path = walk([long.start[0] + 0.01, long.start[1] - 0.01], 0.009, 6 * long.period);
  await writeAnimation(report, moving(path, 0.009));
}

script(
  import.meta.url,
  'walker',
  'The simplest walking model: its gait found by derivatives through the impact of its foot, and its stability.',
  main,
);
