/** Simplified Newton iterations: how far they go, when a matrix is renewed, and what they give up. */
import {expect} from 'chai';
import {plainVectors} from '../../lib/engine/vectors.js';
import type {Factor} from '../../lib/linear/index.js';
import type {NewtonCounters, SequentialSystem} from '../../lib/newton/index.js';
import {SimplifiedNewton} from '../../lib/newton/index.js';

const noCounts = (): NewtonCounters => ({
  newtonIterations: 0,
  residualEvaluations: 0,
  jacobianEvaluations: 0,
  factorizations: 0,
  linearIterations: 0,
});

interface Scalars {
  /** A block's residual, of it and of those found before. */
  readonly f: (z: number, found: readonly number[], k: number) => number;
  readonly guess: (k: number) => number;
  readonly slope: (z: number) => number;
  readonly blocks: number;
  readonly tolerance: number;
  readonly jacobianCost?: number;
  /** What rounding makes of corrections, in the tolerance. */
  readonly roundoff?: number;
}

/** Blocks of one number, all with the tolerance 1 in units of `tolerance`. */
function system({f, guess, slope, blocks, tolerance, jacobianCost = 4, roundoff = 0}: Scalars): {
  turns: SequentialSystem;
  found: number[];
} {
  const found: number[] = [];
  const z = new Float64Array(1);
  const residual = new Float64Array(1);
  let present = 0;
  const turns: SequentialSystem = {
    blocks,
    z,
    residual,
    jacobianCost,
    delta: new Float64Array(1),
    weights: Float64Array.of(tolerance),
    vectors: plainVectors,
    beginStep: () => void (found.length = 0),
    beginBlock: k => {
      present = k;
      z[0] = guess(k);
    },
    evaluateResidual: () => void (residual[0] = f(z[0], found, present)),
    endBlock: () => void found.push(z[0]),
    roundoff: () => ({size: Math.abs(f(z[0], found, present) / slope(z[0])) / tolerance, rounding: roundoff}),
    factor: () => {
      const value = slope(z[0]);
      return {
        n: 1,
        kind: 'scalar',
        size: 1,
        linearIterations: 0,
        refactor: () => undefined,
        solve: (b, x) => void (x[0] = b[0] / value),
        solveTransposed: () => undefined,
      } satisfies Factor;
    },
  };
  return {turns, found};
}

const options = {kappa: 1e-2, acceptOnStall: 1e-2, acceptOnStallFresh: 1e-2, repeatable: false, maxIterations: 7};

describe('newton: simplified iterations', () => {
  // zₖ² = k + 2 + zₖ₋₁: nested roots.
  const nested: Scalars = {
    f: (z, found, k) => z * z - k - 2 - (found.at(-1) ?? 0),
    guess: k => Math.sqrt(k + 3),
    slope: z => 2 * z,
    blocks: 3,
    tolerance: 1e-8,
  };
  const exact = (): number[] => {
    const z: number[] = [];
    for (let k = 0; k < 3; k++) z.push(Math.sqrt(k + 2 + (z.at(-1) ?? 0)));
    return z;
  };

  it('find blocks one after another, each within its share of the tolerance, with one matrix', () => {
    const counters = noCounts();
    const {turns, found} = system(nested);
    expect(new SimplifiedNewton(turns, {...options, maxIterations: 40}, counters).solve()).to.equal('converged');
    found.forEach((z, k) => expect(z).to.be.closeTo(exact()[k], 1e-10 * 3));
    expect(counters.factorizations).to.equal(1);
    expect(counters.residualEvaluations).to.equal(counters.newtonIterations);
  });

  it('to rounding where that is asked, and no further than corrections shrink', () => {
    const counters = noCounts();
    const {turns, found} = system(nested);
    expect(
      new SimplifiedNewton(
        turns,
        {kappa: 1e-30, acceptOnStall: 1e-2, acceptOnStallFresh: 1e-2, repeatable: true, maxIterations: 80},
        counters,
      ).solve(),
    ).to.equal('converged');
    found.forEach((z, k) => expect(z).to.be.closeTo(exact()[k], 1e-15 * 4));
  });

  it('a linear equation takes one correction, and one to see that nothing is left', () => {
    const counters = noCounts();
    const {turns} = system({f: z => 3 * z - 1, guess: () => 0, slope: () => 3, blocks: 1, tolerance: 1e-6});
    expect(new SimplifiedNewton(turns, options, counters).solve()).to.equal('converged');
    expect(counters.newtonIterations).to.equal(2);
  });

  it('keep a matrix that contracts fast, and renew one that does not', () => {
    const counted = (curvature: number): NewtonCounters => {
      const counters = noCounts();
      const {turns} = system({
        f: z => z + curvature * z * z - 0.1,
        guess: () => 0.1,
        slope: z => 1 + 2 * curvature * z,
        blocks: 1,
        tolerance: 1e-6,
      });
      const simplified = new SimplifiedNewton(turns, options, counters);
      for (let step = 0; step < 10; step++) expect(simplified.solve()).to.equal('converged');
      return counters;
    };
    expect(counted(0.01).factorizations).to.equal(1);
    expect(counted(2).factorizations).to.be.above(5);
  });

  it('an old matrix that fails is renewed once; a new one that fails is the end', () => {
    let target = 1;
    const counters = noCounts();
    // Of z³ = target the slope at the guess is right, that of another target far off.
    const {turns, found} = system({
      f: z => z ** 3 - target,
      guess: () => Math.cbrt(target) * 1.01,
      slope: z => 3 * z * z,
      blocks: 1,
      tolerance: 1e-6,
      jacobianCost: 100,
    });
    const simplified = new SimplifiedNewton(turns, options, counters);
    expect(simplified.solve()).to.equal('converged');
    target = 1000;
    expect(simplified.solve()).to.equal('converged');
    expect(found[0]).to.be.closeTo(10, 1e-7);
    expect(counters.factorizations).to.equal(2);
    const wrong = system({
      f: z => Math.cbrt(z),
      guess: () => 1,
      slope: z => 1 / (3 * Math.cbrt(z) ** 2),
      blocks: 1,
      tolerance: 1e-6,
    }).turns;
    expect(new SimplifiedNewton(wrong, options, noCounts()).solve()).to.equal('newton-diverged');
  });

  it('corrections as small as rounding makes them are the end, though the tolerance is smaller', () => {
    // A residual that is known to 1e-6, with corrections that no longer shrink there.
    let sign = 1;
    const noisy: Scalars = {
      f: z => 2 * z - 1 + (sign = -sign) * 1e-6,
      guess: () => 1,
      slope: () => 2,
      blocks: 1,
      tolerance: 1e-11,
    };
    const status = (roundoff: number): string => {
      const {turns, found} = system({...noisy, roundoff});
      const end = new SimplifiedNewton(turns, {...options, repeatable: true}, noCounts()).solve();
      if (end === 'converged') expect(found[0]).to.be.closeTo(0.5, 2e-6);
      return end;
    };
    expect(status(5e4)).to.equal('converged');
    expect(status(500)).to.equal('newton-diverged');
    expect(status(0)).to.equal('newton-diverged');
  });

  it('what is not finite is said', () => {
    const {turns} = system({f: z => Math.log(z - 1), guess: () => 1, slope: () => 1, blocks: 1, tolerance: 1e-6});
    expect(new SimplifiedNewton(turns, options, noCounts()).solve()).to.equal('not-finite');
  });
});
