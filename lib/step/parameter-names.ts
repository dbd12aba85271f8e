/**
 * The names of buffers that belong to a parameter, p.0, p.1, …, or to a value derived from parameters, derived.0, …, by
 * the name of that.
 */
import type {Node} from '../graph/node.js';

/** What a parameter, or a value derived from parameters, is called. */
export type ParameterName = `p.${number}` | `derived.${number}`;

/** Programs with cotangents of the parameters, of their own or shared. */
export type CotangentProgram = 'pullStep' | 'pullDense' | 'pullEvents' | `pullJump.${number}`;

type Named = Node<'input'> | ParameterName;

/** Splits a parameter's name into family and number. */
function parts(of: Named): ['p' | 'derived', number] {
  const [family, index] = (typeof of === 'string' ? of : of.attributes.name).split('.');
  return [family as 'p' | 'derived', Number(index)];
}

/** The name of a parameter's cotangent: pCotangent.0. */
export function cotangentName(of: Named): `${'p' | 'derived'}Cotangent.${number}` {
  const [family, index] = parts(of);
  return `${family}Cotangent.${index}`;
}

/**
 * The name of a parameter's cotangent in one program, pCotangent.pullStep.0; programs that run in every step share one.
 */
export function parameterCotangent(program: CotangentProgram, of: Named): `${'p' | 'derived'}Cotangent.${string}` {
  const [family, index] = parts(of);
  return `${family}Cotangent.${program}.${index}`;
}

/** Directions along it: dp.0. */
export function directionName(of: Named): `d${'p' | 'derived'}.${number}` {
  const [family, index] = parts(of);
  return `d${family}.${index}`;
}

/** How its cotangent changes along directions: dPCotangent.0. */
export function secondOrderName(of: Named): `d${'P' | 'Derived'}Cotangent.${number}` {
  const [family, index] = parts(of);
  return `d${family === 'p' ? 'P' : 'Derived'}Cotangent.${index}`;
}
