/** Checkpoints: resumed runs are the uninterrupted ones to the bit, with every optimizer of tfjs; damaged files are refused. */
import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import fs from 'node:fs/promises';
import {mkdir, mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises';
import {hostname, tmpdir} from 'node:os';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {CheckpointError, OptionError} from '../../../lib/index.js';
import type {Change, TrainingProblem, TrainingResult} from '../../../training/index.js';
import {train} from '../../../training/index.js';
import {readCheckpoint} from '../../../training/train/checkpoints.js';
import {cosine} from '../../../training/train/schedules.js';
import {FolderLock} from '../../../training/data/folder-lock.js';
import type {CheckpointContent} from '../../../training/train/checkpoint-file.js';
import {decodeCheckpoint, encodeCheckpoint} from '../../../training/train/checkpoint-file.js';
import {slow} from '../../tiers.js';

const optimizers: {readonly [name: string]: () => tf.Optimizer} = {
  sgd: () => tf.train.sgd(0.05),
  momentum: () => tf.train.momentum(0.02, 0.9),
  nesterov: () => tf.train.momentum(0.02, 0.9, true),
  adagrad: () => tf.train.adagrad(0.1),
  adadelta: () => tf.train.adadelta(0.5),
  adam: () => tf.train.adam(0.05),
  adamax: () => tf.train.adamax(0.05, 0.9, 0.999, 1e-8, 0.01),
  rmsprop: () => tf.train.rmsprop(0.01, 0.9, 0.5),
  'rmsprop, centered': () => tf.train.rmsprop(0.01, 0.9, 0.5, 1e-8, true),
};

class Killed extends Error {}

describe('checkpoints', () => {
  let place: string;
  let count = 0;
  before(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-checkpoints-'));
  });
  after(() => rm(place, {recursive: true}));
  const fresh = (): string => path.join(place, `run-${count++}`);

  interface Run {
    readonly result?: TrainingResult;
    readonly weights: number[];
  }

  /** A run of eleven noisy examples in threes, from its beginning or from where it was; broken off after `until` steps. */
  async function run(
    directory: string | undefined,
    optimizer: () => tf.Optimizer,
    {until = Infinity, ...over}: Partial<TrainingProblem<number>> & {until?: number} = {},
  ): Promise<Run> {
    const variables = [tf.variable(tf.tensor1d([0.5, -0.2])), tf.variable(tf.scalar(0.1))];
    const problem: TrainingProblem<number> = {
      loss: (batch, {random}) =>
        tf.tidy(() => {
          const x = tf.tensor1d(batch.map(value => value + 0.1 * random.normal()));
          const [a, b] = [tf.slice(variables[0], 0, 1), tf.slice(variables[0], 1, 1)];
          return tf.mean(tf.squaredDifference(tf.tanh(tf.add(tf.mul(a, x), b)), tf.mul(variables[1], tf.square(x))));
        }),
      variables,
      optimizer: optimizer(),
      data: Array.from({length: 11}, (_, i) => Math.sin(i)),
      batchSize: 3,
      epochs: 6,
      seed: 5,
      validation: {data: [0.3, -0.7]},
      earlyStopping: {patience: 5},
      checkpoint: directory === undefined ? undefined : {directory, every: 1},
      resume: directory !== undefined,
      onProgress: ({step}) => {
        if (step > until) throw new Killed();
      },
      ...over,
    };
    const result = await train(problem).catch((error: unknown) => {
      if (error instanceof Killed) return undefined;
      throw error;
    });
    return {result, weights: variables.flatMap(variable => [...variable.dataSync()])};
  }

  for (const [name, optimizer] of Object.entries(optimizers)) {
    slow(
      `${name}: broken off thrice, in the middle of an epoch and at its ends, it comes to the same weights`,
      async () => {
        const straight = await run(undefined, optimizer);
        const directory = fresh();
        // Four steps an epoch: 6 is in the middle, 12 the last of one, 13 the first of the next.
        for (const until of [6, 12, 13]) expect((await run(directory, optimizer, {until})).result).to.equal(undefined);
        const resumed = await run(directory, optimizer);
        expect(resumed.result?.resumedFrom).to.equal(13);
        expect(resumed.weights).to.deep.equal(straight.weights);
        expect(resumed.result?.history).to.deep.equal(straight.result?.history);
        expect(resumed.result?.best).to.deep.equal(straight.result?.best);
      },
    );
  }

  it('of a run that is done give its result again, and more epochs go on from it', async () => {
    const directory = fresh();
    const done = await run(directory, optimizers.adam);
    const again = await run(directory, optimizers.adam);
    expect(again.weights).to.deep.equal(done.weights);
    expect(again.result?.steps).to.equal(24);
    const longer = await run(directory, optimizers.adam, {epochs: 8, earlyStopping: undefined});
    expect(longer.weights).to.deep.equal(
      (await run(undefined, optimizers.adam, {epochs: 8, earlyStopping: undefined})).weights,
    );
  });

  it('are kept as many as wanted, and half-written ones are swept away', async () => {
    const directory = fresh();
    await run(directory, optimizers.sgd, {until: 8, checkpoint: {directory, every: 2, keep: 3}});
    expect((await readdir(directory)).sort()).to.deep.equal([4, 6, 8].map(step => `checkpoint-00000000000${step}.sgc`));
    await writeFile(path.join(directory, 'checkpoint-000000000010.sgc.123.partial'), 'half of on');
    await run(directory, optimizers.sgd, {checkpoint: {directory, every: 100}});
    expect(await readdir(directory)).to.have.members(['checkpoint-000000000008.sgc', 'checkpoint-000000000024.sgc']);
  });

  const failure = async (work: Promise<unknown>): Promise<CheckpointError> => {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(CheckpointError);
    return error as CheckpointError;
  };

  it('that are damaged, at any byte or by any length, are refused by name', async () => {
    const content = {
      facts: {step: 3, sum: 0.1 + 0.2},
      arrays: [
        {name: 'w', shape: [3], values: Float32Array.of(1, -0, 1e-40)},
        {name: 'order', shape: [2], values: Uint32Array.of(1, 0)},
      ],
    };
    const bytes = await encodeCheckpoint(content);
    expect(await decodeCheckpoint(bytes, 'file')).to.deep.equal(content);
    expect(Object.is((await decodeCheckpoint(bytes, 'file')).arrays[0].values[1], -0)).to.equal(true);
    for (let i = 0; i < bytes.length; i++) {
      const changed = bytes.slice();
      changed[i] ^= 1 << (i % 8);
      expect((await failure(decodeCheckpoint(changed, 'some.sgc'))).message).to.include('some.sgc');
      expect((await failure(decodeCheckpoint(bytes.slice(0, i), 'some.sgc'))).code).to.equal('checkpoint-corrupt');
    }
  });

  it('that are damaged on the disk stop a resumption, and their removal lets the one before be used', async () => {
    const directory = fresh();
    await run(directory, optimizers.adam, {until: 7});
    const latest = path.join(directory, 'checkpoint-000000000007.sgc');
    const bytes = await readFile(latest);
    bytes[200] ^= 1;
    await writeFile(latest, bytes);
    const error = await failure(run(directory, optimizers.adam));
    expect(error.code).to.equal('checkpoint-corrupt');
    expect(error.message).to.include(latest).and.to.include('Remove it');
    await rm(latest);
    const {result, weights} = await run(directory, optimizers.adam);
    expect(result?.resumedFrom).to.equal(6);
    expect(weights).to.deep.equal((await run(undefined, optimizers.adam)).weights);
  });

  it('of another run are refused, and are not overwritten', async () => {
    const directory = fresh();
    await run(directory, optimizers.adam, {until: 2});
    expect((await failure(run(directory, optimizers.sgd))).message).to.match(/the optimizer is "Adam", here "SGD"/);
    expect((await failure(run(directory, optimizers.adam, {seed: 6}))).message).to.match(/seed is 5, here 6/);
    expect((await failure(run(directory, optimizers.adam, {batchSize: 4}))).code).to.equal('checkpoint-mismatch');
    const error = await failure(run(directory, optimizers.adam, {resume: false}));
    expect([error.code, error.data.directory]).to.deep.equal(['checkpoint-exists', directory]);
  });

  describe('of a run that differs are refused, and taken where the change is meant:', () => {
    const values = Array.from({length: 11}, (_, i) => Math.sin(i));
    const two = (): tf.Variable[] => [tf.variable(tf.scalar(0.5)), tf.variable(tf.scalar(-0.2))];
    const line =
      ([a, b]: readonly tf.Variable[], target = 1) =>
      (batch: readonly number[]): tf.Scalar =>
        tf.tidy(() => {
          const x = tf.tensor1d([...batch]);
          return tf.mean(tf.squaredDifference(tf.add(tf.mul(a, x), b), tf.mul(target, tf.square(x)))) as tf.Scalar;
        });
    type Given = Partial<TrainingProblem<number>> & {until?: number};
    /** Twelve steps, four an epoch; broken off after the sixth unless it is said when. */
    async function go(directory: string | undefined, {until = Infinity, ...over}: Given = {}): Promise<number[]> {
      const variables = over.variables ?? two();
      await train({
        loss: line(variables),
        variables,
        optimizer: optimizers.adam(),
        data: values,
        batchSize: 3,
        epochs: 3,
        checkpoint: directory === undefined ? undefined : {directory, every: 1},
        resume: directory !== undefined,
        onProgress: ({step}) => {
          if (step > until) throw new Killed();
        },
        ...over,
      }).catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error;
      });
      return variables.flatMap(variable => [...variable.dataSync()]);
    }
    const begun = async (over: Given = {}): Promise<string> => {
      const directory = fresh();
      await go(directory, {until: 6, ...over});
      return directory;
    };

    const differences: {readonly [change: string]: {readonly over: () => Given; readonly message: RegExp}} = {
      learningRate: {over: () => ({optimizer: tf.train.adam(0.01)}), message: /the learning rate is 0\.05, here 0\.01/},
      hyperparameters: {
        over: () => ({optimizer: tf.train.adam(0.05, 0.8)}),
        message: /setting beta1 is 0\.9, here 0\.8/,
      },
      schedule: {over: () => ({schedule: () => 0.05}), message: /there is no schedule, here one/},
      clip: {over: () => ({clip: {norm: 1}}), message: /clip is \{\}, here \{"norm":1\}/},
      batchSize: {over: () => ({batchSize: 4}), message: /batchSize is 3, here 4/},
      shuffle: {over: () => ({shuffle: false}), message: /shuffle is true, here false/},
      data: {
        over: () => ({data: values.map((value, i) => (i === 10 ? value + 1e-9 : value))}),
        message: /the content of the examples differ/,
      },
      validation: {over: () => ({validation: {data: [1]}}), message: /the validation data differ/},
      loss: {
        over: () => {
          const variables = two();
          return {variables, loss: line(variables, 1.1)};
        },
        message: /the loss of the first 3 examples at its variables is [\d.]+, here [\d.]+/,
      },
    };
    for (const [change, {over, message}] of Object.entries(differences)) {
      it(change, async () => {
        const directory = await begun();
        const given = over();
        const variables = given.variables ?? two();
        const problem = {loss: line(variables), ...given, variables};
        const before = variables.map(variable => variable.dataSync()[0]);
        const all = change === 'schedule' ? ['learningRate', 'schedule'] : [change];
        const error = await failure(go(directory, problem));
        expect(error.code).to.equal('checkpoint-mismatch');
        expect(error.message)
          .to.match(message)
          .and.to.include(`resume: {accept: [${all.map(name => `'${name}'`).join(', ')}]}`);
        // Nothing was put into them.
        expect(variables.map(variable => variable.dataSync()[0])).to.deep.equal(before);
        await go(directory, {...problem, resume: {accept: all as Change[]}});
        // From here on the changed run is the run.
        await go(directory, problem);
      });
    }

    it('a lower learning rate, once accepted, is the one that is used', async () => {
      const directory = await begun();
      const optimizer = tf.train.adam(0.001);
      await go(directory, {optimizer, resume: {accept: ['learningRate']}});
      expect((optimizer as unknown as {learningRate: number}).learningRate).to.equal(0.001);
    });

    it('two variables of one shape exchanged, with names that tfjs gave and with the user’s', async () => {
      const exchanged = two().reverse();
      expect(
        (await failure(go(await begun(), {variables: exchanged, loss: line([exchanged[1], exchanged[0]])}))).message,
      ).to.match(/the order of the variables, by their names, is/);
      const named = (...names: string[]): tf.Variable[] =>
        names.map(name => tf.variable(tf.scalar(0.5), true, `${name}${count}`));
      const [a, b] = named('stiffness', 'damping');
      const directory = await begun({variables: [a, b], loss: line([a, b])});
      expect((await failure(go(directory, {variables: [b, a], loss: line([a, b])}))).data.differs).to.equal('names');
      // The names agree, and what they mean does not.
      expect((await failure(go(directory, {variables: [a, b], loss: line([b, a])}))).data.differs).to.equal('loss');
    });

    it('another schedule of the same kind, but not a longer run under the same', async () => {
      const directory = await begun({schedule: cosine({rate: 0.05})});
      expect((await failure(go(directory, {schedule: cosine({rate: 0.04})}))).message).to.match(
        /the schedule gives 0\.05 in step 0, here 0\.04/,
      );
      await go(directory, {schedule: cosine({rate: 0.05}), epochs: 4});
    });

    it('examples that are fetched one by one are compared by some', async () => {
      const fetched = (shift: number): TrainingProblem<number>['data'] => ({
        length: 11,
        get: index => Promise.resolve(values[index] + shift),
      });
      const directory = await begun({data: fetched(0)});
      expect((await failure(go(directory, {data: fetched(1)}))).data.differs).to.equal('data');
      expect(await go(directory, {data: fetched(0)})).to.deep.equal(await go(undefined));
    });

    it('content that lacks something is told by its name', async () => {
      const directory = await begun();
      const file = path.join(directory, 'checkpoint-000000000006.sgc');
      const whole = await readCheckpoint(file);
      const facts = whole.facts as {readonly [name: string]: unknown};
      const without = (name: string): unknown =>
        Object.fromEntries(Object.entries(facts).filter(([key]) => key !== name));
      const lacks: {readonly [what: string]: CheckpointContent} = {
        ...Object.fromEntries(Object.keys(facts).map(name => [name, {...whole, facts: without(name)}])),
        nothing: {facts: null, arrays: []},
        variables: {facts: {...facts, arrays: []}, arrays: []},
        ...Object.fromEntries(
          whole.arrays.map(({name}) => [
            name,
            {
              facts: {...facts, arrays: (facts.arrays as string[]).filter(other => other !== name)},
              arrays: whole.arrays.filter(array => array.name !== name),
            },
          ]),
        ),
        shape: {
          facts,
          arrays: whole.arrays.map(array => (array.name === 'variable/1' ? {...array, shape: [1]} : array)),
        },
        order: {
          facts,
          arrays: whole.arrays.map(array =>
            array.name === 'order' ? {...array, values: array.values.map(() => 0)} : array,
          ),
        },
      };
      for (const [what, content] of Object.entries(lacks)) {
        await writeFile(file, await encodeCheckpoint(content));
        const variables = two();
        const error = await failure(go(directory, {variables, loss: line(variables)}));
        expect(error.code, what).to.be.oneOf(['checkpoint-corrupt', 'checkpoint-mismatch']);
        expect(
          variables.map(variable => variable.dataSync()[0]),
          what,
        ).to.deep.equal([0.5, Math.fround(-0.2)]);
      }
    });

    it('a format of another version is told as such', async () => {
      const bytes = await encodeCheckpoint({facts: {}, arrays: []});
      bytes[6] = '1'.charCodeAt(0);
      bytes.set(createHash('sha256').update(bytes.subarray(0, -32)).digest(), bytes.length - 32);
      const error = await failure(decodeCheckpoint(bytes, 'old.sgc'));
      expect(error.code).to.equal('checkpoint-version');
      expect(error.message).to.match(/old\.sgc is intact, but of version 1/);
    });

    it('an acceptance of what cannot be accepted is refused', async () => {
      for (const resume of [{accept: ['seed']}, {accept: 'data'}, {}, {accepts: ['data']}]) {
        const error = await go(fresh(), {resume: resume as {accept: Change[]}}).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(error).to.be.instanceOf(OptionError);
      }
    });
  });

  it('are one run’s at a time: a second one is told who has them, and changes nothing', async () => {
    const directory = fresh();
    let second: CheckpointError | undefined;
    const partial = path.join(directory, 'checkpoint-000000000001.sgc.0123456789abcdef.partial');
    const first = await run(directory, optimizers.sgd, {
      data: {
        length: 11,
        get: async index => {
          if (second === undefined) {
            await writeFile(partial, 'half');
            second = await failure(run(directory, optimizers.sgd));
            expect(await readFile(partial, 'utf8')).to.equal('half');
          }
          return Math.sin(index);
        },
      },
    });
    expect(second?.code).to.equal('checkpoint-locked');
    expect(second?.message).to.include(`process ${process.pid}`).and.to.include('lock.json');
    expect(first.weights).to.deep.equal((await run(undefined, optimizers.sgd)).weights);
    expect(await readdir(directory)).not.to.include('lock.json');
  });

  slow('whose run is dead are taken over, by one run', async () => {
    const dead = spawnSync(process.execPath, ['-e', '']).pid;
    const owner = JSON.stringify({pid: dead, host: hostname(), started: '', token: 'ended'});
    // Of a process that had this one's number, and one that was killed before it wrote its name.
    const before = JSON.stringify({pid: process.pid, host: hostname(), started: 'another boot/1', token: 'other'});
    for (const text of [owner, ...(process.platform === 'linux' ? [before] : []), '']) {
      const directory = fresh();
      await mkdir(directory);
      await writeFile(path.join(directory, 'lock.json'), text);
      const locks = await Promise.all(Array.from({length: 20}, () => FolderLock.take(fs, directory)));
      const holders = locks.filter(lock => lock instanceof FolderLock);
      expect(holders).to.have.length(1);
      expect(await holders[0].isHeld()).to.equal(true);
      await holders[0].release();
      expect(await readdir(directory)).to.deep.equal([]);
    }
    const directory = fresh();
    await mkdir(directory);
    await writeFile(
      path.join(directory, 'lock.json'),
      JSON.stringify({pid: dead, host: 'elsewhere.example', started: '', token: 'x'}),
    );
    expect((await failure(run(directory, optimizers.sgd))).message).to.match(/process \d+ on elsewhere\.example/);
  });

  it('that find no room do not end the run: it says so, has its weights, and is resumed from the latest', async () => {
    const whole = await run(fresh(), optimizers.adam);
    const {rename} = fs;
    const full = (): Promise<never> =>
      Promise.reject(Object.assign(new Error('ENOSPC: no space left on device'), {code: 'ENOSPC'}));
    const directory = fresh();
    const metrics = path.join(place, 'full.jsonl');
    const seen: (readonly string[])[] = [];
    try {
      const filled = await run(directory, optimizers.adam, {
        metrics,
        onProgress: ({step, warnings = []}) => {
          seen.push(warnings);
          if (step === 6) fs.rename = full;
          if (step === 9) fs.rename = rename;
          if (step === 15) fs.rename = full;
        },
      });
      expect(filled.weights).to.deep.equal(whole.weights);
      const [warning, ...more] = filled.result!.warnings;
      expect(more).to.deep.equal([]);
      expect(warning).to.match(/checkpoints were not written, at first after step 6: .*ENOSPC.* that of step 14\.$/);
      expect(seen[6][0]).to.match(/^Once the checkpoints .* that of step 5\.$/);
      expect(seen[4]).to.deep.equal([]);
    } finally {
      fs.rename = rename;
    }
    expect((await readdir(directory)).sort()).to.deep.equal([
      'checkpoint-000000000013.sgc',
      'checkpoint-000000000014.sgc',
    ]);
    const again = await run(directory, optimizers.adam, {metrics});
    expect(again.result).to.include({resumedFrom: 14});
    expect(again.result!.warnings).to.deep.equal([]);
    expect(again.weights).to.deep.equal(whole.weights);
    const steps = (await readFile(metrics, 'utf8')).split('\n').filter(line => line.includes('"step",'));
    expect(steps).to.have.length(again.result!.steps);
  });

  it('metrics that find no room are written later, each line once', async () => {
    const metrics = path.join(place, 'late.jsonl');
    const handle = await fs.open(metrics, 'a');
    const prototype = Object.getPrototypeOf(handle) as fs.FileHandle;
    await handle.close();
    const {appendFile} = prototype;
    try {
      const {result} = await run(undefined, optimizers.sgd, {
        metrics,
        onProgress: ({step}) => {
          // The disk takes a part of the text.
          if (step === 5)
            prototype.appendFile = async function (text) {
              await appendFile.call(this, (text as Buffer).subarray(0, 7));
              throw Object.assign(new Error('ENOSPC: no space left on device'), {code: 'ENOSPC'});
            };
          if (step === 9) prototype.appendFile = appendFile;
        },
      });
      expect(result!.warnings[0]).to.match(/^Once the metrics were not written, at first after step 8: /);
      const lines = (await readFile(metrics, 'utf8')).trim().split('\n');
      const steps = lines.map(line => JSON.parse(line) as {kind: string; step: number}).filter(({kind}) => kind === 'step'); // prettier-ignore
      expect(steps.map(({step}) => step)).to.deep.equal(steps.map((_, i) => i + 1));
      expect(steps).to.have.length(result!.steps);
    } finally {
      prototype.appendFile = appendFile;
    }
  });

  it('cannot be kept where a file stands', async () => {
    const directory = fresh();
    await writeFile(directory, '');
    expect((await failure(run(directory, optimizers.sgd))).code).to.equal('checkpoint-unwritable');
  });
});
