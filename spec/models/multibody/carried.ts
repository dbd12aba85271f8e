/** A plate on balls in rows and columns, on a floor: what carries, what it carries, and how far the laws of contact are from being obeyed at rest. */
import * as tf from '@tensorflow/tfjs';
import type {Params, Trajectory} from '../../../lib/index.js';
import {multibody, rigidContact} from '../../../models/index.js';
import {box, plane, sphere} from '../../../models/multibody/shapes.js';
import type {BodySpec, Multibody, RigidContact} from '../../../models/index.js';

const [radius, thickness, g] = [0.1, 0.1, 9.81];

export interface Carried {
  readonly system: Multibody;
  /** Balls. */
  readonly count: number;
  /** Of every contact. */
  readonly friction: number;
  /** Of the plate; a ball has 1. */
  readonly mass: number;
}

/** @param across balls in a row, 0.3 apart */
export function carried(across: number, {mass, friction}: {mass: number; friction: number}): Carried {
  const count = across ** 2;
  const size = [0.3 * across + 0.1, 0.3 * across + 0.1, thickness] as const;
  const about = (one: number, other: number): number => (mass * (one ** 2 + other ** 2)) / 12;
  const plate = {
    mass,
    inertia: [about(size[1], size[2]), about(size[0], size[2]), about(size[0], size[1])],
    position: [0, 0, 2 * radius + thickness / 2],
  } satisfies BodySpec;
  const bodies: {[name: string]: BodySpec} = {plate};
  const contacts: RigidContact[] = [];
  const ball = sphere({radius});
  const top = box({size});
  for (let i = 0; i < count; i++) {
    const place = (k: number): number => 0.3 * (k - (across - 1) / 2);
    bodies[`s${i}`] = {
      mass: 1,
      inertia: [0.004, 0.004, 0.004],
      position: [place(i % across), place(Math.floor(i / across)), radius],
    };
    contacts.push(rigidContact('ground', `s${i}`, {shapes: [plane(), ball], friction}));
  }
  for (let i = 0; i < count; i++) contacts.push(rigidContact('plate', `s${i}`, {shapes: [top, ball], friction}));
  // The force is a parameter, `push`, on the plate's centre, along x.
  const direction = [[1, 0, 0, 0, 0, 0], ...Array.from({length: count}, () => [0, 0, 0, 0, 0, 0])];
  const forces = [({params}: {params: Params}): tf.Tensor => tf.mul(params.push as tf.Tensor, tf.tensor2d(direction))];
  return {system: multibody({gravity: [0, 0, -g], bodies, contacts, forces}), count, friction, mass};
}

/** ½ M (2u)² + n ½ (m + J/r²) u² grows by the power 2 u F: the acceleration of a plate that rolls on balls without slip. */
export const rollingAcceleration = ({count, mass}: Carried, push: number): number =>
  (4 * push) / (4 * mass + 1.4 * count);

/**
 * Of a run of `steps` steps of length h, all saved.
 * @returns `worst`: impulses that pull, or rub beyond Coulomb's cone, and velocities that are not zero; `off`: of the sums of forces from the weights
 */
export function lawsAtRest(
  {count, friction, mass}: Carried,
  path: Trajectory,
  h: number,
): {worst: number; off: number} {
  const [v, lambda] = (['v', 'lambda'] as const).map(name => path.values(name));
  const rows = 6 * count;
  const steps = lambda.length / rows - 1;
  let [worst, off] = [0, 0];
  for (let step = 1; step <= steps; step++) {
    const all = lambda.subarray(step * rows, (step + 1) * rows);
    for (const from of [0, 3 * count]) {
      const push = all.subarray(from, from + count);
      for (let c = 0; c < count; c++) {
        const rub = all.subarray(from + count + 2 * c, from + count + 2 * c + 2);
        worst = Math.max(worst, h * -push[c], h * (Math.hypot(...rub) - friction * push[c]));
      }
      const weight = (mass + (from === 0 ? count : 0)) * g;
      off = Math.max(off, Math.abs(push.reduce((sum, one) => sum + one) - weight));
    }
    // At rest: no point moves, so that what presses does not leave, and nothing slips.
    for (let i = 0; i < 6 * (count + 1); i++) worst = Math.max(worst, Math.abs(v[6 * (count + 1) * step + i]));
  }
  return {worst, off};
}
