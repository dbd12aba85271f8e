/** Inertia, friction and restitution of bodies from made records with noise: the truth lies within the errors that the fit tells. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {implicitMidpoint, moreau, simulate, type Params} from '../../../lib/index.js';
import {jointFriction, multibody, revolute, rigidContact} from '../../../models/index.js';
import {logCholeskyInertia, logCholeskyParameters} from '../../../models/multibody/inertia.js';
import {plane, sphere} from '../../../models/multibody/shapes.js';
import {gaussian} from '../../../training/data/noise.js';
import {free, identify, positive} from '../../../training/index.js';

/** One number or array of the parameters. */
const one = (name: string) => (params: Params) => params[name] as tf.Tensor;
/** Of a normal error: beyond it one time in 16,000. */
const beyond = 4;

/** Rotates [3] by a unit quaternion w first, Rodrigues' formula. */
function turned(q: tf.Tensor, a: tf.Tensor): tf.Tensor {
  const [w, x, y, z] = tf.unstack(q);
  const cross = ([a1, a2, a3]: tf.Tensor[]): tf.Tensor[] => [
    tf.sub(tf.mul(y, a3), tf.mul(z, a2)),
    tf.sub(tf.mul(z, a1), tf.mul(x, a3)),
    tf.sub(tf.mul(x, a2), tf.mul(y, a1)),
  ];
  const once = cross(tf.unstack(a));
  const twice = cross(once);
  return tf.stack(tf.unstack(a).map((value, i) => tf.add(value, tf.mul(2, tf.add(tf.mul(w, once[i]), twice[i])))));
}

describe('identification of bodies from records with noise', function () {
  this.timeout(60_000);

  it('ten inertial parameters, by the path of a mark that is not the centre', async () => {
    // Forces act at the mark, in body axes.
    const wave = (t: tf.Tensor, [a, w, p]: readonly number[]): tf.Tensor => tf.mul(a, tf.sin(tf.add(tf.mul(w, t), p)));
    const force = (t: tf.Tensor) =>
      tf.stack(
        [
          [2, 1.3, 0],
          [1.5, 2.1, 1],
          [1.8, 1.7, 2],
        ].map(row => wave(t, row)),
      );
    const torque = (t: tf.Tensor) =>
      tf.stack(
        [
          [0.5, 2.2, 1],
          [0.4, 1.4, 0],
          [0.6, 2.9, 2],
        ].map(row => wave(t, row)),
      );
    const body = logCholeskyInertia(one('theta'));
    const cross = (a: tf.Tensor, b: tf.Tensor): tf.Tensor => {
      const [[a1, a2, a3], [b1, b2, b3]] = [tf.unstack(a), tf.unstack(b)];
      const minor = (p: tf.Tensor, q: tf.Tensor, r: tf.Tensor, s: tf.Tensor) => tf.sub(tf.mul(p, s), tf.mul(q, r));
      return tf.stack([minor(a2, a3, b2, b3), minor(a3, a1, b3, b1), minor(a1, a2, b1, b2)]);
    };
    const system = multibody({
      bodies: {body: {mass: body.mass, inertia: body.inertia}},
      forces: [
        ({q, t, params}) => {
          const rotation = tf.slice(tf.reshape(q, [7]), [3], [4]);
          const about = tf.sub(torque(t), cross(body.centre(params), force(t)));
          return tf.reshape(tf.concat([turned(rotation, force(t)), about]), [1, 6]);
        },
      ],
    });
    // The centre is at the origin of the simulation; the mark starts where it is measured from.
    const observe = ({q, params}: {q: tf.Tensor; params: Params}): tf.Tensor => {
      const [centre, rotation] = tf.split(tf.reshape(q, [7]), [3, 4]);
      const c = body.centre(params);
      return tf.concat([tf.sub(tf.add(centre, c), turned(rotation, c)), rotation]);
    };
    const truth = logCholeskyParameters({
      mass: 2,
      inertia: [
        [0.3, 0.02, -0.03],
        [0.02, 0.4, 0.01],
        [-0.03, 0.01, 0.35],
      ],
      centre: [0.1, -0.15, 0.05],
    });
    const options = {scheme: implicitMidpoint(), dt: 0.05};
    const run = simulate(system, system.initial, {...options, steps: 120, params: {theta: truth}, observe});
    const draw = gaussian(3);
    const y = run.values('observed').map(value => value + 1e-3 * draw());
    const t = run.values('t');
    run.dispose();
    const guess = logCholeskyParameters({mass: 1.6, inertia: [0.35, 0.35, 0.35], centre: [0, 0, 0]});
    const fit = await identify({
      system,
      initial: system.initial,
      observe,
      data: {t, y: Array.from(t, (_, k) => Array.from(y.subarray(7 * k, 7 * k + 7)))},
      parameters: {theta: free(Array.from(guess))},
      residuals: 'independent',
      ...options,
    });
    expect(fit.converged).to.equal(true);
    const [estimate, error] = [fit.estimate.theta, fit.standardError.theta].map(values =>
      Array.from(values as Float64Array),
    );
    estimate.forEach((value, i) => expect(Math.abs(value - truth[i]) / error[i], `θ${i}`).to.be.below(beyond));
    expect(Math.max(...error)).to.be.below(0.02);
  });

  it('restitution and friction of a ball that is thrown on a table', async () => {
    const ball = multibody({
      gravity: [0, 0, -9.81],
      bodies: {ball: {mass: 0.05, inertia: [8e-6, 8e-6, 8e-6], position: [0, 0, 0.3], velocity: [4, 0, 0]}},
      contacts: [
        rigidContact('ground', 'ball', {
          shapes: [plane(), sphere({radius: 0.02})],
          friction: one('mu'),
          restitution: one('e'),
        }),
      ],
    });
    const options = {scheme: moreau(), dt: 0.002};
    const truth = {mu: 0.15, e: 0.7};
    const run = simulate(ball, ball.initial, {...options, steps: 400, params: truth});
    const position = ball.pose(run, 'ball').position;
    const t = run.values('t');
    run.dispose();
    const draw = gaussian(5);
    const noisy = position.map(value => value + 5e-4 * draw());
    const fit = await identify({
      system: ball,
      initial: ball.initial,
      observe: ({q}: {q: tf.Tensor}) => tf.slice(tf.reshape(q, [7]), [0], [3]),
      data: {t, y: Array.from(t, (_, k) => Array.from(noisy.subarray(3 * k, 3 * k + 3)))},
      parameters: {mu: positive(0.25), e: positive(0.6)},
      residuals: 'independent',
      ...options,
    });
    expect(fit.converged).to.equal(true);
    for (const name of ['mu', 'e'] as const) {
      const [value, error] = [fit.estimate[name], fit.standardError[name]] as number[];
      expect(Math.abs(value - truth[name]) / error, name).to.be.below(beyond);
      expect(error, name).to.be.below(0.01 * truth[name]);
    }
  });

  it('dry and viscous friction of a joint', async () => {
    const pendulum = multibody({
      gravity: [0, 0, -9.81],
      bodies: {rod: {mass: 0.8, inertia: [0.01, 0.05, 0.05], position: [0.6, 0, 0]}},
      joints: {pin: revolute('ground', 'rod', {at: [0, 0, 0], axis: [0, 1, 0]})},
      forces: [
        jointFriction('ground', 'rod', {
          axis: [0, 1, 0],
          viscous: one('viscous'),
          coulomb: one('coulomb'),
          velocityScale: 0.05,
        }),
      ],
    });
    const options = {scheme: implicitMidpoint(), dt: 0.02};
    const truth = {viscous: 0.05, coulomb: 0.2};
    const run = simulate(pendulum, pendulum.initial, {...options, steps: 200, params: truth});
    const [t, q] = [run.values('t'), run.values('q')];
    run.dispose();
    const draw = gaussian(11);
    const fit = await identify({
      system: pendulum,
      initial: pendulum.initial,
      data: {t, q: Array.from(t, (_, k) => [Array.from(q.subarray(7 * k, 7 * k + 7), value => value + 1e-3 * draw())])},
      parameters: {viscous: positive(0.1), coulomb: positive(0.1)},
      residuals: 'independent',
      ...options,
    });
    expect(fit.converged).to.equal(true);
    for (const name of ['viscous', 'coulomb'] as const) {
      const [value, error] = [fit.estimate[name], fit.standardError[name]] as number[];
      expect(Math.abs(value - truth[name]) / error, name).to.be.below(beyond);
      expect(error, name).to.be.below(0.05 * truth[name]);
    }
  });
});
