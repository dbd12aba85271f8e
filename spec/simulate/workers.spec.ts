/**
 * A batch on worker threads: the same bits as without, whatever the number of threads; errors, ends and what cannot be
 * sent.
 */
import {spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {setImmediate} from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {BatchMember, BatchOptions, Cotangent, System, Trajectory} from '../../lib/index.js';
import {
  auto,
  backtracking,
  batch,
  batchAsync,
  bdf2,
  generalizedAlpha,
  gmres,
  implicitAdjoint,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newton,
  NewtonError,
  ode,
  simulate,
  SingularMatrixError,
  sparseLu,
  unrolledAdjoint,
} from '../../lib/index.js';
import {programKey} from '../../lib/graph/key.js';
import {input, mul, sub} from '../../lib/graph/build.js';
import {deserializeNodes, serializeNodes} from '../../lib/graph/serialize-graph.js';
import {importsOf, reachable, root} from '../package/sources.js';
import {slow} from '../tiers.js';

/** Everything of a batch and its gradient as one list of numbers. */
function numbers(
  system: System,
  members: readonly BatchMember[],
  options: BatchOptions,
): {all: Float64Array[]; threads: string[]} {
  const {trajectories, pullback} = batch.vjp(system, members, options);
  const names = ['t', 'q', 'v', 'y', 'observed'] as const;
  const series = trajectories.flatMap(path =>
    names.flatMap(name => {
      try {
        return [path.values(name)];
      } catch {
        return [];
      }
    }),
  );
  const cotangents = trajectories.map((path, i): Cotangent | undefined => {
    if (i === 1) return undefined;
    const name = path.y === undefined ? 'q' : 'y';
    const cotangent = path.values(name).map((x, at) => x + 0.1 * Math.sin(at));
    return path.observed === undefined ? {[name]: cotangent} : {[name]: cotangent, observed: path.values('observed')};
  });
  const gradient = pullback(cotangents);
  const leaves = (tree: object): Float64Array[] =>
    tree instanceof Float64Array ? [tree] : Object.values(tree).flatMap(leaves);
  const again = pullback(cotangents);
  expect(leaves(again.params)).to.deep.equal(leaves(gradient.params));
  const all = [
    ...series,
    ...leaves(gradient.params),
    ...gradient.variables.values(),
    ...gradient.tensors.values(),
    ...gradient.members.flatMap(({initial, params, variables}) => [
      ...leaves(initial),
      ...leaves(params),
      ...variables.values(),
    ]),
  ];
  const threads = trajectories.map(({stats}) => stats.thread);
  for (const path of trajectories) path.dispose();
  return {all, threads};
}

function same(system: System, members: readonly BatchMember[], options: BatchOptions): void {
  const here = numbers(system, members, {...options, workers: 0});
  expect(here.threads).to.deep.equal(members.map(() => 'own'));
  for (const workers of [2, 3]) {
    const there = numbers(system, members, {...options, workers});
    expect(there.threads).to.deep.equal(members.map(() => 'worker'));
    expect(there.all.length).to.equal(here.all.length);
    there.all.forEach((values, i) => expect(values, `${workers} workers, ${i}`).to.deep.equal(here.all[i]));
  }
}

const spring = mechanics({
  mass: 1,
  forces: [
    ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, tf.sinh(q))),
    ({v, params}) => tf.mul(v, tf.neg(params.c as tf.Tensor)),
  ],
});
const options = {dt: 0.05, steps: 40, params: {k: 3, c: 0.1}};
const starts: BatchMember[] = [
  {q: [1, 0], v: [0, 1]},
  {q: [-0.3, 0.2], v: [2, 0]},
  {initial: {q: [0.1, 1], v: [0, 0]}, params: {k: 50, c: 0}},
  {q: [2, 2], v: [1, -1]},
  {q: [0, 0], v: [0, 3]},
];

/**
 * A system whose Newton matrix has no diagonal to rely on, so that each member of the batch wants pivots of its own.
 */
const rotating = ode(({y, params}) => {
  const turned = tf.add(
    tf.mul(tf.reverse(y), params.a as tf.Tensor),
    tf.mul(tf.concat([tf.slice(y, [1], [9]), tf.slice(y, [0], [1])]), params.b as tf.Tensor),
  );
  return tf.sub(turned, y);
});
const rotated = Array.from({length: 6}, (_, i): BatchMember => ({
  initial: {y: Float64Array.from({length: 10}, (_x, j) => Math.cos(i + j))},
  params: {
    a: Float64Array.from({length: 10}, (_x, j) => 100 * Math.sin(1 + i * j)),
    b: Float64Array.from({length: 10}, (_x, j) => 100 * Math.cos(2 * i + j)),
  },
}));

/** Until three threads run: on a busy machine they may take longer to start than a batch waits for them. */
async function threadsStarted(): Promise<void> {
  for (;;) {
    const paths = batch(spring, starts, {...options, workers: 3});
    paths.forEach(path => path.dispose());
    if (paths.every(({stats}) => stats.thread === 'worker')) return;
    await setImmediate();
  }
}

/** What a program prints that runs by itself. */
function printed(program: string): string[] {
  const {stdout, status} = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    cwd: root,
    encoding: 'utf8',
    timeout: 100_000,
  });
  expect(status).to.equal(0);
  return stdout.trim().split('\n');
}

describe('batch on worker threads', function () {
  this.timeout(120_000);
  before(threadsStarted);
  after(() => batch.end());

  slow('of schemes that start from a first step, which is tried with half its length where it fails', () => {
    const stiff = mechanics({mass: 1, forces: ({q}) => tf.mul(tf.sinh(tf.mul(q, 2)), -20)});
    for (const scheme of [bdf2(), generalizedAlpha({rhoInf: 0.5})]) {
      same(
        stiff,
        [
          {q: [1, 0.5], v: [0, 1]},
          {q: [2, 0.1], v: [0, 1]},
          {q: [1.5, 0.1], v: [1, 1]},
        ],
        {scheme, dt: 0.8, steps: 3, newton: newton({onFailure: 'halve', maxIterations: 6})},
      );
    }
  });

  slow('gives the same bits on none, two and three, paths, gradients and sums, and those of simulate', () => {
    same(spring, starts, options);
    const [first] = batch(spring, starts, {...options, workers: 2});
    const alone = simulate(spring, {q: [1, 0], v: [0, 1]}, options);
    expect(first.values('q')).to.deep.equal(alone.values('q'));
    expect({...first.stats, milliseconds: 0, thread: ''}).to.deep.equal({...alone.stats, milliseconds: 0, thread: ''});
  });

  it('... of an ode with captured weights, observed', () => {
    const weights = tf.variable(
      tf.tensor2d([
        [0.3, -0.2],
        [0.5, 0.1],
      ]),
    );
    const network = ode(({y, t}) =>
      tf.sub(tf.reshape(tf.matMul(tf.tanh(tf.reshape(y, [1, 2])), weights), [2]), tf.mul(y, t)),
    );
    const members = [
      [1, 0],
      [0, 1],
      [2, -1],
    ].map(y => ({y}));
    same(network, members, {
      dt: 0.1,
      steps: 12,
      scheme: implicitEuler(),
      observe: ({y}) => tf.sum(tf.square(y)),
      saveAt: {every: 3},
    });
    weights.dispose();
  });

  slow('... with checkpoints, unrolledAdjoint, interpreter, Krylov methods, line searches, halved steps', () => {
    same(spring, starts, {...options, adjoint: implicitAdjoint({memory: 200})});
    same(spring, starts, {...options, adjoint: unrolledAdjoint(), newton: newton({iterations: 2})});
    same(spring, starts, {...options, engine: 'interpreter', steps: 5});
    same(spring, starts, {
      ...options,
      newton: newton({linear: gmres({preconditioner: 'diagonal'}), step: backtracking({decrease: 1e-3})}),
    });
    same(
      spring,
      [
        {q: [9, 1], v: [0, 0]},
        {q: [12, 0], v: [0, 1]},
        {q: [1, 1], v: [0, 0]},
      ],
      {
        ...options,
        dt: 0.5,
        newton: newton({maxIterations: 5, onFailure: 'halve'}),
        scheme: implicitEuler(),
        steps: 3,
      },
    );
  });

  slow('... where the sparse LU keeps pivots: what ran before a run is not seen in it', () => {
    const lu = {dt: 0.5, steps: 6, newton: newton({linear: sparseLu()}), scheme: implicitMidpoint()};
    same(rotating, rotated, lu);
    const forwards = numbers(rotating, rotated, {...lu, workers: 0});
    const backwards = numbers(rotating, [...rotated].reverse(), {...lu, workers: 0});
    const count = 2 * rotated.length;
    const ends = (all: Float64Array[]): Float64Array[] => all.slice(0, count).filter((_, i) => i % 2 === 1);
    expect(ends(backwards.all).reverse()).to.deep.equal(ends(forwards.all));
  });

  it('carries the same gradient on the tape, in the sum over the members', () => {
    const gradient = (workers: number): number[] => {
      const before = tf.memory().numTensors;
      const k = tf.scalar(3);
      const loss = (x: tf.Tensor): tf.Scalar => {
        const paths = batch(spring, starts.slice(0, 4), {...options, params: {k: x, c: 0.1}, saveAt: 'end', workers});
        return tf.addN([paths[0], paths[1], paths[3]].map(path => tf.sum(tf.square(path.q as tf.Tensor)))) as tf.Scalar;
      };
      const slope = tf.grad(loss)(k);
      const found = Array.from(slope.dataSync());
      tf.dispose([slope, k]);
      expect(tf.memory().numTensors).to.equal(before);
      return found;
    };
    const here = gradient(0);
    expect(gradient(2)).to.deep.equal(here);
    const {trajectories, pullback} = batch.vjp(spring, starts.slice(0, 4), {...options, saveAt: 'end', workers: 0});
    const exact = pullback(trajectories.map((path, i) => (i === 2 ? undefined : {q: path.values('q').map(x => 2 * x)})))
      .params.k as Float64Array;
    trajectories.forEach(path => path.dispose());
    // float32 in and out.
    expect(here[0]).to.be.closeTo(exact[0], 1e-6 * Math.abs(exact[0]));
  });

  it('throws the error of the first member that fails, with its class and number; the next batch runs', () => {
    const members = [
      {q: [1, 0], v: [0, 0]},
      {q: [1, 0], v: [0, 0]},
      {q: [800, 0], v: [0, 0]},
      {q: [900, 0], v: [0, 0]},
    ];
    const before = tf.memory().numTensors;
    const caught = [0, 2].map(workers => {
      try {
        batch(spring, members, {...options, workers});
      } catch (error) {
        return error as NewtonError;
      }
      throw new Error('no error');
    });
    for (const error of caught) {
      expect(error).to.be.instanceOf(NewtonError);
      expect(error.data.member).to.equal(2);
      expect(error.message).to.match(/^Member 2 of the batch: Step 0 of implicitMidpoint/i);
    }
    expect({...caught[1].data, code: caught[1].code, message: caught[1].message}).to.deep.equal({
      ...caught[0].data,
      code: caught[0].code,
      message: caught[0].message,
    });
    expect(() =>
      batch(
        mechanics({mass: ({params}) => params.m as tf.Tensor, forces: ({q}) => tf.neg(q)}),
        [
          {initial: {q: [1], v: [0]}, params: {m: 1}},
          {initial: {q: [1], v: [0]}, params: {m: 0}},
        ],
        {dt: 0.1, steps: 1, workers: 2},
      ),
    ).to.throw(SingularMatrixError, /Member 1 of the batch: .*mass/);
    expect(tf.memory().numTensors).to.equal(before);
    const paths = batch(spring, members, {...options, workers: 2, throw: false});
    expect(paths.map(({status}) => status === 'completed')).to.deep.equal([true, true, false, false]);
    paths.forEach(path => path.dispose());
  });

  it('runs in this thread what cannot be sent', () => {
    const own = {...auto(), name: 'mine'};
    const paths = (workers: number): Trajectory<System>[] =>
      batch(spring, starts, {...options, newton: newton({linear: own}), workers});
    const [here, asked] = [paths(0), paths(2)];
    expect(asked.map(({stats}) => stats.thread)).to.deep.equal(starts.map(() => 'own'));
    asked.forEach((path, i) => expect(path.values('q')).to.deep.equal(here[i].values('q')));
    expect(() => batch(spring, starts, {...options, workers: -1})).to.throw(/workers must be a whole number/);
  });

  slow('without waiting: the same bits, several at once, progress, and errors as rejections', async () => {
    const here = batch(spring, starts, {...options, workers: 0});
    let told = 0;
    const [first, second] = await Promise.all([
      batchAsync(spring, starts, {...options, onProgress: () => told++}),
      batchAsync(rotating, rotated, {dt: 0.1, steps: 2}),
    ]);
    expect(told).to.be.at.least(starts.length);
    expect(second.map(({status}) => status)).to.deep.equal(rotated.map(() => 'completed'));
    first.forEach((path, i) => {
      expect(path.stats.thread).to.equal('worker');
      expect(path.values('q')).to.deep.equal(here[i].values('q'));
    });
    const cotangents = here.map(path => ({q: path.values('q')}));
    const {pullback} = batch.vjp(spring, starts, {...options, workers: 0});
    const later = await batchAsync.vjp(spring, starts, options);
    const [one, two] = await Promise.all([later.pullback(cotangents), later.pullback(cotangents)]);
    expect(one.params).to.deep.equal(pullback(cotangents).params);
    expect(two).to.deep.equal(one);
    const failed = await batchAsync(
      spring,
      [
        {q: [1, 0], v: [0, 0]},
        {q: [800, 0], v: [0, 0]},
      ],
      options,
    ).then(
      () => undefined,
      (error: unknown) => error as NewtonError,
    );
    expect(failed).to.be.instanceOf(NewtonError);
    expect(failed?.data.member).to.equal(1);
    const stopped = (): never => {
      throw new RangeError('enough');
    };
    const thrown = await batchAsync(spring, starts, {...options, onProgress: stopped}).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(thrown).to.be.instanceOf(RangeError);
    expect(() => batch(spring, starts, {...options, onProgress: stopped, workers: 2})).to.throw(RangeError, 'enough');
    let onTape: Promise<unknown> = Promise.resolve();
    tf.grad(x => {
      onTape = batchAsync(spring, starts.slice(0, 2), {...options, params: {k: x, c: 0}}).then(
        () => undefined,
        (error: unknown) => error,
      );
      return tf.sum(x);
    })(tf.scalar(1)).dispose();
    expect(await onTape).to.have.property('code', 'async-tape');
    same(spring, starts, options);
  });

  slow('goes on where its threads are ended, and starts new ones', async () => {
    const under = batchAsync(spring, starts, options);
    await batch.end();
    const here = batch(spring, starts, {...options, workers: 0});
    (await under).forEach((path, i) => expect(path.values('q')).to.deep.equal(here[i].values('q')));
    await threadsStarted();
    same(spring, starts.slice(0, 2), options);
  });

  slow('keeps no program from ending', () => {
    const lines = printed(`
      import {batch, mechanics} from ${JSON.stringify(new URL('../../lib/index.ts', import.meta.url).href)};
      const oscillator = mechanics({mass: 1, forces: ({q}) => q.neg()});
      const threads = () => batch(oscillator, [{q: 1, v: 0}, {q: 2, v: 0}], {dt: 0.1, steps: 3, workers: 2})
        .map(({stats}) => stats.thread).join();
      while (threads() !== 'worker,worker');
      console.log('done');`);
    expect(lines.at(-1)).to.equal('done');
  });

  slow('gives work to threads that answer after it has given them up', () => {
    const lines = printed(`
      import threads from 'node:worker_threads';
      import {batch, mechanics} from ${JSON.stringify(new URL('../../lib/index.ts', import.meta.url).href)};
      const gate = new Int32Array(new SharedArrayBuffer(4));
      const {Worker} = threads;
      threads.Worker = function behindGate(source, {workerData, ...more}) {
        const wait = 'Atomics.wait(require("node:worker_threads").workerData.gate, 0, 0);';
        return new Worker(wait + source, {...more, workerData: {...workerData, gate}});
      };
      // Patience, shortened.
      const {wait} = Atomics;
      Atomics.wait = (signal, index, value, milliseconds) => wait(signal, index, value, Math.min(milliseconds, 20));
      const oscillator = mechanics({mass: 1, forces: ({q}) => q.neg()});
      const run = workers => batch(oscillator, [{q: 1, v: 0}, {q: 2, v: 0}], {dt: 0.1, steps: 3, workers});
      const threadsOf = paths => paths.map(({stats}) => stats.thread).join();
      console.log(threadsOf(run(2)));
      Atomics.store(gate, 0, 1);
      Atomics.notify(gate, 0);
      let paths;
      do paths = run(2); while (threadsOf(paths) !== 'worker,worker');
      const here = run(0);
      console.log(paths.every((path, i) => path.values('q').every((q, k) => q === here[i].values('q')[k])));`);
    expect(lines.slice(-2)).to.deep.equal(['own,own', 'true']);
  });

  slow('its threads load neither tfjs nor anything of models and training', () => {
    for (const entry of ['node', 'page']) {
      const files = reachable([`lib/simulate/workers/${entry}-worker.ts`]);
      const foreign = files.flatMap(importsOf).filter(({local, types}) => !types && !local);
      expect(foreign).to.deep.equal([]);
      expect(files).to.include('lib/newton/iteration.ts');
    }
    // Their files are built though nothing imports them.
    const {files} = JSON.parse(readFileSync(new URL('../../tsconfig.build.json', import.meta.url), 'utf8')) as {
      files: string[];
    };
    expect(files).to.include.members(['lib/simulate/workers/node-worker.ts', 'lib/simulate/workers/page-worker.ts']);
  });
});

describe('a graph as plain values', () => {
  slow('comes back as the same graph from a copy of the message, however deep', () => {
    const x = input('x', [2]);
    let node = mul(x, x);
    for (let i = 0; i < 20_000; i++) node = sub(mul(node, x), x);
    const [backX, back] = deserializeNodes(structuredClone(serializeNodes([x, node])));
    const key = (from: typeof x, to: typeof node): string =>
      programKey('', [{inputs: [from], outputs: [{name: 'y', node: to}]}]).text;
    expect(key(backX as typeof x, back)).to.equal(key(x, node));
  });
});
