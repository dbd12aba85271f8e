/**
 * A compiled step of training: its updates against the optimizers' formulas written out in double precision, tfjs's own
 * Adam, and minima that are known; batches of any length; states that come back to the bit; the tape where a loss
 * cannot be traced.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {adaptive, ode, OptionError, simulate, StiffgradError, tsit5} from '../../../lib/index.js';
import type {ObjectiveAt, Params} from '../../../lib/index.js';
import {Calls} from '../../../lib/simulate/loss-call.js';
import {mlp} from '../../../models/index.js';
import {adam, lbfgs, train, trainingStep} from '../../../training/index.js';
import {adamW, sgd} from '../../../training/train/update-rules.js';
import {cosine, exponential} from '../../../training/train/schedules.js';
import type {StepState, TrainingStepOptions, UpdateRule} from '../../../training/index.js';
import type {TrainingInputs} from '../../../training/train/step-gradients.js';
import {slow} from '../../tiers.js';

type With<Name extends string> = {readonly [name in Name]: tf.Tensor};

const k = tf.variable(tf.tensor1d([0.5, 1.5]));
const c = tf.variable(tf.scalar(0.25));
const decay = ode(({y}) => tf.sub(c, tf.mul(k, y)));
const options = {scheme: tsit5(), dt: 0.1, steps: 10};
const model = simulate.prepare(decay, {y: [1, 2]}, options);
/** y of rates 1 and 1.2 to the level 0.4/k. */
const exact = (rate: number, start: number): number[] =>
  Array.from({length: 11}, (_, n) => 0.4 / rate + (start - 0.4 / rate) * Math.exp(-0.1 * n * rate));
const data = {target: exact(1, 1).map((y, n) => [y, exact(1.2, 2)[n]])};
const loss = ({y, data: given}: ObjectiveAt): tf.Tensor =>
  tf.mean(tf.squaredDifference(y, (given as With<'target'>).target));

/** Value and gradient at numbers of one's own. */
function at(x: readonly number[]): {value: number; gradient: number[]} {
  const {value, gradient} = model.valueAndGrad(loss, {
    data,
    variables: new Map<tf.Variable, Float64Array>([
      [k as tf.Variable, Float64Array.of(x[0], x[1])],
      [c as tf.Variable, Float64Array.of(x[2])],
    ]),
  });
  return {
    value,
    gradient: [
      ...(gradient.variables.get(k as tf.Variable) ?? []),
      ...(gradient.variables.get(c as tf.Variable) ?? []),
    ],
  };
}
const begin = [0.5, 1.5, 0.25];
const variables = [k, c] as tf.Variable[];
const reset = (): void => {
  k.assign(tf.tensor1d([0.5, 1.5]));
  c.assign(tf.scalar(0.25));
};
const stepOf = (optimizer: TrainingStepOptions<typeof decay>['optimizer'], more: object = {}) =>
  trainingStep(model, {loss, optimizer, variables, ...more});
const valuesOf = (step: ReturnType<typeof stepOf>): number[] =>
  variables.flatMap(variable => [...step.values(variable)]);

/** The formulas of the papers, number by number. */
const formulas: {readonly [name: string]: {rule: UpdateRule; move: (g: number[], n: number, x: number[]) => number[]}} =
  {
    'adam (Kingma & Ba, algorithm 1)': {
      rule: adam({rate: 0.02, beta1: 0.8, beta2: 0.95}),
      move: (() => {
        const [m, v] = [
          [0, 0, 0],
          [0, 0, 0],
        ];
        return (g, n, x) =>
          x.map((value, i) => {
            m[i] = 0.8 * m[i] + 0.2 * g[i];
            v[i] = 0.95 * v[i] + 0.05 * g[i] ** 2;
            return value - (0.02 * (m[i] / (1 - 0.8 ** n))) / (Math.sqrt(v[i] / (1 - 0.95 ** n)) + 1e-8);
          });
      })(),
    },
    'adamW (Loshchilov & Hutter, algorithm 2)': {
      rule: adamW({rate: 0.02, decay: 0.3}),
      move: (() => {
        const [m, v] = [
          [0, 0, 0],
          [0, 0, 0],
        ];
        return (g, n, x) =>
          x.map((value, i) => {
            m[i] = 0.9 * m[i] + 0.1 * g[i];
            v[i] = 0.999 * v[i] + 0.001 * g[i] ** 2;
            return (
              value
              - (0.02 * (m[i] / (1 - 0.9 ** n))) / (Math.sqrt(v[i] / (1 - 0.999 ** n)) + 1e-8)
              - 0.02 * 0.3 * value
            );
          });
      })(),
    },
    sgd: {rule: sgd({rate: 0.3}), move: (g, _, x) => x.map((value, i) => value - 0.3 * g[i])},
    "sgd with Nesterov's momentum": {
      rule: sgd({rate: 0.1, momentum: 0.8, nesterov: true}),
      move: (() => {
        const v = [0, 0, 0];
        return (g, _, x) =>
          x.map((value, i) => {
            v[i] = 0.8 * v[i] + g[i];
            return value - 0.1 * (g[i] + 0.8 * v[i]);
          });
      })(),
    },
  };

describe('trainingStep', () => {
  beforeEach(reset);

  for (const [name, {rule, move}] of Object.entries(formulas))
    it(`takes the steps of ${name}`, () => {
      const step = stepOf(rule);
      let x = begin;
      for (let n = 1; n <= 15; n++) {
        const {value, gradient} = at(x);
        x = move(gradient, n, x);
        expect(step({data})).to.be.closeTo(value, 1e-13);
        expect(step.gradientNorm).to.be.closeTo(Math.hypot(...gradient), 1e-13);
        valuesOf(step).forEach((own, i) => expect(own).to.be.closeTo(x[i], 1e-12));
      }
      expect(step.count).to.equal(15);
    });

  it("moves as tfjs's Adam on its tape does, to single precision", () => {
    const step = stepOf(adam({rate: 0.05}));
    for (let n = 0; n < 10; n++) step({data});
    const ours = valuesOf(step);
    expect([...k.dataSync()]).to.deep.equal([0.5, 1.5]);
    const optimizer = tf.train.adam(0.05);
    const target = tf.tensor2d(data.target);
    for (let n = 0; n < 10; n++)
      optimizer.minimize(
        () => tf.tidy(() => tf.mean(tf.squaredDifference(model.run().y, target)) as tf.Scalar),
        false,
        variables,
      );
    [...k.dataSync(), ...c.dataSync()].forEach((own, i) => expect(own).to.be.closeTo(ours[i], 2e-5));
    tf.dispose([target]);
    optimizer.dispose();
  });

  it('clips by the norm and by value, and follows a schedule', () => {
    const {gradient} = at(begin);
    const norm = Math.hypot(...gradient);
    const byNorm = stepOf(sgd({rate: 1}), {
      clip: {norm: norm / 3},
      schedule: exponential({rate: 2, factor: 0.5, every: 1}),
    });
    byNorm({data});
    valuesOf(byNorm).forEach((own, i) => expect(own).to.be.closeTo(begin[i] - (2 * gradient[i]) / 3, 1e-13));
    byNorm({data});
    expect(byNorm.rate).to.equal(1);
    const most = 0.5 * Math.max(...gradient.map(Math.abs));
    const byValue = stepOf(sgd({rate: 1}), {clip: {value: most}});
    byValue({data});
    valuesOf(byValue).forEach((own, i) =>
      expect(own).to.be.closeTo(begin[i] - Math.sign(gradient[i]) * Math.min(most, Math.abs(gradient[i])), 1e-13),
    );
  });

  it('refuses options of an optimizer that end a search, as it has none', () => {
    for (const [optimizer, option] of [
      [adam({iterations: 30}), 'iterations'],
      [lbfgs({maxIterations: 9}), 'maxIterations'],
      [lbfgs({memory: 4, tolerance: {cost: 1e-4}}), 'tolerance'],
    ] as const)
      expect(() => stepOf(optimizer)).to.throw(OptionError, `({${option}}) ends a search of identify`);
  });

  it('finds a minimum by L-BFGS in a few steps', () => {
    // Targets by closed form: the minimum's loss is the scheme's error squared, of some 1e-8 each.
    const separate = {target: exact(1, 1).map((y, n) => [y, exact(1.2, 2)[n]])};
    const step = stepOf(lbfgs({memory: 5}));
    const losses = Array.from({length: 25}, () => step({data: separate}));
    expect(losses.every((value, i) => i === 0 || value <= losses[i - 1])).to.equal(true);
    [1, 1.2, 0.4].forEach((value, i) => expect(valuesOf(step)[i]).to.be.closeTo(value, 1e-4));
    const {count, values, optimizer} = step.save();
    const again = stepOf(lbfgs({memory: 5}));
    again.loss({data});
    again.restore({count, values, optimizer});
    expect([again({data}), ...valuesOf(again)]).to.deep.equal([step({data}), ...valuesOf(step)]);
  });

  it('takes the mean over a list of runs, of any length', () => {
    const members: TrainingInputs<typeof decay>[] = [1, 2, 3].map(y => ({initial: {y: [y, 1 - y]}, data}));
    const single = members.map(member => model.valueAndGrad(loss, member));
    const step = stepOf(sgd({rate: 1}));
    expect(step(members)).to.be.closeTo(
      single.reduce((sum, {value}) => sum + value / 3, 0),
      1e-14,
    );
    const mean = [0, 1].map(i =>
      single.reduce((sum, {gradient}) => sum + gradient.variables.get(k as tf.Variable)![i] / 3, 0),
    );
    [...step.values(k as tf.Variable)].forEach((own, i) => expect(own).to.be.closeTo(begin[i] - mean[i], 1e-13));
    expect(step(members.slice(0, 2))).to.be.above(0);
  });

  it('in one call into compiled code goes as before, to the bit: lists of runs, clipping, line searches', () => {
    const {after} = Calls;
    const batch: TrainingInputs<typeof decay>[] = [
      {data, initial: {y: [1, 2]}},
      {data, initial: {y: [2, 0.5]}},
    ];
    const path = (optimizer: TrainingStepOptions<typeof decay>['optimizer'], more: object, milliseconds: number) => {
      reset();
      Calls.after = milliseconds;
      const step = trainingStep(simulate.prepare(decay, {y: [1, 2]}, options), {loss, optimizer, variables, ...more});
      const losses = Array.from({length: 12}, (_, n) => step(n % 3 === 0 ? batch : batch[n % 2]));
      return {losses, values: valuesOf(step), norm: step.gradientNorm};
    };
    try {
      for (const [optimizer, more] of [
        [adam({rate: 0.05}), {clip: {norm: 0.05}}],
        [sgd({rate: 0.1, momentum: 0.9}), {clip: {value: 0.02}}],
        [lbfgs(), {}],
      ] as const)
        expect(path(optimizer, more, 0)).to.deep.equal(path(optimizer, more, Infinity));
    } finally {
      Calls.after = after;
      reset();
    }
  });

  it('goes on from a saved state to the same bits', () => {
    const step = stepOf(adamW({rate: 0.03}), {clip: {norm: 0.1}});
    for (let n = 0; n < 4; n++) step({data});
    const state = step.save();
    const losses = [step({data}), step({data})];
    const end = valuesOf(step);
    const other = stepOf(adamW({rate: 0.03}), {clip: {norm: 0.1}});
    other.loss({data});
    other.restore(state);
    expect([other({data}), other({data})]).to.deep.equal(losses);
    expect(valuesOf(other)).to.deep.equal(end);
    expect(() => stepOf(sgd()).values(tf.variable(tf.scalar(1)))).to.throw(
      OptionError,
      /values needs to know the variables/,
    );
    const another = stepOf(sgd());
    another.loss({data});
    expect(() => another.restore(state))
      .to.throw(OptionError)
      .with.property('code', 'bad-state');
  });

  it('goes on from a state before its first evaluation, read from a file, to the same bits', () => {
    const step = stepOf(adam({rate: 0.03}));
    for (let n = 0; n < 3; n++) step({data});
    const text = JSON.stringify(step.save());
    const losses = [step({data}), step({data})];
    const other = stepOf(adam({rate: 0.1}));
    other.restore(JSON.parse(text) as StepState);
    expect([other.count, other.rate]).to.deep.equal([3, 0.03]);
    expect(() => other.write()).to.throw(OptionError, /write needs to know the variables/);
    expect([other({data}), other({data})]).to.deep.equal(losses);
    expect(valuesOf(other)).to.deep.equal(valuesOf(step));
    // That of another optimizer is told of at every evaluation, so that no training begins from other numbers.
    const another = stepOf(sgd());
    another.restore({...(JSON.parse(text) as StepState), rule: undefined});
    for (let n = 0; n < 2; n++)
      expect(() => another({data}))
        .to.throw(OptionError)
        .with.property('code', 'bad-state');
  });

  it('takes a rate that was set along with a saved state', () => {
    const step = stepOf(adam({rate: 0.03}));
    step({data});
    step.rate = 0.001;
    step({data});
    const other = stepOf(adam({rate: 0.03}));
    other.loss({data});
    other.restore(step.save());
    expect(other.rate).to.equal(0.001);
    step({data});
    other({data});
    expect(valuesOf(other)).to.deep.equal(valuesOf(step));
  });

  it('sets a rate that is one, and refuses another value at once', () => {
    const step = stepOf(sgd({rate: 0.1}));
    step({data});
    for (const rate of [NaN, -1, Infinity, undefined, '0.2', null])
      expect(() => (step.rate = rate as never), String(rate))
        .to.throw(OptionError, /^trainingStep: rate must be a number of at least 0, not /)
        .with.property('code', 'bad-option');
    expect(step.rate).to.equal(0.1);
    const before = valuesOf(step);
    step.rate = 0;
    step({data});
    expect(valuesOf(step)).to.deep.equal(before);
    const search = stepOf(lbfgs());
    search.rate = undefined;
    expect(() => (search.rate = 0.1)).to.throw(OptionError, /lbfgs\(\) finds its step length by a line search/);
  });

  it("refuses another optimizer's state, or that of other options; the rate may differ", () => {
    const saved = (optimizer: TrainingStepOptions<typeof decay>['optimizer']): StepState => {
      const step = stepOf(optimizer);
      for (let n = 0; n < 3; n++) step({data});
      return JSON.parse(JSON.stringify(step.save())) as StepState;
    };
    const own = saved(adam({rate: 0.1}));
    for (const [state, optimizer, pattern] of [
      [
        own,
        adamW({rate: 0.1, decay: 0.5}),
        /is the state of adam\({beta1: 0\.9, .*}\), and the optimizer here is adamW\({.*decay: 0\.5}\)/,
      ],
      [own, adam({beta1: 0.5}), /beta1: 0\.9.*beta1: 0\.5/],
      [saved(sgd({momentum: 0.9})), sgd({momentum: 0.9, nesterov: true}), /nesterov: false.*nesterov: true/],
      [saved(sgd()), lbfgs(), /is the state of sgd/],
      [saved(lbfgs()), sgd(), /is the state of lbfgs/],
    ] as const) {
      // At once, also before the first evaluation.
      const [later, first] = [stepOf(optimizer), stepOf(optimizer)];
      later.loss({data});
      for (const step of [later, first])
        expect(() => step.restore(state))
          .to.throw(OptionError, pattern)
          .with.property('code', 'bad-state');
      expect([later.count, first.count]).to.deep.equal([0, 0]);
    }
    const other = stepOf(adam({rate: 0.5}));
    other.restore(own);
    expect(other.rate).to.equal(0.1);
    // Without the rule, as before there was one, the vectors are taken for those of this optimizer.
    const {rule, ...vectors} = own;
    expect(rule?.name).to.equal('adam');
    const taken = stepOf(adamW({decay: 0.5}));
    taken.restore(vectors);
    taken.loss({data});
    expect([taken.count, ...valuesOf(taken)]).to.deep.equal([3, ...own.values]);
    // A longer memory has room for the pairs of a shorter one.
    stepOf(lbfgs({memory: 5})).restore(saved(lbfgs({memory: 3})));
    expect(() => stepOf(adam()).restore({...own, rule: 'adam'} as never)).to.throw(OptionError, /rule is not a name/);
  });

  it('tells of a gradient that was 0 in every step, until it is not', () => {
    const level = tf.variable(tf.scalar(1)) as tf.Variable;
    const ignoring = trainingStep(model, {loss: () => tf.square(level), optimizer: sgd({rate: 0.1})});
    ignoring({data});
    ignoring({data});
    const told = ignoring.warnings.map(
      warning => /^variables\[\d\] \('(.*)'\) had a gradient of 0 in every step/.exec(warning)?.[1],
    );
    expect(told.sort()).to.deep.equal([k.name, c.name].sort());
    // Of (level − 1)², level in its minimum; once it has been off, it is no longer told of.
    const resting = trainingStep(model, {
      loss: ({y, data: given}) => tf.add(tf.mean(y), tf.square(tf.sub(level, (given as With<'aim'>).aim))),
      optimizer: sgd({rate: 0.1}),
    });
    level.assign(tf.scalar(1));
    resting({data: {aim: 1}});
    expect(resting.warnings).to.have.length(1);
    expect(resting.warnings[0]).to.include(level.name);
    resting({data: {aim: 2}});
    expect(resting.warnings).to.deep.equal([]);
    resting({data: {aim: 1}});
    expect(resting.warnings).to.deep.equal([]);
    level.dispose();
  });

  it('tells of variables that no gradient reaches, and of those that another run reads', () => {
    const idle = tf.variable(tf.tensor1d([1, 2])) as tf.Variable;
    const some = stepOf(sgd(), {variables: [...variables, idle]});
    some.loss({data});
    expect(some.warnings).to.deep.equal([]);
    // Its numbers are the start; a gradient goes to the start, and not to it.
    some({initial: {y: idle}, data} as never);
    expect(some.warnings).to.have.length(1);
    expect(some.warnings[0]).to.match(/^variables\[2\] .* never got a gradient/);
    expect([...some.values(idle)]).to.deep.equal([1, 2]);
    const none = stepOf(sgd(), {variables: [idle]});
    expect(() => none({initial: {y: idle}, data} as never))
      .to.throw(OptionError, /depends on none of the variables/)
      .with.property('code', 'no-gradient');
    const all = trainingStep(model, {loss, optimizer: sgd()});
    all([{data}, {data}]);
    const trained = all.values(k as tf.Variable);
    expect(() => all([{data}, {initial: () => ({y: idle}), data} as never]))
      .to.throw(OptionError, /which the first run did not/)
      .with.property('code', 'no-gradient');
    expect(all.values(k as tf.Variable)).to.deep.equal(trained);
    idle.dispose();
  });

  it("keeps tfjs's variables as they are until it is asked to write or read them; no tensor is left behind", () => {
    const step = stepOf(adam());
    step({data});
    const {numTensors} = tf.memory();
    step({data});
    step.write();
    expect(tf.memory().numTensors).to.equal(numTensors);
    expect([...k.dataSync()]).to.deep.equal([...Float32Array.from(step.values(k as tf.Variable))]);
    reset();
    step.read();
    expect([...step.values(k as tf.Variable)]).to.deep.equal([0.5, 1.5]);
  });

  slow('trains an encoder, a network and a decoder together along irregular times, traced once', () => {
    const network = mlp({sizes: [2, 8, 2], activation: 'tanh', seed: 3});
    const encoder = mlp({sizes: [3, 2], seed: 4});
    const decoder = mlp({sizes: [2, 1], seed: 5});
    const latent = simulate.prepare(
      ode(({y}) => network.apply(y)),
      {y: [[0, 0]]},
      {
        scheme: tsit5(),
        dt: 0.1,
        t1: 1,
        control: adaptive({rtol: 1e-6, atol: 1e-8}),
        saveAt: [0, 0.1, 0.35, 0.8, 1],
        observe: ({y}) => decoder.apply(y),
      },
    );
    let traced = 0;
    const step = trainingStep(latent, {
      optimizer: adam({rate: 0.02}),
      initial: ({data: given}: {data: Params}) => {
        traced++;
        return {y: encoder.apply(tf.reshape((given as With<'seen'>).seen, [1, 3]))};
      },
      loss: ({observed, data: given}) => {
        traced++;
        return tf.mean(tf.squaredDifference(tf.reshape(observed, [5]), (given as With<'target'>).target));
      },
    });
    const curve = (phase: number) => [0, 0.1, 0.35, 0.8, 1].map(t => Math.sin(3 * t + phase));
    const batch = [0, 0.5, 1].map(phase => ({data: {seen: curve(phase).slice(0, 3), target: curve(phase)}}));
    const before = step.loss(batch);
    for (let n = 0; n < 120; n++) step(batch);
    expect(step.loss(batch)).to.be.below(0.05 * before);
    expect(traced).to.equal(2);
    expect(step.compiled).to.equal(true);
    expect(new Set(step.variables)).to.deep.equal(
      new Set([...network.variables, ...encoder.variables, ...decoder.variables]),
    );
  });

  it("runs on tfjs's tape where the loss cannot be traced, and says so", () => {
    let seen = 0;
    const reading = ({y, data: given}: ObjectiveAt): tf.Tensor => {
      seen = y.dataSync()[0];
      return tf.mean(tf.squaredDifference(y, (given as With<'target'>).target));
    };
    const step = trainingStep(model, {loss: reading, optimizer: adam({rate: 0.05}), variables});
    const compiled = stepOf(adam({rate: 0.05}));
    for (let n = 0; n < 5; n++) expect(step({data})).to.be.closeTo(compiled({data}), 1e-6);
    expect(seen).to.equal(1);
    expect(step.compiled).to.equal(false);
    expect(step.warnings.join()).to.match(/runs on tfjs's tape, because it cannot be compiled: .*dataSync/);
    valuesOf(step).forEach((own, i) => expect(own).to.be.closeTo(valuesOf(compiled)[i], 1e-5));
    expect(() => trainingStep(model, {loss: reading, optimizer: adam()})({data})).to.throw(
      OptionError,
      /needs 'variables'/,
    );
  });

  it('is what train takes: epochs, validation, best values, failures skipped, a shorter last batch', async () => {
    const starts = [0.5, 1, 1.5, 2, 2.5];
    const examples = starts.map(y => ({y, target: exact(1, y).map((first, n) => [first, exact(1.2, y)[n]])}));
    const sizes: number[] = [];
    const step = stepOf(adam({rate: 0.05}));
    const problem = {
      step,
      batch: (batch: readonly (typeof examples)[number][]) => {
        sizes.push(batch.length);
        return batch.map(({y, target}) => ({initial: {y: [y, y]}, data: {target}}));
      },
      data: examples,
      batchSize: 2,
      epochs: 40,
      validation: {data: examples.slice(0, 2)},
      earlyStopping: {patience: 40},
    };
    const result = await train(problem);
    expect(new Set(sizes)).to.deep.equal(new Set([2, 1]));
    expect(result.steps).to.equal(120);
    expect(result.best?.loss).to.be.below(1e-3);
    expect(result.warnings).to.deep.equal([]);
    // Early stopping gives the best values back, to tfjs's variables too.
    expect(
      step.loss(examples.slice(0, 2).map(({y, target}) => ({initial: {y: [y, y]}, data: {target}}))),
    ).to.be.closeTo(result.best?.loss ?? NaN, 1e-15);
    expect([...k.dataSync()]).to.deep.equal([...Float32Array.from(step.values(k as tf.Variable))]);
    const skipped = await train({
      ...problem,
      batch: (batch: readonly (typeof examples)[number][]) =>
        batch.map(({y, target}) => ({
          initial: {y: [y, y]},
          data: {target: y === 2 ? target.map(() => [NaN, NaN]) : target},
        })),
      epochs: 2,
      validation: undefined,
      earlyStopping: undefined,
      onFailure: 'skip',
    });
    expect(skipped.skipped).to.equal(2);
  });

  it('is refused by train where options of both ways are mixed', async () => {
    const failure = async (more: object): Promise<unknown> =>
      train({step: stepOf(adam()), batch: () => ({data}), data: [1], epochs: 1, ...more} as never).catch(
        (error: unknown) => error,
      );
    for (const [more, pattern] of [
      [{optimizer: tf.train.sgd(1)}, /'optimizer' is an option of the step/],
      [{batch: undefined}, /needs 'batch'/],
      [{step: () => 0}, /made by trainingStep/],
      [{schedule: () => 0.1, step: stepOf(lbfgs())}, /lbfgs\(\) finds its step length by a line search: omit schedule/],
      [{schedule: () => 0.1, step: stepOf(adam(), {schedule: () => 0.2})}, /the step has a schedule already/],
      [{batch: async () => Promise.resolve({data})}, /batch returned a promise.*data: \{length, get\}/],
      [{batch: async () => Promise.reject(new Error('unread'))}, /batch returned a promise/],
      [{schedule: () => NaN}, /rate must be a number of at least 0, not NaN/],
    ] as const)
      expect(await failure(more))
        .to.be.instanceOf(OptionError)
        .with.property('message')
        .that.matches(pattern);
  });

  it('says what is wrong', () => {
    const fails = (call: () => unknown, pattern: RegExp): void => {
      expect(call).to.throw(StiffgradError, pattern);
    };
    fails(() => trainingStep(model, {loss, optimizer: tf.train.adam(0.1) as never}), /optimizer must be adam\(\)/);
    fails(() => trainingStep(decay as never, {loss, optimizer: adam()}), /must be made by simulate\.prepare/);
    fails(() => trainingStep(model, {loss: undefined as never, optimizer: adam()}), /loss must be a function/);
    // PyTorch refuses it too: without a momentum it would be plain descent.
    fails(() => sgd({nesterov: true}), /momentum is 0/);
    fails(() => stepOf(lbfgs(), {clip: {norm: 1}}), /omit schedule and clip/);
    fails(() => stepOf(adam(), {schedule: cosine({rate: 1})})({data}), /needs the option steps/);
    fails(() => stepOf(adam(), {shedule: 1}), /no option 'shedule'/);
    fails(() => stepOf(adam(), {variables: [k, k]}), /different trainable/);
    fails(() => stepOf(adam())([]), /empty list/);
    fails(() => sgd({momentum: 1}), /momentum is 1/);
    fails(() => adamW({beta1: 1}), /beta1 is 1/);
    const step = stepOf(adam());
    step({data});
    const before = valuesOf(step);
    const {count, values, optimizer} = step.save();
    const holed = Float64Array.from(values, () => NaN);
    for (const [state, wrong] of [
      [null, 'count'],
      [{}, 'count'],
      [{count: -1, values, optimizer}, 'count'],
      [{count: 0.5, values, optimizer}, 'count'],
      [{count, values, optimizer, rate: NaN}, 'rate'],
      [{count, values, optimizer: null}, 'optimizer'],
      [{count, values: holed, optimizer}, 'values'],
      [{count, values, optimizer: {...optimizer, mean: holed}}, 'mean'],
      [JSON.parse(JSON.stringify({...step.save()})), 'values'],
    ])
      fails(() => step.restore(state as never), new RegExp(`and ${wrong as string} is no`));
    step.restore({count, values: Array.from(values), optimizer} as never);
    fails(() => step({data: {target: data.target.map(row => row.map(() => NaN))}}), /loss is NaN/);
    expect(valuesOf(step)).to.deep.equal(before);
    expect(step.count).to.equal(1);
  });
});
