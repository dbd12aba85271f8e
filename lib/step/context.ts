/** A step with the values of one run, for the time loop and the adjoints. */
import type {LinearSolver} from '../linear/index.js';
import type {StepExecutable} from './buffers.js';
import type {CompiledStep} from './compiled.js';
import type {StoragePolicy} from './stored-for-backward.js';
import {derivativeSoftness} from '../system/contact-laws.js';
import {parameterProgram} from './precomputation.js';
import {startSolver} from './solvers.js';
import type {TracedStep} from './traced-step.js';

/** A traced step and its programs. */
export interface StepPrograms {
  readonly traced: TracedStep;
  readonly compiled: CompiledStep;
}

export interface StepContext extends StepPrograms {
  /** The step that starts the run: from the user's blocks to the complete state. */
  readonly start: StepPrograms;
  /** Values of the parameters, in the order of `traced.parameters`. */
  readonly parameterValues: readonly Float64Array[];
  /** The user's initial blocks, flat: q and v, or y; the whole state where the run goes on from a saved one. */
  readonly initialValues: Float64Array;
  /** The run goes on from a saved state, without a step that begins it. */
  readonly resumed?: boolean;
  readonly t0: number;
  /** Length of the first step, which what a scheme carries may depend on. */
  readonly h0: number;
  readonly linear: LinearSolver;
  /** Redundant constraints found so far. */
  readonly redundancy: Redundancy;
  /** What is stored of each step for a gradient; undefined: its state and unknown. */
  readonly storage?: StoragePolicy;
}

/** Constraints that say the same twice, found when a Newton matrix turned out singular. */
export interface Redundancy {
  /** The value of the input `regularization`: 0 unless redundant rows were found. */
  readonly regularization: number;
  /** Names of the redundant rows. */
  readonly rows: readonly string[];
}

export const noRedundancy: Redundancy = {regularization: 0, rows: []};

/** Buffers that are set once a run; undefined if no program reads them. */
interface RunInputs {
  readonly parameters: readonly (Float64Array | undefined)[];
  readonly regularization: Float64Array | undefined;
  readonly proximity: Float64Array | undefined;
  readonly derive: (() => void) | undefined;
}

/** Run inputs of each executable: every run needs them, and looking up their names takes time. */
const runInputs = new WeakMap<StepExecutable, RunInputs>();

function inputsOfRun(executable: StepExecutable, count: number): RunInputs {
  let inputs = runInputs.get(executable);
  if (inputs === undefined) {
    inputs = {
      parameters: Array.from({length: count}, (_, i) => executable.optionalBuffer(`p.${i}`)),
      regularization: executable.optionalBuffer('regularization'),
      proximity: executable.optionalBuffer('proximity'),
      derive: executable.has(parameterProgram) ? executable.program(parameterProgram) : undefined,
    };
    runInputs.set(executable, inputs);
  }
  return inputs;
}

/**
 * Sets what a whole run shares: the parameters, what is computed from them alone, the regularization of redundant
 * constraints, the proximity of contact forces.
 */
export function loadParameters(
  executable: StepExecutable,
  {parameterValues, redundancy}: Pick<StepContext, 'parameterValues' | 'redundancy'>,
): void {
  const {parameters, regularization, proximity, derive} = inputsOfRun(executable, parameterValues.length);
  for (let i = 0; i < parameterValues.length; i++) parameters[i]?.set(parameterValues[i]);
  regularization?.fill(redundancy.regularization);
  proximity?.fill(derivativeSoftness);
  derive?.();
}

/** The context of the step that begins the run. */
export function startContext<C extends StepContext>(context: C): C {
  const {traced, compiled} = context.start;
  return {...context, traced, compiled, linear: startSolver, storage: undefined};
}
