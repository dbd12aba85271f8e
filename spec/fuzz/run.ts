/**
 * Long random searches, by name: `npm run fuzz -- graphs --count 100000 --seed 1`. The short forms of the same
 * searches are specs. A failure is printed with the seed that repeats it alone.
 */
import {parseArgs} from 'node:util';

export interface FuzzOptions {
  /** Cases to try. */
  readonly count: number;
  /** Of the first case; case i has seed + i. */
  readonly seed: number;
  readonly log: (line: string) => void;
}

export interface FuzzResult {
  readonly tried: number;
  /** What went wrong, each with its own seed. */
  readonly failures: readonly string[];
}

export interface Fuzz {
  fuzz(options: FuzzOptions): Promise<FuzzResult>;
}

const searches: {readonly [name: string]: () => Promise<Fuzz>} = {
  graphs: () => import('./graphs.js'),
  systems: () => import('./systems.js'),
  readers: () => import('./readers.js'),
};

async function main(): Promise<void> {
  const {
    positionals: [name],
    values,
  } = parseArgs({
    allowPositionals: true,
    options: {count: {type: 'string', default: '1000'}, seed: {type: 'string', default: '1'}},
  });
  const search = Object.hasOwn(searches, name ?? '') ? searches[name] : undefined;
  const [count, seed] = [Number(values.count), Number(values.seed)];
  if (search === undefined || !Number.isSafeInteger(count) || !Number.isSafeInteger(seed)) {
    console.error(`npm run fuzz -- <${Object.keys(searches).join(' | ')}> [--count 1000] [--seed 1]`);
    process.exitCode = 2;
    return;
  }
  const {tried, failures} = await (await search()).fuzz({count, seed, log: line => console.log(line)});
  for (const failure of failures) console.log(failure);
  console.log(`${name}: ${tried} tried, ${failures.length} failed`);
  if (failures.length > 0) process.exitCode = 1;
}

await main();
