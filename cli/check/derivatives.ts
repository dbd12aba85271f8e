/**
 * Declared derivatives of a term against central differences in double precision, entry by entry: first and second
 * ones.
 */
import {StiffgradError} from '../../lib/index.js';
import {numberText} from '../../training/internal.js';
import type {Finding} from './finding.js';
import type {Named, Term} from './term.js';

/**
 * Differences of double-precision values: h = ε^⅓ leaves ε^⅔ ≈ 4e-11 of a smooth function; a wrong derivative differs
 * by its own size.
 */
const STEP = Math.cbrt(Number.EPSILON);
const WRONG = 1e-5;
/** Entries that are compared one by one; a longer vector is compared at as many places spread over it. */
const ENTRIES = 40;

/** A point near the start, off the places where symmetry hides errors. */
export function pointNear({start}: Term, seed: number): Named {
  let k = seed;
  // The golden ratio's multiples spread evenly (Weyl): numbers of no pattern that are the same at every run.
  const moved = (value: number, scale: number): number =>
    value + 0.1 * Math.max(Math.abs(value), scale) * (((k++ * 0.6180339887498949) % 1) - 0.5);
  return Object.fromEntries(
    Object.entries(start).map(([name, values]) => [
      name,
      values.map(value => moved(value, name.startsWith('params.') ? 0 : 1)),
    ]),
  );
}

/** Numbers of no pattern between 0.5 and 1.5. */
export const weights = (length: number): Float64Array =>
  Float64Array.from({length}, (_, i) => 0.5 + ((i * 0.6180339887498949) % 1));

export const dot = (a: Float64Array, b: Float64Array): number => a.reduce((sum, value, i) => sum + value * b[i], 0);

const nudged = (at: Named, name: string, i: number, by: number): Named => ({
  ...at,
  [name]: at[name].map((value, k) => (k === i ? value + by : value)),
});

interface Worst {
  readonly place: string;
  readonly declared: number;
  readonly difference: number;
  readonly error: number;
}

/** The largest disagreement of what is declared with differences of `value`. */
function compared(at: Named, declared: Named, value: (at: Named) => number): Worst | undefined {
  const scale = Math.max(...Object.values(declared).flatMap(values => Array.from(values, Math.abs)), 1e-8);
  let worst: Worst | undefined;
  for (const [name, values] of Object.entries(at)) {
    const every = Math.max(1, Math.floor(values.length / ENTRIES));
    for (let i = 0; i < values.length; i += every) {
      const h = STEP * Math.max(Math.abs(values[i]), 1);
      const [high, low] = [value(nudged(at, name, i, h)), value(nudged(at, name, i, -h))];
      const difference = (high - low) / (2 * h);
      // Rounding of the two values, over 2h, is no error.
      const noise = (8 * Number.EPSILON * (Math.abs(high) + Math.abs(low))) / (2 * h);
      const error =
        Math.max(0, Math.abs(difference - declared[name][i]) - noise) / Math.max(Math.abs(difference), scale * 1e-2);
      if (worst === undefined || !(error <= worst.error))
        worst = {place: values.length === 1 ? name : `${name}[${i}]`, declared: declared[name][i], difference, error};
    }
  }
  return worst;
}

const isWrong = (worst: Worst | undefined): worst is Worst => worst !== undefined && !(worst.error <= WRONG);

const sentence = ({place, declared, difference}: Worst): string =>
  `the derivative with respect to ${place} is declared as ${numberText(declared, 5)}, `
  + `differences give ${numberText(difference, 5)}`;

const agreement = (worst: Worst | undefined): string =>
  `agrees with differences to ${numberText(worst?.error ?? 0, 1)}`;

function firstDerivatives(term: Term, at: Named, w: Float64Array): Finding {
  const worst = compared(at, term.gradient(at, w), place => dot(w, term.value(place)));
  return {
    check: 'gradient',
    ok: !isWrong(worst),
    where: term.where,
    message: isWrong(worst)
      ? `${sentence(worst)}. A tf.customGrad or a definePrimitive in this term is wrong, `
        + 'or it reads a value outside the trace.'
      : agreement(worst),
  };
}

function secondDerivatives(term: Term, at: Named, w: Float64Array): Finding {
  const {where} = term;
  const along = Object.fromEntries(Object.entries(at).map(([name, values]) => [name, weights(values.length)]));
  const slope = (place: Named): number =>
    Object.entries(term.gradient(place, w)).reduce((sum, [name, values]) => sum + dot(values, along[name]), 0);
  try {
    const worst = compared(at, term.curvature(at, w, along), slope);
    return {
      check: 'second derivative',
      ok: !isWrong(worst),
      where,
      message: isWrong(worst)
        ? `${sentence(worst)} of the gradient. The gradient of a tf.customGrad in it has a wrong derivative.`
        : agreement(worst),
    };
  } catch (error) {
    if (!(error instanceof StiffgradError)) throw error;
    return {check: 'second derivative', ok: false, where, message: error.message};
  }
}

/** Second derivatives are looked at where the first ones are right. */
export function derivatives(term: Term): Finding[] {
  const at = pointNear(term, 1);
  const w = weights(term.value(at).length);
  const first = firstDerivatives(term, at, w);
  return first.ok ? [first, secondDerivatives(term, at, w)] : [first];
}

/**
 * Rounding of a product of n terms stays far below this; a matrix that is not symmetric by intent is so by its own
 * size.
 */
const UNSYMMETRIC = 1e-9;

/** A mass matrix is symmetric and positive definite: u·Mw = w·Mu and w·Mw > 0, for vectors of both signs. */
export function massMatrix(term: Term, degrees: number): Finding[] {
  const m = term.value(pointNear(term, 1));
  if (degrees < 2 || m.length !== degrees ** 2) return m.every(value => value > 0) ? [] : [notPositive(term.where)];
  const times = (x: Float64Array): Float64Array =>
    Float64Array.from({length: degrees}, (_, i) => dot(m.subarray(i * degrees, (i + 1) * degrees), x));
  const u = weights(degrees).map((value, i) => (i % 2 === 0 ? value : -value));
  const w = weights(degrees + 3).slice(3);
  const [uMw, wMu] = [dot(u, times(w)), dot(w, times(u))];
  if (Math.abs(uMw - wMu) > UNSYMMETRIC * Math.max(...m.map(Math.abs)) * degrees)
    return [
      {
        check: 'mass',
        ok: false,
        where: term.where,
        message: `is not symmetric: u·Mw is ${numberText(uMw, 5)} and w·Mu is ${numberText(wMu, 5)}.`,
      },
    ];
  return dot(u, times(u)) > 0 && dot(w, times(w)) > 0 ? [] : [notPositive(term.where)];
}

const notPositive = (where: string): Finding => ({
  check: 'mass',
  ok: false,
  where,
  message: 'is not positive definite: kinetic energy would be negative.',
});
