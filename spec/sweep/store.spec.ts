/** What a store takes for its own, what it takes for absent, and what it says of everything else. */
import {createHash} from 'node:crypto';
import {copyFile, mkdir, mkdtemp, readFile, rm, symlink, unlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect} from 'chai';
import fc from 'fast-check';
import {main} from '../../cli/main.js';
import {DataError, StiffgradError} from '../../lib/index.js';
import {collect, openStore, type Row} from '../../sweep/index.js';
import {sweepPage} from '../../sweep/page.js';
import type {Store} from '../../sweep/store.js';
import {fakeJob, fileOf, filled} from './jobs.js';
import {runs} from '../property.js';

const codeOf = (run: Promise<unknown>): Promise<unknown> =>
  run.then(
    () => 'done',
    (error: unknown) => (error instanceof StiffgradError ? error.code : error),
  );
const sealed = (content: string): string => `${content}\n${createHash('sha256').update(content).digest('hex')}\n`;

describe('a store', () => {
  let place: string;
  let count = 0;
  let folder: string;
  let store: Store;
  beforeEach(() => {
    folder = path.join(place, `store-${count++}`);
    store = openStore(folder, {patience: 0, durable: false});
  });
  before(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-store-'));
  });
  after(() => rm(place, {recursive: true}));
  const at = (name: string): string => path.join(folder, name);
  const rows = async (): Promise<Row[]> => {
    const found: Row[] = [];
    for await (const row of store.rows()) found.push(row);
    return found;
  };
  const five = (): Promise<ReturnType<typeof fakeJob>[]> =>
    filled(
      store,
      [1, 2, 3, 4, 5].map(k => [{k}, k ** 3] as const),
    );
  /** What cannot be read, by every user: a link that leads to itself. */
  const unreadable = async (name: string): Promise<void> => {
    await rm(at(name), {recursive: true, force: true});
    await symlink(at(name), at(name));
  };

  it('takes a result under the name of another case for damaged', async () => {
    const [first, second] = await five();
    await copyFile(at(fileOf(second)), at(fileOf(first)));
    const error: unknown = await store.read(first.name).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(DataError).with.property('message').that.includes(second.name);
    expect(await store.read(first.name)).to.equal(undefined);
    expect((await store.read(second.name))?.result).to.equal(8);
  });

  it('takes a failure of another case, or of an unknown cause, for none', async () => {
    const [job, other] = [fakeJob({k: 1}), fakeJob({k: 2})];
    const error = {name: 'Error', message: 'x'};
    await store.fail(job, 'thrown', error);
    await store.fail(other, 'timeout', error);
    await copyFile(at(fileOf(other, 'failed', '.1')), at(fileOf(job, 'failed', '.2')));
    const text = await readFile(at(fileOf(job, 'failed', '.1')), 'utf8');
    const changed = text.split('\n')[0].replace('"thrown"', '"<img src=x>"');
    await writeFile(at(fileOf(job, 'failed', '.3')), sealed(changed));
    expect((await store.failures(job.name)).map(({cause}) => cause)).to.deep.equal(['thrown']);
    expect(await sweepPage(store)).not.to.include('<img');
    expect(await store.fail(job, 'lost', error)).to.equal(4);
  });

  it('gives any text with a right hash back as a result of that name, or sets it aside', async () => {
    const {name} = fakeJob({k: 7});
    await filled(store, [[{k: 7}, 1]]);
    const given = fc.oneof(
      fc.json(),
      fc.string(),
      fc.record({name: fc.constant(name), case: fc.object(), seed: fc.nat(), seconds: fc.double(), task: fc.anything()}).map(value => JSON.stringify(value)), // prettier-ignore
    );
    await fc.assert(
      fc.asyncProperty(given, async content => {
        await writeFile(at(fileOf({name} as never)), sealed(content));
        const row = await store.read(name).catch((error: unknown) => error);
        if (row instanceof Error) expect(row).to.have.property('code', 'damaged-result');
        else expect(row).to.have.property('name', name);
      }),
      runs(50),
    );
  });

  it('damaged is said to every reader of it; collect names it, and then writes the others', async () => {
    const [job] = await five();
    const damage = (): Promise<void> => writeFile(at(fileOf(job)), 'x');
    await damage();
    expect(await Promise.all([1, 2, 3].map(() => codeOf(store.read(job.name))))).to.include('damaged-result');
    await damage();
    const files = ['a.csv', 'b.csv', 'c.jsonl', 'd.parquet'].map(name => path.join(place, name));
    const ended = await Promise.all(files.map(file => codeOf(collect(folder, file))));
    expect(ended).to.include('damaged-result');
    for (const end of ended) expect(end).to.be.oneOf(['damaged-result', 'done']);
    expect(await collect(folder, files[0])).to.equal(4);
    await damage();
    expect(await sweepPage(store)).to.include('1 of the results could not be read');
    expect(await store.prune({versions: []})).to.equal(4);
  });

  it('counts its own files alone: none of other programs', async () => {
    const [job] = await five();
    const shard = path.dirname(at(fileOf(job)));
    const names = [`._${job.name}.json`, `${job.name}.json.damaged`, `${job.name} 2.json`, 'hello.json', '.DS_Store'];
    for (const name of [...names, `${'0'.repeat(64)}.json`]) await writeFile(path.join(shard, name), 'x');
    await mkdir(at('done/zzz'));
    await writeFile(at('done/zzz/hello.json'), '{}');
    await writeFile(at('done/.DS_Store'), '');
    await mkdir(at(`failed/${job.name.slice(0, 3)}`), {recursive: true});
    await writeFile(at(fileOf(job, 'failed', '.x')), '');
    await writeFile(path.join(at(`failed/${job.name.slice(0, 3)}`), `._${job.name}.1.json`), '');
    expect(await store.status()).to.deep.equal({done: 5, failed: 0, causes: {}});
    expect((await rows()).map(({result}) => result)).to.have.members([1, 8, 27, 64, 125]);
  });

  it('takes what cannot be read for an error wherever it reads', async () => {
    const jobs = await five();
    const failing = fakeJob({k: 8});
    await store.fail(failing, 'thrown', {name: 'Error', message: 'x'});
    const operations: {readonly [what: string]: () => Promise<unknown>} = {
      has: () => store.has(jobs[0].name),
      read: () => store.read(jobs[0].name),
      rows,
      status: () => store.status(),
      failures: () => store.failures(failing.name),
      failedNames: () => store.failedNames(),
      collect: () => collect(folder, path.join(place, 'none.csv')),
      prune: () => store.prune({failures: true, versions: [], older: 0}),
    };
    const failingAt = async (): Promise<string[]> => {
      const failed: string[] = [];
      for (const [what, run] of Object.entries(operations)) {
        const code = await codeOf(run());
        if (code !== 'done') failed.push(`${what}: ${String(code)}`);
      }
      return failed;
    };
    const all = (...names: string[]): string[] => names.map(name => `${name}: store-unreadable`);
    await unreadable(fileOf(jobs[0]));
    expect(await failingAt()).to.include.members(all('has', 'read', 'rows', 'collect', 'prune'));
    await unlink(at(fileOf(jobs[0])));
    await unreadable(path.dirname(fileOf(jobs[1])));
    expect(await failingAt()).to.include.members(all('rows', 'status', 'collect'));
    await unreadable('failed');
    expect(await failingAt()).to.include.members(all('failures', 'failedNames', 'status', 'prune'));
    await unreadable('done');
    expect(await failingAt()).to.include.members(all('has', 'read', 'rows', 'status', 'collect'));
  });

  it('that cannot be written says so, at once where waiting is of no use', async () => {
    await writeFile(folder, '');
    const patient = openStore(folder, {patience: 60});
    expect(await codeOf(filled(patient, [[{k: 1}, 1]]))).to.equal('store-unwritable');
    await rm(folder);
    await symlink(path.join(place, 'nowhere/at/all'), folder);
    const from = performance.now();
    expect(await codeOf(filled(patient, [[{k: 1}, 1]]))).to.equal('store-unwritable');
    expect(performance.now() - from).to.be.below(10_000);
  });

  it('that is not there is an error of the commands that read it', async () => {
    const err: string[] = [];
    const command = (...args: string[]): Promise<number> =>
      main(['sweep', ...args], {out: () => {}, err: text => err.push(text)});
    for (const args of [
      ['status', folder],
      ['prune', folder],
      ['collect', folder, '--to', path.join(place, 'x.csv')],
    ])
      // prettier-ignore
      expect(await command(...args)).to.equal(3);
    expect(err).to.have.length(3);
    for (const line of err) expect(line).to.match(/^OptionError: There is no store at .*store-/);
    expect(await codeOf(collect(store, path.join(place, 'x.csv')))).to.equal('no-store');
    await five();
    expect(await command('status', folder)).to.equal(0);
  });
});
