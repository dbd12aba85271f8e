/** What other folders of the project use of fem/ and users do not: no part of the public interface. */
export {shapeFunctions} from './cells/shape-functions.js';
export {cellShape, typesIn, type CellType} from './mesh/cell-types.js';
export {bodyDimension, boundary} from './mesh/topology.js';
export type {Mesh} from './mesh/mesh.js';
export {evaluator} from './body/evaluate.js';
export type {Body} from './body/body.js';
