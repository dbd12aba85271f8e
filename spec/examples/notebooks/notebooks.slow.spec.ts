/** Every notebook is executed, and what it prints is what is stored in it, number by number. */
import {readdirSync} from 'node:fs';
import path from 'node:path';
import {expect} from 'chai';
import {root} from '../../package/sources.js';
import {execute, printed, readNotebook} from './runner.js';
import {sameText} from './same-text.js';

describe('the notebooks', function () {
  this.timeout(150_000);

  const files = readdirSync(path.join(root, 'examples/notebooks'))
    .filter(name => name.endsWith('.ipynb'))
    .sort();

  it('are all there', () => expect(files.length).to.be.at.least(10));

  for (const file of files) {
    it(file, async () => {
      const notebook = readNotebook(`examples/notebooks/${file}`);
      const cells = notebook.cells.filter(({cell_type: kind}) => kind === 'code');
      expect(cells.every(({outputs}) => outputs !== undefined)).to.equal(true);
      const outputs = await execute(notebook);
      cells.forEach((cell, i) => sameText(printed(outputs[i]), printed(cell.outputs ?? [])));
      // The picture is in it, and it is short.
      expect(
        cells.some(({outputs: stored = []}) => stored.some(({data}) => data?.['text/html'] !== undefined)),
        'a picture',
      ).to.equal(true);
      expect(notebook.cells.length).to.be.below(10);
    });
  }
});
