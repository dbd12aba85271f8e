/** Contacts that yield, against Coulomb's closed forms: sliding, stopping, rolling, resting; impacts; gradients. */
import type * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  adaptive,
  generalizedAlpha,
  implicitMidpoint,
  OptionError,
  radauIIA5,
  rk4,
  simulate,
} from '../../../lib/index.js';
import type {BodySpec, Multibody, Shape} from '../../../models/index.js';
import {contact, multibody} from '../../../models/index.js';
import {box, capsule, plane, sphere} from '../../../models/multibody/shapes.js';
import {slope} from '../../simulate/numbers.js';

const g = 9.81;
const [stiffness, mass, radius] = [1e6, 2, 0.1];
const ballInertia = 0.4 * mass * radius ** 2;
/** How deep a body sinks with n points. */
const sunk = (n: number): number => ((mass * g) / (n * stiffness)) ** (2 / 3);

function on(
  shape: Shape,
  body: Partial<BodySpec>,
  friction: number | ((params: never) => tf.Tensor),
  tilt = 0,
): Multibody {
  return multibody({
    gravity: [g * Math.sin(tilt), 0, -g * Math.cos(tilt)],
    bodies: {body: {mass, inertia: [ballInertia, ballInertia, ballInertia], ...body}},
    contacts: [
      contact('ground', 'body', {shapes: [plane(), shape], stiffness, friction: friction as number, dissipation: 1}),
    ],
  });
}

function end(system: Multibody, t1: number, dt = 0.001): {x: number; vx: number; wy: number; z: number} {
  const path = simulate(system, system.initial, {scheme: implicitMidpoint(), dt, t1, saveAt: 'end'});
  path.dispose();
  const {position, velocity, angularVelocity} = system.pose(path, 'body');
  return {x: position[3] - position[0], vx: velocity[3], wy: angularVelocity[4], z: position[5]};
}

describe('contacts that yield', () => {
  it('a ball set down with speed v rolls from 2v/(7 μ g) on, at 5v/7', () => {
    const [v, mu] = [2, 0.3];
    const ball = on(sphere({radius}), {position: [0, 0, radius - sunk(1)], velocity: [v, 0, 0]}, mu);
    const time = (2 * v) / (7 * mu * g);
    const before = end(ball, 0.5 * time);
    expect(before.vx).to.be.closeTo(v - mu * g * 0.5 * time, 2e-3);
    const after = end(ball, 2 * time);
    expect(after.vx).to.be.closeTo((5 * v) / 7, 2e-3);
    expect(after.wy * radius).to.be.closeTo((5 * v) / 7, 2e-3);
  });

  const corners = 0.002; // flat, so that friction does not tip it
  const slab = {size: [0.4, 0.4, corners]} as const;
  const lying = {position: [0, 0, corners / 2 - sunk(4)] as [number, number, number], inertia: [0.1, 0.1, 0.1]};

  it('a block slides down an incline with g (sin θ − μ cos θ), and creeps where μ > tan θ', () => {
    const tilt = 0.5;
    const flatSunk = ((mass * g * Math.cos(tilt)) / (4 * stiffness)) ** (2 / 3);
    const place = {...lying, position: [0, 0, corners / 2 - flatSunk] as [number, number, number]};
    const slides = end(on(box(slab), place, 0.3, tilt), 0.5);
    expect(slides.vx).to.be.closeTo(0.5 * g * (Math.sin(tilt) - 0.3 * Math.cos(tilt)), 5e-3);
    const mu = 0.8;
    const share = Math.tan(tilt) / mu;
    const sticks = end(on(box(slab), place, mu, tilt), 0.5);
    // w₀ s/√(1 − s²), the bound that the page states.
    expect(sticks.vx).to.be.closeTo((1e-3 * share) / Math.sqrt(1 - share ** 2), 1e-5);
  });

  it('a block stops after v²/(2 μ g), and the gradients are −v²/(2 μ² g) and v/(μ g)', () => {
    const [v, mu] = [1.5, 0.4];
    const system = on(box(slab), {...lying, velocity: [v, 0, 0]}, (({mu: value}: {mu: tf.Tensor}) => value) as never);
    const prepared = simulate.prepare(system, system.initial, {
      scheme: implicitMidpoint(),
      dt: 0.001,
      t1: 0.6,
      saveAt: 'end',
      params: {mu},
    });
    const {trajectory, pullback} = prepared.vjp();
    trajectory.dispose();
    expect(trajectory.values('q')[7]).to.be.closeTo(v ** 2 / (2 * mu * g), 2e-3);
    const {params, initial} = pullback({
      q: [[[0, 0, 0, 0, 0, 0, 0]], [[1, 0, 0, 0, 0, 0, 0]]],
    }) as {params: {[name: string]: Float64Array}; initial: {v: Float64Array}};
    expect(params.mu[0]).to.be.closeTo(-(v ** 2) / (2 * mu ** 2 * g), 5e-3);
    expect(initial.v[0]).to.be.closeTo(v / (mu * g), 5e-3);
    const at = (s: number): number => {
      const path = prepared.run({params: {mu: mu + s}});
      path.dispose();
      return path.values('q')[7];
    };
    expect(params.mu[0]).to.be.closeTo(slope(at, 1e-4), 1e-6);
  });

  it('an impact throws back with about 1 − c w of its speed, and without dissipation with all of it', () => {
    const bounce = (dissipation: number): number => {
      const system = multibody({
        bodies: {body: {mass, inertia: [1, 1, 1], position: [0, 0, radius + 0.001], velocity: [0, 0, -0.1]}},
        contacts: [contact('body', 'ground', {shapes: [sphere({radius}), plane()], stiffness, dissipation})],
      });
      const path = simulate(system, system.initial, {scheme: implicitMidpoint(), dt: 1e-4, t1: 0.05, saveAt: 'end'});
      path.dispose();
      return system.pose(path, 'body').velocity[5];
    };
    expect(bounce(0)).to.be.closeTo(0.1, 1e-5);
    expect(bounce(0.5)).to.be.closeTo(0.1 * (1 - 0.5 * 0.1), 3e-4);
  });

  it('two balls that meet exchange their speeds; a capsule lies on its two ends', () => {
    const system = multibody({
      bodies: {
        one: {mass: 1, inertia: [1, 1, 1], velocity: [1, 0, 0]},
        two: {mass: 1, inertia: [1, 1, 1], position: [0.25, 0, 0]},
      },
      contacts: [contact('one', 'two', {shapes: [sphere({radius}), sphere({radius})], stiffness})],
    });
    const path = simulate(system, system.initial, {scheme: implicitMidpoint(), dt: 1e-4, t1: 0.1, saveAt: 'end'});
    path.dispose();
    expect(system.pose(path, 'one').velocity[3]).to.be.closeTo(0, 1e-5);
    expect(system.pose(path, 'two').velocity[3]).to.be.closeTo(1, 1e-5);
    const height = radius - sunk(2);
    const lies = on(capsule({radius, from: [-0.3, 0, height], to: [0.3, 0, height]}), {position: [0, 0, height]}, 0.5);
    expect(end(lies, 0.1).z).to.be.closeTo(height, 1e-9);
  });

  it('a log comes to rest in the groove of two parallel logs: at the height at which eight points carry it', () => {
    const [aside, above] = [0.12, 0.16];
    const log = (x: number, z: number): Shape => capsule({radius, from: [x, -0.5, z], to: [x, 0.5, z]});
    const groove = multibody({
      gravity: [0, 0, -g],
      bodies: {log: {mass, inertia: [0.2, 0.01, 0.2], position: [0, 0, above]}},
      contacts: [-aside, aside].map(x =>
        contact('ground', 'log', {shapes: [log(x, 0), log(0, above)], stiffness: 1e5, dissipation: 50}),
      ),
    });
    // 8 k δ^(3/2) z/√(aside² + z²) = m g, by bisection.
    let [low, high] = [above - 0.01, above];
    for (let i = 0; i < 60; i++) {
      const z = (low + high) / 2;
      const apart = Math.hypot(aside, z);
      const carried = (8 * 1e5 * Math.max(2 * radius - apart, 0) ** 1.5 * z) / apart;
      if (carried > mass * g) low = z;
      else high = z;
    }
    const stiff = {control: adaptive({rtol: 1e-5, atol: 1e-7}), scheme: radauIIA5(), dt: 5e-4};
    for (const way of [{scheme: implicitMidpoint(), dt: 5e-4}, {scheme: generalizedAlpha(), dt: 5e-4}, stiff]) {
      const path = simulate(groove, groove.initial, {...way, t1: 0.5, saveAt: 'end'});
      path.dispose();
      const {position, velocity, angularVelocity} = groove.pose(path, 'log');
      expect(position[5]).to.be.closeTo(low, 1e-6);
      expect(Math.hypot(...velocity.slice(3), ...angularVelocity.slice(3))).to.be.lessThan(1e-4);
      // Four balls in place of the log's ends take as many.
      if (way === stiff) expect(path.stats.steps).to.be.lessThan(500);
    }
  });

  it('logs that meet along each other keep their energy, and turn only where they are not symmetric', () => {
    const fall = (half: number, tilt: number): {spin: number; energy: number} => {
      const [x, z] = [half * Math.cos(tilt), half * Math.sin(tilt)];
      const logs = multibody({
        bodies: {
          a: {mass: 1.3, inertia: [0.006, 0.02, 0.02]},
          b: {
            mass: 0.8,
            inertia: [0.004, 0.015, 0.015],
            position: [0, 0, 0.163],
            rotation: [Math.cos(tilt / 2), 0, Math.sin(tilt / 2), 0],
            velocity: [0, 0, -2],
          },
        },
        contacts: [
          contact('a', 'b', {
            shapes: [
              capsule({radius: 0.06, from: [-0.15, 0, 0], to: [0.15, 0, 0]}),
              capsule({radius: 0.06, from: [-x, 0, 0.163 + z], to: [x, 0, 0.163 - z]}),
            ],
            stiffness: 5e4,
          }),
        ],
      });
      const path = simulate(logs, logs.initial, {scheme: rk4(), dt: 2e-5, steps: 1800, saveAt: 'end', observe: logs.energy}); // prettier-ignore
      path.dispose();
      return {spin: logs.pose(path, 'b').angularVelocity[4], energy: path.values('observed')[1]};
    };
    for (const half of [0.15, 0.1])
      for (const tilt of [0, 1e-9, 1e-3, 0.02, 0.1]) {
        const {spin, energy} = fall(half, tilt);
        // It begins with ½ 0.8 2² = 1.6, and the kinks of the force where points touch cost 10⁻⁶ of it.
        expect(energy, `${half}, ${tilt}`).to.be.closeTo(1.6, 3e-6);
        expect(Math.abs(spin) < 1e-9 + 300 * tilt, `${half}, ${tilt}: ${spin}`).to.equal(true);
        expect(fall(half, -tilt).spin).to.be.closeTo(-spin, 1e-9);
      }
  });

  const turning = (
    spec: {rolling?: number; spinning?: number; friction?: number},
    body: Partial<BodySpec>,
    other = false,
  ) =>
    multibody({
      gravity: other ? [0, 0, 0] : [0, 0, -g],
      bodies: {
        body: {mass, inertia: [ballInertia, ballInertia, ballInertia], position: [0, 0, radius - sunk(1)], ...body},
        ...(other ? {plate: {mass: 3, inertia: [0.05, 0.05, 0.08]}} : {}),
      },
      contacts: [
        contact(other ? 'plate' : 'ground', 'body', {
          shapes: [plane(), sphere({radius})],
          stiffness,
          dissipation: 1,
          ...spec,
        }),
      ],
    });

  it('a ball that rolls stops after 7 r v²/(10 μ_r g); one that spins turns by J w²/(2 μ_s m g)', () => {
    const [v, rolling] = [0.5, 0.002];
    const rolls = turning({rolling, friction: 0.5}, {velocity: [v, 0, 0], angularVelocity: [0, v / radius, 0]});
    const slowing = (rolling * g) / (1.4 * radius);
    expect(end(rolls, (0.5 * v) / slowing).vx).to.be.closeTo(v / 2, 1e-3);
    const stopped = end(rolls, (1.2 * v) / slowing);
    expect(stopped.x).to.be.closeTo(v ** 2 / (2 * slowing), 2e-3);
    // Smoothed couples let it creep, here under no load.
    expect(Math.abs(stopped.vx)).to.be.lessThan(1e-4);
    const [w, spinning] = [20, 0.004];
    const spins = turning({spinning}, {angularVelocity: [0, 0, w]});
    const time = (ballInertia * w) / (spinning * mass * g);
    const path = simulate(spins, spins.initial, {
      scheme: implicitMidpoint(),
      dt: 0.0005,
      t1: 0.5 * time,
      saveAt: 'end',
    });
    const {angularVelocity, velocity} = spins.pose(path, 'body');
    expect(angularVelocity[5]).to.be.closeTo(w / 2, 1e-3 * w);
    expect(Math.hypot(velocity[3], velocity[4])).to.be.lessThan(1e-9);
    path.dispose();
  });

  it('couples of rolling and spinning act on both bodies: their angular momentum stays', () => {
    const both = turning(
      {rolling: 0.01, spinning: 0.02},
      {angularVelocity: [3, -2, 5], velocity: [0, 0, -1], position: [0, 0, radius]},
      true,
    );
    const path = simulate(both, both.initial, {scheme: implicitMidpoint(), dt: 0.0001, t1: 0.02, saveAt: 'end', observe: both.momentum}); // prettier-ignore
    const momentum = path.values('observed');
    for (let axis = 3; axis < 6; axis++) expect(momentum[6 + axis]).to.be.closeTo(momentum[axis], 1e-6);
    // Something was exchanged: the plate turns, in both ways.
    const {angularVelocity} = both.pose(path, 'plate');
    expect(Math.hypot(angularVelocity[3], angularVelocity[4])).to.be.greaterThan(1e-3);
    expect(Math.abs(angularVelocity[5])).to.be.greaterThan(1e-3);
    path.dispose();
  });

  it('the derivative of where a ball stops, by its rolling friction, is −7 r v²/(10 μ_r² g)', () => {
    const [v, at] = [0.5, 0.002];
    const ball = multibody({
      gravity: [0, 0, -g],
      bodies: {body: {mass, inertia: [ballInertia, ballInertia, ballInertia], position: [0, 0, radius - sunk(1)], velocity: [v, 0, 0], angularVelocity: [0, v / radius, 0]}}, // prettier-ignore
      contacts: [
        contact('ground', 'body', {
          shapes: [plane(), sphere({radius})],
          stiffness,
          dissipation: 1,
          friction: 0.5,
          rolling: ((params: {rolling: tf.Tensor}) => params.rolling) as never,
          spin: 1e-3,
        }),
      ],
    });
    const t1 = (1.2 * v * 1.4 * radius) / (at * g);
    const {trajectory, pullback} = simulate.vjp(ball, ball.initial, {scheme: implicitMidpoint(), dt: 0.002, t1, saveAt: 'end', params: {rolling: at}}); // prettier-ignore
    trajectory.dispose();
    const q = new Float64Array(14);
    q[7] = 1;
    const {rolling} = pullback({q}).params as never as {rolling: Float64Array};
    expect(rolling[0]).to.be.closeTo((-0.7 * radius * v ** 2) / (at ** 2 * g), 0.01 * 0.7 * radius * v ** 2 / (at ** 2 * g)); // prettier-ignore
  });

  it('names pairs that are not known', () => {
    expect(() =>
      contact('a', 'b', {
        shapes: [box({size: [1, 1, 1]}), capsule({radius: 1, from: [0, 0, 0], to: [1, 0, 0]})],
        stiffness: 1,
      }),
    ).to.throw(OptionError, /box on capsule is not known/);
    expect(() => box({size: [1, 1, 0]})).to.throw(OptionError, /positive/);
    expect(() => sphere({radius: -1})).to.throw(OptionError, /radius/);
  });
});
