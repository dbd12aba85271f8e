/**
 * Runs a tier of the tests (docs/testing.md): `node .ci/test.js quick`, `all`, `nightly` or `measure`, with further
 * options for mocha. As many processes as there are cores each take the next file, the longest first by
 * spec/durations.json.
 */
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {durationsFile, mocha, randomSpecs, specsOf} from './specs.js';

const [tier, ...options] = process.argv.slice(2);

/** Random tests with many cases, and the searches of spec/fuzz. RUNS sets how many; about an hour with the default. */
function nightly() {
  const times = Number(process.env.RUNS ?? 20);
  let status = mocha(randomSpecs(), {RUNS: String(times)}, ['--timeout', '0', ...options]);
  for (const [search, count] of Object.entries({graphs: 5000, systems: 500, readers: 50})) {
    const seed = String(process.env.SEED ?? Math.floor(Date.now() / 1000));
    const cases = String(Math.ceil(count * times));
    const args = ['--import', 'tsx', 'spec/fuzz/run.ts', search, '--count', cases, '--seed', seed];
    // Every search runs, whatever the ones before it found.
    status = Math.max(status, spawnSync(process.execPath, args, {stdio: 'inherit'}).status ?? 1);
  }
  return status;
}

/** Runs everything and stores how long it took. */
function measure() {
  const {status, tests} = timed(specsOf('all'));
  // Processor time counts V8's other threads too, which may be busy with what earlier tests left: a quick test above
  // the limit is measured again in a process of its file alone, and the least counts.
  for (let again = 0; again < 3; again++) {
    const long = tests.filter(({slow, took}) => !slow && took > 250);
    const least = new Map();
    for (const {path, title, took} of [...new Set(long.map(({path}) => path))].flatMap(path => timed([path]).tests))
      least.set(path + title, Math.min(took, least.get(path + title) ?? Infinity));
    for (const test of long) test.took = Math.min(test.took, least.get(test.path + test.title) ?? Infinity);
  }
  store(tests);
  return status;
}

/** What .ci/durations.js wrote of these specs. */
function timed(files) {
  const folder = mkdtempSync(join(tmpdir(), 'stiffgrad-durations-'));
  try {
    const status = mocha(files, {DURATIONS: folder}, ['--require', './.ci/durations.js', ...options]);
    const lines = readdirSync(folder).flatMap(name => readFileSync(join(folder, name), 'utf8').trim().split('\n'));
    return {status, tests: lines.map(line => JSON.parse(line))};
  } finally {
    rmSync(folder, {recursive: true, force: true});
  }
}

function store(tests) {
  const files = {};
  const quick = {};
  for (const {path, title, slow, before, took} of tests) {
    files[path] = (files[path] ?? 0) + (before + took) / 1000;
    if (!slow && took >= 100) (quick[path] ??= {})[title] = Math.round(took);
  }
  const sorted = object => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
  for (const path of Object.keys(files)) files[path] = Number(files[path].toFixed(1));
  const count = {quick: tests.filter(({slow}) => !slow).length, all: tests.length};
  writeFileSync(
    durationsFile,
    `${JSON.stringify({tests: count, files: sorted(files), quick: sorted(quick)}, null, 1)}\n`,
  );
}

const tiers = {
  quick: () => mocha(specsOf('quick'), {TIER: 'quick'}, options),
  all: () => mocha(specsOf('all'), {}, options),
  nightly,
  measure,
};
if (!Object.hasOwn(tiers, tier)) {
  console.error(`node .ci/test.js <${Object.keys(tiers).join(' | ')}> [options of mocha]`);
  process.exitCode = 2;
} else process.exitCode = tiers[tier]();
