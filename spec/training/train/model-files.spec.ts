/** Saved models: replaced whole or not at all, with a checksum over every byte, and never from files elsewhere. */
import {mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import type * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {DataError} from '../../../lib/index.js';
import {modelFiles} from '../../../training/train/model-files.js';
import {slow} from '../../tiers.js';

describe('model files', () => {
  let place: string;
  let count = 0;
  before(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-models-'));
  });
  after(() => rm(place, {recursive: true}));
  const fresh = (): string => path.join(place, `model-${count++}`);

  const artifacts = (value: number): tf.io.ModelArtifacts => ({
    format: 'layers-model',
    modelTopology: {value},
    weightSpecs: [{name: 'w', shape: [2, 3], dtype: 'float32'}],
    weightData: new Float32Array(6).fill(value).buffer,
  });
  const save = async (directory: string, value: number): Promise<unknown> =>
    modelFiles(directory).save?.(artifacts(value));
  /** The number that both halves of the model hold. */
  async function load(directory: string): Promise<number> {
    const {modelTopology, weightData, ...rest} = (await modelFiles(directory).load?.()) as tf.io.ModelArtifacts;
    expect(Object.keys(rest).sort()).to.deep.equal(['format', 'weightSpecs']);
    const weights = new Float32Array(weightData as ArrayBuffer);
    const {value} = modelTopology as {value: number};
    expect([...weights]).to.deep.equal(Array(6).fill(value));
    return value;
  }
  async function failure(work: Promise<unknown>): Promise<DataError> {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(DataError);
    return error as DataError;
  }

  it('are replaced, and leave nothing behind', async () => {
    const directory = fresh();
    for (const value of [1, 2, 3]) {
      await save(directory, value);
      expect(await load(directory)).to.equal(value);
      expect(await readdir(directory)).to.have.length(2);
    }
  });

  it('a saving that fails at its second file leaves the model before', async () => {
    const directory = fresh();
    await save(directory, 1);
    // What cannot be written as JSON fails after the weights would have been written; a disk that is full is no other.
    const endless: {self?: unknown} = {};
    endless.self = endless;
    expect(
      (await failure(modelFiles(directory).save?.({...artifacts(2), modelTopology: endless}) as Promise<unknown>)).code,
    ).to.equal('model-unwritable');
    expect(await load(directory)).to.equal(1);
    expect((await readdir(directory)).sort()).to.deep.equal(['model.json', 'weights.bin']);
    // A folder in the way of model.json: its renaming fails, and the new weights go.
    const blocked = fresh();
    await mkdir(path.join(blocked, 'model.json', 'full'), {recursive: true});
    await failure(save(blocked, 1));
    expect(await readdir(blocked)).to.deep.equal(['model.json']);
  });

  it('weights of another model, as a crash between two files would leave them, are refused', async () => {
    const [one, other] = [fresh(), fresh()];
    await save(one, 1);
    await save(other, 2);
    await writeFile(path.join(one, 'weights.bin'), await readFile(path.join(other, 'weights.bin')));
    expect((await failure(load(one))).message).to.match(/checksum/);
  });

  slow('any changed bit and any cut of either file is refused', async () => {
    const directory = fresh();
    await save(directory, 1);
    for (const name of ['model.json', 'weights.bin']) {
      const file = path.join(directory, name);
      const bytes = await readFile(file);
      for (let i = 0; i < bytes.length; i++) {
        const changed = Buffer.from(bytes);
        changed[i] ^= 1 << (i % 8);
        await writeFile(file, changed);
        expect((await failure(load(directory))).code).to.equal('model-unreadable');
        if (i % 8 === 0) {
          await writeFile(file, bytes.subarray(0, i));
          await failure(load(directory));
        }
      }
      await writeFile(file, bytes);
    }
    expect(await load(directory)).to.equal(1);
  });

  slow('twenty savers at once: each is done, and what is there is one of them', async () => {
    const directory = fresh();
    await Promise.all(Array.from({length: 20}, (_, i) => save(directory, i)));
    expect(await load(directory)).to.be.within(0, 19);
    expect(await readdir(directory)).to.have.length(2);
  });

  it('paths out of the directory are refused, by dots, roots and links', async () => {
    const secret = path.join(place, 'secret');
    await writeFile(secret, new Uint8Array(24));
    const directory = fresh();
    await mkdir(directory);
    await symlink(secret, path.join(directory, 'link.bin'));
    const manifest = (name: string): string =>
      JSON.stringify({modelTopology: {}, weightsManifest: [{paths: [name], weights: artifacts(0).weightSpecs}]});
    for (const name of ['../secret', `x/../../secret`, secret, '..\\secret', 'C:\\secret', '', 'link.bin']) {
      await writeFile(path.join(directory, 'model.json'), manifest(name));
      expect((await failure(load(directory))).message, name).to.match(/is outside the directory/);
    }
    // What tfjs writes itself has no checksum, and its sizes are compared.
    await writeFile(path.join(directory, 'group1-shard1of1.bin'), Buffer.from(new Float32Array(6).buffer));
    await writeFile(path.join(directory, 'model.json'), manifest('group1-shard1of1.bin'));
    expect((await modelFiles(directory).load?.())?.weightSpecs).to.have.length(1);
    await writeFile(path.join(directory, 'group1-shard1of1.bin'), new Uint8Array(20));
    expect((await failure(load(directory))).message).to.match(/20 bytes, but the manifest needs 24/);
  });

  it('what is no manifest is an error of its own', async () => {
    const directory = fresh();
    await mkdir(directory);
    for (const text of [
      '',
      '{}',
      '[]',
      'null',
      '{"weightsManifest": 3}',
      '{"weightsManifest": [null]}',
      '{"weightsManifest": [{"paths": [1], "weights": []}]}',
      '{"weightsManifest": [{"paths": [], "weights": [{"name": "w", "dtype": "float32", "shape": [-1]}]}]}',
    ]) {
      await writeFile(path.join(directory, 'model.json'), text);
      expect((await failure(load(directory))).code, text).to.equal('model-unreadable');
    }
  });
});
