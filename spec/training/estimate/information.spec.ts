/** Information of experiments: closed forms, the errors that fits then have, and combinations that no experiment tells. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {implicitMidpoint, mechanics, ode, rk4, signal, simulate} from '../../../lib/index.js';
import {fixed, free, identify, positive} from '../../../training/index.js';
import {fisherInformation, identifiability, rank} from '../../../training/estimate/information.js';
import {gaussian} from '../../../training/data/noise.js';
import {slow} from '../../tiers.js';

const range = (n: number, step = 1): number[] => Array.from({length: n}, (_, i) => i * step);
const p = (params: unknown, name: string): tf.Tensor => (params as {[name: string]: tf.Tensor})[name];

/** y' = −a y from b. */
const decay = {
  system: ode(({y, params}) => tf.neg(tf.mul(p(params, 'a'), y))),
  parameters: {a: positive(0.7), 'initial.y': free(2)},
  scheme: rk4(),
  dt: 0.01,
  noise: {y: 0.1},
};

const oscillator = (force: number) =>
  mechanics({
    mass: ({params}) => p(params, 'm'),
    forces: ({q, v, params}) =>
      tf.add(
        tf.neg(tf.add(tf.mul(p(params, 'k'), q), tf.mul(p(params, 'c'), v))),
        force === 0 ? tf.zerosLike(q) : tf.mul(force, p(params, 'u')),
      ),
  });
const mkc = {m: positive(2), k: positive(8), c: positive(0.6)};

describe('fisherInformation', () => {
  it('is that of an exponential, in closed form', () => {
    // ∂y/∂a = −b t e^(−at), ∂y/∂b = e^(−at); relative ones times a and b.
    const [a, b, sigma] = [0.7, 2, 0.1];
    const t = range(8, 0.5);
    const rows = t.map(time => [(-a * b * time * Math.exp(-a * time)) / sigma, (b * Math.exp(-a * time)) / sigma]);
    const M = [0, 1].map(i => [0, 1].map(j => rows.reduce((sum, row) => sum + row[i] * row[j], 0)));
    const det = M[0][0] * M[1][1] - M[0][1] ** 2;
    const {matrix, standardError, logDeterminant, meanVariance, leastEigenvalue, correlation} = fisherInformation(
      decay,
      {t},
    );
    M.flat().forEach((value, i) => expect(matrix[i] / value).to.be.closeTo(1, 1e-8));
    expect(logDeterminant).to.be.closeTo(Math.log(det), 1e-8);
    expect(standardError.a).to.be.closeTo(a * Math.sqrt(M[1][1] / det), 1e-8);
    expect(standardError['initial.y']).to.be.closeTo(b * Math.sqrt(M[0][0] / det), 1e-8);
    expect(meanVariance).to.be.closeTo((M[0][0] + M[1][1]) / det / 2, 1e-10);
    const trace = M[0][0] + M[1][1];
    expect(leastEigenvalue).to.be.closeTo((trace - Math.sqrt(trace ** 2 - 4 * det)) / 2, 1e-6);
    expect(correlation[1]).to.be.closeTo(-M[0][1] / Math.sqrt(M[0][0] * M[1][1]), 1e-8);
  });

  slow('bounds what fits of made records then scatter by', async () => {
    const t = range(40, 0.1);
    const {standardError} = fisherInformation(decay, {t});
    const noise = gaussian(8);
    let square = 0;
    const n = 60;
    for (let i = 0; i < n; i++) {
      const y = t.map(time => 2 * Math.exp(-0.7 * time) + 0.1 * noise());
      const fit = await identify({
        system: decay.system,
        parameters: decay.parameters,
        scheme: rk4(),
        dt: 0.1,
        data: {t, y},
      });
      fit.trajectory.dispose();
      square += ((fit.estimate.a - 0.7) / standardError.a) ** 2 / n;
    }
    // χ² of 60 degrees of freedom over 60: 99.9 % within 0.52 … 1.68.
    expect(square).to.be.within(0.52, 1.68);
  });
});

describe('rankExperiments', () => {
  const problem = {
    system: oscillator(1),
    parameters: mkc,
    initial: {q: 0, v: 0},
    dt: 0.02,
    noise: {q: 1e-3},
  };
  const t = range(200, 0.1);
  const fine = range(2000, 0.01);
  const sine = (omega: number) => ({
    t,
    inputs: {
      u: signal(
        fine,
        fine.map(time => Math.sin(omega * time)),
      ),
    },
  });
  const candidates = {
    slow: sine(0.2),
    resonance: sine(2),
    fast: sine(12),
    chirp: {
      t,
      inputs: {
        u: signal(
          fine,
          fine.map(time => Math.sin(0.15 * time ** 2)),
        ),
      },
    },
  };

  slow('prefers what shakes near the resonance to what hardly moves it', () => {
    for (const criterion of ['D', 'A', 'E'] as const) {
      const ranked = rank(problem, candidates, {criterion});
      const names = ranked.map(({name}) => name);
      for (const told of ['chirp', 'resonance'])
        for (const hardly of ['slow', 'fast'])
          expect(names.indexOf(told), `${criterion}: ${told}, ${hardly}`).to.be.below(names.indexOf(hardly));
      const values = ranked.map(({value}) => (criterion === 'A' ? -value : value));
      for (let i = 1; i < 4; i++) expect(values[i]).to.be.below(values[i - 1]);
    }
  });

  it('adds to what is measured in any case', () => {
    const alone = fisherInformation(problem, candidates.slow);
    const both = fisherInformation(problem, [
      {...candidates.slow, name: 'a'},
      {...candidates.fast, name: 'b'},
    ]);
    const [{information}] = rank(problem, {fast: candidates.fast}, {beside: [{...candidates.slow, name: 'made'}]});
    expect(information.matrix).to.deep.equal(both.matrix);
    both.matrix.forEach((value, i) => i % 4 === 0 && expect(value).to.be.above(alone.matrix[i]));
  });

  it('ranks an experiment that tells nothing of a parameter last', () => {
    const still = {t, inputs: {u: signal([0, 20], [0, 0])}};
    const ranked = rank(problem, {still, chirp: candidates.chirp});
    expect(ranked[1].name).to.equal('still');
    expect(ranked[1].value).to.equal(-Infinity);
    expect(ranked[1].information.standardError.k).to.equal(Infinity);
  });
});

describe('identifiability', () => {
  slow('names what a free oscillation leaves open: mass, stiffness and damping by a common factor', () => {
    const problem = {system: oscillator(0), parameters: mkc, initial: {q: 1, v: 0}, dt: 0.05, noise: {q: 1}};
    const found = identifiability(problem, {t: range(100, 0.1)});
    expect(found.identifiable).to.equal(false);
    expect([found.rank, found.rankAtGuess]).to.deep.equal([2, 2]);
    expect(found.singularValues[2] / found.singularValues[0]).to.be.below(1e-9);
    const [{direction, sentence}] = found.combinations;
    for (const name of ['m', 'k', 'c']) expect(direction[name]).to.be.closeTo(1, 1e-6);
    expect(sentence).to.match(/m by \+1\.00 %, k by \+1\.00 % and c by \+1\.00 % leaves all measurements unchanged/);
  });

  it('finds them where a known force acts, or one of them is known', () => {
    const forced = {
      system: oscillator(1),
      parameters: mkc,
      initial: {q: 0, v: 0},
      inputs: {u: signal(range(11), range(11).map(Math.sin))},
      dt: 0.05,
      noise: {q: 1},
    };
    expect(identifiability(forced, {t: range(100, 0.1)}).identifiable).to.equal(true);
    const known = {
      system: oscillator(0),
      parameters: {...mkc, m: fixed(2)},
      initial: {q: 1, v: 0},
      dt: 0.05,
      noise: {q: 1},
    };
    expect(identifiability(known, {t: range(100, 0.1)}).identifiable).to.equal(true);
  });

  it('tells a product from its factors, and what nothing depends on', () => {
    const problem = {
      system: ode(({y, params}) =>
        tf.sub(tf.neg(tf.mul(tf.mul(p(params, 'a'), p(params, 'b')), y)), tf.mul(0, p(params, 'z'))),
      ),
      parameters: {a: positive(2), b: free(0.3), z: free(1)},
      initial: {y: 1},
      dt: 0.05,
      noise: {y: 1},
    };
    const {combinations, rank} = identifiability(problem, {t: range(20, 0.1)});
    expect(rank).to.equal(1);
    expect(combinations).to.have.length(2);
    const two = combinations.find(({direction}) => 'a' in direction)!;
    expect(two.direction.a / two.direction.b).to.be.closeTo(-1, 1e-6);
    expect(combinations.map(({sentence}) => sentence).join()).to.match(/depends on z/);
  });

  it('does not take a guess that is singular for the rule', () => {
    // At c = 0 the output does not depend on d; elsewhere it does.
    const problem = {
      system: ode(({y, params}) => tf.sub(tf.mul(p(params, 'c'), tf.sin(tf.mul(p(params, 'd'), y))), y)),
      parameters: {c: free(0), d: free(1.5)},
      initial: {y: 1},
      scheme: implicitMidpoint(),
      dt: 0.05,
      noise: {y: 1},
    };
    const found = identifiability(problem, {t: range(30, 0.1)});
    expect([found.rankAtGuess, found.rank, found.identifiable]).to.deep.equal([1, 2, true]);
  });

  it('refuses what it cannot do, and leaves no tensors', () => {
    const problem = {system: oscillator(0), parameters: mkc, initial: {q: 1, v: 0}, dt: 0.1, noise: {q: 1}};
    expect(() => fisherInformation({...problem, noise: {}}, {t: [0, 1]})).to.throw(/noise defines which series/);
    expect(() => fisherInformation({...problem, noise: {y: 1}}, {t: [0, 1]})).to.throw(/not of y/);
    expect(() => fisherInformation({...problem, noise: {q: 0}}, {t: [0, 1]})).to.throw(/must be positive/);
    expect(() =>
      fisherInformation({...problem, parameters: {m: fixed(1), k: fixed(1), c: fixed(1)}}, {t: [0, 1]}),
    ).to.throw(/every parameter is fixed/);
    expect(() => rank(problem, {}, {criterion: 'Q' as 'D'})).to.throw(/one of 'D', 'A', 'E'/);
    simulate(problem.system, {q: 1, v: 0}, {dt: 0.1, steps: 1, params: {m: 1, k: 1, c: 1}}).dispose();
    const before = tf.memory().numTensors;
    identifiability(problem, {t: range(10, 0.1)});
    expect(tf.memory().numTensors).to.equal(before);
  });
});
