/** stiffgrad: differentiable simulation of stiff systems for TensorFlow.js. */
import './tfjs/repair.js';

export * from './errors.js';
export {backsolveAdjoint, forwardSensitivity, implicitAdjoint, unrolledAdjoint, type Adjoint} from './adjoint/index.js';
export {linalg} from './linalg/index.js';
export {auto, band, cg, cholesky, gmres, lu, minres, sparseLdlt, sparseLu, supernodalLu, type LinearSolver} from './linear/index.js';
export {tensorflow} from './linear/tensorflow.js';
export {backtracking, eisenstatWalker, full, newton, subSteps, type Forcing, type Newton, type NewtonOptions, type StepLength} from './newton/index.js';
export * from './scheme/index.js';
export {batch, batchAsync, type BatchMember, type BatchOptions, type BatchPullback, type BatchVjp, type BatchVjpAsync} from './simulate/batch.js';
export {equilibrium, type Equilibrium, type EquilibriumOptions, type EquilibriumStart} from './simulate/equilibrium.js';
export type {CotangentLoss, Hvp, Hvps} from './simulate/hessian.js';
export type {SavedSeries, SeriesLoss} from './simulate/loss.js';
export {simulate, type Cotangent, type Jvps, type Pullback, type RunValues, type Simulation, type Tangent, type Values, type Vjp} from './simulate/simulate.js';
export {adaptive, constant, type AdaptiveOptions, type StepControl} from './simulate/control.js';
export type {RunState} from './simulate/run-state.js';
export type {SavedState} from './simulate/steps.js';
export type {EventRecord} from './simulate/course/records.js';
export {event, type Event, type EventPlace, type EventSpec, type Jump} from './system/events.js';
export type {SimulateOptions, SaveAt, Progress} from './simulate/options.js';
export type {Initial} from './simulate/prepare.js';
export type {Stats, Trajectory} from './simulate/trajectory.js';
export {
  bilateral, compliant, nonholonomic, unilateral, type Compliance, type Constraint, type ConstraintKind, type Gap, type VelocityGap,
} from './system/constraint-kinds.js';
export {elements, type ElementEnergy, type ElementsSpec} from './system/elements.js';
export {loadTensorflow, tensorflowAbsence} from './tfjs/native.js';
export {mechanics, type ForceTerm, type Mass, type MechanicalSystem, type MechanicsSpec} from './system/mechanics.js';
export type {Numeric} from './system/numeric.js';
export {readNumeric, type NumericValue} from './system/numeric.js';
export type {System} from './step/formulation.js';
export type {Observe} from './step/trace-step.js';
export {constantTensor} from './trace/trace.js';
export {ode, type Derivative, type OdeSystem} from './system/ode.js';
export type {NumericParams, Params} from './system/params.js';
// What docs/extending.md invites to: a scheme's view of a step,
export type {Ahead} from './scheme/scheme.js';
export {defineConstraint, type GapAndMultiplier} from './system/constraint-kinds.js';
export type {Constraints, Place, RowScale} from './system/constraints.js';
export type {Blocks, Equations} from './system/equations.js';
// an engine,
export {bufferSizes, byFactor, chooseEngine, factorizationOf, plainVectors, type CompileOptions, type Engine, type EngineName, type Executable, type Programs, type TransposedSolve, type Vectors} from './engine/index.js';
export {valuesOf} from './graph/declarations.js';
export {topological, type Attributes, type BinaryName, type DType, type Empty, type Graph, type Node, type Op, type Output, type Shape, type UnaryName} from './graph/node.js';
export {primitiveOf} from './graph/primitives/index.js';
export type {Kernel, Primitive, Relation, Rows} from './graph/primitives/primitive.js';
// a linear solver, a preconditioner, and the length of Newton's steps,
export type {
  Analysis, Coupling, Factor, GmresOptions, KrylovFactor, KrylovMethod, KrylovOptions, KrylovSolver, LdltOptions, Operator, OrderingName, Pattern, Preconditioner, SparseLuOptions, SupernodalLuOptions,
} from './linear/index.js';
export type {Cycle as KrylovCycle} from './linear/krylov.js';
export type {ArithmeticName} from './linear/sparse-ldlt.js';
export type {BacktrackingOptions, Trial} from './newton/step-length.js';
export type {CompiledMethod} from './linear/solver.js';
// a primitive,
export {definePrimitive, type PrimitiveDerivative, type PrimitiveSpec} from './trace/define-primitive.js';
// and a kernel of tfjs.
export {traceKernel, type KernelMeaning} from './trace/trace-kernel.js';
