/** A model as its file exports it: what is simulated, from where, and what is looked for. */
import {callable, object, refuseUnknownOptions, text} from '../lib/checks.js';
import type {System} from '../lib/index.js';
import type {IdentificationProblem, Table, TableOptions} from '../training/index.js';
import {refuseUnknownModelOptions, type ModelOptions} from './options.js';

/** The default export of a model's file. */
export interface ModelFile {
  readonly system: System;
  readonly initial: {readonly [name: string]: unknown};
  /** Those of `simulate`, dt, steps or t1, scheme, params, …, and those of `identify`, residuals, shooting, …: each takes its own. */
  readonly options: ModelOptions;
  /** For `identify`: what is looked for. */
  readonly parameters?: IdentificationProblem['parameters'];
  /** For `identify`: how the record's file is read, as {decimal: ','}. */
  readonly table?: TableOptions;
  /** For `identify`: what of a table was measured, default columns t and q, v or y, and the inputs that it has. */
  readonly data?: (table: Table) => IdentificationProblem['data'];
  readonly inputs?: (table: Table) => IdentificationProblem['inputs'];
  readonly observe?: IdentificationProblem['observe'];
  /** Unit of time on axes and pages; default 's'. */
  readonly timeUnit?: string;
}

/** @throws OptionError where the model, or its options, have what nothing reads */
export function checkModel(model: ModelFile, owner: string): void {
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
      timeUnit: text,
    },
    owner,
  );
  refuseUnknownModelOptions(model.options, `${owner}: options`);
}
