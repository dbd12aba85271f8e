/**
 * The state of a run as plain values, which JSON stores exactly. Restored values are checked. A run that starts from
 * them continues as the original run would have, bit for bit if steps depend on earlier ones only through the state
 * (see `RunState`).
 */
import {OptionError, ShapeError} from '../errors.js';
import {shown} from '../checks.js';
import type {Shape} from '../graph/node.js';
import {sameShape, sizeOf} from '../graph/node.js';
import type {TimeDirection} from '../step/time-direction.js';
import {toUserTime} from '../step/time-direction.js';
import type {TracedStep} from '../step/traced-step.js';

/** Version of the format; a state of another version is refused. */
const version = 1;

/** Finite numbers for JSON, which loses the sign of zero: negative zeros are listed separately. */
export interface PlainNumbers {
  readonly values: readonly number[];
  /** Indices of values that are −0, ascending; absent where there are none. */
  readonly negativeZeros?: readonly number[];
}

/**
 * A state with everything that the scheme carries: `initial` of another run. It continues on the same grid if
 * `dt` is the same, and with the same lengths of adaptive steps.
 */
export interface RunState {
  readonly kind: 'run-state';
  readonly version: 1;
  /** The scheme, by name and parameters: only this scheme continues with the carried blocks. */
  readonly scheme: string;
  readonly t: number;
  /** Present if time ran backwards: the carried blocks belong to that direction. */
  readonly backwards?: true;
  /** q and v, or y, and what the scheme carries, flat. */
  readonly blocks: {readonly [name: string]: PlainNumbers & {readonly shape: Shape}};
  /** The place on the grid; absent if the run was left between grid points. */
  readonly grid?: GridPlace;
  /** Memory of the step controller, with adaptive steps. */
  readonly pace?: ControllerState;
  /** Memory of Newton's method, if steps are solved only to the accuracy that their tolerance needs. */
  readonly newton?: NewtonWarmStart<PlainNumbers>;
  /** Events whose function counts as zero at this state, and those whose jump produced it. */
  readonly settled?: readonly number[];
  readonly jumped?: readonly number[];
}

/** What a step may reuse from the previous one (newton/simplified-newton.ts). */
export interface NewtonWarmStart<N = Float64Array> {
  /** The last step, from which the next guess is extrapolated. */
  readonly last?: {readonly t: number; readonly h: number; readonly z: N};
  /** The rate of its iterations, and the length its matrix is for; absent before the first step. */
  readonly rate: number;
  readonly h?: number;
  /** The matrix that the next step may start with. */
  readonly matrix?: N;
}

/** What the choice of the next step's length knows of the steps before. */
export interface ControllerState {
  /** The next length. */
  readonly next: number;
  /** Present at a start, and after an event: no step before says anything of the next one. */
  readonly first?: true;
  /** What the controller keeps (see `StepSizeRule.snapshot`). */
  readonly memory?: {readonly [name: string]: number};
  /** Ends of rejected steps of an sde that later steps must meet, descending. */
  readonly refused?: readonly number[];
}

/** Step `step` of the grid t0 + n·dt. */
export interface GridPlace {
  readonly t0: number;
  readonly dt: number;
  readonly step: number;
}

/** What a run leaves at its end: the whole state, and what its loop remembers; times are the clock's. */
export interface ResumeState extends Pick<RunState, 'grid' | 'pace' | 'settled' | 'jumped'> {
  readonly t: number;
  readonly x: Float64Array;
  readonly newton?: NewtonWarmStart;
}

/** What a run that goes on takes over beside the state. */
export type ResumeOptions = Pick<ResumeState, 'grid' | 'pace' | 'newton' | 'settled' | 'jumped'>;

export function runState(
  {name: scheme, state, backwards}: Pick<TracedStep, 'name' | 'state' | 'backwards'>,
  {t, x, grid, pace, newton, settled, jumped}: ResumeState,
): RunState {
  const blocks = Object.fromEntries(
    state.blocks.map(({name, shape, offset, size}) => [
      name,
      {shape: [...shape], ...serializeNumbers(x.subarray(offset, offset + size))},
    ]),
  );
  const left: RunState = {
    kind: 'run-state',
    version,
    scheme,
    t,
    blocks,
    grid,
    pace,
    newton: newton === undefined ? undefined : serializeWarmStart(newton),
    settled,
    jumped,
  };
  return backwards === true ? {...withUserTimes(left, {backwards}), backwards} : left;
}

/** A saved state with its times turned: the clock's as the user's, and the other way round. */
function withUserTimes<S extends Pick<RunState, 't' | 'grid' | 'newton'>>(left: S, direction: TimeDirection): S {
  const {t, grid, newton} = left;
  const back = (time: number): number => toUserTime(direction, time);
  return {
    ...left,
    t: back(t),
    grid: grid === undefined ? undefined : {...grid, t0: back(grid.t0), dt: back(grid.dt)},
    newton: newton?.last === undefined ? newton : {...newton, last: {...newton.last, t: back(newton.last.t)}},
  };
}

/**
 * A checked state by the clock of a run that is to go on from it.
 * @throws OptionError 'bad-initial' where that runs the other way
 */
export function readResumeState(given: RunState, {backwards = false}: TimeDirection): RunState {
  if ((given.backwards === true) !== backwards)
    throw new OptionError(
      'bad-initial',
      `The saved state was left by a run ${backwards ? 'forwards' : 'backwards'} in time, and this one runs `
        + `${backwards ? 'backwards' : 'forwards'}: what the scheme carries belongs to one direction. Start only `
        + 'from its q and v, or y, and its t.',
    );
  return withUserTimes(given, {backwards});
}

function serializeWarmStart({last, rate, h, matrix}: NewtonWarmStart): NewtonWarmStart<PlainNumbers> {
  return {
    last: last === undefined ? undefined : {...last, z: serializeNumbers(last.z)},
    rate,
    h: Number.isNaN(h) ? undefined : h,
    matrix: matrix === undefined ? undefined : serializeNumbers(matrix),
  };
}

function serializeNumbers(numbers: Float64Array): PlainNumbers {
  const negativeZeros: number[] = [];
  numbers.forEach((value, i) => {
    if (Object.is(value, -0)) negativeZeros.push(i);
  });
  return negativeZeros.length === 0 ? {values: Array.from(numbers)} : {values: Array.from(numbers), negativeZeros};
}

/** What was a negative zero and is a zero still. */
function deserializeNumbers({values, negativeZeros = []}: PlainNumbers): Float64Array {
  const numbers = Float64Array.from(values);
  for (const i of negativeZeros) if (numbers[i] === 0) numbers[i] = -0;
  return numbers;
}

export function isRunState(given: unknown): given is RunState {
  return typeof given === 'object' && given !== null && (given as {kind?: unknown}).kind === 'run-state';
}

/** Checks of what may come from a file. */
type Check = (value: unknown) => boolean;
const isNumber: Check = value => typeof value === 'number' && Number.isFinite(value);
const isPositive: Check = value => typeof value === 'number' && value > 0 && value < Infinity;
const isCount: Check = value => Number.isSafeInteger(value) && (value as number) >= 0;
const isText: Check = value => typeof value === 'string';
const listOf =
  (check: Check): Check =>
  value =>
    Array.isArray(value) && Array.from<unknown>(value).every(check);
const optional =
  (check: Check): Check =>
  value =>
    value === undefined || check(value);
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** An object whose properties pass their checks, and that has no others. */
const record =
  (checks: Readonly<Record<string, Check>>): Check =>
  value =>
    isObject(value)
    && Object.keys(value).every(name => Object.hasOwn(checks, name))
    && Object.entries(checks).every(([name, check]) => check(Object.hasOwn(value, name) ? value[name] : undefined));
const ascending: Check = value =>
  listOf(isCount)(value) && (value as number[]).every((n, i, all) => i === 0 || n > all[i - 1]);
const numbers = {values: listOf(isNumber), negativeZeros: optional(ascending)};

const parts: Readonly<Record<keyof RunState, Check>> = {
  kind: isText,
  version: value => value === version,
  scheme: isText,
  t: isNumber,
  blocks: value => isObject(value) && Object.values(value).every(record({...numbers, shape: listOf(isCount)})),
  backwards: optional(value => value === true),
  grid: optional(record({t0: isNumber, dt: isNumber, step: isCount})),
  pace: optional(
    record({
      next: isPositive,
      first: optional(value => value === true),
      memory: optional(value => isObject(value) && Object.values(value).every(isNumber)),
      refused: optional(listOf(isNumber)),
    }),
  ),
  newton: optional(
    record({
      last: optional(record({t: isNumber, h: isPositive, z: record(numbers)})),
      rate: isNumber,
      h: optional(isPositive),
      matrix: optional(record(numbers)),
    }),
  ),
  settled: optional(listOf(isCount)),
  jumped: optional(listOf(isCount)),
};

const damaged = (what: string, data: Readonly<Record<string, unknown>> = {}): OptionError =>
  new OptionError(
    'bad-initial',
    `The saved state ${what}. Pass it complete, as state() returns it; it survives JSON.`,
    data,
  );

/**
 * A saved state is what state() gives, whole, and of the grid it says.
 * @throws OptionError 'bad-initial'
 */
export function checkRunState(given: RunState): void {
  if (given.version !== version)
    throw damaged(`is of version ${shown(given.version)}, where this program reads version ${version}`, {
      version: given.version,
    });
  const unknown = Object.keys(given).find(name => !Object.hasOwn(parts, name));
  if (unknown !== undefined) throw damaged(`has '${unknown}', which does not belong there`, {part: unknown});
  for (const [name, check] of Object.entries(parts)) {
    if (!check(given[name as keyof RunState]))
      throw damaged(`is damaged: its ${name} is not what a run leaves`, {part: name});
  }
  const {grid, t, blocks, backwards} = given;
  if (grid !== undefined && !(toUserTime({backwards}, grid.dt) > 0))
    throw damaged('is damaged: its grid is not what a run leaves', {part: 'grid'});
  for (const [name, {shape, values}] of Object.entries(blocks)) {
    if (values.length !== sizeOf(shape))
      throw damaged(`is damaged: its ${name} has ${values.length} numbers and the shape [${shape.join(', ')}]`, {
        part: 'blocks',
      });
  }
  if (grid !== undefined && grid.t0 + grid.step * grid.dt !== t)
    throw damaged(`is damaged: step ${grid.step} of its grid is not at its time, t = ${t}`, {part: 'grid'});
}

/** What a run takes over of a checked state, beside the state itself. */
export function resumeOptionsOf({grid, pace, newton, settled, jumped}: RunState): ResumeOptions {
  if (newton === undefined) return {grid, pace, settled, jumped};
  const {last, rate, h = NaN, matrix} = newton;
  return {
    grid,
    pace,
    settled,
    jumped,
    newton: {
      last: last === undefined ? undefined : {...last, z: deserializeNumbers(last.z)},
      rate,
      h,
      matrix: matrix === undefined ? undefined : deserializeNumbers(matrix),
    },
  };
}

/**
 * The whole state, in the order of the scheme that is to go on.
 * @throws OptionError 'bad-initial' where it was left by another scheme or system; ShapeError
 */
export function readRunState(
  {blocks, scheme}: RunState,
  {name: own, state}: Pick<TracedStep, 'name' | 'state'>,
): Float64Array {
  const names = Object.keys(blocks);
  const expected = state.blocks.map(({name}) => name);
  const remedy = 'Go on with the scheme that left it, or start from its q and v, or y, alone.';
  if (names.length !== expected.length || expected.some(name => !Object.hasOwn(blocks, name))) {
    throw new OptionError(
      'bad-initial',
      `The saved state has ${names.join(', ')}; this run's scheme carries ${expected.join(', ')}. ${remedy}`,
      {names, expected},
    );
  }
  if (scheme !== own)
    throw new OptionError(
      'bad-initial',
      `The saved state was left by ${shown(scheme)}, and this run's scheme is ${own}. ${remedy}`,
      {scheme, own},
    );
  const x = new Float64Array(state.size);
  for (const {name, shape, offset} of state.blocks) {
    const {shape: given} = blocks[name];
    if (!sameShape(given, shape))
      throw new ShapeError(
        'initial-shape',
        `The saved state's ${name} has shape [${given.join(', ')}], this run's has [${shape.join(', ')}].`,
      );
    x.set(deserializeNumbers(blocks[name]), offset);
  }
  return x;
}
