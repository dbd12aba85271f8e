/** What a trace records, and that it leaves tfjs as it found it. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {TraceError} from '../../lib/errors.js';
import {interpreter} from '../../lib/engine/interpreter.js';
import '../../lib/engine/tensor/gradients.js';
import type {Node} from '../../lib/graph/node.js';
import {isOp, topological} from '../../lib/graph/node.js';
import {simplify} from '../../lib/graph/simplify.js';
import {linalg} from '../../lib/linalg/index.js';
import {internals} from '../../lib/trace/internals.js';
import {constantTensor, isTracing, nodeOf, tensorOf, trace} from '../../lib/trace/trace.js';
import type {Trace, TraceInput} from '../../lib/trace/trace.js';

/** Runs a traced function in double precision on the given inputs and the captured tensors' values. */
function run(
  {graph, captured}: Trace,
  inputs: {readonly [name: string]: ArrayLike<number>},
): {[name: string]: number[]} {
  const executable = interpreter.compile({f: simplify(graph)});
  for (const [name, values] of Object.entries(inputs)) executable.buffer(name).set(values);
  for (const {name, tensor} of captured) executable.buffer(name).set(tensor.dataSync());
  executable.run('f');
  return Object.fromEntries(graph.outputs.map(({name}) => [name, [...executable.buffer(name)]]));
}

const one = (f: (x: tf.Tensor) => tf.Tensor, shape: readonly number[] = [3]): Trace =>
  trace(({x}) => ({y: f(x)}), [{name: 'x', shape}]);
const valueOf = (f: (x: tf.Tensor) => tf.Tensor, x: readonly number[]): number[] => run(one(f, [x.length]), {x})['y'];
const opsOf = ({graph}: Trace): string[] => topological(graph.outputs.map(({node}) => node)).map(({op}) => op);

/** Asserts that f leaves tfjs's books as they were. */
function leavesNothing(f: () => void): void {
  const {numTensors, numDataBuffers, numBytes} = tf.memory();
  f();
  expect(tf.memory()).to.include({numTensors, numDataBuffers, numBytes});
}

describe('trace', () => {
  before(() => tf.setBackend('cpu'));

  describe('the graph', () => {
    it('has the declared inputs in order, then the captured ones, and the outputs by name', () => {
      const stiffness = tf.variable(tf.scalar(40));
      const rest = tf.tensor1d([1, 2, 3]);
      const inputs: TraceInput[] = [
        {name: 'q', shape: [3]},
        {name: 'v', shape: [3]},
        {name: 'contact', shape: [3], dtype: 'bool'},
      ];
      const {graph, captured} = trace(
        ({q, v, contact}) => ({
          force: tf.where(contact, tf.mul(tf.sub(rest, q), stiffness), v),
          energy: tf.mul(stiffness, tf.sum(tf.square(q))),
        }),
        inputs,
      );
      expect(graph.inputs.map(({attributes, shape, dtype}) => [attributes.name, shape, dtype])).to.deep.equal([
        ['q', [3], 'float'],
        ['v', [3], 'float'],
        ['contact', [3], 'bool'],
        ['captured.0', [3], 'float'],
        ['captured.1', [], 'float'],
      ]);
      expect(graph.outputs.map(({name, node}) => [name, node.shape])).to.deep.equal([
        ['force', [3]],
        ['energy', []],
      ]);
      expect(captured.map(({tensor}) => tensor)).to.deep.equal([rest, stiffness]);
      expect(captured.map(({node}) => node)).to.deep.equal(graph.inputs.slice(3));
      stiffness.dispose();
      rest.dispose();
    });

    it('runs the function once, and reads no value', () => {
      let calls = 0;
      one(x => {
        calls++;
        expect(isTracing()).to.equal(true);
        return tf.sin(x);
      });
      expect(calls).to.equal(1);
      expect(isTracing()).to.equal(false);
    });

    it('may return an input, a captured tensor or a constant as it is', () => {
      const captured = tf.tensor1d([5, 6]);
      const traced = trace(({x}) => ({x, captured, constant: tf.tensor1d([1, 2])}), [{name: 'x', shape: [2]}]);
      expect(traced.graph.outputs.map(({node}) => node.op)).to.deep.equal(['input', 'input', 'constant']);
      expect(run(traced, {x: [3, 4]})).to.deep.equal({x: [3, 4], captured: [5, 6], constant: [1, 2]});
      captured.dispose();
    });

    it('has nodes by hand where a caller needs them', () => {
      const {graph} = one(x => {
        const node: Node = nodeOf(x);
        expect(node.op).to.equal('input');
        return tensorOf(node);
      });
      expect(() => nodeOf(tf.scalar(1)))
        .to.throw(TraceError)
        .with.property('code', 'not-tracing');
      expect(graph.outputs[0].node).to.equal(graph.inputs[0]);
    });
  });

  describe('what is captured', () => {
    it('is one input however often it is used; a variable stays itself when it is assigned', () => {
      const k = tf.variable(tf.tensor1d([1, 2]));
      const traced = one(x => tf.add(tf.mul(x, k), tf.sum(tf.square(k))), [2]);
      expect(traced.captured).to.have.length(1);
      expect(traced.captured[0].tensor).to.equal(k);
      expect(run(traced, {x: [1, 1]})['y']).to.deep.equal([6, 7]);
      const next = tf.tensor1d([3, 4]);
      k.assign(next);
      expect(run(traced, {x: [1, 1]})['y']).to.deep.equal([28, 29]);
      tf.dispose([k, next]);
    });

    it('is a constant where it holds whole numbers, so that index tables keep sparsity', () => {
      const ends = tf.tensor1d([0, 2], 'int32');
      const mask = tf.tensor1d([true, false, true]);
      const traced = one(x => tf.concat([tf.gather(x, ends), tf.where(mask, x, tf.neg(x))]));
      expect(traced.captured).to.have.length(0);
      expect(opsOf(traced)).not.to.include('gatherAt');
      expect(run(traced, {x: [1, 2, 3]})['y']).to.deep.equal([1, 3, 1, -2, 3]);
      tf.dispose([ends, mask]);
    });

    it('is an input where a variable holds whole numbers', () => {
      const chosen = tf.variable(tf.tensor1d([0, 2], 'int32'));
      const traced = one(x => tf.gather(x, chosen as tf.Tensor as tf.Tensor1D));
      expect(traced.captured.map(({tensor}) => tensor)).to.deep.equal([chosen]);
      expect(run(traced, {x: [1, 2, 3]})['y']).to.deep.equal([1, 3]);
      chosen.dispose();
    });

    it('stays where it is: its data are not moved to another backend', () => {
      const kept = tf.tensor1d([1, 2, 3]);
      const owner = tf.engine().state.tensorInfo.get(kept.dataId)?.backend;
      one(x => tf.mul(x, kept));
      expect(tf.engine().state.tensorInfo.get(kept.dataId)?.backend).to.equal(owner);
      expect([...kept.dataSync()]).to.deep.equal([1, 2, 3]);
      kept.dispose();
    });
  });

  describe('double precision', () => {
    /** The constants of a graph, each once. */
    const constants = (traced: Trace): number[] =>
      topological(traced.graph.outputs.map(({node}) => node)).flatMap(node =>
        isOp(node, 'constant') ? [...node.attributes.values] : [],
      );

    const written: {readonly [how: string]: (x: tf.Tensor) => tf.Tensor} = {
      'a number': x => tf.mul(x, 0.1),
      'a method': x => x.mul(0.1),
      'tf.scalar': x => x.add(tf.scalar(0.1)),
      'an array': x => x.add([0.1, 0.1, 0.1]),
      'tf.tensor': x => x.add(tf.tensor([0.1, 0.1, 0.1])),
      'nested arrays': x => x.add(tf.tensor2d([[0.1, 0.1, 0.1]])),
      'a Float64Array': x => x.add(tf.tensor1d(new Float64Array(3).fill(0.1) as unknown as Float32Array)),
      'a Float32Array made inside': x => x.add(tf.tensor1d(Float32Array.of(0.1, 0.1, 0.1))),
      'tf.fill': x => x.add(tf.fill([3], 0.1)),
      'tf.ones': x => x.add(tf.ones([3]).mul(0.1)),
      'tf.buffer': x => {
        const buffer = tf.buffer([3]);
        for (let i = 0; i < 3; i++) buffer.set(0.1, i);
        return x.add(buffer.toTensor());
      },
      clipByValue: x => tf.clipByValue(x, 0.1, 9),
      leakyRelu: x => tf.leakyRelu(x, 0.1),
      pad: x => tf.pad(x, [[1, 1]], 0.1),
      constantTensor: x => x.add(constantTensor(0.1, [])),
    };
    for (const [how, f] of Object.entries(written)) {
      it(`${how} keeps its decimals`, () => expect(constants(one(f))).to.include(0.1));
    }

    it('numbers made outside by a Float32Array are what they are', () => {
      const single = Float32Array.of(0.1, 0.2, 0.3);
      expect(constants(one(x => x.add(tf.tensor1d(single))))).to.deep.equal([...single]);
    });

    it('views of bytes stay views of single-precision numbers', () => {
      const bytes = Float32Array.of(1.5, 2.5, 3.5).buffer;
      expect(constants(one(x => x.add(tf.tensor1d(new Float32Array(bytes)))))).to.deep.equal([1.5, 2.5, 3.5]);
    });

    it('carries through the function and its gradient', () => {
      const x = [0.1, 0.2, 0.3];
      const potential = (q: tf.Tensor): tf.Tensor => tf.sum(tf.mul(tf.tanh(q), tf.mul(q, 1 / 3)));
      const force = valueOf(q => tf.neg(tf.grad(potential)(q)), x);
      force.forEach((f, i) =>
        expect(f).to.be.closeTo(-(Math.tanh(x[i]) + x[i] * (1 - Math.tanh(x[i]) ** 2)) / 3, 1e-16),
      );
      const ranged = valueOf(q => q.add(tf.linspace(0, 1, 3)).add(tf.range(0, 0.3, 0.1)), x);
      ranged.forEach((r, i) => expect(r).to.be.closeTo(x[i] + i / 2 + i * 0.1, 1e-15));
    });

    it('Float32Array is itself again afterwards, after an error too', () => {
      const single = globalThis.Float32Array;
      one(x => tf.add(x, 0.1));
      expect(() =>
        one(() => {
          throw new Error('mine');
        }),
      ).to.throw('mine');
      expect(globalThis.Float32Array).to.equal(single);
      expect(new Float32Array(1).BYTES_PER_ELEMENT).to.equal(4);
      expect(tf.env().platform.isTypedArray(new Float64Array(1))).to.equal(false);
    });

    it('constantTensor is an ordinary tensor outside', () => {
      const tensor = constantTensor([0.1, 0.2], [2]);
      expect([...tensor.dataSync()]).to.deep.equal([Math.fround(0.1), Math.fround(0.2)]);
      tensor.dispose();
    });
  });

  describe('derivatives inside the function', () => {
    const x = [0.3, -0.7, 1.1];
    const close = (found: readonly number[], expected: readonly number[]): void =>
      found.forEach((value, i) => expect(value).to.be.closeTo(expected[i], 1e-14));

    it('tf.grad of a grad', () => {
      const second = (q: tf.Tensor): tf.Tensor =>
        tf.grad((z: tf.Tensor) => tf.sum(tf.grad((w: tf.Tensor) => tf.sum(tf.sin(w)))(z)))(q);
      close(
        valueOf(second, x),
        x.map(v => -Math.sin(v)),
      );
    });

    it('tf.grads and tf.valueAndGrads', () => {
      const f = (a: tf.Tensor, b: tf.Tensor): tf.Tensor => tf.sum(tf.mul(tf.exp(a), b));
      close(
        valueOf(q => tf.grads(f)([q, tf.mul(q, 2)])[0], x),
        x.map(v => Math.exp(v) * 2 * v),
      );
      close(
        valueOf(q => tf.valueAndGrads(f)([tf.mul(q, 2), q]).grads[1], x),
        x.map(v => Math.exp(2 * v)),
      );
    });

    it('tf.variableGrads of a captured variable', () => {
      const k = tf.variable(tf.tensor1d([1, 2, 3]));
      const traced = one(q => tf.variableGrads(() => tf.sum(tf.mul(tf.square(k), q)) as tf.Scalar, [k]).grads[k.name]);
      close(
        run(traced, {x})['y'],
        x.map((v, i) => 2 * (i + 1) * v),
      );
      k.dispose();
    });

    it('tf.customGrad, and tf.tidy around it', () => {
      const clipped = tf.customGrad((z, save) => {
        (save as tf.GradSaveFunc)([z as tf.Tensor]);
        return {value: tf.square(z as tf.Tensor), gradFunc: (dy, saved) => tf.mul(dy, tf.sign(saved[0]))};
      });
      close(
        valueOf(q => tf.tidy(() => tf.grad((z: tf.Tensor) => tf.sum(clipped(z)))(q)), x),
        x.map(Math.sign),
      );
    });

    it('kernels tfjs has no gradient for are differentiated by the repaired ones', () => {
      close(
        valueOf(q => tf.grad((z: tf.Tensor) => tf.einsum('i,i->', z, z))(q), x),
        x.map(v => 2 * v),
      );
    });
  });

  describe('layers', () => {
    const {layers} = tf;
    const stacks: {readonly [name: string]: () => [tf.layers.Layer[], number[]]} = {
      dense: () => [
        [
          layers.dense({units: 8, activation: 'tanh', inputShape: [3]}),
          layers.dense({units: 8, activation: 'elu'}),
          layers.dense({units: 3}),
        ],
        [2, 3],
      ],
      'dense over a sequence': () => [
        [layers.dense({units: 4, activation: 'softplus', inputShape: [5, 3]})],
        [2, 5, 3],
      ],
      activations: () => [
        [
          layers.leakyReLU({alpha: 0.1, inputShape: [3]}),
          layers.elu(),
          layers.prelu(),
          layers.softmax(),
          layers.activation({activation: 'selu'}),
          layers.thresholdedReLU({theta: 0.1}),
        ],
        [2, 3],
      ],
      'batch normalization': () => [
        [layers.dense({units: 4, inputShape: [3]}), layers.batchNormalization()],
        [2, 3],
      ],
      'layer normalization': () => [[layers.layerNormalization({inputShape: [3]})], [2, 3]],
      'dropout at inference': () => [
        [layers.dropout({rate: 0.5, inputShape: [3]}), layers.dense({units: 2})],
        [2, 3],
      ],
      LSTM: () => [[layers.lstm({units: 4, inputShape: [5, 3]})], [2, 5, 3]],
      GRU: () => [[layers.gru({units: 4, inputShape: [5, 3], returnSequences: true})], [2, 5, 3]],
      reshaping: () => [
        [layers.reshape({targetShape: [3, 2], inputShape: [6]}), layers.permute({dims: [2, 1]}), layers.flatten()],
        [2, 6],
      ],
    };
    for (const [name, make] of Object.entries(stacks)) {
      it(`${name}: apply and predict, weights captured as variables`, () => {
        const [stack, shape] = make();
        const model = tf.sequential({layers: stack});
        const x = tf.randomNormal(shape, 0, 1, 'float32', 7);
        const expected = model.predict(x) as tf.Tensor;
        leavesNothing(() => {
          for (const f of [
            (z: tf.Tensor) => model.apply(z) as tf.Tensor,
            (z: tf.Tensor) => model.predict(z) as tf.Tensor,
          ]) {
            const traced = one(f, shape);
            for (const {tensor} of traced.captured) expect(tensor).to.be.instanceOf(tf.Variable);
            const found = run(traced, {x: x.dataSync()})['y'];
            // The network itself is single precision: some roundings of numbers near 1.
            expected.dataSync().forEach((value, i) => expect(found[i]).to.be.closeTo(value, 2e-6));
          }
        });
        model.dispose();
        tf.dispose([x, expected]);
      });
    }
  });

  describe('linear algebra', () => {
    const matrix = [4, 1, 0.5, 1, 3, 0.2, 0.5, 0.2, 2];
    const close = (found: readonly number[], expected: ArrayLike<number>, tolerance: number): void =>
      found.forEach((value, i) => expect(value).to.be.closeTo(expected[i], tolerance));

    it('solve, cholesky, det and triangularSolve become factorizations of the graph', () => {
      const f: {readonly [name: string]: (a: tf.Tensor) => tf.Tensor} = {
        solve: a => linalg.solve(a, tf.tensor2d([[1], [2], [3]])),
        cholesky: a => linalg.cholesky(a),
        det: a => linalg.det(a),
        triangular: a => linalg.triangularSolve(a, tf.tensor2d([[1], [2], [3]])),
        batch: a => linalg.solve(tf.stack([a, tf.mul(a, 2)]), tf.ones([2, 3, 2])),
      };
      const a = tf.tensor2d(matrix, [3, 3]);
      for (const operation of Object.values(f)) {
        const traced = one(operation, [3, 3]);
        expect(traced.captured).to.have.length(0);
        const expected = operation(a);
        expect(traced.graph.outputs[0].node.shape).to.deep.equal(expected.shape);
        // tfjs holds matrix and result in single precision.
        close(run(traced, {x: matrix})['y'], expected.dataSync(), 1e-5);
      }
    });

    it('the gradient of a determinant is det(A) A⁻ᵀ', () => {
      const gradient = run(
        one(a => tf.grad((z: tf.Tensor) => tf.sum(linalg.det(z)))(a), [2, 2]),
        {x: [2, 1, 1, 3]},
      )['y'];
      close(gradient, [3, -1, -1, 2], 1e-13);
    });
  });

  describe('tfjs afterwards', () => {
    it('has the backend it had, and no tensor more, after success and after an error', () => {
      const tensors = tf.memory().numTensors;
      one(x => tf.keep(tf.exp(tf.keep(tf.sin(x)))));
      expect(() =>
        one(x =>
          tf.grad((z: tf.Tensor) => {
            tf.keep(tf.exp(z));
            throw new Error('mine');
          })(x),
        ),
      ).to.throw('mine');
      expect(tf.getBackend()).to.equal('cpu');
      expect(tf.memory().numTensors).to.equal(tensors);
      expect(tf.engine().backendNames()).not.to.include('stiffgradtrace');
      expect(tf.tidy(() => tf.add(1, 2).dataSync()[0])).to.equal(3);
    });

    it('has no backend yet where it had none', () => {
      const engine = internals();
      const {backendName, backendInstance, pendingBackendInit} = engine;
      const pending = Promise.resolve(true);
      Object.assign(engine, {backendName: undefined, backendInstance: null, pendingBackendInit: pending});
      try {
        expect(opsOf(one(x => tf.sin(x)))).to.deep.equal(['input', 'unary']);
        expect(() =>
          one(() => {
            throw new Error('mine');
          }),
        ).to.throw('mine');
        expect(engine.backendName).to.equal(undefined);
        expect(engine.backendInstance).to.equal(null);
        expect(engine.pendingBackendInit).to.equal(pending);
      } finally {
        Object.assign(engine, {backendName, backendInstance, pendingBackendInit});
      }
    });

    it('tensors of a trace are disposed when it ends', () => {
      let leaked: tf.Tensor | undefined;
      leavesNothing(() => one(x => (leaked = tf.sin(x)).add(1)));
      expect(leaked?.isDisposed).to.equal(true);
    });

    it('a tape around the trace goes on, and has not seen it', () => {
      const x = tf.tensor1d([1, 2]);
      let traced: Trace | undefined;
      const gradient = tf.grad((z: tf.Tensor) => {
        const square = tf.square(z);
        traced = trace(
          ({q}) => ({y: tf.grad((w: tf.Tensor) => tf.sum(tf.mul(w, tf.exp(w))))(q)}),
          [{name: 'q', shape: [2]}],
        );
        return tf.sum(square);
      })(x);
      expect([...gradient.dataSync()]).to.deep.equal([2, 4]);
      expect(traced?.captured).to.have.length(0);
      tf.dispose([x, gradient]);
    });

    it('a trace in a customGrad, where tfjs has switched its tape off, still differentiates', () => {
      let force: number[] = [];
      const operation = tf.customGrad(z => {
        force = valueOf(q => tf.grad((w: tf.Tensor) => tf.sum(tf.square(w)))(q), [3]);
        return {value: tf.mul(z as tf.Tensor, 2), gradFunc: dy => tf.mul(dy, 2)};
      });
      const gradient = tf.tidy(() =>
        tf
          .grad((z: tf.Tensor) => tf.sum(operation(z)))(tf.tensor1d([1]))
          .dataSync(),
      );
      expect(force).to.deep.equal([6]);
      expect([...gradient]).to.deep.equal([2]);
    });

    it('a captured variable is not on a tape around the trace, and not disposed by a tidy around it', () => {
      const k = tf.variable(tf.scalar(2));
      leavesNothing(() => tf.tidy(() => void one(x => tf.mul(x, k))));
      expect(k.dataSync()[0]).to.equal(2);
      k.dispose();
    });

    it('debug mode and profiling do not read values of a trace', async () => {
      const flags = tf.env().features;
      const debug = flags['DEBUG'];
      flags['DEBUG'] = true;
      try {
        expect(opsOf(one(x => tf.sin(x)))).to.deep.equal(['input', 'unary']);
        expect(flags['DEBUG']).to.equal(true);
      } finally {
        flags['DEBUG'] = debug;
      }
      const profile = await tf.profile(() => {
        one(x => tf.sin(x));
        return tf.scalar(1);
      });
      expect(profile.kernels).to.deep.equal([]);
      tf.dispose(profile.result);
    });
  });

  describe('a trace inside a trace', () => {
    it("has the outer one's tensors as captured inputs, whole constants as constants", () => {
      let inner: Trace | undefined;
      const outer = one(x => {
        const doubled = tf.mul(x, 2);
        const index = tf.tensor1d([2, 0], 'int32');
        inner = trace(({z}) => ({y: tf.add(tf.gather(z, index), tf.sum(doubled))}), [{name: 'z', shape: [3]}]);
        expect(inner.captured.map(({tensor}) => tensor)).to.deep.equal([doubled]);
        return tf.add(doubled, 0.1);
      });
      expect(inner === undefined ? [] : opsOf(inner)).not.to.include('gatherAt');
      expect(run(outer, {x: [1, 2, 3]})['y']).to.deep.equal([2.1, 4.1, 6.1]);
      expect(outer.captured).to.have.length(0);
    });

    it('an error of the inner one leaves the outer one working', () => {
      const outer = one(x => {
        expect(() => one(z => tf.tensor1d([z.dataSync()[0]]))).to.throw(/tf\.where/);
        return tf.mul(x, 0.1);
      });
      expect(run(outer, {x: [1, 2, 3]})['y'][0]).to.equal(0.1);
    });
  });
});
