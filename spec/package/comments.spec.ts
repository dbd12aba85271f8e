/** Doc comments stand without their neighbours: editors and the reference show them alone. */
import {readFileSync} from 'node:fs';
import {expect} from 'chai';
import {filesBelow} from './sources.js';

/** Folders of lib that keep the rule; others join when their comments do. */
const rooms = ['adjoint', 'integrate', 'newton', 'routine', 'scheme', 'simulate', 'step', 'system', 'wasm'];

/** Folders and files that also keep the stricter rule below. */
const strictRooms = ['plot', 'fem', 'sweep', 'cli'];

/** Openings that continue another comment instead of naming their own subject. */
const anaphor = /\/\*\*\s+(?:\* )?(?:Of|The same|And) .*/g;
const strict = /\/\*\*\s+(?:\* )?(?:Of|The same|And|Where|By|It|Its|That|Those|As|Undefined)\b.*/g;

function openings(file: string, pattern: RegExp): string[] {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  return Array.from(text.matchAll(pattern), ([opening]) => `${file}: ${opening}`);
}

describe('doc comments name their own subject', () => {
  for (const room of rooms)
    it(`lib/${room}`, () => {
      const files = filesBelow(`lib/${room}`, '.ts');
      const found = files.flatMap(file => openings(file, anaphor));
      expect(files).to.not.deep.equal([]);
      expect(found).to.deep.equal([]);
    });

  for (const room of strictRooms)
    it(room, () => {
      expect(filesBelow(room, '.ts').flatMap(file => openings(file, strict))).to.deep.equal([]);
    });

  it('models', () => {
    const files = filesBelow('models', '.ts').filter(file => !/^models\/(multibody|robots)\//.test(file));
    expect(files.flatMap(file => openings(file, strict))).to.deep.equal([]);
  });
});
