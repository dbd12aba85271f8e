/** The orders a symmetric permutation can take, by name. */
import {amd} from './amd.js';
import type {AdjacencyGraph} from './graph.js';
import {nestedDissection} from './nested-dissection.js';
import {reverseCuthillMcKee} from './rcm.js';

/** 'amd', 'nested-dissection': low fill, for sparse factors. 'rcm': small bandwidth. 'natural': as given. */
export type OrderingName = 'amd' | 'nested-dissection' | 'rcm' | 'natural';

export function ordering(graph: AdjacencyGraph, name: OrderingName): Int32Array {
  if (name === 'amd') return amd(graph);
  if (name === 'nested-dissection') return nestedDissection(graph);
  if (name === 'rcm') return reverseCuthillMcKee(graph);
  return Int32Array.from({length: graph.n}, (_, i) => i);
}

export {amd} from './amd.js';
export {inverse, symmetricGraph, type AdjacencyGraph} from './graph.js';
export {bandwidth, reverseCuthillMcKee} from './rcm.js';
