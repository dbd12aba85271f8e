/**
 * What a multibody system costs with its number of bodies: chains in space in maximal and in minimal coordinates, and balls that
 * lie apart on a plane, yielding and rigid; beside MuJoCo where `python3` (or `PYTHON`) has it. `multibody-scaling.js [most]` runs each size up to
 * `most` (default 1,000) in a process of its own and prints a table; `multibody-scaling.js case size` prints one as JSON.
 */
import {spawnSync} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import type {Scheme} from '../lib/index.js';
import {implicitMidpoint, moreau, simulate, symplecticEuler} from '../lib/index.js';
import type {BodySpec, Multibody} from '../models/index.js';
import {contact, multibody, revolute, rigidContact, spherical} from '../models/index.js';
import {plane, sphere} from '../models/multibody/shapes.js';

/** The models, which multibody_mujoco.py makes too: steps of 1 ms from rest, more of few bodies, so that what a run costs once is small. */
const cases = [
  'balls, maximal',
  'hinges, maximal',
  'hinges, minimal',
  'hinges, minimal, explicit',
  'contacts',
  'rigid contacts',
] as const;
type Case = (typeof cases)[number];

const dt = 0.001;
const stepsOf = (n: number): number => (n <= 100 ? 100 : 10);
/** Longest time that a case may take [ms]. */
const patience = 600_000;

/** Rods of length 1 and mass 1 in a row along x, held at one end; every second hinge turns about z, the others about y. */
function chain(n: number, joint: 'balls' | 'hinges', coordinates: 'maximal' | 'minimal'): Multibody {
  const bodies: {[name: string]: BodySpec} = {};
  const joints: {[name: string]: ReturnType<typeof revolute>} = {};
  for (let i = 0; i < n; i++) {
    bodies[`b${i}`] = {mass: 1, inertia: [0.02, 0.09, 0.09], position: [i + 0.5, 0, 0]};
    const before = i === 0 ? 'ground' : `b${i - 1}`;
    joints[`j${i}`] =
      joint === 'balls'
        ? spherical(before, `b${i}`, {at: [i, 0, 0]})
        : revolute(before, `b${i}`, {at: [i, 0, 0], axis: i % 2 === 0 ? [0, 1, 0] : [0, 0, 1]});
  }
  return multibody({gravity: [0, 0, -9.81], bodies, joints, coordinates});
}

/** Balls of mass 1 that slide on a plane, 1 apart in a square; where it yields, pressed into it by their weight. */
function contacts(n: number, yields: boolean): Multibody {
  const radius = 0.1;
  const stiffness = 1e5;
  const depth = yields ? (9.81 / stiffness) ** (2 / 3) : 0;
  const shapes = [plane(), sphere({radius})] as const;
  const row = Math.ceil(Math.sqrt(n));
  const bodies: {[name: string]: BodySpec} = {};
  for (let i = 0; i < n; i++) {
    const position = [i % row, Math.floor(i / row), radius - depth] as const;
    bodies[`b${i}`] = {mass: 1, inertia: [0.004, 0.004, 0.004], position, velocity: [0.1, 0, 0]};
  }
  return multibody({
    gravity: [0, 0, -9.81],
    bodies,
    contacts: Object.keys(bodies).map(body =>
      yields
        ? contact('ground', body, {shapes, stiffness, friction: 0.5, slip: 0.1, dissipation: 0.1})
        : rigidContact('ground', body, {shapes, friction: 0.5}),
    ),
  });
}

function modelOf(name: Case, n: number): Multibody {
  if (name === 'contacts' || name === 'rigid contacts') return contacts(n, name === 'contacts');
  const [joint, coordinates] = name.split(', ') as ['balls' | 'hinges', 'maximal' | 'minimal'];
  return chain(n, joint, coordinates);
}

/** MuJoCo's own step, too, is semi-implicit Euler. */
function schemeOf(name: Case): Scheme {
  if (name === 'rigid contacts') return moreau();
  return name === 'hinges, minimal, explicit' ? symplecticEuler() : implicitMidpoint();
}

interface Measured {
  /** Model, trace, compilation and first gradient [s]. */
  readonly first: number;
  /** A step, and a step with its part of the gradient [µs]. */
  readonly forward: number;
  readonly gradient: number;
  /** Peak of resident memory [MiB]. */
  readonly peak: number;
  /** Height of the last body at the end, which MuJoCo's run has to have too. */
  readonly height: number;
}

/** The least of some runs; of the time on the clock and the processor's, which counts the compiler beside the run. */
function measure(name: Case, n: number): Measured {
  const processor = (): number => {
    const {user, system} = process.cpuUsage();
    return (user + system) / 1000;
  };
  const timed = (action: () => void): number => {
    const [from, wall] = [processor(), performance.now()];
    action();
    return Math.min(processor() - from, performance.now() - wall);
  };
  const steps = stepsOf(n);
  const begin = processor();
  const model = modelOf(name, n);
  const prepared = simulate.prepare(model, model.initial, {scheme: schemeOf(name), dt, steps, saveAt: 'end'});
  const run = (): {forward: number; gradient: number; height: number} => {
    let ran!: ReturnType<typeof prepared.vjp>;
    const forward = timed(() => (ran = prepared.vjp()));
    const {trajectory, pullback} = ran;
    const q = trajectory.values('q');
    const {position} = model.pose(trajectory, `b${n - 1}`);
    const gradient = forward + timed(() => pullback({q: new Float64Array(q.length).fill(1)}));
    trajectory.dispose();
    return {forward, gradient, height: position[position.length - 1]};
  };
  const {height} = run();
  const first = (processor() - begin) / 1000;
  let [forward, gradient] = [Infinity, Infinity];
  for (let until = performance.now() + 3000, round = 0; round < 8 || performance.now() < until; round++) {
    const one = run();
    forward = Math.min(forward, one.forward);
    gradient = Math.min(gradient, one.gradient);
  }
  return {
    first,
    forward: (forward / steps) * 1000,
    gradient: (gradient / steps) * 1000,
    peak: process.resourceUsage().maxRSS / 1024,
    height,
  };
}

interface Peer {
  readonly forward: number;
  readonly gradient: number | null;
  /** Of how many of its columns that is scaled; null where it took all. */
  readonly columns: number | null;
  /** null where too few steps were taken to compare. */
  readonly height: number | null;
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const python = process.env.PYTHON ?? 'python3';
/** From reports/bench/build/bench, where the compiled benchmark lies, to its source. */
const script = here('../../../../bench/peers/multibody_mujoco.py');

function outputOf(command: string, args: readonly string[]): unknown {
  const {status, stdout} = spawnSync(command, args, {encoding: 'utf8', timeout: patience, maxBuffer: 1e8});
  return status === 0 ? (JSON.parse(stdout.slice(stdout.lastIndexOf('\n{') + 1)) as unknown) : undefined;
}

const peers = new Map<string, Peer | undefined>();

/** MuJoCo has one model for all coordinates, and one for both kinds of contact. */
function peerOf(name: Case, n: number): Peer | undefined {
  const model = name.endsWith('contacts') ? 'contacts' : name.split(',')[0];
  const key = `${model} ${n}`;
  if (!peers.has(key))
    peers.set(key, outputOf(python, [script, model, String(n), String(stepsOf(n))]) as Peer | undefined);
  return peers.get(key);
}

/** Three digits. */
const digits = (x: number): string => (x >= 100 ? x.toFixed(0) : x.toPrecision(3));

function table(most: number): void {
  const hasPeer = spawnSync(python, ['-c', 'import mujoco']).status === 0;
  if (!hasPeer) console.log(`MuJoCo is left out: ${python} is not there or has no module mujoco.\n`);
  console.log(
    '| case | bodies | first gradient, s | a step, µs | with gradient, µs | MiB | MuJoCo: a step | its derivatives |',
  );
  console.log('| --- | --: | --: | --: | --: | --: | --: | --: |');
  for (const name of cases) {
    for (let n = 10; n <= most; n *= 10) {
      const own = outputOf(process.execPath, [here('./multibody-scaling.js'), name, String(n)]) as Measured | undefined;
      const peer = hasPeer ? peerOf(name, n) : undefined;
      // Both fall alike but for the order of the steps: MuJoCo's Euler falls a tenth further in ten.
      const there = peer?.height ?? undefined;
      if (own !== undefined && there !== undefined && Math.abs(own.height - there) > 0.2 * Math.abs(own.height))
        throw new Error(`${name}, ${n}: the last body is at ${own.height}, in MuJoCo at ${there}`);
      const mine =
        own === undefined
          ? ['', '', '', '']
          : [own.first.toFixed(1), digits(own.forward), digits(own.gradient), own.peak.toFixed(0)];
      const scaled = typeof peer?.columns === 'number' ? ` (of ${peer.columns} columns)` : '';
      const other = [peer?.forward, peer?.gradient ?? undefined].map(x => (x === undefined ? '' : digits(x)));
      other[1] += scaled;
      console.log(`| ${[name, n, ...mine, ...other].join(' | ')} |`);
    }
  }
}

const [, , what, size] = process.argv;
if ((cases as readonly string[]).includes(what))
  console.log(`\n${JSON.stringify(measure(what as Case, Number(size)))}`);
else table(Number(what ?? 1000));
