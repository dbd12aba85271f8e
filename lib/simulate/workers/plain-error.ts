/** Errors of this project as plain values, and back in their classes. */
import * as errors from '../../errors.js';
import {StiffgradError} from '../../errors.js';

export interface PlainError {
  /** Name of the class. */
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly cause?: PlainError;
}

type ErrorClass = new (code: string, message: string, data: Readonly<Record<string, unknown>>) => StiffgradError;

function classOf(name: string): ErrorClass {
  const found = (errors as Readonly<Record<string, unknown>>)[name];
  return typeof found === 'function' ? (found as ErrorClass) : StiffgradError;
}

/** undefined for errors of others: what they are is lost on the way. */
export function plainError(error: unknown): PlainError | undefined {
  if (!(error instanceof StiffgradError)) return undefined;
  const {name, code, message, data, cause} = error;
  return {name, code, message, data, cause: plainError(cause)};
}

export function errorFromPlain({name, code, message, data, cause}: PlainError): StiffgradError {
  const error = new (classOf(name))(code, message, data);
  if (cause !== undefined) error.cause = errorFromPlain(cause);
  return error;
}

/** The same error, saying which run of a batch it ended; errors of others stay as they are. */
export function inMember(error: unknown, member: number): unknown {
  if (!(error instanceof StiffgradError)) return error;
  const named = new (classOf(error.name))(error.code, `Member ${member} of the batch: ${error.message}`, {
    ...error.data,
    member,
  });
  named.cause = error.cause;
  named.stack = error.stack?.replace(error.message, () => named.message);
  return named;
}
