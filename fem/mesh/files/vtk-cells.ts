/** Cells as VTK's files have them, legacy and XML alike: connectivity, offsets and types. */
import {cellShape, cellShapes, cellTypes, type CellType} from '../cell-types.js';
import {supportedCells, type FileCells} from './file-mesh.js';

const typesByNumber = new Map<number, CellType>(cellShapes.map(({vtk, type}) => [vtk, type]));

/** Cells whose corners are in the order of a lattice (pixels and voxels). */
const latticeCells: {readonly [vtk: number]: {readonly type: CellType; readonly order: readonly number[]}} = {
  8: {type: 'quad4', order: [0, 1, 3, 2]},
  11: {type: 'hex8', order: [0, 1, 3, 2, 4, 5, 7, 6]},
};

/** Names that VTK has for types that are not supported. */
const otherTypes: {readonly [vtk: number]: string} = {
  2: 'VTK_POLY_VERTEX',
  4: 'VTK_POLY_LINE',
  6: 'VTK_TRIANGLE_STRIP',
  7: 'VTK_POLYGON',
  13: 'VTK_WEDGE',
  14: 'VTK_PYRAMID',
  26: 'VTK_QUADRATIC_WEDGE',
  27: 'VTK_QUADRATIC_PYRAMID',
  34: 'VTK_BIQUADRATIC_TRIANGLE',
  42: 'VTK_POLYHEDRON',
  68: 'VTK_LAGRANGE_CURVE',
  69: 'VTK_LAGRANGE_TRIANGLE',
  70: 'VTK_LAGRANGE_QUADRILATERAL',
  71: 'VTK_LAGRANGE_TETRAHEDRON',
  72: 'VTK_LAGRANGE_HEXAHEDRON',
};

/**
 * Adds cells of a file.
 * @param ends where each cell's nodes end in `connectivity`
 * @param first number of the file's first point in the mesh
 * @param error of a sentence, with the place in the file
 */
export function addVtkCells(
  cells: FileCells,
  connectivity: Float64Array,
  ends: Float64Array,
  types: Float64Array,
  first: number,
  error: (sentence: string) => Error,
): void {
  let start = 0;
  types.forEach((number, cell) => {
    const end = ends[cell];
    if (!(end >= start && end <= connectivity.length))
      throw error(`cell ${cell} ends at ${end} of ${connectivity.length} node numbers.`);
    const row = connectivity.subarray(start, end);
    const {type, order} = latticeCells[number] ?? {
      type: typesByNumber.get(number) ?? (number === 7 ? polygonTypes[row.length] : undefined),
      order: undefined,
    };
    if (type === undefined) {
      const name = otherTypes[number];
      throw error(
        `cell ${cell} has the type ${number}${name === undefined ? '' : ` (${name})`}, which is not supported. `
          + supportedCells(cellTypes),
      );
    }
    if (row.length !== cellShape(type).nodes) throw error(`cell ${cell} is a ${type} with ${row.length} nodes.`);
    cells.add(type, order === undefined ? row.map(node => node + first) : order.map(place => row[place] + first));
    start = end;
  });
}

const polygonTypes: {readonly [corners: number]: CellType | undefined} = {3: 'tri3', 4: 'quad4'};
