/** Projects to begin with, as files by name. Each runs by npm install and npm start. The files are in templates/. */
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';

/** Versions that the projects are tried with. */
const versions = {tfjs: '^4.22.0', tsx: '^4.23.0', esbuild: '^0.28.0', deno: '^2.9.0'};

const projects = {
  identify: {
    scripts: {
      start: 'stiffgrad identify model.ts record.csv --report report.html',
      check: 'stiffgrad check model.ts',
      simulate: 'stiffgrad simulate model.ts --animate animation.html',
    },
    tools: {tsx: versions.tsx},
    files: ['model.ts', 'record.csv'],
  },
  train: {scripts: {start: 'tsx train.ts'}, tools: {tsx: versions.tsx}, files: ['train.ts', 'record.csv']},
  notebook: {
    scripts: {start: 'deno jupyter --install'},
    tools: {deno: versions.deno},
    files: ['first-swing.ipynb'],
  },
  page: {
    scripts: {start: 'esbuild main.js --bundle --format=esm --outdir=www --servedir=www'},
    tools: {esbuild: versions.esbuild},
    files: ['main.js', 'www/index.html'],
  },
};
export type TemplateName = keyof typeof projects;

/** Names of the projects that `new` makes. */
export const templates = Object.keys(projects) as readonly TemplateName[];

const folder = path.join(
  path.dirname(createRequire(import.meta.url).resolve('stiffgrad/package.json')),
  'cli/templates',
);

/** @param from what npm installs for stiffgrad: a version, or 'file:…' */
export function filesOf(template: TemplateName, name: string, from: string): {readonly [file: string]: string} {
  const {files, scripts, tools} = projects[template];
  const manifest = {
    name,
    private: true,
    type: 'module',
    scripts,
    dependencies: {stiffgrad: from, '@tensorflow/tfjs': versions.tfjs},
    devDependencies: tools,
  };
  return {
    'package.json': `${JSON.stringify(manifest, null, 2)}\n`,
    '.gitignore': 'node_modules/\nreport.html\nrun.html\nanimation.html\nwww/main.js\n',
    ...Object.fromEntries(files.map(file => [file, readFileSync(path.join(folder, path.basename(file)), 'utf8')])),
  };
}
