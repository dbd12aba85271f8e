/** A model as its file exports it: what is simulated, from where, and what is looked for. */
import {callable, object, optional, refuseUnknownOptions, text, typed, type Options} from '../lib/checks.js';
import type {System} from '../lib/index.js';
import type {IdentificationProblem, Table, TableOptions} from '../training/index.js';
import {refuseUnknownModelOptions, type ModelOptions} from './options.js';

const modelSchema = {
  system: typed<System>(object),
  initial: typed<{readonly [name: string]: unknown}>(object),
  /** Options of `simulate` (dt, steps or t1, scheme, params, …) and of `identify` (residuals, shooting, …). */
  options: typed<ModelOptions>(object),
  /** For `identify`: what is looked for. */
  parameters: optional(typed<NonNullable<IdentificationProblem['parameters']>>(object)),
  /** For `identify`: how the record's file is read, as {decimal: ','}. */
  table: optional(typed<TableOptions>(object)),
  /** For `identify`: what of a table was measured, default columns t and q, v or y, and the inputs that it has. */
  data: optional(typed<(table: Table) => IdentificationProblem['data']>(callable)),
  inputs: optional(typed<(table: Table) => IdentificationProblem['inputs']>(callable)),
  observe: optional(typed<NonNullable<IdentificationProblem['observe']>>(callable)),
  /** Unit of time on axes and pages; default 's'. */
  timeUnit: optional(text),
};

/** The default export of a model's file. */
export type ModelFile = Options<typeof modelSchema>;

/** @throws OptionError where the model, or its options, have what nothing reads */
export function checkModel(model: ModelFile, owner: string): void {
  refuseUnknownOptions(model, modelSchema, owner);
  refuseUnknownModelOptions(model.options, `${owner}: options`);
}
