/** stiffgrad/fem: meshes, their files, and deformable bodies on them. */
export type {Cells, CellType} from './mesh/cell-types.js';
export {annulus, box, cylinder, disk, plateWithHole, strip} from './mesh/generators.js';
export {meshOf, type Mesh, type MeshField, type MeshParts, type MeshSets} from './mesh/mesh.js';
export {polygon} from './mesh/polygon.js';
export {readMesh, type ReadMeshOptions} from './mesh/files/read-mesh.js';
export {writePvd, writeVtu, type FieldsToWrite, type MeshFrame} from './mesh/files/write-vtu.js';
export {elevated, refined} from './mesh/refine.js';
export {boundary, select, withSets, type Where} from './mesh/topology.js';
export {extruded, mapped, type PointMap} from './mesh/transform.js';
export type {Body, BodyState, RayleighDamping} from './body/body.js';
export {heat, reactionDiffusion, type HeatSpec, type ReactionDiffusionSpec} from './diffusion/diffusion.js';
export type {FieldState, FieldSystem} from './diffusion/fields.js';
export type {StateGradient} from './body/evaluate.js';
export {rod, type Rod, type RodSpec} from './rod/rod.js';
export {cloth, type ClothSpec} from './shell/cloth.js';
export {shell, type ShellBody, type ShellSpec} from './shell/shell.js';
export {solid, type SolidBody, type SolidSpec} from './solid/solid.js';
/** What bodies touch: obstacles that do not deform. */
export * as obstacles from './contact/obstacle-group.js';
export type {ContactLoad, ContactSpec} from './contact/contact.js';
export type {RigidObstacle, ObstacleAt, ObstacleValue} from './contact/obstacles.js';
/** Laws of elasticity for `solid`. */
export * as materials from './solid/material-group.js';
/** Supports: nodes that are held, or move as prescribed. */
export * as supports from './body/support-group.js';
/** Loads by surface, volume, mass or node, and elastic foundations. */
export * as loads from './body/load-group.js';
