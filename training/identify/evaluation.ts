/**
 * Evaluations that do not say where their simulations are made: a generator hands each one out and goes on with its
 * result. `evaluate` makes them in this thread, one after another; `evaluateAsync` may have worker threads make them,
 * so that several evaluations can be under way at once. The numbers are the same to the last bit.
 */

/** Something that an evaluation cannot go on without, above all a simulation. */
export interface EvaluationRequest<T> {
  /** Makes it in this thread. */
  readonly here: () => T;
  /** Has a worker thread make it. */
  readonly there: (workers: number | undefined) => Promise<T>;
  /** Whether `evaluateAsync` takes `there` in any case: for a pause. */
  readonly waits?: boolean;
}

/** A computation of a T that hands out the simulations which it needs on the way. */
export type Evaluation<T> = Generator<EvaluationRequest<unknown>, T, unknown>;

/** Hands one out. */
export function* requested<T>(here: () => T, there: (workers: number | undefined) => Promise<T>): Evaluation<T> {
  return (yield {here, there}) as T;
}

/** An evaluation that needs no simulation. */
export function* known<T>(value: T): Evaluation<T> {
  return value;
}

/** The threads that make simulations; in this one where it is absent. */
export interface EvaluationThreads {
  /** As `batch` has it. */
  readonly workers?: number;
}

/** To the end, in this thread. A simulation that fails throws where it was asked for. */
export function evaluate<T>(evaluation: Evaluation<T>): T {
  let next = evaluation.next();
  while (next.done !== true) {
    let value: unknown;
    try {
      value = next.value.here();
    } catch (error) {
      next = evaluation.throw(error);
      continue;
    }
    next = evaluation.next(value);
  }
  return next.value;
}

/** To the end, with pauses, by worker threads where they are given. */
export async function evaluateAsync<T>(evaluation: Evaluation<T>, threads: EvaluationThreads | undefined): Promise<T> {
  let next = evaluation.next();
  while (next.done !== true) {
    const {here, there, waits = false} = next.value;
    let value: unknown;
    try {
      value = threads === undefined && !waits ? here() : await there(threads?.workers);
    } catch (error) {
      next = evaluation.throw(error);
      continue;
    }
    next = evaluation.next(value);
  }
  return next.value;
}
