/**
 * Notebooks as programs: the code cells one after the other, TypeScript as it stands, imports of stiffgrad from these sources.
 * What a cell prints and the value of its last expression are its outputs, as a Jupyter kernel has them.
 */
import {readFileSync} from 'node:fs';
import {mkdir, mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import ts from 'typescript';
import {root} from '../../package/sources.js';

export interface Output {
  readonly output_type: string;
  readonly name?: string;
  readonly text?: readonly string[];
  readonly data?: {readonly [mime: string]: readonly string[]};
  readonly metadata?: object;
  readonly execution_count?: number | null;
}

export interface Cell {
  readonly cell_type: string;
  readonly source: readonly string[];
  execution_count?: number | null;
  outputs?: readonly Output[];
}

export interface Notebook {
  readonly cells: Cell[];
}

export const readNotebook = (file: string): Notebook =>
  JSON.parse(readFileSync(path.join(root, file), 'utf8')) as Notebook;

const codeOf = (notebook: Notebook): Cell[] => notebook.cells.filter(({cell_type: kind}) => kind === 'code');

/** One cell's lines, its last expression handed to the display. */
function program(source: string, place: number): string {
  const file = ts.createSourceFile('cell.ts', source, ts.ScriptTarget.ES2022, true);
  const last = file.statements.at(-1);
  const prints = last !== undefined && ts.isExpressionStatement(last) && /^console\.log/.test(last.getText());
  const shown =
    last !== undefined && ts.isExpressionStatement(last) && !prints
      ? `${source.slice(0, last.getStart())}await __kernel.show(${place}, ${last.expression.getText()});`
      : source;
  return `__kernel.at = ${place};\n${shown}`;
}

const prelude = `
const __kernel = {at: 0, outputs: [] as {cell: number; text?: string; data?: object}[], async show(cell: number, value: unknown) {
  const display = (value as {[key: symbol]: () => Promise<object>} | undefined)?.[Symbol.for('Jupyter.display')];
  if (value !== undefined) __kernel.outputs.push({cell, data: display === undefined ? {'text/plain': String(value)} : await display.call(value)});
}};
console.log = (...words: unknown[]) => void __kernel.outputs.push({cell: __kernel.at, text: words.map(String).join(' ') + '\\n'});
`;

/** The outputs of each code cell. */
export async function execute(notebook: Notebook): Promise<Output[][]> {
  await mkdir(path.join(root, 'reports'), {recursive: true});
  const place = await mkdtemp(path.join(root, 'reports', 'notebook-'));
  try {
    const cells = codeOf(notebook);
    const result = path.join(place, 'outputs.json');
    const source = [
      prelude,
      ...cells.map(({source: lines}, i) => program(lines.join(''), i)),
      `await (await import('node:fs/promises')).writeFile(${JSON.stringify(result)}, JSON.stringify(__kernel.outputs));`,
    ].join('\n');
    await writeFile(path.join(place, 'notebook.ts'), source);
    const {log} = console;
    try {
      await import(pathToFileURL(path.join(place, 'notebook.ts')).href);
    } finally {
      console.log = log;
    }
    const outputs = JSON.parse(await readFile(result, 'utf8')) as {
      cell: number;
      text?: string;
      data?: {[mime: string]: string};
    }[];
    return cells.map((_, i) =>
      outputs
        .filter(({cell}) => cell === i)
        .map(({text, data}): Output =>
          data === undefined
            ? {output_type: 'stream', name: 'stdout', text: lines(text ?? '')}
            : {
                output_type: 'execute_result',
                execution_count: i + 1,
                data: Object.fromEntries(Object.entries(data).map(([mime, value]) => [mime, lines(value)])),
                metadata: {},
              },
        ),
    );
  } finally {
    await rm(place, {recursive: true});
  }
}

const lines = (text: string): string[] => text.split(/(?<=\n)/);

/** What is printed of a cell: pictures by their words. */
export const printed = (outputs: readonly Output[]): string =>
  outputs.map(({text, data}) => (text ?? data?.['text/plain'] ?? []).join('')).join('\n');

/** The notebook with these outputs in it. */
export function withOutputs(notebook: Notebook, outputs: readonly Output[][]): Notebook {
  codeOf(notebook).forEach((cell, i) => {
    cell.execution_count = i + 1;
    cell.outputs = outputs[i];
  });
  return notebook;
}
