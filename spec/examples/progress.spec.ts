/** Progress: what is written to a terminal and to a file, by a clock of the test's own. */
import {PassThrough} from 'node:stream';
import {expect} from 'chai';
import {progress, type ProgressOptions} from '../../examples/progress.js';

function recorded(
  options: Partial<ProgressOptions>,
  isTTY: boolean,
): {show: ReturnType<typeof progress>; written: () => string; wait: (seconds: number) => void} {
  const stream = Object.assign(new PassThrough(), {isTTY, columns: 80});
  let text = '';
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  let now = 5000;
  const show = progress({title: 'simulating', unit: 'steps', stream, clock: () => now, ...options});
  return {show, written: () => text, wait: seconds => (now += 1000 * seconds)};
}

describe('progress', () => {
  it('into a file: a line every ten seconds, and one at the end', () => {
    const {show, written, wait} = recorded({total: 1000}, false);
    for (let step = 1; step <= 1000; step++) {
      wait(0.025); // 25 s in all
      show.update(step, `cost ${1000 - step}`);
    }
    show.finish('done');
    expect(written().split('\n')).to.deep.equal([
      'simulating 400/1000 steps · 40 steps/s · 15 s left · cost 600',
      'simulating 800/1000 steps · 40 steps/s · 5.0 s left · cost 200',
      'simulating 1000/1000 steps · 40 steps/s · took 25 s · done',
      '',
    ]);
  });

  it('without a total: no time left', () => {
    const {show, written, wait} = recorded({unit: 'iterations', every: 1}, false);
    wait(8);
    show.update(2, 'cost 1.5e-3');
    wait(100);
    show.finish();
    expect(written().split('\n').slice(0, 2)).to.deep.equal([
      'simulating 2 iterations · 4.0 s each · cost 1.5e-3',
      'simulating 2 iterations · 54 s each · took 1 min 48 s · cost 1.5e-3',
    ]);
  });

  it('nothing done yet: neither rate nor time, and no division by zero', () => {
    const {show, written} = recorded({total: 5, every: 0}, false);
    show.update(0);
    show.finish();
    expect(written()).to.equal('simulating 0/5 steps\nsimulating 0/5 steps · took 0.0 s\n');
  });

  it('on a terminal: a bar on one line, with rate and time left', () => {
    const {show, written, wait} = recorded({total: 200}, true);
    wait(2);
    show.update(100);
    show.finish('RMSE 3.3 µm');
    const last = written().split('\x1B[0K').pop()!.trim();
    expect(written()).to.match(/simulating █+░+ 100\/200 steps · 50 steps\/s · took 2\.0 s · RMSE 3\.3 µm/);
    expect(last).to.not.contain('\n');
    expect(written()).to.not.contain('\x1B[?25l'); // the cursor is never hidden: an interrupt could not bring it back
  });

  it('hours are told as hours', () => {
    const {show, written, wait} = recorded({total: 100, every: 1}, false);
    wait(3600);
    show.update(25);
    show.finish();
    expect(written()).to.contain('3 h 0 min left');
  });
});
