/** Measures of meshes for tests, by the divergence theorem on boundary facets with their linear corners. */
import {cellShape, typesIn, type CellComplex, type Cells} from '../../../fem/mesh/cell-types.js';
import {boundary} from '../../../fem/mesh/topology.js';
import {TupleIndex} from '../../../fem/mesh/tuple-index.js';

/** Area or volume within facets whose normals point outwards: of straight facets, exact. */
export function enclosed({points, dimension}: CellComplex, facets: Cells): number {
  let sum = 0;
  for (const {shape, nodes} of typesIn(facets))
    for (let i = 0; i < nodes.length; i += shape.nodes) {
      const p = Array.from({length: shape.corners}, (_, c) => {
        const at = nodes[i + c] * dimension;
        return Array.from(points.subarray(at, at + dimension));
      });
      if (dimension === 2) sum += (p[0][0] * p[1][1] - p[0][1] * p[1][0]) / 2;
      else for (let c = 1; c + 1 < p.length; c++) sum += determinant(p[0], p[c], p[c + 1]) / 6;
    }
  return sum;
}

export const determinant = (a: number[], b: number[], c: number[]): number =>
  a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);

/** Area or volume of all of a mesh. */
export const volume = (mesh: CellComplex): number => enclosed(mesh, boundary(mesh));

/** Corners − edges + faces − solids. */
export function eulerCharacteristic({cells}: CellComplex): number {
  const points = new Set<number>();
  const edges = new TupleIndex(2);
  const faces = new TupleIndex(4);
  let solids = 0;
  for (const {shape, nodes} of typesIn(cells))
    for (let i = 0; i < nodes.length; i += shape.nodes) {
      for (let c = 0; c < shape.corners; c++) points.add(nodes[i + c]);
      for (const edge of shape.edges) edges.add(edge.map(c => nodes[i + c]));
      if (shape.dimension === 2) faces.add(nodes.subarray(i, i + shape.corners));
      if (shape.dimension === 3) {
        solids++;
        for (const {type, nodes: facet} of shape.facets)
          faces.add(facet.slice(0, cellShape(type).corners).map(c => nodes[i + c]));
      }
    }
  return points.size - edges.count + faces.count - solids;
}
