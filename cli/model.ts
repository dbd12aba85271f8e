/** Reads the file of a model. */
import {loaded} from './loaded.js';
import {checkModel, type ModelFile} from './model-file.js';
import {Usage} from './usage.js';

/** @throws Usage where the file does not exist, cannot be loaded, or is no model */
export async function loadModel(file: string): Promise<ModelFile> {
  const module = await loaded(file);
  const model = module.default as ModelFile | undefined;
  if (
    typeof model !== 'object'
    || model === null
    || !('system' in model)
    || !('initial' in model)
    || !('options' in model)
  ) {
    throw new Usage(
      `${file} has no model: it should have export default {system, initial, options: {dt, steps}}, `
        + 'and for identify parameters too.',
    );
  }
  checkModel(model, `The model in ${file}`);
  return model;
}
