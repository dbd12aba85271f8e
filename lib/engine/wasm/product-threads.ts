/**
 * Large products on several threads. A part of the result's rows or columns is one call of the blocked product, so
 * every element is summed as on one thread, to the same bits. Threads have an instance of the same module on the same,
 * shared memory. The calling thread writes the parts into a table; whoever is free takes the next one by
 * compare-and-exchange, the calling thread too: a thread that is late, has not started or has died takes none, and is
 * not waited for. Threads are started with the first program that has such a product, never from within a worker
 * thread, and do not keep a program alive.
 */
import {nodeThreads} from '../../builtin.js';
import {OptionError} from '../../errors.js';
import {columnBlock} from './blocked-product.js';
import {argumentCount, closed, helperText, mostParts, mostThreads, place} from './product-helper.js';

/** A blocked product of the module by the name of its import and export, and each thread's workspace. */
export interface ThreadedProduct {
  readonly name: string;
  readonly workspaces: readonly number[];
}

/**
 * Products of fewer operations stay on one thread: to wake another takes 20 to 100 µs, in which one thread does one or
 * two million; of sixteen million that is a tenth at most.
 */
export const fewestOperations = 2 ** 24;

/** Rows or columns of a part are a multiple of this, the blocks' own (blocked-product.ts). */
const block = 64;
/** Parts for each thread: with one, all wait for the slowest; each packs the other operand anew, so more cost more. */
const partsEach = 2;
/** Looks for the last part before the thread sleeps: some 20 µs. */
const looks = 2000;
/** A thread is taken for dead after so many seconds, plus its operations at a hundredth of the usual rate. */
const patience = {seconds: 10, rate: 1e8};

/** Two are 1.85 times as fast on idle cores, and slower than one on a busy machine (docs/precision.md). */
let count = 1;

/** Whether threads may share memory here, and this is not itself one of several. */
function mayShare(): boolean {
  const {crossOriginIsolated, document} = globalThis as {crossOriginIsolated?: boolean; document?: unknown};
  if (typeof SharedArrayBuffer === 'undefined') return false;
  return nodeThreads === undefined ? crossOriginIsolated === true && document !== undefined : nodeThreads.isMainThread;
}

/**
 * Number of threads, including this one, for large matrix products of compiled programs; 1 if threads cannot share
 * memory.
 */
export function getThreadsCount(): number {
  return mayShare() ? count : 1;
}

/**
 * Sets the number of threads, including this one, for large matrix products; default 1, only this thread. Results are
 * the same to the bit. Programs compiled for more threads continue with the available ones.
 * @returns the number in use: 1 if threads cannot share memory here
 * @throws OptionError 'bad-threads'
 */
export function setThreadsCount(threads: number): number {
  if (!Number.isInteger(threads) || threads < 1 || threads > mostThreads)
    throw new OptionError(
      'bad-threads',
      `setThreadsCount: the number of threads must be a whole number from 1 to ${mostThreads}, not ${String(threads)}.`,
      {threads},
    );
  count = threads;
  crew?.end();
  crew = undefined;
  return getThreadsCount();
}

/** A thread as far as it is used: one of Node's or of a page. */
interface Helper {
  postMessage(message: unknown): void;
  terminate(): unknown;
}

/** Joins of an owner, so that threads that start later have them too. */
interface Joined {
  readonly owner: number;
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  readonly products: readonly ThreadedProduct[];
}

function startHelper(lost: () => void): Helper {
  if (nodeThreads !== undefined) {
    const worker = new nodeThreads.Worker(helperText, {eval: true, execArgv: []});
    worker.unref();
    worker.on('error', lost);
    worker.on('exit', lost);
    return worker;
  }
  const url = URL.createObjectURL(new Blob([helperText], {type: 'text/javascript'}));
  const worker = new Worker(url);
  worker.addEventListener('error', event => {
    event.preventDefault();
    lost();
  });
  return worker;
}

class Crew {
  readonly control = new Int32Array(new SharedArrayBuffer(4 * (place.table + argumentCount * mostParts)));
  private readonly helpers: (Helper | undefined)[] = [];
  private generation = 0;
  /** Parts that other threads have made. */
  helped = 0;

  constructor(readonly threads: number) {
    Atomics.store(this.control, place.claim, closed);
    try {
      for (let number = 0; number < threads - 1; number++) {
        const helper = startHelper(() => this.lose(number));
        this.helpers.push(helper);
        helper.postMessage({kind: 'start', control: this.control, number});
      }
    } catch {
      // Threads are forbidden here: this one does all.
      this.end();
    }
  }

  join({owner, module, memory, products}: Joined): void {
    this.helpers.forEach((helper, number) => {
      // A module compiled for fewer threads has no room for more.
      if (products.some(({workspaces}) => number + 1 >= workspaces.length)) return;
      const functions = products.map(({name, workspaces}) => ({name, workspace: workspaces[number + 1]}));
      helper?.postMessage({kind: 'join', owner, module, memory, functions});
    });
  }

  leave(owner: number): void {
    for (const helper of this.helpers) helper?.postMessage({kind: 'leave', owner});
  }

  /** No thread takes anything any more. */
  end(): void {
    this.helpers.forEach((helper, number) => {
      void helper?.terminate();
      this.lose(number);
    });
  }

  private lose(number: number): void {
    this.helpers[number] = undefined;
    if (this.helpers.every(helper => helper === undefined)) Atomics.store(this.control, place.ready, 0);
  }

  /** Whether anybody would help. */
  get ready(): boolean {
    return Atomics.load(this.control, place.ready) > 0;
  }

  /** A product of this owner, by parts; `run` makes one of them in this thread. */
  product(owner: number, format: number, given: readonly number[], run: (part: readonly number[]) => void): void {
    const {control} = this;
    const parts = partsOf(given, this.threads);
    parts.forEach((part, i) => {
      control.set(part, place.table + argumentCount * i);
      Atomics.store(control, place.status + i, 0);
    });
    Atomics.store(control, place.owner, owner);
    Atomics.store(control, place.format, format);
    Atomics.store(control, place.done, 0);
    Atomics.store(control, place.parts, parts.length);
    this.generation = (this.generation + 1) % 2 ** 23;
    Atomics.store(control, place.claim, (closed + 1) * this.generation);
    this.wake();
    let own = 0;
    try {
      for (let part = this.claim(parts.length); part !== undefined; part = this.claim(parts.length)) {
        run(parts[part]);
        Atomics.store(control, place.status + part, 1);
        own++;
      }
    } finally {
      Atomics.store(control, place.claim, (closed + 1) * this.generation + closed);
    }
    if (!this.wait(parts.length - own, operations(parts[0]))) this.end();
    this.helped += Atomics.load(control, place.done);
    parts.forEach((part, i) => {
      if (Atomics.load(control, place.status + i) !== 1) run(part);
    });
  }

  private wake(): void {
    const {control} = this;
    Atomics.add(control, place.bell, 1);
    Atomics.notify(control, place.bell);
    this.helpers.forEach((helper, number) => {
      if (helper !== undefined && Atomics.exchange(control, place.asleep + number, 0) === 1)
        helper.postMessage({kind: 'wake'});
    });
  }

  /** The next part for this thread. */
  private claim(parts: number): number | undefined {
    for (;;) {
      const claim = Atomics.load(this.control, place.claim);
      const part = claim & closed;
      if (part >= parts) return undefined;
      if (Atomics.compareExchange(this.control, place.claim, claim, claim + 1) === claim) return part;
    }
  }

  /** Until so many parts were done by others; false where one was not, in all that time. */
  private wait(others: number, work: number): boolean {
    const {control} = this;
    const most = 1000 * (patience.seconds + work / patience.rate);
    let done = Atomics.load(control, place.done);
    for (let look = 0; done < others && look < looks; look++) done = Atomics.load(control, place.done);
    let end = Infinity;
    while (done < others) {
      if (nodeThreads !== undefined) {
        if (Atomics.wait(control, place.done, done, most) === 'timed-out') return false;
      } else {
        // A page's own thread may not sleep.
        if (end === Infinity) end = performance.now() + most;
        if (performance.now() > end) return false;
      }
      const now = Atomics.load(control, place.done);
      if (now > done) end = Infinity;
      done = now;
    }
    return true;
  }
}

const operations = ([, , , , , , , , m, k, n]: readonly number[]): number => 2 * m * k * n;

/**
 * The calls that a product is made of. A part packs all of its right operand, and its left one once for each block of
 * its columns: to divide columns by whole blocks packs nothing twice, so that comes first.
 */
function partsOf(given: readonly number[], threads: number): number[][] {
  const [a, aRow, aColumn, b, bRow, bColumn, c, cRow, m, k, n] = given;
  const wanted = Math.min(partsEach * threads, mostParts);
  const [across, down] = [Math.floor(n / columnBlock), Math.ceil(m / block)];
  // As many columns of parts as divide the parts evenly; more where there are not enough rows.
  let columns = 1;
  for (let some = 2; some <= wanted; some++)
    if (wanted % some === 0 && (some <= across || wanted / columns > down)) columns = some;
  const width = block * Math.ceil(n / columns / block);
  const height = block * Math.ceil((m * columns) / wanted / block);
  // Columns of the result are contiguous, and so wide: 2³² bytes of a row are more than a memory has.
  const bytes = cRow / n;
  const parts: number[][] = [];
  for (let row = 0; row < m; row += height)
    for (let column = 0; column < n; column += width) {
      const [rows, some] = [Math.min(height, m - row), Math.min(width, n - column)];
      const left = [a + row * aRow, aRow, aColumn];
      const right = [b + column * bColumn, bRow, bColumn];
      parts.push([...left, ...right, c + row * cRow + column * bytes, cRow, rows, k, some]);
    }
  return parts;
}

/** Started with the first program that asks for it, and again after `setThreadsCount`. */
let crew: Crew | undefined;
let owners = 0;

/** Parts of products that other threads have made, for specs and measurements. */
export const partsByOthers = (): number => crew?.helped ?? 0;

/** Threads forget a memory that nobody else knows any more. */
const forgotten =
  typeof FinalizationRegistry === 'undefined'
    ? undefined
    : new FinalizationRegistry<number>(owner => crew?.leave(owner));

/** Imports of an instance with such products, and the link to its own functions. */
export function productThreads(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  products: readonly ThreadedProduct[],
): {readonly imports: WebAssembly.ModuleImports; readonly bind: (exports: WebAssembly.Exports) => void} {
  const owner = ++owners;
  forgotten?.register(memory, owner);
  const joined: Joined = {owner, module, memory, products};
  let known: Crew | undefined;
  const functions: ((...given: number[]) => void)[] = [];
  const present = (): Crew | undefined => {
    if (crew === undefined && getThreadsCount() > 1) crew = new Crew(getThreadsCount());
    if (crew !== known) crew?.join(joined);
    return (known = crew);
  };
  present();
  return {
    imports: Object.fromEntries(
      products.map(({name, workspaces}, format) => {
        const run = (part: readonly number[]): void => functions[format](...part, workspaces[0]);
        const product = (...given: number[]): void => {
          const helping = present();
          if (helping?.ready === true) helping.product(owner, format, given, run);
          else run(given);
        };
        return [name, product];
      }),
    ),
    bind(exports) {
      functions.push(...products.map(({name}) => exports[name] as (...given: number[]) => void));
    },
  };
}
