/** A step with the values of one run: what the time loop and the adjoints need of it. */
import type {Executable} from '../engine/engine.js';
import type {LinearSolver} from '../linear/index.js';
import type {CompiledStep} from './compiled.js';
import type {TracedStep} from './trace-step.js';

export interface StepContext {
  readonly traced: TracedStep;
  readonly compiled: CompiledStep;
  /** Values of the parameters, in the order of `traced.parameters`. */
  readonly parameterValues: readonly Float64Array[];
  /** The user's initial blocks, flat: q and v, or y. */
  readonly given: Float64Array;
  readonly t0: number;
  /** Length of the first step, which what a scheme carries may depend on. */
  readonly h0: number;
  readonly linear: LinearSolver;
}

/** Sets the parameters of an executable; a program that does not read one has no buffer for it. */
export function loadParameters(executable: Executable, {parameterValues}: StepContext): void {
  for (let i = 0; i < parameterValues.length; i++) executable.find(`p.${i}`)?.set(parameterValues[i]);
}

/** Sets the start of the run, and the parameters. */
export function loadStart(executable: Executable, context: StepContext): void {
  loadParameters(executable, context);
  executable.find('given')?.set(context.given);
  executable.find('t')?.fill(context.t0);
  executable.find('h')?.fill(context.h0);
}
