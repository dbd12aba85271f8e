/** Pages, charts and numbers of a report on anything that was fitted. */
export {goodnessOfFit} from './residual-statistics.js';
export {lineChart} from './plot.js';
export {measuredText, numberText} from './number-text.js';
export {renderReport as page} from './report.js';
