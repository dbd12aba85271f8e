/** The names of buffers that belong to a parameter, p.0, p.1, …, or to a value derived from parameters, derived.0, …, by the name of that. */
import type {Node} from '../graph/node.js';

type Named = Node<'input'> | string;

const nameOf = (of: Named): string => (typeof of === 'string' ? of : of.attributes.name);

/** Its cotangent: pCotangent.0. */
export const cotangentName = (of: Named): string => nameOf(of).replace('.', 'Cotangent.');

/** Directions along it: dp.0. */
export const directionName = (of: Named): string => `d${nameOf(of)}`;

/** How its cotangent changes along directions: dPCotangent.0. */
export const turnName = (of: Named): string => {
  const cotangent = cotangentName(of);
  return `d${cotangent[0].toUpperCase()}${cotangent.slice(1)}`;
};
