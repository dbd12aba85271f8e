/**
 * tfjs's own model format on Node's file system: `model.json` with the topology and the weights' manifest,
 * `weights.bin` beside it. tfjs has such a handler only in tfjs-node; the files are the same ones, and either
 * reads the other's.
 */
import type * as tf from '@tensorflow/tfjs';
import {DataError} from '../../lib/errors.js';
import {filesystem, reasonOf} from '../data/filesystem.js';

/**
 * For `model.save(modelFiles(directory))` and `tf.loadLayersModel(modelFiles(directory))`.
 * @throws DataError 'model-unreadable', 'model-unwritable' when it is used
 */
export function modelFiles(directory: string): tf.io.IOHandler {
  return {save: artifacts => save(directory, artifacts), load: () => load(directory)};
}

interface ModelJson extends Omit<tf.io.ModelArtifacts, 'weightSpecs' | 'weightData'> {
  readonly weightsManifest: readonly {readonly paths: readonly string[]; readonly weights: readonly tf.io.WeightsManifestEntry[]}[];
}

async function save(directory: string, {weightData, weightSpecs = [], ...topology}: tf.io.ModelArtifacts): Promise<tf.io.SaveResult> {
  const {mkdir, writeFile} = await files(directory);
  const parts = (Array.isArray(weightData) ? weightData : [weightData ?? new ArrayBuffer(0)]).map(part => new Uint8Array(part));
  const json: ModelJson = {...topology, weightsManifest: [{paths: ['weights.bin'], weights: weightSpecs}]};
  try {
    await mkdir(directory, {recursive: true});
    await writeFile(`${directory}/weights.bin`, Buffer.concat(parts));
    await writeFile(`${directory}/model.json`, JSON.stringify(json));
  } catch (cause) {
    throw new DataError('model-unwritable', `The model cannot be written to ${directory}: ${reasonOf(cause)}.`, {file: directory, cause});
  }
  return {modelArtifactsInfo: {dateSaved: new Date(), modelTopologyType: 'JSON', weightDataBytes: parts.reduce((sum, {length}) => sum + length, 0)}};
}

async function load(directory: string): Promise<tf.io.ModelArtifacts> {
  const {readFile} = await files(directory);
  try {
    const {weightsManifest, ...topology} = JSON.parse(await readFile(`${directory}/model.json`, 'utf8')) as ModelJson;
    const parts = await Promise.all(weightsManifest.flatMap(({paths}) => paths).map(path => readFile(`${directory}/${path}`)));
    return {...topology, weightSpecs: weightsManifest.flatMap(({weights}) => weights), weightData: new Uint8Array(Buffer.concat(parts)).buffer};
  } catch (cause) {
    throw new DataError('model-unreadable', `No model can be read from ${directory}: ${reasonOf(cause)}.`, {file: directory, cause});
  }
}

const files = (directory: string) => filesystem(() => new DataError('model-unreadable', `There is no file system here for ${directory}: save to 'indexeddb://…' or 'downloads://…'.`, {file: directory}));
