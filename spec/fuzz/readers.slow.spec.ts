/** The short form of `npm run fuzz -- readers`: some changed files of every format. */
import {expect} from 'chai';
import {cases, startSeed} from '../property.js';
import {fuzz} from './readers.js';

describe('changed files', function () {
  this.timeout(120_000);

  it('are read or refused, of every format, within their time and memory', async () => {
    const {tried, failures} = await fuzz({count: cases(20), seed: startSeed(1)});
    expect(failures).to.deep.equal([]);
    expect(tried).to.equal(10 * cases(20));
  });
});
