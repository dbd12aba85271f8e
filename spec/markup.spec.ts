/** Text in HTML and SVG: whatever it is, every page and picture has the elements that it has with a harmless one. */
import {expect} from 'chai';
import fc from 'fast-check';
import * as tf from '@tensorflow/tfjs';
import {runPage} from '../cli/run-page.js';
import {mechanics, simulate} from '../lib/index.js';
import {htmlPage, lines, markup, scriptJson} from '../lib/markup.js';
import {written} from '../lib/simulate/display.js';
import {pendulum} from '../models/index.js';
import {animate, figure, plot, show} from '../plot/index.js';
import {energy, loss, phase, residuals, workPrecision} from '../plot/charts.js';
import {landscape} from '../plot/landscape.js';
import {sparsity} from '../plot/jacobian-pattern.js';
import {sweepPage} from '../sweep/page.js';
import type {Failure, Row, Store} from '../sweep/store.js';
import {renderFragment, page, type Report} from '../training/report/report.js';
import {filesBelow, readText} from './package/sources.js';
import {elementsOf} from './training/well-formed.js';
import {runs} from './property.js';

const swing = simulate(pendulum({length: 1}), {q: 1, v: 0}, {dt: 0.1, steps: 6});
const observed = simulate(mechanics({mass: 1, forces: ({q}) => tf.neg(q)}), {q: 1, v: 0}, {dt: 0.1, steps: 6, observe: ({v}) => tf.sum(tf.square(v))}); // prettier-ignore
const pattern = {n: 2, rowPointers: Int32Array.of(0, 1, 2), columns: Int32Array.of(0, 1)};
const t = [0, 1, 2, 3];

const reportOf = (text: string): Report => ({
  title: text,
  description: text,
  referenceName: text,
  parameters: [{name: text, unit: text, description: text, estimate: 1, standardError: 0.1, reference: 1}],
  fits: [1, 2].map(() => ({
    name: text,
    unit: text,
    timeUnit: text,
    t,
    measured: [1, 2, 3, 5],
    simulated: [1, 2, 3, 4],
  })),
  correlation: {labels: [text, text], values: [1, 0.5, 0.5, 1]},
  statistics: [{name: text, value: text, unit: text}],
  charts: [
    {
      title: text,
      description: text,
      x: {label: text, unit: text},
      y: {label: text, unit: text},
      series: [{name: text, x: t, y: t}],
      levels: [{y: 1, name: text}],
    },
  ],
  warnings: [text],
  notes: [text],
});

/** A store that somebody else wrote: all of it may be anything. */
const storeOf = (text: string): Store =>
  ({
    async *rows(): AsyncIterable<Row> {
      for (const x of [1, 2]) {
        const one = {name: text, case: {[text]: x, other: text}, seed: 1, task: {name: text, version: text}};
        yield {...one, result: {[text]: x}, seconds: 1};
      }
    },
    async *unresolved(): AsyncIterable<Failure> {
      yield {
        name: text,
        case: {x: text},
        seed: 1,
        task: {name: text, version: text},
        cause: text as 'thrown',
        error: {name: text, message: text},
        attempt: 1,
      };
    },
    status: async () => ({done: 2, failed: 1, causes: {}}),
  }) as unknown as Store;

/** Everything that writes HTML or SVG, with a text wherever one may stand. */
const writers: {readonly [name: string]: (text: string) => string | Promise<string>} = {
  'a report': text => page(reportOf(text)),
  'a fragment': text => renderFragment(reportOf(text)),
  plot: text => plot(swing, {title: text, description: text, names: [text], unit: text, timeUnit: text}),
  phasePortrait: text => phase(swing, {title: text, x: {series: 'q', name: text, unit: text}}),
  energyPlot: text => energy(observed, {title: text, unit: text, timeUnit: text}),
  residualPlot: text => residuals({t, measured: t, simulated: t, name: text, unit: text, timeUnit: text}),
  lossCurve: text => loss({history: [{iteration: 0, cost: 1}]}, {title: text, description: text}),
  lossLandscape: text => landscape({x: {name: text, unit: text, values: [0, 1]}, y: {name: text, values: [0, 1]}, loss: (x, y) => x + y}), // prettier-ignore
  workPrecision: text => workPrecision([{name: text, work: [1, 2], error: [1, 2]}], {work: text, error: text, unit: text}), // prettier-ignore
  sparsityPlot: text => sparsity(pattern, {title: text, description: text}),
  figure: text => figure(plot(swing), text),
  show: text => String(show(plot(swing, {title: text}), text)),
  'a player': text => animate(swing, {title: text, description: text, timeUnit: text}).html(),
  "a player's cell": text => String(animate(swing, {title: text, description: text, timeUnit: text})),
  'a moving SVG': text => animate(swing, {title: text, description: text, timeUnit: text}).svg(),
  'a strip': text => animate(swing, {title: text, description: text, timeUnit: text}).strip(),
  'a run where plot is not loaded': text => written(text)['text/html'],
  "a sweep's page": text => sweepPage(storeOf(text)),
  "a run's page": text => {
    const run = Object.create(swing, {toString: {value: () => text}}) as typeof swing;
    return runPage(text, {system: swing.system, initial: {q: 1, v: 0}, options: {dt: 0.1, steps: 2}}, run).html;
  },
};

/** Elements and the names of their attributes, in order; scripts apart, which are no markup. */
function structureOf(html: string): {readonly tags: string[]; readonly scripts: string[]} {
  const scripts: string[] = [];
  const outside = html.replace(/<script>([\s\S]*?)<\/script/g, (_, script: string) => {
    scripts.push(script);
    return '<script></script';
  });
  elementsOf(outside);
  const tags = [...outside.replace(/<style>[^<]*/g, '<style>').matchAll(/<(\w+)((?:\s+[\w:-]+="[^"]*")*)/g)].map(
    ([, name, attributes]) => [name, ...[...attributes.matchAll(/\s([\w:-]+)="/g)].map(([, one]) => one)].join(' '),
  );
  return {tags, scripts};
}

const hostile = [
  '</script><script>alert(1)</script>',
  '</title></style></svg><img src=x onerror=alert(1)>',
  '" onload="alert(1)" x="',
  "' onload='alert(1)",
  '<!--<script>',
  ']]></text><a href="javascript:alert(1)">&lt;',
  '\u0000\u001f\ud800\uffff&#0;',
];

describe('text in HTML and SVG', () => {
  for (const [name, write] of Object.entries(writers)) {
    it(`stays text in ${name}`, async () => {
      for (const text of hostile) {
        const plain = structureOf(await write('x'.repeat(text.length)));
        const {tags, scripts} = structureOf(await write(text));
        expect(tags, text).to.deep.equal(plain.tags);
        expect(scripts.length, text).to.equal(plain.scripts.length);
      }
    });
  }

  it('is escaped in every template, alone and in lists', () => {
    fc.assert(
      fc.property(fc.string(), text => {
        const html = String(markup`<p title="${text}">${[text, markup`<b>${text}</b>`]}</p>`);
        expect(structureOf(html).tags).to.deep.equal(['p title', 'b']);
      }),
      runs(),
    );
    expect(String(markup`a${undefined}<i>${[1, 2]}</i>`)).to.equal('a<i>12</i>');
    expect(String(lines(['<', '', markup`<hr>`, undefined]))).to.equal('&lt;\n<hr>');
  });

  it('in a script is the data that it was, and no end of it', () => {
    fc.assert(
      fc.property(fc.string(), text => {
        const script = String(scriptJson({text: `</script><!--${text}`}));
        expect(script).not.to.include('<');
        expect(JSON.parse(script)).to.deep.equal({text: `</script><!--${text}`});
      }),
      runs(),
    );
  });

  it('a page forbids scripts unless it has one', () => {
    const page = (script?: ReturnType<typeof scriptJson>): string =>
      htmlPage({title: 'a', style: '', body: 'b', script});
    expect(page()).to.match(/content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'/);
    expect(page(scriptJson(1))).to.match(/script-src 'unsafe-inline'/);
  });

  // A module that begins to write markup is to have its writer above.
  it('comes from these modules alone', () => {
    const modules = ['lib', 'models', 'training', 'plot', 'fem', 'sweep', 'cli']
      .flatMap(folder => filesBelow(folder, '.ts'))
      .filter(file => /from '[./]*(lib\/)?markup\.js'/.test(readText(file)));
    expect(modules).to.deep.equal([
      'lib/simulate/display.ts',
      'training/report/plot.ts',
      'training/report/report.ts',
      'plot/animate.ts',
      'plot/draw-mesh.ts',
      'plot/player.ts',
      'plot/shading.ts',
      'plot/show.ts',
      'plot/stills.ts',
      'sweep/page.ts',
      'cli/run-page.ts',
    ]);
  });
});
