/** Starts on worker threads: the same bits as in one thread, whatever the method, the noise and the shooting; what cannot be sent is told. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {auto, batch, implicitMidpoint, mechanics, newton, ode, rk4, simulate} from '../../../lib/index.js';
import {
  adam,
  bounded,
  free,
  identify,
  lbfgs,
  levenbergMarquardt,
  multiple,
  type Identification,
  type IdentificationProblem,
} from '../../../training/index.js';
import {huber} from '../../../training/identify/noise.js';
import {slow} from '../../tiers.js';

/** All numbers of a fit, bit for bit. */
function numbers({minima, cost, estimate, standardError, correlation, history, noise, rmse}: Identification): unknown {
  return {minima, cost, estimate, standardError, correlation, history, noise, rmse};
}

async function fitted(problem: IdentificationProblem, workers: number | undefined): Promise<Identification> {
  const fit = await identify({...problem, workers});
  for (const trajectory of fit.trajectories) trajectory.dispose();
  return fit;
}

const links = 6;

/** Masses on cubic springs of stiffness a² with damping b²: the signs of a and b do not matter. */
const chain = mechanics<{a: tf.Tensor; b: tf.Tensor}>({
  mass: 1,
  forces: [
    ({q, params: {a}}) => {
      const stretch = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, [0], [links - 1])]));
      const tension = tf.mul(tf.square(a), tf.add(stretch, tf.mul(0.5, tf.pow(stretch, 3))));
      return tf.sub(tf.concat([tf.slice(tension, [1], [links - 1]), tf.zeros([1])]), tension);
    },
    ({v, params: {b}}) => tf.neg(tf.mul(tf.square(b), v)),
  ],
});
const start = {q: Array.from({length: links}, (_, i) => 0.1 * i), v: new Array<number>(links).fill(0)};
const scheme = implicitMidpoint();
const truth = {a: 2, b: 0.5};

function measured(steps = 200): {t: Float64Array; q: number[][]} {
  const run = simulate(chain, start, {scheme, dt: 0.05, steps, saveAt: {every: 10}, params: truth});
  const [t, all] = [run.values('t'), run.values('q')];
  run.dispose();
  const q = Array.from(t, (_, k) =>
    Array.from(
      all.slice(k * links, (k + 1) * links),
      (value, i) => value + 1e-3 * Math.sin(12.9898 * (k + 7 * i) ** 2),
    ),
  );
  return {t, q};
}

const problem: IdentificationProblem = {
  system: chain as never,
  initial: start,
  data: measured(),
  parameters: {a: free(1.5), b: free(0.4)},
  scheme,
  dt: 0.05,
  starts: 20,
  seed: 3,
};

describe('starts on worker threads', function () {
  this.timeout(60_000);
  after(() => batch.end());

  slow('twenty of a problem with four minima: the table is right, and the same bits as on one thread', async () => {
    const here = await fitted(problem, 0);
    expect(here.minima).to.have.length(4);
    for (const [signA, signB] of [
      [1, 1],
      [1, -1],
      [-1, 1],
      [-1, -1],
    ]) {
      const found = here.minima.find(({estimate: {a, b}}) => (a as number) * signA > 0 && (b as number) * signB > 0);
      // The noise has a deviation of 7e-4: it moves a by some 1e-3 of itself.
      expect(found?.estimate.a).to.be.closeTo(signA * truth.a, 0.01);
      expect(found?.estimate.b).to.be.closeTo(signB * truth.b, 0.01);
      expect(found?.cost).to.be.closeTo(here.cost, 1e-9 * here.cost);
    }
    expect(here.minima.reduce((sum, {count}) => sum + count, 0)).to.be.within(16, 20);
    for (const workers of [1, 2]) {
      const there = await fitted(problem, workers);
      expect(numbers(there)).to.deep.equal(numbers(here));
      expect(there.warnings).to.deep.equal(here.warnings);
    }
  });

  for (const [name, changes] of Object.entries({
    'of L-BFGS, by sweeps back': {method: lbfgs({maxIterations: 20})},
    'of Adam': {method: adam({iterations: 15, rate: 0.05})},
    'of multiple shooting': {shooting: multiple({segments: 3}), starts: 3},
    'with outliers': {noise: huber()},
    'with a prior and two records': {
      parameters: {a: free(1.5, {prior: {mean: 2, sd: 1}}), b: free(0.4)},
      data: [measured(), {...measured(100), name: 'short'}],
    },
    'with a record held out': {
      earlyStopping: {data: measured(100), patience: 2},
      method: levenbergMarquardt({maxIterations: 8}),
    },
  } satisfies {readonly [name: string]: Partial<IdentificationProblem>})) {
    slow(`... ${name}`, async () => {
      const changed = {...problem, starts: 4, ...changes};
      const here = await fitted(changed, 0);
      expect(numbers(await fitted(changed, 2))).to.deep.equal(numbers(here));
    });
  }

  it('leave starts that cannot be simulated out, and tell of them as one thread does', async () => {
    const explosive = ode<{k: tf.Tensor}>(({y, params: {k}}) => tf.mul(k, tf.square(y)));
    const changed: IdentificationProblem = {
      system: explosive as never,
      initial: {y: 1},
      data: {t: [0, 0.5, 1], y: [1, 1 / 0.75, 2]},
      parameters: {k: bounded(0, 1e300, 0.4)},
      scheme: rk4(),
      dt: 0.05,
      starts: 6,
      seed: 2,
    };
    const [here, there] = [await fitted(changed, 0), await fitted(changed, 2)];
    expect(here.warnings[0]).to.match(/^5 of 6 starts could not be simulated, the first because: /);
    expect(there.warnings).to.deep.equal(here.warnings);
    expect(numbers(there)).to.deep.equal(numbers(here));
    const refusals = await Promise.all(
      [0, 2].map(workers =>
        identify({...changed, parameters: {k: bounded(0, 1e300, 1e299)}, starts: 1, workers}).then(
          () => '',
          (error: unknown) => `${(error as Error).name}: ${(error as Error).message}`,
        ),
      ),
    );
    expect(refusals[0]).to.match(/identify: the guess cannot be simulated/);
    expect(refusals[1]).to.equal(refusals[0]);
  });

  it('run in the calling thread where the model cannot be sent, which the result tells', async () => {
    const own = {...problem, starts: 2, newton: newton({linear: {...auto(), name: 'mine'}})};
    const [here, there] = [await fitted(own, 0), await fitted(own, 2)];
    expect(here.warnings.join()).not.to.contain('calling thread');
    expect(there.warnings[0]).to.match(/^The simulations ran in the calling thread/);
    expect(numbers(there)).to.deep.equal(numbers(here));
  });

  slow('end when they are told to', async () => {
    const controller = new AbortController();
    const seen = new Set<number>();
    const failure = await identify({
      ...problem,
      workers: 2,
      signal: controller.signal,
      onProgress: ({start: number}) => {
        seen.add(number);
        if (number === 5) controller.abort();
      },
    }).then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    expect(failure?.name).to.equal('AbortError');
    expect(seen.size).to.be.below(20);
  });
});

describe('runs of a prepared simulation by a worker thread', function () {
  this.timeout(60_000);
  after(() => batch.end());

  slow('the same run, gradient and tangents to the last bit, observed too; several at once', async () => {
    const model = simulate.prepare(chain, start, {
      scheme,
      dt: 0.05,
      steps: 40,
      params: truth,
      observe: ({q, params: {a}}) => tf.mul(tf.sum(q), a),
    });
    const values = {params: {a: 1.7, b: 0.2}};
    const direction = {params: {a: 1, b: -1}, initial: {q: start.q.map(Math.cos)}};
    const [run, vjp, jvps] = [model.run(values), model.vjp(values), model.jvps([direction, {params: {b: 1}}], values)];
    const before = tf.memory().numTensors;
    const there = {...values, workers: 2};
    const [run2, vjp2, jvps2] = await Promise.all([
      model.runAsync(there),
      model.vjpAsync(there),
      model.jvpsAsync([direction, {params: {b: 1}}], there),
    ]);
    expect(run2.stats.thread).to.equal('worker');
    for (const name of ['t', 'q', 'v', 'observed'] as const) {
      expect(run2.values(name)).to.deep.equal(run.values(name));
      expect(jvps2.trajectory.values(name)).to.deep.equal(run.values(name));
    }
    expect(jvps2.tangents).to.deep.equal(jvps.tangents);
    const cotangent = {q: run.values('q'), observed: run.values('observed')};
    const {recomputedSteps: _here, ...gradient} = vjp.pullback(cotangent);
    const {recomputedSteps: _there, ...gradient2} = await vjp2.pullback(cotangent);
    expect(gradient2).to.deep.equal(gradient);
    for (const path of [run2, vjp2.trajectory, jvps2.trajectory]) path.dispose();
    expect(tf.memory().numTensors).to.equal(before);
    for (const path of [run, vjp.trajectory, jvps.trajectory]) path.dispose();
  });

  slow('errors are those of the run by itself', async () => {
    const model = simulate.prepare(chain, start, {scheme, dt: 0.05, steps: 40, params: truth});
    const values = {initial: {q: start.q, v: start.v.map(() => 1e200)}};
    const told = async (work: () => unknown): Promise<unknown> => {
      try {
        await work();
      } catch (error) {
        const {name, message} = error as Error;
        return {name, message};
      }
      throw new Error('no error');
    };
    const direction = {params: {a: 1}};
    const here = await told(() => model.jvps([direction], values));
    expect(await told(() => model.jvpsAsync([direction], {...values, workers: 1}))).to.deep.equal(here);
    expect(await told(() => model.runAsync({...values, workers: 1}))).to.deep.equal(here);
    expect(await told(() => model.runAsync({...values, workers: -1}))).to.have.property('name', 'OptionError');
  });
});
