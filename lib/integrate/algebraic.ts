/**
 * Analysis of M y' = f(y, t) with a singular mass at a state: its index, how far the state is from its algebraic
 * equations and from the hidden ones that differentiation gives, and which components have index 2. With Zᵀ M = 0, M N
 * = 0 and J = ∂f/∂y:
 *
 *     0 = Zᵀ f;   index 1 where Zᵀ J N has an inverse;   else with Wᵀ (Zᵀ J N) = 0, which leaves y' = M⁻f + N c,
 *     0 = Wᵀ Zᵀ (J M⁻f + f_t);   index 2 where Wᵀ Zᵀ J M⁻ J N V has an inverse, V the null vectors of Zᵀ J N
 *
 * (Hairer & Wanner, Solving ODEs II, §VII.1; the index is that of the linearized pencil.)
 */
import {InconsistentStateError, OptionError} from '../errors.js';
import {DENSE_LIMIT} from '../linear/null-space.js';
import type {Dense, Rank} from '../linear/rank.js';
import {dense, diagonalRank, product, rankOf, times} from '../linear/rank.js';
import {toUserTime} from '../step/time-direction.js';
import {loadParameters, startContext} from '../step/context.js';
import {listed} from '../text.js';
import type {RunContext} from './run-context.js';

/**
 * A share of what the state itself makes of an algebraic equation: ten times what float32 loses where it comes as a
 * tensor.
 */
const tolerated = 1e-6;

/** The matrices are dense, and larger ones would take seconds: such systems are integrated without this check. */
const largest = DENSE_LIMIT;

interface Instant {
  readonly n: number;
  readonly y: Float64Array;
  readonly f: Float64Array;
  /** ∂f/∂t */
  readonly ft: Float64Array;
  readonly mass: Rank;
  /** M at another state and time, [n, n]. */
  readonly elsewhere: Dense;
  /** J v */
  readonly along: (v: ArrayLike<number>) => Float64Array;
  /** J y' + f_t with y' = M⁻f, at another y. @param rate M⁻f at this one */
  readonly changeAt: (y: Float64Array, rate: Float64Array) => Float64Array;
}

/** One algebraic equation that a state does not obey. */
interface Defect {
  /** The row of M y' = f it is, or came from. */
  readonly row: number;
  readonly size: number;
  readonly hidden: boolean;
}

interface Algebraic {
  /** Infinity where it is more than 2, or where motion is not determined. */
  readonly index: number;
  readonly defects: readonly Defect[];
  /** Components of index 2, or that nothing determines. */
  readonly components: readonly number[];
  /** Null vectors of index 2, a column each, and the combinations of algebraic equations that are differentiated. */
  readonly directions?: Dense;
  readonly hidden?: Dense;
}

/** undefined where there is no mass, or too large a system. */
function instantOf(prepared: RunContext, y: Float64Array, t: number): Instant | undefined {
  const context = startContext(prepared);
  const {traced, compiled, linear} = context;
  const n = traced.inputs.x.size;
  if (traced.functions.rightHandSide === undefined || n > largest) return undefined;
  const forward = compiled.forward(linear);
  loadParameters(forward, context);
  const [x, shift] = [forward.optionalBuffer('x'), forward.optionalBuffer('shift')];
  const given = y.subarray(0, n);
  x?.set(given);
  forward.optionalBuffer('t')?.fill(t);
  shift?.fill(0);
  // Before the others, whose numbers are those that stay.
  const elsewhere = massElsewhere(prepared, forward, given, t);
  x?.set(given);
  forward.optionalBuffer('t')?.fill(t);
  forward.run('checks');
  const along = (v: ArrayLike<number>): Float64Array => {
    shift?.set(v);
    forward.run('checks');
    return forward.buffer('rightHandSideAlong').slice();
  };
  const mass = massRank(forward.buffer('mass'), n);
  const matrix = squareMass(forward.buffer('mass'), n);
  const changeAt = (place: Float64Array, rate: Float64Array): Float64Array => {
    x?.set(place);
    shift?.fill(0);
    forward.run('checks');
    // M there differs little from M here.
    const excess = times(squareMass(forward.buffer('mass'), n), rate).map((m, i) => m - times(matrix, rate)[i]);
    const there = mass.solve(forward.buffer('rightHandSide').map((f, i) => f - excess[i]));
    const change = along(there).map((value, i) => value + forward.buffer('rightHandSideRate')[i]);
    x?.set(given);
    return change;
  };
  return {
    n,
    y: given.slice(),
    f: forward.buffer('rightHandSide').slice(),
    ft: forward.buffer('rightHandSideRate').slice(),
    mass,
    elsewhere,
    along,
    changeAt,
  };
}

function squareMass(mass: Float64Array, n: number): Dense {
  if (mass.length === n * n && n > 1) return {rows: n, columns: n, values: mass.slice()};
  return dense(n, n, (i, j) => (i === j ? mass[mass.length === n ? i : 0] : 0));
}

/** The size of a displacement by which a mass that moves is told from one that does not. */
const displaced = 1e-3;

/** M of a state and a time that are not those of the start, without a symmetry that it could be blind to. */
function massElsewhere(
  {h0}: RunContext,
  forward: ReturnType<RunContext['compiled']['forward']>,
  given: Float64Array,
  t: number,
): Dense {
  const n = given.length;
  const extent = given.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  forward.optionalBuffer('x')?.set(given.map((value, i) => value + displaced * extent * Math.sin(i + 1)));
  forward.optionalBuffer('t')?.fill(t + h0);
  forward.run('checks');
  return squareMass(forward.buffer('mass'), n);
}

/** What rounding leaves of zeros, as a share of what they are sums of. */
const steady = 1e-9;

/**
 * @throws OptionError 'bad-mass' where the rows of M depend on others elsewhere: algebraic equations come and go with
 *   the state
 */
function requireSteadyRows(prepared: RunContext, {mass: {left, dependent}, elsewhere}: Instant): void {
  const [sums, sizes] = [product(left, elsewhere), product(absolute(left), absolute(elsewhere))];
  const row = dependent.find((_, k) =>
    Array.from({length: sums.columns}, (_x, j) => k * sums.columns + j).some(
      at => Math.abs(sums.values[at]) > steady * sizes.values[at],
    ),
  );
  if (row === undefined) return;
  const name = prepared.start.traced.state.rowName(row);
  throw new OptionError(
    'bad-mass',
    `Row ${row} (${name}) of M y' = f depends on other rows at the start, but not nearby: which equations are `
      + 'algebraic may not change with y or t. Combine the rows so that algebraic ones are zero everywhere, or '
      + "introduce z = y' for a component, with 0 = f − M(y, t) z.",
    {row},
  );
}

const absolute = ({rows, columns, values}: Dense): Dense => ({rows, columns, values: values.map(Math.abs)});

function massRank(mass: Float64Array, n: number): Rank {
  if (mass.length === n * n && n > 1) return rankOf({rows: n, columns: n, values: mass});
  return diagonalRank(mass.length === n ? mass : new Float64Array(n).fill(mass[0]));
}

function jacobianOf({n, along}: Instant): Dense {
  const unit = new Float64Array(n);
  const columns = Array.from({length: n}, (_, j) => {
    unit.fill(0);
    unit[j] = 1;
    return along(unit);
  });
  return dense(n, n, (i, j) => columns[j][i]);
}

/** @param h the length of a step, over which rounding of times counts */
function analyze(instant: Instant, h: number): Algebraic {
  const {y, f, ft, mass, n} = instant;
  const {left: Z, right: N, dependent} = mass;
  if (dependent.length === 0) return {index: 0, defects: [], components: []};
  const J = jacobianOf(instant);
  const ZJ = product(Z, J);
  const rate = mass.solve(f);
  const moving = times(ZJ, rate, Math.abs).map((a, k) => a + times(Z, ft, Math.abs)[k]);
  const stated = defectsOf(
    times(Z, f),
    times(ZJ, y, Math.abs).map((a, k) => a + Math.abs(h) * moving[k]),
    times(Z, f, Math.abs),
    dependent,
    false,
  );
  const own = rankOf(product(ZJ, N));
  if (own.dependent.length === 0) return {index: 1, defects: stated, components: []};
  const {left: W, right: V} = own;
  const NV = product(N, V);
  const WZJ = product(W, ZJ);
  const inverse = (b: Dense): Dense => {
    const columns = Array.from({length: b.columns}, (_, j) =>
      mass.solve(Float64Array.from({length: n}, (_x, i) => b.values[i * b.columns + j])),
    );
    return dense(n, b.columns, (i, j) => columns[j][i]);
  };
  const bends = product(WZJ, inverse(product(J, NV)));
  const largestOf = (column: number): number => {
    let size = 0;
    for (let i = 0; i < n; i++) size = Math.max(size, Math.abs(NV.values[i * NV.columns + column]));
    return size;
  };
  const components = Array.from({length: n}, (_, i) => i).filter(i =>
    Array.from({length: NV.columns}, (_, k) => k).some(
      k => Math.abs(NV.values[i * NV.columns + k]) > 1e-10 * largestOf(k),
    ),
  );
  if (rankOf(bends).rank < NV.columns) return {index: Infinity, defects: stated, components};
  const Zft = times(Z, ft);
  const hidden = times(WZJ, rate).map((a, k) => a + times(W, Zft)[k]);
  const scale = times(WZJ, rate, Math.abs).map(
    (a, k) => a + times(W, Zft, Math.abs)[k] + times(product(WZJ, inverse(J)), y, Math.abs)[k],
  );
  return {
    index: 2,
    defects: [
      ...stated,
      ...defectsOf(
        hidden,
        scale,
        scale,
        own.dependent.map(k => dependent[k]),
        true,
      ),
    ],
    components,
    directions: NV,
    hidden: product(W, Z),
  };
}

/**
 * What a start needs beside f to be made consistent, see `StepPoint.projection`: undefined where its equations do not
 * ask for it.
 */
export function projectionAt(prepared: RunContext, y: Float64Array, t: number): Float64Array | undefined {
  if (prepared.start.traced.inputs.projection === undefined) return undefined;
  const instant = instantOf(prepared, y, t);
  if (instant === undefined) return undefined;
  const {
    n,
    mass: {dependent, left},
  } = instant;
  const found = new Float64Array(2 * n * n);
  const {directions} = analyze(instant, prepared.h0);
  if (directions !== undefined) found.set(projectorOnto(directions).values);
  dependent.forEach((row, k) => found.set(left.values.subarray(k * n, (k + 1) * n), n * n + row * n));
  return found;
}

/** A (AᵀA)⁻¹ Aᵀ, of a matrix of full column rank. */
function projectorOnto(a: Dense): Dense {
  const transposed = dense(a.columns, a.rows, (i, j) => a.values[j * a.columns + i]);
  const {solve} = rankOf(product(transposed, a));
  const columns = Array.from({length: a.rows}, (_, j) =>
    solve(Float64Array.from({length: a.columns}, (_x, i) => transposed.values[i * a.rows + j])),
  );
  return product(
    a,
    dense(a.columns, a.rows, (i, j) => columns[j][i]),
  );
}

/**
 * Rounding of the terms of an equation, which may cancel to nothing; of terms of one where a state of zeros at rest
 * has no size.
 */
const rounding = 16 * Number.EPSILON;

const defectsOf = (
  sizes: readonly number[],
  scales: readonly number[],
  terms: readonly number[],
  rows: readonly number[],
  hidden: boolean,
): Defect[] =>
  sizes.flatMap((size, k) =>
    Math.abs(size) <= tolerated * scales[k] + rounding * (terms[k] || (scales[k] === 0 ? 1 : 0))
      ? []
      : [{row: rows[k], size, hidden}],
  );

/** The largest first. */
const worst = (defects: readonly Defect[]): Defect =>
  defects.reduce((most, defect) => (Math.abs(defect.size) > Math.abs(most.size) ? defect : most));

/**
 * What the decimal digits of a number leave open. Fewer than three, as of 0, 1.5 and 100, are exact; three and four
 * were rounded; five and more were computed, and the last may be off by two (the wheelset of the IVP test set, with
 * multipliers of five digits, by 1.5).
 */
function uncertainty(value: number): number {
  const [digits, exponent] = Math.abs(value).toExponential().split('e');
  const count = digits.replace('.', '').length;
  const units = count < 3 ? 0 : count < 5 ? 0.5 : 2;
  return units * 10 ** (Number(exponent) - count + 1);
}

/** Displacements for differences: the truncation of a quadratic is 0, and rounding leaves half of the digits. */
const probe = Math.sqrt(Number.EPSILON);

/**
 * The correction that makes a state consistent, if it is no more than what rounding to the digits of the state has
 * taken: of least squares in what the digits leave open, to first order. The component where it is largest.
 */
function roundingOf(
  prepared: RunContext,
  instant: Instant,
  algebraic: Algebraic,
  t: number,
): {readonly component: number; readonly size: number} | undefined {
  const {n, y, f, mass, changeAt} = instant;
  const units = y.map(uncertainty);
  const {left: Z} = mass;
  const ZJ = product(Z, jacobianOf(instant));
  const {hidden = dense(0, n, () => 0)} = algebraic;
  const rate = mass.solve(f);
  const columns = Array.from({length: n}, (_, j) => {
    if (units[j] === 0 || hidden.rows === 0) return new Float64Array(n);
    const step = probe * Math.abs(y[j]);
    const [ahead, behind] = [step, -step].map(by =>
      changeAt(
        y.map((value, i) => (i === j ? value + by : value)),
        rate,
      ),
    );
    return ahead.map((value, i) => (value - behind[i]) / (2 * step));
  });
  const hiddenRows = product(
    hidden,
    dense(n, n, (i, j) => columns[j][i]),
  );
  const defects = [...times(Z, f), ...times(hidden, changeAt(y, rate))];
  // In units of what the digits leave open.
  const A = dense(
    defects.length,
    n,
    (k, j) => (k < Z.rows ? ZJ.values[k * n + j] : hiddenRows.values[(k - Z.rows) * n + j]) * units[j],
  );
  const transposed = dense(n, A.rows, (i, k) => A.values[k * n + i]);
  const shares = times(transposed, rankOf(product(A, transposed)).solve(Float64Array.from(defects, d => -d)));
  if (!shares.every(share => Math.abs(share) <= 1)) return undefined;
  const corrected = instantOf(
    prepared,
    y.map((value, i) => value + shares[i] * units[i]),
    t,
  );
  if (corrected === undefined || analyze(corrected, prepared.h0).defects.length > 0) return undefined;
  const relative = shares.map((share, i) => Math.abs(share * units[i]) / (Math.abs(y[i]) || 1));
  const component = relative.indexOf(Math.max(...relative));
  return {component, size: Math.abs(shares[component] * units[component])};
}

/**
 * Checks a run's start.
 * @returns what is to be said of a start that is taken though it is not exact
 * @throws OptionError 'bad-index' where the index is more than 2, or more than the scheme takes; InconsistentStateError
 */
export function checkAlgebraic(prepared: RunContext, y: Float64Array, t: number): string | undefined {
  const instant = instantOf(prepared, y, t);
  if (instant === undefined) return undefined;
  requireSteadyRows(prepared, instant);
  const {traced} = prepared.start;
  const algebraic = analyze(instant, prepared.h0);
  const {index, defects, components} = algebraic;
  const names = (rows: readonly number[]): string => listed(rows.map(row => traced.state.rowName(row)));
  if (index > (traced.maxIndex ?? 0)) throw badIndex(prepared, index, names(components));
  const project = prepared.options.consistent === 'project';
  if (project || defects.length === 0) return undefined;
  const rounded = roundingOf(prepared, instant, algebraic, t);
  const at = `t = ${Number(toUserTime(traced, t).toPrecision(12))}`;
  if (rounded !== undefined)
    return (
      `The state at ${at} obeys its algebraic equations to the digits that it is given with, and is taken as it is: `
      + `${traced.state.rowName(rounded.component)} is off by ${rounded.size.toExponential(1)}. `
      + "consistent: 'project' corrects it."
    );
  const {row, size, hidden} = worst(defects);
  const what = hidden
    ? `the time derivative of its algebraic equations, first that of row ${row} (${traced.state.rowName(row)}) `
      + `of M y' = f, is ${size.toExponential(3)}`
    : `row ${row} (${traced.state.rowName(row)}) of M y' = f is algebraic, and its f is ${size.toExponential(3)}`;
  const kept = index === 1 ? 'keeps M y' : 'changes M y by the least impulse';
  throw new InconsistentStateError(
    'inconsistent',
    `The state at ${at} is not consistent: ${what} where 0 belongs. Correct the state, or take `
      + `consistent: 'project', which ${kept} and finds the algebraic components.`,
    {row, defect: size, hidden},
  );
}

function badIndex({traced: {name}}: RunContext, index: number, components: string): OptionError {
  if (index === 2)
    return new OptionError(
      'bad-index',
      `${components} are of index 2, given by a derivative of the algebraic equations, and scheme ${name} takes `
        + 'index 1: choose radauIIA5(), kvaerno5(), bdf2() or implicitEuler().',
      {index, scheme: name},
    );
  return new OptionError(
    'bad-index',
    `M y' = f does not determine ${components} at the start, or only by second derivatives: its index is 3 or `
      + 'more, or its matrices are singular there. Differentiate an algebraic equation by hand, or write a '
      + 'mechanical system with constraints as mechanics({constraints}).',
    {index: 'more than 2'},
  );
}

/**
 * M y' = f goes back as y' = M⁻¹f.
 * @throws OptionError 'bad-adjoint' where M has no inverse as the run begins
 */
export function requireInverse(prepared: RunContext): void {
  const rows = instantOf(prepared, prepared.initialValues, prepared.t0)?.mass.dependent ?? [];
  if (rows.length === 0) return;
  throw new OptionError(
    'bad-adjoint',
    "backsolveAdjoint integrates y' = M⁻¹f, and this mass is singular, in "
      + `${listed(rows.map(row => prepared.start.traced.state.rowName(row)))}: use implicitAdjoint(), or `
      + 'forwardSensitivity() for few parameters.',
    {rows: [...rows]},
  );
}

/**
 * Components that estimates of errors leave out: those of index 2, of which an error does not go on into the next
 * step. As the run begins; found once for a run.
 */
export function unjudged(prepared: RunContext): readonly number[] {
  if (prepared.start.traced.functions.rightHandSide === undefined) return none;
  const known = found.get(prepared);
  if (known !== undefined) return known;
  const instant = instantOf(prepared, prepared.initialValues, prepared.t0);
  const components = instant === undefined ? [] : analyze(instant, prepared.h0).components;
  found.set(prepared, components);
  return components;
}

const none: readonly number[] = [];
const found = new WeakMap<RunContext, readonly number[]>();
