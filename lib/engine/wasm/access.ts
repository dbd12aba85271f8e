/**
 * Positions as affine functions of a loop nest's counters: offset + Σ coefficients[d]·i_d, flat in
 * the array they belong to. `splitByAxes` writes such a position as one index for each axis of a
 * shape, which is possible exactly when no counter runs across the end of a row.
 */
import {stridesOf} from '../../graph/node.js';

export interface Access {
  readonly offset: number;
  /** One for each axis of the nest; 0 where the counter does not move. */
  readonly coefficients: readonly number[];
}

/** Equal for equal positions of one nest: where nothing moves, a number. */
export type AccessKey = string | number;

export function accessKey({offset, coefficients}: Access): AccessKey {
  return coefficients.every(c => c === 0) ? offset : `${offset}+${coefficients.join()}`;
}

/** Index along each axis: origin[a] + Σ_d steps[d][a]·i_d. */
export interface AxisIndices {
  readonly origin: readonly number[];
  readonly steps: readonly (readonly number[])[];
}

/** A nest axis that runs across rows, and the inner length that would keep it within one. */
export interface Overrun {
  readonly dim: number;
  readonly inner: number;
}

function unravel(flat: number, shape: readonly number[], strides: readonly number[]): number[] {
  let rest = flat;
  return shape.map((_, axis) => {
    const index = Math.floor(rest / strides[axis]);
    rest -= index * strides[axis];
    return index;
  });
}

/**
 * The indices at the origin and one step along each counter determine the affine map; it is right
 * when it stays within the shape, because flat positions have one set of indices only.
 */
export function splitByAxes(
  access: Access,
  sizes: readonly number[],
  shape: readonly number[],
): AxisIndices | Overrun | undefined {
  const {offset, coefficients} = access;
  if (shape.length === 0) return {origin: [], steps: coefficients.map(() => [])};
  if (shape.length === 1) return {origin: [offset], steps: coefficients.map(c => [c])};
  const strides = stridesOf(shape);
  const origin = unravel(offset, shape, strides);
  const steps = coefficients.map((c, d) => {
    if (c === 0 || sizes[d] === 1) return shape.map(() => 0);
    return unravel(offset + c, shape, strides).map((index, axis) => index - origin[axis]);
  });
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    let low = origin[axis];
    let high = low;
    steps.forEach((step, d) => {
      const reach = step[axis] * (sizes[d] - 1);
      if (reach > 0) high += reach;
      else low += reach;
    });
    if (low < 0 || high >= shape[axis]) return overrun(coefficients, steps, sizes, axis, strides[axis] * shape[axis]);
  }
  return {origin, steps};
}

function overrun(
  coefficients: readonly number[],
  steps: AxisIndices['steps'],
  sizes: readonly number[],
  axis: number,
  row: number,
): Overrun | undefined {
  for (let dim = 0; dim < sizes.length; dim++) {
    if (steps[dim][axis] === 0) continue;
    const inner = row / Math.abs(coefficients[dim]);
    if (Number.isInteger(inner) && inner > 1 && inner < sizes[dim] && sizes[dim] % inner === 0) return {dim, inner};
  }
  return undefined;
}

/** Σ_a weights[a]·(index along a) + offset, as a position again. */
export function joinAxes({origin, steps}: AxisIndices, weights: readonly number[], offset: number): Access {
  const dot = (indices: readonly number[]): number => {
    let total = 0;
    for (let axis = 0; axis < weights.length; axis++) total += weights[axis] * indices[axis];
    return total;
  };
  return {offset: offset + dot(origin), coefficients: steps.map(dot)};
}

/** The first and the last position that an access reaches. */
export function reachOf({offset, coefficients}: Access, sizes: readonly number[]): [number, number] {
  let [low, high] = [offset, offset];
  coefficients.forEach((c, axis) => {
    const reach = c * (sizes[axis] - 1);
    if (reach > 0) high += reach;
    else low += reach;
  });
  return [low, high];
}
