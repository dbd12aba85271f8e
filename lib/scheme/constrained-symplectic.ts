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
 * - Applied forces at Lobatto's points, s = 1: RATTLE (Andersen 1983). With more stages these are the pairs of Lobatto
 *   IIIA and IIIB (Jay 1996), also of order 2s, with as many unknowns as those of Gauss and Lobatto.
 *
 * (a, λ) of the state are those of the instant, by φ'' = 0. The step does not read them, but for its guess.
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

/** @param forces where applied forces act */
export function symplectic(stages: number, forces: 'gauss' | 'lobatto'): Formulation {
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
  const holding = held.map((_, j) => j);
  const velocityOf = (z: Blocks, i: number): tf.Tensor => z[stageName('v', i)];

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
  return {
    unknown: [...stageNames('v', all), 'v', 'a'],
    multipliers: [...stageNames('lambda', holding), 'lambda'],
    supports: {contacts: 'none'},
    carry: ({x, t, acceleration}) => ({a: acceleration(x.q, x.v, t)}),
    residual: (z, at) => {
      const {x, h, mass, regularization} = at;
      const constraints = constraintsOf(at);
      const energy = kineticForces(at);
      const forced: {readonly node: Node; readonly force: tf.Tensor}[] = [
        ...applied.map(node => ({node, force: energy.applied(place(z, at, node))})),
        ...held.map((node, j) => ({
          node,
          force: constraints.reaction(place(z, at, node), z[stageName('lambda', j)]),
        })),
        ...(energy.byPosition === undefined ? [] : kinetic).map(node => ({
          node,
          force: energy.byPosition!(place(z, at, node)),
        })),
      ];
      /** The momentum by the forces with weights that are zero beyond the nodes. */
      const gained = (share: (node: Node) => number): tf.Tensor =>
        tf.mul(
          h,
          tf.addN(
            forced.flatMap(({node, force}) => {
              const weight = node.weight * share(node);
              return Math.abs(weight) < negligible ? [] : [tf.mul(force, weight)];
            }),
          ),
        );
      const last = end(z, at);
      const balance = (here: PhasePoint, share: (node: Node) => number): tf.Tensor =>
        energy.byPosition === undefined
          ? tf.sub(mass(here.q, tf.sub(here.v, x.v)), gained(share))
          : tf.sub(tf.sub(mass(here.q, here.v), mass(x.q, x.v)), gained(share));
      const {stepCompliance} = rowScale(at, h, 1);
      // A unit of a multiplier moves a typical mass by `stepCompliance`, and changes its velocity by that over h.
      const soft = (lambda: tf.Tensor): tf.Tensor => tf.mul(tf.mul(regularization, tf.div(stepCompliance, h)), lambda);
      const rows = (j: number): tf.Tensor => {
        const lambda = z[stageName('lambda', j)];
        const row =
          j < stages
            ? tf.div(constraints.positions(place(z, at, held[j + 1]), lambda), h)
            : constraints.velocities(last, lambda, false);
        return tf.add(row, soft(lambda));
      };
      return {
        ...Object.fromEntries(
          all.map(i => [stageName('v', i), balance(place(z, at, kinetic[i]), ({position}) => 1 - position[i] / b[i])]),
        ),
        v: balance(last, () => 1),
        ...Object.fromEntries(holding.map(j => [stageName('lambda', j), rows(j)])),
        ...instantBalance(at, last, z.a, z.lambda),
      };
    },
    update: (z, at) => ({q: end(z, at).q, v: z.v, a: z.a, lambda: z.lambda}),
    guess: ({x, h}) => {
      const ahead = (time: number): tf.Tensor => tf.add(x.v, tf.mul(tf.mul(h, time), x.a));
      return {
        z: {
          ...Object.fromEntries(all.map(i => [stageName('v', i), ahead(c[i])])),
          ...Object.fromEntries(holding.map(j => [stageName('lambda', j), x.lambda])),
          v: ahead(1),
          a: x.a,
          lambda: x.lambda,
        },
      };
    },
  };
}

/** Weights that are zero but for rounding. */
const negligible = 1e-15;

/**
 * Where the mass depends on q, the force on momenta: with p = M(q)v, p' = f + (dM/dq v)v, as M v' = f. Of that
 * ½ ∂(vᵀMv)/∂q belongs to the kinetic energy, at whose nodes it acts (`byPosition`); the rest does not depend on v
 * where forces are those of a potential. A constant mass has neither.
 */
function kineticForces({x, mass, force}: StepPoint): {
  applied(at: PhasePoint): tf.Tensor;
  readonly byPosition?: (at: PhasePoint) => tf.Tensor;
} {
  const applied = ({q, v, t}: PhasePoint): tf.Tensor => force(q, v, t);
  if (!dependsOn(({q}) => mass(q, x.v), {q: x.q}, 'q')) return {applied};
  const byPosition = ({q, v}: PhasePoint): tf.Tensor =>
    tf.mul(
      transposedProduct(here => mass(here.q, v), {q}, 'q', v),
      0.5,
    );
  return {
    byPosition,
    applied: at => {
      const {q, v} = at;
      const turning = derivativeAlong(here => mass(here.q, v), {q}, {q: v});
      return tf.sub(tf.add(applied(at), turning), byPosition(at));
    },
  };
}
