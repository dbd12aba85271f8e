/** Node's own modules without an import, which bundlers for pages would follow. Since Node 20.16 and 22.3; elsewhere undefined. */
const {process} = globalThis as {readonly process?: NodeJS.Process};
const node = typeof process?.getBuiltinModule === 'function' ? process : undefined;

export const nodeThreads = node?.getBuiltinModule('node:worker_threads');
export const nodeOs = node?.getBuiltinModule('node:os');
export const nodeFs = node?.getBuiltinModule('node:fs');

export type Threads = NonNullable<typeof nodeThreads>;
