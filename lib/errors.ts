/**
 * Every error the project throws on purpose. Each has a stable `code`, a sentence that says what
 * happened, where, and what to change, and the facts as data for programs.
 */

export class StiffgradError extends Error {
  /** Stable, machine-readable: never reworded, unlike the message. */
  readonly code: string;
  /** The facts behind the sentence: shapes, times, rows, a file's line. */
  readonly data: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, data: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.data = data;
  }
}

/** A tensor or an array has a shape that does not fit its place. */
export class ShapeError extends StiffgradError {}

/** A function could not be traced: it read a value, ran an unsupported kernel, or is asynchronous. */
export class TraceError extends StiffgradError {}

/** The root finder did not converge: time, step, residual history, and the worst rows by name. */
export class NewtonError extends StiffgradError {}

/** A matrix has dependent rows; `data.rows` lists them. */
export class SingularMatrixError extends StiffgradError {}

/** An initial state does not satisfy the system's own equations, or is not finite. */
export class InconsistentStateError extends StiffgradError {}

/** A gradient or a tangent is not finite: `data` has the time, the step and the name of what it began in, where they are known. */
export class GradientError extends StiffgradError {}

/** A file or table is not what it should be: `data` has file, line and column. */
export class DataError extends StiffgradError {}

/** A training checkpoint is missing, damaged, or belongs to another problem. */
export class CheckpointError extends StiffgradError {}

/** An option is missing, contradictory or out of range. */
export class OptionError extends StiffgradError {}

/** An event cannot be followed: its function touches zero without crossing, or crosses again and again without time passing. */
export class EventError extends StiffgradError {}
