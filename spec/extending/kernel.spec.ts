/** A tfjs kernel from outside: Conv3D, which no traced function could use, as sums of matrix products. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  implicitMidpoint,
  mechanics,
  OptionError,
  simulate,
  TraceError,
  traceKernel,
  type SimulateOptions,
} from '../../lib/index.js';

type Strides = number | [number, number, number];
type Shape5 = [number, number, number, number, number];

/** Σ over the filter's places of the part of x that they see, times their matrix. */
const conv3d = (): (() => void) =>
  traceKernel('Conv3D', ({x, filter}, attributes) => {
    const {strides, dilations, pad} = attributes as {strides: Strides; dilations: Strides; pad: 'same' | 'valid'};
    const info = tf.backend_util.computeConv3DInfo(x.shape as Shape5, filter.shape as Shape5, strides, dilations, pad);
    const {batchSize, inChannels, outChannels, padInfo} = info;
    const outputs = [info.outDepth, info.outHeight, info.outWidth];
    const steps = [info.strideDepth, info.strideHeight, info.strideWidth];
    const apart = [info.dilationDepth, info.dilationHeight, info.dilationWidth];
    const padded = tf.pad(x, [
      [0, 0],
      [padInfo.front, padInfo.back],
      [padInfo.top, padInfo.bottom],
      [padInfo.left, padInfo.right],
      [0, 0],
    ]);
    const terms: tf.Tensor[] = [];
    for (let place = 0; place < info.filterDepth * info.filterHeight * info.filterWidth; place++) {
      const at = [
        Math.floor(place / (info.filterHeight * info.filterWidth)),
        Math.floor(place / info.filterWidth) % info.filterHeight,
        place % info.filterWidth,
      ];
      const from = at.map((index, axis) => index * apart[axis]);
      const to = from.map((first, axis) => first + (outputs[axis] - 1) * steps[axis] + 1);
      const seen = tf.stridedSlice(padded, [0, ...from, 0], [batchSize, ...to, inChannels], [1, ...steps, 1]);
      const matrix = tf.reshape(tf.slice(filter, [...at, 0, 0], [1, 1, 1, -1, -1]), [inChannels, outChannels]);
      terms.push(tf.matMul(tf.reshape(seen, [-1, inChannels]), matrix as tf.Tensor2D));
    }
    return tf.reshape(tf.addN(terms), [batchSize, ...outputs, outChannels]);
  });

describe('a tfjs kernel from outside: Conv3D', () => {
  const options: SimulateOptions = {scheme: implicitMidpoint(), dt: 0.05, steps: 20, params: {k: 3}};
  const chain = mechanics({
    mass: 1,
    // The second difference of displacements, with fixed ends.
    forces: ({q, params}) =>
      tf.mul(
        params.k as tf.Tensor,
        tf.reshape(
          tf.conv3d(tf.reshape(q, [-1, 1, 1, 1]) as tf.Tensor4D, tf.tensor5d([1, -2, 1], [3, 1, 1, 1, 1]), 1, 'same'),
          [-1],
        ),
      ),
  });
  const start = {q: [0.5, 0, -0.3, 0.2, 0, 0.1], v: [0, 0, 1, 0, 0, 0]};
  const run = (): ReturnType<typeof simulate> => {
    const path = simulate(chain, start, options);
    path.dispose();
    return path;
  };

  it('is refused before, with its name and the term; and again when it is undone', () => {
    expect(run).to.throw(TraceError, /forces\[0\].*Conv3D/s);
    const undo = conv3d();
    expect(run).not.to.throw();
    undo();
    // What was traced before is not traced again: another system.
    expect(() =>
      simulate(
        mechanics({
          mass: 1,
          forces: ({q}) =>
            tf.reshape(
              tf.conv3d(
                tf.reshape(q, [-1, 1, 1, 1]) as tf.Tensor4D,
                tf.ones([1, 1, 1, 1, 1]) as tf.Tensor5D,
                1,
                'same',
              ),
              [-1],
            ),
        }),
        start,
        {...options, params: {}},
      ),
    ).to.throw(TraceError, 'Conv3D');
  });

  describe('once known', () => {
    let undo: () => void;
    before(() => {
      undo = conv3d();
    });
    after(() => undo());

    it('drives a chain as its matrix does, which stays tridiagonal; with its gradient', () => {
      const n = start.q.length;
      const matrix = tf.tidy(() =>
        tf.tensor2d(
          Array.from({length: n}, (_, i) =>
            Array.from({length: n}, (_, j) => (i === j ? -2 : Math.abs(i - j) === 1 ? 1 : 0)),
          ),
        ),
      );
      const dense = mechanics({
        mass: 1,
        forces: ({q, params}) =>
          tf.mul(params.k as tf.Tensor, tf.reshape(tf.matMul(matrix, tf.reshape(q, [n, 1])), [n])),
      });
      const [mine, theirs] = [chain, dense].map(system => {
        const {trajectory, pullback} = simulate.vjp(system, start, options);
        const q = trajectory.values('q');
        const k = (pullback({q: Float64Array.from(q, Math.cos)}).params.k as Float64Array)[0];
        trajectory.dispose();
        return {q, k, linear: trajectory.stats.linear};
      });
      matrix.dispose();
      expect(mine.linear).to.equal('tridiagonal');
      mine.q.forEach((x, i) => expect(x).to.be.closeTo(theirs.q[i], 1e-13));
      expect(mine.k).to.be.closeTo(theirs.k, 1e-11 * Math.abs(theirs.k));
    });

    for (const [strides, pad, dilation] of [
      [1, 'same', 1],
      [2, 'same', 1],
      [1, 'valid', 2],
      [[2, 1, 2], 'valid', 1],
    ] as const) {
      it(`gives tfjs's own numbers: strides ${String(strides)}, pad ${pad}, dilation ${dilation}`, () => {
        const [x, filter] = [
          tf.randomNormal([2, 5, 6, 4, 3], 0, 1, 'float32', 1) as tf.Tensor5D,
          tf.randomNormal([2, 3, 2, 3, 4], 0, 1, 'float32', 2) as tf.Tensor5D,
        ];
        const convolve = (shift: tf.Tensor): tf.Tensor =>
          tf.conv3d(tf.add<tf.Tensor5D>(x, shift), filter, strides as number, pad, 'NDHWC', dilation);
        const expected = tf.tidy(() => convolve(tf.scalar(0)).dataSync());
        // Observed at rest, q = 0.
        const path = simulate(
          mechanics({mass: 1, forces: []}),
          {q: 0, v: 0},
          {dt: 1, steps: 1, saveAt: 'end', observe: ({q}) => convolve(q as tf.Tensor)},
        );
        const observed = path.observed?.dataSync() ?? [];
        expect(observed).to.have.length(2 * expected.length);
        // Sums of 36 products of unit size in float32.
        expected.forEach((value, i) => expect(observed[i]).to.be.closeTo(value, 2e-5));
        path.dispose();
        x.dispose();
        filter.dispose();
      });
    }

    it('leaves kernels alone that can be traced', () => {
      expect(() => traceKernel('MatMul', () => tf.scalar(0))()).not.to.throw();
      expect(() => traceKernel('BatchMatMul', () => tf.scalar(0))).to.throw(
        OptionError,
        'BatchMatMul is already supported',
      );
      expect(() => traceKernel('Conv3D', 1 as never)).to.throw(OptionError, 'must be a function');
    });
  });
});
