/**
 * Which initial guess? The source notes leave it open (theta-method.txt, Remarks); this measures it:
 * iterations to convergence, and the error of a step cut off after one and two, for every guess under
 * smooth, stiff and impulsive loads. Writes docs/initial-guesses.md and its figure; the numbers are the
 * same on every machine. `npx tsx bench/initial-guesses.ts` after a change of Newton or the guesses.
 */
import * as tf from '@tensorflow/tfjs';
import {mkdirSync, writeFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {lines, markup, verbatim} from '../lib/markup.js';
import {StepRecord} from '../lib/adjoint/record.js';
import type {ForceTerm, MechanicalSystem, Newton, Scheme, StepPoint} from '../lib/index.js';
import {defineScheme, implicitMidpoint, mechanics, newton, simulate} from '../lib/index.js';
import type {GuessName} from '../lib/scheme/theta.js';
import {prepare} from '../lib/simulate/prepare.js';
import {startRun} from '../lib/integrate/start.js';
import {GridStepper} from '../lib/integrate/grid-stepper.js';
import {Stepper} from '../lib/integrate/stepper.js';
import {noCounts} from '../lib/integrate/counters.js';
import type {Series} from '../training/report/plot.js';
import {chartStyle, lineChart} from '../training/report/plot.js';

export const pagePath = fileURLToPath(new URL('../docs/initial-guesses.md', import.meta.url));
export const figurePath = fileURLToPath(new URL('../docs/figures/initial-guesses.svg', import.meta.url));

export const guesses = [
  'rest',
  'current',
  'consistent',
  'linearized',
  'extrapolated',
] as const satisfies readonly GuessName[];

interface Load {
  readonly name: string;
  readonly about: string;
  /** Highest frequency, rad/s: of small motions, or of the contact. */
  readonly frequency: number;
  readonly system: MechanicalSystem;
  readonly initial: {readonly q: readonly number[]; readonly v: readonly number[]};
  readonly end: number;
  readonly steps: readonly number[];
}

const n = 8;
const each = (f: (i: number) => number): number[] => Array.from({length: n}, (_, i) => f(i));
const lastOnly = each(i => (i === n - 1 ? 1 : 0));
const still = {q: each(() => 0), v: each(() => 0)};
const before = (x: tf.Tensor): tf.Tensor => tf.concat([tf.zeros([1]), tf.slice(x, 0, n - 1)]);
const after = (x: tf.Tensor): tf.Tensor => tf.concat([tf.slice(x, 1), tf.zeros([1])]);

/** Springs s = k(d + 20 d³) + c d' in a row, one end on a wall. */
function hardeningChain(k: number, c: number): ForceTerm {
  return ({q, v}) => {
    const strain = tf.sub(q, before(q));
    const tension = tf.add(tf.mul(k, tf.add(strain, tf.mul(20, tf.pow(strain, 3)))), tf.mul(c, tf.sub(v, before(v))));
    return tf.sub(after(tension), tension);
  };
}

/** A blow of 2 kN for some 4 ms, every quarter of a second, on the last mass. */
const hammer: ForceTerm = ({t}) => {
  const phase = tf.sub(t, tf.mul(0.25, tf.round(tf.div(t, 0.25))));
  return tf.mul(tf.mul(2000, tf.exp(tf.neg(tf.square(tf.div(phase, 0.004))))), lastOnly);
};

export const loads: readonly Load[] = [
  {
    name: 'smooth',
    about: 'eight pendulums side by side, coupled by soft springs, with large swings, one of them driven at 2 rad/s',
    frequency: 5.5,
    system: mechanics({
      mass: 1,
      forces: [
        ({q}) => tf.mul(-9.81, tf.sin(q)),
        ({q}) => tf.mul(5, tf.sub(tf.add(before(q), after(q)), tf.mul(2, q))),
        ({v}) => tf.mul(-0.05, v),
        ({t}) => tf.mul(tf.sin(tf.mul(2, t)), lastOnly),
      ],
    }),
    initial: {q: each(i => 1.2 * Math.cos(i)), v: still.v},
    end: 6,
    steps: [0.01, 0.03, 0.1, 0.3],
  },
  {
    name: 'stiff, free',
    about: 'a chain of eight unit masses on hardening springs of 1e6 N/m, released from a stretched and bent state',
    frequency: 2000,
    system: mechanics({mass: 1, forces: [hardeningChain(1e6, 1)]}),
    initial: {q: each(i => 0.02 * (i + 1) + 0.01 * Math.sin(3 * i)), v: each(i => 5 * Math.cos(2 * i))},
    end: 0.3,
    steps: [0.0003, 0.001, 0.003, 0.01],
  },
  {
    name: 'stiff, driven',
    about: 'the same from rest, its end pulled by 20 kN at 5 rad/s',
    frequency: 2000,
    system: mechanics({
      mass: 1,
      forces: [hardeningChain(1e6, 1), ({t}) => tf.mul(tf.mul(2e4, tf.sin(tf.mul(5, t))), lastOnly)],
    }),
    initial: still,
    end: 0.6,
    steps: [0.001, 0.003, 0.01, 0.03],
  },
  {
    name: 'impulsive',
    about: 'the chain with 1e4 N/m, hit by a hammer for 4 ms every quarter of a second',
    frequency: 200,
    system: mechanics({mass: 1, forces: [hardeningChain(1e4, 1), hammer]}),
    initial: still,
    end: 0.9,
    steps: [0.001, 0.003, 0.01, 0.03],
  },
  {
    name: 'contact',
    about:
      'eight balls of 1 kg dropped from 0.1 to 0.8 m on a floor of 1e6 N/m, smoothed over a millimetre, with damping',
    frequency: 1000,
    system: mechanics({
      mass: 1,
      forces: [
        ({q}) => tf.mul(1e3, tf.softplus(tf.mul(-1e3, q))),
        ({q, v}) => tf.mul(-20, tf.mul(v, tf.sigmoid(tf.mul(-1e3, q)))),
        ({q}) => tf.fill(q.shape, -9.81),
      ],
    }),
    initial: {q: each(i => 0.1 + 0.1 * i), v: still.v},
    end: 0.6,
    steps: [0.0003, 0.001, 0.003, 0.01],
  },
];

/** What one guess costs and leaves, under one load with one step. */
export interface Measured {
  /** Linear systems solved a step until it converged, the one of 'linearized' among them. */
  readonly iterations: number;
  /** Of v⁺ after one and two of them: root mean square over the steps of the largest component, as a share of the run's largest speed. */
  readonly error: readonly [number, number];
}

export function measure({system, initial, end}: Load, dt: number, scheme: Scheme, free = false): Measured {
  // The unknown is v⁺, or q⁺ and v⁺.
  const steps = Math.round(end / dt);
  const options = {scheme, dt, steps, saveAt: 'end'} as const;
  const converged = simulate(system, initial, options);
  converged.dispose();
  const prepared = prepare(system, initial, options);
  const stepper = new Stepper(prepared, startRun(prepared, noCounts()).x, true, false);
  const record = new StepRecord(prepared.traced.state.size, prepared.traced.unknown.size, steps);
  stepper.recorder.record = record;
  const along = new GridStepper(prepared, stepper);
  const squares = [0, 0];
  let fastest = 0;
  for (let k = 0; k < steps; k++) {
    if (along.take(k) !== 'completed') throw stepper.error ?? new Error('a step failed');
    const v = stepper.state.subarray(n, 2 * n);
    fastest = Math.max(fastest, ...v.map(Math.abs));
    // z before iteration j + 1 is what j iterations give; where there are fewer they have converged.
    squares.forEach((_, j) => {
      const z = record.iterations[k][j + 1]?.z.slice(-n) ?? v;
      squares[j] += Math.max(...v.map((value, i) => Math.abs(value - z[i]))) ** 2;
    });
  }
  const [one, two] = squares.map(sum => Math.sqrt(sum / steps) / fastest);
  return {iterations: converged.stats.newtonIterations / steps + (free ? 1 : 0), error: [one, two]};
}

/** The error at the end of a run whose steps are all cut off after so many iterations, as a share of the largest position. */
export function truncatedRun({system, initial, end}: Load, dt: number, scheme: Scheme, iterations: number): number {
  const run = (how: Newton): Float64Array => {
    const path = simulate(system, initial, {
      scheme,
      dt,
      steps: Math.round(end / dt),
      saveAt: 'end',
      newton: how,
      throw: false,
    });
    path.dispose();
    return path.status === 'completed' ? path.values('q').slice(n) : new Float64Array(n).fill(NaN);
  };
  const exact = run(newton());
  return (
    Math.max(...run(newton({iterations})).map((x, i) => Math.abs(x - exact[i]))) / Math.max(...exact.map(Math.abs))
  );
}

/** The midpoint rule's balance of momentum. */
function balance(q: tf.Tensor, v: tf.Tensor, {x, t, h, force, mass}: StepPoint): tf.Tensor {
  const [middle, mean] = [tf.mul(0.5, tf.add(x.q, q)), tf.mul(0.5, tf.add(x.v, v))];
  return tf.sub(mass(middle, tf.sub(v, x.v)), tf.mul(h, force(middle, mean, tf.add(t, tf.mul(0.5, h)))));
}

const moved = (v: tf.Tensor, {x, h}: StepPoint): tf.Tensor => tf.add(x.q, tf.mul(h, tf.mul(0.5, tf.add(x.v, v))));

/** The midpoint rule from `current` in which the first iteration leaves out −hθK R_q: what the note says is commonly done. */
const withoutTerm = defineScheme({
  name: 'midpoint from current, without the term',
  order: 2,
  unknown: ['v'],
  residual: ({v}, at) => ({v: balance(moved(v, at), v, at)}),
  update: ({v}, at) => ({v, q: moved(v, at)}),
  guess: ({x}) => ({z: {v: x.v}, frozenForce: true}),
});

/** The midpoint rule from q⁺₀ = q, v⁺₀ = v with the force evaluated there, at the step's own time. */
const evaluated = defineScheme({
  name: 'midpoint from current, evaluated',
  order: 2,
  unknown: ['q', 'v'],
  residual: ({q, v}, at) => ({q: tf.sub(q, moved(v, at)), v: balance(q, v, at)}),
  update: ({q, v}) => ({q, v}),
});

interface Row {
  readonly load: Load;
  readonly dt: number;
  readonly byGuess: {readonly [guess: string]: Measured};
  readonly run: {readonly [guess: string]: number};
  readonly evaluated: Measured;
  readonly without: Measured;
}

function measureAll(): Row[] {
  return loads.flatMap(load =>
    load.steps.map(dt => ({
      load,
      dt,
      byGuess: Object.fromEntries(
        guesses.map(guess => [guess, measure(load, dt, implicitMidpoint({guess}), guess === 'linearized')]),
      ),
      // The balls' later bounces depend on the last bit of the earlier ones.
      run:
        load.name === 'contact'
          ? {}
          : Object.fromEntries(guesses.map(guess => [guess, truncatedRun(load, dt, implicitMidpoint({guess}), 1)])),
      evaluated: measure(load, dt, evaluated),
      without: measure(load, dt, withoutTerm),
    })),
  );
}

const size = (x: number): string => (x < 1e-12 ? '< 1e-12' : x <= 1 ? x.toExponential(1) : 'lost');
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, i) => (i < 2 ? '---' : '--:')), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n');
const place = ({load, dt}: Row): string[] => [
  load.name,
  `${dt} s, hω = ${Number((dt * load.frequency).toPrecision(1))}`,
];

function byGuess(rows: readonly Row[], cell: (row: Row, guess: GuessName) => string): string {
  return table(
    ['load', 'step', ...guesses],
    rows.map(row => [...place(row), ...guesses.map(guess => cell(row, guess))]),
  );
}

function chart(rows: readonly Row[], load: Load): string {
  const own = rows.filter(row => row.load === load);
  const line = (name: string, guess: GuessName, style: Series['style']): Series => ({
    name,
    style,
    x: own.map(({dt}) => dt),
    y: own.map(row => Math.max(row.byGuess[guess].error[0], 1e-13)),
  });
  return lineChart({
    title: `${load.name}: error of a step after one iteration`,
    bare: true,
    height: chartHeight,
    series: [
      line('rest', 'rest', 'underlay'),
      line('current, linearized', 'current', 'line'),
      line('consistent', 'consistent', 'line'),
      line('extrapolated', 'extrapolated', 'dashed'),
    ],
    x: {label: 'step', unit: 's', scale: 'log'},
    y: {label: 'share of the largest speed', scale: 'log'},
  });
}

const chartHeight = 280;
/** The charts of all loads, one below the other, in one SVG. */
function figure(rows: readonly Row[]): string {
  const height = chartHeight * loads.length;
  const charts = loads.map((load, i) => chart(rows, load).replace('<svg ', `$&y="${i * chartHeight}" `));
  return String(
    markup`<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 ${height}" width="720" height="${height}"><style>${verbatim(chartStyle)}</style>\n${lines(charts.map(verbatim))}\n</svg>\n`,
  );
}

function page(rows: readonly Row[]): string {
  return `# Initial guesses

Where should Newton's method start? The θ-method leaves it open: the end of the step, q⁺₀ and v⁺₀, and even the first
force f⁺₀, may be chosen freely. A guess that violates R_q = 0 adds the term −hθK R_q to the first iteration, a term
that is commonly omitted. This page answers by measurement. \`npx tsx bench/initial-guesses.ts\` writes it, and a test
compares it with the code.

| guess | v⁺₀ | q⁺₀ | f⁺₀ |
|---|---|---|---|
| \`rest\` | 0 | q | f |
| \`current\` | v | q | f |
| \`consistent\` (default) | v | q + hv | evaluated there |
| \`linearized\` | \`current\`, plus one iteration that is not counted: the linearly implicit step | | |
| \`extrapolated\` | v + h times the last step's mean acceleration | from v⁺₀ | evaluated there |

All measurements use the implicit midpoint rule, condensed; the coupled form has the same iterates. An iteration costs
the same from every guess: one Jacobian, one factorization. Loads:

${loads.map(({name, about}) => `- **${name}**: ${about}.`).join('\n')}

## What to take

**\`consistent\`, the default**: use it wherever the step resolves the motion (hω up to about 2), and under drives, blows
and contact at any step. The error after one iteration is 2 to 10⁶ times smaller than from \`rest\` or \`current\`, the more
so the shorter the step, and it converges in up to one iteration less. There are two reasons:

- \`rest\`, \`current\` and \`linearized\` take f⁺₀ = f at the time of the *start*, so a drive has no effect before the second
  iteration. The error is of order h², slope 2 in the first chart; for a stiff system that follows its drive it is the
  whole velocity.
- They linearize at q, which is off by hv. \`consistent\` linearizes at q + hv, off by h²a/2, which leaves an error of
  order h⁵.

**\`current\`**: use it if the state vibrates at frequencies that the step does not resolve (*stiff, free* with hω > 2). q +
hv then lies far beyond what the springs allow, and a linearization there is worthless. At hω = 20 \`consistent\` needs
4.6 iterations, and its first two mean little; \`current\` needs 3 and is accurate to a per cent after one.

**\`extrapolated\`**: use it for smooth motion in short steps, with up to half the iterations, and slope 7. Under blows in
coarse steps, and in unresolved vibrations, it is the worst, because it carries an acceleration into a step that has
another one. Runs truncated to one iteration fail for that reason.

**\`linearized\`** is \`current\` with one iteration more, to the last bit; for the same number of linear systems solved it
equals \`current\`. **\`rest\`** is nowhere clearly better than \`current\`, and worse if motion is slow compared with the
step.

**Truncated to one iteration**, for real time: use \`consistent\` if steps resolve the motion, else \`linearized\`, which
solves two systems a step and is never far off here. **The term −hθK R_q must stay.** Without it, one iteration in a
stiff system that moves freely is wrong by the speed itself (last table). Two iterations hide that, so the omission goes
unnoticed if Newton converges.

## Iterations to convergence

Average number of linear systems solved per step, to the default tolerance. The convergence test of each step is one
more triangular solve.

${byGuess(rows, (row, guess) => row.byGuess[guess].iterations.toFixed(2))}

## Error of a step after one iteration

Starting each step from the converged run's states: the largest error of a component of v⁺, root mean square over the
steps, relative to the run's largest speed. One linear system is solved, also by \`linearized\`.

${byGuess(rows, (row, guess) => size(row.byGuess[guess].error[0]))}

![Error of a step after one iteration](figures/initial-guesses.svg)

## Error of a step after two iterations

${byGuess(rows, (row, guess) => size(row.byGuess[guess].error[1]))}

## A whole run with one iteration a step

\`newton({iterations: 1})\` in every step: the error of the last positions against the converged run, relative to the
largest of them; "lost" is more than 1. Here \`linearized\` makes its own iteration in addition.

${byGuess(
  rows.filter(({load}) => load.name !== 'contact'),
  (row, guess) => size(row.run[guess]),
)}

## Inside \`current\`

Error of a step after one iteration from q⁺₀ = q and v⁺₀ = v: as it is; with f⁺₀ evaluated there, at the step's own
time; and with f⁺₀ = f but without −hθK R_q. Under a drive \`current\` is less accurate because of its time; in unresolved
vibrations it is more accurate than \`consistent\` because of the term.

${table(
  ['load', 'step', 'current', 'f⁺₀ evaluated', 'without the term', 'consistent'],
  rows.map(row => [
    ...place(row),
    ...[row.byGuess.current, row.evaluated, row.without, row.byGuess.consistent].map(({error}) => size(error[0])),
  ]),
)}
`;
}

/** The page and its figure, from fresh measurements. */
export function initialGuesses(): {readonly page: string; readonly figure: string; readonly rows: readonly Row[]} {
  const rows = measureAll();
  return {page: page(rows), figure: figure(rows), rows};
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const written = initialGuesses();
  mkdirSync(fileURLToPath(new URL('../docs/figures', import.meta.url)), {recursive: true});
  writeFileSync(pagePath, written.page);
  writeFileSync(figurePath, written.figure);
}
