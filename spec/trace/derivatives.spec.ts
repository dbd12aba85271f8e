/** Traced kernels have derivatives that are right, and finite, where their formulas are delicate. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {interpreter} from '../../lib/engine/interpreter.js';
import {full, input} from '../../lib/graph/build.js';
import {orZeros, pushforward} from '../../lib/graph/differentiate.js';
import type {Node} from '../../lib/graph/node.js';
import {simplify} from '../../lib/graph/simplify.js';
import '../../lib/engine/tensor/gradients.js';
import {trace} from '../../lib/trace/trace.js';

type Op = (x: tf.Tensor) => tf.Tensor;

interface Derivatives {
  readonly y: number[];
  readonly dy: number[];
  readonly ddy: number[];
}

/** Value, first and second derivative of f at x with all elements moving alike. */
function derivatives(f: Op, x: readonly number[]): Derivatives {
  const {graph} = trace(({z}) => ({y: f(z)}), [{name: 'z', shape: [x.length]}]);
  const z: Node = graph.inputs[0];
  const once = (y: Node): Node => orZeros(pushforward([y], new Map([[z, full(1, z.shape)]]))[0], y);
  const y = graph.outputs[0].node;
  const dy = once(y);
  const executable = interpreter.compile({
    f: simplify({
      inputs: graph.inputs,
      outputs: [
        {name: 'y', node: y},
        {name: 'dy', node: dy},
        {name: 'ddy', node: once(dy)},
      ],
    }),
  });
  executable.buffer('z').set(x);
  executable.run('f');
  return {y: [...executable.buffer('y')], dy: [...executable.buffer('dy')], ddy: [...executable.buffer('ddy')]};
}

function close(found: readonly number[], expected: readonly number[], tolerance = 1e-14): void {
  expected.forEach((value, i) => expect(found[i]).to.be.closeTo(value, tolerance * Math.max(1, Math.abs(value))));
}

describe('trace: derivatives of what was traced', () => {
  before(() => tf.setBackend('cpu'));

  it('are finite in the branch that is not taken, far out on either side', () => {
    const activations: readonly Op[] = [
      tf.elu,
      tf.selu,
      tf.relu6,
      x => tf.leakyRelu(x, 0.1),
      x => tf.prelu(x, tf.fill([2], 0.1)),
      tf.softplus,
      tf.sigmoid,
      tf.tanh,
      tf.logSigmoid,
      x => tf.step(x, 0.5),
      x => tf.clipByValue(x, -1, 1),
      x => tf.softmax(x),
      x => tf.logSoftmax(x),
      tf.erf,
    ];
    for (const f of activations) {
      const {y, dy, ddy} = derivatives(f, [1000, -1000]);
      for (const value of [...y, ...dy, ...ddy]) expect(value, f.name).to.satisfy(Number.isFinite);
    }
  });

  it('of elu and selu are those of x and of α(eˣ − 1)', () => {
    const x = [0.7, -0.7];
    const {dy, ddy} = derivatives(tf.elu, x);
    close(dy, [1, Math.exp(-0.7)]);
    close(ddy, [0, Math.exp(-0.7)]);
    const scaled = derivatives(tf.selu, x);
    // Klambauer et al. 2017: λ = 1.0507009873554805, λα = 1.7580993408473768.
    close(scaled.dy, [1.0507009873554805, 1.7580993408473768 * Math.exp(-0.7)], 1e-9);
  });

  it('of products hold where factors are zero', () => {
    // With all factors moving alike, (Π xᵢ)′ = Σᵢ Πⱼ≠ᵢ xⱼ and (Π xᵢ)″ = Σᵢ≠ⱼ Πₖ≠ᵢ,ⱼ xₖ.
    const {y, dy, ddy} = derivatives(x => tf.reshape(tf.prod(x), [1]), [0, 3, 5]);
    close([...y, ...dy, ...ddy], [0, 15, 2 * (0 + 3 + 5)]);
    const twice = derivatives(x => tf.reshape(tf.prod(x), [1]), [0, 0, 7]);
    close([...twice.y, ...twice.dy, ...twice.ddy], [0, 0, 14]);
    const running = derivatives(x => tf.cumprod(x), [2, 0, 3, 5]);
    close(running.y, [2, 0, 0, 0]);
    close(running.dy, [1, 2, 6, 30]);
    close(running.ddy, [0, 2, 2 * (2 + 0 + 3), 2 * (2 * 3 + 2 * 5 + 3 * 5)]);
  });

  it('at a bound of clipByValue is one, as in tfjs; beyond it zero', () => {
    close(derivatives(x => tf.clipByValue(x, -1, 1), [-1, 1, 0, -1.5, 1.5]).dy, [1, 1, 1, 0, 0]);
  });

  it('second derivatives of an energy, through tf.grad and the graph, agree with differences to 1e-7', () => {
    const table = tf.tensor1d([2, 0, 1, 1], 'int32');
    const energy = (q: tf.Tensor): tf.Tensor => {
      const terms = [
        tf.mul(q, tf.tanh(q)),
        tf.exp(tf.mul(q, 0.3)),
        tf.sigmoid(tf.square(q)),
        tf.softplus(q),
        tf.elu(tf.sub(q, 0.1)),
        tf.minimum(tf.mul(q, tf.square(q)), 0.4),
        tf.maximum(tf.sin(q), -0.3),
        tf.where(tf.greater(q, 0.2), tf.square(q), tf.mul(q, 0.2)),
        tf.square(tf.gather(q, table)),
        tf.einsum('i,j,ij->i', q, tf.cos(q), tf.outerProduct(q as tf.Tensor1D, q as tf.Tensor1D)),
        tf.mul(tf.cumsum(q), q),
        tf.log(tf.softmax(q)),
      ];
      return terms.map(term => tf.sum(term)).reduce((a, b) => tf.add(a, b));
    };
    const {graph} = trace(
      ({q, s}) => ({f: tf.neg(tf.grad(energy)(tf.add(q, tf.mul(s, tf.range(1, 5)))))}),
      [
        {name: 'q', shape: [4]},
        {name: 's', shape: []},
      ],
    );
    const [, s] = graph.inputs;
    const ds = input('ds', []);
    const [tangent] = pushforward([graph.outputs[0].node], new Map([[s as Node, ds]]));
    const executable = interpreter.compile({
      force: simplify(graph),
      tangent: simplify({
        inputs: [...graph.inputs, ds],
        outputs: [{name: 'df', node: orZeros(tangent, graph.outputs[0].node)}],
      }),
    });
    table.dispose();
    executable.buffer('q').set([0.5, -0.4, 0.9, -1.3]);
    const force = (at: number): number[] => {
      executable.buffer('s')[0] = at;
      executable.run('force');
      return [...executable.buffer('f')];
    };
    // Central differences of fourth order; with h = 1e-3 their error and their roundoff are near 1e-11.
    const h = 1e-3;
    const [a, b, c, d] = [force(-2 * h), force(-h), force(h), force(2 * h)];
    executable.buffer('s')[0] = 0;
    executable.buffer('ds')[0] = 1;
    executable.run('tangent');
    close(
      [...executable.buffer('df')],
      a.map((_, i) => (a[i] - 8 * b[i] + 8 * c[i] - d[i]) / (12 * h)),
      1e-8,
    );
  });
});
