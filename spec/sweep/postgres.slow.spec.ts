/** A queue in PostgreSQL: the same bits as on one machine, a server that is killed, passwords and TLS. Skipped where it is not installed. */
import {chmod, mkdir, mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect} from 'chai';
import {OptionError} from '../../lib/index.js';
import {canonical} from '../../sweep/canonical.js';
import {engines, sweep, type QueueConnection, type Sweep} from '../../sweep/index.js';
import {bullmq} from '../../sweep/bullmq.js';
import {local} from '../../sweep/local.js';
import {grid, linspace} from '../../sweep/cases.js';
import {bullmqPackage} from '../../sweep/bullmq-package.js';
import {clientOptions, queued} from '../../sweep/queue.js';
import {findTask, jobOf} from '../../sweep/task.js';
import {root} from '../package/sources.js';
import {
  certificate,
  freePort,
  initPostgres,
  postgresPrograms,
  postgresTls,
  startPostgres,
  type Server,
} from './server.js';

const module = new URL('./tasks/oscillator.ts', import.meta.url);
const tasks = [path.join(root, 'spec/sweep/tasks')];
const bits = async (run: Sweep): Promise<string[]> => {
  const list: string[] = [];
  for await (const {case: one, name, result, seed} of run.results())
    list.push(canonical({one, name, result, seed}, 'row'));
  return list;
};

describe('a queue in PostgreSQL', function () {
  this.timeout(120_000);
  let place: string;
  let port: number;
  let server: Server;
  const home = process.cwd();
  const url = (user = 'me:secret', more = ''): string => `postgres://${user}@127.0.0.1:${port}/postgres${more}`;
  const data = (): string => path.join(place, 'data');

  it('is known by its address', () => {
    expect(clientOptions({url: 'postgres://me:p%40ss@queue.example:5433/my%20base?sslmode=require'})).to.deep.include({
      host: 'queue.example',
      port: 5433,
      user: 'me',
      password: 'p@ss',
      database: 'my base',
      ssl: {},
    });
    expect(clientOptions({url: 'postgresql://queue.example/x', tls: {ca: 'y'}})).to.deep.include({ssl: {ca: 'y'}});
    expect(() => clientOptions({url: 'postgres://me:hidden@queue.example/x', db: 2}))
      .to.throw(OptionError, /give the database of PostgreSQL in the url/)
      .with.property('message')
      .not.includes('hidden');
  });

  describe('that is here', () => {
    before(async function () {
      if (postgresPrograms === undefined) {
        console.log('    PostgreSQL is not installed here: its queues are not tested.');
        this.skip();
      }
      process.chdir(root);
      place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-postgres-'));
      await chmod(place, 0o755);
      await mkdir(data());
      const password = path.join(place, 'password');
      await writeFile(password, 'secret');
      initPostgres(data(), password);
      port = await freePort();
      server = await startPostgres(data(), port);
    });
    after(async () => {
      if (postgresPrograms === undefined) return;
      await server.stop('SIGINT');
      process.chdir(home);
      await rm(place, {recursive: true, force: true});
    });

    it('gives the same results to the bit as local, and names failures', async () => {
      const connection = {url: url()};
      const store = path.join(place, 'bits');
      const worker = await engines.startWorker({connection, tasks, store, workers: 2});
      try {
        const engine = bullmq({connection});
        const cases = grid({k: linspace(10, 20, 50), noise: [0, 0.01]});
        const run = await sweep({task: {module, export: 'identifyStiffness'}, cases, store, engine});
        expect(run).to.include({done: 100, failed: 0});
        const here = await sweep({
          task: {module, export: 'identifyStiffness'},
          cases,
          store: path.join(place, 'local'),
          engine: local({workers: 2}),
        });
        expect(await bits(run)).to.deep.equal(await bits(here));
        const broken = await sweep({
          task: {module, export: 'misbehave'},
          cases: grid({how: ['throw', 'exit'], x: [1]}),
          store,
          engine,
        });
        const causes: string[] = [];
        for await (const {cause} of broken.failures()) causes.push(cause);
        expect(causes).to.deep.equal(['thrown', 'exited']);
      } finally {
        await worker.close();
      }
    });

    it('a message of another program runs nothing, and the worker goes on', async () => {
      const connection = {url: url()};
      const store = path.join(place, 'foreign');
      const {Queue, backend} = await bullmqPackage(connection);
      const queue = new Queue('foreign', {connection: clientOptions(connection)}, backend);
      const worker = await engines.startWorker({connection, tasks, store, queue: 'foreign', workers: 1});
      try {
        const unmarked = jobOf(await findTask({module: new URL('./tasks/swing.ts', import.meta.url)}), {x: 1}, 0);
        const {name, ...good} = {
          ...queued(jobOf(await findTask({module, export: 'square'}), {x: 1}, 0), 0, 1),
          name: 'x',
        };
        const messages = [
          queued(unmarked, 0, 1),
          {...good, attempts: {}},
          {...good, task: {...good.task, module: 'node_modules/esbuild/lib/main.js', export: 'build'}},
          {...good, task: {...good.task, hashed: false}},
          ...[null, 5, 'x', [], {}, {...good, task: null}, {...good, case: '[1]'}, {...good, seed: 1e308}],
        ];
        for (const [i, message] of messages.entries()) {
          const jobId = i === 0 ? unmarked.name : `${name}-${i}`;
          await queue.add('x', message, {jobId, removeOnComplete: true});
        }
        // One worker takes them in their order: when this case is done, all others have been seen.
        const engine = bullmq({connection, queue: 'foreign'});
        const run = await sweep({task: {module, export: 'square'}, cases: [{x: 5}], store, engine});
        expect(run).to.include({done: 1, failed: 0});
        const failed = await queue.getFailed();
        expect(failed).to.have.length(messages.length);
        for (const {failedReason} of failed) expect(failedReason).to.match(/^refused: /);
        expect(await run.store.status()).to.deep.equal({done: 1, failed: 0, causes: {}});
      } finally {
        await worker.close();
        await queue.close();
      }
    });

    it("what a worker of another program answers is a failure of the case, in the sweep's store", async () => {
      const connection = {url: url()};
      const {Worker, backend} = await bullmqPackage(connection);
      const answers = [undefined, null, 'hello', {}, {kind: 'failed'}];
      for (const [i, answer] of answers.entries()) {
        const queue = `answers-${i}`;
        const foreign = new Worker(
          queue,
          () => Promise.resolve(answer),
          {connection: clientOptions(connection)},
          backend,
        );
        const run = await sweep({
          task: {module, export: 'square'},
          cases: [{x: i}],
          store: path.join(place, 'answers'),
          engine: bullmq({connection, queue}),
          attempts: {lost: 2},
        });
        await foreign.close();
        expect(run).to.include({done: 0, failed: 1});
        for await (const {attempt, cause, error} of run.failures()) {
          expect({attempt, cause}).to.deep.equal({attempt: 2, cause: 'lost'});
          expect(error.message).to.include('another program takes jobs from this queue');
        }
      }
    });

    it('passes through a server that is killed and comes back', async () => {
      const connection = {url: url()};
      const store = path.join(place, 'killed');
      const worker = await engines.startWorker({connection, tasks, store, workers: 2, stalled: 2});
      try {
        let tell = (): void => undefined;
        const underWay = new Promise<void>(resolve => (tell = resolve));
        const running = sweep({
          task: {module, export: 'slow'},
          cases: grid({x: linspace(1, 60, 60), ms: [50]}),
          store,
          engine: bullmq({connection, recheck: 1}),
          every: 0,
          onProgress: ({done}) => done >= 5 && tell(),
        });
        await Promise.race([underWay, running]);
        await server.stop('SIGQUIT');
        server = await startPostgres(data(), port);
        expect(await running).to.include({done: 60, failed: 0});
      } finally {
        await worker.close();
      }
    });

    it('speaks TLS, and says what is wrong with a password or a server that is not there', async function () {
      if (!certificate(data())) this.skip();
      const ca = await readFile(path.join(data(), 'ca.pem'), 'utf8');
      await server.stop('SIGINT');
      server = await startPostgres(data(), port, postgresTls(data()));
      const store = path.join(place, 'tls');
      const one = {task: {module, export: 'square'}, store};
      const connection = {url: url(), tls: {ca}};
      const worker = await engines.startWorker({connection, tasks, store, workers: 1});
      try {
        const run = await sweep({...one, cases: [{x: 3}], engine: bullmq({connection})});
        expect(run).to.include({done: 1, failed: 0});
      } finally {
        await worker.close();
      }
      const refused = (wrong: QueueConnection): Promise<string> =>
        sweep({...one, cases: [{x: 4}], engine: bullmq({connection: wrong})}).then(
          () => 'nothing',
          (error: Error) => `${error.name}: ${error.message}`,
        );
      expect(await refused({url: url('me:wrong'), tls: {ca}}))
        .to.match(/^OptionError: .*password authentication failed/)
        .and.to.not.include('wrong@');
      expect(await refused({url: url('me:secret', '?sslmode=require')})).to.match(
        /^OptionError: .*self.signed certificate/,
      );
      expect(await refused({url: `postgres://me@127.0.0.1:${await freePort()}/x`})).to.match(/ECONNREFUSED/);
    });
  });
});
