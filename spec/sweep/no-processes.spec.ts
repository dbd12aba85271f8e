/** A sweep whose results are there already, or come from an engine of the test: no process starts. */
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect} from 'chai';
import {OptionError} from '../../lib/index.js';
import {collect, engines, fitSweep, sweep, writePage, type Engine} from '../../sweep/index.js';
import {bullmq} from '../../sweep/bullmq.js';
import {Store} from '../../sweep/store.js';
import {inFlight, local} from '../../sweep/local.js';
import {findTask, jobOf} from '../../sweep/task.js';

const module = new URL('./tasks/oscillator.ts', import.meta.url);
const cases = [{k: 1}, {k: 2}];

describe('a sweep without processes', () => {
  let place: string;
  before(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-resumed-'));
  });
  after(() => rm(place, {recursive: true}));

  it('local goes on where a store is; collect and writePage show it', async () => {
    const store = new Store(path.join(place, 'store'));
    const task = await findTask({module, export: 'identifyStiffness'});
    for (const one of cases) await store.accept(jobOf(task, one, 0), String(one.k / 2), 0.25);
    const done = await sweep({task: {module, export: 'identifyStiffness'}, cases, store, engine: local({workers: 1})});
    expect(done).to.include({done: 2, failed: 0, resumed: 2});
    const [lines, page] = ['results.jsonl', 'page.html'].map(name => path.join(place, name));
    expect(await collect(store, lines)).to.equal(2);
    const rows = (await readFile(lines, 'utf8'))
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as {result: number});
    expect(rows.map(({result}) => result).sort()).to.deep.equal([0.5, 1]);
    await writePage(store, page);
    expect(await readFile(page, 'utf8')).to.match(/^<!doctype html>/i);
  });

  it('fitSweep gives results in the order of their parts', async () => {
    const store = new Store(path.join(place, 'parts'));
    const engine: Engine = {
      name: 'here',
      run: context =>
        inFlight(context, 2, async job => {
          await store.accept(job, job.case, 0);
          context.settled(job, {kind: 'done'});
        }),
    };
    const parts = [{part: 'chain', chain: 1}, {part: 'chain', chain: 0}] as never; // prettier-ignore
    const found = await fitSweep({task: {module}, store, engine}).compute(parts);
    expect(found).to.deep.equal(parts);
  });

  it('bullmq asks for a connection, and cluster scripts name file and shares', () => {
    expect(bullmq({connection: {url: 'redis://127.0.0.1'}}).name).to.equal('bullmq');
    expect(() => bullmq({} as never)).to.throw(OptionError, 'connection');
    const given = {file: 'fits/sweep.js', shards: 8, workers: 2};
    expect(engines.clusterScripts.slurm(given))
      .to.include('#SBATCH --array=0-7\n')
      .and.include("sweep 'fits/sweep.js'");
    expect(engines.clusterScripts.kubernetes(given)).to.include('completions: 8\n');
  });
});
