/** The spec files of a tier, the longest first: processes that each take the next file end at about the same time. */
import {spawnSync} from 'node:child_process';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {availableParallelism, totalmem} from 'node:os';
import {fileURLToPath} from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Written by `npm run test:measure`: seconds of every file, and milliseconds of quick tests that take 100 or more. */
export const durationsFile = `${root}spec/durations.json`;

export function longestFirst(files) {
  const durations = existsSync(durationsFile) ? JSON.parse(readFileSync(durationsFile, 'utf8')).files : {};
  // A new file goes first: how long it takes is not known.
  const seconds = file => durations[file] ?? Infinity;
  return files.sort((a, b) => (seconds(a) === seconds(b) ? (a < b ? -1 : 1) : seconds(b) - seconds(a)));
}

const all = () =>
  readdirSync(`${root}spec`, {recursive: true})
    .map(file => `spec/${file.replaceAll('\\', '/')}`)
    .filter(file => file.endsWith('.spec.ts'));

export const specsOf = tier => longestFirst(all().filter(file => tier !== 'quick' || !file.endsWith('.slow.spec.ts')));

/** Those whose cases are random. */
export const randomSpecs = () =>
  longestFirst(all().filter(file => readFileSync(root + file, 'utf8').includes("/property.js'")));

/** A process grows to 1.5 GB over the whole suite. */
const jobs = Math.max(1, Math.min(availableParallelism(), Math.floor(totalmem() / 2 ** 31)));

/** Runs specs, in as many processes as there are cores. */
export function mocha(files, settings = {}, options = []) {
  const parallel = jobs > 1 ? ['--parallel', '--jobs', String(jobs)] : ['--no-parallel'];
  const args = ['node_modules/mocha/bin/mocha.js', ...parallel, ...options, ...files];
  return spawnSync(process.execPath, args, {stdio: 'inherit', env: {...process.env, ...settings}}).status ?? 1;
}
