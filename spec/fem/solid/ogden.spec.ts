/** Ogden's material: known special cases, and two derivatives where stretches are equal or nearly so. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {box, loads, materials, solid, supports} from '../../../fem/index.js';
import {stretchPowers} from '../../../fem/solid/stretch-powers.js';
import {equilibrium, traced} from '../../../lib/index.js';
import {compilePrograms} from '../../../lib/internal.js';

const {constantTensor, derivativeAlong} = traced;

/** Σ μ/α (λ₁^α + λ₂^α + λ₃^α) of Treloar's rubber as a function of C, [3, 3]: Ogden's constants, in MPa. */
const rubber = [{mu: 0.63, alpha: 1.3}, {mu: 0.0012, alpha: 5}, {mu: -0.01, alpha: -2}]; // prettier-ignore

describe('ogden', () => {
  it('sums powers of stretches, with derivatives by invariants and exponent', () => {
    const along = (at: {readonly [name: string]: tf.Tensor}, direction: {[name: string]: tf.Tensor}): tf.Tensor =>
      derivativeAlong(({I1, I2, alpha}) => stretchPowers(I1, I2, alpha), at, direction);
    const one = (): tf.Tensor => tf.onesLike(constantTensor(1, []));
    const run = compilePrograms(
      {
        all: ({I1, I2, alpha}: {readonly [name: string]: tf.Tensor}) => ({
          S: stretchPowers(I1, I2, alpha),
          S1: along({I1, I2, alpha}, {I1: one()}),
          S2: along({I1, I2, alpha}, {I2: one()}),
          Sa: along({I1, I2, alpha}, {alpha: one()}),
          S12: derivativeAlong(at => along({I1: at.I1, I2, alpha}, {I2: one()}), {I1}, {I1: one()}),
          Saa: derivativeAlong(at => along({I1, I2, alpha: at.alpha}, {alpha: one()}), {alpha}, {alpha: one()}),
        }),
      },
      {I1: [], I2: [], alpha: []},
    );
    const at = (I1: number, I2: number, alpha: number): {[name: string]: number} => {
      for (const [name, value] of Object.entries({I1, I2, alpha})) run.buffer(name as 'I1')[0] = value;
      run.run('all');
      return Object.fromEntries(['S', 'S1', 'S2', 'Sa', 'S12', 'Saa'].map(name => [name, run.buffer(name as 'S')[0]]));
    };
    // Tr C and tr C⁻¹ are the invariants themselves, and (tr C)² − 2 I₂ is tr C².
    for (const [I1, I2] of [
      [3, 3],
      [3.5, 3.4],
      [40, 13],
      [4.1, 4.5],
    ]) {
      expect(at(I1, I2, 2).S).to.be.closeTo(I1, 1e-12 * I1);
      expect(at(I1, I2, -2).S).to.be.closeTo(I2, 1e-12 * I2);
      const square = at(I1, I2, 4);
      expect(square.S).to.be.closeTo(I1 ** 2 - 2 * I2, 1e-12 * I1 ** 2);
      expect([square.S1, square.S2, square.S12].map((x, i) => x - [2 * I1, -2, 0][i]).map(Math.abs)).to.satisfy(
        (errors: number[]) => errors.every(error => error < 1e-11 * I1),
      );
    }
    // Distinct, nearly equal, and two equal stretches, with an exponent that is no polynomial.
    for (const logs of [
      [0.7, -0.2],
      [1e-5, -2e-5],
      [0.4, 0.4],
      [1.6, -0.9],
    ]) {
      const squares = [logs[0], logs[1], -logs[0] - logs[1]].map(x => Math.exp(2 * x));
      const I1 = squares.reduce((sum, x) => sum + x);
      const I2 = squares.reduce((sum, x) => sum + 1 / x, 0);
      const sum = (f: (x: number) => number): number => squares.reduce((total, x) => total + f(x), 0);
      const found = at(I1, I2, 1.3);
      expect(found.S).to.be.closeTo(
        sum(x => x ** 0.65),
        1e-13 * I1,
      );
      expect(found.Sa).to.be.closeTo(
        sum(x => 0.5 * Math.log(x) * x ** 0.65),
        1e-12 * I1,
      );
      expect(found.Saa).to.be.closeTo(
        sum(x => 0.25 * Math.log(x) ** 2 * x ** 0.65),
        1e-12 * I1,
      );
      for (const [own, i] of [
        ['S1', 0],
        ['S2', 1],
      ] as const) {
        const h = 1e-4;
        const moved = [1, -1].map(s => at(I1 + (i === 0 ? s * h : 0), I2 + (i === 1 ? s * h : 0), 1.3));
        expect(found[own]).to.be.closeTo((moved[0].S - moved[1].S) / (2 * h), 2e-8);
        if (i === 0) expect(found.S12).to.be.closeTo((moved[0].S2 - moved[1].S2) / (2 * h), 2e-8);
      }
    }
  });

  it('is a Mooney–Rivlin material with α = 2 and −2, in a body', () => {
    const spec = {
      mesh: box([1, 1, 1], [1, 1, 1]),
      density: 1,
      supports: [supports.held('left')],
      loads: [loads.traction('right', [0.5, 0.3, 0])],
    };
    const terms = [{mu: 0.8, alpha: 2}, {mu: -0.3, alpha: -2}]; // prettier-ignore
    const [ogden, mooney] = [
      materials.ogden({terms, kappa: 5}),
      materials.mooneyRivlin({c10: 0.4, c01: 0.15, kappa: 5}),
    ].map(material => {
      const body = solid({...spec, material});
      const rest = equilibrium(body, {q: body.start.q});
      return {q: rest.values('q'), iterations: rest.stats.newtonIterations};
    });
    ogden.q.forEach((x, i) => expect(x).to.be.closeTo(mooney.q[i], 1e-12));
    expect(ogden.iterations).to.equal(mooney.iterations);
  });

  it("stretches as Treloar's rubber, with the stress of the closed form", () => {
    const body = solid({
      mesh: box([1, 1, 1], [1, 1, 1]),
      material: materials.ogden({
        terms: rubber.map(({alpha}, i) => ({mu: ({mu}) => tf.gather(mu as tf.Tensor, [i]), alpha})),
        kappa: 1000,
      }),
      density: 1,
      supports: [
        supports.held('left', ['x']),
        supports.held('front', ['y']),
        supports.held('bottom', ['z']),
        supports.prescribed('right', ({X, t}) => tf.mul(tf.onesLike(X), t), ['x']),
      ],
    });
    const params = {mu: rubber.map(({mu}) => mu)};
    let q = body.start.q;
    for (const t of [0.5, 1, 2, 3, 4]) q = equilibrium(body, {q, t}, {params}).values('q');
    const pull = body.evaluate(at => tf.sum(tf.mul(tf.relu(tf.slice(body.reaction(at), [0, 0], [-1, 1])), 1)), {
      q,
      t: 4,
      params,
    })[0];
    // Uniaxial tension without a change of volume: Σ μ (λ^(α−1) − λ^(−α/2−1)).
    const exact = rubber.reduce((sum, {mu, alpha}) => sum + mu * (5 ** (alpha - 1) - 5 ** (-alpha / 2 - 1)), 0);
    expect(pull / exact).to.be.closeTo(1, 5e-3);
  });

  it('has derivatives by its constants', () => {
    const body = solid({
      mesh: box([1, 1, 1], [1, 1, 1]),
      material: materials.ogden({
        terms: [{mu: ({mu}) => mu as tf.Tensor, alpha: ({alpha}) => alpha as tf.Tensor}],
        kappa: 4,
      }),
      supports: [supports.held('left')],
      loads: [loads.traction('right', [0.3, 0.1, 0])],
    });
    const base = {mu: 0.6, alpha: 3.1};
    const q = equilibrium(body, {q: body.start.q}, {params: base}).values('q');
    const weights = q.map((_, i) => Math.cos(i));
    const {pullback} = equilibrium.vjp(body, {q}, {params: base});
    const gradient = pullback({q: weights}).params;
    const at = (params: typeof base): number =>
      equilibrium(body, {q}, {params})
        .values('q')
        .reduce((sum, x, i) => sum + weights[i] * x, 0);
    for (const name of ['mu', 'alpha'] as const) {
      const moved = [1, -1].map(s => at({...base, [name]: base[name] + s * 1e-4}));
      expect((gradient[name] as Float64Array)[0], name).to.be.closeTo((moved[0] - moved[1]) / 2e-4, 1e-6);
    }
  });
});
