/**
 * Derivatives of runs of random systems, schemes and parameters: Taylor's remainder, finite differences,
 * the dot-product identity of pullback and tangent, and the implicit against the unrolled adjoint.
 */
import {expect} from 'chai';
import fc from 'fast-check';
import {newton, unrolledAdjoint} from '../../lib/index.js';
import {difference, dot, moved, norm, order, slope} from './numbers.js';
import type {Recipe, Sample} from './random.js';
import {cotangentOf, directionOf, evaluate, gradientOf, lossOf, pointOf, recipe, sampleOf, tangentOf, weightsOf} from './random.js';

/** The same samples at every run of the tests; any other seed will do as well. */
const runs = {numRuns: Number(process.env.RUNS ?? 30), seed: Number(process.env.SEED ?? 20240229), endOnFailure: false};

/** Differences of 2⁻⁸: truncation 2⁻³² of the fifth derivative, rounding 2⁻⁵²/2⁻⁸. */
const apart = 2 ** -8;

function prepared(chosen: Recipe): {sample: Sample; point: Float64Array; direction: Float64Array} {
  const sample = sampleOf(chosen);
  return {sample, point: pointOf(sample), direction: directionOf(sample, chosen.seed + 1)};
}

describe('derivatives of random runs', () => {
  it('the gradient is that of differences, with a Taylor remainder of second order', () => {
    fc.assert(fc.property(recipe, chosen => {
      const {sample, point, direction} = prepared(chosen);
      const weights = weightsOf(evaluate(sample, point), chosen.seed + 2);
      const loss = (s: number): number => lossOf(evaluate(sample, moved(point, s, direction)), weights);
      const gradient = gradientOf(sample, point, series => cotangentOf(series, weights));
      const product = dot(gradient, direction);
      // Newton's error, 1e-10 of the state at most, over the difference's step; sums may cancel.
      const scale = gradient.reduce((sum, g, i) => sum + Math.abs(g * direction[i]), 0);
      expect(Math.abs(slope(loss, apart) - product)).to.be.below(1e-7 * scale);

      const start = loss(0);
      const remainder = (s: number): number => Math.abs(loss(s) - start - s * product);
      const [coarse, fine] = [remainder(apart), remainder(apart / 2)];
      // Where second derivatives cancel along the direction, the remainder falls faster or is rounding.
      if (fine > 1e-10 * scale) expect(order(coarse, fine)).to.be.above(1.9);
    }), runs);
  });

  it('⟨w, J d⟩ = ⟨Jᵀ w, d⟩', () => {
    fc.assert(fc.property(recipe, chosen => {
      const {sample, point, direction} = prepared(chosen);
      const weights = weightsOf(evaluate(sample, point), chosen.seed + 2);
      const forward = Object.entries(tangentOf(sample, point, direction)).map(([name, tangent]) => ({tangent, w: weights[name]}));
      const backward = gradientOf(sample, point, () => weights);
      const left = forward.reduce((sum, {tangent, w}) => sum + dot(tangent, w), 0);
      const right = dot(backward, direction);
      const scale = forward.reduce((sum, {tangent, w}) => sum + norm(tangent) * norm(w), 0);
      expect(Math.abs(left - right)).to.be.below(1e-12 * scale);
    }), runs);
  });

  it('the implicit and the unrolled adjoint agree where Newton converged', () => {
    fc.assert(fc.property(recipe, chosen => {
      const {sample, point} = prepared(chosen);
      const weights = weightsOf(evaluate(sample, point), chosen.seed + 2);
      const implicit = gradientOf(sample, point, () => weights);
      const unrolled = gradientOf(sample, point, () => weights, {adjoint: unrolledAdjoint()});
      expect(norm(difference(implicit, unrolled))).to.be.below(1e-10 * norm(implicit));
    }), runs);
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
    fc.assert(fc.property(recipe, fc.constantFrom(1, 2, 3), (chosen, iterations) => {
      expect(truncatedError(chosen, iterations)).to.be.below(1e-7);
    }), runs);
  });

  for (const guess of ['rest', 'current', 'consistent', 'linearized', 'extrapolated'] as const) {
    it(`... from the guess '${guess}', in every form and unknown`, () => {
      const base = {seed: 7, shape: [2], mass: 'of q, consistent', forces: ['spring', 'damper', 'drive', 'network'], guess, saveAt: 'all', steps: 2} as const;
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
        expect(truncatedError(chosen, 1), JSON.stringify(one)).to.be.below(1e-7);
      }
    });
  }
});
