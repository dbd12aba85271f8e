/** Mass and inertia of solids of constant density, about their centres. */
import type {V3} from '../multibody/numbers.js';
import type {Solid, Weight} from './description.js';
import {principal} from './rotations.js';

/** Volume, and the principal moments of a unit of mass. */
function shapeOf({kind, size}: Solid): {readonly volume: number; readonly moments: V3} {
  const [a, b, c] = size;
  switch (kind) {
    case 'sphere':
      return {volume: (4 / 3) * Math.PI * a ** 3, moments: [0.4 * a * a, 0.4 * a * a, 0.4 * a * a]};
    case 'ellipsoid':
      return {
        volume: (4 / 3) * Math.PI * a * b * c,
        moments: [(b * b + c * c) / 5, (a * a + c * c) / 5, (a * a + b * b) / 5],
      };
    case 'box':
      return {volume: 8 * a * b * c, moments: [(b * b + c * c) / 3, (a * a + c * c) / 3, (a * a + b * b) / 3]};
    case 'cylinder': {
      const across = (3 * a * a + 4 * b * b) / 12;
      return {volume: 2 * Math.PI * a * a * b, moments: [across, across, (a * a) / 2]};
    }
    case 'capsule': {
      // A cylinder, and two half balls whose own centres lie 3/8 of the radius beyond its ends.
      const [cylinder, balls] = [2 * Math.PI * a * a * b, (4 / 3) * Math.PI * a ** 3];
      const volume = cylinder + balls;
      const across = (cylinder * (3 * a * a + 4 * b * b)) / 12 + balls * (0.4 * a * a + b * b + 0.75 * a * b);
      const along = (cylinder * a * a) / 2 + balls * 0.4 * a * a;
      return {volume, moments: [across / volume, across / volume, along / volume]};
    }
    case 'plane':
      return {volume: 0, moments: [0, 0, 0]};
  }
}

/** @param given its mass, or its density */
export function weightOf(solid: Solid, given: {readonly mass: number} | {readonly density: number}): Weight {
  const {volume, moments} = shapeOf(solid);
  const mass = 'mass' in given ? given.mass : given.density * volume;
  return principal(mass, moments.map(x => mass * x) as unknown as V3, solid.place);
}
