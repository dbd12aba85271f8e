/** A store in an object store: the same results as in a folder, with a server that fails, loses answers and refuses. */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect} from 'chai';
import {DataError, OptionError} from '../../lib/index.js';
import {collect, openStore, sweep, type Row} from '../../sweep/index.js';
import {local} from '../../sweep/local.js';
import {grid, linspace} from '../../sweep/cases.js';
import type {Store} from '../../sweep/store.js';
import {canonical} from '../../sweep/canonical.js';
import {findTask, jobOf} from '../../sweep/task.js';
import {readTable} from '../../training/index.js';
import {ObjectServer} from './object-server.js';

const module = new URL('./tasks/oscillator.ts', import.meta.url);
const task = {module, export: 'identifyStiffness'};

describe('a store in an object store', function () {
  this.timeout(60_000);
  let server: ObjectServer;
  let endpoint: string;
  let place: string;
  let count = 0;
  beforeEach(async () => {
    server = new ObjectServer('results');
    endpoint = await server.start();
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-s3-'));
  });
  afterEach(async () => {
    await server.stop();
    await rm(place, {recursive: true});
  });
  const open = (patience?: number, address = `s3://results/study/${count++}`): Store =>
    openStore(address, {
      patience,
      s3: {endpoint, credentials: {accessKeyId: 'reader', secretAccessKey: 'of the test'}},
    });
  const bits = async (rows: AsyncIterable<Row>): Promise<string[]> => {
    const list: string[] = [];
    for await (const {case: one, name, result, seed} of rows) list.push(canonical({one, name, result, seed}, 'row'));
    return list;
  };

  it('has the same results to the bit as a folder, whatever fails on the way, and goes on where it was', async () => {
    const cases = grid({k: linspace(10, 20, 10), noise: [0, 0.01]});
    const engine = local({workers: 2});
    const inFolder = await sweep({task, cases, store: path.join(place, 'folder'), engine});
    server.trouble = ({method}, n) =>
      n % 5 === 0 ? 'busy' : method === 'PUT' && n % 3 === 0 ? 'unanswered' : undefined;
    const store = open();
    const first = await sweep({task, cases: [...cases].slice(0, 12), store, engine});
    expect(first).to.include({done: 12, failed: 0});
    const run = await sweep({task, cases, store, engine});
    expect(run).to.include({done: 20, failed: 0, resumed: 12});
    expect(await bits(run.results())).to.deep.equal(await bits(inFolder.results()));
    expect(await store.status()).to.deep.equal({done: 20, failed: 0, causes: {}});
    server.trouble = () => undefined;
    for (const file of ['table.jsonl', 'table.csv', 'table.parquet'])
      expect(await collect(store, path.join(place, file))).to.equal(20);
    const table = await readTable(path.join(place, 'table.csv'));
    const same = await readTable(path.join(place, 'table.parquet'));
    expect([...same.column('result.k')]).to.deep.equal([...table.column('result.k')]);
    expect([...server.objects.keys()].every(key => key.startsWith(`results/study/`))).to.equal(true);
  });

  it('accepts one result a case, keeps failures, and prunes', async () => {
    const store = open();
    const {task: found, ...one} = {task: await findTask(task), case: {k: 1}};
    const job = jobOf(found, one.case, 0);
    expect(await store.has(job.name)).to.equal(false);
    expect(await store.fail(job, 'thrown', {name: 'Error', message: 'first'})).to.equal(1);
    expect(await store.fail(job, 'timeout', {name: 'Error', message: 'second'})).to.equal(2);
    expect(await store.status()).to.deep.equal({done: 0, failed: 1, causes: {timeout: 1}});
    expect((await store.failures(job.name)).map(({cause}) => cause)).to.deep.equal(['thrown', 'timeout']);
    const both = await Promise.all([store.accept(job, '1', 0), store.accept(job, '2', 0)]);
    expect(both.filter(Boolean)).to.have.length(1);
    expect((await store.read(job.name))?.result).to.equal(both[0] ? 1 : 2);
    expect(await store.prune()).to.equal(2);
    const key = [...server.objects.keys()].find(name => name.endsWith(`${job.name}.json`)) ?? '';
    server.objects.set(key, 'what somebody else wrote');
    const damaged: unknown = await store.read(job.name).catch((error: unknown) => error);
    expect(damaged).to.be.instanceOf(DataError).with.property('code', 'damaged-result');
    expect([...server.objects.keys()]).to.deep.equal([`${key}.damaged`]);
  });

  it('a writer whose answer was lost has written', async () => {
    const store = open();
    const job = jobOf(await findTask(task), {k: 2}, 0);
    server.trouble = (_, n) => (n === 1 ? 'unanswered' : undefined);
    expect(await store.accept(job, '1', 0)).to.equal(true);
    expect(await store.accept(job, '1', 1)).to.equal(false);
  });

  it('says what is wrong: a server that is away, refuses, or has no such bucket', async () => {
    const code = async (ask: Promise<unknown>): Promise<string> => {
      const error: unknown = await ask.catch((e: unknown) => e);
      expect(error).to.be.instanceOf(DataError);
      return `${(error as DataError).code} ${(error as DataError).message}`;
    };
    const job = jobOf(await findTask(task), {k: 3}, 0);
    server.trouble = () => 'busy';
    expect(await code(open(0).accept(job, '1', 0))).to.match(
      /^store-unwritable s3:\/\/results\/study.*cannot be written/,
    );
    server.trouble = () => undefined;
    expect(await code(open(0, 's3://other').accept(job, '1', 0))).to.match(
      /^store-refused .*NoSuchBucket.*bucket's name/,
    );
    for (const ask of [() => open(0, 's3://other').has(job.name), () => open(0, 's3://other').status()])
      expect(await code(ask())).to.match(/^store-refused .*NoSuchBucket/);
    for (const isThere of [true, false]) {
      const address = `s3://results/there-${isThere}`;
      if (isThere) await open(0, address).accept(job, '1', 0);
      expect(await open(0, address).has(job.name)).to.equal(isThere);
      const end = await collect(open(0, address), path.join(place, 'there.jsonl')).catch((e: OptionError) => e.code);
      expect(end).to.equal(isThere ? 1 : 'no-store');
    }
    const stranger = openStore('s3://results', {s3: {endpoint, credentials: {accessKeyId: 'x', secretAccessKey: 'y'}}});
    expect(await code(stranger.status())).to.match(/^store-refused .*InvalidAccessKeyId.*credentials/);
    expect(() => openStore('s3://')).to.throw(OptionError, 's3://bucket/prefix');
    expect(() => openStore('s3://a', {s3: {port: 9} as never})).to.throw(OptionError, "no option 'port'");
    expect(() => openStore(place, {s3: {}})).to.throw(OptionError, 's3 is only for addresses');
  });
});
