/** Stops that yield, at an instant: the force of the gap, by which a run begins and a system is linearized; and rigid contacts. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  generalizedAlpha,
  implicitEuler,
  linearize,
  mechanics,
  newmark,
  OptionError,
  radauIIA5,
  simulate,
  trapezoid,
  unilateral,
  type MechanicalSystem,
} from '../../lib/index.js';
import {multibody, revolute, rigidContact} from '../../models/index.js';
import {plane, sphere} from '../../models/multibody/shapes.js';
import {slow} from '../tiers.js';

const [spring, weight, compliance] = [4, 1, 0.01];
const own = ({q}: {q: tf.Tensor}): tf.Tensor => tf.sub(tf.mul(q, -spring), weight);
const stopped = (spec: {compliance?: number; smoothing?: number}): MechanicalSystem =>
  mechanics({mass: 1, forces: own, constraints: [unilateral(({q}) => q, spec)]});
const soft = stopped({compliance});
/** The same stop as a force. */
const forced = mechanics({mass: 1, forces: [own, ({q}) => tf.div(tf.relu(tf.neg(q)), compliance)]});

describe('a stop that yields, at an instant', () => {
  for (const scheme of [implicitEuler(), trapezoid(), newmark(), generalizedAlpha({rhoInf: 0.8}), radauIIA5()])
    it(`${scheme.name}: the multiplier at the start is −φ/C, whatever the step`, () => {
      for (const dt of [0.1, 0.01]) {
        const {lambda} = ends(simulate(soft, {q: [-0.05], v: [0.3]}, {scheme, dt, steps: 1}));
        expect(lambda[0]).to.be.closeTo(0.05 / compliance, 1e-9);
      }
    });

  for (const scheme of [newmark(), generalizedAlpha({rhoInf: 0.8})])
    it(`${scheme.name}: the motion is that with the stop as a force`, () => {
      const options = {scheme, dt: 0.01, steps: 10};
      const [a, b] = [soft, forced].map(system => ends(simulate(system, {q: [-0.05], v: [0.01]}, options)).q);
      a.forEach((x, i) => expect(x).to.be.closeTo(b[i], 1e-12));
    });

  it('with smoothing: λ is the larger root of (φ + Cλ)λ = ε²', () => {
    const {lambda} = ends(simulate(stopped({compliance, smoothing: 0.1}), {q: [-0.05], v: [0]}, {dt: 0.1, steps: 1}));
    // 0.01 λ² − 0.05 λ − 0.01 = 0
    expect(lambda[0]).to.be.closeTo((0.05 + Math.sqrt(0.05 ** 2 + 4 * 0.01 * 0.01)) / 0.02, 1e-9);
  });
});

describe('contacts, linearized', () => {
  const frequency = (system: MechanicalSystem, q: number): number =>
    Math.max(...linearize(system, {q: [q], v: [0]}).eigenvalues.map(({imaginary}) => imaginary));

  it('a stop that yields adds its stiffness where it presses, and nothing where it is open', () => {
    expect(frequency(soft, -weight / (spring + 1 / compliance))).to.be.closeTo(Math.sqrt(104), 1e-12);
    expect(frequency(soft, 0.5)).to.be.closeTo(2, 1e-12);
  });

  slow('a rigid one that is open has no part', () => {
    expect(frequency(stopped({}), 0.5)).to.be.closeTo(2, 1e-12);
    const pendulum = (least: number) =>
      multibody({
        gravity: [0, 0, -9.81],
        coordinates: 'minimal',
        bodies: {bob: {mass: 1, inertia: [1, 1, 1], position: [0, 0, -2]}},
        joints: {pin: revolute('ground', 'bob', {at: [0, 0, 0], axis: [0, 1, 0], limits: [least, 1]})},
      });
    const swing = pendulum(-0.1);
    const [{imaginary}] = linearize(swing, swing.initial).eigenvalues;
    expect(imaginary).to.be.closeTo(Math.sqrt((9.81 * 2) / (1 + 4)), 1e-12);
    expect(() => linearize(pendulum(0), pendulum(0).initial)).to.throw(OptionError, /contact 0 of 2 has a gap of 0:/);
  });

  it('one that touches, or whose law is only smoothed, is refused', () => {
    expect(() => linearize(stopped({}), {q: [0], v: [0]})).to.throw(OptionError, /bilateral\(\)/);
    expect(() => linearize(stopped({smoothing: 0.1}), {q: [0.01], v: [0]})).to.throw(
      OptionError,
      /a compliance as well/,
    );
    const ball = multibody({
      gravity: [0, 0, -9.81],
      bodies: {ball: {mass: 1, inertia: [1, 1, 1], position: [0, 0, 0.1]}},
      contacts: [rigidContact('ground', 'ball', {shapes: [plane(), sphere({radius: 0.1})], friction: 0.5})],
    });
    expect(() => linearize(ball, ball.initial)).to.throw(OptionError, /rigid contacts to be open/);
  });
});

function ends(run: ReturnType<typeof simulate>): {readonly q: Float64Array; readonly lambda: Float64Array} {
  const lambda = run.lambda === undefined ? new Float64Array(0) : run.values('lambda');
  run.dispose();
  return {q: run.values('q'), lambda};
}
