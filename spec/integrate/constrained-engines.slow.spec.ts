/**
 * Constrained problems on the interpreter and compiled: states, multipliers and gradients. The programs
 * of both engines give the same bits; compiled factorizations may order their sums otherwise, by a few ulp.
 */
import {expect} from 'chai';
import type {Initial, MechanicalSystem, Scheme, SimulateOptions} from '../../lib/index.js';
import {
  bdf2,
  equilibrium,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  newmark,
  radauIIA5,
  sdirk2,
  simulate,
  trapezoid,
} from '../../lib/index.js';
import {fourBars, rodChain, sliderCrank} from '../../models/linkages.js';
import {carAxis, carAxisStart} from '../scheme/car-axis.js';
import {largest} from '../simulate/numbers.js';

interface Problem {
  readonly title: string;
  readonly system: MechanicalSystem;
  readonly initial: Initial;
  readonly dt: number;
}

const bars = fourBars({windows: 2});
const problems: readonly Problem[] = [
  {title: 'the car axis', system: carAxis, initial: carAxisStart, dt: 0.002},
  {title: 'two windows of the N-four-bar, redundant', system: bars, initial: bars.initial, dt: 0.01},
  {
    title: 'a free slider-crank',
    system: sliderCrank({crank: 0.5, rod: 1, mass: [1, 2], g: 9.81}),
    initial: {
      q: [
        [0.5, 0],
        [1.5, 0],
      ],
      v: [
        [0, 1],
        [0, 0],
      ],
    },
    dt: 0.01,
  },
];
const schemes: readonly Scheme[] = [
  implicitEuler(),
  implicitMidpoint(),
  trapezoid(),
  newmark(),
  generalizedAlpha(),
  hht(),
  bdf2(),
  radauIIA5(),
  gaussLegendre(),
  sdirk2(),
  kvaerno3(),
];

/** Saved values and the gradient of Σ sin(i) times the last of them, on one engine. */
function all({system, initial, dt}: Problem, scheme: Scheme, engine: SimulateOptions['engine']): Float64Array[] {
  const {trajectory, pullback} = simulate.vjp(system, initial, {scheme, dt, steps: 12, engine});
  trajectory.dispose();
  expect(trajectory.stats.engine).to.equal(engine);
  const values = (['q', 'v', 'lambda'] as const).map(name => trajectory.values(name));
  const [q, v] = values.map(series => series.map((_, i) => (i < series.length - series.length / 13 ? 0 : Math.sin(i))));
  const {q: qCotangent, v: vCotangent} = pullback({q, v}).initial;
  return [...values, qCotangent as Float64Array, vCotangent as Float64Array];
}

describe('constrained problems on both engines', () => {
  for (const problem of problems) {
    for (const scheme of schemes) {
      it(`${problem.title}, ${scheme.name}`, () => {
        const [found, compiled] = (['interpreter', 'wasm'] as const).map(engine => all(problem, scheme, engine));
        found.forEach((values, k) => {
          // Rounding of positions comes back in λ over h²; redundant rows share it among them by the regularization.
          const tolerance = k === 2 ? 1e-6 : 1e-9;
          const scale = Math.max(1, largest(values));
          values.forEach((value, i) => expect(compiled[k][i]).to.be.closeTo(value, tolerance * scale));
        });
      });
    }
  }

  it('a hanging chain at rest', () => {
    const system = rodChain({links: 10, length: 0.2, to: [1, 0]});
    const q = Array.from({length: 9}, (_, i) => [(i + 1) / 10, -3 * ((i + 1) / 10) * (1 - (i + 1) / 10)]);
    const [found, compiled] = (['interpreter', 'wasm'] as const).map(engine => {
      const rest = equilibrium(system, {q}, {engine});
      rest.dispose();
      return rest.values('q');
    });
    found.forEach((value, i) => expect(compiled[i]).to.be.closeTo(value, 1e-14));
  });
});
