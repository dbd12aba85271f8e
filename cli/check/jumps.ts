/**
 * Jumps by bisection: of a continuous function the change over an interval goes to zero with its length, over a jump it
 * does not. Looked for along the path of a run, or across the start where there is none.
 */
import type {Trajectory, System} from '../../lib/index.js';
import {numberText} from '../../training/internal.js';
import type {Finding} from './finding.js';
import {pointNear} from './derivatives.js';
import type {Named, Term} from './term.js';

/** @param located names of the switches at which the steps of a run end, such as 'sign in forces[1]' */
export function jumps(term: Term, located: readonly string[], run?: Trajectory<System>): Finding[] {
  const {where} = term;
  const own = new Set(located.filter(name => name.endsWith(` in ${where.split(' ')[0]}`)));
  for (const [from, to] of run === undefined ? acrossStart(term) : alongPath(term, run)) {
    const jump = bisected(term, from, to);
    if (jump !== undefined) {
      return [
        {
          check: 'continuity',
          ok: own.size > 0,
          where,
          message:
            `jumps by ${numberText(jump.by, 3)} ${placeText(jump.low, jump.high)}`
            + (own.size > 0
              ? `. Steps end at its switches: ${[...own].join(', ')}.`
              : '. A step cannot converge at a jump: smooth it over a width, or make it an event.'),
        },
      ];
    }
  }
  return run === undefined
    ? []
    : [{check: 'continuity', ok: true, where, message: 'no jump was found along the run or near the start'}];
}

/** Pairs of points on both sides of the start, in directions of no pattern. */
function acrossStart(term: Term): [Named, Named][] {
  return [3, 17, 40, 71].map(seed => {
    const middle = pointNear(term, seed + 1000);
    const end = (side: number): Named =>
      Object.fromEntries(
        Object.entries(middle).map(([name, values]) => [
          name,
          name.startsWith('params.')
            ? values
            : values.map(
                (value, i) =>
                  value + side * (0.5 + ((seed * (i + 1) * 0.618) % 1)) * ((seed >> (i % 4)) % 2 === 0 ? 1 : -1),
              ),
        ]),
      );
    return [end(1), end(-1)];
  });
}

/** States of a run that are looked at, at most. */
const STATES = 400;

/** The five intervals between saved states over which the term changes most. */
function alongPath(term: Term, run: Trajectory<System>): [Named, Named][] {
  const saved = run.values('t').length;
  const every = Math.max(1, Math.floor(saved / STATES));
  const series = Object.keys(term.start)
    .filter(name => !name.startsWith('params.'))
    .map(name => [name, run.values(name as 'q')] as const);
  const states: Named[] = [];
  for (let i = 0; i < saved; i += every)
    states.push({
      ...term.start,
      ...Object.fromEntries(
        series.map(([name, values]) => [
          name,
          values.slice((i * values.length) / saved, ((i + 1) * values.length) / saved),
        ]),
      ),
    });
  const values = states.map(state => term.value(state));
  return states
    .slice(1)
    .map((state, i) => ({pair: [states[i], state] as [Named, Named], change: change(values[i], values[i + 1])}))
    .sort((a, b) => b.change - a.change)
    .slice(0, 5)
    .map(({pair}) => pair);
}

const change = (a: Float64Array, b: Float64Array): number =>
  a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);

/** 40 halvings: 1e-12 of the interval, where a smooth function has changed by as little. */
const HALVINGS = 40;

function bisected(term: Term, from: Named, to: Named): {by: number; low: Named; high: Named} | undefined {
  let [low, high] = [from, to];
  let [below, above] = [term.value(low), term.value(high)];
  const whole = change(below, above);
  // The gap of a constraint is zero along a run but for rounding: what it is elsewhere says how much that is.
  const size = Math.max(
    ...[below, above, term.value(pointNear(term, 1))].flatMap(values => Array.from(values, Math.abs)),
  );
  if (!(whole > 1e-9 * size)) return undefined;
  for (let k = 0; k < HALVINGS; k++) {
    const middle = Object.fromEntries(
      Object.entries(low).map(([name, values]) => [name, values.map((value, i) => (value + high[name][i]) / 2)]),
    );
    const value = term.value(middle);
    if (change(below, value) > change(value, above)) [high, above] = [middle, value];
    else [low, below] = [middle, value];
  }
  const by = change(below, above);
  return by > 1e-3 * whole ? {by, low, high} : undefined;
}

/** The coordinates that pass something there: those that change sign between the two sides, or else the state. */
function placeText(low: Named, high: Named): string {
  const crossing = Object.entries(low)
    .flatMap(([name, values]) =>
      Array.from(values, (value, i) => ({
        name: values.length === 1 ? name : `${name}[${i}]`,
        value,
        other: high[name][i],
      })),
    )
    .filter(({value, other}) => value !== other);
  const zero = crossing.filter(
    ({value, other}) => Math.abs(value) < 1e-9 && Math.abs(other) < 1e-9 && value * other <= 0,
  );
  const shown = zero.length > 0 ? zero : crossing;
  return `at ${shown
    .slice(0, 4)
    .map(({name, value}) => `${name} = ${zero.length > 0 ? '0' : numberText(value, 4)}`)
    .join(', ')}`;
}
