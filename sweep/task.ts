/**
 * Tasks by name, so that any process can load them: a module, the name of a function that it exports, and a version.
 * With the case and the seed the version makes the case's name: work is never done twice, and changed work never mistaken.
 */
import {existsSync} from 'node:fs';
import {readFile} from 'node:fs/promises';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {refuseUnknownOptions, text} from '../lib/checks.js';
import {OptionError} from '../lib/errors.js';
import {canonical, hash} from './canonical.js';
import type {Case} from './cases.js';

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

/** The location of a task. */
export interface TaskReference {
  /**
   * The module's file: a path from the working folder, or a file: URL, such as new URL('./task.js', import.meta.url).
   */
  readonly module: string | URL;
  /** The name of the exported function; default 'default'. */
  readonly export?: string;
  /**
   * A part of every case's name: what it computes has another version when it gives other results. Default: a hash of
   * the module and of what it imports by relative paths. Packages count by a version that you give, not by themselves.
   */
  readonly version?: string;
  /** What it is called in names and tables; default the file's name without its ending, and the function's where it is not 'default'. */
  readonly name?: string;
}

/** A located task. */
export interface Task {
  /** An absolute path. */
  readonly module: string;
  readonly export: string;
  readonly name: string;
  readonly version: string;
  /** The version is a hash of the module's text, which is checked when it is loaded. */
  readonly hashed: boolean;
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
  refuseUnknownOptions(
    given,
    {
      module: {what: "a module's path or URL", test: value => typeof value === 'string' || value instanceof URL},
      export: text,
      version: text,
      name: text,
    },
    'sweep: task',
  );
  const {module: place, export: exported = 'default'} = given;
  const module = path.resolve(place instanceof URL || /^file:/.test(place) ? fileURLToPath(place) : place);
  if (!existsSync(module)) throw new OptionError('no-task', `sweep: there is no module ${module}.`, {module});
  const stem = path.basename(module).replace(/\.[^.]+$/, '');
  return {
    module,
    export: exported,
    name: given.name ?? (exported === 'default' ? stem : `${stem}.${exported}`),
    version: given.version ?? (await contentVersion(module)),
    hashed: given.version === undefined,
  };
}

/** A hash of a module's text and of all that it imports by relative paths. */
export async function contentVersion(module: string): Promise<string> {
  const texts = new Map<string, string>();
  const visit = async (file: string): Promise<void> => {
    const from = path.relative(path.dirname(module), file);
    if (texts.has(from)) return;
    const source = await readFile(file, 'utf8');
    texts.set(from, source);
    for (const [, specifier] of source.matchAll(/\b(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g)) {
      const to = found(path.resolve(path.dirname(file), specifier));
      if (to !== undefined) await visit(to);
    }
  };
  await visit(module);
  const parts = [...texts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([file, source]) => [file.split(path.sep).join('/'), source]);
  // Enough digits that no two versions of one task ever meet.
  return hash(JSON.stringify(parts)).slice(0, 16);
}

/** TypeScript writes './x.js' for ./x.ts. */
const found = (file: string): string | undefined =>
  [file, file.replace(/\.([mc]?)js$/, '.$1ts')].find(candidate => existsSync(candidate));

/** The job of one case: its seed depends on the case and the sweep's seed alone, its name on the task's version too. */
export function jobOf(task: Task, one: Case, seed: number): Job {
  if (typeof (one as unknown) !== 'object' || (one as unknown) === null || Array.isArray(one))
    throw new OptionError('bad-case', 'sweep: a case must be an object of names and values, such as {k: 40}.');
  const content = canonical(one, 'A case');
  const own = parseInt(hash(`${seed} ${content}`).slice(0, 8), 16);
  const name = hash(canonical({case: content, seed, task: {name: task.name, version: task.version}}, 'A case'));
  return {name, case: content, seed: own, task};
}
