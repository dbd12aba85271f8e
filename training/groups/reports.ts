/** Pages, charts and numbers of a report on anything that was fitted. */
export {uncertainty} from '../identify/uncertainty.js';
export {measuredText, numberText} from '../report/number-text.js';
export {lineChart} from '../report/plot.js';
export {page} from '../report/report.js';
export {goodnessOfFit} from '../report/residual-statistics.js';
