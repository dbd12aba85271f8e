/**
 * Training killed by SIGKILL at random moments, and resumed: no checkpoint is ever corrupt, and the weights are
 * in the end those of a run that nobody killed. Three kills here; RUNS=20 makes them sixty.
 */
import {spawn, type ChildProcess} from 'node:child_process';
import {mkdtemp, readdir, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {expect} from 'chai';
import {build} from 'esbuild';
import {readCheckpoint} from '../../../training/train/checkpoints.js';
import {Random} from '../../../training/train/random.js';
import {cases, startSeed} from '../../property.js';

const kills = cases(3);
const here = path.dirname(fileURLToPath(import.meta.url));

type Way = 'tape' | 'compiled';

describe('a training that is killed', function () {
  this.timeout(60_000 + 10_000 * kills);
  let place: string;
  let program: string;

  before(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-killed-'));
    program = path.join(place, 'program.mjs');
    await build({
      entryPoints: [path.join(here, 'killed-program.ts')],
      outfile: program,
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
      // tfjs has parts that ask for Node's modules by require.
      banner: {js: "import {createRequire} from 'node:module'; const require = createRequire(import.meta.url);"},
    });
  });
  after(() => rm(place, {recursive: true, force: true, maxRetries: 5}));

  /** Runs it; `watch` sees every line. The last line, or undefined where it was killed. */
  async function run(
    directory: string,
    epochs: number,
    way: Way,
    watch: (line: string, child: ChildProcess) => void,
  ): Promise<string | undefined> {
    const child = spawn(process.execPath, [program, directory, String(epochs), way], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let complaint = '';
    child.stderr.on('data', text => (complaint += String(text)));
    let last: string | undefined;
    const ended = new Promise<NodeJS.Signals | null>(resolve => child.once('close', (_, signal) => resolve(signal)));
    for await (const line of createInterface({input: child.stdout})) {
      last = line;
      watch(line, child);
    }
    const signal = await ended;
    if (signal === null && !(last ?? '').startsWith('done')) throw new Error(`the program failed: ${complaint}`);
    return signal === null ? last : undefined;
  }

  for (const way of ['tape', 'compiled'] as const)
    it(`${kills} times, ${way}: every checkpoint is whole, and the weights are the same to the bit`, async () => {
      const random = new Random(startSeed(1));
      // Some ten steps between kills; three steps an epoch.
      const epochs = 10 * kills;
      const straight = await run(path.join(place, `straight-${way}`), epochs, way, () => {});
      const directory = path.join(place, `killed-${way}`);
      let killed = 0;
      let wholes = 0;
      let last: string | undefined;
      while (last === undefined) {
        // Counted in steps, for a busy machine may take long to the first; then anywhere within a step or its checkpoint.
        let left = killed < kills ? 1 + random.below(10) : Infinity;
        const delay = 30 * random.uniform();
        last = await run(directory, epochs, way, (_, child) => {
          if (--left === 0) setTimeout(() => child.kill('SIGKILL'), delay);
        });
        if (last === undefined) killed++;
        for (const name of await readdir(directory)) {
          if (!name.endsWith('.sgc')) continue;
          await readCheckpoint(path.join(directory, name));
          wholes++;
        }
      }
      expect(killed, 'kills').to.equal(kills);
      expect(wholes).to.be.at.least(kills);
      expect(last.split(' ')[1], 'digest of the weights').to.equal(straight?.split(' ')[1]);
      // Every step once, in order, though many were taken twice.
      const lines = (await readFile(path.join(directory, 'metrics.jsonl'), 'utf8'))
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as {kind: string; step: number});
      expect(lines.filter(({kind}) => kind === 'step').map(({step}) => step)).to.deep.equal(
        Array.from({length: 3 * epochs}, (_, i) => i + 1),
      );
    });
});
