/** How far along the correction: each strategy against what its source says of it. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import * as fc from 'fast-check';
import {OptionError} from '../../lib/errors.js';
import {implicitMidpoint, lu, mechanics, simulate} from '../../lib/index.js';
import type {StepLength} from '../../lib/newton/index.js';
import {backtracking, full, newton, subSteps} from '../../lib/newton/index.js';
import {runs} from '../property.js';

interface Chosen {
  readonly length: number;
  /** Every length looked at, in order; the last is where the strategy left the state. */
  readonly tried: readonly number[];
}

/** Lets a strategy choose on a merit given as a function of the length. */
function choose(step: StepLength, merit: (s: number) => number, {size = 1, scale = 1, smallest = 1e-16} = {}): Chosen {
  const tried: number[] = [];
  const trial = (s: number): number => {
    tried.push(s);
    return merit(s);
  };
  return {length: step.choose(trial, merit(0), size, scale, smallest), tried};
}

/** Merits of one unknown: ½r(s)² of a residual that starts at 1 with slope −1, as along Newton's correction. */
const residuals = fc
  .tuple(fc.double({min: -30, max: 30, noNaN: true}), fc.double({min: -30, max: 30, noNaN: true}))
  .map(
    ([b, c]) =>
      (s: number): number =>
        0.5 * (1 - s + b * s * s + c * s ** 3) ** 2,
  );

describe('newton: step length', () => {
  it('full: one whole step, whatever comes of it', () => {
    expect(choose(full(), s => 1 + s)).to.deep.equal({length: 1, tried: [1]});
  });

  it("full() is told by what it is, not by its name: a strategy of one's own called 'full' is asked", () => {
    const halves: StepLength = {
      name: 'full',
      choose(trial) {
        trial(0.5);
        return 0.5;
      },
    };
    const linear = lu();
    const spring = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.mul(40, tf.sin(q)))});
    const iterations = (step: StepLength): number =>
      simulate(
        spring,
        {q: [1], v: [0]},
        {scheme: implicitMidpoint(), dt: 0.1, steps: 5, newton: newton({step, linear})},
      ).stats.newtonIterations;
    const whole = iterations(full());
    // Halves of corrections leave half of the error: 40 iterations for 12 digits.
    expect(iterations(halves)).to.be.greaterThan(3 * whole);
    expect(iterations(full())).to.equal(whole);
  });

  describe('subSteps', () => {
    it('goes on while the merit falls, and undoes the step that raised it', () => {
      const {length, tried} = choose(subSteps(0.2), s => (s - 0.5) ** 2);
      expect(tried.map(s => Math.round(10 * s) / 10)).to.deep.equal([0.2, 0.4, 0.6, 0.4]);
      expect(length).to.equal(0.4);
    });

    it('refuses a fraction that is none', () => {
      for (const fraction of [0, -0.5, 1, 1.5, NaN]) {
        expect(() => subSteps(fraction)).to.throw(OptionError, `between 0 and 1, not ${fraction}`);
      }
    });

    it('takes at most ⌈1/fraction⌉ of them, the whole correction in all', () => {
      for (const fraction of [0.05, 0.3, 0.5, 0.7, 0.99]) {
        const {length, tried} = choose(subSteps(fraction), s => 2 - s);
        expect(tried).to.have.length(Math.ceil(1 / fraction));
        expect(length).to.equal(1);
      }
    });

    it('is 0 where the first one raises the merit, with the state restored', () => {
      expect(choose(subSteps(0.5), s => 1 + s)).to.deep.equal({length: 0, tried: [0.5, 0]});
      expect(choose(subSteps(0.5), s => (s === 0 ? 1 : Infinity))).to.deep.equal({length: 0, tried: [0.5, 0]});
    });

    it('never raises the merit, and leaves the state where it says', () => {
      fc.assert(
        fc.property(residuals, fc.double({min: 0.01, max: 0.99, noNaN: true}), (merit, fraction) => {
          const {length, tried} = choose(subSteps(fraction), merit);
          expect(merit(length)).to.be.at.most(merit(0));
          expect(tried[tried.length - 1]).to.equal(length);
        }),
        runs(200),
      );
    });
  });

  describe('backtracking', () => {
    it('takes the whole step where it lowers the merit enough', () => {
      expect(choose(backtracking(), s => 0.5 * (1 - s) ** 2)).to.deep.equal({length: 1, tried: [1]});
    });

    it("first the parabola: g(0) = ½, g'(0) = −1, g(1) = 2 has its minimum at 1/(2(2 − ½ + 1)) = 0.2", () => {
      const {tried} = choose(backtracking(), s => (s === 1 ? 2 : 0.5 * (1 - s) ** 2));
      expect(tried[1]).to.be.closeTo(0.2, 1e-15);
    });

    it('then the cubic (Numerical Recipes §9.7, eq. 9.7.14)', () => {
      // From g(0) = ½, g'(0) = −1, g(1) = 2, g(0.2) = 0.6: (g(s) − g(0) − s g'(0))/s² is 7.5 and 2.5, so
      // a = (7.5 − 2.5)/(0.2 − 1) = −6.25, b = (0.2·2.5 − 1·7.5)/(0.2 − 1) = 8.75, and the minimum (−b + √(b² + 3a))/(3a).
      const minimum = (-8.75 + Math.sqrt(8.75 ** 2 - 18.75)) / -18.75;
      const {tried} = choose(backtracking(), s => (s === 0 ? 0.5 : s === 1 ? 2 : s > 0.15 ? 0.6 : 0.1));
      // 1e-15: rounding of either formula; 0.0611 lies within [0.02, 0.1].
      expect(tried[2]).to.be.closeTo(minimum, 1e-15);
    });

    it('keeps every new step within [0.1, 0.5] of the last', () => {
      fc.assert(
        fc.property(residuals, merit => {
          const {tried} = choose(backtracking(), merit);
          // One rounding of the product.
          for (let k = 1; k < tried.length && tried[k] > 0; k++)
            expect(tried[k] / tried[k - 1]).to.be.within(0.1 - 1e-15, 0.5 + 1e-15);
        }),
        runs(500),
      );
    });

    it("accepts on sufficient decrease alone, g(s) ≤ g(0) + 1e-4 s g'(0), and finds it along a descent", () => {
      fc.assert(
        fc.property(residuals, fc.constantFrom(1e-4, 0.1, 0.4), (merit, decrease) => {
          const {length, tried} = choose(backtracking({decrease}), merit);
          expect(length).to.be.above(0);
          expect(merit(length)).to.be.at.most(merit(0) - 2 * decrease * length * merit(0));
          expect(tried[tried.length - 1]).to.equal(length);
        }),
        runs(500),
      );
    });

    it('halves where a number is not finite', () => {
      expect(choose(backtracking(), s => (s > 0.3 ? Infinity : 0.5 * (1 - s) ** 2)).tried).to.deep.equal([
        1, 0.5, 0.25,
      ]);
    });

    it('ends where merits are as large as numbers can be', () => {
      for (const power of [100, 200, 290, 300, 305, 307]) {
        const {length, tried} = choose(backtracking(), s => (s > 1e-6 ? s * 10 ** power : 0.5 * (1 - s) ** 2));
        // 1e-6 by tenths at best and halves at worst.
        expect(tried.length).to.be.within(6, 22);
        expect(length).to.be.within(1e-7, 1e-6);
      }
    });

    it('ends with 0 and the state restored where nothing lowers the merit', () => {
      const {length, tried} = choose(backtracking(), s => (s === 0 ? 0.5 : 0.5 + s), {smallest: 1e-10});
      expect(length).to.equal(0);
      expect(tried[tried.length - 1]).to.equal(0);
      // At least by half each time: 10 decades are no more than 34 halvings.
      expect(tried.length).to.be.at.most(36);
    });

    it('limits the first step to `longest` times max(‖z‖, n)', () => {
      expect(
        choose(backtracking({longest: 10}), s => 0.5 * (1 - s) ** 2, {size: 1000, scale: 4}).tried[0],
      ).to.be.closeTo(0.04, 1e-17);
      expect(choose(backtracking(), s => 0.5 * (1 - s) ** 2, {size: 1e5, scale: 1}).tried[0]).to.be.closeTo(
        1e-3,
        1e-18,
      );
    });
  });

  describe('options', () => {
    const refused = (make: () => unknown, words: RegExp): void => {
      expect(make).to.throw(OptionError, words).with.property('code', 'bad-newton');
    };

    it('are checked when they are given, with the value in the sentence', () => {
      refused(() => subSteps(1), /between 0 and 1, not 1/);
      refused(() => subSteps(NaN), /not NaN/);
      refused(() => backtracking({decrease: 0.5}), /decrease.*not 0\.5/);
      refused(() => backtracking({longest: 0}), /longest.*not 0/);
      refused(() => newton({tolerance: {absolute: 0}}), /tolerance: absolute.*not 0/);
      refused(() => newton({tolerance: {relative: -1}}), /tolerance: relative.*not -1/);
      refused(() => newton({maxIterations: 0}), /maxIterations.*not 0/);
      refused(() => newton({iterations: 1.5}), /iterations.*whole number.*not 1\.5/);
      refused(
        () => newton({jacobian: 'stale' as 'fresh'}),
        /jacobian must be one of 'by-cost', 'fresh', 'chord', 'auto'/,
      );
      refused(
        () => newton({onFailure: 'ignore' as 'throw'}),
        /onFailure must be one of .throw., .halve., not .ignore./,
      );
      refused(
        () => newton({step: 0.5 as unknown as StepLength}),
        /step.*full\(\), subSteps\(fraction\) or backtracking\(\)/,
      );
      refused(() => newton({linear: 'lu' as never}), /linear must be a linear solver, called: auto\(\), lu\(\)/);
      refused(() => newton({tolerence: {absolute: 1}} as never), /no option 'tolerence'/);
      refused(() => newton({tolerance: {abs: 1}} as never), /tolerance has no option 'abs'; it has absolute, relative/);
    });

    it('have defaults', () => {
      expect(newton()).to.deep.include({
        tolerance: {absolute: 0, relative: 1e-12},
        maxIterations: 50,
        iterations: undefined,
        jacobian: 'by-cost',
        onFailure: 'throw',
      });
    });
  });
});
