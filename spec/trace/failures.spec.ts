/** What cannot be traced is an error that names the part of the model, the operation, and the way out. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ShapeError, TraceError} from '../../lib/errors.js';
import '../../lib/engine/tensor/gradients.js';
import {trace, within} from '../../lib/trace/trace.js';

type Outputs = {readonly [output: string]: tf.Tensor};

/** The error of a term called forces[1]; asserts that nothing is left of the trace. */
function failure(f: (q: tf.Tensor) => tf.Tensor): unknown {
  const {numTensors, numDataBuffers, numBytes} = tf.memory();
  const backend = tf.getBackend();
  let caught: unknown;
  try {
    trace(({q}) => ({y: within('forces[1]', () => f(q))}), [{name: 'q', shape: [3]}]);
  } catch (error) {
    caught = error;
  }
  expect(tf.memory()).to.include({numTensors, numDataBuffers, numBytes});
  expect(tf.getBackend()).to.equal(backend);
  return caught;
}

function expectTraceError(code: string, f: (q: tf.Tensor) => tf.Tensor, ...words: (string | RegExp)[]): TraceError {
  const error = failure(f);
  expect(error).to.be.instanceOf(TraceError);
  const {message, code: found, data} = error as TraceError;
  expect(found).to.equal(code);
  expect(data['term']).to.equal('forces[1]');
  expect(message).to.match(/^forces\[1\][ :]/);
  for (const word of words) expect(message).to.match(typeof word === 'string' ? new RegExp(word) : word);
  return error as TraceError;
}

describe('trace: errors', () => {
  before(() => tf.setBackend('cpu'));

  describe('reading values', () => {
    const kept = (tensor: tf.Tensor, read: unknown): tf.Tensor => (read === undefined ? tensor : tf.neg(tensor));
    const reads: {readonly [how: string]: (q: tf.Tensor) => unknown} = {
      dataSync: q => q.dataSync(),
      arraySync: q => q.arraySync(),
      bufferSync: q => q.bufferSync(),
      print: q => q.print(),
      data: q => q.data(),
      array: q => q.array(),
    };
    for (const [how, read] of Object.entries(reads)) {
      it(`${how} says so, and to use tf.where`, () => {
        const error = expectTraceError('value-read', q => kept(q, read(tf.sin(q))), 'tf\\.where', 'Sin');
        expect(error.data['producer']).to.equal('Sin');
      });
    }

    it('arithmetic and comparisons of JavaScript read the value', () => {
      const number = (q: tf.Tensor): number => q as unknown as number;
      for (const f of [
        (q: tf.Tensor) => number(q) + 1,
        (q: tf.Tensor) => number(tf.greater(q, 0)) > 0,
        (q: tf.Tensor) => -number(q),
        (q: tf.Tensor) => `${String(q)}`,
      ]) {
        expectTraceError('value-read', q => kept(q, f(q)), 'tf\\.where');
      }
    });

    it('a comparison as a truth value, which JavaScript takes for true, is known by that nothing reads it', () => {
      const branches: readonly ((q: tf.Tensor) => tf.Tensor)[] = [
        q => ((tf.greater(q, 0) as unknown as boolean) ? q : tf.neg(q)),
        q => tf.tidy(() => ((tf.less(tf.sum(q), 0) as unknown) ? q : tf.neg(q))),
        q => (tf.greater(q, 0) && tf.less(q, 1)).toFloat(),
        q => ((tf.logicalNot(tf.equal(q, 0)) as unknown as boolean) ? tf.sin(q) : q),
      ];
      for (const branch of branches)
        expectTraceError('comparison-unread', branch, 'tf\\.where', 'Greater|Less|LogicalNot');
      // Read by what chooses, by an output, or by a trace within: nothing is amiss.
      const inner = (q: tf.Tensor): tf.Tensor => {
        const positive = tf.greater(q, 0);
        return tf.grad((x: tf.Tensor) => tf.sum(tf.where(positive, tf.square(x), x)))(q);
      };
      for (const f of [
        inner,
        (q: tf.Tensor) => tf.greater(q, 0),
        (q: tf.Tensor) => tf.mul(q, tf.cast(tf.greater(q, 0), 'float32')),
      ]) {
        expect(() => trace(({q}) => ({y: f(q)}), [{name: 'q', shape: [3]}])).to.not.throw();
      }
    });

    it('of a captured variable too: it would be frozen', () => {
      const k = tf.variable(tf.scalar(3));
      expectTraceError('value-read', q => tf.mul(q, k.dataSync()[0]), 'captured');
      k.dispose();
    });
  });

  describe('asynchronous functions', () => {
    const promise = (f: (q: tf.Tensor) => Promise<tf.Tensor>) => f as unknown as (q: tf.Tensor) => tf.Tensor;

    it('an async term', () => {
      const error = failure(promise(async q => tf.neg(q))) as TraceError;
      expect(error).to.be.instanceOf(TraceError);
      expect(error.code).to.equal('asynchronous');
    });

    it('an async function', () => {
      const f = (async ({q}: Outputs) => ({y: tf.add(q, (await q.data())[0])})) as unknown as (
        inputs: Outputs,
      ) => Outputs;
      expect(() => trace(f, [{name: 'q', shape: [3]}]))
        .to.throw(TraceError, /promise/)
        .with.property('code', 'asynchronous');
    });

    it('whereAsync and booleanMaskAsync', () => {
      for (const f of [
        promise(q => tf.whereAsync(tf.greater(q, 0))),
        promise(q => tf.booleanMaskAsync(q, tf.greater(q, 0))),
      ]) {
        expect(failure(f)).to.be.instanceOf(TraceError).with.property('code', 'asynchronous');
      }
    });

    it("a promise that fails later is nobody's unhandled rejection", async () => {
      const unhandled: unknown[] = [];
      const listen = (reason: unknown): void => void unhandled.push(reason);
      process.on('unhandledRejection', listen);
      failure(
        promise(async q => {
          await Promise.resolve();
          return tf.add(q, tf.ones([2]));
        }),
      );
      failure(q => {
        void q.data();
        void q.array();
        return q;
      });
      // Rejections without a handler are told once microtasks are done.
      for (let turn = 0; turn < 2; turn++) await new Promise(resolve => setImmediate(resolve));
      process.off('unhandledRejection', listen);
      expect(unhandled).to.deep.equal([]);
    });
  });

  describe('kernels', () => {
    it('one that is refused says why', () => {
      const error = expectTraceError(
        'unsupported-kernel',
        q => tf.fft(tf.complex(q, q)),
        'Complex',
        'real and imaginary',
      );
      expect(error.data['kernel']).to.equal('Complex');
      expectTraceError(
        'unsupported-kernel',
        q => tf.conv3d(tf.reshape(q, [3, 1, 1, 1]) as tf.Tensor4D, tf.ones([2, 1, 1, 1, 1]), 1, 'valid'),
        'Conv3D',
        'convolutions',
      );
      expectTraceError('unsupported-kernel', q => tf.unique(q).values, 'Unique', 'shape');
    });

    it('one nobody knows is named', () => {
      const error = expectTraceError('unsupported-kernel', q => tf.engine().runKernel('Telepathy', {q}), 'Telepathy');
      expect(error.cause).to.be.instanceOf(Error);
    });

    it('a gradient that tfjs does not have is named', () => {
      const counts = (weights: tf.Tensor): tf.Tensor =>
        tf.bincount(tf.tensor1d([0, 1, 1], 'int32'), weights as tf.Tensor1D, 2);
      expectTraceError('missing-gradient', q => tf.grad((z: tf.Tensor) => tf.sum(counts(z)))(q), 'Bincount');
    });
  });

  describe('what only a running function may do', () => {
    it('creating a variable, or building a layer', () => {
      expectTraceError('variable-created', q => tf.mul(q, tf.variable(tf.scalar(1))), 'outside');
      const layer = tf.layers.dense({units: 2});
      expectTraceError('variable-created', q => layer.apply(tf.reshape(q, [1, 3])) as tf.Tensor, 'build');
      expect(Object.keys(tf.engine().registeredVariables).filter(name => name.includes(layer.name))).to.deep.equal([]);
    });

    it('assigning to a variable, which keeps its value', () => {
      const k = tf.variable(tf.scalar(3), true, 'stiffness');
      expectTraceError(
        'variable-assigned',
        q => {
          k.assign(tf.sum(q) as tf.Scalar);
          return q;
        },
        'stiffness',
      );
      expect(k.dataSync()[0]).to.equal(3);
      k.dispose();
    });

    it('random numbers: dropout in training, tf.randomNormal', () => {
      const model = tf.sequential({layers: [tf.layers.dropout({rate: 0.5, inputShape: [3]})]});
      expectTraceError(
        'random',
        q => model.apply(tf.reshape(q, [1, 3]), {training: true}) as tf.Tensor,
        'training: false',
      );
      expectTraceError('random', q => tf.add(q, tf.randomNormal([3])));
      expect(Math.random()).to.be.within(0, 1);
    });

    it('changing the backend', () => {
      expectTraceError('backend-changed', q => {
        void tf.setBackend('cpu');
        return q;
      });
    });

    it('a captured tensor that was disposed, or is left from an earlier trace', () => {
      const gone = tf.scalar(1);
      gone.dispose();
      let left: tf.Tensor | undefined;
      trace(({x}) => ({y: (left = tf.keep(tf.sin(x)))}), [{name: 'x', shape: [3]}]);
      expectTraceError('disposed-tensor', q => tf.add(q, left ?? q), 'disposed');
      expect(failure(q => tf.add(q, gone))).to.be.instanceOf(Error);
    });

    it('text', () => {
      const words = tf.tensor1d(['a', 'b', 'c']);
      expectTraceError('unsupported-type', q => tf.where(tf.equal(words, 'a'), q, q));
      words.dispose();
    });
  });

  describe('results', () => {
    const returning =
      (result: unknown): (() => unknown) =>
      () =>
        trace(() => result as Outputs, []);

    it('must be tensors', () => {
      expect(returning(undefined))
        .to.throw(TraceError, /no tensors/)
        .with.property('code', 'not-a-tensor');
      expect(returning({force: 3})).to.throw(TraceError, /^force must be a tensor, but is number/);
      expect(returning({force: null})).to.throw(TraceError, /null/);
      expect(returning({force: Promise.resolve()})).to.throw(TraceError, /promise/);
      expect(() =>
        trace(
          ({x}) => {
            const y = tf.sin(x);
            y.dispose();
            return {y};
          },
          [{name: 'x', shape: []}],
        ),
      ).to.throw(TraceError, /tidy/);
    });
  });

  describe('shapes', () => {
    const shapes: {readonly [how: string]: (q: tf.Tensor) => tf.Tensor} = {
      'that do not broadcast': q => tf.add(q, tf.ones([2])),
      'that do not multiply': q => tf.matMul(tf.reshape(q, [1, 3]), tf.ones([2, 2])),
      'that do not join': q => tf.concat([tf.reshape(q, [1, 3]), tf.ones([1, 2])], 0),
      'that cannot be reshaped': q => tf.reshape(q, [2, 2]),
      'cut outside': q => tf.slice(q, [2], [2]),
      'reduced over an axis that is not there': q => tf.sum(q, 2),
      'of the wrong rank': q => tf.transpose(q, [1, 0]),
      'indexed outside': q => tf.gather(q, [0, 3]),
    };
    for (const [how, f] of Object.entries(shapes)) {
      it(`${how} are a ShapeError with the term and the cause`, () => {
        const error = failure(f) as ShapeError;
        expect(error).to.be.instanceOf(ShapeError);
        expect(error.message).to.match(/^forces\[1\]: /);
        expect(error.data['term']).to.equal('forces[1]');
        expect(error.cause).to.be.instanceOf(Error);
      });
    }
  });

  describe('terms', () => {
    it('nest', () => {
      const f = ({q}: Outputs): Outputs => ({
        y: within('constraints[0]', () => within('phi', () => tf.mul(q, q.dataSync()[0]))),
      });
      expect(() => trace(f, [{name: 'q', shape: [1]}])).to.throw(TraceError, /^constraints\[0\]\.phi reads/);
    });

    it('end with their function, also by an error', () => {
      const f = ({q}: Outputs): Outputs => {
        expect(() => within('mass', () => tf.matMul(q, q))).to.throw(ShapeError, /^mass: /);
        return {y: within('forces[0]', () => tf.mul(q, q.dataSync()[0]))};
      };
      expect(() => trace(f, [{name: 'q', shape: [1]}])).to.throw(TraceError, /^forces\[0\] reads/);
    });

    it('outside a trace just run', () => {
      expect(within('mass', () => 3)).to.equal(3);
    });

    it('without a term the function is named', () => {
      expect(() => trace(({q}) => ({y: tf.mul(q, q.dataSync()[0])}), [{name: 'q', shape: [1]}])).to.throw(
        /^The traced function reads/,
      );
    });

    it("a user's own error passes as it is", () => {
      const mine = new RangeError('no such spring');
      expect(
        failure(() => {
          throw mine;
        }),
      ).to.equal(mine);
      const plain = new Error('no such spring');
      expect(
        failure(() => {
          throw plain;
        }),
      ).to.equal(plain);
    });
  });
});
