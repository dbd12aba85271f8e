/**
 * The package's JavaScript, twice. Its seven entries, the threads' two and the sweeps' process, with what they share in a few files beside
 * them: Node takes the better part of a millisecond to find, read and link a module, and lib has hundreds. And module
 * by module below modules/, for bundlers, which then leave out what is not used.
 */
import {readdir, readFile} from 'node:fs/promises';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The command is for Node alone: no bundler takes it module by module. */
const command = 'cli/main.ts';
const entries = [
  'lib/index.ts',
  'lib/simulate/workers/node-worker.ts',
  'lib/simulate/workers/page-worker.ts',
  'models/index.ts',
  'models/robots/index.ts',
  'training/index.ts',
  'plot/index.ts',
  'fem/index.ts',
  'sweep/index.ts',
  'sweep/task-process.ts',
];

/** The threads' files are found from the module that starts them, which goes into a file in lib/. */
const workersFromLib = {
  name: 'workers',
  setup({onLoad}) {
    onLoad({filter: /[\\/]workers[\\/]channel\.ts$/}, async ({path: file}) => {
      const source = await readFile(file, 'utf8');
      const contents = source.replaceAll(
        /new URL\('\.\/((?:node|page)-worker\.js)'/g,
        "new URL('./simulate/workers/$1'",
      );
      if (contents.split('simulate/workers/').length !== 3)
        throw new Error(`${file} names its threads' files in another way than the build expects`);
      return {contents, loader: 'ts'};
    });
  },
};

/** Likewise the file of the processes that compute cases, whose starter may go into a file in lib/ or in sweep/. */
const processesFromAnywhere = {
  name: 'processes',
  setup({onLoad}) {
    onLoad({filter: /[\\/]sweep[\\/]task-pool\.ts$/}, async ({path: file}) => {
      const source = await readFile(file, 'utf8');
      const contents = source.replace("new URL('./task-process.js'", "new URL('../sweep/task-process.js'");
      if (contents === source)
        throw new Error(`${file} names its processes' file in another way than the build expects`);
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
    absWorkingDir: root,
    entryPoints: [...entries, ...more],
    outbase: '.',
    outdir: folder,
    chunkNames: 'lib/chunk-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    packages: 'external',
    legalComments: 'none',
    plugins: [workersFromLib, processesFromAnywhere],
    logLevel: 'warning',
  });
}

/**
 * Every source as a module of its own.
 * @param {string} folder
 */
async function modules(folder) {
  const sources = await Promise.all(
    ['lib', 'models', 'training', 'plot', 'fem'].map(async room =>
      (await readdir(path.join(root, room), {recursive: true}))
        .filter(file => file.endsWith('.ts'))
        .map(file => path.join(room, file)),
    ),
  );
  await build({
    absWorkingDir: root,
    entryPoints: sources.flat(),
    outbase: '.',
    outdir: folder,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    legalComments: 'none',
    logLevel: 'warning',
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? 'dist';
  await Promise.all([bundle(folder, [command]), modules(path.join(folder, 'modules'))]);
}
