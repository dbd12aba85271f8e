/**
 * Runs the specs that reach what differs from the last commit, or from one that is named: `npm run test:changed --
 * main`. First all tests of the specs that import a changed file, themselves or through one other; then the quick tier
 * of those that reach one through more.
 */
import {execFileSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {posix} from 'node:path';
import {longestFirst, mocha} from './specs.js';

const git = (...args) =>
  execFileSync('git', args, {encoding: 'utf8'})
    .split('\n')
    .filter(line => line !== '');
const base = process.argv[2] ?? 'HEAD';
const untracked = git('ls-files', '--others', '--exclude-standard');
const changed = new Set([...git('diff', '--name-only', '--no-renames', base), ...untracked]);
const sources = [...git('ls-files', '*.ts'), ...untracked.filter(file => file.endsWith('.ts'))].filter(existsSync);

/** A string that names a file of the project: of an import or an export, a URL, or a document that a spec reads. */
function filesNamed(file) {
  const text = readFileSync(file, 'utf8');
  const found = new Set();
  for (const [, name] of text.matchAll(
    /['"`]((?:\.{1,2}\/|[a-z]+\/)?[^'"`\s]*\.(?:js|ts|json|md|wat|xml|urdf))['"`]/g,
  )) {
    const near = posix.join(posix.dirname(file), name);
    for (const path of [near, near.replace(/\.js$/, '.ts'), name])
      if (path !== file && existsSync(path)) found.add(path);
  }
  return found;
}

/** What an index exports, by name and file: an import of one name reaches that file alone. */
const isIndex = file => /(^|\/)index\.ts$/.test(file);
function exportsOf(file, seen = new Set()) {
  const names = new Map();
  if (seen.has(file) || !existsSync(file)) return names;
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, list, from] of text.matchAll(/export (?:type )?(\*|\{[^}]*\}) from '(\.[^']*)\.js'/g)) {
    const to = `${posix.join(posix.dirname(file), from)}.ts`;
    const below = isIndex(to) || list === '*' ? exportsOf(to, seen) : new Map();
    if (list === '*') for (const [name, origin] of below) names.set(name, origin);
    else
      for (const item of list.slice(1, -1).split(',')) {
        const [inner, outer = inner] = item
          .trim()
          .replace(/^type /, '')
          .split(' as ');
        names.set(outer, below.get(inner) ?? to);
      }
  }
  for (const [, name] of text.matchAll(
    /^export (?:async |abstract )?(?:function\*?|const|class|interface|type) (\w+)/gm,
  ))
    names.set(name, file);
  return names;
}
const indexes = new Map(sources.filter(isIndex).map(file => [file, exportsOf(file)]));

/** Files that a file imports, the names of an index by the files that declare them. */
function imports(file) {
  const found = filesNamed(file);
  const text = readFileSync(file, 'utf8');
  for (const [, list, from] of text.matchAll(/import (?:type )?\{([^}]*)\} from '(\.[^']*)\.js'/g)) {
    const to = `${posix.join(posix.dirname(file), from)}.ts`;
    const names = indexes.get(to);
    if (names === undefined) continue;
    found.delete(to);
    for (const item of list.split(',')) {
      const name = item
        .trim()
        .replace(/^type /, '')
        .split(' as ')[0];
      if (names.has(name)) found.add(names.get(name));
    }
  }
  return found;
}

const importers = new Map();
for (const file of sources) for (const to of imports(file)) importers.set(to, [...(importers.get(to) ?? []), file]);

/** How many imports lie between a file and what changed. */
const distance = new Map([...changed].map(file => [file, 0]));
for (const [file, steps] of distance)
  for (const importer of importers.get(file) ?? []) if (!distance.has(importer)) distance.set(importer, steps + 1);

const reached = [...distance.keys()].filter(file => file.endsWith('.spec.ts') && existsSync(file));
const near = longestFirst(reached.filter(file => distance.get(file) <= 2));
const far = longestFirst(reached.filter(file => distance.get(file) > 2 && !file.endsWith('.slow.spec.ts')));
console.log(`${near.length} specs import what changed, ${far.length} more reach it.`);
let status = near.length === 0 ? 0 : mocha(near);
if (status === 0 && far.length > 0) status = mocha(far, {TIER: 'quick'});
process.exitCode = status;
