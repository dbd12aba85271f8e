/**
 * How often estimate ± 1.96 standard errors holds the truth where records are short: linear models whose regressors are the
 * sensitivities of a decay, of an oscillator with and without its start, and a parabola, so that thousands of records
 * take seconds. Errors are those of `residuals: 'correlated'`, the default.
 *
 *   npx tsx bench/short-records.ts [--records 4000]
 */
import {parseArgs} from 'node:util';
import {gaussian} from '../training/data/noise.js';
import {RowQr} from '../training/identify/row-qr.js';
import {uncertainty} from '../training/identify/uncertainty.js';

interface Linear {
  readonly columns: readonly ((t: number) => number)[];
  readonly t1: number;
}

/** q″ + 0.3 q′ + 4 q = 0 */
const swing = (f: (x: number) => number) => (t: number) => f(Math.sqrt(4 - 0.15 ** 2) * t) * Math.exp(-0.15 * t);
const byStiffness = (t: number): number => -t * swing(Math.sin)(t);
const byDamping = (t: number): number => (-t / 2) * swing(Math.cos)(t);

export const models: {readonly [name: string]: Linear} = {
  decay: {columns: [t => -t * Math.exp(-0.8 * t)], t1: 5},
  oscillator: {columns: [byStiffness, byDamping], t1: 10},
  'oscillator and start': {columns: [byStiffness, byDamping, swing(Math.cos), swing(Math.sin)], t1: 10},
  parabola: {columns: [() => 1, t => t, t => t * t], t1: 1},
};

/** @param phi correlation of neighbouring errors @returns the part of the records whose interval holds the truth, by parameter */
export function shortCoverage({columns, t1}: Linear, samples: number, phi: number, records: number): number[] {
  const p = columns.length;
  const jacobian = new Float64Array(samples * p).map((_, at) =>
    columns[at % p]((t1 * Math.floor(at / p)) / (samples - 1)),
  );
  const held = new Float64Array(p);
  const draw = gaussian(7);
  for (let record = 0; record < records; record++) {
    let error = draw();
    const errors = new Float64Array(samples).map(() => (error = phi * error + Math.sqrt(1 - phi * phi) * draw()));
    const estimate = new RowQr(p).append(jacobian, errors).solve();
    const residuals = errors.map((value, i) => estimate.reduce((left, x, j) => left - x * jacobian[i * p + j], value));
    const factor = new RowQr(p).append(jacobian, residuals);
    const cost = residuals.reduce((sum, r) => sum + (r * r) / 2, 0);
    const {standardError} = uncertainty(
      {residuals, jacobian, factor, cost},
      {series: [{start: 0, samples, outputs: 1}]},
    );
    standardError.forEach((width, j) => (held[j] += Math.abs(estimate[j]) <= 1.959963984540054 * width ? 1 : 0));
  }
  return Array.from(held, count => count / records);
}

/** Not awaited at the top: what imports this file may be a CommonJS loader. */
function main(): void {
  const {values} = parseArgs({options: {records: {type: 'string', default: '4000'}}});
  console.log(
    `| samples | φ | ${Object.keys(models).join(' | ')} |\n| --- | --- ${'| --- '.repeat(Object.keys(models).length)}|`,
  );
  for (const samples of [31, 61, 200])
    for (const phi of [0, 0.6, 0.8]) {
      const found = Object.values(models).map(model =>
        shortCoverage(model, samples, phi, Number(values.records))
          .map(part => (100 * part).toFixed(1))
          .join(', '),
      );
      console.log(`| ${samples} | ${phi} | ${found.join(' | ')} |`);
    }
}

if (process.argv[1]?.endsWith('short-records.ts')) main();
