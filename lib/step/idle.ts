/**
 * A test that no event's function reaches zero within a step, computed with the step. It is that of the search for
 * crossings (integrate/history/watch.ts) where that ends at once: an event's function g and its derivative by θ at both
 * ends of the dense output make a cubic; its Bernstein coefficients all lie on the side of zero that g is known to be
 * on, and it meets g in the middle. Steps that pass need no search, so that they can be taken in blocks; all others are
 * left to it.
 */
import {add, binary, cast, full, mul, scalar, scale, sub, sum, unary} from '../graph/build.js';
import {orZeros, pushforward} from '../graph/differentiate.js';
import type {Node} from '../graph/node.js';
import {isOp, topological} from '../graph/node.js';
import {replaceNodes} from '../graph/replace-nodes.js';
import {simplifyNodes} from '../graph/simplify.js';
import type {TracedStep} from './traced-step.js';

/** A cubic is believed where it meets g in the middle of its interval within this share of its largest coefficient. */
export const believed = 0.05;

/** What a step's events depend on. */
type Along = Pick<TracedStep, 'functions' | 'inputs'>;

/** The events' functions on the dense output, and their derivatives by θ. */
export function eventsOnDense({
  functions: {dense, events},
  inputs: {x, t, h, theta},
}: Along): {readonly g: Node; readonly dg: Node} | undefined {
  if (dense === undefined || theta === undefined || events === undefined) return undefined;
  const place = new Map<Node, Node>([
    [x, dense],
    [t, add(t, mul(theta, h))],
  ]);
  const [g] = simplifyNodes(replaceNodes([events], place));
  return {g, dg: orZeros(pushforward([g], new Map([[theta, full(1, [])]]))[0], g)};
}

/** Operations that are linear in all of their operands together. */
const linear: ReadonlySet<string> = new Set([
  'reshape',
  'broadcast',
  'slice',
  'place',
  'concat',
  'transpose',
  'gather',
  'scatter',
  'sum',
]);

/** The degree of a node's values as polynomials in an input, at most; Infinity where they may be none. */
function degreeIn(node: Node, variable: Node): number {
  const degrees = new Map<Node, number>();
  for (const one of topological([node])) {
    const of = one.operands.map(operand => degrees.get(operand) ?? 0);
    const most = Math.max(0, ...of);
    let degree = one === variable ? 1 : most === 0 ? 0 : linear.has(one.op) ? most : Infinity;
    if (isOp(one, 'unary') && one.attributes.fn === 'neg') degree = most;
    if (isOp(one, 'unary') && one.attributes.fn === 'square') degree = 2 * most;
    if (isOp(one, 'binary')) {
      const {fn} = one.attributes;
      if (fn === 'add' || fn === 'sub' || (fn === 'div' && of[1] === 0)) degree = most;
      if (fn === 'mul') degree = of[0] + of[1];
    }
    degrees.set(one, degree);
  }
  return degrees.get(node) ?? 0;
}

/** In place of a side: the border of a switch that cannot be crossed at present, whatever its function is. */
export const inactiveBorder = 2;

const abs = (node: Node): Node => unary('abs', node);
const isPositive = (node: Node): Node => binary('greater', node, scalar(0));

/**
 * How many events may happen within the step, as a function of what the update reads and of `sides`, [events]: on which
 * side of zero each event's function begins, 1 or −1, 0 where that is not known, or `inactiveBorder`. undefined without
 * events.
 *
 * The cubic through g₀, ġ₀, g₁ and ġ₁ (by θ) lies on the side s where s(g₀ + ġ₀/3) > 0 and sg₁ > |ġ₁|/3, as sg₀ > 0 is
 * known; g₁ is then no zero but for rounding either.
 * @param followsRates the dense output has the states at the step's ends, and there the rates of the motion
 * @param hasModes borders of switches are among the events
 */
export function possibleEvents(step: Along, followsRates: boolean, hasModes: boolean): Node | undefined {
  const along = eventsOnDense(step);
  const {
    functions: {update, inside, events, rates},
    inputs: {x, t, h, theta, next, inside: insideInput, sides},
  } = step;
  if (along === undefined || theta === undefined || next === undefined || sides === undefined) return undefined;
  if (events === undefined || rates === undefined) return undefined;
  const at = (place: number): Node[] => {
    const known = new Map<Node, Node>([
      [theta, scalar(place)],
      [next, update],
    ]);
    if (insideInput !== undefined && inside !== undefined) known.set(insideInput, inside);
    return replaceNodes([along.g, along.dg], known);
  };
  const thirdOf = ([value, rate]: readonly Node[]): Node[] => [value, scale(rate, 1 / 3)];
  const atState = (state: Node, time: Node): Node[] => {
    const place = new Map<Node, Node>([
      [x, state],
      [t, time],
    ]);
    const [value, rate] = replaceNodes([events, rates], place);
    return [value, mul(scale(h, 1 / 3), rate)];
  };
  // Functions at both ends, and a third of their derivatives.
  const [start, startThird] = followsRates ? atState(x, t) : thirdOf(at(0));
  const [end, endThird] = followsRates ? atState(update, add(t, h)) : thirdOf(at(1));
  const begins = isPositive(mul(sides, add(start, startThird)));
  const ends = isPositive(sub(mul(sides, end), abs(endThird)));
  const isOnSide = binary('and', begins, ends);
  const isInactive = binary('greater', sides, scalar(1));
  const count = (isIdle: Node): Node => {
    const passes = hasModes ? binary('or', isIdle, isInactive) : isIdle;
    return sum(cast(unary('not', passes), 'float'), [0]);
  };
  if (degreeIn(along.g, theta) <= 3) return count(isOnSide);
  const [middle, middleRate] = at(0.5);
  const value = add(scale(add(start, end), 1 / 2), scale(sub(startThird, endThird), 3 / 8));
  const rate = sub(scale(sub(end, start), 1.5), scale(add(startThird, endThird), 3 / 4));
  // The mean of the ends is no more than the largest coefficient.
  const allowed = scale(mul(sides, add(start, end)), (Math.PI / 2) * believed);
  const differs = add(scale(abs(sub(middle, value)), Math.PI), abs(sub(middleRate, rate)));
  return count(binary('and', isOnSide, isPositive(sub(allowed, differs))));
}
