/**
 * Whether a derivative along adaptive steps can be believed. It is the exact derivative of the steps taken, with their
 * lengths as constants. Where a tangent grows on its way and shrinks again, as in the jumps of a relaxation oscillator,
 * what the steps leave out is amplified by this growth, while the state stays within its tolerance. So the derivative
 * along one random direction is compared with the tangent of a run with tighter tolerances. The direction changes every
 * parameter by about its own size, as CVODES scales parameters for the tolerances of their sensitivities (Hindmarsh et
 * al. 2005, SUNDIALS).
 */
import type {Gradient} from '../adjoint/gradient.js';
import type {Directions} from '../adjoint/directions.js';
import type {SecondOrder} from '../adjoint/hessian.js';
import {StiffgradError} from '../errors.js';
import {tangentsAlong} from '../integrate/adjoints/forward.js';
import type {Run} from '../integrate/path.js';
import type {RunContext} from '../integrate/run-context.js';
import {run} from '../integrate/run.js';
import type {CompiledStep} from '../step/compiled.js';
import {
  combination,
  derivativeAlong,
  directionOf,
  randomDirections,
  randomShares,
  termsAlong,
} from './random-directions.js';
import type {SeriesCotangents} from './series.js';
import {seriesOf} from './series.js';
import {
  comparable,
  tangentsOf,
  tighterTangents,
  withTolerancesOver,
  type Planned,
  type RunTangent,
} from './tighter-run.js';

/** The comparison is a run with its tolerances over this. */
const tightening = 5;

/** A tolerance is tightened no further than this: rounding would decide. */
const tightestRtol = 1e-13;

/**
 * Multiples of the relative tolerance that a derivative may be off by. The tolerance is that of a step, and what a run
 * makes of it is a few times that in short runs of systems that are not stiff, and up to a hundred in those of some
 * periods, in states and derivatives alike.
 */
const allowed = 90;

/**
 * Multiples of the relative error of the states that it may be off by. A phase error that grows with the frequency to
 * the power k is k times as large, relatively, in the derivative by the frequency: 4 with schemes of order 2. In
 * relaxation oscillators the multiples were 4.7 to 1e17.
 */
const allowedOfStates = 4.5;

/**
 * The share of the absolute tolerance that it may be off by. Derivatives that have nearly died out, as those by a start
 * in a stable system, are damped by long steps as these damp, and not as the solution does: they have no relative
 * accuracy.
 */
const allowedAbsolute = 0.1;

/** A number of steps that differs by more than this factor is another pattern, of which nothing is known yet. */
const otherPattern = 1.5;

/** What a comparison found. */
interface Verdict {
  readonly found: Difference;
  readonly isRight: boolean;
  /** Tolerances over this would do, where that is known. */
  readonly factor?: number;
  /** Said of it: written when it is first asked for. */
  warning?: string;
}

/** What is known of derivatives of a step: by its tolerance and the number of steps, and by its tolerance alone. */
interface Known {
  readonly verdicts: Map<string, Verdict>;
  /** Tolerances over this give right tangents. */
  readonly factors: Map<string, number>;
  /** What products with the Hessian are warned of; undefined where they are right. */
  readonly products: Map<string, string | undefined>;
}

const knownOfSteps = new WeakMap<CompiledStep, Known>();

function knownOf({compiled}: RunContext): Known {
  let known = knownOfSteps.get(compiled);
  if (known === undefined)
    knownOfSteps.set(compiled, (known = {verdicts: new Map(), factors: new Map(), products: new Map()}));
  return known;
}

/** Whether derivatives of a run are checked: its steps are adaptive, and a tighter tolerance can be met. */
function isChecked<C extends RunContext>(prepared: C): prepared is C & Planned {
  const {plan} = prepared.options;
  if (plan?.absolute === undefined || plan.revisits === true) return false;
  const {control, saving, events} = plan;
  if (control.rtol > 0 && control.rtol / tightening <= tightestRtol) return false;
  // States that are saved at events have times that move.
  return saving.kind !== 'steps' || events.every(({then}) => then === 'record');
}

function toleranceKey({options: {plan}}: Planned): string {
  return `${plan.control.rtol} ${plan.absolute?.reduce((sum, value) => sum + value, 0)}`;
}

function patternOf(planned: Planned, {counters, tightened = 1}: Run): string {
  const steps = Math.round(Math.log(Math.max(counters.steps, 1)) / Math.log(otherPattern));
  return `${steps} ${tightened} ${toleranceKey(planned)}`;
}

/** Whether a derivative of this run is the first with such steps. */
export const checkIsDue = (prepared: RunContext, done: Run): boolean =>
  isChecked(prepared) && !knownOf(prepared).verdicts.has(patternOf(prepared, done));

/** What is known of a run's derivatives, or is found by a comparison; undefined where there is none. */
function verdictOn(planned: Planned, done: Run, compare: () => Comparison | undefined): Verdict | undefined {
  if (done.status !== 'completed' && done.status !== 'event') return undefined;
  const {verdicts} = knownOf(planned);
  const pattern = patternOf(planned, done);
  const known = verdicts.get(pattern);
  if (known !== undefined) return known;
  const found = attempted(compare);
  if (found === undefined) return undefined;
  const {difference} = found;
  const isRight = difference.error <= difference.allowance;
  const factor = isRight ? undefined : remedy(planned, done, found);
  const verdict = {found: difference, isRight, factor};
  verdicts.set(pattern, verdict);
  return verdict;
}

/** What fails at another tolerance says nothing about this one. */
function attempted<T>(compare: () => T): T | undefined {
  try {
    return compare();
  } catch (error) {
    if (error instanceof StiffgradError) return undefined;
    throw error;
  }
}

/** Two derivatives along one direction. */
interface Difference {
  readonly error: number;
  /** What the error may be. */
  readonly allowance: number;
  /** The size of the derivative, in the same unit. */
  readonly size: number;
  readonly direction: Directions;
}

interface Comparison {
  /** The worst of all directions. */
  readonly difference: Difference;
  readonly directions: Directions;
  /** The tangents at the tighter tolerance. */
  readonly fine: readonly RunTangent[];
  /** The worst difference of tangents and those at a tolerance that is tighter still. */
  again(coarse: readonly RunTangent[], fine: readonly RunTangent[]): Difference;
}

/** What the start contributes may be off by what the parameters may: it often has died out. */
function inOneUnit(differences: readonly Difference[]): readonly Difference[] {
  let least = 0;
  return differences.map(one => ({...one, allowance: (least = Math.max(least, one.allowance))}));
}

const worst = (differences: readonly Difference[]): Difference =>
  differences.reduce((most, one) => (one.error * most.allowance > most.error * one.allowance ? one : most));

/** Adds a warning to a run whose gradient, before loss functions add to it, is wrong. */
export function checkGradient(prepared: RunContext, done: Run, cotangents: SeriesCotangents, gradient: Gradient): void {
  if (!isChecked(prepared) || done.tape?.isApproximate === true) return;
  const verdict = verdictOn(prepared, done, () => {
    const directions = randomDirections(prepared, cotangents.asked?.initial);
    const difference = (value: number, states: Float64Array, fine: RunTangent, k: number): Difference => {
      const right = product(prepared, cotangents, fine);
      const ofStates = right.terms * errorOfStates(prepared, cotangents, states, fine.run.states);
      return {
        error: Math.abs(right.value - value) / shownShare(prepared),
        allowance: Math.max(allowed * right.tolerance, allowedOfStates * ofStates),
        size: Math.abs(right.value),
        direction: directionOf(directions, k),
      };
    };
    const compare = (values: readonly number[], states: Float64Array, fine: readonly RunTangent[]): Difference =>
      worst(inOneUnit(fine.map((one, k) => difference(values[k], states, one, k))));
    return comparison(prepared, done, directions, {
      first: fine =>
        compare(
          fine.map((_, k) => derivativeAlong(gradient, directionOf(directions, k))),
          done.states,
          fine,
        ),
      again: (coarse, fine) =>
        compare(
          coarse.map(one => product(prepared, cotangents, one).value),
          coarse[0].run.states,
          fine,
        ),
    });
  });
  if (verdict?.isRight === false) warn(prepared, done, verdict);
}

/**
 * Compares tangents of a run along some directions.
 * @returns tolerances over this give right ones; undefined if they are right, or if nothing is known to do, of which
 *   there is a warning
 */
export function checkTangents(
  prepared: RunContext,
  done: Run,
  directions: Directions,
  matrices: readonly Float64Array[],
): number | undefined {
  if (!isChecked(prepared)) return undefined;
  const verdict = verdictOn(prepared, done, () => {
    const [along, own] = fewTangents(prepared, directions, matrices);
    const again = (coarse: readonly RunTangent[], fine: readonly RunTangent[]): Difference =>
      worst(fine.map((one, k) => ({...differing(prepared, coarse[k], one), direction: directionOf(along, k)})));
    return comparison(prepared, done, along, {
      first: fine =>
        again(
          fine.map((one, k) => ({...one, run: done, matrix: own[k]})),
          fine,
        ),
      again,
    });
  });
  if (verdict === undefined || verdict.isRight) return undefined;
  const {factor} = verdict;
  if (factor !== undefined && mayTighten(prepared) && factor > (done.tightened ?? 1)) return factor;
  warn(prepared, done, verdict);
  return undefined;
}

/** The derivatives of a loss, and the directions of its products. */
type Products = SecondOrder & {readonly directions: Directions};

/**
 * Adds a warning to a run whose products with the Hessian differ from those of a run with tighter tolerances. What
 * steps leave out is amplified once more in them.
 * @param tighter the same products with other options of the run
 */
export function checkProducts<C extends RunContext>(
  prepared: C,
  done: Run,
  cotangents: Float64Array,
  found: Products,
  tighter: (options: C['options'] & Planned['options']) => SecondOrder & {readonly done: Run},
): void {
  // Where the gradient is wrong, so are its derivatives.
  if (!isChecked(prepared) || done.warnings.some(isDerivativeWarning)) return;
  const {products: known} = knownOf(prepared);
  const pattern = patternOf(prepared, done);
  if (!known.has(pattern)) {
    const share = attempted(() => {
      const {options} = comparable(prepared, done, tightening * (done.tightened ?? 1));
      const fine = tighter(options);
      return fine.done.times.length === done.times.length
        ? errorOfProducts(prepared, done, cotangents, found, fine)
        : undefined;
    });
    known.set(pattern, share === undefined ? undefined : productSentence(share));
  }
  const warning = known.get(pattern);
  if (warning !== undefined) done.warnings.push(warning);
}

/** The largest error of products, as a share of them, where it is more than it may be. */
function errorOfProducts(
  planned: Planned,
  {states}: Run,
  series: Float64Array,
  found: Products,
  fine: SecondOrder & {readonly done: Run},
): number | undefined {
  const shares = randomShares(planned, found.directions);
  const along = randomDirections(planned);
  // Errors of phase are counted twice in a second derivative.
  const ofStates = 2 * allowedOfStates * errorOfStates(planned, {series}, states, fine.done.states);
  const allowance = Math.max(allowed * (planned.options.plan.control.rtol + rounding), ofStates);
  let largest: {readonly error: number; readonly size: number} | undefined;
  found.products.forEach((product, d) => {
    let size = 0;
    for (let k = 0; k < along.count; k++) {
      const direction = directionOf(along, k);
      const right = fine.products[d];
      const error =
        Math.abs(derivativeAlong(product, direction) - derivativeAlong(right, direction)) / shownShare(planned);
      // Curvature that changes the gradient by less than its tolerance does not matter.
      const ofGradient = shares[d] === 0 ? 0 : termsAlong(fine.gradient, direction) / Math.abs(shares[d]);
      size = Math.max(size, termsAlong(right, direction) + ofGradient);
      if (error > allowance * size && (largest === undefined || error * largest.size > largest.error * size))
        largest = {error, size};
    }
  });
  return largest === undefined ? undefined : largest.error / largest.size;
}

const productSentence = (share: number): string =>
  `${beginning}: products with the Hessian are off by ${shownShareOf(share)}, as a run with tighter tolerances shows. `
  + 'What adaptive steps leave out is amplified more in second derivatives than in first ones. Take far tighter '
  + 'tolerances, and a scheme of higher order.';

/** Tangents along more directions than this are compared by one combination of them. */
const fewDirections = 2;

function fewTangents(
  planned: Planned,
  directions: Directions,
  matrices: readonly Float64Array[],
): readonly [directions: Directions, matrices: readonly Float64Array[]] {
  if (directions.count <= fewDirections) return [directions, matrices];
  const shares = randomShares(planned, directions);
  const sum = new Float64Array(matrices[0].length);
  matrices.forEach((one, k) => one.forEach((value, i) => (sum[i] += shares[k] * value)));
  return [combination(directions, shares), [sum]];
}

/** Compares a run with one of tighter tolerances; undefined where that one shows something else. */
function comparison(
  planned: Planned,
  done: Run,
  directions: Directions,
  compared: {first(fine: readonly RunTangent[]): Difference; again: Comparison['again']},
): Comparison | undefined {
  const fine = tighterTangents(planned, done, directions, tightening * (done.tightened ?? 1));
  return fine && {difference: compared.first(fine), directions, fine, again: compared.again};
}

/** Runs with a number of steps to take have no time at which another number would end. */
const mayTighten = ({options: {plan}}: Planned): boolean =>
  plan.control.sensitivities !== false && plan.end !== undefined;

/**
 * The run with tolerances that are known to give right tangents, and by how much they are tighter.
 * @param search where it is not known, tangents along a random direction find it
 */
export function withRightTangents<C extends RunContext>(
  prepared: C,
  search: boolean,
): {readonly prepared: C; readonly factor?: number} {
  if (!isChecked(prepared) || !mayTighten(prepared)) return {prepared};
  const {factors} = knownOf(prepared);
  const key = toleranceKey(prepared);
  if (search && !factors.has(key)) {
    const directions = randomDirections(prepared);
    const own = run(prepared, tangentsAlong(directions));
    if (own.error === undefined)
      attempted(() => {
        const matrices = tangentsOf(prepared, own, directions).map(({matrix}) => matrix);
        factors.set(key, checkTangents(prepared, own, directions, matrices) ?? 1);
      });
  }
  const factor = factors.get(key) ?? 1;
  return factor === 1 ? {prepared} : {prepared: withTolerancesOver(prepared, factor), factor};
}

/** Remembers which tolerances give right tangents of these runs. */
export function rememberTolerance(prepared: RunContext, factor: number): void {
  if (isChecked(prepared)) knownOf(prepared).factors.set(toleranceKey(prepared), factor);
}

/** The absolute tolerance of each column of the series; what has none has that of its largest tangent. */
function absoluteTolerances(planned: Planned, {matrix}: RunTangent): Float64Array {
  const {plan} = planned.options;
  const {width} = seriesOf(planned);
  const {absolute = new Float64Array(0), control} = plan;
  return Float64Array.from({length: width}, (_, i) => {
    if (i < absolute.length) return (allowedAbsolute / allowed) * absolute[i];
    let largest = 0;
    for (let k = i; k < matrix.length; k += width) largest = Math.max(largest, Math.abs(matrix[k]));
    return control.rtol * largest;
  });
}

/** A derivative's rounding, as a share of its terms. */
const rounding = 1e-12;

/** Cotangents times tangents, and the tolerance of that. */
function product(
  planned: Planned,
  {series, happened = new Float64Array(0)}: SeriesCotangents,
  tangent: RunTangent,
): {readonly value: number; readonly terms: number; readonly tolerance: number} {
  const {rtol} = planned.options.plan.control;
  const {width} = seriesOf(planned);
  const absolute = absoluteTolerances(planned, tangent);
  let [value, terms, tolerance] = [0, 0, 0];
  series.forEach((cotangent, k) => {
    if (cotangent === 0) return;
    value += cotangent * tangent.matrix[k];
    terms += Math.abs(cotangent * tangent.matrix[k]);
    tolerance += Math.abs(cotangent) * (absolute[k % width] + (rtol + rounding) * Math.abs(tangent.matrix[k]));
  });
  happened.forEach((cotangent, k) => {
    value += cotangent * tangent.happened[k];
    tolerance += (rtol + rounding) * Math.abs(cotangent * tangent.happened[k]);
  });
  return {value, terms, tolerance};
}

/** Norms of the rows of a tangent in units of the state's tolerance. */
function rowNorms(
  planned: Planned,
  states: Float64Array,
  matrix: Float64Array,
  width = seriesOf(planned).width,
): Float64Array {
  const {control, absolute = new Float64Array(0)} = planned.options.plan;
  const {size} = planned.traced.state;
  const count = absolute.length;
  const weights = absolute.map((value, i) => {
    let largest = 0;
    for (let k = i; k < states.length; k += size) largest = Math.max(largest, Math.abs(states[k]));
    return value + control.rtol * largest;
  });
  return Float64Array.from({length: matrix.length / width}, (_, n) => {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += (matrix[n * width + i] / weights[i]) ** 2;
    return Math.sqrt(sum / count);
  });
}

/** Rows of tangents that may be beyond their tolerance, as a share: where a state jumps, a shift in time is much. */
const spareRows = 0.1;

/** The share of a run's error that the difference to a run with a tighter tolerance shows. */
const shownShare = ({traced: {order, errorInfo}}: RunContext): number =>
  1 - tightening ** (-order / (errorInfo?.errorOrder ?? order + 1));

/** The relative error of the states that cotangents are of. */
function errorOfStates(
  planned: Planned,
  {series}: SeriesCotangents,
  states: Float64Array,
  right: Float64Array,
): number {
  const {width} = seriesOf(planned);
  const {size} = planned.traced.state;
  let [error, whole] = [0, 0];
  series.forEach((cotangent, k) => {
    const column = k % width;
    if (column >= size || cotangent === 0) return;
    const at = Math.floor(k / width) * size + column;
    error += Math.abs(cotangent * (right[at] - states[at]));
    whole += Math.abs(cotangent * right[at]);
  });
  return whole === 0 ? 0 : error / whole / shownShare(planned);
}

/** The error of all but a few rows, in units of the states' tolerance. */
function differing(planned: Planned, coarse: RunTangent, fine: RunTangent): Omit<Difference, 'direction'> {
  const {rtol} = planned.options.plan.control;
  const {size} = planned.traced.state;
  const share = shownShare(planned);
  const {states} = fine.run;
  const {norms, errors} = compareRows(planned, states, coarse.matrix, fine.matrix);
  const ofStates = rowNorms(planned, states, minus(states, coarse.run.states), size);
  const order = Array.from(errors, (error, n) => ({
    error: error / share,
    size: norms[n],
    allowance: Math.max(allowedAbsolute, rtol * norms[n] * Math.max(allowed, (allowedOfStates * ofStates[n]) / share)),
  }));
  order.sort((a, b) => a.error / a.allowance - b.error / b.allowance);
  return order[Math.ceil((1 - spareRows) * (order.length - 1))];
}

const minus = (a: Float64Array, b: Float64Array): Float64Array => a.map((value, i) => value - b[i]);

function compareRows(
  planned: Planned,
  states: Float64Array,
  matrix: Float64Array,
  right: Float64Array,
): {readonly norms: Float64Array; readonly errors: Float64Array} {
  return {norms: rowNorms(planned, states, right), errors: rowNorms(planned, states, minus(right, matrix))};
}

/** Steps that the search for a tolerance takes: multiples of those of the run, and of any run. */
const [mostOfRun, mostOfAny] = [12, 200_000];

/** Where a derivative is off by less than this share, its error is proportional to the tolerances. */
const near = 0.1;

/** Tolerances over this would do; undefined where none that was tried does. */
function remedy(planned: Planned, done: Run, {directions, fine, again}: Comparison): number | undefined {
  const {rtol} = planned.options.plan.control;
  const {steps} = done.counters;
  let [coarse, factor, spent] = [fine, tightening * (done.tightened ?? 1), fine[0].run.counters.steps];
  while (spent < Math.min(mostOfRun * steps, mostOfAny)) {
    const next = factor * tightening;
    const finer =
      rtol / next > tightestRtol ? attempted(() => tighterTangents(planned, done, directions, next)) : undefined;
    if (finer === undefined) return undefined;
    spent += finer[0].run.counters.steps;
    const {error, allowance, size} = again(coarse, finer);
    // Twice as much as is proportional, for what is not.
    const enough = error <= allowance ? factor : (2 * factor * error) / allowance;
    if ((error <= allowance || error < near * size) && rtol / enough > tightestRtol) return enough;
    [coarse, factor] = [finer, next];
  }
  return undefined;
}

const beginning = 'Derivatives of this run may be wrong';

/** Whether a warning of a run is one of its derivatives. */
export const isDerivativeWarning = (warning: string): boolean => warning.startsWith(beginning);

function warn(planned: Planned, done: Run, verdict: Verdict): void {
  const warning = (verdict.warning ??= sentence(planned, done, verdict));
  if (!done.warnings.includes(warning)) done.warnings.push(warning);
}

function sentence(planned: Planned, done: Run, {factor, found: {error, size, direction}}: Verdict): string {
  return (
    `${beginning}: along a random direction the derivative is off by ${shownShareOf(error / size)}, as a run with `
    + 'tighter tolerances shows. Derivatives take the lengths of adaptive steps as constants. Where tangents grow and '
    + 'shrink again, what this leaves out grows, although the states are within their tolerance.'
    + `${attempted(() => departure(planned, done, direction)) ?? ''} `
    + (factor === undefined
      ? 'Far tighter tolerances are needed, and a scheme of higher order.'
      : `Tolerances ${roundedUp(factor)} times tighter would do.`)
  );
}

const shownShareOf = (share: number): string =>
  share < 1 ? `${(100 * share).toPrecision(2)} %` : `${share.toPrecision(2)} times its size`;

/** To one digit. */
function roundedUp(factor: number): string {
  const unit = 10 ** Math.floor(Math.log10(factor));
  return String(Math.ceil(factor / unit - 1e-9) * unit);
}

/** The tangent of every step is looked at where there are no more numbers in them than this (80 MB). */
const mostNumbers = 1e7;

const everyStep = {kind: 'steps', every: 1} as const;

/** Where the tangent of the steps departs from the right one, and how large it is on its way. */
function departure(given: Planned, {counters, tightened = 1}: Run, direction: Directions): string {
  const planned = tightened === 1 ? given : withTolerancesOver(given, tightened);
  const {options, traced} = planned;
  const {plan} = options;
  // With events states are saved that are no ends of steps.
  if (plan.events.length > 0 || counters.steps * traced.state.size > mostNumbers) return '';
  const every = {...planned, options: {...options, onProgress: undefined, plan: {...plan, saving: everyStep}}};
  const own = run(every, tangentsAlong(direction));
  const [{matrix}] = tangentsOf(every, own, direction);
  const [fine] = tighterTangents(every, own, direction, tightening) ?? [];
  if (fine === undefined) return '';
  const {norms, errors} = compareRows(every, own.states, matrix, fine.matrix);
  const step = errors.findIndex((error, n) => error > near * norms[n]);
  if (step < 0) return '';
  const growth = norms.reduce((most, norm) => Math.max(most, norm), 0) / norms[norms.length - 1];
  return (
    ` It departs in step ${step}, at t = ${Number(own.times[step].toPrecision(6))}.`
    + (growth > 2 ? ` On the way the tangent is ${growth.toPrecision(2)} times as large as at the end.` : '')
  );
}
