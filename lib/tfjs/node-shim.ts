/**
 * tfjs-node 4.22 calls `util.isNullOrUndefined` and `util.isArray`, which Node removed in version 23. This puts them
 * back, where they are missing, before tfjs-node is loaded.
 */

const removed: Readonly<Record<string, (value: unknown) => boolean>> = {
  isNullOrUndefined: value => value === null || value === undefined,
  isArray: Array.isArray,
};

/** Adds what `util` lacks of the two; what it has stays. */
export function restoreRemoved(util: object): void {
  for (const [name, value] of Object.entries(removed)) {
    if (!(name in util)) {
      Object.defineProperty(util, name, {value, writable: true, configurable: true});
    }
  }
}

/**
 * The same on Node's own `util`. It is asked of the process, which exists in the versions concerned: an
 * import of `node:util` would stop bundlers for the browser.
 */
export function restoreNodeUtil(): void {
  const util = globalThis.process?.getBuiltinModule?.('node:util');
  if (util !== undefined) {
    restoreRemoved(util);
  }
}
