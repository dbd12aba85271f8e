/**
 * Mocha's hooks of `npm run test:measure`: each worker appends a line for every test to a file of its own. Times are
 * the process's own and its children's processor time in milliseconds, which other work on the machine changes little.
 */
import {appendFileSync, readFileSync} from 'node:fs';
import {join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';

/** A test may stand in another folder while it runs. */
const root = fileURLToPath(new URL('..', import.meta.url));
const file = join(process.env.DURATIONS, `${process.pid}.jsonl`);

/** Children that have ended, in ticks of 10 ms: fields 16 and 17 of proc(5)'s stat, behind the name in parentheses. */
function ofChildren() {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
  return 10 * (Number(fields[13]) + Number(fields[14]));
}

function now() {
  const {user, system} = process.cpuUsage();
  return (user + system) / 1000 + ofChildren();
}

let last = now();
function lap() {
  const begin = last;
  last = now();
  return last - begin;
}

let before = 0;
export const mochaHooks = {
  beforeEach() {
    before = lap();
  },
  afterEach() {
    const test = this.currentTest;
    const path = relative(root, test.file).replaceAll('\\', '/');
    const slow = test.tier === 'slow' || path.endsWith('.slow.spec.ts');
    appendFileSync(file, `${JSON.stringify({path, title: test.fullTitle(), slow, before, took: lap()})}\n`);
    last = now();
  },
};
