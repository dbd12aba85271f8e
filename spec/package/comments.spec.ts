/** Doc comments stand without their neighbours: editors and the reference show them alone. */
import {readFileSync} from 'node:fs';
import {expect} from 'chai';
import {filesBelow} from './sources.js';

/** Folders of lib that keep the rule; others join when their comments do. */
const rooms = ['adjoint', 'integrate', 'newton', 'routine', 'scheme', 'simulate', 'step', 'system', 'wasm'];

/** Openings that continue another comment instead of naming their own subject. */
const anaphor = /\/\*\*\s+(?:\* )?(?:Of|The same|And) .*/g;

describe('doc comments name their own subject', () => {
  for (const room of rooms)
    it(`lib/${room}`, () => {
      const files = filesBelow(`lib/${room}`, '.ts');
      const found = files.flatMap(file => {
        const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
        return Array.from(text.matchAll(anaphor), ([opening]) => `${file}: ${opening}`);
      });
      expect(files).to.not.deep.equal([]);
      expect(found).to.deep.equal([]);
    });
});
