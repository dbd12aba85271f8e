/**
 * stiffgrad/models: physical and neural terms and whole systems, ready to use. Each is a plain function
 * that returns a force term for `mechanics({mass, forces})`, or a whole system with its energy. Units
 * are the user's own, as long as they agree; SI in the examples. Every parameter is a number (kept in
 * double precision), a tensor or tf.Variable (trained by tfjs), or a function of `params` (identified).
 */
export {dcMotor, delayLine, firstOrderActuator, type Command} from './actuators.js';
export {chain} from './chain.js';
export {clearance} from './clearance.js';
export {coefficient, type Coefficient} from './coefficient.js';
export {damper, rayleigh} from './damper.js';

export {drivenBy, harmonic, ramp, type Drive} from './drive.js';
export {edgeLengths, type Edge} from './edges.js';
export {
  conservative,
  mechanicalEnergy,
  type ConservativeTerm,
  type Energy,
  type Potential,
  type SystemWithEnergy,
} from './energy.js';
export {withFigure, type Drawn, type Figure} from './figure.js';
export {lipschitz, lipschitzBound} from './lipschitz.js';
export {flow, logNormal, rademacher} from './flow.js';
export {calibrated, firstOrderLag} from './sensors.js';
export {coulomb, stribeck} from './friction.js';
export {gravity, standardGravity} from './gravity.js';
export {boucWen, maxwellSlip, playOperator, stopOperator} from './hysteresis.js';
export {fourBars, rodChain, sliderCrank} from './linkages.js';
export {cables, contacts, distanceConstraints, planeContact} from './links.js';
export {lagrangian, type Lagrangian} from './lagrangian.js';
export {luGre} from './lugre.js';
export {mlp, type Activation, type Mlp} from './mlp.js';
export {layersModel, mlpOfLayers} from './mlp-layers.js';
export * from './multibody/index.js';
export {neuralDissipation, neuralForce, neuralMass, neuralPotential, type Network} from './neural.js';
export {doublePendulum, pendulum} from './pendulum.js';
export {bodyPoints, pins, planarGravity, planarMass, type BodyPoint, type Pin} from './planar-bodies.js';
export {spring, type SpringLaw} from './spring.js';
export {springMesh, type SpringMesh} from './spring-mesh.js';
export type {OutputWithStates, TermAt, TermWithStates} from './states.js';
export {dampers, springs} from './springs.js';
