/**
 * Tasks by name, so that any process can load them: a module, the name of a function that it exports, and a version.
 * With the case and the seed the version makes the case's name: work is never done twice, and changed work never
 * mistaken.
 */
import {createHash} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {optional, readOptions, shown, text, type Check, type Options} from '../lib/checks.js';
import {OptionError} from '../lib/errors.js';
import {canonical, hash} from './canonical.js';
import type {Case} from './cases.js';
import {absentAs} from './files.js';

/** The second argument of a task. */
export interface TaskContext {
  /** A seed for this case, from 0 to 2³² − 1; the same wherever and whenever the case runs. */
  readonly seed: number;
  /** Aborted when the time is over or the sweep ends. A task that ignores it is killed. */
  readonly signal: AbortSignal;
  /** The case's name in the store. */
  readonly name: string;
  /** Reports the progress of the task, as data of any kind, for `onProgress`. */
  progress(value: unknown): void;
}

/** A task: one case in, data out (numbers, texts, lists, typed arrays and plain objects of these). */
export type TaskFunction<C extends Case = Case, R = unknown> = (one: C, context: TaskContext) => R | Promise<R>;

const place: Check<string | URL> = {
  what: "a module's path or URL",
  test: value => typeof value === 'string' || value instanceof URL,
};

const taskOptions = {
  /**
   * The module's file: a path from the working folder, or a file: URL, such as new URL('./task.js', import.meta.url).
   */
  module: place,
  /** The name of the exported function; default 'default'. */
  export: optional(text, 'default'),
  /**
   * A part of every case's name: what it computes has another version when it gives other results. Default: a hash of
   * the module, of what it imports by relative paths, and of the files that these name by
   * `new URL('./…', import.meta.url)`. Packages count by a version that you give, not by themselves.
   */
  version: optional(text),
  /**
   * The task's name in tables; default the file's name without its ending, and the function's name unless it is
   * 'default'.
   */
  name: optional(text),
};

/** The location of a task. @interface */
export type TaskReference = Options<typeof taskOptions>;

/** A located task. */
export interface Task {
  /** An absolute path. */
  readonly module: string;
  readonly export: string;
  readonly name: string;
  readonly version: string;
  /** SHA-256 of the module and its files. Every process checks it before it loads the module. */
  readonly hash: string;
}

/** A case to compute: its name, its task, and its seed. */
export interface Job {
  readonly name: string;
  /** In canonical form. */
  readonly case: string;
  readonly seed: number;
  readonly task: Task;
}

/** @throws OptionError where there is no such file */
export async function findTask(given: TaskReference): Promise<Task> {
  const {module: location, export: exported, name, version} = readOptions(given, taskOptions, 'sweep: task');
  const isUrl = location instanceof URL || /^file:/.test(location);
  const module = path.resolve(isUrl ? fileURLToPath(location) : location);
  const hash = await contentHash(module);
  if (hash === undefined) throw new OptionError('no-task', `sweep: there is no module ${module}.`, {module});
  const stem = path.basename(module).replace(/\.[^.]+$/, '');
  return {
    module,
    export: exported,
    name: name ?? (exported === 'default' ? stem : `${stem}.${exported}`),
    // Enough digits that no two versions of one task ever meet.
    version: version ?? hash.slice(0, 16),
    hash,
  };
}

/** Relative paths in a module: imports, and files that it names as bundlers expect. */
const relative = [
  /\b(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g,
  /\bnew\s+URL\(\s*['"](\.{1,2}\/[^'"]+)['"]\s*,\s*import\.meta\.url\s*\)/g,
];

/** SHA-256 of a module's bytes and of the files that it loads by relative paths; undefined where there is no module. */
export async function contentHash(module: string): Promise<string | undefined> {
  const hashes = new Map<string, string>();
  /** Whether it is a file: it may be a folder that the module writes to. */
  const visit = async (file: string): Promise<boolean> => {
    const from = path.relative(path.dirname(module), file);
    if (hashes.has(from)) return true;
    const bytes = await absentAs(undefined, readFile(file), 'EISDIR', 'ENOTDIR');
    if (bytes === undefined) return false;
    hashes.set(from, createHash('sha256').update(bytes).digest('hex'));
    if (!/\.[mc]?[jt]sx?$/.test(file)) return true;
    const source = bytes.toString();
    for (const [, specifier] of relative.flatMap(pattern => [...source.matchAll(pattern)]))
      for (const candidate of candidates(path.resolve(path.dirname(file), specifier)))
        if (await visit(candidate)) break;
    return true;
  };
  if (!(await visit(module))) return undefined;
  const parts = [...hashes].sort(([a], [b]) => (a < b ? -1 : 1));
  return hash(JSON.stringify(parts.map(([file, content]) => [file.split(path.sep).join('/'), content])));
}

/** TypeScript writes './x.js' for ./x.ts; loaders of TypeScript also find './x'. */
const candidates = (file: string): string[] => [
  file,
  file.replace(/\.([mc]?)js$/, '.$1ts'),
  ...['.ts', '.js', '/index.ts', '/index.js'].map(ending => `${file}${ending}`),
];

/** How a module begins that workers of a queue may load as a task: a directive before its first statement. */
const taskDirective = 'use stiffgrad task';

/**
 * Reads a module's text, of which nothing runs.
 * @throws OptionError 'task-refused' where the module does not mark itself as a task
 */
export async function requireTaskDirective(module: string): Promise<void> {
  const source = await absentAs(undefined, readFile(module, 'utf8'), 'EISDIR');
  if (source !== undefined && hasTaskDirective(source)) return;
  throw new OptionError(
    'task-refused',
    `${shown(module)} does not mark itself as a task. Begin a module that workers of a queue may load with `
      + `'${taskDirective}'; they may then call every function that it exports.`,
    {module},
  );
}

/**
 * The directive stands where ECMAScript has its directive prologue: after comments, among other texts that are
 * statements of their own.
 */
export function hasTaskDirective(source: string): boolean {
  const blank = /(?:\s|\/\/.*|\/\*[^]*?\*\/)*/y;
  const directive = /(?:'([^'\\\r\n]*)'|"([^"\\\r\n]*)")[^\S\r\n]*(?:;|$)/my;
  let at = /^\uFEFF?(?:#!.*)?/.exec(source)?.[0].length ?? 0;
  for (;;) {
    blank.lastIndex = at;
    directive.lastIndex = at + (blank.exec(source)?.[0].length ?? 0);
    const found = directive.exec(source);
    if (found === null) return false;
    if ((found[1] ?? found[2]) === taskDirective) return true;
    at = directive.lastIndex;
  }
}

/** The job of one case: its seed depends on the case and the sweep's seed alone, its name on the task's version too. */
export function jobOf(task: Task, one: Case, seed: number): Job {
  if (typeof (one as unknown) !== 'object' || (one as unknown) === null || Array.isArray(one))
    throw new OptionError('bad-case', 'sweep: a case must be an object of names and values, such as {k: 40}.');
  const content = canonical(one, 'A case');
  const own = parseInt(hash(`${seed} ${content}`).slice(0, 8), 16);
  const name = hash(canonical({case: content, seed, task: {name: task.name, version: task.version}}, 'A case'));
  return {name, case: content, seed: own, task};
}
