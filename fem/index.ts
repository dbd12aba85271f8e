/** stiffgrad/fem: meshes, their files, and deformable bodies on them. */
export type {Cells, CellType} from './mesh/cell-types.js';
export {meshOf, type Mesh, type MeshField, type MeshParts, type MeshSets} from './mesh/mesh.js';
