/** Rigid bodies in space: the model, its joints and forces. */
export type {BodySpec} from './bodies.js';
export {contact, type BodyContact} from './contacts.js';
export {customJoint, type CustomJoint, type CustomJointAt} from './custom-joint.js';
export {
  axisTorque,
  jointFriction,
  springDamper,
  torsionSpring,
  type AxisState,
  type AxisTorque,
  type BodyForce,
  type SpringDamper,
  type WrenchTerm,
} from './forces.js';
export {jointForce, type JointForce, type JointState} from './joint-forces.js';
export {logCholesky, logCholeskyOf, type PhysicalInertia} from './inertia.js';
export {
  compound,
  cylindrical,
  distanceJoint,
  fixed,
  gear,
  motor,
  planar,
  prismatic,
  revolute,
  rolling,
  screw,
  spherical,
  universal,
  type Angle,
  type CompoundStep,
  type Joint,
  type JointAxis,
  type JointLoads,
  type JointPoint,
} from './joints.js';
export {
  multibody,
  type JointCoordinateOf,
  type Multibody,
  type MultibodySpec,
  type MultibodyStart,
  type SavedMotion,
} from './multibody.js';
export {rigidContact, type RigidContact} from './rigid-contacts.js';
export {
  box,
  capsule,
  ellipsoid,
  hull,
  implicitSurface,
  plane,
  sphere,
  type Ball,
  type Shape,
  type ShapeKind,
  type SurfaceFunction,
  type Turned,
} from './shapes.js';
export {heightField} from './surfaces.js';
export type {PoseSeries, ReactionSeries} from './series.js';
export {simulateNear, type NearOptions, type NearPiece, type NearRun, type NearSpec} from './near.js';
