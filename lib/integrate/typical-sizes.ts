/**
 * Which parts of the state an unknown is computed from, and how much of their rounding affects it
 * (`StepSystem.writeExtents`).
 */
import type {Value} from '../routine/routine.js';
import {mul} from '../routine/routine.js';
import type {Block, Layout} from '../step/layout.js';

/**
 * A position is one sum, where a force is one of tens: its rounding over h^p counts for less (`roundings` in
 * newton/tolerances.ts).
 */
const fewRoundings = 1 / 16;

/** A block of the state that is a lower, or the same, derivative of the coordinates as a block of the unknown. */
export interface Increment {
  /** Among the state's blocks. */
  readonly offset: number;
  /** How many derivatives lie between: the block's rounding counts over h to this power. */
  readonly distance: number;
}

export const incrementsOf = ({blocks}: Layout, {derivative}: Pick<Block, 'derivative'>): Increment[] =>
  blocks.flatMap(({derivative: known}, offset) =>
    derivative === undefined || known === undefined || known > derivative
      ? []
      : [{offset, distance: derivative - known}],
  );

/** By how many derivatives lie between. */
export const roundoffShareOf = (apart: number): number => (apart > 0 ? fewRoundings : 1);

/** A value to the power p, by products. */
export function power(value: Value, p: number): Value {
  let product: Value = 1;
  for (let i = 0; i < p; i++) product = i === 0 ? value : mul(product, value);
  return product;
}
