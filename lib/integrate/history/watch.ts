/**
 * Where events cross zero within a step, on its dense output (Shampine & Thompson, Event location for ordinary
 * differential equations, 2000). An event's function g and its derivative by θ at two places make a cubic; where its
 * Bernstein coefficients change sign once or never, it has one zero there or none. An interval where they change
 * more often, or whose cubic differs from g in the middle, is divided: at an extremum of g between its ends, if their
 * derivatives show one, otherwise in the middle. So all zeros that the cubics resolve are found; a zero without
 * change of sign is not an event. Where g is not finite, no zero is searched.
 */
import {believed} from '../../step/idle.js';
import type {PlannedEvent} from './plan.js';
import {root} from './root.js';

/** Events' functions at a place of a step, and their derivatives by θ. */
export interface EventView {
  eventsOnDense(theta: number): {readonly g: Float64Array; readonly dg: Float64Array};
}

export interface Crossing {
  readonly event: number;
  /** Place in the step. */
  readonly theta: number;
  readonly rising: boolean;
  /** Derivative of the event's function by θ there. */
  readonly slope: number;
  /** Where the function has not crossed yet, and where it has. */
  readonly low: number;
  readonly high: number;
  /** Not the first change of sign in the step: where it begins is known from the dense output alone. */
  readonly later: boolean;
  /**
   * A rate of change (by θ) below this is that of a touch: g falls short of zero, or beyond, by no more than its
   * rounding.
   */
  readonly least: number;
  /** The function jumps from one side of zero to the other. */
  readonly jumps: boolean;
}

/** A function jumps that changes by this share of its largest value in the step, */
const jumpShare = 1e-3;
/** within so many tolerances of its time, and by a thousand times what its slope makes of them. */
const [jumpWidth, jumpGain] = [4, 1e3];

/** After a jump the direction in which g leaves zero is looked for at this many places of the step. */
const samples = 16;

/** Most often it has left zero so soon that no second zero lies before. */
const soon = 1 / 64;

/** Intervals are divided down to 2⁻⁷ of the step: two zeros that only a shorter one would show are not told apart. */
const deepest = 7;

/**
 * Share of |g'(1) − g'(0)|: the depth ½ g'²/g'' of a parabola is then 32 roundings of what g changes by in the step,
 * and g may well be a difference of numbers so much larger.
 */
const touching = 8 * Math.sqrt(Number.EPSILON);

/** A rate of change by θ below this is that of a touch; of the derivatives by θ at the ends of the step. */
export const touch = (atStart: number, atEnd: number): number => touching * Math.abs(finite(atEnd) - finite(atStart));

/** A function that turns back within this share of its values beside it touches zero. */
const touchRounding = 64 * Number.EPSILON;

const accepts = ({direction}: PlannedEvent, rising: boolean): boolean =>
  direction === 'both' || direction === (rising ? 'rising' : 'falling');

/** One event on the step that the integrator has loaded. */
class Watched {
  /** Where the function turns back from zero. */
  touched: number | undefined;

  constructor(
    private readonly view: EventView,
    readonly event: number,
    private readonly tolerance: number,
    private readonly tellsTouch: boolean,
  ) {}

  at(theta: number): {readonly g: number; readonly dg: number} {
    const {g, dg} = this.view.eventsOnDense(theta);
    return {g: g[this.event], dg: dg[this.event]};
  }

  private readonly value = (theta: number): number => this.at(theta).g;
  private readonly derivative = (theta: number): number => this.at(theta).dg;

  extremum(low: number, atLow: number, high: number, atHigh: number): number {
    return root(this.derivative, low, atLow, high, atHigh, this.tolerance);
  }

  /** The first place after the beginning where the function has this sign, looked for before `high`. */
  before(sign: number, high: number, atStart: number, atEnd: number): number | undefined {
    if (Math.sign(this.value(soon)) === sign) return soon;
    if (Math.sign(atStart) === sign && Math.sign(atEnd) === -sign) {
      const theta = this.extremum(0, atStart, 1, atEnd);
      return Math.sign(this.value(theta)) === sign ? theta : undefined;
    }
    for (let i = 1; i < samples; i++) {
      const theta = (high * i) / samples;
      if (Math.sign(this.value(theta)) === sign) return theta;
    }
    return undefined;
  }

  /** The zero between two nodes of opposite sign, within wider bounds that have the same signs. */
  crossing(
    from: Node,
    to: Node,
    wide: {readonly low: number; readonly high: number},
    later: boolean,
    least: number,
    size: number,
  ): Crossing {
    const theta = to.g === 0 ? to.theta : root(this.value, from.theta, from.g, to.theta, to.g, this.tolerance);
    const slope = this.derivative(theta);
    const jumps = this.jumpsAt(theta, from, to, slope, size);
    return {event: this.event, theta, rising: from.g < 0, slope, ...wide, later, least, jumps};
  }

  /** @param size the largest of the function's values in the step */
  private jumpsAt(theta: number, from: Node, to: Node, slope: number, size: number): boolean {
    const width = jumpWidth * (this.tolerance + Number.EPSILON);
    const [low, high] = [Math.max(theta - width, from.theta), Math.min(theta + width, to.theta)];
    const before = low === from.theta ? from.g : this.value(low);
    const change = Math.abs((high === to.theta ? to.g : this.value(high)) - before);
    return change > jumpShare * size && !(change <= jumpGain * Math.abs(slope) * (high - low));
  }

  node(theta: number): Node {
    return {theta, ...this.at(theta)};
  }

  /**
   * Nodes of an interval, without its first, between which the function changes sign no more than its ends tell.
   * @param met the interval is part of one whose cubic has met the function: its own has an error 16 times smaller at
   *   least
   */
  divide(from: Node, to: Node, depth: number, nodes: Node[], met = false): void {
    const known = isFinite(from) && isFinite(to);
    const b = bernstein(from, to);
    const middle = depth === 0 || (known && met) ? undefined : this.node((from.theta + to.theta) / 2);
    const meets = met || (known && middle !== undefined && isMet(b, from, to, middle));
    if (depth === 0 || (known && meets && changesIn(b) <= 1)) {
      nodes.push(to);
      return;
    }
    const turn = known ? this.turn(from, to) : undefined;
    const place = turn === undefined ? (middle ?? this.node((from.theta + to.theta) / 2)) : this.node(turn);
    this.divide(from, place, depth - 1, nodes, meets);
    this.divide(place, to, depth - 1, nodes, meets);
  }

  /** Where the function turns around on its way towards zero, if its derivatives at the ends say so. */
  private turn(from: Node, to: Node): number | undefined {
    const side = Math.sign(from.g);
    if (side === 0 || side !== Math.sign(to.g) || Math.sign(from.dg) !== -side || Math.sign(to.dg) !== side)
      return undefined;
    const theta = this.extremum(from.theta, from.dg, to.theta, to.dg);
    if (!(theta > from.theta && theta < to.theta)) return undefined;
    const size = Math.max(Math.abs(from.g), Math.abs(to.g));
    if (this.tellsTouch && Math.abs(this.value(theta)) <= touchRounding * size) this.touched = theta;
    return theta;
  }
}

interface Node {
  readonly theta: number;
  readonly g: number;
  readonly dg: number;
}

const isFinite = ({g}: Node): boolean => Number.isFinite(g);
const finite = (dg: number): number => (Number.isFinite(dg) ? dg : 0);

/**
 * Bernstein coefficients of the cubic through both ends: it has no more zeros between them than these have changes of
 * sign.
 */
function bernstein(from: Node, to: Node): readonly number[] {
  const third = (to.theta - from.theta) / 3;
  return [from.g, from.g + third * finite(from.dg), to.g - third * finite(to.dg), to.g];
}

function changesIn(b: readonly number[]): number {
  const sides = b.map(Math.sign).filter(side => side !== 0);
  return sides.filter((side, i) => i > 0 && side !== sides[i - 1]).length;
}

/** The cubic meets the function in the middle, in value and slope. */
function isMet(b: readonly number[], from: Node, to: Node, middle: Node): boolean {
  const allowed = believed * Math.max(...b.map(Math.abs));
  const value = (b[0] + 3 * (b[1] + b[2]) + b[3]) / 8;
  const slope = 0.75 * (b[3] + b[2] - b[1] - b[0]);
  // A cosine of the error, π long, has a slope π times its height.
  return (
    Math.abs(middle.g - value) <= allowed
    && Math.abs(finite(middle.dg) * (to.theta - from.theta) - slope) <= Math.PI * allowed
  );
}

/** What a step shows of its events. */
export interface Watch {
  readonly found: Crossing[];
  /**
   * The side of zero on which each event's function is at the step's end, crossings there included: 0 where none is
   * known.
   */
  readonly sides: Int8Array;
  /** Events whose function is not finite at the end of the step. */
  readonly lost: readonly number[];
  /** Borders of switches that are touched and not crossed. */
  readonly touched: readonly {readonly event: number; readonly theta: number}[];
  /** Events whose function is zero where a run starts, and goes on from there in their direction. */
  readonly begun: readonly number[];
}

/**
 * A start is at zero within this share of what the function changes by in the first step: ten times what float32 loses
 * where a state comes as a tensor.
 */
const started = 1e-6;

/** A function that is zero at a step's end, with a derivative of zero, has crossed if it has this far beyond. */
const beyond = 2 ** -10;

/**
 * The crossings of each event within a step, in its direction, by place and then by number; lines in t are left out. A
 * function that is zero but
 * for the rounding of the time at the step's end crosses there.
 * @param settled events that count as zero at the step's beginning: their sign is that of their derivative
 * @param sides of zero at the step's beginning, as the step before it left them; rounding may show others, and 0 is not
 *   known
 * @param tolerance of an event's time
 * @param rounding times this close are the same
 */
export function crossings(
  view: EventView,
  events: readonly PlannedEvent[],
  step: {readonly h: number},
  settled: ReadonlySet<number>,
  sides: Int8Array,
  tolerance: (event: number) => number,
  rounding: number,
): Watch {
  const copy = ({
    g,
    dg,
  }: {
    readonly g: Float64Array;
    readonly dg: Float64Array;
  }): {g: Float64Array; dg: Float64Array} => ({g: g.slice(), dg: dg.slice()});
  const start = copy(view.eventsOnDense(0));
  const end = copy(view.eventsOnDense(1));
  const found: Crossing[] = [];
  const [lost, begun]: number[][] = [[], []];
  const touched: {event: number; theta: number}[] = [];
  const ends = events.map((event, i) => {
    if (event.isLine === true) return sides[i];
    if (!Number.isFinite(end.g[i])) lost.push(i);
    const watched = new Watched(view, i, tolerance(i) / Math.abs(step.h), event.moves === true);
    const isSettled = settled.has(i) || (start.g[i] === 0 && sides[i] === 0);
    const first = {theta: 0, g: isSettled ? start.g[i] : onSide(start.g[i], sides[i]), dg: start.dg[i]};
    const last = {theta: 1, g: end.g[i], dg: end.dg[i]};
    const least = touch(first.dg, last.dg);
    const reaches = Math.abs(last.dg) > least && Math.abs(last.g) <= Math.abs(last.dg) * (rounding / Math.abs(step.h));
    const {inside, side} = crossingsOf(watched, first, last, isSettled, reaches, least);
    if (event.moves === true && inside.length === 0 && endsOnTouch(first, last)) watched.touched = 1;
    if (watched.touched !== undefined) touched.push({event: i, theta: watched.touched});
    for (const crossing of inside) if (accepts(event, crossing.rising)) found.push(crossing);
    const starts = sides[i] === 0 && !settled.has(i) && Math.abs(first.g) <= started * Math.abs(last.g - first.g);
    if (starts && inside.length === 0 && event.direction === (side < 0 ? 'falling' : 'rising')) begun.push(i);
    return side;
  });
  return {
    found: found.sort((a, b) => a.theta - b.theta || a.event - b.event),
    sides: Int8Array.from(ends),
    lost,
    touched,
    begun,
  };
}

/** A function that comes to zero at a step's end without a slope, and has not crossed it. */
const endsOnTouch = (first: Node, last: Node): boolean =>
  Math.abs(last.g) <= touchRounding * Math.abs(first.g) && Math.abs(last.dg) <= touching * Math.abs(first.dg);

/** A value on a known side of zero, where rounding may have moved it to the other one. */
const onSide = (g: number, side: number): number =>
  side === 0 || Math.sign(g) === side || Number.isNaN(g) ? g : side * Math.max(Math.abs(g), Number.MIN_VALUE);

interface Sides {
  readonly inside: readonly Crossing[];
  /** On which the function is in the end; 0 where it is not known. */
  readonly side: number;
}

function crossingsOf(
  watched: Watched,
  start: Node,
  end: Node,
  settled: boolean,
  reaches: boolean,
  least: number,
): Sides {
  let first = start;
  if (settled && isFinite(end)) {
    const sign = Math.sign(start.dg) || Math.sign(end.g);
    const theta = watched.before(sign, 1, start.dg, end.dg);
    if (theta === undefined) {
      const side = Math.sign(end.g);
      // From zero to the other side at once: there is nothing between.
      const inside =
        side === sign
          ? []
          : [
              {
                event: watched.event,
                theta: 0,
                rising: sign < 0,
                slope: start.dg,
                low: 0,
                high: 0,
                later: false,
                least,
                jumps: false,
              },
            ];
      return {inside, side};
    }
    first = watched.node(theta);
  }
  const nodes = [first];
  watched.divide(first, reaches ? {...end, g: 0} : end, deepest, nodes);
  return changesOf(watched, nodes, least);
}

/** Changes of sign from node to node; nodes that are zero or not finite have none, but for the last. */
function changesOf(watched: Watched, nodes: readonly Node[], least: number): Sides {
  const runs: {readonly first: Node; last: Node; readonly after?: Node}[] = [];
  let gap = false;
  for (const node of nodes) {
    const run = runs.at(-1);
    if (!isFinite(node)) gap = true;
    else if (node.g !== 0) {
      if (run !== undefined && !gap && Math.sign(run.last.g) === Math.sign(node.g)) run.last = node;
      else runs.push({first: node, last: node, after: gap ? undefined : run?.last});
      gap = false;
    }
  }
  const size = nodes.reduce((most, {g}) => (Number.isFinite(g) ? Math.max(most, Math.abs(g)) : most), 0);
  const end = nodes[nodes.length - 1];
  const reaching = runs.at(-1);
  if (end.g === 0 && reaching !== undefined && !gap) {
    const side = Math.sign(reaching.last.g);
    const way = Math.sign(end.dg) || Math.sign(watched.node(1 + beyond).g);
    if (way === -side) runs.push({first: end, last: {...end, g: way}, after: reaching.last});
  }
  const inside = runs.flatMap(({first, last, after}, k) =>
    after === undefined
      ? []
      : [watched.crossing(after, first, {low: runs[k - 1].first.theta, high: last.theta}, k > 1, least, size)],
  );
  const reached = runs.at(-1);
  return {inside, side: gap || reached === undefined ? 0 : Math.sign(reached.last.g)};
}
