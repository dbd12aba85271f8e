/**
 * What each command does: results to the terminal and to files. A command gives its exit code: 0 done, 1 something is
 * wrong with the model or its fit.
 */
import {mkdir, readdir, writeFile} from 'node:fs/promises';
import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {simulate as simulateSystem, type Trajectory, type System} from '../lib/index.js';
import {animate, plot} from '../plot/index.js';
import {identify as identifyParameters} from '../training/index.js';
import {checkModel} from './check/check.js';
import {shellWord} from '../lib/text.js';
import {argument, text as option, type Given, type Out} from './given.js';
import {loadModel} from './model.js';
import type {ModelFile} from './model-file.js';
import {runOptions} from './options.js';
import {problemOf, recordOf} from './problem.js';
import {runPage} from './run-page.js';
import {filesOf, templates, type TemplateName} from './templates.js';
import {Usage} from './usage.js';

/** The version of this package. */
export const packageVersion = (): string =>
  (createRequire(import.meta.url)('stiffgrad/package.json') as {version: string}).version;

export async function newProject(given: Given, out: Out): Promise<number> {
  const folder = argument(given, 0, 'a folder for the project');
  const template = option(given, 'template') ?? 'identify';
  if (!(templates as readonly string[]).includes(template))
    throw new Usage(`There is no template '${template}'; choose one of ${templates.join(', ')}.`);
  const there = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new Usage(`${folder} cannot be read: ${error.message}. Choose another name.`);
  });
  if (there.length > 0) throw new Usage(`${folder} is not empty: choose another name.`);
  const name = path
    .basename(path.resolve(folder))
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-');
  const files = filesOf(template as TemplateName, name, option(given, 'from') ?? `^${packageVersion()}`);
  for (const [file, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.resolve(folder, file)), {recursive: true});
    await writeFile(path.join(folder, file), content);
  }
  out.json({folder, template, files: Object.keys(files)});
  out.text(`${folder} has ${Object.keys(files).join(', ')}.\n\n  cd ${shellWord(folder)} && npm install && npm start`);
  return 0;
}

export async function identify(given: Given, out: Out): Promise<number> {
  const model = await loadModel(argument(given, 0, 'a model, such as model.ts'));
  const record = argument(given, 1, 'a record, such as record.csv');
  if (!existsSync(record)) throw new Usage(`There is no file ${record}.`);
  const fit = await identifyParameters({
    ...problemOf(model, await recordOf(model, record)),
    onProgress: ({iteration, cost}) => out.progress(`iteration ${iteration}, cost ${cost.toPrecision(6)}`),
  });
  const report = option(given, 'report');
  if (report !== undefined) await fit.report(report, {fits: unitsOf(fit, model)});
  out.json({...fit.toJSON(), report});
  out.text(`${String(fit)}${report === undefined ? '' : `\n\n${report} shows the fit.`}`);
  return fit.converged ? 0 : 1;
}

/** The unit of time for each series of a fit. */
const unitsOf = ({rmse}: {readonly rmse: object}, {timeUnit}: ModelFile): {[series: string]: {timeUnit: string}} =>
  timeUnit === undefined ? {} : Object.fromEntries(Object.keys(rmse).map(name => [name, {timeUnit}]));

/** The run of a model, whole or as far as it came. @throws its error where it could not begin */
function runOf({system, initial, options}: ModelFile): Trajectory<System> {
  const run: Trajectory<System> = simulateSystem(
    system,
    initial as never,
    {...runOptions(options), throw: false} as never,
  );
  if (run.error !== undefined && run.t.size === 0) throw run.error;
  return run;
}

/** The summary of a run, and why it failed where it did. */
const summary = (run: Trajectory<System>): string =>
  [String(run), ...(run.error === undefined ? [] : [run.error.message])].join('\n');

function csvOf(run: Trajectory<System>): string {
  const t = run.values('t');
  const columns = (run.system.kind === 'ode' ? ['y'] : ['q', 'v']).flatMap(name => {
    const values = run.values(name);
    const width = values.length / t.length;
    return Array.from({length: width}, (_, k) => ({
      name: width === 1 ? name : `${name}[${k}]`,
      at: (i: number) => values[i * width + k],
    }));
  });
  const head = columns.map(({name}) => name);
  const rows = Array.from(t, (time, i) => [time, ...columns.map(({at}) => at(i))].join(','));
  return `t,${head.join(',')}\n${rows.join('\n')}\n`;
}

const ended = ({status}: Trajectory<System>): number => (status === 'completed' || status === 'event' ? 0 : 1);

export async function simulate(given: Given, out: Out): Promise<number> {
  const model = await loadModel(argument(given, 0, 'a model, such as model.ts'));
  const run = runOf(model);
  const written: string[] = [];
  const write = async (name: string, content: () => string): Promise<void> => {
    const file = option(given, name);
    if (file === undefined) return;
    await writeFile(file, content());
    written.push(file);
  };
  await write('csv', () => csvOf(run));
  await write('plot', () => plot(run, {timeUnit: model.timeUnit}));
  await write('animate', () => animate(run, {params: model.options.params as never, timeUnit: model.timeUnit}).html());
  out.json({...run.toJSON(), files: written});
  out.text([summary(run), ...run.warnings, ...written.map(file => `wrote ${file}`)].join('\n'));
  return ended(run);
}

export async function check(given: Given, out: Out): Promise<number> {
  const file = argument(given, 0, 'a model, such as model.ts');
  const findings = checkModel(await loadModel(file));
  const wrong = findings.filter(({ok}) => !ok);
  out.json({ok: wrong.length === 0, findings});
  out.text(
    [
      ...findings.map(({ok, check: name, where, message}) => `${ok ? 'ok   ' : 'WRONG'} ${name}, ${where}: ${message}`),
      '',
      wrong.length === 0 ? `No errors were found in ${file}.` : `${wrong.length} of ${findings.length} checks failed.`,
    ].join('\n'),
  );
  return wrong.length === 0 ? 0 : 1;
}

export async function report(given: Given, out: Out): Promise<number> {
  const file = argument(given, 0, 'a model, such as model.ts');
  const page = option(given, 'output') ?? 'run.html';
  const model = await loadModel(file);
  const run = runOf(model);
  const {html, left} = runPage(path.basename(file), model, run);
  await writeFile(page, html);
  out.json({...run.toJSON(), report: page, left});
  out.text(`${summary(run)}\nwrote ${page}`);
  return ended(run);
}
