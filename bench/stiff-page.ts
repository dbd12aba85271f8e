/** The page's section on stiff problems, with its figures of work against precision. */
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {lineChart} from '../training/report/plot.js';
import type {StiffRow} from './results.js';

const titles: Readonly<Record<string, string>> = {
  HIRES: 'HIRES',
  ROBER: 'ROBER to t = 10¹¹',
  vanDerPol: 'van der Pol, μ = 1000',
};
const accuracies = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9];
const time = (milliseconds: number): string =>
  milliseconds >= 99.95 ? milliseconds.toFixed(0) : milliseconds.toPrecision(milliseconds < 1 ? 2 : 3);

/** The least time of a run whose error is at most this. */
function cheapest({points}: StiffRow['contestants'][number], error: number): number | undefined {
  const enough = points.filter(point => point.error <= error).map(({milliseconds}) => milliseconds);
  return enough.length === 0 ? undefined : Math.min(...enough);
}

function row({problem, contestants, skipped}: StiffRow, figures: string): string {
  const file = `bench-stiff-${problem.toLowerCase()}.svg`;
  const series = contestants.map(({name, points}, i) => {
    const sorted = [...points].sort((a, b) => a.error - b.error);
    return {
      name,
      x: sorted.map(({error}) => error),
      y: sorted.map(({milliseconds}) => milliseconds),
      color: i % 6,
      style: name.startsWith('stiffgrad') ? ('line' as const) : ('dashed' as const),
    };
  });
  mkdirSync(figures, {recursive: true});
  writeFileSync(
    join(figures, file),
    `${lineChart({
      title: `Work and precision: ${titles[problem] ?? problem}`,
      x: {label: 'largest relative error of a component at the end', scale: 'log'},
      y: {label: 'time of a run', unit: 'ms', scale: 'log'},
      series,
      height: 380,
    })}\n`,
  );
  const cells = contestants.map(
    one =>
      `| ${[
        one.name,
        ...accuracies.map(error => {
          const least = cheapest(one, error);
          return least === undefined ? '' : time(least);
        }),
      ].join(' | ')} |`,
  );
  const absent = Object.entries(skipped).map(([name, why]) => `- ${name}: ${why}`);
  return [
    `| ${titles[problem] ?? problem}: ms for an error of | ${accuracies.map(error => error.toExponential(0)).join(' | ')} |`,
    `| --- |${' --: |'.repeat(accuracies.length)}`,
    ...cells,
    '',
    `![${titles[problem] ?? problem}](figures/${file})`,
    ...(absent.length === 0 ? [] : ['', 'Missing or incomplete:', '', ...absent]),
  ].join('\n');
}

export function stiffSection(rows: readonly StiffRow[], figures: string): string {
  return `## Stiff problems

HIRES, ROBER and van der Pol's oscillator of the IVP Test Set (Mazzia & Magherini), at relative tolerances from 10⁻³ to 10⁻¹⁰,
with the same absolute tolerances for all contestants. The error is the largest relative error of any component at the end, compared with
the published reference; the time is the smallest of several runs in turns, with everything traced and compiled before.
A table's entry is the fastest run with at most this error.

- **SciPy** ([script](../bench/peers/stiff_scipy.py)): \`solve_ivp\` with analytic Jacobians.
- **diffrax** ([script](../bench/peers/stiff_diffrax.py)): \`Kvaerno5\` in double precision, jit, \`PIDController\`; stages by its default \`VeryChord\`, and by optimistix' \`Newton\` with a hundredth of the controller's tolerances and without Cauchy's criterion, the fastest of the tested settings.

${rows.map(one => row(one, figures)).join('\n\n')}`;
}
