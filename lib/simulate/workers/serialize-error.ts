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
export function serializeError(error: unknown): PlainError | undefined {
  if (!(error instanceof StiffgradError)) return undefined;
  const {name, code, message, data, cause} = error;
  return {name, code, message, data, cause: serializeError(cause)};
}

export function deserializeError({name, code, message, data, cause}: PlainError): StiffgradError {
  const error = new (classOf(name))(code, message, data);
  if (cause !== undefined) error.cause = deserializeError(cause);
  return error;
}

/** Adds to an error of this project which run of a batch it ended; other errors stay as they are. */
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
