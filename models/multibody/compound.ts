/**
 * The constraints of a joint by its steps, in maximal coordinates. Slides before turns about one point leave that point
 * free in the span of their directions. No turn fixes all angles between the bodies, one turn leaves an axis, two turns
 * an angle, and three turns or a ball nothing. Slides after turns are slides before them with a and b exchanged.
 */
import {OptionError} from '../../lib/index.js';
import type {KnownStep} from './joints.js';
import {frameAlong, inner, minus, norm, outer, units, type V3} from './numbers.js';

/** In world coordinates at the start. */
export interface HeldBySteps {
  /** The slides are fixed in b and not in a. */
  readonly swapped: boolean;
  /** Directions in which the point does not move. */
  readonly normals: readonly V3[];
  /** Undefined of a joint without turns. */
  readonly at: V3 | undefined;
  /** Axes from the side of the slides to the other; undefined of a ball. */
  readonly turns: readonly V3[] | undefined;
  /** An axis of the joint, along which its frame lies. */
  readonly along: V3;
}

/** Directions whose sine is smaller coincide: a degree, as for universal joints. */
const APART = 0.02;

/** @throws OptionError 'bad-multibody' where it holds something else */
export function heldBySteps(given: readonly KnownStep[], name: string): HeldBySteps {
  const steps = given.flatMap((step): KnownStep[] =>
    step.kind === 'screw' ? (['slide', 'turn'] as const).map(kind => ({...step, kind})) : [step],
  );
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
  const directions = slides.map(({axis}) => axis);
  if (!independent(directions)) refuse('slides twice along one direction');
  return {
    swapped,
    normals: complement(directions),
    at: points[0],
    turns: ball ? undefined : axes,
    along: axes[0] ?? directions[0] ?? units[2],
  };
}

function independent(directions: readonly V3[]): boolean {
  const [a, b, c] = directions;
  if (directions.length > 3) return false;
  if (b !== undefined && norm(outer(a, b)) < APART) return false;
  return c === undefined || Math.abs(inner(outer(a, b), c)) > APART * norm(outer(a, b));
}

/** An orthonormal basis of what is perpendicular to independent directions. */
function complement([a, b, c]: readonly V3[]): readonly V3[] {
  if (a === undefined) return units;
  if (b === undefined) return frameAlong(a).slice(0, 2);
  return c === undefined ? [frameAlong(outer(a, b))[2]] : [];
}
