/** The page's build: stiffgrad from these sources, one worker, no server. Paths are relative, so that it lies in any folder. */
import {fileURLToPath} from 'node:url';
import {defineConfig} from 'vite';
import {editorTypes} from './editor-types.js';

const source = file => fileURLToPath(new URL(`../../${file}`, import.meta.url));

/** The library's own threads are for batches, which the page does not run: their file is not looked for. */
const withoutThreads = {
  name: 'without-threads',
  enforce: 'pre',
  transform: (code, id) =>
    id.endsWith('/workers/channel.ts')
      ? code.replace(/new Worker\(new URL\([^)]*\), \{[^}]*\}\)/, 'undefined')
      : undefined,
};

/**
 * Nothing is loaded from elsewhere and nothing is sent: scripts are the page's own and its workers', which compile models; styles are
 * also the editor's; pictures are data. Only the built page has it, for the server of the sources has scripts and a socket of its own.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' blob: 'unsafe-eval'",
  "worker-src 'self' blob:",
  "style-src 'self' 'unsafe-inline'",
  'img-src data:',
  "connect-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const withPolicy = {
  name: 'with-policy',
  apply: 'build',
  transformIndexHtml: () => [
    {tag: 'meta', attrs: {'http-equiv': 'Content-Security-Policy', content: POLICY}, injectTo: 'head-prepend'},
  ],
};

const resolve = {
  alias: [
    {find: /^stiffgrad$/, replacement: source('lib/index.ts')},
    {find: /^stiffgrad\/(models|training|plot)$/, replacement: source('$1/index.ts')},
  ],
};

/** A module that Node alone has is asked for in several ways, and all of them end in an empty one; the compiler takes its time. */
const rolldownOptions = {checks: {ineffectiveDynamicImport: false, pluginTimings: false}};

export default defineConfig({
  base: './',
  resolve,
  plugins: [withoutThreads, editorTypes(), withPolicy],
  worker: {format: 'es', plugins: () => [withoutThreads, editorTypes()], rolldownOptions},
  // tfjs is 1.5 MB and the compiler 3.4 MB, each in a worker of its own; the page itself is small.
  build: {outDir: 'dist', target: 'es2022', chunkSizeWarningLimit: 4000, rolldownOptions},
});
