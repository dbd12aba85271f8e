/** The public API of this layer. */
export {eisenstatWalker, type Forcing} from './forcing.js';
export {frameSize, newtonStatuses} from './iteration-text.js';
export {
  beginSearch,
  countSearch,
  isStraight,
  jacobiansOf,
  NewtonIteration,
  type Host,
  type IterationObserver,
  type NewtonCounters,
  type NewtonStatus,
} from './iteration.js';
export {workVectors, type DirectFactor, type NonlinearSystem, type SearchText} from './system.js';
export {fewIterations, SimplifiedNewton, type SequentialSystem} from './simplified.js';
export {newton, type JacobianUse, type Newton, type NewtonOptions} from './options.js';
export {backtracking, full, subSteps, type BacktrackingOptions, type StepLength} from './step-length.js';
