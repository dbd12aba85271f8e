/**
 * Gradients of relaxation oscillators along adaptive steps are within 100 times the tolerance, or a warning says that
 * they are not. The truth is a forward sensitivity at a tolerance of 3e-11, which differences of two such runs confirm.
 */
import {expect} from 'chai';
import type {Scheme} from '../../lib/index.js';
import {adaptive, bdf2, kvaerno3, kvaerno5, radauIIA5, sdirk2, simulate, trapezoid, tsit5} from '../../lib/index.js';
import {oscillators, vanDerPol, type Oscillator} from './relaxation-oscillators.js';

const schemes: readonly (readonly [name: string, scheme: () => Scheme])[] = [
  ['kvaerno3', () => kvaerno3()],
  ['kvaerno5', () => kvaerno5()],
  ['radauIIA5', () => radauIIA5()],
  ['sdirk2', () => sdirk2()],
  ['bdf2', () => bdf2()],
  ['trapezoid', () => trapezoid()],
];
const digits = [3, 4, 5, 6, 7, 8];

const asked = ({p, t1}: Pick<Oscillator, 'p' | 't1'>, scheme: Scheme, tolerance: number) =>
  ({
    scheme,
    dt: 1e-4,
    t1,
    saveAt: 'end',
    params: {p},
    control: adaptive({rtol: tolerance, atol: tolerance, sensitivities: false}),
  }) as const;

function forward(one: Oscillator, tolerance: number, p = one.p): {readonly y: number; readonly slope: number} {
  const {system, start} = one;
  const options = asked({...one, p}, radauIIA5(), tolerance);
  const {trajectory, tangent} = simulate.jvp(system, start, options, {params: {p: 1}});
  const n = start.y.length;
  const found = {y: trajectory.values('y')[n], slope: tangent.y[n]};
  trajectory.dispose();
  return found;
}

function gradient(
  {system, start, p, t1}: Oscillator,
  scheme: Scheme,
  tolerance: number,
): {readonly slope: number; readonly warnings: readonly string[]} {
  const {trajectory, pullback} = simulate.vjp(system, start, asked({p, t1}, scheme, tolerance));
  const cotangent = new Array<number>(2 * start.y.length).fill(0);
  cotangent[start.y.length] = 1;
  const {params} = pullback({y: cotangent});
  trajectory.dispose();
  return {slope: params.p[0], warnings: trajectory.warnings};
}

/** The second derivative of what `gradient` gives the first one of. */
function curvature(
  {system, start, p, t1}: Oscillator,
  scheme: Scheme,
  tolerance: number,
): {readonly curvature: number; readonly warnings: readonly string[]} {
  const cotangent = new Array<number>(2 * start.y.length).fill(0);
  cotangent[start.y.length] = 1;
  const loss = {cotangent: () => ({y: cotangent})};
  const {trajectory, product} = simulate.hvp(system, start, asked({p, t1}, scheme, tolerance), loss, {params: {p: 1}});
  trajectory.dispose();
  return {curvature: product.params.p[0], warnings: trajectory.warnings};
}

describe('gradients of relaxation oscillators', function () {
  this.timeout(600_000);
  for (const one of oscillators) {
    const truth = (): number => forward(one, 3e-11).slope;
    it(`${one.name}: the truth is what differences say`, () => {
      const step = 1e-4 * one.p;
      const [above, below] = [1, -1].map(sign => forward(one, 3e-12, one.p + sign * step).y);
      const [far, near] = [1, -1].map(sign => forward(one, 3e-12, one.p + 2 * sign * step).y);
      // Of order 4.
      const difference = (8 * (above - below) - (far - near)) / (12 * step);
      expect(truth() / difference).to.be.closeTo(1, 1e-4);
    });
    for (const [name, scheme] of schemes) {
      it(`${one.name}, ${name}: within 100 rtol, or a warning`, () => {
        const right = truth();
        for (const digit of digits) {
          const tolerance = 10 ** -digit;
          const {slope, warnings} = gradient(one, scheme(), tolerance);
          const error = Math.abs(slope / right - 1) / tolerance;
          expect(error < 100 || warnings.length === 1, `rtol 1e-${digit}: ${error} rtol, ${warnings.length}`).to.equal(
            true,
          );
          // No warning without need.
          if (error < 20) expect(warnings, `rtol 1e-${digit}: ${error} rtol`).to.deep.equal([]);
        }
      });
      it(`${one.name}, ${name}: products with the Hessian within 100 rtol, or a warning`, () => {
        const right = curvature(one, radauIIA5(), 1e-12).curvature;
        for (const digit of digits) {
          const found = curvature(one, scheme(), 10 ** -digit);
          const error = Math.abs(found.curvature / right - 1) * 10 ** digit;
          expect(error < 100 || found.warnings.length > 0, `rtol 1e-${digit}: ${error} rtol`).to.equal(true);
        }
      });
    }
    it(`${one.name}: the second derivative is what differences of first ones say`, () => {
      const step = 1e-4 * one.p;
      const at = (steps: number): number => forward({...one, p: one.p + steps * step}, 3e-12).slope;
      const difference = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step);
      expect(curvature(one, radauIIA5(), 1e-12).curvature / difference).to.be.closeTo(1, 1e-5);
    });
  }

  for (const [name, scheme] of schemes)
    it(`${name}: van der Pol to t = 1000, whose gradient by kvaerno5 at rtol 1e-3 is −1.2e17`, () => {
      const long = {...oscillators[0], system: vanDerPol(1 + 1e-12), t1: 1000};
      for (const digit of digits) {
        const {slope, warnings} = gradient(long, scheme(), 10 ** -digit);
        const error = Math.abs(slope / 0.0765826405 - 1) * 10 ** digit;
        expect(error < 100 || warnings.length === 1, `rtol 1e-${digit}: ${error} rtol`).to.equal(true);
      }
    });

  it('an explicit scheme at the border of its stability', () => {
    const mild = {...oscillators[0], system: vanDerPol(1 + 2e-12), p: 5, t1: 30};
    const right = forward(mild, 3e-11).slope;
    for (const tolerance of [1e-3, 1e-4, 1e-6, 1e-8]) {
      const {slope, warnings} = gradient(mild, tsit5(), tolerance);
      const error = Math.abs(slope / right - 1) / tolerance;
      expect(error < 100 || warnings.length === 1, `rtol ${tolerance}: ${error} rtol`).to.equal(true);
    }
  });
});
