/** Every notebook is executed, and what it prints is what is stored in it, number by number. */
import {readdirSync} from 'node:fs';
import path from 'node:path';
import {expect} from 'chai';
import {root} from '../package/sources.js';
import {execute, printed, readNotebook} from './runner.js';

/** Words as they are; numbers as near as another machine's Math.sin and float32 sums let them be. */
function sameText(found: string, stored: string): void {
  const number = /-?\d+\.\d+(?:e[+-]?\d+)?/g;
  expect(found.replace(number, '#')).to.equal(stored.replace(number, '#'));
  const [now, then] = [found, stored].map(text => (text.match(number) ?? []).map(Number));
  then.forEach((value, i) => expect(now[i], stored).to.be.closeTo(value, 1e-4 * Math.max(1, Math.abs(value))));
}

/** Times that a fit took are not of the fit. */
const withoutSeconds = (text: string): string => text.replace(/\d+(\.\d+)? s\b/g, '');

describe('the notebooks', function () {
  this.timeout(150_000);

  const files = readdirSync(path.join(root, 'notebooks'))
    .filter(name => name.endsWith('.ipynb'))
    .sort();

  it('are all there', () => expect(files.length).to.be.at.least(10));

  for (const file of files) {
    it(file, async () => {
      const notebook = readNotebook(`notebooks/${file}`);
      const cells = notebook.cells.filter(({cell_type: kind}) => kind === 'code');
      expect(cells.every(({outputs}) => outputs !== undefined)).to.equal(true);
      const outputs = await execute(notebook);
      cells.forEach((cell, i) =>
        sameText(withoutSeconds(printed(outputs[i])), withoutSeconds(printed(cell.outputs ?? []))),
      );
      // The picture is in it, and it is short.
      expect(
        cells.some(({outputs: stored = []}) => stored.some(({data}) => data?.['text/html'] !== undefined)),
        'a picture',
      ).to.equal(true);
      expect(notebook.cells.length).to.be.below(10);
    });
  }
});
