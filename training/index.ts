/**
 * stiffgrad/training: from measured records to parameters with their uncertainty, and a page that shows
 * both. Runs in a browser too: what needs a file system (`readTable`, `fit.report`) loads it at the call.
 */
export type {ReportDetails} from './identify/report-details.js';
export {bootstrap, type Bootstrap, type BootstrapOptions} from './estimate/bootstrap.js';
export {crossValidate, type CrossValidation} from './estimate/cross-validation.js';
export {fitTask, type FitTask} from './estimate/fit-task.js';
export {adam} from './identify/adam.js';
export {
  identify,
  type Identification,
  type IdentificationProblem,
  type IdentificationProgress,
} from './identify/identify.js';
export {levenbergMarquardt} from './identify/least-squares.js';
export type {Columns, FoundTerms, SparseRegressionProblem} from './identify/sparse-regression.js';
export type {LeastSquaresMethod, LeastSquaresProblem, LeastSquaresResult} from './identify/least-squares-problem.js';
export type {
  Experiment,
  ExperimentProblem,
  FisherInformation,
  Identifiability,
  RankedExperiment,
} from './estimate/information.js';
export {lbfgs, type QuasiNewton} from './identify/lbfgs.js';
export type {EarlyStopping} from './identify/early-stopping.js';
export type {Minimum} from './identify/starts.js';
export type {NoiseDensity, NoiseModel} from './identify/density.js';
export type {Noise} from './identify/noise.js';
export {posterior} from './estimate/posterior.js';
export type {Posterior} from './estimate/posterior-page.js';
export type {Chain, SamplingOptions} from './estimate/sample-density.js';
export type {LogDensity} from './estimate/nuts.js';
// By its short name, and by one that says of what.
export {likelihoodProfile, profile, type LikelihoodProfile} from './estimate/profile.js';
export {multiple, single, type Shooting} from './identify/shooting.js';
export {bounded, fixed, free, positive, type Fixed, type Parameter, type Parameters} from './identify/parameters.js';
export {estimatedTree, freeTree, type ParameterTree} from './identify/parameter-trees.js';
export type {Prior} from './identify/parameters.js';
export type {Chart, Series} from './report/plot.js';
export type {MeasuredRecord} from './identify/records.js';
export type {Validation} from './identify/validation.js';
export type {Report} from './report/report.js';
export {neuralStateSpace, type NeuralStateSpace, type NeuralStateSpaceProblem} from './train/neural-state-space.js';
export type {InputOutputRecord} from './train/sections.js';
export type {InnovationsFit, InnovationsProblem} from './estimate/innovations.js';
export type {EstimatedStates, Filtered, Smoothed} from './estimate/kalman.js';
export type {Covariance} from './estimate/covariance.js';
export type {EstimationProblem} from './estimate/problem.js';
export {numpyArrays, type NumpyArray} from './data/npz.js';
export type {Resampled} from './data/resample.js';
export {signal} from '../lib/index.js';
export {readTable, type Table} from './data/table.js';
export {type TableOptions} from './data/table-options.js';
export type {ResidualSeries, Uncertainty} from './identify/uncertainty.js';
export type {CheckpointContent} from './train/checkpoint-file.js';
export {readCheckpoint} from './train/checkpoints.js';
export type {Change} from './train/problem.js';
export type {Metrics} from './train/metrics.js';
export type {TrainingProblem, TrainingProgress} from './train/problem.js';
export {
  randomizedSmoothing,
  type ObjectiveEvaluation,
  type SmoothedEstimate,
  type SmoothingOptions,
} from './train/randomized-smoothing.js';
export {modelFiles} from './train/model-files.js';
export type {Schedule} from './train/schedules.js';
export {segments, type Segment} from './train/segments.js';
export {train} from './train/train.js';
export {
  trainingStep,
  type StepBatch,
  type StepModel,
  type StepState,
  type TrainingStep,
  type TrainingStepOptions,
} from './train/training-step.js';
export {adamW, sgd, type RuleState, type UpdateRule} from './train/update-rules.js';
export type {TrainingResult} from './train/training-report.js';
/** Errors of measurements, for `identify({noise})`. */
export * as noise from './groups/noise.js';
/** State estimation: Kalman filter and smoother, how they linearize, and parameters by their innovations. */
export * as kalman from './groups/kalman.js';
/** Sampled series: an even clock, fewer or more samples, units of times, the still start, rows at their own times. */
export * as samples from './groups/samples.js';
/** Differences and losses that leave out NaN, for records with gaps. */
export * as masked from './groups/masked.js';
/** What a planned record can tell about the parameters. */
export * as experiments from './groups/experiments.js';
/** Markov chain Monte Carlo: the sampler alone, and diagnostics of chains from any source. */
export * as mcmc from './groups/mcmc.js';
/** Learning rates by step, for `train` and `trainingStep`. */
export * as schedules from './groups/schedules.js';
/** Equations from data by sparse regression (SINDy: Brunton, Proctor & Kutz, PNAS 113, 2016). */
export * as sindy from './groups/sindy.js';
/** Pages, charts and numbers of a report on anything that was fitted. */
export * as reports from './groups/reports.js';
