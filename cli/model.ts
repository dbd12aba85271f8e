/**
 * What the commands read: a file whose default export says what is simulated, from where, and what is looked for. TypeScript
 * is taken by Node itself (22.18 and later strip types), or by tsx where the project has it.
 */
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {callable, object, refuseUnknownOptions} from '../lib/checks.js';
import type {RunSettings, System} from '../lib/index.js';
import type {IdentificationProblem, Table} from '../training/index.js';
import {Usage} from './usage.js';

/** The default export of a model's file. */
export interface ModelFile {
  readonly system: System;
  readonly initial: {readonly [name: string]: unknown};
  /** Those of `simulate`: dt, steps or t1, scheme, params, …. */
  readonly options: RunSettings & {readonly steps?: number; readonly t1?: number};
  /** For `identify`: what is looked for. */
  readonly parameters?: IdentificationProblem['parameters'];
  /** For `identify`: what of a table was measured, default columns t and q, v or y, and the inputs that it has. */
  readonly data?: (table: Table) => IdentificationProblem['data'];
  readonly inputs?: (table: Table) => IdentificationProblem['inputs'];
  readonly observe?: IdentificationProblem['observe'];
}

/** @throws Usage where the file does not exist, cannot be loaded, or is no model */
export async function loadModel(file: string): Promise<ModelFile> {
  if (/\.[mc]?ts$/.test(file) && !('typescript' in process.features && process.features.typescript !== false))
    await registerTsx(file);
  let module: {readonly default?: unknown};
  try {
    module = (await import(pathToFileURL(path.resolve(file)).href)) as typeof module;
  } catch (error) {
    if ((error as {code?: string}).code === 'ERR_MODULE_NOT_FOUND')
      throw new Usage(`${file} cannot be loaded: ${(error as Error).message}`);
    throw error;
  }
  const model = module.default as ModelFile | undefined;
  if (
    typeof model !== 'object'
    || model === null
    || !('system' in model)
    || !('initial' in model)
    || !('options' in model)
  ) {
    throw new Usage(
      `${file} has no model: it should have export default {system, initial, options: {dt, steps}}, and for identify parameters too.`,
    );
  }
  refuseUnknownOptions(
    model,
    {
      system: object,
      initial: object,
      options: object,
      parameters: object,
      data: callable,
      inputs: callable,
      observe: callable,
    },
    `The model in ${file}`,
  );
  return model;
}

/** The project's own tsx, which it has for its scripts; ours, where the command runs from its sources. */
async function registerTsx(file: string): Promise<void> {
  if (process.execArgv.some(argument => argument.includes('tsx'))) return;
  try {
    // require.resolve finds the CommonJS twin, which looks for its loader in the wrong folder (tsx 4.23).
    const place = createRequire(path.join(process.cwd(), 'package.json'))
      .resolve('tsx/esm/api')
      .replace(/\.cjs$/, '.mjs');
    const {register} = (await import(pathToFileURL(place).href)) as {register: () => unknown};
    register();
  } catch {
    throw new Usage(
      `${file} is TypeScript, which this Node (${process.version}) does not read by itself. Install tsx here (npm install -D tsx), or use Node 22.18 or later.`,
    );
  }
}
