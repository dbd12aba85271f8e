/** What docs/adjoints.md says was measured, between its marks, and its figure. */
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {lineChart} from '../training/report/plot.js';
import {table, time} from './page.js';
import type {AdjointsResults, Results} from './results.js';

const [open, close] = ['<!-- measured: npm run bench -- --only adjoints -->', '<!-- end of what is measured -->'];

/** Half a MiB more or less is what a heap does by itself. */
const bytes = (count: number): string => (count >= 2 ** 19 ? `${(count / 2 ** 20).toFixed(1)} MiB` : 'under 0.5 MiB');
/** Rounding, as far as a norm of a dozen numbers tells. */
const error = (share: number): string => (share < 1e-12 ? 'rounding' : share.toExponential(1));

function comparison({times, errors, memory}: AdjointsResults): string {
  const row = times.find(({n}) => n === 8) ?? times[0];
  const at = errors.find(({scheme, steps}) => scheme === 'trapezoid' && steps === row.steps) ?? errors[0];
  return table(
    [
      '',
      'run and gradient, ms',
      'relative to the run',
      ...(memory[0]?.bytes ?? []).map(({steps}) => `memory after ${steps.toLocaleString('en')} steps`),
      "error relative to the run's derivative",
    ],
    [
      ...memory.map(({name, bytes: held}) => [
        `\`${name}\``,
        time(row.gradients[name]),
        `${(row.gradients[name] / row.forward).toFixed(2)} ×`,
        ...held.map(one => bytes(one.held)),
        error(at.adjoints[name]),
      ]),
      [
        '`simulate.hvp`, one direction',
        time(row.hvp),
        `${(row.hvp / row.forward).toFixed(2)} ×`,
        ...(memory[0]?.bytes ?? []).map(() => ''),
        '',
      ],
    ],
  );
}

function byOrder({errors}: AdjointsResults): string {
  const counts = [...new Set(errors.map(({steps}) => steps))];
  const schemes = [...new Set(errors.map(({scheme}) => scheme))];
  const of = (scheme: string, steps: number): AdjointsResults['errors'][number] | undefined =>
    errors.find(one => one.scheme === scheme && one.steps === steps);
  return table(
    ['', ...counts.map(steps => `${steps} steps`)],
    schemes.flatMap(scheme => [
      [
        `${scheme}: run's derivative, error relative to the exact solution's`,
        ...counts.map(steps => error(of(scheme, steps)?.run ?? NaN)),
      ],
      [
        `${scheme}: backsolve, error relative to the run's derivative`,
        ...counts.map(steps => error(of(scheme, steps)?.adjoints['backsolveAdjoint()'] ?? NaN)),
      ],
    ]),
  );
}

const byDamping = ({decay}: AdjointsResults): string =>
  table(
    ['damping', ...decay.map(({c}) => String(c))],
    [
      [
        'error of the gradient',
        ...decay.map(({error: share, code}) => (share === null ? `\`${code ?? 'failed'}\`` : error(share))),
      ],
    ],
  );

function figure({times}: AdjointsResults): string {
  const names = Object.keys(times[0].gradients);
  const x = times.map(({parameters}) => parameters);
  return lineChart({
    title: `${times[0].steps} steps and the gradient of all parameters`,
    height: 360,
    x: {label: 'parameters: three for every mass', scale: 'log'},
    y: {label: 'run and gradient', unit: 'ms', scale: 'log'},
    series: [
      {name: 'the run alone', x, y: times.map(({forward}) => forward), style: 'dashed', color: 5},
      ...names.map((name, i) => ({name, x, y: times.map(({gradients}) => gradients[name]), color: i})),
    ],
  });
}

export function writeAdjoints({adjoints, machine}: Results, docs: string): void {
  if (adjoints === undefined) return;
  const path = join(docs, 'adjoints.md');
  const page = readFileSync(path, 'utf8');
  const [from, to] = [page.indexOf(open), page.indexOf(close)];
  if (from < 0 || to < from) throw new Error(`docs/adjoints.md has lost its marks: ${open} … ${close}`);
  writeFileSync(join(docs, 'figures/adjoints.svg'), `${figure(adjoints)}\n`);
  const {steps} = adjoints.times[0];
  const measured = `
A chain of 8 unit masses on hardening springs, damping 0.1, by the trapezoidal rule in ${steps} steps of ${10 / steps}: the gradient of
Σ(q² + v²) at the end with respect to 8 stiffnesses and the 16 numbers of the initial state. ${machine.processor}, ${machine.cores} cores, Node ${machine.node.slice(1)}.
\`npm run bench -- --only adjoints\` writes this part of the page.

${comparison(adjoints)}

With more masses there are more parameters, and one tangent for each:

![Time of a run and its gradient by number of parameters](figures/adjoints.svg)

The discrete adjoints are exact for the run, which has the error of the scheme. Backsolve adds an error of the same order:

${byOrder(adjoints)}

With damping, its states drift backwards in time. With rk4, in ${steps} steps, for damping c:

${byDamping(adjoints)}

`;
  writeFileSync(path, `${page.slice(0, from + open.length)}\n${measured}${page.slice(to)}`);
}
