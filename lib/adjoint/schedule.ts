/**
 * Reversal of n steps with storage for s states: which states to store, so that the fewest steps are
 * recomputed (Griewank & Walther 2000, Algorithm 799: revolve). With β(s, r) = (s + r)! / (s! r!) and
 * r such that β(s, r−1) < n ≤ β(s, r), no schedule needs fewer than r n − β(s+1, r−1).
 */

/** β(s, r): the steps that s states and r repetitions can reverse. */
export function maxReachableSteps(states: number, repetitions: number): number {
  if (states < 0 || repetitions < 0) return 0;
  let product = 1;
  for (let i = 1; i <= repetitions; i++) product = (product * (states + i)) / i;
  return Math.round(product);
}

/** The least r with β(s, r) ≥ n; every β from the one before, as `maxReachableSteps` has it. */
function repetitionsFor(steps: number, states: number): number {
  let r = 0;
  for (let product = 1; Math.round(product) < steps; product = (product * (states + r)) / r) r++;
  return r;
}

/** Steps taken again by the best schedule, beyond the first pass. */
export function leastRecomputation(steps: number, states: number): number {
  const r = repetitionsFor(steps, states);
  return r * steps - maxReachableSteps(states + 1, r - 1);
}

/** How far to go from a kept state before keeping the next, for `steps` to reverse with `states` in all. */
export function split(steps: number, states: number): number {
  const r = repetitionsFor(steps, states);
  const most = Math.min(maxReachableSteps(states, r - 1), steps - maxReachableSteps(states - 1, r - 1));
  return Math.max(1, Math.min(most, steps - 1));
}

/** The steps whose starts are kept in the first pass, 0 included. */
export function firstPass(steps: number, states: number): number[] {
  const kept = [0];
  let from = 0;
  for (let left = states; left > 1 && steps - from > 1; left--) {
    from += split(steps - from, left);
    kept.push(from);
  }
  return kept;
}

/**
 * Takes parts of a sequence again. A kept K is what it needs to go on from a place: a state, or a state with its
 * tangents.
 */
export interface Recomputation<K> {
  /** Stands where this was kept from now on. */
  restore(kept: K): void;
  /** What is to be kept of where it stands. */
  keep(): K;
  /** Goes on over number n. */
  take(n: number): void;
  /** Goes on over number n, and goes back over it. */
  reverse(n: number): void;
}

/**
 * Goes back over numbers count−1..0 of a sequence, with `states` kept at most.
 * @param kept at some of their beginnings, 0 among them
 * @returns how many were taken, reversed ones included
 */
export function reverseAll<K>(
  kept: ReadonlyMap<number, K>,
  count: number,
  states: number,
  again: Recomputation<K>,
): number {
  const held = new Map(kept);
  let taken = 0;
  const stand = (n: number): void => {
    const there = held.get(n);
    if (there === undefined) throw new Error(`the schedule asks for state ${n}, which is not kept`);
    again.restore(there);
  };
  const reversal: Reversal = {
    has: n => held.has(n),
    drop: n => held.delete(n),
    advance(from, to) {
      stand(from);
      for (let n = from; n < to; n++) again.take(n);
      taken += to - from;
      held.set(to, again.keep());
    },
    reverse(n) {
      stand(n);
      again.reverse(n);
      taken++;
    },
  };
  let to = count;
  for (const from of [...kept.keys()].sort((a, b) => b - a)) {
    // Those kept before have their places still.
    revolve(from, to, states - held.size + 1, reversal);
    held.delete(from);
    to = from;
  }
  return taken;
}

export interface Reversal {
  /** Takes steps from..to−1 from the kept state at `from`, and keeps the state at `to`. */
  advance(from: number, to: number): void;
  /** Goes back over step k, from the kept state at k. */
  reverse(k: number): void;
  /** Whether the state at k is kept. */
  has(k: number): boolean;
  drop(k: number): void;
}

/** Steps that wait to be reversed, from a kept state. */
interface Waiting {
  readonly from: number;
  readonly to: number;
  /** Room for states, that of `from` counted. */
  readonly states: number;
  /** The state at `to` has served. */
  readonly dropsEnd: boolean;
}

/**
 * Reverses steps from..to−1 with `states` kept at most, that of `from` counted. What waits stands in a list, not on
 * the stack of calls: there are as many nested parts as states.
 */
export function revolve(from: number, to: number, states: number, reversal: Reversal): void {
  const waiting: Waiting[] = [{from, to, states, dropsEnd: false}];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    const count = part.to - part.from;
    if (part.dropsEnd) reversal.drop(part.to);
    if (count === 0) continue;
    if (count === 1) reversal.reverse(part.from);
    else if (part.states === 1) reverseFromOne(part.from, part.to, reversal);
    else {
      const middle = part.from + split(count, part.states);
      if (!reversal.has(middle)) reversal.advance(part.from, middle);
      waiting.push(
        {...part, to: middle, dropsEnd: true},
        {from: middle, to: part.to, states: part.states - 1, dropsEnd: false},
      );
    }
  }
}

/** All steps from..to−1 from one state, each reached anew. */
function reverseFromOne(from: number, to: number, reversal: Reversal): void {
  for (let k = to - 1; k >= from; k--) {
    if (k > from) reversal.advance(from, k);
    reversal.reverse(k);
    if (k > from) reversal.drop(k);
  }
}
