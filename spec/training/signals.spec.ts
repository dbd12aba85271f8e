/** Fits and trainings that a signal ends between two of their steps: an AbortError, with nothing left. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {AbortError, implicitMidpoint, ode} from '../../lib/index.js';
import {identify, positive, train} from '../../training/index.js';

const reason = new Error('enough');

async function expectAborted(f: () => Promise<unknown>): Promise<void> {
  const before = tf.memory().numTensors;
  const error = (await f().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )) as AbortError;
  expect(error, String(error)).to.be.instanceOf(AbortError);
  expect(error.cause).to.equal(reason);
  expect(tf.memory().numTensors).to.equal(before);
}

describe('a signal', () => {
  it('ends identify', async () => {
    const t = Array.from({length: 21}, (_, i) => i / 20);
    const problem = {
      system: ode(({y, params}) => tf.neg(tf.mul(y, params.k as tf.Tensor))),
      initial: {y: 1},
      data: {t, y: t.map(time => Math.exp(-2 * time))},
      parameters: {k: positive(0.5)},
      scheme: implicitMidpoint(),
      dt: 0.05,
    };
    await expectAborted(() => identify({...problem, signal: AbortSignal.abort(reason)}));
    const controller = new AbortController();
    let told = 0;
    await expectAborted(() =>
      identify({
        ...problem,
        signal: controller.signal,
        onProgress: () => {
          if (++told === 2) controller.abort(reason);
        },
      }),
    );
    expect(told).to.equal(2);
  });

  it('ends train, with what the steps before it have found', async () => {
    const slope = tf.variable(tf.scalar(0));
    const problem = {
      loss: (batch: readonly number[]) =>
        tf.tidy(() =>
          tf.mean(tf.squaredDifference(tf.mul(slope, tf.tensor1d([...batch])), tf.tensor1d(batch.map(x => 2 * x)))),
        ) as tf.Scalar,
      variables: [slope],
      optimizer: tf.train.sgd(0.1),
      data: [1, 1, 1, 1],
      epochs: 1000,
      batchSize: 2,
    };
    await expectAborted(() => train({...problem, signal: AbortSignal.abort(reason)}));
    expect(slope.dataSync()[0]).to.equal(0);
    const controller = new AbortController();
    await expectAborted(() =>
      train({
        ...problem,
        signal: controller.signal,
        onProgress: ({step}) => {
          if (step === 3) controller.abort(reason);
        },
      }),
    );
    // s ← s + 0.2 (2 − s), three times from 0, in float32.
    expect(slope.dataSync()[0]).to.be.closeTo(2 * (1 - 0.8 ** 3), 1e-6);
    slope.dispose();
  });
});
