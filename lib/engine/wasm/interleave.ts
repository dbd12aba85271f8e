/** Functions of functions: what of several pairs is interleaved. */
import type {Expression} from './expression.js';
import {children} from './expression.js';
import {unaryForms} from './functions.js';
import type {ProgramPiece} from './pieces.js';

/**
 * Where a function waits for another, as softplus's logarithm for its exponential, a processor has too few pairs in
 * sight to fill the time: of so many pairs the one is computed, then the other. Measured for softplus of 2048 numbers:
 * 15.1 µs one pair at a time, 13.8 with two, 11.8 with four, 11.3 with eight.
 */
export const interleavedPairs = 4;

/** The values computed at the points of some pieces. */
export const resultsOf = (pieces: readonly ProgramPiece[]): Expression[] =>
  pieces.flatMap(piece =>
    piece.assignments.flatMap(({value, position}) => (position === undefined ? [value] : [value, position])),
  );

/** The functions along an axis whose values others wait for, each after what it waits for itself. */
export function awaited(pieces: readonly ProgramPiece[], axis: number): Expression[] {
  const found = new Set<Expression>();
  const functionsBelow = new Map<Expression, readonly Expression[]>();
  const below = (e: Expression): readonly Expression[] => {
    let known = functionsBelow.get(e);
    if (known === undefined) {
      const waited = [...new Set(children(e).flatMap(below))];
      const isFunction = e.kind === 'unary' && unaryForms[e.fn].by === 'function' && (e.varies & (1 << axis)) !== 0;
      if (isFunction) for (const each of waited) found.add(each);
      functionsBelow.set(e, (known = isFunction ? [e] : waited));
    }
    return known;
  };
  resultsOf(pieces).forEach(below);
  return [...found];
}
