/** What a worker of a queue admits: tasks that mark themselves, with their contents, and nothing that a message asks for besides. */
import {mkdir, mkdtemp, realpath, rm, symlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect} from 'chai';
import fc from 'fast-check';
import {OptionError} from '../../lib/index.js';
import {engines, type Job} from '../../sweep/index.js';
import {answerOf, queued, type QueuedCase} from '../../sweep/queue.js';
import {admitted} from '../../sweep/queue-worker.js';
import {TaskPool} from '../../sweep/task-pool.js';
import {findTask, hasTaskDirective, jobOf} from '../../sweep/task.js';
import {runs} from '../property.js';

const marked = (code: string): string => `'use stiffgrad task';\n${code}\n`;
const codeOf = (run: Promise<unknown>): Promise<string> =>
  run.then(
    () => 'admitted',
    (error: unknown) => (error instanceof OptionError ? error.code : `raw: ${String(error)}`),
  );

describe('a worker of a queue', () => {
  let place: string;
  let folder: string;
  const write = async (name: string, text: string): Promise<string> => {
    const file = path.join(place, name);
    await mkdir(path.dirname(file), {recursive: true});
    await writeFile(file, text);
    return file;
  };
  /** The message that a sweep, or an attacker who knows the file, sends. */
  const message = async (module: string, exported = 'default'): Promise<{data: QueuedCase; name: string; job: Job}> => {
    const job = jobOf(await findTask({module, export: exported}), {x: 3}, 4);
    return {data: queued(job, 4, undefined), name: job.name, job};
  };
  const judged = async (module: string): Promise<string> => {
    const {data, name} = await message(module);
    return codeOf(admitted(data, name, [folder]));
  };
  before(async () => {
    place = await realpath(await mkdtemp(path.join(tmpdir(), 'stiffgrad-admitted-')));
    folder = path.join(place, 'tasks');
  });
  after(() => rm(place, {recursive: true}));

  it('admits a module below its folders that marks itself, and no other', async () => {
    const task = await write('tasks/deep/cube.mjs', marked('export default ({x}) => x ** 3;'));
    const {data, name} = await message(task);
    const {job} = await admitted(data, name, [folder]);
    expect(job).to.deep.include({case: '{"x":3}', name});
    expect(job.task.module).to.equal(task);
    expect(await judged(await write('tasks/plain.mjs', 'export default () => 1;'))).to.equal('task-refused');
    expect(await judged(await write('elsewhere/a.mjs', marked('export default () => 1;')))).to.equal('task-refused');
    expect(await judged(await write('tasks-2/a.mjs', marked('export default () => 1;')))).to.equal('task-refused');
    const inPackage = await write('tasks/node_modules/build/main.mjs', marked('export const build = () => 1;'));
    expect(await judged(inPackage)).to.equal('task-refused');
    await symlink(inPackage, path.join(folder, 'link.mjs'));
    expect(await judged(path.join(folder, 'link.mjs'))).to.equal('task-refused');
    for (const module of ['tasks', 'tasks/none.mjs', 'tasks/deep/cube.mjs/x', 'a\0b', 'x'.repeat(5000)]) {
      const asked = {...data, task: {...data.task, module: path.join(place, module)}};
      expect(await codeOf(admitted(asked, name, [folder]))).to.be.oneOf(['no-task', 'task-refused']);
    }
  });

  it('is not started for a folder inside node_modules', async () => {
    await write('node_modules/tasks/a.mjs', marked('export default () => 1;'));
    const start = engines.startWorker({connection: {}, tasks: [path.join(place, 'node_modules/tasks')], store: place});
    expect(await codeOf(start)).to.equal('no-folder');
  });

  it('takes no number of attempts, and no way past the hash, from a message', async () => {
    const {data, name} = await message(await write('tasks/a.mjs', marked('export default () => 1;')));
    const {hash: _, ...unhashed} = data.task;
    for (const asked of [
      {...data, attempts: {}},
      {...data, task: unhashed},
      {...data, task: {...unhashed, hashed: false}},
      {...data, task: {...data.task, hash: ''}},
      {...data, case: '{"x":'.repeat(20_000) + '1' + '}'.repeat(20_000)},
      {...data, case: '{"x":{"$":"constructor","of":[1]}}'},
      {...data, case: '{"x":{"$":"Float64Array","of":{"length":1e9}}}'},
    ])
      expect(await codeOf(admitted(asked, name, [folder]))).to.be.oneOf(['unknown-option', 'bad-option', 'bad-case']);
  });

  it('answers any message with an OptionError or admits a case that matches its name', async () => {
    const {data, name} = await message(await write('tasks/b.mjs', marked('export default () => 1;')));
    const value = fc.oneof(fc.anything(), fc.constantFrom(...Object.values(data.task), '../b.mjs', '.', ''));
    const changed = fc.record(
      {case: value, seed: value, timeout: value, task: fc.oneof(value, fc.dictionary(fc.constantFrom('module', 'hash', 'version', 'export', 'name'), value))}, // prettier-ignore
      {requiredKeys: []},
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.anything(), changed), fc.boolean(), async (asked, merged) => {
        const task = typeof (asked as {task?: unknown})?.task === 'object' ? (asked as {task: object}).task : {};
        const sent = merged ? {...data, ...(asked as object), task: {...data.task, ...task}} : asked;
        const outcome = await codeOf(admitted(sent, name, [folder]));
        expect(outcome).not.to.match(/^raw/);
        if (outcome === 'admitted') expect((sent as QueuedCase).case).to.equal(data.case);
      }),
      runs(200),
    );
  });

  it('runs nothing of a module whose contents are other ones', async function () {
    this.timeout(20_000);
    const ran = path.join(place, 'ran');
    const code = marked(`import {writeFileSync} from 'node:fs';\nwriteFileSync(${JSON.stringify(ran)}, '');`);
    const module = await write('tasks/effect.mjs', `${code}export default () => 1;\n`);
    const {job} = await message(module);
    await writeFile(module, `${code}export default () => 2;\n`);
    const pool = new TaskPool({workers: 1});
    const outcome = await pool.run(job);
    pool.end();
    expect(outcome).to.deep.include({kind: 'failed', cause: 'refused'});
    expect(await findTask({module: ran}).catch((error: OptionError) => error.code)).to.equal('no-task');
  });
});

describe("a task's mark", () => {
  it('is a directive before the first statement', () => {
    for (const source of [
      "'use stiffgrad task';",
      '"use stiffgrad task"\nexport default 1;',
      "#!/usr/bin/env node\n// 'x'\n/* a\n * b */ 'use strict';\n\n'use stiffgrad task'; export {};",
    ])
      expect(hasTaskDirective(source), source).to.equal(true);
    for (const source of [
      '',
      "// 'use stiffgrad task';",
      "/* */ import 'x'; 'use stiffgrad task';",
      "const a = `\n'use stiffgrad task';\n`;",
      "'use stiffgrad task' + 1;",
      "'use stiffgrad tasks';",
      "/* 'use stiffgrad task';",
    ])
      expect(hasTaskDirective(source), source).to.equal(false);
  });
});

describe("a worker's answer", () => {
  it('is read where it is one, and known where it is none', () => {
    const failure = {attempt: 2, cause: 'thrown', error: {name: 'RangeError', message: 'x'}};
    expect(answerOf('{"kind":"done"}')).to.deep.equal({kind: 'done'});
    expect(answerOf({kind: 'failed', failure})).to.deep.equal({kind: 'failed', failure});
    for (const other of [undefined, null, 'null', 'hello', '{', 3, [], {}, {kind: 'failed'}, {kind: 'weird'}])
      expect(answerOf(other)).to.equal(undefined);
    fc.assert(
      fc.property(fc.anything(), value => ['done', 'failed', undefined].includes(answerOf(value)?.kind)),
      runs(),
    );
  });
});
