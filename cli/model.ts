/**
 * What the commands read: a file whose default export says what is simulated, from where, and what is looked for.
 */
import {callable, object, refuseUnknownOptions} from '../lib/checks.js';
import {OptionError, type RunSettings, type System} from '../lib/index.js';
import {loadModule} from '../sweep/load-module.js';
import type {IdentificationProblem, Table, TableOptions} from '../training/index.js';
import {Usage} from './usage.js';

/** The default export of a model's file. */
export interface ModelFile {
  readonly system: System;
  readonly initial: {readonly [name: string]: unknown};
  /** Those of `simulate`: dt, steps or t1, scheme, params, …. */
  readonly options: RunSettings & {readonly steps?: number; readonly t1?: number};
  /** For `identify`: what is looked for. */
  readonly parameters?: IdentificationProblem['parameters'];
  /** For `identify`: how the record's file is read, as {decimal: ','}. */
  readonly table?: TableOptions;
  /** For `identify`: what of a table was measured, default columns t and q, v or y, and the inputs that it has. */
  readonly data?: (table: Table) => IdentificationProblem['data'];
  readonly inputs?: (table: Table) => IdentificationProblem['inputs'];
  readonly observe?: IdentificationProblem['observe'];
}

/** @throws Usage where the file does not exist, cannot be loaded, or is no model */
export async function loadModel(file: string): Promise<ModelFile> {
  let module: {readonly default?: unknown};
  try {
    module = await loadModule(file);
  } catch (error) {
    if (error instanceof OptionError && error.code === 'no-tsx') throw new Usage(error.message);
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
      table: object,
      data: callable,
      inputs: callable,
      observe: callable,
    },
    `The model in ${file}`,
  );
  return model;
}
