/** Friction against rolling and spinning in rigid contacts, by closed forms: a ball that is slowed, held on a slope, and stops to spin; its derivatives. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {event, implicitAdjoint, moreau, simulate} from '../../../lib/index.js';
import {multibody, rigidContact} from '../../../models/index.js';
import {box, plane, sphere} from '../../../models/multibody/shapes.js';
import {slow} from '../../tiers.js';

const [g, mass, radius] = [9.81, 2, 0.3];
const inertia = 0.4 * mass * radius ** 2;
const scheme = moreau();

type V3 = readonly [number, number, number];

interface Thrown {
  readonly velocity?: V3;
  readonly angularVelocity?: V3;
  /** Of gravity against the normal, in the plane of x and z. */
  readonly slope?: number;
}

/** A ball on a plane; parameters are the coefficients. */
function ball({velocity = [0, 0, 0], angularVelocity = [0, 0, 0], slope = 0}: Thrown) {
  return multibody({
    gravity: [g * Math.sin(slope), 0, -g * Math.cos(slope)],
    bodies: {ball: {mass, inertia: [inertia, inertia, inertia], position: [0, 0, radius], velocity, angularVelocity}},
    contacts: [
      rigidContact('ground', 'ball', {
        shapes: [plane(), sphere({radius})],
        friction: 0.8,
        rolling: ({rolling}) => rolling as tf.Tensor,
        spinning: ({spinning}) => spinning as tf.Tensor,
      }),
    ],
  });
}

describe('friction against rolling and spinning', () => {
  const dt = 0.01;

  it('rows are named by their bodies: a ball that begins in the ground, a box on its corners', () => {
    const inside = multibody({
      bodies: {ball: {mass, inertia: [inertia, inertia, inertia], position: [0, 0, radius / 2]}},
      contacts: [rigidContact('ground', 'ball', {shapes: [plane(), sphere({radius})], friction: 0.8, rolling: 0.1})],
    });
    expect(() => simulate(inside, inside.initial, {scheme, dt, steps: 1})).to.throw(
      'the gap of lambda[0] (contact of ground and ball: normal) is -1.500e-1',
    );
    const crate = multibody({
      bodies: {crate: {mass, inertia: [1, 1, 1], position: [0, 0, 0]}},
      contacts: [rigidContact('ground', 'crate', {shapes: [plane(), box({size: [1, 1, 1]})], friction: 0.8})],
    });
    const rows = crate.constraints[0].rows ?? [];
    expect([rows.length, rows[0], rows[1], rows[8], rows[11]]).to.deep.equal([
      24,
      'contact of ground and crate, point 0: normal',
      'contact of ground and crate, point 1: normal',
      'contact of ground and crate, point 0: first tangent',
      'contact of ground and crate, point 1: second tangent',
    ]);
  });

  slow('a ball that rolls is slowed by 5/7 μ_r g / r, stops, and stays', () => {
    const [rolling, speed] = [0.02, 1];
    const slowing = (5 * rolling * g) / (7 * radius);
    const rolls = ball({velocity: [speed, 0, 0], angularVelocity: [0, speed / radius, 0]});
    const params = {rolling, spinning: 0};
    const path = simulate(rolls, rolls.initial, {scheme, dt, steps: 300, params});
    path.dispose();
    const v = path.values('v');
    const stops = speed / slowing;
    expect(stops).to.be.within(2, 2.5);
    for (const step of [50, 100, 200]) {
      expect(v[6 * step]).to.be.closeTo(speed - slowing * step * dt, 1e-9);
      expect(v[6 * step + 4]).to.be.closeTo(v[6 * step] / radius, 1e-9);
    }
    const q = path.values('q');
    for (const step of [250, 300]) for (let i = 0; i < 6; i++) expect(v[6 * step + i]).to.be.closeTo(0, 1e-9);
    expect(q[7 * 300]).to.be.closeTo(speed ** 2 / (2 * slowing), speed * dt);
    expect(q[7 * 300]).to.be.closeTo(q[7 * 260], 1e-10);
  });

  slow('on a slope it stands while tan α < μ_r / r, and rolls with 5/7 (g sin α − μ_r g cos α / r) beyond', () => {
    const rolling = 0.03;
    const border = Math.atan(rolling / radius);
    for (const [slope, acceleration] of [
      [0.9 * border, 0],
      [1.5 * border, (5 / 7) * g * (Math.sin(1.5 * border) - (rolling / radius) * Math.cos(1.5 * border))],
    ]) {
      const rests = ball({slope});
      const path = simulate(rests, rests.initial, {scheme, dt, steps: 100, params: {rolling, spinning: 0}});
      path.dispose();
      expect(path.values('v')[600]).to.be.closeTo(acceleration * 1, 1e-9);
    }
  });

  it('one that spins on the spot is slowed by μ_s m g / I, and stops', () => {
    const [spinning, spin] = [0.01, 4];
    const slowing = (spinning * mass * g) / inertia;
    const spins = ball({angularVelocity: [0, 0, spin]});
    const path = simulate(spins, spins.initial, {scheme, dt, steps: 200, params: {rolling: 0.02, spinning}});
    path.dispose();
    const v = path.values('v');
    expect(spin / slowing).to.be.within(1, 1.9);
    for (const step of [20, 80]) expect(v[6 * step + 5]).to.be.closeTo(spin - slowing * step * dt, 1e-9);
    for (let i = 0; i < 6; i++) expect(v[1200 + i]).to.be.closeTo(0, 1e-9);
  });

  slow('the derivative by μ_r of its speed is −5/7 g t / r, and none once it stands', () => {
    const rolls = ball({velocity: [1, 0, 0], angularVelocity: [0, 1 / radius, 0]});
    for (const [steps, expected] of [
      [100, (-5 * g * 1) / (7 * radius)],
      [300, 0],
    ]) {
      const params = {rolling: 0.02, spinning: 0.01};
      const {trajectory, pullback} = simulate.vjp(rolls, rolls.initial, {scheme, dt, steps, saveAt: 'end', params});
      trajectory.dispose();
      const cotangent = new Float64Array(12);
      cotangent[6] = 1;
      const {rolling} = pullback({v: cotangent}).params as unknown as {rolling: Float64Array};
      expect(rolling[0]).to.be.closeTo(expected, 1e-7);
    }
  });

  it('without sliding friction nothing makes a ball roll, but couples still stop what turns', () => {
    const turns = multibody({
      gravity: [0, 0, -g],
      bodies: {
        ball: {mass, inertia: [inertia, inertia, inertia], position: [0, 0, radius], velocity: [1, 0, 0], angularVelocity: [3, 0, 4]}, // prettier-ignore
      },
      contacts: [rigidContact('ground', 'ball', {shapes: [plane(), sphere({radius})], rolling: 0.01, spinning: 0.02})],
    });
    const path = simulate(turns, turns.initial, {scheme, dt, steps: 40});
    path.dispose();
    const {velocity, rotation, angularVelocity} = turns.pose(path, 'ball');
    const [w, ...u] = rotation.subarray(160);
    const cross = (a: readonly number[], b: readonly number[]): number[] =>
      [1, 2, 0].map((y, x) => a[y] * b[3 - x - y] - a[3 - x - y] * b[y]);
    const body = [...angularVelocity.subarray(120)];
    const twice = cross(u, body).map(x => 2 * x);
    const about = cross(u, twice).map((x, i) => body[i] + w * twice[i] + x);
    const slowing = (mass * g) / inertia;
    expect(velocity[120]).to.be.closeTo(1, 1e-12);
    expect(about[0]).to.be.closeTo(3 - 0.01 * slowing * 0.4, 1e-9);
    expect(about[1]).to.be.closeTo(0, 1e-9);
    expect(about[2]).to.be.closeTo(4 - 0.02 * slowing * 0.4, 1e-9);
  });

  slow('boxes on their corners and balls at once: each by its own coefficient, and 40 balls roll as one does', () => {
    const count = 40;
    const bodies = Object.fromEntries(
      Array.from({length: count}, (_, i) => [
        `s${i}`,
        {mass, inertia: [inertia, inertia, inertia] as const, position: [0, i, radius] as const, velocity: [1, 0, 0] as const, angularVelocity: [0, 1 / radius, 0] as const}, // prettier-ignore
      ]),
    );
    const many = multibody({
      gravity: [0, 0, -g],
      bodies: {...bodies, crate: {mass: 3, inertia: [0.1, 0.1, 0.1], position: [0, -2, 0.25], velocity: [1, 0, 0]}},
      contacts: [
        ...Object.keys(bodies).map((name, i) =>
          rigidContact('ground', name, {shapes: [plane(), sphere({radius})], friction: 0.8, rolling: 0.0005 * i}),
        ),
        rigidContact('ground', 'crate', {shapes: [plane(), box({size: [0.5, 0.5, 0.5]})], friction: 0.2}),
      ],
    });
    const path = simulate(many, many.initial, {scheme, dt, steps: 20, saveAt: 'end'});
    path.dispose();
    const v = path.values('v').subarray(6 * (count + 1));
    for (let i = 0; i < count; i++) expect(v[6 * i]).to.be.closeTo(1 - (5 * 0.0005 * i * g * 0.2) / (7 * radius), 1e-8);
    expect(v[6 * count]).to.be.closeTo(1 - 0.2 * g * 0.2, 1e-8);
  });

  slow('a box that slides on four corners that resist rolling: derivatives by differences', () => {
    // How the weight is spread over the corners is not unique, and friction depends on it: forces stay nearest to the last step's, on a border of the laws.
    const sliding = multibody({
      gravity: [0, 0, -g],
      bodies: {box: {mass: 1, inertia: [0.01, 0.012, 0.013], position: [0, 0, 0.1]}},
      contacts: [
        rigidContact('ground', 'box', {
          shapes: [plane(), box({size: [0.3, 0.25, 0.2]})],
          friction: ({mu}) => mu as tf.Tensor,
          rolling: 0.005,
        }),
      ],
    });
    const start = (by: number) => ({
      ...sliding.initial,
      v: [[0.9 + 0.4 * by, 0.3 + 0.7 * by, 0, 0, 0, 1.1 - 0.6 * by]],
    });
    const weights = [0.3, -0.8, 0.5, 0.7, -0.2, 0.9];
    const steps = 5;
    const tolerance = 1e-5; // derivatives let forces yield by 1e-8, which five steps add up
    const late = event({when: ({t}) => tf.sub(t, 0.034), then: 'record'});
    for (const more of [{}, {adjoint: implicitAdjoint({memory: 1})}, {events: [late]}]) {
      const made = simulate.prepare(sliding, start(0), {
        scheme,
        dt,
        steps,
        saveAt: 'end',
        params: {mu: 0.7},
        ...more,
      });
      const value = (by: number, mu: number): number => {
        const path = made.run({initial: start(by), params: {mu: 0.7 + mu}});
        path.dispose();
        return path
          .values('v')
          .slice(-6)
          .reduce((sum, x, i) => sum + weights[i] * x, 0);
      };
      const {trajectory, pullback} = made.vjp();
      trajectory.dispose();
      expect(trajectory.warnings[0]).to.match(/rolling/u);
      const {initial, params} = pullback({v: [[[0, 0, 0, 0, 0, 0]], [weights]]});
      const byV = initial.v as Float64Array;
      const d = 1e-5;
      const slope = (f: (x: number) => number): number => (f(d) - f(-d)) / (2 * d);
      expect(0.4 * byV[0] + 0.7 * byV[1] - 0.6 * byV[5]).to.be.closeTo(
        slope(by => value(by, 0)),
        tolerance,
      );
      expect((params.mu as Float64Array)[0]).to.be.closeTo(
        slope(mu => value(0, mu)),
        tolerance,
      );
    }
  });
});
