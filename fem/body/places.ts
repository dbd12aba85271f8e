/** Parts of a mesh as supports and loads name them: a set's name, node numbers, a condition, or facets. */
import {shown, suggestion} from '../../lib/checks.js';
import {OptionError} from '../../lib/index.js';
import {typesIn, type Cells} from '../mesh/cell-types.js';
import type {Mesh} from '../mesh/mesh.js';
import {boundary, pointAt, select, type Where} from '../mesh/topology.js';

/** Nodes: the name of a set of nodes or facets, node numbers, or a condition on coordinates. */
export type NodePlace = string | ArrayLike<number> | Where;
/** Facets: the name of a set, facets as `boundary` gives them, or a condition that all nodes of a facet fulfil. */
export type FacetPlace = string | Cells | Where;

const unknownSet = (owner: string, name: string, known: readonly string[]): OptionError =>
  new OptionError(
    'unknown-set',
    `${owner}: the mesh has no set ${shown(name)}; it has ${known.length === 0 ? 'none' : known.join(', ')}.`
      + suggestion(name, known),
    {set: name},
  );

const empty = (owner: string, what: string): OptionError =>
  new OptionError('empty-set', `${owner}: there are no ${what} here. Look at the condition and at the mesh's units.`);

/** The nodes of facets, each once, increasing. */
export const nodesOf = (cells: Cells): Int32Array =>
  Int32Array.from(new Set(typesIn(cells).flatMap(({nodes}) => Array.from(nodes)))).sort();

/** @throws OptionError where a set or a node does not exist, or there are no nodes */
export function nodesAt(mesh: Mesh, on: NodePlace, owner: string): Int32Array {
  const count = mesh.points.length / mesh.dimension;
  let nodes: ArrayLike<number>;
  if (typeof on === 'function') nodes = select(mesh, on);
  else if (typeof on === 'string') {
    const {nodes: nodeSets, facets} = mesh.sets;
    if (Object.hasOwn(nodeSets, on)) nodes = nodeSets[on];
    else if (Object.hasOwn(facets, on)) nodes = nodesOf(facets[on]);
    else throw unknownSet(owner, on, [...new Set([...Object.keys(nodeSets), ...Object.keys(facets)])]);
  } else nodes = on;
  const numbers = Int32Array.from(nodes);
  if (numbers.length === 0) throw empty(owner, 'nodes');
  const wrong = Array.from(nodes).find(node => !Number.isInteger(node) || node < 0 || node >= count);
  if (wrong !== undefined)
    throw new OptionError('unknown-node', `${owner}: there is no node ${wrong}; nodes are 0 to ${count - 1}.`, {
      node: wrong,
    });
  return numbers;
}

/** @throws OptionError where a set does not exist or has no facets */
export function facetsAt(mesh: Mesh, on: FacetPlace, owner: string): Cells {
  let facets: Cells;
  if (typeof on === 'function') facets = boundary(mesh, on);
  else if (typeof on !== 'string') facets = on;
  else if (Object.hasOwn(mesh.sets.facets, on)) facets = mesh.sets.facets[on];
  else throw unknownSet(owner, on, Object.keys(mesh.sets.facets));
  if (typesIn(facets).length === 0) throw empty(owner, 'facets');
  return facets;
}

/** 'node 7 at (0, 1)', for errors. */
export const nodeText = (mesh: Mesh, node: number): string => `node ${node} at (${pointAt(mesh, node).join(', ')})`;
