/**
 * A test that no event's function reaches zero within a step, computed with the step. It is that of the search for
 * crossings (integrate/history/watch.ts) where that ends at once: an event's function g and its derivative by θ at both
 * ends of the dense output make a cubic; its Bernstein coefficients all lie on the side of zero that g is known to be
 * on, and it meets g in the middle. Steps that pass need no search, so that they can be taken in blocks; all others are
 * left to it.
 */
import {add, binary, div, full, min, mul, scalar, scale, sub, unary} from '../graph/build.js';
import {orZeros, pushforward} from '../graph/differentiate.js';
import type {Node} from '../graph/node.js';
import {replaceNodes} from '../graph/replace-nodes.js';
import {simplifyNodes} from '../graph/simplify.js';
import {bufferInput} from './buffers.js';
import type {TracedStep} from './traced-step.js';

/** A cubic is believed where it meets g in the middle of its interval within this share of its largest coefficient. */
export const believed = 0.05;

/**
 * A function that reaches zero so soon after the step's end may have reached it there but for rounding: a share of the
 * step's length, and one of the time. Of either the rounding of times is 2⁻⁴⁸ (`minStep`); a step may be shorter than
 * those about it.
 */
const [soonAfter, soonAfterTime] = [2 ** -24, 2 ** -46];

/** The events' functions on the dense output, and their derivatives by θ. */
export function eventsOnDense({
  functions: {dense, events},
  inputs: {x, t, h, theta},
}: TracedStep): {readonly g: Node; readonly dg: Node} | undefined {
  if (dense === undefined || theta === undefined || events === undefined) return undefined;
  const place = new Map<Node, Node>([
    [x, dense],
    [t, add(t, mul(theta, h))],
  ]);
  const [g] = simplifyNodes(replaceNodes([events], place));
  return {g, dg: orZeros(pushforward([g], new Map([[theta, full(1, [])]]))[0], g)};
}

const abs = (node: Node): Node => unary('abs', node);
const least = (nodes: readonly Node[]): Node => nodes.reduce((a, b) => binary('minimum', a, b));
const greatest = (nodes: readonly Node[]): Node => nodes.reduce((a, b) => binary('maximum', a, b));

/**
 * A number that is positive only where no event can happen within the step, as a function of what the update reads and
 * of `sides`, [events]: on which side of zero each event's function begins, 1 or −1, or 0 where that is not known.
 * undefined without events.
 */
export function idleTest(step: TracedStep): Node | undefined {
  const along = eventsOnDense(step);
  const {
    functions: {update, inside},
    inputs: {t, h, theta, next, inside: insideInput},
  } = step;
  if (along === undefined || theta === undefined || next === undefined) return undefined;
  const at = (place: number): Node[] => {
    const known = new Map<Node, Node>([
      [theta, scalar(place)],
      [next, update],
    ]);
    if (insideInput !== undefined && inside !== undefined) known.set(insideInput, inside);
    return replaceNodes([along.g, along.dg], known);
  };
  const [[start, startRate], [middle, middleRate], [end, endRate]] = [0, 0.5, 1].map(at);
  const inner = [add(start, scale(startRate, 1 / 3)), sub(end, scale(endRate, 1 / 3))];
  const side = bufferInput('sides', start.shape);
  const distances = [start, ...inner, end].map(coefficient => mul(side, coefficient));
  const rounding = add(scalar(soonAfter), scale(div(abs(t), abs(h)), soonAfterTime));
  const beyondEnd = sub(distances[3], mul(rounding, abs(endRate)));
  const allowed = scale(greatest(distances), believed);
  const value = scale(add(add(start, scale(add(inner[0], inner[1]), 3)), end), 1 / 8);
  const rate = scale(sub(sub(add(end, inner[1]), inner[0]), start), 0.75);
  const each = least([
    ...distances.slice(0, 3),
    beyondEnd,
    sub(allowed, abs(sub(middle, value))),
    sub(scale(allowed, Math.PI), abs(sub(middleRate, rate))),
  ]);
  return min(each, [0]);
}
