/** Rigid bodies in space: the model, its joints and forces. */
export type {BodySpec} from './bodies.js';
export {contact, type BodyContact} from './contacts.js';
export {customJoint, type CustomJoint} from './custom-joint.js';
export {axisTorque, jointFriction, springDamper, torsionSpring, type AxisTorque, type BodyForce} from './forces.js';
export {jointForce, type JointForce} from './joint-forces.js';
export {logCholeskyInertia, logCholeskyParameters, type PhysicalInertia} from './inertia.js';
export {
  cylindrical,
  distanceJoint,
  fixed,
  planar,
  prismatic,
  revolute,
  screw,
  spherical,
  universal,
  type CompoundStep,
  type Joint,
} from './joints.js';
export {multibody, type Multibody, type MultibodySpec} from './multibody.js';
export {rigidContact, type RigidContact} from './rigid-contacts.js';
export type {Shape, SurfaceFunction} from './shapes.js';
export type {PoseSeries, ReactionSeries} from './series.js';
export {simulateNear, type NearSegment, type NearRun, type NearSpec} from './near.js';
