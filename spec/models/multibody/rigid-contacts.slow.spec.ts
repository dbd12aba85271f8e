/** Contacts that do not yield, by moreau(): rolling, boxes that tumble and stand, balls poured in a box; gradients; identification. */
import type * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {moreau, OptionError, simulate, type SimulateOptions} from '../../../lib/index.js';
import type {BodySpec, Multibody, RigidContact} from '../../../models/index.js';
import {contact, fixed, multibody, rigidContact} from '../../../models/index.js';
import {box, capsule, plane, sphere} from '../../../models/multibody/shapes.js';
import {lawsOfBalls} from './laws-of-balls.js';

const g = 9.81;
const gravity: [number, number, number] = [0, 0, -g];
const scheme = moreau();
type V3 = [number, number, number];
interface Friction {
  mu: tf.Tensor;
  e: tf.Tensor;
}
const law = {friction: ({mu}: Friction) => mu, restitution: ({e}: Friction) => e} as never as {
  friction: number;
  restitution: number;
};

/** Uniform in [−1, 1] (Park & Miller 1988). */
function random(seed: number): () => number {
  let state = seed;
  return () => ((state = (state * 16807) % 2147483647) / 2147483647) * 2 - 1;
}

describe('contacts that do not yield', () => {
  describe('a round body set down with speed v and no spin', () => {
    const [radius, v, mu] = [0.1, 2, 0.3];
    // J/(m r²) of a ball, a cylinder, a ring.
    for (const share of [0.4, 0.5, 1]) {
      it(`J = ${share} m r²: rolls from v/(μ g (1 + m r²/J)) on, at v/(1 + J/(m r²)), with its derivatives`, () => {
        const J = share * radius ** 2;
        const body = multibody({
          gravity,
          bodies: {body: {mass: 1, inertia: [J, J, J], position: [0, 0, radius], velocity: [v, 0, 0]}},
          contacts: [rigidContact('ground', 'body', {shapes: [plane(), sphere({radius})], ...law})],
        });
        const begins = v / (mu * g * (1 + 1 / share));
        const rolling = v / (1 + share);
        const run = (t1: number) =>
          simulate.vjp(body, body.initial, {scheme, dt: 0.002, t1, saveAt: 'end', params: {mu, e: 0}});
        const sliding = run(0.1);
        expect(body.pose(sliding.trajectory, 'body').velocity[3]).to.be.closeTo(v - mu * g * 0.1, 1e-9);
        const {trajectory, pullback} = run(0.6);
        const {velocity, angularVelocity, position} = body.pose(trajectory, 'body');
        expect(velocity[3]).to.be.closeTo(rolling, 1e-9);
        expect(angularVelocity[4] * radius).to.be.closeTo(rolling, 1e-9);
        // x = v t − ½ μ g t² until it rolls; first order, so off by less than a step's way.
        const way = v * begins - (mu * g * begins ** 2) / 2 + rolling * (0.6 - begins);
        expect(position[3]).to.be.closeTo(way, 0.002 * v);
        const row = [0, 0, 0, 0, 0, 0, 0];
        const {params} = pullback({q: [[row], [[1, 0, 0, 0, 0, 0, 0]]]});
        // The way depends on μ by the time of slip alone: it is rolling·T + c/μ.
        const byMu = -(v * begins - (mu * g * begins ** 2) / 2 - rolling * begins) / mu;
        expect((params.mu as Float64Array)[0]).to.be.closeTo(byMu, 0.02 * Math.abs(byMu));
      });
    }
  });

  const size: V3 = [0.3, 0.25, 0.2];
  const tumbling = multibody({
    gravity,
    bodies: {box: {mass: 1, inertia: [0.01, 0.012, 0.015]}},
    contacts: [rigidContact('ground', 'box', {shapes: [plane(), box({size})], ...law})],
  });
  const thrown = (next: () => number, dv = 0) => {
    const rotation = [next(), next(), next(), next()];
    const length = Math.hypot(...rotation);
    const v = [next() + dv, next(), 0, 6 * next(), 6 * next(), 6 * next()];
    return {q: [[0, 0, 0.6, ...rotation.map(x => x / length)]], v: [v]};
  };
  const cotangent = {q: [[[0, 0, 0, 0, 0, 0, 0]], [[1, 1, 0, 0, 0, 0, 0]]]};

  it('a box thrown on a floor tumbles to rest on a face; derivatives are those of differences to 1e-6', () => {
    for (const seed of [1]) {
      const options = (mu: number): SimulateOptions => ({scheme, dt: 0.01, t1: 2, params: {mu, e: 0.2}});
      const {trajectory, pullback} = simulate.vjp(tumbling, thrown(random(seed)), {...options(0.5), saveAt: 'end'});
      const {position, velocity, angularVelocity} = tumbling.pose(trajectory, 'box');
      expect(Math.min(...size.map(edge => Math.abs(position[5] - edge / 2)))).to.be.lessThan(1e-7);
      expect(Math.hypot(...velocity.slice(3), ...angularVelocity.slice(3))).to.be.lessThan(1e-6);
      const {params, initial} = pullback(cotangent);
      const where = (mu: number, dv: number): number => {
        const path = simulate(tumbling, thrown(random(seed), dv), {...options(mu), saveAt: 'end'});
        path.dispose();
        return path.values('q')[7] + path.values('q')[8];
      };
      const d = 1e-6;
      expect((params.mu as Float64Array)[0]).to.be.closeTo((where(0.5 + d, 0) - where(0.5 - d, 0)) / (2 * d), 1e-6);
      expect((initial.v as Float64Array)[0]).to.be.closeTo((where(0.5, d) - where(0.5, -d)) / (2 * d), 1e-6);
    }
  });

  it('boxes that tumble: the laws of Coulomb and Moreau hold to 1e-8 in every step', () => {
    const [h, mu, e, J] = [0.01, 0.5, 0.2, [0.01, 0.012, 0.015]];
    // As the library takes a box's corners does not matter: the multipliers are matched by their number.
    const corners = size.reduce<number[][]>(
      (all, edge) => all.flatMap(corner => [-1, 1].map(sign => [...corner, (sign * edge) / 2])),
      [[]],
    );
    for (const seed of [1, 2, 4]) {
      const path = simulate(tumbling, thrown(random(seed)), {scheme, dt: h, t1: 1.5, params: {mu, e}});
      path.dispose();
      const [q, v, lambda] = (['q', 'v', 'lambda'] as const).map(name => path.values(name));
      let [worst, touched, most] = [0, 0, 0];
      for (let step = 1; 24 * step < lambda.length; step++) {
        const [w, ...u] = q.subarray(7 * step - 4, 7 * step);
        const [before, after] = [step - 1, step].map(k => [...v.subarray(6 * k, 6 * k + 6)]);
        // Without contact: gravity, and Euler's equations in body axes.
        const omega = before.slice(3);
        const gyro = cross(omega, omega.map((x, k) => J[k] * x)); // prettier-ignore
        const free = [...before.slice(0, 3), ...omega.map((x, k) => x - (h * gyro[k]) / J[k])];
        free[2] -= h * g;
        const turn = (x: number[]): number[] => {
          const t = cross(u, x).map(y => 2 * y);
          return cross(u, t).map((y, k) => y + x[k] + w * t[k]);
        };
        const all = lambda.subarray(24 * step, 24 * step + 24);
        corners.forEach((corner, c) => {
          const velocity = (twist: number[]): number[] =>
            turn(cross(twist.slice(3), corner)).map((x, k) => x + twist[k]);
          const [u0, uf, u1] = [before, free, after].map(velocity);
          const gap = q[7 * step - 5] + turn(corner)[2];
          const closing = uf[2] < 0 && gap + h * uf[2] <= 0;
          const s = closing ? Math.max(0, gap) / (-h * uf[2]) : 0;
          const forced = uf.map((x, k) => x - u0[k]);
          const came = Math.max(0, -u0[2] - s * forced[2]);
          const bounce = Math.max(0, e * came + (1 - s) * forced[2]);
          const leaves = closing ? (bounce > 1e-6 * Math.hypot(...forced) ? bounce : 0) : -Math.max(0, gap) / h;
          const [push, ...rub] = [all[c], all[8 + 2 * c], all[9 + 2 * c]].map(x => h * x);
          const [along, ...slip] = [
            u1[2] - leaves,
            ...u1.slice(0, 2).map((x, k) => x - (leaves > 0 ? (1 - s) * forced[k] : 0)),
          ];
          const wanted = rub.map((x, k) => x - slip[k]);
          const radius = mu * push;
          const shrink = Math.min(1, radius / Math.max(1e-300, Math.hypot(...wanted)));
          touched += push > 0 ? 1 : 0;
          most = Math.max(most, push);
          worst = Math.max(
            worst,
            Math.abs(Math.min(push, along)),
            Math.abs(push * along),
            Math.hypot(...rub) - radius,
            push > 0 ? Math.hypot(...rub.map((x, k) => x - shrink * wanted[k])) : 0,
          );
        });
      }
      expect(touched).to.be.greaterThan(100);
      expect(most).to.be.greaterThan(0.5);
      // Velocities in m/s and impulses of 1 kg m/s.
      expect(worst, `seed ${seed}`).to.be.lessThan(1e-8);
    }
  });

  it("a box that lands flat, by Poisson's law: impulses of corners, and derivatives", () => {
    const incline = 0.41833;
    const normal: V3 = [Math.sin(incline), 0, Math.cos(incline)];
    const landing = multibody({
      gravity,
      bodies: {
        box: {
          mass: 1.3,
          inertia: (({J}: {J: tf.Tensor}) => J) as never,
          position: [0.10156, 0, 0.22844],
          rotation: [-0.187956, -0.53037, -0.655994, -0.503042],
          velocity: [-0.558607, -0.509785, -1.337659],
          angularVelocity: [3.141858, 2.717947, 1.386137],
        },
      },
      contacts: [rigidContact('ground', 'box', {shapes: [plane({normal}), box({size})], ...law})],
    });
    const run = {scheme: moreau({impact: 'poisson'}), dt: 0.01, steps: 13, saveAt: 'end'} as const;
    const J = [0.0075, 0.0072, 0.0079];
    const params = {J, mu: 0.1, e: 0};
    const {trajectory, pullback} = simulate.vjp(landing, landing.initial, {...run, params});
    // On all four corners in the end, none of them on a border that a warning tells of.
    expect(trajectory.warnings).to.deep.equal([]);
    const lambda = trajectory.values('lambda');
    expect([...lambda.subarray(lambda.length - 24, lambda.length - 16)].filter(push => push > 0)).to.have.length(4);
    const gradient = pullback({v: [[[0, 0, 0, 0, 0, 0]], [[1, -0.7, 0.4, 0.2, 0.3, -0.5]]]}).params.J as Float64Array;
    const value = (moments: number[]): number => {
      const path = simulate(landing, landing.initial, {...run, params: {...params, J: moments}});
      path.dispose();
      const [vx, vy, vz, wx, wy, wz] = path.values('v').slice(6);
      return vx - 0.7 * vy + 0.4 * vz + 0.2 * wx + 0.3 * wy - 0.5 * wz;
    };
    J.forEach((_, k) => {
      const d = 1e-7;
      const moved = (by: number): number => value(J.map((x, i) => (i === k ? x + by : x)));
      const slope = (moved(d) - moved(-d)) / (2 * d);
      // Velocities hold to some 1e-11, over 2d.
      expect(gradient[k]).to.be.closeTo(slope, 1e-3 + 1e-4 * Math.abs(slope));
    });
    trajectory.dispose();
  });

  describe('a box that slides on the edges of another and turns', () => {
    const shape = box({size: [0.2, 0.2, 0.1]});
    const half = 0.05;
    const upper: BodySpec = {
      ...{mass: 0.5, inertia: [0.005, 0.005, 0.005], position: [0.02, 0.01, 0.1]},
      ...{rotation: [Math.cos(half), 0, 0, Math.sin(half)], velocity: [0.4, 0, 0], angularVelocity: [0, 0, 1]},
    };
    const sliding = multibody({
      gravity,
      bodies: {upper},
      contacts: [rigidContact('ground', 'upper', {shapes: [shape, shape], friction: 0.3})],
    });

    it('derivatives by its place know that the load moves among the corners', () => {
      const [[...q], [...v]] = [(sliding.initial.q as number[][])[0], (sliding.initial.v as number[][])[0]];
      const prepared = simulate.prepare(sliding, sliding.initial, {scheme, dt: 0.005, steps: 20});
      const {pullback} = prepared.vjp({initial: {q: [q], v: [v]}});
      const spins = (k: number, by: number): Float64Array =>
        prepared
          .run({initial: {q: [q.map((x, i) => (i === k ? x + by : x))], v: [v]}})
          .values('v')
          .filter((_, i) => i % 6 === 5);
      for (const k of [0, 1]) {
        const [more, less] = [1e-6, -1e-6].map(by => spins(k, by));
        for (const step of [1, 20]) {
          const slope = (more[step] - less[step]) / 2e-6;
          expect(Math.abs(slope)).to.be.above(0.4);
          const cotangent = Array.from(more, (_, n) => [[0, 0, 0, 0, 0, n === step ? 1 : 0]]);
          const found = pullback({v: cotangent}).initial.q as Float64Array;
          // Held to the corners that it was on, the load made these wrong by a hundredth in a step, and by a seventh in twenty.
          expect(found[k], `step ${step}, ${k}`).to.be.closeTo(slope, 2e-6 * Math.abs(slope));
        }
      }
    });

    it('on a body held by a joint as on the ground, from any initial guess of the accelerations', () => {
      const held = multibody({
        gravity,
        bodies: {lower: {mass: 1, inertia: [0.01, 0.01, 0.01]}, upper},
        joints: {held: fixed('ground', 'lower')},
        contacts: [rigidContact('lower', 'upper', {shapes: [shape, shape], friction: 0.3})],
      });
      for (const dt of [0.005, 0.01, 0.0101, 0.011]) {
        const [one, other] = [sliding, held].map(system => {
          const path = simulate(system, system.initial, {scheme, dt, steps: 10, saveAt: 'end'});
          return system.pose(path, 'upper').position.slice(3);
        });
        expect(one[0]).to.be.above(0.03);
        one.forEach((x, i) => expect(other[i], `dt = ${dt}`).to.be.closeTo(x, 1e-8));
      }
    });
  });

  it('a stack of four boxes, not quite straight, stands', () => {
    const bodies: {[name: string]: BodySpec} = {};
    const contacts: RigidContact[] = [];
    for (let i = 0; i < 4; i++) {
      bodies[`b${i}`] = {mass: 1 + i, inertia: [0.01, 0.01, 0.01], position: [0.02 * (i % 2), 0, 0.1 + 0.2 * i]};
      const top = plane({at: [0, 0, 0.2 * i]});
      const cube = box({size: [0.2, 0.2, 0.2]});
      contacts.push(rigidContact(i === 0 ? 'ground' : `b${i - 1}`, `b${i}`, {shapes: [top, cube], friction: 0.4}));
    }
    const stack = multibody({gravity, bodies, contacts});
    const path = simulate(stack, stack.initial, {scheme, dt: 0.02, t1: 2, saveAt: 'end'});
    path.dispose();
    for (let i = 0; i < 4; i++) {
      const {position} = stack.pose(path, `b${i}`);
      for (let axis = 0; axis < 3; axis++) expect(position[3 + axis], `b${i}`).to.be.closeTo(position[axis], 1e-7);
    }
    // What the floor carries.
    const lambda = path.values('lambda').slice(-(32 * 3));
    expect(lambda.slice(0, 8).reduce((sum, x) => sum + x)).to.be.closeTo(10 * g, 1e-5);
  });

  it('a capsule lies down on its side', () => {
    const lying = multibody({
      gravity,
      bodies: {c: {mass: 1, inertia: [0.01, 0.01, 0.002], position: [0, 0, 0.3], angularVelocity: [0, 1, 0]}},
      contacts: [
        rigidContact('ground', 'c', {
          shapes: [plane(), capsule({radius: 0.05, from: [0, 0, 0.2], to: [0, 0, 0.4]})],
          friction: 0.6,
        }),
      ],
    });
    const path = simulate(lying, lying.initial, {scheme, dt: 0.01, t1: 3, saveAt: 'end'});
    path.dispose();
    expect(lying.pose(path, 'c').position[5]).to.be.closeTo(0.05, 1e-6);
  });

  it('parallel logs of one length that meet: derivatives are those of balls at their ends, on both sides', () => {
    const log = (z: number) => capsule({radius: 0.06, from: [-0.15, 0, z], to: [0.15, 0, z]});
    const ball = (x: number, z: number) => sphere({radius: 0.06, at: [x, 0, z]});
    const found = [[[log(0), log(0.163)]], [-0.15, 0.15].map(x => [ball(x, 0), ball(x, 0.163)])].map(pairs => {
      const system = multibody({
        bodies: {
          a: {mass: 1.3, inertia: [0.006, 0.02, 0.02]},
          b: {mass: 0.8, inertia: [0.004, 0.015, 0.015], position: [0, 0, 0.163], velocity: [0, 0, -2]},
        },
        contacts: pairs.map(([one, other]) =>
          rigidContact('a', 'b', {shapes: [one, other], restitution: 0.5, friction: 0.3}),
        ),
      });
      const prepared = simulate.prepare(system, system.initial, {scheme, dt: 0.004, steps: 8, saveAt: 'end'});
      const {pullback} = prepared.vjp();
      const ofSpin = [[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0]]; // prettier-ignore
      const {initial} = pullback({v: [[[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]], ofSpin]}); // prettier-ignore
      const after = (tilt: number, spin: number): number => {
        const b = [0, 0, 0.163, Math.cos(tilt / 2), 0, Math.sin(tilt / 2), 0];
        const start = {q: [[0, 0, 0, 1, 0, 0, 0], b], v: [[0, 0, 0, 0, 0, 0], [0, 0, -2, 0, spin, 0]]}; // prettier-ignore
        return prepared.run({initial: start}).values('v')[22];
      };
      const sides = (of: (h: number) => number): number[] => [1e-5, -1e-5].map(h => (of(h) - of(0)) / h);
      const [bySpin, byTilt] = [(initial.v as Float64Array)[10], (initial.q as Float64Array)[12] / 2];
      for (const side of sides(h => after(0, h))) expect(side).to.be.closeTo(bySpin, 1e-6);
      for (const side of sides(h => after(h, 0))) expect(side).to.be.closeTo(byTilt, 1e-5);
      return bySpin;
    });
    expect(found[0]).to.be.closeTo(found[1], 1e-6);
  });

  it('balls poured in a box: the laws of contact hold in every step, and none penetrates another', () => {
    const [radius, mu, h, n] = [0.1, 0.4, 0.01, 5];
    const next = random(7);
    const bodies: {[name: string]: BodySpec} = {};
    const contacts: RigidContact[] = [];
    const walls: [V3, V3][] = [
      [[0, 0, 0], [0, 0, 1]],
      [[-0.17, 0, 0], [1, 0, 0]],
      [[0.17, 0, 0], [-1, 0, 0]],
      [[0, -0.17, 0], [0, 1, 0]],
      [[0, 0.17, 0], [0, -1, 0]],
    ]; // prettier-ignore
    for (let i = 0; i < n; i++) {
      const position: V3 = [0.05 * next(), 0.05 * next(), 0.12 + 0.22 * i];
      bodies[`s${i}`] = {mass: 1, inertia: [0.004, 0.004, 0.004], position};
      for (const [at, normal] of walls)
        contacts.push(rigidContact('ground', `s${i}`, {shapes: [plane({at, normal}), sphere({radius})], friction: mu}));
      for (let j = 0; j < i; j++)
        contacts.push(rigidContact(`s${j}`, `s${i}`, {shapes: [sphere({radius}), sphere({radius})], friction: mu}));
    }
    const poured = multibody({gravity, bodies, contacts});
    const path = simulate(poured, poured.initial, {scheme, dt: h, t1: 1});
    path.dispose();
    const [q, v, lambda] = (['q', 'v', 'lambda'] as const).map(name => path.values(name));
    const balls = Array.from({length: n}, (_, i) => i);
    const onWalls = balls.flatMap(i => walls.map((_, wall): [number, number] => [-1 - wall, i]));
    const onBalls = balls.flatMap(i => balls.slice(0, i).map((j): [number, number] => [j, i]));
    const pairs = [...onWalls, ...onBalls];
    const rows = 3 * pairs.length;
    const pieces = [{steps: lambda.length / rows - 1, pairs, q, v, lambda: lambda.subarray(rows)}];
    const given = {n, h, radius, mu, walls: walls.map(([at, normal]) => ({at, normal}))};
    const {worst, most, deepest} = lawsOfBalls(pieces, given);
    expect(most).to.be.greaterThan(100);
    // Balls of 0.1 m do not lie in each other, wedged as they are.
    expect(deepest).to.be.lessThan(1e-8);
    // Of velocities in m/s, and impulses of 1 kg m/s.
    expect(worst).to.be.lessThan(1e-8);
  });

  it('μ and e are found in a record with noise, within its errors', () => {
    const [radius, sigma] = [0.1, 1e-3];
    const ball = multibody({
      gravity,
      bodies: {ball: {mass: 1, inertia: [0.004, 0.004, 0.004], position: [0, 0, 0.6], velocity: [2, 0.5, 0]}},
      contacts: [rigidContact('ground', 'ball', {shapes: [plane(), sphere({radius})], ...law})],
    });
    const options = (mu: number, e: number): SimulateOptions => ({scheme, dt: 0.005, t1: 1.2, params: {mu, e}});
    const truth = {mu: 0.06, e: 0.7};
    const clean = simulate(ball, ball.initial, options(truth.mu, truth.e));
    clean.dispose();
    const next = random(11);
    // The sum of twelve uniform numbers is nearly normal, with variance 4.
    const noise = (): number => (sigma / 2) * Array.from({length: 12}, next).reduce((sum, x) => sum + x);
    const record = clean.values('q').map(x => x + noise());
    // Gauss and Newton on x and z, by sensitivities one way forward.
    const seen = (values: Float64Array): Float64Array => values.filter((_, k) => k % 7 === 0 || k % 7 === 2);
    // Beyond 0.1 it rolls from the first impact on, whatever μ is.
    let [mu, e, errors] = [0.04, 0.6, [0, 0]];
    for (let iteration = 0; iteration < 8; iteration++) {
      const along = (name: 'mu' | 'e'): Float64Array => {
        const {tangent} = simulate.jvp(ball, ball.initial, options(mu, e), {
          params: {mu: name === 'mu' ? 1 : 0, e: name === 'e' ? 1 : 0},
        });
        return seen(tangent.q as Float64Array);
      };
      const path = simulate(ball, ball.initial, options(mu, e));
      path.dispose();
      const residual = seen(path.values('q').map((x, k) => record[k] - x));
      const [a, b] = [along('mu'), along('e')];
      const [aa, ab, bb, ar, br] = [dot(a, a), dot(a, b), dot(b, b), dot(a, residual), dot(b, residual)];
      const determinant = aa * bb - ab * ab;
      mu += (bb * ar - ab * br) / determinant;
      e += (aa * br - ab * ar) / determinant;
      errors = [sigma * Math.sqrt(bb / determinant), sigma * Math.sqrt(aa / determinant)];
    }
    expect(errors[0]).to.be.lessThan(2e-3);
    expect(errors[1]).to.be.lessThan(2e-3);
    expect(Math.abs(mu - truth.mu)).to.be.lessThan(3 * errors[0]);
    expect(Math.abs(e - truth.e)).to.be.lessThan(3 * errors[1]);
  });

  it('is refused where it is none', () => {
    const shapes = [plane(), box({size})] as const;
    expect(() => rigidContact('ground', 'b', {shapes: [plane(), plane()]})).to.throw(OptionError, 'plane on plane');
    expect(() => rigidContact('ground', 'b', {shapes, stiffness: 1} as never)).to.throw(OptionError, 'stiffness');
    const built = (spec: object, make: typeof rigidContact | typeof contact): unknown =>
      multibody({
        bodies: {b: {mass: 1, inertia: [1, 1, 1]}},
        contacts: [(make as typeof rigidContact)('ground', 'b', {shapes, ...spec})],
      });
    expect(() => built({friction: -1}, rigidContact)).to.throw(
      OptionError,
      'rigidContact: friction must be finite and',
    );
    for (const restitution of [2, -0.5, NaN])
      expect(() => built({restitution}, rigidContact)).to.throw(OptionError, 'restitution must be from 0 to 1');
    for (const spec of [{stiffness: -1}, {stiffness: 1, friction: -1}, {stiffness: 1, dissipation: -1}])
      expect(() => built(spec, contact)).to.throw(OptionError, 'must be finite and not negative');
    expect(() => built({stiffness: 1, slip: 0}, contact)).to.throw(OptionError, 'slip must be finite and positive');
    const one: Multibody = multibody({
      bodies: {b: {mass: 1, inertia: [1, 1, 1]}},
      contacts: [rigidContact('ground', 'b', {shapes})],
    });
    expect(() => simulate(one, one.initial, {dt: 0.1, steps: 1})).to.throw(OptionError, 'moreau()');
  });
});

const cross = (a: readonly number[], b: readonly number[]): number[] => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};
