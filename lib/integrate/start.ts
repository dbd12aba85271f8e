/**
 * The start of a run: checks mass and constraints, and computes what the scheme carries from the user's
 * blocks. With constraints this needs separate equations, solved like a step; it is recorded like
 * a step too, so that gradients pass through it.
 */
import {StepRecord} from '../adjoint/record.js';
import {plainVectors} from '../engine/vectors.js';
import {InconsistentStateError, OptionError, SingularMatrixError} from '../errors.js';
import {isSeed} from '../graph/primitives/brownian-path.js';
import {densePattern, lu} from '../linear/index.js';
import {NewtonIteration} from '../newton/index.js';
import {toUserTime} from '../step/time-direction.js';
import type {ForwardExecutable} from '../step/compiled.js';
import {loadParameters, startContext} from '../step/context.js';
import {stepError} from '../step/failed-step.js';
import type {Layout} from '../step/layout.js';
import type {TracedStep} from '../step/traced-step.js';
import {firstNotFinite, indexText} from '../system/places.js';
import {listed} from '../text.js';
import {namedOnce} from './warnings.js';
import {checkAlgebraic, projectionAt} from './algebraic.js';
import type {RunContext} from './run-context.js';
import {StepSystem} from './step-system.js';
import type {Counters} from './counters.js';

/**
 * How far a given state may be from its constraints, in units of the largest coordinate, or of 1: ten
 * times what float32 loses where the state comes as a tensor.
 */
const tolerated = 1e-6;

/**
 * x at the start and the record of the step that made it.
 * @param jump where an event's jump begins a run anew: the user's blocks before it, whose constraints may
 *   have drifted, and so may those after it; 'taken' where the jump has been checked before
 * @throws SingularMatrixError 'singular-mass', 'singular-step'; InconsistentStateError where the start is
 *   not finite or breaks the constraints; NewtonError where its equations are not solved
 */
export function startRun(
  prepared: RunContext,
  counters: Counters,
  jump?: Float64Array | 'taken',
): {x: Float64Array; record: StepRecord} {
  const context = startContext(prepared);
  const {traced, compiled, initialValues, t0, h0, linear} = context;
  const {mass, positions, kinematics, delays, seed} = traced.functions;
  const resumed = prepared.resumed === true && jump === undefined;
  if (resumed && delays === undefined && seed === undefined) return goingOn(prepared);
  const forward = compiled.forward(linear);
  loadParameters(forward, context);
  if (resumed) {
    forward.run('checks');
    checkDelays(prepared, forward.optionalBuffer('delays'));
    checkPast(prepared, forward.optionalBuffer('delays'));
    checkSeed(forward.optionalBuffer('seed'));
    return goingOn(prepared);
  }
  forward.optionalBuffer('x')?.set(initialValues);
  forward.optionalBuffer('t')?.fill(t0);
  forward.optionalBuffer('h')?.fill(h0);
  if (
    traced.functions.rightHandSide === undefined
    && [mass, positions, kinematics, delays, seed].some(one => one !== undefined)
  )
    forward.run('checks');
  if (traced.functions.rightHandSide === undefined) checkMass(prepared, forward.optionalBuffer('mass'));
  else if (jump !== 'taken' && traced.isEquilibrium !== true) {
    const note = checkAlgebraic(prepared, initialValues, t0);
    if (note !== undefined) (counters.notes ??= new Set()).add(note);
    forward.optionalBuffer('x')?.set(initialValues);
  }
  checkCoefficients(traced, forward.optionalBuffer('coefficients'));
  checkDelays(prepared, forward.optionalBuffer('delays'));
  checkSeed(forward.optionalBuffer('seed'));
  const project = prepared.options.consistent === 'project';
  if (kinematics !== undefined) checkKinematics(prepared, forward.buffer('kinematics'), project);
  if (traced.functions.positions !== undefined && !project && jump !== 'taken' && traced.isEquilibrium !== true) {
    checkConstraints(prepared, gapsIn(forward), jump === undefined ? undefined : gapsBefore(context, jump));
    forward.optionalBuffer('x')?.set(initialValues);
  }
  const projection = projectionAt(prepared, initialValues, t0);
  if (projection !== undefined) {
    forward.optionalBuffer('projection')?.set(projection);
    forward.optionalBuffer('x')?.set(initialValues);
    forward.optionalBuffer('t')?.fill(t0);
  }
  const residuals = counters.residualEvaluations;
  const {z, h} = !compiled.implicit ? {z: undefined, h: h0} : solve(context, counters);
  forward.run('update');
  const {evaluations} = traced;
  counters.evaluations +=
    evaluations.start + evaluations.update + (counters.residualEvaluations - residuals) * evaluations.residual;
  const x = forward.buffer('next').slice();
  const at = firstNotFinite(x);
  if (at >= 0) {
    throw new InconsistentStateError(
      'not-finite',
      `${prepared.traced.state.rowName(at)} of the initial state is ${x[at]}: a force or the mass is not finite there.`,
      {row: at},
    );
  }
  const record = new StepRecord(initialValues.length, z?.length ?? 0, 1);
  record.append(t0, h, initialValues, z);
  record.projection = projection;
  const torn =
    prepared.redundancy.regularization > 0 && traced.isEquilibrium !== true
      ? contradiction(prepared, x, t0)
      : undefined;
  if (torn !== undefined) throw torn;
  return {x, record};
}

/** The start of a run that goes on from a saved state: as it is given, with no step behind it. */
const goingOn = ({initialValues}: RunContext): {x: Float64Array; record: StepRecord} => ({
  x: initialValues.slice(),
  record: new StepRecord(0, 0, 1),
});

/**
 * A first step on trial that fails is tried with half its length, as a step would be: what it is taken for does not
 * depend on its length but for its error. Below 2⁻¹⁰ of the length it fails for another reason.
 */
const deepestHalving = 10;

function solve(context: RunContext, counters: Counters): {readonly z: Float64Array; readonly h: number} {
  const {traced, t0, h0, linear} = context;
  const newton = {...context.options.newton, iterations: undefined, linear};
  const system = new StepSystem({...context, options: {...context.options, newton}});
  const iteration = new NewtonIteration(newton, system, counters);
  const forward = context.compiled.forward(linear);
  const most = traced.usesTrialStep === true ? deepestHalving : 0;
  for (let halvings = 0, h = h0; ; halvings++, h /= 2) {
    forward.optionalBuffer('h')?.fill(h);
    forward.run('guess');
    const status = iteration.solve();
    if (status === 'converged') return {z: system.z, h};
    if (halvings < most && status !== 'singular') {
      iteration.discardFactor();
      continue;
    }
    const rowName = (row: number): string => traced.unknown.rowName(row);
    throw stepError({
      status,
      step: 0,
      t: t0,
      h,
      scheme: traced,
      newton,
      history: iteration.history,
      worst: iteration.worstRows(5).map(({row, residual}) => ({name: rowName(row), residual})),
      layout: traced.unknown,
      cause: iteration.cause,
    });
  }
}

/**
 * The gap that is farthest from zero, where it is more than may be tolerated of a state with coordinates of this size.
 */
function worstGap(gaps: Float64Array, coordinates: Float64Array): {row: number; gap: number} | undefined {
  if (gaps.length === 0) return undefined;
  const row = gaps.reduce((worst, gap, i) => (Math.abs(gap) > Math.abs(gaps[worst]) ? i : worst), 0);
  return Math.abs(gaps[row]) <= tolerated * Math.max(1, plainVectors.largest(coordinates))
    ? undefined
    : {row, gap: gaps[row]};
}

/** Row i of the multipliers, as the whole state or the start's unknown names it. */
function constraintName(state: Layout, row: number): string {
  const offset = state.block('lambda')?.offset;
  return offset === undefined ? `row ${row} of the constraints` : state.rowName(offset + row);
}

interface Gaps {
  readonly positions: Float64Array;
  readonly velocities: Float64Array;
  readonly depths: Float64Array;
}

/** As the checks have left them. */
const gapsIn = (forward: ForwardExecutable): Gaps => ({
  positions: forward.buffer('positions').slice(),
  velocities: forward.buffer('velocities').slice(),
  depths: forward.optionalBuffer('depths')?.slice() ?? new Float64Array(0),
});

/** The largest of each. */
type Drift = {readonly [name in keyof Gaps]: number};

/** How far the constraints had drifted before a jump. */
function gapsBefore({compiled, linear}: RunContext, before: Float64Array): Drift {
  const forward = compiled.forward(linear);
  forward.optionalBuffer('x')?.set(before);
  forward.run('checks');
  const {positions, velocities, depths} = gapsIn(forward);
  return {
    positions: plainVectors.largest(positions),
    velocities: plainVectors.largest(velocities),
    depths: plainVectors.largest(depths),
  };
}

/** A jump may carry a drift on, and reverse or scale it. */
const carriedOn = 10;

/** Kinematics are linear in v to rounding: sums of a few products. */
const nonlinear = 1e-10;

/**
 * @throws OptionError 'bad-kinematics' where q' is not linear in v; InconsistentStateError 'inconsistent' where the
 *   position is not on its manifold
 */
function checkKinematics(
  {initialValues, coordinates}: RunContext,
  [difference, size, off]: Float64Array,
  project: boolean,
): void {
  if (difference > nonlinear * size)
    throw new OptionError(
      'bad-kinematics',
      "kinematics must be linear in v, q' = N(q)v: at twice the velocity the rate is off by "
        + `${difference.toExponential(1)}. Move the constant or nonlinear part to a hidden state or a force.`,
    );
  if (project || !(off > tolerated * Math.max(1, plainVectors.largest(initialValues.subarray(0, coordinates))))) return;
  throw new InconsistentStateError(
    'inconsistent',
    `The initial position is ${off.toExponential(3)} off its manifold (of unit quaternions, for example): `
      + "correct it, or use consistent: 'project' for the nearest one.",
    {off},
  );
}

/** @throws InconsistentStateError 'inconsistent' naming the worst row */
function checkConstraints(
  {initialValues, coordinates: size, t0, traced}: RunContext,
  gaps: Gaps,
  before?: Drift,
): void {
  const check = (name: keyof Gaps, coordinates: Float64Array, what: string): void => {
    const worst = worstGap(gaps[name], coordinates);
    if (worst === undefined || (before !== undefined && Math.abs(worst.gap) <= carriedOn * before[name])) return;
    const {row, gap} = worst;
    const state =
      before === undefined
        ? 'The initial state'
        : `The state after the jump at t = ${Number(toUserTime(traced, t0).toPrecision(12))}`;
    // A row of positions is a gap that is held, or what a contact lacks: plain values do not say which.
    const must =
      name === 'depths' ? 'at least 0' : name === 'positions' && gap < 0 ? '0, of a contact at least 0' : '0';
    throw new InconsistentStateError(
      'inconsistent',
      `${state} does not satisfy its constraints: ${what} of ${constraintName(traced.state, row)} is `
        + `${gap.toExponential(3)} but must be ${must}. Correct the state, or use consistent: `
        + "'project' for the nearest one that does.",
      {row, gap, what},
    );
  };
  check('positions', initialValues.subarray(0, size), 'the gap');
  check('depths', initialValues.subarray(0, size), 'the gap');
  const {offset = size, size: count = size} = traced.state.block('v') ?? {};
  check('velocities', initialValues.subarray(offset, offset + count), 'the velocity');
}

/**
 * With the regularization of redundant rows a step is solved even where rows contradict one another; then the
 * gap shows it.
 * @param x a state whose first blocks are q and v
 */
export function contradiction(
  prepared: RunContext,
  x: Float64Array,
  clock: number,
): InconsistentStateError | undefined {
  const context = startContext(prepared);
  const forward = context.compiled.forward(context.linear);
  if (context.traced.functions.positions === undefined) return undefined;
  loadParameters(forward, context);
  forward.optionalBuffer('x')?.set(x.subarray(0, prepared.start.traced.inputs.x.size));
  forward.optionalBuffer('t')?.fill(clock);
  forward.run('checks');
  const worst = worstGap(forward.buffer('positions'), x.subarray(0, prepared.coordinates));
  if (worst === undefined) return undefined;
  const {row, gap} = worst;
  const t = toUserTime(prepared.traced, clock);
  return new InconsistentStateError(
    'contradictory',
    `Constraints contradict each other at t = ${Number(t.toPrecision(12))}: `
      + `the gap of ${constraintName(prepared.traced.state, row)} stays at ${gap.toExponential(3)}, `
      + `and rows ${listed(namedOnce(prepared.redundancy.rows))} depend on others. `
      + 'Remove the constraints that cannot hold at the same time.',
    {row, gap, t, rows: prepared.redundancy.rows},
  );
}

/**
 * Below this, products of two derivatives of a gap (G M⁻¹ Gᵀ, with a division by h²) come near the least double,
 * 2e-308, and a row looks like one that depends on others.
 */
const leastSlope = 1e-140;

/**
 * Tells constraints in units so large that their derivatives are lost from those that are truly redundant. Called where
 * rows were found to depend on one another: displaced coordinates must change a gap by a number that can be squared, or
 * by 0.
 * @throws OptionError 'constraint-scale' naming the row
 */
export function requireScaledRows(prepared: RunContext): void {
  const context = startContext(prepared);
  const {traced, compiled, linear, initialValues, t0, coordinates} = context;
  if (traced.functions.positions === undefined) return;
  const forward = compiled.forward(linear);
  loadParameters(forward, context);
  forward.optionalBuffer('t')?.fill(t0);
  const gapsAt = (share: number): Float64Array => {
    const extent = Math.max(1, plainVectors.largest(initialValues.subarray(0, coordinates)));
    // Directions without a symmetry that a gap could be blind to.
    forward
      .optionalBuffer('x')
      ?.set(initialValues.map((value, i) => (i < coordinates ? value + share * extent * Math.sin(i + 1) : value)));
    forward.run('checks');
    return forward.buffer('positions').slice();
  };
  const [here, there] = [gapsAt(0), gapsAt(1e-3)];
  const row = here.findIndex((gap, i) => gap !== there[i] && Math.abs(there[i] - gap) < leastSlope);
  if (row < 0) return;
  throw new OptionError(
    'constraint-scale',
    `${constraintName(prepared.traced.state, row)} changes by ${Math.abs(there[row] - here[row]).toExponential(1)} `
      + 'only when the coordinates change: squares of such numbers are 0 in double precision, '
      + 'and the row would have no effect. Multiply it by a constant so that it is of the size of the coordinates.',
    {row},
  );
}

function checkMass({start, coordinates}: RunContext, mass: Float64Array | undefined): void {
  const n = start.traced.state.block('v')?.size ?? coordinates;
  const node = start.traced.functions.mass;
  if (mass === undefined || node === undefined) return;
  const bad = mass.findIndex(value => !Number.isFinite(value));
  if (bad >= 0)
    throw new InconsistentStateError(
      'not-finite',
      `The mass is not finite at ${indexText(node.shape, bad) || 'its one value'}: ${mass[bad]}.`,
      {index: bad},
    );
  if (mass.length === n * n && mass.length > 1 && node.shape.length === 2 && node.shape[0] === n) {
    checkMassMatrix(mass, n);
    return;
  }
  if (mass.length > n && node.shape.length > 2) {
    const d = node.shape[node.shape.length - 1];
    for (let block = 0; block < mass.length; block += d * d) checkMassMatrix(mass.subarray(block, block + d * d), d);
    return;
  }
  const at = mass.findIndex(value => !(value > 0));
  if (at >= 0) {
    throw new SingularMatrixError(
      'singular-mass',
      `mass${indexText(node.shape, at)} is ${mass[at]}: every coordinate needs a positive mass. Give it one, `
        + 'or remove the coordinate. A mass given as numbers, one per coordinate, '
        + "may have zeros with schemes for M y' = f, such as radauIIA5().",
      {rows: [at]},
    );
  }
}

/**
 * Parameters and tensors change from run to run. A fit takes this error, as that of a state, for a step that was too
 * long.
 * @throws InconsistentStateError 'bad-coefficient' naming the constraint and the row
 */
function checkCoefficients({coefficients = []}: TracedStep, values: Float64Array | undefined): void {
  let offset = 0;
  for (const {constraint, name, size, upperBound} of coefficients) {
    const own = values?.subarray(offset, offset + size) ?? [];
    const row = own.findIndex(x => !(x >= 0 && x <= upperBound && x < Infinity));
    if (row >= 0)
      throw new InconsistentStateError(
        'bad-coefficient',
        `constraints[${constraint}]: ${name} must be ${upperBound === 1 ? 'from 0 to 1' : 'finite and at least 0'}; `
          + `${size === 1 ? 'it' : `that of row ${row}`} is ${own[row]}. Change the value, `
          + 'or give bounds to the parameter that is estimated.',
        {constraint, row, value: own[row]},
      );
    offset += size;
  }
}

/** Delays that are a number of steps may be off by their rounding, and that of float32 where they come as tensors. */
const roundedDelay = 1e-6;

/**
 * Delays may be parameters, and change from run to run.
 * @throws InconsistentStateError 'bad-delay'
 */
function checkDelays({options: {grid}}: RunContext, given: Float64Array | undefined): void {
  if (given === undefined) return;
  const [longest] = given;
  const values = given.subarray(1);
  const refuse = (index: number, why: string): never => {
    throw new InconsistentStateError('bad-delay', `delays[${index}] is ${values[index]}${why}`, {
      index,
      value: values[index],
    });
  };
  values.forEach((length, i) => {
    if (!(length > 0 && length < Infinity))
      refuse(i, ': a delay must be a positive number. Give bounds to what finds it.');
    if (length < grid.dt * (1 - roundedDelay))
      refuse(i, `, and steps are ${grid.dt} long: a step may not be longer than a delay. Make dt smaller.`);
    if (length > longest * (1 + roundedDelay))
      refuse(i, `, and the past is kept for ${longest}: say dde({…, maxDelay}).`);
  });
}

/**
 * The past of a saved state is a number of steps: shorter ones, which met the ends of runs, reach back less.
 * @throws InconsistentStateError 'bad-delay'
 */
function checkPast({traced: {state}, initialValues, t0}: RunContext, delays: Float64Array | undefined): void {
  const [began, pieces] = [state.block('began'), state.block('pieces')];
  if (delays === undefined || began === undefined || pieces === undefined) return;
  const lengths = delays.subarray(1);
  const oldest = initialValues[pieces.offset + pieces.size - 1];
  const index = lengths.findIndex(
    length => oldest > Math.max(initialValues[began.offset], t0 - length * (1 - roundedDelay)),
  );
  if (index < 0) return;
  throw new InconsistentStateError(
    'bad-delay',
    `delays[${index}] is ${lengths[index]}, and the saved state knows y from t = ${Number(oldest.toPrecision(6))} on `
      + 'only: it keeps a number of steps, some of which were cut short by the ends of runs. '
      + 'End these at times of the grid, or say dde({…, longest}) with more than the longest delay.',
    {index, value: lengths[index]},
  );
}

/**
 * A seed may be a parameter; of none a path has no values.
 * @throws InconsistentStateError 'bad-seed'
 */
function checkSeed(given: Float64Array | undefined): void {
  if (given === undefined || isSeed(given[0])) return;
  throw new InconsistentStateError(
    'bad-seed',
    `sde: seed(params) is ${given[0]}; it must be a whole number from 0 to 2^53. Round the parameter, `
      + 'or leave it out of what is estimated.',
    {value: given[0]},
  );
}

/**
 * Entries of a mass that are to be equal differ by no more than what float32 loses of a pair's own masses, ten times.
 */
const asymmetric = 1e-6;

/**
 * @throws OptionError 'bad-mass' where the matrix is not symmetric, or gives some motion a negative kinetic energy;
 *    SingularMatrixError
 */
function checkMassMatrix(mass: Float64Array, n: number): void {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) {
      const [below, above] = [mass[i * n + j], mass[j * n + i]];
      const size = Math.max(Math.abs(below), Math.abs(above), Math.sqrt(Math.abs(mass[i * n + i] * mass[j * n + j])));
      if (Math.abs(below - above) > asymmetric * size) {
        throw new OptionError(
          'bad-mass',
          `The mass matrix is not symmetric: mass[${i}, ${j}] is ${below} and mass[${j}, ${i}] is ${above}. `
            + 'Make them equal, or move terms that are not inertia to the forces.',
          {entry: [i, j]},
        );
      }
    }
  }
  const row = negativeRow(mass, n);
  if (row >= 0) {
    throw new OptionError(
      'bad-mass',
      `The mass matrix is not positive: some velocity of coordinates 0 to ${row} has negative kinetic energy `
        + `(mass[${row}, ${row}] is ${mass[row * n + row]}). Every velocity needs positive kinetic energy.`,
      {row},
    );
  }
  try {
    lu().analyze(densePattern(n)).factor(mass.slice());
  } catch (error) {
    if (!(error instanceof SingularMatrixError)) throw error;
    const rows = error.data.rows as number[];
    throw new SingularMatrixError(
      'singular-mass',
      `The mass matrix is singular: its rows ${listed(rows)} depend on one another. `
        + 'Give every coordinate a mass of its own, or remove those that have none.',
      {rows},
    );
  }
}

/**
 * The first row whose pivot of M = LDLᵀ is negative beyond its rounding, by Sylvester's law of inertia; −1 where none
 * is. A pivot of zero ends the search: M is singular.
 */
function negativeRow(mass: Float64Array, n: number): number {
  const l = mass.slice();
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) {
      let sum = mass[i * n + j];
      for (let k = 0; k < j; k++) sum -= l[i * n + k] * l[j * n + k] * l[k * n + k];
      l[i * n + j] = sum / l[j * n + j];
    }
    let pivot = mass[i * n + i];
    for (let k = 0; k < i; k++) pivot -= l[i * n + k] ** 2 * l[k * n + k];
    // Values as they come from float32 are off by their own rounding.
    const rounding = asymmetric * Math.abs(mass[i * n + i]);
    if (pivot < -rounding) return i;
    if (!(pivot > 0)) return -1;
    l[i * n + i] = pivot;
  }
  return -1;
}
