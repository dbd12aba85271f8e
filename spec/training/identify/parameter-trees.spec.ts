/** Trees of estimates, pictures of draws, and parts of a fit. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, OptionError, rk4} from '../../../lib/index.js';
import {fitTask, free} from '../../../training/index.js';
import {estimatedTree} from '../../../training/identify/parameter-trees.js';
import {posteriorCharts} from '../../../training/estimate/posterior-page.js';

describe('parts of a fit', () => {
  it('estimatedTree puts estimates in the places of their leaves', () => {
    const tree = {w: [[0, 0]], deep: {b: 0}};
    const estimate = {'net.w': Float64Array.of(1, 2), 'net.deep.b': 3, other: 4};
    const found = estimatedTree('net', tree, estimate) as {w: tf.Tensor | number[][]; deep: {b: number}};
    expect(JSON.parse(JSON.stringify(found.deep))).to.deep.equal({b: 3});
    expect(JSON.stringify(found.w)).to.match(/1,2/);
  });

  it('posteriorCharts has a histogram of area 1 and a line for each chain', () => {
    const draws = Float64Array.from({length: 200}, (_, i) => (i * 37) % 101);
    const [density, lines] = posteriorCharts({draws: {k: draws}, chains: 2} as never, 'k');
    const [{x, y}] = density.series;
    const width = x[1] - x[0];
    expect(Array.from(y, value => value * width).reduce((a, b) => a + b)).to.be.closeTo(1, 1e-12);
    expect(lines.series.map(({name}) => name)).to.deep.equal(['chain 1', 'chain 2']);
  });

  it('fitTask refuses a part of another problem', async () => {
    const task = fitTask({
      system: ode(() => tf.scalar(1)),
      initial: {y: 0},
      observe: ({y, params}) => tf.mul(params.b as tf.Tensor, y),
      parameters: {b: free(1)},
      data: {t: [0, 1, 2], y: [0, 2, 4]},
      scheme: rk4(),
      dt: 1,
    });
    const refused = await task({part: 'start', of: 'data=0'} as never, {signal: new AbortController().signal}).catch(
      (error: unknown) => error,
    );
    expect(refused).to.be.instanceOf(OptionError).with.property('code', 'other-problem');
  });
});
