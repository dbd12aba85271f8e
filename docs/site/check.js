/** What VitePress does not look at: every exported name has a page, and every address that a page asks for is there. */
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const dist = path.join(import.meta.dirname, '.vitepress/dist');
const root = path.join(import.meta.dirname, '../..');

const entries = ['lib', 'models', 'training', 'plot', 'fem'];
const {config} = ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile);
const {options} = ts.parseJsonConfigFileContent({...config, include: [], files: ['lib/index.ts']}, ts.sys, root);
const program = ts.createProgram(
  entries.map(entry => path.join(root, entry, 'index.ts')),
  options,
);
const checker = program.getTypeChecker();
const pages = readdirSync(path.join(dist, 'api'), {recursive: true}).map(String);
const named = new Set(pages.map(file => path.basename(file, '.html')));
const missing = [];
let names = 0;
for (const entry of entries) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(path.join(root, entry, 'index.ts')));
  for (const {name} of checker.getExportsOfModule(module)) {
    names++;
    if (!named.has(name)) missing.push(`${entry}: ${name}`);
  }
}

const dead = [];
const html = readdirSync(dist, {recursive: true})
  .map(String)
  .filter(file => file.endsWith('.html'));
for (const file of html.filter(name => !name.startsWith('playground/') && !name.startsWith('notebooks/public'))) {
  const text = readFileSync(path.join(dist, file), 'utf8');
  for (const [, to] of text.matchAll(/(?:src|href)="(\/[^"#?]*)/g)) {
    const target = path.join(dist, decodeURI(to).replace(/\/$/, '/index.html'));
    if (!existsSync(target)) dead.push(`${file}: ${to}`);
  }
}
console.log(
  `${html.length} pages, ${names} exported names, ${missing.length} without a page, ${dead.length} dead addresses`,
);
for (const line of [...missing, ...new Set(dead)].slice(0, 40)) console.log(line);
process.exitCode = missing.length + dead.length === 0 ? 0 : 1;
