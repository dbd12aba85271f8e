/** docs/initial-guesses.md says what the code does, and what it recommends is in its numbers. */
import {expect} from 'chai';
import {readFileSync} from 'node:fs';
import {figurePath, guesses, initialGuesses, pagePath} from '../../bench/initial-guesses.js';

describe('docs/initial-guesses.md', () => {
  let measured: ReturnType<typeof initialGuesses>;
  const of = (...names: string[]): typeof measured.rows => measured.rows.filter(({load}) => names.includes(load.name));

  before(() => {
    measured = initialGuesses();
  });

  it('and its figure are up to date: npx tsx bench/initial-guesses.ts writes them', () => {
    expect(readFileSync(pagePath, 'utf8')).to.equal(measured.page);
    expect(readFileSync(figurePath, 'utf8')).to.equal(measured.figure);
  });

  it('consistent is behind rest and current only in unresolved vibration', () => {
    for (const {load, dt, byGuess} of of('smooth', 'stiff, driven', 'contact')) {
      expect(byGuess.consistent.iterations, `${load.name}, ${dt}`).to.be.at.most(byGuess.current.iterations);
      expect(byGuess.consistent.error[0], `${load.name}, ${dt}`).to.be.below(byGuess.current.error[0]);
      expect(byGuess.consistent.error[0], `${load.name}, ${dt}`).to.be.below(byGuess.rest.error[0]);
    }
    for (const {byGuess} of of('impulsive'))
      expect(byGuess.consistent.error[0]).to.be.below(0.1 * byGuess.current.error[0]);
    for (const {load, dt, byGuess} of of('stiff, free').filter(row => row.dt * row.load.frequency > 5)) {
      expect(byGuess.current.error[0], `${load.name}, ${dt}`).to.be.below(0.1 * byGuess.consistent.error[0]);
      expect(byGuess.current.iterations).to.be.below(byGuess.consistent.iterations);
    }
  });

  it('errors after one iteration fall with h², h⁵ and h⁷ in smooth motion', () => {
    // A least rate, between the steps 0.1 and 0.03: the higher terms of 0.1 make it a little less than the limit.
    const [coarse, fine] = of('smooth')
      .filter(({dt}) => dt === 0.1 || dt === 0.03)
      .sort((a, b) => b.dt - a.dt);
    const order = (guess: string): number =>
      Math.log(coarse.byGuess[guess].error[0] / fine.byGuess[guess].error[0]) / Math.log(coarse.dt / fine.dt);
    expect(order('current')).to.be.closeTo(2, 0.3);
    expect(order('consistent')).to.be.closeTo(5, 0.3);
    expect(order('extrapolated')).to.be.closeTo(7, 0.3);
  });

  it('linearized is current with one iteration more', () => {
    for (const {byGuess, run} of measured.rows) {
      expect(byGuess.linearized.iterations).to.be.closeTo(byGuess.current.iterations, 1e-12);
      expect(byGuess.linearized.error).to.deep.equal(byGuess.current.error);
      if (run.current <= 1) expect(run.linearized).to.be.below(run.current);
    }
  });

  it('extrapolated is lost in unresolved vibration and under coarse blows', () => {
    for (const {byGuess} of of('stiff, free').filter(row => row.dt * row.load.frequency > 5)) {
      for (const guess of guesses) expect(byGuess.extrapolated.error[0]).to.be.at.least(byGuess[guess].error[0]);
    }
    expect(of('impulsive').find(({dt}) => dt === 0.03)?.run.extrapolated).to.be.above(1);
  });

  it('without the term a free stiff step is wrong by its speed', () => {
    for (const {without, byGuess} of of('stiff, free'))
      expect(without.error[0]).to.be.above(100 * byGuess.current.error[0]);
    expect(of('stiff, free').find(({dt}) => dt === 0.01)?.without.error[0]).to.be.within(0.5, 2);
  });
});
