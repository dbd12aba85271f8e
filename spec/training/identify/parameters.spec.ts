/**
 * Parameters and their coordinates: round trips, derivatives against differences, and a certified
 * regression whose estimates and standard deviations must not depend on the coordinates.
 */
import {expect} from 'chai';
import fc from 'fast-check';
import {OptionError} from '../../../lib/errors.js';
import {levenbergMarquardt} from '../../../training/identify/least-squares.js';
import {ParameterSpace, bounded, fixed, free, positive, type Parameter} from '../../../training/identify/parameters.js';
import {uncertainty} from '../../../training/identify/uncertainty.js';
import {referenceProblems} from './nist-regression.js';
import {runs} from '../../property.js';

describe('parameters', () => {
  const number = fc.double({min: -1e3, max: 1e3, noNaN: true});
  const anyParameter: fc.Arbitrary<Parameter> = fc.oneof(
    number.map(free),
    fc.double({min: 1e-6, max: 1e6, noNaN: true}).map(positive),
    fc
      .tuple(number, fc.double({min: 1e-3, max: 1e3, noNaN: true}), fc.double({min: 0.01, max: 0.99, noNaN: true}))
      .map(([low, width, place]) => bounded(low, low + width, low + place * width)),
  );

  it('a value goes to its coordinate and comes back', () => {
    fc.assert(
      fc.property(anyParameter, parameter => {
        const space = new ParameterSpace({p: parameter});
        const [value] = space.values(space.start).p;
        expect(value).to.be.closeTo(
          parameter.guess[0],
          4e-14
            * Math.max(
              1,
              Math.abs(parameter.guess[0]),
              parameter.kind === 'bounded' ? parameter.high - parameter.low : 0,
            ),
        );
      }),
      runs(),
    );
  });

  it('dθ/dx is the derivative of θ(x)', () => {
    fc.assert(
      fc.property(anyParameter, fc.double({min: -8, max: 8, noNaN: true}), (parameter, at) => {
        const space = new ParameterSpace({p: parameter});
        const theta = (x: number): number => space.natural(Float64Array.of(x))[0];
        const h = 1e-4; // a fourth-order difference: truncation h⁴/30 = 3e-18, roundoff ε|θ|/h
        const slope = (8 * (theta(at + h) - theta(at - h)) - (theta(at + 2 * h) - theta(at - 2 * h))) / (12 * h);
        const [derivative] = space.derivative(Float64Array.of(at));
        const size = Math.max(
          Math.abs(theta(at)),
          parameter.kind === 'bounded' ? Math.max(Math.abs(parameter.low), Math.abs(parameter.high)) : 0,
          1,
        );
        expect(Math.abs(derivative - slope)).to.be.below(1e-11 * size + 1e-10 * Math.abs(derivative));
      }),
      runs(),
    );
  });

  it('no coordinate leaves the domain, however far', () => {
    const space = new ParameterSpace({m: positive(1), s: bounded(-2, 3, 0)});
    for (const x of [-700, -40, 0, 40, 700]) {
      const [m, s] = space.natural(Float64Array.of(x, x));
      expect(m).to.be.above(0);
      expect(s).to.be.within(-2, 3);
    }
  });

  it('arrays keep their order, fixed ones their place among the values but none among the coordinates', () => {
    const space = new ParameterSpace({
      k: positive([1, 2, 3]),
      mass: fixed([10, 20]),
      c: free([
        [1, 2],
        [3, 4],
      ]),
      x0: bounded(0, 1, Float64Array.of(0.25)),
      g: free({shape: [1, 2], dataSync: () => Float32Array.of(5, 6)}),
    });
    expect(space.labels).to.deep.equal([
      'k[0]',
      'k[1]',
      'k[2]',
      'c[0,0]',
      'c[0,1]',
      'c[1,0]',
      'c[1,1]',
      'x0[0]',
      'g[0,0]',
      'g[0,1]',
    ]);
    expect(space.size).to.equal(10);
    const values = space.values(space.start);
    expect(values.k[2]).to.be.closeTo(3, 1e-15);
    expect([...values.mass]).to.deep.equal([10, 20]);
    expect([...values.c]).to.deep.equal([1, 2, 3, 4]);
    expect([...values.g]).to.deep.equal([5, 6]);
    expect([...space.coordinates(values)]).to.deep.equal([...space.start]);
    values.mass[0] = 0; // a copy: the next call has the fixed value again
    expect(space.values(space.start).mass[0]).to.equal(10);
  });

  it('scalars are labelled by their name alone', () => {
    expect(new ParameterSpace({M: positive(80), offset: free(0)}).labels).to.deep.equal(['M', 'offset']);
  });

  describe('a certified regression in other coordinates', () => {
    const {model, x, y, certified, deviation} = referenceProblems.find(({name}) => name === 'Misra1a')!;
    const spaces: readonly [string, ParameterSpace][] = [
      ['positive', new ParameterSpace({b1: positive(500), b2: positive(1e-4)})],
      ['bounded', new ParameterSpace({b1: bounded(100, 1000, 500), b2: bounded(1e-5, 1e-2, 1e-4)})],
    ];
    for (const [name, space] of spaces) {
      it(`${name}: the same estimates and standard deviations`, () => {
        const fit = levenbergMarquardt({tolerance: {cost: 1e-18}}).minimize(
          {
            linearize(at) {
              const b = [...space.natural(at)];
              const rows = x.map(xi => model(b, xi));
              return {
                residuals: Float64Array.from(rows, ([f], i) => f - y[i]),
                jacobian: space.toCoordinates(Float64Array.from(rows.flatMap(([, ...slope]) => slope)), at),
              };
            },
          },
          space.start,
        );
        const estimate = space.natural(fit.x);
        const errors = space.naturalErrors(uncertainty(fit).standardError, fit.x);
        certified.forEach((value, i) => expect(estimate[i] / value).to.be.closeTo(1, 1e-8));
        deviation.forEach((value, i) => expect(errors[i] / value).to.be.closeTo(1, 1e-8));
        const uncertain = uncertainty(fit);
        const {low, high} = space.intervals(uncertain, fit.x);
        // The deviations are about 1 %: intervals differ from θ ± 1.96σ by the curvature, 1 % of their width.
        certified.forEach((value, i) => {
          expect((value - low[i]) / deviation[i]).to.be.closeTo(uncertain.quantile[i], 0.05);
          expect((high[i] - value) / deviation[i]).to.be.closeTo(uncertain.quantile[i], 0.05);
        });
      });
    }
  });

  it('an infinite standard error gives the whole domain as interval', () => {
    const space = new ParameterSpace({m: positive(1), s: bounded(-2, 3, 0), f: free(0)});
    const standardError = Float64Array.of(Infinity, Infinity, Infinity);
    const {low, high} = space.intervals({standardError, quantile: Float64Array.of(1.96, 1.96, 1.96)}, space.start);
    expect([...low]).to.deep.equal([0, -2, -Infinity]);
    expect([...high]).to.deep.equal([Infinity, 3, Infinity]);
  });

  it('warns of an estimate against its bound', () => {
    const space = new ParameterSpace({ratio: bounded(0, 10, 5), other: free(1)});
    expect(space.boundWarnings(space.start)).to.deep.equal([]);
    expect(space.boundWarnings(Float64Array.of(-9, 0))[0]).to.match(/^ratio is at its lower bound 0/);
    expect(space.boundWarnings(Float64Array.of(9, 0))[0]).to.match(/upper bound 10/);
  });

  describe('a bad guess is refused by name', () => {
    const refusals: readonly [string, () => Parameter, RegExp][] = [
      ['not positive', () => positive(0), /Parameter p: the guess 0 is not greater than zero/],
      ['an entry of an array', () => positive([1, -2]), /Parameter p\[1\]: the guess -2/],
      ['text', () => positive('3' as never), /guess must be a number, an array or a tensor, not '3'/],
      [
        'bounds as an object',
        () => bounded({low: 0} as never, 1, undefined as never),
        /guess must be .*, not undefined: .*bounded\(low, high, guess\)/,
      ],
      ['on a bound', () => bounded(0, 1, 1), /the guess 1 is not strictly between its bounds 0 and 1/],
      ['outside', () => bounded(0, 1, -3), /strictly between/],
      ['bounds the wrong way', () => bounded(1, 0, 0.5), /two finite bounds, the lower one first/],
      ['an infinite bound', () => bounded(0, Infinity, 1), /Use positive or free/],
      ['not a number', () => free(NaN), /NaN is not a finite number/],
      ['a fixed value that is none', () => fixed(Infinity), /its value Infinity is not a finite number/],
      ['a ragged array', () => free([[1, 2], [3]]), /not a regular array: its entry 1 has shape \[1\]/],
    ];
    for (const [name, make, sentence] of refusals) {
      it(name, () => {
        expect(() => new ParameterSpace({p: make()})).to.throw(OptionError, sentence);
      });
    }
  });
});
