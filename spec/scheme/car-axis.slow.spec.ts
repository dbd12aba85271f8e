/** The car axis at t = 3 against its reference: accuracy of the Runge–Kutta methods, orders of the structural ones in q, v and λ. */
import {expect} from 'chai';
import type {Scheme, SimulateOptions} from '../../lib/index.js';
import {
  bdf2,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitEuler,
  kvaerno3,
  kvaerno5,
  newmark,
  radauIIA5,
  sdirk2,
  simulate,
  verlet,
} from '../../lib/index.js';
import {order, relative} from '../simulate/numbers.js';
import {carAxis, carAxisEnd, carAxisStart} from './car-axis.js';

const blocks = ['q', 'v', 'lambda'] as const;

/** Relative errors at t = 3 after n steps. */
function errors(scheme: Scheme, n: number, stabilization: SimulateOptions['stabilization'] = 'none'): number[] {
  const path = simulate(carAxis, carAxisStart, {scheme, stabilization, dt: 3 / n, steps: n, saveAt: 'end'});
  path.dispose();
  return blocks.map(block => {
    const values = path.values(block);
    return relative(values.slice(values.length / 2), carAxisEnd[block]);
  });
}

describe('the car axis', () => {
  // Steps where the next term of the error is below 0.1 of an order: the axis vibrates with a period of 0.14 at its stiffest.
  const cases: readonly (readonly [Scheme, SimulateOptions['stabilization'], number])[] = [
    [implicitEuler(), 'none', 153600],
    ...[0.8, 0.95].map(rhoInf => [generalizedAlpha({rhoInf}), 'none', 9600] as const),
    [generalizedAlpha({rhoInf: 1}), 'ggl', 9600],
    [generalizedAlpha({rhoInf: 0}), 'none', 19200],
    [hht(), 'none', 9600],
    [hht({alpha: -1 / 3}), 'none', 9600],
    [bdf2(), 'none', 9600],
    [newmark(), 'ggl', 9600],
    [sdirk2(), 'none', 9600],
    [kvaerno3(), 'none', 4800],
    [kvaerno5(), 'none', 4800],
    [gaussLegendre(), 'none', 1200],
    [verlet({stages: 3}), 'none', 1200],
    [verlet({stages: 4}), 'none', 600],
    [gaussLegendre({stages: 3}), 'none', 600],
  ];
  for (const [scheme, stabilization, n] of cases) {
    it(`${scheme.name}${stabilization === 'ggl' ? ', ggl' : ''} has order ${scheme.order} in q, v and λ`, () => {
      const [coarse, fine] = [n / 2, n].map(steps => errors(scheme, steps, stabilization));
      blocks.forEach((block, i) => expect(order(coarse[i], fine[i]), block).to.be.closeTo(scheme.order, 0.1));
    }).timeout(20000);
  }

  it('radauIIA5 has orders 5, 3 and 2 in q, v and λ as an index-3 system, 5, 5 and 3 stabilized', () => {
    for (const [stabilization, expected] of [
      ['none', [5, 3, 2]],
      ['ggl', [5, 5, 3]],
    ] as const) {
      const [coarse, fine] = [2400, 4800].map(n => errors(radauIIA5(), n, stabilization));
      blocks.forEach((block, i) =>
        expect(order(coarse[i], fine[i]), `${stabilization}, ${block}`).to.be.closeTo(expected[i], 0.1),
      );
    }
  }).timeout(20000);

  it('radauIIA5 meets the reference to 1e-9 in q and 1e-7 in λ', () => {
    // The multipliers of order 3 need 9600 steps; the positions' rounding over h² is then 1e-9 of λ.
    const [q, v, lambda] = errors(radauIIA5(), 9600, 'ggl');
    expect(q).to.be.below(1e-12);
    expect(v).to.be.below(1e-10);
    expect(lambda).to.be.below(1e-7);
  }).timeout(20000);

  it('radauIIA5 without stabilization meets 1e-9 in q in 2400 steps', () => {
    expect(errors(radauIIA5(), 2400)[0]).to.be.below(1e-9);
  }).timeout(20000);

  it('verlet has order 2 in q and v, and in λ at the middle of the step, whose mean it is', () => {
    const counts = [4800, 9600];
    const [coarse, fine] = counts.map(n => errors(verlet(), n));
    for (const i of [0, 1]) expect(order(coarse[i], fine[i]), blocks[i]).to.be.closeTo(2, 0.1);
    const lambda = (scheme: Scheme, n: number, t1: number): Float64Array => {
      const path = simulate(carAxis, carAxisStart, {scheme, dt: t1 / n, steps: n, saveAt: 'end'});
      path.dispose();
      const values = path.values('lambda');
      return values.subarray(values.length / 2);
    };
    const off = counts.map(n =>
      relative(lambda(verlet(), n, 3), lambda(gaussLegendre({stages: 3}), 2400, 3 - 1.5 / n)),
    );
    expect(order(off[0], off[1])).to.be.closeTo(2, 0.1);
  }).timeout(20000);

  it('gaussLegendre meets 1e-9 in q and 1e-7 in λ in 1200 steps', () => {
    const [q, , lambda] = errors(gaussLegendre({stages: 3}), 1200);
    expect(q).to.be.below(1e-9);
    expect(lambda).to.be.below(1e-7);
  });

  it("Newmark's multiplier is weakly unstable; those of ρ∞ = 0.8 and GGL are not", () => {
    for (const n of [4800, 9600]) expect(errors(newmark(), n)[2]).to.be.above(10);
    expect(errors(generalizedAlpha(), 9600)[2]).to.be.below(1e-3);
    expect(errors(newmark(), 9600, 'ggl')[2]).to.be.below(1e-3);
  });
});
