/** The page on sweeps: its files and its command lines, step after step, from a loop on a laptop to a queue. */
import {spawn} from 'node:child_process';
import {mkdir, mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {expect} from 'chai';
import {main} from '../../cli/main.js';
import {readTable} from '../../training/index.js';
import {blocks} from '../package/snippets.js';
import {readText, root} from '../package/sources.js';
import {freePort, serverProgram, startServer} from './server.js';

const page = readText('docs/sweeps.md');
const [laptop, cluster, queue] = blocks(page, 'sh').map(({text}) =>
  text
    .trim()
    .split('\n')
    .map(line => line.replace('npx stiffgrad ', '').split(' ')),
);

/** What is read of the page's analyses. */
interface Analysed {
  readonly fit: {
    readonly estimate: {readonly w: number};
    readonly standardError: {readonly c: number};
    readonly minima: readonly {readonly estimate: {readonly w: number}}[];
  };
  readonly profile: {readonly interval: readonly [number, number]};
  readonly replicates: {readonly sd: {readonly c: number}};
  readonly folds: {readonly folds: readonly unknown[]};
  readonly drawn: {readonly sd: {readonly c: number}};
}

describe('docs/sweeps.md', function () {
  this.timeout(120_000);
  let place: string;
  const home = process.cwd();
  const {STIFFGRAD_SERVER} = process.env;
  /** As npx stiffgrad with these words. */
  const command = async (args: readonly string[]): Promise<string> => {
    const out: string[] = [];
    const err: string[] = [];
    const code = await main(args, {out: text => out.push(text), err: text => err.push(text)});
    if (code !== 0) throw new Error(`${args.join(' ')}: ${[...out, ...err].join('\n')}`);
    return out.join('\n');
  };

  before(async () => {
    // Inside the project, so that 'stiffgrad' is found.
    await mkdir(path.join(root, 'reports'), {recursive: true});
    place = await mkdtemp(path.join(root, 'reports/sweeps-'));
    process.chdir(place);
    delete process.env.STIFFGRAD_SERVER;
    for (const {text} of blocks(page, 'typescript')) {
      const [, name] = /^\/\/ (\S+)/.exec(text)!;
      // Each of the five analyses starts processes anew: one is enough here.
      await mkdir(path.dirname(path.join(place, name)), {recursive: true});
      await writeFile(path.join(place, name), text.replace('local({workers: 2})', 'local({workers: 1})'));
    }
  });
  after(async () => {
    process.chdir(home);
    if (STIFFGRAD_SERVER === undefined) delete process.env.STIFFGRAD_SERVER;
    else process.env.STIFFGRAD_SERVER = STIFFGRAD_SERVER;
    await rm(place, {recursive: true});
  });

  it('one: a loop on a laptop', async () => {
    expect(await command(laptop[0])).to.match(/^12 of 12 cases done/);
    const html = await readFile(path.join(place, 'progress.html'), 'utf8');
    expect(html).to.include('12 of 12').and.to.include('<polyline').and.to.include('best so far');
    expect(await command(laptop[1])).to.include('12 rows in results.csv');
    const table = await readTable(path.join(place, 'results.csv'));
    expect(table.columns).to.deep.equal(['case.c', 'case.k', 'result.largest', 'result.last', 'seed']);
    // q = e^(−ct/2)(cos ωt + c/(2ω) sin ωt); the default scheme is of second order, and its error here is below (ωh)²·ωt/12.
    for (let row = 0; row < table.rows; row++) {
      const [c, k] = [table.column('case.c')[row], table.column('case.k')[row]];
      const w = Math.sqrt(k - c ** 2 / 4);
      const exact = Math.exp(-c) * (Math.cos(2 * w) + (c / 2 / w) * Math.sin(2 * w));
      expect(table.column('result.last')[row]).to.be.closeTo(exact, ((0.01 * w) ** 2 * w * 2) / 6);
    }
    expect(await command(['sweep', 'status', 'results'])).to.equal('12 done, 0 failed');
  });

  it('two: a cluster', async () => {
    const first = await readFile(path.join(place, 'results.csv'), 'utf8');
    await rm(path.join(place, 'results'), {recursive: true});
    const script = await command(cluster[0]);
    expect(script)
      .to.include('#SBATCH --array=0-1')
      .and.to.include(`sweep 'study.ts' --index "$SLURM_ARRAY_TASK_ID" --of 2 --workers 4`);
    expect(await command([...cluster[0].slice(0, 3), 'kubernetes', '--of', '2']))
      .to.include('completionMode: Indexed')
      .and.to.include('"$(JOB_COMPLETION_INDEX)", "--of", "2"');
    for (const line of cluster.slice(1))
      expect(await command([...line, '--workers', '1'])).to.match(/^6 of 6 cases done/);
    await command(laptop[1]);
    expect(await readFile(path.join(place, 'results.csv'), 'utf8')).to.equal(first);
  });

  it('three: a queue', async function () {
    if (serverProgram === undefined) this.skip();
    const first = await readFile(path.join(place, 'results.csv'), 'utf8');
    await rm(path.join(place, 'results'), {recursive: true});
    const server = await startServer(await freePort());
    process.env.STIFFGRAD_SERVER = `redis://127.0.0.1:${server.port}`;
    const worker = spawn(
      process.execPath,
      ['--import', 'tsx', path.join(root, 'cli/main.ts'), ...queue[0], '--workers', '1'],
      {cwd: place, stdio: 'ignore'},
    );
    try {
      expect(await command(queue[1])).to.match(/^12 of 12 cases done/);
    } finally {
      const ended = new Promise(resolve => worker.once('exit', resolve));
      worker.kill('SIGTERM');
      await ended;
      await server.stop();
      delete process.env.STIFFGRAD_SERVER;
    }
    await command(laptop[1]);
    expect(await readFile(path.join(place, 'results.csv'), 'utf8')).to.equal(first);
  });

  it('fits in parts', async () => {
    const {analyse} = (await import(pathToFileURL(path.join(place, 'fits.ts')).href)) as {
      analyse: () => Promise<Analysed>;
    };
    const {fit, profile, replicates, folds, drawn} = await analyse();
    expect(Math.abs(fit.estimate.w)).to.be.closeTo(2, 0.01);
    expect(fit.minima.map(({estimate}) => Math.sign(estimate.w))).to.include.members([-1, 1]);
    const {c: error} = fit.standardError;
    expect((profile.interval[1] - profile.interval[0]) / (2 * 1.96 * error)).to.be.closeTo(1, 0.1);
    // Forty replicates are off by a ninth, two hundred draws by a tenth at the least.
    expect(replicates.sd.c / error).to.be.closeTo(1, 0.45);
    expect(drawn.sd.c / error).to.be.closeTo(1, 0.4);
    expect(folds.folds.length).to.equal(4);
    // 20 starts, 2 sides, 40 replicates, 4 folds, 2 chains.
    expect(await command(['sweep', 'status', 'fits'])).to.equal('68 done, 0 failed');
  });

  it('says what cannot be done', async () => {
    const said = (args: string[]): Promise<string> =>
      command(args).then(
        () => '',
        (error: Error) => error.message,
      );
    expect(await said(['sweep', 'nowhere.ts'])).to.include('There is no file');
    expect(await said(['sweep', 'study.ts', '--on-queue'])).to.include('No server was given for the queue');
    expect(await said(['worker', '--tasks', '.'])).to.include('--store');
    expect(await said(['sweep', 'study.ts', '--script', 'pbs', '--of', '2'])).to.include("no script for 'pbs'");
  });
});
