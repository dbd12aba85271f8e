/** How a sweep ends with an engine: by its signal, by an error of the store, and by a caller's function that throws. */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect} from 'chai';
import {sweep, type Case, type CaseGenerator, type Engine, type SweepOptions} from '../../sweep/index.js';
import {inFlight} from '../../sweep/local.js';

const module = new URL('./tasks/oscillator.ts', import.meta.url);

/** Settles every case at once, from a callback of its own, as messages of processes and events of a queue come. */
const fromCallbacks: Engine = {
  name: 'callbacks',
  run: context =>
    inFlight(
      context,
      2,
      job =>
        new Promise(resolve => {
          setImmediate(() => {
            context.progress(job, 'half');
            context.settled(job, {kind: 'done', result: '3'});
            resolve();
          });
        }),
    ),
};

describe('a sweep', () => {
  let place: string;
  let count = 0;
  before(async () => {
    place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-engine-'));
  });
  after(() => rm(place, {recursive: true}));
  const run = (options: Partial<SweepOptions>): Promise<unknown> =>
    sweep({
      task: {module},
      cases: [{x: 1}, {x: 2}, {x: 3}],
      store: path.join(place, `store-${count++}`),
      engine: fromCallbacks,
      every: 0,
      ...options,
    }).then(
      ({done}) => done,
      (error: Error) => error.message,
    );

  it('ends with the error of a function that throws, wherever it is called from', async () => {
    const mine = (): never => {
      throw new Error('mine');
    };
    expect(await run({})).to.equal(3);
    expect(await run({onProgress: mine})).to.equal('mine');
    expect(await run({onProgress: ({taskProgress}) => (taskProgress === undefined ? undefined : mine())})).to.equal(
      'mine',
    );
    expect(await run({onProgress: () => Promise.reject(new Error('later')) as never})).to.equal('later');
    expect(await run({objective: mine})).to.equal('mine');
    expect(await run({cases: () => mine()})).to.equal('mine');
    let calls = 0;
    expect(await run({onProgress: () => ++calls === 2 && mine()})).to.equal('mine');
    expect(calls).to.equal(2);
  });

  it('ends though its generator waits for a case that is not computed any more', async () => {
    const waits: CaseGenerator = async function* (outcome) {
      yield {x: 1};
      await outcome({x: 2});
      yield {x: 3} as Case;
    };
    const ending = new AbortController();
    const ended = run({cases: waits, signal: ending.signal, onProgress: ({done}) => done === 1 && ending.abort()});
    expect(await ended).to.equal(1);
    const broken: Engine = {
      name: 'broken',
      run: context => inFlight(context, 2, () => Promise.reject(new Error('a full disk'))),
    };
    expect(await run({cases: waits, engine: broken})).to.equal('a full disk');
  });
});
