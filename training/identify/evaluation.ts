/**
 * Evaluations that do not say where their simulations are made: a generator hands each one out and goes on with its
 * result. `evaluate` makes them in this thread, one after another; `evaluateThere` has worker threads make them, so that
 * several evaluations can be under way at once. Whichever it is, the numbers are the same to the last bit.
 */

/** A simulation that an evaluation cannot go on without. */
export class RequestedRun<T> {
  /**
   * @param here makes it in this thread
   * @param there has a worker thread make it
   */
  constructor(
    readonly here: () => T,
    readonly there: (workers: number | undefined) => Promise<T>,
  ) {}
}

/** What gives a T, and hands out the simulations that it needs on the way. */
export type Evaluation<T> = Generator<RequestedRun<unknown>, T, unknown>;

/** Hands one out. */
export function* requested<T>(here: () => T, there: (workers: number | undefined) => Promise<T>): Evaluation<T> {
  return (yield new RequestedRun<unknown>(here, there)) as T;
}

/** An evaluation that needs none. */

export function* known<T>(value: T): Evaluation<T> {
  return value;
}

/** The threads that make simulations; in this one where it is absent. */
export interface Threads {
  /** As `batch` has it. */
  readonly workers?: number;
}

/** A generator that tells of its steps Y, and hands out simulations between them. */
export type Steps<Y, T> = Generator<Y | RequestedRun<unknown>, T, unknown>;

/** To the end, in this thread. */
export function evaluate<T>(evaluation: Evaluation<T>): T {
  const ended = stepped(evaluation);
  return (ended as IteratorReturnResult<T>).value;
}

/** To the next step that it tells of, or the end. */
export function stepped<Y, T>(steps: Steps<Y, T>): IteratorResult<Y, T> {
  let next = steps.next();
  while (next.done !== true && next.value instanceof RequestedRun) {
    const {here} = next.value;
    next = answered(steps, () => here());
  }
  return next as IteratorResult<Y, T>;
}

/** The same by worker threads. */
export async function steppedThere<Y, T>(steps: Steps<Y, T>, {workers}: Threads): Promise<IteratorResult<Y, T>> {
  let next = steps.next();
  while (next.done !== true && next.value instanceof RequestedRun) {
    const made = await next.value.there(workers).then(
      value => () => value,
      (error: unknown) => () => {
        throw error;
      },
    );
    next = answered(steps, made);
  }
  return next as IteratorResult<Y, T>;
}

/** Within another generator: to the next step of one, whose simulations are handed on. */
export function* advanced<Y, T>(steps: Steps<Y, T>): Evaluation<IteratorResult<Y, T>> {
  let next = steps.next();
  while (next.done !== true && next.value instanceof RequestedRun) {
    let made: () => unknown;
    try {
      const value = yield next.value;
      made = () => value;
    } catch (error) {
      made = () => {
        throw error;
      };
    }
    next = answered(steps, made);
  }
  return next as IteratorResult<Y, T>;
}

/** A simulation that fails throws where it was asked for. */
function answered<Y, T>(steps: Steps<Y, T>, made: () => unknown): IteratorResult<Y | RequestedRun<unknown>, T> {
  let value: unknown;
  try {
    value = made();
  } catch (error) {
    return steps.throw(error);
  }
  return steps.next(value);
}

/** The steps alone, each simulation made in this thread: for callers that know nothing of them. */
export function* toldHere<Y, T>(steps: Steps<Y, T>): Generator<Y, T, void> {
  for (;;) {
    const next = stepped(steps);
    if (next.done === true) return next.value;
    yield next.value;
  }
}
