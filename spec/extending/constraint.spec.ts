/**
 * Kinds of constraints from outside: a rope by another complementarity function than the one that ships, contact by the
 * minimum, a knife edge, and one that slips. Each is compared with another way to write the same thing.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  defineConstraint,
  equilibrium,
  generalizedAlpha,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  nonholonomic,
  OptionError,
  radauIIA5,
  rk4,
  ShapeError,
  simulate,
  theta,
  unilateral,
  type Constraint,
  type GapAndMultiplier,
  type MechanicalSystem,
  type Scheme,
  type SimulateOptions,
} from '../../lib/index.js';
import {slow} from '../tiers.js';

/**
 * a + b − √((a − b)² + 4ε²), zero where ab = ε² (Chen & Harker 1993; Kanzow 1996); a = gap and b = λ·s are lengths, s
 * the step's compliance.
 */
const chenHarkerKanzowSmale =
  (epsilon: number) =>
  ({gap, lambda, softness, stepCompliance}: GapAndMultiplier): tf.Tensor => {
    const a = tf.add(gap, tf.mul(softness, lambda));
    const b = tf.mul(lambda, stepCompliance);
    return tf.sub(tf.add(a, b), tf.sqrt(tf.add(tf.square(tf.sub(a, b)), tf.mul(stepCompliance, 4 * epsilon ** 2))));
  };
const rope = (epsilon: number): ((gap: Constraint['gap']) => Constraint) =>
  defineConstraint({
    name: 'rope',
    of: 'positions',
    holds: 'never',
    oneSided: true,
    condition: chenHarkerKanzowSmale(epsilon),
  });
const floor = defineConstraint({
  name: 'floor',
  of: 'positions',
  holds: 'contact',
  oneSided: true,
  kinked: true,
  condition: ({gap, lambda, softness, stepCompliance}) =>
    tf.minimum(tf.add(gap, tf.mul(softness, lambda)), tf.mul(lambda, stepCompliance)),
});
const knifeEdge = defineConstraint({
  name: 'knife edge',
  of: 'velocities',
  holds: 'always',
  condition: ({gap, lambda, softness}) => tf.add(gap, tf.mul(softness, lambda)),
});
/** ψ + cλ = 0: it gives way sideways, at a speed proportional to the force. */
const dullEdge = defineConstraint({
  name: 'dull edge',
  of: 'velocities',
  holds: 'never',
  condition: ({gap, lambda, compliance}) => tf.add(gap, tf.mul(compliance, lambda)),
  law: (gap, compliance) => tf.neg(tf.div(gap, compliance)),
});

const run = (
  system: MechanicalSystem,
  initial: {q: number[]; v: number[]},
  options: SimulateOptions,
): {q: Float64Array; lambda?: Float64Array; gradient: number[]; warnings: readonly string[]} => {
  const {trajectory, pullback} = simulate.vjp(system, initial, options);
  const q = trajectory.values('q');
  const {params, initial: start} = pullback({q: Float64Array.from(q, (_, i) => Math.cos(i))});
  trajectory.dispose();
  return {
    q,
    lambda: trajectory.lambda === undefined ? undefined : trajectory.values('lambda'),
    gradient: [...(params.g as Float64Array), ...(start.v as Float64Array)],
    warnings: trajectory.warnings,
  };
};

/**
 * Newton leaves 1e-14 of an unknown in every step; a factor of 1e4 is for what the motion makes of it, a hundred times
 * more in gradients.
 */
function same(mine: ReturnType<typeof run>, theirs: ReturnType<typeof run>): void {
  mine.q.forEach((x, i) => expect(x).to.be.closeTo(theirs.q[i], 1e-10));
  mine.gradient.forEach((x, i) =>
    expect(x).to.be.closeTo(theirs.gradient[i], 1e-8 * Math.max(1, Math.abs(theirs.gradient[i]))),
  );
}

describe('a kind of constraint from outside', () => {
  const weight = ({q, params}: {q: tf.Tensor; params: object}): tf.Tensor =>
    tf.add(tf.zerosLike(q), tf.mul((params as {g: tf.Tensor}).g, tf.tensor1d([0, -1])));

  describe('a rope', () => {
    const slack: Constraint['gap'] = ({q}) => tf.sub(1, tf.norm(q));
    const thrown = (constraint: Constraint): MechanicalSystem =>
      mechanics({mass: 0.3, forces: weight, constraints: [constraint]});
    for (const scheme of [implicitEuler(), implicitMidpoint(), generalizedAlpha({rhoInf: 0.6})]) {
      slow(`${scheme.name}: moves as a smoothed unilateral constraint of another function with the same zeros`, () => {
        const options: SimulateOptions = {scheme, dt: 0.01, steps: 60, params: {g: 9.81}};
        const start = {q: [0.5, 0.4], v: [1, 0.5]};
        const [mine, theirs] = [
          rope(0.02),
          (gap: Constraint['gap']) => unilateral(gap as never, {smoothing: 0.02}),
        ].map(kind => run(thrown(kind(slack)), start, options));
        // It goes taut on the way.
        expect(Math.max(...(mine.lambda as Float64Array))).to.be.greaterThan(1);
        mine.lambda?.forEach((x, i) =>
          expect(x).to.be.closeTo(theirs.lambda?.[i] ?? NaN, 1e-6 * Math.max(1, Math.abs(x))),
        );
        same(mine, theirs);
      });
    }

    it('hangs where its tension is the weight', () => {
      const found = equilibrium(thrown(rope(1e-3)(slack)), {q: [0.1, -0.9]}, {params: {g: 9.81}});
      const [gap, lambda] = [1 - Math.hypot(...found.values('q')), found.values('lambda')[0]];
      expect(lambda).to.be.closeTo(9.81, 1e-8);
      expect(gap * lambda).to.be.closeTo(1e-6, 1e-12);
    });
  });

  slow('a hard contact: lands, stops at once and rests, as unilateral() does', () => {
    const ball = (constraint: Constraint): MechanicalSystem =>
      mechanics({mass: 2, forces: weight, constraints: [constraint]});
    for (const scheme of [implicitEuler(), generalizedAlpha({rhoInf: 0.8})]) {
      const options: SimulateOptions = {scheme, dt: 0.01, steps: 80, params: {g: 9.81}};
      const [mine, theirs] = [floor, unilateral].map(kind =>
        run(ball((kind as typeof floor)(({q}) => tf.slice(q, [1], [1]))), {q: [0, 0.5], v: [1, 0]}, options),
      );
      expect(mine.q[2 * 80 + 1], scheme.name).to.be.closeTo(0, 1e-12);
      same(mine, theirs);
    }
  });

  describe('on velocities', () => {
    /** A sleigh (x, y, φ): its velocity across the blade. */
    const across: Constraint['gap'] = ({q, v}) => {
      const [, , phi] = tf.unstack(q);
      const [vx, vy] = tf.unstack(v);
      return tf.sub(tf.mul(vy, tf.cos(phi)), tf.mul(vx, tf.sin(phi)));
    };
    const downhill = ({params}: {params: object}): tf.Tensor =>
      tf.mul((params as {g: tf.Tensor}).g, tf.tensor1d([1, 0, 0]));
    const sleigh = (constraint: Constraint): MechanicalSystem =>
      mechanics({mass: [1, 1, 0.2], forces: downhill, constraints: [constraint]});
    const start = {q: [0, 0, 0], v: [0, 0, 1.5]};

    for (const scheme of [implicitMidpoint(), radauIIA5()]) {
      it(`a knife edge, ${scheme.name}: is nonholonomic(ψ) to the bit, and slides along a cycloid`, () => {
        const options: SimulateOptions = {scheme, dt: 0.01, steps: 100, params: {g: 0.8}};
        const [mine, theirs] = [knifeEdge, nonholonomic].map(kind => run(sleigh(kind(across)), start, options));
        expect(mine).to.deep.equal(theirs);
        // x = g sin²(ωt)/(2ω²), y = g(ωt − sin ωt cos ωt)/(2ω²) (Chaplygin's sleigh with its centre at the blade; Bloch
        // 2003, §1.6).
        const [g, w, t] = [0.8, 1.5, 1];
        const x = (g * Math.sin(w * t) ** 2) / (2 * w * w);
        const y = (g * (w * t - Math.sin(w * t) * Math.cos(w * t))) / (2 * w * w);
        // Second order at h = 0.01: about h²·g/8.
        expect(mine.q[300]).to.be.closeTo(x, 2e-5);
        expect(mine.q[301]).to.be.closeTo(y, 2e-5);
      });
    }

    const pushed = (c: number): MechanicalSystem =>
      mechanics({
        mass: [1, 1, 0.2],
        forces: [
          downhill,
          at => {
            const [, , phi] = tf.unstack(at.q);
            const push = tf.neg(tf.div(tf.reshape(across(at), []), c));
            return tf.stack([tf.neg(tf.mul(push, tf.sin(phi))), tf.mul(push, tf.cos(phi)), tf.zerosLike(push)]);
          },
        ],
      });
    const order = (scheme: Scheme): void => {
      const at = (system: MechanicalSystem, by: Scheme, steps: number): Float64Array => {
        const path = simulate(system, start, {scheme: by, dt: 1 / steps, steps, saveAt: 'end', params: {g: 0.8}});
        path.dispose();
        return path.values('q').slice(3);
      };
      const exact = at(pushed(0.1), rk4(), 2000);
      const [coarse, fine] = [50, 100].map(steps =>
        Math.hypot(...at(sleigh(dullEdge(across, {compliance: 0.1})), scheme, steps).map((x, i) => x - exact[i])),
      );
      expect(Math.log2(coarse / fine), scheme.name).to.be.closeTo(scheme.order, 0.2);
    };

    slow('one that slips is the force −ψ/c across the blade', () => {
      for (const scheme of [implicitEuler(), theta(0.7)]) {
        const options: SimulateOptions = {scheme, dt: 0.02, steps: 50, params: {g: 0.8}};
        same(run(sleigh(dullEdge(across, {compliance: 0.1})), start, options), run(pushed(0.1), start, options));
      }
      for (const scheme of [implicitEuler(), implicitMidpoint(), generalizedAlpha({rhoInf: 0.8})]) order(scheme);
    });

    it('one that slips may start with any velocity, one that holds may not', () => {
      const options: SimulateOptions = {scheme: implicitMidpoint(), dt: 0.02, steps: 5, params: {g: 0.8}};
      const sideways = {q: [0, 0, 0], v: [0, 1, 1]};
      const path = simulate(sleigh(dullEdge(across, {compliance: 0.1})), sideways, options);
      path.dispose();
      // λ at the start is −ψ/c.
      expect(path.values('lambda')[0]).to.be.closeTo(-10, 1e-9);
      expect(() => simulate(sleigh(knifeEdge(across)), sideways, options)).to.throw('constraints[0]');
    });
  });

  it('is refused where it is none', () => {
    const kind = {name: 'mine', of: 'positions', holds: 'never', condition: ({gap}: GapAndMultiplier) => gap} as const;
    expect(() => defineConstraint({...kind, of: 'forces' as 'positions'})).to.throw(
      OptionError,
      "'positions', 'velocities'",
    );
    expect(() => defineConstraint({...kind, of: 'velocities', holds: 'contact'})).to.throw(OptionError, 'cannot land');
    expect(() => defineConstraint({...kind, hold: 1} as never)).to.throw(OptionError, "Did you mean 'holds'?");
    expect(() => defineConstraint(kind)(1 as never)).to.throw(OptionError, 'mine takes a function');
    const system = mechanics({
      mass: 1,
      forces: [],
      constraints: [defineConstraint({...kind, condition: ({gap}) => tf.sum(gap)})(({q}) => q)],
    });
    expect(() => simulate(system, {q: [0, 0], v: [0, 0]}, {dt: 0.1, steps: 1})).to.throw(
      ShapeError,
      'condition of mine must return a tensor of shape [2]',
    );
    expect(() => mechanics({mass: 1, forces: [], constraints: [{gap: () => 0} as never]})).to.throw(
      OptionError,
      'defineConstraint',
    );
  });
});
