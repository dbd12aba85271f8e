/** The measured columns of a table: as a model's file says, or those of the usual names. */
import type {IdentificationProblem, Table} from '../training/index.js';
import type {ModelFile} from './model-file.js';
import {Usage} from './usage.js';

/** @throws Usage where the model does not say and the columns' names do not */
export function measured({data}: ModelFile, table: Table): IdentificationProblem['data'] {
  if (data !== undefined) return data(table);
  const found = Object.fromEntries(
    ['q', 'v', 'y'].filter(name => table.has(name)).map(name => [name, table.column(name)]),
  );
  if (!table.has('t') || Object.keys(found).length === 0)
    throw new Usage(
      `The record has the columns ${table.columns.join(', ')}; without t and one of q, v and y, `
        + "the model must define the data: data: table => ({t: table.column('time'), q: table.column('…')}).",
    );
  return {t: table.column('t'), ...found};
}
