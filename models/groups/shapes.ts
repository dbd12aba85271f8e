/** Shapes of bodies that touch, for `rigidContact`: solids, surfaces and heights. */
export {box, capsule, ellipsoid, hull, implicitSurface, plane, sphere} from '../multibody/shapes.js';
export {heightField} from '../multibody/surfaces.js';
