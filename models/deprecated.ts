/** Names that were given up for the field's own; they work as before. */
import {distanceConstraints, type DistanceConstraintsSpec} from './links.js';
import {springMesh, type SpringMesh, type SpringMeshSpec} from './spring-mesh.js';

/** The old name of `springMesh`. @deprecated use `springMesh` */
export const net: typeof springMesh = springMesh;
/** The old name of `SpringMesh`. @deprecated use `SpringMesh` */
export type Net = SpringMesh;
/** The old name of `SpringMeshSpec`. @deprecated use `SpringMeshSpec` */
export type NetSpec = SpringMeshSpec;

/** The old name of `distanceConstraints`. @deprecated use `distanceConstraints` */
export const rods: typeof distanceConstraints = distanceConstraints;
/** The old name of `DistanceConstraintsSpec`. @deprecated use `DistanceConstraintsSpec` */
export type RodsSpec = DistanceConstraintsSpec;
