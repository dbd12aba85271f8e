/**
 * Contacts that are springs, rigidContact with a compliance: closed forms of statics and of a rebound, friction on them, derivatives against
 * differences, and the two ways in which a step's forces are found.
 */
import {expect} from 'chai';
import * as tf from '@tensorflow/tfjs';
import {frictionalContact, mechanics, moreau, OptionError, simulate, type SimulateOptions} from '../../../lib/index.js';
import type {BodySpec, Coefficient} from '../../../models/index.js';
import {multibody, rigidContact, simulateNear} from '../../../models/index.js';
import {plane, sphere} from '../../../models/multibody/shapes.js';
import {lawsOfBalls} from './laws-of-balls.js';
import {slow} from '../../tiers.js';

type V3 = readonly [number, number, number];
const [g, scheme] = [9.81, moreau()];
const gravity: V3 = [0, 0, -g];
const radius = 0.1;
const ball = (position: V3, velocity: V3 = [0, 0, 0], mass = 1): BodySpec => ({
  ...{mass, position, velocity},
  inertia: [0.4 * mass * radius ** 2, 0.4 * mass * radius ** 2, 0.4 * mass * radius ** 2],
});
const onFloor = (name: string, compliance: Coefficient, friction: Coefficient = 0) =>
  rigidContact('ground', name, {shapes: [plane(), sphere({radius})], friction, compliance});

describe('contacts that are springs', () => {
  slow('rebound elastically as h → 0, after the time π √(m C), from the depth v √(m C), by the first order', () => {
    const [c, m, v] = [1e-4, 2, 3];
    const bouncing = multibody({
      bodies: {ball: ball([0, 0, radius], [0, 0, -v], m)},
      contacts: [onFloor('ball', c)],
    });
    const period = Math.PI * Math.sqrt(m * c);
    const errors = [200, 400, 800].map(steps => {
      const run = simulate(bouncing, bouncing.initial, {scheme, dt: (1.5 * period) / steps, steps});
      const {position, velocity} = bouncing.pose(run, 'ball');
      const heights = Array.from({length: steps + 1}, (_, k) => position[3 * k + 2] - radius);
      run.dispose();
      return [
        (velocity.at(-1) as number) - v,
        Math.min(...heights) + v * Math.sqrt(m * c),
        (heights.at(-1) as number) - (v * period) / 2,
      ];
    });
    for (const quantity of [0, 1, 2])
      for (const step of [0, 1]) {
        const [coarse, fine] = [errors[step][quantity], errors[step + 1][quantity]];
        expect(coarse / fine, `quantity ${quantity}`).to.be.within(1.85, 2.15);
      }
    // Implicit Euler with ω h = 1.5 π/800 loses π/2 ω h of the speed.
    expect(errors[2][0] / v).to.be.closeTo(((-Math.PI / 2) * (1.5 * Math.PI)) / 800, 5e-4);
  });

  slow('carry what is redundant as springs do: a plate off centre on four, two of them softer', () => {
    const [m, soft, stiff] = [4, 2e-4, 1e-4];
    const corners: readonly V3[] = [[-0.5, -0.3, 0], [0.5, -0.3, 0], [-0.5, 0.3, 0], [0.5, 0.3, 0]]; // prettier-ignore
    const compliances = [stiff, soft, soft, stiff];
    const feet = corners.map((at, i) =>
      rigidContact('ground', 'plate', {
        shapes: [plane(), sphere({radius: 0.05, at: [at[0], at[1], 0.05]})],
        ...{friction: 0.5, compliance: compliances[i]},
      }),
    );
    const plate = multibody({
      gravity,
      bodies: {plate: {mass: m, inertia: [0.4, 0.6, 0.9], position: [0.1, -0.05, 0.15]}},
      contacts: feet,
    });
    const run = simulate(plate, plate.initial, {scheme, dt: 0.02, t1: 20, saveAt: 'end'});
    const forces = run.values('lambda').slice(12, 16);
    run.dispose();
    // Small turns: F_i = −(z + a x_i + b y_i)/C_i with Σ F = m g, Σ F x = Σ F y = 0 about the centre of mass.
    const places = corners.map(([x, y]) => [1, x - 0.1, y + 0.05]);
    const matrix = [0, 1, 2].map(i => [0, 1, 2].map(j => places.reduce((sum, p, k) => sum + (p[i] * p[j]) / compliances[k], 0))); // prettier-ignore
    const [z, a, b] = solved(matrix, [-m * g, 0, 0]);
    places.forEach(([, x, y], i) => expect(forces[i]).to.be.closeTo(-(z + a * x + b * y) / compliances[i], 0.02));
    expect(forces.reduce((sum, force) => sum + force, 0)).to.be.closeTo(m * g, 1e-6);
  });

  it('do not pull, and hold nothing that leaves', () => {
    const up = multibody({gravity, bodies: {ball: ball([0, 0, radius - 1e-3], [0, 0, 1])}, contacts: [onFloor('ball', 1e-3)]}); // prettier-ignore
    const run = simulate(up, up.initial, {scheme, dt: 1e-3, steps: 100});
    const [position, pushes] = [up.pose(run, 'ball').position, run.values('lambda')];
    run.dispose();
    for (let k = 1; k <= 100; k++) {
      const gap = position[3 * k + 2] - radius;
      expect(pushes[k]).to.be.closeTo(Math.max(0, -gap / 1e-3), 1e-9);
    }
    expect(pushes.at(-1)).to.equal(0);
  });

  it('rub as others do: a ball slides, then rolls at 5/7 of its speed', () => {
    const [mu, v] = [0.3, 2];
    const sliding = multibody({
      gravity,
      bodies: {ball: ball([0, 0, radius - g * 1e-5], [v, 0, 0])},
      contacts: [onFloor('ball', 1e-5, mu)],
    });
    const run = simulate(sliding, sliding.initial, {scheme, dt: 0.002, t1: 0.6});
    const {velocity} = sliding.pose(run, 'ball');
    run.dispose();
    expect(velocity[3 * 50]).to.be.closeTo(v - mu * g * 0.1, 1e-6);
    expect(velocity.at(-3)).to.be.closeTo((5 / 7) * v, 1e-6);
  });

  slow('have derivatives by compliance, friction and start that are those of differences', () => {
    const scene = multibody({
      gravity,
      bodies: {
        low: ball([0, 0, radius]),
        high: ball([0.05, 0.02, 3 * radius], [0.3, 0.1, -1], 1.5),
        rigid: ball([1, 0, radius + 0.05], [0.5, 0, 0]),
      },
      contacts: [
        onFloor('low', ({c}: {c: tf.Tensor}) => c, ({mu}: {mu: tf.Tensor}) => mu), // prettier-ignore
        rigidContact('low', 'high', {
          shapes: [sphere({radius}), sphere({radius})],
          friction: ({mu}: {mu: tf.Tensor}) => mu,
          compliance: ({c}: {c: tf.Tensor}) => tf.mul(2, c),
        }),
        onFloor('high', 1e-4, 0.2),
        onFloor('rigid', 0, 0.4),
      ] as never,
    });
    const options = (params: {c: number; mu: number}): SimulateOptions => ({scheme, dt: 0.005, t1: 0.12, params, saveAt: 'end'}); // prettier-ignore
    const weights = Array.from({length: 3}, (_, i) => [1, 0.5, -1, 0.1, 0.2, -0.1].map(x => x * (1 + i)));
    const start = (shift: number) => {
      const v = scene.initial.v as number[][];
      return {...scene.initial, v: v.map((row, i) => row.map((x, j) => (i === 1 && j === 2 ? x + shift : x)))};
    };
    const value = (c: number, mu: number, shift: number): number => {
      const run = simulate(scene, start(shift), options({c, mu}));
      const v = run.values('v').slice(-18);
      run.dispose();
      return weights.flat().reduce((sum, w, i) => sum + w * v[i], 0);
    };
    const [c, mu] = [2e-4, 0.3];
    const {trajectory, pullback} = simulate.vjp(scene, start(0), options({c, mu}));
    trajectory.dispose();
    const {params, initial} = pullback({v: [weights.map(row => row.map(() => 0)), weights]});
    const central = (of: (d: number) => number, h: number): number =>
      (8 * (of(h) - of(-h)) - (of(2 * h) - of(-2 * h))) / (12 * h);
    const near = (found: number, expected: number): void => {
      expect(found).to.be.closeTo(expected, 1e-6 * Math.abs(expected));
    };
    near(
      (params.c as Float64Array)[0],
      central(d => value(c + d, mu, 0), 1e-8),
    );
    near(
      (params.mu as Float64Array)[0],
      central(d => value(c, mu + d, 0), 1e-5),
    );
    near(
      (initial.v as Float64Array)[6 + 2],
      central(d => value(c, mu, d), 1e-5),
    );
  });

  slow('are found the same by their impulses alone, as for many, and by the whole step', () => {
    const balls = 40;
    const scene = (count: number, firstOne: number) =>
      multibody({
        gravity,
        bodies: Object.fromEntries(
          Array.from({length: count}, (_, i) => {
            const k = firstOne + i;
            return [
              `b${i}`,
              ball([k, 0, radius + 1e-3 * k], [0.5 * Math.cos(k), 0.5 * Math.sin(k), -0.1 * k], 1 + 0.1 * k),
            ];
          }),
        ),
        contacts: Array.from({length: count}, (_, i) => onFloor(`b${i}`, firstOne + i === 7 ? 0 : 1e-5 * (firstOne + i + 1), 0.02 * (firstOne + i))), // prettier-ignore
      });
    const options: SimulateOptions = {scheme, dt: 0.01, steps: 60, saveAt: 'end'};
    const ends = (count: number, firstOne: number): {q: Float64Array; v: Float64Array} => {
      const all = scene(count, firstOne);
      const run = simulate(all, all.initial, options);
      run.dispose();
      return {q: run.values('q'), v: run.values('v')};
    };
    const many = ends(balls, 0);
    for (const k of [0, 3, 7, 22, 39]) {
      const one = ends(1, k);
      for (let j = 0; j < 7; j++) expect(many.q[7 * k + j]).to.be.closeTo(one.q[j], 1e-10);
      for (let j = 0; j < 6; j++) expect(many.v[6 * k + j]).to.be.closeTo(one.v[j], 1e-10);
    }
  });

  slow('store φ²/2C, which the energy of the bodies counts', () => {
    const [c, v] = [1e-3, 2];
    const bouncing = multibody({
      bodies: {ball: ball([0, 0, radius], [0, 0, -v], 1.5)},
      contacts: [onFloor('ball', c)],
    });
    const run = simulate(bouncing, bouncing.initial, {
      scheme,
      dt: 1e-5,
      steps: 4000,
      observe: bouncing.energy,
    });
    const energies = run.values('observed');
    run.dispose();
    expect(energies[0]).to.be.closeTo(0.75 * v ** 2, 1e-12);
    // Through compression, and after it; implicit Euler loses some.
    for (const energy of energies) expect(energy).to.be.within(0.75 * v ** 2 * 0.99, 0.75 * v ** 2 + 1e-12);
  });

  slow('have no part of Poisson’s law of impact either', () => {
    const falling = multibody({
      gravity,
      bodies: {ball: ball([0, 0, 0.15], [1, 0, 0])},
      contacts: [onFloor('ball', 1e-5, 0.3)],
    });
    const [one, other] = [moreau(), moreau({impact: 'poisson'})].map(by => {
      const run = simulate(falling, falling.initial, {scheme: by, dt: 0.005, t1: 0.5, saveAt: 'end'});
      run.dispose();
      return run.values('q');
    });
    one.forEach((value, i) => expect(other[i]).to.be.closeTo(value, 1e-9));
  });

  slow('let balls poured into a box come to rest, each step within its laws', () => {
    const [count, across, h, compliance, mu] = [36, 3, 0.01, 1e-7, 0.4];
    const half = 0.115 * across;
    const normals: readonly V3[] = [[0, 0, 1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]]; // prettier-ignore
    const walls = normals.map(normal => ({normal, at: normal.map(x => -half * x * (normal[2] === 0 ? 1 : 0)) as unknown as V3})); // prettier-ignore
    let seed = 3;
    const next = (): number => ((seed = (seed * 16807) % 2147483647) / 2147483647) * 2 - 1;
    const bodies = Object.fromEntries(
      Array.from({length: count}, (_, i) => {
        const place = (k: number): number => (k - (across - 1) / 2) * 0.22 + 0.009 * next();
        const column = i % across ** 2;
        return [`s${i}`, ball([place(column % across), place(Math.floor(column / across)), 0.15 + 0.22 * Math.floor(i / across ** 2)])]; // prettier-ignore
      }),
    );
    const shape = sphere({radius});
    const poured = simulateNear(
      {
        system: {gravity, bodies},
        reach: Object.fromEntries(Object.keys(bodies).map(name => [name, radius])),
        planes: walls.map(wall => plane(wall)),
        contact: (a, b, wall) => rigidContact(a, b, {shapes: [wall ?? shape, shape], friction: mu, compliance}),
        margin: 0.03,
      },
      {dt: h, steps: 200, piece: 40},
    );
    const {worst, most, deepest} = lawsOfBalls(poured.pieces, {n: count, h, radius, mu, walls, compliance});
    expect(worst).to.be.below(1e-8);
    // By C λ, and by (h v)²/r of tangent planes.
    expect(deepest).to.be.below(compliance * most + (h * 1) ** 2 / radius);
    const speeds = Array.from({length: count}, (_, i) =>
      Math.hypot(...poured.v.slice(-6 * count).subarray(6 * i, 6 * i + 3)),
    );
    expect(Math.max(...speeds)).to.be.below(0.05);
  });

  it('refuse a restitution beside them, and compliances below zero', () => {
    const shapes = [plane(), sphere({radius})] as const;
    for (const make of [
      () => rigidContact('ground', 'ball', {shapes, compliance: 1e-4, restitution: 0.5}),
      () => frictionalContact(({q}) => q, {compliance: 1e-4, restitution: 0.5}),
    ])
      expect(make).to.throw(OptionError, /a contact with a compliance is a spring, and has no restitution/);
    expect(() => frictionalContact(({q}) => q, {compliance: -1})).to.throw(OptionError, /compliance must be finite and at least 0/); // prettier-ignore
    expect(() => multibody({bodies: {ball: ball([0, 0, 1])}, contacts: [onFloor('ball', -1)]})).to.throw(OptionError, /compliance must be finite and not negative/); // prettier-ignore
    const stiff = mechanics({
      mass: 1,
      forces: ({q}) => tf.zerosLike(q),
      constraints: [frictionalContact(({q}) => q, {compliance: ({c}: {c: tf.Tensor}) => c})],
    });
    expect(() => simulate(stiff, {q: 1, v: -1}, {scheme, dt: 0.1, steps: 20, params: {c: -1}} as never)).to.throw(/compliance/); // prettier-ignore
  });
});

/** Cramer's rule for three unknowns. */
function solved(a: readonly (readonly number[])[], b: readonly number[]): number[] {
  const det = ([[p, q, r], [s, t, u], [v, w, x]]: readonly (readonly number[])[]): number => p * (t * x - u * w) - q * (s * x - u * v) + r * (s * w - t * v); // prettier-ignore
  return [0, 1, 2].map(j => det(a.map((row, i) => row.map((x, k) => (k === j ? b[i] : x)))) / det(a));
}
