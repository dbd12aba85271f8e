/** Sweeps on this machine and in shares: results, order, resuming, failures, halving. */
import {mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect} from 'chai';
import {DataError, OptionError} from '../../lib/index.js';
import {collect, openStore, successiveHalving, sweep, type Row, type SweepProgress} from '../../sweep/index.js';
import {indexed, local} from '../../sweep/local.js';
import {grid, linspace} from '../../sweep/cases.js';
import {sweepPage} from '../../sweep/page.js';
import {canonical} from '../../sweep/canonical.js';
import {findTask, jobOf} from '../../sweep/task.js';
import {readTable} from '../../training/index.js';
import {slow} from '../tiers.js';

const module = new URL('./tasks/oscillator.ts', import.meta.url);
const identifyStiffness = {module, export: 'identifyStiffness'};
const all = async <T>(rows: AsyncIterable<T>): Promise<T[]> => {
  const list: T[] = [];
  for await (const row of rows) list.push(row);
  return list;
};
/** What must be equal to the bit; how long it took is not. */
const bits = (rows: readonly Row[]): string[] =>
  rows.map(({case: one, name, result, seed}) => canonical({one, name, result, seed}, 'row'));

describe('sweep', function () {
  this.timeout(60_000);
  let place: string;
  let count = 0;
  const folder = (): string => path.join(place, `store-${count++}`);
  before(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-sweep-'));
  });
  after(() => rm(place, {recursive: true}));

  slow('gives the same results to the bit with one process, with two, and in shares', async () => {
    const cases = grid({k: linspace(10, 20, 40), noise: [0, 0.01]});
    const two = await sweep({task: identifyStiffness, cases, store: folder(), engine: local({workers: 2})});
    expect(two).to.include({done: 80, failed: 0, resumed: 0, aborted: false});
    const rows = await all(two.results());
    expect(rows.map(row => row.case)).to.deep.equal([...cases]);
    // Without noise the stiffness is found again, to rounding: Newton's method converges quadratically.
    for (const {case: one, result} of rows as Row<{k: number; noise: number}, {k: number}>[])
      if (one.noise === 0) expect(result.k).to.be.closeTo(one.k, 1e-11);
    const one = await sweep({task: identifyStiffness, cases, store: folder(), engine: local({workers: 1})});
    expect(bits(await all(one.results()))).to.deep.equal(bits(rows));
    const shared = folder();
    const counts: number[] = [];
    for (const index of [2, 0, 1])
      counts.push(
        (await sweep({task: identifyStiffness, cases, store: shared, engine: indexed({index, of: 3, workers: 1})}))
          .done,
      );
    expect(counts).to.deep.equal([26, 27, 27]);
    const whole = await sweep({task: identifyStiffness, cases, store: shared});
    expect(whole.resumed).to.equal(80);
    expect(bits(await all(whole.results()))).to.deep.equal(bits(rows));
  });

  slow('is ended by its signal and goes on where it was; equal cases are one', async () => {
    const cases = Array.from({length: 40}, (_, x) => ({x: x % 30, ms: 20}));
    const store = folder();
    const task = {module, export: 'slow'};
    const ending = new AbortController();
    const first = await sweep({
      task,
      cases,
      store,
      engine: local({workers: 2}),
      signal: ending.signal,
      every: 0,
      onProgress: ({done}) => done >= 8 && ending.abort(),
    });
    expect(first.aborted).to.equal(true);
    expect(first.done).to.be.within(8, 20);
    const progress: SweepProgress[] = [];
    const second = await sweep({
      task,
      cases,
      store,
      engine: local({workers: 2}),
      onProgress: one => progress.push(one),
    });
    expect(second).to.include({done: 30, failed: 0, resumed: first.done, total: 30});
    expect(progress.at(-1)).to.include({done: 30, total: 30, left: 0});
    expect((await all(second.results())).map(({result}) => result)).to.deep.equal(
      Array.from({length: 30}, (_, x) => x),
    );
  });

  slow('names a task that throws, hangs, exhausts memory, exits or is killed; the others go on', async () => {
    const store = openStore(folder());
    const cases = grid({how: ['fine', 'throw', 'hang', 'wait', 'buffers', 'exit', 'kill', 'function', 'good'], x: [1]});
    const task = {module, export: 'misbehave'};
    const run = await sweep({task, cases, store, engine: local({workers: 2}), timeout: 8, memory: 400e6});
    expect(run).to.include({done: 2, failed: 7});
    const causes = Object.fromEntries(
      (await all(run.failures())).map(({case: one, cause, attempt}) => [one.how, `${cause} ${attempt}`]),
    );
    expect(causes).to.deep.equal({
      throw: 'thrown 1',
      hang: 'timeout 1',
      wait: 'timeout 1',
      buffers: 'memory 1',
      exit: 'exited 1',
      kill: 'lost 3',
      function: 'thrown 1',
    });
    const [thrown] = await all(run.failures());
    expect(thrown.error).to.include({name: 'RangeError', message: 'no result for 1'});
    expect(thrown.error.stack).to.match(/oscillator\.ts/);
    expect(await store.status()).to.deep.equal({
      done: 2,
      failed: 7,
      causes: {thrown: 2, timeout: 2, memory: 1, exited: 1, lost: 1},
    });
    // What has failed for good is not tried again, until its failures are removed or more attempts are allowed.
    const again = await sweep({task, cases, store, timeout: 4});
    expect(again).to.include({done: 2, resumed: 2, failed: 7});
    expect(again.seconds).to.be.below(3);
    await sweep({task, cases: [{how: 'throw', x: 1}], store, attempts: {thrown: 2}});
    expect((await all(again.failures()))[0].attempt).to.equal(2);
    expect(await store.prune({failures: true})).to.equal(10);
    expect(await store.status()).to.deep.equal({done: 2, failed: 0, causes: {}});
  });

  slow('a heap that overflows is named, too', async () => {
    const run = await sweep({
      task: {module, export: 'misbehave'},
      cases: [{how: 'heap', x: 1}],
      store: folder(),
      memory: 150e6,
    });
    expect((await all(run.failures())).map(({cause}) => cause)).to.deep.equal(['memory']);
  });

  slow('halves successively: few cases have the whole budget, and the best has', async () => {
    // (1 − rate)^(2 budget) is least for the rate nearest to 1.
    const run = await sweep<{rate: number}, number>({
      task: {module, export: 'descent'},
      cases: successiveHalving({
        cases: grid({rate: linspace(0.1, 0.9, 9)}),
        from: 1,
        to: 9,
        loss: (result: number) => result,
      }),
      store: folder(),
      engine: local({workers: 2}),
      objective: result => result,
    });
    // Rungs of 9, 3 and 1 cases with budgets 1, 3 and 9.
    const rows = (await all(run.results())) as unknown as Row<{rate: number; budget: number}>[];
    expect(rows.map(row => row.case.budget)).to.deep.equal([1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 9]);
    expect(rows.at(-1)!.case.rate).to.equal(0.9);
    expect(run.best?.case).to.deep.equal({rate: 0.9, budget: 9});
    expect(run.best?.value).to.be.closeTo(0.1 ** 18, 1e-30);
  });

  it('indexed reads the variables of Slurm and Kubernetes', () => {
    const {env} = process;
    const names = [
      'SLURM_ARRAY_TASK_ID',
      'SLURM_ARRAY_TASK_MIN',
      'SLURM_ARRAY_TASK_STEP',
      'SLURM_ARRAY_TASK_COUNT',
      'JOB_COMPLETION_INDEX',
      'JOB_COMPLETIONS',
    ];
    const kept = {...env};
    try {
      names.forEach(name => delete env[name]);
      expect(() => indexed()).to.throw(OptionError, /which share this is/);
      Object.assign(env, {JOB_COMPLETION_INDEX: '3'});
      expect(() => indexed()).to.throw(OptionError, /how many shares/);
      Object.assign(env, {JOB_COMPLETIONS: '8'});
      expect(indexed().share).to.deep.equal({index: 3, of: 8});
      Object.assign(env, {
        SLURM_ARRAY_TASK_ID: '15',
        SLURM_ARRAY_TASK_MIN: '5',
        SLURM_ARRAY_TASK_STEP: '5',
        SLURM_ARRAY_TASK_COUNT: '4',
      });
      expect(indexed().share).to.deep.equal({index: 2, of: 4});
      expect(indexed({index: 0, of: 2}).share).to.deep.equal({index: 0, of: 2});
      expect(() => indexed({index: 2, of: 2})).to.throw(OptionError, /from 0 to 1/);
    } finally {
      names.forEach(name => (kept[name] === undefined ? delete env[name] : (env[name] = kept[name])));
    }
  });

  it('refuses what it cannot do', async () => {
    const refused = async (options: object, message: RegExp): Promise<void> => {
      let error: unknown;
      await sweep({task: identifyStiffness, cases: [{k: 1}], store: folder(), ...options} as never).catch(
        (e: unknown) => (error = e),
      );
      expect(error).to.be.instanceOf(OptionError).with.property('message').match(message);
    };
    await refused({caes: []}, /no option 'caes'.*Did you mean 'cases'/);
    await refused({store: undefined}, /store must be a folder's path/);
    await refused({cases: [3]}, /a case must be an object/);
    await refused({attempts: {throw: 2}}, /no option 'throw'/);
    await refused(
      {cases: successiveHalving({cases: [{k: 1}], from: 1, to: 2, loss: () => 0}), engine: indexed({index: 0, of: 2})},
      /needs all results/,
    );
  });
});

describe('the store', () => {
  let place: string;
  before(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-store-'));
  });
  after(() => rm(place, {recursive: true}));

  it('accepts one result a case, whoever comes first', async () => {
    const task = await findTask(identifyStiffness);
    const job = jobOf(task, {k: 1}, 0);
    const stores = Array.from({length: 20}, () => openStore(path.join(place, 'first')));
    const accepted = await Promise.all(stores.map((store, i) => store.accept(job, String(i), 0)));
    expect(accepted.filter(Boolean)).to.have.length(1);
    expect((await stores[0].read(job.name))?.result).to.equal(accepted.indexOf(true));
    expect(await readdir(path.join(place, 'first', 'tmp'))).to.deep.equal([]);
  });

  slow('sets a damaged file aside, and its case is made again', async () => {
    const folder = path.join(place, 'damaged');
    const run = await sweep({task: {module, export: 'square'}, cases: [{x: 3}, {x: 4}], store: folder});
    const [{name}] = await all(run.results());
    const file = path.join(folder, 'done', name.slice(0, 3), `${name}.json`);
    await writeFile(file, (await readFile(file, 'utf8')).replace('"result":9', '"result":8'));
    let error: unknown;
    await run.store.read(name).catch((e: unknown) => (error = e));
    expect(error).to.be.instanceOf(DataError);
    expect(await run.store.status()).to.include({done: 1});
    const again = await sweep({task: {module, export: 'square'}, cases: [{x: 3}, {x: 4}], store: folder});
    expect((await all(again.results())).map(({result}) => result)).to.deep.equal([9, 16]);
  });

  slow('collects to JSON lines, CSV and Parquet, in an order of the cases alone', async () => {
    const cases = grid({k: [10, 11, 12]});
    const files: string[] = [];
    for (const name of ['a', 'b']) {
      const {store} = await sweep({
        task: identifyStiffness,
        cases: name === 'a' ? cases : [...cases].reverse(),
        store: path.join(place, name),
      });
      expect(await collect(store, path.join(place, `${name}.jsonl`))).to.equal(3);
      await collect(store, path.join(place, `${name}.csv`));
      files.push(await readFile(path.join(place, `${name}.csv`), 'utf8'));
    }
    expect(files[0]).to.equal(files[1]);
    const table = await readTable(path.join(place, 'a.csv'));
    expect(table.columns).to.deep.equal(['case.k', 'result.cost', 'result.k', 'seed']);
    table.column('case.k').forEach((k, i) => expect(table.column('result.k')[i]).to.be.closeTo(k, 1e-11));
    await collect(openStore(path.join(place, 'a')), path.join(place, 'a.parquet'));
    // By its folder, as sweep takes it; what is no store is refused before a file is written.
    expect(await collect(path.join(place, 'a'), path.join(place, 'by-folder.jsonl'))).to.equal(3);
    for (const none of [undefined, {}, ''])
      expect(await collect(none as never, path.join(place, 'none.csv')).catch((reason: unknown) => reason))
        .to.be.instanceOf(OptionError)
        .with.property('message')
        .that.matches(/^collect: store must be a folder's path, or a store made by openStore, not /);
    const same = await readTable(path.join(place, 'a.parquet'), {text: ['name']});
    expect(same.columns).to.deep.equal(['case.k', 'name', 'result.cost', 'result.k', 'seed']);
    for (const column of table.columns) expect([...same.column(column)]).to.deep.equal([...table.column(column)]);
    const lines = (await readFile(path.join(place, 'a.jsonl'), 'utf8'))
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as Row);
    expect(lines.map(({name}) => name)).to.deep.equal(lines.map(({name}) => name).sort());
    expect(lines.map(({name}) => name)).to.deep.equal([...same.text('name')]);
  });

  slow('keeps results of two versions of a task apart, in columns and on the page of a resumed sweep', async () => {
    const store = openStore(path.join(place, 'versions'));
    const run = (exported: string, version: string): ReturnType<typeof sweep> =>
      sweep({cases: [{x: 2}, {x: 3}], store, task: {module, export: exported, name: 'power', version}});
    await run('square', '1');
    await collect(store, path.join(place, 'one.csv'));
    await store.fail(
      jobOf(await findTask({module, export: 'square', name: 'power', version: '1'}), {x: 9}, 0),
      'thrown',
      {
        name: 'Error',
        message: 'of the first version',
      },
    );
    const second = await run('square', '2');
    for (const ending of ['csv', 'parquet']) {
      const error = await collect(store, path.join(place, `two.${ending}`)).catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(DataError);
      expect((error as DataError).code).to.equal('several-versions');
      expect((error as DataError).message).to.match(/'power': (1|2) \(2\), (1|2) \(2\)/);
      expect(await collect(store, path.join(place, `two.${ending}`), {versions: ['2']})).to.equal(2);
    }
    expect((await readdir(place)).filter(name => name.endsWith('.partial'))).to.deep.equal([]);
    const rows = await readTable(path.join(place, 'two.csv'));
    expect([...rows.column('case.x')].sort()).to.deep.equal([2, 3]);
    expect(await collect(store, path.join(place, 'two.jsonl'))).to.equal(4);
    const whole = await sweepPage(store);
    expect(whole).to.match(/of the first version/);
    const ours = await sweepPage(store, {progress: second});
    expect(ours).not.to.match(/of the first version/);
    expect(ours.match(/<polyline/g)?.length).to.equal(2);
    expect(whole.match(/<polyline/g)?.length).to.equal(4);
    // Failures of a version that goes, go.
    expect(await store.prune({versions: ['2']})).to.equal(3);
    expect(await store.status()).to.deep.equal({done: 2, failed: 0, causes: {}});
    expect(await collect(store, path.join(place, 'left.csv'))).to.equal(2);
  });

  slow('prunes parts that were left, old versions, and failures that were overcome', async () => {
    const store = openStore(path.join(place, 'pruned'));
    const cases = [{x: 1}, {x: 2}];
    const options = {cases, store};
    await sweep({...options, task: {module, export: 'square', version: '1'}});
    await sweep({...options, task: {module, export: 'square', version: '2'}});
    await writeFile(path.join(place, 'pruned', 'tmp', 'left.partial'), 'half');
    const task = await findTask({module, export: 'square', version: '2'});
    await store.fail(jobOf(task, {x: 1}, 0), 'lost', {name: 'TaskProcessError', message: 'killed'});
    expect(await store.status()).to.deep.equal({done: 4, failed: 0, causes: {}});
    expect(await store.prune()).to.equal(1); // the failure; the part is young
    expect(await store.prune({older: 0, versions: ['2']})).to.equal(3);
    expect((await all(store.rows())).map(({task: {version}}) => version)).to.deep.equal(['2', '2']);
  });
});
