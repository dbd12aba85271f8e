/** Evaluations of the right-hand side: by the number of stages that the schemes have in the literature. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme} from '../../lib/index.js';
import {
  adaptive,
  batch,
  dopri5,
  explicitEuler,
  gaussLegendre,
  implicitMidpoint,
  kvaerno5,
  mechanics,
  newmark,
  ode,
  radauIIA5,
  rk4,
  simulate,
  trapezoid,
  tsit5,
  verlet,
} from '../../lib/index.js';

const swing = ode(({y, t}) =>
  tf.add(tf.stack([tf.slice(y, 1, 1), tf.neg(tf.sin(tf.slice(y, 0, 1)))]).reshape([2]), tf.mul(t, 0.1)),
);
const pendulum = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.sin(q))});
const fixed = {dt: 0.1, steps: 10};
const odeStats = (scheme: Scheme, more: object = fixed) =>
  simulate(swing, {y: [1, 0]}, {scheme, ...more} as never).stats;
const ofMotion = (scheme: Scheme) => simulate(pendulum, {q: [1], v: [0]}, {scheme, ...fixed}).stats;

describe('stats.evaluations', () => {
  it('of explicit schemes: stages by steps; a slope that is carried on is one at the start', () => {
    for (const [scheme, start, each] of [
      [explicitEuler(), 0, 1],
      [rk4(), 0, 4],
      [tsit5(), 1, 6],
      [dopri5(), 1, 6],
    ] as const)
      expect(odeStats(scheme).evaluations, scheme.name).to.equal(start + 10 * each);
    // Kicks at both ends, of which the state carries none.
    expect(ofMotion(verlet()).evaluations).to.equal(2 * 10);
    expect(ofMotion(rk4()).evaluations).to.equal(40);
  });

  it('of adaptive steps: refused ones count, an automatic first step looks twice, halved steps are three', () => {
    const control = adaptive({rtol: 1e-9, atol: 1e-12});
    const span = {dt: 1, t1: 5};
    const {evaluations, steps, rejectedSteps} = odeStats(tsit5(), {...span, control});
    expect(rejectedSteps).to.be.above(0);
    expect(evaluations).to.equal(1 + 6 * (steps + rejectedSteps));
    const first = odeStats(tsit5(), {...span, control: adaptive({rtol: 1e-9, atol: 1e-12, first: 'auto'})});
    expect(first.evaluations).to.equal(3 + 6 * (first.steps + first.rejectedSteps));
    // Without an estimate of its own a step is taken whole and as two halves, which are both steps of the run.
    const halved = odeStats(rk4(), {...span, control});
    expect(halved.evaluations).to.equal(12 * (halved.steps / 2 + halved.rejectedSteps));
  });

  it("of implicit schemes: residuals by their stages, and the step's beginning once where it is asked for", () => {
    const midpoint = odeStats(implicitMidpoint());
    expect(midpoint.evaluations).to.equal(midpoint.residualEvaluations);
    const slope = odeStats(trapezoid());
    expect(slope.evaluations).to.equal(slope.residualEvaluations + 10);
    for (const [scheme, stages] of [
      [gaussLegendre({stages: 2}), 2],
      [radauIIA5(), 3],
    ] as const) {
      const {evaluations, residualEvaluations} = odeStats(scheme);
      expect(evaluations, scheme.name).to.equal(stages * residualEvaluations);
    }
    const motion = ofMotion(newmark());
    expect(motion.evaluations)
      .to.be.above(motion.residualEvaluations - 1)
      .and.below(motion.residualEvaluations + 12);
  });

  it('of stages found in turn: one for each residual of a stage, and the explicit first', () => {
    const {evaluations, residualEvaluations, steps, rejectedSteps} = odeStats(kvaerno5(), {
      dt: 0.1,
      t1: 5,
      control: adaptive({rtol: 1e-6, atol: 1e-9}),
    });
    expect(evaluations).to.equal(residualEvaluations + steps + rejectedSteps);
  });

  it('are the same with a gradient to come, and in a batch', () => {
    const options = {scheme: tsit5(), dt: 1, t1: 5, control: adaptive({rtol: 1e-9, atol: 1e-12})};
    const {evaluations} = odeStats(tsit5(), options);
    expect(simulate.vjp(swing, {y: [1, 0]}, options).trajectory.stats.evaluations).to.equal(evaluations);
    const prepared = batch.prepare(swing, {y: [1, 0]}, options);
    for (const path of prepared.run([{}, {}, {}])) expect(path.stats.evaluations).to.equal(evaluations);
  });
});
