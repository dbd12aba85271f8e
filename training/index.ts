/**
 * stiffgrad/training: from measured records to parameters with their uncertainty, and a page that shows
 * both. Runs in a browser too: what needs a file system (`readTable`, `writeReport`) loads it at the call.
 */
export type {Derived} from './identify/derived.js';
export type {FitResult, IdentificationSummary, ParamsOfEstimates} from './identify/identification.js';
export type {ReportDetails} from './identify/report-details.js';
export {bootstrap, type Bootstrap, type BootstrapOptions, type Labelled} from './estimate/bootstrap.js';
export {
  crossValidate,
  type CrossValidation,
  type CrossValidationOptions,
  type Fold,
} from './estimate/cross-validation.js';
export {fitTask, type FitTask} from './estimate/fit-task.js';
export type {PartCase, PartSweep} from './identify/solve.js';
export {adam, type AdamOptions} from './identify/adam.js';
export {
  identify,
  type Identification,
  type IdentificationProblem,
  type IdentificationProgress,
  type Named,
} from './identify/identify.js';
export {levenbergMarquardt, type LevenbergMarquardtOptions} from './identify/least-squares.js';
export {
  differences,
  polynomials,
  sparseRegression,
  type Columns,
  type FoundTerms,
  type SparseRegressionProblem,
} from './identify/sparse-regression.js';
export {
  type Factorized,
  type LeastSquaresIteration,
  type LeastSquaresMethod,
  type LeastSquaresProblem,
  type LeastSquaresResult,
  type LeastSquaresStatus,
  type Linearization,
} from './identify/least-squares-problem.js';
export {
  fisherInformation,
  identifiability,
  rankExperiments,
  type Experiment,
  type ExperimentProblem,
  type FisherInformation,
  type Identifiability,
  type IdentifiabilityOptions,
  type RankedExperiment,
  type RankOptions,
  type UnidentifiableCombination,
} from './estimate/information.js';
export {lbfgs, type LbfgsOptions, type QuasiNewton} from './identify/lbfgs.js';
export type {EarlyStopping} from './identify/early-stopping.js';
export type {NoiseFound} from './identify/objective.js';
export type {NoiseState} from './identify/weighing.js';
export type {Minimum} from './identify/starts.js';
export type {MeasuredRows, NoiseDensity, NoiseModel} from './identify/density.js';
export {autoregressive, huber, quantized, studentT, white, type Noise, type NoiseOptions} from './identify/noise.js';
export {posterior, type PosteriorOptions} from './estimate/posterior.js';
export type {ByLabel, Posterior} from './estimate/posterior-page.js';
export {posteriorCharts} from './estimate/posterior-page.js';
export {sampleDensity, type Chain, type SamplingOptions} from './estimate/sample-density.js';
export type {LogDensity} from './estimate/nuts.js';
export {bulkSize, meanSize, rHat, tailSize, type Chains} from './estimate/draws.js';
export {likelihoodProfile, profileChart, type LikelihoodProfile, type ProfileOptions} from './estimate/profile.js';
export {multiple, single, type Shooting} from './identify/shooting.js';
export {
  bounded,
  fixed,
  free,
  positive,
  type Errors,
  type Estimates,
  type Fixed,
  type Parameter,
  type ParameterOptions,
  type Parameters,
  type ShapeOf,
} from './identify/parameters.js';
export type {ParameterKind, ParameterValue} from './identify/parameters.js';
export {estimatedTree, freeTree, type ParameterTree} from './identify/parameter-trees.js';
export type {Prior, PriorGiven} from './identify/parameters.js';
export {errorText, measuredText, numberText} from './report/number-text.js';
export {
  chartStyle,
  lineChart,
  type Axis,
  type Chart,
  type Level,
  type Series,
  type SeriesStyle,
  type Theme,
} from './report/plot.js';
export {historyChart, residualChart, type LossHistory, type ReportFit} from './report/charts.js';
export type {OffGrid} from './identify/sampling.js';
export type {Model} from './identify/model.js';
export type {Factorization, Projection, RowQr} from './identify/row-qr.js';
export type {MeasuredRecord, Start, StartWithStates} from './identify/records.js';
export type {OutputValidation, ValidateOptions, Validation} from './identify/validation.js';
export type {FittedSeries} from './identify/fit.js';
export type {MediaBundle, Shows} from './report/displayed.js';
export {renderFragment, renderReport, writeReport, type Report, type ReportParameter} from './report/report.js';
export {
  autocorrelation,
  goodnessOfFit,
  histogram,
  type Autocorrelation,
  type GoodnessOfFit,
  type Histogram,
} from './report/residual-statistics.js';
export type {ReadLimits} from './data/limits.js';
export {
  neuralStateSpace,
  type FreeRun,
  type FreeRunOutput,
  type NeuralStateSpace,
  type NeuralStateSpaceEpoch,
  type NeuralStateSpaceProblem,
} from './train/neural-state-space.js';
export type {InputOutputRecord} from './train/sections.js';
export {
  identifyByInnovations,
  type FromEstimates,
  type InnovationsFit,
  type InnovationsIteration,
  type InnovationsProblem,
} from './estimate/innovations.js';
export {kalmanFilter, kalmanSmoother, type EstimatedStates, type Filtered, type Smoothed} from './estimate/kalman.js';
export {
  extended,
  unscented,
  type GaussianTransform,
  type Image,
  type StateFunction,
  type UnscentedOptions,
} from './estimate/linearization.js';
export type {Covariance} from './estimate/covariance.js';
export type {EstimationProblem, ProcessNoise} from './estimate/problem.js';
export type {Rows} from './estimate/roots.js';
export {arraysOf, type ArrayOptions, type NumpyArray} from './data/npz.js';
export type {SeriesValues} from './data/series.js';
export {decimate, resample, stillSamples, upsample, type Resampled} from './data/resample.js';
export {sampleTimes, type SampleTimesOptions, type TimeUnit} from './data/sample-times.js';
export {signal, type Inputs, type Signal, type SignalKind, type SignalOptions} from '../lib/index.js';
export {readTable, tableChunks, type ChunkOptions, type Table} from './data/table.js';
export type {TableSource} from './data/table-source.js';
export {type TableOptions} from './data/table-options.js';
export {
  uncertainty,
  type ResidualSeries,
  type Uncertainty,
  type UncertaintyOptions,
  type UnidentifiedDirection,
} from './identify/uncertainty.js';
export type {CheckpointContent, NamedArray, NumberArray} from './train/checkpoint-file.js';
export {readCheckpoint} from './train/checkpoints.js';
export type {Clip} from './train/gradients.js';
export {modelFiles} from './train/model-files.js';
export type {Change} from './train/problem.js';
export type {Metrics, EpochMetrics, StepMetrics} from './train/metrics.js';
export type {CompiledTraining, LossAt, TrainingProblem, TrainingProgress, TrainingSettings} from './train/problem.js';
export type {Examples} from './train/problem.js';
export type {Random} from './train/random.js';
export {
  randomizedSmoothing,
  type ObjectiveEvaluation,
  type NamedArrays,
  type SmoothedEstimate,
  type SmoothingOptions,
} from './train/randomized-smoothing.js';
export {cosineDecay, exponentialDecay, type Schedule, type ScheduleAt} from './train/schedules.js';
export {segments, type SegmentedSeries, type Segment, type SegmentOptions} from './train/segments.js';
export {train} from './train/train.js';
export {maskedDifference, maskedMeanSquare} from './train/masked.js';
export {sampleRows, type RowSeries} from './train/row-samples.js';
export type {StepInputs} from './train/step-gradients.js';
export {
  trainingStep,
  type StepBatch,
  type StepModel,
  type StepState,
  type TrainingStep,
  type TrainingStepOptions,
} from './train/training-step.js';
export {adamW, sgd, type AdamWOptions, type RuleState, type SgdOptions, type UpdateRule} from './train/update-rules.js';
export type {TrainingReportDetails, TrainingResult} from './train/training-report.js';
