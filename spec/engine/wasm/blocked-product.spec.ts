/** Large products, which are packed in blocks: the interpreter's bits at every edge of a block, and of operands read by strides. */
import {expect} from 'chai';
import {input, matMul, reshape, scale, slice, transpose} from '../../../lib/graph/build.js';
import type {Node} from '../../../lib/graph/node.js';
import {isOp} from '../../../lib/graph/node.js';
import {isBlocked} from '../../../lib/graph/primitives/contraction.js';
import {agree} from './agreement.js';

function agreeBlocked(product: Node, inputs: readonly Node<'input'>[]): void {
  expect(isOp(product, 'matMul') && isBlocked(product)).to.equal(true);
  agree({inputs, outputs: [{name: 'c', node: product}]}, 7);
}

describe('blocked products', () => {
  // Blocks are of 64 rows, 256 columns and 256 inner indices, tiles of 4 × 4.
  for (const [m, k, n] of [
    [16, 512, 260],
    [67, 259, 258],
    [130, 513, 17],
    [300, 3, 300],
    [257, 257, 19],
  ]) {
    for (const [transposeA, transposeB] of [
      [false, false],
      [false, true],
      [true, false],
      [true, true],
    ]) {
      it(`[${m}, ${k}]·[${k}, ${n}]${transposeA ? ', first transposed' : ''}${transposeB ? ', second transposed' : ''}`, () => {
        const a = input('a', transposeA ? [1, k, m] : [1, m, k]);
        const b = input('b', transposeB ? [1, n, k] : [1, k, n]);
        agreeBlocked(matMul(a, b, transposeA, transposeB), [a, b]);
      });
    }
  }

  it('of batches, of parts of larger matrices and of what other loops compute', () => {
    const [a, b] = [input('a', [2, 70, 300]), input('b', [2, 290, 280])];
    const part = slice(a, [0, 3, 5], [2, 66, 280]);
    const turned = transpose(slice(b, [0, 1, 0], [2, 270, 280]), [0, 2, 1]);
    agreeBlocked(matMul(part, turned), [a, b]);
    const [x, w] = [input('x', [33 * 270]), input('w', [270, 270])];
    agreeBlocked(matMul(scale(reshape(x, [1, 33, 270]), 0.3), reshape(w, [1, 270, 270]), false, true), [x, w]);
  });
});
