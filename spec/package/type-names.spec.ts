/** An exported type has a name of its own: who searches for a name finds one declaration. */
import {expect} from 'chai';
import {filesBelow, readText} from './sources.js';

/**
 * Public names that another entry or the inside has too: `Noise` of an sde and of measurements, the `Shape` of a body
 * and of a tensor, the `Segment` of a record and of a path.
 */
const shared = new Set(['Noise', 'Segment', 'Shape']);

const declaration = /^export (?:declare )?(?:abstract )?(?:interface|type|class|enum) (\w+)/gm;

describe('names of types', () => {
  it('no exported type is declared in two files', () => {
    const files = new Map<string, Set<string>>();
    for (const file of ['lib', 'models', 'training', 'fem'].flatMap(folder => filesBelow(folder, '.ts')))
      for (const [, name] of readText(file).matchAll(declaration))
        files.set(name, (files.get(name) ?? new Set()).add(file));
    const twice = [...files].filter(([name, {size}]) => size > 1 && !shared.has(name));
    expect(twice.map(([name, where]) => `${name}: ${[...where].join(', ')}`)).to.deep.equal([]);
  });
});
