/** Charts of runs, fits, trainings and matrices, as SVG. */
export {
  energyPlot as energy,
  lossCurve as loss,
  phasePortrait as phase,
  residualPlot as residuals,
  workPrecision,
} from './charts.js';
export {lossLandscape as landscape} from './landscape.js';
export {sparsityPlot as sparsity} from './jacobian-pattern.js';
