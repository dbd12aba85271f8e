/** The training loop against optimizers driven by hand, and what it promises of data, schedules, metrics and errors. */
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  DataError,
  implicitMidpoint,
  mechanics,
  NewtonError,
  OptionError,
  ShapeError,
  simulate,
  StiffgradError,
} from '../../../lib/index.js';
import {spring} from '../../../models/index.js';
import * as training from '../../../training/index.js';
import {train} from '../../../training/index.js';
import {cosine, exponential} from '../../../training/train/schedules.js';
import {segments} from '../../../training/train/segments.js';
import type {Metrics, TrainingProblem, TrainingProgress} from '../../../training/index.js';
import {trainingReport} from '../../../training/train/training-report.js';
import {page} from '../../../training/report/report.js';
import {elementsOf} from '../well-formed.js';
import {slow} from '../../tiers.js';

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Points of y = 2x − 1. */
const line: readonly Point[] = Array.from({length: 10}, (_, i) => ({x: i / 5 - 1, y: (2 * i) / 5 - 3}));

function problem(
  over: Partial<TrainingProblem<Point>> = {},
): TrainingProblem<Point> & {readonly variables: readonly [tf.Variable, tf.Variable]} {
  const variables = [tf.variable(tf.scalar(0)), tf.variable(tf.scalar(0))] as const;
  return {
    loss: batch =>
      tf.tidy(() =>
        tf.mean(
          tf.squaredDifference(
            tf.add(tf.mul(variables[0], tf.tensor1d(batch.map(({x}) => x))), variables[1]),
            tf.tensor1d(batch.map(({y}) => y)),
          ),
        ),
      ),
    optimizer: tf.train.sgd(0.1),
    data: line,
    epochs: 3,
    batchSize: 4,
    ...over,
    variables,
  };
}

const values = (variables: readonly tf.Variable[]): number[] => variables.flatMap(variable => [...variable.dataSync()]);

async function errorOf(run: Promise<unknown>): Promise<StiffgradError> {
  const error = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).to.be.instanceOf(StiffgradError);
  return error as StiffgradError;
}

describe('train', () => {
  it('takes the steps that the optimizer by itself would take, batch by batch', async () => {
    const own = problem({shuffle: false});
    await train(own);
    const byHand = problem();
    const optimizer = tf.train.sgd(0.1);
    for (let epoch = 0; epoch < 3; epoch++) {
      for (const [from, to] of [
        [0, 4],
        [4, 8],
        [8, 10],
      ])
        optimizer.minimize(
          () => byHand.loss(line.slice(from, to), {step: 0, epoch: 0, random: undefined as never}),
          false,
          [...byHand.variables],
        );
    }
    expect(values(own.variables)).to.deep.equal(values(byHand.variables));
  });

  slow('finds a line, and a stiffness through implicit steps', async () => {
    const own = problem({epochs: 60});
    const {history, best, steps} = await train(own);
    values(own.variables).forEach((value, i) => expect(value).to.be.closeTo([2, -1][i], 1e-3));
    expect(steps).to.equal(180);
    expect(history.map(({epoch}) => epoch)).to.deep.equal(Array.from({length: 60}, (_, i) => i + 1));
    expect(best?.loss).to.be.below(1e-5);

    const stiffness = tf.variable(tf.scalar(3));
    const options = {scheme: implicitMidpoint(), dt: 0.1, steps: 60};
    const truth = simulate(mechanics({mass: 1, forces: spring({stiffness: 4})}), {q: 1, v: 0}, options);
    const pieces = segments({t: truth.values('t'), q: truth.values('q'), v: truth.values('v')}, {length: 11});
    expect(pieces).to.have.length(6);
    const model = simulate.prepare(
      mechanics({mass: 1, forces: spring({stiffness})}),
      {q: 1, v: 0},
      {...options, steps: 10},
    );
    await train({
      loss: batch =>
        tf.tidy(() =>
          tf.div(
            tf.addN(
              batch.map(({first, values: {q}}) =>
                tf.mean(
                  tf.squaredDifference(
                    model.run({initial: {q: first.q[0], v: first.v[0]}}).q,
                    tf.tensor1d(Float32Array.from(q)),
                  ),
                ),
              ),
            ),
            batch.length,
          ),
        ),
      variables: [stiffness],
      optimizer: tf.train.adam(0.1),
      data: pieces,
      batchSize: 2,
      epochs: 60,
      schedule: exponential({rate: 0.1, factor: 0.5, every: 30}),
    });
    expect(stiffness.dataSync()[0]).to.be.closeTo(4, 1e-3);
    truth.dispose();
  });

  it('uses every example once an epoch, in an order that the seed repeats', async () => {
    const orders = async (seed: number, shuffle = true): Promise<number[][]> => {
      const seen: number[][] = [[], [], []];
      const own = problem({seed, shuffle});
      const {loss} = own;
      await train({
        ...own,
        loss: (batch, at) => {
          seen[at.epoch].push(...batch.map(({x}) => Math.round(5 * x + 5)));
          return loss(batch, at);
        },
      });
      return seen;
    };
    const first = await orders(1);
    for (const order of first) expect([...order].sort((a, b) => a - b)).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(first[0]).not.to.deep.equal(first[1]);
    expect(await orders(1)).to.deep.equal(first);
    expect(await orders(2)).not.to.deep.equal(first);
    expect(await orders(1, false)).to.deep.equal(Array(3).fill([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
  });

  it('fetches examples that are not in memory', async () => {
    const own = problem({data: {length: 10, get: i => Promise.resolve(line[i])}, shuffle: false});
    await train(own);
    const plain = problem({shuffle: false});
    await train(plain);
    expect(values(own.variables)).to.deep.equal(values(plain.variables));
  });

  it('sets the learning rate of every kind of optimizer', async () => {
    for (const make of [
      () => tf.train.sgd(1),
      () => tf.train.momentum(1, 0.5),
      () => tf.train.adam(1),
      () => tf.train.rmsprop(1),
      () => tf.train.adagrad(1),
    ]) {
      const [scheduled, fixed] = [problem({optimizer: make(), schedule: () => 0}), problem({optimizer: make()})];
      await train(scheduled);
      await train(fixed);
      expect(values(scheduled.variables), 'rate 0 moves nothing').to.deep.equal([0, 0]);
      expect(values(fixed.variables)).not.to.deep.equal([0, 0]);
    }
  });

  it('shortens gradients to a norm, and clips their numbers', async () => {
    // One step of SGD at rate 1 moves by the gradient itself; at 0 that is −2 mean(xy), −2 mean(y).
    const gradient = [
      (-2 * line.reduce((sum, {x, y}) => sum + x * y, 0)) / 10,
      (-2 * line.reduce((sum, {y}) => sum + y, 0)) / 10,
    ];
    const norm = Math.hypot(...gradient);
    const step = async (clip: TrainingProblem<Point>['clip']): Promise<number[]> => {
      const own = problem({optimizer: tf.train.sgd(1), batchSize: 10, epochs: 1, clip});
      await train(own);
      return values(own.variables);
    };
    (await step(undefined)).forEach((value, i) => expect(value).to.be.closeTo(-gradient[i], 1e-6));
    (await step({norm: 0.5})).forEach((value, i) => expect(value).to.be.closeTo((-0.5 * gradient[i]) / norm, 1e-6));
    (await step({norm: 100})).forEach((value, i) => expect(value).to.be.closeTo(-gradient[i], 1e-6));
    (await step({value: 0.3})).forEach((value, i) => expect(value).to.be.closeTo(-Math.sign(gradient[i]) * 0.3, 1e-6));
  });

  it('stops early, with the best values', async () => {
    let epoch = 0;
    const seen: number[][] = [];
    const own = problem({
      epochs: 50,
      validation: {
        data: line.slice(0, 2),
        loss: () => {
          seen.push(values(own.variables));
          // Falls for three epochs, then rises.
          return tf.scalar(Math.abs(3 - ++epoch));
        },
      },
      earlyStopping: {patience: 2},
    });
    const {stopped, epochs, best, history} = await train(own);
    expect([stopped, epochs, best]).to.deep.equal(['early', 5, {epoch: 3, loss: 0}]);
    expect(values(own.variables)).to.deep.equal(seen[2]);
    expect(history.map(({validation}) => validation)).to.deep.equal([2, 1, 0, 1, 2]);
  });

  it('validates over all examples, also where batches differ in size', async () => {
    const own = problem({epochs: 1, optimizer: tf.train.sgd(1e-30), validation: {data: line}});
    const {history} = await train(own);
    const mean = line.reduce((sum, {y}) => sum + y * y, 0) / line.length;
    expect(history[0].validation).to.be.closeTo(mean, 1e-6 * mean);
    expect(history[0].loss).to.be.closeTo(mean, 1e-6 * mean);
  });

  it('leaves out steps that fail, where it is told to', async () => {
    let calls = 0;
    const failing = (over: Partial<TrainingProblem<Point>>): TrainingProblem<Point> => {
      const own = problem(over);
      return {
        ...own,
        loss: (batch, at) => {
          calls++;
          if (calls % 3 === 1) throw new NewtonError('newton-diverged', 'no');
          const loss = own.loss(batch, at);
          return calls % 3 === 2 ? tf.mul(loss, NaN) : loss;
        },
      };
    };
    const {skipped, steps, history} = await train(failing({onFailure: 'skip'}));
    expect([skipped, steps]).to.deep.equal([6, 9]);
    expect(history.every(({loss}) => Number.isFinite(loss))).to.equal(true);
    expect((await errorOf(train(failing({})))).code).to.equal('newton-diverged');
    calls = 1;
    expect((await errorOf(train(failing({})))).message).to.match(/in step 0 the loss is NaN/);
  });

  it('leaves no tensor behind', async () => {
    const own = problem({optimizer: tf.train.adam(0.1), clip: {norm: 1}, validation: {data: line}, onFailure: 'skip'});
    await train(own);
    const before = tf.memory().numTensors;
    await train(own);
    expect(tf.memory().numTensors).to.equal(before);
  });

  it('leaves no tensor behind where a loss throws midway', async () => {
    const own = problem({onFailure: 'skip'});
    const failing = {
      ...own,
      loss: ((batch, at) => {
        const half = own.loss(batch, at);
        if (at.step % 2 === 0)
          throw new NewtonError('newton-diverged', 'as a step that diverges after half of the loss', {});
        return half;
      }) as typeof own.loss,
    };
    const before = tf.memory().numTensors;
    const {skipped} = await train(failing);
    expect([skipped, tf.memory().numTensors - before]).to.deep.equal([5, 0]);
    await errorOf(train({...failing, onFailure: 'throw'}));
    expect(tf.memory().numTensors).to.equal(before);
  });

  it('tells each step and epoch, and how long it will take', async () => {
    const told: Metrics[] = [];
    const seen: TrainingProgress[] = [];
    await train(problem({metrics: one => told.push(one), onProgress: one => seen.push(one)}));
    expect(told.map(({kind}) => kind).join(' ')).to.equal(Array(3).fill('step step step epoch').join(' '));
    expect(seen.map(({step}) => step)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for (const {rate, secondsLeft, step} of seen) expect(secondsLeft * rate).to.be.closeTo(9 - step, 1e-9);
    const place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-metrics-'));
    try {
      await train(problem({metrics: path.join(place, 'deep', 'metrics.jsonl')}));
      const lines = (await readFile(path.join(place, 'deep', 'metrics.jsonl'), 'utf8'))
        .trim()
        .split('\n')
        .map(text => JSON.parse(text) as Metrics);
      expect(lines.map(({kind, step, epoch}) => [kind, step, epoch])).to.deep.equal(
        told.map(({kind, step, epoch}) => [kind, step, epoch]),
      );
    } finally {
      await rm(place, {recursive: true});
    }
  });

  it('reports as a well-formed page', async () => {
    const own = problem({epochs: 5, validation: {data: line}, schedule: cosine({rate: 0.1, warmup: 3})});
    const result = await train(own);
    const html = page(trainingReport(result, {notes: ['a < b']}));
    elementsOf(html);
    expect(html.match(/<svg class="chart"/g)).to.have.length(2);
    expect(html).to.include('validation').and.to.include('a &lt; b').and.not.to.include('Parameters');
  });

  it('schedules: decay by its formula, cosine from the warm-up to the end', () => {
    const at = (step: number) => ({step, steps: 110, epoch: 0});
    const decay = exponential({rate: 1, factor: 0.1, every: 10});
    expect(decay(at(20))).to.be.closeTo(0.01, 1e-15);
    expect(exponential({rate: 1, factor: 0.1, every: 10, stairs: true})(at(19))).to.equal(0.1);
    const rate = cosine({rate: 2, least: 1, warmup: 10});
    expect([rate(at(0)), rate(at(9)), rate(at(10)), rate(at(60)), rate(at(110))]).to.deep.equal([0.2, 2, 2, 1.5, 1]);
    expect(() => exponential({rate: 1, factor: 0, every: 1})).to.throw(
      OptionError,
      /factor must be a positive number, not 0/,
    );
  });

  describe('refuses', () => {
    const refused: readonly (readonly [string, Partial<TrainingProblem<Point>>, RegExp])[] = [
      ['a misspelt option', {batchsize: 3} as object, /Did you mean 'batchSize'/],
      ['no data', {data: []}, /data is empty/],
      ['half a batch', {batchSize: 0.5}, /batchSize must be a whole number/],
      ['a resumption from nowhere', {resume: true}, /resume needs checkpoint/],
      ['an unknown clip', {clip: {length: 1} as object}, /clip has no option 'length'/],
      ['another answer to failures', {onFailure: 'ignore' as 'skip'}, /onFailure must be one of/],
    ];
    for (const [name, over, message] of refused) {
      it(name, async () => {
        const error = await errorOf(train({...problem(), ...over}));
        expect(error).to.be.instanceOf(OptionError);
        expect(error.message).to.match(message);
      });
    }

    it('variables that cannot be trained, and losses that are no number', async () => {
      const own = problem();
      expect((await errorOf(train({...own, variables: [tf.scalar(1) as tf.Variable]}))).message).to.match(
        /variables\[0\] is not a tf.Variable/,
      );
      expect((await errorOf(train({...own, variables: [tf.variable(tf.scalar(1), false)]}))).message).to.match(
        /cannot be trained/,
      );
      expect((await errorOf(train({...own, variables: [own.variables[0], own.variables[0]]}))).message).to.match(
        /twice/,
      );
      expect((await errorOf(train({...own, optimizer: 'adam' as unknown as tf.Optimizer}))).message).to.match(
        /optimizer must be one of tfjs's, such as tf.train.adam\(0.01\), not 'adam'/,
      );
      expect((await errorOf(train({...own, loss: 3 as never}))).message).to.match(/loss must be a function/);
      expect(
        (await errorOf(train({...own, loss: () => tf.mul(own.variables[0], tf.ones([3])) as unknown as tf.Scalar})))
          .message,
      ).to.match(/shape \[3\]/);
    });
  });
});

describe('a loss that does not reach the variables', () => {
  it('is told of: asynchronous, without any variable, without one of them', async () => {
    const own = problem();
    const before = tf.memory().numTensors;
    const waiting = await errorOf(
      train({...own, loss: (async (batch: readonly Point[], at: never) => own.loss(batch, at)) as never}),
    );
    expect(waiting.message).to.match(/the loss is asynchronous.*data: \{length, get\(i\)\}/);
    const apart = await errorOf(train({...own, loss: () => tf.scalar(1)}));
    expect([apart.code, apart instanceof OptionError]).to.deep.equal(['no-gradient', true]);
    expect(apart.message).to.match(/^train: the loss depends on none of the variables/);
    expect(tf.memory().numTensors).to.equal(before);
    const idle = tf.variable(tf.scalar(1), true, 'left-out');
    const result = await train({...own, variables: [...own.variables, idle]});
    expect(result.warnings).to.have.length(1);
    expect(result.warnings[0]).to.match(/^variables\[2\] \('left-out'\) never got a gradient/);
    expect(idle.dataSync()[0]).to.equal(1);
    expect(page(trainingReport(result))).to.include('left-out');
    expect((await train(own)).warnings).to.deep.equal([]);
  });
});

describe('misspelt options', () => {
  const t = [0, 1, 2];
  const cases: readonly (readonly [string, () => unknown, RegExp])[] = [
    [
      'signal',
      () => training.signal(t, t, 'linear', {mising: 'bridge'} as never),
      /^signal has no option 'mising'; .* Did you mean 'missing'\?/,
    ],
    [
      'samples.times',
      () => training.samples.times(Float64Array.from(t), 't', {intervall: 1} as never),
      /Did you mean 'interval'/,
    ],
    [
      'levenbergMarquardt',
      () => training.levenbergMarquardt({maxIteration: 3} as never),
      /Did you mean 'maxIterations'/,
    ],
    [
      'its tolerance',
      () => training.levenbergMarquardt({tolerance: {grad: 1} as never}),
      /levenbergMarquardt: tolerance has no option 'grad'/,
    ],
    ['lbfgs', () => training.lbfgs({memori: 3} as never), /Did you mean 'memory'/],
    ['adam', () => training.adam({iteration: 3} as never), /Did you mean 'iterations'/],
    ['multiple', () => training.multiple({segments: 3, segment: 4} as never), /Did you mean 'segments'/],
    [
      'exponentialDecay',
      () => exponential({rate: 1, factor: 1, every: 1, stair: true} as never),
      /Did you mean 'stairs'/,
    ],
    ['cosineDecay', () => cosine({rate: 1, warmUps: 3} as never), /Did you mean 'warmup'/],
    ['segments', () => segments({t}, {length: 2, strid: 1} as never), /Did you mean 'stride'/],
    ['readTable', () => training.readTable('none.csv', {mising: 'nan'} as never), /Did you mean 'missing'/],
    ['readTable.chunks', () => training.readTable.chunks('none.csv', {row: 3} as never).next(), /Did you mean 'rows'/],
    [
      'checkpoint',
      () => train(problem({checkpoint: {directory: 'none', every: 1, kep: 3} as never})),
      /train: checkpoint has no option 'kep'; .* Did you mean 'keep'/,
    ],
    ['earlyStopping', () => train(problem({earlyStopping: {patience: 3, leats: 3} as never})), /Did you mean 'least'/],
    ['validation', () => train(problem({validation: {data: line, evry: 3} as never})), /Did you mean 'every'/],
  ];
  for (const [owner, wrong, message] of cases) {
    it(`of ${owner} are told of`, async () => {
      const error = await errorOf(Promise.resolve().then(wrong));
      expect(error).to.be.instanceOf(OptionError);
      expect(error.message).to.match(message);
    });
  }
});

describe('segments', () => {
  const t = [10, 11, 12, 13, 14, 15, 16];
  const q = t.map(time => [time, -time]);

  it('share their ends, and have clocks of their own', () => {
    const [first, second, ...rest] = segments({t, q}, {length: 3});
    expect(rest).to.have.length(1);
    expect([...first.t, ...second.t]).to.deep.equal([0, 1, 2, 0, 1, 2]);
    expect(second.offset).to.equal(12);
    expect([...second.values.q]).to.deep.equal([12, -12, 13, -13, 14, -14]);
    expect([...second.first.q]).to.deep.equal([12, -12]);
  });

  it('overlap or leave gaps by their stride', () => {
    expect(segments({t, q}, {length: 3, stride: 1}).map(({offset}) => offset)).to.deep.equal([10, 11, 12, 13, 14]);
    expect(segments({t, q}, {length: 2, stride: 4}).map(({offset}) => offset)).to.deep.equal([10, 14]);
    expect(segments({t, q}, {length: 7})).to.have.length(1);
  });

  it('refuse what does not fit', () => {
    expect(() => segments({t, q}, {length: 8})).to.throw(OptionError, /from 2 to 7, the number of samples/);
    expect(() => segments({t, q}, {length: 2, stride: 0})).to.throw(OptionError, /stride/);
    expect(() => segments({t, q: [1, 2]}, {length: 2})).to.throw(ShapeError, /q has shape \[2\]/);
    for (const [times, pattern] of [
      [[0, 1, 1, 2], /sample 2 is at 1 after 1/],
      [[0, 1, 0.5, 2], /sample 2 is at 0\.5 after 1/],
      [[3, 2, 1, 0], /sample 1 is at 2 after 3/],
      [[0, NaN, 1, 2], /sample 1 is at NaN/],
    ] as const)
      expect(() => segments({t: times as never, q: [0, 1, 4, 9]}, {length: 2}))
        .to.throw(DataError, pattern)
        .with.property('code', 'time-order');
  });
});
