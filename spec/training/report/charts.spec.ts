/** Charts that reports and `plot` share: what they draw, as data. */
import {expect} from 'chai';
import {lineChart} from '../../../training/report/plot.js';
import {historyChart, residualChart} from '../../../training/report/charts.js';

describe('charts as data', () => {
  it('a residual lies between ± its root mean square, missing samples aside', () => {
    const {levels, series, y} = residualChart({t: [0, 1, 2], measured: [3, NaN, 1], simulated: [0, 1, 5], unit: 'V'});
    expect(levels).to.deep.equal([{y: Math.sqrt(12.5)}, {y: -Math.sqrt(12.5)}]);
    expect(Array.from(series[0].y)).to.deep.equal([3, NaN, -4]);
    expect(y.unit).to.equal('V');
  });

  it('of a fit shows each iteration, of a training the evaluations that there were', () => {
    const fit = historyChart([9, 4, 1].map((cost, iteration) => ({iteration, cost})));
    expect(fit.series.map(({style}) => style)).to.deep.equal([undefined, 'points']);
    const training = historyChart([
      {epoch: 1, loss: 2, validation: 3},
      {epoch: 2, loss: 1},
    ]);
    expect(training.series.map(({x}) => x)).to.deep.equal([[1, 2], [1]]);
    expect(training.legend).to.equal(true);
  });

  it('is logarithmic but for what has no logarithm: the cost of a density may be negative', () => {
    expect(historyChart([2, 1].map((cost, iteration) => ({iteration, cost}))).y.scale).to.equal('log');
    const negative = historyChart([2, -1].map((cost, iteration) => ({iteration, cost})));
    expect(negative.y.scale).to.equal(undefined);
    expect(lineChart(negative)).to.contain('−1');
  });
});
