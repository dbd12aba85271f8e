/** stiffgrad: differentiable simulation of stiff systems for TensorFlow.js. */
import './engine/tensor/gradients.js';

export * from './errors.js';
export {
  backsolveAdjoint,
  forwardSensitivity,
  implicitAdjoint,
  unrolledAdjoint,
  type Adjoint,
  type AdjointMethod,
  type StateRecorder,
  type StepReplay,
} from './integrate/adjoints/index.js';
export {linalg} from './linalg/index.js';
export {
  auto,
  cg,
  cholesky,
  gmres,
  lu,
  minres,
  multigrid,
  sparseLdlt,
  sparseLu,
  supernodalLu,
  type LinearSolver,
} from './linear/index.js';
export type {Preconditioner} from './linear/krylov.js';
export type {Analysis, Factor, Pattern} from './linear/solver.js';
export {tensorflow} from './linear/tensorflow.js';
export {
  backtracking,
  eisenstatWalker,
  full,
  newton,
  subSteps,
  type Newton,
  type NewtonOptions,
  type StepLength,
} from './newton/index.js';
export {setThreadsCount} from './engine/wasm/product-threads.js';
export * from './scheme/index.js';
export {batch, batchAsync, type Batch, type BatchMember, type BatchOptions, type BatchVjp} from './simulate/batch.js';
export type {PreparedBatch} from './simulate/batch-kinds.js';
export {
  equilibrium,
  type Equilibrium,
  type EquilibriumDirection,
  type EquilibriumJvp,
  type EquilibriumOptions,
  type EquilibriumVjp,
} from './simulate/equilibrium.js';
export type {CriticalPoint, EquilibriumPath, PathOptions} from './simulate/equilibrium-path.js';
export type {PathPoint} from './simulate/path-states.js';
export {linearize, type Linearization} from './simulate/linearize.js';
export {modes, type NaturalModes, type ModesOptions, type ModesVjp} from './simulate/modes.js';
export type {Eigenvalue} from './simulate/eigenvalues.js';
export type {CotangentLoss, Hvp} from './simulate/hessian.js';
export type {SeriesLoss} from './simulate/loss.js';
export type {
  Encoder,
  EncoderAt,
  Objective,
  ObjectiveAt,
  ObjectiveValues,
  ValueAndGradient,
} from './simulate/objective-kinds.js';
export type {Cotangent, Initial, Pullback, SavedTangent, Tangent} from './simulate/kinds.js';
export type {SimulationContents} from './simulate/contents.js';
export {simulate, type Jvp, type Simulation, type Vjp} from './simulate/simulate.js';
export {adaptive, constant, type AdaptiveOptions, type StepControl} from './integrate/control.js';
export type {StepSizeController, StepSizeRule} from './integrate/history/step-size-rule.js';
export type {RunState} from './integrate/run-state.js';
export type {Status} from './integrate/counters.js';
export type {SavedState} from './simulate/steps.js';
export type {EventRecord} from './integrate/history/records.js';
export {event, type Event, type EventSpec} from './system/events.js';
export type {Progress, SaveAt, SimulateOptions} from './simulate/options.js';
export type {Stats, Trajectory} from './simulate/trajectory.js';
export {
  bilateral,
  compliant,
  nonholonomic,
  unilateral,
  type Constraint,
  type ConstraintKind,
  type Gap,
  type VelocityGap,
} from './system/constraint-kinds.js';
export {frictionalContact} from './system/frictional-contact.js';
export {dde, type DdeSpec, type DdeSystem, type DelayedAt} from './system/dde.js';
export {elements, type ElementEnergy, type ElementsSpec} from './system/elements.js';
export {loadTensorflow} from './tfjs/native.js';
export type {SparseMass} from './system/mass.js';
export {
  mechanics,
  type ForceAt,
  type ForceTerm,
  type Mass,
  type MechanicalSystem,
  type MechanicsSpec,
} from './system/mechanics.js';
export type {StateSpec} from './system/hidden-states.js';
export type {Kinematics} from './system/kinematics.js';
export {quaternions} from './system/rotations.js';
export type {Inputs} from './system/inputs.js';
export type {Numeric} from './system/numeric.js';
export type {System} from './step/formulation.js';
export type {ObservedAt, Observe} from './step/trace-step.js';
export {ode, type Derivative, type DerivativeAt, type Noise, type OdeSpec, type OdeSystem} from './system/ode.js';
export {stateTree, type StateTree, type TreeDerivativeAt} from './system/state-tree.js';
export type {NumericParams, Params} from './system/params.js';
export {sde, type BrownianPath, type SdeSpec, type SdeSystem} from './system/sde.js';
export {signal, type Input, type Signal, type SignalKind} from './system/signal.js';
/** Schemes for an `sde`, and random numbers that a seed fixes: Brownian paths, and probes of a trace. */
export * as stochastic from './stochastic.js';
// Schemes, constraints, primitives and kernels of one's own (docs/extending.md).
export {complementarity, defineConstraint, type GapAndMultiplier} from './system/constraint-kinds.js';
export type {Blocks} from './system/equations.js';
export type {EngineName} from './engine/index.js';
export {definePrimitive, type PrimitiveSpec} from './trace/define-primitive.js';
export {traceKernel, type KernelMeaning} from './trace/trace-kernel.js';
/**
 * For use inside traced functions: unrounded constants, products with a Jacobian, values with equations of their own,
 * divisors of a scheme's rows.
 */
export * as traced from './traced.js';
