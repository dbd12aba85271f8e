/** The short form of the search by random systems; `npm run fuzz -- systems` is the long one. */
import {expect} from 'chai';
import {fuzz} from './systems.js';
import {check} from './systems/check.js';
import {sampleOf} from './systems/system.js';
import {cases, startSeed} from '../property.js';

/** With seed 1; a third have constraints, events, other units or adaptive steps. */
const count = cases(24);

describe('random systems', () => {
  it('obey their schemes as an evaluator of their own writes them, on every engine and in every derivative', async () => {
    const {tried, failures} = await fuzz({count, seed: startSeed(1), log: () => undefined});
    expect(failures).to.deep.equal([]);
    expect(tried).to.equal(count);
  });

  it('are judged: an evaluator whose forces are a ten-thousandth larger disagrees', () => {
    const seeds = Array.from({length: 8}, (_, i) => i + 1);
    const wrong = seeds.filter(
      seed =>
        check(seed, at => {
          const sample = sampleOf(at);
          return {
            ...sample,
            plain: params => {
              const plain = sample.plain(params);
              return {...plain, force: (q, v, t) => plain.force(q, v, t).map(value => 1.0001 * value)};
            },
          };
        }).wrong.length > 0,
    );
    // Those with constraints, or judged by the order of their error, show less.
    expect(wrong.length).to.be.above(3);
  });
});
