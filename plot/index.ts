/**
 * stiffgrad/plot: results as pictures. Every function returns text, SVG or HTML, that needs nothing else: for files,
 * pages and, by `show`, for notebooks. Loaded by nobody who does not ask for it.
 */
import {displayRunsWith} from '../lib/internal.js';
import {display} from './display.js';

export {animate, type AnimateOptions, type Animation} from './animate.js';
export {plot, type PlotOptions} from './charts.js';
/** Charts of runs, fits, trainings and matrices, as SVG. */
export * as charts from './groups/charts.js';
export {bodyFigure, type BodyFigureOptions} from './body-figure.js';
export {drawMesh, type DrawMeshOptions} from './draw-mesh.js';
export type {JacobianPattern} from './jacobian-pattern.js';
export {figure, show} from './show.js';

displayRunsWith(display);
