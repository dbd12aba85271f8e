/**
 * Gradients of stiff problems of the IVP Test Set (Mazzia & Magherini, Bari/CWI) along adaptive steps, for the initial state
 * and a rate: the adjoint against forward sensitivities, which share its steps and nothing of its way, and against differences
 * of runs, which share neither.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {OdeSystem, SimulateOptions} from '../../../lib/index.js';
import {adaptive, kvaerno5, ode, radauIIA5, sdirk2, simulate} from '../../../lib/index.js';
import {carAxis, carAxisStart} from '../../scheme/car-axis.js';
import {hires, rober, robertson, robertsonRates, vanDerPol} from '../history/stiff-problems.js';

/** Air pollution: 20 species, 25 reactions (Verwer 1994). @param s multiplies the first rate */
function pollution(state: tf.Tensor, s: tf.Tensor): tf.Tensor {
  const y = [s, ...tf.unstack(state)];
  const of = (k: number, ...species: number[]): tf.Tensor =>
    species.reduce<tf.Tensor>((product, i) => tf.mul(product, y[i]), tf.scalar(k));
  const r = [
    s,
    tf.mul(s, of(0.35, 1)),
    of(26.6, 2, 4),
    of(12300, 5, 2),
    of(0.00086, 7),
    of(0.00082, 7),
    of(15000, 7, 6),
    of(0.00013, 9),
    of(24000, 9, 6),
    of(16500, 11, 2),
    of(9000, 11, 1),
    of(0.022, 13),
    of(12000, 10, 2),
    of(1.88, 14),
    of(16300, 1, 6),
    of(4.8e6, 3),
    of(3.5e-4, 4),
    of(0.0175, 4),
    of(1e8, 16),
    of(4.44e11, 16),
    of(1240, 17, 6),
    of(2.1, 19),
    of(5.78, 19),
    of(0.0474, 1, 4),
    of(1780, 19, 1),
    of(3.12, 20),
  ];
  const sum = (...terms: number[]): tf.Tensor => tf.addN(terms.map(i => (i < 0 ? tf.neg(r[-i]) : r[i])));
  return tf.stack([
    sum(-1, -10, -14, -23, -24, 2, 3, 9, 11, 12, 22, 25),
    sum(-2, -3, -9, -12, 1, 21),
    sum(-15, 1, 17, 19, 22),
    sum(-2, -16, -17, -23, 15),
    sum(-3, 4, 4, 6, 7, 13, 20),
    sum(-6, -8, -14, -20, 3, 18, 18),
    sum(-4, -5, -6, 13),
    sum(4, 5, 6, 7),
    sum(-7, -8),
    sum(-12, 7, 9),
    sum(-9, -10, 8, 11),
    sum(9),
    sum(-11, 10),
    sum(-13, 12),
    sum(14),
    sum(-18, -19, 16),
    sum(-20),
    sum(20),
    sum(-21, -22, -24, 23, 25),
    sum(-25, 24),
  ]);
}

const polluted = (): number[] =>
  Object.assign(new Array<number>(20).fill(0), {1: 0.2, 3: 0.04, 6: 0.1, 7: 0.3, 8: 0.01, 16: 0.007});

interface Problem {
  readonly name: string;
  readonly system: OdeSystem;
  readonly y: readonly number[];
  readonly t1: number;
  readonly first: number;
  readonly atol: (rtol: number) => number[];
  /** The component at the end that is differentiated, and by which of the initial state's. */
  readonly of: number;
  readonly by: number;
  /** The differences' step, as a share of what is changed. */
  readonly share: number;
}

const scaled = (system: OdeSystem): OdeSystem =>
  ode(({y, t, params}) => tf.mul(params.s as tf.Tensor, system.derivative({y, t, params})));

const problems: readonly Problem[] = [
  // Time runs s times as fast.
  {...hires, system: scaled(hires.system), of: 5, by: 7, share: 0.0006},
  // To where it has hardly begun to slow down; its first rate is s times as large.
  {
    ...rober,
    t1: 4e4,
    system: ode(({y, params}) =>
      robertson(
        y,
        tf.mul(tf.tensor1d([...robertsonRates]), tf.concat([tf.reshape(params.s as tf.Tensor, [1]), tf.ones([2])])),
      ),
    ),
    of: 0,
    by: 0,
    share: 0.01,
  },
  // The state at the end of two thirds of a period of relaxation, on its slow branch.
  {...vanDerPol, t1: 500, system: scaled(vanDerPol.system), of: 0, by: 0, share: 0.003},
  {
    name: 'pollution',
    system: ode(({y, params}) => pollution(y, params.s as tf.Tensor)),
    y: polluted(),
    t1: 3,
    first: 1e-6,
    atol: rtol => new Array<number>(20).fill(1e-6 * rtol),
    of: 3,
    by: 3,
    share: 0.01,
  },
];

const schemes = [kvaerno5(), radauIIA5()];

/** The stages of a large model are compiled in longer than plain loops need for so short a run. */
const engineOf = (size: number): 'auto' | 'interpreter' => (size > 8 ? 'interpreter' : 'auto');

describe('gradients of stiff odes along adaptive steps', () => {
  for (const problem of problems) {
    const {name, system, y, t1, first, atol, of, by, share} = problem;
    const optionsAt = (scheme: SimulateOptions['scheme'], rtol: number, s = 1): SimulateOptions => ({
      scheme,
      engine: engineOf(y.length),
      dt: first,
      t1,
      saveAt: 'end',
      control: adaptive({rtol, atol: atol(rtol)}),
      params: {s},
    });
    for (const scheme of schemes) {
      it(`${name}, ${scheme.name}: the adjoint is that of forward sensitivities, and of differences`, () => {
        const rtol = 1e-9;
        const {trajectory, pullback} = simulate.vjp(system, {y: [...y]}, optionsAt(scheme, rtol));
        trajectory.dispose();
        const cotangent = new Float64Array(2 * y.length);
        cotangent[y.length + of] = 1;
        const {initial, params} = pullback({y: cotangent});
        const adjoint = [(initial.y as Float64Array)[by], (params.s as Float64Array)[0]];
        const e = y.map((_, i) => (i === by ? 1 : 0));
        const tangents = [{initial: {y: e}}, {params: {s: 1}}].map(
          direction =>
            (simulate.jvp(system, {y: [...y]}, optionsAt(scheme, rtol), direction).tangent.y as Float64Array)[
              y.length + of
            ],
        );
        adjoint.forEach((value, i) => expect(Math.abs(value / tangents[i] - 1), `jvp ${i}`).to.be.below(1e-7));
        // Central differences of fourth order, of runs a hundred times as exact as the derivative's.
        const prepared = simulate.prepare(system, {y: [...y]}, optionsAt(scheme, 1e-11));
        const end = (shift: number, s: number): number => {
          const path = prepared.run({initial: {y: y.map((value, i) => value + e[i] * shift)}, params: {s}});
          const values = path.values('y');
          path.dispose();
          return values[y.length + of];
        };
        const difference = (at: (h: number) => number, h: number): number =>
          (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
        const h = share * Math.abs(y[by]);
        const differences = [difference(d => end(d, 1), h), difference(d => end(0, 1 + d), share)];
        adjoint.forEach((value, i) =>
          expect(Math.abs(value / differences[i] - 1), `differences ${i}`).to.be.below(1e-7),
        );
      });
    }
  }

  it('pollution ends where its reference says', () => {
    const {system, y, first, atol} = problems[3];
    const path = simulate(
      system,
      {y: [...y]},
      {
        scheme: radauIIA5(),
        dt: first,
        t1: 60,
        saveAt: 'end',
        control: adaptive({rtol: 1e-8, atol: atol(1e-8)}),
        params: {s: 1},
      },
    );
    const end = path.values('y').slice(20);
    path.dispose();
    [0.5646255480022769e-1, 0.1342484130422339, 0.4139734331099427e-8, 0.5523140207484359e-2].forEach((value, i) =>
      expect(end[i] / value).to.be.closeTo(1, 1e-7),
    );
  });
});

describe("Robertson's reaction to t = 4e10 with an integral beside it", () => {
  // The row of an integral leaves nothing but 1 on the diagonal of a matrix whose other entries are h times as large.
  const system = ode(({y, params}) => {
    const species = tf.slice(y, [0], [3]);
    return tf.concat([
      robertson(species, tf.mul(params.k as tf.Tensor, tf.tensor1d([...robertsonRates]))),
      tf.slice(species, [0], [1]),
    ]);
  });
  for (const scheme of [kvaerno5(), sdirk2()]) {
    it(`${scheme.name}: the adjoint goes through where the run does, and is that of forward sensitivities`, () => {
      const rtol = scheme.order < 3 ? 1e-4 : 1e-6;
      const options: SimulateOptions = {
        scheme,
        dt: 1e-5,
        t1: 4e10,
        saveAt: 'end',
        control: adaptive({rtol, atol: [...rober.atol(rtol), rtol]}),
        params: {k: [1, 1, 1]},
      };
      const start = {y: [...rober.y, 0]};
      for (const of of [0, 3]) {
        const {trajectory, pullback} = simulate.vjp(system, start, options);
        trajectory.dispose();
        const {params} = pullback({y: Float64Array.from({length: 8}, (_, i) => (i === 4 + of ? 1 : 0))});
        [0, 1, 2].forEach(j => {
          const k = [0, 1, 2].map(i => (i === j ? 1 : 0));
          const forward = (simulate.jvp(system, start, options, {params: {k}}).tangent.y as Float64Array)[4 + of];
          expect(Math.abs((params.k as Float64Array)[j] / forward - 1), `component ${of}, rate ${j}`).to.be.below(1e-7);
        });
      }
    });
  }
});

describe('gradients of the car axis along adaptive steps', () => {
  for (const scheme of schemes) {
    it(`${scheme.name}: the adjoint is that of forward sensitivities`, () => {
      const options: SimulateOptions = {
        scheme,
        engine: engineOf(10),
        dt: 1e-3,
        t1: scheme.name === 'kvaerno5' ? 0.02 : 0.1,
        saveAt: 'end',
        control: adaptive({rtol: 1e-6}),
        stabilization: scheme.name === 'kvaerno5' ? 'none' : 'ggl',
      };
      const {trajectory, pullback} = simulate.vjp(carAxis, carAxisStart, options);
      trajectory.dispose();
      const cotangent = Float64Array.from({length: 8}, (_, i) => (i < 4 ? 0 : Math.cos(i)));
      const {initial} = pullback({q: cotangent, v: cotangent});
      // Along both constraints: the left point slides along the level road, and the right one with it.
      const direction = {initial: {q: [1, 0, 1, 0], v: [0.5, 0, 0.5, 0]}};
      const {tangent} = simulate.jvp(carAxis, carAxisStart, options, direction);
      const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
        Array.from(a).reduce((sum, value, i) => sum + value * b[i], 0);
      const forward = dot(tangent.q as Float64Array, cotangent) + dot(tangent.v as Float64Array, cotangent);
      const back =
        dot(initial.q as Float64Array, direction.initial.q) + dot(initial.v as Float64Array, direction.initial.v);
      expect(Math.abs(back / forward - 1)).to.be.below(1e-7);
    });
  }
});
