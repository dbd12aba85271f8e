/**
 * stiffgrad/plot: results as pictures. Every function returns text, SVG or HTML, that needs nothing else: for files,
 * pages and, by `show`, for notebooks. Loaded by nobody who does not ask for it.
 */
import {displayRunsWith} from '../lib/internal.js';
import {display} from './display.js';

export {animate, type AnimateOptions, type Animation} from './animate.js';
export {energyPlot, lossCurve, phasePortrait, plot, residualPlot, workPrecision, type PlotOptions} from './charts.js';
export {display};
export {jacobianPattern, sparsityPlot, type JacobianPattern} from './jacobian-pattern.js';
export {lossLandscape} from './landscape.js';
export {figure, show} from './show.js';

displayRunsWith(display);
