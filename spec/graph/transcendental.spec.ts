/**
 * The functions whose polynomials are our own, where their errors are largest of 40,000 points a range (bench/oracles/functions.py,
 * mpmath with 160 bits): the exact value is the sum of two doubles.
 */
import {expect} from 'chai';
import {softplus} from '../../lib/graph/primitives/special.js';
import {exp, log1pOfUnit} from '../../lib/graph/primitives/transcendental.js';

type Point = readonly [x: number, high: number, low: number];

/** The distance between neighbouring doubles next to x. */
const unitInTheLastPlace = (x: number): number => 2 ** (Math.floor(Math.log2(Math.abs(x))) - 52);

function expectWithin(units: number, fn: (x: number) => number, points: readonly Point[]): void {
  for (const [x, high, low] of points) {
    // The difference of neighbouring doubles is exact.
    const error = Math.abs((fn(x) - high) - low) / unitInTheLastPlace(high);
    expect(error, `${fn.name}(${x})`).to.be.at.most(units);
  }
}

describe('graph: transcendental functions', () => {
  it('exp is within 1.03 units in the last place where it is worst', () => {
    expectWithin(1.03, exp, [
      [-0.9996885646188516, 0.3679940296879532, -1.5866364797043326e-18], [3.846232929193391, 46.8163700517779, 1.4510603895090421e-16],
      [-354.506870129173, 1.0955255384366086e-154, -3.085745502292978e-172], [1, Math.E, 1.4456468917292502e-16],
    ]);
  });

  it('the logarithm in softplus is within 1.1', () => {
    expectWithin(1.1, log1pOfUnit, [
      [0.996200547488394, 0.6912456475356125, 1.0119405402794131e-17], [0.9755111320761861, 0.6808271659211035, -5.572156179976847e-18],
      [1, Math.LN2, 2.3190468138462996e-17],
    ]);
    expect(log1pOfUnit(0)).to.equal(0);
    expect(log1pOfUnit(1e-300)).to.equal(1e-300);
  });

  it('softplus is within 1.7', () => {
    expectWithin(1.7, softplus, [
      [-0.43833357001375584, 0.49780759012030573, -1.89078358812909e-17], [-9.323514494280644, 8.929552865596795e-05, 5.320134410938604e-21],
    ]);
  });

  it('exp is exact at 0, and has the ends of its range', () => {
    expect(exp(0)).to.equal(1);
    expect(exp(1e-20)).to.equal(1);
    expect([exp(710), exp(Infinity), exp(-746), exp(-Infinity)]).to.deep.equal([Infinity, Infinity, 0, 0]);
    // The largest and the smallest results that are numbers, to their last place: e^709.782712893384 and e^−745.1332191019411 (mpmath).
    expect(exp(709.782712893384)).to.be.closeTo(1.797693134862273e308, 2 ** 971);
    expect(exp(-745.1332191019411)).to.equal(5e-324);
  });
});
