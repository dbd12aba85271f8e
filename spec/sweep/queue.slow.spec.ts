/** Sweeps through a queue: the same bits as on one machine, passwords, TLS, refusals. Needs Redis or Valkey; else it is skipped. */
import {spawn, type ChildProcess} from 'node:child_process';
import {mkdtemp, readFile, rm, symlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect} from 'chai';
import {OptionError} from '../../lib/index.js';
import {canonical} from '../../sweep/canonical.js';
import {
  engines,
  openStore,
  sweep,
  type QueueConnection,
  type QueueWorker,
  type Row,
  type Sweep,
} from '../../sweep/index.js';
import {bullmq} from '../../sweep/bullmq.js';
import {indexed, local} from '../../sweep/local.js';
import {grid, linspace} from '../../sweep/cases.js';
import {clientOptions, queued, unqueued} from '../../sweep/queue.js';
import {findTask, jobOf} from '../../sweep/task.js';
import {root} from '../package/sources.js';
import {certificate, freePort, serverProgram, startServer, type Server} from './server.js';

const module = new URL('./tasks/oscillator.ts', import.meta.url);
const folder = path.join(root, 'spec/sweep/tasks');
const all = async <T>(rows: AsyncIterable<T>): Promise<T[]> => {
  const list: T[] = [];
  for await (const row of rows) list.push(row);
  return list;
};
const bits = async (run: Sweep): Promise<string[]> =>
  (await all(run.results())).map(({case: one, name, result, seed}: Row) => canonical({one, name, result, seed}, 'row'));

describe('what goes through a queue', () => {
  it('is names and numbers; a case that is not what its name says is refused', async () => {
    const task = await findTask({module, export: 'square'});
    const job = jobOf(task, {x: 0.1}, 5);
    const message = JSON.parse(JSON.stringify(queued(job, 5, 2))) as ReturnType<typeof queued>;
    expect(Object.keys(message)).to.have.members(['case', 'seed', 'task', 'timeout']);
    expect(message.task).to.include({export: 'square', version: task.version, hash: task.hash});
    const back = unqueued(message, job.name);
    expect(back.job).to.deep.include({name: job.name, case: job.case, seed: job.seed});
    expect(back.timeout).to.equal(2);
    expect(() => unqueued({...message, case: '{"x":0.2}'}, job.name)).to.throw(OptionError, /does not match its name/);
    expect(() => unqueued({...message, code: 'x'}, job.name)).to.throw(OptionError, /no option 'code'/);
    expect(() => unqueued({...message, task: {...message.task, version: '0'}}, job.name)).to.throw(
      OptionError,
      /does not match its name/,
    );
  });

  it('passwords and TLS reach the client; an address that is wrong is told without its password', () => {
    expect(clientOptions({url: 'rediss://me:p%40ss@queue.example:6390/2'}))
      .to.include({host: 'queue.example', port: 6390, username: 'me', password: 'p@ss', db: 2})
      .and.to.have.deep.property('tls', {});
    expect(clientOptions({url: 'redis://queue.example', tls: {ca: 'x'}})).to.have.deep.property('tls', {ca: 'x'});
    expect(() => clientOptions({url: 'http://me:secret@queue.example'}))
      .to.throw(OptionError)
      .with.property('message')
      .not.includes('secret');
    expect(() => clientOptions({pasword: 'x'} as QueueConnection)).to.throw(OptionError, /Did you mean 'password'/);
  });
});

describe('a sweep through BullMQ', function () {
  this.timeout(120_000);
  let place: string;
  let server: Server;
  let connection: QueueConnection;
  const workers: QueueWorker[] = [];
  const processes: ChildProcess[] = [];
  const home = process.cwd();

  before(async function () {
    if (serverProgram === undefined) {
      console.log('    Neither redis-server nor valkey-server is installed here: queues are not tested.');
      this.skip();
    }
    process.chdir(root);
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-queue-'));
    server = await startServer(await freePort(), ['--requirepass', 'secret']);
    connection = {url: `redis://127.0.0.1:${server.port}`, password: 'secret'};
  });
  after(async () => {
    if (serverProgram === undefined) return;
    await Promise.all(workers.map(worker => worker.close()));
    processes.forEach(one => one.kill('SIGKILL'));
    await server.stop();
    process.chdir(home);
    await rm(place, {recursive: true, force: true});
  });

  it('gives the same results to the bit as local and indexed, with workers that the command starts', async () => {
    const cases = grid({k: linspace(10, 20, 50), noise: [0, 0.01]});
    const task = {module, export: 'identifyStiffness'};
    const store = path.join(place, 'queue');
    for (let i = 0; i < 2; i++)
      processes.push(
        spawn(
          process.execPath,
          [
            '--import',
            'tsx',
            'cli/main.ts',
            'worker',
            '--tasks',
            folder,
            '--store',
            store,
            '--queue',
            'bits',
            '--workers',
            '1',
          ],
          {
            cwd: root,
            stdio: 'ignore',
            env: {...process.env, STIFFGRAD_SERVER: `redis://:secret@127.0.0.1:${server.port}`},
          },
        ),
      );
    const run = await sweep({task, cases, store, engine: bullmq({connection, queue: 'bits', window: 30})});
    expect(run).to.include({done: 100, failed: 0});
    const rows = await bits(run);
    expect(rows).to.have.length(100);
    expect(
      await bits(await sweep({task, cases, store: path.join(place, 'local'), engine: local({workers: 2})})),
    ).to.deep.equal(rows);
    const shared = path.join(place, 'indexed');
    for (const index of [1, 0]) await sweep({task, cases, store: shared, engine: indexed({index, of: 2, workers: 1})});
    expect(await bits(await sweep({task, cases, store: shared}))).to.deep.equal(rows);
    // All is done: nothing goes through the queue.
    expect((await sweep({task, cases, store, engine: bullmq({connection, queue: 'bits'})})).resumed).to.equal(100);
    // Told to end, a worker ends well.
    const codes = await Promise.all(
      processes.splice(0).map(
        one =>
          new Promise(resolve => {
            one.once('exit', resolve);
            one.kill('SIGTERM');
          }),
      ),
    );
    expect(codes).to.deep.equal([0, 0]);
  });

  it('names failures, and refuses tasks outside the folders a worker was started for', async () => {
    const store = path.join(place, 'failures');
    workers.push(
      await engines.startWorker({connection, tasks: [folder], store, queue: 'failures', workers: 2, memory: 400e6}),
    );
    const engine = bullmq({connection, queue: 'failures'});
    const run = await sweep({
      task: {module, export: 'misbehave'},
      cases: grid({how: ['good', 'throw', 'hang', 'exit', 'kill'], x: [1]}),
      store,
      engine,
      timeout: 2,
    });
    expect(run).to.include({done: 1, failed: 4});
    expect(Object.fromEntries((await all(run.failures())).map(({case: one, cause}) => [one.how, cause]))).to.deep.equal(
      {throw: 'thrown', hang: 'timeout', exit: 'exited', kill: 'lost'},
    );
    const outside = path.join(place, 'outside.mjs');
    await writeFile(outside, "'use stiffgrad task';\nexport default () => 1;\n");
    const refused = await sweep({task: {module: outside}, cases: [{x: 1}], store, engine});
    expect((await all(refused.failures())).map(({cause, error}) => `${cause}: ${error.message}`)[0]).to.match(
      /^refused: .*outside\.mjs is outside the folders/,
    );
    // A link from within leads outside, too.
    const link = path.join(folder, '.link.mjs');
    await symlink(outside, link);
    try {
      const linked = await sweep({task: {module: link}, cases: [{x: 2}], store, engine});
      expect((await all(linked.failures()))[0].error.message).to.include('outside the folders');
    } finally {
      await rm(link);
    }
  });

  it('a worker with other files than the sweep refuses its cases', async () => {
    const changing = path.join(place, 'changing.mjs');
    await writeFile(changing, "'use stiffgrad task';\nexport default ({x}) => x;\n");
    const store = path.join(place, 'versions');
    workers.push(await engines.startWorker({connection, tasks: [place], store, queue: 'versions', workers: 1}));
    const engine = bullmq({connection, queue: 'versions'});
    expect(await sweep({task: {module: changing}, cases: [{x: 1}], store, engine})).to.include({done: 1});
    // The worker's process has the module as it was.
    await writeFile(changing, "'use stiffgrad task';\nexport default ({x}) => 2 * x;\n");
    const run = await sweep({task: {module: changing}, cases: [{x: 1}], store, engine});
    expect((await all(run.failures())).map(({cause}) => cause)).to.deep.equal(['refused']);
  });

  it('passes through a server that is killed and comes back without memory', async () => {
    const port = await freePort();
    let own = await startServer(port);
    const store = path.join(place, 'killed');
    const plain = {url: `redis://127.0.0.1:${port}`};
    const worker = await engines.startWorker({connection: plain, tasks: [folder], store, workers: 2, stalled: 2});
    try {
      let tell = (): void => undefined;
      const underWay = new Promise<void>(resolve => (tell = resolve));
      const running = sweep({
        task: {module, export: 'slow'},
        cases: grid({x: linspace(1, 60, 60), ms: [50]}),
        store,
        engine: bullmq({connection: plain, recheck: 1}),
        every: 0,
        onProgress: ({done}) => done >= 5 && tell(),
      });
      await Promise.race([underWay, running]);
      await own.stop('SIGKILL');
      own = await startServer(port);
      const run = await running;
      expect(run).to.include({done: 60, failed: 0});
      expect((await all(run.results())).map(({result}) => result)).to.deep.equal(linspace(1, 60, 60));
      expect(await openStore(store).status()).to.include({done: 60});
    } finally {
      await worker.close();
      await own.stop();
    }
  });

  it('speaks TLS, and says what is wrong with a password or a server that is not there', async function () {
    if (!certificate(place)) this.skip();
    const port = await freePort();
    const file = (name: string): string => path.join(place, name);
    const own = await startServer(port, [
      '--port',
      '0',
      '--tls-port',
      String(port),
      '--tls-cert-file',
      file('ca.pem'),
      '--tls-key-file',
      file('key.pem'),
      '--tls-ca-cert-file',
      file('ca.pem'),
      '--tls-auth-clients',
      'no',
      '--requirepass',
      'secret',
    ]);
    try {
      const secure = {url: `rediss://:secret@127.0.0.1:${port}`, tls: {ca: await readFile(file('ca.pem'), 'utf8')}};
      const store = file('tls');
      workers.push(await engines.startWorker({connection: secure, tasks: [folder], store, workers: 1}));
      const run = await sweep({
        task: {module, export: 'square'},
        cases: [{x: 3}],
        store,
        engine: bullmq({connection: secure}),
      });
      expect((await all(run.results())).map(({result}) => result)).to.deep.equal([9]);
      await workers.pop()!.close();
      const refused = async (wrong: QueueConnection): Promise<string> => {
        let error: unknown;
        await sweep({
          task: {module, export: 'square'},
          cases: [{x: 4}],
          store,
          engine: bullmq({connection: wrong}),
        }).catch((e: unknown) => (error = e));
        expect(error).to.be.instanceOf(OptionError);
        return (error as Error).message;
      };
      const [password, unknown, nobody] = await Promise.all([
        refused({...secure, url: `rediss://:wrong@127.0.0.1:${port}`}),
        refused({url: secure.url}),
        refused({port: await freePort()}),
      ]);
      expect(password)
        .to.match(/WRONGPASS|invalid.*password/)
        .and.to.not.include('wrong@');
      expect(unknown).to.match(/self.signed certificate/);
      expect(nobody).to.match(/ECONNREFUSED/);
    } finally {
      await own.stop();
    }
  });
});
