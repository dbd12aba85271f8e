/**
 * A doctor for models. Each term of a system is made a system of its own, M = 1 and one explicit step of length 1, so that
 * v⁺ − v is the term itself in double precision; its declared derivatives are compared with central differences, first and second,
 * and its values are searched for jumps. Then the whole is run: its matrix, Newton's history, a gradient, which has to be finite.
 */
import {
  explicitEuler,
  mechanics,
  ode,
  readNumeric,
  simulate,
  StiffgradError,
  type AnyTrajectory,
  type System,
} from '../lib/index.js';
import {jacobianPattern} from '../plot/index.js';
import {numberText} from '../training/index.js';
import type {ModelFile} from './model.js';

/** One thing that was looked at. */
export interface Finding {
  readonly check: 'trace' | 'gradient' | 'second derivative' | 'continuity' | 'matrix' | 'newton' | 'run';
  readonly ok: boolean;
  /** 'forces[1] (friction)', 'the run'. */
  readonly where: string;
  readonly message: string;
}

type Named = {[name: string]: Float64Array};
type Shapes = {readonly [name: string]: readonly number[]};

/** A function of named vectors with derivatives, both ways. */
interface Term {
  readonly where: string;
  readonly shapes: Shapes;
  value(at: Named): Float64Array;
  /** ∂(w·f)/∂at */
  gradient(at: Named, w: Float64Array): Named;
  /** The Hessian of w·f times a direction. */
  curvature(at: Named, w: Float64Array, along: Named): Named;
}

/** Differences of double-precision values: h = ε^⅓ leaves ε^⅔ ≈ 4e-11 of a smooth function; a wrong derivative differs by its own size. */
const STEP = Math.cbrt(Number.EPSILON);
const WRONG = 1e-5;
/** Entries that are compared one by one; a longer vector is compared at as many places spread over it. */
const ENTRIES = 40;

export function checkModel({system, initial, options}: ModelFile): Finding[] {
  const findings: Finding[] = [];
  const attempt = (check: Finding['check'], where: string, work: () => Finding[]): void => {
    try {
      findings.push(...work());
    } catch (error) {
      if (!(error instanceof StiffgradError)) throw error;
      // A term alone is forces[0] of its system, wherever it stood.
      findings.push({check, ok: false, where, message: error.message.replace(/^forces\[0\]/, where)});
    }
  };
  const {params = {}, t1: _, ...rest} = options;
  const start = {...initial};
  let path: AnyTrajectory | undefined;
  for (const term of partsOf(system)) {
    attempt('trace', term.where, () => {
      const traced = tracedTerm(term, start, params);
      return [...gradients(traced, params, start), ...jumps(traced, params, start, undefined)];
    });
  }
  if (findings.some(({check}) => check === 'trace')) return findings;
  attempt('matrix', 'the step', () => {
    const pattern = jacobianPattern(system, start as never, {...rest, params, steps: 1});
    const history = pattern.residuals.map(value => numberText(value, 2)).join(', ');
    return [
      {check: 'matrix', ok: true, where: 'the step', message: String(pattern)},
      // A right derivative squares the residual or ends at rounding; a wrong one leaves a fixed part of it each time.
      {
        check: 'newton',
        ok: pattern.residuals.length <= SLOW,
        where: 'the first step',
        message: `${pattern.residuals.length} iterations, residuals ${history}${pattern.residuals.length > SLOW ? ": slower than Newton's method with a right derivative is" : ''}`,
      },
    ];
  });
  attempt('run', 'the run', () => {
    path = simulate(system, start as never, {...options, throw: false} as never);
    return [
      {
        check: 'run',
        ok: path.status === 'completed' || path.status === 'event',
        where: 'the run',
        message: String(path),
      },
    ];
  });
  if (path !== undefined) {
    const run = path;
    for (const term of partsOf(system))
      attempt('continuity', term.where, () => jumps(tracedTerm(term, start, params), params, start, run));
    run.dispose();
  }
  return once(findings);
}

/** Newton's iteration from a fresh guess is done in 3 to 6; more in the first step means a slow rate. */
const SLOW = 8;

interface Part {
  readonly where: string;
  readonly system: System;
}

function partsOf(system: System): Part[] {
  if (system.kind === 'ode') return [{where: `derivative${nameOf(system.derivative)}`, system: ode(system.derivative)}];
  return system.forces.map((force, i) => ({
    where: `forces[${i}]${nameOf(force)}`,
    system: mechanics({mass: 1, forces: force}),
  }));
}

const nameOf = (f: {readonly name: string}): string =>
  ['', 'forces', 'derivative'].includes(f.name) ? '' : ` (${f.name})`;

/** f by one explicit step of length 1. */
function tracedTerm(
  {where, system}: Part,
  start: {readonly [name: string]: unknown},
  params: {readonly [name: string]: unknown},
): Term {
  const target = system.kind === 'ode' ? 'y' : 'v';
  const shapes: {[name: string]: readonly number[]} = {};
  const read = (name: string, value: unknown): void => {
    shapes[name] = readNumeric(value as never, name).shape;
  };
  for (const [name, value] of Object.entries(start)) if (name !== 't') read(name, value);
  for (const [name, value] of Object.entries(params)) if (isLeaf(value)) read(`params.${name}`, value);
  const simulation = simulate.prepare(
    system,
    start as never,
    {scheme: explicitEuler(), dt: 1, steps: 1, params} as never,
  );
  const valuesOf = (at: Named): {initial: object; params: object} => {
    const initial: {[name: string]: unknown} = {...start};
    const given: {[name: string]: unknown} = {...params};
    for (const [name, values] of Object.entries(at)) {
      const value = shaped(values, shapes[name]);
      if (name.startsWith('params.')) given[name.slice(7)] = value;
      else initial[name] = value;
    }
    return {initial, params: given};
  };
  const cotangent = (w: Float64Array): object => ({[target]: [...new Array<number>(w.length).fill(0), ...w]});
  const named = ({initial, params: gradient}: {initial: unknown; params: unknown}, at: Named, w: Float64Array): Named =>
    Object.fromEntries(
      Object.keys(at).map(name => {
        const from = name.startsWith('params.') ? (gradient as Named)[name.slice(7)] : (initial as Named)[name];
        const found =
          from === undefined
            ? new Float64Array(at[name].length)
            : Float64Array.from(typeof from === 'number' ? [from] : from);
        if (name === target) found.forEach((value, i) => (found[i] = value - w[i])); // v⁺ = v + f
        return [name, found];
      }),
    );
  return {
    where,
    shapes,
    value: at => {
      const run = simulation.run(valuesOf(at) as never);
      const values = run.values(target);
      run.dispose();
      const half = values.length / 2;
      return values.slice(half).map((value, i) => value - values[i]);
    },
    gradient: (at, w) => {
      const {trajectory, pullback} = simulation.vjp(valuesOf(at) as never);
      trajectory.dispose();
      return named(pullback(cotangent(w)), at, w);
    },
    curvature: (at, w, along) => {
      const tangent = {initial: {} as {[name: string]: unknown}, params: {} as {[name: string]: unknown}};
      for (const [name, values] of Object.entries(along)) {
        if (name.startsWith('params.')) tangent.params[name.slice(7)] = shaped(values, shapes[name]);
        else tangent.initial[name] = shaped(values, shapes[name]);
      }
      const {trajectory, products} = simulation.hvps(
        {cotangent: () => cotangent(w)},
        [tangent] as never,
        valuesOf(at) as never,
      );
      trajectory.dispose();
      return named(products[0], at, new Float64Array(w.length));
    },
  };
}

const isLeaf = (value: unknown): boolean =>
  typeof value !== 'object'
  || value === null
  || Array.isArray(value)
  || ArrayBuffer.isView(value)
  || 'dataSync' in value;

function shaped(values: Float64Array, shape: readonly number[]): unknown {
  if (shape.length === 0) return values[0];
  if (shape.length === 1) return values;
  const rows = values.length / shape[0];
  return Array.from({length: shape[0]}, (_, i) => {
    const row = shaped(values.subarray(i * rows, (i + 1) * rows), shape.slice(1));
    return row instanceof Float64Array ? Array.from(row) : row;
  });
}

/** Where terms are looked at: near the start, and off the places where symmetry hides what is wrong. */
function pointNear(
  {shapes}: Term,
  start: {readonly [name: string]: unknown},
  params: {readonly [name: string]: unknown},
  seed: number,
): Named {
  let k = seed;
  return Object.fromEntries(
    Object.keys(shapes).map(name => {
      const given = readNumeric(
        (name.startsWith('params.') ? params[name.slice(7)] : start[name]) as never,
        name,
      ).values;
      // The golden ratio's multiples spread evenly (Weyl): numbers of no pattern that are the same at every run.
      return [
        name,
        Float64Array.from(
          given,
          value =>
            value
            + 0.1
              * Math.max(Math.abs(value), name.startsWith('params.') ? 0 : 1)
              * (((k++ * 0.6180339887498949) % 1) - 0.5),
        ),
      ];
    }),
  );
}

const weights = (length: number): Float64Array =>
  Float64Array.from({length}, (_, i) => 0.5 + ((i * 0.6180339887498949) % 1));
const dot = (a: Float64Array, b: Float64Array): number => a.reduce((sum, value, i) => sum + value * b[i], 0);
const nudged = (at: Named, name: string, i: number, by: number): Named => ({
  ...at,
  [name]: at[name].map((value, k) => (k === i ? value + by : value)),
});

interface Worst {
  readonly place: string;
  readonly told: number;
  readonly difference: number;
  readonly error: number;
}

/** Declared against central differences, entry by entry; the largest disagreement. */
function compared(at: Named, told: Named, function_: (at: Named) => number): Worst | undefined {
  const scale = Math.max(...Object.values(told).flatMap(values => Array.from(values, Math.abs)), 1e-8);
  let worst: Worst | undefined;
  for (const [name, values] of Object.entries(at)) {
    const every = Math.max(1, Math.floor(values.length / ENTRIES));
    for (let i = 0; i < values.length; i += every) {
      const h = STEP * Math.max(Math.abs(values[i]), 1);
      const [high, low] = [function_(nudged(at, name, i, h)), function_(nudged(at, name, i, -h))];
      const difference = (high - low) / (2 * h);
      // Rounding of the two values, over 2h, is no error.
      const noise = (8 * Number.EPSILON * (Math.abs(high) + Math.abs(low))) / (2 * h);
      const error =
        Math.max(0, Math.abs(difference - told[name][i]) - noise) / Math.max(Math.abs(difference), scale * 1e-2);
      if (worst === undefined || error > worst.error)
        worst = {place: values.length === 1 ? name : `${name}[${i}]`, told: told[name][i], difference, error};
    }
  }
  return worst;
}

function gradients(
  term: Term,
  params: {readonly [name: string]: unknown},
  start: {readonly [name: string]: unknown},
): Finding[] {
  const at = pointNear(term, start, params, 1);
  const w = weights(term.value(at).length);
  const {where} = term;
  const first = compared(at, term.gradient(at, w), place => dot(w, term.value(place)));
  const wrong = first !== undefined && first.error > WRONG;
  const sentence = ({place, told, difference}: Worst): string =>
    `the derivative with respect to ${place} is declared as ${numberText(told, 5)}, differences give ${numberText(difference, 5)}`;
  const findings: Finding[] = [
    {
      check: 'gradient',
      ok: !wrong,
      where,
      message:
        first === undefined || !wrong
          ? `agrees with differences to ${numberText(first?.error ?? 0, 1)}`
          : `${sentence(first)}. A tf.customGrad in this term is wrong, or it reads a value outside the trace.`,
    },
  ];
  if (wrong) return findings;
  const along = Object.fromEntries(Object.entries(at).map(([name, values]) => [name, weights(values.length)]));
  try {
    const second = compared(at, term.curvature(at, w, along), place =>
      Object.entries(term.gradient(place, w)).reduce((sum, [name, values]) => sum + dot(values, along[name]), 0),
    );
    const bent = second !== undefined && second.error > WRONG;
    findings.push({
      check: 'second derivative',
      ok: !bent,
      where,
      message: bent
        ? `${sentence(second)} of the gradient. The gradient of a tf.customGrad in it is itself not differentiated right.`
        : `agrees with differences to ${numberText(second?.error ?? 0, 1)}`,
    });
  } catch (error) {
    if (!(error instanceof StiffgradError)) throw error;
    findings.push({check: 'second derivative', ok: false, where, message: error.message});
  }
  return findings;
}

/**
 * Jumps by bisection: of a continuous function the change over an interval goes to zero with its length, over a jump it does
 * not. Looked for along the path of a run, or across the start where there is none.
 */
function jumps(
  term: Term,
  params: {readonly [name: string]: unknown},
  start: {readonly [name: string]: unknown},
  run: AnyTrajectory | undefined,
): Finding[] {
  const {where} = term;
  for (const [from, to] of run === undefined ? acrossStart(term, params, start) : alongPath(term, params, run)) {
    const jump = bisected(term, from, to);
    if (jump !== undefined) {
      return [
        {
          check: 'continuity',
          ok: false,
          where,
          message: `jumps by ${numberText(jump.by, 3)} ${placeText(jump.low, jump.high)}. No step converges onto a jump: smooth it over a width (tanh(v / width) for sign(v)), or make it an event.`,
        },
      ];
    }
  }
  return run === undefined
    ? []
    : [{check: 'continuity', ok: true, where, message: 'no jump was found on the way or about the start'}];
}

function acrossStart(
  term: Term,
  params: {readonly [name: string]: unknown},
  start: {readonly [name: string]: unknown},
): [Named, Named][] {
  return [3, 17, 40, 71].map(seed => {
    const middle = pointNear(term, start, params, seed + 1000);
    const ends = [1, -1].map(side =>
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
      ),
    );
    return [ends[0], ends[1]];
  });
}

/** The five intervals between saved states over which the term changes most. */
function alongPath(term: Term, params: {readonly [name: string]: unknown}, run: AnyTrajectory): [Named, Named][] {
  const saved = run.values('t').length;
  const every = Math.max(1, Math.floor(saved / 400));
  const series = Object.fromEntries(
    Object.keys(term.shapes)
      .filter(name => !name.startsWith('params.'))
      .map(name => [name, run.values(name as 'q')]),
  );
  const own = Object.fromEntries(
    Object.keys(term.shapes)
      .filter(name => name.startsWith('params.'))
      .map(name => [name, Float64Array.from(readNumeric(params[name.slice(7)] as never, name).values)]),
  );
  const states: Named[] = [];
  for (let i = 0; i < saved; i += every)
    states.push({
      ...own,
      ...Object.fromEntries(
        Object.entries(series).map(([name, values]) => [
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
  const size = Math.max(...below.map(Math.abs), ...above.map(Math.abs));
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

/** What was found across the start is not told again along the way, nor that nothing was. */
function once(findings: readonly Finding[]): Finding[] {
  const failed = new Set(findings.filter(({check, ok}) => check === 'continuity' && !ok).map(({where}) => where));
  const seen = new Set<string>();
  return findings.filter(({check, ok, where}) => {
    if (check !== 'continuity') return true;
    if (ok && failed.has(where)) return false;
    if (seen.has(where)) return false;
    seen.add(where);
    return true;
  });
}
