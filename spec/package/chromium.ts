/**
 * A Chromium that is installed, its helpers and its folder: started headless, and gone when the work is done; and programs bundled for it.
 */
import {execFile, spawn, spawnSync} from 'node:child_process';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {promisify} from 'node:util';
import {build, type BuildResult} from 'esbuild';
import {root} from './sources.js';

/** A module that lies in this folder, with all that it imports, as a page takes it. */
export const bundle = (contents: string): Promise<BuildResult<{write: false; metafile: true}>> =>
  build({
    stdin: {contents, resolveDir: path.join(root, 'spec/package'), loader: 'ts'},
    bundle: true,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });

/** The program of a Chromium that is installed, or undefined. `STIFFGRAD_CHROMIUM` names one that lies elsewhere. */
function findChromium(): string | undefined {
  const names = [process.env.STIFFGRAD_CHROMIUM, 'chromium', 'chromium-browser', 'google-chrome'];
  return names.find(name => name !== undefined && spawnSync(name, ['--version'], {timeout: 20_000}).status === 0);
}

/** Chromium's own emulation of a graphics processor, for webgl and webgpu. */
export const emulatedGraphics: readonly string[] = [
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  '--use-vulkan=swiftshader',
  '--enable-features=Vulkan',
  '--use-webgpu-adapter=swiftshader',
  '--enable-unsafe-webgpu',
  '--ignore-gpu-blocklist',
];

const withoutGraphics: readonly string[] = ['--disable-gpu'];

async function withProfile<T>(work: (place: string, flags: readonly string[]) => Promise<T>): Promise<T> {
  const place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-browser-'));
  try {
    return await work(place, [
      '--headless',
      '--no-sandbox',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--user-data-dir=${path.join(place, 'profile')}`,
    ]);
  } finally {
    // Its helpers may still write while they end.
    await rm(place, {recursive: true, force: true, maxRetries: 5, retryDelay: 200});
  }
}

/** What a page under a content security policy holds when its scripts are done. */
export function pageText(
  chromium: string,
  script: string,
  {policy = '', flags: more = withoutGraphics}: {readonly policy?: string; readonly flags?: readonly string[]} = {},
): Promise<string> {
  return withProfile(async (place, flags) => {
    const page = path.join(place, 'page.html');
    await writeFile(
      page,
      `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><pre></pre><script type="module">${script.replaceAll('</script', '<\\/script')}</script>`,
    );
    const {stdout} = await promisify(execFile)(
      chromium,
      [...flags, ...more, '--virtual-time-budget=30000', '--dump-dom', `file://${page}`],
      {timeout: 90_000, maxBuffer: 1 << 26},
    );
    return /<pre>(.*?)<\/pre>/s.exec(stdout)?.[1] ?? '';
  });
}

const program = (of: string, name: string, show: string): Promise<BuildResult<{write: false; metafile: true}>> =>
  bundle(`
    import {${name} as answer} from '${of}';
    const show = ${show};
    answer().then(show, error => show({error: String(error?.stack)}));`);

function answerOf<T>(text: string): T {
  const answer = JSON.parse(text) as T & {readonly error?: string};
  if (answer.error !== undefined) throw new Error(`in the page: ${answer.error}`);
  return answer;
}

/** What `name()` of a program in this folder gives in a page; numbers come back by JSON, to the bit. Where it fails, this does. */
export async function answerInPage<T>(
  chromium: string,
  of: string,
  name: string,
  options?: Parameters<typeof pageText>[2],
): Promise<T> {
  const {outputFiles} = await program(
    of,
    name,
    "value => { document.querySelector('pre').textContent = btoa(unescape(encodeURIComponent(JSON.stringify(value)))); }",
  );
  const text = await pageText(chromium, outputFiles[0].text, options);
  return answerOf(Buffer.from(text, 'base64').toString('utf8'));
}

/** The same in real time, from a server: webgpu answers nothing in virtual time. */
export async function answerFromServer<T>(
  chromium: string,
  of: string,
  name: string,
  flags?: readonly string[],
): Promise<T> {
  const {outputFiles} = await program(
    of,
    name,
    "value => fetch('/answer', {method: 'POST', body: JSON.stringify(value)})",
  );
  let answered: (text: string) => void;
  const answer = new Promise<string>(resolve => (answered = resolve));
  const server = createServer((request, response) => {
    if (request.url === '/answer') {
      let body = '';
      request.setEncoding('utf8').on('data', (part: string) => (body += part));
      request.on('end', () => {
        response.end();
        answered(body);
      });
      return;
    }
    const isPage = request.url === '/';
    response.setHeader('content-type', isPage ? 'text/html' : 'text/javascript');
    response.end(isPage ? page : outputFiles[0].text);
  });
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  try {
    const {port} = server.address() as AddressInfo;
    return answerOf(await openPage(chromium, `http://127.0.0.1:${port}/`, answer, flags));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const page = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module" src="/program.js"></script>`;

/** Keeps a page open, in real time, while `during` lasts: threads of a page do not run in virtual time. */
export function openPage<T>(
  chromium: string,
  url: string,
  during: Promise<T>,
  more: readonly string[] = withoutGraphics,
): Promise<T> {
  return withProfile(async (_, flags) => {
    const browser = spawn(chromium, [...flags, ...more, '--remote-debugging-port=0', url], {stdio: 'ignore'});
    const ended = new Promise<never>((_resolve, reject) => {
      browser.on('error', reject);
      browser.on('exit', code => reject(new Error(`the browser ended with ${code} before the page had an answer`)));
    });
    try {
      return await Promise.race([during, ended]);
    } finally {
      ended.catch(() => undefined);
      browser.kill();
      if (browser.exitCode === null && browser.signalCode === null)
        await new Promise(resolve => browser.once('exit', resolve));
    }
  });
}

/** The Chromium that runs here, or a word why there is none. */
async function chromiumHere(): Promise<{readonly program: string} | {readonly skipped: string}> {
  const program = findChromium();
  if (program === undefined) return {skipped: 'no Chromium is installed'};
  const alive = await pageText(program, "document.querySelector('pre').textContent = 'alive'").catch((error: unknown) =>
    String(error),
  );
  return alive === 'alive' ? {program} : {skipped: `${program} does not run here: ${alive.slice(0, 200)}`};
}

/** The program; the suite is skipped with a word where there is none that runs. */
export async function chromiumOrSkip(suite: Mocha.Context): Promise<string> {
  const found = await chromiumHere();
  if ('program' in found) return found.program;
  console.log(`        skipped: ${found.skipped}`);
  return suite.skip();
}
