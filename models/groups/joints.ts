/** Joints beyond the pairs of mechanics: several movements in a row, rolling, gears, and motors that set an angle. */
export {compound, gear, motor, rolling} from '../multibody/joints.js';
