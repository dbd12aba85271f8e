/** Meshes of two parts that hang together nowhere. */
import {meshOf, type Cells, type Mesh} from '../../../fem/index.js';

/** A mesh and another one that is moved; sets are named 'lower left', 'upper left' and so on. */
export function twoParts(lower: Mesh, upper: Mesh, shift: readonly number[]): Mesh {
  const d = lower.dimension;
  const first = lower.points.length / d;
  const counted = (cells: Cells): Cells =>
    Object.fromEntries(Object.entries(cells).map(([type, nodes]) => [type, nodes.map(node => node + first)]));
  const named = <T>(name: string, sets: {readonly [key: string]: T}): {[key: string]: T} =>
    Object.fromEntries(Object.entries(sets).map(([key, set]) => [`${name} ${key}`, set]));
  const [type] = Object.keys(lower.cells) as (keyof Cells)[];
  return meshOf({
    points: [...lower.points, ...upper.points.map((x, i) => x + shift[i % d])],
    dimension: d,
    cells: {[type]: [...lower.cells[type]!, ...counted(upper.cells)[type]!]},
    sets: {
      nodes: {
        ...named('lower', lower.sets.nodes),
        ...named(
          'upper',
          Object.fromEntries(Object.entries(upper.sets.nodes).map(([k, set]) => [k, set.map(i => i + first)])),
        ),
      },
      facets: {
        ...named('lower', lower.sets.facets),
        ...named('upper', Object.fromEntries(Object.entries(upper.sets.facets).map(([k, set]) => [k, counted(set)]))),
      },
    },
  });
}
