/** The playground's preview of a fit runs the model with what was found. */
import {expect} from 'chai';
import {estimated} from '../../../docs/playground/src/estimated.js';

describe('what a fit has found, for the preview', () => {
  it('parameters stand in the tree that the model reads, beside its constants', () => {
    expect(
      estimated(
        {'spring.k': 31, 'spring.rest.length': 0.5, c: [1, 2], 'initial.v': -3},
        {q: 4, v: 0},
        {
          spring: {k: 7, mass: 2},
          g: 9.81,
        },
      ),
    ).to.deep.equal({
      initial: {q: 4, v: -3},
      params: {spring: {k: 31, mass: 2, rest: {length: 0.5}}, c: [1, 2], g: 9.81},
    });
  });
});
