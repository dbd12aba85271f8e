/**
 * TypeScript blocks of the README and the docs as programs: one that imports tfjs begins a program, others go on where
 * the one before them on the page ended. `expression; // → value` states a value; numbers are stated to the digits that are printed, and
 * `// throws Name: part of the message` an error.
 */
import ts from 'typescript';

export interface Program {
  readonly page: string;
  /** Of the first block in the page, from 1. */
  readonly line: number;
  readonly source: string;
  /** Line of the page at which every line of the source stands. */
  readonly lines: readonly number[];
}

/** The blocks of one language with the line their first line stands on. */
export function blocks(markdown: string, language: string): {readonly text: string; readonly line: number}[] {
  return [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(match => ({
    text: match[1],
    line: markdown.slice(0, match.index).split('\n').length + 1,
  }));
}

export function programs(page: string, markdown: string): Program[] {
  const list: {page: string; line: number; source: string; lines: number[]}[] = [];
  for (const {text, line} of blocks(markdown, 'ts')) {
    if (list.length === 0 || /^import .* from '@tensorflow\/tfjs'/m.test(text))
      list.push({page, line, source: '', lines: []});
    const last = list[list.length - 1];
    last.source += text;
    text
      .split('\n')
      .slice(0, -1)
      .forEach((_, i) => last.lines.push(line + i));
  }
  return list;
}

/** Examples of docstrings, `@example` with a block of TypeScript: each is a program of its own. */
export function docstringPrograms(file: string, source: string): Program[] {
  return [...source.matchAll(/^ *\/\*\*[^]*?\*\//gm)].flatMap(({0: comment, index}) => {
    const before = source.slice(0, index).split('\n').length - 1;
    const text = comment.replace(/^ *\* ?/gm, '');
    const from = text.indexOf('@example');
    // Empty lines stand for what comes before, so that lines are those of the file.
    return from < 0
      ? []
      : programs(file, '\n'.repeat(before + text.slice(0, from).split('\n').length - 1) + text.slice(from));
  });
}

type Check = (statedOrThrown: unknown, stated: string, line: number) => void;

/** The program as JavaScript, its stated values as calls of `check(value, text, line)`, its stated errors of `caught(run, text, line)`. */
export function instrument({source, lines}: Program): {readonly code: string; readonly stated: number} {
  const file = ts.createSourceFile('snippet.ts', source, ts.ScriptTarget.ES2022, true);
  const edits: {from: number; to: number; text: string}[] = [];
  let stated = 0;
  const lineOf = (at: number): number => lines[file.getLineAndCharacterOfPosition(at).line];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) edits.push({from: node.getStart(), to: node.end, text: ''});
    if (ts.isStatement(node) && !ts.isBlock(node)) {
      const comment = /^[ \t]*\/\/ (→|throws) (.*)/.exec(source.slice(node.end));
      if (comment !== null) {
        const text = JSON.stringify(comment[2].trim());
        const line = lineOf(node.end);
        stated++;
        if (comment[1] === 'throws') {
          edits.push({
            from: node.getStart(),
            to: node.end,
            text: `await caught(async () => { ${node.getText()} }, ${text}, ${line});`,
          });
          return;
        }
        if (!ts.isExpressionStatement(node))
          throw new Error(`line ${line}: a value is stated of what is no expression`);
        edits.push({
          from: node.getStart(),
          to: node.end,
          text: `check(${valueOf(node.expression).getText()}, ${text}, ${line});`,
        });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  let code = source;
  for (const {from, to, text} of edits.sort((a, b) => b.from - a.from))
    code = code.slice(0, from) + text + code.slice(to);
  return {
    code: ts.transpileModule(`async function main() {${code}\n}`, {compilerOptions: {target: ts.ScriptTarget.ES2022}})
      .outputText,
    stated,
  };
}

/** Of `console.log(x)`, x. */
function valueOf(expression: ts.Expression): ts.Expression {
  const printed =
    ts.isCallExpression(expression)
    && expression.expression.getText() === 'console.log'
    && expression.arguments.length === 1;
  return printed ? expression.arguments[0] : expression;
}

/** What a program imports: names bound to exports of modules. */
export function bindings({source, page}: Program, modules: Readonly<Record<string, object>>): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const statement of ts.createSourceFile('snippet.ts', source, ts.ScriptTarget.ES2022, true).statements) {
    if (!ts.isImportDeclaration(statement) || statement.importClause?.isTypeOnly === true) continue;
    const name = (statement.moduleSpecifier as ts.StringLiteral).text;
    const module = modules[name] as Record<string, unknown> | undefined;
    if (module === undefined) throw new Error(`${page} imports ${name}, which the test of snippets does not know`);
    const bound = statement.importClause?.namedBindings;
    if (bound === undefined) continue;
    if (ts.isNamespaceImport(bound)) found.set(bound.name.text, module);
    else {
      for (const {name: local, propertyName, isTypeOnly} of bound.elements) {
        if (!isTypeOnly) found.set(local.text, module[(propertyName ?? local).text]);
      }
    }
  }
  return found;
}

/** Runs a program; `check` and `caught` may throw. */
export async function run(program: Program, modules: Readonly<Record<string, object>>, check: Check): Promise<number> {
  const {code, stated} = instrument(program);
  const names = bindings(program, modules);
  const caught = async (body: () => Promise<void>, text: string, line: number): Promise<void> => {
    let thrown: unknown;
    try {
      await body();
    } catch (error) {
      thrown = error;
    }
    check(thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : 'nothing was thrown', text, line);
  };
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the page's own text
  const make = new Function(...names.keys(), 'check', 'caught', `${code}; return main;`) as (
    ...values: unknown[]
  ) => () => Promise<void>;
  await make(...names.values(), check, caught)();
  return stated;
}

/** The value in digits: '0.95' is met by anything that rounds to it, '12' and '[1, 2]' by whole numbers only. */
export function agrees(value: unknown, stated: string): boolean {
  if (typeof value === 'number') {
    const decimals = /^-?\d*\.?(\d*)(?:e([+-]?\d+))?$/.exec(stated);
    if (decimals === null) return String(value) === stated;
    const [, fraction, exponent = '0'] = decimals;
    const unit = fraction === '' && exponent === '0' ? 0 : 10 ** (Number(exponent) - fraction.length);
    return Math.abs(value - Number(stated)) <= 0.5000001 * unit;
  }
  if (typeof value === 'object' && value !== null && Symbol.iterator in value) {
    const list = [...(value as Iterable<unknown>)];
    const parts = stated
      .replace(/^\[|\]$/g, '')
      .split(/,\s*/)
      .filter(part => part !== '');
    return list.length === parts.length && list.every((item, i) => agrees(item, parts[i]));
  }
  if (typeof value === 'string')
    return value === stated.replace(/^'|'$/g, '') || value.includes(stated.replace(/…$/, ''));
  return String(value) === stated;
}

/** Complaints of the compiler, strict, about programs that import the entries; by page and line. */
export function typeErrors(
  list: readonly Program[],
  root: string,
  entries: Readonly<Record<string, string>>,
): string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
    typeRoots: [`${root}/node_modules/@types`],
    paths: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, [`${root}/${file}`]])),
  };
  const files = new Map(list.map((program, i) => [`${root}/spec/package/snippet-${i}.ts`, program]));
  const host = ts.createCompilerHost(options);
  const {getSourceFile, fileExists, readFile} = host;
  const textOf = (name: string): string | undefined => {
    const program = files.get(name);
    // An export makes a module of a file without imports; await may then stand at the top.
    return program === undefined ? undefined : `${program.source}\nexport {};\n`;
  };
  host.fileExists = name => files.has(name) || fileExists.call(host, name);
  host.readFile = name => textOf(name) ?? readFile.call(host, name);
  host.getSourceFile = (name, language, ...rest) => {
    const text = textOf(name);
    return text === undefined
      ? getSourceFile.call(host, name, language, ...rest)
      : ts.createSourceFile(name, text, language, true);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files].flatMap(([name, {page, lines}]) => {
    const file = program.getSourceFile(name);
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
      ({messageText, start = 0, file: at}) => {
        const line = at === undefined ? 0 : lines[at.getLineAndCharacterOfPosition(start).line];
        return `${page}:${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
      },
    );
  });
}
