/**
 * Derivatives of runs of random systems, schemes and parameters: Taylor's remainder, finite differences,
 * the dot-product identity of pullback and tangent, and the implicit against the unrolled adjoint.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import fc from 'fast-check';
import type {Newton, SimulateOptions} from '../../../lib/index.js';
import type {RunSettings} from '../../../lib/simulate/options.js';
import {
  backtracking,
  gmres,
  implicitMidpoint,
  lu,
  mechanics,
  newton,
  simulate,
  subSteps,
  trapezoid,
  unrolledAdjoint,
} from '../../../lib/index.js';
import {doubleEngines} from '../../simulate/engines.js';
import {difference, dot, moved, norm, order, relative, slope} from '../../simulate/numbers.js';
import type {Recipe, Sample} from '../../simulate/random.js';
import {
  cotangentOf,
  directionOf,
  evaluate,
  gradientOf,
  lossOf,
  pointOf,
  recipe,
  sampleOf,
  tangentOf,
  weightsOf,
} from '../../simulate/random.js';
import {runs} from '../../property.js';

/** Differences of 2⁻¹⁰: truncation 2⁻⁴⁰ of the fifth derivative (a cubic spring, four times in rk4, has large ones), rounding 2⁻⁵²/2⁻¹⁰. */
const apart = 2 ** -10;

/** Where Taylor's remainder is looked at: its own rounding is the state's over the square of this. */
const away = 2 ** -8;

function prepared(chosen: Recipe): {sample: Sample; point: Float64Array; direction: Float64Array} {
  const sample = sampleOf(chosen);
  return {sample, point: pointOf(sample), direction: directionOf(sample, chosen.seed + 1)};
}

describe('derivatives of random runs', () => {
  it('the gradient is that of differences, with a Taylor remainder of second order', () => {
    fc.assert(
      fc.property(recipe, chosen => {
        const {sample, point, direction} = prepared(chosen);
        const weights = weightsOf(evaluate(sample, point), chosen.seed + 2);
        const loss = (s: number): number => lossOf(evaluate(sample, moved(point, s, direction)), weights);
        const gradient = gradientOf(sample, point, series => cotangentOf(series, weights));
        const product = dot(gradient, direction);
        // Newton's error, 1e-14 of the state, over the difference's step; sums may cancel.
        const scale = gradient.reduce((sum, g, i) => sum + Math.abs(g * direction[i]), 0);
        expect(Math.abs(slope(loss, apart) - product)).to.be.below(1e-8 * scale);

        const start = loss(0);
        const remainder = (s: number): number => Math.abs(loss(s) - start - s * product);
        const [coarse, fine] = [remainder(away), remainder(away / 2)];
        // Where second derivatives cancel along the direction, the remainder falls faster or is rounding.
        if (fine > 1e-10 * scale) expect(order(coarse, fine)).to.be.above(1.9);
      }),
      runs(30, 20240229),
    );
  });

  it('⟨w, J d⟩ = ⟨Jᵀ w, d⟩', () => {
    fc.assert(
      fc.property(recipe, chosen => {
        const {sample, point, direction} = prepared(chosen);
        const weights = weightsOf(evaluate(sample, point), chosen.seed + 2);
        const forward = Object.entries(tangentOf(sample, point, direction)).map(([name, tangent]) => ({
          tangent,
          w: weights[name],
        }));
        const backward = gradientOf(sample, point, () => weights);
        const left = forward.reduce((sum, {tangent, w}) => sum + dot(tangent, w), 0);
        const right = dot(backward, direction);
        const scale = forward.reduce((sum, {tangent, w}) => sum + norm(tangent) * norm(w), 0);
        expect(Math.abs(left - right)).to.be.below(1e-12 * scale);
      }),
      runs(30, 20240229),
    );
  });

  it('values and gradients of the tensor engine are those of the interpreter, to float32', () => {
    fc.assert(
      fc.property(recipe, chosen => {
        const {sample, point} = prepared(chosen);
        const exact = evaluate(sample, point, {engine: 'interpreter'});
        const weights = weightsOf(exact, chosen.seed + 2);
        const found = evaluate(sample, point, {engine: 'tensor'});
        // 6e-8 an operation; up to five steps of well-conditioned systems.
        for (const name of Object.keys(exact)) expect(relative(found[name], exact[name])).to.be.below(2e-6);
        expect(
          relative(
            gradientOf(sample, point, () => weights, {engine: 'tensor'}),
            gradientOf(sample, point, () => weights, {engine: 'interpreter'}),
          ),
        ).to.be.below(1e-5);
      }),
      runs(30, 20240229),
    );
  });

  it('the implicit and the unrolled adjoint agree where Newton converged', () => {
    fc.assert(
      fc.property(recipe, chosen => {
        const {sample, point} = prepared(chosen);
        const weights = weightsOf(evaluate(sample, point), chosen.seed + 2);
        const implicit = gradientOf(sample, point, () => weights);
        const unrolled = gradientOf(sample, point, () => weights, {newton: newton(), adjoint: unrolledAdjoint()});
        expect(norm(difference(implicit, unrolled))).to.be.below(1e-10 * norm(implicit));
      }),
      runs(30, 20240229),
    );
  });

  /** Of the unrolled adjoint of steps of so many iterations: its distance from differences, in its own scale. */
  function truncatedError(chosen: Recipe, iterations: number): number {
    const {sample, point, direction} = prepared(chosen);
    const truncated = {newton: newton({iterations}), adjoint: unrolledAdjoint()};
    const weights = weightsOf(evaluate(sample, point), chosen.seed + 2);
    const loss = (s: number): number => lossOf(evaluate(sample, moved(point, s, direction), truncated), weights);
    const gradient = gradientOf(sample, point, series => cotangentOf(series, weights), truncated);
    const scale = gradient.reduce((sum, g, i) => sum + Math.abs(g * direction[i]), 0);
    return Math.abs(slope(loss, apart) - dot(gradient, direction)) / scale;
  }

  it('truncated after 1, 2 or 3 iterations, the unrolled adjoint is that of differences', () => {
    fc.assert(
      fc.property(recipe, fc.constantFrom(1, 2, 3), (chosen, iterations) => {
        expect(truncatedError(chosen, iterations)).to.be.below(1e-8);
      }),
      runs(30, 20240229),
    );
  });

  for (const guess of ['rest', 'current', 'consistent', 'linearized', 'extrapolated'] as const) {
    it(`... from the guess '${guess}', in every form and unknown`, () => {
      const base = {
        seed: 7,
        shape: [2],
        mass: 'of q, consistent',
        forces: ['spring', 'damper', 'drive', 'network'],
        guess,
        saveAt: 'all',
        steps: 2,
        engine: 'interpreter',
        solving: 'fresh',
      } as const;
      const cases = [
        {kind: 'mechanics', scheme: 'midpoint', form: 'condensed', unknown: 'velocity'},
        {kind: 'mechanics', scheme: 'midpoint', form: 'coupled', unknown: 'velocity'},
        {kind: 'mechanics', scheme: 'blended', form: 'condensed', unknown: 'velocity'},
        {kind: 'mechanics', scheme: 'blended', form: 'condensed', unknown: 'increment'},
        {kind: 'mechanics', scheme: 'blended', form: 'condensed', unknown: 'acceleration'},
        {kind: 'ode', scheme: 'theta', form: 'condensed', unknown: 'velocity'},
      ] as const;
      for (const one of cases) {
        const chosen = {...base, ...one, forces: [...base.forces]};
        expect(truncatedError(chosen, 1), JSON.stringify(one)).to.be.below(1e-8);
      }
    });
  }
});

describe('derivatives of a run', () => {
  it('whose steps were halved', () => {
    const hard = mechanics({mass: 1, forces: ({q, params}) => tf.neg(tf.sinh(tf.mul(q, params.k as tf.Tensor)))});
    const options = (k: number): SimulateOptions => ({
      scheme: trapezoid(),
      dt: 0.2,
      steps: 3,
      params: {k},
      newton: newton({onFailure: 'halve', maxIterations: 5}),
      saveAt: 'end',
      engine: 'interpreter',
    });
    const initial = {q: 1, v: 0};
    const end = (k: number): number => {
      const path = simulate(hard, initial, options(k));
      path.dispose();
      return path.values('q')[1];
    };
    const {trajectory, pullback} = simulate.vjp(hard, initial, options(6));
    const {trajectory: same, tangent} = simulate.jvp(hard, initial, options(6), {params: {k: 1}});
    trajectory.dispose();
    same.dispose();
    expect(trajectory.stats.rejectedSteps).to.be.above(0);
    const gradient = (pullback({q: [0, 1]}).params.k as Float64Array)[0];
    // So near that the same steps are halved; fourth-order differences of 1e-4.
    const difference = slope(s => end(6 + s), 1e-4);
    expect(gradient / difference).to.be.closeTo(1, 1e-7);
    expect(tangent.q[1] / gradient).to.be.closeTo(1, 1e-12);
  });

  it('a hundred steps long, with every kind of Jacobian and solver, is one gradient', () => {
    const n = 12;
    const chain = mechanics({
      mass: 1,
      forces: ({q, v, params}) => {
        const d = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, [0], [n - 1])]));
        const pull = tf.mul(params.k as tf.Tensor, tf.add(d, tf.mul(d, tf.square(d))));
        return tf.addN([
          tf.sub(tf.concat([tf.slice(pull, [1], [n - 1]), tf.zeros([1])]), pull),
          tf.mul(v, -0.1),
          tf.onesLike(q),
        ]);
      },
    });
    const gradientBy = (more: Partial<RunSettings>): Float64Array => {
      const {trajectory, pullback} = simulate.vjp(
        chain,
        {q: new Float64Array(n), v: new Float64Array(n)},
        {
          dt: 0.02,
          steps: 100,
          params: {k: new Float64Array(n).fill(100)},
          saveAt: 'end',
          ...more,
        },
      );
      trajectory.dispose();
      return pullback({q: trajectory.values('q').map(x => 2 * x)}).params.k as Float64Array;
    };
    const plain = gradientBy({});
    const ways: readonly Newton[] = [
      newton({jacobian: 'chord'}),
      newton({jacobian: 'auto'}),
      newton({linear: lu()}),
      newton({linear: gmres()}),
      newton({linear: gmres(), jacobian: 'auto'}),
      newton({step: backtracking()}),
      newton({step: subSteps(0.9)}),
    ];
    // Newton's 1e-14 a step, over a hundred steps and their growth.
    for (const how of ways) expect(relative(gradientBy({newton: how}), plain), JSON.stringify(how)).to.be.below(1e-10);
    for (const {name} of doubleEngines) expect(relative(gradientBy({engine: name}), plain), name).to.be.below(1e-10);
    for (const guess of ['rest', 'current', 'consistent', 'linearized', 'extrapolated'] as const) {
      for (const form of ['condensed', 'coupled'] as const) {
        expect(relative(gradientBy({scheme: implicitMidpoint({guess, form})}), plain), `${guess}, ${form}`).to.be.below(
          1e-10,
        );
      }
    }
    expect(relative(gradientBy({adjoint: unrolledAdjoint()}), plain), 'unrolled').to.be.below(1e-10);
  });
});
