/** The public API of this layer. */
export {BorderedSystem, type BorderedFactor, type ParametricSystem} from './bordered.js';
export {eisenstatWalker, type Forcing} from './forcing.js';
export {frameSize, newtonStatuses} from './emit-newton.js';
export {
  beginSolve,
  addCounts,
  isPlainNewton,
  resolveJacobianUse,
  NewtonIteration,
  newtonSettings,
  type IterationObserver,
  type NewtonCounters,
  type NewtonRoutineSettings,
  type NewtonStatus,
} from './iteration.js';
export {workVectors, type CompiledFactorization, type NonlinearSystem} from './system.js';
export {simplifiedMaxIterations, SimplifiedNewton, type SequentialSystem} from './simplified-newton.js';
export {ResidualNoise} from './residual-noise.js';
export {noiseTestThreshold, roundoffFactor} from './tolerances.js';
export {newton, type JacobianUse, type Newton, type NewtonOptions} from './options.js';
export {backtracking, full, subSteps, type BacktrackingOptions, type StepLength} from './step-length.js';
