/**
 * From which width and batch on a graphics processor beats the compiled engine, in this machine's browser:
 *
 *   npx tsx bench/graphics.ts             serves a page; open it in the browser to measure
 *   npx tsx bench/graphics.ts --emulated  opens headless Chromium, which emulates the graphics processor
 *
 * Rows of the page come back and are printed here. Networks 8 → width → 8 and width → width with tanh, ten steps of rk4, one gradient.
 */
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import path from 'node:path';
import {build} from 'esbuild';
import {emulatedGraphics, openPage} from '../spec/package/chromium.js';

const page = `<!doctype html><meta charset="utf-8"><title>webgl and webgpu beside wasm</title><pre></pre><script type="module" src="/page.js"></script>`;
const contents = `
  import {measure} from './graphics-page.js';
  const show = async row => { document.querySelector('pre').append(row + '\\n'); await fetch('/row', {method: 'POST', body: row}); };
  measure(show).then(() => fetch('/end', {method: 'POST'}), error => show(String(error?.stack)).then(() => fetch('/end', {method: 'POST'})));`;

const {outputFiles} = await build({
  stdin: {contents, resolveDir: path.resolve('bench'), loader: 'ts'},
  bundle: true,
  format: 'esm',
  target: 'es2022',
  write: false,
});
let finish = (): void => undefined;
const finished = new Promise<void>(resolve => (finish = resolve));
const server = createServer((request, response) => {
  if (request.url === '/row') {
    let row = '';
    request.on('data', part => (row += String(part)));
    request.on('end', () => {
      console.log(row);
      response.end();
    });
    return;
  }
  if (request.url === '/end') finish();
  const isScript = request.url === '/page.js';
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
  response.end(isScript ? outputFiles[0].text : page);
});
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
if (process.argv.includes('--emulated'))
  await openPage(process.env.STIFFGRAD_CHROMIUM ?? 'chromium', url, finished, emulatedGraphics);
else {
  console.log(`open ${url}`);
  await finished;
}
server.close();
