/**
 * A batch on the worker threads of a page: the files of the package as they are, one by one and unbundled, served
 * over http to headless Chromium where there is one, for the bits that Node gives.
 */
import {readFileSync} from 'node:fs';
import type {IncomingMessage, ServerResponse} from 'node:http';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import path from 'node:path';
import {expect} from 'chai';
import {build, transformSync} from 'esbuild';
import {chromiumOrSkip, openPage} from './chromium.js';
import {answer, type BatchAnswer} from './page-workers-program.js';
import {root} from './sources.js';

const page = `<!doctype html><meta charset="utf-8">
<script type="importmap">{"imports": {"@tensorflow/tfjs": "/tfjs.js"}}</script>
<script type="module">
  const tell = value => fetch('/answer', {method: 'POST', body: JSON.stringify(value)});
  import('/spec/package/page-workers-program.js').then(({answer}) => answer(2)).then(tell, error => tell({error: String(error?.stack ?? error)}));
</script>`;

/** tfjs as one file, as a page without a bundler would load it. */
async function tfjs(): Promise<string> {
  const {outputFiles} = await build({
    stdin: {contents: "export * from '@tensorflow/tfjs'", resolveDir: root},
    bundle: true,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'silent',
  });
  return outputFiles[0].text;
}

/** A source file without its types, which is what the build makes of it. */
const built = (file: string): string =>
  transformSync(readFileSync(path.join(root, file.replace(/\.js$/, '.ts')), 'utf8'), {
    loader: 'ts',
    format: 'esm',
    target: 'es2022',
  }).code;

/** Runs the program in a page whose server has all files but `missing`; what was asked of the server comes with the answer. */
async function inPage(
  chromium: string,
  library: string,
  missing?: string,
): Promise<{answer: BatchAnswer & {error?: string}; asked: string[]}> {
  const asked: string[] = [];
  let resolve: (answer: BatchAnswer) => void;
  const answered = new Promise<BatchAnswer>(settle => (resolve = settle));
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const file = (request.url ?? '').slice(1);
    asked.push(file);
    if (request.method === 'POST') {
      let body = '';
      request
        .setEncoding('utf8')
        .on('data', (part: string) => (body += part))
        .on('end', () => {
          response.end();
          resolve(JSON.parse(body) as BatchAnswer);
        });
      return;
    }
    const sent =
      file === ''
        ? page
        : file === 'tfjs.js'
          ? library
          : /^(lib|models|spec)\/.*\.js$/.test(file) && path.basename(file) !== missing
            ? built(file)
            : undefined;
    response
      .writeHead(sent === undefined ? 404 : 200, {'content-type': file === '' ? 'text/html' : 'text/javascript'})
      .end(sent);
  };
  const server = createServer(serve);
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  try {
    const {port} = server.address() as AddressInfo;
    return {answer: await openPage(chromium, `http://127.0.0.1:${port}/`, answered), asked};
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('worker threads of a page', function () {
  this.timeout(120_000);
  let chromium = '';
  let library = '';
  let here: BatchAnswer;

  before(async function () {
    chromium = await chromiumOrSkip(this);
    library = await tfjs();
    here = await answer(2);
    expect(here.threads).to.deep.equal(new Array(12).fill('worker'));
  });

  it('run a batch and its gradients, and give the bits of Node', async () => {
    const {
      answer: {error, ...there},
      asked,
    } = await inPage(chromium, library);
    expect(error).to.equal(undefined);
    expect(asked.filter(file => file === 'lib/simulate/workers/page-worker.js')).not.to.deep.equal([]);
    expect(there).to.deep.equal(here);
  });

  it("where their file is not served the page's own thread gives the same", async () => {
    const {
      answer: {error, ...there},
    } = await inPage(chromium, library, 'page-worker.js');
    expect(error).to.equal(undefined);
    expect(there).to.deep.equal({...here, threads: here.threads.map(() => 'own')});
  });
});
