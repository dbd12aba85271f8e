/**
 * A block is pushed along a table and handed over at a target, at rest. Of all forces over time that bring it there,
 * the one of least ∫u² dt is looked for by derivatives through sliding and sticking; what is found is held against the
 * closed form.
 *
 * From work and energy: while the block slides, m v' = u − f with f = μ m g. A force that ends with the motion, after
 * the time T, has ∫(u − f) dt = 0 and m X = ∫(T − t)(u − f) dt, and ∫u² is least for u = f + (6 m X/T²)(1 − 2t/T).
 * Resting costs nothing, so T is free too: T = √(6X/(μg)), with which u = 2f (1 − t/T) ends at zero as the block comes
 * to rest, and ∫u² dt = (4/3) f² T. Its work is f X.
 *
 *     npx tsx examples/pushed-block.ts
 */
import * as tf from '@tensorflow/tfjs';
import {frictionalContact, mechanics, moreau, simulate, type Params, type Trajectory} from '../lib/index.js';
import {withFigure} from '../models/index.js';
import {animate, type Animation} from '../plot/index.js';
import {printTable, script, type ScriptArguments} from './script.js';
import {writeAnimation} from './write.js';

/** SI units. The force is linear between `nodes` equally spaced values. */
export const task = {mass: 2, friction: 0.3, g: 9.81, target: 0.7, duration: 1.5, nodes: 31} as const;

const {mass, friction, g, duration, nodes} = task;
/** Friction of sliding, in N. */
export const resistance = friction * mass * g;
const spacing = duration / (nodes - 1);
export const times = Float64Array.from({length: nodes}, (_, k) => k * spacing);

/** The optimum in closed form. */
export const optimum = {
  time: Math.sqrt((6 * task.target) / (friction * g)),
  force: (t: number): number => 2 * resistance * Math.max(0, 1 - t / optimum.time),
  get effort(): number {
    return (4 / 3) * resistance ** 2 * optimum.time;
  },
};

/** u(t): each value acts about its time, as a hat function. */
const push = (values: tf.Tensor, t: tf.Tensor): tf.Tensor => {
  const hats = tf.relu(tf.sub(1, tf.abs(tf.sub(tf.div(t, spacing), tf.range(0, nodes)))));
  return tf.sum(tf.mul(values, hats));
};

const force = (params: Params): tf.Tensor => params.force as tf.Tensor;

/** q = (x, y of the block's foot). Rows: what the table presses and rubs. */
const sliding = mechanics({
  mass,
  forces: ({t, params}) => tf.stack([push(force(params), t), tf.scalar(-mass * g)]),
  constraints: [frictionalContact(({q}) => tf.gather(q, 1), {slip: ({v}) => tf.gather(v, 0), friction})],
});

const [width, height] = [0.16, 0.1];

/** The block's corners, its target on the table, and the forces on it: push, pressure and friction. */
const block = withFigure(sliding, {
  points: ({q}) => {
    const corners = tf.tensor2d([
      [-width / 2, 0],
      [width / 2, 0],
      [width / 2, height],
      [-width / 2, height],
    ]);
    const marks = tf.tensor2d([task.target - width / 2, task.target + width / 2].map(x => [x, -0.02]));
    return tf.concat([tf.add(q, corners), marks]);
  },
  rods: [
    [0, 1],
    [1, 2],
    [2, 3],
    [3, 0],
    [4, 5],
  ],
  radius: 0.003,
  ground: [{normal: [0, 1]}],
  forces: ({q, t, lambda, params}) => {
    const [x, y] = tf.unstack(q);
    const [pressed, rubbed] = tf.unstack(lambda);
    const none = tf.zerosLike(x);
    return {
      at: tf.stack([tf.stack([tf.sub(x, width / 2), tf.add(y, height / 2)]), tf.stack([x, y]), tf.stack([x, y])]),
      force: tf.stack([tf.stack([push(force(params), t), none]), tf.stack([none, pressed]), tf.stack([rubbed, none])]),
    };
  },
});

const start = {q: [0, 0], v: [0, 0]};

export const pushed = (values: Float64Array, dt = 1e-3): Trajectory =>
  simulate(block, start, {scheme: moreau(), dt, t1: duration, params: {force: values}});

/** End of the block, in m, and its derivatives by the values of the force. */
export interface HandOver {
  readonly place: number;
  readonly gradient: Float64Array;
}

/** The map from forces to where the block ends; made once. */
export function handOvers(dt: number): (values: Float64Array) => HandOver {
  const run = simulate.prepare(sliding, start, {
    scheme: moreau(),
    dt,
    t1: duration,
    saveAt: 'end',
    params: {force: new Float64Array(nodes)},
  });
  const place = ({q}: {q: tf.Tensor}): tf.Tensor => tf.gather(tf.gather(q, 1), 0);
  return values => {
    const {value, gradient} = run.valueAndGrad(place, {params: {force: values}});
    return {place: value, gradient: gradient.params.force as Float64Array};
  };
}

/** W of the effort uᵀW u = ∫u² dt, summed as the steps sum forces: its diagonal, and the entries beside it. */
function weightsOf(dt: number): {readonly diagonal: Float64Array; readonly beside: Float64Array} {
  const [diagonal, beside] = [new Float64Array(nodes), new Float64Array(nodes)];
  for (let i = 1; i <= Math.round(duration / dt); i++) {
    const place = (i * dt) / spacing;
    const k = Math.min(Math.floor(place), nodes - 2);
    const [one, other] = [1 - (place - k), place - k];
    diagonal[k] += dt * one ** 2;
    diagonal[k + 1] += dt * other ** 2;
    beside[k] += dt * one * other;
  }
  return {diagonal, beside};
}

/** ∫u² dt, in N² s. */
export function effort(values: Float64Array, dt: number): number {
  const {diagonal, beside} = weightsOf(dt);
  return values.reduce((sum, u, k) => sum + u * (diagonal[k] * u + (k > 0 ? 2 * beside[k - 1] * values[k - 1] : 0)), 0);
}

/** W x = b, W tridiagonal and positive definite: elimination from the first row to the last. */
function solved({diagonal, beside}: ReturnType<typeof weightsOf>, b: Float64Array): Float64Array {
  const [pivot, x] = [diagonal.slice(), b.slice()];
  for (let k = 1; k < nodes; k++) {
    const factor = beside[k - 1] / pivot[k - 1];
    pivot[k] -= factor * beside[k - 1];
    x[k] -= factor * x[k - 1];
  }
  for (let k = nodes - 1; k >= 0; k--) x[k] = (x[k] - (k < nodes - 1 ? beside[k] * x[k + 1] : 0)) / pivot[k];
  return x;
}

export interface Found {
  readonly values: Float64Array;
  /** Miss and effort of every iterate, in m and N² s. */
  readonly history: readonly {readonly miss: number; readonly effort: number}[];
}

/**
 * The force of least effort that ends at the target: sequential quadratic programming with the Hessian W of the effort
 * alone, u⁺ = W⁻¹g (gᵀu − miss)/(gᵀW⁻¹g) (Nocedal & Wright, §18.1). g holds the time at which the block stops; once
 * this stays in one step the end is linear in u, and the next iterate is the last.
 */
export function optimized(guess: Float64Array, dt: number): Found {
  const [end, weights] = [handOvers(dt), weightsOf(dt)];
  const history: {miss: number; effort: number}[] = [];
  let values = guess;
  for (let iteration = 0; iteration < 80; iteration++) {
    const {place, gradient} = end(values);
    const miss = place - task.target;
    history.push({miss, effort: effort(values, dt)});
    const shape = solved(weights, gradient);
    const wanted = gradient.reduce((sum, slope, k) => sum + slope * values[k], -miss);
    const factor = wanted / gradient.reduce((sum, slope, k) => sum + slope * shape[k], 0);
    const next = shape.map(value => factor * value);
    const change = Math.max(...next.map((value, k) => Math.abs(value - values[k])));
    values = next;
    if (change < 1e-6 * resistance) return {values, history};
  }
  throw new Error(
    'The force did not converge in 80 iterations; begin with one that moves the block to near its target.',
  );
}

/**
 * A steady push, and then none. It begins above what friction holds: of a force that does not move the block no
 * derivative says that more would.
 */
export const guess = times.map(t => (t < 0.45 ? 2 * resistance : 0));

/** Work of the force and of friction along a run, in J. */
export function works(path: Trajectory, values: Float64Array): {readonly push: number; readonly friction: number} {
  const [t, q, lambda] = [path.values('t'), path.values('q'), path.values('lambda')];
  const sum = {push: 0, friction: 0};
  for (let i = 1; i < t.length; i++) {
    const moved = q[2 * i] - q[2 * i - 2];
    const place = Math.min(t[i] / spacing, nodes - 1);
    const k = Math.min(Math.floor(place), nodes - 2);
    sum.push += (values[k] + (place - k) * (values[k + 1] - values[k])) * moved;
    sum.friction += lambda[2 * i + 1] * moved;
  }
  return sum;
}

export const moving = (path: Trajectory, values: Float64Array): Animation =>
  animate(path, {
    title: 'A block is handed over',
    description:
      'A force pushes a block to a mark on a table, less and less; arrows show it, the friction and the pressure of '
      + 'the table.',
    params: {force: values},
    pace: 2,
  });

export async function main({report, short}: ScriptArguments): Promise<void> {
  const dt = short ? 1e-2 : 1e-3;
  const {values, history} = optimized(guess, dt);
  printTable([
    ['iteration', 'miss, m', 'effort, N² s'],
    ...history
      .map((at, i) => [String(i), at.miss.toExponential(1), at.effort.toFixed(4)])
      .filter((_, i) => i < 6 || i === history.length - 1),
  ]);
  const path = pushed(values, dt);
  const work = works(path, values);
  const [t, v] = [path.values('t'), path.values('v')];
  const moved = t.filter((_, i) => Math.abs(v[2 * i]) > 1e-9);
  printTable([
    ['', 'found', 'closed form'],
    ['at rest after, s', moved[moved.length - 1].toFixed(3), optimum.time.toFixed(3)],
    ...[0, 0.3, 0.6, 0.9].map(time => [
      `force at ${time} s, N`,
      values[Math.round(time / spacing)].toFixed(3),
      optimum.force(time).toFixed(3),
    ]),
    ['∫u² dt, N² s', effort(values, dt).toFixed(3), optimum.effort.toFixed(3)],
    ['work of the force, J', work.push.toFixed(4), (resistance * task.target).toFixed(4)],
    ['work of friction, J', work.friction.toFixed(4), (-resistance * task.target).toFixed(4)],
  ]);
  await writeAnimation(report, moving(path, values));
}

script(
  import.meta.url,
  'pushed-block',
  'A block is pushed to a target and left there at rest with the least effort, found by derivatives through slip and '
    + 'stick.',
  main,
);
