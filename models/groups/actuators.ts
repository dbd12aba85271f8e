/** What stands between a command and a force: a first-order lag, the armature of a motor, a delay. */
export {dcMotor, delayLine, firstOrder} from '../actuators.js';
