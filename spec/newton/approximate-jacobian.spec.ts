/** Newton's iteration with a model of the Jacobian: the error it says it leaves, and how far it goes. */
import {expect} from 'chai';
import {energyLineSearch} from '../../lib/newton/approximate-jacobian.js';
import {backtracking} from '../../lib/newton/index.js';
import type {Equations} from './equations.js';
import {solve} from './equations.js';

/** A linear system with a diagonal model: its error contracts by 1 − j/a in each component. */
const linear = (diagonal: readonly number[]): Equations => ({
  n: diagonal.length,
  f: (z, out) => diagonal.forEach((d, i) => (out[i] = d * (z[i] - 1))),
  jacobian: (_, out) => diagonal.forEach((d, i) => (out[i * diagonal.length + i] = d)),
});

const modelOf = (diagonal: readonly number[], only: boolean) => ({
  matrix: (_: Float64Array, out: Float64Array): void => {
    out.fill(0);
    diagonal.forEach((d, i) => (out[i * diagonal.length + i] = d));
  },
  only,
});

describe('a model of the Jacobian', () => {
  const tolerance = {absolute: 1e-9, relative: 1e-9};

  it('leaves no more than the tolerance, however slowly it converges', () => {
    for (const rate of [0.01, 0.3, 0.5, 0.7, 0.9, 0.99]) {
      const {status, z, counters} = solve(
        linear([1]),
        [0],
        {tolerance, maxIterations: 3000},
        {model: modelOf([1 / (1 - rate)], true)},
      );
      expect(status).to.equal('converged');
      // The estimate of a geometric series is exact here: a hundredth of the tolerance of 2e-9, as for Newton.
      expect(Math.abs(z[0] - 1)).to.be.at.most(2e-11 * (1 + 1e-6));
      // And not far below: as many iterations as ln(2e-11)/ln(rate) asks for, and two.
      expect(counters.newtonIterations).to.be.at.most(Math.log(2e-11) / Math.log(rate) + 2);
    }
  });

  it('is not deceived by fast components beside a slow one', () => {
    const {status, z} = solve(
      linear([1, 1, 1]),
      [1000, 0, -30],
      {tolerance, maxIterations: 3000},
      {model: modelOf([1 / 0.8, 1 / 0.1, 1 / 0.5], true)},
    );
    expect(status).to.equal('converged');
    for (const value of z) expect(Math.abs(value - 1)).to.be.at.most(2e-11 * 1.1);
  });

  it('hands over to the Jacobian near the root', () => {
    const {status, z, counters} = solve(linear([1]), [0.5], {tolerance}, {model: modelOf([4], false)});
    expect(status).to.equal('converged');
    expect(z[0]).to.equal(1);
    // Errors fall by 3/4: after n corrections the next is (3/4)ⁿ/8, below a hundredth of |z| + 1 (the unit of the tolerances) after 7; one more is the Jacobian's.
    expect(counters.newtonIterations).to.equal(8);
  });

  it('goes back to the model where the Jacobian leads up', () => {
    // E = (z² − 1)²/4, flat between two wells; from z = 0.1 the Jacobian 3z² − 1 leads to the hill at 0.
    const wells: Equations = {
      n: 1,
      f: (z, out) => (out[0] = z[0] ** 3 - z[0]),
      jacobian: (z, out) => (out[0] = 3 * z[0] ** 2 - 1),
    };
    // So stiff a model that its corrections seem near a root at once.
    const stiff = {matrix: (_: Float64Array, out: Float64Array): void => void (out[0] = 40), only: false};
    const {status, z, counters} = solve(wells, [0.1], {step: backtracking(), maxIterations: 500}, {model: stiff});
    expect(status).to.equal('converged');
    expect(z[0]).to.be.closeTo(1, 1e-12);
    expect(counters.newtonIterations).to.be.below(200);
    expect(solve(wells, [0.1], {step: backtracking()}).z[0]).to.be.closeTo(0, 1e-12);
  });
});

describe('the search by work', () => {
  /** The slope of an energy along the line, as a share of its first. */
  const along = (slope: (s: number) => number): {length: number; tried: number[]} => {
    const tried: number[] = [];
    const length = energyLineSearch(s => {
      tried.push(s);
      return slope(s) / slope(0);
    }, 1e-12);
    return {length, tried};
  };

  it('takes the whole correction while no more than four fifths of the work is regained', () => {
    expect(along(s => 1 - s)).to.deep.equal({length: 1, tried: [1]});
    expect(along(s => 1 + s)).to.deep.equal({length: 1, tried: [1]});
    expect(along(s => 1 - 1.8 * s)).to.deep.equal({length: 1, tried: [1]});
  });

  it('finds the minimum of a parabola by one secant', () => {
    const {length, tried} = along(s => 1 - 4 * s);
    expect(length).to.equal(0.25);
    expect(tried).to.deep.equal([1, 0.25]);
  });

  it('shortens where there is no number, and gives up where nothing goes down', () => {
    expect(along(s => (s > 0.005 ? NaN : 1 - s)).length).to.be.closeTo(0.001, 1e-15);
    const {length, tried} = along(s => (s === 0 ? 1 : -5));
    expect(length).to.equal(0);
    expect(tried[tried.length - 1]).to.equal(0);
  });
});
