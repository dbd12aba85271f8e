/** Projects to begin with, as files by name. Each runs by npm install and npm start. */

/** Names of the projects that `new` makes. */
export const templates = ['identify', 'train', 'notebook', 'page'] as const;
export type TemplateName = (typeof templates)[number];

/** The model and the data that all of them begin with: a mass on a damped spring, from its closed form with some noise. */
const MASS = 1;
const STIFFNESS = 40;
const DAMPING = 0.6;

function record(): string {
  const decay = DAMPING / (2 * MASS);
  const omega = Math.sqrt(STIFFNESS / MASS - decay ** 2);
  let state = 20240229;
  // Park & Miller's generator (1988): the same record each time.
  const uniform = (): number => (state = (state * 48271) % 2147483647) / 2147483647;
  const rows = Array.from({length: 401}, (_, i) => {
    const t = i * 0.01;
    const q = 0.1 * Math.exp(-decay * t) * (Math.cos(omega * t) + (decay / omega) * Math.sin(omega * t));
    // Twelve uniform numbers are nearly normal; 0.5 mm.
    const noise = Array.from({length: 12}, uniform).reduce((sum, value) => sum + value, -6);
    return `${t.toFixed(2)},${(q + 0.0005 * noise).toFixed(6)}`;
  });
  return `t,q\n${rows.join('\n')}\n`;
}

const model = `// A mass on a damped spring. Change a force or a guess, and run npm start again.
import * as tf from '@tensorflow/tfjs';
import {mechanics} from 'stiffgrad';
import {damper, spring, withFigure} from 'stiffgrad/models';
import {positive} from 'stiffgrad/training';

const system = mechanics({
  mass: ${MASS}, // kg
  forces: [spring({stiffness: ({k}) => k as tf.Tensor}), damper({coefficient: ({c}) => c as tf.Tensor})],
});

export default {
  // How npm run simulate draws it: the mass, and the wall 0.3 m away.
  system: withFigure(system, {points: ({q}) => tf.tensor2d([[q.arraySync() as number, 0], [-0.3, 0]]), springs: [[1, 0]], fixed: [1]}),
  initial: {q: 0.1, v: 0}, // m, m/s
  options: {dt: 0.0025, t1: 4, params: {k: 30, c: 1}},
  parameters: {k: positive(30), c: positive(1)}, // what identify estimates, from these guesses: N/m, N·s/m
};
`;

const training = `// A network learns the unknown friction: mass and spring are known, the damper is not.
import {readFileSync} from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import {mechanics, simulate} from 'stiffgrad';
import {mlp, neuralForce, spring} from 'stiffgrad/models';
import {train} from 'stiffgrad/training';

tf.enableProdMode();
const rows = readFileSync('record.csv', 'utf8').trim().split('\\n').slice(1).map(row => Number(row.split(',')[1]));
const measured = tf.tensor1d(rows.slice(0, 101));
const network = mlp({sizes: [1, 8, 1], seed: 1});
const system = mechanics({mass: ${MASS}, forces: [spring({stiffness: ${STIFFNESS}}), neuralForce(network, {inputs: ['v']})]});
const model = simulate.prepare(system, {q: 0.1, v: 0}, {dt: 0.01, steps: 100});

const result = await train({
  loss: () => tf.tidy(() => tf.mean<tf.Scalar>(tf.squaredDifference(model.run().q, measured))),
  variables: network.variables,
  optimizer: tf.train.adam(0.02),
  data: ['the record'],
  epochs: 150,
});
await result.report('report.html', {title: 'Learnt friction of a mass on a spring'});
console.log(\`\${result}\\nreport.html shows the loss.\`);
`;

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A swing</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark; } input { width: 100%; } svg { max-width: 100%; height: auto; }</style>
<h1>A swing</h1>
<label>Length <output id="told"></output><input id="length" type="range" min="0.3" max="3" step="0.05" value="1"></label>
<div id="picture"></div>
<p id="gradient"></p>
<script type="module" src="main.js"></script>
</html>
`;

const pageScript = `import * as tf from '@tensorflow/tfjs';
import {simulate} from 'stiffgrad';
import {pendulum} from 'stiffgrad/models';
import {plot} from 'stiffgrad/plot';

const system = pendulum({length: ({l}) => l, damping: 0.2});
const by = id => document.getElementById(id);

function show() {
  const l = Number(by('length').value);
  const {trajectory, pullback} = simulate.vjp(system, {q: 2, v: 0}, {dt: 0.01, t1: 6, params: {l}});
  const last = new Float64Array(trajectory.values('q').length);
  last[last.length - 1] = 1;
  by('told').textContent = l.toFixed(2) + ' m';
  by('picture').innerHTML = plot(trajectory, {unit: 'rad', title: 'Angle over time'});
  by('gradient').textContent = 'The last angle changes by ' + Number(pullback({q: last}).params.l).toFixed(3) + ' rad per metre of length.';
  trajectory.dispose();
}
await tf.ready();
by('length').oninput = show;
show();
`;

const cell = (id: string, kind: 'code' | 'markdown', ...lines: string[]): object => ({
  id,
  cell_type: kind,
  metadata: {},
  source: lines.map((line, i) => (i < lines.length - 1 ? `${line}\n` : line)),
  ...(kind === 'code' ? {execution_count: null, outputs: []} : {}),
});

const notebook = JSON.stringify(
  {
    cells: [
      cell(
        'about',
        'markdown',
        '# First swing',
        '',
        "A pendulum, its motion, and the gradient of its last angle. Needs Deno's kernel (`npm start`).",
      ),
      cell(
        'swing',
        'code',
        "import * as tf from '@tensorflow/tfjs';",
        "import {simulate} from 'stiffgrad';",
        "import {pendulum} from 'stiffgrad/models';",
        "import {animate, plot, show} from 'stiffgrad/plot';",
        '',
        'const system = pendulum({length: ({l}) => l, damping: 0.2});',
        'const path = simulate(system, {q: 2, v: 0}, {dt: 0.01, t1: 6, params: {l: 1}});',
        "show(plot(path, {unit: 'rad'}))",
      ),
      cell('animation', 'code', 'animate(path, {params: {l: 1}})'),
    ],
    metadata: {
      kernelspec: {display_name: 'Deno', language: 'typescript', name: 'deno'},
      language_info: {name: 'typescript'},
    },
    nbformat: 4,
    nbformat_minor: 5,
  },
  null,
  1,
);

/** Versions that the projects are tried with. */
const versions = {tfjs: '^4.22.0', tsx: '^4.23.0', esbuild: '^0.28.0', deno: '^2.9.0'};

/** @param from what npm installs for stiffgrad: a version, or 'file:…' */
export function filesOf(template: TemplateName, name: string, from: string): {readonly [file: string]: string} {
  const scripts = {
    identify: {
      start: 'stiffgrad identify model.ts record.csv --report report.html',
      check: 'stiffgrad check model.ts',
      simulate: 'stiffgrad simulate model.ts --animate animation.html',
    },
    train: {start: 'tsx train.ts'},
    notebook: {start: 'deno jupyter --install'},
    page: {start: 'esbuild main.js --bundle --format=esm --outdir=www --servedir=www'},
  }[template];
  const tools = {
    identify: {tsx: versions.tsx},
    train: {tsx: versions.tsx},
    notebook: {deno: versions.deno},
    page: {esbuild: versions.esbuild},
  }[template];
  const manifest = {
    name,
    private: true,
    type: 'module',
    scripts,
    dependencies: {stiffgrad: from, '@tensorflow/tfjs': versions.tfjs},
    devDependencies: tools,
  };
  const own: {readonly [template in TemplateName]: {readonly [file: string]: string}} = {
    identify: {'model.ts': model, 'record.csv': record()},
    train: {'train.ts': training, 'record.csv': record()},
    notebook: {'first-swing.ipynb': `${notebook}\n`},
    page: {'main.js': pageScript, 'www/index.html': page},
  };
  return {
    'package.json': `${JSON.stringify(manifest, null, 2)}\n`,
    '.gitignore': 'node_modules/\nreport.html\nrun.html\nanimation.html\nwww/main.js\n',
    ...own[template],
  };
}
