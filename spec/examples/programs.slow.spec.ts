/** The examples in their short form as programs: each says its numbers and writes its page and its picture. */
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect} from 'chai';
import * as block from '../../examples/pushed-block.js';
import * as thrown from '../../examples/throw.js';
import * as walker from '../../examples/walker.js';
import {elementsOf} from '../training/well-formed.js';

describe('the examples', () => {
  for (const [name, {main}] of Object.entries({walker, throw: thrown, 'pushed-block': block})) {
    it(`${name}, short: writes an animation with the forces of contact`, async () => {
      const place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-examples-'));
      const said: string[] = [];
      const {log} = console;
      console.log = (text: string) => said.push(text);
      try {
        await main({report: path.join(place, 'page.html'), short: true});
      } finally {
        console.log = log;
      }
      expect(said.join('\n')).to.include(`Report: ${place}`);
      expect(await readFile(path.join(place, 'page.html'), 'utf8')).to.match(/^<!doctype html>/);
      const picture = await readFile(path.join(place, 'page.svg'), 'utf8');
      expect(elementsOf(picture)).to.include('animate');
      expect(picture).to.include('class="forces"');
      await rm(place, {recursive: true});
    });
  }
});
