/**
 * What a thread that helps with products runs, as text: it needs nothing but the messages it gets, so that no file has
 * to be found by a bundler or a loader of TypeScript. The protocol is that of product-threads.ts. Where a thread has
 * not been asked for `linger` milliseconds it goes back to its messages, and is woken by one.
 */

/** Places in the numbers that all threads share. */
export const place = {
  /** 128 × the product's number + the next part, or `closed`; changed by compare-and-exchange. */
  claim: 0,
  /** Counts products; threads wait on it. */
  bell: 1,
  /** Parts that other threads have finished. */
  done: 2,
  parts: 3,
  /** Whose products they are. */
  owner: 4,
  /** Which of the owner's functions. */
  format: 5,
  /** Threads that wait for work. */
  ready: 6,
  /** By thread: it waits for a message. */
  asleep: 8,
  /** By part: 1 done, 2 failed. */
  status: 32,
  /** By part: what the function is called with. */
  table: 96,
} as const;

/** No part is left. */
export const closed = 127;
export const mostParts = 64;
export const mostThreads = place.status - place.asleep;
/** Numbers that a product is called with, but for its workspace. */
export const argumentCount = 11;

/** Milliseconds that a thread waits for the next product before it goes back to its messages. */
const linger = 10;

export const helperText = `
const node = typeof require === 'function' ? require('node:worker_threads') : undefined;
const owners = new Map();
let control, number;
function help() {
  for (;;) {
    const claim = Atomics.load(control, ${place.claim});
    const part = claim & ${closed};
    if (part >= Atomics.load(control, ${place.parts})) return;
    const products = owners.get(Atomics.load(control, ${place.owner}));
    if (products === undefined) return;
    const product = products[Atomics.load(control, ${place.format})];
    const table = ${place.table} + ${argumentCount} * part;
    const given = Array.from({length: ${argumentCount}}, (_, i) => Atomics.load(control, table + i));
    if (Atomics.compareExchange(control, ${place.claim}, claim, claim + 1) !== claim) continue;
    let status = 1;
    try {
      product(given);
    } catch {
      status = 2;
    }
    Atomics.store(control, ${place.status} + part, status);
    Atomics.add(control, ${place.done}, 1);
    Atomics.notify(control, ${place.done});
  }
}
function work() {
  for (;;) {
    const bell = Atomics.load(control, ${place.bell});
    help();
    if (Atomics.wait(control, ${place.bell}, bell, ${linger}) !== 'timed-out') continue;
    Atomics.store(control, ${place.asleep} + number, 1);
    if (Atomics.load(control, ${place.bell}) === bell) return;
    Atomics.store(control, ${place.asleep} + number, 0);
  }
}
function join({owner, module, memory, functions}) {
  const imports = {env: {memory}};
  for (const {module: from, name, kind} of WebAssembly.Module.imports(module))
    if (kind === 'function') (imports[from] ??= {})[name] = () => 0;
  const {exports} = new WebAssembly.Instance(module, imports);
  owners.set(owner, functions.map(({name, workspace}) => given => exports[name](...given, workspace)));
}
function receive(message) {
  if (message.kind === 'start') {
    ({control, number} = message);
    Atomics.store(control, ${place.asleep} + number, 1);
    Atomics.add(control, ${place.ready}, 1);
  } else if (message.kind === 'join') join(message);
  else if (message.kind === 'leave') owners.delete(message.owner);
  else work();
}
if (node === undefined) onmessage = ({data}) => receive(data);
else node.parentPort.on('message', receive);
`;
