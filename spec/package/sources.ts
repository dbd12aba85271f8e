/** The project's own sources as files and imports, for the tests of what the package promises. */
import {readdirSync, readFileSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import ts from 'typescript';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export const readText = (file: string): string => readFileSync(path.join(root, file), 'utf8');

/** README and the pages of docs/, without the packages of the site and the playground. */
export const documents: readonly string[] = [
  'README.md',
  ...readdirSync(path.join(root, 'docs'))
    .filter(file => file.endsWith('.md'))
    .map(file => `docs/${file}`),
];

/** All files below a folder of the project, by their paths from its root. */
export function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(path.join(root, folder), {recursive: true, encoding: 'utf8'})
    .filter(file => file.endsWith(ending))
    .map(file => path.posix.join(folder, file.split(path.sep).join('/')))
    .sort();
}

export interface Import {
  readonly from: string;
  /** A file of the project, or a package's or built-in module's specifier. */
  readonly to: string;
  readonly local: boolean;
  readonly types: boolean;
}

export function parse(file: string): ts.SourceFile {
  return ts.createSourceFile(file, readText(file), ts.ScriptTarget.ES2022, true);
}

/** The static imports and re-exports of a file. */
export function importsOf(file: string): Import[] {
  return parse(file).statements.flatMap(statement => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    if (statement.moduleSpecifier === undefined || !ts.isStringLiteral(statement.moduleSpecifier)) return [];
    const types = ts.isImportDeclaration(statement)
      ? statement.importClause?.isTypeOnly === true
      : statement.isTypeOnly;
    const {text} = statement.moduleSpecifier;
    const local = text.startsWith('.');
    const to = local ? path.posix.join(path.posix.dirname(file), text).replace(/\.js$/, '.ts') : text;
    return [{from: file, to, local, types}];
  });
}

/** Every file that a program reaches through imports that stay when types are gone. */
export function reachable(entries: readonly string[]): string[] {
  const found = new Set<string>();
  const visit = (file: string): void => {
    if (found.has(file)) return;
    found.add(file);
    for (const {to, local, types} of importsOf(file)) if (local && !types) visit(to);
  };
  entries.forEach(visit);
  return [...found].sort();
}

export const entries: Readonly<Record<string, string>> = {
  stiffgrad: 'lib/index.ts',
  'stiffgrad/models': 'models/index.ts',
  'stiffgrad/robots': 'models/robots/index.ts',
  'stiffgrad/training': 'training/index.ts',
  'stiffgrad/plot': 'plot/index.ts',
  'stiffgrad/fem': 'fem/index.ts',
};

/** For Node alone: no bundler for pages takes them. */
export const nodeEntries: Readonly<Record<string, string>> = {'stiffgrad/sweep': 'sweep/index.ts'};
/** What only whoever uses it installs; imported at a call. */
export const optionalPackages: readonly string[] = ['@aws-sdk/client-s3', 'bullmq'];
