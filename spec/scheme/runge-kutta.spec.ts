/** Implicit Runge–Kutta methods: stability functions, stiff accuracy, what Gauss's methods conserve, and their tableaux. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme} from '../../lib/index.js';
import {
  bdf2,
  bilateral,
  gaussLegendre,
  generalizedAlpha,
  hht,
  mechanics,
  newton,
  ode,
  OptionError,
  radauIIA5,
  simulate,
  unilateral,
} from '../../lib/index.js';
import {gaussTableau, radauTableau} from '../../lib/scheme/collocation.js';
import type {Tableau} from '../../lib/scheme/tableau.js';

/** One step of y' = y of length z: the stability function. */
function stability(scheme: Scheme, z: number): number {
  const path = simulate(
    ode(({y, params}) => tf.mul(y, params.z as tf.Tensor)),
    {y: 1},
    {scheme, dt: 1, steps: 1, params: {z}},
  );
  path.dispose();
  return path.values('y')[1];
}

const polynomial = (z: number, ...c: readonly number[]): number =>
  c.reduceRight((sum, coefficient) => sum * z + coefficient, 0);

/** Padé approximants of eᶻ. */
const stabilities: readonly (readonly [Scheme, (z: number) => number])[] = [
  [gaussLegendre({stages: 1}), z => (1 + z / 2) / (1 - z / 2)],
  [gaussLegendre(), z => polynomial(z, 1, 1 / 2, 1 / 12) / polynomial(-z, 1, 1 / 2, 1 / 12)],
  [
    gaussLegendre({stages: 3}),
    z => polynomial(z, 1, 1 / 2, 1 / 10, 1 / 120) / polynomial(-z, 1, 1 / 2, 1 / 10, 1 / 120),
  ],
  [radauIIA5(), z => polynomial(z, 1, 2 / 5, 1 / 20) / polynomial(-z, 1, 3 / 5, 3 / 20, 1 / 60)],
];

describe('implicit Runge–Kutta methods', () => {
  for (const [scheme, exact] of stabilities) {
    it(`${scheme.name} has its stability function`, () => {
      for (const z of [-0.1, -3, -100, 0.5])
        expect(stability(scheme, z)).to.be.closeTo(exact(z), 1e-12 * Math.max(1, Math.abs(exact(z))));
    });
  }

  it('radauIIA5 takes out at once what is infinitely stiff, Gauss turns it round', () => {
    expect(Math.abs(stability(radauIIA5(), -1e8))).to.be.below(1e-7);
    expect(stability(gaussLegendre({stages: 2}), -1e8)).to.be.closeTo(1, 1e-6);
    expect(stability(gaussLegendre({stages: 3}), -1e8)).to.be.closeTo(-1, 1e-6);
  });

  it('radauIIA5 has the published weights', () => {
    const r = Math.sqrt(6);
    const published = [
      [(88 - 7 * r) / 360, (296 - 169 * r) / 1800, (-2 + 3 * r) / 225],
      [(296 + 169 * r) / 1800, (88 + 7 * r) / 360, (-2 - 3 * r) / 225],
      [(16 - r) / 36, (16 + r) / 36, 1 / 9],
    ];
    published.forEach((row, i) =>
      row.forEach((weight, j) => expect(radauTableau.a[i][j]).to.be.closeTo(weight, 1e-15)),
    );
    expect(radauTableau.gains?.map(gain => Math.abs(gain))).to.deep.equal([0, 0, 1]);
  });

  it('every Gauss tableau is exact for powers up to 2s − 1, and symplectic: bᵢaᵢⱼ + bⱼaⱼᵢ = bᵢbⱼ', () => {
    for (let s = 1; s <= 8; s++) {
      const {a, b, c}: Tableau = gaussTableau(s);
      for (let k = 0; k < 2 * s; k++)
        expect(b.reduce((sum, weight, i) => sum + weight * c[i] ** k, 0)).to.be.closeTo(1 / (k + 1), 1e-14);
      for (let i = 0; i < s; i++)
        for (let j = 0; j < s; j++) expect(b[i] * a[i][j] + b[j] * a[j][i]).to.be.closeTo(b[i] * b[j], 1e-14);
    }
  });

  for (const stages of [1, 2, 3]) {
    it(`gaussLegendre with ${stages} stages conserves Kepler's angular momentum to rounding`, () => {
      const kepler = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.div(q, tf.pow(tf.sum(tf.square(q)), 1.5)))});
      const exact = newton({tolerance: {absolute: 1e-15, relative: 1e-15}});
      const path = simulate(
        kepler,
        {q: [0.4, 0], v: [0, 2]},
        {scheme: gaussLegendre({stages}), dt: 0.05, steps: 400, newton: exact},
      );
      path.dispose();
      const [q, v] = [path.values('q'), path.values('v')];
      for (let n = 0; n <= 400; n++)
        expect(q[2 * n] * v[2 * n + 1] - q[2 * n + 1] * v[2 * n]).to.be.closeTo(0.8, 1e-13);
    });
  }

  it('refuses what it cannot be or hold', () => {
    expect(() => gaussLegendre({stages: 0})).to.throw(OptionError, /from 1 to 8/);
    expect(() => gaussLegendre({stages: 2.5})).to.throw(OptionError, /from 1 to 8/);
    expect(() => generalizedAlpha({rhoInf: 1.1})).to.throw(OptionError, /\[0, 1\]/);
    expect(() => hht({alpha: 0.1})).to.throw(OptionError, /\[-0\.3333, 0\]/);
    const floor = mechanics({mass: 1, forces: ({q}) => tf.zerosLike(q), constraints: [unilateral(({q}) => q)]});
    expect(() => simulate(floor, {q: 1, v: 0}, {scheme: gaussLegendre(), dt: 0.1, steps: 1})).to.throw(
      OptionError,
      /does not support the contact constraints\[0\]/,
    );
    for (const scheme of [radauIIA5(), bdf2()]) {
      expect(() => simulate(floor, {q: 1, v: 0}, {scheme, dt: 0.1, steps: 1})).to.throw(
        OptionError,
        /compliance or smoothing/,
      );
    }
    const stop = mechanics({mass: 1, forces: ({q}) => tf.zerosLike(q), constraints: [bilateral(({q}) => q)]});
    expect(() =>
      simulate(stop, {q: 0, v: 0}, {scheme: gaussLegendre(), stabilization: 'ggl', dt: 0.1, steps: 1}),
    ).to.throw(OptionError, /has no stabilization 'ggl'/);
  });
});
