/**
 * The shapes of a step's blocks: of positions and velocities as a scheme sees them, and of what it carries in addition.
 */
import type {Shape} from '../graph/node.js';
import {sameShape, sizeOf} from '../graph/node.js';
import type {UserBlock} from '../system/equations.js';
import type {StepFormulation} from './formulation.js';
import type {BlockPart} from './layout.js';

/** Shapes of the position, and of v as a scheme sees it, with hidden states; for an ode both are that of y. */
export interface Shapes {
  readonly position: Shape;
  readonly velocity: Shape;
}

/** @param own the user's blocks */
export function shapesOf(
  own: readonly UserBlock[],
  {firstOrderForm = false}: Pick<StepFormulation, 'firstOrderForm'>,
): Shapes {
  const total = (blocks: readonly UserBlock[]): Shape => [blocks.reduce((sum, {shape}) => sum + sizeOf(shape), 0)];
  const [{shape: position}, ...velocities] = own;
  if (firstOrderForm) return {position: total(own), velocity: total(own)};
  if (velocities.length === 0) return {position, velocity: position};
  return {position, velocity: velocities.length === 1 ? velocities[0].shape : total(velocities)};
}

/**
 * A block that a scheme carries. Of one that has the shape of v with its hidden states, v's part is shown under the
 * name: accelerations above all.
 */
export function carriedParts(
  [, v, ...states]: readonly UserBlock[],
  formulation: Pick<StepFormulation, 'firstOrderForm'>,
  {name, shape, derivative}: Pick<BlockPart, 'name' | 'shape' | 'derivative'>,
): BlockPart[] {
  const {velocity} = shapesOf([{name: 'q', shape: []}, v ?? {name: 'v', shape: []}, ...states], {});
  // Accelerations are shown.
  const part = {name, shape, derivative, carried: name !== 'a'};
  if (states.length === 0 || formulation.firstOrderForm === true || !sameShape(shape, velocity)) return [part];
  return [
    {...part, shape: v.shape, partOf: name},
    {...part, name: `${name}.states`, shape: [sizeOf(velocity) - sizeOf(v.shape)], partOf: name, carried: true},
  ];
}
