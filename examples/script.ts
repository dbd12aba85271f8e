/** Arguments of scripts, progress on the terminal, tables, and one place for failures. */
import path from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {parseArgs} from 'node:util';
import * as tf from '@tensorflow/tfjs';
import {wrongOption} from '../lib/checks.js';
import {OptionError} from '../lib/errors.js';
import type {IdentificationProgress, TrainingProgress} from '../training/index.js';

export interface ScriptArguments {
  /** The record, where one is given. */
  readonly path?: string;
  /** The file of the page. */
  readonly report: string;
  /** Less data and fewer iterations: what the tests run. */
  readonly short: boolean;
  /** Further options of the script. */
  readonly texts?: {readonly [option: string]: string | undefined};
}

/** Runs what a module does as a program, and nothing where it is imported. */
export function program(url: string, run: () => Promise<unknown>): void {
  if (process.argv[1] === undefined || url !== pathToFileURL(process.argv[1]).href) return;
  tf.enableProdMode(); // without tfjs's advertisement among the results
  run().catch((error: unknown) => {
    console.error(error instanceof Error ? `${error.name}: ${error.message}` : error);
    process.exitCode = 1;
  });
}

/**
 * A script with the usual arguments, as a program.
 * @param more further options with a text, and what it is
 */
export function script(
  url: string,
  name: string,
  what: string,
  run: (args: ScriptArguments) => Promise<void>,
  more: {readonly [option: string]: string} = {},
): void {
  program(url, async () => {
    const command = `${path.basename(path.dirname(fileURLToPath(url)))}/${name}`;
    const {record, texts, flags} = scriptOptions(command, {report: 'the page to write, such as page.html', ...more}, [
      'short',
    ]);
    const options = Object.keys(more).map(option => ` [--${option} …]`);
    if (flags.has('help'))
      console.log(`npx tsx ${command}.ts [record] [--report page.html] [--short]${options.join('')}\n\n${what}`);
    else await run({path: record, report: texts.report ?? `reports/${name}.html`, short: flags.has('short'), texts});
  });
}

/**
 * The command line of a script.
 * @param texts options with a text, and what it is
 * @param flags options without, beside --help
 * @throws OptionError 'bad-argument'
 */
export function scriptOptions(
  program: string,
  texts: {readonly [option: string]: string},
  flags: readonly string[] = [],
  args: readonly string[] = process.argv.slice(2),
): {
  readonly record?: string;
  readonly texts: {readonly [option: string]: string | undefined};
  readonly flags: Set<string>;
} {
  const bare = [...flags, 'help'];
  const {values, positionals, tokens} = parseArgs({
    args: [...args],
    allowPositionals: true,
    strict: false,
    tokens: true,
    options: {
      ...Object.fromEntries(Object.keys(texts).map(name => [name, {type: 'string'} as const])),
      ...Object.fromEntries(
        bare.map(name => [name, {type: 'boolean', ...(name === 'help' ? {short: 'h'} : {})} as const]),
      ),
    },
  });
  const more =
    positionals.length > 1 ? `${program} takes one record, and has no use for '${positionals[1]}'.` : undefined;
  const wrong = wrongOption(program, tokens, texts, bare) ?? more;
  if (wrong !== undefined) throw new OptionError('bad-argument', `${wrong} See --help.`);
  return {
    record: positionals[0],
    texts: values as {readonly [option: string]: string | undefined},
    flags: new Set(bare.filter(name => values[name] === true)),
  };
}

/** Seconds between two lines of progress in a file; a terminal's line is written anew five times a second. */
const between = {file: 10, terminal: 0.2};

/**
 * A line of progress on standard error: rewritten on a terminal, and every ten seconds in a file.
 * @param clock the time in ms
 */
export function progress(
  title: string,
  stream: {readonly isTTY?: boolean; write(text: string): unknown} = process.stderr,
  clock: () => number = () => performance.now(),
): {update(remark: string): void; finish(): void} {
  const began = clock();
  const seconds = (): number => (clock() - began) / 1000;
  let [line, last] = [title, 0];
  const write = (end: string): void => {
    last = seconds();
    stream.write(stream.isTTY === true ? `\r\x1B[K${line}${end}` : `${line}\n`);
  };
  return {
    update(remark) {
      line = `${title} ${remark}`;
      if (seconds() - last >= (stream.isTTY === true ? between.terminal : between.file)) write('');
    },
    finish() {
      line += ` · took ${seconds().toFixed(1)} s`;
      write('\n');
    },
  };
}

/** Functions that show the progress of a fit and of a training. */
export interface ProgressCallbacks {
  readonly fit: (at: IdentificationProgress) => void;
  readonly train: (at: TrainingProgress) => void;
}

/** A fit or a training with its progress shown while it runs. */
export async function shown<Result>(
  title: string,
  work: (show: ProgressCallbacks) => Promise<Result>,
): Promise<Result> {
  const {update, finish} = progress(title);
  let iterations = 0;
  try {
    return await work({
      fit: ({cost}) => update(`${++iterations} iterations, half the sum of squares ${cost.toPrecision(6)}`),
      train: ({step, steps, loss, secondsLeft}) =>
        update(`${step} of ${steps} steps, loss ${loss.toPrecision(4)}, ${Math.round(secondsLeft)} s left`),
    });
  } finally {
    finish();
  }
}

/** Columns under each other: the first, and a last one without a heading, to the left, the others to the right. */
export function printTable(rows: readonly (readonly string[])[], say: (line: string) => void = console.log): void {
  const [head] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map(row => row[column].length)));
  const cell = (text: string, column: number): string =>
    column === 0 || (column === head.length - 1 && head[column] === '')
      ? text.padEnd(widths[column])
      : text.padStart(widths[column]);
  for (const row of rows) say(`  ${row.map(cell).join('   ').trimEnd()}`);
  say('');
}

/** Root mean square of a − b, of entries from … to − 1. */
export function rms(a: ArrayLike<number>, b: ArrayLike<number>, from = 0, to = a.length): number {
  let sum = 0;
  for (let i = from; i < to; i++) sum += (a[i] - b[i]) ** 2;
  return Math.sqrt(sum / (to - from));
}
