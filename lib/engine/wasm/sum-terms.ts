/** A value as a sum: its terms, so that each may be added in the precision in which it is held. */
import type {Expression} from './expression.js';

/** A term of a sum, with its sign. */
export interface SumTerm {
  readonly of: Expression;
  readonly sign: 1 | -1;
}

export function termsOf(of: Expression, sign: 1 | -1 = 1): readonly SumTerm[] {
  if (of.kind === 'binary' && of.fn === 'add') return [...termsOf(of.a, sign), ...termsOf(of.b, sign)];
  const opposite = sign === 1 ? -1 : 1;
  if (of.kind === 'binary' && of.fn === 'sub') return [...termsOf(of.a, sign), ...termsOf(of.b, opposite)];
  if (of.kind === 'unary' && of.fn === 'neg') return termsOf(of.x, opposite);
  return [{of, sign}];
}
