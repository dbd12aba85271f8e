/** stiffgrad: differentiable simulation of stiff systems for TensorFlow.js. */
import './tfjs/repair.js';

export * from './errors.js';
export {
  backsolveAdjoint,
  forwardSensitivity,
  implicitAdjoint,
  unrolledAdjoint,
  type Adjoint,
} from './integrate/adjoints/index.js';
export {linalg} from './linalg/index.js';
export {
  auto,
  band,
  cg,
  cholesky,
  gmres,
  lu,
  minres,
  sparseLdlt,
  sparseLu,
  supernodalLu,
  type LinearSolver,
} from './linear/index.js';
export type {GmresOptions} from './linear/gmres.js';
export type {KrylovFactor, KrylovOptions, KrylovSolver, Preconditioner} from './linear/krylov.js';
export type {Analysis, CompiledMethod, Factor, Pattern} from './linear/solver.js';
export type {Coupling} from './linear/operator.js';
export type {Operator} from './linear/operator.js';
export type {OrderingName} from './linear/ordering.js';
export type {LdltOptions} from './linear/sparse-ldlt.js';
export type {SparseLuOptions} from './linear/sparse-lu.js';
export type {ArithmeticName, SupernodalOptions} from './linear/supernodal-factor.js';
export type {SupernodalLuOptions} from './linear/supernodal-lu.js';
export {tensorflow} from './linear/tensorflow.js';
export {
  backtracking,
  eisenstatWalker,
  full,
  newton,
  subSteps,
  type Forcing,
  type Newton,
  type NewtonOptions,
  type StepLength,
} from './newton/index.js';
export type {JacobianUse} from './newton/options.js';
export type {BacktrackingOptions, Trial} from './newton/step-length.js';
export {getThreadsCount, setThreadsCount} from './engine/wasm/product-threads.js';
export * from './scheme/index.js';
export {
  batch,
  batchAsync,
  type Batch,
  type BatchAsync,
  type BatchMember,
  type BatchOptions,
  type BatchPullback,
  type BatchThreads,
  type BatchVjp,
  type BatchVjpAsync,
} from './simulate/batch.js';
export type {
  BatchLoss,
  BatchValues,
  MemberGradient,
  MembersGradient,
  PreparedBatch,
  PreparedBatchOptions,
  TimedMember,
} from './simulate/batch-kinds.js';
export type {MemberTimes} from './simulate/timed.js';
export {
  equilibrium,
  type Equilibrium,
  type EquilibriumOptions,
  type EquilibriumStart,
  type EquilibriumVjp,
  type FindEquilibrium,
  type RestCotangent,
} from './simulate/equilibrium.js';
export {linearize, type Linearization, type LinearizeOptions} from './simulate/linearize.js';
export type {Eigenvalue} from './simulate/eigenvalues.js';
export type {RunThreads} from './simulate/threads.js';
export type {PageThread} from './simulate/workers/channel.js';
export type {CotangentLoss, Hvp, Hvps} from './simulate/hessian.js';
export type {OwnSeries, SavedSeries, SeriesLoss} from './simulate/loss.js';
export type {
  Encoder,
  EncoderAt,
  Objective,
  ObjectiveAt,
  ObjectiveInputs,
  ObjectiveValues,
  ValueAndGradient,
  ValueAndGradientOf,
  ValueAndVariables,
} from './simulate/objective-kinds.js';
export type {
  AnySystem,
  ByKind,
  Cotangent,
  Initial,
  NamedValues,
  ParamsOf,
  Pullback,
  SavedTangent,
  StartOf,
  SomeStates,
  StateOf,
  StatesOf,
  Tangent,
} from './simulate/kinds.js';
export type {SimulationContents} from './simulate/contents.js';
export {
  simulate,
  type AsyncRunValues,
  type Jvp,
  type Jvps,
  type RunValues,
  type Simulate,
  type Simulation,
  type Values,
  type Vjp,
  type VjpAsync,
} from './simulate/simulate.js';
export {
  adaptive,
  constant,
  type AdaptiveControl,
  type AdaptiveOptions,
  type ConstantControl,
  type ControllerShares,
  type ControlSettings,
  type StepControl,
} from './integrate/control.js';
export type {GridPlace, NewtonMemory, PlainNumbers, RunState} from './integrate/run-state.js';
export type {StepMemory} from './integrate/history/step-lengths.js';
export type {Status} from './integrate/counters.js';
export {displayRunsWith, type DisplayedTexts} from './simulate/display.js';
export type {SavedState} from './simulate/steps.js';
export type {EventRecord} from './integrate/history/records.js';
export {event, type Event, type EventPlace, type EventSpec, type Jump, type OwnPlace} from './system/events.js';
export type {
  IntegrationOptions,
  Progress,
  RunSettings,
  SaveAt,
  SimulateOptions,
  Span,
  Stretch,
} from './simulate/options.js';
export type {
  AnyTrajectory,
  MechanicalTrajectory,
  OdeTrajectory,
  SeriesName,
  Stats,
  Trajectory,
  TrajectorySummary,
} from './simulate/trajectory.js';
export {
  bilateral,
  compliant,
  nonholonomic,
  unilateral,
  type Compliance,
  type Constraint,
  type ConstraintKind,
  type ContactLaw,
  type SlipLaw,
  type Gap,
  type VelocityGap,
} from './system/constraint-kinds.js';
export {frictionalContact} from './system/frictional-contact.js';
export {dde, type DdeSpec, type DdeSystem, type Delay, type DelayedAt} from './system/dde.js';
export type {Delays, HistoryAt} from './system/delays.js';
export {elements, type ElementEnergy, type ElementsSpec} from './system/elements.js';
export {loadTensorflow, tensorflowAbsence} from './tfjs/native.js';
export {
  mechanics,
  type ForceAt,
  type ForceTerm,
  type Mass,
  type MechanicalSystem,
  type MechanicsSpec,
} from './system/mechanics.js';
export type {AnyStateAt, HiddenState, HiddenStates, StateAt, StateSpec, StateSpecs} from './system/hidden-states.js';
export type {CheckedKinematics, Kinematics, PositionRate} from './system/kinematics.js';
export {freeBodies, quaternions} from './system/rotations.js';
export type {Inputs} from './system/inputs.js';
export type {NestedNumbers, Numeric} from './system/numeric.js';
export {readNumeric, type NumericValue} from './system/numeric.js';
export type {System} from './step/formulation.js';
export type {ObservedAt, Observe, OwnObserved} from './step/trace-step.js';
export type {TensorType} from './trace/lowering.js';
export {lifted} from './trace/lifted.js';
export {derivativeAlong, dependsOnItsOwn, type Tensors} from './trace/differentials.js';
export {constantTensor} from './trace/trace.js';
export {ode, type Derivative, type DerivativeAt, type Noise, type OdeSpec, type OdeSystem} from './system/ode.js';
export type {KeptOdeMass, OdeMass, OdeMassAt} from './system/ode-mass.js';
export {stateTree, type ShapeTree, type StateTree, type TreeDerivativeAt, type TreeOf} from './system/state-tree.js';
export type {GradientOf, Bivariant, NumericParams, NumericParamsOf, Params, ParamsLike, Tree} from './system/params.js';
export {brownianPath, sde, type BrownianPath, type SdeSpec, type SdeSystem, type Seed} from './system/sde.js';
export {signal, type Input, type Signal, type SignalKind, type SignalOptions} from './system/signal.js';
// What docs/extending.md invites to: a scheme's view of a step,
export type {Ahead} from './scheme/scheme.js';
export {
  complementarity,
  defineConstraint,
  type GapAndMultiplier,
  type MakesConstraints,
} from './system/constraint-kinds.js';
export {rowScale} from './scheme/constrained.js';
export type {CoefficientName, Coefficients, CoefficientValues} from './system/coefficients.js';
export type {Constraints, ImpactMultipliers, ImpactStep, Place, RowScale, Yielding} from './system/constraints.js';
export type {
  Blocks,
  Calculus,
  DelayEquations,
  Equations,
  Increments,
  NoiseEquations,
  NoiseKind,
  PositionUnknown,
} from './system/equations.js';
// an engine,
export {
  bufferSizes,
  chooseEngine,
  factorizationOf,
  plainVectors,
  type CompileOptions,
  type Engine,
  type EngineName,
  type Executable,
  type Precision,
  type Programs,
  type TransposedSolve,
  type Vectors,
} from './engine/index.js';
export {compilePrograms, type TensorProgram} from './engine/compile-programs.js';
export {valuesOf} from './graph/declarations.js';
export {
  binaryNames,
  topological,
  unaryNames,
  type Attributes,
  type BinaryName,
  type DType,
  type Empty,
  type Graph,
  type Node,
  type Op,
  type Output,
  type Shape,
  type UnaryName,
} from './graph/node.js';
export {primitiveOf} from './graph/primitives/index.js';
export type {Kernel, Primitive, Relation, Rows} from './graph/primitives/primitive.js';
// a linear solver,
export type {KrylovMethod} from './linear/index.js';
export type {Cycle as KrylovCycle, PreconditionedSystem} from './linear/krylov.js';
// a primitive,
export {definePrimitive, type PrimitiveDerivative, type PrimitiveSpec} from './trace/define-primitive.js';
// and a kernel of tfjs.
export {traceKernel, type KernelMeaning} from './trace/trace-kernel.js';
