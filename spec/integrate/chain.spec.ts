/**
 * W1: n unit masses in a row, one end on a wall, springs k(d + ½d³), k = 1e4, damping 0.1, gravity 1,
 * implicit midpoint, dt = 0.01, 200 steps from rest; loss Σ(q² + v²) at the end, gradient with respect
 * to all n stiffnesses. The numbers to meet were computed by hand-written C, CasADi and diffrax alike.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {ForceTerm} from '../../lib/index.js';
import type {RunSettings} from '../../lib/simulate/options.js';
import {implicitMidpoint, mechanics, newton, simulate} from '../../lib/index.js';
import {engines} from '../simulate/engines.js';
import {draw, moved, norm, relative, slope, stream} from '../simulate/numbers.js';
import {slow} from '../tiers.js';

const chainForce =
  (n: number): ForceTerm =>
  ({q, v, params}) => {
    const d = tf.sub(q, tf.concat([tf.zeros([1]), tf.slice(q, [0], [n - 1])]));
    const pull = tf.mul(params.k as tf.Tensor, tf.add(d, tf.mul(0.5, tf.mul(d, tf.mul(d, d)))));
    const next = tf.concat([tf.slice(pull, [1], [n - 1]), tf.zeros([1])]);
    return tf.addN([tf.sub(next, pull), tf.mul(v, -0.1), tf.onesLike(q)]);
  };

interface Chain {
  readonly loss: number;
  gradient(): Float64Array;
}

function chain(n: number, k: Float64Array, options: Partial<RunSettings> = {}): Chain {
  const system = mechanics({mass: 1, forces: chainForce(n)});
  const {trajectory, pullback} = simulate.vjp(
    system,
    {q: new Float64Array(n), v: new Float64Array(n)},
    {
      scheme: implicitMidpoint(),
      dt: 0.01,
      steps: 200,
      saveAt: 'end',
      params: {k},
      ...options,
    },
  );
  const q = trajectory.values('q');
  const v = trajectory.values('v');
  trajectory.dispose();
  // The start is saved too, and is zero.
  return {
    loss: norm(q) ** 2 + norm(v) ** 2,
    gradient: () => pullback({q: q.map(x => 2 * x), v: v.map(x => 2 * x)}).params.k as Float64Array,
  };
}

const published = [
  {n: 8, loss: '0.010095', gradient: '1.28007e-5'},
  {n: 32, loss: '0.227852', gradient: '3.42961e-5'},
  {n: 128, loss: '154.157002', gradient: '2.68554e-3'},
];

const stiffness = (n: number): Float64Array => new Float64Array(n).fill(1e4);

/** Newton to roundoff: what is left of a step's residual would be noise in the differences. */
const tight = newton({tolerance: {absolute: 1e-15, relative: 1e-14}});

describe('W1, the chain', () => {
  for (const {name, double} of engines) {
    describe(`on the ${name}`, () => {
      for (const {n, loss, gradient} of published) {
        slow(`n = ${n}: loss ${loss}, gradient norm ${gradient}${double ? '' : ', to what float32 holds'}`, () => {
          const run = chain(n, stiffness(n), {engine: name});
          const found = norm(run.gradient());
          if (double) {
            expect(run.loss.toFixed(6)).to.equal(loss);
            expect(found.toExponential(5)).to.equal(gradient);
          } else {
            // Positions are rounded at 6e-8, the springs of 1e4 turn that into forces; the printed loss has five digits.
            expect(run.loss / Number(loss)).to.be.closeTo(1, 5e-5);
            expect(found / Number(gradient)).to.be.closeTo(1, 1e-4);
          }
        });
      }

      if (double) {
        it('each of 8 stiffnesses: the gradient is that of central differences', () => {
          const k = stiffness(8);
          const gradient = chain(8, k, {engine: name, newton: tight}).gradient();
          // 1e-3 of k: truncation (1e-3)⁴, rounding 1e-16/1e-3 of the loss.
          const differences = Float64Array.from(k, (_, i) =>
            slope(s => {
              const changed = k.slice();
              changed[i] += s;
              return chain(8, changed, {engine: name, newton: tight}).loss;
            }, 10),
          );
          expect(relative(gradient, differences)).to.be.below(1e-7);
        });

        for (const n of [32, 128]) {
          it(`n = ${n}: so is its product with a random direction`, () => {
            const direction = draw(stream(n), n).map(x => x + 0.5);
            const gradient = chain(n, stiffness(n), {engine: name, newton: tight}).gradient();
            const difference = slope(
              s => chain(n, moved(stiffness(n), s, direction), {engine: name, newton: tight}).loss,
              10,
            );
            const product = gradient.reduce((sum, g, i) => sum + g * direction[i], 0);
            expect(product / difference).to.be.closeTo(1, 1e-7);
          });
        }
      }
    });
  }
});
