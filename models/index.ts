/**
 * stiffgrad/models: physical and neural terms and whole systems, ready to use. Each is a plain function
 * that returns a force term for `mechanics({mass, forces})`, or a whole system with its energy. Units
 * are the user's own, as long as they agree; SI in the examples. Every parameter is a number (kept in
 * double precision), a tensor or tf.Variable (trained by tfjs), or a function of `params` (identified).
 */
export {
  dcMotor,
  delayLine,
  firstOrderActuator,
  type Command,
  type DcMotorSpec,
  type DelayLineSpec,
  type FirstOrderActuatorSpec,
} from './actuators.js';
export {chain, type ChainSpec} from './chain.js';
export {clearance, type ClearanceSpec} from './clearance.js';
export {coefficient, type Coefficient, type Sign} from './coefficient.js';
export {damper, rayleigh, type RayleighSpec} from './damper.js';

export {drivenBy, harmonic, ramp, type Drive, type HarmonicSpec, type History, type RampSpec} from './drive.js';
export {edgeLengths, type Edge, type EdgesSpec} from './edges.js';
export {
  conservative,
  mechanicalEnergy,
  type ConservativeTerm,
  type Energy,
  type Potential,
  type SystemWithEnergy,
} from './energy.js';
export {withFigure, type Drawn, type DrawnForces, type DrawnState, type Figure, type Ground} from './figure.js';
export {lipschitz, lipschitzBound} from './lipschitz.js';
export {flow, logNormal, rademacher, type FlowSpec} from './flow.js';
export {calibrated, firstOrderLag, type CalibratedSpec, type FirstOrderLagSpec} from './sensors.js';
export {coulomb, stribeck, type CoulombSpec, type StribeckSpec} from './friction.js';
export {gravity, standardGravity, type GravitySpec} from './gravity.js';
export {
  boucWen,
  maxwellSlip,
  playOperator,
  stopOperator,
  type BoucWenSpec,
  type MaxwellSlipSpec,
  type StopSpec,
} from './hysteresis.js';
export {
  fourBars,
  rodChain,
  sliderCrank,
  type FourBars,
  type FourBarsSpec,
  type RodChainSpec,
  type SliderCrankSpec,
} from './linkages.js';
export {
  cables,
  contacts,
  distanceConstraints,
  planeContact,
  type CablesSpec,
  type ContactsSpec,
  type DistanceConstraintsSpec,
  type PlaneContactSpec,
} from './links.js';
export {lagrangian, type Lagrangian, type LagrangianOptions} from './lagrangian.js';
export {luGre, type LuGreSpec} from './lugre.js';
export {mlp, type Activation, type Mlp, type MlpSpec} from './mlp.js';
export {layersModel, mlpOfLayers} from './mlp-layers.js';
export * from './multibody/index.js';
export {
  neuralDissipation,
  neuralForce,
  neuralMass,
  neuralPotential,
  type Network,
  type NetworkInput,
  type NetworkOptions,
} from './neural.js';
export {doublePendulum, pendulum, type DoublePendulumSpec, type PendulumSpec} from './pendulum.js';
export {
  bodyPoints,
  pins,
  planarGravity,
  planarMass,
  type BodyPoint,
  type Pin,
  type PlanarBodiesSpec,
} from './planar-bodies.js';
export {spring, type CubicElasticity, type Elasticity, type SpringLaw} from './spring.js';
export {springMesh, type Knot, type SpringMesh, type SpringMeshSpec} from './spring-mesh.js';
export type {Acting, OutputWithStates, TermAt, TermState, TermWithStates} from './states.js';
export {dampers, springs, type DampersSpec, type SpringsSpec} from './springs.js';
