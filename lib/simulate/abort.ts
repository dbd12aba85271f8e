/**
 * How a run is ended from outside. In its own thread an AbortSignal can only change in a callback, so it is looked at
 * where one has run; a worker thread cannot see it, and polls a number in shared memory before every step.
 */
import {aborted} from '../checks.js';

/** An interest of members that all have to be run. */
const none = 2 ** 31 - 1;

/**
 * Which members of a batch are still of interest: those up to a number, which other threads read. In a page that is not
 * cross-origin isolated there is no shared memory; `shared` is undefined, and threads have to be ended.
 */
export class Interest {
  readonly shared: Int32Array<SharedArrayBuffer> | undefined =
    typeof SharedArrayBuffer === 'undefined' ? undefined : new Int32Array(new SharedArrayBuffer(4)).fill(none);

  /** No member after this one is of interest any more; −1: none at all. */
  upTo(member: number): void {
    const {shared} = this;
    if (shared !== undefined && member < Atomics.load(shared, 0)) Atomics.store(shared, 0, member);
  }
}

/** What a thread looks at before every step of a member's run. @throws AbortError */
export function polling(shared: Int32Array | undefined, member: number): (() => void) | undefined {
  return shared === undefined
    ? undefined
    : () => {
        if (Atomics.load(shared, 0) < member) throw aborted(undefined);
      };
}
