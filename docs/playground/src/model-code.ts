/**
 * A model's text as an object. Imports become names bound to the modules that the worker has; everything else runs as it stands,
 * in the worker: line numbers stay.
 */
import {checkModel, type ModelFile} from '../../../cli/model-file.js';

const importLine = /^[ \t]*import\s+(?:\*\s+as\s+(\w+)|\{([^}]*)\})\s+from\s+(['"])([^'"]+)\3;?/gm;

const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as new (
  ...words: string[]
) => (modules: object, exports: {default?: unknown}) => Promise<void>;

/** @throws Error where the text imports what is not there, is no JavaScript, or exports no model */
export async function modelOf(code: string, modules: {readonly [name: string]: object}): Promise<ModelFile> {
  const program = code
    .replace(importLine, (whole, all: string | undefined, names: string | undefined, _, from: string) => {
      if (!Object.hasOwn(modules, from))
        throw new Error(`The model imports '${from}'; there are ${Object.keys(modules).join(', ')}.`);
      const bound = all ?? `{${(names ?? '').replace(/(\w+)\s+as\s+(\w+)/g, '$1: $2')}}`;
      return `const ${bound} = __modules[${JSON.stringify(from)}];${whole.replace(/[^\n]/g, '')}`;
    })
    .replace(/^([ \t]*)export\s+default\b/m, '$1__exports.default =');
  const found: {default?: unknown} = {};
  await new AsyncFunction('__modules', '__exports', `"use strict";${program}`)(modules, found);
  const model = found.default as ModelFile | undefined;
  if (typeof model !== 'object' || model === null || !('system' in model) || !('parameters' in model))
    throw new Error('The model has no default export of the form {system, initial, options: {dt}, parameters}.');
  checkModel(model, 'The model');
  return model;
}
