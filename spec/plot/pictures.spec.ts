/** Pictures of results: where data land, that the text is well-formed, what a notebook is given, and what is refused. */
import {inspect} from 'node:util';
import {expect} from 'chai';
import * as tf from '@tensorflow/tfjs';
import {explicitEuler, mechanics, ode, OptionError, simulate} from '../../lib/index.js';
import {chain} from '../../models/index.js';
import {figure, plot, show} from '../../plot/index.js';
import {display} from '../../plot/display.js';
import {energy, loss, phase, residuals, workPrecision} from '../../plot/charts.js';
import {landscape} from '../../plot/landscape.js';
import {jacobianPattern, sparsity} from '../../plot/jacobian-pattern.js';
import {elementsOf} from '../training/well-formed.js';

const system = chain({count: 3, stiffness: 40});
const start = {q: [1, 0, 0], v: [0, 0, 0]};
const run = (k = 1) => simulate(system, {q: [k, 0, 0], v: [0, 0, 0]}, {dt: 0.05, steps: 20, observe: system.energy});
const shown = (value: object): Promise<Record<string, string>> =>
  (value as {[key: symbol]: () => Promise<Record<string, string>>})[Symbol.for('Jupyter.display')]();

/** Of a `d` made of M x yH x V y, the rectangles [left, top, right, bottom]. */
const rectangles = (svg: string): number[][] =>
  [...svg.matchAll(/M(-?[\d.]+) (-?[\d.]+)H(-?[\d.]+)V(-?[\d.]+)H/g)].map(([, ...corners]) => corners.map(Number));

describe('pictures of results', () => {
  it('are well-formed SVG that names itself', () => {
    const path = run();
    const t = path.values('t');
    const all = [
      plot(path),
      plot([run(), run(1.1)]),
      plot(path, {components: [1], spread: t.map(() => 0.1), theme: 'dark'}),
      phase(path),
      phase([path, run(0.5)]),
      energy(path),
      residuals({t, measured: t, simulated: t.map(x => x ** 2)}),
      loss({
        history: [
          {iteration: 0, cost: 1},
          {iteration: 1, cost: 0.1},
        ],
      }),
      landscape({
        x: {name: 'a', values: [0, 1]},
        y: {name: 'b', values: [0, 1, 2]},
        loss: (a, b) => a + b,
        path: [
          [0, 0],
          [1, 1],
        ],
      }),
      sparsity(jacobianPattern(system, start, {dt: 0.1})),
      workPrecision([{name: 'a', work: [1, 2], error: [0.1, 0.01]}]),
    ];
    for (const svg of all) expect(elementsOf(svg).slice(0, 3)).to.deep.equal(['svg', 'title', 'desc']);
    expect(all[2]).to.match(/^<svg class="chart dark"/);
  });

  it('a band holds its share of the runs', () => {
    const members = Array.from({length: 11}, (_, i) => run(1 + i / 10));
    // Linear in the start: at t = 0 the 10 % and 90 % points of 1, 1.1, …, 2 are 1.1 and 1.9 (Hyndman & Fan's type 7), the median is 1.5.
    const svg = plot(members, {components: [0], coverage: 0.8, height: 1000});
    const drawn = (style: string): string => new RegExp(`class="s ${style}"[^>]* d="([^"]*)"><title>`).exec(svg)![1];
    const [band, line] = [drawn('band'), drawn('line')];
    const first = Number(/^M[\d.]+,([\d.]+)/.exec(line)![1]);
    const edges = [...band.matchAll(/[ML]([\d.]+),([\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
    const left = Math.min(...edges.map(([x]) => x));
    const [high, low] = edges.filter(([x]) => x === left).map(([, y]) => y);
    expect(low - first).to.be.closeTo(first - high, 0.2);
    expect(low).to.be.above(high);
  });

  it('a pattern is that of the matrix: a chain is tridiagonal', () => {
    const pattern = jacobianPattern(system, start, {dt: 0.01});
    expect([pattern.n, pattern.nonzeros, pattern.solver]).to.deep.equal([3, 7, 'dense']); // three unknowns are too few to be sparse
    expect(
      jacobianPattern(chain({count: 20, stiffness: 40}), {q: new Float64Array(20), v: new Float64Array(20)}, {dt: 0.01})
        .solver,
    ).to.equal('tridiagonal');
    expect([...pattern.columns]).to.deep.equal([0, 1, 0, 1, 2, 1, 2]);
    expect(inspect(pattern)).to.equal('Jacobian pattern: 3 × 3, 7 entries, 77.8 %, solved as dense');
    // Linear: the first solve ends it but for rounding.
    expect(pattern.residuals[0]).to.be.above(0);
    expect(pattern.residuals.slice(1).every(value => value < 1e-12 * pattern.residuals[0])).to.equal(true);
  });

  it('entries are squares at their row and column', () => {
    const squares = rectangles(sparsity({n: 2, rowPointers: Int32Array.of(0, 2, 3), columns: Int32Array.of(0, 1, 1)}));
    expect(squares).to.have.length(3);
    const [a, b, c] = squares;
    expect(b[1]).to.equal(a[1]); // the same row,
    expect(b[0]).to.equal(a[2]); // the next column,
    expect(c[1]).to.equal(a[3]); // the next row, below
    expect(c[0]).to.equal(b[0]);
  });

  it('large patterns show blocks', () => {
    const n = 1000;
    const diagonal = {
      n,
      rowPointers: Int32Array.from({length: n + 1}, (_, i) => i),
      columns: Int32Array.from({length: n}, (_, i) => i),
    };
    expect(rectangles(sparsity(diagonal))).to.have.length(Math.ceil(n / Math.ceil(n / 180)));
  });

  it('the colours of a landscape follow the loss', () => {
    const svg = landscape({
      x: {name: 'a', values: [0, 1]},
      y: {name: 'b', values: [0, 1]},
      loss: [1, 2, 3, NaN],
      log: false,
    });
    const fills = [...svg.matchAll(/style="fill:rgb\(([^)]*)\)" d="M/g)].map(([, rgb]) => rgb.split(',').map(Number));
    expect(fills).to.have.length(3); // a hole where the loss is not finite
    expect(fills[0]).to.deep.equal([0x00, 0x22, 0x4e]);
    expect(fills[2]).to.deep.equal([0xfe, 0xe8, 0x38]);
  });

  it('energy is told as its change', () => {
    const damped = simulate(
      mechanics({mass: 1, forces: ({v}) => tf.neg(v)}),
      {q: 0, v: 2},
      {dt: 0.01, t1: 1, observe: ({v}) => tf.sum(tf.mul(0.5, tf.square(v)))},
    );
    expect(energy(damped))
      .to.include('Change of energy from 2 J')
      .and.to.match(/<desc[^>]*>relative change[^<]*energy: 101 values between −0\.8647 and 0/); // 1 − e⁻²
  });

  it('a record is drawn beside its run: one point a sample, at its own times, none where one is missing', () => {
    const [path, t] = [run(), [0.07, 0.5, 0.61]];
    const svg = plot(path, {components: [1], measured: {t, values: [0.1, NaN, 0.3]}});
    expect(svg).to.contain('q[1], measured').and.not.contain('NaN');
    const dots = (values: number[]): number => plot(path, {components: [1, 2], measured: {t, values}}).length;
    const blank = (n: number): number[] => new Array<number>(n).fill(NaN);
    expect(dots([0.1, 0.2, ...blank(4)])).to.be.above(dots([0.1, ...blank(5)]));
    expect(() => plot(path, {components: [1, 2], measured: {t, values: [1, 2, 3]}})).to.throw(
      OptionError,
      /measured has 3 values; 3 times and 2 plotted components need 6\. Choose components/,
    );
    expect(() => plot(path, {measured: {t} as never})).to.throw(OptionError, /measured\.values/);
    const dashed = residuals({t, measured: [1, NaN, 2], simulated: [1, 1, 1]}).match(/class="levelline"/g);
    expect(dashed, '± RMSE of the two that were measured').to.have.length(2);
  });

  it('what they are not made for is refused', () => {
    const path = run();
    expect(() => plot(path, {components: [3]})).to.throw(OptionError, /3 numbers, 0 to 2; there is no component 3/);
    expect(() => plot(path, {serie: 'q'} as object)).to.throw(OptionError, /Did you mean 'series'/);
    expect(() => plot([])).to.throw(OptionError, /a trajectory/);
    expect(() => plot(5 as never)).to.throw(OptionError, /a trajectory/);
    expect(() => plot([path, simulate(system, start, {dt: 0.1, steps: 20})])).to.throw(OptionError, /different times/);
    expect(() => plot(path, {spread: [1]})).to.throw(OptionError, /spread has 1/);
    expect(() => energy(simulate(system, start, {dt: 0.1, steps: 2}))).to.throw(OptionError, /observed/);
    expect(() => jacobianPattern(system, start, {dt: 0.01, scheme: explicitEuler()})).to.throw(OptionError, /implicit/);
    expect(() => landscape({x: {name: 'a', values: [0, 1]}, y: {name: 'b', values: [0, 1]}, loss: [1]})).to.throw(
      OptionError,
      /2 × 2/,
    );
    expect(() => loss({history: []})).to.throw(OptionError, /empty/);
  });
});

describe('what a notebook is given', () => {
  it('of a run: a picture, and the line', async () => {
    const path = run();
    const bundle = await shown(path);
    expect(bundle).to.deep.equal(display(path));
    expect(bundle['text/plain']).to.equal(String(path));
    expect(elementsOf(bundle['image/svg+xml'])[0]).to.equal('svg');
    expect(bundle['text/html']).to.match(/^<figure class="stiffgrad-figure"><style>/);
    expect(structuredClone(path)).to.not.have.property('system');
  });

  it('of an ode too', async () => {
    const {'text/html': html} = await shown(
      simulate(
        ode(({y}) => tf.neg(y)),
        {y: [1, 2]},
        {dt: 0.1, steps: 3},
      ),
    );
    expect(html).to.include('State over time');
  });

  it('of a pattern, and of any picture by show', async () => {
    const pattern = jacobianPattern(system, start, {dt: 0.01});
    expect(await shown(pattern)).to.have.all.keys('text/html', 'text/plain');
    const picture = show(sparsity(pattern), 'a < b');
    expect(await shown(picture)).to.deep.equal({
      'text/html': figure(sparsity(pattern), 'a < b'),
      'text/plain': 'a < b',
    });
    expect(String(picture)).to.include('a &lt; b</figcaption>');
    expect(inspect(show(sparsity(pattern)))).to.equal('[picture: 7 entries of 3 × 3]');
  });
});
