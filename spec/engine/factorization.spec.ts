/** The factorization that an engine without compiled code has. */
import {expect} from 'chai';
import {lu} from '../../lib/index.js';
import {factorizationOf} from '../../lib/engine/engine.js';

describe('factorizationOf', () => {
  it('solves with the values that it is given', () => {
    const analysis = lu().analyze({
      n: 2,
      rowPointers: Int32Array.of(0, 2, 4),
      columns: Int32Array.of(0, 1, 0, 1),
      symmetric: false,
      dense: true,
    });
    const factor = factorizationOf(analysis)(Float64Array.of(4, 2, 2, 3));
    const x = new Float64Array(2);
    factor.solve(Float64Array.of(8, 8), x);
    expect([...x]).to.deep.equal([1, 2]);
  });
});
