/**
 * The tiers of the tests (docs/testing.md). `npm test` runs those that are quick; `npm run test:all`, and mocha by
 * hand, run all. A file whose name ends in .slow.spec.ts is of the second tier as a whole, and `npm test` does not
 * load it.
 */

/** A test of the second tier. `.ci/durations.js` asks for it. */
export interface Tiered {
  tier?: 'slow';
}

/** Declares a test of the second tier, as `it` declares one of the first. */
export function slow(title: string, body: (this: Mocha.Context) => PromiseLike<void> | void): void {
  if (process.env.TIER !== 'quick') (it(title, body as Mocha.Func) as Tiered).tier = 'slow';
}
