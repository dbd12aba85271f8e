/** Layers: imports run downwards, models and training know only lib's public API, and nothing goes in circles. */
import {expect} from 'chai';
import {order} from './layer-order.js';
import {filesBelow, importsOf, parse, type Import} from './sources.js';
import {slow} from '../tiers.js';

const files = ['lib', 'models', 'training', 'plot', 'fem', 'sweep', 'cli'].flatMap(folder => filesBelow(folder, '.ts'));
const imports = files.flatMap(importsOf);
const floor = (file: string): number => order.indexOf(file.split('/')[1].replace(/\.ts$/, ''));
const arrow = ({from, to}: Import): string => `${from} → ${to}`;

describe('the layers', () => {
  it('every file of lib lies in a layer that has its place', () => {
    expect(files.filter(file => file.startsWith('lib/') && floor(file) < 0)).to.deep.equal([]);
  });

  it('in lib imports run downwards, types too', () => {
    const up = imports.filter(
      ({from, to, local}) => local && from.startsWith('lib/') && (!to.startsWith('lib/') || floor(to) > floor(from)),
    );
    expect(up.map(arrow)).to.deep.equal([]);
  });

  it("models and training import lib's two entries and a few named files, and not each other", () => {
    const past = imports.filter(
      ({from, to, local}) =>
        local
        && !from.startsWith('lib/')
        && to.split('/')[0] !== from.split('/')[0]
        && !(from.startsWith('plot/') && /^(models|fem)\/(index|internal)\.ts$/.test(to))
        && !(/^(plot|sweep|cli)\//.test(from) && /^training\/(index|internal)\.ts$/.test(to))
        && !(from.startsWith('cli/') && ['plot/index.ts', 'sweep/index.ts', 'sweep/load-module.ts'].includes(to))
        && ![
          'lib/index.ts',
          'lib/internal.ts',
          'lib/errors.ts',
          'lib/checks.ts',
          'lib/markup.ts',
          'lib/builtin.ts',
          'lib/random.ts',
          'lib/read.ts',
          'lib/text.ts',
        ].includes(to),
    );
    expect(past.map(arrow)).to.deep.equal([]);
  });

  it('what is made from outside in spec/extending knows what users know', () => {
    const inside = filesBelow('spec/extending', '.ts')
      .flatMap(importsOf)
      .filter(
        ({to}) =>
          ![
            'lib/index.ts',
            'models/index.ts',
            'spec/tiers.ts',
            'spec/package/sources.ts',
            '@tensorflow/tfjs',
            'chai',
          ].includes(to),
      );
    expect(inside.map(arrow)).to.deep.equal([]);
  });

  it('no file imports itself through others, types too', () => {
    const next = (file: string): string[] =>
      imports.filter(({from, local}) => from === file && local).map(({to}) => to);
    const done = new Set<string>();
    const path: string[] = [];
    const circles: string[] = [];
    const visit = (file: string): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      if (done.has(file) || path.includes(file)) return;
      path.push(file);
      next(file).forEach(visit);
      path.pop();
      done.add(file);
    };
    files.forEach(visit);
    expect(circles).to.deep.equal([]);
  });

  slow('every file opens with what it is', () => {
    const silent = files.filter(file => !/^(#!.*\n)?\s*\/\*\*/.test(parse(file).text));
    expect(silent).to.deep.equal([]);
  });
});
