/**
 * Many contacts at once: a stack of boxes, a plate on balls, balls poured into a box. The laws of contact are counted in every step, by a
 * count of its own, in velocities (m/s) and impulses (kg m/s).
 */
import {expect} from 'chai';
import * as tf from '@tensorflow/tfjs';
import {frictionalContact, mechanics, moreau, NewtonError, simulate} from '../../../lib/index.js';
import {multibody, rigidContact, simulateNear, type BodySpec, type RigidContact} from '../../../models/index.js';
import {box, plane, sphere} from '../../../models/multibody/shapes.js';
import {carried, lawsAtRest, rollingAcceleration} from './carried.js';
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

  it('a plate on nine balls: all carry, it stays level, and the laws of contact hold', () => {
    const [h, rests] = [0.01, carried(3, {mass: 4, friction: 0.5})];
    const path = simulate(rests.system, rests.system.initial, {scheme, dt: h, steps: 50, params: {push: 0}});
    path.dispose();
    const {worst, off} = lawsAtRest(rests, path, h);
    expect(worst).to.be.lessThan(1e-8);
    expect(off).to.be.lessThan(1e-5);
    const q = path.values('q');
    for (let i = 0; i < 7; i++) expect(q.at(i - 7 * (rests.count + 1))).to.be.closeTo(q[i], 1e-8);
  });

  it('a box on 25 balls, pushed: the acceleration of rolling, and its derivative', () => {
    // leggedrobotics/SimBenchmark's box of 10 kg and push of 150 N; rolling takes 0.71 of a ball's load as friction.
    const [push, h, steps] = [150, 0.005, 20];
    const rolls = carried(5, {mass: 10, friction: 1});
    const options = {scheme, dt: h, steps, saveAt: 'end', params: {push}} as const;
    const {trajectory, pullback} = simulate.vjp(rolls.system, rolls.system.initial, options);
    trajectory.dispose();
    const speed = (name: string): number => rolls.system.pose(trajectory, name).velocity[3];
    expect(speed('plate')).to.be.closeTo(rollingAcceleration(rolls, push) * steps * h, 1e-6);
    for (let i = 0; i < rolls.count; i++) expect(speed(`s${i}`)).to.be.closeTo(speed('plate') / 2, 1e-7);
    const cotangent = new Float64Array(2 * 6 * (rolls.count + 1));
    cotangent[6 * (rolls.count + 1)] = 1;
    const {push: byPush} = pullback({v: cotangent}).params as unknown as {push: Float64Array};
    expect(byPush[0]).to.be.closeTo(rollingAcceleration(rolls, 1) * steps * h, 1e-8);
  });

  /** Balls of radius 0.1 m and 1 kg on a floor between four walls, 2 `half` apart, and how far the laws are off in all steps. */
  function between(
    half: number,
    states: readonly Pick<BodySpec, 'position' | 'velocity' | 'angularVelocity'>[],
    options: {readonly dt: number; readonly steps: number; readonly piece?: number},
    margin: number,
  ) {
    const [friction, radius] = [0.4, 0.1];
    const normals: V3[] = [[0, 0, 1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]]; // prettier-ignore
    const walls = normals.map(normal => ({normal, at: normal.map(x => -half * x * (normal[2] === 0 ? 1 : 0)) as never as V3})); // prettier-ignore
    const bodies = Object.fromEntries(
      states.map((state, i): [string, BodySpec] => [`s${i}`, {mass: 1, inertia: [0.004, 0.004, 0.004], ...state}]),
    );
    const ball = sphere({radius});
    const run = simulateNear(
      {
        system: {gravity, bodies},
        reach: Object.fromEntries(Object.keys(bodies).map(name => [name, radius])),
        planes: walls.map(wall => plane(wall)),
        contact: (a, b, wall) => rigidContact(a, b, {shapes: [wall ?? ball, ball], friction}),
        margin,
      },
      options,
    );
    return {run, ...lawsOfBalls(run.pieces, {n: states.length, h: options.dt, radius, mu: friction, walls})};
  }

  /** Balls let go in layers of across² over a box. */
  function pour(n: number, across: number, h: number, steps: number, wide: number) {
    const place = (k: number): number => 0.22 * ((k % across) - (across - 1) / 2);
    const states = Array.from({length: n}, (_, i) => ({
      position: [place(i) + 0.006 * (i % 3), place(Math.floor(i / across)), 0.12 + 0.22 * Math.floor(i / across ** 2)] as const, // prettier-ignore
    }));
    return between(wide, states, {dt: h, steps, piece: 60}, 0.05);
  }

  it('balls poured in pieces: the laws of contact in every step, and they do not get into each other', () => {
    const {run, worst, most, deepest} = pour(10, 2, 0.005, 120, 0.25);
    expect(run.pieces.length).to.be.greaterThan(1);
    expect(most).to.be.greaterThan(100);
    expect(worst).to.be.lessThan(1e-8);
    // A step that takes the surface for its tangent plane leaves about (h v)²/r, v the speed of what rolls: 2e-4.
    expect(deepest).to.be.lessThan(1e-3);
  });

  it('sixty balls poured on each other: the same laws', () => {
    const {worst, most, deepest} = pour(60, 3, 0.01, 30, 0.35);
    expect(most).to.be.greaterThan(100);
    expect(worst).to.be.lessThan(1e-8);
    // Some fall at 2 m/s past each other.
    expect(deepest).to.be.lessThan(5e-3);
  });

  it('five balls that wedge each other in a narrow box: the same laws', () => {
    const half = 0.17;
    let seed = 68;
    const next = (): number => ((seed = (seed * 16807) % 2147483647) / 2147483647) * 2 - 1;
    next();
    const states = [0, 1, 2, 3, 4].map(i => ({position: [(half - 0.1) * next(), (half - 0.1) * next(), 0.15 + 0.25 * i] as const})); // prettier-ignore
    const {worst, deepest} = between(half, states, {dt: 0.01, steps: 150}, 0.03);
    expect(worst).to.be.lessThan(1e-8);
    expect(deepest).to.be.lessThan(1e-6);
  });

  it('64 balls that fill a column to the last rounding, thrown about: the same laws', () => {
    const [radius, side] = [0.1, 4];
    let seed = 7;
    const next = (): number => ((seed = (seed * 16807) % 2147483647) / 2147483647) * 2 - 1;
    const states = Array.from({length: side ** 3}, (_, i) => {
      const place = [i % side, Math.floor(i / side) % side, Math.floor(i / side ** 2)];
      return {
        position: place.map((k, axis) => (2 * k + 1 - (axis < 2 ? side : 0)) * radius) as never as V3,
        velocity: [next(), next(), next() - 1] as const,
        angularVelocity: [10 * next(), 10 * next(), 10 * next()] as const,
      };
    });
    const {worst, deepest} = between(side * radius, states, {dt: 0.01, steps: 8}, 0.03);
    expect(worst).to.be.lessThan(1e-8);
    expect(deepest).to.be.lessThan(1e-3);
  });

  it('a ceiling that comes down on 150 balls: an error that says that no forces hold it, and soon', () => {
    const pressed = mechanics({
      forces: ({q}) => tf.zerosLike(q),
      mass: 1,
      constraints: [frictionalContact(({q}) => q), frictionalContact(({q, t}) => tf.sub(tf.sub(0.1, t), q))],
    });
    const initial = {q: new Float64Array(150).fill(0.05), v: new Float64Array(150)};
    expect(() => simulate(pressed, initial, {scheme, dt: 0.01, steps: 20})).to.throw(
      NewtonError,
      /the forces of 300 contacts were not found: .* most in lambda\[\d+\] .* smaller dt, less friction or more room/,
    );
  });
});
