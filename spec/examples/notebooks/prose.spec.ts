/** Numbers in the text of notebooks: each stands in the code, or in what the code printed, or is computed here. */
import {readdirSync} from 'node:fs';
import path from 'node:path';
import {expect} from 'chai';
import {simulate} from '../../../lib/index.js';
import {pendulum} from '../../../models/index.js';
import {root} from '../../package/sources.js';
import {readNotebook, type Notebook} from './runner.js';

/** 4 √(l/g) K(sin(θ₀/2)) of 1 m and 2 rad under standard gravity, K by the arithmetic-geometric mean: K(sin φ) = π / (2 AGM(1, cos φ)). */
function periodByMean(): number {
  let [a, b] = [1, Math.cos(1)];
  for (let i = 0; i < 8; i++) [a, b] = [(a + b) / 2, Math.sqrt(a * b)];
  return (4 * Math.sqrt(1 / 9.80665) * Math.PI) / (2 * a);
}

const codeOf = ({cells}: Notebook): string =>
  cells.flatMap(({cell_type: kind, source}) => (kind === 'code' ? [source.join('')] : [])).join('\n');
/** A number of the code, by the one group of an expression. */
const inCode = (notebook: Notebook, pattern: RegExp): number => Number(pattern.exec(codeOf(notebook))![1]);

/** What stands in no cell: its value by other means. */
const computed: {readonly [file: string]: {readonly [number: string]: (notebook: Notebook) => number}} = {
  '01-first-swing': {'2.666': periodByMean},
  // The scale of the noise in metres.
  '02-identify-a-stage': {'0.1': notebook => 1000 * inCode(notebook, /(1e-4) \*/)},
  '09-cart-pole': {
    '2.5': notebook =>
      inCode(notebook, /\[dt, steps, nodes\] = \[([\d.]+),/) * inCode(notebook, /nodes\] = \[[\d.]+, (\d+)/),
  },
  // exp(ln K ∓ 1.96 σ/K) of the fit as it is printed: K = 1.93 ± 0.42.
  '12-a-posterior': {
    '1.3': () => 1.93 * Math.exp((-1.96 * 0.42) / 1.93),
    '3.0': () => 1.93 * Math.exp((1.96 * 0.42) / 1.93),
  },
};

/** Without formulas, which have numbers of their own, and without citations, which are nobody's result. */
const prose = (text: string): string =>
  text
    .replace(/\([^()]*(?:(?:19|20)\d\d|§)[^()]*\)/g, '')
    .replace(/\d* ?√\([^)]*\)/g, '')
    .replace(/(\d) (?=√)/g, '');

const numbersIn = (text: string): string[] => text.match(/(?<![\w.])\d+(?:\.\d+)?/g) ?? [];

describe('numbers in the text of notebooks', () => {
  for (const file of readdirSync(path.join(root, 'examples/notebooks')).filter(name => name.endsWith('.ipynb'))) {
    it(`are those of ${file}`, () => {
      const notebook = readNotebook(`examples/notebooks/${file}`);
      const printed = notebook.cells.flatMap(({outputs = []}) =>
        outputs.flatMap(({text = [], data}) => [...text, ...(data?.['text/plain'] ?? [])]),
      );
      const known = new Set(numbersIn(`${codeOf(notebook)}\n${printed.join('\n')}`).map(Number));
      const text = notebook.cells.flatMap(({cell_type: kind, source}) => (kind === 'markdown' ? source : [])).join('');
      for (const number of numbersIn(prose(text))) {
        const value = computed[file.replace('.ipynb', '')]?.[number];
        if (value === undefined) expect(known.has(Number(number)), `${number} stands in no cell`).to.equal(true);
        else expect(value(notebook).toFixed(number.split('.')[1].length), number).to.equal(number);
      }
    });
  }

  it('the period of the first is that of its simulation', () => {
    const path = simulate(pendulum({length: 1}), {q: 2, v: 0}, {dt: 0.001, t1: 3});
    const [t, v] = [path.values('t'), path.values('v')];
    path.dispose();
    // From rest at 2 rad the velocity is zero again after half a period and after a whole one.
    const zeros = [...t].flatMap((time, i) =>
      i > 1 && v[i - 1] * v[i] < 0 ? [time - (0.001 * v[i]) / (v[i] - v[i - 1])] : [],
    );
    expect(zeros[1]).to.be.closeTo(periodByMean(), 1e-5);
  });
});
