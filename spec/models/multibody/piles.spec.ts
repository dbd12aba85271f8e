/**
 * Many contacts at once: a stack of boxes, a plate on balls, balls poured into a box. The laws of contact are counted in every step, by a
 * count of its own, in velocities (m/s) and impulses (kg m/s).
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {moreau, simulate} from '../../../lib/index.js';
import {
  box,
  multibody,
  plane,
  rigidContact,
  simulateNear,
  sphere,
  type BodySpec,
  type RigidContact,
} from '../../../models/index.js';
import {lawsOfBalls} from './laws-of-balls.js';

type V3 = readonly [number, number, number];
const [g, scheme] = [9.81, moreau()];
const gravity = [0, 0, -g] as const;

describe('piles', () => {
  it('three boxes on each other, by contacts of boxes, stand', () => {
    const [edge, mu, h] = [0.2, 0.5, 0.02];
    const at = (i: number): V3 => [0.01 * (i % 2), 0.01 * (i % 3), edge * (i + 0.5)];
    const cube = (i: number) => box({size: [edge, edge, edge], at: at(i)});
    const bodies: {[name: string]: BodySpec} = {};
    const contacts: RigidContact[] = [];
    for (let i = 0; i < 3; i++) {
      bodies[`b${i}`] = {mass: 1, inertia: [edge ** 2 / 6, edge ** 2 / 6, edge ** 2 / 6], position: at(i)};
      contacts.push(
        i === 0
          ? rigidContact('ground', 'b0', {shapes: [plane(), cube(0)], friction: mu})
          : rigidContact(`b${i - 1}`, `b${i}`, {shapes: [cube(i - 1), cube(i)], friction: mu}),
      );
    }
    const stack = multibody({gravity, bodies, contacts});
    const path = simulate(stack, stack.initial, {scheme, dt: h, t1: 3});
    path.dispose();
    const [q, v, lambda] = (['q', 'v', 'lambda'] as const).map(name => path.values(name));
    // Positions and tilt.
    for (let i = 0; i < 21; i++) expect(q.at(i - 21)).to.be.closeTo(q[i], 1e-9);
    // 8 corners on the floor, 12 points of each of two pairs; of every sort normal forces, then tangential ones.
    const rows = 3 * (8 + 24);
    let [worst, off] = [0, 0];
    for (let step = 1; step * rows < lambda.length; step++) {
      const all = lambda.subarray(step * rows, (step + 1) * rows);
      const carried = [0, 0, 0];
      const judge = (interfaceOf: number, push: number, rub: readonly number[]): void => {
        carried[interfaceOf] += push;
        worst = Math.max(worst, h * -push, h * (Math.hypot(...rub) - mu * push));
      };
      for (let c = 0; c < 8; c++) judge(0, all[c], [all[8 + 2 * c], all[9 + 2 * c]]);
      for (let c = 0; c < 24; c++) judge(1 + (c % 2), all[24 + c], [all[48 + 2 * c], all[49 + 2 * c]]);
      carried.forEach((push, i) => (off = Math.max(off, Math.abs(push - (3 - i) * g))));
      // No point of contact moves faster than its bodies.
      for (let i = 0; i < 18; i++) worst = Math.max(worst, Math.abs(v[18 * step + i]));
    }
    expect(worst).to.be.lessThan(1e-8);
    expect(off).to.be.lessThan(1e-5);
  });

  const [radius, across, half, mu] = [0.1, 3, [0.5, 0.5, 0.05], 0.5] as const;
  const plate = {mass: 4, inertia: [0.4, 0.4, 0.7], position: [0, 0, 2 * radius + half[2]]} satisfies BodySpec;
  const count = across ** 2;
  /** A plate on balls in rows and columns, on a floor. @param push on the plate, along x */
  const carried = (push: number) => {
    const bodies: {[name: string]: BodySpec} = {plate};
    const contacts: RigidContact[] = [];
    const ball = sphere({radius});
    const top = box({size: [2 * half[0], 2 * half[1], 2 * half[2]]});
    for (let i = 0; i < count; i++) {
      const place = (k: number): number => 0.3 * (k - (across - 1) / 2);
      bodies[`s${i}`] = {
        mass: 1,
        inertia: [0.004, 0.004, 0.004],
        position: [place(i % across), place(Math.floor(i / across)), radius],
      };
      contacts.push(rigidContact('ground', `s${i}`, {shapes: [plane(), ball], friction: mu}));
    }
    for (let i = 0; i < count; i++) contacts.push(rigidContact('plate', `s${i}`, {shapes: [top, ball], friction: mu}));
    const pushed = (): tf.Tensor => tf.tensor2d([[push, 0, 0, 0, 0, 0], ...Array.from({length: count}, () => [0, 0, 0, 0, 0, 0])]); // prettier-ignore
    return multibody({gravity, bodies, contacts, forces: [pushed]});
  };

  it('a plate on nine balls: all carry, it stays level, and the laws of contact hold', () => {
    const h = 0.01;
    const rests = carried(0);
    const path = simulate(rests, rests.initial, {scheme, dt: h, steps: 50});
    path.dispose();
    const [q, v, lambda] = (['q', 'v', 'lambda'] as const).map(name => path.values(name));
    const rows = 6 * count;
    let [worst, off] = [0, 0];
    for (let step = 1; step <= 50; step++) {
      const all = lambda.subarray(step * rows, (step + 1) * rows);
      for (const from of [0, 3 * count]) {
        const push = all.subarray(from, from + count);
        for (let c = 0; c < count; c++) {
          const rub = all.subarray(from + count + 2 * c, from + count + 2 * c + 2);
          worst = Math.max(worst, h * -push[c], h * (Math.hypot(...rub) - mu * push[c]));
        }
        const weight = (plate.mass + (from === 0 ? count : 0)) * g;
        off = Math.max(off, Math.abs(push.reduce((a, b) => a + b) - weight));
      }
      // At rest: no point moves, so that what presses does not leave, and nothing slips.
      for (let i = 0; i < 6 * (count + 1); i++) worst = Math.max(worst, Math.abs(v[6 * (count + 1) * step + i]));
    }
    expect(worst).to.be.lessThan(1e-8);
    expect(off).to.be.lessThan(1e-5);
    for (let i = 0; i < 7; i++) expect(q.at(i - 7 * (count + 1))).to.be.closeTo(q[i], 1e-8);
  });

  it('pushed, it rolls twice as fast as they do, with the acceleration of rolling', () => {
    const [push, h, steps] = [6, 0.005, 60];
    const rolls = carried(push);
    const path = simulate(rolls, rolls.initial, {scheme, dt: h, steps, saveAt: 'end'});
    path.dispose();
    const speed = (name: string): number => rolls.pose(path, name).velocity[3];
    // ½ M (2u)² + n ½ (m + J/r²) u² grows by the power 2 u F.
    const acceleration = (4 * push) / (4 * plate.mass + count * 1.4);
    expect(speed('plate')).to.be.closeTo(acceleration * steps * h, 1e-6);
    for (let i = 0; i < count; i++) expect(speed(`s${i}`)).to.be.closeTo(speed('plate') / 2, 1e-7);
  });

  it('balls poured in pieces: the laws of contact in every step, and they do not get into each other', () => {
    const [n, h, steps, friction, wide] = [10, 0.005, 120, 0.4, 0.25];
    const normals: V3[] = [[0, 0, 1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]]; // prettier-ignore
    const walls = normals.map(normal => ({normal, at: normal.map(x => -wide * x * (normal[2] === 0 ? 1 : 0)) as never as V3})); // prettier-ignore
    const planes = walls.map(wall => plane(wall));
    const bodies: {[name: string]: BodySpec} = {};
    for (let i = 0; i < n; i++)
      bodies[`s${i}`] = {
        mass: 1,
        inertia: [0.004, 0.004, 0.004],
        position: [0.11 * (2 * (i % 2) - 1) + 0.006 * (i % 3), 0.11 * (2 * (Math.floor(i / 2) % 2) - 1), 0.12 + 0.22 * Math.floor(i / 4)], // prettier-ignore
      };
    const ball = sphere({radius});
    const run = simulateNear(
      {
        system: {gravity, bodies},
        reach: Object.fromEntries(Object.keys(bodies).map(name => [name, radius])),
        planes,
        contact: (a, b, wall) => rigidContact(a, b, {shapes: [wall ?? ball, ball], friction}),
        margin: 0.05,
      },
      {dt: h, steps, piece: 60},
    );
    expect(run.pieces.length).to.be.greaterThan(1);
    const {worst, most, deepest} = lawsOfBalls(run, {n, h, radius, mu: friction, walls});
    expect(most).to.be.greaterThan(100);
    expect(worst).to.be.lessThan(1e-8);
    // A step that takes the surface for its tangent plane leaves about (h v)²/r, v the speed of what rolls: 2e-4.
    expect(deepest).to.be.lessThan(1e-3);
  });
});
