/**
 * The constraints of a compound joint in maximal coordinates. Translations before rotations about one point leave this
 * point free in the span of their directions; the rotations constrain an angle, an axis or nothing between the bodies.
 * Translations after rotations are the same with a and b exchanged.
 */
import {OptionError} from '../../lib/index.js';
import type {KnownStep} from './joints.js';
import {inner, minus, norm, outer, scaled, units, type V3} from './numbers.js';

/** In world coordinates at the start. */
export interface CompoundRows {
  /** The slides are fixed in b and not in a. */
  readonly swapped: boolean;
  /** Directions that the point does not take. */
  readonly normals: readonly V3[];
  readonly at: V3;
  /** Axes from the side of the slides to the other; undefined of a ball. */
  readonly turns: readonly V3[] | undefined;
}

/** Sines below it are of directions that coincide: a degree, as for universal joints. */
const APART = 0.02;

/** @throws OptionError 'bad-multibody' where it holds something else */
export function compoundRows(steps: readonly KnownStep[], name: string): CompoundRows {
  const kinds = steps.map(({kind}) => kind);
  const last = kinds.lastIndexOf('slide');
  const swapped = last >= 0 && kinds.slice(0, last).some(kind => kind !== 'slide');
  const ordered = swapped ? [...steps].reverse() : steps;
  const slides = ordered.filter(step => step.kind === 'slide');
  const rest = ordered.slice(slides.length);
  const refuse = (what: string): never => {
    throw new OptionError(
      'bad-multibody',
      `multibody: joint ${name}, a compound, ${what}: it has no rows in maximal coordinates. Take coordinates: `
        + "'minimal'.",
    );
  };
  if (rest.some(({kind}) => kind === 'slide')) refuse('has a slide between turns');
  const points = rest.flatMap(step => ('at' in step ? [step.at] : []));
  const reach = Math.max(1, ...points.map(norm));
  if (points.some(point => norm(minus(point, points[0])) > 1e-9 * reach)) refuse('turns about several points');
  const axes = rest.flatMap(step => (step.kind === 'turn' ? [step.axis] : []));
  const ball = axes.length < rest.length;
  if (ball && rest.length > 1) refuse('has a ball and turns');
  if (!independent(axes)) refuse('turns twice about one axis');
  const along = slides.map(({axis}) => axis);
  if (!independent(along)) refuse('slides twice along one direction');
  return {swapped, normals: complement(along), at: points[0] ?? [0, 0, 0], turns: ball ? undefined : axes};
}

function independent(directions: readonly V3[]): boolean {
  const [a, b, c] = directions;
  if (directions.length > 3) return false;
  if (b !== undefined && norm(outer(a, b)) < APART) return false;
  return c === undefined || Math.abs(inner(outer(a, b), c)) > APART * norm(outer(a, b));
}

/** An orthonormal basis of what is perpendicular to all of them. */
function complement(directions: readonly V3[]): V3[] {
  const basis: V3[] = [];
  const rest = (x: V3): V3 => basis.reduce((left, e) => minus(left, scaled(inner(left, e), e)), x);
  const take = (x: V3): void => {
    const left = rest(x);
    if (norm(left) > 1e-6) basis.push(scaled(1 / norm(left), left));
  };
  directions.forEach(take);
  const taken = basis.length;
  // The unit vector furthest from what is there first, so that no remainder is short.
  while (basis.length < 3) take(units.reduce((best, unit) => (norm(rest(unit)) > norm(rest(best)) ? unit : best)));
  return basis.slice(taken);
}
