/** What package.json and package-lock.json say, held against the sources. */
import {existsSync} from 'node:fs';
import path from 'node:path';
import {expect} from 'chai';
import ts from 'typescript';
import {
  documents,
  entries,
  filesBelow,
  importsOf,
  nodeEntries,
  optionalPackages,
  parse,
  reachable,
  readText,
  root,
} from './sources.js';
import {slow} from '../tiers.js';

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>> | string>>;
  readonly typesVersions: {readonly '*': Readonly<Record<string, readonly string[]>>};
  readonly sideEffects: readonly string[];
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, {readonly optional: boolean}>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}
interface Lock {
  readonly packages: Readonly<
    Record<string, {readonly resolved?: string; readonly version?: string; readonly integrity?: string}>
  >;
}
const manifest = JSON.parse(readText('package.json')) as Manifest;
const lock = JSON.parse(readText('package-lock.json')) as Lock;
const published = reachable([
  ...Object.values(entries),
  ...Object.values(nodeEntries),
  'sweep/task-process.ts',
  'cli/main.ts',
]);

/** `f.g = …`: a part of what the module defines. */
function completes({expression}: ts.ExpressionStatement): boolean {
  return (
    ts.isBinaryExpression(expression)
    && expression.operatorToken.kind === ts.SyntaxKind.EqualsToken
    && ts.isPropertyAccessExpression(expression.left)
  );
}

/**
 * A module that does something when it is loaded, beside defining what it exports. What a module imports for its effects
 * is wanted where the module is used; an entry's is wanted always.
 */
function acts(file: string): boolean {
  return parse(file).statements.some(
    statement =>
      (ts.isExpressionStatement(statement) && !completes(statement))
      || ts.isForOfStatement(statement)
      || ts.isForStatement(statement)
      || ts.isForInStatement(statement)
      || ts.isIfStatement(statement)
      || ts.isBlock(statement)
      || ts.isTryStatement(statement)
      || (ts.isImportDeclaration(statement)
        && statement.importClause === undefined
        && Object.values(entries).includes(file)),
  );
}

// '**/lib/index.*' and the like: a path's end, whatever its extension.
const listed = (file: string): boolean =>
  manifest.sideEffects.some(pattern => {
    const stem = pattern.replace(/^\*\*/, '').replace(/\.\*$/, '');
    return `/${file}`.replace(/\.ts$/, '').endsWith(stem);
  });

describe('the package', () => {
  it('has six entries, built from the sources that tsx takes', () => {
    for (const [name, source] of Object.entries(entries)) {
      const built = source.replace(/\.ts$/, '');
      const key = name.replace('stiffgrad', '.');
      expect(manifest.exports[key], name).to.deep.equal({
        types: `./dist/${built}.d.ts`,
        node: `./dist/${built}.js`,
        development: `./dist/${built}.js`,
        default: `./dist/modules/${built}.js`,
      });
      // For resolvers that know no exports.
      if (key !== '.') expect(manifest.typesVersions['*'][key.slice(2)], name).to.deep.equal([`./dist/${built}.d.ts`]);
      expect(existsSync(path.join(root, source)), source).to.equal(true);
    }
  });

  it('has one more for Node alone', () => {
    for (const [name, source] of Object.entries(nodeEntries)) {
      const built = source.replace(/\.ts$/, '');
      expect(manifest.exports[name.replace('stiffgrad', '.')]).to.deep.equal({
        types: `./dist/${built}.d.ts`,
        default: `./dist/${built}.js`,
      });
      expect(manifest.typesVersions['*'][name.slice('stiffgrad/'.length)]).to.deep.equal([`./dist/${built}.d.ts`]);
    }
  });

  slow('names the modules that act when they are loaded, and only those', () => {
    expect(
      published.filter(acts).filter(file => !listed(file)),
      'act and are not named',
    ).to.deep.equal([]);
    expect(
      published.filter(listed).filter(file => !acts(file)),
      'are named and do not act',
    ).to.deep.equal([]);
    // And the files that the build makes of what its entries share (.ci/bundle.js), and the threads' two.
    expect(published.filter(listed)).to.have.length(
      manifest.sideEffects.filter(pattern => !/\/(chunk-|workers\/)/.test(pattern)).length,
    );
  });

  slow('depends on what its sources import, and on nothing else', () => {
    const packageOf = (specifier: string): string =>
      specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/');
    const used = new Set<string>();
    for (const file of published) {
      for (const {to, local} of importsOf(file)) if (!local && !to.startsWith('node:')) used.add(packageOf(to));
      for (const [, specifier] of readText(file).matchAll(/import\('([^']+)'\)/g))
        if (!specifier.startsWith('node:')) used.add(packageOf(specifier));
    }
    expect([...used].sort()).to.deep.equal(
      [...Object.keys(manifest.dependencies), '@tensorflow/tfjs', ...optionalPackages].sort(),
    );
    // These are not there for everybody: only a call may ask for them.
    expect(
      published.flatMap(importsOf).filter(({to, types}) => !types && optionalPackages.includes(packageOf(to))),
    ).to.deep.equal([]);
  });

  slow('imports nothing of Node, neither when it is loaded nor at a call', () => {
    const node = reachable(Object.values(entries))
      .flatMap(importsOf)
      .filter(({to}) => to.startsWith('node:'));
    expect(node).to.deep.equal([]);
    // webpack follows the imports of a call, too.
    expect(
      published.filter(file => /\bimport\('node:/.test(readText(file).replace(/typeof import\(/g, ''))),
    ).to.deep.equal([]);
  });

  it("shares the user's tfjs, and asks for tfjs-node and drivers of nobody", () => {
    expect(manifest.peerDependencies).to.have.all.keys(
      '@tensorflow/tfjs',
      '@tensorflow/tfjs-node',
      ...optionalPackages,
    );
    expect(manifest.peerDependenciesMeta).to.deep.equal(
      Object.fromEntries(['@tensorflow/tfjs-node', ...optionalPackages].map(name => [name, {optional: true}])),
    );
    // What the tests run with is the oldest that is promised: repairs and traced kernels are those of this version.
    expect(manifest.peerDependencies['@tensorflow/tfjs']).to.equal(`^${manifest.devDependencies['@tensorflow/tfjs']}`);
    expect(lock.packages['node_modules/@tensorflow/tfjs'].version).to.equal(
      manifest.devDependencies['@tensorflow/tfjs'],
    );
    expect(lock.packages).to.not.have.property('node_modules/@tensorflow/tfjs-node');
  });

  it('is locked to the public registry, by checksums', () => {
    for (const [name, {resolved, integrity}] of Object.entries(lock.packages)) {
      if (name === '') continue;
      expect(integrity, name).to.match(/^sha512-/);
      if (resolved !== undefined) expect(resolved, name).to.match(/^https:\/\/registry\.npmjs\.org\//);
    }
  });

  it('every script of package.json runs files that exist', () => {
    for (const [name, script] of Object.entries(manifest.scripts)) {
      for (const word of script.split(/[\s"]+/)) {
        if (/^[\w./-]+\.(ts|sh|json)$/.test(word))
          expect(existsSync(path.join(root, word)), `${name}: ${word}`).to.equal(true);
      }
    }
  });

  it('no source names a path of a machine', () => {
    const texts = ['lib', 'models', 'training', 'plot', 'fem', 'sweep', 'cli', 'examples', 'bench'].flatMap(folder =>
      ['.ts', '.md', '.sh'].flatMap(ending => filesBelow(folder, ending)),
    );
    const named = [...texts, ...documents].filter(file =>
      /(^|[\s"'`(])\/(home|root|work|tmp|usr|Users)\/\w/.test(readText(file)),
    );
    expect(named).to.deep.equal([]);
  });
});
