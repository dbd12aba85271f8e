/**
 * tfjs's own model format on Node's file system: `model.json` with the topology and the weights' manifest, and one
 * file of weights beside it. tfjs has such a handler only in tfjs-node; the files are the same ones, and either
 * reads the other's. A model is replaced whole or not at all: its weights get a name of their own, and model.json,
 * which names them and ends with the SHA-256 of both, takes its place last, by being renamed.
 */
import type * as tf from '@tensorflow/tfjs';
import {DataError} from '../../lib/errors.js';
import {filesystem, nodePath, reasonOf, type FileSystem} from '../data/filesystem.js';
import {FolderLock} from '../data/folder-lock.js';
import {joined} from '../data/joined.js';
import {randomName, writeNew, writeWhole} from '../data/write-whole.js';

/**
 * For `model.save(modelFiles(directory))` and `tf.loadLayersModel(modelFiles(directory))`. Savers of one directory
 * wait for each other; who loads meanwhile gets the model before or the one after.
 * @throws DataError 'model-unreadable' for files that are missing, damaged, or name files elsewhere; 'model-unwritable'
 */
export function modelFiles(directory: string): tf.io.IOHandler {
  return {save: artifacts => save(directory, artifacts), load: () => load(directory)};
}

interface WeightsGroup {
  readonly paths: readonly string[];
  readonly weights: readonly tf.io.WeightsManifestEntry[];
}

interface ModelJson extends Omit<tf.io.ModelArtifacts, 'weightSpecs' | 'weightData'> {
  readonly weightsManifest: readonly WeightsGroup[];
  /** Set if there is a checksum at the end; models that tfjs writes have neither. */
  readonly sealed?: true;
}

/** How long, in ms, another saver is waited for: it has the lock while it writes one model. */
const WAIT = 30_000;

/** Names that this module gives to weights: the plain one, and one each that replaces a model. */
const weightsFile = /^weights(-[0-9a-f]{16})?\.bin$/;

async function save(
  directory: string,
  {weightData, weightSpecs = [], ...topology}: tf.io.ModelArtifacts,
): Promise<tf.io.SaveResult> {
  const fs = files(directory);
  const buffers = Array.isArray(weightData) ? weightData : [weightData ?? new ArrayBuffer(0)];
  const weights = joined(
    Uint8Array,
    buffers.map(part => new Uint8Array(part)),
  );
  let lock: FolderLock | undefined;
  try {
    await fs.mkdir(directory, {recursive: true});
    const taken = await FolderLock.take(fs, directory, WAIT);
    if (!(taken instanceof FolderLock))
      throw new Error(`process ${taken.pid} on ${taken.host} has been writing there for ${WAIT / 1000} s`);
    lock = taken;
    const before = new Set(await fs.readdir(directory));
    const path = before.has('weights.bin') ? `weights-${randomName(16)}.bin` : 'weights.bin';
    const json: ModelJson = {sealed: true, ...topology, weightsManifest: [{paths: [path], weights: weightSpecs}]};
    try {
      await writeNew(fs, `${directory}/${path}`, weights);
      await writeWhole(fs, `${directory}/model.json`, await sealed(JSON.stringify(json), weights));
    } catch (cause) {
      await fs.rm(`${directory}/${path}`, {force: true}).catch(() => {}); // the first failure is the one to tell
      throw cause;
    }
    // Removes the weights of the model before, and files of killed savers.
    for (const name of before)
      if (weightsFile.test(name) || /^model\.json\.[0-9a-f]+\.partial$/.test(name))
        await fs.rm(`${directory}/${name}`, {force: true});
  } catch (cause) {
    throw new DataError('model-unwritable', `The model cannot be written to ${directory}: ${reasonOf(cause)}.`, {
      file: directory,
      cause,
    });
  } finally {
    await lock?.release().catch(() => {});
  }
  return {modelArtifactsInfo: {dateSaved: new Date(), modelTopologyType: 'JSON', weightDataBytes: weights.length}};
}

async function load(directory: string): Promise<tf.io.ModelArtifacts> {
  const fs = files(directory);
  for (let first = true; ; first = false) {
    const text = await fs.readFile(`${directory}/model.json`, 'utf8').catch((cause: unknown) => {
      throw unreadable(directory, reasonOf(cause), cause);
    });
    try {
      return await artifactsOf(fs, directory, text);
    } catch (cause) {
      // The model may have been replaced between the reading of its two files.
      const again = first ? await fs.readFile(`${directory}/model.json`, 'utf8').catch(() => text) : text;
      if (again === text) throw cause instanceof DataError ? cause : unreadable(directory, reasonOf(cause), cause);
    }
  }
}

async function artifactsOf(fs: FileSystem, directory: string, text: string): Promise<tf.io.ModelArtifacts> {
  const {
    weightsManifest,
    sealed: isSealed,
    sha256: _,
    ...topology
  } = JSON.parse(text) as Partial<ModelJson> & {readonly sha256?: unknown};
  const groups: readonly WeightsGroup[] = requireGroups(weightsManifest, directory);
  const paths = groups.flatMap(group => group.paths);
  for (const path of paths) await requireInside(fs, directory, path);
  const weightSpecs = groups.flatMap(group => group.weights);
  const expected = bytesOf(weightSpecs);
  const sizes = await Promise.all(paths.map(async path => (await fs.stat(`${directory}/${path}`)).size));
  const found = sizes.reduce((sum, size) => sum + size, 0);
  if (expected !== undefined && found !== expected)
    throw unreadable(directory, `the weights' files have ${found} bytes, but the manifest needs ${expected}`);
  const weights = joined(Uint8Array, await Promise.all(paths.map(path => fs.readFile(`${directory}/${path}`))));
  await requireSeal(text, weights, isSealed !== undefined, directory);
  return {...topology, weightSpecs, weightData: weights.buffer};
}

/** The checksum is the last entry of the JSON, over the text before it and the weights. */
const seal = /,"sha256":"([0-9a-f]{64})"\}$/;

async function sealed(json: string, weights: Uint8Array): Promise<string> {
  const body = json.slice(0, -1);
  return `${body},"sha256":"${await digest(body, weights)}"}`;
}

/** Models that tfjs wrote have no checksum; those written here need theirs. */
async function requireSeal(text: string, weights: Uint8Array, isSealed: boolean, directory: string): Promise<void> {
  const stated = seal.exec(text)?.[1];
  if (stated === undefined && !isSealed) return;
  if (stated !== (await digest(text.replace(seal, ''), weights)))
    throw unreadable(
      directory,
      'the checksum does not match model.json and the weights: they were changed, truncated, or come from different '
        + 'models',
    );
}

async function digest(body: string, weights: Uint8Array): Promise<string> {
  const bytes = joined(Uint8Array, [new TextEncoder().encode(body), weights]);
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString('hex');
}

function requireGroups(manifest: unknown, directory: string): readonly WeightsGroup[] {
  const isText = (value: unknown): boolean => typeof value === 'string';
  const isGroup = (group: Partial<WeightsGroup> | null): boolean =>
    Array.isArray(group?.paths)
    && group.paths.every(isText)
    && Array.isArray(group.weights)
    && group.weights.every(isEntry);
  const isEntry = (entry: Partial<tf.io.WeightsManifestEntry> | null): boolean =>
    isText(entry?.name)
    && isText(entry?.dtype)
    && Array.isArray(entry?.shape)
    && entry.shape.every(n => Number.isSafeInteger(n) && n >= 0);
  if (!Array.isArray(manifest) || !manifest.every(isGroup))
    throw unreadable(directory, 'model.json has no weightsManifest as tfjs writes it');
  return manifest as readonly WeightsGroup[];
}

const widths: ReadonlyMap<string, number> = new Map(
  Object.entries({float32: 4, int32: 4, bool: 1, complex64: 8, uint8: 1, uint16: 2, float16: 2}),
);

/** Bytes by the manifest's shapes; undefined if a size is not known beforehand, as for text. */
function bytesOf(specs: readonly tf.io.WeightsManifestEntry[]): number | undefined {
  const sizes = specs.map(
    ({shape, dtype, quantization}) =>
      (widths.get(quantization?.dtype ?? dtype) ?? NaN) * shape.reduce((product, n) => product * n, 1),
  );
  const sum = sizes.reduce((total, size) => total + size, 0);
  return Number.isNaN(sum) ? undefined : sum;
}

/** A path of the manifest leads nowhere but into the directory, links included. */
async function requireInside(fs: FileSystem, directory: string, path: string): Promise<void> {
  const outside = path === '' || /^[/\\]|^[A-Za-z]:|\0/.test(path) || path.split(/[/\\]/).includes('..');
  if (!outside) {
    const {sep} = nodePath();
    const [root, file] = await Promise.all([fs.realpath(directory), fs.realpath(`${directory}/${path}`)]);
    if (file.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)) return;
  }
  throw unreadable(directory, `model.json names '${path.slice(0, 80)}', which is outside the directory`);
}

function unreadable(directory: string, why: string, cause?: unknown): DataError {
  return new DataError('model-unreadable', `No model can be read from ${directory}: ${why}.`, {file: directory, cause});
}

const files = (directory: string) =>
  filesystem(
    () =>
      new DataError(
        'model-unreadable',
        `There is no file system here for ${directory}: save to 'indexeddb://…' or 'downloads://…'.`,
        {file: directory},
      ),
  );
