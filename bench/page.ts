/** docs/benchmarks.md and its figures, from the numbers of one run. */
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import type {Series} from '../training/report/plot.js';
import {lineChart} from '../training/report/plot.js';
import {operations} from './dense.js';
import {stiffSection} from './stiff-page.js';
import type {Fill, Large, Results, Row, Timed} from './results.js';
import type {TrainingName} from './workloads.js';
import {isTraining, rodSteps} from './workloads.js';

export const time = (milliseconds: number): string =>
  milliseconds >= 99.95 ? milliseconds.toFixed(0) : milliseconds.toPrecision(milliseconds < 1 ? 2 : 3);
const ratio = (x: number): string => (x >= 10 ? x.toFixed(0) : x.toFixed(1));
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, i) => (i === 0 ? '---' : '--:')), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n');

const of = ({contestants}: Row, name: string): Timed | undefined => contestants.find(one => one.name === name);
const own = 'stiffgrad, prepared';

/** Every contestant of a workload, in the order of the rows' own, and what it took for each size. */
function timesTable(rows: readonly Row[], unit: (row: Row) => string): string {
  const names = [...new Set(rows.flatMap(row => row.contestants.map(({name}) => name)))];
  return table(
    ['ms, forward / with gradient', ...rows.map(unit)],
    names.map(name => [
      name,
      ...rows.map(row => {
        const one = of(row, name);
        return one === undefined ? '' : `${time(one.forward.min)} / ${time(one.gradient.min)}`;
      }),
    ]),
  );
}

/** The median over the rounds, of two batches timed one after the other, with the least and the most. */
function shareOf(one: Timed | undefined): string {
  if (one === undefined) return '';
  const {ratios} = one;
  return ratios === undefined
    ? (one.gradient.min / one.forward.min).toFixed(2)
    : `${ratios.median.toFixed(2)} (${ratios.least.toFixed(2)}–${ratios.most.toFixed(2)})`;
}

function ratioTable(rows: readonly Row[], unit: (row: Row) => string): string {
  const names = [...new Set(rows.flatMap(row => row.contestants.map(({name}) => name)))].filter(name => name !== own);
  return table(
    ['with gradient, in units of stiffgrad, prepared', ...rows.map(unit)],
    [
      ...names.map(name => [
        name,
        ...rows.map(row => {
          const [one, mine] = [of(row, name), of(row, own)];
          return one === undefined || mine === undefined ? '' : ratio(one.gradient.min / mine.gradient.min);
        }),
      ]),
      ...[own, 'C']
        .filter(name => rows.some(row => of(row, name) !== undefined))
        .map(name => [`${name}: gradient / forward`, ...rows.map(row => shareOf(of(row, name)))]),
    ],
  );
}

function skips(rows: readonly Row[]): string {
  const words = new Map(
    rows.flatMap(row =>
      Object.entries(row.skipped).map(([name, why]) => [`${name}: ${why}`, `- ${name} (n = ${row.n}): ${why}`]),
    ),
  );
  return words.size === 0 ? '' : `\nMissing:\n\n${[...words.values()].join('\n')}\n`;
}

function figure(
  folder: string,
  file: string,
  title: string,
  rows: readonly Row[],
  label: string,
  unknowns: (row: Row) => number,
): string {
  const names = [...new Set(rows.flatMap(row => row.contestants.map(({name}) => name)))];
  const series: Series[] = names.map((name, i) => {
    const there = rows.flatMap(row => {
      const one = of(row, name);
      return one === undefined ? [] : [{x: unknowns(row), y: one.gradient.min}];
    });
    return {
      name,
      x: there.map(({x}) => x),
      y: there.map(({y}) => y),
      color: i % 6,
      style: there.length === 1 ? ('points' as const) : i >= 6 ? ('dashed' as const) : ('line' as const),
    };
  });
  mkdirSync(folder, {recursive: true});
  writeFileSync(
    join(folder, file),
    `${lineChart({title, x: {label, scale: 'log'}, y: {label: 'forward and gradient', unit: 'ms', scale: 'log'}, series, height: 360})}\n`,
  );
  return `![${title}](figures/${file})`;
}

function largeNets(large: readonly Large[]): string {
  return `## Large nets

The first 5 of these steps and their gradient, for stiffgrad only, each size in its own process.

${table(
  ['', ...large.map(({rows, unknowns}) => `${rows}², ${unknowns.toLocaleString('en')} unknowns`)],
  [
    ['first gradient, including tracing and compiling', ...large.map(({first}) => `${(first / 1000).toFixed(1)} s`)],
    ['forward', ...large.map(({forward}) => `${(forward / 1000).toFixed(1)} s`)],
    ['forward and gradient', ...large.map(({gradient}) => `${(gradient / 1000).toFixed(1)} s`)],
    ['Newton iterations', ...large.map(({iterations}) => String(iterations))],
    ['one factorization', ...large.map(({factorization}) => `${time(factorization)} ms`)],
    ['peak resident memory', ...large.map(({peak}) => `${peak.toFixed(0)} MiB`)],
  ],
)}`;
}

function fillOfNets(fill: readonly Fill[]): string {
  const names = [...new Set(fill.flatMap(({references}) => Object.keys(references)))];
  return `## Fill

Nonzeros of the net's factor L, compared with those from the orderings of other programs for the same pattern
([script](../bench/oracles/fill.py)).

${table(
  ['', ...fill.map(({rows}) => `${rows}²`)],
  [
    ['nonzeros of L', ...fill.map(({nonzeros}) => nonzeros.toLocaleString('en'))],
    ...names.map(name => [
      `in units of ${name}`,
      ...fill.map(({nonzeros, references}) => (name in references ? (nonzeros / references[name]).toFixed(2) : '')),
    ]),
    ['stored numbers, including zeros in supernodes', ...fill.map(({stored}) => stored.toLocaleString('en'))],
    ['operations of a factorization, in millions', ...fill.map(({work}) => (work / 1e6).toFixed(0))],
    ['ordering and symbolic factorization, ms', ...fill.map(({analysis}) => time(analysis))],
  ],
)}`;
}

function rodChains(rods: readonly Row[]): string {
  const each = (row: Row, pick: (one: Timed) => number): string => {
    const one = of(row, own);
    return one === undefined ? '' : ((1000 * pick(one)) / (row.n * rodSteps)).toFixed(1);
  };
  return `## Chains of rods

n rigid rods of length 1 in the plane, point masses 1 between them, fixed at one end and released from a coil: positions and
multipliers form a band matrix with 15 unknowns per rod. ${rodSteps} steps of implicit midpoint, 0.01 each; gradient with respect to all n masses.

${timesTable(rods, ({n}) => `n = ${n.toLocaleString('en')}`)}

${table(
  ['µs per rod and step', ...rods.map(({n}) => `n = ${n.toLocaleString('en')}`)],
  [
    ['forward', ...rods.map(row => each(row, one => one.forward.min))],
    ['with gradient', ...rods.map(row => each(row, one => one.gradient.min))],
  ],
)}
${skips(rods)}`;
}

const trainingTitles: {readonly [name in TrainingName]: string} = {
  spiral: 'spiral, 32 starts, 2–64–64–2 (softplus), 99 constant steps',
  'spiral-adaptive': 'the same, adaptive',
  'small-net': 'small net 2–16–16–2, one trajectory, 50 steps',
  'latent-ode': 'latent ODE, 32 curves at 20 irregular times, adaptive',
  hybrid: 'hybrid chain: four masses and a network 8–16–4, 50 steps of implicit midpoint',
  'lotka-volterra': 'Lotka–Volterra with a network 2–5–5–2, 31 times, adaptive',
};

/** Columns of the table of training: what is printed, and who it is. */
const trainers = [
  ['stiffgrad, double', own],
  ['single', 'stiffgrad, single precision'],
  ['diffrax, double', 'diffrax'],
  ['single', 'diffrax, single precision'],
  ['PyTorch, double', 'PyTorch'],
  ['single', 'PyTorch, single precision'],
  ['tfjs, cpu', 'tfjs, cpu'],
  ['tfjs, wasm', 'tfjs, wasm'],
] as const;

function trainingSteps(rows: readonly Row[]): string {
  const there = trainers.filter(([, name]) => rows.some(row => of(row, name) !== undefined));
  return `## Training steps

One training step: milliseconds and, in parentheses, the processor time of all threads. It consists of the run, its gradient with respect to all
weights, and Adam's update. The smallest time of all turns in one run of the program; load averages: ${rows.map(({load}) => load.toFixed(1)).join(', ')}, with 2
cores. Definitions: [training-rows.ts](../bench/training-rows.ts), [spiral.ts](../bench/spiral.ts) after diffrax's example, [hybrid.ts](../bench/hybrid.ts). Explicit rows use tsit5;
adaptive ones have rtol 1e-3 and atol 1e-6 (Lotka–Volterra 1e-6 both) and save with dense output.

All use the same weights, data and times, from one file. Loss and gradient norm of the first step are compared before timing: to six digits with constant
steps, to three with adaptive ones, whose controllers differ, and to two in single precision.

- **stiffgrad** is used as a user would: \`simulate.prepare\` once, then a compiled [training step](compiled-training.md), on one thread.
- **diffrax** ([script](../bench/peers/training_diffrax.py)): loss, gradient and Adam in one jit, \`RecursiveCheckpointAdjoint(checkpoints=steps)\`; the hybrid by implicit midpoint with optimistix' Newton, the faster of Newton and chord. It uses all cores.
- **PyTorch** ([script](../bench/peers/training_torch.py)): the same methods written out, eager, with its autograd, on one thread, because two are slower here.
- **tfjs** ([source](../bench/peers/plain-training.ts)): the same methods in tfjs operations on its tape, in single precision, on its JavaScript backend, and on that of @tensorflow/tfjs-backend-wasm if it is installed.

${table(
  ['', ...there.map(([title]) => title)],
  rows.map(row => [
    trainingTitles[row.workload as TrainingName],
    ...there.map(([, name]) => {
      const one = of(row, name);
      return one === undefined ? '' : `${time(one.gradient.min)} (${time(one.processor ?? NaN)})`;
    }),
  ]),
)}
${skips(rows)}`;
}

function denseNetwork(row: Row): string {
  const reference = (single: boolean): Timed | undefined =>
    of(row, `PyTorch, one thread${single ? ', single precision' : ''}`);
  const cells = row.contestants.map(one => {
    const other = reference(one.name.includes('single'));
    const share = (a: number | undefined, b: number | undefined): string =>
      a === undefined || b === undefined ? '' : (a / b).toFixed(2);
    return [
      one.name === own ? 'stiffgrad, double' : one.name,
      time(one.gradient.min),
      time(one.processor ?? NaN),
      (operations / one.gradient.min / 1e6).toFixed(1),
      share(other?.gradient.min, one.gradient.min),
      share(other?.processor, one.processor),
    ];
  });
  return `## A dense network

The gradient of one evaluation, four layers 512 → 512 with tanh between and a batch of 512, with respect to batch and weights: mainly products of
large matrices ([definition](../bench/dense.ts), [PyTorch](../bench/peers/products_torch.py)). **stiffgrad** is on one thread, the default, and with its [large products](precision.md#on-several-threads) on two.
The last columns are the speed relative to PyTorch on one thread, by time and by processor time; load average ${row.load.toFixed(1)}, with 2 cores.

${table(['', 'ms', 'processor, ms', 'GFLOP/s', 'speed', 'by processor time'], cells)}
${skips([row])}`;
}

export function writePage(results: Results, docs: string): void {
  const {machine, rows, stiff, cold, tracing, growth, fill, large, batch, checked} = results;
  const chain = rows.filter(({workload}) => workload === 'chain');
  const nets = rows.filter(({workload}) => workload === 'net');
  const rods = rows.filter(({workload}) => workload === 'rods');
  const mlp = rows.filter(({workload}) => workload === 'mlp');
  const training = rows.filter(({workload}) => isTraining(workload));
  const figures = join(docs, 'figures');
  const loads = rows.map(({load}) => load);
  const count = (row: Row): string => `n = ${row.n}`;
  const parts: string[] = [
    `# Benchmarks

Written by \`npm run bench\`; the numbers behind it are in \`bench/results/latest.json\`. ${machine.processor}, ${machine.cores} cores, Node ${machine.node}.

All contestants of a workload run at the same time, each in its own warm process, and are timed in turns: a batch of
one, a batch of the next, and so on. The tables show the smallest time of all runs, which is the cost of the code on an idle
machine. **Ratios are stable, times drift.** ${loads.length > 0 ? `The machine's load average was ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)} during the measurements; on an idle machine it is 1 (a higher load slows down peers that use all cores most: diffrax).` : ''}
Before timing, losses and gradient norms are compared: with the numbers in the workload's definition if there are
any (five digits), otherwise with each other (six digits). Peers compute in double precision unless noted.

- **C**: [chain.c](../bench/peers/chain.c), written by hand for this model: Newton's method with a tridiagonal solver and the same convergence test, discrete adjoint; \`cc -O3 -march=native\`.
- **stiffgrad, prepared**: \`simulate.prepare\` once, then \`vjp\`, because the peers are compiled once, too. **stiffgrad**: only \`simulate.vjp\`, which traces in every call.
- **CasADi** ([script](../bench/peers/casadi_peer.py)): residual as an SX function, \`fast_newton\` with sparse QR, steps folded, reverse gradient.
- **diffrax** ([script](../bench/peers/diffrax_peer.py)): implicit midpoint as an \`AbstractImplicitSolver\`, Newton and chord, \`RecursiveCheckpointAdjoint(checkpoints=steps)\`, jit.
- **tfjs, naive** ([source](../bench/peers/naive-tfjs.ts)): tfjs operations, Jacobian by VJPs, \`tf.linalg.qr\`; single precision; 5 steps scaled to 200.
- **jax-js** ([source](../bench/peers/jax-js.mjs)): one jitted step, dense Jacobian; 5 steps scaled to 200.`,
  ];
  if (chain.length > 0) {
    parts.push(`## The chain

n unit masses in a row, one end attached to a wall, springs k(d + d³/2) with k = 10⁴, damping 0.1, gravity 1; implicit midpoint,
200 steps of 0.01 from rest; loss Σ(q² + v²) at the end; gradient with respect to all n stiffnesses.

${timesTable(chain, count)}

${ratioTable(chain, count)}

Gradient / forward is measured on consecutive batches, so that drift of the clock affects both: the median
of the rounds, with the smallest and the largest value.

${figure(figures, 'bench-chain.svg', 'The chain: 200 steps and the gradient of n stiffnesses', chain, 'masses n', row => row.n)}
${skips(chain)}`);
  }
  if (nets.length > 0) {
    parts.push(`## The net

A square cloth in space with rows² knots and springs along rows and columns, fixed at two corners; 10 steps of 0.01; gradient with
respect to every spring's stiffness.

${timesTable(nets, ({n}) => `${n}², ${3 * (n * n - 2)} unknowns`)}

${ratioTable(nets, ({n}) => `${n}²`)}

${figure(figures, 'bench-net.svg', 'The net: 10 steps and the gradient of all stiffnesses', nets, 'unknowns', ({n}) => 3 * (n * n - 2))}
${skips(nets)}`);
  }
  if (large !== undefined) parts.push(largeNets(large));
  if (fill !== undefined) parts.push(fillOfNets(fill));
  if (mlp.length > 0) {
    parts.push(`## A neural force

8 masses on stiff springs (k = 1000), with a force from a network with two hidden layers of 64 (tanh), a function of all positions and velocities;
200 steps of 0.01; gradient with respect to all ${(16 * 64 + 64 * 64 + 64 * 8).toLocaleString('en')} weights.

${timesTable(mlp, count)}

${ratioTable(mlp, count)}
${skips(mlp)}`);
  }
  if (rods.length > 0) parts.push(rodChains(rods));
  if (stiff !== undefined) parts.push(stiffSection(stiff, figures));
  if (training.length > 0) parts.push(trainingSteps(training));
  const dense = rows.find(({workload}) => workload === 'dense');
  if (dense !== undefined) parts.push(denseNetwork(dense));
  if (cold !== undefined) {
    parts.push(`## From a cold start

From the start of a new process to the first gradient of the chain with n = 32, with the package's files; the smallest of seven times.

${table(
  ['', 'ms'],
  [
    ['importing only tfjs', time(cold.tfjs)],
    ['importing everything', time(cold.imported)],
    ['to the first gradient', time(cold.total)],
    ['**in addition to importing tfjs**', `**${time(cold.total - cold.tfjs)}**`],
    ['of that, tracing, compiling, 200 steps and gradient', time(cold.gradient)],
    ['a second system with the same structure', time(cold.second)],
  ],
)}`);
  }
  if (tracing !== undefined) {
    parts.push(`## Tracing and compiling

A force written as a sum of this many terms, each with a few operations: the first gradient of one step, and that of a second system with the
same structure (ms).

${table(
  ['terms', 'trace', 'differentiate, compile, run', 'again'],
  tracing.map(({terms, trace, compile, again}) => [String(terms), time(trace), time(compile), time(again)]),
)}`);
  }
  if (batch !== undefined) {
    const [one, two] = batch.threads;
    const row = (name: string, of: 'forward' | 'gradient'): string[] => [
      name,
      time(one[of]),
      time(two[of]),
      (one[of] / two[of]).toFixed(2),
    ];
    parts.push(`## Many runs on two threads

\`batch\` of ${batch.runs} chains of ${batch.masses} masses over ${batch.steps} steps, each with its own stiffnesses, in this thread and on two workers; the smallest of
twelve times each, at a load average of ${batch.load.toFixed(1)}. The results and gradients are the same to the bit.

${table(['milliseconds', 'one thread', 'two threads', 'ratio'], [row('forward', 'forward'), row('with gradient', 'gradient')])}`);
  }
  if (checked !== undefined) {
    parts.push(`## The check of adaptive gradients

The first gradient of a model along adaptive steps is compared with one of tighter tolerances
([adjoints.md](adjoints.md#gradients-along-adaptive-steps)). Milliseconds of processor time, the least of twenty, with all programs compiled; rtol = atol = 1e-6.

${table(
  ['', 'steps', 'first gradient', 'later ones', 'the check, in gradients'],
  checked.map(({name, steps, first, later}) => [
    name,
    String(steps),
    time(first),
    time(later),
    ((first - later) / later).toFixed(2),
  ]),
)}`);
  }
  if (growth !== undefined) {
    parts.push(`## Memory

Over ${growth.steps.toLocaleString('en')} steps of a warm run with gradients the heap grew by ${(growth.heap / 1024).toFixed(0)} KiB, tf.memory() by ${growth.tensors} tensors.`);
  }
  writeFileSync(join(docs, 'benchmarks.md'), `${parts.map(part => part.trim()).join('\n\n')}\n`);
}
