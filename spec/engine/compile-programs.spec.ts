/** Tensor functions compiled to programs that share buffers. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {compilePrograms} from '../../lib/engine/compile-programs.js';

describe('compilePrograms', () => {
  it('computes in double precision from shared buffers', () => {
    const programs = compilePrograms(
      {square: ({x}) => ({y: tf.mul(x, x)}), sum: ({x, w}) => ({s: tf.sum(tf.mul(w, x))})},
      {x: [2], w: [2]},
    );
    programs.buffer('x').set([3, 1 / 3]);
    programs.buffer('w').set([2, 9]);
    programs.run('square');
    programs.run('sum');
    expect([...programs.buffer('y')]).to.deep.equal([9, (1 / 3) ** 2]);
    expect([...programs.buffer('s')]).to.deep.equal([9]);
  });
});
