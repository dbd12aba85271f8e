/**
 * The site's pages from what the project has: docs, README, changelog, notebooks with their stored pictures, and the gallery drawn
 * anew. Run by build.sh after TypeDoc wrote pages/api; links are turned to where things lie here.
 */
import {cp, mkdir, readdir, readFile, writeFile} from 'node:fs/promises';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import {scenes} from '../playground/src/scenes.js';
import {simulate} from '../../lib/index.js';
import {markup, verbatim} from '../../lib/markup.js';
import {animate, plot} from '../../plot/index.js';

const root = path.join(import.meta.dirname, '../..');
const pages = path.join(import.meta.dirname, 'pages');
const at = (...parts: string[]): string => path.join(pages, ...parts);

async function save(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), {recursive: true});
  await writeFile(file, text);
}

/** Sources are no pages: their names stay, without a link. */
const linked = (markdown: string): string =>
  markdown
    .replace(/\]\(\.\.\/examples\/notebooks\/([\w-]+)\.ipynb\)/g, '](./notebooks/$1.md)')
    .replace(/\[([^\]]+)\]\(\.\.\/[^)]*\)/g, '$1')
    .replace(/\]\(docs\//g, '](./')
    .replace(/src="docs\//g, 'src="./')
    .replace(/\]\(README\.md\)/g, '](./overview.md)');

async function documents(): Promise<void> {
  for (const name of (await readdir(path.join(root, 'docs'))).filter(file => file.endsWith('.md'))) {
    const text = await readFile(path.join(root, 'docs', name), 'utf8');
    await save(at(name === 'README.md' ? 'overview.md' : name), linked(text));
  }
  await cp(path.join(root, 'docs/figures'), at('figures'), {recursive: true});
  await save(
    at('index.md'),
    linked(await readFile(path.join(root, 'README.md'), 'utf8')).replaceAll('](./README.md)', '](./overview.md)'),
  );
  await save(at('changelog.md'), linked(await readFile(path.join(root, 'CHANGELOG.md'), 'utf8')));
}

interface Output {
  readonly text?: readonly string[];
  readonly data?: {readonly [mime: string]: readonly string[]};
}

interface Notebook {
  readonly cells: readonly {
    readonly cell_type: string;
    readonly source: readonly string[];
    readonly outputs?: readonly Output[];
  }[];
}

const unescaped = (text: string): string =>
  text
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&');

const attribute = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** The pictures of a text one after the other; a strip of frames has others inside. */
function picturesOf(html: string): string[] {
  const found: string[] = [];
  let [depth, from] = [0, 0];
  for (const {0: tag, index} of html.matchAll(/<svg\b|<\/svg>/g)) {
    if (tag === '<svg' && depth++ === 0) from = index;
    if (tag === '</svg>' && --depth === 0) found.push(html.slice(from, index + tag.length));
  }
  return found;
}

/** A cell's output as Markdown; a picture becomes a file of its own, a player or a report a frame. */
async function shown({text, data}: Output, name: string): Promise<string> {
  const html = data?.['text/html']?.join('');
  const words = (text ?? data?.['text/plain'] ?? []).join('');
  if (html === undefined) return words === '' ? '' : `\`\`\`text\n${words.trimEnd()}\n\`\`\``;
  const player = /<iframe srcdoc="([^"]*)"/.exec(html)?.[1];
  if (html.startsWith('<figure') || html.startsWith('<svg')) {
    const parts: string[] = [];
    for (const [k, svg] of picturesOf(html).entries()) {
      await save(at('public/notebooks', `${name}-${k}.svg`), svg);
      parts.push(String(markup`<PictureOf src="/notebooks/${name}-${k}.svg" alt="${attribute(words)}" />`));
    }
    const caption = /<figcaption>([^<]*)<\/figcaption>/.exec(html)?.[1];
    return [...parts, ...(caption === undefined ? [] : [`*${caption}*`])].join('\n\n');
  }
  const whole =
    player === undefined
      ? String(
          markup`<!doctype html><html lang="en"><meta charset="utf-8"><title>${attribute(words)}</title><body style="font:15px/1.5 system-ui,sans-serif;color-scheme:light dark">${verbatim(html)}</body></html>`,
        )
      : unescaped(player);
  await save(at('public/notebooks', `${name}.html`), whole);
  return String(
    markup`<FrameOf src="/notebooks/${name}.html" title="${attribute(words).slice(0, 160)}" height="${player === undefined ? 900 : 480}" />`,
  );
}

/** What a cell prints while it runs comes in pieces. */
function joined(outputs: readonly Output[]): Output[] {
  const found: {text?: readonly string[]; data?: Output['data']}[] = [];
  for (const output of outputs) {
    const last = found.at(-1);
    if (last?.text !== undefined && output.text !== undefined) last.text = [...last.text, ...output.text];
    else found.push({...output});
  }
  return found;
}

async function notebooks(): Promise<{readonly file: string; readonly title: string}[]> {
  const found: {file: string; title: string}[] = [];
  for (const name of (await readdir(path.join(root, 'examples/notebooks')))
    .filter(file => file.endsWith('.ipynb'))
    .sort()) {
    const stem = name.replace('.ipynb', '');
    const {cells} = JSON.parse(await readFile(path.join(root, 'examples/notebooks', name), 'utf8')) as Notebook;
    const parts: string[] = [];
    for (const [i, {cell_type: kind, source, outputs = []}] of cells.entries()) {
      if (kind === 'markdown') parts.push(source.join(''));
      else parts.push(`\`\`\`ts\n${source.join('')}\n\`\`\``);
      for (const [k, output] of joined(outputs).entries()) parts.push(await shown(output, `${stem}-${i}-${k}`));
    }
    await save(at('notebooks', `${stem}.md`), `${parts.filter(part => part !== '').join('\n\n')}\n`);
    found.push({file: stem, title: /^# (.*)/m.exec(parts.join('\n'))?.[1] ?? stem});
  }
  return found;
}

/** The scenes of the page's gallery as they begin. */
async function gallery(): Promise<void> {
  const parts = [
    '# Gallery',
    'Each of these has sliders, and its gradients drawn, on [the page to play with](./play.md).',
  ];
  for (const {id, title, text, sliders, make, shown: what} of scenes) {
    const values = Object.fromEntries(sliders.map(({name, value}) => [name, value]));
    const {system, initial, options} = make(values);
    const run = simulate(system, initial as never, options);
    parts.push(`## ${title}`, text);
    const pictures = [
      plot(run, {series: what.series, components: [what.component], names: [what.label], unit: what.unit, title}),
    ];
    if ('figure' in system) pictures.unshift(animate(run, {params: values, title}).svg({width: 360}));
    for (const [k, picture] of pictures.entries()) {
      await save(at('public/gallery', `${id}-${k}.svg`), picture);
      parts.push(
        String(
          markup`<PictureOf src="/gallery/${id}-${k}.svg" alt="${title}: ${pictures.length > 1 && k === 0 ? 'its motion' : what.label}" />`,
        ),
      );
    }
    run.dispose();
  }
  await save(at('gallery.md'), `${parts.join('\n\n')}\n`);
}

await tf.setBackend('cpu');
await documents();
await gallery();
await save(
  at('play.md'),
  '---\naside: false\n---\n\n# A page to play with\n\nFit a record, edit a model, move sliders: all of it runs in your browser. <a :href="withBase(\'/playground/index.html\')" target="_blank">By itself</a>.\n\n<script setup>\nimport {withBase} from \'vitepress\';\n</script>\n\n<FrameOf src="/playground/index.html" title="Fit a record in the browser" height="1400" />\n',
);
await save(at('.notebooks.json'), JSON.stringify(await notebooks()));
