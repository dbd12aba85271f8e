/** The short form of `npm run fuzz -- readers`: some changed files of every format. */
import {expect} from 'chai';
import {fuzz} from './readers.js';

describe('changed files', function () {
  this.timeout(120_000);

  it('are read or refused, of every format, within their time and memory', async () => {
    const {tried, failures} = await fuzz({count: 20, seed: 1});
    expect(failures).to.deep.equal([]);
    expect(tried).to.equal(200);
  });
});
