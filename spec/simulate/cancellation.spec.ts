/**
 * Runs that are ended from outside, here and on worker threads, and what is left: nothing, and threads that work. Runs that
 * would take days stand for "without end": a test that waits for one of them runs into mocha's timeout.
 */
import {spawnSync} from 'node:child_process';
import {createRequire} from 'node:module';
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {BatchMember, BatchOptions, SimulateOptions} from '../../lib/index.js';
import {
  AbortError,
  batch,
  batchAsync,
  equilibrium,
  event,
  implicitAdjoint,
  implicitEuler,
  mechanics,
  NewtonError,
  OptionError,
  rk4,
  simulate,
  unrolledAdjoint,
} from '../../lib/index.js';
import {prepare} from '../../lib/simulate/prepare.js';
import {pullSeries} from '../../lib/simulate/series.js';
import {root} from '../package/sources.js';
import {slow} from '../tiers.js';

const spring = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.sinh(q))});
const start = {q: 1, v: 0};
const starts: BatchMember[] = [1, 2, 3, 4, 5].map(q => ({q: 0.1 * q, v: 0}));
/** 10¹² steps. */
const endless: SimulateOptions = {dt: 1e-3, steps: 1e12, saveAt: 'end'};
const short: BatchOptions = {dt: 1e-2, steps: 20, workers: 2};
const reason = new Error('enough');

/** What f throws, or rejects with; no tensor is left. */
async function errorOf(f: () => unknown): Promise<unknown> {
  const before = tf.memory().numTensors;
  const found = await Promise.resolve()
    .then(f)
    .then(
      () => undefined,
      (error: unknown) => error,
    );
  expect(tf.memory().numTensors).to.equal(before);
  return found;
}

async function expectAborted(f: () => unknown): Promise<void> {
  const error = (await errorOf(f)) as AbortError;
  expect(error, String(error)).to.be.instanceOf(AbortError);
  expect([error.code, error.name]).to.deep.equal(['aborted', 'AbortError']);
  expect(error.cause).to.equal(reason);
}

/** The next batch, which waits for no run that nobody wants. */
async function expectWorking(): Promise<void> {
  const here = batch(spring, starts, {...short, workers: 0});
  const there = await batchAsync(spring, starts, short);
  there.forEach((path, i) => expect(path.values('q')).to.deep.equal(here[i].values('q')));
  expect(there.map(({stats}) => stats.thread)).to.deep.equal(starts.map(() => 'worker'));
  tf.dispose([...here, ...there].map(({t, q, v}) => [t, q, v]));
}

describe('a signal', () => {
  it('that was aborted before: nothing runs', async () => {
    const signal = AbortSignal.abort(reason);
    const options: SimulateOptions = {...endless, signal};
    const cases: readonly (() => unknown)[] = [
      () => simulate(spring, start, options),
      () => simulate.vjp(spring, start, options),
      () => simulate.jvp(spring, start, options, {initial: {q: 1}}),
      () => simulate.hvp(spring, start, options, ({q}) => tf.sum(q), {initial: {q: 1}}),
      () => simulate.steps(spring, start, options).next(),
      () => simulate.prepare(spring, start, options).run(),
      () => simulate.prepare(spring, start, endless).run({signal}),
      () => batch(spring, starts, options),
      () => batch(spring, starts, {...options, workers: 2}),
      () => batchAsync(spring, starts, options),
      () => batchAsync.vjp(spring, starts, options),
      () => equilibrium(spring, {q: 1}, {signal}),
    ];
    for (const f of cases) await expectAborted(f);
    simulate.prepare(spring, start, {dt: 0.1, steps: 2, signal}).run({signal: new AbortController().signal}).dispose();
  });

  it('that a callback aborts ends the run there, on its grid, along a history and between states', async () => {
    for (const more of [{}, {scheme: rk4(), events: [event({when: ({q}) => q, then: 'record' as const})]}]) {
      const controller = new AbortController();
      await expectAborted(() =>
        simulate(spring, start, {
          ...endless,
          ...more,
          signal: controller.signal,
          onProgress: () => controller.abort(reason),
        }),
      );
    }
    const controller = new AbortController();
    await expectAborted(() => {
      for (const {t} of simulate.steps(spring, start, {...endless, saveAt: 'all', signal: controller.signal}))
        if (t > 0.01) controller.abort(reason);
    });
    const later = new AbortController();
    const {trajectory, pullback} = simulate.vjp(spring, start, {dt: 0.1, steps: 2, signal: later.signal});
    trajectory.dispose();
    later.abort(reason);
    await expectAborted(() => pullback({q: [0, 0, 1]}));
  });

  it('is looked at before every step of the way back, whether it was recorded or is taken again', () => {
    const falling = [event({when: ({q}) => q, then: 'record' as const})];
    for (const more of [
      {},
      {adjoint: implicitAdjoint({memory: 1})},
      {adjoint: unrolledAdjoint()},
      {events: falling},
      {events: falling, adjoint: implicitAdjoint({memory: 1})},
    ]) {
      const prepared = prepare(spring, start, {dt: 0.1, steps: 40, saveAt: 'end', ...more});
      const path = prepared.adjoint.run(prepared);
      const asked = (most: number): number => {
        let count = 0;
        const poll = (): void => {
          if (++count > most) throw reason;
        };
        const pull = (): unknown =>
          pullSeries({...prepared, options: {...prepared.options, poll}}, path, {series: Float64Array.of(0, 0, 1, 0)});
        if (most < Infinity) expect(pull).to.throw(reason.message);
        else pull();
        return count;
      };
      expect(asked(Infinity)).to.be.at.least(40);
      expect(asked(7)).to.equal(8);
    }
  });

  it('that is none is an error', () => {
    for (const signal of [true, {}, 'stop', null])
      expect(() => simulate(spring, start, {dt: 0.1, steps: 1, signal} as never)).to.throw(
        OptionError,
        /signal must be an AbortSignal/,
      );
  });
});

describe('a batch on worker threads', function () {
  this.timeout(120_000);
  after(() => batch.end());

  slow('is ended by its signal within its steps, and its threads work on', async () => {
    for (const more of [{}, {scheme: implicitEuler()}]) {
      const controller = new AbortController();
      const pending = errorOf(() =>
        batchAsync(spring, starts, {
          ...endless,
          ...more,
          workers: 2,
          signal: controller.signal,
          onProgress: () => controller.abort(reason),
        }),
      );
      await expectAborted(async () => {
        throw await pending;
      });
      await expectWorking();
    }
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 50);
    await expectAborted(() => batchAsync.vjp(spring, starts, {...endless, workers: 2, signal: controller.signal}));
    await expectWorking();
  });

  slow('is ended on its way back', async () => {
    const controller = new AbortController();
    // With room for two states 10⁶ steps are taken again a thousand times each.
    const {trajectories, pullback} = await batchAsync.vjp(spring, starts.slice(0, 2), {
      dt: 1e-3,
      steps: 1e6,
      saveAt: 'end',
      workers: 2,
      signal: controller.signal,
      adjoint: implicitAdjoint({memory: 1}),
    });
    setTimeout(() => controller.abort(reason), 50);
    await expectAborted(() => pullback([{q: [0, 1]}, {q: [0, 1]}]));
    tf.dispose(trajectories.map(({t, q, v}) => [t, q, v]));
    await expectWorking();
  });

  slow('... where this thread waits for it, by what a callback does', async () => {
    const controller = new AbortController();
    await expectAborted(() =>
      batch(spring, starts, {
        ...endless,
        workers: 2,
        signal: controller.signal,
        onProgress: () => controller.abort(reason),
      }),
    );
    const thrown = await errorOf(() =>
      batch(spring, starts, {
        ...endless,
        workers: 2,
        onProgress: () => {
          throw reason;
        },
      }),
    );
    expect(thrown).to.equal(reason);
    await expectWorking();
  });

  it('is ended by a callback that throws, and by a member that fails', async () => {
    const thrown = await errorOf(() =>
      batchAsync(spring, starts, {
        ...endless,
        workers: 2,
        onProgress: () => {
          throw reason;
        },
      }),
    );
    expect(thrown).to.equal(reason);
    await expectWorking();
    const failed = await errorOf(() =>
      batchAsync(spring, [{q: 900, v: 0}, ...starts], {...endless, scheme: rk4(), workers: 2}),
    );
    expect(failed).to.be.instanceOf(NewtonError).with.nested.property('data.member', 0);
    await expectWorking();
  });

  slow('... where no memory is shared: its threads end, others take their places, other batches go on', async () => {
    const shared = globalThis.SharedArrayBuffer;
    const controller = new AbortController();
    let ended: Promise<unknown>;
    let beside: Promise<void>;
    try {
      (globalThis as {SharedArrayBuffer?: unknown}).SharedArrayBuffer = undefined;
      ended = batchAsync(spring, starts, {...endless, workers: 2, signal: controller.signal}).catch(
        (error: unknown) => error,
      );
      beside = expectWorking();
    } finally {
      globalThis.SharedArrayBuffer = shared;
    }
    controller.abort(reason);
    expect(await ended).to.be.instanceOf(AbortError);
    await beside;
    await expectWorking();
  });

  it('whose threads do not start is run here, and says so', async () => {
    await batch.end();
    const threads = createRequire(import.meta.url)('node:worker_threads') as {Worker: unknown};
    const {Worker} = threads as {Worker: new (source: string, options: object) => object};
    const wait = globalThis.setTimeout;
    let paths;
    try {
      threads.Worker = function silent() {
        return new Worker('setInterval(() => undefined, 1e6)', {eval: true});
      };
      // Patience, shortened.
      globalThis.setTimeout = ((f: () => void, milliseconds: number) =>
        wait(f, Math.min(milliseconds, 20))) as typeof setTimeout;
      paths = await batchAsync(spring, starts, short);
    } finally {
      threads.Worker = Worker;
      globalThis.setTimeout = wait;
    }
    const here = batch(spring, starts, {...short, workers: 0});
    paths.forEach((path, i) => {
      expect(path.values('q')).to.deep.equal(here[i].values('q'));
      expect(path.stats.thread).to.equal('own');
      expect(path.warnings.join()).to.match(/did not start in time/);
    });
    tf.dispose([...here, ...paths].map(({t, q, v}) => [t, q, v]));
  });

  slow('holds the program until it is done, after one that failed too', () => {
    const program = `
      import {batchAsync, mechanics} from ${JSON.stringify(new URL('../../lib/index.ts', import.meta.url).href)};
      const s = mechanics({mass: 1, forces: ({q}) => q.neg()});
      const eight = [1, 2, 3, 4, 5, 6, 7, 8].map(q => ({q, v: 0}));
      await batchAsync(s, eight, {dt: 1e-3, steps: 1e12, saveAt: 'end', workers: 2, onProgress() { throw 1; }}).catch(() => {});
      const paths = await batchAsync(s, eight, {dt: 1e-3, steps: 10, workers: 2});
      console.log('done', paths.length);`;
    const {stdout, status} = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
      cwd: root,
      encoding: 'utf8',
      timeout: 60_000,
    });
    expect(stdout.trim().split('\n').at(-1)).to.equal('done 8');
    expect(status).to.equal(0);
  });
});
