/**
 * Every TypeScript block of the README, the docs and the docstrings (`@example`) is compiled strictly and run, and what it
 * states is checked; shell lines name real scripts.
 */
import {existsSync} from 'node:fs';
import {mkdtemp, rm} from 'node:fs/promises';
import * as fs from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import * as lib from '../../lib/index.js';
import {repaired} from '../../lib/engine/tensor/gradients.js';
import * as models from '../../models/index.js';
import * as robots from '../../models/robots/index.js';
import * as fem from '../../fem/index.js';
import * as plot from '../../plot/index.js';
import * as sweep from '../../sweep/index.js';
import * as training from '../../training/index.js';
import {exportedValues} from './exported.js';
import {agrees, blocks, docstringPrograms, programs, run, typeErrors} from './snippets.js';
import {documents, entries, filesBelow, nodeEntries, readText, root} from './sources.js';

const modules = {
  '@tensorflow/tfjs': tf,
  stiffgrad: lib,
  'stiffgrad/models': models,
  'stiffgrad/robots': robots,
  'stiffgrad/training': training,
  'stiffgrad/plot': plot,
  'stiffgrad/fem': fem,
  'stiffgrad/sweep': sweep,
  'node:fs/promises': fs,
};
const examples = ['lib', 'models', 'training', 'plot', 'fem', 'sweep']
  .flatMap(folder => filesBelow(folder, '.ts'))
  .flatMap(file => docstringPrograms(file, readText(file)));
const all = [...documents.flatMap(page => programs(page, readText(page))), ...examples];

describe('the documents', function () {
  this.timeout(120_000);
  let place: string;
  const home = process.cwd();

  before(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-docs-'));
    process.chdir(place);
  });
  after(async () => {
    process.chdir(home);
    await rm(place, {recursive: true});
  });

  it('their programs satisfy a strict compiler', () => {
    expect(typeErrors(all, root.replace(/\/$/, ''), {...entries, ...nodeEntries})).to.deep.equal([]);
  });

  for (const program of all) {
    it(`${program.page}, line ${program.line}: runs and gives what it states`, async () => {
      const stated = await run(program, modules, (value, text, line) => {
        if (!agrees(value, text)) {
          const got =
            typeof value === 'object' && value !== null && Symbol.iterator in value
              ? `[${[...(value as Iterable<unknown>)].join(', ')}]`
              : String(value);
          expect.fail(`${program.page}:${line} states ${text}, but it is ${got}`);
        }
      });
      expect(stated, 'comments that state a value, and checks made').to.equal(
        (program.source.match(/\/\/ (→|throws) /g) ?? []).length,
      );
    });
  }

  it('their commands are scripts that exist', () => {
    const {scripts} = JSON.parse(readText('package.json')) as {scripts: Record<string, string>};
    for (const page of documents) {
      for (const {text} of blocks(readText(page), 'sh')) {
        for (const command of text
          .split(/\n|&&/)
          .map(line => line.replace(/#.*/, '').trim())
          .filter(line => line !== '')) {
          const [program, verb, name = ''] = command.split(/\s+/);
          const known =
            program === 'npm'
              ? ['ci', 'cit', 'install'].includes(verb) || verb in scripts || (verb === 'run' && name in scripts)
              : program === 'cd'
                || (program === 'npx'
                  && verb === 'stiffgrad'
                  && ['new', 'identify', 'simulate', 'check', 'report', 'sweep', 'worker'].includes(name))
                || (program === 'npx'
                  && ['mocha', 'tsx'].includes(verb)
                  && (name === '' || existsSync(path.join(root, name))))
                || (program === 'bash' && existsSync(path.join(root, verb)));
          expect(known, `${page}: ${command}`).to.equal(true);
        }
      }
    }
  });

  it('their links lead to files and headings that exist', () => {
    for (const page of documents) {
      for (const [, to, anchor] of readText(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)) {
        const target = to === '' ? page : path.posix.join(path.posix.dirname(page), to);
        expect(existsSync(path.join(root, target)), `${page}: ${to}`).to.equal(true);
        if (anchor === undefined) continue;
        const headings = [...readText(target).matchAll(/^#+ (.*)$/gm)].map(([, text]) =>
          text
            .toLowerCase()
            .replace(/[^\w\- ]/g, '')
            .replaceAll(' ', '-'),
        );
        expect(headings, `${page}: #${anchor}`).to.include(anchor);
      }
    }
  });

  it('every repaired gradient of tfjs is named', () => {
    const text = readText('docs/tfjs-repairs.md');
    expect(repaired.filter(kernel => !new RegExp(`\\b${kernel}\\b`).test(text))).to.deep.equal([]);
  });

  it('every public name stands in one of them', () => {
    const text = documents.map(readText).join('\n');
    const names = [lib, models, training, plot, sweep].flatMap(module => [...exportedValues(module).keys()]);
    expect(names.filter(name => !new RegExp(`\\b${name.replace('.', '\\.')}\\b`).test(text))).to.deep.equal([]);
  });
});
