/**
 * Forces that are −tf.grad of an energy: Newton's matrix is then a second derivative and the adjoint a
 * third, of functions for which tfjs's own tape gives wrong ones (a saved output, as in x·tanh(x), falls
 * off it) or none (einsum, where of a comparison). Against finite differences.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {interpreter} from '../../lib/engine/interpreter.js';
import type {Scheme} from '../../lib/index.js';
import {auto, implicitMidpoint, mechanics, newmark, newton, simulate, trapezoid} from '../../lib/index.js';
import {compileStep} from '../../lib/step/compiled.js';
import {traceRun} from '../../lib/step/trace-step.js';
import {readParams} from '../../lib/system/params.js';
import {dot, draw, moved, norm, slope, stream} from '../simulate/numbers.js';

type Energy = (q: tf.Tensor, w: tf.Tensor) => tf.Tensor;

const n = 4;

/** Σ x·f(x) and Σ f(x)²: saved outputs and inputs meet in both. */
const both =
  (f: (x: tf.Tensor) => tf.Tensor): Energy =>
  (q, w) => {
    const y = f(tf.mul(w, q));
    return tf.sum(tf.add(tf.mul(q, y), tf.mul(0.3, tf.square(y))));
  };

const energies: {readonly [name: string]: Energy} = {
  tanh: both(x => tf.tanh(x)),
  exp: both(x => tf.exp(x)),
  sigmoid: both(x => tf.sigmoid(x)),
  softplus: both(x => tf.softplus(x)),
  elu: both(x => tf.elu(x)),
  selu: both(x => tf.selu(x)),
  sqrt: both(x => tf.sqrt(tf.add(1, tf.square(x)))),
  softmax: both(x => tf.softmax(x)),
  'log-sum-exp': (q, w) => tf.logSumExp(tf.mul(w, tf.square(q))),
  minimum: both(x => tf.minimum(tf.square(x), tf.mul(0.5, x))),
  maximum: both(x => tf.maximum(tf.square(x), tf.mul(0.5, x))),
  // One entry is the smallest, or the largest, all along: where they change places there is no derivative.
  min: (q, w) => tf.add(tf.square(tf.min(tf.sub(tf.mul(w, tf.square(q)), [0, 3, 0, 0]))), tf.sum(tf.square(q))),
  max: (q, w) => tf.add(tf.square(tf.max(tf.add(tf.mul(w, tf.square(q)), [0, 0, 3, 0]))), tf.sum(tf.square(q))),
  where: both(x => tf.where(tf.greater(x, 0.1), tf.mul(x, tf.square(x)), tf.sin(x))),
  gather: both(x => tf.gather(tf.sin(x), tf.tensor1d([2, 0, 3, 1], 'int32'))),
  einsum: (q, w) => {
    const m = tf.sin(tf.einsum('i,j->ij', q, w));
    return tf.sum(tf.square(tf.einsum('ij,jk,k->i', m, m, q)));
  },
  matMul: (q, w) => {
    const m = tf.matMul(tf.reshape(q, [n, 1]), tf.reshape(w, [1, n]));
    return tf.sum(tf.tanh(tf.matMul(m, m)));
  },
  // q₃ starts at 0.3: a zero in the vector, where |x| has its kink and |x|² has not.
  norm: (q, w) => tf.pow(tf.norm(tf.mul(w, tf.sub(q, 0.3))), 3),
  'all of them': (q, w) => {
    const x = tf.mul(w, q);
    const first = tf.einsum('i,ij->j', tf.tanh(x), tf.exp(tf.mul(0.3, tf.einsum('i,j->ij', q, q))));
    const second = tf.where(tf.less(x, 0.2), tf.elu(x), tf.softplus(x));
    const third = tf.gather(tf.sigmoid(tf.maximum(first, second)), tf.tensor1d([3, 1, 0, 2], 'int32'));
    return tf.sum(tf.add(tf.mul(q, tf.mul(third, first)), tf.minimum(tf.square(second), tf.add(1, tf.cos(first)))));
  },
};

const system = (energy: Energy) =>
  mechanics({
    mass: [1, 1.5, 2, 2.5],
    forces: [
      ({q, params}) => tf.neg(tf.grad((at: tf.Tensor) => energy(at, params.w as tf.Tensor))(q)),
      ({v}) => tf.mul(v, -0.2),
    ],
  });

const schemes: readonly Scheme[] = [implicitMidpoint(), trapezoid({form: 'coupled'}), newmark()];

const q = Float64Array.of(0.7, -0.4, 0.3, -0.9);
const v = Float64Array.of(0.2, 0.5, -0.3, 0.1);
const w = Float64Array.of(0.8, 1.1, -0.6, 0.9);

describe('a force that is −tf.grad of an energy', () => {
  for (const [name, energy] of Object.entries(energies)) {
    it(`${name}: Newton's matrix`, () => {
      for (const scheme of schemes) {
        const traced = traceRun(system(energy), scheme, [n], readParams({w})).step;
        const compiled = compileStep(traced, interpreter);
        const {jacobian} = compiled.matrices;
        const forward = compiled.forward(auto());
        if (jacobian === undefined) throw new Error('an implicit scheme has a Jacobian');
        const state = new Float64Array(traced.state.size);
        state.set(q);
        state.set(v, n);
        forward.optionalBuffer('x')?.set(state);
        forward.optionalBuffer('t')?.fill(0);
        forward.optionalBuffer('h')?.fill(0.1);
        forward.optionalBuffer('p.0')?.set(w);
        const z = forward.buffer('z');
        const start = draw(stream(3), z.length).map(x => 0.5 * x);
        const residual = (at: Float64Array): Float64Array => {
          z.set(at);
          forward.run('residual');
          return forward.buffer('R').slice();
        };
        z.set(start);
        forward.run('jacobian');
        const {rowPointers, columns} = jacobian.pattern;
        const dense = Float64Array.from({length: z.length ** 2}, () => 0);
        const values = forward.buffer('J');
        for (let row = 0; row < z.length; row++) {
          for (let k = rowPointers[row]; k < rowPointers[row + 1]; k++) dense[row * z.length + columns[k]] = values[k];
        }
        for (let column = 0; column < z.length; column++) {
          const along = Float64Array.from(z, (_, i) => (i === column ? 1 : 0));
          for (let row = 0; row < z.length; row++) {
            // Fourth-order differences of 1e-3 in a step of 0.1: their error is far below 1e-9.
            const found = slope(s => residual(moved(start, s, along))[row], 1e-3);
            expect(dense[row * z.length + column], `${scheme.name}, ∂R${row}/∂z${column}`).to.be.closeTo(found, 1e-9);
          }
        }
      }
    });

    it(`${name}: a step's convergence is quadratic, and the gradient that of differences`, () => {
      for (const scheme of schemes) {
        const run = (at: {q: Float64Array; v: Float64Array; w: Float64Array}) =>
          simulate.vjp(
            system(energy),
            {q: at.q, v: at.v},
            {
              scheme,
              dt: 0.2,
              steps: 5,
              params: {w: at.w},
              newton: newton({tolerance: {absolute: 1e-14, relative: 1e-14}}),
              engine: 'interpreter',
              // Five steps are counted: a slope that jumps would begin others.
              switches: 'ignore',
            },
          );
        const base = run({q, v, w});
        base.trajectory.dispose();
        // From a guess a few hundredths away 1e-14 takes four squarings and the test; a wrong matrix takes tens.
        expect(base.trajectory.stats.newtonIterations / 5, scheme.name).to.be.at.most(6);

        const weights = draw(stream(5), 6 * n);
        const {initial, params} = base.pullback({q: weights});
        const gradient = {q: initial.q as Float64Array, v: initial.v as Float64Array, w: params.w as Float64Array};
        for (const part of ['q', 'v', 'w'] as const) {
          const direction = draw(stream(part.charCodeAt(0)), n);
          const found = slope(s => {
            const {trajectory} = run({q, v, w, [part]: moved({q, v, w}[part], s, direction)});
            trajectory.dispose();
            return dot(trajectory.values('q'), weights);
          }, 1e-3);
          const scale = norm(gradient[part]) * norm(direction);
          expect(Math.abs(dot(gradient[part], direction) - found) / scale, `${scheme.name}, ${part}`).to.be.below(1e-7);
        }
      }
    });
  }

  it('second derivatives of a run, as differences of tangents, are symmetric', () => {
    const at = (d: Float64Array, along: Float64Array): number => {
      const energy = energies.einsum;
      return slope(s => {
        const {trajectory, tangent} = simulate.jvp(
          system(energy),
          {q: moved(q, s, along), v},
          {
            scheme: implicitMidpoint(),
            dt: 0.2,
            steps: 5,
            saveAt: 'end',
            params: {w},
            engine: 'interpreter',
          },
          {initial: {q: d}},
        );
        trajectory.dispose();
        return tangent.q[n];
      }, 1e-3);
    };
    const [a, b] = [draw(stream(8), n), draw(stream(9), n)];
    // Newton's 1e-10 over the difference's 1e-3.
    expect(at(a, b)).to.be.closeTo(at(b, a), 1e-7 * norm(a) * norm(b));
  });
});
