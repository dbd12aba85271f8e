/** Must show 7: the tensor engine against the interpreter, operation by operation, on tfjs's cpu backend and on one that lacks kernels. */
import {expect} from 'chai';
import fc from 'fast-check';
import * as tf from '@tensorflow/tfjs';
import type {Engine} from '../../lib/engine/engine.js';
import {interpreter} from '../../lib/engine/interpreter.js';
import {tensor} from '../../lib/engine/tensor/index.js';
import {loadTensorflow} from '../../lib/tfjs/native.js';
import {SingularMatrixError} from '../../lib/errors.js';
import {ode, rk4, simulate} from '../../lib/index.js';
import {
  add,
  binary,
  constant,
  input,
  mul,
  place,
  reshape,
  scale,
  slice,
  solve,
  sum,
  transpose,
  unary,
} from '../../lib/graph/build.js';
import type {Node, Op} from '../../lib/graph/node.js';
import {binaryNames, topological, unaryNames} from '../../lib/graph/node.js';
import {withoutDeclarations} from '../../lib/graph/declarations.js';
import {primitiveOf, primitives} from '../../lib/graph/primitives/index.js';
import type {Case} from '../graph/cases.js';
import {binaryCase, cases, unaryCase} from '../graph/cases.js';
import {Choices, draws} from '../graph/choices.js';
import type {Values} from '../graph/evaluate.js';
import {asFunction, largest, vectors} from '../graph/evaluate.js';
import {program, programDraws} from '../graph/programs.js';
import {graph} from './contract.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

const rows: readonly (readonly [name: string, build: (choices: Choices) => Case, count: number])[] = [
  ...(Object.keys(primitives) as Op[])
    .filter(op => op !== 'unary' && op !== 'binary')
    .map(op => [op, cases[op], 25] as const),
  ...unaryNames.map(fn => [`unary ${fn}`, (choices: Choices) => unaryCase(fn, choices), 5] as const),
  ...binaryNames.map(fn => [`binary ${fn}`, (choices: Choices) => binaryCase(fn, choices), 8] as const),
];

/** Primitives that add: rounding is relative to the sum of what is added, not to the result. */
const additive = new Set<Op>(['sum', 'cumsum', 'matMul', 'scatter', 'scatterAt']);
/** Functions that pass through zero by cancellation, in the formulas of one backend or another (log1p as log(1 + x)): exact to a unit of one. */
const cancelling = new Set([
  'add',
  'sub',
  'mod',
  'erf',
  'softplus',
  'log',
  'log1p',
  'expm1',
  'sin',
  'cos',
  'tan',
  'asin',
  'acos',
  'acosh',
  'asinh',
  'atanh',
  'sinh',
  'tanh',
]);

/**
 * A node's float32 result against the interpreter's on the same operands. Sixteen units of the last place: one
 * for each of a few roundings, three for tfjs's erf (Abramowitz & Stegun 7.1.26, error 1.5e-7), a factor
 * of the condition (below 20) only where a backend factors in single precision.
 */
function expectRounded(node: Node, operands: Values, result: ArrayLike<number>): void {
  const kernel = primitiveOf(node).evaluate(node);
  const [expected, sizes] = [new Float64Array(node.size), new Float64Array(node.size)];
  kernel(operands, expected);
  if (additive.has(node.op))
    kernel(
      operands.map((x, k) => (k === 0 || node.op === 'matMul' ? x.map(Math.abs) : x)),
      sizes,
    );
  const {fn} = node.attributes as {fn?: string};
  const scale = fn === undefined ? largest(expected) : cancelling.has(fn) ? Math.max(1, ...operands.map(largest)) : 0;
  expected.forEach((value, i) => {
    if (Number.isFinite(value))
      expect(result[i], `${node.op} ${fn ?? ''} ${i}`).to.be.closeTo(
        value,
        16 * tensor.epsilon * Math.max(Math.abs(value), sizes[i], scale),
      );
    else expect(result[i], `${node.op} ${fn ?? ''} ${i}`).to.deep.equal(value);
  });
}

const single = (values: Values): Float64Array[] => values.map(x => Float64Array.from(Float32Array.from(x)));

/** Every node of a program is an output, and is compared on the very operands that the engine gave it. */
function expectAgreement(
  engine: Engine,
  programs: readonly Node[],
  inputs: readonly Node<'input'>[],
  values: Values,
): void {
  const outputs = withoutDeclarations(programs);
  const nodes = topological(outputs);
  const given = single(values);
  const results = asFunction(nodes, inputs, engine)(given);
  const at = new Map(nodes.map((node, i) => [node, results[i]]));
  const of = (node: Node): Float64Array => at.get(node) ?? new Float64Array(0);
  for (const node of nodes) if (node.op !== 'input') expectRounded(node, node.operands.map(of), of(node));
  // The same without the intermediate outputs: what broadcasts by itself is not computed then.
  const few = asFunction(outputs, inputs, engine)(given);
  outputs.forEach((node, i) => expect(Array.from(few[i])).to.deep.equal(Array.from(of(node))));
}

function agreement(): void {
  for (const [name, build, count] of rows) {
    it(name, () => {
      fc.assert(
        fc.property(draws(24), list => {
          const choices = new Choices(list);
          const {inputs, node} = build(choices);
          const random = choices.random();
          const before = tf.memory().numTensors;
          // The sine takes float32 alone: every operation has to give that.
          expectAgreement(
            tensor,
            [unary('sin', node)],
            inputs.map(given => given.node),
            inputs.map(given => given.draw(random)),
          );
          expect(tf.memory().numTensors).to.equal(before);
        }),
        runs(count),
      );
    });
  }

  it('empty tensors', () => {
    fc.assert(
      fc.property(
        draws(24),
        fc.constantFrom<Op>(
          'unary',
          'binary',
          'select',
          'reshape',
          'transpose',
          'broadcast',
          'slice',
          'place',
          'concat',
          'gather',
          'scatter',
          'gatherAt',
          'scatterAt',
          'sum',
          'max',
          'min',
          'cumsum',
        ),
        (list, op) => {
          const choices = new Choices(list, 0);
          const {inputs, node} = cases[op](choices);
          const random = choices.random();
          expectAgreement(
            tensor,
            [node],
            inputs.map(given => given.node),
            inputs.map(given => given.draw(random)),
          );
        },
      ),
      runs(150),
    );
  });

  slow('random programs', () => {
    fc.assert(
      fc.property(draws(programDraws), list => {
        const choices = new Choices(list);
        const random = choices.random();
        const {inputs, outputs} = program(choices);
        expectAgreement(tensor, outputs, inputs, vectors(inputs, random));
      }),
      runs(40),
    );
  });
}

/** Kernels that one backend or another of tfjs does without, and a few more. */
const lacked = [
  'BitwiseAnd',
  'SearchSorted',
  'Mod',
  'Erf',
  'Softplus',
  'Atan2',
  'Asinh',
  'Acosh',
  'Atanh',
  'Expm1',
  'Log1p',
  'Sign',
  'Round',
  'IsFinite',
  'IsInf',
  'FloorDiv',
  'Reciprocal',
  'UnsortedSegmentSum',
  'Einsum',
];

describe('engine: tensor', () => {
  before(async () => {
    await tf.setBackend('cpu');
  });

  it('has the precision of its backend', () => {
    expect(tensor.epsilon).to.equal(2 ** -23);
    const x = input('x', [1]);
    const executable = tensor.compile({run: graph([x], {y: add(x, constant(Float64Array.of(1), [1]))})});
    executable.buffer('x')[0] = tensor.epsilon;
    executable.run('run');
    expect(executable.buffer('y')[0]).to.equal(1 + tensor.epsilon);
  });

  describe('agrees with the interpreter on the cpu backend', agreement);

  describe('agrees with the interpreter where kernels are missing', () => {
    before(async () => {
      tf.registerBackend('lacking', tf.findBackendFactory('cpu'));
      tf.copyRegisteredKernels('cpu', 'lacking');
      for (const kernel of lacked) tf.unregisterKernel(kernel, 'lacking');
      await tf.setBackend('lacking');
    });

    after(async () => {
      await tf.setBackend('cpu');
      for (const {kernelName} of tf.getKernelsForBackend('lacking')) tf.unregisterKernel(kernelName, 'lacking');
      tf.removeBackend('lacking');
    });

    agreement();
  });

  describe('agrees with the interpreter on TensorFlow, where it is installed', () => {
    before(async function () {
      if (!(await loadTensorflow())) this.skip();
    });

    after(async () => {
      await tf.setBackend('cpu');
    });

    agreement();
  });

  it('zeros, infinities and what is not a number, in every function', () => {
    const points = Float64Array.from(
      Float32Array.of(0, -0, 0.5, -0.5, 1, -1, 2, -2.5, 7, 1e30, -1e30, Infinity, -Infinity, NaN),
    );
    const n = points.length;
    const x = input('x', [n]);
    const [a, b] = [input('a', [n, 1]), input('b', [1, n])];
    const same = (node: Node, inputs: readonly Node<'input'>[]): void => {
      const [expected, found] = [interpreter, tensor].map(
        engine => asFunction([node], inputs, engine)(inputs.map(() => points))[0],
      );
      const {fn} = node.attributes as {fn: string};
      expected.forEach((value, i) => {
        const [p, q] = [points[Math.floor(i / n)], points[i % n]];
        // tfjs has (p mod q + q) mod q, which loses p beside a huge q and has no answer for an infinite one.
        if (fn === 'mod' && !(p * q > 0) && Math.abs(q) > 1e8) return;
        const single = Math.fround(value);
        if (Number.isFinite(single))
          expect(found[i], `${fn} of ${p}, ${q}`).to.be.closeTo(
            single,
            4 * tensor.epsilon * Math.max(1, Math.abs(single)),
          );
        else expect(found[i], `${fn} of ${p}, ${q}`).to.deep.equal(single);
      });
    };
    for (const fn of unaryNames) same(unary(fn, x), [x]);
    for (const fn of binaryNames) same(binary(fn, a, b), [a, b]);
  });

  it('values of five axes and more, in every operation that moves axes', () => {
    const shape = [2, 1, 3, 2, 2, 2];
    const x = input('x', shape);
    const nodes = [
      transpose(x, [3, 2, 5, 1, 0, 4]),
      slice(x, [0, 0, 1, 0, 0, 0], [2, 1, 2, 2, 1, 2]),
      slice(x, [1, 0, 2, 1, 1, 1], shape, [-1, 1, -1, -1, -1, -1]),
      place(x, [0, 0, 1, 0, 0, 0], [2, 1, 4, 2, 2, 3]),
      mul(x, reshape(sum(x, [2, 4]), [2, 1, 1, 2, 1, 2])),
      sum(x, [0, 5]),
      sum(x, [0, 1, 2, 3, 4, 5]),
    ];
    expectAgreement(tensor, nodes, [x], [Float64Array.from({length: x.size}, (_, i) => i / 7 - 3)]);
  });

  describe('leaves nothing behind', () => {
    const x = input('x', [3]);
    const executable = tensor.compile({run: graph([x], {y: unary('tanh', scale(x, 2))})});
    const run = (): Float64Array => {
      executable.buffer('x').set([0, 1, 2]);
      executable.run('run');
      return executable.buffer('y');
    };

    it('of tensors: none by compiling, none by running', () => {
      const before = tf.memory();
      tensor.compile({run: graph([x], {y: mul(x, constant(Float64Array.of(1, 2, 3), [3]))})}).run('run');
      run();
      expect(tf.memory().numTensors).to.equal(before.numTensors);
      expect(tf.memory().numBytes).to.equal(before.numBytes);
    });

    it('of tensors when a matrix is singular, which is an error that names the rows', () => {
      const a = input('a', [1, 2, 2]);
      const singular = tensor.compile({run: graph([a], {y: solve(a, constant(Float64Array.of(1, 2), [1, 2, 1]))})});
      singular.buffer('a').set([1, 2, 2, 4]);
      const before = tf.memory().numTensors;
      expect(() => singular.run('run')).to.throw(SingularMatrixError);
      expect(tf.memory().numTensors).to.equal(before);
    });

    it('on a tape around it', () => {
      const before = tf.memory().numTensors;
      const recorded: number[] = [];
      const gradient = tf.grad((given: tf.Tensor) => {
        const squared = tf.square(given);
        const {state} = tf.engine();
        const length = state.activeTape.length;
        run();
        recorded.push(state.activeTape.length - length);
        return tf.sum(squared);
      })(tf.tensor1d([1, 2, 3]));
      expect(recorded).to.deep.equal([0]);
      expect(Array.from(gradient.dataSync())).to.deep.equal([2, 4, 6]);
      gradient.dispose();
      expect(tf.memory().numTensors).to.equal(before + 1);
    });

    it("inside another operation's gradient", () => {
      const operation = tf.customGrad((given: tf.Tensor | tf.GradSaveFunc) => {
        const value = tf.clone(given as tf.Tensor);
        return {value, gradFunc: (dy: tf.Tensor) => tf.mul(dy, tf.tensor1d(Float32Array.from(run())))};
      });
      const gradient = tf.tidy(() =>
        Array.from(
          tf
            .grad((given: tf.Tensor) => tf.sum(operation(given)))(tf.tensor1d([1, 2, 3]))
            .dataSync(),
        ),
      );
      expect(gradient).to.deep.equal(Array.from(run()));
    });
  });

  it('runs on the backend that is active when it runs', async () => {
    const x = input('x', [2]);
    const executable = tensor.compile({run: graph([x], {y: unary('square', x)})});
    tf.registerBackend('other', tf.findBackendFactory('cpu'));
    tf.copyRegisteredKernels('cpu', 'other');
    await tf.setBackend('other');
    executable.buffer('x').set([2, 3]);
    executable.run('run');
    await tf.setBackend('cpu');
    for (const {kernelName} of tf.getKernelsForBackend('other')) tf.unregisterKernel(kernelName, 'other');
    tf.removeBackend('other');
    executable.run('run');
    expect(Array.from(executable.buffer('y'))).to.deep.equal([4, 9]);
  });
});

describe('engine tensor on a device', () => {
  it('reads each program once, and nothing that a step has computed on the way to its end', () => {
    const [steps, batch, width] = [4, 8, 50];
    const fill = (rows: number, columns: number, k: number): number[][] =>
      Array.from({length: rows}, (_, i) => Array.from({length: columns}, (_x, j) => Math.sin(k + 3 * i + 5 * j) / 5));
    const system = ode<{a: tf.Tensor2D; b: tf.Tensor2D}>({
      derivative: ({y, params: {a, b}}) => tf.matMul(tf.tanh(tf.matMul(y as tf.Tensor2D, a)), b),
    });
    const params = {a: fill(2, width, 1), b: fill(width, 2, 2)};
    const gradient = (engine: 'tensor' | 'wasm'): Float64Array => {
      const options = {scheme: rk4(), dt: 0.1, steps, saveAt: 'end', engine, params: params as never} as const;
      const {trajectory, pullback} = simulate.vjp(system, {y: fill(batch, 2, 3)}, options);
      trajectory.dispose();
      return pullback({y: new Float64Array(2 * batch * 2).fill(1)}).params.a as Float64Array;
    };
    const backend = tf.backend();
    const sizes: number[] = [];
    const {readSync} = backend;
    backend.readSync = function (id) {
      const values = readSync.call(this, id);
      sizes.push(values.length);
      return values;
    };
    let found: Float64Array;
    try {
      found = gradient('tensor');
    } finally {
      backend.readSync = readSync;
    }
    const exact = gradient('wasm');
    const size = Math.max(...exact.map(Math.abs));
    exact.forEach((value, i) => expect(found[i]).to.be.closeTo(value, 1e-5 * size));
    // Hidden layers of a step have 4 · 8 · 50 numbers; both weights have 200, and the state 16.
    expect(Math.max(...sizes)).to.be.at.most(2 * 2 * width + 2 * 2 * batch);
    expect(sizes.filter(length => length > 2 * batch).length).to.be.at.most(2 * steps + 2);
  });
});
