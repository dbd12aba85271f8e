/** What messages, comments and pages refer to exists: functions, their parameters, members, files and layers. */
import {existsSync} from 'node:fs';
import path from 'node:path';
import {expect} from 'chai';
import ts from 'typescript';
import * as stiffgrad from '../../lib/index.js';
import * as models from '../../models/index.js';
import * as robots from '../../models/robots/index.js';
import * as fem from '../../fem/index.js';
import * as plot from '../../plot/index.js';
import * as sweep from '../../sweep/index.js';
import * as training from '../../training/index.js';
import {exportedValues} from './exported.js';
import {order} from './layer-order.js';
import {documents, filesBelow, parse, readText, root} from './sources.js';

const files = ['lib', 'models', 'training', 'plot', 'fem', 'sweep', 'cli'].flatMap(folder => filesBelow(folder, '.ts'));
const paths = new Set(
  [stiffgrad, models, robots, plot, fem, sweep, training].flatMap(entry => [...exportedValues(entry).keys()]),
);
const groups = new Set([...paths].filter(name => name.includes('.')).map(name => name.split('.')[0]));
/** Names that are members of groups and nothing else, by the group. */
const membersOnly = new Map(
  [...paths]
    .filter(name => name.includes('.') && !paths.has(name.split('.')[1]))
    .map(name => [name.split('.')[1], name]),
);

/** Texts of strings and templates, and comments, of a file. */
function textsOf(file: string): string[] {
  const source = parse(file);
  const texts: string[] = [...source.text.matchAll(/\/\*\*[^]*?\*\//g)].map(([comment]) => comment);
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
      texts.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return texts;
}

describe('references', () => {
  it('functions of groups are named with their group, in messages and comments', () => {
    const wrong = files.flatMap(file =>
      textsOf(file).flatMap(text => [
        ...[...text.matchAll(/(?<![\w.])([a-z]\w*)\(\)/g)].flatMap(([, name]) =>
          membersOnly.has(name) ? [`${file}: ${name}() is ${membersOnly.get(name)}()`] : [],
        ),
        ...[...text.matchAll(/(?<![\w.'])([a-z]\w*)\.([a-z]\w*)\(/g)].flatMap(([, group, name]) =>
          groups.has(group) && !paths.has(`${group}.${name}`) && !(group in {samples: 0, cases: 0, noise: 0, charts: 0})
            ? [`${file}: there is no ${group}.${name}()`]
            : [],
        ),
      ]),
    );
    expect(wrong).to.deep.equal([]);
  });

  it('members that docs/extending.md names exist', () => {
    const code = files.map(readText).join('\n');
    const page = readText('docs/extending.md');
    const known = new Set(code.match(/[A-Za-z_]\w*/g));
    const examples = new Set(
      [...page.matchAll(/^```ts\n([^]*?)^```/gm)].flatMap(([, text]) => text.match(/[A-Za-z_]\w*/g)),
    );
    const prose = page.replace(/^```[^]*?^```/gm, '');
    const missing = [...prose.matchAll(/`([a-z]\w*)(?=[`(.])/g)]
      .map(([, name]) => name)
      .filter(name => !known.has(name) && !examples.has(name));
    expect([...new Set(missing)]).to.deep.equal([]);
  });

  it('files that the pages name exist', () => {
    const all = [...files, ...['spec', 'bench', 'examples', 'docs'].flatMap(folder => filesBelow(folder, '.ts'))];
    const missing = documents.flatMap(page =>
      [
        ...readText(page)
          .replace(/^```[^]*?^```/gm, '')
          .matchAll(/`(\w[\w./-]*\.ts)`/g),
      ].flatMap(([, name]) =>
        existsSync(path.join(root, name)) || all.some(file => file.endsWith(`/${name}`)) ? [] : [`${page}: ${name}`],
      ),
    );
    expect(missing).to.deep.equal([]);
  });

  for (const page of ['README.md', 'docs/architecture.md'])
    it(`the table of ${page} has the layers in their order`, () => {
      const rows = [...readText(page).matchAll(/^\| ((?:`(?:lib\/)?[a-z-]+(?:\/|\.ts)?`(?:, )?)+) \|/gm)];
      const named = rows.flatMap(([, cell]) =>
        [...cell.matchAll(/`(?:lib\/)?([a-z-]+)(?:\/|\.ts)?`/g)].map(([, name]) => name),
      );
      expect(named.filter(name => order.includes(name))).to.deep.equal(order);
    });

  it('@param names are those of the signature', () => {
    const wrong = files.flatMap(file => {
      const found: string[] = [];
      const visit = (node: ts.Node): void => {
        for (const tag of ts.getJSDocTags(node)) {
          if (!ts.isJSDocParameterTag(tag) || !ts.isIdentifier(tag.name)) continue;
          const parameters = parametersOf(node);
          if (parameters !== undefined && !parameters.includes(tag.name.text))
            found.push(`${file}: @param ${tag.name.text} of (${parameters.join(', ')})`);
        }
        ts.forEachChild(node, visit);
      };
      visit(parse(file));
      return found;
    });
    expect([...new Set(wrong)]).to.deep.equal([]);
  });
});

/** Names of the parameters of a declared function; undefined for what is none, or takes a pattern. */
function parametersOf(node: ts.Node): string[] | undefined {
  const callable = signatureOf(node);
  if (callable === undefined) return undefined;
  const names = callable.parameters.map(({name}) => name);
  return names.every(ts.isIdentifier) ? names.map(name => (name as ts.Identifier).text) : undefined;
}

function signatureOf(node: ts.Node | undefined): ts.SignatureDeclarationBase | undefined {
  if (node === undefined) return undefined;
  if (ts.isFunctionLike(node)) return node;
  if (ts.isVariableStatement(node)) return signatureOf(node.declarationList.declarations[0].initializer);
  if (ts.isPropertySignature(node) || ts.isPropertyDeclaration(node)) return signatureOf(node.type);
  return undefined;
}
