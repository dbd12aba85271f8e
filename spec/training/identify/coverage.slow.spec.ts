/** Intervals of 95 % hold the truth about as often as they say: few records, and bounds that a right method leaves once in a thousand runs. */
import {expect} from 'chai';
import {cases, coverage} from '../../../bench/coverage.js';
import {models, shortCoverage} from '../../../bench/short-records.js';

describe('coverage', function () {
  this.timeout(60_000);

  for (const kind of ['white', 'ar'] as const) {
    it(`standard error, profile and posterior of a decay, ${kind} noise`, async () => {
      const records = 20;
      const found = await coverage(cases.decay, kind, records);
      // Binomial with p = 0.95 and n = 20: fewer than 15 hold once in 3000.
      for (const part of [found.standardError, found.profile, found.posterior])
        expect(part).to.be.at.least(15 / records);
    });
  }

  it('fails where the intervals are too narrow: correlated noise taken for white', async () => {
    const {standardError} = await coverage(cases.decay, 'ar', 40, {asWhite: true, quick: true});
    // Their errors are too small by √((1 + φ)/(1 − φ)) = 2 about: two thirds hold.
    expect(standardError).to.be.at.most(0.9);
  });

  it('of short records, at their default: white noise, and noise that remembers', () => {
    for (const samples of [31, 61, 200])
      for (const phi of [0, 0.6])
        for (const [name, model] of Object.entries(models))
          for (const part of shortCoverage(model, samples, phi, 600)) {
            const what = `${samples} samples, φ = ${phi}, ${name}`;
            expect(part, what).to.be.at.least(0.92);
            // Of noise that remembers little is known of few samples: then the errors are rather too large.
            if (phi === 0 && samples >= 61) expect(part, what).to.be.at.most(0.98);
          }
  });
});
