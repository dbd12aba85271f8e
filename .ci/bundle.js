/**
 * The package's JavaScript: its three entries and the threads' two, and what they share in a few files beside them. Node
 * takes the better part of a millisecond to find, read and link a module, and lib has hundreds.
 */
import {readFile} from 'node:fs/promises';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const entries = ['lib/index.ts', 'lib/simulate/workers/node-worker.ts', 'lib/simulate/workers/page-worker.ts', 'models/index.ts', 'training/index.ts'];

/** The threads' files are found from the module that starts them, which goes into a file in lib/. */
const workersFromLib = {
  name: 'workers',
  setup({onLoad}) {
    onLoad({filter: /[\\/]workers[\\/]channel\.ts$/}, async ({path}) => {
      const source = await readFile(path, 'utf8');
      const contents = source.replaceAll(/new URL\('\.\/((?:node|page)-worker\.js)'/g, "new URL('./simulate/workers/$1'");
      if (contents.split('simulate/workers/').length !== 3) throw new Error(`${path} names its threads' files in another way than the build expects`);
      return {contents, loader: 'ts'};
    });
  },
};

/**
 * @param {string} folder
 * @param {readonly string[]} more further entries, from the project's root
 */
export async function bundle(folder, more = []) {
  await build({
    absWorkingDir: root, entryPoints: [...entries, ...more], outbase: '.', outdir: folder, chunkNames: 'lib/chunk-[hash]',
    bundle: true, splitting: true, format: 'esm', platform: 'neutral', target: 'es2022', packages: 'external', external: ['node:*'], legalComments: 'none',
    plugins: [workersFromLib], logLevel: 'warning',
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle(process.argv[2] ?? 'dist');
