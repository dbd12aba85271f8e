/**
 * Where a run stands, as plain values: JSON carries them exactly. A run that starts from them goes on as
 * the one they were taken from would have, bit for bit where no step depends on those before it but
 * through the state (see `RunState`).
 */
import {OptionError, ShapeError} from '../errors.js';
import type {Shape} from '../graph/node.js';
import {sameShape, sizeOf} from '../graph/node.js';
import type {Layout} from '../step/layout.js';
import type {StepMemory} from './course/step-lengths.js';

/**
 * A state with all that the scheme carries: `initial` of another run. It goes on along the same grid where
 * `dt` is the same, and with the same lengths of adaptive steps.
 */
export interface RunState {
  readonly kind: 'run-state';
  readonly t: number;
  /** q and v, or y, and what the scheme carries, flat. */
  readonly blocks: {readonly [name: string]: {readonly shape: Shape; readonly values: readonly number[]}};
  /** The grid's own times; absent where the run was left between them. */
  readonly grid?: GridPlace;
  /** Of adaptive steps. */
  readonly pace?: StepMemory;
  /** Of steps that are solved as far as their tolerance asks. */
  readonly newton?: NewtonMemory;
  /** Events whose function counts as zero at present, and those whose jump made the present state. */
  readonly settled?: readonly number[];
  readonly jumped?: readonly number[];
}

/** What a step takes over from the one before, where it may (newton/simplified.ts). */
export interface NewtonMemory {
  /** The last step, which the next one's guess goes on from. */
  readonly last?: {readonly t: number; readonly h: number; readonly z: readonly number[]};
  /** The rate of its iterations, and the length its matrix is for. */
  readonly rate: number;
  readonly h: number;
  /** The matrix that the next step may begin with. */
  readonly matrix?: readonly number[];
}

/** Step `step` of the grid t0 + n·dt. */
export interface GridPlace {
  readonly t0: number;
  readonly dt: number;
  readonly step: number;
}

/** What a run leaves at its end: the whole state, and what its loop remembers. */
export interface Standing extends Pick<RunState, 'grid' | 'pace' | 'newton' | 'settled' | 'jumped'> {
  readonly t: number;
  readonly x: Float64Array;
}

export function runState(state: Layout, {t, x, grid, pace, newton, settled, jumped}: Standing): RunState {
  const blocks = Object.fromEntries(state.blocks.map(({name, shape, offset, size}) => [name, {shape: [...shape], values: Array.from(x.subarray(offset, offset + size))}]));
  return {kind: 'run-state', t, blocks, grid, pace, newton, settled, jumped};
}

export function isRunState(given: unknown): given is RunState {
  return typeof given === 'object' && given !== null && (given as {kind?: unknown}).kind === 'run-state';
}

/**
 * The whole state, in the order of the scheme that is to go on.
 * @throws OptionError 'bad-initial' where it was left by another scheme or system; ShapeError
 */
export function readRunState({blocks}: RunState, state: Layout): Float64Array {
  const names = Object.keys(blocks);
  const expected = state.blocks.map(({name}) => name);
  if (names.length !== expected.length || expected.some(name => !(name in blocks))) {
    throw new OptionError('bad-initial', `The saved state has ${names.join(', ')}; this run's scheme carries ${expected.join(', ')}. Go on with the scheme that left it, or start from its q and v, or y, alone.`, {names, expected});
  }
  const x = new Float64Array(state.size);
  for (const {name, shape, offset, size} of state.blocks) {
    const {values, shape: own} = blocks[name];
    if (!sameShape(own, shape) || values.length !== size || sizeOf(own) !== size) {
      throw new ShapeError('initial-shape', `The saved state's ${name} has shape [${own.join(', ')}], this run's has [${shape.join(', ')}].`);
    }
    x.set(values, offset);
  }
  return x;
}
