/** The benchmark bicycle of Meijaard, Papadopoulos, Ruina & Schwab (Proc. R. Soc. A 463, 2007), table 1, with z upwards. */
import {joints, multibody, revolute, type Multibody} from '../../../models/index.js';

export function bicycle(speed: number): Multibody {
  const [wheelbase, trail, tilt] = [1.02, 0.08, Math.PI / 10];
  const [rear, front] = [0.3, 0.35];
  const forward: [number, number, number] = [speed, 0, 0];
  return multibody({
    gravity: [0, 0, -9.81],
    bodies: {
      rear: {
        mass: 2,
        inertia: [0.0603, 0.12, 0.0603],
        position: [0, 0, rear],
        velocity: forward,
        angularVelocity: [0, speed / rear, 0],
      },
      frame: {
        mass: 85,
        inertia: [
          [9.2, 0, -2.4],
          [0, 11, 0],
          [-2.4, 0, 2.8],
        ],
        position: [0.3, 0, 0.9],
        velocity: forward,
      },
      fork: {
        mass: 4,
        inertia: [
          [0.05892, 0, 0.00756],
          [0, 0.06, 0],
          [0.00756, 0, 0.00708],
        ],
        position: [0.9, 0, 0.7],
        velocity: forward,
      },
      front: {
        mass: 3,
        inertia: [0.1405, 0.28, 0.1405],
        position: [wheelbase, 0, front],
        velocity: forward,
        angularVelocity: [0, speed / front, 0],
      },
    },
    joints: {
      rearAxle: revolute('frame', 'rear', {at: [0, 0, rear], axis: [0, 1, 0]}),
      steering: revolute('frame', 'fork', {
        at: [wheelbase + trail, 0, 0],
        axis: [-Math.sin(tilt), 0, Math.cos(tilt)],
      }),
      frontAxle: revolute('fork', 'front', {at: [wheelbase, 0, front], axis: [0, 1, 0]}),
      rearTyre: joints.rolling('ground', 'rear', {radius: rear, axis: [0, 1, 0]}),
      frontTyre: joints.rolling('ground', 'front', {radius: front, axis: [0, 1, 0]}),
    },
  });
}
