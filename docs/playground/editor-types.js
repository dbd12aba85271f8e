/**
 * What the editor's compiler reads: the declarations of stiffgrad, made of these sources, and those of tfjs and of the language
 * that they reach. As a virtual module, paths as in a project: /node_modules/stiffgrad/lib/index.d.ts, /lib/lib.es2022.d.ts.
 */
import {createRequire} from 'node:module';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));
const libraries = path.dirname(createRequire(import.meta.url).resolve('typescript'));
const entries = ['lib', 'models', 'training', 'plot', 'fem'];

export function declarations() {
  const {config} = ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile);
  const {options} = ts.parseJsonConfigFileContent(
    {...config, files: entries.map(name => `${name}/index.ts`), include: []},
    ts.sys,
    root,
  );
  const program = ts.createProgram(
    entries.map(name => path.join(root, name, 'index.ts')),
    {
      ...options,
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      sourceMap: false,
      incremental: false,
      types: [],
      lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
    },
  );
  const found = {};
  program.emit(
    undefined,
    (file, text) => {
      found[`/node_modules/stiffgrad/${path.relative(root, file)}`] = text;
    },
    undefined,
    true,
  );
  for (const {fileName, text} of program.getSourceFiles()) {
    const [, inside] = /\/node_modules\/(?!typescript\/)(.*\.d\.[cm]?ts)$/.exec(fileName) ?? [];
    // Node's own would be two thirds of it all, and a page has none.
    if (inside !== undefined && !/^(@types\/node|undici-types)\//.test(inside)) found[`/node_modules/${inside}`] = text;
  }
  // The compiler finds a package by its manifest.
  for (const name of new Set(Object.keys(found).map(file => /^\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)[1]))) {
    if (name === 'stiffgrad') continue;
    const {types, typings, version, exports} = JSON.parse(
      ts.sys.readFile(path.join(root, 'node_modules', name, 'package.json')),
    );
    found[`/node_modules/${name}/package.json`] = JSON.stringify({name, version, types: types ?? typings, exports});
  }
  found['/node_modules/stiffgrad/package.json'] = JSON.stringify({
    name: 'stiffgrad',
    exports: Object.fromEntries(
      entries.map(name => [name === 'lib' ? '.' : `./${name}`, {types: `./${name}/index.d.ts`}]),
    ),
  });
  // A model here is JavaScript, which cannot say that the k of its parameters is a tensor and no tree.
  const params = '/node_modules/stiffgrad/lib/system/params.d.ts';
  const declared = /readonly \[name: string\]: tf\.Tensor \| Params;/;
  if (!declared.test(found[params]))
    throw new Error(`${params} declares Params in another way than the editor expects`);
  found[params] = found[params].replace(declared, 'readonly [name: string]: any;');
  const language = name => {
    if (found[`/lib/${name}`] !== undefined) return;
    const text = ts.sys.readFile(path.join(libraries, name));
    found[`/lib/${name}`] = text;
    for (const [, other] of text.matchAll(/<reference lib="([^"]+)"/g)) language(`lib.${other}.d.ts`);
  };
  language('lib.es2022.d.ts');
  return found;
}

/** Once for the page's build and its workers'. */
let made;

export function editorTypes() {
  return {
    name: 'editor-types',
    resolveId: id => (id === 'virtual:declarations' ? '\0virtual:declarations' : undefined),
    load: id =>
      id === '\0virtual:declarations' ? `export default ${JSON.stringify((made ??= declarations()))};` : undefined,
  };
}
