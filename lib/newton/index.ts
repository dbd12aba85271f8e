/** The public API of this layer. */
export {eisenstatWalker, type Forcing} from './forcing.js';
export {
  isStraight,
  jacobiansOf,
  NewtonIteration,
  type IterationObserver,
  type NewtonCounters,
  type NewtonStatus,
} from './iteration.js';
export {workVectors, type NonlinearSystem} from './system.js';
export {fewIterations, SimplifiedNewton, type SequentialSystem} from './simplified.js';
export {writeNewton, type Extent} from './routine.js';
export {unitOf} from './tolerances.js';
export {newton, type JacobianUse, type Newton, type NewtonOptions} from './options.js';
export {backtracking, full, subSteps, type BacktrackingOptions, type StepLength} from './step-length.js';
