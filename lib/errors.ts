/**
 * Every error the project throws on purpose. Each has a stable `code`, a sentence that says what
 * happened, where, and what to change, and the facts as data for programs. Names are written out:
 * a minifier renames classes, and programs and messages between threads tell errors by their names.
 */
import {shortened} from './text.js';

/** Letters of a message at most: several screens. What a user gave may be of any length. */
const longestMessage = 4000;
/** Of those, at the end, where a sentence says what to change. */
const messageEnd = 1000;

/** Base class of all errors of this package: a stable code, a message that says what to change, and data. */
export class StiffgradError extends Error {
  override readonly name: string = 'StiffgradError';
  /** Stable, machine-readable: never reworded, unlike the message. */
  readonly code: string;
  /** The facts behind the sentence: shapes, times, rows, a file's line. */
  readonly data: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, data: Readonly<Record<string, unknown>> = {}) {
    super(shortened(message, longestMessage, messageEnd));
    this.code = code;
    this.data = data;
  }
}

/** A tensor or an array has the wrong shape. */
export class ShapeError extends StiffgradError {
  override readonly name: string = 'ShapeError';
}

/** A function could not be traced: it read a value, ran an unsupported kernel, or is asynchronous. */
export class TraceError extends StiffgradError {
  override readonly name: string = 'TraceError';
}

/** The root finder did not converge: time, step, residual history, and the worst rows by name. */
export class NewtonError extends StiffgradError {
  override readonly name: string = 'NewtonError';
}

/** A matrix has dependent rows; `data.rows` lists them. */
export class SingularMatrixError extends StiffgradError {
  override readonly name: string = 'SingularMatrixError';
}

/** An initial state does not satisfy the system's own equations, or is not finite. */
export class InconsistentStateError extends StiffgradError {
  override readonly name: string = 'InconsistentStateError';
}

/**
 * A gradient or a tangent is not finite: `data` has the time, the step and the name where it first occurred, if known.
 */
export class GradientError extends StiffgradError {
  override readonly name: string = 'GradientError';
}

/** A file or table is invalid: `data` has file, line and column. */
export class DataError extends StiffgradError {
  override readonly name: string = 'DataError';
}

/** A training checkpoint is missing, damaged, or belongs to another problem. */
export class CheckpointError extends StiffgradError {
  override readonly name: string = 'CheckpointError';
}

/** An option is missing, contradictory or out of range. */
export class OptionError extends StiffgradError {
  override readonly name: string = 'OptionError';
}

/**
 * An event cannot be located: its function touches zero without crossing it, or crosses it again and again at one time;
 * or a loss reads an event that did not happen.
 */
export class EventError extends StiffgradError {
  override readonly name: string = 'EventError';
}

/** Not enough memory: `data` has the bytes, if known. */
export class MemoryError extends StiffgradError {
  override readonly name: string = 'MemoryError';
}

/** Values of tensors cannot be read: the graphics processor is lost, or can only be read asynchronously. */
export class DeviceError extends StiffgradError {
  override readonly name: string = 'DeviceError';
}

/** The `signal` of a run was aborted; its reason is the `cause`. */
export class AbortError extends StiffgradError {
  override readonly name: string = 'AbortError';
}
