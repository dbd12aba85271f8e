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
export {drivenBy, harmonicDrive, rampDrive, type Drive} from './drive.js';
export type {Edge} from './edges.js';
export {
  conservative,
  mechanicalEnergy,
  type ConservativeTerm,
  type Energy,
  type Potential,
  type SystemWithEnergy,
} from './energy.js';
export {withFigure, type Drawn, type Figure, type FigureField} from './figure.js';
export {continuousFlow, logStandardNormal} from './flow.js';
export {coulomb, stribeck} from './friction.js';
export {gravity} from './gravity.js';
export {lagrangian, type Lagrangian} from './lagrangian.js';
export {contacts, planeContact} from './links.js';
export {lipschitz, lipschitzBound} from './lipschitz.js';
export {mlpFromLayers, mlpToLayers} from './mlp-layers.js';
export {mlp, type Activation, type Mlp} from './mlp.js';
export * from './multibody/index.js';
export {neuralDissipation, neuralForce, neuralMass, neuralPotential, type Network} from './neural.js';
export {doublePendulum, pendulum} from './pendulum.js';
export type {BodyPoint, Pin} from './planar-bodies.js';
export {spring, type SpringLaw} from './spring.js';
export {springMesh, type SpringMesh} from './spring-mesh.js';
export {dampers, springs} from './springs.js';
export type {OutputWithStates, TermAt, TermWithStates} from './states.js';
/** Joints beyond the pairs of mechanics: several movements in a row, rolling, gears, and motors that set an angle. */
export * as joints from './groups/joints.js';
/** Shapes of bodies that touch, for `rigidContact`: solids, surfaces and heights. */
export * as shapes from './groups/shapes.js';
/** Links between particles, q [particles, 2 or 3], along edges: of constant length, or taut; and lengths of edges. */
export * as links from './groups/links.js';
/** Hysteresis of a coordinate: friction with presliding, and the play and stop operators. */
export * as hysteresis from './groups/hysteresis.js';
/** Rigid bodies in the plane, q [bodies, 3]: (x, y, angle) of each; their mass, weight, pins and points. */
export * as planarBodies from './groups/planar-bodies.js';
/** What stands between a command and a force: a first-order lag, the armature of a motor, a delay. */
export * as actuators from './groups/actuators.js';
/** What stands between a quantity and its measurement: gain and offset, a first-order lag. */
export * as sensors from './groups/sensors.js';
/** Whole mechanisms in Cartesian coordinates, with constraints. */
export * as linkages from './groups/linkages.js';
