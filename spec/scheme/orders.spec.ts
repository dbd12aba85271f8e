/**
 * Orders of convergence, observed on nonlinear, damped, driven systems with every kind of mass. The
 * reference is the classical Runge–Kutta method with steps so small that its error is rounding.
 */
import {expect} from 'chai';
import type {Scheme} from '../../lib/index.js';
import * as face from '../../lib/scheme/index.js';
import * as noisy from '../../lib/scheme/stochastic.js';
import {
  bdf2,
  blendedEuler,
  defineScheme,
  explicitEuler,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  moreau,
  newmark,
  radauIIA5,
  rk4,
  sdirk2,
  simulate,
  symplecticEuler,
  theta,
  trapezoid,
  verlet,
} from '../../lib/index.js';
import {combine} from '../../lib/scheme/explicit.js';
import {formulationOf} from '../../lib/step/formulation.js';
import {difference, norm, order} from '../simulate/numbers.js';
import {bdf2 as ownBdf2} from './bdf2.js';
import type {Problem} from './problems.js';
import {firstOrder, mechanical} from './problems.js';
import {slow} from '../tiers.js';

const span = 1;

/** The state at the end of the span, after n steps. */
function end({system, initial}: Problem, scheme: Scheme, n: number): Float64Array {
  const path = simulate(system, initial, {scheme, dt: span / n, steps: n, saveAt: 'end', engine: 'interpreter'});
  path.dispose();
  const blocks = system.kind === 'ode' ? [path.values('y')] : [path.values('q'), path.values('v')];
  return Float64Array.from(blocks.flatMap(series => [...series.subarray(series.length / 2)]));
}

/** Heun's method, as a user would define it: explicit, with no unknown. */
const heun = (kind: 'mechanics' | 'ode'): Scheme =>
  defineScheme({
    name: 'Heun',
    order: 2,
    kind,
    unknown: [],
    update: (_, {x, t, h, rate}) => {
      const k1 = rate(x, t);
      const k2 = rate(combine(x, [h, k1]), t.add(h));
      return combine(x, [h.mul(0.5), combine(k1, [1, k2])]);
    },
  });

const stochastic = Object.values(noisy).map(scheme => scheme());

const schemes: readonly Scheme[] = [
  explicitEuler(),
  symplecticEuler(),
  moreau(),
  implicitEuler(),
  implicitEuler({form: 'coupled'}),
  implicitEuler({unknown: 'acceleration'}),
  theta(0.7),
  blendedEuler({alpha: 0.5, beta: 1}),
  blendedEuler({alpha: 1, beta: 0.5}),
  newmark({beta: 0.3025, gamma: 0.6}),
  theta(0.5),
  trapezoid(),
  trapezoid({form: 'coupled'}),
  implicitMidpoint(),
  implicitMidpoint({form: 'coupled'}),
  newmark(),
  newmark({beta: 1 / 6}),
  newmark({beta: 0}),
  ...[2, 3, 4].map(stages => verlet({stages})),
  rk4(),
  heun('mechanics'),
  heun('ode'),
  ownBdf2,
  ...[0, 0.5, 0.8, 1].map(rhoInf => generalizedAlpha({rhoInf})),
  hht({alpha: -1 / 3}),
  hht(),
  bdf2(),
  radauIIA5(),
  sdirk2(),
  kvaerno3(),
  kvaerno5(),
  ...[1, 2, 3].map(stages => gaussLegendre({stages})),
];

/**
 * Steps of the finer run: small enough that the next term of the error is below 0.05 of an order, large
 * enough for rounding and for what Newton's tolerance leaves of order 10⁻¹⁴ in every step.
 */
const finer: readonly number[] = [0, 1600, 400, 128, 192, 64, 24];
const steps = ({order: p, mechanics, ode}: Scheme): number => {
  const form = mechanics ?? ode;
  const isExplicit = typeof form === 'object' && form.unknown.length === 0;
  return p === 4 && !isExplicit ? 64 : finer[p];
};

describe('orders of convergence', () => {
  it('every exported scheme is measured, here, in explicit-orders or, for noise, in simulate/sde', () => {
    const measured = new Set(
      [...schemes, face.dopri5(), face.tsit5(), ...stochastic].map(({name}) => name.replace(/\(.*/, '')),
    );
    const makers = [...Object.keys(face).filter(name => name !== 'defineScheme'), ...Object.keys(noisy)];
    // A scheme may have two names.
    const functions: {readonly [name: string]: unknown} = {...face, ...noisy};
    const made = new Set([...measured].map(name => functions[name]));
    expect(makers.filter(name => !made.has(functions[name]))).to.deep.equal([]);
  });

  for (const problem of [...mechanical, ...firstOrder]) {
    describe(problem.title, () => {
      let reference: Float64Array;
      before(() => {
        reference = end(problem, rk4(), 8192);
      });
      for (const scheme of schemes) {
        if (scheme[problem.system.kind] === undefined) continue;
        // α alone counts where there are no kinematics to weigh: (½, 1) is the trapezoid for an ode.
        if (problem.system.kind === 'ode' && scheme.name === 'blendedEuler(0.5, 1)') continue;
        const unknown = formulationOf(scheme, problem.system).unknown.join(', ') || 'none';
        // 1600 steps and more.
        (scheme.order === 1 ? slow : it)(`${scheme.name} (unknown: ${unknown}) has order ${scheme.order}`, () => {
          const n = steps(scheme);
          const [coarse, fine] = [n / 2, n].map(count => norm(difference(end(problem, scheme, count), reference)));
          expect(order(coarse, fine)).to.be.closeTo(scheme.order, 0.05);
        });
      }
    });
  }
});
