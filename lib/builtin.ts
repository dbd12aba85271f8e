/**
 * Node's own modules without an import: bundlers for pages follow those, and webpack refuses them by their `node:`.
 * Since Node 20.16 and 22.3; elsewhere undefined.
 */
const {process} = globalThis as {readonly process?: Partial<NodeJS.Process>};

export const builtin: NodeJS.Process['getBuiltinModule'] | undefined =
  typeof process?.getBuiltinModule === 'function' ? process.getBuiltinModule : undefined;

export const nodeThreads = builtin?.('node:worker_threads');
export const nodeOs = builtin?.('node:os');
export const nodeFs = builtin?.('node:fs');

/** How many threads the machine runs at once. */
export function parallelism(): number {
  return (
    nodeOs?.availableParallelism()
    ?? (globalThis as {readonly navigator?: {readonly hardwareConcurrency?: number}}).navigator?.hardwareConcurrency
    ?? 1
  );
}

export type Threads = NonNullable<typeof nodeThreads>;
