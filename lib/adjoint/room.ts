/**
 * The memory of a record whose gradient has been taken, kept for the next run. A loop of gradients then
 * writes to memory the machine has at hand: fresh pages took as long as the steps themselves (1024
 * masses, 5 MB a run). The record that gave its memory away is taken anew if it is asked for again.
 */

/** Memory is given back where more than this lies idle: a quarter of the adjoint's default budget. */
const mostIdle = 2 ** 28;

interface Idle {
  readonly rows: Float64Array;
  /** Told when the memory is another's. */
  lose(): void;
}

let idle: Idle | undefined;

/** Room for so many numbers: fresh, or that of a record that had its gradient; then its contents are old. */
export function takeRoom(numbers: number): Float64Array {
  const found = idle;
  // Not far more than is needed: a short run's record should not hold a long one's memory.
  if (found === undefined || found.rows.length < numbers || found.rows.length > 2 * numbers) return new Float64Array(numbers);
  idle = undefined;
  found.lose();
  return found.rows;
}

/** The memory may be another's from now on; it stays as it is until then. */
export function offerRoom(rows: Float64Array, lose: () => void): void {
  if (rows.byteLength > 0 && rows.byteLength <= mostIdle) idle = {rows, lose};
}
