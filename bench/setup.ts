/**
 * Set-up: processor time and peak memory from the description of a model to its first gradient, everything traced,
 * differentiated and compiled. `setup.js [case ...]` runs each case in a process of its own, the least of `ROUNDS` (5);
 * `setup.js one case` prints one as JSON. With `BASE=/path/to/another/checkout` each case runs there too, in turn, and
 * the table gives the ratio.
 */
import {spawnSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {fileURLToPath, pathToFileURL} from 'node:url';
import * as tf from '@tensorflow/tfjs';
import type * as lib from '../lib/index.js';
import type * as models from '../models/index.js';
import type * as robots from '../models/robots/index.js';

type Lib = typeof lib;
type Models = typeof models;
type Robots = typeof robots;
type Vector = readonly [number, number, number];

/** The checkout that is measured, and the one whose files a case reads. */
const here = fileURLToPath(new URL('..', import.meta.url));
const load = async <T>(path: string): Promise<T> => {
  const root = process.env.ROOT ?? here;
  const source = `${root}/${path}.ts`;
  return (await import(pathToFileURL(existsSync(source) ? source : `${root}/${path}.js`).href)) as T;
};
const fixture = (name: string): string => {
  const beside = `${here}/spec/models/robots/${name}`;
  return readFileSync(existsSync(beside) ? beside : `${here}/../../../spec/models/robots/${name}`, 'utf8');
};

interface Parts {
  readonly lib: Lib;
  readonly models: Models;
  readonly robots: Robots;
}

/** A gradient of Σ q_T at the end of a short run: everything is set up, and little of it is run. */
function gradientOf({simulate}: Lib, system: never, initial: never, options: object): void {
  const {trajectory, pullback} = simulate.vjp(system, initial, {saveAt: 'end', ...options} as never);
  const name = 'y' in (initial as object) ? 'y' : 'q';
  const {length} = trajectory.values(name as 'y');
  pullback({[name]: new Float64Array(length).fill(1)});
  trajectory.dispose();
}

function fourBar({models}: Parts): unknown {
  const {axisTorque, jointFriction, multibody, revolute} = models;
  const crank: Vector = [Math.cos(Math.PI / 3), 0, Math.sin(Math.PI / 3)];
  const [dx, dz] = [3 - crank[0], -crank[2]];
  const d = Math.hypot(dx, dz);
  const along = (9 - 6.25 + d * d) / (2 * d);
  const across = Math.sqrt(9 - along * along);
  const rocker: Vector = [crank[0] + (along * dx - across * dz) / d, 0, crank[2] + (along * dz + across * dx) / d];
  const middle = (p: Vector, q: Vector): Vector => [(p[0] + q[0]) / 2, 0, (p[2] + q[2]) / 2];
  const axis: Vector = [0, -1, 0];
  const inertia = (j: number): Vector => [j, j, j];
  return multibody({
    gravity: [0, 0, -9.81],
    bodies: {
      crank: {mass: 1, inertia: inertia(1 / 12), position: middle([0, 0, 0], crank)},
      coupler: {mass: 2, inertia: inertia(1.5), position: middle(crank, rocker)},
      rocker: {mass: 1.5, inertia: inertia(0.78), position: middle(rocker, [3, 0, 0])},
    },
    joints: {
      o: revolute('ground', 'crank', {at: [0, 0, 0], axis}),
      a: revolute('crank', 'coupler', {at: crank, axis}),
      b: revolute('coupler', 'rocker', {at: rocker, axis}),
      d: revolute('ground', 'rocker', {at: [3, 0, 0], axis}),
    },
    forces: [
      axisTorque('ground', 'crank', {
        axis,
        torque: ({rate, params}) => tf.mul(params.stall as tf.Tensor, tf.sub(1, tf.div(rate, 10))),
      }),
      jointFriction('ground', 'rocker', {axis, viscous: 0.05, coulomb: 0.4, velocityScale: 0.05}),
    ],
  });
}

function fourBarBy(parts: Parts, options: object): void {
  const model = fourBar(parts) as {initial: never};
  gradientOf(parts.lib, model as never, model.initial, {dt: 1e-3, steps: 5, params: {stall: 30}, ...options});
}

function chain({lib, models}: Parts, count: number, coordinates: 'maximal' | 'minimal'): void {
  const {multibody, revolute} = models;
  const bodies: {[name: string]: object} = {};
  const joints: {[name: string]: unknown} = {};
  for (let i = 0; i < count; i++) {
    bodies[`b${i}`] = {mass: 1, inertia: [0.02, 0.09, 0.09], position: [i + 0.5, 0, 0]};
    const axis: Vector = i % 2 === 0 ? [0, 1, 0] : [0, 0, 1];
    joints[`j${i}`] = revolute(i === 0 ? 'ground' : `b${i - 1}`, `b${i}`, {at: [i, 0, 0], axis});
  }
  const model = multibody({gravity: [0, 0, -9.81], bodies, joints, coordinates} as never);
  gradientOf(lib, model as never, model.initial as never, {scheme: lib.implicitMidpoint(), dt: 1e-3, steps: 5});
}

function robot({lib, robots}: Parts, file: string, options: object): void {
  const model = file.endsWith('.urdf')
    ? robots.readUrdf(fixture(`urdf/${file}`), {limits: false})
    : robots.readMjcf(fixture(`mjcf/${file}`), {});
  gradientOf(lib, model as never, model.initial as never, {dt: 1e-3, steps: 5, ...options});
}

function boxes({lib, models}: Parts, count: number): void {
  const {
    multibody,
    rigidContact,
    shapes: {box, plane},
  } = models;
  const edge = 0.2;
  const at = (i: number): Vector => [0.01 * (i % 2), 0.01 * (i % 3), edge * (i + 0.5)];
  const cube = (i: number) => box({size: [edge, edge, edge], at: at(i)});
  const inertia: Vector = [edge ** 2 / 6, edge ** 2 / 6, edge ** 2 / 6];
  const bodies = Object.fromEntries(
    Array.from({length: count}, (_, i) => [`b${i}`, {mass: 1, inertia, position: at(i)}]),
  );
  const contacts = Array.from({length: count}, (_, i) =>
    i === 0
      ? rigidContact('ground', 'b0', {shapes: [plane(), cube(0)], friction: 0.5})
      : rigidContact(`b${i - 1}`, `b${i}`, {shapes: [cube(i - 1), cube(i)], friction: 0.5}),
  );
  const model = multibody({gravity: [0, 0, -9.81], bodies, contacts});
  gradientOf(lib, model as never, model.initial as never, {scheme: lib.moreau(), dt: 0.01, steps: 5});
}

function terms({lib}: Parts, count: number): void {
  const system = lib.mechanics({
    mass: 1,
    forces: ({q, params}) => {
      let force: tf.Tensor = tf.zerosLike(q);
      for (let i = 0; i < count; i++)
        force = tf.sub(force, tf.mul(params.k as tf.Tensor, tf.tanh(tf.sub(q, i / count))));
      return force;
    },
  });
  const start = {q: new Float64Array(4), v: new Float64Array(4)};
  const options = {scheme: lib.implicitMidpoint(), dt: 0.01, steps: 5, params: {k: 1}};
  gradientOf(lib, system as never, start as never, options);
}

/** As `terms`, the terms of a list of forces. */
function forces({lib}: Parts, count: number): void {
  const system = lib.mechanics({
    mass: 1,
    forces: Array.from(
      {length: count},
      (_, i) =>
        ({q, params}: {q: tf.Tensor; params: {[name: string]: unknown}}) =>
          tf.neg(tf.mul(params.k as tf.Tensor, tf.tanh(tf.sub(q, i / count)))),
    ) as never,
  });
  const start = {q: new Float64Array(4), v: new Float64Array(4)};
  const options = {scheme: lib.implicitMidpoint(), dt: 0.01, steps: 5, params: {k: 1}};
  gradientOf(lib, system as never, start as never, options);
}

function network({lib}: Parts): void {
  const sizes = [2, 64, 64, 2];
  const params = Object.fromEntries<number[][] | Float64Array>(
    sizes.slice(1).flatMap((to, i) => [
      [
        `w${i}`,
        Array.from({length: sizes[i]}, (_, r) => Array.from({length: to}, (_c, c) => Math.sin(r + 3 * c) / to)),
      ],
      [`b${i}`, new Float64Array(to)],
    ]),
  );
  const system = lib.ode(({y, params: all}) => {
    let x: tf.Tensor = y;
    for (let i = 0; i < 3; i++) {
      x = tf.add(tf.matMul(x as tf.Tensor2D, all[`w${i}`] as tf.Tensor2D), all[`b${i}`] as tf.Tensor);
      if (i < 2) x = tf.tanh(x);
    }
    return x;
  });
  gradientOf(lib, system as never, {y: [[1, 0]]} as never, {scheme: lib.tsit5(), dt: 0.1, steps: 5, params});
}

function springs({lib}: Parts, n: number): void {
  const system = lib.mechanics({
    mass: 1,
    forces: ({q, v, params}) => {
      const before = tf.concat([tf.zeros([1]), tf.slice(q, [0], [n - 1])]);
      const d = tf.sub(q, before);
      const tension = tf.mul(params.k as tf.Tensor, tf.add(d, tf.mul(tf.mul(tf.mul(d, d), d), 0.5)));
      const after = tf.concat([tf.slice(tension, [1], [n - 1]), tf.zeros([1])]);
      return tf.add(tf.sub(tf.sub(after, tension), tf.mul(v, 0.1)), 1);
    },
  });
  const start = {q: new Float64Array(n), v: new Float64Array(n)};
  const params = {k: new Float64Array(n).fill(1e4)};
  gradientOf(lib, system as never, start as never, {scheme: lib.implicitMidpoint(), dt: 0.01, steps: 5, params});
}

const cases: {readonly [name: string]: (parts: Parts) => void} = {
  'four-bar, midpoint': parts => fourBarBy(parts, {scheme: parts.lib.implicitMidpoint()}),
  'four-bar, generalizedAlpha, ggl': parts =>
    fourBarBy(parts, {scheme: parts.lib.generalizedAlpha({rhoInf: 0.9}), stabilization: 'ggl'}),
  'four-bar, radauIIA5, ggl': parts => fourBarBy(parts, {scheme: parts.lib.radauIIA5(), stabilization: 'ggl'}),
  gripper: parts => robot(parts, 'gripper.urdf', {scheme: parts.lib.implicitMidpoint()}),
  'three boxes': parts => boxes(parts, 3),
  'six boxes': parts => boxes(parts, 6),
  humanoid: parts => robot(parts, 'humanoid.xml', {scheme: parts.lib.implicitMidpoint()}),
  ...Object.fromEntries(
    (['maximal', 'minimal'] as const).flatMap(coordinates =>
      [10, 20, 50, 100, 200].map(count => [
        `chain of ${count}, ${coordinates}`,
        (parts: Parts) => chain(parts, count, coordinates),
      ]),
    ),
  ),
  ...Object.fromEntries(
    [64, 256, 512, 1024, 2048, 4096].map(count => [`${count} terms`, (parts: Parts) => terms(parts, count)]),
  ),
  ...Object.fromEntries([256, 1024].map(count => [`${count} forces`, (parts: Parts) => forces(parts, count)])),
  'neural ODE, tsit5': network,
  'W1, n = 32': parts => springs(parts, 32),
};

const processor = (): number => {
  const {user, system} = process.cpuUsage();
  return (user + system) / 1000;
};

interface Measured {
  readonly milliseconds: number;
  readonly mebibytes: number;
}

function measured(name: string, root: string): Measured | undefined {
  const args = [...process.execArgv, fileURLToPath(import.meta.url), 'one', name];
  const {stdout, stderr, status} = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: 300_000,
    env: {...process.env, ROOT: root},
  });
  if (status !== 0) {
    console.error(`${name}: ${stderr.split('\n').slice(0, 8).join('\n')}`);
    return undefined;
  }
  return JSON.parse(stdout.trim().split('\n').slice(-1)[0]) as Measured;
}

const [, , first, second] = process.argv;
if (first === 'one') {
  tf.enableProdMode();
  await tf.ready();
  const parts: Parts = {
    lib: await load<Lib>('lib/index'),
    models: await load<Models>('models/index'),
    robots: await load<Robots>('models/robots/index'),
  };
  const begin = processor();
  cases[second](parts);
  const milliseconds = processor() - begin;
  console.log(JSON.stringify({milliseconds, mebibytes: process.resourceUsage().maxRSS / 1024}));
} else {
  const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(cases);
  const rounds = Number(process.env.ROUNDS ?? 5);
  const roots = [here, ...(process.env.BASE === undefined ? [] : [process.env.BASE])];
  console.log('| case | ms | MiB | base, ms | MiB | ratio |\n| --- | --: | --: | --: | --: | --: |');
  for (const name of names.flatMap(given =>
    Object.keys(cases).filter(each => each === given || each.startsWith(given)),
  )) {
    const least = roots.map(() => ({milliseconds: Infinity, mebibytes: Infinity}));
    for (let round = 0; round < rounds; round++)
      roots.forEach((root, i) => {
        const run = measured(name, root);
        if (run === undefined) return;
        least[i].milliseconds = Math.min(least[i].milliseconds, run.milliseconds);
        least[i].mebibytes = Math.min(least[i].mebibytes, run.mebibytes);
      });
    const [own, base] = least;
    const rest =
      base === undefined
        ? '| | |'
        : `${base.milliseconds.toFixed(0)} | ${base.mebibytes.toFixed(0)} | ${(own.milliseconds / base.milliseconds).toFixed(2)} |`;
    console.log(`| ${name} | ${own.milliseconds.toFixed(0)} | ${own.mebibytes.toFixed(0)} | ${rest}`);
  }
}
