/**
 * The functions whose polynomials are our own, where their errors are largest of 40,000 points a range (bench/oracles/functions.py,
 * mpmath with 160 bits): the exact value is the sum of two doubles.
 */
import {expect} from 'chai';
import {softplus} from '../../lib/graph/primitives/special.js';
import {exp, log1pOfUnit, tanh} from '../../lib/graph/primitives/transcendental.js';

type Point = readonly [x: number, high: number, low: number];

/** The distance between neighbouring doubles next to x. */
const unitInTheLastPlace = (x: number): number => 2 ** (Math.floor(Math.log2(Math.abs(x))) - 52);

function expectWithin(units: number, fn: (x: number) => number, points: readonly Point[]): void {
  for (const [x, high, low] of points) {
    // The difference of neighbouring doubles is exact.
    const error = Math.abs(fn(x) - high - low) / unitInTheLastPlace(high);
    expect(error, `${fn.name}(${x})`).to.be.at.most(units);
  }
}

describe('graph: transcendental functions', () => {
  it('exp is within 0.97 units in the last place where it is worst', () => {
    expectWithin(0.97, exp, [
      [0.3628608588634168, 1.4374358388696156, 1.392728131173978e-17],
      [16.998545433538304, 24119843.31011584, 1.5596972418959034e-10],
      [-366.3122467530289, 8.177349908173463e-160, 6.3163981351865515e-177],
      [1, Math.E, 1.4456468917292502e-16],
    ]);
  });

  it('tanh is within 2.35', () => {
    expectWithin(2.35, tanh, [
      [-0.2182344349163141, -0.2148346244361398, 9.669315054703786e-18],
      [-0.21827743626048957, -0.21487564072095344, 7.762930075235106e-18],
      [0.21893230539278408, 0.21550018556390074, -6.8590243299257795e-18],
      [1, 0.7615941559557649, 3.7090214482164924e-17],
    ]);
    expect([0, 1e-300, -5e-324, 22, -Infinity].map(tanh)).to.deep.equal([0, 1e-300, -5e-324, 1, -1]);
    expect(Object.is(tanh(-0), -0)).to.equal(true);
  });

  it('the logarithm in softplus is within 1.1', () => {
    expectWithin(1.1, log1pOfUnit, [
      [0.9102222098269002, 0.6472195755150475, -1.0676987413512121e-17],
      [0.838024712331805, 0.6086914690726003, 1.969842755743998e-18],
      [1, Math.LN2, 2.3190468138462996e-17],
    ]);
    expect(log1pOfUnit(0)).to.equal(0);
    expect(log1pOfUnit(1e-300)).to.equal(1e-300);
  });

  it('softplus is within 1.8', () => {
    expectWithin(1.8, softplus, [
      [-0.4515480700397767, 0.49264647312546406, 1.2860249888872703e-17],
      [-4.409733957686633, 0.012085092757255354, -5.19666954755683e-19],
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
