/** Notebooks that ran on Deno's kernel against those that are stored: node --import tsx .ci/notebooks-test.ts folder */
import {readdirSync, readFileSync} from 'node:fs';
import path from 'node:path';
import {readNotebook, type Notebook} from '../spec/examples/notebooks/runner.js';
import {sameText} from '../spec/examples/notebooks/same-text.js';

const [, , folder] = process.argv;
/** A kernel gives text as a string, a file as lines; it colours numbers, and begins with tfjs's banner. */
const words = ({cells}: Notebook): string[] =>
  cells
    .filter(({cell_type: kind}) => kind === 'code')
    .map(({outputs = []}) =>
      outputs
        .map(({text, data}) => [text ?? data?.['text/plain'] ?? ''].flat().join(''))
        .join('\n')
        // eslint-disable-next-line no-control-regex -- the escape of a terminal's colours
        .replace(/\u001b\[\d+m/g, '')
        .replace(/\n?=+\nHi, looks like you are running TensorFlow\.js[^]*?=+\n/, '')
        .replace(/\n+/g, '\n')
        .trim(),
    );

const files = readdirSync(folder).filter(name => name.endsWith('.ipynb'));
for (const file of files) {
  const done = words(JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Notebook);
  const stored = words(readNotebook(`examples/notebooks/${file}`));
  try {
    stored.forEach((text, i) => sameText(done[i], text));
    console.log(`${file}: ${stored.length} cells print what is stored`);
  } catch (error) {
    console.log(`${file}: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
