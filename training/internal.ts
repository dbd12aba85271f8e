/** What other folders of the project use of training/ and users do not: no part of the public interface. */
export type {TableSource} from './data/table-source.js';
export type {PartCase, PartSweep} from './identify/solve.js';
export {type LossHistory, historyChart, residualChart} from './report/charts.js';
export type {MediaBundle} from './report/displayed.js';
export {numberText} from './report/number-text.js';
export {type Theme, chartStyle, CIVIDIS, lineChart} from './report/plot.js';
export {layAxis} from './report/plot-axis.js';
