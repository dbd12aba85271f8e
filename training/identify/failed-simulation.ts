/** Errors that say that a model has no answer at some values: a trial of them is rejected, and the search goes on. */
import {
  EventError,
  GradientError,
  InconsistentStateError,
  NewtonError,
  SingularMatrixError,
  StiffgradError,
} from '../../lib/errors.js';

/** Codes of other errors that depend on the values of parameters and states, and not on how the problem is posed. */
const ofValues = [
  'bad-mass',
  'bad-kinematics',
  'bad-index',
  'constraint-scale',
  'contacts-unsolved',
  'backsolve-failed',
  'backsolve-drift',
  'not-finite',
];

/** The model has an answer, but not at these values. */
export function isFailedSimulation(error: unknown): error is StiffgradError {
  return (
    error instanceof NewtonError
    || error instanceof SingularMatrixError
    || error instanceof InconsistentStateError
    || error instanceof GradientError
    || error instanceof EventError
    || (error instanceof StiffgradError && ofValues.includes(error.code))
  );
}

/** The error with a sentence that begins with where it happened. */
export function prefixed(error: StiffgradError, where: string): StiffgradError {
  const Kind = error.constructor as new (code: string, message: string, data: StiffgradError['data']) => StiffgradError;
  const again = new Kind(error.code, `${where}: ${error.message}`, error.data);
  again.cause = error;
  return again;
}
