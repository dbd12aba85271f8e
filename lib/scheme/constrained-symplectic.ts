/**
 * Symplectic methods for mechanical systems whose positions are constrained, M(q) v' = f + Gᵀλ with φ(q, t) = 0. The
 * velocity is a polynomial of degree s − 1, given by its values Vᵢ at Gauss's points cᵢ with weights bᵢ. Positions are
 * its integrals, Q(d) = q + hΣ Vᵢ αᵢ(d), and forces act on the momentum M(q) v at nodes d with weights w:
 *
 *     M(Qᵢ)Vᵢ = M(q)v + hΣ w (1 − αᵢ(d)/bᵢ) F(d),   M(q⁺)v⁺ = M(q)v + hΣ w F(d).
 *
 * These are the equations of a discrete action principle, whatever the nodes, so that the step is symplectic (Marsden &
 * West 2001; Hairer, Lubich & Wanner, Geometric Numerical Integration, §VI.6, §VII.1). Constraint forces act at the
 * s + 1 points of Lobatto: φ = 0 there, and φ' = 0 at the end, which makes as many equations as multipliers.
 *
 * - Applied forces at Gauss's points: the pairs of Gauss and Lobatto (Jay, SIAM J. Sci. Comput. 20, 1998, and 2007),
 *   Gauss–Legendre where there are no constraints. Order 2s.
 * - Applied forces at Lobatto's points: the pairs of Lobatto IIIA and IIIB with s + 1 stages (Jay 1996), of order 2s,
 *   with as many unknowns as those of Gauss and Lobatto; RATTLE for s = 1 (Andersen 1983).
 *
 * Without constraints there are no multipliers, and the equations are otherwise the same.
 */
import * as tf from '@tensorflow/tfjs';
import type {PhasePoint} from '../system/constraints.js';
import type {Blocks} from '../system/equations.js';
import {dependsOn, derivativeAlong, transposedProduct} from '../trace/differentials.js';
import {gaussRule, integralWeights, lagrange, lobattoRule, type Rule} from './collocation.js';
import {constraintsOf, instantBalance, rowScale} from './constrained.js';
import {stageName, stageNames} from './implicit-runge-kutta.js';
import type {Formulation, StepPoint, SystemTraits} from './scheme.js';
import {sum} from './tableau.js';

/** Where forces act: a node d, its weight, and the values of the polynomial there and of its integral to there. */
interface Node {
  readonly d: number;
  readonly weight: number;
  readonly velocity: readonly number[];
  readonly position: readonly number[];
}

/** Whether the methods of this file take a system. */
export const isHolonomic = ({holonomic, general, readsMultipliers}: SystemTraits): boolean =>
  holonomic && !general && !readsMultipliers;

/**
 * @param forces where applied forces act
 * @param multipliers what λ of the state is: the mean over the step, or with a that of the instant at its end, which
 *   costs an acceleration and multipliers more in the unknown
 */
export function symplectic(stages: number, forces: 'gauss' | 'lobatto', multipliers: 'mean' | 'instant'): Formulation {
  const step = variational(stages, forces);
  return multipliers === 'mean' ? withMeans(step) : withInstant(step);
}

/** The pair of Lobatto IIIA and IIIB for systems without constraints. */
export function lobattoPair(stages: number): Formulation {
  const {unknown, residual, end, guess} = variational(stages - 1, 'lobatto');
  return {
    unknown,
    residual,
    update: (z, at) => ({q: end(z, at).q, v: z.v}),
    guess: at => ({z: guess(at, at.acceleration(at.x.q, at.x.v, at.t))}),
  };
}

/** The equations of a step, with what becomes of the multipliers left open. */
interface Variational {
  readonly unknown: readonly string[];
  readonly multipliers: readonly string[];
  residual(z: Blocks, at: StepPoint): Blocks;
  end(z: Blocks, at: StepPoint): PhasePoint;
  /** The multipliers' mean over the step. */
  mean(z: Blocks): tf.Tensor;
  /** @param acceleration about that of the step */
  guess(at: StepPoint, acceleration: tf.Tensor): Blocks;
}

/** The mean acceleration of the last step is carried for the guess. */
const withMeans = ({unknown, multipliers, residual, end, mean, guess}: Variational): Formulation => ({
  unknown,
  multipliers,
  supports: {contacts: 'none'},
  derivatives: {trend: 2},
  carry: ({x, t, acceleration}) => ({trend: acceleration(x.q, x.v, t)}),
  residual,
  update: (z, at) => ({
    q: end(z, at).q,
    v: z.v,
    trend: tf.div(tf.sub(z.v, at.x.v), at.h),
    lambda: mean(z),
  }),
  guess: at => ({z: guess(at, at.x.trend)}),
});

const withInstant = ({unknown, multipliers, residual, end, guess}: Variational): Formulation => ({
  unknown: [...unknown, 'a'],
  multipliers: [...multipliers, 'lambda'],
  supports: {contacts: 'none'},
  carry: ({x, t, acceleration}) => ({a: acceleration(x.q, x.v, t)}),
  residual: (z, at) => ({...residual(z, at), ...instantBalance(at, end(z, at), z.a, z.lambda)}),
  update: (z, at) => ({q: end(z, at).q, v: z.v, a: z.a, lambda: z.lambda}),
  guess: at => ({z: {...guess(at, at.x.a), a: at.x.a, lambda: at.x.lambda}}),
});

function variational(stages: number, forces: 'gauss' | 'lobatto'): Variational {
  const gauss = gaussRule(stages);
  const {nodes: c, weights: b} = gauss;
  const all = c.map((_, i) => i);
  const nodesOf = ({nodes, weights}: Rule): Node[] =>
    nodes.map((d, j) => ({
      d,
      weight: weights[j],
      velocity: all.map(i => lagrange(c, i, d)),
      position: all.map(i => integralWeights(c, i, d)),
    }));
  const kinetic = nodesOf(gauss);
  const held = nodesOf(lobattoRule(stages + 1));
  const applied = forces === 'gauss' ? kinetic : held;
  const velocityOf = (z: Blocks, i: number): tf.Tensor => z[stageName('v', i)];
  const multiplierOf = (z: Blocks, j: number): tf.Tensor => z[stageName('lambda', j)];

  const place = (z: Blocks, {x, t, h}: StepPoint, {d, velocity, position}: Node): PhasePoint => ({
    q: sum(x.q, h, position, i => velocityOf(z, i)),
    v: sum(tf.zerosLike(x.v), 1, velocity, i => velocityOf(z, i)),
    t: tf.add(t, tf.mul(h, d)),
  });
  const end = (z: Blocks, {x, t, h}: StepPoint): PhasePoint => ({
    q: sum(x.q, h, b, i => velocityOf(z, i)),
    v: z.v,
    t: tf.add(t, h),
  });

  /** M v at a place less that of the start and what forces gave it, each with its weight times a share. */
  const momenta = (z: Blocks, at: StepPoint): ((here: PhasePoint, share: (node: Node) => number) => tf.Tensor) => {
    const {x, h, mass} = at;
    const {external, byPosition} = forcesOnMomenta(at);
    const {constraints} = at;
    const acting = applied.map((node): [Node, tf.Tensor] => [node, external(place(z, at, node))]);
    if (constraints !== undefined)
      held.forEach((node, j) => acting.push([node, constraints.reaction(place(z, at, node), multiplierOf(z, j))]));
    if (byPosition !== undefined) for (const node of kinetic) acting.push([node, byPosition(place(z, at, node))]);
    return (here, share) => {
      const terms = acting.flatMap(([node, force]) => {
        const weight = node.weight * share(node);
        return Math.abs(weight) < negligible ? [] : [tf.mul(force, weight)];
      });
      const gain =
        byPosition === undefined ? mass(here.q, tf.sub(here.v, x.v)) : tf.sub(mass(here.q, here.v), mass(x.q, x.v));
      return tf.sub(gain, tf.mul(h, tf.addN(terms)));
    };
  };

  /** φ at the nodes after the first, over h as a velocity; the last row has φ' at the end. */
  const rows = (z: Blocks, at: StepPoint): tf.Tensor[] => {
    const constraints = constraintsOf(at);
    const {h, regularization} = at;
    // A unit of a multiplier moves a typical mass by `stepCompliance`, and changes its velocity by that over h.
    const soft = tf.div(tf.mul(regularization, rowScale(at, h, 1).stepCompliance), h);
    return held.map((_, j) => {
      const lambda = multiplierOf(z, j);
      const row =
        j < stages
          ? tf.div(constraints.positions(place(z, at, held[j + 1]), lambda), h)
          : constraints.velocities(end(z, at), lambda, false);
      return tf.add(row, tf.mul(soft, lambda));
    });
  };

  const holding = held.map((_, j) => j);
  return {
    unknown: [...stageNames('v', all), 'v'],
    multipliers: stageNames('lambda', holding),
    end,
    mean: z => tf.addN(held.map(({weight}, j) => tf.mul(multiplierOf(z, j), weight))),
    residual: (z, at) => {
      const momentum = momenta(z, at);
      const blocks: Record<string, tf.Tensor> = {v: momentum(end(z, at), () => 1)};
      for (const i of all)
        blocks[stageName('v', i)] = momentum(place(z, at, kinetic[i]), ({position}) => 1 - position[i] / b[i]);
      if (at.constraints !== undefined) rows(z, at).forEach((row, j) => (blocks[stageName('lambda', j)] = row));
      return blocks;
    },
    guess: ({x, h, constraints}, acceleration) => {
      const ahead = (time: number): tf.Tensor => tf.add(x.v, tf.mul(tf.mul(h, time), acceleration));
      const blocks: Record<string, tf.Tensor> = {v: ahead(1)};
      for (const i of all) blocks[stageName('v', i)] = ahead(c[i]);
      if (constraints !== undefined) for (const j of holding) blocks[stageName('lambda', j)] = x.lambda;
      return blocks;
    },
  };
}

/** Weights that are zero but for rounding. */
const negligible = 1e-15;

/**
 * Forces on momenta p = M(q)v. Where the mass depends on q, p' = f + (dM/dq v)v, as M v' = f. Of that ½ ∂(vᵀMv)/∂q
 * belongs to the kinetic energy, at whose nodes it acts (`byPosition`); the rest does not depend on v where forces are
 * those of a potential. A constant mass has neither.
 */
function forcesOnMomenta({x, mass, force}: StepPoint): {
  external(at: PhasePoint): tf.Tensor;
  readonly byPosition?: (at: PhasePoint) => tf.Tensor;
} {
  if (!dependsOn(({q}) => mass(q, x.v), {q: x.q}, 'q')) return {external: ({q, v, t}) => force(q, v, t)};
  const byPosition = ({q, v}: PhasePoint): tf.Tensor =>
    tf.mul(
      transposedProduct(here => mass(here.q, v), {q}, 'q', v),
      0.5,
    );
  return {
    byPosition,
    external: at => {
      const {q, v, t} = at;
      const turning = derivativeAlong(here => mass(here.q, v), {q}, {q: v});
      return tf.sub(tf.add(force(q, v, t), turning), byPosition(at));
    },
  };
}
