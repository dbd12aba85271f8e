/** A model and its record as the problem that identify solves: the command's and the playground's. */
import {DataError, OptionError} from '../lib/errors.js';
import {fixed, readTable, type IdentificationProblem, type Parameters, type Table} from '../training/index.js';
import type {TableSource} from '../training/internal.js';
import {measured} from './measured.js';
import type {ModelFile} from './model-file.js';
import {fitOptions} from './options.js';
import {Usage} from './usage.js';

/** A record's table as the model says that it is read. @throws DataError, OptionError with the place of its options */
export const recordOf = (model: ModelFile, source: TableSource): Promise<Table> =>
  readTable(source, model.table).catch(toModel);

/** A message may advise an option of readTable, which a model gives as its `table`. */
function toModel(error: unknown): never {
  if (
    (error instanceof DataError || error instanceof OptionError)
    && /\b(missing|decimal|columns)\b/.test(error.message)
  )
    error.message += " Options of the table stand in the model: export default {…, table: {decimal: ','}}.";
  throw error;
}

function dataOf(model: ModelFile, table: Table): IdentificationProblem['data'] {
  try {
    return measured(model, table);
  } catch (error) {
    return toModel(error);
  }
}

/** @throws Usage where the model names no parameters, or no data and the columns' names do not */
export function problemOf(model: ModelFile, table: Table): IdentificationProblem {
  const {system, initial, parameters, options, observe, inputs} = model;
  if (parameters === undefined)
    throw new Usage(
      'The model has no parameters to identify: add parameters: {k: positive(1)} to its default export, '
        + 'with positive, free or bounded of stiffgrad/training.',
    );
  const own = fitOptions(options);
  return {
    ...own,
    system,
    initial: initial,
    parameters: {...constants(options.params ?? {}, parameters), ...parameters},
    data: dataOf(model, table),
    inputs: inputs?.(table) ?? own.inputs,
    observe: observe ?? own.observe,
  };
}

/** A tree of numbers by names. */
type Params = {readonly [name: string]: unknown};

/** The `params` of a run that the fit does not estimate, as constants. */
function constants(params: Params, sought: Parameters, path = ''): Parameters {
  return Object.fromEntries(
    Object.entries(params).flatMap(([name, value]: [string, unknown]) => {
      const at = `${path}${name}`;
      if (Object.hasOwn(sought, at)) return [];
      return Object.prototype.toString.call(value) === '[object Object]' && !isTensor(value)
        ? Object.entries(constants(value as Params, sought, `${at}.`))
        : [[at, fixed(value as number)]];
    }),
  );
}

const isTensor = (value: unknown): boolean => typeof (value as {dataSync?: unknown}).dataSync === 'function';
