import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-cpu';
import {expect} from 'chai';
import {linalg} from '../../lib/linalg/index.js';
import {loadTensorflow} from '../../lib/tfjs/native.js';
import {restoreRemoved} from '../../lib/tfjs/node-shim.js';
import {SingularMatrixError} from '../../lib/errors.js';

describe('tfjs-node', () => {
  it('util gets back what Node 23 removed, and keeps what it has', () => {
    const own = (): boolean => false;
    const util: Record<string, (value: unknown) => boolean> = {isArray: own};
    restoreRemoved(util);
    expect(util.isArray).to.equal(own);
    expect([null, undefined, 0, ''].map(value => util.isNullOrUndefined(value))).to.deep.equal([
      true,
      true,
      false,
      false,
    ]);
  });

  describe('where it is installed', () => {
    let loaded = false;

    before(async () => {
      await tf.setBackend('cpu');
      loaded = await loadTensorflow();
    });

    after(() => tf.setBackend('cpu'));

    it('loads, or says in a sentence why it does not', () => {
      if (loaded) {
        expect(tf.getBackend()).to.equal('tensorflow');
        expect(loadTensorflow.unavailableReason()).to.equal(undefined);
      } else {
        expect(loadTensorflow.unavailableReason()).to.match(/^@tensorflow\/tfjs-node .*\.$/);
      }
    });

    it("linalg runs TensorFlow's kernels, with the same results to float32 accuracy", function () {
      if (!loaded) {
        this.skip(); // @tensorflow/tfjs-node is absent
      }
      tf.tidy(() => {
        const a = tf.tensor3d([4, 1, 0.5, 1, 3, -1, 0.5, -1, 5, 2, 0.3, 0, 0.3, 1, 0.2, 0, 0.2, 3], [2, 3, 3]);
        const b = tf.tensor2d([1, 2, 3, -1, 0, 1], [3, 2]);
        const results = (): number[][] => {
          const {lu, p} = linalg.lu(a);
          const f = (x: tf.Tensor): tf.Tensor =>
            tf.sum(tf.square(tf.add(linalg.logdet(x), tf.sum(linalg.solve(x, b)))));
          return [
            linalg.solve(a, b, {adjoint: true}),
            linalg.cholesky(a),
            linalg.triangularSolve(a, b, {lower: false}),
            lu,
            p,
            linalg.inv(a),
            linalg.det(a),
            linalg.eigh(a).values,
            tf.abs(linalg.eigh(a).vectors), // TensorFlow's signs are its own
            linalg.svd(a).s,
            tf.abs(linalg.svd(tf.slice(a, [0, 0, 0], [2, 3, 2]), {fullMatrices: true}).u),
            tf.grad((x: tf.Tensor) => tf.sum(linalg.svd(x).s))(a),
            tf.grad(f)(a),
            tf.grad(x => tf.sum(tf.square(tf.grad(f)(x))))(a),
          ].map(t => Array.from(t.dataSync()));
        };
        tf.setBackend('tensorflow');
        const native = results();
        tf.setBackend('cpu');
        results().forEach((expected, i) => {
          const scale = Math.max(1, ...expected.map(Math.abs));
          // condition numbers below 10 and at most some hundred float32 operations in a row
          expected.forEach((value, at) => expect(native[i][at], `result ${i}`).to.be.closeTo(value, 1e-5 * scale));
        });
        tf.setBackend('tensorflow');
      });
    });

    it('a matrix TensorFlow refuses is named all the same', function () {
      if (!loaded) {
        this.skip(); // @tensorflow/tfjs-node is absent
      }
      tf.setBackend('tensorflow');
      expect(() =>
        linalg.solve(
          [
            [1, 2],
            [2, 4],
          ],
          [1, 1],
        ),
      )
        .to.throw(SingularMatrixError)
        .with.nested.property('data.row', 1);
      expect(() =>
        linalg.cholesky([
          [1, 2],
          [2, 1],
        ]),
      )
        .to.throw(SingularMatrixError)
        .with.nested.property('data.row', 1);
      expect(() =>
        linalg.triangularSolve(
          [
            [0, 0],
            [2, 1],
          ],
          [1, 1],
        ),
      )
        .to.throw(SingularMatrixError)
        .with.nested.property('data.row', 0);
    });
  });
});
