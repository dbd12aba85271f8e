/** How runs fail: what a start that fails is to a run, and the error message of adaptive steps that cannot go on. */
import type {StiffgradError} from '../errors.js';
import {InconsistentStateError, NewtonError, SingularMatrixError} from '../errors.js';
import {toUserTime} from '../step/time-direction.js';
import {shortNumber} from '../step/failed-step.js';
import type {Counters, Failure, Status} from './counters.js';
import type {RunContext} from './run-context.js';

/** How a run ends whose start, or whose state after a jump, is none that it could go on from. */
export class RunFailure {
  constructor(
    readonly status: Status,
    readonly error: StiffgradError,
  ) {}
}

/**
 * What is made of a start, or its failure: equations without a solution, and a state that does not obey the system's
 * own.
 * @throws what else is thrown: what is wrong of a model or an option is no failure of a run
 */
export function captureFailure<T>(make: () => T): T | RunFailure {
  try {
    return make();
  } catch (error) {
    if (error instanceof NewtonError) return new RunFailure(error.code as Failure, error);
    if (error instanceof SingularMatrixError) return new RunFailure('singular', error);
    if (!(error instanceof InconsistentStateError)) throw error;
    const {code} = error;
    return new RunFailure(code === 'contradictory' ? 'singular' : code === 'not-finite' ? code : 'inconsistent', error);
  }
}
/**
 * What a run with adaptive steps says that cannot go on.
 * @param stiff what is known of its stiffness
 */
export function stepSizeError(
  {traced, options: {plan}}: RunContext,
  status: string,
  clock: number,
  length: number,
  {failures, steps}: Counters,
  stiff?: string,
): StiffgradError {
  const [t, h] = [toUserTime(traced, clock), toUserTime(traced, length)];
  const causes = Object.entries(failures)
    .map(([cause, count]) => `${count} by ${cause === 'error' ? 'the error estimate' : cause}`)
    .join(', ');
  const data = {status, t, h, failures};
  if (status === 'too-many-steps') {
    return new NewtonError(
      status,
      `${traced.name}: ${plan === undefined ? 'the' : `the ${plan.most}`} steps allowed are used up at t = `
        + `${shortNumber(t)}, with h = `
        + `${shortNumber(h)}${stiff === undefined ? ': ' : '. '}${stiff ?? 'allow more, or a larger tolerance.'}`,
      {...data, steps},
    );
  }
  const least = plan?.control.min ?? 0;
  const limit = least > Math.abs(h) ? `, and adaptive has min: ${least}. Lower it, or take larger tolerances` : '';
  const hints = [failures['not-finite'] === undefined ? undefined : traced.notFinite, stiff];
  return new NewtonError(
    'step-too-small',
    `The next step of ${traced.name}, from t = ${shortNumber(t)}, would be shorter than allowed: h = `
      + `${shortNumber(h)}${limit}. `
      + `Steps were rejected: ${causes === '' ? 'none' : causes}. The motion may have a jump or a pole here (say `
      + 'so by an event), or the tolerances ask for more than the arithmetic can '
      + `hold.${hints.map(more => (more === undefined ? '' : ` ${more}`)).join('')}`,
    data,
  );
}
