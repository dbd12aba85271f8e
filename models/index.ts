/**
 * stiffgrad/models: physical and neural terms and whole systems, ready to use. Each is a plain function
 * that returns a force term for `mechanics({mass, forces})`, or a whole system with its energy. Units
 * are the user's own, as long as they agree; SI in the examples. Every parameter is a number (kept in
 * double precision), a tensor or tf.Variable (trained by tfjs), or a function of `params` (identified).
 */
export type {Command} from './actuators.js';
export {chain} from './chain.js';
export {clearance} from './clearance.js';
export {coefficient, type Coefficient} from './coefficient.js';
export {damper, rayleigh} from './damper.js';

export {drivenBy, type Drive} from './drive.js';
export type {Edge} from './edges.js';
export {
  conservative,
  mechanicalEnergy,
  type ConservativeTerm,
  type Energy,
  type Potential,
  type SystemWithEnergy,
} from './energy.js';
export {withFigure, type Drawn, type Figure} from './figure.js';
export {gravity} from './gravity.js';
export {lagrangian, type Lagrangian} from './lagrangian.js';
export {mlp, type Activation, type Mlp} from './mlp.js';
export * from './multibody/index.js';
export {neuralDissipation, neuralForce, neuralMass, neuralPotential, type Network} from './neural.js';
export {doublePendulum, pendulum} from './pendulum.js';
export type {BodyPoint, Pin} from './planar-bodies.js';
export {spring, type SpringLaw} from './spring.js';
export {springMesh, type SpringMesh} from './spring-mesh.js';
export type {OutputWithStates, TermAt, TermWithStates} from './states.js';
/** Shapes of bodies that touch, for `rigidContact`: solids, surfaces and heights. */
export * as shapes from './shapes.js';
/** Terms and constraints between particles, q [particles, 2 or 3]: along edges, or with a plane. */
export * as particles from './particles.js';
/** Hysteresis of a coordinate: friction with presliding, and the play and stop operators. */
export * as hysteresis from './hysteresis-terms.js';
/** Dry friction of a coordinate: smooth Coulomb, with a Stribeck curve, and LuGre bristles. */
export * as friction from './friction-terms.js';
/** Rigid bodies in the plane, q [bodies, 3]: (x, y, angle) of each; their mass, weight, pins and points. */
export * as planarBodies from './planar-terms.js';
/** What stands between a command and a force: a first-order lag, the armature of a motor, a delay. */
export * as actuators from './actuator-terms.js';
/** What stands between a quantity and its measurement: gain and offset, a first-order lag. */
export * as sensors from './sensor-terms.js';
/** Whole mechanisms in Cartesian coordinates, with constraints. */
export * as linkages from './linkage-systems.js';
/** Quantities over time, for `drivenBy` and `motor`. */
export * as drives from './drives.js';
/** What is done with an `mlp`: bounds of its slope, and conversion to and from tf.layers. */
export * as networks from './networks.js';
/** Mass and inertia of a body by ten numbers without bounds, to identify them. */
export * as inertias from './multibody/inertias.js';
/** Continuous normalizing flows, and what their training needs. */
export * as flows from './flows.js';
