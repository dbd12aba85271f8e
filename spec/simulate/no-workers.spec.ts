/** A batch where no worker thread starts: it runs in the calling thread, with the same numbers, and says so once. */
import threads from 'node:worker_threads';
import {expect} from 'chai';
import {batch, mechanics, ode, simulate} from '../../lib/index.js';

describe('a batch without worker threads', () => {
  const {Worker} = threads;
  const {warn} = console;
  const said: string[] = [];

  before(async () => {
    await batch.end();
    console.warn = (text: string): void => void (text.startsWith('stiffgrad') && said.push(text));
    threads.Worker = class {
      constructor() {
        throw new Error('threads are forbidden here');
      }
    } as unknown as typeof Worker;
  });

  after(async () => {
    console.warn = warn;
    threads.Worker = Worker;
    await batch.end();
  });

  it('runs in the calling thread, and warns once', () => {
    const options = {dt: 0.1, steps: 5};
    const oscillator = mechanics({mass: 1, forces: ({q}) => q});
    const starts = [1, 2, 3].map(q => ({q, v: 0}));
    for (let i = 0; i < 2; i++) {
      const paths = batch(oscillator, starts, {...options, workers: 2});
      expect(paths.map(({stats}) => stats.thread)).to.deep.equal(['own', 'own', 'own']);
      paths.forEach((path, k) =>
        expect([...path.values('q')]).to.deep.equal([...simulate(oscillator, starts[k], options).values('q')]),
      );
    }
    batch(
      ode(({y}) => y),
      [{y: 1}, {y: 2}],
      {...options, workers: 2},
    );
    expect(said).to.have.length(1);
    expect(said[0]).to.match(/^stiffgrad: no worker threads could be started \(threads are forbidden here\)/);
  });

  it('takes a function that starts them, and nothing else', () => {
    expect(() => batch.useWorker('worker.js' as never)).to.throw(/must be a function/);
  });
});
